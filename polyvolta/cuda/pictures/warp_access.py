"""One access of one warp to a tile in shared memory: where its lanes go, and what that asks of the banks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from polyvolta.cuda.ir.kernel_ir import CHUNK_BYTES, LANES, KernelIR, Op, SharedTile
from polyvolta.cuda.ir.walk import arrays_of, operations
from polyvolta.cuda.layouts.bank_model import BANKS, WORD, worst_degree
from polyvolta.cuda.machine.access import warp_accesses
from polyvolta.cuda.machine.reach import Mask, WarpAccess
from polyvolta.cuda.pictures.dry import DryMachine, dry_machine
from polyvolta.cuda.pictures.errors import NothingToDraw, NotInKernel
from polyvolta.sets import nearest

ROW = BANKS * WORD  # bytes of all banks


@dataclass(frozen=True, slots=True)
class Taken:
    """One instruction of one warp.

    Parameters
    ----------
    op, access : what it is.
    warp, part, parts : whose; which of how many instructions of the operation.
    loops : the loops' variables.
    address : of each lane, in bytes from the start of the buffer; negative where the lane takes no part. [32]
    buffer : the number of the buffer.
    """

    op: Op
    access: WarpAccess
    warp: int
    part: int
    parts: int
    loops: Mapping[str, int]
    address: np.ndarray
    buffer: int

    @property
    def lanes_of_phase(self) -> int:
        """How many lanes are served together."""
        return min(LANES, ROW // self.access.width)

    def words(self) -> np.ndarray:
        """How many different words each phase wants of each bank: [phase, bank]."""
        wanted: set[tuple[int, int]] = set()
        for lane, byte in enumerate(self.address.tolist()):
            if byte >= 0:
                words = range(byte // WORD, -(-(byte + self.access.width) // WORD))
                wanted |= {(lane // self.lanes_of_phase, w) for w in words}
        count = np.zeros((LANES // self.lanes_of_phase, BANKS), int)
        for phase, word in wanted:
            count[phase, word % BANKS] += 1
        return count

    def degrees(self) -> dict[int, int]:
        """The conflict degree of each phase in which a lane takes part, by the bank model."""
        phase = np.arange(LANES) // self.lanes_of_phase
        there = np.unique(phase[self.address >= 0]).tolist()
        alone = {p: np.where(phase == p, self.address, -self.access.width) for p in there}
        return {p: worst_degree(a, self.access.width) for p, a in alone.items()}


def taken(
    ir: KernelIR, tile: SharedTile, access: str, warp: int, nth: int, part: int, at: Mapping[str, int],
    sizes: Mapping[str, int],
) -> Taken:  # fmt: skip
    """Find one instruction of one warp; parameters and errors as of `shared_tile`."""
    if isinstance(warp, bool) or warp not in range(ir.warps):
        raise NotInKernel(f"{ir.name} has no warp {warp!r}", hint=f"it has {ir.warps}, from 0 to {ir.warps - 1}")
    statement = _statement(ir, tile, access)
    for op in operations(ir.body):
        if op.statement == statement and any(a.array == tile.name and a.proxy != "generic" for a in op.accesses(ir)):
            raise NothingToDraw(
                f"no lane reaches {tile.name} in {statement}: the copy engine does, or tensor cores, by themselves",
                hint="verify('layouts') says what they find there",
            )
    machine, seen = dry_machine(ir, sizes), 0
    for name in at:
        if name not in machine.loop_names:
            known = machine.loop_names
            raise NotInKernel(f"{ir.name} has no loop {name!r}", hint=nearest(name, known))
    for step in machine.steps():
        if step.op.statement != statement or tile.name not in set().union(*arrays_of(step.op, ir)):
            continue
        mine = None if step.mask is None else step.mask[0, warp]
        loops = machine.loops()
        if (mine is not None and not mine.any()) or any(loops.get(n) != v for n, v in at.items()):
            continue
        if seen == nth:
            return _instruction(machine, tile, step.op, step.mask, warp, part, loops)
        seen += 1
    where = f" with {', '.join(f'{n} = {v}' for n, v in at.items())}" if at else ""
    raise NotInKernel(
        f"warp {warp} gets to {statement}{where} {seen} times, so there is no number {nth}",
        hint="nth counts from 0" if seen else "another warp or other values of the loops",
    )


def _instruction(
    machine: DryMachine, tile: SharedTile, op: Op, mask: Mask, warp: int, part: int, loops: Mapping[str, int]
) -> Taken:
    """One of the instructions of the operation that the machine is at; an error if the warp's lanes go astray."""
    machine.refused.clear()
    found = list(warp_accesses(machine, op, mask, tile.name))
    for wrong, threads in machine.refused:
        if threads is None or np.broadcast_to(threads, machine.shape)[0, warp].any():
            raise wrong
    if isinstance(part, bool) or part not in range(len(found)):
        raise NotInKernel(
            f"{op.statement} takes {len(found)} instructions; there is no part {part!r}", hint="parts count from 0"
        )
    one = found[part]
    first = tile.start * CHUNK_BYTES
    address = one.address[0, warp] - first
    active = np.ones(LANES, bool) if one.active is None else one.active[0, warp]
    size = tile.chunks * CHUNK_BYTES
    buffer = int(address[active][0]) // size
    address = np.where(active, address - buffer * size, -one.width)
    return Taken(op, one, warp, part, len(found), loops, address, buffer)


def _statement(ir: KernelIR, tile: SharedTile, access: str) -> str:
    """The statement that is meant by a name, or by "load" or "store"."""
    reads, writes = ([op.statement for op in operations(ir.body) if tile.name in arrays_of(op, ir)[k]] for k in (0, 1))
    known = dict.fromkeys([*writes, *reads])
    named = {"load": reads, "store": writes}
    if access in known:
        return access
    if named.get(access):
        return named[access][0]
    raise NotInKernel(
        f"no statement {access!r} of {ir.name} touches {tile.name}",
        hint=nearest(str(access), [*known, "load", "store"]),
    )
