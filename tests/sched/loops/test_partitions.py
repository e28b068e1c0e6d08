"""What loops are cut into has each value once: cells by all rules, of random systems at all points of a box.

Some systems hold nowhere: by themselves, with ends that cross, or in what is known. The loops of a tree show that at
few sizes, if at all.
"""

from random import Random

import numpy as np
import pytest

from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.groups import cells
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sched.loops.spans.alone import alone, at_end, of_one
from polyvolta.sched.loops.spans.few import around_few, beside_few, between_numbers, outside
from polyvolta.sched.loops.spans.holes import joined
from polyvolta.sched.loops.spans.steady import steady
from polyvolta.sched.loops.spans.telling import disjoint
from polyvolta.sched.loops.spans.unordered import around_one

COLUMNS = Columns(["M", "N"], ["M", "N"])
OUTER = [COLUMNS.ids["M"], COLUMNS.ids["N"], COLUMNS.loop(0)]
COL = COLUMNS.loop(1)
BOX = dict(zip((*OUTER, COL), np.meshgrid(*[np.arange(-4, 8)] * 3, np.arange(-8, 12), indexing="ij"), strict=True))
NUMBERS = (0, 0, 1, -1, 2, 3, -3, 5)

RULES = {
    "disjoint": lambda known, some, _: disjoint(known, some),
    "cells": lambda known, some, _: cells(known, some),
    "joined": lambda known, some, r: disjoint(known, joined(known, some, COL, r.random() < 0.5)),
    "beside few": lambda known, some, _: beside_few(known, some, COL),
    "around few": lambda known, some, _: around_few(known, some, COL),
    "outside": lambda _, some, r: r.choice([*outside(some, COL), None]),
    "between numbers": lambda _, some, __: between_numbers(some, COL),
    "steady": lambda known, some, r: steady(known, some, COL, r.choice((1, 8))),
    "alone": lambda known, some, r: alone(known, some, COL, r.choice((1, 2)), r.random() < 0.5, r.random() < 0.5),
    "of one": lambda known, some, r: of_one(known, some, COL, r.random() < 0.5, r.random() < 0.5),
    "at end": lambda known, some, r: at_end(known, some, COL, r.random() < 0.5),
    "around one": lambda known, some, r: around_one(known, some, [System()] * len(some), COL, r.random() < 0.5),
}


def key(r, *columns):
    return tuple(sorted((c, r.choice((1, 1, -1, -1, 2, -2))) for c in columns))


def known(r):
    rows = System()
    for _ in range(r.choice((0, 1, 2, 3))):
        rows.ge(key(r, *r.sample(OUTER, r.choice((1, 2)))), r.choice(NUMBERS))
    return Known(COLUMNS).given(rows)


def shadow(r):
    s, kind = System(), r.randrange(4)
    if kind == 0:
        s.eq(((COL, 1),), r.choice(NUMBERS))
    elif kind == 1:  # between numbers, or the ends cross
        s.ge(((COL, 1),), -(low := r.choice(NUMBERS)))
        s.ge(((COL, -1),), low + r.choice((0, 1, 2, 4, -1, -6)))
    elif kind == 2:
        s.ge(((COL, 1),), r.choice(NUMBERS))
        s.ge(((r.choice(OUTER), 1), (COL, r.choice((-1, -1, -2)))), r.choice(NUMBERS))
    else:
        for _ in range(3):
            s.ge(key(r, COL, *r.sample(OUTER, r.choice((0, 1, 2)))), r.choice(NUMBERS))
    for _ in range(r.choice((0, 0, 1, 2))):
        s.ge(key(r, *r.sample(OUTER, r.choice((1, 2)))), r.choice(NUMBERS))
    return s


def holds(rows):
    """Where rows `>= 0` hold in the box."""
    found = np.full(BOX[COL].shape, True)
    for some, const in rows:
        found &= sum(v * BOX[c] for c, v in some) + const >= 0
    return found


@pytest.mark.parametrize("rule", RULES)
def test_each_value_is_in_one_cell(rule):
    made = 0
    for number in range(150):
        r = Random(number)
        there, some = known(r), [shadow(r) for _ in range(r.choice((2, 3, 4)))]
        found = RULES[rule](there, some, r)
        if found:
            any_of_them = np.logical_or.reduce([holds(s.every_ge()) for s in some]) & holds(there.ineqs.items())
            times = np.sum([holds(cell.every_ge()) for cell in found], axis=0)
            assert (times[any_of_them] == 1).all(), f"{rule} of {number}"
            made += 1
    assert made


def test_values_of_the_innermost_loop_outside_are_told_apart_first():
    columns = Columns(["N"], ["N"])
    a, b, c = columns.loop(0), columns.loop(1), columns.loop(2)
    some = [System([(((b, -1),), 3), (((c, 1),), 0)]), System([(((b, -1),), 5)]), System([(((a, -1),), 1)])]
    found = [[[*s.ineqs.items()] for s in cells] for cells in outside(some, c)]
    assert found == [[[(((b, -1),), 5)], [(((b, 1),), -6)]], [[(((a, -1),), 1)], [(((a, 1),), -2)]]]


def test_what_holds_nowhere_takes_nothing_from_others():
    nowhere, other = System(), System()
    nowhere.eq(((COL, 2),), 1)  # no integer, and no row is left that says so
    other.ge(((COL, 1),), 0)
    assert nowhere.empty and not [*nowhere.every_ge()]
    assert disjoint(Known(COLUMNS), [nowhere, other]) == [other]
