"""Races of threads, copy engines and tensor cores: what phases, groups, fences and barriers order, by `clocks`.

Each operation of a run says of itself which it is: one that waits, one that touches memory, one that lets others know.
What touches memory is looked up in the `records` of shared memory, or of accumulators.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from polyvolta.cuda.ir import kernel_ir as kir
from polyvolta.cuda.ir.engines.unfolded import PART
from polyvolta.cuda.ir.kernel_ir import LANES, KernelIR
from polyvolta.cuda.ir.walk import IrPath, operations
from polyvolta.cuda.machine.asynchrony.phases import threads_of, values_at
from polyvolta.cuda.machine.machine import Machine, Step
from polyvolta.cuda.machine.observe.observer import slot_bytes
from polyvolta.cuda.machine.observe.order.accumulators import Accumulators
from polyvolta.cuda.machine.observe.order.clocks import GROUP, Clocks
from polyvolta.cuda.machine.observe.order.records import Records, Touching
from polyvolta.cuda.machine.observe.warpwide import Accesses
from polyvolta.cuda.machine.reach import EngineReach
from polyvolta.cuda.machine.shadow import Conflicts


def past_threads(ir: KernelIR) -> bool:
    """Whether engines reach a kernel's shared memory past its threads."""
    return any(a.proxy == "async" for op in operations(ir.body) for a in op.accesses(ir))


