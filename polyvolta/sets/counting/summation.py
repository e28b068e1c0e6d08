"""Sums of polynomials over the integer points of a conjunct, one variable at a time.

The dimensions of a conjunct are *kept* (parameters, a map's inputs) or *inner*. What is wanted is the sum of a
polynomial over all values of the inner ones, as a function of the kept ones. An inner variable y between affine
bounds, low_i <= y <= high_j, goes in three steps:

- *Chambers.* For each pair (i, j) the points where low_i is the largest lower and high_j the smallest upper bound
  form a chamber, described by affine rows; ties go to the first bound, so chambers are disjoint.
- *Faulhaber.* In a chamber the sum over y is a polynomial in low_i and high_j (module `polynomial`), hence in the
  variables that are left, and exact where low_i <= high_j + 1. That row joins the chamber: the sum is 0 at
  low_i = high_j + 1, as it should be, and below that the chamber has nothing to count.
- *Residues.* A bound c*y <= e means y <= floor(e/c). The part of e that c divides leaves the floor, and what is
  kept may stay in it as a new div. But an inner z whose coefficient c does not divide is first written as m*z' + r
  for each residue r modulo m, the smallest m that makes it divisible; or value by value, if it has no more than m
  values.

Equalities are solved for inner variables before, by Euclid's algorithm on columns. What comes out is a list of
leaves, (rows over the kept dimensions, polynomial), whose sum is the answer; their rows may overlap. Chambers are
those of Clauss ("Counting solutions to linear and nonlinear constraints through Ehrhart polynomials", 1996); the
residues make the method exponential in the digits of the coefficients, where Barvinok's is not (Verdoolaege et al.,
"Counting integer points in parametric polytopes using Barvinok's rational functions", 2007). So residues have a
limit, and beyond it `NotSupported` names the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import gcd, lcm, prod

from ..budgets import spend
from ..conjuncts.conjunct import Conjunct
from ..engine import integer
from ..engine.rows import Row, complement, negate, normal_eq, replaced, strongest
from ..engine.simplex import Tableau, redundant_rows
from ..errors import NotSupported
from ..values.aff import Aff
from ..values.build import Constraint, RowBuilder, affs_of, expression
from .polynomial import Poly, affine, constant, substituted, summed

Leaf = tuple[list[Constraint], dict]  # where, and what: a polynomial in names and floors
RESIDUES = 64  # on one path, before a cardinality gives up


def leaves(c: Conjunct, names: Sequence[str], n_keep: int, limit: int = RESIDUES) -> list[Leaf]:
    """The number of points of a conjunct above each value of its first `n_keep` dimensions.

    The conjunct's divs are known and its inner dimensions bounded. Exact: the leaves add up to it. A few linear
    programs per chamber; the number of chambers is the product of numbers of pairs of bounds.

    Raises
    ------
    NotSupported : a row needs more than `limit` residues.
    """
    table = affs_of(c, names)
    kept = frozenset(names[:n_keep])
    inner = [*range(1 + n_keep, 1 + c.n)]
    inner += [col for col in range(1 + c.n, 1 + c.n + len(c.divs)) if not table[col].names() <= kept]
    sums = Summation(names[:n_keep], [str(table[col]) for col in inner], limit)
    at = {col: 1 + n_keep + k for k, col in enumerate(inner)}
    images = {col: {at[col]: 1} if col in at else sums.builder.sparse(e) for col, e in table.items()}
    ineqs = [*c.ineqs, *(r for k, r in enumerate(c.div_rows()) if 1 + c.n + k // 2 in at)]
    return sums.of(_spread(c.eqs, images, sums), _spread(ineqs, images, sums))


def _spread(rows: Iterable[Row], images: dict[int, dict[int, int]], sums: Summation) -> list[Row]:
    """Rows of a conjunct over the columns of a summation."""
    out = []
    for row in rows:
        wide = [row[0]] + [0] * (sums.width - 1)
        for col, v in enumerate(row):
            if col and v:
                for k, w in images[col].items():
                    wide[k] += v * w
        out.append(tuple(wide))
    return out


class Summation:
    """The columns of one sum: const, kept, inner, then the floors of kept ones that bounds have made.

    Parameters
    ----------
    kept, inner : the names of the columns.
    limit : how many residues one path may split into.
    """

    def __init__(self, kept: Sequence[str], inner: Sequence[str], limit: int) -> None:
        self.builder = RowBuilder(kept, inner)
        self.inner = range(1 + len(kept), 1 + len(kept) + len(inner))
        self.limit = limit
        self.eqs: list[Row] = []  # over kept columns

    # ---- columns

    @property
    def width(self) -> int:
        return 1 + len(self.builder.column) + len(self.builder.divs)

    def _pad(self, row: Row) -> Row:
        return row + (0,) * (self.width - len(row))

    def _dense(self, sparse: dict[int, int]) -> Row:
        row = [0] * self.width
        for col, v in sparse.items():
            row[col] = v
        return tuple(row)

    def _table(self) -> dict[int, Aff]:
        """The expression of every column."""
        out = {col: Aff(((name, 1),)) for name, col in self.builder.column.items()}
        return out | {col: Aff(((atom, 1),)) for atom, col in self.builder.floors.items()}

    def _floor(self, row: Row, den: int) -> Row:
        """The row that equals floor(row / den); inner coefficients are multiples of den."""
        whole = [0] * self.width
        for k in self.inner:
            whole[k] = row[k] // den
        rest = [0 if k in self.inner else v for k, v in enumerate(row)]
        if not any(rest[1:]):
            whole[0] = rest[0] // den
            return tuple(whole)
        e = expression(rest, self._table())
        down = next(v for v in rest[1:] if v) < 0  # floor(-e/d) is written -floor((e + d - 1)/d)
        value = self._dense(self.builder.sparse(-((den - 1 - e).floordiv(den)) if down else e.floordiv(den)))
        return tuple(a + b for a, b in zip(self._pad(tuple(whole)), value, strict=True))

    def _guards(self) -> list[Row]:
        """The rows that define the floors."""
        out = []
        first = 1 + len(self.builder.column)
        for k, (den, definition) in enumerate(self.builder.divs):
            row = list(self._dense(definition))
            row[first + k] = -den
            out += [tuple(row), (den - 1 - row[0], *[-v for v in row[1:]])]
        return out

    # ---- the sum

    def of(self, eqs: Sequence[Row], ineqs: Sequence[Row]) -> list[Leaf]:
        """The leaves of the sum of 1 over the inner variables."""
        solved = self._solved(eqs, ineqs)
        if solved is None:
            return []
        free, rows, times = self._determined(*solved)
        rows = self._rounded(rows, free)
        found = list(self._leaves(rows, rows, free, constant(times), 1))
        table = self._table()
        atoms = {col: e.terms[0][0] for col, e in table.items()}
        same: list[Constraint] = [("eq", expression(r, table)) for r in self.eqs]
        out = []
        for rows, p in found:
            if not p:
                continue
            named = {frozenset((atoms[col], e) for col, e in m): c for m, c in p.items()}
            out.append(([*same, *(("ge", expression(r, table)) for r in rows)], named))
        return out

    def _solved(self, eqs: Sequence[Row], rows: Sequence[Row]) -> tuple[list[int], list[Row]] | None:
        """The equalities used up: (inner columns left, inequalities); None when they contradict each other.

        Where only one inner variable is left in an equality, g*y + e = 0 is y = -floor(e/g) and g divides e.
        """
        free, todo, rows = list(self.inner), list(eqs), list(rows)
        while todo:
            primitive = [normal_eq(self._pad(r)) for r in todo]
            if False in primitive:
                return None
            todo = [r for r in primitive if not isinstance(r, bool)]
            self.eqs += [r for r in todo if not any(r[k] for k in free)]
            todo = [r for r in todo if any(r[k] for k in free)]
            if not todo:
                break
            row = min(todo, key=lambda r: (not any(abs(r[k]) == 1 for k in free), len(r) - r.count(0)))
            used = [k for k in free if row[k]]
            k = min(used, key=lambda k: abs(row[k]))
            c, sign = abs(row[k]), 1 if row[k] > 0 else -1
            if c == 1 or len(used) == 1:
                image = self._floor(tuple([0 if j == k else v for j, v in enumerate(row)]), c)
                todo = [self._pad(r) for r in todo]
                if c == 1:
                    todo.remove(self._pad(row))
                free.remove(k)
                image = [-sign * v for v in image]
            else:  # u = y_k + rounded quotients times the others leaves remainders of at most c/2
                image = [-sign * ((2 * v + c) // (2 * c)) if j in used else 0 for j, v in enumerate(row)]
                image[k] = 1
            todo = [replaced(r, k, image) for r in todo]
            rows = [replaced(self._pad(r), k, image) for r in rows]
        left = self._tidy(rows)
        return None if left is None else (free, left)

    def _leaves(
        self, rows: list[Row], exact: list[Row], free: list[int], p: Poly, split: int
    ) -> Iterator[tuple[list[Row], Poly]]:
        """Sum p over the free columns within the rows.

        `exact` are the rows that describe the points themselves, before any was relaxed to low <= high + 1: where
        these have no solution there is nothing to count.
        """
        spend()
        tidy = self._tidy(rows)
        if tidy is None or self._impossible(exact):
            return
        if not free:
            yield tidy, p
            return
        rows = self._irredundant(tidy)
        _, y, residues = min((self._cost(rows, y, free), y, self._residues(rows, y, free)) for y in free)
        if residues:
            for r, m, e, q in self._split(rows, exact, residues, p, split):
                yield from self._leaves(r, e, free if m else [k for k in free if k != q[0]], q[1], split * max(m, 1))
            return
        rest = [k for k in free if k != y]
        others = [r for r in rows if not r[y]]
        for low, high, extra in self._chambers(rows, y):
            extent = [high[0] - low[0] + 1, *[a - b for a, b in zip(high[1:], low[1:], strict=True)]]
            inside = summed(p, y, affine(low), affine(high))
            yield from self._leaves([*others, *extra, tuple(extent)], [*exact, *extra], rest, inside, split)

    def _tidy(self, rows: Iterable[Row]) -> list[Row] | None:
        """The inequalities, tightened, the strongest of parallel ones; None for a contradiction."""
        best = strongest(map(self._pad, rows))
        return None if best is None else [(c, *key) for key, c in best.items()]

    def _determined(self, free: list[int], rows: list[Row]) -> tuple[list[int], list[Row], int]:
        """Without the variables that have as many values everywhere, as floor(e/d) has one; and that many.

        0 <= c*y + e < k*c has k solutions y. That is all there is to say when every other row of y follows from it and
        the rows without y.
        """
        times = 1
        for y in free[::-1]:
            mine = [r for r in rows if r[y]]
            others = [r for r in rows if not r[y]]
            pairs = [(a, b) for a in mine if a[y] > 0 for b in mine if a[1:] == negate(b[1:])]
            pair = next(((a, b) for a, b in pairs if (a[0] + b[0] + 1) % a[y] == 0), None)
            if pair is not None and all(self._implied(r, [*pair, *others]) for r in mine if r not in pair):
                times *= max(0, (pair[0][0] + pair[1][0] + 1) // pair[0][y])  # none where the two contradict
                free = [k for k in free if k != y]
                rows = others
        return free, rows, times

    def _implied(self, row: Row, rows: list[Row]) -> bool:
        """Whether a row follows from others; exact."""
        given = [self._pad(r) for r in (*rows, *self._guards(), complement(row))]
        return integer.is_empty(self.width - 1, [self._pad(r) for r in self.eqs], given)

    def _rounded(self, rows: list[Row], free: list[int]) -> list[Row]:
        """The rows and, where the least or greatest value of a variable is a fraction, the integer bound."""
        tableau = self._tableau(rows)
        out = list(rows)
        for y in free:
            for sign in (1, -1):
                unit = [sign * (k == y) for k in range(self.width)]
                least = None if tableau.empty else tableau.minimum(unit)
                if least is not None and least[1] > 1:
                    out.append((-least[0] // least[1], *unit[1:]))
        return out

    def _tableau(self, rows: Iterable[Row]) -> Tableau:
        tableau = Tableau(self.width - 1)
        for r in self.eqs:
            tableau.add_eq(self._pad(r))
        for r in (*rows, *self._guards()):
            tableau.add_ineq(self._pad(r))
        return tableau

    def _impossible(self, rows: list[Row]) -> bool:
        return self._tableau(rows).empty

    def _irredundant(self, rows: list[Row]) -> list[Row]:
        eqs = [self._pad(r) for r in self.eqs]
        gone = redundant_rows(self.width - 1, eqs, rows, given=self._guards())
        return [r for r, g in zip(rows, gone, strict=True) if not g]

    def _chambers(self, rows: list[Row], y: int) -> Iterator[tuple[Row, Row, list[Row]]]:
        """(low, high, rows that make them the tightest bounds of y), for every pair of bounds."""
        lows, highs = [], []
        for r in rows:
            if r[y]:
                value = self._floor((*r[:y], 0, *r[y + 1 :]), abs(r[y]))
                (lows if r[y] > 0 else highs).append(negate(value) if r[y] > 0 else value)
        lows, highs = (list(dict.fromkeys(map(self._pad, side))) for side in (lows, highs))
        for i, low in enumerate(lows):
            above = [_less(other, low, k < i) for k, other in enumerate(lows) if k != i]
            for j, high in enumerate(highs):
                below = [_less(high, other, k < j) for k, other in enumerate(highs) if k != j]
                yield low, high, [*above, *below]

    # ---- residues

    def _residues(self, rows: list[Row], y: int, free: list[int]) -> dict[int, tuple[int, Row]]:
        """{z: (m, a row)}: which variables must be taken modulo m before all bounds of y are affine."""
        out: dict[int, tuple[int, Row]] = {}
        for r in rows:
            a = abs(r[y])
            if a > 1:
                for z in free:
                    if z != y and r[z] % a:
                        m = lcm(a // gcd(a, r[z]), out[z][0] if z in out else 1)
                        out[z] = m, r
        return out

    def _cost(self, rows: list[Row], y: int, free: list[int]) -> tuple[int, int, int]:
        """How dear it is to sum over y now: residues, chambers, terms of its bounds."""
        mine = [r for r in rows if r[y]]
        lower = sum(r[y] > 0 for r in mine)
        residues = prod(m for m, _ in self._residues(mine, y, free).values())
        return residues, lower * (len(mine) - lower), sum(len(r) - r.count(0) for r in mine)

    def _split(
        self, rows: list[Row], exact: list[Row], residues: dict[int, tuple[int, Row]], p: Poly, split: int
    ) -> Iterator[tuple[list[Row], int, list[Row], tuple[int, Poly]]]:
        """The sum cut by the residues, or by the values if they are fewer, of one variable z.

        Yields (rows, m, exact rows, (z, polynomial)), in which m*z + r stands for z; m = 0 for a value.
        """
        spans = {z: self._span(exact, z) for z in residues}
        z = min(residues, key=lambda z: min(residues[z][0], size(spans[z] or range(residues[z][0]))))
        (m, row), options = residues[z], spans[z]
        if options is None or size(options) > m:
            options = range(m)
        else:
            m = 0
        if split * size(options) > self.limit:
            table = self._table()
            what = f"{size(options)} {'residues' if m else 'values'} of {table[z]}"
            raise NotSupported(
                "the number of points does not decompose into boxes and simplices",
                where=f"{expression(row, table)} >= 0 needs {what}",
                hint="give the parameters numbers and use count(), or count a simpler superset",
            )
        for r in options:
            image = [0] * self.width
            image[0], image[z] = r, m
            yield (
                [replaced(self._pad(x), z, image) for x in rows],
                m,
                [replaced(self._pad(x), z, image) for x in exact],
                (z, substituted(p, z, affine(image))),
            )

    def _span(self, rows: list[Row], z: int) -> range | None:
        """The values between the least and the greatest that z may have, None where there is no such number."""
        return values(self._tableau(rows), [int(k == z) for k in range(self.width)])


def values(tableau: Tableau, row: Sequence[int]) -> range | None:
    """The integers between the least and the greatest value of a row; None where it has none of them. Two LPs."""
    if tableau.empty:
        return range(0)
    low, high = tableau.minimum(row), tableau.maximum(row)
    return None if low is None or high is None else range(-(-low[0] // low[1]), high[0] // high[1] + 1)


def size(r: range) -> int:
    """The length of a range, which `len` says up to a limit only."""
    return max(0, r.stop - r.start)


def _less(a: Row, b: Row, strict: bool) -> Row:
    """The row that says a <= b, or a < b."""
    return (b[0] - a[0] - strict, *[y - x for x, y in zip(a[1:], b[1:], strict=True)])
