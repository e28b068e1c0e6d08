"""Values that are read before anybody wrote them: in shared memory, in registers, and results that nobody wrote.

Flags say what was written, not patterns of bits: a NaN may be data. A guarded load writes all of its eight values,
zeros where it is outside of its tensor. An asynchronous copy takes away what its place held when it is issued, and
writes it when its thread has waited for it; a box, when somebody has waited for the phase that counts its bytes. A
product reads its operands, and its accumulators if they count, when it is issued; a box is stored then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyvolta.cuda.ir.kernel_ir import LANES, Access, Await, BoxCopy, KernelIR, Wgmma
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.machine.asynchrony.phases import values_at
from polyvolta.cuda.machine.copies import Pending
from polyvolta.cuda.machine.errors import Diverged
from polyvolta.cuda.machine.machine import Machine, Step
from polyvolta.cuda.machine.observe.observer import Finding, Observer, byte_text, short, slot_bytes, times, warp_of
from polyvolta.cuda.machine.observe.tables import Shown, Table
from polyvolta.cuda.machine.observe.warpwide import Accesses
from polyvolta.cuda.machine.reach import EngineReach, GlobalReach, Mask, Reach, SharedReach
from polyvolta.cuda.text.places import Place, Places
from polyvolta.sets import PolyvoltaError


@dataclass(frozen=True, slots=True)
class UninitialisedRead:
    """Reads at one place of what nobody wrote.

    Parameters
    ----------
    place : the operation that reads; None for elements of an output that nobody wrote.
    array : the tile, register array or output.
    where : of the first one: which byte of shared memory, register or element.
    count : how many reads, each of a thread's register element or of a piece of shared memory; or how many elements.
    block, warp, lane : of the first one.
    """

    place: Place | None
    array: str
    where: str
    count: int
    block: tuple[int, int, int] | None = None
    warp: int | None = None
    lane: int | None = None

    @property
    def what(self) -> str:
        """What is wrong in words."""
        if self.place is None:
            return f"{times(self.count, 'element')} of {self.array} that nobody writes, the first {self.where}"
        return (
            f"lane {self.lane} of warp {self.warp} reads {self.where}, which nobody wrote; block {self.block}; "
            f"{times(self.count, 'such read')}"
        )


@dataclass(frozen=True, slots=True, repr=False)
class Uninitialised(Shown):
    """Reads of what nobody wrote, and results that nobody wrote."""

    rows: tuple[UninitialisedRead, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(
            Finding("uninitialised", r.what, () if r.place is None else (r.place,), r.count) for r in self.rows
        )

    @property
    def tables(self) -> tuple[Table, ...]:
        rows = tuple(
            ("-" if r.place is None else short(r.place), r.array, r.where, _thread(r), f"{r.count:,}")
            for r in self.rows
        )
        note = "" if rows else "All that is read was written, and every element of the results."
        return (
            Table("uninitialised: read before written", ("line", "array", "first", "thread", ">count"), rows, note),
        )


def _adding(m: Machine, op: Wgmma, mask: Mask) -> Mask:
    """The threads whose accumulators count in a product."""
    for e in op.adds:
        holds = np.broadcast_to(np.asarray(e.evaluate(m.values)) >= 0, m.shape)
        mask = holds if mask is None else holds & mask
    return mask


def _thread(r: UninitialisedRead) -> str:
    return "-" if r.place is None else f"block {r.block}, warp {r.warp}, lane {r.lane}"


@dataclass
class _Tally:
    where: str
    block: tuple[int, int, int]
    warp: int
    lane: int
    count: int = 0


class UninitialisedObserver(Observer):
    """Keeps a flag for each element of a register array and each piece of shared memory."""

    name = "uninitialised"

    def __init__(self, ir: KernelIR) -> None:
        super().__init__(ir)
        self.slot = slot_bytes(ir)
        self.tallies: dict[tuple[IrPath, str], _Tally] = {}
        self.results: dict[str, tuple[np.ndarray, tuple[int, ...], tuple[int, ...]]] = {}

    def start(self, m: Machine) -> None:
        self.shared = np.zeros((m.shape[0], m.ir.shared_bytes // self.slot), bool)
        self.copies: Pending[np.ndarray] = Pending(m.shape)
        self.boxes: dict[tuple[str, int, int, int], list[np.ndarray]] = {}  # block, slot and phase of a row -> pieces
        self.registers = {r.name: np.zeros((*r.shape, *m.shape), bool) for r in m.ir.registers}
        for t in self.ir.tensors:
            if t.written and t.name not in self.results:
                memory = m.tensors[t.name]
                self.results[t.name] = np.zeros(memory.values.size, bool), memory.shape, memory.strides

    def step(self, m: Machine, step: Step, accesses: Sequence[Accesses]) -> None:
        stored = [at for at in step.reach if at.access.space == "global" and at.access.writes]
        counts = step.mask  # threads of which a value counts
        if len(stored) == 1 and isinstance(stored[0], GlobalReach) and stored[0].inside is not None:
            counts = np.asarray(stored[0].inside.any(-1))
        sums = {e.array for e in step.op.d} if isinstance(step.op, Wgmma) else set()
        adding = _adding(m, step.op, counts) if isinstance(step.op, Wgmma) else counts
        registers = [a for a in m.accesses(step.op) if a.space == "registers"]
        for a in registers:
            if not a.writes:
                self._read_register(m, step, a, adding if a.array in sums else counts)
        if isinstance(step.op, Await):
            self._arrived(m, step.op, step.mask)
        for one in accesses:
            if one.space == "shared":
                self._shared(m, step, one)
        for at in step.reach:
            if isinstance(at, EngineReach) and at.access.space == "shared":
                self._engine(m, step, at)
        for at in stored:
            self._stored(at)
        if step.op.commits:
            self.copies.commit(step.mask)
        if step.op.awaits is not None:
            for slots, mask in self.copies.wait(step.op.awaits, step.mask):
                self._written(m, slots, mask, True)
        for a in registers:
            if a.writes and (flags := self._flags(m, a)) is not None:
                flags |= True if step.mask is None else step.mask

    def _stored(self, at: Reach) -> None:
        """Elements of a result have been written."""
        assert not isinstance(at, SharedReach)
        elements = at.places if isinstance(at, EngineReach) else at.elements
        if at.access.array in self.results:
            self.results[at.access.array][0][elements if at.inside is None else elements[at.inside]] = True

    def _engine(self, m: Machine, step: Step, at: EngineReach) -> None:
        """Boxes that come, boxes that go, operands of products."""
        slots, op = at.pieces(self.slot), step.op
        if isinstance(op, BoxCopy):
            self.shared[at.block[:, None], slots] = False
            slot, number = (values_at(m, e, at.block, at.thread) for e in (op.phase.slot, op.phase.number))
            for n, block in enumerate(at.block.tolist()):
                key = op.phase.barriers, block, int(slot[n]), int(number[n])
                self.boxes.setdefault(key, []).append(slots[n])
            return
        bad = ~self.shared[at.block[:, None], slots]
        if bad.any():
            n, piece = np.argwhere(bad)[0]
            warp, lane = divmod(int(at.thread[n]), LANES)
            array = m.unfolded.array(at.access.array)[0]
            byte = int(slots[n, piece]) * self.slot
            block = int(at.block[n])
            _, where = byte_text(m, block, warp, byte, f"shared memory in {array}")
            self._add(m, step.path, array, (block, warp, lane), int(np.count_nonzero(bad)), where)

    def _arrived(self, m: Machine, op: Await, mask: Mask) -> None:
        """A phase is over: the boxes whose bytes it counts are there."""
        assert m.units is not None
        at = m.units.phases.at(m, op.phase, mask)
        for block, slot, number in np.unique(np.stack([at.block, at.slot, at.number]), axis=1).T.tolist():
            for slots in self.boxes.pop((op.phase.barriers, block, slot, number), ()):
                self.shared[block, slots] = True

    def _flags(self, m: Machine, e: Access) -> np.ndarray | None:
        """Which threads' element was written, [block, warp, lane]; None for one that the machine refused."""
        try:
            index = tuple(m.number(x, "") for x in e.index)
        except Diverged:
            return None
        flags = self.registers[e.array]
        if any(not 0 <= i < n for i, n in zip(index, flags.shape, strict=False)):
            return None
        return flags[index]

    def _read_register(self, m: Machine, step: Step, e: Access, mask: Mask) -> None:
        flags = self._flags(m, e)
        if flags is None or flags.all():
            return
        bad = ~flags if mask is None else mask & ~flags
        if bad.any():
            index = ", ".join(str(m.number(x, "")) for x in e.index)
            self._add(m, step.path, e.array, np.argwhere(bad)[0], int(np.count_nonzero(bad)), f"{e.array}[{index}]")

    def _shared(self, m: Machine, step: Step, a: Accesses) -> None:
        slots = a.pieces(self.slot)
        mask = None if a.active is None else a.active[0]
        if a.kind == "write":
            self._written(m, slots, mask, not a.later)
            if a.later:
                self.copies.issue(slots, mask)
            return
        blocks = np.arange(m.shape[0])[:, None, None, None]
        slots = slots if mask is None else np.where(mask[..., None], slots, 0)
        bad = ~self.shared[blocks, slots]
        if mask is not None:
            bad &= mask[..., None]
        if bad.any():
            at = np.argwhere(bad)[0]
            byte = int(np.broadcast_to(slots, bad.shape)[tuple(at)]) * self.slot
            _, where = byte_text(m, at[0], at[1], byte, f"shared memory in {a.array}")
            self._add(m, step.path, a.array, at[:3], int(np.count_nonzero(bad)), where)

    def _written(self, m: Machine, slots: np.ndarray, mask: Mask, written: bool) -> None:
        """Pieces [block, warp, lane, piece] of some threads hold something from now on, or hold nothing."""
        if slots.shape[0] == 1 and mask is None:  # the same of all blocks
            self.shared[:, slots.ravel()] = written
            return
        blocks, slots = np.broadcast_arrays(np.arange(m.shape[0])[:, None, None, None], slots)
        active: Any = ... if mask is None else mask
        self.shared[blocks[active], slots[active]] = written

    def _add(self, m: Machine, path: IrPath, array: str, at: Any, count: int, where: str) -> None:
        key = path, array
        if key not in self.tallies:
            block, warp, lane = (int(x) for x in at)
            self.tallies[key] = _Tally(where, *warp_of(m, block, warp), lane)
        self.tallies[key].count += count

    def ended(self, m: Machine, wrong: PolyvoltaError) -> bool:
        self.results = {}  # of which there is nothing to say
        return False

    def seen(self, places: Places) -> Uninitialised:
        rows = [
            UninitialisedRead(places[path], array, t.where, t.count, t.block, t.warp, t.lane)
            for (path, array), t in sorted(self.tallies.items())
        ]
        for name, (written, shape, strides) in self.results.items():
            elements = sum(
                s * np.arange(n).reshape([-1 if d == k else 1 for k in range(len(shape))])
                for d, (n, s) in enumerate(zip(shape, strides, strict=True))
            )
            missing = np.argwhere(~written[elements])
            if len(missing):
                first = ", ".join(str(int(x)) for x in missing[0])
                rows.append(UninitialisedRead(None, name, f"{name}[{first}]", len(missing)))
        return Uninitialised(tuple(rows))
