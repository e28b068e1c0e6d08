"""Loops without an end: where they run, and which are refused.

    S[i] -> [i] for i >= 0                              for (c0 = 0; 1; c0 += 1) S(c0);
    S[i] -> [i] for i >= 0 and N > 0,                   if (N >= 1) for (c0 = 0; 1; c0 += 1) { ... }
    T[i] -> [i] for 0 <= i < M                          if (N <= 0) for (c0 = 0; c0 < M; c0 += 1) T(c0);

A loop over values of several statements that runs too far only finds nothing there. One that never ends would keep what
stands after it from running, so it stands where an instance comes by, exactly. At values outside, what a conjunction
leaves to a loop is nothing or has no end, if its bounds give it none.

A loop has to begin, so values without a lower bound are refused; of a member that is negated they have no end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from polyvolta.sched.errors import NotScannable
from polyvolta.sched.loops.conditions import anywhere, exactly
from polyvolta.sched.loops.rows.bounds import Bounds, sides
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.lanes import Lane
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sched.tree import Path, Schedule


def endless_lanes(lanes: Sequence[Lane], k: int, col: int) -> list[Lane]:
    """The lanes that have no upper bound along loop k."""
    return [lane for lane in lanes if not sides(lane.shadows[k], col)[1]]


def comes_by(known: Known, lanes: Sequence[Lane], inner: Sequence[int]) -> list[System] | None:
    """Disjoint conditions on what is outside for one of some lanes to have an instance; None if one has anywhere.

    Exact, over the integers; `inner` are the columns of the loop and of those inside.
    """
    return anywhere(known, [s for lane in lanes for s in exactly(known.columns, lane.piece.system, inner)])


def refuse(schedule: Schedule, at: Path, loop: str, member: int, lanes: Sequence[Lane], b: Bounds) -> NoReturn:
    """Refuse a loop without a lower bound."""
    names = ", ".join(dict.fromkeys(lane.piece.statement for lane in lanes))
    hint = f"nothing bounds member {member}"
    if b.bounded(-1):
        hint = f"the domain bounds member {member} from above only; with its negative the loop begins there"
    raise NotScannable(f"the loop {loop} over {names} has no lower bound", where=schedule.marked(at), hint=hint)
