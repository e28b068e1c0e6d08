"""Instances of one statement on their way down the tree: a conjunction, and what became of the iterators.

At first the columns of a piece are the statement's iterators, with a local column for every floor in its domain. A
band member with expression e adds the column c of its loop and the equality c = e. That is solved at once, so it
takes a local column away: from c0 = floor(i/128) on, the floor *is* c0, and c3 = i - 128*floor(i/128) turns i into
128*c0 + c3. Below enough members the iterators are functions of loop variables; these `images` are the inverse of the
schedule, and they are the arguments of the call at the leaf.

Equal floors share a column: `floors` says which floor, in present columns, has which value. That may be a fraction
of a row: from c0 = 32*floor(i/32) on the floor is c0/32, and i mod 32 is i - c0. One whose argument has become a
function of loop variables outside becomes an outer column itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain

from polyvolta.sched.loops.rows.columns import Columns, Value, reduced_floor, remainder, total
from polyvolta.sched.loops.rows.linear import (
    LOCAL,
    Ends,
    Key,
    System,
    coefficient,
    least_of,
    local,
    negated,
    new_column,
    plus,
    put,
    solve,
    without,
)
from polyvolta.sched.loops.rows.steps import equalities, grids, landed, of_multiples, pinned, tied, told, zeros
from polyvolta.sched.loops.rows.strides import distinct
from polyvolta.sets import Aff
from polyvolta.sets.conjuncts.conjunct import Conjunct
from polyvolta.sets.values.aff import Floor

NEAR = 4  # values counted from what is outside, of which each has conditions of its own


class Piece:
    """Some instances of a statement, disjoint from its other pieces.

    Parameters
    ----------
    images : iterator -> its value.
    system : the constraints, over outer and local columns.
    """

    __slots__ = ("columns", "floors", "images", "statement", "system")

    def __init__(self, columns: Columns, statement: str) -> None:
        self.columns, self.statement = columns, statement
        self.system = System()
        self.images: dict[str, Value] = {}
        self.floors: dict[tuple[int, Key, int], Value] = {}

    @staticmethod
    def of(columns: Columns, statement: str, dims: Sequence[str], values: Sequence[Value], c: Conjunct) -> Piece:
        """The instances in a conjunct, its last dimensions being the iterators, the others having values."""
        out = Piece(columns, statement)
        for d in dims:
            out.images[d] = (((new_column(), 1),), 0, 1)
        out.take(c, [*values, *out.images.values()])
        return out

    def copy(self) -> Piece:
        """One that can be changed."""
        out = Piece(self.columns, self.statement)
        out.system, out.images, out.floors = self.system.copy(), dict(self.images), dict(self.floors)
        return out

    # ---- constraints

    def take(self, c: Conjunct, values: Sequence[Value]) -> None:
        """Keep the instances in a conjunct whose dimensions have these values."""
        table: list[Value] = [((), 1, 1), *values]
        for div in c.divs:
            if div is None:
                table.append((((new_column(), 1),), 0, 1))
            else:
                key, const, den = total(zip(div[1], table, strict=False))
                table.append(self.floor(div[0] * den, key, const))
        for row in c.eqs:
            self.system.eq(*total(zip(row, table, strict=False))[:2])
        for row in c.ineqs:
            self.system.ge(*total(zip(row, table, strict=False))[:2])
        self.settle()
        self.fix_floors()

    def equate(self, col: int, e: Aff) -> None:
        """Let a column be the value of an expression in iterators, parameters and names."""
        key, const, den = self.value(e)
        if self.fix_floors():
            key, const, den = self.value(e)
        self.system.eq(plus(1, key, -den, ((col, 1),)), const)
        self.settle()

    def restrict(self, rows: System) -> None:
        """Keep the instances for which the rows of a system hold."""
        self.system.add(rows)
        self.settle()

    def settle(self) -> None:
        """Use the equalities."""
        if self.system.tied:
            self.system.untie()
        if self.system.eqs:
            solve(self.system, LOCAL.__le__, self.replace)

    def fix_floors(self) -> bool:
        """Use that floors have one value, where numbers that bound what is in them say so: floor(i/2) of i = 0, 1.

        Returns whether there was one.
        """
        return bool(self.floors) and self._state(lambda: self._fixed(*self._ends()))

    def _ends(self) -> tuple[Ends, Ends]:
        """Constant bounds of columns; of one in a floor that is in another floor, as i mod 4 in (i mod 4 + 1)/3, those
        by one row with other columns of here, too: j >= 0 of j >= k >= 0.

        What is but in a member is left to what its loop and conditions say.
        """
        low, high = self.system.ends()
        within = {c for _, key, _ in self.floors for c, _ in key}
        inner = [
            key
            for (_, key, _), (value, _, den) in self.floors.items()
            if den == 1 and not within.isdisjoint(dict(value))
        ]
        some = {c for key in inner for c, _ in key}
        for key, const in self.system.ineqs.items() if some else ():
            for c, v in key if len(key) > 1 and all(k >= LOCAL for k, _ in key) else ():
                most = least_of(negated(without(key, c)), -const, low, high) if c in some else None
                if most is not None and v > 0:  # v*c is that or more
                    low[c] = max(low.get(c, -(-most // v)), -(-most // v))
                elif most is not None:
                    high[c] = min(high.get(c, most // v), most // v)
        return low, high

    def _state(self, rows: Callable[[], Iterator[tuple[Key, int]]]) -> bool:
        """State that rows are 0, one by one, each looked for after the one before; whether there was one."""
        found = False
        while not self.system.empty:
            row = next(rows(), None)
            if row is None:
                break
            self.system.eq(*row)
            self.settle()
            found = True
        return found

    def _fixed(self, low: Ends, high: Ends) -> Iterator[tuple[Key, int]]:
        """Rows that are 0 by constant bounds of columns: floors with local values less their values."""
        for (d, key, const), (value, shift, den) in self.floors.items():
            if den == 1 and local(value):
                least, most = least_of(key, const, low, high), least_of(negated(key), -const, low, high)
                if least is not None and most is not None and least // d == -most // d:
                    yield value, shift - least // d

    def replace(self, col: int, image: Key, shift: int, den: int = 1) -> None:
        """Put `col = (image + shift)/den` everywhere."""
        self.system.replace(col, image, shift, den)
        for d, (key, const, own) in self.images.items():
            if coefficient(key, col):
                self.images[d] = (*put(key, const, col, image, shift, den), own * den)
        moved = [f for f, v in self.floors.items() if coefficient(f[1], col) or coefficient(v[0], col)]
        for f, value in [(f, self.floors.pop(f)) for f in moved]:  # all go first: the image may hold `col` itself
            d, key, const = f
            if coefficient(value[0], col):
                value = (*put(*value[:2], col, image, shift, den), value[2] * den)
            if coefficient(key, col):
                key, const = put(key, const, col, image, shift, den)
                d *= den
            self._define(d, key, const, value)

    def _define(self, den: int, key: Key, const: int, value: Value) -> None:
        """Note that a floor has a value; where one is known already, or no floor is left, it is an equality."""
        whole, shift, d, rest, c = reduced_floor(den, key, const)
        value = total([(1, value), (-1, (whole, shift, 1))])
        old = ((), 0, 1) if d == 1 else self.valued(d, rest, c)
        if old is None:
            self.floors[d, rest, c] = value
        elif old != value:
            self.system.eq(*total([(1, old), (-1, value)])[:2])

    # ---- values

    def value(self, e: Aff) -> Value:
        """An expression in iterators, parameters and names."""
        parts: list[tuple[int, Value]] = [(e.const, ((), 1, 1))]
        for atom, c in e.terms:
            if isinstance(atom, str):
                image = self.images.get(atom)
                parts.append((c, image or (((self.columns.ids[atom], 1),), 0, 1)))
            elif isinstance(atom, Floor):
                key, const, den = self.value(atom.num)
                parts.append((c, self.floor(den * atom.den, key, const)))
            else:
                parts.append((c, self.value(Aff(((atom, 1),)).without_xor())))
        return total(parts)

    def floor(self, den: int, key: Key, const: int) -> Value:
        """The value of floor((key . x + const)/den); a new local column where it has none yet."""
        whole, shift, d, rest, c = reduced_floor(den, key, const)
        if d == 1:
            return whole, shift, 1
        found = self.valued(d, rest, c) or self.quotient(d, rest, c)
        if found is None:
            col = new_column()
            found = self.floors[d, rest, c] = (((col, 1),), 0, 1)
            low = plus(1, rest, -d, found[0])
            self.system.ge(low, c)
            self.system.ge(negated(low), d - 1 - c)
        return total([(1, (whole, shift, 1)), (1, found)])

    def valued(self, den: int, key: Key, const: int) -> Value | None:
        """The value of a reduced floor, if it is known of one that differs from this, or its negative, by a row alone.

        floor(-2*x/3) is floor(x/3) - x, for coefficients count modulo 3, and floor((2 - x)/3) is -floor(x/3).
        """
        found = self.floors.get((den, key, const))
        for (d, other, c), value in self.floors.items() if found is None else ():
            if d == den and len(other) == len(key):
                for sign, alike in ((1, const == c), (-1, const + c == den - 1)):
                    rest = plus(1, key, -sign, other) if alike else ()
                    if alike and all(v % den == 0 for _, v in rest):
                        return total([(sign, value), (1, (tuple([(k, v // den) for k, v in rest]), 0, 1))])
        return found

    def quotient(self, den: int, key: Key, const: int) -> Value | None:
        """A row that is floor((key . x + const)/den) by two inequalities: 4*e + b, where 0 <= i - 32*e - 8*b <= 7.

        Of at least two columns more: of one, or none, guards and loops say what the floor is in their own time.
        """
        wanted = dict(key)
        for row, low in self.system.ineqs.items():
            if len(row) < len(wanted) + 2 or not wanted.keys() <= {c for c, _ in row}:
                continue
            if all((v - wanted.get(c, 0)) % den == 0 for c, v in row):
                high = self.system.ineqs.get(negated(row))
                shift = (const - low) // den
                if high is not None and den * shift > high + const - den:
                    value = tuple([(c, (wanted.get(c, 0) - v) // den) for c, v in row if v != wanted.get(c, 0)])
                    self.floors[den, key, const] = value, shift, 1
                    return value, shift, 1
        return None

    def promote(self, outer: Callable[[Key], bool]) -> bool:
        """Make outer columns of other floors whose arguments are outer; whether there was one."""
        found, seen = False, set()
        while not self.system.empty:  # a floor may be the argument of another
            some = (f for f, v in self.floors.items() if f not in seen and not outer(v[0]) and outer(f[1]))
            f = next(some, None)
            if f is None:
                if self._put_outer(outer):
                    continue
                return found
            seen.add(f)  # its column may be none outside yet
            there = self.outer_floor(*f)
            self.system.eq(*total([(1, self.floors[f]), (-1, there)])[:2])
            self.floors[f] = there
            self.settle()
            found = True
        return found

    def _put_outer(self, outer: Callable[[Key], bool]) -> bool:
        """Put in what is outside for columns in floors (`told`), which keep their equalities; whether there was one."""
        rows = list(told(self.system, self.floors, outer)) if self.system.eqs and self.floors else ()
        for col, image, shift in rows:
            self.replace(col, image, shift)
            self.system.eq(plus(1, ((col, 1),), -1, image), -shift)
        if rows:
            self.settle()
        return bool(rows)

    def outer_floor(self, den: int, key: Key, const: int) -> Value:
        """The value of floor((key . x + const)/den), of outer columns: c0/16 + floor(t/16) of c0 in steps of 16."""
        parts: list[tuple[int, Value]] = []
        for c, (shift, d) in grids(self.system).items() if len(key) > 1 else ():
            v = coefficient(key, c)
            if v and d % den == 0:
                parts.append((v, (((c, 1),), shift, den)))
                key, const = without(key, c), const - v * shift
        whole, shift, den, key, const = reduced_floor(den, key, const)
        if den > 1:
            number = self.number(den, key, const)
            more, extra = self.columns.quotient(den, key, const) if number is None else ((), number)
            whole, shift = plus(1, whole, 1, more), shift + extra
        return total([*parts, (1, (whole, shift, 1))])

    def number(self, den: int, key: Key, const: int) -> int | None:
        """The value of floor((key . x + const)/den) if two inequalities leave one: c1/8 is 0 where 0 <= c1 <= 7."""
        low, high = self.system.ineqs.get(key), self.system.ineqs.get(negated(key))
        if low is None or high is None or (const - low) // den != (const + high) // den:
            return None
        return (const - low) // den

    def pin(self, outer: Callable[[Key], bool], around: bool = False, columns: Collection[int] = ()) -> bool:
        """Put in values that bounds leave, closer than a coefficient: t = floor((N + 2)/6) where N <= 6*t <= N + 2.

        Returns whether there was one; `around`: also by what all other columns leave; `columns`: not local ones, too.
        """
        return self._state(lambda: self._pinned(outer, around, columns))

    def _pinned(
        self, outer: Callable[[Key], bool], around: bool, columns: Collection[int]
    ) -> Iterator[tuple[Key, int]]:
        """Rows that are 0 of a local column, or one of some others, and what is outside."""
        for col, den, key, const in pinned(of_multiples(self.system), outer, around, columns):
            yield total([(1, (((col, 1),), 0, 1)), (-1, self.outer_floor(den, key, const))])[:2]

    def at_values(self, names: Collection[str], outer: Callable[[Key], bool], most: int) -> list[Piece]:
        """The piece at each value of the local column that has the fewest, between numbers or, if they are hardly
        several, counted from what is outside, as N <= i <= N + 2; none where none has.

        Parameters
        ----------
        names : iterators of whose values the column is a part.
        most : values, beyond which there are none.
        """
        mine = {c for d in names for c, _ in self.images[d][0] if c >= LOCAL}
        found: dict[int, tuple[int, Key, int]] = {}  # of a column how many steps it has from where
        for key, const in self.system.ineqs.items():
            col, v = key[-1] if key else (0, 0)
            high = self.system.ineqs.get(negated(key)) if v == 1 and col in mine and outer(key[:-1]) else None
            if high is not None and (len(key) == 1 or const + high < NEAR):
                found[col] = min(found.get(col, (most, (), 0)), (const + high, negated(key[:-1]), -const))
        col = min(found, key=lambda c: (found[c][0], c), default=None)
        if col is None or found[col][0] >= most:
            return []
        out: list[Piece] = []
        steps, key, const = found[col]
        for v in range(steps + 1):
            part = self.copy()
            part.replace(col, key, const + v)
            part.settle()
            part.fix_floors()
            out += [] if part.system.empty else [part]
        return out

    def land(self, columns: Sequence[int], outer: Callable[[Key], bool], often: bool = False) -> bool:
        """Put in values that strides leave between bounds: c = 9 - t mod 12 where 0 <= c <= 9 and c + t = 9 mod 12.

        Projecting the column away would lose that there is such a value, here that t mod 12 <= 9. Returns whether there
        was one.

        Parameters
        ----------
        columns : those for which values are put in.
        often : also where there always is a value, as for 0 <= c <= 11: others that go with it have one, too.
        """
        return self._state(lambda: landed(self.system, self.columns, columns, outer, often))

    def tie(self, columns: Sequence[int], known: Mapping[Key, int]) -> None:
        """Equate floors that are always as far from a column or its negative, or from 0.

        Such as e and floor((i + 3)/4) where i <= 4*e <= i + 3.

        Parameters
        ----------
        columns : those that are tried, of floors with the same denominator.
        known : inequalities that hold besides; those of columns of the piece count.
        """
        self._nest()
        self._state(lambda: chain(tied(self.system, self.floors, columns, known), zeros(self.system, columns)))

    def _nest(self) -> None:
        """Let floors with local values be of columns that have the value of a finer one: floor(i/8) is floor(c/2) where
        c is floor(i/4).

        The floor then says nothing more of i, which goes away with what loops inside say of it.
        """
        for (d, key, const), value in list(self.floors.items()):
            finer = {e for e, _, _ in self.floors if 1 < e < d and not d % e} if local(value[0]) else ()
            found = next(filter(None, (self._finer(e, key, const) for e in sorted(finer, reverse=True))), None)
            if found is not None:
                e, inner = found
                for row in remainder(d, (key, const, 1), value):
                    if self.system.ineqs.get(row[0]) == row[1]:
                        del self.system.ineqs[row[0]]
                for row in remainder(d // e, inner, value):
                    self.system.ge(*row)
                del self.floors[d, key, const]
                self._define(d // e * inner[2], *inner[:2], value)
        self.settle()

    def _finer(self, den: int, key: Key, const: int) -> tuple[int, Value] | None:
        """A denominator and the value of floor((key . x + const)/den) if it is one of columns that are not local."""
        whole, shift, d, rest, c = reduced_floor(den, key, const)
        found = self.valued(d, rest, c) if d > 1 else None
        found = None if found is None else total([(1, (whole, shift, 1)), (1, found)])
        return None if found is None or local(found[0]) or not found[0] else (den, found)

    def flatten(self, strides: bool, known: Mapping[Key, int]) -> None:
        """State equalities that all integer points satisfy: i = c where floor((5*i + 1)/3) = c and i is 0 or 1.

        Those with which a local column goes: others would but say rows in another way.

        Parameters
        ----------
        strides : also those with which a stride comes: 5*i = c where floor((9*i + 1)/2) = c and i is 0 or 1.
        known : inequalities that hold besides; those of columns of the piece count.
        """
        flat = self.flat(known)
        fewer, mods = flat.system.empty or len(flat.locals()) < len(self.locals()), distinct(flat.system)
        if fewer and (strides or len(mods) <= len(self.system.mods)):
            self.system, self.images, self.floors = flat.system, flat.images, flat.floors
            self.system.mods = mods

    def flat(self, known: Mapping[Key, int], some: Callable[[Key], bool] = bool) -> Piece:
        """The piece with all equalities that its integer points satisfy; itself if there are no more of them.

        `known` are inequalities that hold besides; those of columns of the piece count. `some` says which rows do.
        """
        found = [] if self.system.empty else equalities(self.system, known)
        if found == []:
            return self
        out = self.copy()
        out.system.empty = found is None
        for row in [row for row in found or () if some(row[0])]:
            out.system.eq(*row)
        out.settle()
        return out

    def locals(self) -> set[int]:
        """The local columns in the constraints."""
        return {c for c in self.system.columns() if c >= LOCAL}


def system_of(columns: Columns, c: Conjunct, values: Sequence[tuple[Key, int]]) -> System:
    """A conjunct over outer columns, its dimensions given as rows; local columns are left for unknown divs alone."""
    piece = Piece.of(columns, "", (), [(*v, 1) for v in values], c)
    piece.promote(lambda key: not local(key))
    if not c.known or not piece.locals():
        found = piece.system
        found.ineqs = System(columns.of_one(*row) for row in found.ineqs.items()).ineqs
        return found
    out = System()  # equalities have tied floors together: as it stands, then
    table: list[Value] = [((), 1, 1), *((*v, 1) for v in values)]
    for div in filter(None, c.divs):
        key, const, _ = total(zip(div[1], table, strict=False))
        table.append((*columns.quotient(div[0], key, const), 1))
    for row in c.eqs:
        out.eq(*total(zip(row, table, strict=False))[:2])
    for row in c.ineqs:
        out.ge(*total(zip(row, table, strict=False))[:2])
    return out
