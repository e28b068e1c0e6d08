"""Operands of products: their tiles, and the copies from global memory through registers to shared memory.

A block's tile of an operand is the box of what its instances touch at one (by, bx, k tile). Threads copy it in chunks
of 8 values along the dimension that is contiguous in memory, dealt out cyclically: copy c of thread t is chunk
q = c*threads + t, line by line, which keeps the accesses of a warp together. A *prologue* reads several tensors at the
same places of the operand: each is loaded to registers of its own, along the operand's contiguous dimension wherever
that is in its own memory, and the formula is applied on the way from registers to shared memory. Shared memory and
everything after it see one operand.

Where the target copies asynchronously, an operand that is a tensor as it is needs no registers on the way: the copies
are issued, and a group of them is waited for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from polyvolta.cuda.build.promotion.footprints import data_tile, full_where, places
from polyvolta.cuda.build.promotion.model import (
    STRIP,
    TILE,
    CannotPromote,
    Movement,
    Nest,
    operation_name,
    shared_name,
    staging_name,
)
from polyvolta.cuda.ir.kernel_ir import (
    CHUNK,
    CHUNK_BYTES,
    LANES,
    AsyncCopy,
    Element,
    GlobalLoad,
    GlobalTensor,
    Inside,
    Op,
    Pointwise,
    SharedStore,
)
from polyvolta.cuda.layouts.bank_model import BANKS, WORD
from polyvolta.cuda.layouts.fragments import OperandTile
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.graph.functions.formula import Input
from polyvolta.graph.functions.meaning import evaluate
from polyvolta.graph.plans.plans import Operand
from polyvolta.graph.statements import Access
from polyvolta.sets import Aff, Set, aff, var
from polyvolta.sets.hulls.box import Box
from polyvolta.sets.values.simplify import simplify
from polyvolta.sets.values.space import distinct


@dataclass(frozen=True, slots=True)
class Side:
    """One operand of a product, its tiles and its copies.

    Parameters
    ----------
    operand : what it is.
    letter : "a" or "b" of the macro-MMA.
    order : its dimensions as they lie in memory, outermost first.
    block, warp : boxes of what a block touches in a step of the k loop, and a warp in a strip; offsets in the members.
    tiles : the (by, bx, k tile) that there are.
    strips : the members above a strip that there are.
    dims : names of the copies' dimensions: the members', copy and thread.
    local : the tile-local element of a thread's copy.
    chunk : its number q; there are `chunks` of them, `copies` for each of `threads` threads.
    labels : for each access what its registers and its load are called after.
    """

    operand: Operand
    letter: str
    order: tuple[int, int]
    block: Box
    warp: Box
    tiles: Set
    strips: Set
    dims: tuple[str, ...]
    local: tuple[Aff, Aff]
    chunk: Aff
    chunks: int
    copies: int
    threads: int
    labels: tuple[str, ...]

    def tile(self) -> OperandTile:
        """The tile in shared memory with the stores of every warp."""
        q = np.arange(self.copies * self.threads).reshape(self.copies, self.threads)
        points = self.points()
        points[q >= self.chunks] = -1
        rows, cols = self.block.size
        return OperandTile(self.operand.index, (rows, cols), self.order, points.reshape(-1, LANES, 2))

    def points(self) -> np.ndarray:
        """[copy, thread, dimension]: the first element of each thread's copies."""
        copy, thread = np.meshgrid(np.arange(self.copies), np.arange(self.threads), indexing="ij")
        values = dict(zip(self.dims[-2:], (copy, thread)))
        return np.stack([np.broadcast_to(np.asarray(e.evaluate(values)), copy.shape) for e in self.local], axis=-1)


