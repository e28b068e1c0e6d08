"""The columns of one scan: which number stands for which name, and rows from expressions and sets and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from itertools import count
from math import gcd
from typing import Any, TypeVar, cast

from polyvolta.sched.loops.rows.linear import FLOOR, LOCAL, LOOP, TWIN, Key, System, fresh, negated, new_column, plus
from polyvolta.sched.loops.rows.tableaus import tightened
from polyvolta.sets import Aff, aff, var
from polyvolta.sets.values.aff import Atom, Floor, linear

Row = tuple[Key, int]
Value = tuple[Key, int, int]  # (key . x + const) / den, a whole number

F = TypeVar("F", bound=Callable[..., Any])


def numbered(f: F) -> F:
    """The function, each call of which numbers local columns from the first one on.

    Right where its rows are all made in the call and none outlives it. In which order a set of columns is gone through
    depends on their numbers, and so may what is found: it is the same each time then.
    """

    @wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        token = fresh.set(count(LOCAL))
        try:
            return f(*args, **kwargs)
        finally:
            fresh.reset(token)

    return cast(F, call)


class Columns:
    """Outer columns: parameters and names, loop variables, and floors of outer columns.

    Parameters
    ----------
    names : the parameters, and the names that members are mapped to.
    sizes : the parameters alone.

    Attributes
    ----------
    given : what holds where other rows hold, too (`Known.given`). It is here for the scan to clear, not with what holds
        around: each would refer to the other, and all that a scan has learned be left to the garbage collector.
    """

    def __init__(self, names: Iterable[str], sizes: Iterable[str] = ()) -> None:
        self.sizes = frozenset(sizes)
        self.ids: dict[str, int] = {}
        self.affs: dict[int, Aff] = {}
        self.floors: dict[int, tuple[int, Key, int]] = {}  # column -> (den, key, const)
        self._floor_ids: dict[tuple[int, Key, int], int] = {}
        self._classes: dict[tuple[int, Key, int], int] = {}  # of floors whose coefficients differ by multiples of den
        self._taken: frozenset[str] = frozenset()
        self.given: dict[tuple, Any] = {}
        self.loops: dict[tuple, tuple[object, System]] = {}  # what they need (`hoisting.needs`)
        self._bounds: dict[tuple, list[Row]] = {}
        self._others: dict[int, int] = {}  # second columns of local ones
        for name in names:
            self.name(name)

    def name(self, name: str) -> int:
        """The column of a parameter or of a name that members are mapped to."""
        if name not in self.ids:
            col = self.ids[name] = 1 + len(self.ids)
            self.affs[col] = var(name)
        return self.ids[name]

    def of_sizes(self, key: Key) -> bool:
        """Whether a row speaks of parameters and floors of these alone."""
        return all(c in self.affs and self.affs[c].names() <= self.sizes for c, _ in key)

    def agree(self, others: Columns, key: Key) -> bool:
        """Whether a row speaks of the same among other columns."""
        return self is others or all(c in self.affs and self.affs[c] == others.affs.get(c) for c, _ in key)

    def of_loops(self, key: Key) -> bool:
        """Whether a row speaks of parameters, loop variables and floors of these alone: of no name of a machine."""
        return all(
            c in self.affs and all(n in self.sizes or LOOP <= self.ids[n] < FLOOR for n in self.affs[c].names())
            for c, _ in key
        )

    def loop(self, depth: int) -> int:
        """The column of the loop variable number `depth`, whose name nothing else has."""
        col = LOOP + depth
        if col not in self.affs:
            name = f"c{depth}"
            while name in self.ids or name in self._taken:
                name += "_"
            self.affs[col] = var(name)
            self.ids[name] = col
        return col

    def avoid(self, names: Iterable[str]) -> None:
        """Keep loop variables from being called like other things, before the first of them is made."""
        self._taken = frozenset(names)

    def twin(self, col: int) -> int:
        """A second column for the values of another loop variable, or of another local column."""
        return col + TWIN - LOOP if col < LOCAL else self._others.setdefault(col, new_column())

    def floor(self, den: int, key: Key, const: int) -> int:
        """The column of floor((key . x + const)/den), all of whose columns are outer."""
        what = (den, key, const)
        col = self._floor_ids.get(what)
        if col is None:
            col = self._floor_ids[what] = FLOOR + len(self._floor_ids)
            self.floors[col] = what
            self.affs[col] = self.aff(key, const).floordiv(den)
        return col

    def aff(self, key: Key, const: int, den: int = 1) -> Aff:
        """The expression of a row over outer columns, divided by `den`."""
        sums: dict = {}
        for col, v in key:
            e = self.affs[col]
            const += v * e.const
            for atom, c in e.terms:
                sums[atom] = sums.get(atom, 0) + v * c
        e = linear(sums, const)
        return e if den == 1 else e.floordiv(den)

    def floor_rows(self, col: int) -> tuple[Row, Row]:
        """The two inequalities that define a floor."""
        den, key, const = self.floors[col]
        low = plus(1, key, -den, ((col, 1),))
        return (low, const), (tuple([(c, -v) for c, v in low]), den - 1 - const)

    def bare(self, key: Key, const: int) -> Row:
        """The row `>= 0`, without its floor where it bounds a floor alone: floor(e/d) >= m where e >= d*m.

        >>> columns = Columns(["N"])
        >>> row = columns.floor(4, ((columns.name("N"), 1),), 3)
        >>> [columns.aff(*columns.bare(((row, v),), 5)) for v in (1, -2)]  # floor((N + 3)/4) >= -5, and <= 5/2
        [Aff('N + 23'), Aff('8 - N')]
        """
        while len(key) == 1 and key[0][0] in self.floors:
            ((col, v),) = key
            den, inner, c = self.floors[col]
            if v > 0:  # at least -(const // v)
                key, const = inner, c + den * (const // v)
            else:  # at most const // -v
                key, const = negated(inner), den * (const // -v + 1) - 1 - c
            g = gcd(*[w for _, w in key])
            if g > 1:
                key, const = tuple([(k, w // g) for k, w in key]), const // g
        return key, const

    def of_one(self, key: Key, const: int) -> Row:
        """The row `>= 0` without a floor of the one column it speaks of, where it holds up to a value, or from one on.

        >>> columns = Columns(["N"])
        >>> N = columns.name("N")
        >>> row = columns.floor(4, ((N, 1),), 3)
        >>> columns.aff(*columns.of_one(((N, -1), (row, 1)), 4))  # N <= floor((N + 3)/4) + 4
        Aff('6 - N')
        """
        if len(key) != 2 or key[0][0] in self.floors or key[1][0] not in self.floors:
            return key, const
        (col, v), (floor, w) = key
        den, inner, c = self.floors[floor]
        if len(inner) != 1 or inner[0][0] != col:
            return key, const
        a = inner[0][1]
        steps = [v + w * (a // den), v + w * -(-a // den)]  # from one value to the next
        sign = 1 if min(steps) >= 0 else -1 if max(steps) <= 0 else 0
        if not sign or not any(steps):
            return key, const

        def holds(x: int) -> bool:
            return v * x + w * ((a * x + c) // den) + const >= 0

        near, step = -(const * den + w * c) * sign // (abs(v * den + w * a) or 1), 1  # over the rationals
        while holds(sign * (near - step)):
            step *= 2
        below, x = near - step, near
        while not holds(sign * x):
            below, x, step = x, x + step, 2 * step
        while x - below > 1:
            middle = (x + below) // 2
            below, x = (below, middle) if holds(sign * middle) else (middle, x)
        return ((col, sign),), -x

    def floors_of(self, col: int) -> set[int]:
        """The floors in which a column is, be it in one that is in them.

        >>> columns = Columns(["N"], ["N"])
        >>> half = columns.floor(2, ((columns.name("N"), 1),), 0)
        >>> other = columns.floor(3, ((half, 1),), 0)
        >>> columns.floors_of(columns.name("N")) == {half, other}, columns.floors_of(half) == {other}
        (True, True)
        """
        found = {col}
        for floor, (_, key, _) in self.floors.items():  # the inner ones come first
            if any(c in found for c, _ in key):
                found.add(floor)
        return found - {col}

    def with_floors(self, some: Iterable[int]) -> set[int]:
        """Some columns, and those in their floors."""
        found = set(some)
        for floor, (_, key, _) in reversed(self.floors.items()):  # the outer ones come first
            if floor in found:
                found.update([c for c, _ in key])
        return found

    def value(self, key: Key, const: int, at: Mapping[int, int]) -> int:
        """A row with numbers put in; floors that have none have the value of what is in them."""
        for c, v in key:
            if c in at:
                const += v * at[c]
            else:
                den, inner, shift = self.floors[c]
                const += v * (self.value(inner, shift, at) // den)
        return const

    def without_mods(self, system: System) -> System:
        """The system with its congruences as equalities with floors."""
        out = system.copy()
        out.mods = []
        for key, const, d in system.mods:
            whole, shift = self.quotient(d, key, const)
            out.eqs.append((plus(1, key, -d, whole), const - d * shift))
        return out

    def row(self, e: Aff) -> Row:
        """An expression of names and loop variables as a row over outer columns."""
        if not e.terms or isinstance(e.terms[-1][0], str):  # names come first
            return tuple(sorted([(self.ids[name], c) for name, c in e.terms if isinstance(name, str)])), e.const
        key, const = (), e.const
        for atom, c in e.terms:
            if isinstance(atom, str):
                image = ((self.ids[atom], 1),), 0
            elif isinstance(atom, Floor):
                image = self.quotient(atom.den, *self.row(atom.num))
            else:
                image = self.row(Aff(((atom, 1),)).without_xor())
            key, const = plus(1, key, c, image[0]), const + c * image[1]
        return key, const

    def bounds(self, some: tuple[object, ...]) -> list[Row]:
        """Those of some bounds that are expressions, as rows; remembered, not to be changed."""
        found = self._bounds.get(some)
        if found is None:
            found = self._bounds[some] = [self.row(e) for e in some if isinstance(e, Aff)]
        return found

    def quotient(self, den: int, key: Key, const: int) -> Row:
        """floor of a row over outer columns as a row.

        floor((c - x)/d) is -floor((x + d - 1 - c)/d): both have one column, the upright one, whose first coefficient
        is positive. So do floor((x + 4*y)/3) and floor((x + y)/3), which differ by y: the one that was asked for first.
        """
        whole, shift, den, rest, c = reduced_floor(den, key, const)
        if den > 1:
            known = self._inside(den, rest, c)
            if known is not None:
                return plus(1, whole, 1, known[0]), shift + known[1]
            sign, rest, c = (1, rest, c) if rest[0][1] > 0 else (-1, negated(rest), den - 1 - c)
            like, alike, rest = self._alike(den, rest, c)
            whole = plus(1, whole, sign * like, ((alike, 1),))
            whole = plus(1, whole, sign, rest)
        return whole, shift

    def _inside(self, den: int, key: Key, const: int) -> Row | None:
        """A floor by what is left of another one: floor((n + f + 3)/4) is f + g where f is floor((n - 4*g + 2)/3).

        For n - 4*g + 2 - 3*f is between 0 and 2, and is n + f + 3 less 4*f + 4*g + 1.
        """
        for col, _ in key:
            d, inner, c = self.floors.get(col, (0, (), 0))
            for sign in (1, -1) if d else ():
                rest = plus(1, key, -sign, plus(1, inner, -d, ((col, 1),)))
                if all(v % den == 0 for _, v in rest):
                    least = const - sign * c - (d - 1) * (sign < 0)
                    if least // den == (least + d - 1) // den:
                        return tuple([(k, v // den) for k, v in rest]), least // den
        return None

    def _alike(self, den: int, key: Key, const: int) -> tuple[int, int, Key]:
        """The sign of a column and a row that together are a reduced floor."""
        for sign, other, c in ((1, key, const), (-1, negated(key), den - 1 - const)):
            col = self._classes.get((den, tuple([(k, v % den) for k, v in other]), c))
            if col is not None:
                rest = plus(1, key, -sign, self.floors[col][1])
                return sign, col, tuple([(k, v // den) for k, v in rest])
        col = self.floor(den, key, const)
        self._classes[den, tuple([(k, v % den) for k, v in key]), const] = col
        return 1, col, ()

    def upright(self, e: Aff) -> Aff:
        """The expression with its floors upright, so that equal ones are one and remainders show.

        As those of `quotient`, which has one column for some that are not equal, too: those are no simpler text.
        """
        if all(isinstance(atom, str) for atom, _ in e.terms):
            return e
        out = aff(e.const)
        for atom, c in e.terms:
            value = Aff(((atom, c),))
            if isinstance(atom, Floor):
                num = self.upright(atom.num)
                if not num.terms or min(num.terms, key=lambda t: self._rank(t[0]))[1] > 0:
                    value = c * num.floordiv(atom.den)
                else:
                    value = -c * (atom.den - 1 - num).floordiv(atom.den)
            out = out + value
        return out

    def _rank(self, atom: Atom) -> tuple[int, str]:
        """Names as their columns are, floors behind them."""
        return (self.ids.get(atom, FLOOR), atom) if isinstance(atom, str) else (LOCAL, str(Aff(((atom, 1),))))


def reduced_floor(den: int, key: Key, const: int) -> tuple[Key, int, int, Key, int]:
    """floor((key . x + const)/den) as (whole, shift, d, rest, c): whole . x + shift + floor((rest . x + c)/d).

    The denominator d is 1 where nothing is left in the floor.

    >>> reduced_floor(4, ((1, 8), (2, 2)), 5)
    (((1, 2),), 1, 2, ((2, 1),), 0)
    """
    whole = tuple([(c, v // den) for c, v in key if v % den == 0])
    rest = tuple([t for t in key if t[1] % den])
    if not rest:
        return whole, const // den, 1, (), 0
    g = gcd(den, *[v for _, v in rest])
    low = const % den
    if g > 1:
        rest, den_left, low = tuple([(c, v // g) for c, v in rest]), den // g, low // g
    else:
        den_left = den
    return whole, const // den, den_left, rest, low


def total(parts: Iterable[tuple[int, Value]]) -> Value:
    """The sum of multiples of values."""
    sums: dict[int, int] = {}
    const, den = 0, 1
    for v, (key, shift, d) in parts:
        if not v:
            continue
        if d != den:
            if den % d:
                for c in sums:
                    sums[c] *= d
                const *= d
                den *= d
            v *= den // d
        const += v * shift
        for c, w in key:
            sums[c] = sums.get(c, 0) + v * w
    if den > 1:
        g = gcd(den, const, *sums.values())
        if g > 1:
            const, den = const // g, den // g
            sums = {c: v // g for c, v in sums.items()}
    return tuple(sorted([t for t in sums.items() if t[1]])), const, den


def remainder(den: int, inner: Value, value: Value) -> tuple[Row, Row]:
    """The rows `>= 0` for something less `den` times its floor, which has a value, to be from 0 to less than that."""
    key, const, own = total([(1, inner), (-den, value)])
    return tightened(key, const), tightened(negated(key), own * (den - 1) - const)


def outside(key: Key, depth: int) -> bool:
    """Whether a row speaks of nothing but names, loops above number `depth`, and floors of these."""
    if not key or key[-1][0] < LOOP + depth:
        return True
    if key[-1][0] >= LOCAL:
        return False
    for c, _ in key:
        if LOOP + depth <= c < FLOOR:
            return False
    return True
