"""The greatest value of a sum where that takes no linear program.

A column that all rows allow to grow, or all to fall, is as large as it takes to satisfy them: it is dropped, and all
rows that it is in. Of

    M >= 1, c0 >= 0, M - 128*c0 - 1 >= 0, 0 <= c1 <= 127, M - 128*c0 - 1 - c1 >= 0

M goes with the rows of several columns, and what is left are numbers: c1 is 127 at most. Sizes are in few rows and of
one sign, so most questions about how far a loop runs end this way. Where a size is to be small, as for the least
M - 128*c0 - 1 - c1 under the other rows, one of the rows that hold it up, y = M - 128*c0 - 1, takes its place: what is
asked for is y - c1 then, and the rest as before.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from polyvolta.sched.loops.rows.linear import FLOOR, Ends, Key, coefficient, plus, put, without

Rows = list[tuple[Key, int]]


def greatest(rows: Iterable[tuple[Key, int]], key: Key, low: Ends, high: Ends) -> float | None:
    """The greatest value of `key . x` where some rows are `>= 0`, over the rationals, if it is plain to see.

    A whole number, infinity where there is no greatest one, and its negative where the rows hold nowhere; None where a
    linear program is to decide, and where floors are in the rows. O(rows) as a rule.

    Parameters
    ----------
    low, high : constant bounds of columns that hold besides.

    >>> rows = [(((1, 1), (2, -8)), -1), (((3, 1),), 0), (((3, -1),), 7)]
    >>> greatest(rows, ((3, 1),), {1: 1, 2: 0}, {}), greatest(rows, ((1, 1), (3, -1)), {1: 1, 2: 0}, {})
    (7, inf)
    >>> greatest(rows, ((1, -1), (2, 8), (3, 1)), {1: 1, 2: 0}, {}), greatest(rows, ((3, 1),), {3: 8}, {})
    (6, -inf)
    """
    low, high, const = dict(low), dict(high), 0
    several = _split(rows, low, high)
    moved: set[int] = set()
    while several:
        up, down = set(), set()
        for row, _ in several:
            for c, v in row:
                (up if v > 0 else down).add(c)
        one = up ^ down  # of one sign in the rows
        loose = {c for c in one if c not in (high if c in up else low)}
        if loose and key:
            loose.difference_update([c for c, v in key if (c in up) != (v > 0)])  # the others stay where they are held
        if loose:
            several = [r for r in several if loose.isdisjoint([c for c, _ in r[0]])]
            continue
        held = [c for c, v in key if c in one and c not in moved and c not in (low if v > 0 else high)]
        by = _holding(several, held)
        if by is None:
            return None
        col, row = by
        moved.add(col)
        sign = coefficient(row[0], col)
        image = plus(sign, ((col, 1),), -sign, without(row[0], col)), -sign * row[1]
        for bounds, v in ((low, 1), (high, -1)):
            if col in bounds:
                several.append((((col, v),), -v * bounds.pop(col)))
        several = _split([put(*r, col, *image) if coefficient(r[0], col) else r for r in several], low, high)
        key, const = put(key, const, col, *image)
    if several is None:
        return None
    if low.keys() & high.keys() and any(low[c] > high[c] for c in low.keys() & high.keys()):
        return -inf
    total: float = const
    for c, v in key:
        total += v * (high.get(c, inf) if v > 0 else low.get(c, -inf))
    return total


def _holding(rows: Rows, columns: Iterable[int]) -> tuple[int, tuple[Key, int]] | None:
    """A column with coefficient 1 or -1 in some row, and the row."""
    return next(((c, r) for c in columns for r in rows if coefficient(r[0], c) in (1, -1)), None)


def _split(rows: Iterable[tuple[Key, int]], low: Ends, high: Ends) -> Rows | None:
    """The rows of several columns; those of one go to the bounds. None where that does not do."""
    several = []
    for key, const in rows:
        if not key or key[-1][0] >= FLOOR:  # what bounds a floor is in no row
            return None
        if len(key) != 1:
            several.append((key, const))
            continue
        ((c, v),) = key
        if v == 1:
            low[c] = max(low.get(c, -const), -const)
        elif v == -1:
            high[c] = min(high.get(c, const), const)
        else:
            return None
    return several
