"""Rings of tiles as pointers that take turns, so that no trip of a loop computes where its tiles are.

In a loop over k tiles whose copies are asynchronous, the tiles of trip c2 are at numbers such as c2 % 3, (c2 + 1) % 3
and (c2 + 2) % 3 of a ring of 3. Each is a remainder and a product; an array of three pointers has all of them:

    half8 *ring_A[3] = {shared_A, shared_A + 1024, shared_A + 2048};      ring_A[d] is tile (c2 + d) % 3

At a trip's end each takes the place of the one before it, which is three moves in registers that are the same for all
threads: a load has that register, one of the thread's own and a constant in its address.
"""

from __future__ import annotations

from dataclasses import dataclass

from polyvolta.cuda.ir.kernel_ir import AsyncCopy, Loop, Memories, Op
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.text.helpers.device_function import DeviceFunction
from polyvolta.sets import Aff, var


@dataclass(frozen=True, slots=True)
class Ring:
    """The buffers of a tile in the order in which a loop takes them.

    Parameters
    ----------
    tile : its name.
    first : numbers of the buffers in the loop's first trip.
    at : for a buffer's number in the loop, its place in the array.
    """

    tile: str
    first: tuple[int, ...]
    at: tuple[tuple[Aff, int], ...]


def turning(loop: Loop, ir: Memories) -> list[Ring]:
    """The rings that a loop turns by one in each trip: where its copies are asynchronous.

    >>> from polyvolta.cuda.ir.memories import Arrays, SharedTile
    >>> from polyvolta.cuda.target.index_map import IndexMap
    >>> from polyvolta.sets import aff
    >>> layout = IndexMap((("i", 128), ("k", 64)), (("chunk", 8 * var("i") + var("k") // 8),))
    >>> place, c2 = (var("linearId"), aff(0)), var("c2")
    >>> copy = AsyncCopy("A", place, 1, "shared_A", place, (c2 + 2) % 3, False)
    >>> loop = Loop("c2", (aff(1),), (var("K"),), 1, False, (copy,))
    >>> (ring,) = turning(loop, Arrays((), (SharedTile("shared_A", 0, 1024, layout, (0, 1), 3),), ()))
    >>> print(ring.tile, ring.first, *(f"{e} at {d}" for e, d in ring.at))
    shared_A (1, 2, 0) (c2 + 2) mod 3 at 2
    """
    inside = list(operations(loop.body))
    if loop.unroll or loop.step != 1 or len(loop.lower) != 1 or not loop.lower[0].is_constant:
        return []
    if not any(isinstance(op, AsyncCopy) for op in inside):
        return []
    places: dict[str, dict[Aff, int]] = {}
    for tile, buffer in dict.fromkeys(filter(None, map(_buffer, inside))):
        size = ir.tile(tile).buffers
        for d in range(size if size > 1 else 0):
            if buffer == (var(loop.var) + d) % size:
                places.setdefault(tile, {})[buffer] = d
    low, sizes = loop.lower[0].const, {tile: ir.tile(tile).buffers for tile in places}
    return [Ring(tile, tuple((low + d) % sizes[tile] for d in range(sizes[tile])), tuple(at.items()))
            for tile, at in places.items()]  # fmt: skip


def _buffer(op: Op) -> tuple[str, Aff] | None:
    """The tile that an operation is about, and which of its buffers."""
    tile, buffer = getattr(op, "tile", None), getattr(op, "buffer", None)
    return (tile, buffer) if isinstance(tile, str) and isinstance(buffer, Aff) else None


def turn(size: int) -> DeviceFunction:
    """The step to the next trip."""
    moves = ", ".join(f"ring[{d}] = ring[{d + 1}]" for d in range(size - 1))
    return DeviceFunction(
        f"turn_ring_of_{size}",
        "void",
        (f"half8 *(&ring)[{size}]",),
        ("half8 *const first = ring[0];", f"{moves}, ring[{size - 1}] = first;"),
        "the next trip's tiles: each comes a place nearer, the first one last",
    )
