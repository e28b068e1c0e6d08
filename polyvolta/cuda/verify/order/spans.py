"""Which phases are whose tile's, and which numbers of a ring: what is asked of any two tiles (`tiles`), and premises.

A row of barriers has so many phases a tile: as many as there are k tiles, or one. With `tiles` k tiles before the one
tile its phases are those from `tiles` on, and the span of the later one begins at `tiles.later`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polyvolta.cuda.ir.kernel_ir import Tiles
from polyvolta.cuda.verify.engine.strands import role_of
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.order.program import READ, STORE, Event
from polyvolta.cuda.verify.order.relations import less, together
from polyvolta.cuda.verify.order.roles import ARRIVE, AWAIT, BOX, PRODUCT, Party, Rows, phase_of
from polyvolta.cuda.verify.order.sync import Meetings
from polyvolta.sets import Aff, Map, Set, aff, var
from polyvolta.sets.values.aff import Floor

ONE, LATER = 0, 1  # of the two tiles
STAGES = {BOX, PRODUCT, READ, STORE}
"""Kinds of what happens to a ring's stages: they are brought, multiplied, and read and written by threads."""


@dataclass(frozen=True, slots=True)
class Ring:
    """Which number of a ring an event is about.

    Parameters
    ----------
    number : in parameters and the event's dimensions.
    slots : of the ring.
    counter : the parameter from which the numbers of the event's tile begin.
    """

    number: Aff
    slots: int
    counter: str


@dataclass(frozen=True, slots=True)
class Limits:
    """Which instances of two events are looked at.

    Parameters
    ----------
    when : conditions, each `e >= 0`, the second event's dimensions primed.
    further : those S numbers apart are looked at beside (`Spans.further`).
    """

    when: tuple[Aff, ...] = ()
    further: bool = False


