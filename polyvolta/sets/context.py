"""What is known of the parameters while a parametric problem is solved.

A context is a conjunction of integer rows over the parameters and the divs `floor(form / den)` made so far.
It answers one question, the sign of an affine form, with the cheapest of three sound and together complete
means: integer points met before witness a sign; a warm rational tableau refutes one; an integer search
decides the rest and leaves its point behind as a witness. It is never empty, so a piece found under it has
parameters. Once few points are left, all of them are listed and evaluation alone decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import gcd

from . import integer
from .budgets import spend
from .rows import Row, complement, evaluate, normal_eq, normal_ineq
from .simplex import Tableau, redundant_rows, tight_slacks

_FEW = 300  # parameter values that are rather listed than reasoned about


class Context:
    """The integer parameters (and divs) still possible: constraints, a warm tableau and known integer points.

    Never empty. Rows are over (const, params, divs).
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.divs: list[tuple[int, Row]] = []
        self.eqs: list[Row] = []
        self.ineqs: list[Row] = []
        self.bounds: list[Row] = []  # the two inequalities that define each div
        self.points: list[tuple[int, ...]] = []
        self.tab = Tableau(n)
        self.signs: dict[Row, int] = {}
        self.complete = False  # whether `points` is all there is; the tableau then rests

    def fork(self) -> Context:
        """An independent copy; O(size)."""
        new = Context(self.n)
        new.divs, new.eqs, new.ineqs, new.bounds = self.divs[:], self.eqs[:], self.ineqs[:], self.bounds[:]
        new.points, new.signs, new.complete = self.points[:], self.signs.copy(), self.complete
        new.tab.rollback(self.tab.mark())
        return new

    def add_div(self, den: int, row: Row) -> int:
        """The variable index of floor(row / den), made if it is new."""
        g = gcd(den, *row[1:])
        den, row = den // g, tuple([c // g for c in row])
        for i, (d, known) in enumerate(self.divs):
            if d == den and known + (0,) * (len(row) - len(known)) == row:
                return self.n - len(self.divs) + i
        self.divs.append((den, row))
        self.n += 1
        if not self.complete:
            self.tab.add_var()
        self.eqs, self.ineqs, self.bounds = ([(*r, 0) for r in rows] for rows in (self.eqs, self.ineqs, self.bounds))
        self.signs = {(*r, 0): s for r, s in self.signs.items()}
        self.points = [(*p, evaluate(row, p) // den) for p in self.points]
        for bound in ((*row, -den), (den - 1 - row[0], *[-c for c in row[1:]], den)):
            self.bounds.append(bound)
            if not self.complete:
                self.tab.add_ineq(bound)
        return self.n - 1

    def restrict(self, row: Row, equality: bool = False) -> bool:
        """Add a constraint; False, with the context unchanged, when no integer point would be left."""
        tight = normal_eq(row) if equality else normal_ineq(row)
        if isinstance(tight, bool):
            return tight
        eqs, ineqs = ([*self.eqs, tight], self.ineqs) if equality else (self.eqs, [*self.ineqs, tight])
        points = [p for p in self.points if (v := evaluate(tight, p)) == 0 or (v > 0 and not equality)]
        if not points and self.complete:
            return False
        if not points:
            point = integer.sample(self.n, eqs, ineqs + self.bounds)
            if point is None:
                return False
            points = [point]
        self.eqs, self.ineqs, self.points = eqs, ineqs, points
        if not self.complete:
            (self.tab.add_eq if equality else self.tab.add_ineq)(tight)
        return True

    def count(self) -> None:
        """List all points if the parameters are bounded and few; two LPs per parameter."""
        if not self.complete:
            points = self._listed(())
            if points is not None:
                self.points, self.complete = list(points), True

    def _listed(self, extra: Sequence[Row]) -> Iterator[tuple[int, ...]] | None:
        """The integer points that satisfy the extra inequalities too, or None if there may be many."""
        ranges, size = [], 1
        for i in range(self.n - len(self.divs)):
            unit = [0] * (self.n + 1)
            unit[i + 1] = 1
            low, high = self.tab.minimum(unit), self.tab.maximum(unit)
            if low is None or high is None:
                return None
            low, high = -(-low[0] // low[1]), high[0] // high[1]
            size *= max(high - low + 1, 0)
            if size > _FEW:
                return None
            ranges.append(range(low, high + 1))
        return self._filtered(product(*ranges), [*self.ineqs, *extra])

    def _filtered(self, params: Iterable[tuple[int, ...]], ineqs: Sequence[Row]) -> Iterator[tuple[int, ...]]:
        """Those of the parameters, extended by their divs, at which the equalities and inequalities hold."""
        for point in params:
            for den, row in self.divs:
                point = (*point, evaluate(row, point) // den)
            fits = all(evaluate(r, point) == 0 for r in self.eqs)
            if fits and all(evaluate(r, point) >= 0 for r in ineqs):
                yield point

    def sign(self, row: Row) -> int:
        """1 if row >= 0 on the whole context, -1 if row < 0 on it, 0 if both occur; exact over Z."""
        tight = normal_ineq(row)
        if isinstance(tight, bool):
            return 1 if tight else -1
        known = self.signs.get(tight)
        if known is not None:
            return known
        spend(1 + len(self.points) // 8)
        values = [evaluate(tight, p) >= 0 for p in self.points]
        if not any(values) and not self._possible(tight):
            self.signs[tight] = -1
        elif all(values) and not self._possible(complement(tight)):
            self.signs[tight] = 1
        else:
            return 0
        return self.signs[tight]

    def _possible(self, row: Row) -> bool:
        """Whether some integer point of the context has row >= 0; keeps the point."""
        if self.complete:
            return False
        token = self.tab.mark()
        self.tab.add_ineq(row)
        empty, listed = self.tab.empty, None
        if not empty:
            listed = self._listed((row,))
        self.tab.rollback(token)
        if empty:
            return False
        if listed is not None:
            point = next(listed, None)
        else:
            point = integer.sample(self.n, self.eqs, [*self.ineqs, *self.bounds, row])
        if point is not None:
            self.points.append(point)
        return point is not None

    def finished(self, values: Sequence[Row]) -> tuple[tuple, tuple, tuple, tuple]:
        """(divs, eqs, ineqs, values): equalities found, redundant inequalities and unused divs left out."""
        n, given = self.n, self.bounds
        tab = Tableau(n)
        for row in self.eqs:
            tab.add_eq(row)
        for row in (*given, *self.ineqs):
            tab.add_ineq(row)
        tight = tight_slacks(tab, len(self.eqs) + len(given), len(self.ineqs))
        found = [normal_eq(r) for r, t in zip(self.ineqs, tight, strict=True) if t]
        eqs = [r for r in dict.fromkeys([*self.eqs, *found]) if not isinstance(r, bool)]
        ineqs = [r for r, t in zip(self.ineqs, tight, strict=True) if not t]
        gone = redundant_rows(n, eqs, ineqs, given=given)
        ineqs = [r for r, g in zip(ineqs, gone, strict=True) if not g]
        first = n + 1 - len(self.divs)  # the entry of the first div
        used = [any(row[first + i] for row in (*values, *eqs, *ineqs)) for i in range(len(self.divs))]
        for i in range(len(self.divs) - 1, -1, -1):
            if used[i]:
                for j, c in enumerate(self.divs[i][1][first:]):
                    used[j] = used[j] or bool(c)

        def kept(row: Row) -> Row:
            return (*row[:first], *[c for c, u in zip(row[first:], used, strict=False) if u])

        divs = tuple([(den, kept(row)) for (den, row), u in zip(self.divs, used, strict=True) if u])
        return divs, tuple(map(kept, eqs)), tuple(map(kept, ineqs)), tuple(map(kept, values))
