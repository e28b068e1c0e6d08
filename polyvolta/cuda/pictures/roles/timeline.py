"""When roles do what: one block is run, and a clock says how long each thing takes.

The machine runs the block on zeros, so that all is there that a run has: phases that must be complete, barriers where
others must come, groups that must be over. Whose turn it is the clock decides: the role whose time is the earliest. A
role's time goes on by what its operations take, and to the end of what it waits for. So no length but those of `Clock`
is put in: what overlaps, and who waits for whom how long, is what the kernel's phases and waits make of it.

The clock is simple, and says so. Boxes follow one another through the copy engine, and take some time more until they
are there; products follow one another through the tensor cores, whosever they are; stored boxes leave one after the
other. No caches, no other blocks.

Which k tile a box brings is the order in which boxes came to its row of barriers; which one a product multiplies is
what the last box brought to the buffer that it reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polyvolta.cuda.ir import kernel_ir as kir
from polyvolta.cuda.ir.kernel_ir import KernelIR
from polyvolta.cuda.ir.memories import CHUNK, TENSOR_ITEM
from polyvolta.cuda.machine.interpreter import prepared_memory
from polyvolta.cuda.machine.machine import Machine, Step
from polyvolta.cuda.machine.operations import EFFECTS
from polyvolta.cuda.machine.strands import Strand
from polyvolta.cuda.pictures.svg import Svg
from polyvolta.cuda.run.views import extents
from polyvolta.graph.functions.formats import KINDS

Slot = tuple[str, int]
"""One of a row's barriers with phases: what comes to it, and where that lies."""


@dataclass(frozen=True, slots=True)
class Clock:
    """How long things take, in ticks.

    Parameters
    ----------
    multiply_adds : of the tensor cores in a tick.
    bytes : that the copy engine moves in a tick, each way.
    way : ticks more until a box is there.
    operation : ticks of any operation of a role's threads.
    """

    multiply_adds: int = 2048
    bytes: int = 64
    way: int = 500
    operation: int = 8

    def __str__(self) -> str:
        return (
            f"Clock: {self.multiply_adds:,} multiply-adds a tick, {self.bytes} bytes of boxes a tick and {self.way} "
            f"ticks on the way, {self.operation} ticks an operation."
        )


WAIT, WORK, PRODUCT, FLIGHT, HELD, OUT = "wait", "work", "product", "flight", "held", "out"
"""What a span is: a role waits, works, has products in flight, boxes on their way; a slot is held; a box is stored."""


LETTERS = {WAIT: ".", WORK: "#", PRODUCT: "?", FLIGHT: "~", HELD: "=", OUT: ">"}
WIDTH = 84  # letters of a line


@dataclass(slots=True)
class Span:
    """Something that lasts.

    Parameters
    ----------
    kind : see above.
    start, end : ticks.
    tiles : the k tiles that it is of.
    statements : what they are called.
    what : of a wait, what it is for.
    number : of what boxes bring, which of all that come to their row it is.
    """

    kind: str
    start: float
    end: float
    tiles: frozenset[int] = frozenset()
    statements: dict[str, None] = field(default_factory=dict)
    what: str = ""
    number: int = -1

    def __str__(self) -> str:
        tiles = f" of k tile {' and '.join(map(str, sorted(self.tiles)))}" if self.tiles else ""
        what = f" for {self.what}" if self.what else ""
        return f"{', '.join(self.statements)}: {self.kind}{tiles}{what}, ticks {self.start:g} to {self.end:g}"


@dataclass(frozen=True, slots=True)
class Timeline:
    """A block's roles over time.

    Parameters
    ----------
    kernel : its name.
    clock : how long things take.
    sizes : in words.
    lanes : name -> its spans: each role's, or warpgroup's, own time, "... products" and "... stores" of those that have
        some, and each slot that boxes come to. Products of a k tile are one span, whoever has the tensor cores between.
    roles : the names of those that are roles.
    """

    kernel: str
    clock: Clock
    sizes: str
    lanes: Mapping[str, Sequence[Span]]
    roles: tuple[str, ...]

    @property
    def end(self) -> float:
        """When all is over."""
        return max(s.end for spans in self.lanes.values() for s in spans)

    def total(self, lane: str, kind: str) -> float:
        """How long a lane has something of a kind."""
        return sum(s.end - s.start for s in self.lanes[lane] if s.kind == kind)

    @property
    def overlapped(self) -> tuple[float, float]:
        """How long products are in flight, and how long of that boxes are on their way, too."""
        products = [s for spans in self.lanes.values() for s in spans if s.kind == PRODUCT]
        boxes = [s for spans in self.lanes.values() for s in spans if s.kind == FLIGHT]
        return _covered(products), _covered(products) + _covered(boxes) - _covered([*products, *boxes])

    def svg(self) -> Svg:
        """The picture."""
        from polyvolta.cuda.pictures.roles.lanes import drawn

        return drawn(self)

    def __str__(self) -> str:
        """The lanes in letters, `WIDTH` of them for all the time."""
        per, names = self.end / WIDTH, {n: _indented(n, self.roles) for n in self.lanes}
        room = max(map(len, names.values()))
        lines = [f"{names[n]:<{room}}  {_letters(spans, per)}".rstrip() for n, spans in self.lanes.items()]
        of, during = self.overlapped
        scale = f"a letter is {per:.0f} ticks; ~ on its way, = there, a digit: of that k tile, . waits, # works, > goes"
        return "\n".join([f"{self.kernel}; {self.sizes}", str(self.clock), *lines, scale, overlap_text(of, during)])


def overlap_text(of: float, during: float) -> str:
    """What overlaps, in words."""
    return f"Products run for {of:,.0f} ticks; during {during:,.0f} of these boxes are on their way."


