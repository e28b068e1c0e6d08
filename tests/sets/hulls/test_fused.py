"""Pairs of pieces with residues and grids, fused: what one conjunct says is looked up at every point of a window."""

import random
from itertools import product

import pytest

from polyvolta.sets import Set
from polyvolta.sets.conjuncts.conjunct import holds
from polyvolta.sets.hulls.joint import fused

WINDOW = list(product(range(-5, 9), range(-5, 7)))


def conjunct(text):
    """The only piece of a set with points; None where there is another number of them."""
    given = Set(text)
    cs = [c for _, found in given.parts for c in found]
    return cs[0] if len(cs) == 1 and not given.is_empty() else None


def flat(c):
    """Whether all points of a piece are on one line along a dimension."""
    return any(len(set(column)) == 1 for column in zip(*[p for p in WINDOW if holds(c, p)], strict=True))


def residues(rng):
    """The higher and the lower residues of a sum, which may overlap, and whose bounds may hang on them."""
    d, a, b, c = rng.randint(2, 5), rng.choice([1, 1, 2, -1, 3]), rng.choice([0, 0, 1, 2, -1]), rng.randint(0, 4)
    e, start = f"({a}x + {b}y + {c}) mod {d}", rng.randint(1, d - 1)
    last = rng.choice([start - 1, start, rng.randint(0, start - 1), rng.randint(0, start - 1), rng.randint(0, d - 1)])
    slope, width, high = rng.choice([0, 0, 1, -1, 2]), rng.choice([1, 2, 3, 4]), rng.randint(0, 3)
    box = rng.choice(["", " and 0 <= x <= 6", " and y >= -1", " and 0 <= x"])
    box += rng.choice(["", "", " and (x + y) mod 2 = 0", " and (x - y) mod 6 <= 2"])
    level = rng.choice([high, high, high + 1])
    if rng.random() < 0.4:  # the lower residues go as far as the higher ones begin, and reach beyond them from there on
        last, slope, level = rng.randint(start, d - 1), 1, high
        width = rng.randint(start, last)
    lower = f"{width}y <= {width * level} + {slope}*({e})"
    return f"{e} >= {start} and y <= {high}{box}", f"{e} <= {last} and {lower}{box}", not slope and level == high


def grids(rng):
    """The points of a grid on both sides of a row, or all but a few of these."""
    d, a, b = rng.choice([2, 3, 4]), rng.choice([1, 2, 1, -1, 3]), rng.choice([1, 0, 2, 1])
    grid = f"({a}x + {b}y) mod {d} = {rng.randrange(d)}"
    more = rng.choice(["", "", f" and x mod 2 = {rng.randrange(2)}", f" and (x - y) mod 3 <= {rng.randrange(2)}"])
    grid += more
    grid += f" and -3 <= x <= {rng.randint(2, 6)} and -2 <= y <= {rng.randint(2, 5)}"
    p, q, r = rng.choice([0, 1, 1, 2]), rng.choice([-2, -1, 1, 1, 2, 3]), rng.randint(-2, 5)
    gap = rng.choice([0, 0, 1, -1, 2])
    return f"{grid} and {p}x + {q}y <= {r}", f"{grid} and {p}x + {q}y >= {r + 1 + gap}", gap <= 0 and "<" not in more


def classes(rng):
    """Two residue classes, or three of which one is a piece, within one box: the points of a grid in one piece."""
    d, a, b = rng.choice([2, 3, 4, 6]), rng.choice([1, -1, 3]), rng.choice([0, 1, 2, 5])
    first, step = rng.randrange(d), rng.choice([1, 2, 3])
    box = f"-4 <= x <= {rng.randint(3, 8)} and {rng.randint(-4, 0)} <= y <= {rng.randint(1, 5)}"
    e = f"({a}x + {b}y)"
    return f"{box} and {e} mod {d} = {first}", f"{box} and {e} mod {d} = {(first + step) % d}", False


@pytest.mark.parametrize(("family", "least"), [(residues, 50), (grids, 40), (classes, 60)])
def test_what_is_fused_has_the_points_of_both(family, least):
    """And what was cut in two is one again, where the cut leaves neither points nor lines: these say too little."""
    rng, made = random.Random(3), 0
    for _ in range(80):
        *texts, whole = family(rng)
        a, b = (conjunct(f"{{ [x, y] : {text} }}") for text in texts)
        if a is None or b is None:
            continue
        found = fused(a, b)
        made += found is not None
        if found is None:
            assert not whole or any(flat(c) for c in (a, b)), texts
            continue
        for point in WINDOW:
            assert holds(found, point) == (holds(a, point) or holds(b, point)), (texts, point)
    assert made >= least
