"""Pieces that one conjunct says, though no row at hand does: hulls, grids, residues across their end."""

import random

import numpy as np
import pytest

from polyvolta.sets import Set
from polyvolta.sets.conjuncts.conjunct import holds
from tests.sets.tables import table

ONE = [
    # an equality with a floor beside a plane
    "{ [x, y] : -2 <= x <= 5 and 3y >= x - 6 and 3y <= 2x; [x, y] : -1 <= x <= 4 and 3y = x - 7 }",
    "{ [x, y] : -3 <= x <= 5 and -1 <= y <= 9 and 2y >= 3x - 1; [x, y] : 0 <= x <= 4 and y >= -1 and 2y = 3x - 2 }",
    # points on two grids
    "{ [x] : x mod 2 = 0 and -2 <= x <= 0; [-1] }",
    "{ [x, y] : -2 <= x <= 8 and -3 <= y <= 9 and (x - 2y) mod 6 = 2; [x, 5] : x mod 6 = 0 and 0 <= x <= 6 }",
    "{ [x, y] : x mod 4 = 0 and y mod 3 <= 1 and 0 <= x <= 8; [x, y] : x mod 4 = 2 and y mod 3 <= 1 and 2 <= x <= 6 }",
    # one grid, bounds that need turning
    "{ [x, y] : y mod 2 = 1 and -3 <= x <= 7 and 1 <= y <= 5 and 2x - 7 <= y;"
    "  [x, y] : y mod 2 = 1 and -2 <= x <= 8 and -1 <= y <= 5 }",
    "{ [x, y] : x mod 3 = 1 and 1 <= x <= 4 and -1 <= y <= 8;"
    "  [x, y] : x mod 3 = 1 and -2 <= x <= 7 and 0 <= y <= 8 and x + y >= 8 }",
    # residues across the end of a divisor
    "{ [x, y] : (x - y) mod 3 = 2 and 0 <= x <= 5; [x, y] : (x - y) mod 3 = 0 and 0 <= x <= 5 }",
    "{ [x] : (x + 1) mod 3 >= 2; [x] : (x + 1) mod 3 <= 0 }",
    "[N] -> { [x] : 0 <= x < N and x mod 4 <= 0; [x] : 0 <= x < N and x mod 4 >= 2 }",
    # quotients that grow from residue 1 on, from 2 on; the floor of one
    "{ [x, y] : x mod 3 = 0 and 3y >= 5 floor(x/3); [x, y] : x mod 3 >= 1 and 3y >= 5 floor(x/3) + 5 }",
    "{ [x, y] : (x + 1) mod 4 <= 1 and 3y >= 5 floor((x + 1)/4);"
    "  [x, y] : (x + 1) mod 4 >= 2 and 3y >= 5 floor((x + 1)/4) + 5 }",
    "{ [x, y] : x mod 4 <= 1 and y >= floor(2*floor(x/4)/5);"
    "  [x, y] : x mod 4 >= 2 and y >= floor((2*floor(x/4) + 2)/5) }",
    # falling stairs, whose steps begin at residue 2
    "{ [x, y] : (x + 1) mod 4 >= 2 and 10 <= y + 5*((x + 1) mod 4) <= 13;"
    "  [x, y] : (x + 1) mod 4 <= 1 and -10 <= y + 5*((x + 1) mod 4) <= -7 }",
    # residues said by quotients of other expressions
    "{ [x, y] : y = 5 - (x + 5) mod 8 and -1 <= x <= 7; [x, y] : y = 5 - (x + 4) mod 8 and -1 <= x <= 7 }",
    # four classes, some of few points
    "{ [x] : -1 <= x <= 7 and x mod 4 = 1; [x] : 0 <= x <= 4 and x mod 4 = 0; [2]; [3] }",
    # a piece without the floor of the other
    "{ [x] : 0 <= x <= 3; [x] : 4 <= x <= 30 and x mod 4 >= 0 and x mod 8 <= 6; [7]; [15]; [23] }",
    "{ [4]; [3]; [x] : x mod 6 = 2 and 2 <= x <= 8; [x] : x mod 6 = 1 and 1 <= x <= 7 }",
]  # fmt: skip
TWO = [
    "{ [x] : x mod 4 = 0; [x] : x mod 6 = 1 }",
    "{ [x, y] : x mod 3 = 0 and 0 <= y <= 3; [x, y] : x mod 3 = 1 and y = 4 and x >= 0 }",
    "{ [x, y] : 0 <= x <= 4 and 0 <= y <= 4; [x, y] : x = 5 and 1 <= y <= 6 }",
    "{ [x] : x mod 5 = 4; [x] : x mod 5 = 1 }",
    # odd columns and even ones: read from 1 on they are side by side, but for odd points of the first, from 5 on
    "{ [x, y] : 5 (x mod 2) <= y <= 3 + 5 (x mod 2); [x, y] : x mod 2 = 1 and 0 <= y <= 3 }",
    # falling stairs, of which one goes on below where the other begins
    "{ [x, y] : (x + 1) mod 4 >= 2 and 10 <= y + 5*((x + 1) mod 4) <= 13;"
    "  [x, y] : -10 <= y + 5*((x + 1) mod 4) <= -7 }",
]


@pytest.mark.parametrize("pieces", ONE)
def test_one(pieces):
    given = Set(pieces)
    fused = given.coalesce()
    assert len(fused.pieces) == 1
    assert np.array_equal(table(given), table(fused))


@pytest.mark.parametrize("pieces", TWO)
def test_two(pieces):
    given = Set(pieces)
    fused = given.coalesce()
    assert len(fused.pieces) == 2
    assert np.array_equal(table(given), table(fused))


def linear(draw, names, wide=3):
    return " + ".join([f"{draw.choice([1, -1, 2, 3, 0])}{v}" for v in names] + [str(draw.randint(-wide, wide))])


def piece(draw, names):
    """A box, cut by a row or a residue."""
    parts = [f"{draw.randint(-3, 0)} <= {v} <= {draw.randint(1, 4)}" for v in names]
    d = draw.choice([2, 3, 4])
    parts.append(
        draw.choice(
            [
                f"{linear(draw, names)} >= 0",
                f"{linear(draw, names)} = 0",
                f"({linear(draw, names)}) mod {d} = {draw.randrange(d)}",
                f"({linear(draw, names)}) mod {d} >= {draw.randrange(d)}",
                f"floor(({linear(draw, names)})/{d}) <= {linear(draw, names[:1])}",
            ]
        )
    )
    return " and ".join(parts)


@pytest.mark.parametrize("seed", range(4))
def test_random_pieces_keep_their_points(seed):
    draw = random.Random(seed)
    fewer = 0
    for _ in range(25):
        names = ("x", "y")[: draw.choice([1, 2, 2])]
        both = [piece(draw, names) for _ in range(draw.choice([2, 2, 3, 4]))]
        given = Set("{ " + "; ".join(f"[{', '.join(names)}] : {p}" for p in both) + " }")
        fused = given.coalesce()
        ((_, before),), ((_, after),) = given.parts or (((), ()),), fused.parts or (((), ()),)
        side = range(-5, 7)
        for point in ((x, y) for x in side for y in side) if len(names) == 2 else ((x,) for x in side):
            assert any(holds(c, point) for c in before) == any(holds(c, point) for c in after), (given, point)
        fewer += len(after) < len(before)
    assert fewer
