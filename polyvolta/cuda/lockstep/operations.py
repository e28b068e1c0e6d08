"""What each operation of the kernel IR does to a batch of blocks: gathers, scatters, and a little arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from polyvolta.cuda import kernel_ir as kir
from polyvolta.cuda.kernel_ir import CHUNK, CHUNK_BYTES, LANES
from polyvolta.cuda.lockstep.errors import NotAChunk
from polyvolta.cuda.lockstep.machine import Machine, Mask, apply, title
from polyvolta.cuda.macro_mma import MacroMma
from polyvolta.graph.formula import evaluate

TYPES = {"half": np.float16, "float": np.float32}


# ---- global memory


def _global_load(m: Machine, op: kir.GlobalLoad, mask: Mask) -> None:
    first, step, inside = m.places(op, mask)
    memory, target = m.tensors[op.tensor], m.element(op.target)
    if inside is None and step == 1:
        target[...] = memory.runs[first]
        return
    places = first[..., None] + step * np.arange(CHUNK)
    if inside is None:
        target[...] = memory.values[places]
        return
    values = np.zeros(target.shape, np.float16)
    values[inside] = memory.values[places[inside]]
    _write(target, values, mask)


def _global_store(m: Machine, op: kir.GlobalStore, mask: Mask) -> None:
    first, step, inside = m.places(op, mask)
    memory, values = m.tensors[op.tensor], m.element(op.source).astype(np.float16)  # to nearest even
    if inside is None and step == 1:
        memory.runs[first] = values
        return
    places = first[..., None] + step * np.arange(CHUNK)
    active = ... if inside is None else inside
    memory.values[places[active]] = values[active]


# ---- registers


def _zero(m: Machine, op: kir.Zero, mask: Mask) -> None:
    _write(m.element(op.target), 0, mask)


def _scale(m: Machine, op: kir.Scale, mask: Mask) -> None:
    target = m.element(op.target)
    _write(target, target * np.float32(op.factor), mask)


def _pointwise(m: Machine, op: kir.Pointwise, mask: Mask) -> None:
    operands = [
        m.element(x).astype(np.float32) if isinstance(x, kir.Element) else np.float32(m.values[x]) for x in op.operands
    ]
    values = evaluate(op.formula, operands)
    target = m.element(op.target)
    if op.inside is not None:
        index, extents = m.at(op.inside.index), m.at(op.inside.extents)
        values = np.where(m.which(index, extents, op.inside.along, None), values, np.float32(0))
    _write(target, values.astype(target.dtype), mask)


# ---- shared memory


def _shared_store(m: Machine, op: kir.SharedStore, mask: Mask) -> None:
    tile, index = m.ir.tile(op.tile), m.at(op.index)
    chunk = m.tile_chunks(op, tile, index, op.buffer, mask)
    if m.settled(index[tile.order[-1]] % CHUNK, mask).any():
        raise NotAChunk(f"{title(op)}: a store to tile {tile.name} that doesn't start where a chunk does")
    _scatter(m.memory.reshape(-1, CHUNK), m.in_all_blocks(chunk, mask), m.element(op.source), mask)


def _fragment_load(m: Machine, op: kir.FragmentLoad, mask: Mask) -> None:
    tile, target = m.ir.tile(op.tile), m.element(op.target)
    own = _owned(op.ownership, target.shape[-1])  # [1, 1, lane, value], of extent 1 where nothing depends on it
    index = tuple(np.asarray(x)[..., None] + o for x, o in zip(m.at(op.origin), own, strict=True))
    chunk = m.tile_chunks(op, tile, index, op.buffer, mask)
    position = index[tile.order[-1]] % CHUNK
    parts = CHUNK // op.access  # accesses in a chunk
    groups = target.reshape(*m.shape, -1, op.access)
    for g in range(target.shape[-1] // op.access):
        values = slice(g * op.access, (g + 1) * op.access)
        chunks, at = (np.broadcast_to(x, (*x.shape[:-1], target.shape[-1]))[..., values] for x in (chunk, position))
        apart = (chunks != chunks[..., :1]) | (at != at[..., :1] // op.access * op.access + np.arange(op.access))
        if m.settled(apart.any(-1), mask).any():
            what = "chunk" if op.access == CHUNK else f"aligned run of {op.access} values"
            raise NotAChunk(f"{title(op)}: the values that a lane loads at once aren't one {what} of {tile.name}")
        word = m.in_all_blocks(parts * chunks[..., 0] + at[..., 0] // op.access, mask, parts)
        _write(groups[..., g, :], m.memory.reshape(-1, op.access).take(word, 0), mask)


@lru_cache(maxsize=256)
def _owned(ownership: Any, count: int) -> tuple[np.ndarray, ...]:
    return apply(ownership, np.arange(LANES).reshape(1, 1, -1, 1), np.arange(count).reshape(1, 1, 1, -1))


# ---- tensor cores


def _mma(m: Machine, op: kir.Mma, mask: Mask) -> None:
    m.whole(op, mask, (2,), "the lanes of a warp")
    d = m.element(op.d)
    a, b = (x.reshape(-1, LANES * x.shape[-1]) for x in (m.element(op.a), m.element(op.b)))
    for values, at_a, at_b, at_d in gathers(op.macro):
        # [warp, quad-pair, row, k] @ [warp, quad-pair, k, column], back to [warp, lane, value]
        product = a.take(at_a, 1).astype(np.float32) @ b.take(at_b, 1).astype(np.float32)
        product = product.reshape(len(a), -1).take(at_d, 1).reshape(*m.shape, -1)
        if isinstance(values, slice):
            _write(d[..., values], d[..., values] + product, mask)
        else:
            before = d[..., values]
            d[..., values] = before + product if mask is None else np.where(mask[..., None], before + product, before)


@lru_cache(maxsize=64)
def gathers(macro: MacroMma) -> tuple[tuple[Any, np.ndarray, np.ndarray, np.ndarray], ...]:
    """Each instruction of a macro-MMA as gathers, from the instruction's own ownership maps.

    Returns, for each step: the values of the accumulator fragment that it works on, a slice where they are
    consecutive; where the quad-pairs' matrices A [4, 8, 4] and B [4, 4, 8] lie in a warp's fragments
    (lane * values of a fragment + value); where each lane's accumulator values [lane, value] lie in the quad-pairs'
    products [4, 8, 8].
    """
    lane = np.arange(LANES)[:, None]
    quad_pair = lane % 16 // 4
    instruction, steps = macro.instruction, []
    rows, cols, depth = instruction.shape
    for step in macro.steps:
        at = np.empty((4, rows, depth), np.intp), np.empty((4, depth, cols), np.intp)
        sides = zip(at, (instruction.a, instruction.b), (step.a, step.b), macro.values[:2], strict=True)
        for matrix, own, values, width in sides:
            matrix[quad_pair, *apply(own, lane, np.arange(len(values)))] = lane * width + np.array(values)
        row, col = apply(instruction.d, lane, np.arange(len(step.d)))
        at_d = (quad_pair * rows + row) * cols + col
        consecutive = step.d == tuple(range(step.d[0], step.d[0] + len(step.d)))
        values = slice(step.d[0], step.d[-1] + 1) if consecutive else np.array(step.d)
        steps.append((values, *at, at_d))
    return tuple(steps)


# ---- exchange


def _exchange_store(m: Machine, op: kir.ExchangeStore, mask: Mask) -> None:
    m.whole(op, mask, (2,), "the lanes of a warp")
    ex, fragment = op.exchange, m.element(op.source).astype(TYPES[op.exchange.kind])
    length = len(ex.pieces[0])
    per_chunk = CHUNK_BYTES // (length * fragment.itemsize)  # pieces in a chunk
    first = per_chunk * _slot(m, op, m.at((op.slot,))[0], mask)
    pieces = m.memory.reshape(-1, CHUNK).view(fragment.dtype).reshape(-1, length)
    for values, place in zip(ex.pieces, apply(ex.store, np.arange(LANES)), strict=True):
        m.inside(op, f"a warp's pieces of {op.buffer}", (place,), [per_chunk * ex.chunks], mask)
        _scatter(pieces, m.in_all_blocks(first + place, mask, per_chunk), fragment[..., values], mask)


def _exchange_load(m: Machine, op: kir.ExchangeLoad, mask: Mask) -> None:
    m.whole(op, mask, (2,), "the lanes of a warp")
    ex, target = op.exchange, m.element(op.target)
    vectors = apply(ex.load, np.arange(LANES), m.number(op.round, "the round of an exchange"))
    m.inside(op, f"a warp's chunks of {op.buffer}", vectors, [ex.chunks] * len(vectors), mask)
    slot = m.at((op.slot,))[0]
    total: Any = None
    for part in range(op.parts):
        first = _slot(m, op, slot + part * op.stride, mask)
        loaded = [m.memory.reshape(-1, CHUNK).take(m.in_all_blocks(first + v, mask), 0) for v in vectors]
        run = np.concatenate([x.view(TYPES[ex.kind]) for x in loaded], -1)[..., ex.words]
        total = run if total is None else total.astype(np.float32) + run
    _write(target, total.astype(target.dtype), mask)


def _slot(m: Machine, op: Any, slot: Any, mask: Mask) -> Any:
    """The chunk of a block's shared memory at which an exchange buffer's slot starts."""
    tile = m.ir.tile(op.buffer)
    m.inside(op, f"the slots of {op.buffer}", (slot,), [tile.buffers * tile.chunks // op.exchange.chunks], mask)
    return tile.start + slot * op.exchange.chunks


def _barrier(m: Machine, op: kir.Barrier, mask: Mask) -> None:
    if op.scope == "warp":
        m.whole(op, mask, (2,), "the lanes of a warp")
    else:
        m.whole(op, mask, (1, 2), "the threads")


EFFECTS: dict[type, Callable[[Machine, Any, Mask], None]] = {
    kir.Zero: _zero,
    kir.Scale: _scale,
    kir.GlobalLoad: _global_load,
    kir.Pointwise: _pointwise,
    kir.SharedStore: _shared_store,
    kir.FragmentLoad: _fragment_load,
    kir.Mma: _mma,
    kir.ExchangeStore: _exchange_store,
    kir.ExchangeLoad: _exchange_load,
    kir.GlobalStore: _global_store,
    kir.Barrier: _barrier,
}


def _write(target: np.ndarray, values: Any, mask: Mask) -> None:
    """target[...] = values, where the threads take part."""
    np.copyto(target, values, where=True if mask is None else mask[..., None])


def _scatter(rows: np.ndarray, place: np.ndarray, values: np.ndarray, mask: Mask) -> None:
    """rows[place] = values, where the threads take part."""
    active = ... if mask is None else mask
    rows[place[active]] = values[active]
