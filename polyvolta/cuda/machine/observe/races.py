"""Races: two threads at one address, one of them writing, with no barrier between; and copies that nobody waits for.

In shared memory `cuda.shadow` keeps who wrote and who read each place since the last barrier. Between blocks there is
no barrier at all, so in global memory every element of an output is one thread's to write.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyvolta.cuda.ir.kernel_ir import LANES, KernelIR
from polyvolta.cuda.ir.walk import IrPath, walk
from polyvolta.cuda.machine.copies import Pending
from polyvolta.cuda.machine.machine import Machine, Step
from polyvolta.cuda.machine.observe.observer import Finding, Observer, block_of, short, slot_bytes, times, unordered
from polyvolta.cuda.machine.observe.tables import Shown, Table
from polyvolta.cuda.machine.observe.warpwide import Accesses
from polyvolta.cuda.machine.reach import GlobalReach
from polyvolta.cuda.machine.shadow import (
    NO_WAIT,
    READ_AFTER_WRITE,
    READ_BEFORE_ARRIVAL,
    WRITE_AFTER_READ,
    WRITE_BEFORE_ARRIVAL,
    Conflicts,
    Shadow,
)
from polyvolta.cuda.text.places import Place, Places

VERBS = {
    READ_AFTER_WRITE: ("reads", "wrote"), WRITE_AFTER_READ: ("writes", "read"),
    READ_BEFORE_ARRIVAL: ("reads", "copied to"), WRITE_BEFORE_ARRIVAL: ("writes", "copied to"),
    NO_WAIT: ("ends", "copied to"),
}  # fmt: skip
FEW = 4096  # operations that are remembered, for races with copies that were issued long ago


@dataclass(frozen=True, slots=True)
class Race:
    """Accesses of two places that collide.

    Parameters
    ----------
    kind : "read after write", "write after read" or "write after write", in the order in which they came here; "read
        before arrival" or "write before arrival", of an asynchronous copy that its thread hadn't waited for; "copy
        without a wait".
    array : what the later access reaches: a tile, or a tensor.
    count : how many pairs of accesses, each to a piece of memory.
    place, other : of the later access and of the earlier one.
    address : of the first pair, in words: a byte of the block's shared memory, or an element of the tensor.
    block, thread : blockIdx and linearId of the later access of the first pair.
    other_block, other_thread : and of the earlier one.
    byte : of the block's shared memory, that of `address`; None in a tensor.
    between : the operations of the block from the earlier access of the first pair to the later one, both included; a
        single one where both are the same operation; () for accesses of two blocks, and where a barrier was between
        that orders them.
    """

    kind: str
    array: str
    count: int
    place: Place
    other: Place
    address: str
    block: tuple[int, int, int]
    thread: int
    other_block: tuple[int, int, int]
    other_thread: int
    byte: int | None = None
    between: tuple[Place, ...] = ()

    @property
    def unordered(self) -> bool:
        """Whether nothing orders the two; else a tensor's element is written twice, with a barrier between."""
        return self.block != self.other_block or bool(self.between)

    @property
    def what(self) -> str:
        """The race in words."""
        now, before = VERBS.get(self.kind, ("writes", "wrote"))
        warp, lane = divmod(self.thread, LANES)
        other_warp, other_lane = divmod(self.other_thread, LANES)
        if self.kind == NO_WAIT:
            return (
                f"{self.kind}: lane {lane} of warp {warp} copies to {self.address} and never waits for it; "
                f"block {self.block}; {times(self.count, 'such piece')}"
            )
        elsewhere = f" of block {self.other_block}" if self.other_block != self.block else ""
        apart = "with no barrier between" if self.unordered else "though each element is one thread's to write"
        if self.kind in (READ_BEFORE_ARRIVAL, WRITE_BEFORE_ARRIVAL):
            apart = "and has not waited for it"
        return (
            f"{self.kind}: lane {lane} of warp {warp} {now} {self.address}, which lane {other_lane} of warp "
            f"{other_warp}{elsewhere} {before}, {apart}; block {self.block}; "
            f"{times(self.count, 'such pair')}"
        )


