"""The points of a context as arithmetic progressions, one free integer t at most.

Residue classes (module `residues`) leave points `base + t*step`. Where there is one t, every row is `v + a*t` on a
base: an inequality bounds t, and all rows together leave an interval for it. So nothing is searched: the sign of a
form is that of its ends on each interval. Points are kept by columns, for most rows mention few of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from math import gcd

from ..budgets import spend
from .columns import defining_rows
from .residues import Div, Point, Residues, resolved
from .rows import Row
from .simplex import Tableau

MOST = 1000  # progressions

Interval = tuple[int | None, int | None]


class Progressions:
    """Points `base + t*step` with low <= t <= high, an end that is None being infinite; immutable, none is empty.

    Parameters
    ----------
    columns : the bases, column by column. They have a t each, which runs over its interval.
    step : an integer vector, of zeros where every base is a point.
    """

    __slots__ = ("columns", "intervals", "step")

    def __init__(self, columns: Sequence[Sequence[int]], step: Point, intervals: Sequence[Interval]) -> None:
        self.columns, self.step, self.intervals = columns, step, intervals

    @classmethod
    def of(cls, found: Residues) -> Progressions | None:
        """The same points; None if there are too many bases, or several t.

        >>> lines = Progressions.of(Residues([(0, 1), (0, 0)], [(2, 1)], 2))
        >>> lines.columns, lines.step, lines.intervals
        ([(0, 1), (0, 0)], (2, 1), [(None, None), (None, None)])
        """
        if not found.count or len(found.steps) > 1 or found.count > MOST:
            return None
        if found.steps:
            return cls(found.columns, found.steps[0], [(None, None)] * found.count)
        return cls(found.columns, (0,) * len(found.columns), [(0, 0)] * found.count)

    def __len__(self) -> int:
        return len(self.intervals)

    def values(self, row: Row) -> tuple[list[int], int]:
        """(the row at each base, its slope): it is value + slope * t."""
        const, out, slope = row[0], None, 0
        spend(1 + len(self.intervals) // 16)
        for c, column, s in zip(row[1:], self.columns, self.step, strict=False):
            if c:
                slope += c * s
                out = [const + c * x for x in column] if out is None else [v + c * x for v, x in zip(out, column)]
        return [const] * len(self.intervals) if out is None else out, slope

    def with_div(self, den: int, row: Row) -> Progressions | None:
        """The points with floor(row / den) appended; None if that takes too many progressions.

        >>> lines = Progressions([[0]], (1,), [(None, 4)]).with_div(2, (0, 1))
        >>> lines.columns, lines.step, lines.intervals
        ([[0, 1], [0, 0]], (2, 1), [(None, 2), (None, 1)])
        """
        values, slope = self.values(row)
        period = den // gcd(den, slope)
        if period == 1:
            return Progressions([*self.columns, [v // den for v in values]], (*self.step, slope // den), self.intervals)
        if len(values) * period > MOST:
            return None
        picks, intervals = [], []
        for k, (low, high) in enumerate(self.intervals):
            for r in range(period):
                first = None if low is None else -((r - low) // period)
                last = None if high is None else (high - r) // period
                if first is None or last is None or first <= last:
                    picks.append((k, r))
                    intervals.append((first, last))
        columns = [[c[k] + r * s for k, r in picks] for c, s in zip(self.columns, self.step, strict=True)]
        columns.append([(values[k] + r * slope) // den for k, r in picks])
        return Progressions(columns, (*[period * s for s in self.step], period * slope // den), intervals)

    def where(self, row: Row, equality: bool) -> Progressions | None:
        """The points at which the row is >= 0, or = 0; None if there are none.

        >>> Progressions([[0]], (1,), [(None, 4)]).where((-3, 2), False).intervals
        [(2, 4)]
        """
        values, slope = self.values(row)
        if slope:
            cut = [_within(i, v, slope, equality) for i, v in zip(self.intervals, values, strict=True)]
            kept = [i is not None for i in cut]
            intervals = [i for i in cut if i is not None]
        else:
            kept = [not v if equality else v >= 0 for v in values]
            intervals = list(compress(self.intervals, kept))
        if len(intervals) == len(kept):
            return Progressions(self.columns, self.step, intervals)
        return (
            Progressions([list(compress(c, kept)) for c in self.columns], self.step, intervals) if intervals else None
        )

    def signs(self, row: Row) -> tuple[bool, bool]:
        """Whether the row is >= 0 at some point, and whether it is < 0 at some.

        >>> Progressions([[0]], (1,), [(None, 4)]).signs((-3, 1)), Progressions([[0]], (1,), [(2, 4)]).signs((-2, 1))
        ((True, True), (True, False))
        """
        values, slope = self.values(row)
        if not slope:
            return max(values) >= 0, min(values) < 0
        some = any_less = False
        for v, (low, high) in zip(values, self.intervals, strict=True):
            least, most = (low, high) if slope > 0 else (high, low)
            some = some or most is None or v + slope * most >= 0
            any_less = any_less or least is None or v + slope * least < 0
            if some and any_less:
                break
        return some, any_less

    def remainder(self, den: int, row: Row) -> int | None:
        """What the row leaves modulo `den`, if it is the same at all points."""
        values, slope = self.values(row)
        if slope % den:
            return None
        found = {v % den for v in values}
        return found.pop() if len(found) == 1 else None

    def point(self) -> Point:
        """One of the points."""
        low, high = self.intervals[0]
        t = low if low is not None else 0 if high is None else min(high, 0)
        return tuple([c[0] + t * s for c, s in zip(self.columns, self.step, strict=True)])

    def listed(self, few: int) -> Progressions:
        """The same points, each a progression of its own if they are so few."""
        ranges = [range(low, high + 1) for low, high in self.intervals if low is not None and high is not None]
        if len(ranges) < len(self.intervals) or not any(self.step) or sum(map(len, ranges)) > few:
            return self
        columns = [
            [x + t * s for x, ts in zip(c, ranges, strict=True) for t in ts]
            for c, s in zip(self.columns, self.step, strict=True)
        ]
        return Progressions(columns, (0,) * len(columns), [(0, 0)] * sum(map(len, ranges)))


def _within(interval: Interval, value: int, slope: int, equality: bool) -> Interval | None:
    """The t of an interval at which value + slope*t is >= 0, or = 0; None if there are none."""
    low, high = interval
    if equality and value % slope:
        return None
    end = -(value // slope) if slope > 0 else value // -slope
    if (equality or slope > 0) and (low is None or low < end):
        low = end
    if (equality or slope < 0) and (high is None or high > end):
        high = end
    return (low, high) if low is None or high is None or low <= high else None


def progressions(found: Residues, rows: Sequence[tuple[bool, Row]], few: int) -> Progressions | None:
    """The points of `found` at which rows (whether an equality, row) hold; None where that takes more than one t."""
    lines = Progressions.of(found)
    for equality, row in rows:
        lines = lines and lines.where(row, equality)
    return lines and lines.listed(few)


def along(divs: Sequence[Div], eqs: Sequence[Row], ineqs: Sequence[Row], few: int = 300) -> Progressions | None:
    """The points of rows over one parameter and floors of it; None if these are too many progressions.

    >>> along([(2, (0, 1))], [(0, 1, -2)], [(0, 1, 0)]).intervals
    [(0, None)]
    """
    tab = Tableau(1 + len(divs))
    for row in eqs:
        tab.add_eq(row)
    for k, (den, row) in enumerate(divs):
        for bound in defining_rows((den, row), 2 + k, 2 + len(divs)):
            tab.add_ineq(bound)
    for row in ineqs:
        tab.add_ineq(row)
    rows = [*((True, r) for r in eqs), *((False, r) for r in ineqs)]
    found = None if tab.empty else resolved(tab, (0,), divs, rows, few)
    return found and progressions(found, rows, few)
