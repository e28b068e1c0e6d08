"""Few values of a loop apart from many, where loops inside are cut for the few.

    S[i] -> [i, i/2], T[j] -> [2, j] for 0 <= j < N, the second member separate     to 1, at 2, and from 3 on

A separate loop has cells by which statements have values in it, and what they say of loops outside is decided there,
too: S would be told apart at each of its many values by whether it is at 2, before it or after it.
"""

from __future__ import annotations

from collections.abc import Sequence

from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sched.loops.rows.order import ends

MANY = 8  # values beyond which those beside a few are worth loops of their own


def beside_few(known: Known, shadows: Sequence[System], col: int) -> list[System] | None:
    """The values between numbers that some shadows have, those before and those after them.

    None where no shadow has few, or no other one has many beside them.
    """
    few = [span for s in shadows for span in (ends(s, col),) if None not in span]
    lows, highs = [low for low, _ in few if low is not None], [high for _, high in few if high is not None]
    others = [s for s in shadows if None in ends(s, col)]
    if not (few and others):
        return None
    first, last = min(lows), max(highs)

    def beyond(sign: int, edge: int) -> bool:
        return any(known.greatest([*s.every_ge()], ((col, sign),)) > edge + MANY for s in others)

    if not (beyond(1, last) or beyond(-1, -first)):
        return None
    before, here, after = System(), System(), System()
    before.ge(((col, -1),), first - 1)
    here.ge(((col, 1),), -first)
    here.ge(((col, -1),), last)
    after.ge(((col, 1),), -last - 1)
    return [before, here, after]