def _indented(name: str, roles: Sequence[str]) -> str:
    """A lane's name; without the role's, where it is one of a role's lanes."""
    role = next((r for r in roles if name.startswith(f"{r} ") and name not in roles), "")
    return f"  {name[len(role) + 1 :]}" if role else name


def _letters(spans: Sequence[Span], per: float) -> str:
    line = [" "] * WIDTH
    for s in sorted(spans, key=lambda s: s.kind == WORK):  # what is short is seen
        first, last = int(s.start / per), max(round(s.end / per), int(s.start / per) + 1)
        held = s.kind in (HELD, PRODUCT) and len(s.tiles) == 1
        letter = str(min(s.tiles) % 10) if held else LETTERS[s.kind]
        line[first:last] = letter * len(line[first:last])
    return "".join(line)


def _covered(spans: Sequence[Span]) -> float:
    """How long any of some spans lasts."""
    total, until = 0.0, 0.0
    for s in sorted(spans, key=lambda s: s.start):
        total += max(s.end, until) - max(s.start, until)
        until = max(s.end, until)
    return total


def timeline(ir: KernelIR, sizes: Mapping[str, int], clock: Clock) -> Timeline:
    """Run the first block of a kernel of roles.

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
    machine = Machine(ir, memory, values, np.zeros((3, 1), int), EFFECTS, arrival="eager")
    follow = _Follow(machine, clock)
    machine.weaver = follow  # type: ignore[assignment]
    for step in machine.steps():
        follow.step(step)
    words = ", ".join(f"{n} = {v}" for n, v in sizes.items())
    return Timeline(ir.name, clock, words, follow.ordered(), tuple(follow.time)[1:])


class _Follow:
    """The times of a run; chooses whose turn it is."""

    def __init__(self, machine: Machine, clock: Clock) -> None:
        self.m, self.clock, self.ir = machine, clock, machine.ir
        self.time: dict[str, float] = {"": 0.0}
        self.lanes: dict[str, list[Span]] = {}
        self.complete: dict[tuple[str, int, int], float] = {}
        self.tiles: dict[str, dict[tuple[int, int], int]] = {}  # row -> slot and phase of each tile that came
        self.held: dict[tuple[str, int], tuple[Slot, int]] = {}  # tile and buffer -> where boxes came, and which tile
        self.free = dict.fromkeys((PRODUCT, FLIGHT, OUT), 0.0)
        self.open: dict[tuple[str, str], float] = {}  # strand, kind: when the last of the open group is over
        self.groups: dict[tuple[str, str], list[float]] = {}
        self.met: dict[tuple[str, str, int], float] = {}

    def next(self, ready: Sequence[Strand], last: Strand | None, strands: Sequence[Strand]) -> Strand:
        """The one whose time is the earliest."""
        return min(ready, key=lambda s: self.time.get(s.name, self.time[""]))

    def ordered(self) -> dict[str, list[Span]]:
        """The lanes: who brings boxes first, then slots, then who multiplies."""
        slots = {self._slot(slot): None for row in self.tiles for slot in sorted(
            (row, s) for s in {s for s, _ in self.tiles[row]})}  # fmt: skip
        roles = [n for n in self.time if n]
        bring = [n for n in roles if any(s.statements.keys() & self.brought for s in self.lanes.get(n, ()))]
        rest = [x for n in roles if n not in bring for x in (n, f"{n} products", f"{n} stores")]
        return {n: self.lanes[n] for n in (*bring, *slots, *rest) if n in self.lanes}

    @property
    def brought(self) -> set[str]:
        return {s for row in self.tiles for slot, _ in self.tiles[row] for x in self.lanes[self._slot((row, slot))]
                for s in x.statements}  # fmt: skip

    # ---- steps

    def step(self, step: Step) -> None:
        """An operation was taken."""
        op, who = step.op, step.role
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
                self._work(step)
                self._box(op, step)
            case kir.Wgmma():
                self._work(step)
                self._product(op, step)
            case kir.BoxStore():
                self._work(step)
                _, end = self._engine(OUT, self.time[who], self._bytes(op))
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

    def _engine(self, kind: str, now: float, count: float) -> tuple[float, float]:
        """From when to when something takes a part of the hardware that does one thing after another."""
        rate = self.clock.multiply_adds if kind == PRODUCT else self.clock.bytes
        start = max(now, self.free[kind])
        self.free[kind] = start + count / rate
        return start, self.free[kind]

    def _box(self, op: kir.BoxCopy, step: Step) -> None:
        slot, number = self._number(op.phase.slot, step), self._number(op.phase.number, step)
        buffer, now = self._number(op.buffer, step), self.time[step.role]
        there = self._engine(FLIGHT, now, self._bytes(op))[1] + self.clock.way
        tiles = self.tiles.setdefault(op.phase.barriers, {})
        tile = tiles.setdefault((slot, number), len(tiles))
        self.held[op.tile, buffer] = (op.phase.barriers, slot), tile
        self._completes(op.phase, step, there)
        lane = self._slot((op.phase.barriers, slot))
        of = self._of((op.phase.barriers, slot), tile)
        self._span(lane, Span(FLIGHT, now, there, of, {op.statement: None}, number=tile))

    def _product(self, op: kir.Wgmma, step: Step) -> None:
        m, n, k = op.macro.shape
        start, end = self._engine(PRODUCT, self.time[step.role], m * n * k)
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
        if scope not in ("role", "block") or strand is None or not strand.role:
            return now
        key = scope, strand.role if scope == "role" else "", strand.meetings[scope]
        if key not in self.met:
            others = [s.name for s in strand.woven if scope == "block" or s.role == strand.role]
            self.met[key] = max(self.time.get(n, 0.0) for n in others)
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
