"""Values of a loop at which none of its statements has anything, a few of which are cheaper than another loop.

S1[i] -> [i] for i < 9, S2[i] -> [i] for 10 <= i < 20      one loop: nothing at 9 alone
S1[i] -> [i] for i < N, S2[i] -> [i + 2N]                  two: no loop runs from N to 2N and finds nothing
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyvolta.sched.loops.hoisting.needs import seldom
from polyvolta.sched.loops.rows.bounds import bounds
from polyvolta.sched.loops.rows.known import Known, difference
from polyvolta.sched.loops.rows.lengths import longest
from polyvolta.sched.loops.rows.linear import System, coefficient
from polyvolta.sched.loops.spans.telling import hull, telling, width

FEW = 1  # iterations in a row that may find nothing, in a loop that runs often
ONCE = 8  # the same at small sizes, in one that runs once and is longer than that; of many statements, less: each asks
MANY = 8  # steps of a loop from which on those beside a few are worth loops of their own


def few_holes(known: Known, shadows: Sequence[System], col: int, once: bool) -> bool:
    """Whether a loop over shadows finds nothing but a few times in a row."""
    b = bounds(known, shadows, col)
    if b is None:
        return True
    return all(_narrow(known, loop, shadows, col, once) for loop in b.cases())


def long(known: Known, shadows: Sequence[System], col: int) -> bool:
    """Whether a loop over shadows may have many iterations, of which a few that find nothing are few."""
    b = bounds(known, shadows, col)
    return b is not None and not all(width(known, loop, col, ONCE) for loop in b.cases())


def many(known: Known, s: System, col: int) -> bool:
    """Whether a loop over what a shadow has may have many iterations, and not at small sizes alone."""
    if any(seldom(known, *row) for row in s.without((col,), known.low, known.high).ineqs.items()):
        return False
    b = None if known.excludes(s) else bounds(known, [s], col)
    found = None if b is None else longest(known, b, col)
    return b is not None and (found is None or found[1] >= MANY)


def _narrow(known: Known, where: System, shadows: Sequence[System], col: int, once: bool) -> bool:
    """Whether a system has but a few values of a column in a row that no shadow has, where any has one."""
    few = max(FEW, 2 * ONCE // len(shadows)) if once else FEW
    for part in _beside(known, where, shadows):
        if _few(known, part, col, few):
            continue
        for s in shadows:
            here = part.copy()
            for key, const in s.every_ge():
                if not coefficient(key, col):
                    here.ge(key, const)
            if not (_few(known, here, col, few) or known.excludes_exactly(here)):
                return False
    return True


def _beside(known: Known, part: System, shadows: Sequence[System]) -> Iterator[System]:
    """Disjoint systems of the points of one that are in no shadow, each as soon as it is found."""
    if not shadows:
        yield part
        return
    for rest in difference(known, part, telling(known, part, shadows[0])):
        yield from _beside(known, rest, shadows[1:])


def _few(known: Known, part: System, col: int, most: int) -> bool:
    """Whether a system has but a few values of a column at any values outside.

    In a long loop that runs once these may be as many as `most` at small sizes: at others a loop may find little
    besides.
    """
    if width(known, part, col, FEW):
        return True
    small = most > FEW and width(known, part, col, most)
    sizes = part.without((col,), known.low, known.high).ineqs if small else {}
    return any(seldom(known, *row) for row in sizes.items())


def joined(known: Known, systems: Sequence[System], col: int, once: bool) -> list[System]:
    """Fewer systems: two of them are one where that has no more points than all have, but for a few.

    Of points where neither has any, too: the first row and the last one are no square where there is a column as well.
    """
    out: list[System] = []
    for s in systems:
        k = 0
        while k < len(out):
            both = hull(known, out[k], s)
            fits = _narrow(known, both, (out[k], s), col, once)
            if fits and (len(systems) == 2 or _narrow(known, both, systems, col, once)):
                del out[k]
                s, k = both, 0  # noqa: PLW2901
            else:
                k += 1
        out.append(s)
    return out
