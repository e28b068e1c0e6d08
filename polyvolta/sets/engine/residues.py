"""Floors without floors: the points of a system by residue classes of its variables.

A floor is a nuisance to linear arithmetic and none to modular arithmetic. Where N = L*t + r with the residue r known,
floor((a*N + b)/d) is an affine form of t as soon as d divides a*L. So the points over (variables, divs) are a union
of lattices `base + sum t_j * step_j`, all with the same steps: one step for each variable that has many values, one
base for each combination of residues and of values of the others. A row is then an affine form of t on each base, and
its constant is the row at the base. With one t left, a question is one of intervals; with none, of evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress
from math import gcd

from ..budgets import spend
from .floors import Defined, Div, Point, defined, dived, near
from .rows import Row, dot, evaluate, negate, values_at
from .simplex import Tableau

Sampler = Callable[[int, Sequence[Row], Sequence[Row]], Point | None]
"""An integer point of equalities and inequalities over so many variables, or None: `integer.sample`."""

FEW = 2000  # combinations of values that are rather listed than reasoned about
SPAN = 500  # combinations that are listed to find what all points have in common; beyond, asking for some is quicker
ALONE = 16  # bases that are asked for a point one after another, before rows are looked at above all others
MANY = 4000  # bases, with their residues, likewise


class Residues:
    """Points `base + sum t_j * step_j` with free integers t_j; immutable.

    Parameters
    ----------
    columns : for each of the variables and the divs so far its values at the bases.
    steps : integer vectors over these.
    count : the number of bases.
    """

    __slots__ = ("columns", "count", "steps")

    def __init__(self, columns: Sequence[Sequence[int]], steps: Sequence[Point], count: int) -> None:
        self.columns, self.steps, self.count = columns, steps, count

    @property
    def bases(self) -> Iterable[Point]:
        """The bases, integer vectors over the variables and the divs so far."""
        return zip(*self.columns, strict=True) if self.columns else [()] * self.count

    def with_variable(self, at: int, values: Sequence[int] | None) -> Residues:
        """The points with one more variable, which is number `at` and has one of some values, or else any.

        >>> one = Residues([(7,)], [], 1)
        >>> list(one.with_variable(1, (0, 1)).bases), one.with_variable(1, None).steps
        ([(7, 0), (7, 1)], [(0, 1)])
        """
        steps = [(*s, 0) for s in self.steps]
        if values is None:
            steps.append((*[0] * at, 1))
            values = (0,)
        columns = [[x for x in column for _ in values] for column in self.columns] if len(values) != 1 else self.columns
        return Residues([*columns, [*values] * self.count], steps, self.count * len(values))

    def with_div(self, den: int, row: Row) -> Residues | None:
        """The points with floor(row / den) appended; None if that takes too many bases.

        >>> list(Residues([(0,)], [(1,)], 1).with_div(2, (0, 1)).bases)
        [(0, 0), (1, 0)]
        """
        steps, slopes = _gathered(self.steps, [dot(row[1:], step) for step in self.steps], den)
        period = den // gcd(den, slopes[0]) if steps else 1
        columns, count = self.columns, self.count * period
        if count > MANY:
            return None
        spend(1 + count // 16)
        if period > 1:
            moves = [[r * y for r in range(period)] for y in steps[0]]
            columns = [[x + y for x in xs for y in ys] for xs, ys in zip(columns, moves, strict=True)]
            steps = [tuple([period * x for x in steps[0]]), *steps[1:]]
            slopes = [period * slopes[0], *slopes[1:]]
        steps = [(*s, a // den) for s, a in zip(steps, slopes, strict=True)]
        return Residues([*columns, [v // den for v in _values(row, columns, count)]], steps, count)

    def where(self, row: Row, equality: bool) -> Residues:
        """Without the bases above which the row, where it does not depend on t, says no."""
        if any(dot(row[1:], step) for step in self.steps):
            return self
        spend(1 + self.count // 16)
        values = _values(row, self.columns, self.count)
        kept = [not v for v in values] if equality else [v >= 0 for v in values]
        return self if all(kept) else self._kept(kept)

    def find(self, eqs: Sequence[Row], ineqs: Sequence[Row], sample: Sampler) -> Point | None:
        """A point that satisfies the rows, or None; exact. `sample` answers for what several t are in."""
        rows, end = [*ineqs, *eqs, *map(negate, eqs)], ALONE if self.steps else self.count
        if self.count <= end:
            return self._first(rows, sample)
        point = self._part(0, end)._first(rows, sample)
        while point is None and end < self.count:  # more and more of them: a point is often above an early one
            start, end = end, min(4 * end, self.count)
            point = self._part(start, end)._hopeful(rows)._first(rows, sample)
        return point

    def _first(self, ineqs: Sequence[Row], sample: Sampler) -> Point | None:
        """`find`, one base after another."""
        for base, rows in self._above(ineqs):
            t = _solution(len(self.steps), rows, sample)
            if t is not None:
                return self._at(base, t)
        return None

    def _part(self, start: int, stop: int) -> Residues:
        """The points above some of the bases."""
        return Residues([column[start:stop] for column in self.columns], self.steps, stop - start)

    def _hopeful(self, ineqs: Sequence[Row]) -> Residues:
        """Without bases above which a row, or two rows that are opposite in t, say no; O(bases) for each row.

        Above all bases a row has the same coefficients of t, so that its tightened constants are one column, and those
        of parallel rows the least of them. A question for each of the bases takes twenty times as long.
        """
        found, tight = self, dict[Point, list[int]]()
        slopes = [tuple([dot(row[1:], step) for step in self.steps]) for row in ineqs]
        for row, slope in zip(ineqs, slopes, strict=True):
            if not any(slope):
                found = found.where(row, False)
        spend(1 + found.count * len(ineqs) // 32)
        for row, slope in zip(ineqs, slopes, strict=True):
            if (g := gcd(*slope)) and found.count:
                key = tuple([a // g for a in slope])
                consts = [c // g for c in _values(row, found.columns, found.count)]
                other = tight.get(key)
                tight[key] = consts if other is None else [*map(min, consts, other)]
        kept = [True] * found.count
        for key, consts in tight.items():
            if opposite := tight.get(negate(key)):
                kept = [k and c + d >= 0 for k, c, d in zip(kept, consts, opposite, strict=True)]
        return found if all(kept) else found._kept(kept)

    def _kept(self, kept: Sequence[bool]) -> Residues:
        """The points above the bases of which this is said."""
        return Residues([list(compress(column, kept)) for column in self.columns], self.steps, sum(kept))

    def spanning(self, ineqs: Sequence[Row]) -> Iterator[Point]:
        """Points that satisfy the rows, enough for an affine space that holds them to hold all; of one step at most.

        The bases satisfy already what does not depend on t.

        >>> list(Residues([(0, 1), (0, 0)], [(0, 2)], 2).spanning([(0, 0, 1), (5, -9, -1)]))
        [(0, 0), (0, 2)]
        """
        for base, rows in self._above([row for row in ineqs if any(dot(row[1:], step) for step in self.steps)]):
            if not self.steps:
                yield base
                continue
            low, high = _interval(rows)
            t = low if low is not None else high or 0
            if low is None or high is None or low <= high:
                yield self._at(base, (t,))
            if low is None or high is None or low < high:
                yield self._at(base, (t + 1 if high is None or t < high else t - 1,))

    def _above(self, ineqs: Sequence[Row]) -> Iterator[tuple[Point, list[Row]]]:
        """The bases that satisfy the rows which do not depend on t, each with the other rows as rows of t."""
        slopes = [tuple([dot(row[1:], step) for step in self.steps]) for row in ineqs]
        fixed = [row for row, a in zip(ineqs, slopes, strict=True) if not any(a)]
        moving = [(row, a) for row, a in zip(ineqs, slopes, strict=True) if any(a)]
        spend(1 + self.count // 4)
        for base in self.bases:
            if all(evaluate(row, base) >= 0 for row in fixed):
                spend(1 + len(moving) // 8)
                yield base, [(evaluate(row, base), *a) for row, a in moving]

    def _at(self, base: Point, t: Point) -> Point:
        moves = [[t_j * x for x in step] for t_j, step in zip(t, self.steps, strict=True)]
        return tuple(map(sum, zip(base, *moves, strict=True)))


def _values(row: Row, columns: Sequence[Sequence[int]], count: int) -> Sequence[int]:
    """The values of a row at some points."""
    return values_at(row, [range(count), *columns])  # the first for its length


def _gathered(steps: Sequence[Point], slopes: Sequence[int], den: int) -> tuple[Sequence[Point], Sequence[int]]:
    """Steps that make the same lattice, their slopes 0 modulo `den` but for the first: Euclid's algorithm.

    So N + 3M is known modulo 6 after 6 classes of (N, M), where those of each number would be 12.

    >>> _gathered([(1, 0), (0, 1)], [1, 3], 6)
    ([(1, 0), (-3, 1)], [1, 0])
    """
    steps, slopes = list(steps), list(slopes)
    while True:
        live = [k for k, a in enumerate(slopes) if a % den]
        if not live:
            return steps, slopes
        k = min(live, key=lambda k: slopes[k] % den)
        if len(live) == 1:
            steps.insert(0, steps.pop(k))
            slopes.insert(0, slopes.pop(k))
            return steps, slopes
        for j in live:
            q = slopes[j] % den // (slopes[k] % den) if j != k else 0
            if q:
                steps[j] = tuple([x - q * y for x, y in zip(steps[j], steps[k], strict=True)])
                slopes[j] -= q * slopes[k]


def _solution(n: int, rows: Sequence[Row], sample: Sampler) -> Point | None:
    """An integer point of a few inequalities: an interval, as a rule."""
    if n != 1:
        return sample(n, (), rows)
    low, high = _interval(rows)
    if low is None:
        return (0 if high is None else min(high, 0),)
    return (low,) if high is None or low <= high else None


def _interval(rows: Sequence[Row]) -> tuple[int | None, int | None]:
    """The least and the greatest integer that satisfies rows of one variable, None where there is no end."""
    low, high = None, None
    for c, a in rows:
        if a > 0:
            low = -(c // a) if low is None else max(low, -(c // a))
        else:
            high = c // -a if high is None else min(high, c // -a)
    return low, high


def resolved(
    tab: Tableau, columns: Sequence[int], divs: Sequence[Div], rows: Iterable[tuple[bool, Row]] = (), few: int = FEW
) -> Residues | None:
    """All points whose variables, some columns of a tableau, have values that the tableau allows, divs appended.

    The variables of the shortest ranges are listed, the others go by residues; None if there are too many of either.
    Two LPs per variable.

    Parameters
    ----------
    rows : (whether it is an equality, row over the variables and divs): bases that they exclude are left out.

    >>> tab = Tableau(2)
    >>> for row in (0, 1, 0), (2, -1, 0), (0, 0, 1):
    ...     tab.add_ineq(row)
    >>> found = resolved(tab, (0, 1), [(2, (0, 1, 1))])
    >>> found.count, found.steps
    (6, [(0, 2, 1)])
    """
    ranges: list[tuple[int, int]] = []
    endless = (0, few)
    for k in columns:
        unit = [0] * (tab.n + 1)
        unit[k + 1] = 1
        low, high = tab.minimum(unit), tab.maximum(unit)
        ranges.append(endless if low is None or high is None else (-(-low[0] // low[1]), high[0] // high[1]))
        if ranges[-1][0] > ranges[-1][1]:
            return Residues((), (), 0)
    size, listed = 1, set()
    for k in sorted(range(len(ranges)), key=lambda k: ranges[k][1] - ranges[k][0]):
        size *= ranges[k][1] - ranges[k][0] + 1
        if size > few:
            break
        listed.add(k)
    free = [k for k in range(len(ranges)) if k not in listed]
    waiting = [(max([j for j, v in enumerate(row) if v], default=0), equality, row) for equality, row in rows]
    waiting = [w for w in waiting if w[1] or not _allowed(w[2], w[0], ranges, free)]
    found = Residues((), (), 1)
    for width in range(1 + len(ranges) + len(divs)):
        if width > len(ranges):
            found = found.with_div(*divs[width - len(ranges) - 1])
            if found is None:
                return None
        elif width:
            at = width - 1
            low, high = ranges[at]
            found = found.with_variable(at, range(low, high + 1) if at in listed else None)
        for last, equality, row in waiting:
            if last == width:
                found = found.where(row[: width + 1], equality)
    return found


def _allowed(row: Row, last: int, ranges: Sequence[tuple[int, int]], free: Sequence[int]) -> bool:
    """Whether the ranges of listed variables imply `row >= 0`, whose last column is given."""
    if last > len(ranges) or any(row[1 + k] for k in free):
        return False
    return row[0] + sum([v * (low if v > 0 else high) for v, (low, high) in zip(row[1:], ranges)]) >= 0


def search(n: int, ineqs: Sequence[Row], tab: Tableau, sample: Sampler) -> tuple[bool, Point | None]:
    """(whether this decides it, a point that satisfies the inequalities or None), for inequalities that define floors.

    Parameters
    ----------
    tab : a tableau over the variables with these inequalities, feasible.
    sample : who answers the question over fewer variables that it comes down to.

    >>> from polyvolta.sets.engine.integer import sample
    >>> rows = (0, 1, -3), (2, -1, 3), (-1, 3, -9), (9, 0, -1), (9, 0, 1)  # q = floor(x/3) and 3x - 9q >= 1
    >>> tab = Tableau(2)
    >>> for row in rows:
    ...     tab.add_ineq(row)
    >>> search(2, rows, tab, sample)
    (True, (1, 0))
    """
    said = defined(n, ineqs)
    point = near(n, ineqs, tab, said)
    if point is not None:
        return True, point
    found, rows, places = _points(n, tab, said)
    if found is None or (len(found.steps) > 1 and found.count > 100):
        point = dived(n, ineqs, tab, said) if said[1] else None  # without floors a branch does as much
        return point is not None, point
    point = found.find((), rows, sample)
    return True, None if point is None else tuple([point[k] for k in places])


def spanning(n: int, tab: Tableau, said: Defined) -> Iterator[Point] | None:
    """Points enough for an affine space that holds them to hold all; None where this does not tell. See `search`.

    `said` is what `defined` reads of the rows of the tableau.

    >>> rows = (0, 1, -3), (2, -1, 3), (-1, 3, -9), (1, -3, 9), (9, 0, -1), (9, 0, 1)  # q = floor(x/3), 3x - 9q = 1
    >>> tab = Tableau(2)
    >>> for row in rows:
    ...     tab.add_ineq(row)
    >>> list(spanning(2, tab, defined(2, rows)))
    []
    """
    found, rows, places = _points(n, tab, said, SPAN)
    if found is None or len(found.steps) > 1:
        return None
    return (tuple([point[k] for k in places]) for point in found.spanning(rows))


def _points(n: int, tab: Tableau, said: Defined, few: int = FEW) -> tuple[Residues | None, list[Row], list[int]]:
    """The points of variables and floors, if there are floors and not too many points, and rows that say which of them.

    Then, for each column of the inequalities, where a point has it.
    """
    order, divs, rest = said
    places = [order.index(k) for k in range(n)]
    if not divs:
        return None, [], places
    rows = [(r[0], *[r[1 + k] for k in order]) for r in rest]
    return resolved(tab, order[: n - len(divs)], divs, [(False, r) for r in rows], few), rows, places
