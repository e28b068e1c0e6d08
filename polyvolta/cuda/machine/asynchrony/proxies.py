"""What threads wrote to shared memory and engines may not see yet.

Copy engines and tensor cores reach shared memory by the async proxy, threads by the generic one. What a thread wrote is
there for engines once that thread has fenced it (`ProxyFence`); before, they may read anything. So each value of shared
memory has a note of the thread that wrote it and hasn't fenced it. What a thread copies asynchronously (`AsyncCopy`) it
writes, too, when it arrives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyvolta.cuda.ir.kernel_ir import CHUNK, LANES
from polyvolta.cuda.ir.memories import TENSOR_ITEM
from polyvolta.cuda.machine.reach import Mask, SharedReach

NOBODY = -1


class Proxies:
    """The notes of a batch of blocks.

    Parameters
    ----------
    shape : (blocks, warps, 32).
    chunks : of a block's shared memory.

    Attributes
    ----------
    writer : [block, chunk, value], linearId of who wrote it and hasn't fenced it, or `NOBODY`.
    """

    def __init__(self, shape: tuple[int, int, int], chunks: int) -> None:
        self.shape = shape
        self.writer = np.full((shape[0], chunks, CHUNK), NOBODY, np.int16)

    def wrote(self, at: SharedReach, mask: Mask) -> None:
        """Some threads have written where an access goes."""
        units = self.writer.reshape(-1, at.width // TENSOR_ITEM)
        thread = np.broadcast_to(np.arange(self.shape[1] * LANES).reshape(1, -1, LANES), self.shape)
        active: Any = ... if mask is None else mask
        for n in range(len(at.units)):
            units[at.rows(self.shape, self.writer.shape[1], n)[active]] = thread[active][..., None]

    def fence(self, mask: Mask) -> None:
        """These threads fence what they have written."""
        fenced = np.ones(self.shape, bool) if mask is None else mask
        fenced = fenced.reshape(self.shape[0], -1)
        block, chunk, value = np.nonzero(self.writer != NOBODY)
        done = fenced[block, self.writer[block, chunk, value]]
        self.writer[block[done], chunk[done], value[done]] = NOBODY
