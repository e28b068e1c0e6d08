"""Values that none of many systems has, at some sizes: systems with numbers put in, which takes no linear program.

    S1[i] -> [i] for i < 3, ..., S14[i] -> [i] for N <= 2*i <= N + 4 and M mod 4 = 1

A loop of all runs from 2 to N/2, if both run, and finds nothing on the way. Linear programs tell that of each two of
them: for many statements with conditions on sizes these are many, and large. Here sizes have numbers: at each *place* a
system is a span of the loop's values, and what none has between them is plain to see. A gap that is found is there at
the sizes of that place; one that there is at other sizes alone is not found, and a loop runs through it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf

from polyvolta.sched.loops.rows.columns import Row
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.lanes import Group
from polyvolta.sched.loops.rows.linear import FLOOR, LOCAL, LOOP, System, coefficient, without
from polyvolta.sched.loops.spans.telling import hull
from polyvolta.sched.loops.weighing.samples import NONE, Ends, Samples, around, orders
from polyvolta.sets.budgets import spend

TOLD = 6  # systems beyond which numbers tell where gaps are, not linear programs
FEW = 1  # values in a row that no system has, which are no gap
LARGE, LEAST, TIMES = 40, 3, 7  # a value of all sizes, and the least and how much greater the next is where they differ
PLACES = 48  # about so many, however many sizes there are: each at several remainders
SIZES = 4  # sizes beyond which such places say too little
FREE = 4  # the value, or its negative, of a loop outside that nothing bounds

Spans = list[Ends]  # of a system at each place


class Gaps(Samples):
    """Spans of systems over a loop's column at places that have many remainders, and the gaps between them.

    There are no places where something other than sizes and loops is outside: then nothing is said.
    """

    def __init__(self, known: Known, systems: Sequence[System], col: int) -> None:
        super().__init__(known, systems, col, places(known, systems, col))
        self.known, self.systems = known, systems
        self.each = [self.there(s) for s in systems]
        spend(1 + len(systems) * len(self.places) // 32)
        self._islands = [_islands([spans[k] for spans in self.each]) for k in range(len(self.places))]

    def there(self, system: System) -> Spans:
        """The values within a system at each place; none where what is outside has other remainders."""
        out = self.spans(system)
        for key, const, d in system.mods:
            if not coefficient(key, self.col):
                for k, at in enumerate(self.places):
                    if out[k] != NONE and (const + sum([v * at[c] for c, v in key])) % d:
                        out[k] = NONE
        return out

    def few(self, within: Sequence[Ends] | None = None) -> bool:
        """Whether no place has a gap between the systems, or between what they have within a span."""
        return all(len(some) < 2 for some in (self._islands if within is None else self._within(within)))

    def _within(self, spans: Sequence[Ends]) -> Iterator[list[Ends]]:
        """What the systems have at each place that meets a span."""
        for some, e in zip(self._islands, spans, strict=True):
            yield [one for one in some if one[0] <= e[1] and one[1] >= e[0]] if e != NONE else []

    def joined(self) -> list[System]:
        """Fewer systems with what all have: two of them are one where a loop over that has no gaps.

        It has but a few values at any place that the two don't have, where one of them has any, or that none has, where
        another one has any.
        """
        out: list[tuple[System, Spans]] = []
        for s, spans in zip(self.systems, self.each, strict=True):
            one, k = (s, spans), 0
            while k < len(out):
                both = self._both(out[k], one)
                if both is not None:
                    del out[k]
                    one, k = both, 0
                else:
                    k += 1
            out.append(one)
        return [s for s, _ in out]

    def _both(self, some: tuple[System, Spans], other: tuple[System, Spans]) -> tuple[System, Spans] | None:
        """A system that has what two have; None where a loop over it has gaps."""
        spend(1 + len(self.places) // 16)
        pairs = list(zip(some[1], other[1], strict=True))
        if not self.few([NONE if NONE in pair else around(pair) for pair in pairs]):
            return None
        system = hull(self.known, some[0], other[0])
        spans = self.there(system)
        # of what the two have, and at places at which they have nothing of what others have
        fits = all(map(_full, spans, map(_islands, pairs))) and all(map(_full, spans, self._within(spans)))
        return (system, spans) if fits else None

    def apart(self, kinds: Sequence[object]) -> list[list[int]]:
        """The numbers of systems that are to share a loop, where the order is free.

        These have no gaps between them at any place. At most places that have both of two, both have some value; where
        there is no such place they are of one kind, and say the same of the column at most.

        Parameters
        ----------
        kinds : what each does, of which the same is one call with alternatives.
        """
        plain = [self.spans(_of_column(s, self.col)) for s in self.systems]

        def near(m: int, n: int) -> bool:
            both = _common(self.each[m], self.each[n])
            if both:
                return 2 * sum(a[0] <= b[1] and b[0] <= a[1] for a, b in both) >= len(both)
            both = _common(plain[m], plain[n]) if kinds[m] == kinds[n] else []
            return 2 * sum(_alike(a, b) for a, b in both) >= max(1, len(both))

        out: list[tuple[list[int], list[Spans]]] = []
        for n, ends in enumerate(self.each):
            mine, spans, k = [n], [[e] if e != NONE else [] for e in ends], 0
            while k < len(out):
                spend(1 + len(self.places) // 16)
                others, there = out[k]
                both = [_islands([*a, *b]) for a, b in zip(there, spans, strict=True)]
                if all(len(some) < 2 for some in both) and any(near(a, b) for a in mine for b in others):
                    del out[k]
                    mine, spans, k = [*others, *mine], both, 0
                else:
                    k += 1
            out.append((mine, spans))
        return [sorted(mine) for mine, _ in out]


def _of_column(s: System, col: int) -> System:
    """What a system says of a column; not its remainders."""
    out = System()
    out.eqs = [row for row in s.eqs if coefficient(row[0], col)]
    out.ineqs = {key: const for key, const in s.ineqs.items() if coefficient(key, col)}
    return out


def _islands(spans: Iterable[Ends]) -> list[Ends]:
    """Spans, in order, those as one that have no gap between them."""
    out: list[Ends] = []
    for low, high in sorted([e for e in spans if e != NONE]):
        if out and low <= out[-1][1] + 1 + FEW:
            out[-1] = out[-1][0], max(out[-1][1], high)
        else:
            out.append((low, high))
    return out


def _full(e: Ends, islands: Sequence[Ends]) -> bool:
    """Whether one of some islands has all but a few values of a span, if there are any."""
    if e == NONE or not islands:
        return True
    low, high = islands[0]
    return len(islands) == 1 and low <= e[0] + FEW and high >= e[1] - FEW


def _alike(a: Ends, b: Ends) -> bool:
    """Whether two spans begin and end at about the same values."""
    return all(p == q or abs(p - q) <= FEW for p, q in zip(a, b, strict=True))


def _common(some: Spans, others: Spans) -> list[tuple[Ends, Ends]]:
    """The spans of two systems at places at which both have values."""
    return [(a, b) for a, b in zip(some, others, strict=True) if NONE not in (a, b)]


def apart(known: Known, group: Group, k: int, col: int) -> list[Group]:
    """Lanes apart that have gaps between them at some sizes, where the order is free: no loop runs through these.

    Many are apart, too, where one begins as another one ends, or is at other sizes, unless they do the same: each has
    its loop without a test inside. Every lane is in one loop, so no code is written twice.
    """
    gaps = Gaps(known, [lane.shadows[k] for lane in group.lanes], col) if len(group.lanes) > 1 else None
    if gaps is None or group.cell is not None or not gaps.places or (len(group.lanes) <= TOLD and gaps.few()):
        return [group]
    return [Group([group.lanes[n] for n in some]) for some in gaps.apart([lane.piece.images for lane in group.lanes])]


# ---- places


def places(known: Known, systems: Sequence[System], col: int) -> list[dict[int, int]]:
    """Values of all columns of some systems but one, at which what is known holds."""
    floors = known.columns.floors
    keys = [*known.ineqs, *[key for s in systems for key, _, _ in s.mods]]
    seen = [*[c for s in systems for c in s.columns()], *[c for key in keys for c, _ in key]]
    some = sorted(known.columns.with_floors(seen) - {col})
    sizes, loops = [c for c in some if c < LOOP], [c for c in some if LOOP <= c < FLOOR]
    inside = [c for c in some if c >= FLOOR]
    if not 0 < len(sizes) <= SIZES or some[-1] >= LOCAL or any(coefficient(floors[c][1], col) for c in inside):
        return []
    rows = [row for row in known.ineqs.items() if not coefficient(row[0], col)]
    each = [[*rows, *[row for row in s.every_ge() if not coefficient(row[0], col)]] for s in systems]
    out = []
    for n, values in enumerate(_values(len(sizes))):
        at = dict(zip(sizes, values, strict=True))
        for c in (*loops, None):
            for f in inside:  # a floor is made after those in it
                if f not in at and all(k in at for k, _ in floors[f][1]):
                    at[f] = known.columns.value(((f, 1),), 0, at)
            if c is not None:
                at[c] = _between(rows, each[n % len(each)], at, c, n)
        if all(c in at for c in some) and known.allows(at):
            out.append(at)
    return out


def _between(rows: Iterable[Row], more: Iterable[Row], at: dict[int, int], col: int, n: int) -> int:
    """A value that rows leave a loop outside: the least, the greatest, or one between, in turn.

    Where they leave it without an end it is one that more rows leave, those of one of the systems, if there is any:
    at others there may be nothing that has a gap.
    """
    low, high = _ends(rows, at, col)
    if inf in (-low, high):
        ends = _ends(more, at, col)
        low, high = ends if ends[0] <= ends[1] else (low, high)
    if inf in (-low, high):
        return int(max(low, min(high, FREE)))
    return int((low, high, (low + high) // 2)[n % 3])


def _ends(rows: Iterable[Row], at: dict[int, int], col: int) -> Ends:
    """The values that rows leave a column, of those that speak of nothing else that has no value."""
    low, high = -inf, inf
    for key, const in rows:
        v = coefficient(key, col)
        if v and all(c in at for c, _ in key if c != col):
            rest = const + sum([w * at[c] for c, w in without(key, col)])
            low, high = (max(low, -(rest // v)), high) if v > 0 else (low, min(high, rest // -v))
    return low, high


def _values(n: int) -> Iterator[Sequence[int]]:
    """Values of n sizes: alike, in several orders, and one of them below zero, each at several remainders."""
    ascending = [LEAST * TIMES**k for k in range(n)]
    each: list[Sequence[int]] = [[LARGE] * n, *orders(ascending)]
    each += [[*ascending[:k], -LARGE, *ascending[k + 1 :]] for k in range(n)]
    if n == 1:
        each.append([LARGE * TIMES])
    for r in range(max(2, PLACES // len(each))):
        for some in each:
            yield [v + r + (r // (k + 1) if k else 0) for k, v in enumerate(some)]
