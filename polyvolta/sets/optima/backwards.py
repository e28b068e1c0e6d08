"""The first pass of back substitution (`triangular`): Fourier and Motzkin's elimination, which keeps the bounds met."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from math import gcd
from operator import not_
from typing import NoReturn

from ..budgets import spend
from ..engine import integer
from ..engine.columns import defining_rows
from ..engine.lexopt import Piece
from ..engine.rows import Row, combine, normal_eq, normal_ineq, replaced, solved_for, strongest, unbounded
from ..engine.simplex import redundant_rows

MOST_ROWS = 48  # of an elimination, and
MOST_FLOORS = 2  # of parameters that it asks for: beyond these `lexopt` is the better way

Divs = tuple[tuple[int, Row], ...]


class Inexact(Exception):
    """The system is not of the kind that this module solves."""


class _Asked(Exception):
    """The elimination is exact with a floor of parameters, given as (den, row)."""

    def __init__(self, den: int, row: Row) -> None:
        super().__init__()
        self.div = den, row


def backwards(
    n_param: int, n_var: int, eqs: Sequence[Row], ineqs: Sequence[Row], given: Sequence[Row], n_wanted: int, sign: int
) -> Backwards:
    """The first pass, begun anew for every floor of parameters that it asks for; may raise `Inexact`."""
    floors: Divs = ()
    while True:
        try:
            return Backwards(n_param, n_var, eqs, ineqs, n_wanted, sign, given, floors)
        except _Asked as asked:
            end = 1 + n_param
            if len(floors) == MOST_FLOORS:
                raise Inexact from None
            floors, n_param = (*floors, asked.div), n_param + 1
            eqs, ineqs, given = ([(*r[:end], 0, *r[end:]) for r in rows] for rows in (eqs, ineqs, given))
            given += defining_rows(asked.div, end, end + 1)


class Backwards:
    """The first pass: rows, as {coefficients: constant} so that the tightest of parallel rows stays."""

    def __init__(
        self,
        n_param: int,
        n_var: int,
        eqs: Sequence[Row],
        ineqs: Sequence[Row],
        n_wanted: int,
        sign: int,
        given: Sequence[Row],
        floors: Divs,
    ) -> None:
        self.n, self.n_wanted, self.sign = n_param, n_wanted, sign
        self.given, self.floors = given, floors  # the last parameters are the floors
        self.contradictory = False
        self.eqs: list[Row] = []
        self.kept: dict[int, tuple[bool, list[Row]]] = {}  # column -> (is it an equality, rows that give the value)
        self.exchanged: dict[int, int] = {}  # column of a wanted variable -> the one where it is instead
        solved = self._solved(eqs, list(ineqs))
        best = None if self.contradictory else strongest(solved)
        self.rows, self.contradictory = best or {}, best is None
        if self.contradictory:
            return
        self.narrowed = False
        for col in range(n_param + n_var, n_param, -1):
            self.eliminate(col)
        self._prune()
        if self.narrowed and not self.contradictory:
            self._keep_needed()

    def _solved(self, eqs: Sequence[Row], ineqs: list[Row]) -> list[Row]:
        """The inequalities after every equality has been solved for its last variable."""
        left = list(eqs)
        while left:
            row = normal_eq(left.pop())
            if row is True:
                continue
            if row is False:
                self.contradictory = True
                return []
            last = max(compress(range(len(row)), row))
            if last <= self.n:
                self.eqs.append(row)
                continue
            if abs(row[last]) != 1:
                other, way = self._exchange(row, last)
                left = [_exchanged(r, other, last, way) for r in left]
                ineqs = [tuple(_exchanged(r, other, last, way)) for r in ineqs]
                self.kept = {
                    c: (e, [tuple(_exchanged(r, other, last, way)) for r in rs]) for c, (e, rs) in self.kept.items()
                }
                row = _exchanged(row, other, last, way)
            image = solved_for(row, last)
            left = [replaced(r, last, image) if r[last] else r for r in left]
            ineqs = [replaced(r, last, image) if r[last] else r for r in ineqs]
            for c, (e, rs) in self.kept.items():
                if any(r[last] for r in rs):
                    self.kept[c] = e, [replaced(r, last, image) for r in rs]
            self.kept[last] = (True, [image])
        return ineqs

    def _exchange(self, row: Row, last: int) -> tuple[int, int]:
        """With which variable the last of an equality changes places, and whether it keeps its sign (1) there."""
        other = max((col for col in range(self.n + 1, last) if row[col]), default=0)
        if abs(row[other]) != 1 or not other or last <= self.n + self.n_wanted:
            raise Inexact
        if other <= self.n + self.n_wanted:
            self.exchanged.setdefault(other, last)
        return other, 1 if row[last] * row[other] < 0 else -1

    def add(self, row: Sequence[int]) -> None:
        tight = normal_ineq(row)
        if tight is True:
            return
        if tight is False:
            self.contradictory = True
            return
        const = self.rows.get(tight[1:])
        if const is None or tight[0] < const:
            self.rows[tight[1:]] = tight[0]

    def eliminate(self, col: int) -> None:
        """Project one variable out, after its bounds are kept; exact or `Inexact`."""
        if col in self.kept:
            return
        lower: list[Row] = []
        upper: list[Row] = []
        for key in [key for key in self.rows if key[col - 1]]:
            (lower if key[col - 1] > 0 else upper).append((self.rows.pop(key), *key))
        if self.floors:
            lower, upper = [self._rounded(r, col) for r in lower], [self._rounded(r, col) for r in upper]
        bounds = lower if self.sign < 0 else upper
        if col - self.n <= self.n_wanted:
            if not bounds:
                raise Inexact
            self.kept[col] = (False, bounds)
        needed: list[Row] | None = None  # bounds that others don't imply
        for low in lower:
            if len(self.rows) > MOST_ROWS:
                break
            spend(len(upper) // 8)
            for up in upper:
                a, b = low[col], -up[col]
                row = combine(b, low, a, up)
                if a == 1 or b == 1:
                    self.add(row)
                elif a != b or any(row[1:]) or low[0] + up[0] < a - 1:
                    if needed is None:
                        needed = [*self._needed(lower, col), *self._needed(upper, col)]
                    if low in needed and up in needed:
                        self._inexact(low, up, col=col)
                    self.narrowed = True
        if len(self.rows) > MOST_ROWS:
            raise Inexact

    def _needed(self, bounds: list[Row], col: int) -> list[Row]:
        """The bounds of a variable, on one side, without those that another one and a row at hand imply.

        `32q <= n` says nothing beside `32q <= i` and `i <= n`, and it would make the elimination of q inexact.
        """
        kept = bounds
        for bound in bounds:
            for other in kept:
                if other is not bound and other[col] == bound[col]:
                    gap = normal_ineq([x - y for x, y in zip(bound, other, strict=True)])
                    if gap is True or (gap is not False and self.rows.get(gap[1:], gap[0] + 1) <= gap[0]):
                        kept = [r for r in kept if r is not bound]
                        break
        return kept

    def _rounded(self, bound: Row, col: int) -> Row:
        """The bound of a variable by a floor of parameters that is one of them, where that says what it does."""
        a, first = bound[col], self.n + 1
        if a in (1, -1) or any(bound[first:col]):
            return bound
        for k, (den, row) in enumerate(self.floors, first - len(self.floors)):
            if den == abs(a) and row == bound[:k] and not any(bound[k:first]):
                out = [0] * len(bound)
                out[k], out[col] = 1, 1 if a > 0 else -1
                return tuple(out)
        return bound

    def _inexact(self, *bounds: Row, col: int) -> NoReturn:
        """Raise `_Asked` for the floor that one of the bounds of a variable is, if it hangs on parameters alone."""
        first = self.n + 1
        for row in bounds:
            if not any(row[first:col]):
                raise _Asked(abs(row[col]), row[:first])
        raise Inexact

    def _prune(self) -> None:
        """Drop rows of the parameters that are the sum of two others, which is what eliminations leave behind."""
        for col in range(self.n):
            lower = [k for k in self.rows if k[col] > 0]
            for up in [k for k in self.rows if k[col] < 0]:
                for low in lower:
                    if low in self.rows and up in self.rows:
                        a, b = low[col], -up[col]
                        both = combine(b, low, a, up)
                        g = gcd(*both)
                        key = both if g < 2 else tuple([v // g for v in both])
                        const = self.rows.get(key)
                        if const is not None and key not in (low, up):
                            if const >= (b * self.rows[low] + a * self.rows[up]) // g:
                                del self.rows[key]

    def _keep_needed(self) -> None:
        """Drop rows of the parameters that the others imply over the rationals, which a step less exact would leave."""
        domain = self.domain()
        gone = redundant_rows(self.n, self.equalities(), domain, given=self.given)
        self.rows = dict(compress(self.rows.items(), map(not_, gone)))

    def domain(self) -> list[Row]:
        """The inequalities of the parameters."""
        return [(c, *k[: self.n]) for k, c in self.rows.items()]

    def equalities(self) -> list[Row]:
        return [r[: self.n + 1] for r in self.eqs]

    def told(self, piece: Piece) -> Piece:
        """The piece with floors that are parameters here as divs."""
        return Piece((*self.floors, *piece.divs), piece.eqs, piece.ineqs, piece.values)

    def empty(self) -> bool:
        """Whether there is no solution for any parameters."""
        if self.contradictory or not (self.rows or self.eqs):
            return self.contradictory
        if not self.eqs and not self.given and unbounded([(c, *k) for k, c in self.rows.items()]):
            return False
        return integer.is_empty(self.n, self.equalities(), [*self.domain(), *self.given])


def _exchanged(row: Sequence[int], a: int, b: int, way: int) -> list[int]:
    """The row with two columns exchanged, the one that comes from b with a sign."""
    out = list(row)
    out[a], out[b] = way * row[b], row[a]
    return out
