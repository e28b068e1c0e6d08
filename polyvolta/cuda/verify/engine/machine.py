"""The symbolic machine: a kernel run once, for all sizes, all blocks and all k tiles.

The interpreter runs a kernel for given sizes. Here sizes, block indices and the variable of a loop over k tiles stay
symbols, and what is known of them is a path condition, a Presburger set. Only what is finite in every kernel is
enumerated: the threads of a block, as arrays [warp, 32], and unrolled loops.

What an operation does is up to *clients*: one keeps what memories hold, another who touched what since the last
barrier. The machine takes each client's state along and does the control:

- A condition that holds for all values, or for none, decides itself. Else both ways are taken, each under its
  half of the path condition, and joined again where the states have become equal. So the versions for full and for
  partial tiles cost a look at both, and no more.
- A loop over k tiles is run trip by trip. Clients keep what they say relative to the loop variable: a tile that was
  "tile k + 1" is "tile k" in the next trip. After the first trips the state at the loop's head is one that was there
  before. Then the path condition is widened to all trips from there on, in steps of the period (two with two
  buffers), and the body run again; only when everything that arrives at the head is within what has been run, the
  loop is done. The argument is induction over trips, for any number of them; a run that doesn't close is an error.

What comes out is a proof for every client that had nothing to refute: it has seen every operation in every state in
which any execution reaches it. A refutation has a path condition, and a point of that is a concrete case. Where a
loop was widened, a state may have been seen for trips in which no execution has it: that makes nothing proved that is
wrong, but a case of such a state may be none. So a case is run again, its sizes now numbers (`run(..., sizes=...)`):
loops then go trip by trip to their end, nothing is widened, and what is found happens.

Cost: some milliseconds of set operations; time goes with the clients' work on a few trips of each loop.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import lcm
from time import perf_counter
from typing import cast

import numpy as np

from polyvolta.cuda.ir.kernel_ir import KernelIR, Loop, Op, Stmt, When
from polyvolta.cuda.ir.walk import IrPath, put, walk
from polyvolta.cuda.verify.engine.conditions import Condition
from polyvolta.cuda.verify.engine.instances import Instances
from polyvolta.cuda.verify.engine.rings import Rings, Turn, Turning, rings_of
from polyvolta.cuda.verify.engine.strands import one_execution
from polyvolta.cuda.verify.engine.symbolic import Choosing, Client, Entering, Here, Refutation
from polyvolta.cuda.verify.engine.symbols import BLOCKS, FEW, all_blocks, loops_over_tiles, parts, thread_numbers, trips
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.engine.ways import Way, any_of, joined, rejoined
from polyvolta.sets import Aff, aff, var
from polyvolta.sets.values.aff import Floor

MOST_TURNS = 8
MOST_TRIPS = 64  # of one loop, before giving up on a state that repeats
MOST_COUNTED = 4096  # of one loop, where the sizes are numbers


@dataclass(frozen=True, slots=True)
class Run:
    """What a run has shown.

    Parameters
    ----------
    findings : the first counter-example by proof.
    seconds : time that each client took, in their order.
    control : time of the machine itself.
    trips : how often the bodies of symbolic loops were run, by all ways together.
    ways : how many different states arrived at the end.
    """

    findings: Mapping[str, Refutation]
    seconds: tuple[float, ...]
    control: float
    trips: int
    ways: int


def run(ir: KernelIR, clients: Sequence[Client], sizes: Mapping[str, int] | None = None) -> Run:
    """Run a kernel on symbols, clients watching.

    Parameters
    ----------
    sizes : run it for these sizes alone, trip by trip: then every finding happens. Of a block that computes several
        tiles with the tile's number and what has been counted before.

    Raises
    ------
    Undecided : an index or a condition that mixes threads and sizes in a way that has no exact answer here, or a
        loop whose states don't repeat.
    """
    start = perf_counter()
    machine = _Machine(ir, clients, sizes)
    try:
        ways = machine.run()
    except Undecided as unknown:
        unknown.findings = machine.findings
        raise
    spent = perf_counter() - start
    return Run(machine.findings, tuple(machine.seconds), spent - sum(machine.seconds), machine.trips, ways)


class _Machine:
    def __init__(self, ir: KernelIR, clients: Sequence[Client], sizes: Mapping[str, int] | None = None) -> None:
        self.ir, self.clients, self.sizes = ir, clients, sizes
        execution = one_execution(ir)
        self.program, self.places = execution.body, execution.places
        self.choosing = [c for c in clients if isinstance(c, Choosing)]
        self.seconds = [0.0] * len(clients)
        self.findings: dict[str, Refutation] = {}
        self.loops: dict[str, int] = {}
        self.trips = 0
        self.threads = thread_numbers(ir)
        self.instances = Instances(ir, self.threads.keys())
        self.shape = self.threads["linearId"].shape
        self._split: dict[Aff, tuple[Aff, np.ndarray]] = {}
        self._bound: dict[tuple, tuple[Aff, np.ndarray]] = {}
        self._rings: dict[IrPath, Rings | None] = {}
        self.rings: dict[str, int] = {}

    def run(self) -> int:
        known = all_blocks(self.ir)
        for name, value in (self.sizes or {}).items():
            known = known.given(var(name) - value, value - var(name))
        if any((self.sizes or {}).get(s.turn) for s in loops_over_tiles(self.ir)):
            known = known.given(sum(map(var, BLOCKS), aff(-1)))  # the place of number 0 is some block's first
        ways = [Way(known, [c.start(self.ir) for c in self.clients])]
        ways = self.body(self.program, ways, None, ())
        last = max((path for path, _ in walk(self.program)), default=())
        for way in ways:
            here = Here(self, last, None, None, way.condition)
            for client, state in zip(self.clients, way.states):
                client.finish(state, here)
        return len(ways)

    def split(self, e: Aff) -> tuple[Aff, np.ndarray]:
        """See `Here.split`."""
        at = tuple((n, self.loops[n]) for n in sorted(e.names() & self.loops.keys()))
        found = self._bound.get((e, at))
        if found is None:
            bound = e.subs({n: aff(v) for n, v in at})
            if bound not in self._split:
                own, symbolic = parts(bound, self.threads.keys())
                numbers = np.asarray(own.evaluate(self.threads), np.int64)  # type: ignore[arg-type]
                self._split[bound] = symbolic, np.broadcast_to(numbers, self.shape)
            found = self._bound[e, at] = self._split[bound]
        return found

    # ---- control

    def body(
        self, body: tuple[Stmt, ...], ways: list[Way], mask: np.ndarray | None, at: IrPath, first: int = 0
    ) -> list[Way]:
        """Run some statements; ways that went apart at one of them may be one again only behind a later one."""
        whole = any_of([way.condition for way in ways]) if ways else None
        for k, s in enumerate(body, first):
            path = (*at, k)
            try:
                if isinstance(s, Loop):
                    ways = self.loop(s, ways, mask, path)
                elif isinstance(s, When):
                    ways = joined([w for way in ways for w in self.when(s, way, mask, path)])
                else:
                    for way in ways:
                        self.op(cast("Op", s), way, mask, path)  # others are refused by whoever meets them
            except Undecided as undecided:
                undecided.path = undecided.path or self.places.get(path, path)  # the innermost statement
                raise
            if whole is not None and len(ways) == 1:
                ways = rejoined(ways, whole)
        return ways

    def op(self, op: Op, way: Way, mask: np.ndarray | None, path: IrPath) -> None:
        here = Here(self, path, op, mask, way.condition)
        for n, (client, state) in enumerate(zip(self.clients, way.states)):
            start = perf_counter()
            client.step(state, here)
            self.seconds[n] += perf_counter() - start

    def when(self, s: When, way: Way, mask: np.ndarray | None, path: IrPath) -> list[Way]:
        """Both ways of a condition, where both are possible; as one again where the states are equal after them."""
        all_threads = np.ones(self.shape, bool) if mask is None else mask
        chosen = list(self.decided(s.conditions, way.condition))
        out: list[Way] = []
        for n, (condition, holds) in enumerate(chosen):
            for client in self.choosing:
                client.choose(holds, Here(self, path, s, mask, condition))
            ways = [way.copy(condition) if n < len(chosen) - 1 else Way(condition, way.states)]
            for stmts, threads, first in ((s.body, holds, 0), (s.orelse, ~holds, len(s.body))):
                active = threads & all_threads
                if stmts and active.any():
                    ways = self.body(stmts, ways, None if active.all() else active, path, first)
            out += ways
        return rejoined(out, way.condition)

    def decided(self, conditions: tuple[Aff, ...], known: Condition) -> Iterator[tuple[Condition, np.ndarray]]:
        """The cases of a conjunction: what is known in each, and for which threads all hold, bool [warp, 32]."""
        cases = [(known, np.ones(self.shape, bool))]
        for e in conditions:
            symbolic, numbers = self.split(e)
            if symbolic.is_constant:  # of the threads alone
                cases = [(condition, holds & (numbers >= -symbolic.const)) for condition, holds in cases]
                continue
            values = [int(v) for v in np.unique(numbers)]
            cases = [
                (more, holds & (numbers >= least) if least is not None else np.zeros(self.shape, bool))
                for condition, holds in cases
                for more, least in (_thresholds(symbolic, values, condition) if holds.any() else [(condition, None)])
            ]
        yield from cases

    def loop(self, s: Loop, ways: list[Way], mask: np.ndarray | None, path: IrPath) -> list[Way]:
        bounds = [self.split(e) for e in (*s.lower, *s.upper)]
        if any((numbers != numbers.flat[0]).any() for _, numbers in bounds):
            raise Undecided(f"the bounds of loop {s.var} differ between threads")
        ends = [symbolic + int(numbers.flat[0]) for symbolic, numbers in bounds]
        lower, upper = ends[: len(s.lower)], ends[len(s.lower) :]
        values = trips(s, lower, [e for e in upper if e.is_constant])
        further = tuple(e for e in upper if not e.is_constant)
        if values is None or (further and len(values) > FEW):
            return self.symbolic_loop(s, lower, upper, ways, mask, path)
        for value in values:
            self.loops[s.var] = value
            if further:  # sizes may end it earlier
                trip = When(tuple(e - value for e in further), s.body)
                ways = joined([w for way in ways for w in self.when(trip, way, mask, path)])
            else:
                ways = self.body(s.body, ways, mask, path)
        self.loops.pop(s.var, None)
        return ways

    # ---- loops over k tiles

    def symbolic_loop(
        self, s: Loop, lower: list[Aff], upper: list[Aff], ways: list[Way], mask: np.ndarray | None, path: IrPath
    ) -> list[Way]:
        if not ways:
            return []
        whole = any_of([way.condition for way in ways])
        rings = None
        if self.sizes is None and all(isinstance(c, Turning) for c in self.clients):
            rings = self.known_rings(s, path)
        out: list[Way] = []
        for n, start in enumerate(lower):  # the largest of the lower bounds; of equal ones the first
            above = [start - e - (k < n) for k, e in enumerate(lower) if k != n]
            begin = [
                w.condition.given(*above).naming(s.var).given(var(s.var) - start, start - var(s.var)) for w in ways
            ]
            entering = [way.copy(c) for way, c in zip(ways, begin) if not c.is_empty]
            for way in entering:
                here = Here(self, path, s, mask, way.condition)
                for client, state in zip(self.clients, way.states):
                    if isinstance(client, Entering):
                        client.enter(state, s, start, here)
            if rings is None:
                out += self.trips_of(s, start, upper, entering, mask, path)
            else:
                self.turn(entering, rings.turned(start.const))
                if rings.adrift:
                    self.alike(entering, rings)
                before, self.rings = self.rings, {**self.rings, **rings.slots}
                left = self.trips_of(rings.loop, start, upper, entering, mask, path, rings)
                self.rings = before
                out += left
        return rejoined(out, whole)

    def known_rings(self, s: Loop, path: IrPath) -> Rings | None:
        """The rings of a loop whose slots may be said relative to the trip."""
        if path not in self._rings:
            self._rings[path] = rings_of(s, self.ir)
        return self._rings[path]

    def turn(self, ways: Sequence[Way], by: Turn) -> None:
        """Number the slots of rings anew."""
        if any(by.values()):
            for way in ways:
                for client, state in zip(self.clients, way.states):
                    client.turn(state, by)  # type: ignore[attr-defined]

    def alike(self, ways: Sequence[Way], rings: Rings) -> None:
        """The slots of rings are all alike: it is no matter which is which.

        Raises
        ------
        Undecided : they aren't.
        """
        for way in ways:
            other = way.copy(way.condition)
            self.turn([other], rings.turned(1))
            if other.key != way.key:
                names = ", ".join(rings.slots)
                where = f"where loop {rings.loop.var} begins or ends"
                raise Undecided(f"which slot of {names} is which, {where}, depends on sizes")

    def trips_of(
        self,
        s: Loop,
        start: Aff,
        upper: list[Aff],
        ways: list[Way],
        mask: np.ndarray | None,
        path: IrPath,
        rings: Rings | None = None,
    ) -> list[Way]:
        """Run trips until everything that arrives at the head is within what has been run from there.

        Parameters
        ----------
        rings : those of the loop that are said relative to the trip.
        """
        v, period = var(s.var), turns(s)
        filled = max(rings.slots.values()) if rings is not None else 0  # trips until a ring can be full
        seen: dict[Hashable, tuple[int, Condition]] = {}  # state at the head: first trip, condition it was run with
        exits: list[tuple[Way, Aff | None]] = []
        trip = 0
        while ways:
            if trip >= (MOST_TRIPS if self.sizes is None else MOST_COUNTED):
                raise Undecided(f"the states of loop {s.var} don't repeat within {trip} trips")
            exits += [left for way in ways for left in self.exits(s, start, upper, way, path)]
            going = []
            for way in ways:
                condition = way.condition.given(*(e - v for e in upper))
                key = way.key, trip if trip < filled or self.sizes is not None else trip % period
                first, done = seen.get(key, (trip, None))
                if condition.is_empty or (done is not None and condition.within(done)):
                    continue
                if done is not None:
                    since, apart = v - start - first * s.step, (trip - first) * s.step
                    guesses = (since, *([-(since % apart)] if apart > 0 else []), *(e - v for e in upper))
                    condition = done.widened(condition, guesses)
                seen[key] = first, condition
                going.append(Way(condition, way.states))
            self.trips += bool(going)
            ways = joined(self.body(s.body, going, mask, path)) if going else []
            for way in ways:
                here = Here(self, path, s, mask, way.condition)
                for client, state in zip(self.clients, way.states):
                    client.next_trip(state, s, here)
                way.condition = way.condition.subs({s.var: v - s.step})
            if rings is not None:
                self.turn(ways, rings.turned(s.step))
            trip += 1
        out = []
        for way, last in exits:
            for left in [way] if rings is None else self.settled(way, rings, v):
                known = left.condition
                left.condition = (known if last is None else known.subs({s.var: last})).without(s.var)
                out.append(left)
        return joined(out)

    def exits(
        self, s: Loop, start: Aff, upper: list[Aff], way: Way, path: IrPath
    ) -> list[tuple[Way, Aff | None]]:
        """The ways on which there is no further trip: the variable is past one of the upper bounds, at a value."""
        v, out = var(s.var), []
        for n, end in enumerate(upper):
            condition = way.condition.given(v - end - 1, *(e - v for e in upper[:n]))
            if condition.is_empty:
                continue
            left = way.copy(condition)
            trips = (end - start) // s.step + 1
            ends = (end + 1, start, start + s.step * trips)  # each of them is right at times, and shortest first
            last = next((e for e in ends if condition.holds(v - e) and condition.holds(e - v)), None)
            here = Here(self, path, s, None, condition)
            for client, state in zip(self.clients, left.states):
                client.leave(state, s, last, here)
            out.append((left, last))
        return out

    def settled(self, way: Way, rings: Rings, v: Aff) -> list[Way]:
        """A way with the slots' own numbers again, at the end of a loop with variable `v`: by cases of v mod S, unless
        all slots are alike."""
        other = way.copy(way.condition)
        self.turn([other], rings.turned(1))
        if other.key == way.key:
            return [way]
        if rings.adrift:
            self.alike([way], rings)
        period = lcm(*rings.slots.values())
        cases = [way.copy(way.condition.given(-((v - n) % period))) for n in range(period)]
        for n, case in enumerate(cases):
            self.turn([case], rings.turned(-n))
        return [case for case in cases if not case.condition.is_empty]


def _thresholds(symbolic: Aff, values: list[int], known: Condition) -> Iterator[tuple[Condition, int | None]]:
    """The cases of `symbolic + value >= 0` for some values in ascending order: from which value on it holds, if any."""
    below: int | None = None
    for value in values:
        e = symbolic + value
        constraints = [e] if below is None else [e, -(symbolic + below) - 1]
        if known.holds(e) and below is None:
            yield known, value
            return
        condition = known.given(*constraints)
        if not condition.is_empty:
            yield condition, value
        below = value
    assert below is not None
    never = known.given(-(symbolic + below) - 1)
    if not never.is_empty:
        yield never, None


def turns(loop: Loop) -> int:
    """After how many trips the body's expressions come round again, such as 2 with two buffers: of their floors in the
    loop's variable; 1 where these have large divisors, as bounds of other loops may.

    >>> turns(Loop("k", (aff(0),), (var("K"),), 1, False, (When((var("k") % 2 - var("k") % 3, var("K") // 5), ()),)))
    6
    """
    floors: set[int] = set()

    def look(e: Aff) -> Aff:
        floors.update(a.den for a, _ in e.terms if isinstance(a, Floor) and loop.var in a.num.names())
        return e

    for _, stmt in walk(loop.body):
        match stmt:
            case Loop(lower=lower, upper=upper):
                put((*lower, *upper), look)
            case When(conditions=conditions):
                put(conditions, look)
            case _:
                put(stmt, look)
    period = lcm(*floors)
    return period if period <= MOST_TURNS else 1
