"""The columns of a conjunct under normalisation: replacing them, and keeping the divs in their one form.

A div is reduced: nested floors flatten, multiples of the divisor leave the floor, the gcd cancels, the first
coefficient is positive. Equal divs merge, constant and unused ones go, the rest are sorted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress
from math import gcd
from operator import neg

from .rows import Row, picker

Div = tuple[int, Row] | None

_UNITS = (1, -1)
_GONE = (1, [])  # a div that has been replaced everywhere


def defining_rows(div: tuple[int, Sequence[int]], col: int, width: int) -> list[Row]:
    """`0 <= row - den*q <= den - 1` for the div in column `col`."""
    den, row = div
    low = [*row, *(0,) * (width - len(row))]
    low[col] = -den
    high = list(map(neg, low))
    high[0] += den - 1
    return [tuple(low), tuple(high)]


def replace_column(row: Sequence[int], col: int, value: Sequence[int]) -> list[int]:
    """The row with column `col` replaced by the affine `value`, which may mention the column itself."""
    c = row[col]
    out = list(row)
    out[col] = 0
    for k in compress(range(len(value)), value):
        out[k] += c * value[k]
    return out


def _padded(row: Row, width: int) -> list[int]:
    """The row with zeros up to a width."""
    return [*row, *(0,) * (width - len(row))]


def _full(rows: Iterable[Row], width: int) -> list[list[int]]:
    """The rows, which may lack columns at their ends, as lists of full width."""
    full = list(map(list, rows))
    for row in full if full and min(map(len, full)) < width else ():
        row += [0] * (width - len(row))
    return full


def primitive(row: list[int]) -> bool | None:
    """Make an equality primitive, in place, as `normal_eq` does; True if it says nothing, False if it never holds."""
    tail = row[1:]
    g = gcd(*tail)
    if not g or row[0] % g:
        return not g and not row[0]
    if g > 1:
        row[:] = [c // g for c in row]
    if next(filter(None, tail)) < 0:
        row[:] = map(neg, row)
    return None


def substitute_solved(rows: Iterable[list[int]], eq: Sequence[int], col: int) -> None:
    """Replace column `col`, which has a unit coefficient in the equality `eq`, in the rows by what that says."""
    lead, used = -eq[col], [*compress(range(len(eq)), eq)]
    for row in rows:
        c = lead * row[col]
        if c:
            for k in used:
                row[k] += c * eq[k]


class Columns:
    """The mutable state of one normalisation; rows and div definitions all have full width."""

    def __init__(self, n: int, divs: Sequence[Div], eqs: Iterable[Row], ineqs: Iterable[Row]) -> None:
        self.base = 1 + n
        self.width = width = self.base + len(divs)
        self.divs = [None if d is None else (d[0], _padded(d[1], width)) for d in divs]
        self.eqs = _full(eqs, width)  # in `solve`: still to be solved
        self.ineqs = _full(ineqs, width)
        self.solved: list[list[int]] = []
        self.memo: dict[int, tuple[int, int]] = {}  # ranks of columns, while no div changes
        self.uses: dict[int, tuple] = {}  # equalities by id, and what they can be used for, while no div changes
        self.best: dict[Row, int] = {}  # the inequalities as `tighten` left them, coefficients -> constant
        self.pairs: dict[Row, Row] = {}  # opposite ones of them that may define a column of the first, by coefficients
        self.pivots: set[int] = set()  # columns of dimensions that the equalities give
        self.unsolved = bool(self.eqs)  # whether an equality has changed since they were solved

    def forget(self) -> None:
        """A div has changed."""
        self.memo.clear()
        self.uses.clear()

    # ---- replacing columns

    def substitute(self, col: int, value: Sequence[int]) -> None:
        """Replace a column by an affine value in every row, and in the divs unless the value mentions it itself.

        A dimension that is a multiple, i = 4*floor(i/4), so stays i in every div.
        """
        used = [*compress(range(len(value)), value)]
        for rows in (self.eqs, self.solved, self.ineqs):
            for at, row in enumerate(rows):
                c = row[col]
                if c:
                    rows[at] = out = row[:]
                    out[col] = 0
                    for k in used:
                        out[k] += c * value[k]
                    if rows is self.eqs:
                        self.unsolved = True
        users = [k for k, d in enumerate(self.divs) if d and d[1] and d[1][col]]
        base = self.base
        for j in range(len(self.divs)) if users else ():
            if value[base + j] and base + j != col and (self.divs[j] is None or self.mentions(j, col)):
                return  # nor do known divs ever depend on unknown ones
        for k in users:
            div = self.divs[k]
            assert div is not None
            self.divs[k] = (div[0], replace_column(div[1], col, value))
            self.forget()

    def solve_unknown(self) -> bool:
        """Solve for unknown divs with a unit coefficient, those in the first columns leading; False: no solution.

        No div mentions them, so they only have to be replaced in the rows. What equalities are left are primitive.
        """
        unknown = [col for col, d in enumerate(self.divs, self.base) if d is None]
        rows, users = [], self.eqs
        while True:
            for row in users:
                said = primitive(row)
                if said is False:
                    return False
                if said is None:
                    rows.append(row)
            for col in unknown:
                users = [r for r in rows if r[col]]
                units = [r for r in users if r[col] in _UNITS]
                if units:
                    break
            else:
                self.eqs = rows
                if self.divs and not unknown and not any(self.divs):  # they are all gone
                    self.rename_columns([])
                return True
            pivot = min(units)
            for row in users:
                rows.remove(row)
            users.remove(pivot)
            substitute_solved([*users, *self.ineqs], pivot, col)
            unknown.remove(col)

    def mentions(self, j: int, col: int) -> bool:
        """Whether a column takes part in the definition of div j, directly or by way of other divs."""
        seen, stack = {j}, [j]
        while stack:
            div = self.divs[stack.pop()]
            if div is None or not div[1]:
                continue
            if div[1][col]:
                return True
            for m, v in enumerate(div[1][self.base :]):
                if v and m not in seen:  # divs share divs: without this the walk is exponential
                    seen.add(m)
                    stack.append(m)
        return False

    def rename_columns(self, order: list[int]) -> None:
        """Keep the divs `order`, in that order."""
        columns = [*range(self.base), *[self.base + k for k in order]]
        if not order:
            for rows in (self.eqs, self.solved, self.ineqs):
                rows[:] = [r[: self.base] for r in rows]
            self.divs, self.width = [], self.base
            return
        take = picker(columns)
        for rows in (self.eqs, self.solved, self.ineqs):
            rows[:] = map(list, map(take, rows))
        kept = [self.divs[k] for k in order]
        self.divs = [None if d is None else (d[0], list(take(d[1]))) for d in kept]
        self.width = len(columns)

    # ---- divs

    def tidy_divs(self) -> None:
        """Reduce every known div, replace constant ones, merge equal ones, drop unused ones, sort."""
        if not self.divs:
            return
        self.sort_divs()
        if not any(self.divs):
            return
        seen: dict[tuple, int] = {}
        changed = False
        for k, div in enumerate(self.divs):
            if div is None:
                continue
            changed |= self.reduce_div(k)
            div = self.divs[k]
            assert div is not None
            den, row = div
            key = (den, tuple(row))
            constant = not any(row[1:])
            if not constant and seen.setdefault(key, k) == k:
                continue
            value = [0] * self.width
            if constant:
                value[0] = row[0] // den
            else:
                value[self.base + seen[key]] = 1
            self.substitute(self.base + k, value)
            self.divs[k] = _GONE
            changed = True
        if self.settle_strides() or changed:
            self.sort_divs()

    def reduce_div(self, k: int) -> bool:
        """q = floor(row/den): flatten nested floors, cancel the gcd, reduce coefficients, the first > 0.

        Whether there was something to do.
        """
        before = self.divs[k]
        assert before is not None
        den, row = before
        base, col = self.base, self.base + k
        while 1 in row[base:]:
            nested = [j for j, v in enumerate(row[base:]) if v == 1 and self.divs[j] is not None]
            if len(nested) != 1:
                break
            deeper = self.divs[nested[0]]
            assert deeper is not None
            inner_den, inner = deeper
            row = [v * inner_den for v in row]
            row[base + nested[0]] = 0
            row = [a + b for a, b in zip(row, inner, strict=True)]
            den *= inner_den
        g = gcd(den, *row[1:])
        if g > 1:
            row, den = [v // g for v in row], den // g
        half = (den - 1) // 2
        used = [*compress(range(1, len(row)), row[1:])]
        if 0 <= row[0] < den and (den > 2 or not row[0]) and (not used or row[used[0]] > 0):
            for c in used:
                if not 0 <= row[c] + half < den:
                    break
            else:
                self.divs[k] = (den, row)
                return (den, row) != before
        quotient = [row[0] // den, *[(v + half) // den if v else 0 for v in row[1:]]]  # the rest is in (-den/2, den/2]
        if any(quotient):
            row = [v - den * q for v, q in zip(row, quotient, strict=True)]
        sign = 1
        if next((v for v in row[1:] if v), 0) < 0:  # floor(-e/d) = -floor((e + d - 1)/d)
            sign = -1
            row = [-v for v in row]
            row[0] += den - 1
            quotient[0] -= row[0] // den
            row[0] %= den
        if den == 2 and row[0] == 1:  # floor((x + 1)/2) = x - floor(x/2)
            quotient = [q + sign * v for q, v in zip(quotient, row, strict=True)]
            quotient[0] -= sign
            row[0], sign = 0, -sign
        self.divs[k] = (den, row)
        if sign < 0 or any(quotient):
            quotient[col] = sign
            self.substitute(col, quotient)
            return True
        return (den, row) != before

    def settle_strides(self) -> bool:
        """Where an equality says `lin = den*q + k` for q = floor((lin + c)/den), make c = 0.

        If there is a div floor(lin/den) already, it takes the place of q.
        """
        changed = False
        for k, div in enumerate(self.divs):
            if div is None or not div[1]:
                continue
            den, row = div
            col = self.base + k
            for eq in self.eqs:
                if abs(eq[col]) != den:
                    continue
                sign = 1 if eq[col] < 0 else -1
                want = [sign * v for v in row]
                want[col] = eq[col]
                if eq[1:] != want[1:]:
                    continue
                residue = -sign * eq[0]
                if not 0 <= residue + row[0] < den:  # q would differ from itself
                    self.ineqs.append([-1] + [0] * (self.width - 1))
                elif row[0]:
                    plain = (den, [0, *row[1:]])
                    twin = self.divs.index(plain) if plain in self.divs else k
                    self.divs[k] = plain if twin == k else _GONE
                    value = [0] * self.width
                    value[0], value[self.base + twin] = -(residue // den), 1
                    if value[0] or twin != k:
                        self.substitute(col, value)
                    changed = True
                break
        return changed

    def sort_divs(self) -> None:
        """Drop unused divs; put each behind those it depends on, unknown ones last, ties by definition."""
        base, divs = self.base, self.divs
        if not divs:
            return
        used = self.used_divs()
        inner: dict[int, list[int]] = {}  # what each known div depends on
        stack = list(used)
        while stack:
            k = stack.pop()
            div = divs[k]
            if div is not None and k not in inner:
                tail = div[1][base:]
                inner[k] = [j for j, v in enumerate(tail) if v] if any(tail) else []
                used.update(inner[k])
                stack += inner[k]
        if any(inner.values()):
            order = self.ordered(used, inner)
        else:
            defined = [(divs[k], k) for k in inner]
            order = [k for *_, k in sorted([(d[0], d[1][:base], k) for d, k in defined if d is not None])]
            order += sorted(used - inner.keys())
        if order != list(range(len(divs))):
            self.rename_columns(order)

    def used_divs(self) -> set[int]:
        """The divs that a row mentions."""
        base = self.base
        columns = zip(*[row[base:] for row in (*self.eqs, *self.ineqs)], strict=True)
        return {k for k, column in enumerate(columns) if any(column)}

    def ordered(self, used: set[int], inner: dict[int, list[int]]) -> list[int]:
        """The used divs, each behind those it depends on; the least definition first among those that can be next."""
        base, left, order = self.base, set(used), []
        while left:
            ready = []
            for k in left & inner.keys():
                if left.isdisjoint(inner[k]) and (div := self.divs[k]) is not None:
                    den, row = div
                    ready.append((den, row[:base], [row[base + j] for j in order], k))
            k = min(ready)[-1] if ready else min(left)
            order.append(k)
            left.discard(k)
        return order
