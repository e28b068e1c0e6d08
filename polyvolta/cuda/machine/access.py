"""Which memory every thread of a batch reaches: computed once, for those who move the data and those who watch.

An operation's places are its own expressions at the names' present values. `reach` evaluates and checks them: for an
operation on a tensor the first of eight values and the step between them, for one on shared memory a number of units
for each access that a warp makes, a unit being as many bytes as a lane moves at once. The effects (`operations`) gather
and scatter there. `accesses` says the same as warp-wide memory instructions, lane by lane in bytes, as the CUDA text
makes them; observers, stepping and pictures read those.

A check that fails is an error, unless somebody takes note of it (`Machine.faults`): then the threads in question take
no part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from polyvolta.cuda.ir import kernel_ir as kir
from polyvolta.cuda.ir.kernel_ir import CHUNK, CHUNK_BYTES, LANES
from polyvolta.cuda.machine.errors import NotAChunk, OutOfBounds
from polyvolta.cuda.machine.machine import Machine, title
from polyvolta.cuda.machine.reach import Access, GlobalReach, Index, Mask, Reach, SharedReach, settled
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.sets import Aff

ITEM = 2  # bytes of an fp16 value
ITEMS = {"half": 2, "float": 4}  # bytes of a value in an exchange buffer


# ---- warp-wide memory instructions


def accesses(m: Machine, op: kir.Op, mask: Mask) -> Iterator[Access]:
    """The memory instructions of an operation, in order, at the names' present values; nothing is moved.

    Parameters
    ----------
    m : the machine, whose names have the values that they have at the operation.
    op : any operation; one that touches registers alone has none.
    mask : which threads take part, as in `Step`.
    """
    return instructions(m, op, reach(m, op, mask))


def instructions(m: Machine, op: Any, at: Reach) -> Iterator[Access]:
    """The memory instructions of an operation whose reach is known, such as from `Step.reach`."""
    writes = isinstance(op, kir.GlobalStore | kir.SharedStore | kir.ExchangeStore)
    kind = "write" if writes else "read"
    if isinstance(at, SharedReach):
        array = op.buffer if isinstance(op, kir.ExchangeStore | kir.ExchangeLoad) else op.tile
        for unit in at.units:
            yield Access("shared", kind, array, np.broadcast_to(unit * at.width, m.shape), at.width, at.mask)
    elif isinstance(at, GlobalReach):
        yield from _global_instructions(op.tensor, kind, at)


def _global_instructions(tensor: str, kind: str, at: GlobalReach) -> Iterator[Access]:
    """Whole runs in accesses as wide as can be; what a tensor's edge cuts, and values across lines, one by one.

    One value for all eight is loaded once.
    """
    count = 1 if at.step == 0 else CHUNK // at.width
    inside = at.inside
    whole: Any = inside if inside is None else inside[..., 0] if at.step == 0 else inside.all(-1)
    if at.width == 1 and at.step != 0:
        whole = None if inside is None else np.zeros(at.first.shape, bool)
    if whole is None or whole.any():
        active = None if whole is None or whole.all() else whole
        for part in range(count):
            address = ITEM * (at.first + part * at.width * at.step)
            yield Access("global", kind, tensor, address, ITEM * at.width, active)
    if whole is None or at.step == 0 or whole.all():
        return
    assert inside is not None
    for v in range(CHUNK):
        single = inside[..., v] & ~whole
        if single.any():
            yield Access("global", kind, tensor, ITEM * (at.first + v * at.step), ITEM, single)


# ---- reach


def reach(m: Machine, op: kir.Op, mask: Mask) -> Reach:
    """Where an operation goes in memory, checked; None for one that touches registers alone.

    Raises
    ------
    OutOfBounds, NotAChunk : unless the machine's `faults` take note of them.
    """
    match op:
        case kir.GlobalLoad() | kir.GlobalStore():
            return global_reach(m, op, mask)
        case kir.SharedStore():
            return shared_store(m, op, mask)
        case kir.FragmentLoad():
            return fragment_load(m, op, mask)
        case kir.ExchangeStore():
            return exchange_store(m, op, mask)
        case kir.ExchangeLoad():
            return exchange_load(m, op, mask)
    return None


def global_reach(m: Machine, op: kir.GlobalLoad | kir.GlobalStore, mask: Mask) -> GlobalReach:
    """The eight values of a load or a store."""
    tensor, memory = m.ir.tensor(op.tensor), m.tensors[op.tensor]
    index = m.at(op.index)
    if op.guarded:
        inside, mask = _guarded(m, op, index, memory.shape, mask)
        inside = None if inside.all() else inside
    else:
        mask = within(m, op, op.tensor, index, memory.shape, mask, -1 if op.along is None else op.along)
        inside = None if mask is None else np.broadcast_to(mask[..., None], (*m.shape, CHUNK))
    first: Any = 0
    for x, stride in zip(index, memory.strides, strict=True):
        first = first + x * stride
    first = np.broadcast_to(first, m.shape)
    step = 0 if op.along is None else memory.strides[op.along]
    if op.along != tensor.order[-1]:
        return GlobalReach(mask, first, step, inside, 1)
    found = GlobalReach(mask, first, step, inside, tensor.align)
    if tensor.align > 1:
        astray = first % tensor.align != 0
        astray = astray if inside is None else astray & inside.any(-1)
        if astray.any():
            return _aligned(m, op, found, astray)
    return found


def _aligned(m: Machine, op: kir.GlobalLoad | kir.GlobalStore, at: GlobalReach, astray: np.ndarray) -> GlobalReach:
    """Without the threads whose wide access starts between two boundaries."""
    m.refuse(
        NotAChunk(
            f"{title(op)}: an access of {at.width} values to {op.tensor} that isn't aligned to {ITEM * at.width} bytes"
        ),
        astray,
    )
    mask = ~astray if at.mask is None else at.mask & ~astray
    inside = np.broadcast_to(mask[..., None], (*m.shape, CHUNK))
    return replace(at, mask=mask, inside=inside if at.inside is None else at.inside & inside)


def shared_store(m: Machine, op: kir.SharedStore, mask: Mask) -> SharedReach:
    """A chunk of a tile."""
    tile, index = m.ir.tile(op.tile), m.at(op.index)
    chunk, mask = _chunks(m, op, tile, index, op.buffer, mask)
    astray = settled(index[tile.order[-1]] % CHUNK, m.shape, mask) != 0
    if astray.any():
        mask = _without(m, op, f"a store to tile {tile.name} that doesn't start where a chunk does", astray, mask)
    return SharedReach(mask, CHUNK_BYTES, (chunk,))


def fragment_load(m: Machine, op: kir.FragmentLoad, mask: Mask) -> SharedReach:
    """The parts of a fragment that a lane loads at once, in the order of its values."""
    tile, count = m.ir.tile(op.tile), m.ir.register(op.target.array).width
    own = _owned(op.ownership, count)  # [1, 1, lane, value], of extent 1 where nothing depends on it
    index = tuple(np.asarray(x)[..., None] + o for x, o in zip(m.at(op.origin), own, strict=True))
    chunk, mask = _chunks(m, op, tile, index, op.buffer, mask)
    position = index[tile.order[-1]] % CHUNK
    parts, units = CHUNK // op.access, []  # accesses in a chunk
    for g in range(count // op.access):
        values = slice(g * op.access, (g + 1) * op.access)
        chunks, at = (np.broadcast_to(x, (*x.shape[:-1], count))[..., values] for x in (chunk, position))
        apart = (chunks != chunks[..., :1]) | (at != at[..., :1] // op.access * op.access + np.arange(op.access))
        astray = settled(apart.any(-1), m.shape, mask) != 0
        if astray.any():
            what = "chunk" if op.access == CHUNK else f"aligned run of {op.access} values"
            what = f"the values that a lane loads at once aren't one {what} of {tile.name}"
            mask = _without(m, op, what, astray, mask)
        units.append(parts * chunks[..., 0] + at[..., 0] // op.access)
    return SharedReach(mask, ITEM * op.access, tuple(units))


def exchange_store(m: Machine, op: kir.ExchangeStore, mask: Mask) -> SharedReach:
    """The pieces of a fragment, in order."""
    ex = op.exchange
    width = len(ex.pieces[0]) * ITEMS[ex.kind]
    per_chunk = CHUNK_BYTES // width
    slot, mask = _slot(m, op, m.at((op.slot,))[0], mask)
    units = []
    for place in apply(ex.store, np.arange(LANES)):
        mask = within(m, op, f"a warp's pieces of {op.buffer}", (place,), [per_chunk * ex.chunks], mask)
        units.append(per_chunk * slot + place)
    return SharedReach(mask, width, tuple(units))


def exchange_load(m: Machine, op: kir.ExchangeLoad, mask: Mask) -> SharedReach:
    """The vectors of a run, part by part."""
    ex = op.exchange
    vectors = apply(ex.load, np.arange(LANES), m.number(op.round, "the round of an exchange"))
    mask = within(m, op, f"a warp's chunks of {op.buffer}", vectors, [ex.chunks] * len(vectors), mask)
    first, units = m.at((op.slot,))[0], []
    for part in range(op.parts):
        slot, mask = _slot(m, op, first + part * op.stride, mask)
        units += [slot + v for v in vectors]
    return SharedReach(mask, CHUNK_BYTES, tuple(units))


# ---- indices and checks


def which(m: Machine, index: Index, extents: Any, along: int | None, mask: Mask) -> np.ndarray:
    """Which of the 8 values at `index` and further along a dimension are below all extents: [block, warp, lane, 8].

    That is all that a kernel's text compares; who may be below 0 is a mistake (`_guarded`).
    """
    inside: Any = True
    for d, (x, extent) in enumerate(zip(index, extents, strict=True)):
        x, extent = (np.asarray(v)[..., None] for v in (x, extent))
        x = x + np.arange(CHUNK) if d == along else x
        inside = inside & (x < extent)
    inside = np.broadcast_to(inside, (*m.shape, CHUNK))
    return inside if mask is None else inside & mask[..., None]


def _guarded(
    m: Machine, op: kir.GlobalLoad | kir.GlobalStore, index: Index, extents: Any, mask: Mask
) -> tuple[np.ndarray, Mask]:
    """Which values a guarded access makes, [block, warp, lane, 8]; one below 0, which no guard stops, is refused."""
    inside = which(m, index, extents, op.along, mask)
    if not any(np.any(np.asarray(x) < 0) for x in index):
        return inside, mask
    below = np.zeros(inside.shape, bool)
    for d, x in enumerate(index):
        below |= np.asarray(x)[..., None] + (np.arange(CHUNK) if d == op.along else 0) < 0
    threads = np.asarray((inside & below).any(-1))
    if not threads.any():
        return inside, mask
    at = tuple(np.argwhere(threads)[0])
    reached = [int(np.broadcast_to(x, m.shape)[at]) for x in index]
    m.refuse(
        OutOfBounds(
            f"{title(op)}: {op.tensor}{reached} is below 0, and a guard compares with the extents alone",
            where=f"thread {at[1] * LANES + at[2]} of block {m.block(threads)}",
            hint="an index expression is wrong",
        ),
        threads,
    )
    return inside & ~threads[..., None], ~threads if mask is None else mask & ~threads


def within(m: Machine, op: kir.Op, what: str, index: Index, extents: Any, mask: Mask, along: int = -1) -> Mask:
    """Refuse indices outside a box; along dimension `along`, the seven next elements belong too.

    Returns
    -------
    Which threads take part: all of `mask`, or those whose indices are inside where the others are taken note of.
    """
    for d, (x, extent) in enumerate(zip(index, extents, strict=True)):
        bad = np.asarray((x < 0) | (x > extent - (CHUNK if d == along else 1)))
        if not bad.any():
            continue
        shape = np.broadcast_shapes(m.shape + (1,) * (bad.ndim - 3), *map(np.shape, index))
        bad = np.broadcast_to(bad, shape)
        if mask is not None:
            bad = bad & mask.reshape(mask.shape + (1,) * (bad.ndim - 3))
        if bad.any():
            at = tuple(np.argwhere(bad)[0])
            reached = [int(np.broadcast_to(i, bad.shape)[at]) for i in index]
            values = f" (8 values along dimension {along})" if along >= 0 else ""
            threads = np.asarray(bad.reshape(*m.shape, -1).any(-1))
            m.refuse(
                OutOfBounds(
                    f"{title(op)}: {what}{reached}{values} is outside of {what}{list(extents)}",
                    where=f"thread {at[1] * LANES + at[2]} of block {m.block(bad)}",
                    hint="an index expression is wrong, or a guard is missing",
                ),
                threads,
            )
            mask = ~threads if mask is None else mask & ~threads
    return mask


def _without(m: Machine, op: kir.Op, what: str, astray: np.ndarray, mask: Mask) -> Mask:
    """Refuse accesses that aren't one chunk, or go on without their threads."""
    m.refuse(NotAChunk(f"{title(op)}: {what}"), astray)
    return ~astray if mask is None else mask & ~astray


