"""The accesses of one operation by all warps of a batch, and what they cost: phases of shared memory, or sectors.

A warp's access to shared memory is served in phases, and a phase as many times as the worst bank has words to give
(`cuda.layouts.bank_model`). Its access to global memory is served in sectors of 32 bytes: as many as it touches,
however much of each it asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np

from polyvolta.cuda.ir.accesses import Access
from polyvolta.cuda.layouts import bank_model
from polyvolta.cuda.machine.access import instructions
from polyvolta.cuda.machine.machine import Machine, Step
from polyvolta.cuda.machine.reach import EngineReach, SharedReach, WarpAccess

SECTOR = 32  # bytes


@dataclass(frozen=True)
class Accesses:
    """Accesses of one width that an operation makes, by all warps.

    Parameters
    ----------
    space, kind, array, width : as of a `WarpAccess`.
    address : [access, block, warp, 32], in bytes; one block for all where they go to the same places.
    active : which lanes take part, in the same shape; None: all.
    blocks : how many blocks there are.
    later : whether they are asynchronous, done some time between now and a wait.
    opcode : the machine's instruction, if it is no plain load or store.
    """

    space: str
    kind: str
    array: str
    width: int
    address: np.ndarray
    active: np.ndarray | None
    blocks: int
    later: bool = False
    opcode: str = ""

    @property
    def times(self) -> int:
        """How many blocks each entry stands for."""
        return self.blocks // self.address.shape[1]

    def pieces(self, size: int) -> np.ndarray:
        """The pieces of so many bytes that each lane reaches in all accesses: [block, warp, lane, piece]."""
        found = (self.address // size)[..., None] + np.arange(self.width // size)
        return np.moveaxis(found, 0, -2).reshape(*self.address.shape[1:], -1)

    @cached_property
    def taken(self) -> np.ndarray:
        """The addresses, -1 of lanes that take no part."""
        return self.address if self.active is None else np.where(self.active, self.address, -1)

    @cached_property
    def lanes(self) -> int:
        """How many lanes move something, in all accesses."""
        return self.times * (self.address.size if self.active is None else int(np.count_nonzero(self.active)))

    @cached_property
    def requests(self) -> int:
        """How many warps make an access, in which at least one lane takes part."""
        if self.active is None:
            return self.times * self.address.size // 32
        return self.times * int(np.count_nonzero(self.active.any(-1)))

    @cached_property
    def degrees(self) -> np.ndarray:
        """How many times each phase is served, [access, block, warp, phase]; 0: nobody takes part."""
        return bank_model.degrees(self.taken, self.width)

    @cached_property
    def cycles(self) -> int:
        """How many times shared memory serves, in all."""
        return self.times * int(self.degrees.sum())

    @cached_property
    def sectors(self) -> np.ndarray:
        """How many sectors each warp's access touches, [access, block, warp]."""
        return _different(self.taken // SECTOR)  # -1 stays negative

    @cached_property
    def ideal_sectors(self) -> np.ndarray:
        """How many sectors hold as many bytes as each access asks for, a byte for several lanes counted once."""
        return -(-_different(self.taken // self.width) * self.width // SECTOR)


def accesses_of(m: Machine, step: Step) -> tuple[Accesses, ...]:
    """The accesses of a step; instructions of one width that follow one another in an array stand together.

    Those of engines are none of a warp's, and not among them.
    """
    out: list[Accesses] = []
    by_lanes = [at for at in step.reach if not isinstance(at, EngineReach)]
    for _, some in groupby(by_lanes, lambda at: (at.access.kind, at.access.array, at.width)):
        (first, *more) = some
        if isinstance(first, SharedReach):
            out.append(_shared(m, [first, *more]))  # type: ignore[list-item]
        else:
            found = instructions(m, (first, *more))
            out += (_together(m, first.access, group) for _, group in groupby(found, lambda a: a.width))
    return tuple(out)


def _shared(m: Machine, parts: Sequence[SharedReach]) -> Accesses:
    """Without a mask, and where blocks agree, for one block alone. The parts have one mask, as all of an operation."""
    at, units = parts[0], [u for part in parts for u in part.units]
    least = (1, *m.shape[1:]) if at.mask is None else m.shape
    shape = np.broadcast_shapes(*(np.shape(u) for u in units), least)
    address = at.width * np.stack([np.broadcast_to(u, shape) for u in units])
    active = None if at.mask is None else np.broadcast_to(at.mask, address.shape)
    a = at.access
    later = a.when == "completion"
    return Accesses(a.space, a.kind, a.array, at.width, address, active, m.shape[0], later, a.opcode)


def _together(m: Machine, access: Access, group: Iterator[WarpAccess]) -> Accesses:
    some = list(group)
    active = None
    if any(a.active is not None for a in some):
        active = np.stack([np.broadcast_to(True if a.active is None else a.active, m.shape) for a in some])
    address = np.stack([a.address for a in some])
    a = some[0]
    later = access.when == "completion"
    return Accesses(a.space, a.kind, a.array, a.width, address, active, m.shape[0], later, access.opcode)


def _different(numbers: np.ndarray) -> np.ndarray:
    """How many different numbers >= 0 there are along the last axis."""
    ordered = np.sort(numbers, axis=-1)
    new = ordered >= 0
    new[..., 1:] &= ordered[..., 1:] != ordered[..., :-1]
    return new.sum(-1)
