"""What works beside the threads of a batch of blocks: barriers with phases, the copy engine, products of warpgroups.

A machine has `Units` if its kernel uses any of these. Here are the effects of the operations that speak to them, and
what a thread waits for before it takes one.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from polyvolta.cuda.ir import kernel_ir as kir
from polyvolta.cuda.ir.engines import boxes, phases, warpgroups
from polyvolta.cuda.ir.engines.unfolded import PART, Leave
from polyvolta.cuda.ir.kernel_ir import LANES, KernelIR
from polyvolta.cuda.ir.walk import operations, walk
from polyvolta.cuda.machine.asynchrony.engine import Boxes, Engine, Times
from polyvolta.cuda.machine.asynchrony.phases import Phases, PhaseWait
from polyvolta.cuda.machine.asynchrony.products import Products
from polyvolta.cuda.machine.asynchrony.proxies import Proxies
from polyvolta.cuda.machine.copies import Arrival
from polyvolta.cuda.machine.memories import Blocks
from polyvolta.cuda.machine.reach import EngineReach, Mask, Reaches, SharedReach
from polyvolta.cuda.machine.strands import Wait

OPERATIONS = (*phases.OPERATIONS, *boxes.OPERATIONS, *warpgroups.OPERATIONS)


def needed(ir: KernelIR) -> bool:
    """Whether a kernel speaks to any of them."""
    return any(isinstance(op, OPERATIONS) for op in operations(ir.body))


class Served(Blocks, Protocol):
    """A batch of blocks that has some."""

    units: Units | None


class Units:
    """Those of a batch of blocks.

    Parameters
    ----------
    ir : the kernel.
    shape : (blocks, warps, 32).
    chunks : of a block's shared memory.
    arrival, start : the kind of run, see `strands`; with a seed any numbers that make each batch's times its own.
    """

    def __init__(
        self, ir: KernelIR, shape: tuple[int, int, int], chunks: int, arrival: Arrival, start: tuple[int, ...]
    ) -> None:
        self.times = Times(arrival, start)
        self.phases = Phases(shape[0], shape[1] * shape[2], ir.barriers)
        self.proxies = Proxies(shape, chunks)
        self.engine = Engine(shape, self.times, self.phases, self.proxies)
        self.products = Products(ir, shape, self.times, self.proxies)

    def wait(self, m: Blocks, op: kir.Op, mask: Mask) -> Wait | None:
        """What threads wait for before they take an operation."""
        return PhaseWait(self.phases, self.phases.at(m, op.phase, mask)) if isinstance(op, kir.Await) else None

    def tick(self, m: Blocks) -> None:
        """An operation is about to be taken."""
        if self.times.random is not None:
            self.times.clock += 1
            self.engine.tick(m)
            self.products.tick(m)

    def took(self, m: Blocks, op: kir.Op, mask: Mask, reach: Reaches) -> None:
        """An operation was taken: what it means for those who work beside the threads."""
        if op.orders in ("block", PART):
            self.phases.met(mask)
        for at in reach:
            if isinstance(at, SharedReach) and at.access.writes and at.access.when == "issue":
                self.proxies.wrote(at, at.mask)
        if not isinstance(op, kir.Wgmma):
            for a in m.accesses(op):
                if a.space == "registers" and a.array in self.products.touched:
                    self.products.touch(a.array, m.index(a.array, a.index), mask)

    def end(self) -> None:
        """The blocks end."""
        self.engine.end()
        self.products.end()


# ---- effects


def _units(m: Served) -> Units:
    assert m.units is not None  # of a kernel with such operations
    return m.units


def _boxes(m: Served, op: kir.BoxCopy | kir.BoxStore, mask: Mask, boxes: Boxes) -> Reaches:
    """What the copy engine reaches, without any lane's addresses."""
    return tuple(boxes.reach(a, mask) for a in m.accesses(op))


def _init(m: Served, op: kir.InitBarriers, mask: Mask) -> Reaches:
    _units(m).phases.begin(m, mask, op.rows)
    return ()


def _leave(m: Served, op: Leave, mask: Mask) -> Reaches:
    _units(m).phases.leave(m, mask, op.rows, LANES * op.warps)
    return ()


