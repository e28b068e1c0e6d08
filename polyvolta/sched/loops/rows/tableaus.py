"""Tableaus whose rows are those of the scanner: sparse, over numbered columns.

A column has a place once a row speaks of it, so that a tableau is no wider than what it knows: most of the floors of a
scan are in the rows of a few places only. What is known of such a column is added with its place. Of a floor that no
other row speaks of, its own two say nothing of other columns, so that questions have the same answers without it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import gcd

from polyvolta.sched.loops.rows.linear import Key, negated, plus
from polyvolta.sets.engine.simplex import OBJECTIVE, Tableau, reduced

Floor = tuple[int, Key, int, int | None]  # of (key . x + const) / den: den, key, const, and the remainder if known

LAST = 8  # tableaus that are kept
ALMOST = 4096  # a row's minimum is compared with -1 + 1/ALMOST


class Sparse(Tableau):
    """A tableau of rows over numbered columns.

    Attributes
    ----------
    place : of columns, the numbers of the tableau's variables.
    later : columns that are floors, which are added with the first row that speaks of them.

    >>> tab = Sparse()
    >>> tab.ge(((7, 2), (30, -1)), 0)
    >>> tab.ge(((30, 1),), -1)
    >>> tab.always(((7, 1),), -1), tab.always(((7, 1),), -2), tab.n
    (True, False, 2)
    """

    __slots__ = ("later", "place")

    def __init__(self) -> None:
        super().__init__(0)
        self.place: dict[int, int] = {}
        self.later: dict[int, Floor] = {}

    def copy(self) -> Sparse:
        """A tableau that starts as this one is: rows are never modified, so they are shared."""
        out = Sparse.__new__(Sparse)
        out.n, out.empty, out.made, out._rows, out._basic, out._cols, out._where = self.mark()
        out.place, out.later = self.place.copy(), self.later.copy()
        return out

    def row(self, key: Key, const: int) -> list[int]:
        """The row `key . x + const` as the tableau's questions take it."""
        self._place(key)
        row = [const] + [0] * self.n
        for c, v in key:
            row[self.place[c]] = v
        return row

    def _place(self, key: Key) -> None:
        """Give each column of a row a place, and say what it is."""
        place = self.place
        for c, _ in key:
            if c not in place:
                if c in self.later:
                    self.floor(c, *self.later.pop(c))
                else:
                    self.add_var()
                    place[c] = self.n

    def floor(self, c: int, den: int, key: Key, const: int, rest: int | None) -> None:
        """Give a column a place that is `(key . x + const) / den`, rounded down; no pivot, O(rows).

        What is left over is from 0 to den - 1, and stands for the floor among the tableau's columns, at 0, where all
        rows hold that did; with a remainder that is known nothing stands there.

        >>> tab = Sparse()
        >>> tab.ge(((7, 1),), -9)
        >>> tab.floor(30, 4, ((7, 1),), 0, None)
        >>> tab.always(((30, 1),), -2), tab.always(((30, 4), (7, -1)), 3), tab.always(((30, -4), (7, 1)), 0)
        (True, True, True)
        """
        if c in self.place:
            low = plus(1, key, -den, ((c, 1),))
            if rest is not None:
                return self.eq(low, const - rest)
            self.ge(low, const)
            return self.ge(negated(low), den - 1 - const)
        if self.empty:
            self.made += 1 if rest is not None else 2
            self.add_var()
            self.place[c] = self.n
            return None
        form = self._form(key, const - (rest or 0))
        if rest is None:
            self.made += 2
            self.add_var()
            form.append(-form[0])
            self._cols[-1] = 1 - self.made
            self._rows.append([1, den - 1, *[0] * (len(form) - 3), -1])
            self._basic.append(-self.made)
        else:
            self.made += 1
            self._where.append(0)
            self.n += 1
        self.place[c] = self.n
        self._where[-1] = len(self._rows)
        form[0] *= den
        self._rows.append(reduced(form))
        self._basic.append(self.n - 1)
        return None

    def _form(self, key: Key, const: int, factor: int = 1) -> list[int]:
        """A constant plus a multiple of `key . x` as a form of the tableau's columns: `_express`, but sparse."""
        self._place(key)
        where, place = self._where, self.place
        return self._combined(const, [(where[place[c] - 1], factor * v) for c, v in key])

    def ge(self, key: Key, const: int) -> None:
        """Add `key . x + const >= 0`."""
        self._hold(None if self.empty else self._form(key, const))

    def eq(self, key: Key, const: int) -> None:
        """Add `key . x + const = 0`: the tableau has a dimension less."""
        self._hold_zero(None if self.empty else self._form(key, const))

    def _entering(self, r: int, stop: int | None) -> int:
        """Another column than `Tableau`'s: the first one that ends the climb, or else the one that raises the row most.

        Where none raises it, as rows at 0 would be below, it is the lowest numbered: Bland's rule, so it cannot cycle.
        What is asked of a row has the same answers at whichever vertex. Cost: for each column that helps, which row
        would leave, O(rows); where rows have many columns, that spares up to half of the pivots.
        """
        rows, cols = self._rows, self._cols
        row = rows[r]
        short = None if stop is None else -row[1]
        best = low = 0
        lowest, num, den = OBJECTIVE, 0, 1
        for k in range(2, len(row)):
            c = row[k]
            if c:
                v = cols[k]
                if v >= 0:
                    return k
                if c > 0:
                    i = self._leaving(r, k, True)
                    if i < 0:
                        return k
                    other = rows[i]
                    up, by = other[1] * c, -other[k]
                    if short is not None and (up >= short * by if stop == 0 else up > short * by):
                        return k
                    if up * den > num * by:
                        best, num, den = k, up, by
                    if v < lowest:
                        low, lowest = k, v
        return best or low

    def with_rows(self, rows: Sequence[tuple[Key, int]], eqs: Sequence[tuple[Key, int]] = ()) -> Sparse:
        """A copy where some equalities hold, too, and at last some rows `>= 0`."""
        out = self.copy()
        if out.later:
            for key, _ in (*eqs, *rows):
                out._place(key)
        for row in eqs:
            out.eq(*row)
        for row in rows:
            out.ge(*row)
        return out

    def always(self, key: Key, const: int) -> bool:
        """Whether an integer row is never negative."""
        return self.empty or self._optimise(self._form(key, 1 - ALMOST - const * ALMOST, -ALMOST), 1)[0]

    def excess(self, key: Key, enough: int) -> tuple[int, int] | None:
        """The greatest value of `key . x - enough` as (num, den > 0) where it is 0 at most; None where it is more.

        >>> tab = Sparse()
        >>> tab.ge(((7, -2),), 5)
        >>> tab.excess(((7, 1),), 4), tab.excess(((7, 1),), 2)
        ((-3, 2), None)
        """
        bounded, top = self._optimise(self._form(key, -enough), 1)
        return (top[1], top[0]) if bounded else None


class Last:
    """The few tableaus that were asked for last, by what they are of: of many there would be too many rows."""

    __slots__ = ("_each",)

    def __init__(self) -> None:
        self._each: dict[Hashable, Sparse] = {}

    def put(self, what: Hashable, tab: Sparse) -> None:
        """Keep a tableau, and give up the one kept longest where there are too many."""
        self._each[what] = tab
        if len(self._each) > LAST:
            del self._each[next(iter(self._each))]

    def pop(self, what: Hashable) -> Sparse | None:
        """A tableau that was kept, which is so no longer; None where there is none."""
        return self._each.pop(what, None)


def tightened(key: Key, const: int) -> tuple[Key, int]:
    """The row `key . x + const >= 0` as tight as the integers are, its coefficients without a common factor.

    >>> tightened(((7, 2), (30, -4)), 3)
    (((7, 1), (30, -2)), 1)
    """
    g = gcd(*[v for _, v in key]) or 1
    return tuple([(c, v // g) for c, v in key]), const // g
