"""Registers of running products: nobody touches them, and they are ready when a product begins.

A product of a warpgroup reads and writes its accumulators at some time before a wait that covers it. Products on one
accumulator follow one another by themselves; what else touches it comes behind such a wait. And what threads did to it
is there for a product behind a fence of registers (`WgmmaFence`). So it is with a left operand in registers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from polyvolta.cuda.ir.engines.warpgroups import WARPS
from polyvolta.cuda.ir.kernel_ir import LANES, KernelIR, Wgmma
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.machine.errors import Diverged, OutOfBounds
from polyvolta.cuda.machine.machine import Machine, Step
from polyvolta.cuda.machine.observe.order.clocks import Clocks
from polyvolta.cuda.machine.shadow import Conflicts
from polyvolta.cuda.machine.touches import element_text
from polyvolta.sets import Aff

RUNNING, NOT_READY = "product still running", "registers not ready"
REGISTERS = (RUNNING, NOT_READY)


class Accumulators:
    """The accumulators of a batch of blocks, and operands in registers.

    Parameters
    ----------
    ir, clocks : the kernel, and what its threads know.

    Attributes
    ----------
    number : array -> [*shape, block, warpgroup]: the products on an element are over from this number of groups on.
    product : array -> likewise, the place of the last one.
    touched : array -> [*shape, block, warp]: the place of whoever touched it since the last fence; -1: nobody; -2:
        nobody, and nothing was ever fenced.
    """

    def __init__(self, ir: KernelIR, clocks: Clocks) -> None:
        self.clocks, blocks = clocks, len(clocks.know)
        arrays = {e.array for op in operations(ir.body) if isinstance(op, Wgmma) for e in op.held}
        shapes = {r.name: r.shape for r in ir.registers if r.name in arrays}
        self.number, self.product = (
            {n: np.zeros((*s, blocks, clocks.groups), np.int32) for n, s in shapes.items()} for _ in range(2)
        )
        self.touched = {n: np.full((*s, blocks, ir.warps), -2) for n, s in shapes.items()}

    def fence(self, warps: np.ndarray) -> None:
        """The registers of some warps are ready, [block, warp]."""
        for touched in self.touched.values():
            touched[..., warps] = -1

    def multiplied(
        self, m: Machine, step: Step, place: int, block: np.ndarray, group: np.ndarray, number: np.ndarray
    ) -> Iterator[tuple[str, Conflicts]]:
        """Warpgroups have products made, which are over from some numbers of their groups on; what conflicts."""
        op = step.op
        assert isinstance(op, Wgmma)
        warps = WARPS * group[:, None] + np.arange(WARPS)
        for e in op.held:
            index = _index(m, e.array, e.index)
            if index is None:
                continue
            before = self.touched[e.array][index][block[:, None], warps]
            if (bad := before != -1).any():
                n, w = np.nonzero(bad)
                places = np.where(before[n, w] < 0, place, before[n, w])
                thread, other = LANES * warps[n, 0], LANES * warps[n, w]
                found = Conflicts(NOT_READY, place, block[n], np.zeros_like(n), thread, other, places)
                yield element_text(m.ir, e.array, index), found
            self.number[e.array][index][block, group] = number
            self.product[e.array][index][block, group] = place

    def touches(self, m: Machine, step: Step, place: int) -> Iterator[tuple[str, Conflicts]]:
        """Threads touch registers otherwise; what conflicts."""
        taking = np.ones(m.shape, bool) if step.mask is None else step.mask
        for a in m.accesses(step.op):
            index = _index(m, a.array, a.index) if a.space == "registers" and a.array in self.touched else None
            if index is None:
                continue
            self.touched[a.array][index][taking.any(2)] = place
            for group in range(self.clocks.groups):
                number = self.number[a.array][index][:, group]
                column = self.clocks.column(("products", group))
                known = self.clocks.know[:, : self.clocks.threads, column].reshape(m.shape)
                bad = taking & (known < number[:, None, None])
                bad[:, : WARPS * group] = bad[:, WARPS * (group + 1) :] = False
                if bad.any():
                    block, warp, lane = np.nonzero(bad)
                    other = np.full(len(block), WARPS * LANES * group)
                    places = self.product[a.array][index][block, group]
                    found = Conflicts(RUNNING, place, block, np.zeros_like(block), warp * LANES + lane, other, places)
                    yield element_text(m.ir, a.array, index), found


def _index(m: Machine, array: str, index: tuple[Aff, ...]) -> tuple[int, ...] | None:
    """Which element of a register array; None of what the machine has refused."""
    try:
        return m.index(array, index)
    except (OutOfBounds, Diverged):
        return None
