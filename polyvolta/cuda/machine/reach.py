"""Where an operation reaches: which threads, which values of a tensor, which units of shared memory.

Said by the effect that moves the data, and read by those who watch; see `access`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from polyvolta.cuda.ir.kernel_ir import CHUNK_BYTES

Index = tuple[Any, ...]  # integers, or integer arrays broadcastable to [block, warp, lane]
Mask = np.ndarray | None  # which threads [block, warp, lane] take part; None: all


@dataclass(frozen=True, slots=True)
class Access:
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
    """Where in a tensor's memory the eight values of a load or a store lie.

    Parameters
    ----------
    mask : which threads [block, warp, lane] take part; None: all.
    first : the number of the first value in the tensor's memory, [block, warp, lane].
    step : from one value to the next; 0 where all eight are the first one.
    inside : which values are accessed, [block, warp, lane, 8]; None: all of all threads.
    width : how many consecutive values one access moves, where all eight are inside.
    """

    mask: Mask
    first: np.ndarray
    step: int
    inside: np.ndarray | None
    width: int


@dataclass(frozen=True, slots=True)
class SharedReach:
    """Where in shared memory an operation's accesses go.

    Parameters
    ----------
    mask : which threads [block, warp, lane] take part; None: all.
    width : bytes that a lane moves in each access: the unit.
    units : for each access in order, which unit of the block's shared memory; an array that broadcasts to
        [block, warp, lane].
    """

    mask: Mask
    width: int
    units: tuple[Any, ...]

    def rows(self, shape: tuple[int, int, int], chunks: int, access: int) -> np.ndarray:
        """The units of one access counted through the memories of all blocks; 0 for who takes no part.

        Parameters
        ----------
        shape : (blocks, warps, 32).
        chunks : of a block's shared memory.
        """
        first = np.arange(shape[0])[:, None, None] * (chunks * CHUNK_BYTES // self.width)
        return settled(first + self.units[access], shape, self.mask)


Reach = GlobalReach | SharedReach | None


def settled(value: Any, shape: tuple[int, int, int], mask: Mask) -> np.ndarray:
    """A value as [block, warp, lane], 0 for the threads that don't take part."""
    return np.broadcast_to(value, shape) if mask is None else np.where(mask, value, 0)
