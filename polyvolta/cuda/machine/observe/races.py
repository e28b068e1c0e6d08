"""Races: two threads at one address, one of them writing, with no barrier between.

In shared memory `cuda.shadow` keeps who wrote and who read each place since the last barrier. Between blocks there is
no barrier at all, so in global memory every element of an output is one thread's to write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyvolta.cuda.ir.kernel_ir import LANES, KernelIR
from polyvolta.cuda.ir.walk import IrPath, walk
from polyvolta.cuda.machine.machine import Machine, Step
from polyvolta.cuda.machine.observe.observer import Finding, Observer, block_of, short, slot_bytes, times
from polyvolta.cuda.machine.observe.tables import Shown, Table
from polyvolta.cuda.machine.observe.warpwide import Accesses
from polyvolta.cuda.machine.reach import GlobalReach
from polyvolta.cuda.machine.shadow import Shadow
from polyvolta.cuda.text.places import Place, Places

VERBS = {"read after write": ("reads", "wrote"), "write after read": ("writes", "read")}


@dataclass(frozen=True, slots=True)
class Race:
    """Accesses of two places that collide.

    Parameters
    ----------
    kind : "read after write", "write after read" or "write after write", in the order in which they came here.
    array : what the later access reaches: a tile, or a tensor.
    count : how many pairs of accesses, each to a piece of memory.
    place, other : of the later access and of the earlier one.
    address : of the first pair, in words: a byte of the block's shared memory, or an element of the tensor.
    block, thread : blockIdx and linearId of the later access of the first pair.
    other_block, other_thread : and of the earlier one.
    byte : of the block's shared memory, that of `address`; None in a tensor.
    between : the operations of the block from the earlier access of the first pair to the later one, both included; a
        single one where both are the same operation; () for accesses of two blocks, and where a barrier was between.
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
        elsewhere = f" of block {self.other_block}" if self.other_block != self.block else ""
        apart = "with no barrier between" if self.unordered else "though each element is one thread's to write"
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

    def start(self, m: Machine) -> None:
        self.before = sum(b.shape[1] for b in self.blocks)
        self.blocks.append(m.blocks)
        self.since = []
        self.shadow = Shadow(m.shape[0], self.ir.shared_bytes // self.slot, self.ir.threads)
        self.threads = np.arange(self.ir.threads).reshape(1, -1, LANES, 1)

    def step(self, m: Machine, step: Step, accesses: Sequence[Accesses]) -> None:
        self.since.append(step.path)
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
        touch = self.shadow.read if a.kind == "read" else self.shadow.write
        mask = None if a.active is None else a.active[0]
        for found in touch(slots, self.threads, mask, self.numbers[step.path]):
            for place in np.unique(found.other_place):
                some = found.other_place == place
                first = int(np.argmax(some))
                block, byte = block_of(m, int(found.block[first])), int(found.slot[first]) * self.slot
                tally = _Tally(
                    int(np.count_nonzero(some)),
                    f"byte {byte} of {a.array}",
                    block,
                    int(found.thread[first]),
                    block,
                    int(found.other_thread[first]),
                    byte,
                )
                self._add(found.kind, a.array, step.path, self.paths[place], tally)

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
            if tally.block == tally.other_block:
                tally.between = self._since(other)
            self.tallies[key] = tally

    def _since(self, other: IrPath) -> tuple[IrPath, ...]:
        """The operations from the last time at a place until now; () if a barrier came after."""
        if other not in self.since:
            return ()
        back = self.since[::-1].index(other)
        return tuple(self.since[len(self.since) - 1 - back :])

    def seen(self, places: Places) -> Races:
        return Races(
            tuple(
                Race(kind, array, t.count, places[path], places[other], t.address, t.block, t.thread,
                     t.other_block, t.other_thread, t.byte, tuple(places[p] for p in t.between))
                for (kind, array, path, other), t in sorted(self.tallies.items(), key=lambda x: x[0][2:])
            )
        )  # fmt: skip


def element(m: Machine, tensor: str, number: int) -> str:
    """An element of a tensor by its number in memory."""
    index = list(m.tensors[tensor].strides)
    for d in sorted(range(len(index)), key=lambda d: -index[d]):  # the largest steps first
        index[d], number = divmod(number, index[d])
    return f"{tensor}[{', '.join(map(str, index))}]"
