"""Races of threads that barriers alone order: who touched what since the last barrier, as `cuda.shadow` keeps it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from polyvolta.cuda.ir.kernel_ir import LANES, KernelIR
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.machine.copies import Pending
from polyvolta.cuda.machine.machine import Machine, Step
from polyvolta.cuda.machine.observe.observer import slot_bytes
from polyvolta.cuda.machine.observe.warpwide import Accesses
from polyvolta.cuda.machine.shadow import Conflicts, Shadow


class Order(Protocol):
    """What orders the accesses of a batch of blocks.

    Attributes
    ----------
    slot : bytes of the pieces of shared memory that conflicts number.
    """

    slot: int

    def step(self, m: Machine, step: Step, accesses: Sequence[Accesses]) -> Iterator[tuple[str, Conflicts]]:
        """An operation was taken: what collides with earlier ones, by the array that it reaches."""
        ...

    def end(self, m: Machine) -> Iterator[Conflicts]:
        """The blocks have ended: what nobody has waited for."""
        ...


class SinceBarriers:
    """Barriers of blocks and of warps, and waits of threads for their own copies.

    Parameters
    ----------
    ir, blocks : the kernel, and how many blocks there are.
    numbers : of each statement a number.
    """

    def __init__(self, ir: KernelIR, blocks: int, numbers: Mapping[IrPath, int]) -> None:
        self.slot, self.numbers = slot_bytes(ir), numbers
        self.copies: Pending[np.ndarray] = Pending((blocks, ir.warps, LANES))
        self.shadow = Shadow(blocks, ir.shared_bytes // self.slot, ir.threads)
        self.threads = np.arange(ir.threads).reshape(1, -1, LANES, 1)

    def step(self, m: Machine, step: Step, accesses: Sequence[Accesses]) -> Iterator[tuple[str, Conflicts]]:
        if step.op.commits:
            self.copies.commit(step.mask)
        if step.op.awaits is not None:
            for slots, mask in self.copies.wait(step.op.awaits, step.mask):
                self.shadow.complete(slots, self.threads, mask)
        if (scope := step.op.orders) is not None:
            self.shadow.barrier(scope, step.mask)
        for a in accesses:
            if a.space == "shared":
                yield from ((a.array, found) for found in self._shared(step, a))

    def _shared(self, step: Step, a: Accesses) -> tuple[Conflicts, ...]:
        slots, mask = a.pieces(self.slot), None if a.active is None else a.active[0]
        later = a.later and a.kind == "write"
        touch = self.shadow.read if a.kind == "read" else self.shadow.issue if later else self.shadow.write
        if later:
            self.copies.issue(slots, mask)
        return touch(slots, self.threads, mask, self.numbers[step.path])

    def end(self, m: Machine) -> Iterator[Conflicts]:
        yield from self.shadow.unfinished()
