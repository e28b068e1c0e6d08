"""Where copy engines and tensor cores reach in shared memory, past the threads.

A thread that asks for a box, or a warpgroup for a product, says where it begins. Which chunks are then written or read
is up to the hardware: of a box those of its lines, one behind the other from the first one on, of an operand those that
its descriptor names; and both permute chunks by their absolute numbers. The tile's layout is asked for a box's first
element alone. So what is reached for an element is one thing, where the layout has it another, and whether these agree
is what readers of both find out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from polyvolta.cuda.ir.engines.warpgroups import WARPS
from polyvolta.cuda.ir.kernel_ir import CHUNK, LANES, BoxCopy, BoxStore, KernelIR, SharedOperand, SharedTile, Wgmma
from polyvolta.cuda.target.boxes import Box, Swizzle
from polyvolta.cuda.target.descriptors import Descriptor
from polyvolta.cuda.verify.engine.addresses import layout_of
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.sets import Aff, var

Numbers = Callable[[Aff], np.ndarray]
SIDES = ("a", "b")


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """What one box, or one operand of a product, reaches in shared memory.

    Parameters
    ----------
    tile : it is to be a part of.
    writes : whether it is written.
    warp, lane : the thread that asks for it, of a warpgroup the first one.
    buffer : which of the tile's.
    start : the chunk of the block's memory at which it begins.
    elements : of the tile, for each dimension [line, value] of a box, [row or column, k] of an operand.
    chunks : of the block's memory that these are in, likewise.
    places : of each in its chunk, likewise.
    """

    tile: SharedTile
    writes: bool
    warp: int
    lane: int
    buffer: int
    start: int
    elements: tuple[np.ndarray, np.ndarray]
    chunks: np.ndarray
    places: np.ndarray

    @property
    def values(self) -> np.ndarray:
        """Places of 16-bit values in the block's memory."""
        return CHUNK * self.chunks + self.places

    @property
    def own_chunks(self) -> np.ndarray:
        """The chunks as numbers in the buffer."""
        return self.chunks - (self.tile.start + self.buffer * self.tile.chunks)

    @property
    def outside(self) -> np.ndarray | None:
        """Which elements the tile doesn't have, or lie outside of its buffer; None: there are none."""
        extents = [n for _, n in layout_of(self.tile).inputs]
        bad = [(self.own_chunks, self.tile.chunks), *zip(self.elements, extents, strict=True)]
        if 0 <= self.buffer < self.tile.buffers and all(int(x.min()) >= 0 and int(x.max()) < n for x, n in bad):
            return None
        found = np.any(np.broadcast_arrays(*((x < 0) | (x >= n) for x, n in bad)), 0)
        return found if 0 <= self.buffer < self.tile.buffers else np.ones(found.shape, bool)


def reaches(ir: KernelIR, op: object, number: Numbers, mask: np.ndarray | None) -> tuple[Reach, ...]:
    """What an operation has copy engines or tensor cores reach; () of one that doesn't.

    Parameters
    ----------
    number : of an expression its value in each thread, [warp, 32].
    mask : who takes part, bool [warp, 32]; None: all.

    Raises
    ------
    Undecided : threads of a warpgroup that don't say the same.
    """
    match op:
        case BoxCopy() | BoxStore():
            taking = np.ones((ir.warps, LANES), bool) if mask is None else mask
            place, buffer = [number(e) for e in op.place], number(op.buffer)
            tile, box = ir.tile(op.tile), ir.box_map(op.map).box
            return tuple(
                of_box(tile, box, (int(place[0][w, x]), int(place[1][w, x])), int(buffer[w, x]), (int(w), int(x)),
                       isinstance(op, BoxCopy))
                for w, x in np.argwhere(taking)
            )  # fmt: skip
        case Wgmma():
            first = [w for w in range(0, ir.warps - WARPS + 1, WARPS) if mask is None or mask[w : w + WARPS].any()]
            return tuple(_operand(ir, op, letter, number, w) for letter, _ in op.shared for w in first)
    return ()


def of_box(
    tile: SharedTile, box: Box, place: tuple[int, int], buffer: int, thread: tuple[int, int], writes: bool
) -> Reach:
    """A box whose first element is at a place of a tile."""
    names = [n for n, _ in layout_of(tile).inputs]
    (first,) = layout_of(tile).evaluate(dict(zip(names, place, strict=True)))
    start = tile.start + buffer * tile.chunks + int(first)
    plain, line, run = _of_box(box)
    of = dict(zip(tile.order, (line, run), strict=True))
    elements = place[0] + of[0], place[1] + of[1]
    return Reach(tile, writes, *thread, buffer, start, elements, swizzled(box.swizzle, start + plain), run % CHUNK)


def _operand(ir: KernelIR, op: Wgmma, letter: str, number: Numbers, warp: int) -> Reach:
    """An operand of the product of the warpgroup that begins with a warp."""
    x = dict(op.shared)[letter]
    m, n, depth = op.macro.shape

    def one(e: Aff) -> int:
        found = number(e)[warp : warp + WARPS]
        if (found != found[0, 0]).any():
            raise Undecided(f"the threads of a warpgroup name several places of {x.tile}: {e}")
        return int(found[0, 0])

    origin = one(x.origin[0]), one(x.origin[1])
    return of_operand(ir.tile(x.tile), x, letter, (m if letter == "a" else n, depth), origin, one(x.buffer),
                      one(x.start), warp)  # fmt: skip


def of_operand(
    tile: SharedTile, x: SharedOperand, letter: str, shape: tuple[int, int], origin: tuple[int, int], buffer: int,
    at: int, warp: int = 0,
) -> Reach:  # fmt: skip
    """An operand [row or column, k] that starts at a chunk of a tile's buffer."""
    start = tile.start + buffer * tile.chunks + at
    reads, r, k = _of_operand(x.descriptor, *shape)
    elements = (origin[0] + r, origin[1] + k) if letter == "a" else (origin[0] + k, origin[1] + r)
    places = (k if x.descriptor.major == "k" else r) % CHUNK
    return Reach(tile, False, warp, 0, buffer, start, elements, swizzled(x.descriptor.swizzle, start + reads), places)


def swizzled(swizzle: Swizzle, chunks: np.ndarray) -> np.ndarray:
    """Where chunks go, by their absolute numbers."""
    return np.asarray(swizzle(var("chunk")).evaluate({"chunk": chunks}))


@lru_cache(maxsize=256)
def _of_box(box: Box) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """[line, value]: the chunk before the swizzle, the line, and the value."""
    line, run = np.meshgrid(np.arange(box.lines), np.arange(box.run), indexing="ij")
    (plain,) = box.plain.evaluate({"line": line, "run": run})
    return np.asarray(plain), line, run


@lru_cache(maxsize=256)
def _of_operand(descriptor: Descriptor, mn: int, depth: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """[row or column, k]: the chunk before the swizzle, from the start on; the row or column, and k."""
    r, k = np.meshgrid(np.arange(mn), np.arange(depth), indexing="ij")
    (chunk,) = descriptor.reads(mn, depth).evaluate({"r": r, "k": k})
    return np.broadcast_to(np.asarray(chunk), r.shape), r, k