@dataclass(frozen=True, slots=True)
class Races(Shown):
    """The races, by their two places."""

    rows: tuple[Race, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(Finding("races", r.what, (r.place, r.other), r.count) for r in self.rows)

    @property
    def tables(self) -> tuple[Table, ...]:
        columns = ("line", "after line", "race", "where", ">warp.lane", ">after", ">pairs")
        rows = tuple(
            (short(r.place), short(r.other), r.kind, r.address, "{}.{}".format(*divmod(r.thread, LANES)),
             "{}.{}".format(*divmod(r.other_thread, LANES)), f"{r.count:,}")
            for r in self.rows
        )  # fmt: skip
        note = "" if rows else "Whenever two threads reach one address and one of them writes, a barrier is between."
        return (Table("races: no barrier between", columns, rows, note),)


@dataclass
class _Tally:
    count: int
    address: str
    block: tuple[int, int, int]
    thread: int
    other_block: tuple[int, int, int]
    other_thread: int
    byte: int | None = None
    between: tuple[IrPath, ...] = ()


class RaceObserver(Observer):
    """Keeps who touched what since the last barrier."""

    name = "races"

    @classmethod
    def no_meaning(cls, ir: KernelIR) -> str:
        return unordered(ir)

    def __init__(self, ir: KernelIR) -> None:
        super().__init__(ir)
        self.slot = slot_bytes(ir)
        self.paths = [path for path, _ in walk(ir.body)]
        self.numbers = {path: n for n, path in enumerate(self.paths)}
        self.tallies: dict[tuple[str, str, IrPath, IrPath], _Tally] = {}
        self.written: dict[str, tuple[np.ndarray, np.ndarray]] = {}  # tensor -> thread of the grid, place; -1: nobody
        self.blocks: list[np.ndarray] = []  # of each batch, [3, block]
        self.before = 0  # blocks in earlier batches
        self.since: list[IrPath] = []  # operations since the last barrier of whole blocks
        self.past: deque[IrPath] = deque(maxlen=FEW)  # those before and after it

    def start(self, m: Machine) -> None:
        self.before = sum(b.shape[1] for b in self.blocks)
        self.blocks.append(m.blocks)
        self.since = []
        self.past.clear()
        self.copies: Pending[np.ndarray] = Pending(m.shape)
        self.shadow = Shadow(m.shape[0], self.ir.shared_bytes // self.slot, self.ir.threads)
        self.threads = np.arange(self.ir.threads).reshape(1, -1, LANES, 1)

    def step(self, m: Machine, step: Step, accesses: Sequence[Accesses]) -> None:
        self.since.append(step.path)
        self.past.append(step.path)
        if step.op.commits:
            self.copies.commit(step.mask)
        if step.op.awaits is not None:
            for slots, mask in self.copies.wait(step.op.awaits, step.mask):
                self.shadow.complete(slots, self.threads, mask)
        if (scope := step.op.orders) is not None:
            self.shadow.barrier(scope, step.mask)
            if scope == "block" and step.mask is None:
                self.since = []
        for at in step.reach:
            if isinstance(at, GlobalReach) and at.access.writes:
                self._stored(m, step, at.access.array, at)
        for a in accesses:
            if a.space == "shared":
                self._shared(m, step, a)

    def _shared(self, m: Machine, step: Step, a: Accesses) -> None:
        parts = a.width // self.slot
        slots = (a.address // self.slot)[..., None] + np.arange(parts)  # [access, block, warp, lane, part]
        slots = np.moveaxis(slots, 0, -1).reshape(*a.address.shape[1:], -1)
        later = a.later and a.kind == "write"
        touch = self.shadow.read if a.kind == "read" else self.shadow.issue if later else self.shadow.write
        mask = None if a.active is None else a.active[0]
        if later:
            self.copies.issue(slots, mask)
        for found in touch(slots, self.threads, mask, self.numbers[step.path]):
            self._found(m, a.array, step.path, found)

    def end(self, m: Machine) -> None:
        for found in self.shadow.unfinished():
            path = self.paths[found.place]
            op = dict(walk(self.ir.body))[path]
            (array,) = {a.array for a in m.accesses(op) if a.space == "shared" and a.writes}  # type: ignore[arg-type]
            self._found(m, array, path, found)

    def _found(self, m: Machine, array: str, path: IrPath, found: Conflicts) -> None:
        """Conflicts of an operation, by the places with which it collides."""
        for place in np.unique(found.other_place):
            some = found.other_place == place
            first = int(np.argmax(some))
            block, byte = block_of(m, int(found.block[first])), int(found.slot[first]) * self.slot
            tally = _Tally(
                int(np.count_nonzero(some)),
                f"byte {byte} of {array}",
                block,
                int(found.thread[first]),
                block,
                int(found.other_thread[first]),
                byte,
            )
            self._add(found.kind, array, path, self.paths[place], tally)

    def _stored(self, m: Machine, step: Step, tensor: str, at: GlobalReach) -> None:
        """Elements of an output that another thread wrote already."""
        if tensor not in self.written:
            size = m.tensors[tensor].values.size
            self.written[tensor] = np.full(size, -1, np.int64), np.full(size, -1, np.int16)
        by, place = self.written[tensor]
        elements = at.elements
        blocks, warps, lanes = m.shape
        thread = self.before * warps * lanes + np.arange(blocks * warps * lanes).reshape(blocks, warps, lanes, 1)
        thread = np.broadcast_to(thread, elements.shape)
        elements, thread = (x.ravel() if at.inside is None else x[at.inside] for x in (elements, thread))
        before, place_before = by[elements], place[elements]
        by[elements] = thread
        met = by[elements]
        clash = np.where((before >= 0) & (before != thread), before, np.where(met != thread, met, -1))
        place[elements] = self.numbers[step.path]
        bad = np.flatnonzero(clash >= 0)
        if len(bad):
            n = bad[0]
            other = place_before[n] if before[n] >= 0 else self.numbers[step.path]
            (block, mine), (other_block, others) = map(self._thread, (thread[n], clash[n]))
            tally = _Tally(len(bad), element(m, tensor, int(elements[n])), block, mine, other_block, others)
            self._add("write after write", tensor, step.path, self.paths[other], tally)

    def _thread(self, number: Any) -> tuple[tuple[int, int, int], int]:
        """blockIdx and linearId of a thread of the grid."""
        block, thread = divmod(int(number), self.ir.threads)
        x, y, z = (int(v) for v in np.concatenate(self.blocks, 1)[:, block])
        return (x, y, z), thread

    def _add(self, kind: str, array: str, path: IrPath, other: IrPath, tally: _Tally) -> None:
        key = kind, array, path, other
        if key in self.tallies:
            self.tallies[key].count += tally.count
        else:
            if kind == NO_WAIT:
                tally.between = (other,)
            elif tally.block == tally.other_block:
                copied = kind in (READ_BEFORE_ARRIVAL, WRITE_BEFORE_ARRIVAL)
                tally.between = _back(list(self.past) if copied else self.since, other)
            self.tallies[key] = tally

    def seen(self, places: Places) -> Races:
        return Races(
            tuple(
                Race(kind, array, t.count, places[path], places[other], t.address, t.block, t.thread,
                     t.other_block, t.other_thread, t.byte, tuple(places[p] for p in t.between))
                for (kind, array, path, other), t in sorted(self.tallies.items(), key=lambda x: x[0][2:])
            )
        )  # fmt: skip


def _back(since: list[IrPath], other: IrPath) -> tuple[IrPath, ...]:
    """The operations from the last time at a place until the last one; () if it isn't among them."""
    if other not in since:
        return ()
    back = since[::-1].index(other)
    return tuple(since[len(since) - 1 - back :])


def element(m: Machine, tensor: str, number: int) -> str:
    """An element of a tensor by its number in memory."""
    index = list(m.tensors[tensor].strides)
    for d in sorted(range(len(index)), key=lambda d: -index[d]):  # the largest steps first
        index[d], number = divmod(number, index[d])
    return f"{tensor}[{', '.join(map(str, index))}]"
