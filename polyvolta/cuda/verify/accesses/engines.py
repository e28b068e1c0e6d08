"""Where boxes and operands of products go, each time that a kernel comes to one: all places, in every slot.

As with the requests of warps (`requests`), threads and unrolled loops are enumerated; a place in a tile depends on
nothing else. The slot does, on the k tile; it is any of those that the tile has.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from polyvolta.cuda.ir.kernel_ir import BoxCopy, BoxStore, Wgmma
from polyvolta.cuda.verify.accesses.requests import Requests
from polyvolta.cuda.verify.engine.past_threads import Reach, of_box, of_operand
from polyvolta.sets import Aff

At = tuple[int, int, int]  # combination of loop variables, warp, lane
ENGINES = BoxCopy, BoxStore, Wgmma


def boxes(r: Requests) -> Iterator[tuple[At, Reach]]:
    """The places of a box in its tile, in every slot, with a thread that asks for it.

    Raises
    ------
    Undecided : a place that depends on sizes or k tiles.
    """
    op = r.op
    assert isinstance(op, BoxCopy | BoxStore)
    tile, box = r.ir.tile(op.tile), r.ir.box_map(op.map).box
    for at, (d0, d1) in times(r, *op.place):
        for slot in range(tile.buffers):
            yield at, of_box(tile, box, (d0, d1), slot, at[1:], isinstance(op, BoxCopy))


def operands(r: Requests, letter: str) -> Iterator[tuple[At, Reach]]:
    """The starts of an operand, "a" or "b", in every slot, with a thread of the warpgroup.

    Raises
    ------
    Undecided : a start that depends on sizes or k tiles.
    """
    op = r.op
    assert isinstance(op, Wgmma)
    x, (m, n, depth) = dict(op.shared)[letter], op.macro.shape
    tile = r.ir.tile(x.tile)
    for at, (d0, d1, start) in times(r, *x.origin, x.start):
        for slot in range(tile.buffers):
            shape = (m if letter == "a" else n, depth)
            yield at, of_operand(tile, x, letter, shape, (d0, d1), slot, start, at[1])


def times(r: Requests, *of: Aff) -> Iterator[tuple[At, tuple[int, ...]]]:
    """The different values of some expressions, each with the combination, warp and lane that has them first.

    Raises
    ------
    Undecided : one depends on sizes or k tiles.
    """
    values = np.stack([np.broadcast_to(r.values(e), r.shape) for e in of], -1)
    where = np.argwhere(np.ones(r.shape, bool) if r.active is None else r.active)
    if len(where):
        _, first = np.unique(values[tuple(where.T)], axis=0, return_index=True)
        for at in where[np.sort(first)]:
            combination, warp, lane = (int(x) for x in at)
            yield (combination, warp, lane), tuple(int(x) for x in values[combination, warp, lane])