class BetweenParties:
    """What orders the accesses of a batch of blocks whose engines work beside their threads; see `barriers.Order`.

    Parameters
    ----------
    ir, blocks : the kernel, and how many blocks there are.
    numbers : of each statement a number.
    """

    def __init__(self, ir: KernelIR, blocks: int, numbers: Mapping[IrPath, int]) -> None:
        self.ir, self.slot, self.numbers = ir, slot_bytes(ir), numbers
        self.clocks = Clocks(ir, blocks)
        self.slots = ir.shared_bytes // self.slot
        self.records = Records(self.clocks, blocks, self.slots)
        self.accumulators = Accumulators(ir, self.clocks)
        self.closed = {kind: np.zeros((blocks, ir.threads), np.int32) for kind in ("products", "stores", "copies")}

    def step(self, m: Machine, step: Step, accesses: Sequence[Accesses]) -> Iterator[tuple[str, Conflicts]]:
        block, thread = threads_of(m, step.mask)
        self._waits(m, step, block, thread)
        place = self.numbers[step.path]
        for a in accesses:
            if a.space == "shared":
                yield from ((a.array, found) for found in self._shared(m, a, place))
        for at in step.reach:
            if isinstance(at, EngineReach) and at.access.space == "shared":
                yield from ((at.access.array, found) for found in self._engine(m, step, at, place))
        if isinstance(step.op, kir.Wgmma):
            yield from self._product(m, step, block, thread, place)
        else:
            yield from self.accumulators.touches(m, step, place)
        self._tells(m, step, block, thread)

    def end(self, m: Machine) -> Iterator[Conflicts]:
        yield from self.records.unawaited()

    # ---- operations

    def _waits(self, m: Machine, step: Step, block: np.ndarray, thread: np.ndarray) -> None:
        """What threads know when an operation begins."""
        op = step.op
        match op:
            case kir.Await():
                assert m.units is not None
                self.clocks.wait(m.units.phases.at(m, op.phase, step.mask))
            case kir.WgmmaWait():
                self._groups_over("products", block, thread, thread // GROUP, op.pending)
            case kir.WaitStores():
                self._groups_over("stores", block, thread, thread, op.pending)
            case kir.ProxyFence():
                self.records.fence(block, thread)
            case kir.WgmmaFence():
                mask = np.ones(m.shape, bool) if step.mask is None else step.mask
                self.accumulators.fence(np.asarray(mask.any(2)))
        if op.awaits is not None:
            self._groups_over("copies", block, thread, thread, op.awaits)
        if op.orders is not None:
            self._meet(m, step)

    def _tells(self, m: Machine, step: Step, block: np.ndarray, thread: np.ndarray) -> None:
        """What others may know when it is done."""
        op = step.op
        kinds = {kir.WgmmaCommit: "products", kir.CommitStores: "stores"}
        kind = "copies" if op.commits else kinds.get(type(op))
        if kind is not None:
            self.closed[kind][block, thread] += 1
        if isinstance(op, kir.Arrive):
            assert m.units is not None
            self.clocks.arrive(m.units.phases.at(m, op.phase, step.mask))

    def _groups_over(
        self, kind: str, block: np.ndarray, thread: np.ndarray, party: np.ndarray, pending: int
    ) -> None:
        """Threads know all but the newest groups of a party to be over."""
        for one in np.unique(party):
            column = self.clocks.columns.get((kind, int(one)))
            if column is not None:  # else there was never anything
                some = party == one
                over = self.closed[kind][block[some], thread[some]] - pending
                self.clocks.over(block[some], thread[some], column, over)

    def _meet(self, m: Machine, step: Step) -> None:
        scope, strand = step.op.orders, m.strand
        assert scope is not None
        if scope not in ("role", "block", PART) or strand is None or not strand.role:
            self.clocks.meet(scope, step.mask)
            return
        others = [s.threads for s in strand.met(scope)]
        name = {"role": strand.role, PART: str(strand.block)}.get(scope, "")
        self.clocks.meet_others(scope, name, strand.meetings[scope], strand.threads, np.logical_or.reduce(others))

    # ---- accesses

    def _shared(self, m: Machine, a: Accesses, place: int) -> Iterator[Conflicts]:
        """Accesses of lanes."""
        slots = a.pieces(self.slot)
        shape = (*m.shape, slots.shape[-1])
        active = None if a.active is None else np.broadcast_to(a.active[0][..., None], shape)
        block = np.arange(m.shape[0])[:, None, None, None]
        thread = np.arange(self.ir.threads).reshape(1, -1, LANES, 1)
        at, block, thread = (np.broadcast_to(x, shape) for x in (slots + self.slots * block, block, thread))
        at, block, thread = (x.ravel() if active is None else x[active] for x in (at, block, thread))
        if a.later and a.kind == "write":
            party = self._columns(("copies",), thread)
            number = self.closed["copies"][block, thread] + 1
        else:
            party, number = thread, self.clocks.know[block, thread, thread]
        found = Touching(at, thread, party, number, thread, place, engine=False)
        yield from self.records.read(found) if a.kind == "read" else self.records.write(found, a.later)

    def _engine(self, m: Machine, step: Step, at: EngineReach, place: int) -> Iterator[Conflicts]:
        """Accesses of engines: of boxes that come, of boxes that go, of products."""
        op, block, thread = step.op, at.block, at.thread
        row = thread
        if isinstance(op, kir.BoxCopy):
            slot, phase = (values_at(m, e, block, thread) for e in (op.phase.slot, op.phase.number))
            party, number = self._columns(("phase", op.phase.barriers), slot), phase + 1
        elif isinstance(op, kir.Wgmma):
            self.clocks.groups_know()
            party, row = self._columns(("products",), thread // GROUP), self.ir.threads + thread // GROUP
            number = self.closed["products"][block, thread] + 1
        else:
            party, number = self._columns(("stores",), thread), self.closed["stores"][block, thread] + 1
        slots = at.pieces(self.slot)
        each = [np.broadcast_to(x[:, None], slots.shape).ravel() for x in (row, party, number, thread)]
        row, party, number, thread = each
        found = Touching((slots + self.slots * block[:, None]).ravel(), row, party, number, thread, place, engine=True)
        yield from self.records.read(found) if at.access.kind == "read" else self.records.write(found, flying=True)

    def _product(
        self, m: Machine, step: Step, block: np.ndarray, thread: np.ndarray, place: int
    ) -> Iterator[tuple[str, Conflicts]]:
        first = thread % GROUP == 0
        block, group = block[first], thread[first] // GROUP
        self._columns(("products",), group)
        number = self.closed["products"][block, thread[first]] + 1
        yield from self.accumulators.multiplied(m, step, place, block, group, number)

    def _columns(self, kind: tuple[str, ...], numbers: np.ndarray) -> np.ndarray:
        """The columns of some parties of a kind."""
        several, which = np.unique(numbers, return_inverse=True)
        return np.array([self.clocks.column((*kind, int(n))) for n in several], int)[which]
