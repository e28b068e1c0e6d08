"""Drawn trees whose code once made more than four times the tests of isl's, most where one size is far from another."""

import pytest

from polyvolta.sched.loops.scan import scan
from tests.sched.campaign import data_of
from tests.sched.loops.counting import counted
from tests.sched.loops.draw import tree
from tests.sched.loops.oracle import deviation

DRAWN = {  # (seed, number): tests at sizes
    "an atomic loop beside what is isolated, and one value behind all others": (
        (1037019, 167),
        {(5, 0): 19, (40, 0): 20, (1000, 0): 20},
    ),
    "odd sizes, or odd values, in one conjunction": ((1037021, 322), {(3, 0): 5, (10, 0): 6, (1000, 0): 6}),
    "a row of a square whose other size is 1": ((1033005, 4), {(10, 1): 14, (1000, 1): 1004, (10, 10): 186}),
    "a few statements where one size is far beyond the other": ((1033002, 312), {(1, 90): 6, (90, 1): 13, (9, 9): 14}),
    "alternatives all of which need a small size": ((1035010, 99), {(1, 90): 4, (1, 4): 4, (9, 9): 7}),
    "an alternative that is asked twice": ((1032006, 366), {(90, 1): 159, (1, 90): 265}),
    "holes between statements whose order sizes change, but beyond few values of a loop outside": (
        (1035010, 309),
        {(1, 90): 276, (5, 5): 343, (40, 40): 154},
    ),
    "a size that is far from 0 where floors of iterators say so": ((1039009, 302), {(2, 2): 1, (9, 9): 27}),
    "a stride that others lack, behind them, where small sizes are told apart": (
        (1039012, 419),
        {(10, 0): 59, (1000, 0): 306},
    ),
    "rows of a square in cases of sizes, one of which is 1": (
        (1039002, 383),
        {(1000, 1): 1004, (1, 1): 5, (9, 9): 307},
    ),
    "guards of several statements that let none pass": ((1039013, 139), {(2, 2): 3, (9, 9): 3, (5, 4): 186}),
    "a context below loops, which promises one value of one of them": ((1039015, 80), {(10, 0): 58, (1000, 0): 116}),
}


@pytest.mark.parametrize("name", DRAWN)
def test_drawn_trees_at_sizes_far_apart(name):
    (seed, number), most = DRAWN[name]
    drawn = tree(data_of(seed, number)).schedule
    found = scan(drawn)
    for at in ((1, 1), (3, 2), (2, 7), (6, 1), (-1, 4)):
        assert deviation(drawn, found, {p: dict(zip("NM", at, strict=True))[p] for p in found.params}) is None
    assert {at: counted(found.body, dict(zip("NM", at, strict=True))) for at in most} == most
