"""Numbers of k tiles in place of sizes: what orders a ring counts tiles, and no proof about it needs to know of what.

A loop over k tiles ends at floor((K + 63)/64) - 1, a second one's tiles have numbers c2 + floor((K + 63)/64), and the
phase of one is floor((K + 64*c2 + 63)/192). With a parameter T for floor((K + 63)/64) these are T - 1, c2 + T and
floor((T + c2)/3):

    floor(b/d) = T:     floor((b + d*x)/(d*q)) = floor((T + x)/q),     b + d*x >= 0  <=>  T + x >= 0

for every integer x, so nothing is lost; every T from its least value on is that of some size. Where a size is left
beside its T, the two stay tied together by d*T <= b < d*T + d.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from polyvolta.cuda.verify.engine.symbols import BLOCKS
from polyvolta.sets import Aff, Set, aff, var
from polyvolta.sets.values.aff import Floor
from polyvolta.sets.values.build import RowBuilder
from polyvolta.sets.values.space import Space, Tuple

Constraints = frozenset[Aff]


@dataclass(frozen=True, slots=True)
class Counted:
    """A number that stands for floor(num / den), num in sizes alone."""

    name: str
    num: Aff
    den: int


class Counts:
    """The numbers of tiles that some expressions speak of.

    Parameters
    ----------
    expressions : all that are to be said anew.
    sizes : the names of sizes, as parameters.
    known : what is required of sizes and blocks, each `e >= 0`.

    Attributes
    ----------
    counted : the numbers of tiles, T0, T1, ...
    params : the names that stay: numbers, and sizes that are left.
    known : what is known of `params`.

    >>> K, k = var("K"), var("k")
    >>> tiles = Counts([(K + 63) // 64 - 1 - k, (K + 64 * k + 63) // 192, K - 1], ["K"], [K])
    >>> [str(tiles(e)) for e in tiles.expressions], tiles.params, [str(e) for e in tiles.known]
    (['T0 - k - 1', 'floor((T0 + k)/3)', 'K - 1'], ('T0',), ['T0'])
    >>> print(tiles.positive(K - 1))
    T0 - 1
    """

    def __init__(self, expressions: Iterable[Aff], sizes: Collection[str], known: Iterable[Aff]) -> None:
        self.expressions = tuple(dict.fromkeys(expressions))
        self.sizes = tuple(sizes)
        found: dict[Floor, None] = {}
        for e in self.expressions:
            _floors(e, found)
        self.counted: tuple[Counted, ...] = ()
        for f in sorted(found, key=lambda f: (_depth(f), f.den, str(f.num))):
            own = f.num.names()
            if not own or not own <= set(sizes):
                continue
            if not self(Aff(((f, 1),))).names() & set(sizes):
                continue
            taken = {*sizes, *(n for e in self.expressions for n in e.names()), *(c.name for c in self.counted)}
            name = next(n for n in (f"T{k}" for k in range(len(taken) + 1)) if n not in taken)
            self.counted = (*self.counted, Counted(name, f.num, f.den))
        left = {n for e in self.expressions for n in self.positive(e).names() & {*sizes, *BLOCKS}}
        self.params, self.known = self._params(left, [e for e in known if not e.is_constant])

    def __call__(self, e: Aff) -> Aff:
        """An expression in numbers of tiles, the same value."""
        total = aff(e.const)
        for atom, c in e.terms:
            total = total + c * (self._floor(atom) if isinstance(atom, Floor) else Aff(((atom, 1),)))
        return total

    def positive(self, e: Aff) -> Aff:
        """What is at least 0 whenever an expression is."""
        told = self(e)
        if not told.names() & set(self.sizes):
            return told
        for flipped in (False, True):
            x = -e - 1 if flipped else e
            for c in self.counted:
                further = self._further(x, c)
                if further is not None:
                    return -(var(c.name) + further) - 1 if flipped else var(c.name) + further
        return told

    def _floor(self, f: Floor) -> Aff:
        for c in self.counted:
            if f.den % c.den == 0 and (further := self._further(f.num, c)) is not None:
                return (var(c.name) + further).floordiv(f.den // c.den)
        return self(f.num).floordiv(f.den)

    def _further(self, e: Aff, c: Counted) -> Aff | None:
        """x with e = num + den*x, in numbers of tiles; None: there is none."""
        rest = e - c.num
        if rest.const % c.den or any(k % c.den for _, k in rest.terms):
            return None
        told = self(Aff(tuple((a, k // c.den) for a, k in rest.terms), rest.const // c.den))
        return None if told.names() & c.num.names() else told

    def _params(self, left: set[str], known: list[Aff]) -> tuple[tuple[str, ...], tuple[Aff, ...]]:
        """The names that stay, and what is known of them."""
        tied, out = set(left), []
        for c in self.counted:
            others = {n for o in self.counted if o is not c for n in o.num.names()}
            least = None if c.num.names() & (left | others) else _least(c, known)
            if least is None:
                tied |= c.num.names()
                out += [c.num - c.den * var(c.name), c.den * var(c.name) + c.den - 1 - c.num]
            else:
                out.append(var(c.name) - least)
        while more := {n for e in known if e.names() & tied for n in e.names()} - tied:
            tied |= more
        names = (*(c.name for c in self.counted), *(n for n in (*self.sizes, *BLOCKS) if n in tied))
        return names, (*out, *(e for e in known if e.names() and e.names() <= tied))

    def lifted(self, point: Mapping[str, int], known: Iterable[Aff]) -> dict[str, int]:
        """The smallest sizes that have these numbers of tiles, rather none of them 0.

        Parameters
        ----------
        point : values of `params`.
        known : what is required of the sizes.
        """
        names = self.sizes
        fixed = [e for n in names if n in point for e in (var(n) - point[n], point[n] - var(n))]
        for c in self.counted:
            at = c.den * point.get(c.name, 0)
            fixed += [c.num - at, at + c.den - 1 - c.num] if c.name in point else []
        rows = [e for e in known if e.names() <= set(names) and not e.is_constant] + fixed
        for more in ([var(n) - 1 for n in names], []):
            piece = RowBuilder(names).conjunct([("ge", e) for e in (*rows, *more)])
            if piece is not None:
                points = Set._of((), [(Space(None, Tuple(None, names)), (piece,))])
                if not points.is_empty():
                    return dict(zip(names, points.lexmin().sample_point(), strict=True))
        return {n: point.get(n, 0) for n in names}


def _floors(e: Aff, found: dict[Floor, None]) -> None:
    for atom, _ in e.terms:
        if isinstance(atom, Floor):
            found[atom] = None
            _floors(atom.num, found)


def _depth(f: Floor) -> int:
    """How many floors are in one another."""
    return 1 + max((_depth(a) for a, _ in f.num.terms if isinstance(a, Floor)), default=0)


def _least(c: Counted, known: list[Aff]) -> int | None:
    """The least value of a number of tiles, all values from which on are taken; None: that isn't plain."""
    if len(c.num.terms) != 1:
        return None
    (name, k), = c.num.terms
    about = [e for e in known if name in e.names()]
    bounds = [-e.const for e in about if e.terms == ((name, 1),)]
    multiples = [e for e in about if e.terms != ((name, 1),)]
    if not isinstance(name, str) or k != 1 or len(bounds) != 1:
        return None
    step = 1
    for e in multiples:  # -(name mod m)
        found = next((m for m in range(2, c.den + 1) if e == -(var(name) % m)), None)
        if found is None:
            return None
        step = max(step, found)
    low = -(-bounds[0] // step) * step
    return (low + c.num.const) // c.den if len(multiples) <= 1 else None
