"""Following a run of the machine with a clock: when each operation begins, and when what it asks for is over.

See `roles.timeline`, which has what comes of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polyvolta.cuda.ir import kernel_ir as kir
from polyvolta.cuda.ir.engines.unfolded import PART, unfolded
from polyvolta.cuda.ir.kernel_ir import KernelIR
from polyvolta.cuda.ir.memories import CHUNK, TENSOR_ITEM
from polyvolta.cuda.machine.interpreter import prepared_memory
from polyvolta.cuda.machine.machine import Machine, Step
from polyvolta.cuda.machine.operations import EFFECTS
from polyvolta.cuda.machine.strands import OTHERS, Strand
from polyvolta.cuda.pictures.roles.timeline import FLIGHT, HELD, OUT, PRODUCT, WAIT, WORK, Clock, Span, Timeline
from polyvolta.cuda.run.views import extents
from polyvolta.graph.functions.formats import KINDS

Slot = tuple[str, int]
"""One of a row's barriers with phases: what comes to it, and where that lies."""


def timeline(ir: KernelIR, sizes: Mapping[str, int], clock: Clock) -> Timeline:
    """Run the first block of a kernel of roles, or the first cluster.

    Parameters
    ----------
    sizes : all of them.

    Raises
    ------
    BadTensor : arrays of such sizes the kernel doesn't take.
    """
    tensors = {}
    for t in ir.tensors:
        shape = extents(t, sizes)
        order = "F" if t.order[-1] == 0 else "C"
        whole = np.zeros([-(-n // CHUNK) * CHUNK for n in shape], KINDS[t.kind].storage, order)
        tensors[t.name] = whole[tuple(slice(n) for n in shape)]
    memory, values = prepared_memory(ir, tensors, sizes, dict.fromkeys(ir.scalars, 0.0))
    whole = unfolded(ir)
    machine = Machine(whole.ir, memory, values, np.zeros((3, 1), int), EFFECTS, arrival="eager", unfolded=whole)
    follow = _Follow(machine, clock)
    machine.weaver = follow  # type: ignore[assignment]
    for step in machine.steps():
        follow.step(step)
    words = ", ".join(f"{n} = {v}" for n, v in sizes.items())
    lanes = follow.ordered()
    places = {} if whole.ir is ir else {n: whole.place((0, 0, 0), follow.rank(n)) for n in lanes}
    return Timeline(ir.name, clock, words, lanes, follow.roles, places)


class _Follow:
    """The times of a run; chooses whose turn it is."""

    def __init__(self, machine: Machine, clock: Clock) -> None:
        self.m, self.clock, self.ir = machine, clock, machine.ir
        self.time: dict[str, float] = {"": 0.0}
        self.lanes: dict[str, list[Span]] = {}
        self.complete: dict[tuple[str, int, int], float] = {}
        self.tiles: dict[str, dict[tuple[int, int], int]] = {}  # row -> slot and phase of each tile that came
        self.held: dict[tuple[str, int], tuple[Slot, int]] = {}  # tile and buffer -> where boxes came, and which tile
        self.free: dict[tuple[str, int], float] = {}  # kind, rank of the block
        self.of: dict[str, int] = {}  # lane of a role -> rank of its block
        self.sent = 0.0  # when the last box is through the copy engine
        self.open: dict[tuple[str, str], float] = {}  # strand, kind: when the last of the open group is over
        self.groups: dict[tuple[str, str], list[float]] = {}
        self.met: dict[tuple[str, str, int], float] = {}

    def engines(self, strands: Sequence[Strand]) -> bool:
        """Boxes arrive at once, and it is for the clock to say when that is."""
        return False

    def next(self, ready: Sequence[Strand], last: Strand | None, strands: Sequence[Strand]) -> Strand:
        """The one whose time is the earliest."""
        return min(ready, key=lambda s: self.time.get(s.name, self.time[""]))

    def ordered(self) -> dict[str, list[Span]]:
        """The lanes: who brings boxes first, then slots, then who multiplies."""
        slots = {self._slot(slot): None for row in self.tiles for slot in sorted(
            (row, s) for s in {s for s, _ in self.tiles[row]})}  # fmt: skip
        bring = [n for n in self.roles if any(s.statements.keys() & self.brought for s in self.lanes.get(n, ()))]
        rest = [x for n in self.roles if n not in bring for x in (n, f"{n} products", f"{n} stores")]
        names = [n for n in (*bring, *slots, *rest) if n in self.lanes]
        return {n: self.lanes[n] for n in sorted(names, key=self.rank)}

    @property
    def roles(self) -> tuple[str, ...]:
        """Those that there are, in the order in which they began."""
        return tuple(n for n in self.time if n and not n.startswith(OTHERS))

    def rank(self, lane: str) -> int:
        """That of the block that has a lane, in its cluster."""
        return self.of[lane] if lane in self.of else self.m.unfolded.array(lane.partition("[")[0])[1]

    @property
    def brought(self) -> set[str]:
        return {s for row in self.tiles for slot, _ in self.tiles[row] for x in self.lanes[self._slot((row, slot))]
                for s in x.statements}  # fmt: skip

    # ---- steps

    def step(self, step: Step) -> None:
        """An operation was taken."""
        op, who = step.op, step.role
        if not who and step.mask is not None and np.argmax(step.mask.any((0, 2))) >= self.m.unfolded.warps:
            return  # before the roles all blocks of a cluster do the same
        block = 0 if self.m.strand is None else self.m.strand.block
        self.of |= dict.fromkeys((who, f"{who} products", f"{who} stores"), block)
        now = self.time.setdefault(who, self.time[""])
        match op:
            case kir.Await():
                slot, number = self._number(op.phase.slot, step), self._number(op.phase.number, step)
                until = self.complete.get((op.phase.barriers, slot, number), now)
                self._wait(step, until, f"phase {number} of {op.phase.barriers}[{slot}]")
            case kir.WgmmaWait():
                self._wait(step, self._over(who, PRODUCT, op.pending), "products")
            case kir.WaitStores():
                self._wait(step, self._over(who, OUT, op.pending), "stored boxes to be read")
            case kir.Barrier():
                self._wait(step, self._meet(step, now), f"a barrier of the {op.scope}")
            case kir.WgmmaCommit() | kir.CommitStores():
                kind = PRODUCT if isinstance(op, kir.WgmmaCommit) else OUT
                self.groups.setdefault((who, kind), []).append(self.open.pop((who, kind), 0.0))
            case kir.Arrive():
                self._work(step)
                self._completes(op.phase, step, self.time[who])
            case kir.BoxCopy():
                if not self.m.unfolded.again(step.path):
                    self._work(step)
                self._box(op, step)
            case kir.Wgmma():
                self._work(step)
                self._product(op, step)
            case kir.BoxStore():
                self._work(step)
                _, end = self._engine(OUT, step, self._bytes(op))
                self._last(who, OUT, end)
                self._span(f"{who} stores", Span(OUT, self.time[who], end, frozenset(), {op.statement: None}))
            case _:
                self._work(step)
                self._reads(step, self.time[who])

    def _wait(self, step: Step, until: float, what: str) -> None:
        now = self.time[step.role]
        if until > now:
            self._span(step.role, Span(WAIT, now, until, frozenset(), {step.op.statement: None}, what))
            self.time[step.role] = until

    def _work(self, step: Step) -> None:
        """An operation of threads: another part of a span that it continues."""
        who, now = step.role, self.time[step.role]
        self.time[who] = now + self.clock.operation
        if who:
            self._span(who, Span(WORK, now, self.time[who], frozenset(), {step.op.statement: None}))

    def _span(self, lane: str, span: Span) -> None:
        spans = self.lanes.setdefault(lane, [])
        last = spans[-1] if spans else None
        same = last is not None and (last.kind, last.tiles, last.what, last.number) == (
            span.kind, span.tiles, span.what, span.number)  # fmt: skip
        if last is not None and same and (span.start <= last.end or span.kind == PRODUCT):
            last.end = max(last.end, span.end)
            last.statements |= span.statements
        else:
            spans.append(span)

    # ---- what takes its time beside the threads

    def _engine(self, kind: str, step: Step, count: float) -> tuple[float, float]:
        """From when to when something takes a part of the block's hardware that does one thing after another."""
        rate, of = self.clock.multiply_adds if kind == PRODUCT else self.clock.bytes, (kind, self.of[step.role])
        start = max(self.time[step.role], self.free.get(of, 0.0))
        self.free[of] = start + count / rate
        return start, self.free[of]

    def _box(self, op: kir.BoxCopy, step: Step) -> None:
        slot, number = self._number(op.phase.slot, step), self._number(op.phase.number, step)
        buffer, now = self._number(op.buffer, step), self.time[step.role]
        if not self.m.unfolded.again(step.path):  # else it is the same box, for another block
            _, self.sent = self._engine(FLIGHT, step, self._bytes(op))
        there = self.sent + self.clock.way
        tiles = self.tiles.setdefault(op.phase.barriers, {})
        tile = tiles.setdefault((slot, number), len(tiles))
        self.held[op.tile, buffer] = (op.phase.barriers, slot), tile
        self._completes(op.phase, step, there)
        lane = self._slot((op.phase.barriers, slot))
        of = self._of((op.phase.barriers, slot), tile)
        self._span(lane, Span(FLIGHT, now, there, of, {op.statement: None}, number=tile))

    def _product(self, op: kir.Wgmma, step: Step) -> None:
        m, n, k = op.macro.shape
        start, end = self._engine(PRODUCT, step, m * n * k)
        tiles: frozenset[int] = frozenset()
        for _, x in op.shared:
            tiles |= self._used(x.tile, self._number(x.buffer, step), end)
        self._last(step.role, PRODUCT, end)
        self._span(f"{step.role} products", Span(PRODUCT, start, end, tiles, {op.statement: None}))

    def _reads(self, step: Step, until: float) -> None:
        """Threads read what boxes have brought."""
        for a in self.m.accesses(step.op):
            if a.space == "shared" and not a.writes:
                self._used(a.array, self._number(a.slot, step), until)

    def _used(self, tile: str, buffer: int, until: float) -> frozenset[int]:
        """What boxes brought to a buffer is needed until then; which k tile that is."""
        if (tile, buffer) not in self.held:
            return frozenset()
        slot, number = self.held[tile, buffer]
        of, spans = self._of(slot, number), self.lanes[self._slot(slot)]
        for span in spans:
            if span.kind == HELD and span.number == number:
                span.end = max(span.end, until)
                return of
        brought = next(s.statements for s in spans if s.number == number)
        spans.append(Span(HELD, self._there(slot, number), until, of, dict(brought), number=number))
        return of

    def _there(self, slot: Slot, tile: int) -> float:
        """When a tile is there."""
        (at,) = [at for at, n in self.tiles[slot[0]].items() if n == tile]
        return self.complete[slot[0], *at]

    def _of(self, slot: Slot, tile: int) -> frozenset[int]:
        """A k tile, of a row whose slots are filled again and again; of others nothing."""
        return frozenset({tile}) if self.ir.phases(slot[0]).slots > 1 else frozenset()

    def _slot(self, slot: Slot) -> str:
        name, number = slot
        return f"{name}[{number}]"

    # ---- phases, groups, barriers

    def _completes(self, phase: kir.Phase, step: Step, when: float) -> None:
        key = phase.barriers, self._number(phase.slot, step), self._number(phase.number, step)
        self.complete[key] = max(self.complete.get(key, 0.0), when)

    def _last(self, who: str, kind: str, end: float) -> None:
        self.open[who, kind] = max(self.open.get((who, kind), 0.0), end)

    def _over(self, who: str, kind: str, pending: int) -> float:
        """When all groups but the newest are over."""
        groups = self.groups.get((who, kind), [])
        return max(groups[: len(groups) - pending], default=0.0)

    def _meet(self, step: Step, now: float) -> float:
        """When all have come to a barrier."""
        scope, strand = step.op.orders, self.m.strand
        if scope not in ("role", "block", PART) or strand is None or not strand.role:
            return now
        key = scope, {"role": strand.role, PART: str(strand.block)}.get(scope, ""), strand.meetings[scope]
        if key not in self.met:
            self.met[key] = max(self.time.get(s.name, 0.0) for s in strand.met(scope))
        return self.met[key]

    # ---- numbers

    def _number(self, e: Any, step: Step) -> int:
        """An expression in the first thread that takes part."""
        value = np.broadcast_to(e.evaluate(self.m.values), self.m.shape)
        at = (0, 0, 0) if step.mask is None else tuple(np.argwhere(step.mask)[0])
        return int(value[at])

    def _bytes(self, op: kir.BoxCopy | kir.BoxStore) -> int:
        box = self.ir.box_map(op.map).box
        return box.lines * box.run * TENSOR_ITEM
