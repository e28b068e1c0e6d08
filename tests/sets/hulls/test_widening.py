"""Unions of pieces that overlap: fewer pieces, the same points, by enumeration of a box."""

import random
from itertools import product

import pytest

from polyvolta.sets import Set
from polyvolta.sets.engine.rows import dot
from polyvolta.sets.hulls.widening import _Points

FEWER = [  # (a union, how many pieces it can be, whether a point is in it)
    ("{ [i, j] : i >= 0 and j >= 0; [i, j] : i < 0; [i, j] : j < 0 }", 1, lambda i, j, n: True),
    ("{ [i, j] : i = 3 and j >= 0; [i, j] : i < 3; [i, j] : i > 3; [i, j] : j < 0 }", 1, lambda i, j, n: True),
    ("{ [i] : i mod 3 = 1 and i <= 1; [i] : i >= 2; [i] : (i + 1) mod 3 <= 1 }", 1,
     lambda i, j, n: i >= 2 or i % 3 == 1 or (i + 1) % 3 <= 1),
    ("{ [i] : not (2i <= 3 and (i + 1) mod 3 = 2); [i] : 2i <= 3 and (i + 1) mod 3 = 2 }", 1, lambda i, j, n: True),
    # one is widened to what both others and it are
    ("[N] -> { [i] : N >= 0 and i >= 0; [i] : i <= 9 and N < 0; [i] : i <= 9 and i < 0 }", 2,
     lambda i, j, n: i >= 0 if n >= 0 and i >= 0 else i <= 9),
    ("{ [i, j] : i >= j and i + j >= 0; [i, j] : j >= 4 and i < j; [i, j] : j >= 4 and i + j < 0 }", 2,
     lambda i, j, n: j >= 4 or -i <= j <= i),
    # all but three points, beside which no walk along a piece ends
    ("{ [i, j] : i <= 3; [i, j] : i >= 5; [i, j] : j <= 9; [i, j] : j >= 13 }", 4,
     lambda i, j, n: i != 4 or j not in (10, 11, 12)),
    # nothing to gain: a cross, and pieces whose ends touch
    ("{ [i, j] : 0 <= i <= 2; [i, j] : 0 <= j <= 2; [i, j] : i = j }", 3,
     lambda i, j, n: i in (0, 1, 2) or j in (0, 1, 2) or i == j),
    ("{ [i, j] : 0 <= i <= 4 and 0 <= j <= 4; [i, j] : i = 5 and j >= 2; [i, j] : j = 5 and i <= 1 }", 3,
     lambda i, j, n: i in range(5) and j in range(5) or i == 5 and j >= 2 or j == 5 and i <= 1),
]  # fmt: skip


@pytest.mark.parametrize(("text", "pieces", "among"), FEWER)
def test_pieces_that_overlap(text, pieces, among):
    fused = Set(text).coalesce()
    assert len(fused.pieces) == pieces
    for n in (-5, -1, 0, 1, 7) if fused.param_names else (0,):
        here = fused.fix(N=n) if fused.param_names else fused
        for at in product(range(-12, 13), repeat=fused.space.n_out):
            assert (at in here) == among(*at, *[0] * (2 - len(at)), n), (at, n)


def test_negations_beside_what_they_negate():
    rng = random.Random(11)
    for _ in range(40):
        values, texts = [], []
        for _ in range(rng.randint(2, 3)):
            a, b, c, d = rng.randint(-2, 2), rng.randint(-2, 2), rng.randint(-4, 4), rng.choice([0, 0, 2, 3])
            if d:
                texts.append(f"({a}i + {b}j + {c}) mod {d} >= 1")
                values.append(lambda i, j, a=a, b=b, c=c, d=d: (a * i + b * j + c) % d >= 1)
            else:
                texts.append(f"{a}i + {b}j + {c} >= 0")
                values.append(lambda i, j, a=a, b=b, c=c: a * i + b * j + c >= 0)
        within = f"{rng.randint(-1, 1)}i + {rng.randint(1, 2)}j >= {rng.randint(-3, 3)}"
        both = " and ".join(texts)
        everything = Set(f"{{ [i, j] : {both}; [i, j] : not ({both}) }}").coalesce()
        assert len(everything.pieces) == 1 and everything.is_equal(Set("{ [i, j] }"))
        half = Set(f"{{ [i, j] : {both}; [i, j] : not ({both}) and {within} }}")
        fused = half.coalesce()
        other = Set(f"{{ [i, j] : {within} }}")
        for i, j in product(range(-6, 7), repeat=2):
            assert ((i, j) in fused) == (all(v(i, j) for v in values) or (i, j) in other)


def test_a_set_without_its_least_points_and_these_points():
    rng = random.Random(5)
    for _ in range(12):
        a, b, c, d = rng.randint(-2, 2), rng.randint(1, 3), rng.randint(-4, 4), rng.randint(2, 3)
        s = Set(f"[N] -> {{ [i, j] : 0 <= i <= 5 and j >= {a}i - {c} and {b}j >= N - {d}i and j <= 7 }}")
        whole = ((s - s.lexmin()) | s.lexmin()).coalesce()
        for n in range(-9, 15):
            expected = [(i, j) for i in range(6) for j in range(-40, 8) if j >= a * i - c and b * j >= n - d * i]
            found = list(whole.fix(N=n).points())
            assert sorted(found) == expected
        assert len(whole.pieces) <= 2


@pytest.mark.parametrize("size", [1, 9, 300, 10**6, 10**30])
def test_signs_of_rows_at_packed_points_are_those_of_single_products(size):
    rng = random.Random(size)
    draw = lambda: tuple([rng.randint(-size, size) for _ in range(3)])  # noqa: E731
    points, rows = (
        [(1, *draw()) for _ in range(35)],
        [(0, 0, 0, 0), *[(*draw(), rng.randint(-3, 3)) for _ in range(30)]],
    )
    packed = _Points(points, rows, block=7)
    for row in rows:
        fails = packed.failing(row)
        single = [dot(row, p) < 0 for p in points]
        assert [bool(fails >> (packed.width * (k + 1) - 1) & 1) for k in range(35)] == single
        assert packed.blocks(fails) == [k for k in range(5) if any(single[7 * k : 7 * k + 7])]
