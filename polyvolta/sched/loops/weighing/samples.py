"""What loops cost at some sizes: systems with numbers put in for what is outside, which takes no linear program.

At each *place*, values of all columns but a loop's own, a system is a span of the loop's values. The places are one at
which all sizes are alike, others at which they are far apart, in several orders, and some at which one is below zero: a
loop over the hull of 0 <= i < N and M <= i < 2*M is short at N = M, and runs through a gap where N is 2 and M is 1000.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import pairwise, permutations
from math import gcd, inf, lcm

from polyvolta.sched.loops.rows.columns import Row
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import LOCAL, LOOP, System, coefficient, negated, without
from polyvolta.sets.budgets import spend

ALIKE = 40  # the value of all columns at the first place
LEAST, TIMES = 3, 7  # the least value at the others, of sizes that may be so small; how much greater the next one is
ALL = 3  # columns, or other things, beyond which not all orders are tried
FEW = 3  # places at fewer of which what is known holds others are looked for, with two values
BOTH = 5  # columns beyond which these would be too many

Ends = tuple[float, float]  # the least and the greatest value; there is none where they are not in order
NONE: Ends = (0, -1)


class Samples:
    """Spans of a loop's values at some places at which what is known holds.

    Parameters
    ----------
    systems : whose columns, and those in their floors, are given values; those of no others can be asked about.
    col : the loop's column.
    places : those at which systems are asked about; as `_places` has them unless they are given.

    Attributes
    ----------
    one : whether the loop's values end at one size: another one says whether there are any, and leaves no gap.
    """

    def __init__(
        self, known: Known, systems: Sequence[System], col: int, places: list[dict[int, int]] | None = None
    ) -> None:
        self.known, self.col = known, col
        self.places = _places(known, systems, col) if places is None else places
        telling = {c for s in systems for key, _ in s.every_ge() if coefficient(key, col) for c, _ in key}
        self.one = (
            bool(self.places) and len(known.columns.with_floors(telling) - {col} - known.columns.floors.keys()) < 2
        )
        self._ends: dict[Row, list[Ends]] = {}

    def ends(self, row: Row) -> list[Ends]:
        """The values that satisfy a row `>= 0` at each place."""
        found = self._ends.get(row)
        if found is None:
            v, (key, const) = coefficient(row[0], self.col), row
            rest = without(key, self.col)
            each = [const + sum([w * at[c] for c, w in rest]) for at in self.places]
            found = self._ends[row] = [_satisfying(v, n) for n in each]
        return found

    def spans(self, system: System) -> list[Ends]:
        """The values within a system at each place."""
        if system.empty:
            return [NONE] * len(self.places)
        out: list[Ends] = [(-inf, inf)] * len(self.places)
        for row in system.every_ge():
            out = both(out, self.ends(row))
        return [e if e[0] <= e[1] else NONE for e in out]

    def _told(self, system: System) -> Iterator[list[Ends]]:
        """What each inequality and equality of a system says of the column."""
        for row in system.ineqs.items():
            if coefficient(row[0], self.col):
                yield self.ends(row)
        for key, const in system.eqs:
            if coefficient(key, self.col):
                yield both(self.ends((key, const)), self.ends((negated(key), -const)))

    def least(self, systems: Sequence[System]) -> list[int] | None:
        """How many values any of some systems has, in its step, and one; None where they have no end."""
        each = [(self.spans(s), step(s, self.col)) for s in systems]
        out = []
        for k in range(len(self.places)):
            there = [(spans[k], n) for spans, n in each if spans[k] != NONE]
            if any(inf in (-e[0], e[1]) for e, _ in there):
                return None
            cuts = sorted({int(cut) for (low, high), _ in there for cut in (low, high + 1)})
            total = 1
            for low, end in pairwise(cuts):
                total += -(-(end - low) // min([n for (a, b), n in there if a <= low <= b], default=end - low + 1))
            out.append(total)
        return out

    def costs(self, loops: Sequence[Sequence[System]]) -> list[int] | None:
        """What loops test at each place, each over several systems in turn; None where one has no end.

        A row that all values of a loop satisfy at all places is no test, nor is one of what is outside alone. What is
        at numbers alone has no loop.
        """
        out = [1] * len(self.places)
        for systems in loops:
            spend(1 + len(systems) * len(out) // 8)
            each = [(s, spans) for s in systems for spans in [self.spans(s)] if any(e != NONE for e in spans)]
            if not each:
                continue
            if all(any(key == ((self.col, v),) for key, _ in s.eqs for v in (1, -1)) for s, _ in each):
                out = [total + sum(spans[k] != NONE for _, spans in each) for k, total in enumerate(out)]
                continue
            hull = [around([spans[k] for _, spans in each]) for k in range(len(out))]
            if any(inf in (-low, high) for low, high in hull):
                return None
            fine = gcd(*[step(s, self.col) for s, _ in each])
            for k, e in enumerate(hull):
                out[k] += 1 + _count(e, fine)
            for s, _ in each if len(each) > 1 else ():
                left = hull
                for ends in self._told(s):
                    if any(e not in (NONE, there) for e, there in zip(hull, both(hull, ends), strict=True)):
                        for k, e in enumerate(left):
                            out[k] += _count(e, fine)
                        left = both(left, ends)
                for k, e in enumerate(left if step(s, self.col) > fine else ()):
                    out[k] += _count(e, fine)
        return out


def both(some: Sequence[Ends], others: Sequence[Ends]) -> list[Ends]:
    """The values that are in two spans at each place."""
    return [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(some, others, strict=True)]


def orders(some: Sequence) -> Iterator[Sequence]:
    """All orders of a few things; of many those that begin at each of them, forwards and backwards."""
    if len(some) <= ALL:
        yield from permutations(some)
        return
    for k in range(len(some)):
        yield [*some[k:], *some[:k]]
        yield [*some[k::-1], *some[:k:-1]]


def step(system: System, col: int) -> int:
    """How far values of a column are apart, by the congruences of a system."""
    return reduce(lcm, [d // gcd(d, coefficient(key, col)) for key, _, d in system.mods], 1)


def _places(known: Known, systems: Iterable[System], col: int) -> list[dict[int, int]]:
    """Values of the columns of systems other than one; none where there are fewer than two sizes."""
    floors = known.columns.floors
    seen = known.columns.with_floors([c for s in systems for c in s.columns()]) - {col}
    some = sorted(seen - floors.keys())
    inside = sorted(seen & floors.keys())  # a floor is made after those in it
    if len(some) < 2 or some[1] >= LOOP or some[-1] >= LOCAL or any(coefficient(floors[c][1], col) for c in inside):
        return []
    least = int(max(LEAST, *[known.low.get(c, LEAST) for c in some if c < LOOP]))
    out = _holding(known, some, inside, _values(len(some), least))
    if 0 < len(out) < FEW and len(some) <= BOTH:
        out += [at for at in _holding(known, some, inside, _two_values(len(some), least)) if at not in out]
    return out


def _holding(
    known: Known, some: Sequence[int], inside: Sequence[int], each: Iterable[Sequence[int]]
) -> list[dict[int, int]]:
    """Values of columns, and of floors of them, without those at which what is known does not hold."""
    out = []
    for values in each:  # those of loops outside are the nearest ones between known numbers
        at = {c: known.nearest(c, v) if c >= LOOP else v for c, v in zip(some, values, strict=True)}
        for c in inside:
            at[c] = known.columns.value(((c, 1),), 0, at)
        if known.allows(at):
            out.append(at)
    return out


def _values(n: int, least: int) -> Iterator[Sequence[int]]:
    """Values of n columns: alike, in several orders from the least one on, and one of them below zero."""
    yield [max(ALIKE, least)] * n
    ascending = [least * TIMES**k for k in range(n)]
    yield from orders(ascending)
    for k in range(n):
        yield [*ascending[:k], -LEAST, *ascending[k + 1 :]]


def _two_values(n: int, least: int) -> Iterator[Sequence[int]]:
    """Values of n columns that are small or large, not all the same."""
    for large in range(1, 2**n - 1):
        yield [least * TIMES**2 if large >> k & 1 else least for k in range(n)]


def _satisfying(v: int, const: int) -> Ends:
    """The values x with v*x + const >= 0."""
    if v > 0:
        return -(const // v), inf
    if v < 0:
        return -inf, const // -v
    return (-inf, inf) if const >= 0 else NONE


def around(spans: Iterable[Ends]) -> Ends:
    """The least and the greatest value in any of some spans."""
    there = [e for e in spans if e != NONE]
    return (min(low for low, _ in there), max(high for _, high in there)) if there else NONE


def _count(e: Ends, fine: int) -> int:
    """How many values there are a step apart."""
    return max(0, int(e[1] - e[0] + 1)) // fine
