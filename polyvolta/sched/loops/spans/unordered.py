"""Statements that begin or end in an order that no size decides: a loop of one with tests, the others around it.

    A[i] -> [i] for n <= i <= 2m, B[i] -> [i] for 2n <= i <= m

    for (c0 = n; c0 <= min(2m, 2n - 1); c0++) A(c0);
    for (c0 = 2n; c0 <= m; c0++) { if (c0 >= n && c0 <= 2m) A(c0); B(c0); }
    for (c0 = max(2n, m + 1); c0 <= 2m; c0++) A(c0);

One loop would run from the least of the ends to the greatest, each of which counts at some sizes alone, and ask of both
at each value. The first one to have its own is the one whose values others have, too, where sizes are large and alike:
what is tested in its loop is there mostly.

So it is where a statement that goes further has values at some remainders alone of what is outside:

    A[i, j] -> [i, j] for j < m, B[i, j] -> [4i, j] for j < n, m <= n

    for (c1 = 0; c1 < m; c1++) { A(c0, c1); if (c0 % 4 == 0) B(c0/4, c1); }
    if (c0 % 4 == 0) for (c1 = m; c1 < n; c1++) B(c0/4, c1);

The first one is then one that has values at all remainders: its loop is there whichever it is.

Values of several may lie one behind another in a circle, as sizes have only some of them at once. Then those of one are
told apart by whether another one has any:

    A[i] -> [i] for n <= i < m, B[i] -> [i] for m <= i < p, C[i] -> [i] for p <= i < n

    A where n <= p, B, C, A where p < n
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from polyvolta.sched.loops.hoisting.needs import seldom
from polyvolta.sched.loops.rows.bounds import bounds
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sched.loops.spans.telling import disjoint, left_of, width
from polyvolta.sets import BudgetExceeded
from polyvolta.sets.budgets import bounded

LOOPS = 3, 6  # beyond which one is better: with others inside, without
SHADOWS = 4  # the same of what statements say differently
SHORT = 8  # values that are not worth a loop
STEPS = 1000  # of a search for cells, which finds none in most loops


def around_one(
    known: Known, shadows: Sequence[System], where: Sequence[System], col: int, innermost: bool
) -> list[System] | None:
    """The values of one shadow, then of each other one those that are left, where no row bounds all on some side.

    What others have mostly comes first, or last where too little would be left. None where there are too many loops, or
    any of them has but a few values, or they are not found in `STEPS`.

    Parameters
    ----------
    where : the remainders of what is outside at which each shadow may have values.
    """
    if not 1 < len(shadows) <= SHADOWS:
        return None
    try:
        return bounded(STEPS, _around_one, known, shadows, where, col, innermost)
    except BudgetExceeded:
        return None


def by_another(known: Known, cells: Sequence[System], col: int) -> Iterator[list[System]]:
    """Some cells with one of them in two, or three: at sizes at which a certain other one has values, and at others."""
    for x, y in permutations(range(len(cells)), 2):
        sizes = cells[y].without((col,), known.low, known.high)
        there, elsewhere = cells[x].copy().add(sizes), left_of(known, cells[x], [sizes])
        if not there.empty and 0 < len(elsewhere) < len(cells):
            yield [*cells[:x], there, *cells[x + 1 :], *elsewhere]


def _around_one(
    known: Known, shadows: Sequence[System], where: Sequence[System], col: int, innermost: bool
) -> list[System] | None:
    at_all = [s for s, there in zip(shadows, where, strict=True) if there.everywhere]
    b = bounds(known, shadows, col, where if at_all else None)
    if b is None or not (b.lows or b.highs):
        return None

    def alone(s: System, others: Sequence[System]) -> int:
        """In how many pieces a shadow has values that others have not, where sizes are large and alike."""
        sizes = [part.without((col,), known.low, known.high).ineqs for part in left_of(known, s, others)]
        return sum(not any(seldom(known, *row) for row in rows.items()) for rows in sizes)

    order, rest = [], list(shadows)
    while rest:
        s = min(rest, key=lambda s: (s not in at_all, alone(s, [o for o in rest if o is not s])))
        order.append(s)
        rest = [o for o in rest if o is not s]
    for some in (order, order[::-1]):
        cells = disjoint(known, some)
        if cells and len(cells) <= LOOPS[innermost] and not any(width(known, cell, col, SHORT) for cell in cells):
            return cells
    return None
