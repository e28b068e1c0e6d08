"""What is in flight is left alone: stages of a ring, accumulators of running products, boxes that are being stored.

The copy engine writes a stage at some time between the issue of a box and the completion of the phase that counts it;
a product reads stages, reads and writes its accumulators, between its issue and a wait of its warpgroup that covers it;
a stored box is read until its thread's wait. All others are done when the thread goes on. Of two accesses to one place
one of which writes, the one must be over before the other begins, in one way or the other, whatever threads make them:

    over(x) before begin(y),  or  over(y) before begin(x)

by program order, phases, barriers and waits (`sync`), for each pair of instances that meet in a slot. Where nothing
says so, the one that belongs to the earlier trip is taken for the first: a read of what was written is too early, a
write over what was to be read, or written, before is too early, too. These are two statements.

What threads write the engines see behind a `ProxyFence` of the writing threads alone; and registers that threads
touched are there for products behind a `WgmmaFence`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from polyvolta.cuda.ir.kernel_ir import LANES, Element
from polyvolta.cuda.ir.walk import elements
from polyvolta.cuda.verify.engine.addresses import byte_text
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.order.footprints import BLOCK, THREAD, WARP, Footprint, Footprints, threads_at
from polyvolta.cuda.verify.order.found import Case, Point, case, smallest, who
from polyvolta.cuda.verify.order.program import FENCE, READ, STORE, Event
from polyvolta.cuda.verify.order.relations import common, less, then, together
from polyvolta.cuda.verify.order.roles import (
    BOX,
    DONE,
    IN_FLIGHT,
    MEETINGS,
    PRODUCT,
    PROXY,
    READY,
    REGISTERS,
    TAKE,
    TOUCHING,
    Party,
    Rows,
)
from polyvolta.cuda.verify.order.spans import LATER, Limits, Spans
from polyvolta.cuda.verify.order.sync import Meetings
from polyvolta.sets import Aff, Map, var

WRITES = (STORE, BOX)
VERBS = {READ: "reads", STORE: "writes", BOX: "has a box copied to", TAKE: "has a box stored from",
         PRODUCT: "multiplies"}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Meet:
    """Two parties that reach a place by two footprints: one thread of both, two of a warp, or two of the block."""

    one: Party
    other: Party
    scope: str


Unordered = tuple[Event, Event, Meet, tuple[Footprint, Footprint] | None, Map]
"""Two events, by whom and where they meet, and instances that nothing orders."""


class PartyFootprints(Footprints):
    """Footprints that meet in parties of threads."""

    def __init__(self, rows: Rows) -> None:
        Footprints.__init__(self, rows.ir)
        self.rows = rows
        self._number_of = np.zeros(self.ir.threads, np.int64)
        for p in rows.parties:
            self._number_of[p.mask.ravel()] = p.number

    def _made(self, key: tuple[str, Aff | None, int], rows: list) -> Footprint:
        name, slot, chunks = key
        return Footprints._made(self, (name, None if slot is None else self.rows.counts(slot), chunks), rows)

    def _meet(self, one: np.ndarray, other: np.ndarray) -> tuple[Meet, ...]:  # type: ignore[override]
        """The parties that reach a place, of those that are alike one each."""
        if not (one.size and other.size):  # nobody reaches it, as a place outside of all buffers
            return ()
        found, seen = [], set()
        if not len(one) or not len(other):
            return ()
        ends = [int(x) // self.ir.threads for pairs in (one, other) for x in pairs[[0, -1]]]
        span = min(ends), max(ends) + 1
        for first, a, here in self._by_party(one, span):
            for second, b, there in self._by_party(other, span):
                key = first.kind, second.kind, first.strand == second.strand, first is second
                if not (here & there).any():
                    continue
                scopes = Footprints._meet(self, a, b) if first.strand == second.strand else (BLOCK,)
                found += [Meet(first, second, s) for s in scopes if (*key, s) not in seen]
                seen |= {(*key, s) for s in scopes}
        return tuple(found)

    def _by_party(self, pairs: np.ndarray, span: tuple[int, int]) -> Iterator[tuple[Party, np.ndarray, np.ndarray]]:
        """What each party reaches, as pairs and as bool [piece], from some piece to another."""
        piece, thread = np.divmod(pairs, self.ir.threads)
        number = self._number_of[thread]
        for p in self.rows.parties:
            mine = number == p.number
            if mine.any():
                reached = np.zeros(span[1] - span[0], bool)
                reached[piece[mine] - span[0]] = True
                yield p, pairs[mine], reached


class Flight:
    """What is wrong with accesses to what is in flight, if anything.

    Parameters
    ----------
    rows, meetings : the kernel's events and what orders them.
    spans : of any two tiles of a block what is to be looked at.
    """

    def __init__(self, rows: Rows, meetings: Meetings, spans: Spans | None = None) -> None:
        self.rows, self.meetings, self.spans = rows, meetings, spans
        self.footprints = PartyFootprints(rows)
        self.relations = meetings.relations
        self._checked: list[tuple[Event, Event, str]] = []

    # ---- shared memory

    @cached_property
    def _unordered(self) -> tuple[Unordered, ...]:
        """Pairs of events that meet, and the instances of which nothing says that the one is over before the other."""
        return tuple(self._pairs())

    def _pairs(self) -> Iterator[Unordered]:
        events = self.rows.of(*TOUCHING)
        further: set[tuple] = set()
        for k, one in enumerate(events):
            for other in events[k:]:
                if (one.kind not in WRITES and other.kind not in WRITES) or self._as_before(one, other):
                    continue
                limits = Limits() if self.spans is None else self.spans.limits(one, other)
                for meet, a, b, when in self.footprints.meetings(one, other):
                    self._checked.append((one, other, a.tile))
                    if self._plainly(one, other, meet):  # type: ignore[arg-type]
                        continue
                    pairs = self._meeting(one, other, [*when, *limits.when], meet)  # type: ignore[arg-type]
                    if (left := self._left(one, other, meet, pairs)) is not None:  # type: ignore[arg-type]
                        yield one, other, meet, (a, b), left  # type: ignore[misc]
                    if limits.further:
                        yield from self._further(one, other, meet, further)  # type: ignore[arg-type]

    def _as_before(self, one: Event, other: Event) -> bool:
        """Whether two events are of the later of any two tiles: they are as those of the other one."""
        return self.spans is not None and one.tile == other.tile == LATER

    def _further(self, one: Event, other: Event, meet: Meet, seen: set[tuple]) -> Iterator[Unordered]:
        """Of instances S numbers of a ring apart the earlier one has to be over, wherever the two reach."""
        assert self.spans is not None
        if one.tile == LATER:
            one, other, meet = other, one, Meet(meet.other, meet.one, meet.scope)
        key = one, other.kind, meet.one, meet.other, meet.scope
        if key not in seen:
            seen.add(key)
            for x, y, pairs in self.spans.further(one, other, meet.other):
                if (left := self._left(x, y, meet, pairs, forward=True)) is not None:
                    yield x, y, meet, None, left

    def _earlier(self, one: Event, other: Event) -> bool | None:
        """Of any two tiles whether the first event is in the earlier one; None: they aren't in two.

        No order leads from a tile to an earlier one.
        """
        if self.spans is None or one.tile == other.tile or one.tile is None or other.tile is None:
            return None
        return one.tile < other.tile

    def _left(self, one: Event, other: Event, meet: Meet, pairs: Map, forward: bool = False) -> Map | None:
        """What is left of some pairs, but for those that are ordered, or where the first is before the other; None:
        nothing."""
        left = pairs
        for ordered in self._reasons(one, other, meet, forward or self._earlier(one, other)):
            left = less(left, ordered)
            if left.is_empty():
                return None
        return left

    def _meeting(self, one: Event, other: Event, when: list[Aff], meet: Meet) -> Map:
        ways = [when]
        if one is other and meet.scope == THREAD:
            apart = [var(d + "'") - var(d) for d in one.dims]
            ways = [[*when, *way] for x in apart for way in ([x - 1], [-x - 1])]
        return self.relations.pairs(one, other, ways)

    def _plainly(self, one: Event, other: Event, meet: Meet) -> bool:
        """Whether accesses of threads are in the order of their program: of one thread, or with a barrier between."""
        if one.kind in IN_FLIGHT or other.kind in IN_FLIGHT:
            return False
        if meet.scope == THREAD:
            return True
        if one.dims or other.dims or meet.one.strand != meet.other.strand or one is other:
            return False
        meets = [e for e in self._barriers if meet.one.takes(e)]  # a warpgroup's, or more
        meets += [e for e in self._fences if _whole_warps(e, meet)] if meet.scope == WARP else []
        between = (e for e in meets if one.at < e.at < other.at or other.at < e.at < one.at)
        return any(not e.dims and e.domain in (one.domain, other.domain) for e in between)

    @cached_property
    def _barriers(self) -> list[Event]:
        return self.rows.of(*MEETINGS)

    @cached_property
    def _fences(self) -> list[Event]:
        return self.rows.of(FENCE)

    def _reasons(self, one: Event, other: Event, meet: Meet, first: bool | None = None) -> Iterator[Map]:
        """{ one -> other }: pairs of instances one of which is over before the other begins, for one reason each.

        Parameters
        ----------
        first : True: the first event's instance, False: the second's; None: either of them.
        """
        same, before = meet.scope == THREAD, self.meetings.before
        for by in (self.meetings.directly, self.meetings.further):
            if first is not False:
                yield by(one, meet.one, other, meet.other, same)
            if first is not True:
                yield by(other, meet.other, one, meet.one, same).reverse()
        if meet.scope == WARP and one.kind not in IN_FLIGHT and other.kind not in IN_FLIGHT:
            for e in (e for e in self._fences if _whole_warps(e, meet)):
                if first is not False:
                    yield then(before(one, e), before(e, other))
                if first is not True:
                    yield then(before(other, e), before(e, one)).reverse()

    @cached_property
    def late(self) -> Case | None:
        """A read of what may not have been written."""
        return self._first(True)

    @cached_property
    def early(self) -> Case | None:
        """A write over what may still be read, or written."""
        return self._first(False)

    def _first(self, late: bool) -> Case | None:
        for one, other, meet, places, left in self._unordered:
            for reads, bad in self._by_trips(one, other, meet, left):
                if reads == late and (point := smallest(bad)) is not None:
                    if self.spans is not None or places is None:
                        what = f"{who(meet.other)} {VERBS[other.kind]}, {who(meet.one)} {VERBS[one.kind]}"
                        return case(self.rows, point, f"nothing orders what two tiles do: {what}", other, meet.other,
                                    point.other, other=one.path)  # fmt: skip
                    return self._case(one, other, meet, places, point)
        return None

    def _by_trips(self, one: Event, other: Event, meet: Meet, bad: Map) -> Iterator[tuple[bool, Map]]:
        """Whether pairs are a write and a read of it, or one that overwrites: by the program of a role, or the trips of
        two that they belong to."""
        if one.kind in WRITES and other.kind in WRITES:
            yield False, bad
            return
        write, read, flip = (one, other, False) if one.kind in WRITES else (other, one, True)
        if meet.one.role == meet.other.role:
            ahead = self.relations.before(write, read)
        else:
            ahead = self.relations.pairs(write, read, _trips(self._trip(write), self._trip(read)))
        ahead = ahead.reverse() if flip else ahead
        yield True, common(bad, ahead)
        yield False, less(bad, ahead)

    def _trip(self, e: Event) -> tuple[tuple[int, str], ...]:
        """Which loop of its role an event stands in, from the outermost on, with the variables: 2n + 1 the n-th."""
        role = next((p.role for p in self.rows.parties if self._reaches(e, p)), "")
        mine = [x for x in self.rows.events if any(p.role == role and self._reaches(x, p) for p in self.rows.parties)]
        out, inside = [], ()
        if self.rows.view is not None:
            tiles = [x.at for x in mine if x.tile is not None]
            behind = len(self.rows.view.turns) if tiles and e.at > min(tiles) else -1
            out.append((behind if e.tile is None else e.tile, ""))
            mine = [x for x in mine if x.tile == e.tile]
        for level in range(len(e.dims) + 1):
            here = [x for x in mine if x.at[:level] == inside and len(x.dims) >= level]
            loops = sorted({x.at[level] for x in here if len(x.dims) > level})
            before = sum(at < e.at[level] for at in loops)
            deeper = level < len(e.dims)
            out.append((2 * before + deeper, e.dims[level] if deeper else ""))
            inside = e.at[: level + 1]
        return tuple(out)

    @staticmethod
    def _reaches(e: Event, p: Party) -> bool:
        masks = [t.mask for t in e.touches] or [e.mask]
        return any(m is None or bool((m & p.mask).any()) for m in masks)

    def _case(self, one: Event, other: Event, meet: Meet, places: tuple[Footprint, Footprint], point: Point) -> Case:
        """The second of two accesses, in the program's trips, with the first as the other place."""
        instants = (self._instant(one, point.one), self._instant(other, point.other))
        tie = one.at > other.at if meet.one.role == meet.other.role else other.kind in WRITES
        swap = instants[1] < instants[0] or (instants[0] == instants[1] and tie)
        piece, *threads = self._reached(one, other, meet, places, point)
        mine, its = (one, meet.one, point.one), (other, meet.other, point.other)
        pair = [(*mine, places[0], threads[0]), (*its, places[1], threads[1])]
        (first, mine, at, _, its_first), (last, its, there, place, its_last) = reversed(pair) if swap else pair
        trips = ", ".join(f"{d} = {v}" for d, v in zip(first.dims, at))
        does = f"{who(its, its_last)} {VERBS[last.kind]} {place.tile}"
        did = f"{who(mine, its_first)} {VERBS[first.kind]} there{f' at {trips}' if trips else ''}"
        what = f"{does}, and nothing says that what {did} is over"
        if first.name in self.rows.loose:
            raise Undecided(f"{what}: so it seems, but it may be that this doesn't happen for these sizes")
        found = case(self.rows, point, what, last, its, there, other=first.touches[0].path, path=last.touches[0].path)
        address = byte_text(self.rows.ir, piece * self.footprints.piece, place.tile)
        warp, lane = divmod(its_last, LANES)
        return replace(found, case=replace(found.case, address=address, warp=warp, lane=lane))

    def _reached(
        self, one: Event, other: Event, meet: Meet, places: tuple[Footprint, Footprint], point: Point
    ) -> tuple[int, int, int]:
        """A piece of memory that two accesses reach in a case, and by which thread each."""
        threads, found = self.rows.ir.threads, []
        for e, f, values, party in zip((one, other), places, (point.one, point.other), (meet.one, meet.other)):
            mine = f.pairs[party.mask.ravel()[f.pairs % threads]]
            if f.slot is not None:
                slot = f.slot.evaluate({**point.params, **dict(zip(e.dims, values))})
                mine = mine + int(slot) * f.size * threads  # type: ignore[call-overload]
            found.append(mine)
        return threads_at(found[0], found[1], threads, meet.scope)

    def _instant(self, e: Event, values: tuple[int, ...]) -> tuple:
        numbers = iter(values)
        return tuple((n, next(numbers) if name else 0) for n, name in self._trip(e))

    # ---- proxies

    @cached_property
    def unfenced(self) -> Case | None:
        """What threads write, an engine reads or writes, and no fence of these threads is between."""
        events = self.rows.of(*TOUCHING)
        for one in (e for e in events if e.kind == STORE):
            for other in (e for e in events if e.kind in IN_FLIGHT and not self._as_before(one, e)):
                if self._earlier(one, other) is False:
                    continue
                limits = Limits() if self.spans is None else self.spans.limits(one, other)
                for meet, a, _, when in self.footprints.meetings(one, other):
                    same = meet.scope == THREAD  # type: ignore[attr-defined]
                    mine, its = meet.one, meet.other  # type: ignore[attr-defined]
                    if self._plainly_fenced(one, mine, other, its):
                        continue
                    ahead = self.meetings.in_order(one, mine, other, its, same)
                    needs = common(self._meeting(one, other, [*when, *limits.when], meet), ahead)  # type: ignore[arg-type]
                    for f in (f for f in self.rows.of(PROXY) if mine.takes(f)):
                        fenced = then(self.meetings.before(one, f), self.meetings.in_order(f, mine, other, its, same))
                        needs = less(needs, fenced)
                    if (point := smallest(needs)) is not None:
                        what = (f"{who(its)} {VERBS[other.kind]} {a.tile}, which {who(mine)} has written, and no fence "
                                "of that thread makes it seen past the threads")  # fmt: skip
                        return case(self.rows, point, what, other, its, point.other, other=one.touches[0].path)
        return None

    def _plainly_fenced(self, one: Event, mine: Party, other: Event, its: Party) -> bool:
        """Whether what stands between two events in the text, and no loop has, is a fence and then a barrier of all."""
        if one.dims or other.dims or mine.strand != its.strand:
            return False

        def between(events: Sequence[Event], first: tuple[int, ...]) -> Iterator[Event]:
            alike = (e for e in events if not e.dims and e.domain in (one.domain, other.domain))
            return (e for e in alike if first < e.at < other.at)

        for f in (f for f in between(self.rows.of(PROXY), one.at) if mine.takes(f)):
            if any(mine.takes(m) and its.takes(m) for m in between(self._barriers, f.at)):
                return True
        return False

    # ---- registers, and the end

    @cached_property
    def running(self) -> Case | None:
        """Registers that are touched while products run that have them, or unfenced; or an end before all is over."""
        for strand in self.rows.strands.values():
            party = strand[0]
            for product in (e for e in self.rows.of(PRODUCT) if party.takes(e)):
                covers = self.meetings.covers(party)
                found = self._left_running(product, party, covers, "the program ends while it runs")
                found = found or self._touched(product, party) or self._ready(product, party)
                if found is not None:
                    return found
        for e in self.rows.of(TAKE):
            for party in (p for p in self.rows.parties if p.takes(e)):
                found = self._left_running(e, party, self.meetings.taken(party), "the program ends while it is read")
                if found is not None:
                    return found
        return None

    def _left_running(self, e: Event, party: Party, covers: Map, why: str) -> Case | None:
        """An instance of which no wait knows the end."""
        mine = Map._of(covers.param_names, [(s, p) for s, p in covers.parts if s.inp.name == e.name])
        left = self.relations.instances(e)
        point = smallest(left - mine.domain() if mine.parts else left)
        if point is None:
            return None
        return case(self.rows, point, f"{who(party)} {VERBS[e.kind]}, no wait covers that: {why}", e, party, point.one)

    def _touched(self, product: Event, party: Party) -> Case | None:
        """Who touches accumulators behind a product, a wait of its own being between that covers it; and one for all
        products, which hands them back. Operands in registers are free behind a wait that covers them."""
        waits = [e for e in self.rows.of(DONE) if party.takes(e)]
        of_all = [w for w in waits if not w.pending]
        sums = dict.fromkeys(self._registers(product, party))
        ways = (waits, "that may still run"), (of_all, "and no wait for all of them hands them back")
        for e in dict.fromkeys((*sums, *self._registers(product, party, True))):
            after = self.meetings.before(product, e)
            for some, why in ways if e in sums else ways[:1]:
                behind = together([self.meetings.before(w, e) for w in some], self.meetings.relations.nothing())
                if (point := smallest(less(after, then(self.meetings.covers(party), behind)))) is not None:
                    what = f"{who(party)} touches {'accumulators' if e in sums else 'operands'} of products {why}"
                    return case(self.rows, point, what, e, party, point.other, other=product.path)
        return None

    def _ready(self, product: Event, party: Party) -> Case | None:
        """A product before which registers are touched, and not fenced; one fence is before all products."""
        before = self.meetings.before
        fences = [e for e in self.rows.of(READY) if party.takes(e)]
        fenced = [before(f, product) for f in fences]
        behind = self.relations.instances(product)
        for m in fenced:
            behind = behind - m.range() if m.parts else behind
        if (point := smallest(behind)) is not None:
            return case(self.rows, point, f"{who(party)} multiplies before any fence of its registers", product, party,
                        point.one)  # fmt: skip
        sums = dict.fromkeys(self._registers(product, party))
        for e in dict.fromkeys((*sums, *self._registers(product, party, True))):
            bad = before(e, product)
            for f, own in zip(fences, fenced):
                bad = less(bad, then(before(e, f), own))
            if (point := smallest(bad)) is not None:
                registers = "accumulators" if e in sums else "operands in registers"
                what = f"{who(party)} multiplies, and its {registers} were touched with no fence since"
                return case(self.rows, point, what, product, party, point.other, other=e.path)
        return None

    def _registers(self, product: Event, party: Party, operands: bool = False) -> Iterator[Event]:
        """What touches accumulators of a product, or operands that it has in registers, by threads of a party's
        warpgroup."""
        mine = {(x.array, x.index) for op in product.ops
                for x in (op.held[len(op.d) :] if operands else op.d)}  # type: ignore[attr-defined]  # fmt: skip
        for e in self.rows.of(REGISTERS):
            if any(self._reaches(e, p) for p in self.rows.strands[party.strand]):
                touched = [x for op in e.ops for x in elements(op)]
                if any(_may_be(x, array, index) for x in touched for array, index in mine):
                    yield e

    @property
    def relation(self) -> str:
        """How many pairs of accesses were looked at."""
        self._unordered  # noqa: B018
        tiles = dict.fromkeys(tile for _, _, tile in self._checked)
        return ", ".join(f"{sum(t == tile for _, _, t in self._checked)} pairs of accesses to {tile}" for tile in tiles)


def _may_be(x: Element, array: str, index: tuple[Aff, ...]) -> bool:
    """Whether an element may be one of an array: it is, but for numbers that differ."""
    apart = (a - b for a, b in zip(x.index, index))
    return x.array == array and not any(d.is_constant and d.const for d in apart)


def _whole_warps(fence: Event, meet: Meet) -> bool:
    """Whether all lanes of the warps of two parties take part."""
    mask = meet.one.mask | meet.other.mask
    return fence.mask is None or bool(fence.mask[mask.any(1)].all())


def _trips(one: Sequence[tuple[int, str]], other: Sequence[tuple[int, str]]) -> list[list[Aff]]:
    """When the one is in an earlier trip than the other, or in the same: the other one's dimensions primed."""
    ways: list[list[Aff]] = []
    same: list[Aff] = []
    for (a, x), (b, y) in zip(one, other):
        if a != b:
            return [*ways, same] if a < b else ways
        if x and y:
            ways.append([*same, var(y + "'") - var(x) - 1])
            same = [*same, var(x) - var(y + "'"), var(y + "'") - var(x)]
    return [*ways, same]
