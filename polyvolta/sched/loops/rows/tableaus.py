"""Tableaus whose rows are those of the scanner: sparse, over numbered columns.

A column has a place once a row speaks of it, so that a tableau is no wider than what it knows: most of the floors of a
scan are in the rows of a few places only.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from polyvolta.sched.loops.rows.linear import Key
from polyvolta.sets.engine.simplex import Tableau

ALMOST = 4096  # a row's minimum is compared with -1 + 1/ALMOST


class Sparse(Tableau):
    """A tableau of rows over numbered columns.

    >>> tab = Sparse()
    >>> tab.ge(((7, 2), (30, -1)), 0)
    >>> tab.ge(((30, 1),), -1)
    >>> tab.always(((7, 1),), -1), tab.always(((7, 1),), -2), tab.n
    (True, False, 2)
    """

    __slots__ = ("place",)

    def __init__(self) -> None:
        super().__init__(0)
        self.place: dict[int, int] = {}

    def copy(self) -> Sparse:
        """A tableau that starts as this one is: rows are never modified, so they are shared."""
        out = Sparse.__new__(Sparse)
        out.n, out.empty, out.made, out._rows, out._basic, out._cols, out._where = self.mark()
        out.place = self.place.copy()
        return out

    def row(self, key: Key, const: int) -> list[int]:
        """The row `key . x + const` as the tableau's questions take it."""
        self._place(key)
        row = [const] + [0] * self.n
        for c, v in key:
            row[self.place[c]] = v
        return row

    def _place(self, key: Key) -> None:
        """Give each column of a row a place."""
        place = self.place
        for c, _ in key:
            if c not in place:
                self.add_var()
                place[c] = self.n

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

    def with_rows(self, rows: Iterable[tuple[Key, int]], eqs: Iterable[tuple[Key, int]] = ()) -> Sparse:
        """A copy where some equalities hold, too, and then some rows `>= 0`."""
        out = self.copy()
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


def tightened(key: Key, const: int) -> tuple[Key, int]:
    """The row `key . x + const >= 0` as tight as the integers are, its coefficients without a common factor.

    >>> tightened(((7, 2), (30, -4)), 3)
    (((7, 1), (30, -2)), 1)
    """
    g = gcd(*[v for _, v in key]) or 1
    return tuple([(c, v // g) for c, v in key]), const // g
