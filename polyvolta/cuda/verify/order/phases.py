"""Phases complete as they are meant to, and nobody waits for ever.

What a barrier in memory counts has no names: an arrival counts for the phase that is current when it comes, a wait asks
for a parity. In the program each names a phase. That the two are one and the same takes, for every phase n of a row,

- as many arrivals that name it as complete it, and as many bytes of boxes as arrivals say that there will be;
- that each of them comes behind phase n - S, the one before it in its slot: then none counts for another phase;
- that who waits for n begins behind phase n - S and goes on before n + S is complete: then its parity is the one meant.

By induction over phases they are what they are called. And all of them do complete if no phase waits for itself: the
order of meetings (`sync`) has no cycle, and all that is waited for gets what it needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.order.found import Case, case, smallest, who
from polyvolta.cuda.verify.order.program import BARRIER, Event
from polyvolta.cuda.verify.order.relations import common, less, then, together
from polyvolta.cuda.verify.order.roles import ARRIVE, AWAIT, BOX, INIT, LEAVE, OF_PART, Party, Rows, phase_of
from polyvolta.cuda.verify.order.spans import Spans
from polyvolta.cuda.verify.order.sync import Meetings
from polyvolta.sets import Map, Set, var


def _meets(barrier: Event, other: Event) -> bool:
    """Whether all threads that take part in an event meet at a barrier."""
    if barrier.mask is None:
        return True
    return other.mask is not None and not (other.mask & ~barrier.mask).any()


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Phases of a row that get the same: so many arrivals, bytes that are announced, and bytes that are sent."""

    row: str
    phases: Set
    arrivals: int
    announced: int
    sent: int


