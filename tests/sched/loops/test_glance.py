"""Greatest values that take no linear program, held to the elimination of all columns."""

import random
from fractions import Fraction
from math import gcd, inf

import pytest

from polyvolta.sched.loops.rows.glance import greatest
from polyvolta.sched.loops.rows.linear import FLOOR

COLUMNS = 5


def by_elimination(rows, key, low, high):
    """The same, exactly, by Fourier and Motzkin: the greatest t <= key . x once all columns are gone."""
    singles = [(((c, 1),), -v) for c, v in low.items()] + [(((c, -1),), v) for c, v in high.items()]
    dense = lambda key, const, t=0: (const, t, *[dict(key).get(c, 0) for c in range(COLUMNS)])  # noqa: E731
    system = {dense(*row) for row in (*rows, *singles)} | {dense(key, 0, -1)}
    for c in range(2, 2 + COLUMNS):
        up, down = [r for r in system if r[c] > 0], [r for r in system if r[c] < 0]
        system = {r for r in system if not r[c]}
        system |= {reduced([x * -s[c] + y * r[c] for x, y in zip(r, s, strict=True)]) for r in up for s in down}
    if any(const < 0 and not t for const, t, *_ in system):
        return -inf
    return min((Fraction(const, -t) for const, t, *_ in system if t), default=inf)


def reduced(row):
    g = gcd(*row)
    return tuple(v // g for v in row) if g else tuple(row)


def drawn(rng):
    """Rows as loops have them: sizes, tiles of them, points of tiles."""

    def row(n):
        columns = sorted(rng.sample(range(COLUMNS), n))
        return tuple((c, rng.choice((-8, -2, -1, 1, 1, -1, 2, 8))) for c in columns)

    rows = [(row(rng.choice((1, 2, 2, 3))), rng.randint(-3, 9)) for _ in range(rng.randint(0, 5))]
    low = {c: rng.randint(-2, 2) for c in range(COLUMNS) if rng.random() < 0.5}
    high = {c: rng.randint(1, 9) for c in range(COLUMNS) if rng.random() < 0.4}
    return rows, row(rng.randint(0, 3)), low, high


@pytest.mark.parametrize("seed", range(8))
def test_what_is_plain_is_what_elimination_says(seed):
    rng = random.Random(seed)
    found = set()
    for _ in range(500):
        case = drawn(rng)
        top = greatest(*case)
        if top is not None:
            assert top == by_elimination(*case), case
            found.add(top if abs(top) == inf else 0)
    assert found == {0, inf, -inf}


def test_bounds_that_are_given_stay_as_they_are():
    low, high = {0: 1}, {1: 7}
    rows = [(((0, 1), (1, -1)), 0), (((0, -1),), 5)]
    assert greatest(rows, ((0, -1),), low, high) == by_elimination(rows, ((0, -1),), low, high) == -1
    assert (low, high) == ({0: 1}, {1: 7})


def test_floors_are_left_to_linear_programs():
    """Rows that say what a floor is are not among those that are given."""
    assert greatest([(((0, 1), (FLOOR, -1)), 0)], ((0, 1),), {}, {}) is None
    assert greatest([(((FLOOR, 1),), 0)], ((0, 1),), {}, {}) is None
