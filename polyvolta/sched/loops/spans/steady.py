"""What all statements of an innermost loop have, apart from what is before and behind.

    S1[i] -> [i] for i < N, S2[i] -> [i + 3]    from 3 to N, where both run untested, what is before, and what is behind
    S1[i] -> [i] for i < N, S2[i] -> [i + 1]    one loop: no sizes leave a value between those of both
    S1[i] -> [i] for i < N, S2[i] -> [i] for i < M      one loop: what both have has nothing before it
    S1[i] -> [i] for i < N, S2[i] -> [i + 3], S3[i] -> [i + 6]      from 6 to N; behind N to 5, and from 6 on

Each iteration of a shared loop asks of each statement whether it has begun, and whether it has ended. Where the values
of all are those of one system that is the price of having one loop; where they are not, as at N = 1 of the first,
isl's generator has several loops, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce

from polyvolta.sched.loops.hoisting.needs import seldom
from polyvolta.sched.loops.rows.columns import Row
from polyvolta.sched.loops.rows.known import Known, difference
from polyvolta.sched.loops.rows.linear import System, coefficient
from polyvolta.sched.loops.spans.telling import hull, left_of, telling, width

SOME = 8  # shadows of which this is looked for
REST = 4  # cells around what all have, beyond which there is one loop
BEGINS = 2  # shadows that may not have begun where others have ended, from which on there are two loops


def steady(known: Known, shadows: Sequence[System], col: int, few: int) -> list[System] | None:
    """What all of some shadows have of a column, and the cells around it; None where one system has what any has.

    Also where what all have is but a `few` values at any place, or none where sizes are large and alike, or begins or
    ends where the whole does, and where there are too many cells.
    """
    if not 1 < len(shadows) <= SOME or any(coefficient(key, col) for s in shadows for key, _ in s.eqs):
        return None
    whole = reduce(partial(hull, known), shadows)
    if not left_of(known, whole, shadows):
        return None
    core = System(row for s in shadows for row in s.every_ge())
    if core.empty or known.excludes(core) or width(known, core, col, few):
        return None
    if any(seldom(known, *row) for row in core.without((col,), known.low, known.high).ineqs.items()):
        return None
    rows = telling(known, whole, core)
    if {coefficient(key, col) > 0 for key, _ in rows if coefficient(key, col)} != {True, False}:
        return None
    around = difference(known, whole, rows)
    if len(around) > REST:
        return None
    finer = [part for cell in around for part in _begun(known, shadows, cell, rows, col)]
    return [core, *(finer if len(finer) <= REST else around)]


def _begun(known: Known, shadows: Sequence[System], cell: System, rows: Sequence[Row], col: int) -> list[System]:
    """A cell in which several shadows ask whether they have begun, and some whether they have ended, in two parts.

    In one of them all have begun, as is asked before it in the place of at each value; where that is a number and sizes
    are large it is all of the cell. The other part is a loop more.

    Parameters
    ----------
    rows : those of what all have, of which the whole has none.
    """
    there = known.given(cell)
    asked = [row for row in dict.fromkeys(row for s in shadows for row in s.every_ge()) if not there.implies(*row)]
    begins = [row for row in asked if coefficient(row[0], col) > 0]
    if len(begins) < BEGINS or not any(coefficient(key, col) < 0 for key, _ in asked):
        return [cell]
    begun, late = cell.copy(), [row for row in rows if coefficient(row[0], col) > 0]
    for row in late:
        begun.ge(*row)
    return [begun, *difference(known, cell, late)]