class Phases:
    """What is wrong with a kernel's phases, if anything.

    Parameters
    ----------
    rows, meetings : the kernel's events and what orders them.
    spans : of any two tiles of a block the phases that are theirs.
    """

    def __init__(self, rows: Rows, meetings: Meetings, spans: Spans | None = None) -> None:
        self.rows, self.meetings, self.spans = rows, meetings, spans
        self.slots = {r.name: r.slots for r in rows.ir.barriers}

    # ---- what each phase gets

    @cached_property
    def tallies(self) -> tuple[Tally, ...]:
        """All phases that anybody arrives in or sends bytes to, by what they get."""
        return tuple(t for row in self.slots for t in self._tallied(row))

    def _tallied(self, row: str) -> Iterator[Tally]:
        mine = [e for e in self.rows.of(ARRIVE, BOX) if self.row(e) == row]
        pieces: list[tuple[Set, tuple[int, int, int]]] = []
        for e in mine:
            at = self.meetings.at(e)
            if not at.is_injective():
                unknown = Undecided(f"{e.kind}: several instances name one phase of {row}")
                unknown.path = e.path
                raise unknown
            image, gets = at.range(), self._gives(e)
            split: list[tuple[Set, tuple[int, int, int]]] = []
            for phases, got in pieces:
                more = phases & image
                both = (got[0] + gets[0], got[1] + gets[1], got[2] + gets[2])
                split += [(more, both), (phases - image, got)]
                image = image - phases
            pieces = [(p, g) for p, g in (*split, (image, gets)) if not p.is_empty()]
        for phases, got in pieces:
            yield Tally(row, phases, *got)

    def _gives(self, e: Event) -> tuple[int, int, int]:
        """Arrivals, bytes announced and bytes sent of an instance, by all threads that take part."""
        threads = self.rows.ir.threads if e.mask is None else int(np.count_nonzero(e.mask))
        if e.kind == ARRIVE:
            return threads, threads * e.ops[0].bytes, 0  # type: ignore[attr-defined]
        return 0, 0, threads * sum(self.rows.ir.box_map(op.map).bytes for op in e.ops)  # type: ignore[attr-defined]

    def row(self, e: Event) -> str:
        phase = phase_of(e.ops[0])
        assert phase is not None
        return phase.barriers

    def complete(self, row: str) -> Set:
        """The phases of a row that get what they need at least."""
        wanted = self.rows.ir.phases(row).arrivals
        found = [t.phases for t in self.tallies if t.row == row and t.arrivals >= wanted and t.sent >= t.announced]
        none = self.meetings.relations.instances(self.meetings.nodes[row], [[var("n"), -var("n") - 1]])
        for s in found:
            none = none | s
        return none

    # ---- what has to be so

    @cached_property
    def wrong(self) -> Case | None:
        """A case in which a phase isn't what it is called."""
        for check in (self._begun, self._slots, self._counted, self._current, self._parities, self._awaited,
                      self._outlived):  # fmt: skip
            found = check()
            if found is not None:
                return found
        return None

    def _begun(self) -> Case | None:
        """All barriers begin once, by one thread, before a barrier of the block that is before their first use."""
        before: dict[tuple[Event, Event], Map] = {}
        for e in self.rows.of(ARRIVE, AWAIT, BOX):
            row, party = self.row(e), self._parties(e)[0]
            begins = [b for b in self.rows.of(INIT) if row in (b.ops[0].rows or self.slots)]  # type: ignore[attr-defined]
            if not begins:
                point = smallest(self.meetings.relations.instances(e))
                return point and case(self.rows, point, f"{who(party)} uses {row}, of which no barrier has begun", e,
                                      party, point.one)  # fmt: skip
            begin = begins[0]
            if len(begins) > 1 or begin.dims or begin.mask is None or np.count_nonzero(begin.mask) != 1:
                point = smallest(self.meetings.relations.instances(begin))
                return point and case(self.rows, point, "the barriers begin more than once", begin, None, point.one)
            behind = Set._of(self.meetings.relations.params, [])
            for b in (b for b in self.rows.of(BARRIER, OF_PART) if _meets(b, begin) and _meets(b, e)):
                if (begin, b) not in before:
                    before[begin, b] = self.meetings.before(begin, b)
                behind = behind | then(before[begin, b], self.meetings.before(b, e)).range()
            point = smallest(self.meetings.relations.instances(e) - behind)
            if point is not None:
                what = f"{who(party)} uses {row}, and no barrier of the block is between that and its beginning"
                return case(self.rows, point, what, e, party, point.one, other=begin.path)
        return None

    def _outlived(self) -> Case | None:
        """Who reaches barriers of another block of a cluster does so before that one ends."""
        ends = self.rows.of(LEAVE)
        for e in self.rows.of(ARRIVE, BOX):
            row = self.row(e)
            there = [x for x in ends if row in x.ops[0].rows]  # type: ignore[attr-defined]
            for party in (p for p in self._parties(e) if there and not any(p.takes(x) for x in there)):
                left = self.meetings.relations.instances(e)
                for x in there:
                    for its in self._parties(x):
                        left = left - self.meetings.in_order(e, party, x, its, False).domain()
                if (point := smallest(left)) is not None:
                    what = f"{who(party)} reaches {row} of a block of its cluster that may have ended"
                    return case(self.rows, point, what, e, party, point.one, other=there[0].path)
        return None

    def _slots(self) -> Case | None:
        """There are as many slots as are named."""
        for e in self.rows.of(ARRIVE, AWAIT, BOX):
            phase, slots = phase_of(e.ops[0]), self.slots[self.row(e)]
            assert phase is not None
            outside = self.meetings.relations.instances(e, [[-phase.slot - 1], [phase.slot - slots]])
            if (point := smallest(outside)) is not None:
                what = f"{self.row(e)} has {slots} slots, and another one is named"
                return case(self.rows, point, what, e, self._parties(e)[0], point.one)
        return None

    def _counted(self) -> Case | None:
        """Every phase gets exactly the arrivals and the bytes that it waits for."""
        for t in self.tallies:
            wanted = self.rows.ir.phases(t.row).arrivals
            if (t.arrivals, t.announced) != (wanted, t.sent):
                got = f"gets {t.arrivals} arrivals and {t.sent} bytes"
                need = f"it waits for {wanted} and {t.announced}"
                return self._of_phase(t.row, t.phases, f"{got}; {need}")
        return None

    def _of_phase(self, row: str, phases: Set, what: str) -> Case | None:
        """A case of one of some phases, at who arrives there, has bytes sent, or waits: what is said of it."""
        for e in (e for kind in (ARRIVE, BOX, AWAIT) for e in self.rows.of(kind) if self.row(e) == row):
            point = smallest(self.meetings.at(e).intersect_range(phases))
            if point is not None:
                said = f"{self.name(row, point.other[0])} {what}"
                return case(self.rows, point, said, e, self._parties(e)[0], point.one)
        return None

    def _current(self) -> Case | None:
        """Who arrives, or asks for a box, knows that the phase before is complete."""
        for e in self.rows.of(ARRIVE, BOX):
            found = self._known(e, "and nothing says that the phase before is complete: it may count for that one")
            if found is not None:
                return found
        return None

    def _known(self, e: Event, what: str) -> Case | None:
        """A party to which nothing says that the phase before the one that an event names is complete."""
        if self.spans is not None and self.spans.again(e):
            return None
        row = self.row(e)
        before = self._shifted(e, -self.slots[row], at_least=0)
        for party in self._parties(e):
            named = self._of_tiles(before, row)
            if e.kind == AWAIT and self.spans is not None and (waited := self.spans.awaited(row, party)) is not None:
                named = before.intersect_range(waited)
            left = less(named, self.meetings.arrived_before(e, party).reverse())
            point = None if left.is_empty() else smallest(self._unknown(e, party, left))
            if point is not None:
                does = {ARRIVE: "arrives in", BOX: "has bytes sent for", AWAIT: "waits for"}[e.kind]
                phase = self.name(row, point.other[0] + self.slots[row])
                return case(self.rows, point, f"{who(party)} {does} {phase}, {what}", e, party, point.one)
        return None

    def _unknown(self, e: Event, party: Party, left: Map) -> Map:
        """{ event -> phase }: those of some phases that nobody on the way to an event has waited for, of which not even
        all arrivals come before it; where bytes are counted, too, arrivals alone say nothing."""
        row = self.row(e)
        if any(self.row(b) == row for b in self.rows.of(BOX)):
            return left
        found = [left.subtract_range(self.complete(row))]
        for a in (a for a in self.rows.of(ARRIVE) if self.row(a) == row):
            names = then(left, self.meetings.at(a).reverse())
            for p in (p for p in self.rows.parties if p.takes(a)):
                known = self.meetings.in_order(a, p, e, party, p is party and p.threads == 1)
                found.append(then(less(names, known.reverse()), self.meetings.at(a)))
        return together(found, left)

    def _parities(self) -> Case | None:
        """Who waits for a phase begins behind the one before it and goes on before the next one is complete."""
        for e in self.rows.of(AWAIT):
            row, phase = self.row(e), phase_of(e.ops[0])
            assert phase is not None
            slots = self.slots[row]
            early = smallest(self.meetings.relations.instances(e, [[-self.rows.position(phase) - slots - 1]]))
            if early is not None:
                what = f"a wait for a phase of {row} before -1: parities tell it from none"
                return case(self.rows, early, what, e, self._parties(e)[0], early.one)
            found = self._known(e, "and the one before may not be complete: the parity is that of the one before that")
            if found is not None:
                return found
            after = self._shifted(e, slots).intersect_range(self.complete(row))
            for party in self._parties(e):
                point = smallest(less(after, self.meetings.departed(e, party)))
                if point is not None:
                    name, other = (self.name(row, point.other[0] - d) for d in (slots, 0))
                    what = f"{who(party)} waits for {name}, and {other} may be complete before it sees that"
                    return case(self.rows, point, what, e, party, point.one)
        return None

    def _awaited(self) -> Case | None:
        """Somebody waits for every box: none arrives when the block has ended."""
        for e in self.rows.of(BOX):
            bad, row = self.meetings.at(e), self.row(e)
            for w in (w for w in self.rows.of(AWAIT) if self.row(w) == row):
                bad = bad.subtract_range(self.meetings.at(w).range())
            if (point := smallest(bad)) is not None:
                what = f"nobody waits for the box that {self.name(row, point.other[0])} counts"
                return case(self.rows, point, what, e, self._parties(e)[0], point.one)
        return None

    # ---- deadlocks

    @cached_property
    def stuck(self) -> Case | None:
        """A case in which somebody waits for ever."""
        for e in self.rows.of(AWAIT):
            row = self.row(e)
            real = self._of_tiles(self._shifted(e, 0, at_least=0), row)
            if (point := smallest(real.subtract_range(self.complete(row)))) is not None:
                party = self._parties(e)[0]
                what = f"{who(party)} waits for {self.name(row, point.other[0])}, which never gets what it needs"
                return case(self.rows, point, what, e, party, point.one)
        closure = self.meetings.closure
        for row, node in self.meetings.nodes.items():
            same = self.meetings.relations.pairs(node, node, [[var("n") - var("n'"), var("n'") - var("n")]])
            itself = common(same, closure)
            if not itself.is_empty():
                return self._of_phase(row, itself.domain(), "is complete only behind itself")
        return None

    # ---- parts

    def _of_tiles(self, named: Map, row: str) -> Map:
        """Pairs with phases of the tiles that are read; those of others are looked at with these."""
        return named if self.spans is None else named.intersect_range(self.spans.phases(row))

    def _shifted(self, e: Event, by: int, at_least: int | None = None) -> Map:
        """{ event -> phase }: the one so many further than the one that it names."""
        phase = phase_of(e.ops[0])
        assert phase is not None
        n = var("n'")
        apart = n - by - self.rows.position(phase)
        further = [] if at_least is None else [n - at_least]
        return self.meetings.relations.pairs(e, self.meetings.nodes[phase.barriers], [[apart, -apart, *further]])

    def _parties(self, e: Event) -> list[Party]:
        """Those that take part in an event, one of each kind."""
        return list({p.kind: p for p in reversed(self.rows.parties) if p.takes(e)}.values())[::-1]

    def name(self, row: str, n: int) -> str:
        """A phase in words."""
        number, slot = divmod(n, self.slots[row])
        return f"phase {number} of {row}[{slot}]"

    @property
    def relation(self) -> str:
        """What each row's phases get."""
        said = [f"{t.arrivals} arrivals and {t.sent} bytes: {t.phases.coalesce()}" for t in self.tallies]
        rows = [f"{row}[n], n = {f'{s}*phase + slot' if s > 1 else 'phase'}" for row, s in self.slots.items()]
        return "; ".join([*rows, *said, self.numbers])

    @property
    def numbers(self) -> str:
        """The numbers of tiles in words."""
        counted = self.rows.counts.counted
        return ", ".join(f"{c.name} = floor(({c.num})/{c.den})" for c in counted) or "no loop over k tiles"
