"""What is known of the parameters while a parametric problem is solved.

A context is a conjunction of integer rows over the parameters and the divs `floor(form / den)` made so far.
It answers one question, the sign of an affine form, with the cheapest of three sound and together complete
means: integer points met before witness a sign; a warm rational tableau refutes one; an integer search
decides the rest and leaves its point behind as a witness. It is never empty, so a piece found under it has
parameters. Where the parameters fall into few residue classes (module `residues`), the search goes through these
and meets no divs; once few points are left, all of them are listed and evaluation alone decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from ..budgets import spend
from . import integer
from .progressions import Progressions, progressions
from .residues import Residues, resolved
from .rows import Row, complement, evaluate, normal_eq, normal_ineq
from .simplex import Tableau, redundant_rows, tight_slacks

Vertex = tuple[tuple[Row, ...], tuple[tuple[int, int], ...]]

_FEW = 300  # parameter values that are rather listed than reasoned about


class Context:
    """The integer parameters (and divs) still possible: constraints, a warm tableau and known integer points.

    Never empty. Rows are over (const, params, divs). Where there are `lines`, these are all points, and the tableau
    and the known points rest.
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
        self.lines: Progressions | None = None
        self.along: list[Progressions | None] = []  # of a leaf: its lines, and those of leaves that became one with it
        self.vertex: Vertex | None = None  # of a leaf without cuts, see `parametric`: its values and how they move
        self.residues: Residues | None = None  # a superset of all points, by residue classes, where these are few

    def fork(self) -> Context:
        """An independent copy; O(size)."""
        new = Context(self.n)
        new.divs, new.eqs, new.ineqs, new.bounds = self.divs[:], self.eqs[:], self.ineqs[:], self.bounds[:]
        new.points, new.signs = self.points[:], self.signs.copy()
        new.lines, new.residues = self.lines, self.residues
        if self.lines is None:
            new.tab.rollback(self.tab.mark())
        return new

    def add_div(self, den: int, row: Row) -> int:
        """The variable index of floor(row / den), made if it is new."""
        g = gcd(den, *row[1:])
        den, row = den // g, tuple([c // g for c in row])
        for i, (d, known) in enumerate(self.divs):
            if d == den and known + (0,) * (len(row) - len(known)) == row:
                return self.n - len(self.divs) + i
        self.define(den, row)
        return self.n - 1

    def define(self, den: int, row: Row) -> None:
        """Append the div floor(row / den)."""
        self.divs.append((den, row))
        self.n += 1
        self.eqs, self.ineqs, self.bounds = ([(*r, 0) for r in rows] for rows in (self.eqs, self.ineqs, self.bounds))
        self.signs = {(*r, 0): s for r, s in self.signs.items()}
        bounds = (*row, -den), (den - 1 - row[0], *[-c for c in row[1:]], den)
        self.bounds += bounds
        if self.lines is not None:
            point = self.lines.point()
            self.lines = self.lines.with_div(den, row)
            if self.lines is None:
                self._resume((*point, evaluate(row, point) // den))
            return
        self.tab.add_var()
        for bound in bounds:
            self.tab.add_ineq(bound)
        self.points = [(*p, evaluate(row, p) // den) for p in self.points]
        self.residues = self.residues and self.residues.with_div(den, row)

    def _resume(self, point: tuple[int, ...]) -> None:
        """Go on without progressions: a tableau of all rows, and a point.

        Residue classes lack the divs made since there were progressions; `count` finds them anew.
        """
        self.points, self.tab, self.residues = [point], Tableau(self.n), None
        for row in self.eqs:
            self.tab.add_eq(row)
        for row in (*self.bounds, *self.ineqs):
            self.tab.add_ineq(row)

    def restrict(self, row: Row, equality: bool = False) -> bool:
        """Add a constraint; False, with the context unchanged, when no integer point would be left."""
        tight = normal_eq(row) if equality else normal_ineq(row)
        if isinstance(tight, bool):
            return tight
        eqs, ineqs = ([*self.eqs, tight], self.ineqs) if equality else (self.eqs, [*self.ineqs, tight])
        if self.lines is not None:
            lines = self.lines.where(tight, equality)
            if lines is None:
                return False
            self.eqs, self.ineqs, self.lines = eqs, ineqs, lines
            return True
        points = [p for p in self.points if (v := evaluate(tight, p)) == 0 or (v > 0 and not equality)]
        if not points:
            point = self._find(eqs, ineqs)
            if point is None:
                return False
            points = [point]
        if self.residues is not None:
            self.residues = self.residues.where(tight, equality)
        self.eqs, self.ineqs, self.points = eqs, ineqs, points
        (self.tab.add_eq if equality else self.tab.add_ineq)(tight)
        return True

    def count(self) -> None:
        """Resolve the parameters into residue classes, or into points if they are few; two LPs per parameter."""
        if self.lines is not None:
            self.lines = self.lines.listed(_FEW)
        elif not self.divs and self._wide():
            self.residues = None
        elif not self.tab.empty:
            rows = [*((True, r) for r in self.eqs), *((False, r) for r in self.ineqs)]
            self.residues = resolved(self.tab, range(self.n - len(self.divs)), self.divs, rows, _FEW)
            self.lines = self.residues and progressions(self.residues, rows, _FEW)

    def _wide(self) -> bool:
        """Whether two parameters are without an end, so that nothing is listed: seen by a few LPs, as a rule."""
        if self.tab.empty or self.n < 2:
            return False
        endless = 0
        for k in range(self.n):
            unit = (0,) * (k + 1) + (1,) + (0,) * (self.n - k - 1)
            endless += self.tab.maximum(unit) is None or self.tab.minimum(unit) is None
            if endless == 2:
                return True
        return False

    def remainder(self, den: int, row: Row) -> int | None:
        """What the row leaves modulo `den`, if that is known to be the same everywhere."""
        return None if self.lines is None else self.lines.remainder(den, row)

    def _find(self, eqs: Sequence[Row], ineqs: Sequence[Row]) -> tuple[int, ...] | None:
        """A point of the context under other rows than its own."""
        if self.residues is not None:
            return self.residues.find(eqs, ineqs, integer.sample)
        return integer.sample(self.n, eqs, [*ineqs, *self.bounds])

    def sign(self, row: Row) -> int:
        """1 if row >= 0 on the whole context, -1 if row < 0 on it, 0 if both occur; exact over Z."""
        tight = normal_ineq(row)
        if isinstance(tight, bool):
            return 1 if tight else -1
        known = self.signs.get(tight)
        if known is not None:
            return known
        if self.lines is not None:
            some, less = self.lines.signs(tight)
            sign = some - less
        else:
            spend(1 + len(self.points) // 8)
            values = [evaluate(tight, p) >= 0 for p in self.points]
            if not any(values) and not self._possible(tight):
                sign = -1
            else:
                sign = int(all(values) and not self._possible(complement(tight)))
        if sign:
            self.signs[tight] = sign
        return sign

    def _possible(self, row: Row) -> bool:
        """Whether some integer point of the context has row >= 0; keeps the point."""
        token = self.tab.mark()
        self.tab.add_ineq(row)
        vertex = None if self.tab.empty else self.tab.sample()
        self.tab.rollback(token)
        if vertex is None:
            return False
        if all(den == 1 for _, den in vertex):
            point = tuple([num for num, _ in vertex])
        else:
            point = self._find(self.eqs, [*self.ineqs, row])
        if point is None:
            self.tab.add_ineq(complement(row))  # found by a search, known to the rational polyhedron from here on
            return False
        self.points.append(point)
        return True

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
