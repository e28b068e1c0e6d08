"""Which k tile every operation of a k loop works on, followed from the data.

A load's place along k says which tile it brings into registers; a store puts what its registers hold into a buffer, a
fragment load takes what the buffer holds, a macro-MMA multiplies what its fragments hold. An asynchronous copy puts
nothing into its buffer before it is waited for, and leaves nothing in it. Nothing says which tile it should be: in a
kernel that takes a tile too early the numbers show it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from polyvolta.cuda.ir.kernel_ir import Access, KernelIR, Loop, Op
from polyvolta.cuda.ir.walk import IrPath, operations, walk
from polyvolta.cuda.machine.copies import Pending
from polyvolta.cuda.pictures.dry import DryMachine, dry_machine
from polyvolta.sets import Aff

Tiles = frozenset[int]
NONE: Tiles = frozenset()


@dataclass(slots=True)
class Event:
    """Consecutive operations of one kind, in one trip of the loop.

    Parameters
    ----------
    kind : "load", "pointwise", "store", "copy", "wait", "fetch", "mma" or "barrier".
    trip : the loop variable's value.
    tiles : the k tiles whose data they touch; of a wait those that have arrived after it.
    buffer : of shared memory, for stores, copies and fetches; of a wait the one that what it waits for goes to.
    statements : what they are called.
    count : how many operations.
    """

    kind: str
    trip: int
    tiles: Tiles
    buffer: int | None = None
    statements: dict[str, None] = field(default_factory=dict)
    count: int = 0

    def __str__(self) -> str:
        tiles = f", k tile {' and '.join(map(str, sorted(self.tiles)))}" if self.tiles else ""
        buffer = "" if self.buffer is None else f", buffer {self.buffer}"
        return f"{', '.join(self.statements)}: {self.count} operations{tiles}{buffer}"


def k_loops(ir: KernelIR) -> list[tuple[IrPath, Loop]]:
    """The outermost loops that fill shared tiles and compute with them."""
    found: list[tuple[IrPath, Loop]] = []
    for at, s in walk(ir.body):
        if isinstance(s, Loop) and not any(at[: len(outer)] == outer for outer, _ in found):
            inside = tuple(operations(s.body))
            fills = any(a.writes and a.space == "shared" and not a.places for op in inside for a in op.accesses(ir))
            if fills and any(op.product is not None for op in inside):
                found.append((at, s))
    return found


@dataclass(frozen=True, slots=True)
class Course:
    """What the first block does in a k loop.

    Parameters
    ----------
    events : in order.
    tiles : how many k tiles there are.
    """

    events: list[Event]
    tiles: int

    def wrong(self) -> list[int]:
        """Numbers of the events that store, fetch or multiply data of no k tile, of several, of one that is outside, or
        multiply a tile that an earlier trip of the loop has multiplied.

        A copy from behind the last k tile is none of them: it brings zeros, which nobody may fetch.
        """
        multiplied: dict[Tiles, int] = {}
        bad = []
        for k, e in enumerate(self.events):
            if e.kind in ("store", "copy", "fetch", "mma"):
                again = e.kind == "mma" and multiplied.setdefault(e.tiles, e.trip) != e.trip
                outside = e.kind != "copy" and max(e.tiles, default=0) >= self.tiles
                if again or len(e.tiles) != 1 or min(e.tiles) < 0 or outside:
                    bad.append(k)
        return bad

    def behind(self) -> list[int]:
        """Numbers of the copies and waits that are of what is behind the last k tile alone."""
        return [k for k, e in enumerate(self.events)
                if e.kind in ("copy", "wait") and min(e.tiles, default=0) >= self.tiles]  # fmt: skip

    def left_out(self) -> list[int]:
        """The k tiles that are never multiplied."""
        multiplied = {t for e in self.events if e.kind == "mma" for t in e.tiles}
        return sorted({*range(self.tiles)} - multiplied)


def begun(ir: KernelIR, at: IrPath, loop: Loop) -> tuple[IrPath, ...]:
    """A k loop, behind what makes its first trips, if these stand apart: from the first that fills its tiles on."""
    earlier = max((path for path, _ in k_loops(ir) if path < at), default=())
    reads = {a.array for op in operations(loop.body) for a in op.accesses(ir) if a.space == "shared" and not a.writes}
    beside = [(path, s) for path, s in walk(ir.body) if path[:-1] == at[:-1] and earlier < path < at]
    fill = [path for path, s in beside if any(
        a.writes and a.array in reads for op in operations((s,)) for a in op.accesses(ir))]  # fmt: skip
    return *(path for path, _ in beside if fill and path >= fill[0]), at


def course(ir: KernelIR, at: IrPath, loop: Loop, sizes: Mapping[str, int]) -> Course:
    """Follow the first block through a k loop, from its first trips on, wherever they stand.

    Parameters
    ----------
    at, loop : the loop and its path.
    sizes : all of them.
    """
    machine, tiles, parts = dry_machine(ir, sizes), 0, begun(ir, at, loop)
    brought: dict[int, int] = {}
    for step in machine.steps():
        for a in machine.accesses(step.op) if step.path[: len(at)] in parts else ():
            if _loads(a) and (place := _along_k(machine, a, loop)) is not None:
                brought.setdefault(machine.value(loop.var), place[0])
                tiles = max(tiles, place[1])
    machine = dry_machine(ir, sizes)
    first = min(brought, default=0)
    brought[first - 1] = brought.get(first, 0) - 1  # of a trip that stands for itself, without the loop
    held = _Held(loop, brought)
    found: list[Event] = []
    for step in machine.steps():
        if step.path[: len(at)] not in parts:
            continue
        trip = machine.value(loop.var) if loop.var in machine.values else first - 1
        event = held.event(machine, step.op, trip)
        if event.kind == "commit":
            continue
        last = found[-1] if found else None
        if last is not None and (last.kind, last.trip, last.buffer, last.tiles) == (
            event.kind, event.trip, event.buffer, event.tiles,
        ) and event.kind not in ("barrier", "wait"):  # fmt: skip
            last.statements |= event.statements
            last.count += 1
        else:
            found.append(event)
    return Course(found, tiles)


def _loads(a: Access) -> bool:
    return (a.space, a.kind) == ("global", "read")


def _along_k(machine: DryMachine, a: Access, loop: Loop) -> tuple[int, int] | None:
    """The k tile that a load brings, and how many its tensor has; None for a load that is the same in every trip."""
    now = machine.values.get(loop.var)
    if now is None:
        return None
    here = machine.at(a.index)
    machine.values[loop.var] = now + loop.step
    there = machine.at(a.index)
    machine.values[loop.var] = now
    for x, y, extent in zip(here, there, machine.ir.tensor(a.array).dims, strict=True):
        if deep := abs(int(np.ravel(y)[0]) - int(np.ravel(x)[0])):
            total = machine.value(extent) if isinstance(extent, str) else extent
            return int(np.min(np.asarray(x))) // deep, -(-total // deep)
    return None


def unordered(found: Sequence[Event]) -> list[tuple[int, int]]:
    """Stores and fragment loads of one buffer, one after the other, with no barrier between: (first, second) events.

    One warp's reads may come before another's writes, or after the next ones: a race. A copy may arrive as soon as it
    is issued, and has arrived where it is waited for.
    """
    races, barrier = [], -1
    last: dict[tuple[str, int | None], int] = {}  # what was done to a buffer -> event
    for k, e in enumerate(found):
        if e.kind == "barrier":
            barrier = k
        does, against = _DOES.get(e.kind, ((), ""))
        other = last.get((against, e.buffer), -1)
        if other > barrier and other > last.get((does[0], e.buffer), -1):
            races.append((other, k))
        last |= dict.fromkeys(((d, e.buffer) for d in does), k)
    return races


_DOES: dict[str, tuple[tuple[str, ...], str]] = {
    "store": (("begin", "end"), "read"), "copy": (("begin",), "read"), "wait": (("end",), ""),
    "fetch": (("read",), "end"),
}  # fmt: skip
"""What an event does to a buffer, and what must not have been done to it since the last barrier: a write begins, and
ends, or somebody reads."""


class _Held:
    """Which k tiles the registers and the buffers of shared memory hold."""

    def __init__(self, loop: Loop, brought: Mapping[int, int]) -> None:
        self.loop, self.brought = loop, brought  # trip -> the tile that its loads bring
        self.registers: dict[tuple, Tiles] = {}
        # Where a tile of shared memory starts, and its buffer: the trip of the last store, and what it stored. Tiles in
        # one place are one, as where values are stored by another layout than they are read by.
        self.shared: dict[tuple[int, int], tuple[int, Tiles]] = {}
        self.copies: Pending[tuple[tuple[int, int], int, Tiles]] = Pending((1, 1, 1))  # of all threads alike

    def event(self, machine: DryMachine, op: Op, trip: int) -> Event:
        """Follow one operation."""
        if op.commits:
            self.copies.commit(None)
        if op.awaits is not None:
            return self.arrived(op, op.awaits, trip)
        touched = machine.accesses(op)
        adds = {(a.array, a.index) for a in touched if a.writes} if op.product is not None else set()  # d, not a or b
        tiles: Tiles = NONE
        for a in touched:
            if not a.writes and (a.array, a.index) not in adds:
                tiles |= self.read(machine, a, trip)
        for a in touched:
            if a.writes and not adds:
                self.write(machine, a, trip, tiles)
        shared = [a for a in touched if a.space == "shared"]
        buffer = _number(machine, shared[0].slot) if shared else None
        return Event(_kind(op, touched), trip, tiles, buffer, {op.statement: None}, 1)

    def arrived(self, op: Op, newest: int, trip: int) -> Event:
        """What copies have brought when they have been waited for."""
        tiles, buffers = NONE, set()
        for (buffer, issued, brought), _ in self.copies.wait(newest, None):
            before = self.shared[buffer]
            self.shared[buffer] = before if before[0] != issued else (issued, before[1] | brought)
            tiles |= brought
            buffers.add(buffer[1])
        return Event("wait", trip, tiles, buffers.pop() if len(buffers) == 1 else None, {op.statement: None}, 1)

    def read(self, machine: DryMachine, a: Access, trip: int) -> Tiles:
        """What is held where an access reads."""
        if a.space == "global":
            place = _along_k(machine, a, self.loop)
            number = self.brought.get(trip) if place is None else place[0]
            return NONE if number is None else frozenset({number})
        if a.space == "shared":
            return self.shared.get(_buffer(machine, a), (0, NONE))[1]
        return self.registers.get(_element(machine, a), NONE)

    def write(self, machine: DryMachine, a: Access, trip: int, tiles: Tiles) -> None:
        """An access that writes puts these there."""
        if a.space == "shared":
            buffer = _buffer(machine, a)
            before = self.shared.get(buffer, (None, NONE))
            now = NONE if a.when == "completion" else tiles
            self.shared[buffer] = trip, now | (before[1] if before[0] == trip else NONE)
            if a.when == "completion":
                self.copies.issue((buffer, trip, tiles), None)
        elif a.space == "registers":
            self.registers[_element(machine, a)] = tiles


def _kind(op: Op, touched: Sequence[Access]) -> str:
    if op.product is not None:
        return "mma"
    if op.orders is not None:
        return "barrier"
    if op.commits:
        return "commit"
    if any(map(_loads, touched)):
        return "copy" if any(a.space == "shared" and a.writes for a in touched) else "load"
    shared = [a.kind for a in touched if a.space == "shared"]
    return "store" if "write" in shared else "fetch" if shared else "pointwise"


def _element(machine: DryMachine, a: Access) -> tuple:
    return a.array, *(_number(machine, x) for x in a.index)


def _buffer(machine: DryMachine, a: Access) -> tuple[int, int]:
    return machine.ir.tile(a.array).start, _number(machine, a.slot)


def _number(machine: DryMachine, e: Aff) -> int:
    return int(np.ravel(machine.at((e,))[0])[0])