def _arrive(m: Served, op: kir.Arrive, mask: Mask) -> Reaches:
    rows = _units(m).phases
    rows.arrive(m, rows.at(m, op.phase, mask), op.bytes)
    return ()


def _box_copy(m: Served, op: kir.BoxCopy, mask: Mask) -> Reaches:
    units = _units(m)
    return _boxes(m, op, mask, units.engine.copy(m, op, mask, units.phases.at(m, op.phase, mask)))


def _box_store(m: Served, op: kir.BoxStore, mask: Mask) -> Reaches:
    return _boxes(m, op, mask, _units(m).engine.store(m, op, mask))


def _commit_stores(m: Served, op: kir.CommitStores, mask: Mask) -> Reaches:
    _units(m).engine.commit(mask)
    return ()


def _wait_stores(m: Served, op: kir.WaitStores, mask: Mask) -> Reaches:
    _units(m).engine.wait(m, op.pending, mask)
    return ()


def _proxy_fence(m: Served, op: kir.ProxyFence, mask: Mask) -> Reaches:
    _units(m).proxies.fence(mask)
    return ()


def _wgmma(m: Served, op: kir.Wgmma, mask: Mask) -> Reaches:
    reached = _units(m).products.issue(m, op, mask)
    threads = m.shape[0] * m.shape[1] * kir.LANES if mask is None else int(np.count_nonzero(mask))
    read = (a for a in m.accesses(op) if a.space == "shared")
    return tuple(
        EngineReach(a, mask, a.item * a.values * threads, 0, block, thread, chunks)
        for a, (block, thread, chunks) in zip(read, reached, strict=True)
    )


def _wgmma_fence(m: Served, op: kir.WgmmaFence, mask: Mask) -> Reaches:
    _units(m).products.fence(mask)
    return ()


def _wgmma_commit(m: Served, op: kir.WgmmaCommit, mask: Mask) -> Reaches:
    _units(m).products.commit(mask)
    return ()


def _wgmma_wait(m: Served, op: kir.WgmmaWait, mask: Mask) -> Reaches:
    _units(m).products.wait(m, op.pending, mask)
    return ()


def _nothing(m: Served, op: kir.Await, mask: Mask) -> Reaches:
    return ()  # it was waited for


EFFECTS: dict[type, Any] = {
    kir.InitBarriers: _init,
    Leave: _leave,
    kir.Arrive: _arrive,
    kir.Await: _nothing,
    kir.BoxCopy: _box_copy,
    kir.BoxStore: _box_store,
    kir.CommitStores: _commit_stores,
    kir.WaitStores: _wait_stores,
    kir.ProxyFence: _proxy_fence,
    kir.Wgmma: _wgmma,
    kir.WgmmaFence: _wgmma_fence,
    kir.WgmmaCommit: _wgmma_commit,
    kir.WgmmaWait: _wgmma_wait,
}


# ---- which blocks may run in lockstep


def lockstep(ir: KernelIR) -> bool:
    """Whether all blocks wait for the same things in the same order, so that they can run in lockstep.

    No loop and no condition around what waits or is waited for depends on which block it is. Blocks of which that isn't
    true run one by one: in lockstep one might wait for another one's phase, and so on in a circle that neither is in.
    Without roles and phases nobody waits but for the own block, in the program's order.
    """
    statements = [s for _, s in walk(ir.body)]
    if not any(isinstance(s, (kir.Roles, *OPERATIONS)) for s in statements):
        return True
    own = {"blockIdx.x", "blockIdx.y", "blockIdx.z"}
    for name, e in ir.derived:
        own |= {name} if e.names() & own else set()
    for s in statements:
        bounds = s.conditions if isinstance(s, kir.When) else (*s.lower, *s.upper) if isinstance(s, kir.Loop) else ()
        if any(e.names() & own for e in bounds) and any(_speaks(op) for op in operations((s,))):
            return False
    return True


def _speaks(op: kir.Op) -> bool:
    return isinstance(op, OPERATIONS) or op.orders in ("role", "block", PART)
