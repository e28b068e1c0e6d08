"""Rows of the scanner: sparse affine rows over numbered columns, and systems of them that lose columns exactly.

A row is a *key*, the sorted pairs (column, coefficient), and a constant apart from it; a system keeps its
inequalities in a dictionary from key to constant, so of parallel ones only the strongest stays. Columns are numbers:
what is known outside of a loop (parameters, names, loop variables, floors of those) has a small number, everything
local to one statement's instances (its iterators, floors of them, other existentials) one from `LOCAL` on. A key is
sorted, so its last entry tells whether a row speaks of anything local.

A column is removed by the first of these that applies.

- An equality holds it with coefficient 1 or -1: it is substituted.
- An equality holds it and other columns to be removed: Euclid's algorithm on their coefficients, each step a change
  of integer variables, leaves a single one with coefficient d. If d is not 1, then x = f/d: f is substituted, the
  other rows being scaled, and what is left of the equality is the *congruence* f = 0 mod d.
- It is in inequalities only: Fourier and Motzkin's sums of every lower and every upper one. These are exact where
  one of the two coefficients is 1; otherwise the result is too large, and `exact` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from itertools import count
from math import gcd

from polyvolta.sets.budgets import spend
from polyvolta.sets.engine.simplex import redundant

Key = tuple[tuple[int, int], ...]
Congruence = tuple[Key, int, int]  # (key, const, d): key . x + const = 0 mod d
Ends = dict[int, int]  # constant bounds of columns

LOOP = 1 << 10  # the column of loop number k is LOOP + k
TWIN = 1 << 14
FLOOR = 1 << 16  # floors of columns below, each a known function of them
LOCAL = 1 << 24
CROWDED = 14  # with more rows than this, a linear program per row pays for itself

_outside = count(LOCAL)
fresh: ContextVar[Iterator[int]] = ContextVar("columns", default=_outside)


def new_column() -> int:
    """The number of a local column that nothing uses yet."""
    return next(fresh.get())


def plus(a: int, left: Key, b: int, right: Key) -> Key:
    """The linear part `a*left + b*right`.

    >>> plus(1, ((1, 2), (3, 1)), 2, ((2, 5), (3, -1)))
    ((1, 2), (2, 10), (3, -1))
    """
    if a != 1:
        left = tuple([(c, a * v) for c, v in left])
    if not right or not b:
        return left
    if not left or left[-1][0] < right[0][0]:  # as of most rows: they have no column in common
        return left + (right if b == 1 else tuple([(c, b * v) for c, v in right]))
    out = dict(left)
    for c, v in right:
        total = out.get(c, 0) + b * v
        if total:
            out[c] = total
        else:
            out.pop(c, None)
    return tuple(sorted(out.items()))


def negated(key: Key) -> Key:
    """The linear part with the other sign."""
    return tuple([(c, -v) for c, v in key])


def coefficient(key: Key, col: int) -> int:
    """The coefficient of a column, 0 if it is not there."""
    for c, v in key:
        if c == col:
            return v
    return 0


def without(key: Key, col: int) -> Key:
    """The linear part less one column."""
    return tuple([t for t in key if t[0] != col])


def local(key: Key) -> bool:
    """Whether a row speaks of a local column."""
    return bool(key) and key[-1][0] >= LOCAL


def put(key: Key, const: int, col: int, image: Key, shift: int, den: int = 1) -> tuple[Key, int]:
    """The row times `den`, `col = (image + shift)/den` put in; the row must hold the column."""
    v = coefficient(key, col)
    return plus(den, without(key, col), v, image), den * const + v * shift


def dense(place: Mapping[int, int], key: Key, const: int) -> tuple[int, ...]:
    """The row over columns that have the places 1, 2, ..., a constant first.

    >>> dense({4: 1, 7: 2}, ((7, 3),), -1)
    (-1, 0, 3)
    """
    row = [const, *[0] * len(place)]
    for c, v in key:
        row[place[c]] = v
    return tuple(row)


class System:
    """Equalities, inequalities and congruences over columns; `empty` once a contradiction is plain.

    `exact` is False when a removed column may have left too much; `tied` is True once two inequalities may be an
    equality.

    Parameters
    ----------
    ineqs, eqs, mods : rows to begin with.
    """

    __slots__ = ("empty", "eqs", "exact", "ineqs", "mods", "tied")

    def __init__(
        self,
        ineqs: Iterable[tuple[Key, int]] = (),
        eqs: Iterable[tuple[Key, int]] = (),
        mods: Iterable[Congruence] = (),
    ) -> None:
        self.eqs: list[tuple[Key, int]] = []
        self.ineqs: dict[Key, int] = {}
        self.mods: list[Congruence] = []
        self.empty = False
        self.exact = True
        self.tied = False
        for row in ineqs:
            self.ge(*row)
        for row in eqs:
            self.eq(*row)
        for row in mods:
            self.mod(*row)

    def copy(self) -> System:
        """One that can be changed."""
        out = System.__new__(System)
        out.eqs, out.ineqs, out.mods = self.eqs[:], self.ineqs.copy(), self.mods[:]
        out.empty, out.exact, out.tied = self.empty, self.exact, self.tied
        return out

    # ---- adding

    def ge(self, key: Key, const: int) -> None:
        """Add `key . x + const >= 0`, tightened."""
        if not key:
            if const < 0:
                self.empty = True
            return
        if not -2 < key[0][1] < 2:
            g = gcd(*[v for _, v in key])
            if g > 1:
                key, const = tuple([(c, v // g) for c, v in key]), const // g
        old = self.ineqs.get(key)
        if old is None or const < old:
            self.ineqs[key] = const
            opposite = self.ineqs.get(tuple([(c, -v) for c, v in key]))
            if opposite is not None and opposite + const <= 0:
                self.tied = True
                self.empty |= opposite + const < 0

    def untie(self) -> None:
        """Make one equality of every two inequalities that leave one value: of 1 <= i - 2*floor(i/2) <= 1, too."""
        self.tied = False
        for key, const in list(self.ineqs.items()):
            if self.ineqs.get(negated(key)) == -const:
                del self.ineqs[key], self.ineqs[negated(key)]
                self.eq(key, const)

    def eq(self, key: Key, const: int) -> None:
        """Add `key . x + const = 0`."""
        g = gcd(*[v for _, v in key])
        if not g:
            self.empty |= const != 0
        elif const % g:
            self.empty = True
        else:
            row = (tuple([(c, v // g) for c, v in key]), const // g) if g > 1 else (key, const)
            if row not in self.eqs:
                self.eqs.append(row)

    def mod(self, key: Key, const: int, d: int) -> None:
        """Add `key . x + const = 0 mod d`, reduced: coefficients between -d/2 and d/2, the first positive."""
        d = abs(d)
        key = tuple([(c, r if 2 * r <= d else r - d) for c, v in key for r in (v % d,) if r])
        g = gcd(d, *[v for _, v in key])
        if const % g:
            self.empty = True
            return
        if g > 1:
            key, const, d = tuple([(c, v // g) for c, v in key]), const // g, d // g
        if d == 1:
            return
        if key and key[0][1] < 0:
            key, const = tuple([(c, -v if 2 * v < d else v) for c, v in key]), -const
        row = (key, const % d, d)
        if row not in self.mods:
            self.mods.append(row)

    def add(self, other: System) -> System:
        """This and all of another system's rows; changes this one."""
        for row in other.eqs:
            self.eq(*row)
        for row in other.ineqs.items():
            self.ge(*row)
        for row in other.mods:
            self.mod(*row)
        self.empty |= other.empty
        return self

    # ---- reading

    @property
    def everywhere(self) -> bool:
        """Whether it says nothing."""
        return not (self.empty or self.eqs or self.ineqs or self.mods)

    def columns(self) -> set[int]:
        """The columns that a row mentions."""
        rows = [*self.ineqs, *[k for k, _ in self.eqs], *[k for k, _, _ in self.mods]]
        return {c for key in rows for c, _ in key}

    def rows_of(self, col: int) -> tuple:
        """What the system says of a column, as a value that can be compared."""
        return (
            frozenset([r for r in self.ineqs.items() for c, _ in r[0] if c == col]),
            frozenset([r for r in self.eqs for c, _ in r[0] if c == col]),
            frozenset([r for r in self.mods for c, _ in r[0] if c == col]),
        )

    def ends(self) -> tuple[Ends, Ends]:
        """The constant lower and upper bounds of columns that rows of one column give."""
        low, high = {}, {}
        for key, const in self.ineqs.items():
            if len(key) == 1:  # its coefficient is 1 or -1, tightened
                ((c, v),) = key
                if v > 0:
                    low[c] = -const
                else:
                    high[c] = const
        return low, high

    def every_ge(self) -> Iterator[tuple[Key, int]]:
        """The inequalities, an equality as two."""
        yield from self.ineqs.items()
        for key, const in self.eqs:
            yield key, const
            yield negated(key), -const

    # ---- replacing and removing columns

    def replace(self, col: int, image: Key, shift: int, den: int = 1) -> None:
        """Put `col = (image + shift)/den` everywhere."""
        old = [r for r in self.ineqs.items() if coefficient(r[0], col)]
        for key, _ in old:
            del self.ineqs[key]
        for key, const in old:
            self.ge(*put(key, const, col, image, shift, den))
        if self.eqs and any(coefficient(k, col) for k, _ in self.eqs):
            eqs, self.eqs = self.eqs, []
            for key, const in eqs:
                self.eq(*(put(key, const, col, image, shift, den) if coefficient(key, col) else (key, const)))
        if self.mods and any(coefficient(k, col) for k, _, _ in self.mods):
            mods, self.mods = self.mods, []
            for key, const, d in mods:
                if coefficient(key, col):
                    self.mod(*put(key, const, col, image, shift, den), d * den)
                else:
                    self.mod(key, const, d)

    def without(
        self,
        gone: Iterable[int],
        low: Ends | None = None,
        high: Ends | None = None,
        resolve: Callable[[System], bool] | None = None,
    ) -> System:
        """The system that holds where values of the columns `gone` satisfy this one (see the module).

        Parameters
        ----------
        low, high : constant bounds of columns that hold besides, for leaving out what follows from them.
        resolve : may add equalities that follow, and says whether it has; asked as long as it does.
        """
        out, gone = self.solved(set(gone))
        while resolve is not None and not out.empty and resolve(out):
            solve(out, gone.__contains__, out.replace)
        first = True
        while not out.empty:
            present = {c for key in out.ineqs for c, _ in key if c in gone}
            if not present:
                break
            col = present.pop() if len(present) == 1 else min(present, key=lambda c: (out._effort(c), c))
            if low or high:
                out.round_bounds(col, low or {}, high or {})
            if out._effort(col)[0]:
                out.round_begins(col, *out.ends())
            out._fourier_motzkin(col)
            if len(out.ineqs) > 2:
                out.drop_plain(low or {}, high or {})
            if len(out.ineqs) > CROWDED and not out.empty:
                if first:  # what came in may be crowded, too
                    first = len(out.ineqs) <= len(self.ineqs)
                    if first:
                        continue
                out.prune()
        if out.empty:
            out = System()
            out.empty = True
        return out

    def solved(self, gone: set[int]) -> tuple[System, set[int]]:
        """The system without those of the columns `gone` that equalities and congruences have, and what else is to go.

        A congruence has a column for its multiple, which is to go, too.
        """
        out, gone = self.copy(), set(gone)
        for row in [m for m in out.mods if any(c in gone for c, _ in m[0])]:
            out.mods.remove(row)
            t = new_column()
            gone.add(t)
            out.eqs.append((plus(1, row[0], row[2], ((t, 1),)), row[1]))
        solve(out, gone.__contains__, out.replace)
        return out, gone

    def _effort(self, col: int) -> tuple[bool, int]:
        """Whether removing a column is inexact, and how many rows it adds."""
        some = [v for key in self.ineqs for c, v in key if c == col]
        up = len([v for v in some if v > 0])
        down = len(some) - up
        return (up > 0 < down and max(some) > 1 and min(some) < -1, up * down - up - down)

    def round_bounds(self, col: int, low: Ends, high: Ends) -> None:
        """Make constants of what in bounds of a column is always within one unit: of 0 <= 16*t + c where 0 <= c <= 15.

        That is 0 <= t; and 0 <= 16*t - 64*b + n is 4*b <= t for a parameter n, for 64*b is a multiple of 16.
        """
        for key, const in list(self.ineqs.items()):
            v = abs(coefficient(key, col))
            kept = tuple([t for t in key if t[1] % v == 0]) if v > 1 else ()
            for with_it in (((col, coefficient(key, col)),), kept) if v > 1 else ():
                rest = tuple([t for t in key if t not in with_it])
                if len(with_it) > 1 and rest and rest[-1][0] >= LOOP:  # a loop's values are told by its rows
                    continue
                least, most = least_of(rest, const, low, high), least_of(negated(rest), -const, low, high)
                if least is not None and most is not None and least // v == -most // v:
                    del self.ineqs[key]
                    self.ge(tuple([(c, w // v) for c, w in with_it]), least // v)
                    break

    def round_begins(self, col: int, low: Ends, high: Ends, several: bool = False) -> None:
        """Say where a bound of a column by another one begins, if that is no integer: c <= 64*t + 63 where 0 <= c says
        that 0 <= t. With more columns in it the bound begins at a corner of theirs, where few points are.

        Parameters
        ----------
        low, high : constant bounds of columns.
        several : whether bounds by more columns count, too.
        """
        for key, const in list(self.ineqs.items()):
            v = coefficient(key, col)
            counts = abs(v) > 1 and (len(key) == 2 or several)
            most = least_of(negated(without(key, col)), -const, low, high) if counts else None
            if most is not None and most % v:
                self.ge(((col, v // abs(v)),), -most // abs(v))

    def _fourier_motzkin(self, col: int) -> None:
        lows, highs = [], []
        for key, const in self.ineqs.items():
            for c, v in key:
                if c == col:
                    (lows if v > 0 else highs).append((key, const, v))
                    break
        for key, _, _ in (*lows, *highs):
            del self.ineqs[key]
        spend(1 + len(lows) * len(highs) // 4)
        for low, c_low, a in lows:
            for high, c_high, b in highs:
                b = -b
                if a != 1 and b != 1:
                    self.exact &= a == b and c_low + c_high >= a - 1 and not plus(1, low, 1, high)
                    g = gcd(a, b)
                    up, down = b // g, a // g
                else:
                    up, down = b, a
                self.ge(plus(up, low, down, high), up * c_low + down * c_high)

    def drop_plain(self, low: Ends, high: Ends) -> None:
        """Leave out inequalities of several columns that constant bounds of single ones imply."""
        several = [row for row in self.ineqs.items() if len(row[0]) > 1]
        if not several:
            return
        least, most = self.ends()
        low = {**low, **{c: e for c, e in least.items() if c not in low or low[c] < e}}
        high = {**high, **{c: e for c, e in most.items() if c not in high or high[c] > e}}
        for key, const in several:
            end = least_of(key, const, low, high)
            if end is not None and end >= 0:
                del self.ineqs[key]

    def prune(self) -> None:
        """Leave out inequalities that the others imply over the rationals."""
        columns = sorted(self.columns())
        place = {c: 1 + k for k, c in enumerate(columns)}
        rows = list(self.ineqs.items())
        eqs, ineqs = (tuple([dense(place, *r) for r in some]) for some in (self.eqs, rows))
        flags = redundant(len(columns), eqs, ineqs)
        self.ineqs = {key: const for (key, const), out in zip(rows, flags, strict=True) if not out}


def least_of(key: Key, const: int, low: Ends, high: Ends) -> int | None:
    """The least value of `key . x + const` by constant bounds of the columns, None where they give none."""
    for c, v in key:
        end = (low if v > 0 else high).get(c)
        if end is None:
            return None
        const += v * end
    return const


def solve(system: System, free: Callable[[int], bool], replace: Callable[[int, Key, int, int], None]) -> None:
    """Use every equality of the system with a free column to replace one, until none has any; congruences stay.

    Parameters
    ----------
    replace : called with (column, image, shift, den) for every substitution; it must change the system, too.
    """
    while not system.empty:
        for at, (key, const) in enumerate(system.eqs):  # noqa: B007
            mine = [t for t in key if free(t[0])]
            if mine:
                break
        else:
            return
        unit = next((c for c, v in mine if v in (1, -1)), None)
        if unit is not None:
            del system.eqs[at]
            sign = -coefficient(key, unit)
            rest = without(key, unit)
            replace(unit, rest if sign == 1 else negated(rest), sign * const, 1)
        elif len(mine) == 1:
            ((col, d),) = mine
            del system.eqs[at]
            rest = without(key, col)
            system.mod(rest, const, d)
            if d < 0:
                replace(col, rest, const, -d)
            else:
                replace(col, negated(rest), -const, d)
        else:
            col, d = min(mine, key=lambda t: abs(t[1]))
            moves = [(c, -((2 * v + abs(d)) // (2 * abs(d))) * (1 if d > 0 else -1)) for c, v in mine if c != col]
            replace(col, plus(1, ((col, 1),), 1, tuple([m for m in moves if m[1]])), 0, 1)
