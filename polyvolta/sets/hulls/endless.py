"""Two pieces told apart by a direction in which one has no end: few sums of products, and a proof for all floors.

Let d lead from each point of A to points of A without end, and let U be one conjunct with the points of A and B. Along
multiples of a number P, a multiple of the periods of all floors, rows are affine, with the same slope everywhere; so
no row of U falls along d, or it would fail behind a point of A. Then U contains b + k P d for each b of B and k >= 0.
Where a row of B falls along d these are not in B for large k, so A contains them, and so no row of A that is constant
along d fails at b. One that fails is the proof. It doesn't matter which floors U has: a stride is such a row, since it
is constant along every P d, and of pieces on different grids few can be one.

The directions of a piece are the extreme rays of the cone that its rows leave, by double description in the dimensions
alone. Pieces without parameters that are bounded have none.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import lcm
from typing import NamedTuple

from ..budgets import bounded, spend
from ..conjuncts.frame import Member
from ..engine import cone
from ..engine.rows import Row, dot, negate
from ..errors import BudgetExceeded

EFFORT = 100  # steps for the directions of a piece
FAR = 39  # steps more, where a third piece has the first point


class Way(NamedTuple):
    """A step, over the columns of a frame, that leads from a piece into it without end; the rows constant along it."""

    step: Row
    level: list[Row]


def ways(m: Member) -> list[Way]:
    """The directions of a member whose divs are known; some of them, or none, where these are far to seek.

    >>> from polyvolta.sets import Set
    >>> from polyvolta.sets.conjuncts.frame import Frame
    >>> ((_, cs),) = Set("{ [i, j] : i >= 0 and j = 3 }").parts
    >>> [step for step, _ in ways(Frame(cs).members[0])]
    [(0, 1, 0)]
    """
    frame = m.frame
    period = lcm(*[number for number, _ in frame.periods.values()])
    moves = [frame.step(k, period) for k in range(1, 1 + frame.n)]
    slopes = {tuple([dot(row, move) for move in moves]): None for row in m.statements}
    try:
        lines, rays = bounded(EFFORT, cone.generators, frame.n, list(filter(any, slopes)))
    except BudgetExceeded:
        spend(0)  # ends the caller where the budget was its own
        return []
    found = []
    for d in (*rays, *lines, *map(negate, lines)):
        step = tuple([dot(d, column) for column in zip(*moves, strict=True)])
        found.append(Way(step, [row for row in m.statements if not dot(row, step)]))
    return found


def behind(directions: list[Way], b: Member) -> Iterator[Row]:
    """Points of neither of two members behind one of B, by the directions of A; any says that no conjunct is the union.

    They are in every conjunct over floors of the frame that contains both. A point of B has to be known. O(rows) for
    each direction.

    >>> from polyvolta.sets import Set
    >>> from polyvolta.sets.conjuncts.frame import Frame
    >>> frame = Frame(Set("{ [i, j] : i >= 0 and j <= 3; [i, j] : 2 <= i <= 4 and 5 <= j <= 9 }").parts[0][1])
    >>> a, b = frame.members
    >>> b.points.append((1, 4, 5))
    >>> list(behind(ways(a), b))
    [(1, 5, 5), (1, 44, 5)]
    """
    for step, level in directions:
        at = _failing(level, b)
        if at is not None:
            slopes = [(row, slope) for row in b.statements if (slope := dot(row, step)) < 0]
            if slopes:
                p = b.points[at]
                near = 1 + min([dot(row, p) // -slope for row, slope in slopes])
                for k in (near, near + FAR):
                    yield tuple([x + k * v for x, v in zip(p, step, strict=True)])


def _failing(rows: list[Row], m: Member) -> int | None:
    """The number of a known point of a member at which one of some rows fails; by parallel rows at first."""
    for row in rows:
        opposite = m.least.get(m.frame.opposite(row[1:]))
        if opposite is not None and opposite + row[0] < 0:
            return 0
    for row in rows:
        values = m.values(row)
        least = min(values)
        if least < 0:
            return values.index(least)
    return None