class Spans:
    """What belongs to which of two tiles.

    Parameters
    ----------
    rows, meetings : the events of two tiles and what orders them.

    Raises
    ------
    Undecided : a premise doesn't hold.
    """

    def __init__(self, rows: Rows, meetings: Meetings) -> None:
        self.rows, self.meetings, self.relations = rows, meetings, meetings.relations
        assert rows.view is not None
        self.view = rows.view
        one = self.view.turns[ONE]
        self.added = {str(own): rows.counts(e) for e, own in one.counters.items()}
        self.turns = tuple(self.view.said(t.turn) for t in self.view.turns)
        self.added[str(self.turns[ONE])] = aff(1)
        self.free = frozenset(rows.view.free) & frozenset(rows.params)
        self._rings: dict[str, Ring | None] = {}
        self._seen: set[tuple] = set()
        self.of = {r.name: self._span(r.name) for r in rows.ir.barriers}
        self._check()

    # ---- phases

    def _span(self, row: str) -> tuple[tuple[Aff, Aff], tuple[Aff, Aff]]:
        """(first phase, the first one behind) of each of the two tiles."""
        mine = [e for e in self.rows.of(ARRIVE, AWAIT, BOX) if _row(e) == row]
        if any(e.tile is None for e in mine):
            raise Undecided(f"{row} is used outside of tiles: what it counts there isn't known here")
        rates = {self._rate(self._position(e)) for e in mine if e.tile == ONE}
        if len(rates) != 1:
            raise Undecided(f"the phases of {row} aren't numbered alike by all who use it: which are a tile's?")
        (rate,) = rates
        size, starts = aff(0), [aff(0), aff(0)]
        for name, c in rate:
            size += c * self.added[name]
            starts = [starts[ONE] + c * var(name), starts[LATER] + c * self.view.later[name]]
        return (starts[ONE], starts[ONE] + size), (starts[LATER], starts[LATER] + size)

    def _rate(self, e: Aff) -> tuple[tuple[str, int], ...]:
        """How an expression grows with what is counted over tiles."""
        for atom, _ in e.terms:
            if not isinstance(atom, str) and Aff(((atom, 1),)).names() & self.free:
                raise Undecided(f"how {e} grows from tile to tile isn't plain")
        return tuple(sorted((n, c) for n, c in e.terms if n in self.free))  # type: ignore[misc]

    def _position(self, e: Event) -> Aff:
        phase = phase_of(e.ops[0])
        assert phase is not None
        return self.rows.position(phase)

    def _check(self) -> None:
        """Arrivals are in phases of their tile, waits for these or earlier ones."""
        for e in (e for e in self.rows.of(ARRIVE, AWAIT, BOX) if e.tile == ONE):
            first, end = self.of[_row(e)][ONE]
            ways = [[self._position(e) - end]]
            ways += [[first - 1 - self._position(e)]] if e.kind != AWAIT else []
            if not self.relations.instances(e, ways).is_empty():
                what = "waits for" if e.kind == AWAIT else "arrives in"
                unknown = Undecided(f"a tile {what} phases of {_row(e)} that aren't its own")
                unknown.path = e.path
                raise unknown

    def phases(self, row: str) -> Set:
        """Those of the two tiles."""
        n = var("n")
        ways = [[n - first, end - 1 - n] for first, end in self.of[row]]
        return self.relations.instances(self.meetings.nodes[row], ways)

    def awaited(self, row: str, party: Party) -> Set | None:
        """The phases that a party waits for in the two tiles, if for each that it waits for in any tile it waits for
        the one before in its slot, too; None: that isn't known.

        Then some tile has a wait for it, and that may be one of the two.
        """
        mine = [e for e in self.rows.of(AWAIT) if _row(e) == row and party.takes(e)]
        named = [(e, self.meetings.at(e).range()) for e in mine]
        first = min((e.tile or ONE for e in mine), default=ONE)
        if not self._one_before(row, [x for x in named if (x[0].tile or ONE) == first]):
            return None
        whole = self.relations.instances(self.meetings.nodes[row], [[aff(-1)]])
        for _, phases in named:
            whole = whole | phases
        return whole

    def _one_before(self, row: str, named: list[tuple[Event, Set]]) -> bool:
        """Whether of the phases that are waited for in a tile each is waited for, or in an earlier tile of the same
        party the one before in its slot."""
        if not named:
            return False
        slots, tile = self.rows.ir.phases(row).slots, named[0][0].tile or ONE
        first, end = self.of[row][tile]
        turns = any(not self.every(e) for e, _ in named)
        if turns and (end - first != aff(1) or slots % self.view.period):
            return False
        node, n = self.meetings.nodes[row], var("n")
        behind = {first - self._position(e) for e, _ in named} if end - first == aff(1) else set()
        for back in dict.fromkeys((0, slots, *(b.const for b in behind if b.is_constant))):
            left = self.relations.instances(node, [[n - first + back, end - 1 - back - n]])
            for _, phases in named:
                left = left - phases
            if left.is_empty():
                return True
        return False

    def again(self, e: Event) -> bool:
        """Whether what is about the tile of an event alone, or earlier ones, is asked with another later one."""
        return e.tile == ONE and self.view.again

    def every(self, e: Event) -> bool:
        """Whether the role of an event takes all tiles."""
        role = role_of(self.rows.ir, e.path)
        return role is not None and all(s.step == 1 for s in role.body if isinstance(s, Tiles))

    def chained(self) -> frozenset[str]:
        """The rows with a phase a tile, phase turn - 1 of which is left in each of the two tiles before phase turn is
        entered there: if it is so in all, the phases are one behind the other."""
        found = []
        for row, spans in self.of.items():
            if all(first == t and end - first == aff(1) for t, (first, end) in zip(self.turns, spans)):
                node, n, m = self.meetings.nodes[row], var("n"), var("n'")
                ways = [[n - t + 1, t - 1 - n, m - t, t - m, n] for t in self.turns]
                if less(self.relations.pairs(node, node, ways), self.meetings.steps).is_empty():
                    found.append(row)
        return frozenset(found)

    def chains(self, rows: frozenset[str]) -> Map:
        """{ phase -> phase }: of rows that are chained in all tiles the one tile's phase is before the one that the
        later tile begins with, by way of those between."""
        n, m = var("n"), var("n'")
        first, last = (t - k for t, k in zip(self.turns, (0, 1)))
        ways = [[n - first, first - n, m - last, last - m, m - n - 1]]
        nodes = (self.meetings.nodes[row] for row in sorted(rows))
        return together([self.relations.pairs(node, node, ways) for node in nodes], self.relations.nothing())

    # ---- accesses

    def limits(self, one: Event, other: Event) -> Limits:
        """Which instances of two events are to be looked at, where they meet."""
        if {one.tile, other.tile} != {ONE, LATER}:
            return Limits()
        first, second = self.ring(one), self.ring(other)
        if first is None and second is None:
            return Limits(tuple(self._neighbours)) if self._each(one) and self._each(other) else Limits()
        if not first or not second or first.slots != second.slots or {one.kind, other.kind} - STAGES:
            return Limits()
        if not self.every(one if one.tile == LATER else other):  # the number S further may be another role's
            return Limits()
        apart = _primed(second.number, other) - first.number
        apart = apart if one.tile == ONE else -apart
        return Limits((first.slots - 1 - apart,), True)

    @property
    def _neighbours(self) -> Iterator[Aff]:
        """That the later tile is the next one that it may be."""
        for name, later in ((n, later) for n, later in self.view.later.items() if n in self.rows.params):
            yield self.rows.counts(self.view.next[name]) - later

    def _each(self, e: Event) -> bool:
        """Whether an event is the same in each tile."""
        slots = (self._slot(e, n) for n in range(len(e.touches)))
        return not any(x.names() & self.free for x in (*(x for c in e.domain for x in c), *slots))

    def _slot(self, e: Event, touch: int) -> Aff:
        t = e.touches[touch]
        return self.rows.counts(t.access.slot.subs({n: aff(v) for n, v in t.loops.items()}))

    def ring(self, e: Event) -> Ring | None:
        """The ring that an event is about: its slots are n mod S; None: not one."""
        if e.name not in self._rings:
            self._rings[e.name] = self._ring(e)
        return self._rings[e.name]

    def _ring(self, e: Event) -> Ring | None:
        slots = {self._slot(e, n) for n in range(len(e.touches))}
        if len(slots) != 1:
            return None
        (slot,) = slots
        floors = [(a, c) for a, c in slot.terms if isinstance(a, Floor) and a.num.names() & self.free]
        if len(floors) != 1:
            return None
        ((floor, c),) = floors
        number = slot - c * Aff(((floor, 1),))
        counters = [n for n, k in number.terms if n in self.free and k == 1]
        whole = floor.num == number and floor.den == -c and len(number.names() & self.free) == 1
        return Ring(number, -c, str(counters[0])) if whole and len(counters) == 1 else None

    def further(self, one: Event, other: Event, its: Party) -> Iterator[tuple[Event, Event, Map]]:
        """Instances S numbers apart: of an event in the one tile, and of all events of a thread, in both tiles, that
        are as one in the later tile is, one of which is about each number.

        Parameters
        ----------
        one, other : in the one tile, and in the later one.
        its : the party of the later one.

        Raises
        ------
        Undecided : not each number has one, or they aren't in their order.
        """
        ring = self.ring(one)
        assert ring is not None
        kind = [e for e in self.rows.of(other.kind) if its.takes(e) and e.tile is not None]
        found = [(e, r) for e in kind if (r := self.ring(e)) is not None and r.slots == ring.slots]
        self._whole(tuple(found), its)
        for e, mine in found:
            apart = _primed(mine.number, e) - ring.number - ring.slots
            yield one, e, self.relations.pairs(one, e, [[apart, -apart]])

    def _whole(self, found: tuple[tuple[Event, Ring], ...], its: Party) -> None:
        """Each number of a tile has an event of those, and later numbers have later ones."""
        key = *(e.name for e, _ in found), its.kind
        if key in self._seen:
            return
        mine = [(e, r) for e, r in found if e.tile == ONE]
        node = next(iter(self.meetings.nodes.values()))
        counter, n = mine[0][1].counter, var("n'")
        end = var(counter) + self.added[counter]
        left = self.relations.instances(node, [[var("n") - var(counter), end - 1 - var("n")]])
        for e, r in mine:
            left = left - self.relations.pairs(e, node, [[n - r.number, r.number - n]]).range()
            inside = [[var(counter) - 1 - r.number], [r.number - end]]
            if r.counter != counter or not self.relations.instances(e, inside).is_empty():
                raise Undecided(f"{e.kind}: numbers of the ring that aren't of its tile")
            for x, other in mine:
                late = self.relations.pairs(e, x, [[_primed(other.number, x) - r.number - 1]])
                if not less(late, self.meetings.before(e, x)).is_empty():
                    raise Undecided(f"{e.kind}: not in the order of the ring's numbers")
        if not left.is_empty():
            raise Undecided(f"{mine[0][0].kind}: not each number of the ring has one")
        self._seen.add(key)  # it is so: what raises is asked again


def _row(e: Event) -> str:
    phase = phase_of(e.ops[0])
    assert phase is not None
    return phase.barriers


def _primed(e: Aff, event: Event) -> Aff:
    return e.subs({d: var(d + "'") for d in event.dims})
