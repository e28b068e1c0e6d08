"""What is plain to see of rows: bounds, residues, and the greatest value of a sum where that takes no linear program.

A column that all rows allow to grow, or all to fall, is as large as it takes to satisfy them: it is dropped, and all
rows that it is in. Of

    M >= 1, c0 >= 0, M - 128*c0 - 1 >= 0, 0 <= c1 <= 127, M - 128*c0 - 1 - c1 >= 0

M goes with the rows of several columns, and what is left are numbers: c1 is 127 at most. Sizes are in few rows and of
one sign, so most questions about how far a loop runs end this way. Where a size is to be small, as for the least
M - 128*c0 - 1 - c1 under the other rows, one of the rows that hold it up, y = M - 128*c0 - 1, takes its place: what is
asked for is y - c1 then, and the rest as before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import gcd, inf

from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.linear import (
    FLOOR,
    Ends,
    Key,
    System,
    coefficient,
    negated,
    plus,
    put,
    without,
)
from polyvolta.sched.loops.rows.steps import strides_of

Rows = list[tuple[Key, int]]

NESTED = 3  # floors within floors of which remainders are known


def greatest(rows: Iterable[tuple[Key, int]], key: Key, low: Ends, high: Ends) -> float | None:
    """The greatest value of `key . x` where some rows are `>= 0`, over the rationals, if it is plain to see.

    A whole number, infinity where there is no greatest one, and its negative where the rows hold nowhere; None where a
    linear program is to decide, and where floors are in the rows. O(rows) as a rule.

    Parameters
    ----------
    low, high : constant bounds of columns that hold besides.

    >>> rows = [(((1, 1), (2, -8)), -1), (((3, 1),), 0), (((3, -1),), 7)]
    >>> greatest(rows, ((3, 1),), {1: 1, 2: 0}, {}), greatest(rows, ((1, 1), (3, -1)), {1: 1, 2: 0}, {})
    (7, inf)
    >>> greatest(rows, ((1, -1), (2, 8), (3, 1)), {1: 1, 2: 0}, {}), greatest(rows, ((3, 1),), {3: 8}, {})
    (6, -inf)
    """
    low, high, const = dict(low), dict(high), 0
    several = _split(rows, low, high)
    moved: set[int] = set()
    while several:
        up, down = set(), set()
        for row, _ in several:
            for c, v in row:
                (up if v > 0 else down).add(c)
        one = up ^ down  # of one sign in the rows
        loose = {c for c in one if c not in (high if c in up else low)}
        if loose and key:
            loose.difference_update([c for c, v in key if (c in up) != (v > 0)])  # the others stay where they are held
        if loose:
            several = [r for r in several if loose.isdisjoint([c for c, _ in r[0]])]
            continue
        held = [c for c, v in key if c in one and c not in moved and c not in (low if v > 0 else high)]
        by = _holding(several, held)
        if by is None:
            return None
        col, row = by
        moved.add(col)
        sign = coefficient(row[0], col)
        image = plus(sign, ((col, 1),), -sign, without(row[0], col)), -sign * row[1]
        for bounds, v in ((low, 1), (high, -1)):
            if col in bounds:
                several.append((((col, v),), -v * bounds.pop(col)))
        several = _split([put(*r, col, *image) if coefficient(r[0], col) else r for r in several], low, high)
        key, const = put(key, const, col, *image)
    if several is None:
        return None
    for c, end in low.items():
        if c in high and high[c] < end:
            return -inf
    total: float = const
    for c, v in key:
        total += v * (high.get(c, inf) if v > 0 else low.get(c, -inf))
    return total


def _holding(rows: Rows, columns: Iterable[int]) -> tuple[int, tuple[Key, int]] | None:
    """A column with coefficient 1 or -1 in some row, and the row."""
    return next(((c, r) for c in columns for r in rows if coefficient(r[0], c) in (1, -1)), None)


def _split(rows: Iterable[tuple[Key, int]], low: Ends, high: Ends) -> Rows | None:
    """The rows of several columns; those of one go to the bounds. None where that does not do."""
    several = []
    for key, const in rows:
        if not key or key[-1][0] >= FLOOR:  # what bounds a floor is in no row
            return None
        if len(key) != 1:
            several.append((key, const))
            continue
        ((c, v),) = key
        if v == 1:
            low[c] = max(low.get(c, -const), -const)
        elif v == -1:
            high[c] = min(high.get(c, const), const)
        else:
            return None
    return several


class Glance:
    """Rows over outer columns that hold, and what is plain to see of them.

    Parameters
    ----------
    parent, new : what holds around, and the rows that hold besides.

    Attributes
    ----------
    ineqs, mods : rows `>= 0`, and congruences.
    residues : of columns, by congruences: a row, a constant and the modulus.
    low, high : constant bounds of columns.
    """

    __slots__ = ("_floored", "_new", "_several", "columns", "high", "ineqs", "low", "mods", "residues")

    def __init__(self, columns: Columns, parent: Glance | None = None, new: System | None = None) -> None:
        self.columns = columns
        self._new: list[tuple[Key, int]] = []
        self._several: list[tuple[Key, int]] | None = None
        self._floored = parent is not None and parent._floored  # whether a row speaks of a floor
        self.ineqs: dict[Key, int] = parent.ineqs.copy() if parent else {}
        self.mods = parent.mods[:] if parent else []
        self.residues = parent.residues.copy() if parent else {}
        self.low: Ends = parent.low.copy() if parent else {}
        self.high: Ends = parent.high.copy() if parent else {}
        if new is not None:
            for key, const, d in (*new.mods, *strides_of(new.eqs)) if new.mods or new.eqs else ():
                self.mods.append((key, const, d))
                order = sorted(key, key=lambda t: (t[0] >= FLOOR, -t[0]))  # innermost first, floors at last
                unit = next((c for c, v in order if v in (1, -1) and self._finer(c, key, d)), None)
                if unit is not None:
                    sign = -coefficient(key, unit)
                    rest = without(key, unit)
                    self.residues[unit] = (rest if sign == 1 else negated(rest), sign * const, d)
            for key, const in new.every_ge():
                self._learn(*(self.tight(key, const) if self.residues else (key, const)))
            if any(len(key) == 1 and self._fixed(key[0][0]) for key, _ in self._new):
                for col, (den, key, const) in columns.floors.items():  # the inner ones come first
                    if all(self._fixed(c) for c, _ in key) and not self._fixed(col):
                        whole = (const + sum([v * self.low[c] for c, v in key])) // den
                        self._learn(((col, 1),), -whole)
                        self._learn(((col, -1),), whole)

    def _finer(self, c: int, key: Key, d: int) -> bool:
        """Whether a congruence says more of a column's residue than what is known of it."""
        old = self.residues.get(c)
        if old is None:
            return True
        return len(key) == 1 and d % old[2] == 0 and (d > old[2] or bool(old[0]))

    def _fixed(self, c: int) -> bool:
        """Whether a column has one value, which is known."""
        return c in self.low and self.low[c] == self.high.get(c)

    def _learn(self, key: Key, const: int) -> None:
        old = self.ineqs.get(key)
        if old is not None and old <= const:
            return
        self.ineqs[key] = const
        self._new.append((key, const))
        self._floored |= bool(key) and key[-1][0] >= FLOOR
        if len(key) == 1:
            ((c, v),) = key
            if v > 0:
                self.low[c] = max(self.low.get(c, -(const // v)), -(const // v))
            else:
                self.high[c] = min(self.high.get(c, const // -v), const // -v)

    def nearest(self, col: int, value: int) -> int:
        """The value nearest to one that a column has between the numbers that bound it."""
        return int(min(max(value, self.low.get(col, value)), self.high.get(col, value)))

    def allows(self, at: Mapping[int, int]) -> bool:
        """Whether all rows that speak of some columns alone hold with numbers put in."""
        rows = [row for row in self.ineqs.items() if all(c in at for c, _ in row[0])]
        return all(const + sum([v * at[c] for c, v in key]) >= 0 for key, const in rows)

    def tight(self, key: Key, const: int) -> tuple[Key, int]:
        """The strongest parallel row `>= 0` with the same integer points, by the residues that are known."""
        g, shift = self.grid(key)
        return (key, (const + shift) // g * g - shift) if g > 1 else (key, const)

    def loose(self, key: Key, const: int) -> tuple[Key, int]:
        """The weakest parallel row `>= 0` with the same integer points, by the residues that are known."""
        g, shift = self.grid(key)
        return (key, (const + shift) // g * g - shift + g - 1) if g > 1 else (key, const)

    def grid(self, key: Key) -> tuple[int, int]:
        """(g, r) such that the values of `key . x` are r modulo g, by the residues that are known.

        What they say is put in: c1 - 4*c0 is a multiple of 16 where c1 is 4*c0 modulo 16, and not of 4 alone.
        """
        g, shift, left = 0, 0, key
        for c, _ in reversed(key) if self.residues else ():
            found, v = self.residues.get(c), coefficient(left, c)
            if found is not None and v:
                image, residue, d = found
                g, shift, left = gcd(g, v * d), shift + v * residue, plus(1, without(left, c), v, image)
        return gcd(g, *[v for _, v in left]), shift

    def plainly(self, rows: Sequence[tuple[Key, int]], key: Key) -> float | None:
        """`greatest` where it takes no linear program; None elsewhere.

        Floors that no row speaks of say nothing of other columns: they have a value at each of theirs.
        """
        if self.columns.floors and (self._floored or (key and key[-1][0] >= FLOOR)):
            return None
        if self._several is None:
            self._several = [row for row in self.ineqs.items() if len(row[0]) != 1]
        return greatest((*self._several, *rows), key, self.low, self.high)

    def says(self, key: Key, const: int) -> bool:
        """Whether `key . x + const >= 0` is plain to see."""
        if not key:
            return const >= 0
        found = self.ineqs.get(key)
        if found is not None and found <= const:
            return True
        low, high = self.low, self.high
        for c, v in key:  # as `least_of` does it
            end = (low if v > 0 else high).get(c)
            if end is None:
                return False
            const += v * end
        return const >= 0

    def implies_mod(self, key: Key, const: int, d: int) -> bool:
        """Whether `key . x + const = 0 mod d` follows from the residues that are known of columns."""
        if (key, const % d, d) in self.mods:
            return True
        return self.modulo(key, const, d) == ((), 0)

    def modulo(self, key: Key, const: int, d: int, depth: int = NESTED) -> tuple[Key, int]:
        """A row modulo d, with what is known of the residues of columns put in, and of what floors leave over.

        Parameters
        ----------
        depth : of floors in what is in floors: residues may be of floors, whose arguments have residues in turn.
        """
        for _ in range(1 + len(self.residues) + len(self.columns.floors)):
            key = tuple([(c, v % d) for c, v in key if v % d])
            at = next((c for c, v in key if c in self.residues and v * self.residues[c][2] % d == 0), None)
            if at is not None:
                v = coefficient(key, at)
                image, shift, _ = self.residues[at]
                key, const = plus(1, without(key, at), v, image), const + v * shift
                continue
            for c, v in key if depth else ():
                if c not in self.columns.floors:
                    continue
                den, inner, shift = self.columns.floors[c]
                rest = self.modulo(inner, shift, den * (d // gcd(v, d)), depth - 1)
                if not rest[0]:  # floor((c + 1)/2) is odd where c mod 4 is 1
                    key, const = without(key, c), const + v * (rest[1] // den)
                    break
                whole = self._multiple_of(c, depth - 1)
                if whole is not None and v % whole[2] == 0:
                    n = v // whole[2]
                    key, const = plus(1, without(key, c), n, whole[0]), const + n * whole[1]
                    break
            else:
                break
        return key, const % d

    def _multiple_of(self, floor: int, depth: int) -> tuple[Key, int, int] | None:
        """A row that is a floor times its denominator, where the remainder is known: 2*floor(3*c/2) is 3*c, c even."""
        den, inner, const = self.columns.floors[floor]
        rest = self.modulo(inner, const, den, depth)
        return None if rest[0] else (inner, const - rest[1], den)

    def whole(self, key: Key, const: int) -> tuple[Key, int]:
        """The same value with fewer floors: 2*floor(N/2) is N where N is even."""
        for c, v in key if self.residues else ():
            found = self._multiple_of(c, NESTED) if c in self.columns.floors else None
            if found is not None and v % found[2] == 0:
                n = v // found[2]
                return self.whole(plus(1, without(key, c), n, found[0]), const + n * found[1])
        return key, const
