"""What the order of a kernel's instances has to be: copies arrive before they are read, and overwrite nothing early.

An asynchronous copy writes its place at any time between its issue and its arrival. So whatever else reaches that
place, in any trip, by any thread, must come behind its arrival or before its issue: two statements, by which of the two
is earlier in the program. What is read after a copy in the program is read of that copy, and must come behind the
arrival ("between"). What is read, written or copied to before is to be done before the copy is issued ("overwritten").

Every pair of events that meet in shared memory gives a relation of their instances, and so do the orders that there
are; that the one is within the other is a question to the set core, for all sizes and k tiles at once. What is left
over is a set of cases: its smallest point is reported.

Accesses that are done when a thread goes on are no matter here: see `accesses.races`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from polyvolta.cuda.ir.kernel_ir import LANES, KernelIR
from polyvolta.cuda.ir.walk import IrPath, operations
from polyvolta.cuda.verify.engine.addresses import byte_text
from polyvolta.cuda.verify.order.edges import Order, alike
from polyvolta.cuda.verify.order.footprints import BLOCK, THREAD, WARP, Footprint, Footprints, threads_at
from polyvolta.cuda.verify.order.program import ACCESSES, BARRIER, COPY, FENCE, READ, Event, events_of
from polyvolta.cuda.verify.order.relations import Relations
from polyvolta.cuda.verify.report.records import CounterExample
from polyvolta.sets import Aff, Map, Set, Unbounded, var
from polyvolta.sets.values.space import Space, Tuple

BARRIERS = (BARRIER,)


@dataclass(frozen=True, slots=True)
class Found:
    """A case in which two instances are not ordered, with their places, the later one first."""

    case: CounterExample
    at: IrPath
    other: IrPath


@dataclass(frozen=True, slots=True, eq=False)
class _Instance:
    """One instance of an event in one thread, (warp, lane), with the values of all loops around."""

    event: Event
    path: IrPath
    who: tuple[int, int]
    loops: Mapping[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """Two events that meet in a place, one of them copies, in a scope, where `instances` are not ordered."""

    copy: Event
    other: Event
    scope: str
    places: tuple[Footprint, Footprint]
    instances: Map


class HappensBefore:
    """The order of a kernel's copies and of what meets them.

    Raises
    ------
    Undecided : no exact answer.

    Cost: tenths of a second.
    """

    def __init__(self, ir: KernelIR) -> None:
        self.ir = ir
        events = events_of(ir)
        self.footprints = Footprints(ir)
        self.events = tuple(_parted(events, (ir.warps, LANES)))
        accesses = [e for e in self.events if e.kind in ACCESSES]
        slots = [f.slot for e in accesses for f in self.footprints.of(e) if f.slot is not None]
        self.relations = Relations(ir, self.events, slots)
        self._orders: dict[tuple, Order] = {}
        self._known: dict[tuple, tuple[list[Map], Iterator[Map]]] = {}
        self._fences = any(e.kind == FENCE for e in self.events)

    # ---- what is asked

    @cached_property
    def late(self) -> Found | None:
        """A read of a copy that may not have arrived."""
        return next((f for p in self._pairs if (f := self._found(p, True)) is not None), None)

    @cached_property
    def early(self) -> Found | None:
        """A copy that may overwrite what is to be read, or written, before."""
        return next((f for p in self._pairs if (f := self._found(p, False)) is not None), None)

    @property
    def order(self) -> Order:
        """The order of copies, waits and barriers of the block; where threads wait differently, for the first ones."""
        return self._order(self._copies[0])

    @cached_property
    def relation(self) -> str:
        """The edges of the order, in words."""
        edges = self.relations.in_sizes(self.order.edges)
        return f"happens-before is {edges}, closed transitively (exact); of threads each runs in its order"

    @property
    def _copies(self) -> list[Event]:
        return [e for e in self.events if e.kind == COPY]

    @cached_property
    def _pairs(self) -> tuple[_Pair, ...]:
        """The events that meet and are not ordered in all their instances."""
        return tuple(self._unordered())

    def _unordered(self) -> Iterator[_Pair]:
        copies, others = self._copies, [e for e in self.events if e.kind in ACCESSES]
        for copy in copies:
            for other in others:
                if other.kind == COPY and copies.index(other) < copies.index(copy):
                    continue  # seen from the other one
                known: dict[tuple, Map] = {}
                for scope, a, b, when in self.footprints.meetings(copy, other):
                    ways = [when]
                    if scope == THREAD and copy is other and not _twice(a, b):
                        ways = [[*when, *apart] for apart in _different(copy)]
                    if not (left := self._left(copy, other, scope, ways, known)).is_empty():
                        yield _Pair(copy, other, scope, (a, b), left)

    def _left(self, copy: Event, other: Event, scope: str, ways: list[list[Aff]], known: dict[tuple, Map]) -> Map:
        """{ copy -> other }: the instances of two events that meet in some ways and are not ordered.

        What barriers of the block order between any two threads they order in one warp, and in one thread, too: each
        step of that order goes forward in the program. So that is looked at first, once for all scopes; where it
        leaves something, a scope's own order decides.
        """
        key: tuple = tuple(map(tuple, ways))
        last = BLOCK
        for narrower, barriers in ((BLOCK, BARRIERS), *self._narrower(scope)):
            last = narrower
            if (narrower, key) not in known:
                left = self.relations.pairs(copy, other, ways) if narrower == BLOCK else known[BLOCK, key]
                known[narrower, key] = self._rest(left, self._ordered(copy, other, narrower, barriers))
            if known[narrower, key].is_empty():
                break
        return known[last, key]

    def _narrower(self, scope: str) -> list[tuple[str, tuple[str, ...]]]:
        """The order that there is in a scope beside that of all threads: the scope, and the barriers that count."""
        if scope == WARP and self._fences:
            return [(WARP, (*BARRIERS, FENCE))]
        return [(THREAD, BARRIERS)] if scope == THREAD else []

    @staticmethod
    def _rest(left: Map, ordered: Iterator[Map]) -> Map:
        """What some relations leave of a relation; no more of them are asked for than are needed."""
        while not left.is_empty() and (m := next(ordered, None)) is not None:
            left = left - m
        return left

    def _ordered(self, copy: Event, other: Event, scope: str, barriers: tuple[str, ...]) -> Iterator[Map]:
        """{ copy -> other }: the instances of two events that are ordered, of threads in a scope that meet there, as a
        union of relations, which are computed as far as they are asked for."""
        key = copy.name, other.name, scope == THREAD, barriers
        known, rest = self._known.setdefault(key, ([], self._computed(copy, other, scope, barriers)))
        yield from known
        for m in rest:
            known.append(m)
            yield m

    def _computed(self, copy: Event, other: Event, scope: str, barriers: tuple[str, ...]) -> Iterator[Map]:
        mine, copies = self._order(copy, barriers), other.kind == COPY
        if scope == THREAD:
            yield from mine.own_arrived(copy, other)
            ahead = mine.own_arrived(other, copy) if copies else (self.relations.before(other, copy),)
        else:
            yield from mine.arrived(copy, other)
            ahead = self._order(other, barriers).arrived(other, copy) if copies else mine.issued(other, copy)
        for m in ahead:
            if m.parts:
                yield m.reverse()

    def _order(self, copy: Event, barriers: tuple[str, ...] = BARRIERS) -> Order:
        """The order for the threads that issue a copy."""
        warp, lane = (0, 0) if copy.mask is None else np.argwhere(copy.mask)[0]
        key = barriers, (int(warp), int(lane))
        if key not in self._orders:
            mine = [e for e in self.events if e.kind != COPY or e.mask is None or e.mask[warp, lane]]
            self._orders[key] = Order(self.relations, mine, *key)
        return self._orders[key]

    # ---- cases

    def _found(self, pair: _Pair, late: bool) -> Found | None:
        """A case in which a pair isn't ordered, one that makes a read too late or a copy too early."""
        copy, other = pair.copy, pair.other
        after = self.relations.before(copy, other)
        bad = pair.instances
        if other.kind == READ:
            bad = bad & after if late else bad - after
        elif late:
            return None
        sizes = [self.relations.column(n) for n in self.relations.params if n in self.ir.sizes]
        point = _smallest(bad, sizes)
        return None if point is None else self._case(pair, self.relations.values(point))

    def _case(self, pair: _Pair, point: Mapping[str, int]) -> Found:
        """A counter-example at some sizes and values of the two events' loop variables, the other one's primed."""
        copy, other, (a, b) = pair.copy, pair.other, pair.places
        here = {n: v for n, v in point.items() if not n.endswith("'")}
        there = {**here, **{d: point[d + "'"] for d in other.dims}}
        one, two = self._placed(a, here), self._placed(b, there)
        place, thread, its = threads_at(one.pairs, two.pairs, self.ir.threads, pair.scope)
        copied = self._instance(copy, one, place, thread, here)
        reached = self._instance(other, two, place, its, there)
        behind = _holds(self.relations.before(copy, other), copy, other, point, self.relations)
        last, first = (reached, copied) if behind else (copied, reached)
        who_text, other_text = (f"warp {x.who[0]}, lane {x.who[1]}" for x in (last, first))
        if last.who == first.who:
            other_text = "it itself"
        trips = self._trips(first, last)
        if behind and other.kind == READ:
            what = f"{who_text} reads what {other_text} copies{trips}, and {self._why(pair, point)}"
        else:
            verb = {READ: "reads", COPY: "copies there"}.get(first.event.kind, "writes")
            does = "copies over" if last.event.kind == COPY else "overwrites"
            what = f"{who_text} {does} what {other_text} {verb}{trips}, and {self._gap(pair, behind)}"
        sizes = {n: point.get(n, self._least(n)) for n in self.ir.sizes}
        block = tuple(point.get(f"blockIdx.{axis}", 0) for axis in "xyz")
        address = byte_text(self.ir, place * self.footprints.piece, a.tile)
        case = CounterExample(what, sizes, block, *last.who, last.loops, address)  # type: ignore[arg-type]
        return Found(case, last.path, first.path)

    def _instance(
        self, event: Event, f: Footprint, place: int, thread: int, values: Mapping[str, int]
    ) -> _Instance:
        """The instance of an event, for some values of its dimensions, that reaches a place in a thread."""
        touch = next(t for t, pairs in f.touches if place * self.ir.threads + thread in pairs)
        warp, lane = divmod(thread, LANES)
        return _Instance(event, touch.path, (warp, lane), {**touch.loops, **{d: values[d] for d in event.dims}})

    def _why(self, pair: _Pair, point: Mapping[str, int]) -> str:
        """Why what is read may not have arrived."""
        copy, other, order = pair.copy, pair.other, self._order(pair.copy)
        holds = lambda m: _holds(m, copy, other, point, self.relations)  # noqa: E731
        if not holds(order.any_wait(copy, other)):
            return "nobody waits between for what it copies"
        if not any(map(holds, order.own_arrived(copy, other))):
            if not holds(order.committed(copy, other)):
                return "no commit closes the copy's group before"
            least = min(w.pending for w in order.waits)
            stay = f"the newest {least} groups may be" if least > 1 else "the newest group may be"
            return f"no wait between covers it: {stay} on the way, and it is among them"
        barrier = "barrier" if pair.scope == BLOCK else "barrier of the warp, or of the block,"
        return f"no {barrier} is between the wait for it and the read"

    def _gap(self, pair: _Pair, behind: bool) -> str:
        """Why something may be overwritten."""
        first = pair.copy if behind else pair.other
        if first.kind == COPY:
            if pair.scope == THREAD:
                return "no wait between covers that copy"
            return "nothing says that the one copy has arrived before the other is made"
        if pair.scope == THREAD:
            return "nothing orders the two"
        return "no barrier of the block is between" if pair.scope == BLOCK else "no barrier is between"

    def _placed(self, f: Footprint, values: Mapping[str, int]) -> Footprint:
        """A footprint at absolute places."""
        if f.slot is None:
            return f
        by = int(f.slot.evaluate(values)) * f.size * self.ir.threads  # type: ignore[call-overload]
        rows = tuple((touch, pairs + by) for touch, pairs in f.touches)
        return replace(f, slot=None, pairs=f.pairs + by, touches=rows)

    def _trips(self, first: _Instance, last: _Instance) -> str:
        """In which trip of a loop over k tiles the first instance is, where that isn't the last one's."""
        trips = {d for e in self.events for d in e.dims}
        other = [f"{d} = {v}" for d, v in first.loops.items() if d in trips and v != last.loops.get(d)]
        return f" at {' and '.join(other)}" if other else ""

    def _least(self, size: str) -> int:
        """The smallest value of a size that nothing depends on, rather not 0."""
        multiple = dict(self.ir.context).get(size, 1)
        low = max(self.ir.ranges.get(size, (0, None))[0], 1)
        return -(-low // multiple) * multiple


def asynchronous(ir: KernelIR) -> bool:
    """Whether anything in a kernel writes shared memory some time after its thread has gone on."""
    return any(a.space == "shared" and a.when == "completion" for op in operations(ir.body) for a in op.accesses(ir))


def _parted(events: Sequence[Event], shape: tuple[int, int]) -> Iterator[Event]:
    """The events, copies by the threads that commit and wait alike."""
    kinds = alike(events, shape)
    for e in events:
        if e.kind != COPY or len(kinds) == 1:
            yield e
            continue
        for n, threads in enumerate(kinds):
            touches = tuple(
                replace(t, mask=own) for t in e.touches
                if (own := threads if t.mask is None else threads & t.mask).any()
            )  # fmt: skip
            if touches:
                yield replace(e, name=f"{e.name}.{n}", touches=touches, mask=threads)


def _different(event: Event) -> Iterator[list[Aff]]:
    """When two instances of an event are two: one of their dimensions differs."""
    for d in event.dims:
        apart = var(d + "'") - var(d)
        yield [apart - 1]
        yield [-apart - 1]


def _twice(a: Footprint, b: Footprint) -> bool:
    """Whether one thread reaches a place of an event in two of its accesses, or by two ways to say the slot."""
    return a is not b or sum(len(pairs) for _, pairs in a.touches) > len(a.pairs)


def _holds(relation: Map, one: Event, other: Event, point: Mapping[str, int], relations: Relations) -> bool:
    """Whether a relation has a pair of instances, at some sizes."""
    names = [*relations.params, *one.dims, *(d + "'" for d in other.dims)]
    fixed = [e for n in names for e in (var(n) - point[n], point[n] - var(n))]
    return not (relations.pairs(one, other, [fixed]) & relation).is_empty()


def _smallest(bad: Map, sizes: Sequence[str]) -> dict[str, int] | None:
    """The smallest sizes and values of loop variables in a relation, rather without a size of 0; None: it is empty.

    Parameters
    ----------
    sizes : the parameters that are sizes, or multiples.
    """
    params = bad.param_names
    for part in (_positive(bad, sizes), bad):
        for space, pieces in part.parts:
            names = (*params, *space.dims)
            points = Set._of((), [(Space(None, Tuple(None, names)), pieces)])
            if not points.is_empty():
                try:
                    points = points.lexmin()
                except Unbounded:
                    pass
                return dict(zip(names, points.sample_point(), strict=True))
    return None


def _positive(bad: Map, sizes: Sequence[str]) -> Map:
    """The part of a relation in which some sizes are not 0."""
    for n in sizes:
        bad = bad.intersect_params(Set(f"[{n}] -> {{ : {n} >= 1 }}"))
    return bad
