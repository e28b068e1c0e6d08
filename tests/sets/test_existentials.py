"""The tables find existentials wherever they are: known answers, and boxes of brute force."""

import random
from itertools import product

import numpy as np
import pytest

from tests.sets import existentials
from tests.sets.existentials import Undecided, some


def asked(rows, equalities=0):
    """The answer for rows (const, coefficients...)."""
    rows = np.array(rows)
    return bool(some(rows[:, :1].T, rows[:, 1:].T, equalities)[0])


def test_equalities():
    """100 e + 101 f = 5 and 99 e + 100 f = -5 at e = 1005, f = -995 alone; 6e + 10f is every even number."""
    assert asked([(-5, 100, 101), (5, 99, 100)], 2)
    assert asked([(-5, 100, 101), (5, 99, 100), (-1005, 1, 0), (995, 0, -1)][:3], 2)
    assert not asked([(-5, 100, 101), (5, 99, 100), (-1006, 1, 0)], 2)
    assert some(np.arange(-5, 6)[:, None], [[6], [10]], 1).tolist() == [v % 2 == 0 for v in range(-5, 6)]
    assert asked([(0, 0)], 1) and not asked([(1, 0)], 1)


def test_as_inequalities():
    both = [(-5, 100, 101), (5, -100, -101), (5, 99, 100), (-5, -99, -100)]
    assert asked(both) and not asked([*both, (1004, -1, 0)])


def test_what_goes_on_for_ever():
    """10 e + 3 <= 7 f <= 10 e + 4 and e >= 10**6; 3 <= 10 e - 10 f <= 7 has no integers, wherever."""
    assert asked([(-3, -10, 7), (4, 10, -7), (-(10**6), 1, 0)])
    assert not asked([(-3, 10, -10), (7, -10, 10), (-(10**6), 1, 0)])
    assert asked([(-(10**9), 1, 0), (10, -1, 1)])  # f follows e


@pytest.mark.parametrize(
    "rows, there",
    [  # thin, and bounds of single unknowns do not close in on them
        ([(-891, -50, -138), (-37, -2, -6), (894, 50, 138), (42, 2, 6)], (7, -9)),
        (
            [(-345, -54, 48, 32), (-306, -48, 39, 28), (-304, -48, 42, 28)]
            + [(308, 48, -39, -28), (309, 48, -42, -28), (346, 54, -48, -32)],
            (-7, 0, -1),
        ),
    ],
)
def test_thin(rows, there):
    assert all(row[0] + sum(c * v for c, v in zip(row[1:], there, strict=True)) >= 0 for row in rows)
    assert asked(rows)


def systems(rng, count):
    """Rows with an unknown or a few of -3..3, some of them equalities, and whether integers exist, by brute force."""
    for _ in range(count):
        n, equalities = rng.randint(1, 3), rng.choice((0, 0, 1))
        box = [(3, *(int(k == j) * sign for j in range(n))) for k in range(n) for sign in (1, -1)]
        more = [
            [rng.choice((0, 1, -1, rng.randint(-9, 9))) for _ in range(n)]
            for _ in range(equalities + rng.randint(0, 4))
        ]
        coefficients = np.array([*more, *[r[1:] for r in box]]).T
        consts = np.array([[rng.randint(-8, 12) for _ in more] + [3] * len(box) for _ in range(12)])
        every = np.array([*product(range(-3, 4), repeat=n)]) @ coefficients
        values = consts[:, None] + every
        ok = (values >= 0) & ((values == 0) | (np.arange(values.shape[2]) >= equalities))
        # other unknowns, by sums of them: the box is a thin one then
        for _ in range(rng.randint(0, 3) if n > 1 else 0):
            a, b = rng.sample(range(n), 2)
            coefficients[a] += rng.choice((-7, -2, 3, 11)) * coefficients[b]
        yield consts, coefficients, equalities, ok.all(axis=2).any(axis=1)


@pytest.mark.parametrize("seed", range(6))
def test_boxes(seed):
    seen = 0
    for consts, coefficients, equalities, want in systems(random.Random(seed), 60):
        assert (some(consts, coefficients, equalities) == want).all(), (consts, coefficients, equalities)
        seen += want.any() and not want.all()
    assert seen > 10


@pytest.mark.parametrize("most", [60, 300])
def test_in_portions(monkeypatch, most):
    monkeypatch.setattr(existentials, "MOST", most)
    for consts, coefficients, equalities, want in systems(random.Random(9), 40):
        assert (some(consts, coefficients, equalities) == want).all()


def test_what_would_take_too_long_is_not_guessed():
    """A great cube without any short side."""
    with pytest.raises(Undecided):
        asked([(10**9 * s, *(s * t * int(j == k) for j in range(2))) for k in range(2) for s, t in ((1, 1), (1, -1))])
    with pytest.raises(Undecided):
        asked([(2**61, 1, 1), (0, -1, 1), (0, 1, -5)])