def _chunks(
    m: Machine, op: kir.Op, tile: kir.SharedTile, index: Index, buffer: Aff, mask: Mask
) -> tuple[np.ndarray, Mask]:
    """The chunk of a block's memory for each tile-local element; the arrays may have one axis more than threads."""
    assert tile.layout is not None
    mask = within(m, op, tile.name, index, [n for _, n in tile.layout.inputs], mask)
    (chunk,) = apply(tile.layout, *index)
    number = m.at((buffer,))
    mask = within(m, op, f"the buffers of {tile.name}", number, [tile.buffers], mask)
    mask = within(m, op, f"the chunks of {tile.name}", (chunk,), [tile.chunks], mask)
    first = tile.start + np.asarray(number[0]) * tile.chunks
    return chunk + (first[..., None] if np.ndim(chunk) == 4 and first.ndim else first), mask


def _slot(m: Machine, op: kir.ExchangeStore | kir.ExchangeLoad, slot: Any, mask: Mask) -> tuple[Any, Mask]:
    """The chunk of a block's shared memory at which an exchange buffer's slot starts."""
    tile = m.ir.tile(op.buffer)
    slots = tile.buffers * tile.chunks // op.exchange.chunks
    mask = within(m, op, f"the slots of {op.buffer}", (slot,), [slots], mask)
    return tile.start + slot * op.exchange.chunks, mask


@lru_cache(maxsize=256)
def _owned(ownership: IndexMap, count: int) -> tuple[np.ndarray, ...]:
    return apply(ownership, np.arange(LANES).reshape(1, 1, -1, 1), np.arange(count).reshape(1, 1, 1, -1))


def apply(f: IndexMap, *inputs: Any) -> tuple:
    """An index map at numbers or arrays, by position."""
    return f.evaluate({name: x for (name, _), x in zip(f.inputs, inputs, strict=True)})
