"""What a matrix load brings, or a matrix store takes: where in shared memory each lane's values come from, or go to, by
the instruction's distribution.

Each lane names a chunk, at the address that the tile's layout gives to the line that it says. By the distribution,
{ [lane, i] -> [source, place] }, a value is one place of the chunk of one source. So the two composed, and the layout
behind them, say where it comes from. The ownership map that an operation promises isn't asked here: that the two agree
is a statement of its own (`ownership`).

    { [lane, i] -> [source, place] }    the instruction's distribution; of a store where values go
    { [lane, n] -> [row, k] }           the lines that lanes name, in instruction n
    { [row, k] -> [chunk] }             the tile's layout, a swizzle
"""

from __future__ import annotations

import numpy as np

from polyvolta.cuda.ir.kernel_ir import LoadMatrix, StoreMatrix
from polyvolta.cuda.verify.engine.addresses import owned
from polyvolta.cuda.verify.engine.memories import SLOT
from polyvolta.cuda.verify.engine.symbolic import Here


def loaded(here: Here, op: LoadMatrix | StoreMatrix, values: int) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Where a lane's values come from, in slots of shared memory, and the tile-local elements that they should be, of
    each dimension; [warp, lane, value] each.

    An instruction reads 16 bytes from the address that a lane names, which is that of the line's first element.
    """
    (at,) = here.addresses
    source, number, place = sources(op, values)
    slots = at.instructions[..., source, number] // SLOT + place
    local = []
    for d, (e, line) in enumerate(zip(op.origin, owned(op.lines), strict=True)):
        element = (here.numbers(e)[..., None] + line)[..., source, number]
        local.append(element + place if d == here.ir.tile(op.tile).order[-1] else element)
    return slots, tuple(np.broadcast_to(x, slots.shape) for x in local)


def sources(op: LoadMatrix | StoreMatrix, values: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whose chunk each of a lane's values comes from, of which instruction, and the place in it; [lane, value] each."""
    each, i = 2 * op.count, np.arange(values)
    instruction = op.load if isinstance(op, LoadMatrix) else op.store
    source, place = (x[:, i % each] for x in owned(instruction.distribution(op.count, op.transposed)))
    return source, np.broadcast_to(i // each, source.shape), place
