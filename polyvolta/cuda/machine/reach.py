"""Where an operation reaches: which threads, which values of a tensor, which units of shared memory.

Said by the effect that moves the data, and read by those who watch; see `access`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from polyvolta.cuda.ir.accesses import Access
from polyvolta.cuda.ir.memories import CHUNK_BYTES

Index = tuple[Any, ...]  # integers, or integer arrays broadcastable to [block, warp, lane]
Mask = np.ndarray | None  # which threads [block, warp, lane] take part; None: all


@dataclass(frozen=True, slots=True)
class WarpAccess:
    """One memory instruction of every warp of a batch.

    Parameters
    ----------
    space : "global" or "shared".
    kind : "read" or "write".
    array : the tensor, or the tile, by name.
    address : [block, warp, lane], in bytes: from the tensor's first value, or from the start of the block's shared
        memory. Of lanes that take no part it means nothing.
    width : bytes that a lane moves.
    active : [block, warp, lane], which lanes take part; None: all of all warps.
    """

    space: str
    kind: str
    array: str
    address: np.ndarray
    width: int
    active: Mask


@dataclass(frozen=True, slots=True)
class GlobalReach:
    """Where in a tensor's memory the values of an access lie.

    Parameters
    ----------
    access : whose reach it is; n values a thread.
    mask : which threads [block, warp, lane] take part; None: all.
    first : the number of the element at the access's index in the tensor's memory, [block, warp, lane].
    ahead : how far each value is from there, [n] or [1, 1, 32, n].
    step : from one value of an instruction to the next; 0 where all are the first one.
    inside : which values are accessed, [block, warp, lane, n]; None: all of all threads.
    width : how many consecutive values one instruction moves, where all are inside.
    """

    access: Access
    mask: Mask
    first: np.ndarray
    ahead: np.ndarray
    step: int
    inside: np.ndarray | None
    width: int

    @property
    def elements(self) -> np.ndarray:
        """The numbers of all values in the tensor's memory, [block, warp, lane, n]."""
        return self.first[..., None] + self.ahead

    def address(self, value: int) -> np.ndarray:
        """The byte of a value, counted from the tensor's first one, [block, warp, lane]."""
        return self.access.item * (self.first + self.ahead[..., value])

    @property
    def in_order(self) -> bool:
        """Whether each thread's values follow one another in memory, and none is missing."""
        return self.inside is None and self.step == 1 and self.access.own is None


@dataclass(frozen=True, slots=True)
class SharedReach:
    """Where in shared memory the instructions of an access go.

    Parameters
    ----------
    access : whose reach it is.
    mask : which threads [block, warp, lane] take part; None: all.
    width : bytes that a lane moves with each instruction: the unit.
    units : for each instruction in order, which unit of the block's shared memory; an array that broadcasts to
        [block, warp, lane].
    """

    access: Access
    mask: Mask
    width: int
    units: tuple[Any, ...]

    def rows(self, shape: tuple[int, int, int], chunks: int, instruction: int) -> np.ndarray:
        """The units of one instruction counted through the memories of all blocks; 0 for who takes no part.

        Parameters
        ----------
        shape : (blocks, warps, 32).
        chunks : of a block's shared memory.
        """
        first = np.arange(shape[0])[:, None, None] * (chunks * CHUNK_BYTES // self.width)
        return settled(first + self.units[instruction], shape, self.mask)


@dataclass(frozen=True, slots=True)
class EngineReach:
    """An access that no lane makes: a copy engine's or a tensor core's, which the threads have asked for.

    Parameters
    ----------
    access : whose reach it is; it says where for each thread that asks.
    mask : which threads [block, warp, lane] ask; None: all.
    bytes : how many it moves for all of them, without what is outside of a tensor.
    sectors : of a tensor, how many pieces of 32 bytes that is.
    block, thread : of each request which block of the batch has what is reached, and linearId of who asks: of a
        warpgroup its first thread; [request].
    places : what each request reaches, in any order: chunks of the block's shared memory, or elements by their numbers
        in the tensor's memory; [request, place].
    inside : which of the elements the tensor has, likewise; None: all.
    """

    access: Access
    mask: Mask
    bytes: int
    sectors: int
    block: np.ndarray
    thread: np.ndarray
    places: np.ndarray
    inside: np.ndarray | None = None

    def pieces(self, size: int) -> np.ndarray:
        """The pieces of so many bytes of shared memory that each request reaches: [request, piece]."""
        parts = CHUNK_BYTES // size
        found = parts * self.places[..., None] + np.arange(parts)
        return found.reshape(len(found), parts * self.places.shape[1])


Reach = GlobalReach | SharedReach | EngineReach
Reaches = tuple[Reach, ...]
"""Of an operation: one for each of its accesses to a tensor or a tile, in their order. () where it has none, or was
refused as a whole."""


def settled(value: Any, shape: tuple[int, int, int], mask: Mask) -> np.ndarray:
    """A value as [block, warp, lane], 0 for the threads that don't take part."""
    return np.broadcast_to(value, shape) if mask is None else np.where(mask, value, 0)
