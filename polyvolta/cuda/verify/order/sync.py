"""What orders the instances of a kernel with roles: phases of barriers and barriers, from when on and until when.

A *meeting* is an instance of something that all who enter must come to before anybody leaves it: a phase of a barrier,
entered by arrivals and by boxes that are asked for, left by who waits for it; and a barrier of the block, a role or a
warpgroup, where each does both. Row `full` of S slots has the meetings full[n], phase p of slot s being n = S*p + s.

    leaves:  meeting -> event       enters:  event -> meeting

Within a party of threads, events are in the order of their program. So a meeting is before another one if some party
leaves the one and then enters the other; the closure of that is the order of all meetings, for any number of k tiles.

A warpgroup's products are one matter more: who has waited for a group of them knows that all four warps had come to
issue it. So what a party did before a product is before what any party of its warpgroup does behind a wait that covers
the product; `covers` is computed from commits and waits, as that of asynchronous copies is (`edges`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.order.edges import MOST_PENDING
from polyvolta.cuda.verify.order.program import ALWAYS, BARRIER, Event
from polyvolta.cuda.verify.order.relations import Relations, then, together
from polyvolta.cuda.verify.order.roles import (
    ARRIVE,
    AWAIT,
    BOX,
    CLOSE,
    CLOSE_BOXES,
    DONE,
    MEETINGS,
    OF_PART,
    PRODUCT,
    READY,
    ROLE,
    TAKE,
    WAIT_BOXES,
    WARPGROUP,
    Party,
    Rows,
    phase_of,
)
from polyvolta.sets import Map, var
from polyvolta.sets.values.relation import Part

SHARED, OF_STRANDS = (BARRIER, ROLE), (OF_PART, WARPGROUP)  # meetings of several strands, and of one each


def _in_order(relation: Map) -> Map:
    """A relation without empty spaces, first the meetings that few paths lead through, which are quickly closed; its
    pieces in an order of their own: what is asked of one that is as another one, but for who does it, is known then."""
    parts = [(s, tuple(sorted(p, key=lambda c: (c.eqs, c.ineqs)))) for s, p in relation.parts if p]
    into, onward = Counter[tuple](), Counter[tuple]()
    for s, p in parts:
        if s.source.key != s.out.key:
            into[s.out.key] += len(p)
            onward[s.source.key] += len(p)

    def place(part: Part) -> tuple[int, str, str]:
        begin, end = part[0].source, part[0].out
        return into[begin.key] * onward[begin.key], begin.name or "", end.name or ""

    parts.sort(key=place)
    return Map._of(relation.param_names, parts)


class Meetings:
    """The order of a kernel's meetings, and of events through them.

    Parameters
    ----------
    rows : the kernel's events.

    Attributes
    ----------
    beyond : { meeting -> meeting }, what events that aren't read say of those that are (`Spans.chains`).
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.relations = Relations.told(rows.params, rows.known)
        self.nodes = {r.name: Event(r.name, "phase", (), ("n",), (), ALWAYS) for r in rows.ir.barriers}
        self._kept: dict[tuple, Map] = {}
        self._met: dict[tuple, list[tuple[Event, Map]]] = {}
        self.beyond = self.relations.nothing()
        self._check_whole()

    def _check_whole(self) -> None:
        """What a warpgroup, a role or the block does as one all of it does."""
        scope = {BARRIER: lambda p: 0, ROLE: lambda p: p.role}
        for e in self.rows.of(PRODUCT, CLOSE, DONE, READY, *MEETINGS):
            whose = scope.get(e.kind, lambda p: p.strand)
            mine = {whose(p) for p in self.rows.parties if p.takes(e)}
            if any(whose(p) in mine and not p.takes(e) for p in self.rows.parties):
                unknown = Undecided(f"{e.kind}: some threads do what all of them do as one")
                unknown.path = e.path
                raise unknown

    # ---- entering and leaving

    def at(self, event: Event) -> Map:
        """{ event -> phase }: which phase an instance speaks of."""
        key = "at", event.name
        if key not in self._kept:
            phase = phase_of(event.ops[0])
            assert phase is not None
            apart = var("n'") - self.rows.position(phase)
            self._kept[key] = self.relations.pairs(event, self.nodes[phase.barriers], [[apart, -apart]])
        return self._kept[key]

    def enters(self, party: Party) -> list[tuple[Event, Map]]:
        """What a party enters meetings with: { event -> meeting } each."""
        return self._meetings(party, ARRIVE, BOX)

    def leaves(self, party: Party) -> list[tuple[Event, Map]]:
        """What a party leaves meetings with: { event -> meeting } each."""
        return self._meetings(party, AWAIT)

    def _meetings(self, party: Party, *kinds: str) -> list[tuple[Event, Map]]:
        key = party.number, kinds
        if key not in self._met:
            mine = (e for e in self.rows.of(*kinds, *SHARED) if party.takes(e))
            self._met[key] = [(e, self._meeting(e, party)) for e in mine]
        return self._met[key]

    def _meeting(self, event: Event, party: Party) -> Map:
        if event.kind not in SHARED:
            return self.at(event)
        whose = "" if event.kind == BARRIER else party.role
        node = Event(f"{event.name}.{whose}", event.kind, (), event.dims, (), event.domain)
        same = [e for d in event.dims for e in (var(d) - var(d + "'"), var(d + "'") - var(d))]
        return self.relations.pairs(event, node, [same])

    # ---- groups

    def covers(self, party: Party) -> Map:
        """{ product -> wait }: behind which waits of its warpgroup a product is done."""
        return self._covers(party, PRODUCT, CLOSE, DONE)

    def taken(self, party: Party) -> Map:
        """{ stored box -> wait }: behind which waits of its thread a stored box has been read."""
        return self._covers(party, TAKE, CLOSE_BOXES, WAIT_BOXES)

    def _covers(self, party: Party, *kinds: str) -> Map:
        """What is in a group that a wait waits for: so many commits, `pending`, follow the next one after it."""
        ones, closes, waits = ([e for e in self.rows.of(kind) if party.takes(e)] for kind in kinds)
        key = ("covers", *(e.name for e in (*ones, *closes, *waits)))
        if key not in self._kept:
            found = [self.relations.nothing()]
            later = self._between(closes, closes)
            follows = later - then(later, later)
            committed = self._between(ones, closes)
            group = committed - then(committed, later)
            for w in waits if ones else ():
                if w.pending > MOST_PENDING:
                    raise Undecided(f"a wait leaves {w.pending} groups on their way")
                last = group
                for _ in range(w.pending):
                    last = then(last, follows).coalesce()
                found.append(then(last, self._between(closes, [w])))
            self._kept[key] = together(found, self.relations.nothing()).coalesce()
        return self._kept[key]

    # ---- program order

    def before(self, one: Event, other: Event) -> Map:
        """{ one -> other } in the program of a thread."""
        return self.relations.before(one, other)

    def _between(self, ones: Sequence[Event], others: Sequence[Event]) -> Map:
        key = ("between", *(e.name for e in ones), "", *(e.name for e in others))
        if key not in self._kept:
            maps = [self.before(a, b) for a in ones for b in others]
            self._kept[key] = together(maps, self.relations.nothing())
        return self._kept[key]

    def _products(self, party: Party) -> tuple[list[Event], list[Event]]:
        """A strand's products and its waits for them."""
        mine = [e for e in self.rows.of(PRODUCT, DONE) if party.takes(e)]
        return [e for e in mine if e.kind == PRODUCT], [e for e in mine if e.kind == DONE]

    def across(self, one: Event, other: Event, party: Party) -> Map:
        """{ one -> other }: an event of any thread of a party's strand is before one of any other: a barrier of all of
        them is between, or a product and a wait that covers it."""
        key = "across", one.name, other.name, self._alike(party)
        if key not in self._kept:
            self._kept[key] = self._across(one, other, party)
        return self._kept[key]

    def _across(self, one: Event, other: Event, party: Party) -> Map:
        whole, found = self.before(one, other), self.relations.nothing()
        for b in (e for e in self.rows.of(*OF_STRANDS) if party.takes(e)):
            if found == whole:
                return found
            found = (found | then(self.before(one, b), self.before(b, other))).coalesce()
        products, waits = self._products(party)
        if found != whole and products:
            covered = then(self._between([one], products), self.covers(party), self._between(waits, [other]))
            found = (found | covered).coalesce()
        return found

    # ---- closure

    @cached_property
    def steps(self) -> Map:
        """{ meeting -> meeting }: somebody leaves the one, and he, or another one of his strand, enters the other."""
        alike = {(p.kind, self._alike(p)): p for p in reversed(self.rows.parties)}
        found = [then(at.reverse(), self.entered(left, p)) for p in alike.values() for left, at in self.leaves(p)]
        return together([m for m in found if not m.is_empty()], self.relations.nothing()).coalesce()

    def _alike(self, party: Party) -> tuple[int, ...]:
        """Equal for strands of which all is the same: their parties' kinds."""
        return tuple(sorted({p.kind for p in self.rows.strands[party.strand]}))

    def _all_enters(self, party: Party, waits: list[Event]) -> Map:
        """{ wait -> meeting }: what parties of a strand enter behind waits."""
        key = "all enters", self._alike(party)
        if key not in self._kept:
            maps = [then(self._between(waits, [e]), m)
                    for p in self.rows.strands[party.strand] for e, m in self.enters(p)]  # fmt: skip
            self._kept[key] = together(maps, self.relations.nothing()).coalesce()
        return self._kept[key]

    @staticmethod
    def _from(relation: Map, event: Event) -> Map:
        """The pairs that begin at an event."""
        parts = [(s, p) for s, p in relation.parts if s.inp is not None and s.inp.name == event.name]
        return Map._of(relation.param_names, parts)

    @cached_property
    def closure(self) -> Map:
        """{ meeting -> meeting }: the one is before the other.

        Raises
        ------
        Undecided : the set core has only found a larger relation, or none.
        """
        closed, exact = _in_order(together([self.steps, self.beyond], self.steps)).transitive_closure()
        if not exact:
            raise Undecided("the order of phases has no exact transitive closure", where=str(self.steps))
        return closed.coalesce()

    # ---- questions

    def entered(self, event: Event, party: Party) -> Map:
        """{ event -> meeting }: a party's event is before the meeting, which it, the party, or its strand enters."""
        key = "entered", event.name, party.kind, self._alike(party)
        if key not in self._kept:
            maps = [then(self.before(event, e), m) for e, m in self.enters(party)]
            maps += [m for e, m in self.enters(party) if e is event]
            maps += [then(self.across(event, e, party), m)
                     for p in self._others(party) for e, m in self.enters(p) if not party.takes(e)]  # fmt: skip
            self._kept[key] = together(maps, self.relations.nothing()).coalesce()
        return self._kept[key]

    def left(self, event: Event, party: Party) -> Map:
        """{ meeting -> event }: a meeting is before a party's event, since the party, or its strand, has left it."""
        key = "left", event.name, party.kind, self._alike(party)
        if key not in self._kept:
            maps = [then(m.reverse(), self.before(e, event)) for e, m in self.leaves(party)]
            maps += [then(m.reverse(), self.across(e, event, party))
                     for p in self._others(party) for e, m in self.leaves(p) if not party.takes(e)]  # fmt: skip
            self._kept[key] = together(maps, self.relations.nothing()).coalesce()
        return self._kept[key]

    def _others(self, party: Party) -> list[Party]:
        """The other parties of a strand."""
        return [p for p in self.rows.strands[party.strand] if p is not party]

    def arrived_before(self, event: Event, party: Party) -> Map:
        """{ meeting -> event }: the meeting is before a party's event, by others, too."""
        key = "arrived", event.name, party.kind, self._alike(party)
        if key not in self._kept:
            left = self.left(event, party)
            self._kept[key] = (left | then(self.closure, left)).coalesce()
        return self._kept[key]

    def departed(self, event: Event, party: Party) -> Map:
        """{ event -> meeting }: a party's event is before the meeting, by others, too."""
        entered = self.entered(event, party)
        return (entered | then(entered, self.closure)).coalesce()

    def over(self, event: Event, party: Party) -> Map:
        """{ event -> meeting }: what a party's event has an engine do is done before the meeting, which others than
        those that have entered by then may come to."""
        key = "over", event.name, party.kind, self._alike(party)
        if key not in self._kept:
            self._kept[key] = self._over(event, party)
        return self._kept[key]

    def _over(self, event: Event, party: Party) -> Map:
        if event.kind == BOX:
            return self.at(event)
        if event.kind == PRODUCT:
            _, waits = self._products(party)
            return then(self._from(self.covers(party), event), self._all_enters(party, waits))
        if event.kind == TAKE:
            waits = [e for e in self.rows.of(WAIT_BOXES) if party.takes(e)]
            maps = [then(self._from(self.taken(party), event), self.entered(w, party)) for w in waits]
            return together(maps, self.relations.nothing())
        return self.entered(event, party)

    def in_order(self, one: Event, mine: Party, other: Event, its: Party, same: bool) -> Map:
        """{ one -> other }: the first party's event, and what engines do of it, is over before the second one's begins.

        Parameters
        ----------
        same : whether it is one thread; else two, of one party or of two.
        """
        near, far = (f(one, mine, other, its, same) for f in (self.directly, self.further))
        return near | far if far.parts else near

    def further(self, one: Event, mine: Party, other: Event, its: Party, same: bool) -> Map:
        """{ one -> other }: those pairs of `in_order` that are so by way of several meetings."""
        key = "further", one.name, mine.kind, other.name, its.kind, mine.strand == its.strand
        if key not in self._kept:
            self._kept[key] = then(self.over(one, mine), self.arrived_before(other, its))
        return self._kept[key]

    def directly(self, one: Event, mine: Party, other: Event, its: Party, same: bool) -> Map:
        """{ one -> other }: those pairs of `in_order` that are so by a program, its waits, and one meeting at most."""
        key = "directly", one.name, mine.kind, other.name, its.kind, mine.strand == its.strand, same
        if key not in self._kept:
            found = [then(self.over(one, mine), self.left(other, its))]
            if one.kind == PRODUCT:
                if mine.strand == its.strand:
                    _, waits = self._products(mine)
                    found.append(then(self._from(self.covers(mine), one), self._between(waits, [other])))
            elif one.kind == TAKE:
                for w in (e for e in self.rows.of(WAIT_BOXES) if mine.takes(e)):
                    found.append(then(self._from(self.taken(mine), one), self._inside(w, mine, other, its, same)))
            elif one.kind != BOX:
                found.append(self._inside(one, mine, other, its, same))
            self._kept[key] = together(found, self.relations.nothing()).coalesce()
        return self._kept[key]

    def _inside(self, one: Event, mine: Party, other: Event, its: Party, same: bool) -> Map:
        """{ one -> other }: what comes before what in the program of a thread, or of a strand."""
        if same:
            return self.before(one, other)
        return self.across(one, other, mine) if mine.strand == its.strand else self.relations.nothing()
