"""What all statements of an innermost loop have, apart from what is before and behind.

    S1[i] -> [i] for i < N, S2[i] -> [i + 3]    from 3 to N, where both run untested, what is before, and what is behind
    S1[i] -> [i] for i < N, S2[i] -> [i + 1]    one loop: no sizes leave a value between those of both
    S1[i] -> [i] for i < N, S2[i] -> [i] for i < M      one loop: what both have has nothing before it

Each iteration of a shared loop asks of each statement whether it has begun, and whether it has ended. Where the values
of all are those of one system that is the price of having one loop; where they are not, as at N = 1 of the first,
isl's generator has several loops, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from polyvolta.sched.loops.hoisting.needs import seldom
from polyvolta.sched.loops.rows.known import Known, difference
from polyvolta.sched.loops.rows.linear import System, coefficient
from polyvolta.sched.loops.spans.telling import hull, telling, width

SOME = 8  # shadows of which this is looked for
REST = 4  # cells around what all have, beyond which there is one loop


def steady(known: Known, shadows: Sequence[System], col: int, few: int) -> list[System] | None:
    """What all of some shadows have of a column, and the cells around it; None where one system has what any has.

    Also where what all have is but a `few` values at any place, or none where sizes are large and alike, or begins or
    ends where the whole does, and where there are too many cells.
    """
    if not 1 < len(shadows) <= SOME or any(coefficient(key, col) for s in shadows for key, _ in s.eqs):
        return None
    whole = reduce(lambda a, b: hull(known, a, b), shadows)
    rest = [whole]
    for s in shadows:
        rest = [part for left in rest for part in difference(known, left, telling(known, left, s))]
    if not rest:
        return None
    core = System()
    for row in (row for s in shadows for row in s.every_ge()):
        core.ge(*row)
    if core.empty or known.excludes(core) or width(known, core, col, few):
        return None
    if any(seldom(known, *row) for row in core.without((col,), known.low, known.high).ineqs.items()):
        return None
    rows = telling(known, whole, core)
    if {coefficient(key, col) > 0 for key, _ in rows if coefficient(key, col)} != {True, False}:
        return None
    around = difference(known, whole, rows)
    return [core, *around] if len(around) <= REST else None