def side_of(nest: Nest, operand: Operand, letter: str, threads: int, labels: tuple[str, ...]) -> Side:
    """An operand's tiles and copies.

    Raises
    ------
    CannotPromote : a tile that is no box, or that the copies do not cover.
    """
    block, warp = (data_tile(nest, level, operand.index, operand.name) for level in (TILE, STRIP))
    order = (0, 1) if operand.layout == "row" else (1, 0)
    line, run = order
    width, rest = divmod(block.size[run], CHUNK)
    if rest:
        raise CannotPromote(f"the tile of {operand.name} is no multiple of {CHUNK} along its contiguous dimension")
    outer = tuple(n for n in nest.above(TILE) if n)
    c, t = distinct(("c", "t"), (*outer, *nest.iterators, *nest.real.param_names))
    chunks = block.size[line] * width
    copies = -(-chunks // threads)
    q = var(c) * threads + var(t)
    ranges = {t: (0, threads - 1), c: (0, copies - 1)}
    local = [aff(0), aff(0)]
    local[line], local[run] = simplify(q // width, ranges), simplify(q % width * CHUNK, ranges)
    side = Side(operand, letter, order, block, warp, places(nest, TILE), places(nest, STRIP), (*outer, c, t),
                (local[0], local[1]), q, chunks, copies, threads, labels)  # fmt: skip
    check_cover(side)
    return side


def check_cover(side: Side) -> None:
    """Prove, by enumeration, that the threads' copies of 8 values cover a tile and touch each element once.

    Raises
    ------
    CannotPromote : an element is missed, copied twice or outside of the tile.
    """
    q = np.arange(side.copies * side.threads).reshape(side.copies, side.threads)
    first = side.points()[q < side.chunks]
    runs = np.repeat(first[:, None, :], CHUNK, axis=1)
    runs[..., side.order[1]] += np.arange(CHUNK)
    rows, cols = side.block.size
    inside = ((runs >= 0) & (runs < (rows, cols))).all()
    if not inside or not np.array_equal(np.sort((runs[..., 0] * cols + runs[..., 1]).ravel()), np.arange(rows * cols)):
        name = side.operand.name
        raise CannotPromote(f"the copies of {name}'s tile do not cover its {rows}x{cols} elements once each")


# ---- movements


def loads(side: Side, nest: Nest, context: Set) -> tuple[Movement, ...]:
    """Global memory -> registers: one statement for each tensor that the operand reads."""
    made = []
    for access, label in zip(side.operand.accesses, side.labels, strict=True):
        name = f"load_{label}"
        index, along = place(side, access)
        full = full_where(nest, TILE, index_of(access), context)
        target = Element(staging_name(label), (var(side.dims[-2]),))
        op = GlobalLoad(target, access.tensor, index, along, bool(full), name)
        made.append(Movement(name, side.dims, (op,), full, "global memory -> registers"))
    return tuple(made)


def place(side: Side, access: Access) -> tuple[tuple[Aff, ...], int | None]:
    """Where a thread's copy lies in a tensor that is read at the operand's places, and along which of its dimensions
    the eight values go; None where they are one."""
    at = {i: o + x for i, o, x in zip(side.operand.index, side.block.offset, side.local, strict=True)}
    run = side.operand.index[side.order[1]]
    index = tuple(aff(int(p)) if p.isdigit() else at[p] for p in access.index)
    along = [d for d, p in enumerate(access.index) if p == run]
    if len(along) > 1:
        raise CannotPromote(f"{access} moves along two dimensions at once", hint="read one dimension of it by an index")
    return index, along[0] if along else None


def is_plain(side: Side, tensors: Mapping[str, GlobalTensor]) -> bool:
    """Whether an operand is a tensor as it is, copied along the dimension that is contiguous in its memory."""
    if side.operand.formula != Input(0) or len(side.operand.accesses) != 1:
        return False
    (access,) = side.operand.accesses
    return place(side, access)[1] == tensors[access.tensor].order[-1]


TURN = IndexMap((("lane", LANES),), (("first", var("lane") // (BANKS * WORD // CHUNK_BYTES)),))
"""Which piece of its chunk a lane begins with, modulo how many there are.

As many lanes as fill all banks with a chunk each begin with the same piece, and leave the banks of the other pieces to
the next lanes: where chunks have no conflict, their pieces have none.
"""


def copy(side: Side, nest: Nest, context: Set, buffers: int) -> Movement:
    """Global memory -> shared memory, asynchronously."""
    (access,), (label,) = side.operand.accesses, side.labels
    name = f"copy_{label}"
    index, along = place(side, access)
    assert along is not None
    tile, buffer = shared_name(side.operand.name), buffer_of(nest, buffers)
    op = AsyncCopy(access.tensor, index, along, tile, side.local, buffer, True, name, TURN)
    return Movement(name, side.dims, (op,), (), "global memory -> shared memory")


def index_of(access: Access) -> tuple[Aff | str, ...]:
    """The element of an access: iterators, and the number 0 where the tensor is stretched."""
    return tuple(aff(int(p)) if p.isdigit() else p for p in access.index)


def store(side: Side, nest: Nest, extent: Aff, context: Set, buffers: int) -> Movement:
    """Registers -> shared memory, by way of the operand's formula.

    Beside a product's k range values must be 0, which a formula makes of zeros only by chance: then the pointwise
    operation itself says what is inside.

    Parameters
    ----------
    extent : of the product's k range.
    """
    operand, (*_, c, _) = side.operand, side.dims
    name = f"store_{operand.name}"
    element = tuple(Element(staging_name(label), (var(c),)) for label in side.labels)
    ops: list[Op] = []
    full: tuple[Aff, ...] = ()
    if operand.formula == Input(0) and len(element) == 1:
        source = element[0]
    else:
        inside, full = _inside(side, nest, extent, context)
        source = element[0] if element else Element(staging_name(operand.name), (var(c),))
        read = (*element, *operand.scalars)
        called = operation_name(operand.formula, f"prologue_{operand.name}")
        ops.append(Pointwise(source, called, operand.formula, read, inside, name))
    ops.append(SharedStore(source, shared_name(operand.name), side.local, buffer_of(nest, buffers), name))
    first = f"the prologue of {operand.name}, " if len(ops) > 1 else ""
    return Movement(name, side.dims, tuple(ops), full, f"{first}registers -> shared memory")


def buffer_of(nest: Nest, buffers: int) -> Aff:
    """The buffer of a k tile: they take turns."""
    kt = nest.k_tile
    return aff(0) if kt is None or buffers == 1 else var(kt) % buffers


def _inside(side: Side, nest: Nest, extent: Aff, context: Set) -> tuple[Inside | None, tuple[Aff, ...]]:
    """Which values of a copy lie in the product's k range, and when all do; None where nothing need be said."""
    operand = side.operand
    k = next(i for i in operand.index if i == nest.iterators[2])
    full = full_where(nest, TILE, (k,), context)
    if not full or keeps_zero(operand, k):
        return None, ()
    d = operand.index.index(k)
    index = side.block.offset[d] + side.local[d]
    return Inside((index,), (extent,), 0 if side.order[1] == d else None), full


def keeps_zero(operand: Operand, k: str) -> bool:
    """Whether the formula makes 0 of the zeros that are loaded beside the k range."""
    if operand.scalars or not all(k in a.index for a in operand.accesses):
        return False
    return bool(evaluate(operand.formula, [0.0] * len(operand.accesses)) == 0)


def staged(side: Side) -> tuple[str, ...]:
    """The register arrays of the copies."""
    return tuple(map(staging_name, side.labels)) or (staging_name(side.operand.name),)


def fragment_counts(side: Side, shape: tuple[int, int, int]) -> tuple[tuple[int, int], tuple[int, int]]:
    """How many fragments a warp has of an operand along each dimension, and the extents of one."""
    extent = (shape[0], shape[2]) if side.letter == "a" else (shape[2], shape[1])
    for size, f in zip(side.warp.size, extent):
        if size % f:
            raise CannotPromote(f"a warp's {side.warp.size} tile of {side.operand.name} is no multiple of {extent}")
    return (side.warp.size[0] // extent[0], side.warp.size[1] // extent[1]), extent
