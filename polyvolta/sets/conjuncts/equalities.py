"""The equalities of a conjunct under normalisation, solved: the first two rewritings of module `normal`.

One equality after another is used for what it is best for. With a unit coefficient of an unknown div, of a known div
that no other one in it stands on, or of a dimension, it replaces that column everywhere; with unknown divs, none of
which has a unit coefficient, it makes one known; else it is crossed with all other rows, multiplied. What is left is
a reduced echelon form, by which no other row speaks of a column that an equality gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress
from math import gcd
from operator import neg

from ..engine.columns import Columns, defining_rows, primitive, replace_column, substitute_solved
from ..engine.rows import Row, normal_eq, strongest
from .plain import last_unit, scaled
from .recognise import Intervals, Quotient, from_equality

_TRIVIAL, _UNKNOWN, _DIV, _DIMENSION, _IDENTIFY, _CROSS = range(6)  # what an equality is used for, the best first


def _cross(row: Sequence[int], pivot_row: Sequence[int], col: int) -> list[int]:
    """`row` times a positive number, less a multiple of `pivot_row`, so that column `col` vanishes."""
    pivot = pivot_row[col]
    g = gcd(row[col], pivot)
    up, down = abs(pivot) // g, row[col] // g * (1 if pivot > 0 else -1)
    return [up * a - down * b for a, b in zip(row, pivot_row, strict=True)]


class Equalities(Columns):
    """How a normalisation solves its equalities."""

    def solve(self) -> bool:
        """Reduced echelon form of the equalities, substituted into everything."""
        self.pivots = set()
        self.solved = []
        self.forget()
        if (None in self.divs or not self.divs) and not self.solve_unknown():
            return False
        if not self.divs:
            solvable = self.solve_dimensions()
            if solvable is not None:
                return solvable
        fresh = True
        while self.eqs:
            uses = []
            for eq in self.eqs:
                known = self.uses.get(id(eq))
                use = known[1] if known is not None and known[0] is eq else self.use(eq)
                if use is False:
                    return False
                uses.append(use)
            best = min(uses)
            kind, _, col, row = best
            if kind == _DIV and fresh:
                fresh = False
                if self.define_first():
                    continue
            del self.eqs[uses.index(best)]
            if kind == _TRIVIAL:
                continue
            if kind == _IDENTIFY:
                self.eqs.insert(0, list(row))
                self.identify_unknown()
                self.forget()
            elif kind == _CROSS:
                for rows in (self.eqs, self.solved, self.ineqs):
                    rows[:] = [_cross(r, row, col) if r[col] else r for r in rows]
                self.solved.append(list(row))
                if col < self.base:
                    self.pivots.add(col)
            else:
                self.use_pivot(list(row), col)
        solved = [normal_eq(row) for row in self.solved]  # a non-unit pivot may have shown them unsolvable
        self.eqs, self.solved = [list(r) for r in solved if type(r) is tuple], []
        self.unsolved = False
        return False not in solved

    def solve_dimensions(self) -> bool | None:
        """`solve` without divs: primitive equalities, each for its latest column with a unit coefficient.

        None, with what is left in `eqs`, where they have no such column.
        """
        todo, solved = [(-last_unit(row), row) for row in self.eqs], self.solved
        while todo:
            best = min(todo)
            at, pivot = best
            if not at:
                self.eqs = [row for _, row in todo]
                return None
            col = -at
            users = [one[1] for one in todo if one[1][col] and one is not best]
            todo = [one for one in todo if not one[1][col]]
            substitute_solved([*users, *solved, *self.ineqs], pivot, col)
            for row in users:
                said = primitive(row)
                if said is False:
                    return False
                if said is None:
                    todo.append((-last_unit(row), row))
            solved.append(pivot)
            self.pivots.add(col)
        for row in solved:
            primitive(row)
        self.eqs, self.solved, self.unsolved = solved, [], False
        return True

    def define_first(self) -> bool:
        """Read quotients off the equalities before a div is replaced, the range of which is known yet; whether any.

        `i = floor(t/8) + 8j` with 0 <= t < 32 says j = floor(i/8), which `0 <= t - 8i + 64j <= 7` tells no more.
        """
        wide = scaled(self.eqs)
        best = strongest(self.ineqs) if wide else None
        if best is None:
            return False
        place = [*range(self.base), *[self.rank(col)[0] for col in range(self.base, self.width)]]
        bounds = self.intervals(best)
        found = [from_equality(row, place, bounds, self.base, strides=False) for row in wide]
        for quotient in filter(None, found):
            self.define(quotient)
            self.forget()
        return any(found)

    def use(self, row: list[int]) -> tuple[int, int, int, Row] | bool:
        """(kind, effort, column, primitive row): the best way to use an equality; False if it has no solution."""
        primitive = normal_eq(row)
        found: tuple[int, int, int, Row] | bool = False
        if primitive is True:
            found = (_TRIVIAL, 0, 0, tuple(row))
        elif primitive is not False:
            found = (*self.pivot(primitive), primitive)
        self.uses[id(row)] = (row, found)
        return found

    def pivot(self, row: Row) -> tuple[int, int, int]:
        """(kind, effort, column) of the column that a primitive equality is solved for."""
        base = self.base
        unknown = [c for c, d in enumerate(self.divs, base) if d is None and row[c]] if None in self.divs else ()
        if unknown:
            for c in unknown:
                if row[c] in (1, -1):
                    return (_UNKNOWN, 0, c)
            return (_IDENTIFY, 0, 0)
        used = [*compress(range(1, self.width), row[1:])]
        units = [c for c in used if row[c] in (1, -1)]
        if units and units[-1] < base:  # the latest dimension, no div
            return (_DIMENSION, -units[-1], units[-1])
        for col in sorted(units, key=self.rank, reverse=True):
            if col < base:
                return (_DIMENSION, -col, col)
            if not any(self.mentions(j - base, col) for j in used if j >= base and j != col):
                return (_DIV, len(used), col)
        col = min(used, key=lambda c: (abs(row[c]), -c))
        return (_CROSS, abs(row[col]), col)

    def rank(self, col: int) -> tuple[int, int]:
        """How late a column stands: a dimension at its place, a div behind the latest dimension in it."""
        if col < self.base:
            return (col, 0)
        found = self.memo.get(col)
        if found is None:
            div = self.divs[col - self.base]
            found = (self.base, 0)
            if div is not None:
                latest = (0, 0)
                for c in compress(range(1, self.width), div[1][1:]):
                    latest = max(latest, (c, 0) if c < self.base else self.rank(c))
                found = (latest[0], latest[1] + 1)
            self.memo[col] = found
        return found

    def use_pivot(self, row: list[int], col: int) -> None:
        """Replace `col`, which has a unit coefficient in the equality `row`, everywhere; a div disappears."""
        value = row[:] if row[col] < 0 else list(map(neg, row))
        value[col] = 0
        k = col - self.base
        if k < 0:
            self.substitute(col, value)
            self.pivots.add(col)
            self.solved.append(row)
            return
        div = self.divs[k]
        if div is not None:
            self.ineqs += [list(self.reduced(r, self.solved)) for r in defining_rows(div, col, self.width)]
        self.substitute(col, value)
        if div is not None:
            self.divs[k] = None  # no row mentions it any more
            self.forget()

    def reduced(self, row: Sequence[int], solved: Iterable[Sequence[int]]) -> Sequence[int]:
        """A row, times a positive number, without the dimensions that are solved for; quotients keep these."""
        for eq in solved:
            for col in self.pivots:
                if row[col] and eq[col]:
                    row = _cross(row, eq, col)
        return row

    def identify_unknown(self) -> None:
        """The first equality has unknown divs, none with a unit coefficient: mix them into one, now known."""
        base = self.base
        row = self.eqs[0]
        cols = [base + j for j, d in enumerate(self.divs) if d is None and row[base + j]]
        while len(cols) > 1:  # Euclid on the columns: x_a := x_a - q x_b keeps the integer lattice
            cols.sort(key=lambda c: abs(row[c]))
            small, big = cols[0], cols[-1]
            q = row[big] // row[small]
            for rows in (self.eqs, self.solved, self.ineqs):
                for r in rows:
                    r[big] -= q * r[small]
            cols = [c for c in cols if row[c]]
        (col,) = cols
        den = abs(row[col])
        if den > 1:
            value = list(row) if row[col] < 0 else [-v for v in row]  # den * q = value
            value[col] = 0
            self.divs[col - base] = (den, value)

    def resume(self, ineqs: Sequence[Row]) -> bool:
        """Substitute equalities in normal form in the new inequalities, and add those that they hold with."""
        for eq in self.eqs:
            kind, _, col = self.pivot(tuple(eq))
            if kind != _DIMENSION or sum([1 for r in self.eqs if r[col]]) > 1:
                return False
            self.pivots.add(col)
            value = [-eq[col] * v for v in eq]
            value[col] = 0
            self.ineqs = [replace_column(r, col, value) if r[col] else r for r in self.ineqs]
        self.ineqs[:0] = [[*r, *[0] * (self.width - len(r))] for r in ineqs]
        self.unsolved = False
        return True

    # ---- quotients

    def intervals(self, best: dict[Row, int]) -> Intervals:
        """What bounds forms, by these inequalities and the divs."""
        divs = [(self.base + k, *d) for k, d in enumerate(self.divs) if d is not None]
        return Intervals(best, divs[::-1])

    def define(self, q: Quotient) -> None:
        """Add the equality `form = floor(numerator/den)`, its floor in a new column unless it is a number."""
        self.unsolved = True
        if not any(q.numerator[1:]):
            self.eqs.append([-(q.numerator[0] // q.den), *q.form[1:], *[0] * (self.width - len(q.form))])
            return
        for rows in (self.eqs, self.solved, self.ineqs):
            for row in rows:
                row.append(0)
        self.divs = [None if d is None else (d[0], [*d[1], 0]) for d in self.divs]
        more = [0] * (self.width - len(q.form))  # others have been added since it was found
        self.divs.append((q.den, [*q.numerator, *more, 0]))
        self.eqs.append([*q.form, *more, -1])
        self.width += 1
