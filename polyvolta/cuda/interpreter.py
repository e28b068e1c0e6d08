"""The lockstep interpreter: what a kernel means, as a program over numpy arrays.

All threads of many blocks take each operation together. A register array is one numpy array with axes
[block, warp, lane, ...], a shared tile one with axes [block, chunk, 8], so an operation is a gather or a scatter
whose places are the operation's own expressions, evaluated for all threads at once. Nothing here knows what a
matrix product is: values arrive in a register because they were loaded, in shared memory because they were
stored, and a tensor-core instruction multiplies whatever its lanes hold at the places that its ownership maps
say.

Three habits make mistakes show. Registers and shared memory start as NaNs with the payload "dead" (`POISON`),
so what nobody wrote can't pass for a number. Every index is checked against the box that it should keep to, with
statement, block and thread in the message. And a warp-wide operation that part of a warp skips, or a barrier
that part of a block skips, is an error, not a guess.

What lockstep can't show is a race: a kernel that lacks a barrier may still compute the right values here.

Data are moved bit by bit. Products of fp16 values are exact in fp32; sums are rounded to fp32, in the order of
the instructions (four products, then their sum onto the accumulator).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, reduce
from math import prod
from typing import Any

import numpy as np

from polyvolta.cuda import kernel_ir as kir
from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.index_map import IndexMap
from polyvolta.cuda.kernel_ir import CHUNK, KernelIR
from polyvolta.cuda.macro_mma import MacroMma
from polyvolta.sets import Aff

LANES = 32
BATCH_BYTES = 2**26  # of registers, shared memory and temporaries: as many blocks as fit run together
POISON = {
    "half8": np.array(0xFEAD, np.uint16).view(np.float16),
    "float8": np.array(0xFFC0DEAD, np.uint32).view(np.float32),
}  # quiet NaNs

Index = tuple[Any, ...]  # integers, or integer arrays broadcastable to [block, warp, lane]
Mask = np.ndarray | None  # which threads [block, warp, lane] take part; None: all
Hook = Callable[["Machine", kir.Op, Mapping[str, Any]], None]


class OutOfBounds(CudaError, IndexError):
    """A thread reached outside a tensor, a tile or a register array."""

    id = "PV520"


class Diverged(CudaError):
    """Threads that must agree, or act together, don't."""

    id = "PV521"


class NotAChunk(CudaError, ValueError):
    """Eight values that are to be one 128-bit access don't lie in one aligned chunk in order."""

    id = "PV522"


class BadTensor(CudaError, ValueError):
    """An array, or a size, isn't what the kernel's signature says."""

    id = "PV523"


# ---- the way in


def interpret(
    ir: KernelIR,
    tensors: Mapping[str, np.ndarray],
    sizes: Mapping[str, int],
    *,
    hook: Hook | None = None,
) -> None:
    """Run a kernel on numpy arrays; the output tensors are written in place.

    Parameters
    ----------
    ir : the kernel.
    tensors : an fp16 array for each tensor, of the tensor's shape (in elements), contiguous in its `order`:
        a column-major tensor is a Fortran-ordered array. They stand for separate memories: no overlaps.
    sizes : a value for each symbolic size.
    hook : called as `hook(machine, op, values)` after each operation of each batch of blocks, with the names'
        values; it may look at, and change, `machine.shared` and `machine.registers`.

    Raises
    ------
    BadTensor, OutOfBounds, Diverged, NotAChunk

    Notes
    -----
    Time goes with the number of operations per block times the number of batches, then with the data moved;
    memory stays under about 256 MB beyond the tensors', whatever the grid.
    """
    for name, multiple in ir.context:
        if sizes[name] % multiple:
            raise BadTensor(f"{name} = {sizes[name]} isn't a multiple of {multiple}, as {ir.name} requires")
    memory = {t.name: _rows(t, tensors, sizes) for t in ir.tensors}
    grid = [int(g.evaluate(sizes)) for g in ir.grid]
    blocks = np.indices(grid[::-1]).reshape(3, -1)[::-1]  # x, y, z of each block, x the fastest
    batch = max(1, BATCH_BYTES // _block_bytes(ir))
    for first in range(0, blocks.shape[1], batch):
        Machine(ir, memory, sizes, blocks[:, first : first + batch], hook).run()


def _extents(t: kir.GlobalTensor, sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(sizes[d] if isinstance(d, str) else d for d in t.dims)


def _rows(t: kir.GlobalTensor, tensors: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> np.ndarray:
    """A tensor's memory as chunks [n, 8]: a view of the caller's array."""
    array, extents = tensors[t.name], _extents(t, sizes)
    if array.dtype != np.float16 or array.shape != extents:
        raise BadTensor(f"{t.name} is {array.dtype}{list(array.shape)}, not float16{list(extents)}")
    linear = array.transpose(t.order)
    if not linear.flags.c_contiguous or (t.written and not array.flags.writeable):
        raise BadTensor(
            f"{t.name} isn't contiguous in its layout, or is written to and read-only",
            where=f"strides {array.strides} bytes; dimensions from outermost to innermost {t.order}",
            hint="numpy.asfortranarray makes a column-major array",
        )
    return linear.reshape(-1)[: array.size // CHUNK * CHUNK].reshape(-1, CHUNK)


def _block_bytes(ir: KernelIR) -> int:
    """Bytes that one block takes here: registers, shared memory, and 512 a thread for temporaries."""
    registers = sum(prod(r.shape) * CHUNK * POISON[r.kind].itemsize for r in ir.registers)
    return ir.shared_bytes + ir.threads * (registers + 512)


# ---- the machine


class Machine:
    """A batch of thread blocks in lockstep: their memories, their names, and the program's effect on them.

    Attributes
    ----------
    ir : the kernel.
    blocks : [3, block]: blockIdx.x, .y, .z of each block of the batch.
    shape : (blocks, warps, 32).
    tensors : name -> chunks [n, 8] of fp16, views of the caller's arrays.
    shared : tile -> [block, chunk, 8] of fp16.
    registers : array -> [block, warp, lane, *shape, 8] of fp16 ("half8") or fp32 ("float8").
    values : name -> a number (sizes, loop variables) or an array broadcastable to `shape`.
    """

    def __init__(self, ir: KernelIR, tensors: Mapping[str, np.ndarray], sizes: Mapping[str, int],
                 blocks: np.ndarray, hook: Hook | None = None) -> None:  # fmt: skip
        self.ir, self.tensors, self.blocks, self.hook = ir, dict(tensors), blocks, hook
        self.shape = (blocks.shape[1], ir.warps, LANES)
        self.extents = {t.name: _extents(t, sizes) for t in ir.tensors}
        half = POISON["half8"]
        self.shared = {t.name: np.full((self.shape[0], t.chunks, CHUNK), half) for t in ir.tiles}
        self.registers = {
            # an element of all threads is contiguous in memory; the axes are as documented
            r.name: np.moveaxis(
                np.full((*r.shape, *self.shape, CHUNK), POISON[r.kind]), (-4, -3, -2), (0, 1, 2)
            )
            for r in ir.registers
        }
        self.values: dict[str, Any] = dict(sizes)
        for axis, numbers in zip("xyz", blocks, strict=True):
            self.values[f"blockIdx.{axis}"] = numbers[:, None, None]
        self.values["linearId"] = np.arange(ir.threads).reshape(1, -1, LANES)
        for name, e in ir.derived:
            self.values[name] = e.evaluate(self.values)

    def run(self) -> None:
        """Execute the whole program, once."""
        with np.errstate(over="ignore", invalid="ignore"):  # as the conversions and products of a GPU
            self._body(self.ir.body, None)

    # ---- control

    def _body(self, body: tuple[kir.Stmt, ...], mask: Mask) -> None:
        for s in body:
            if isinstance(s, kir.Loop):
                self._loop(s, mask)
            elif isinstance(s, kir.When):
                holds = reduce(np.logical_and, (self._value(e) >= 0 for e in s.conditions), True)
                if s.uniform:
                    holds = self._uniform(holds, "a condition that is said to be uniform")
                self._guarded(s.body, mask, holds)
            else:
                _EXECUTE[type(s)](self, s, mask)
                if self.hook is not None:
                    self.hook(self, s, self.values)

    def _loop(self, loop: kir.Loop, mask: Mask) -> None:
        what = f"a bound of the loop {loop.var}"
        lower = self._uniform(reduce(np.maximum, map(self._value, loop.lower)), what)
        upper = self._uniform(reduce(np.minimum, map(self._value, loop.upper)), what)
        for trip in range(int(np.max((upper - lower) // loop.step)) + 1):
            self.values[loop.var] = lower + trip * loop.step
            self._guarded(loop.body, mask, self.values[loop.var] <= upper)
        self.values.pop(loop.var, None)

    def _guarded(self, body: tuple[kir.Stmt, ...], mask: Mask, holds: Any) -> None:
        """A body, for the threads where the condition holds too."""
        if np.all(holds):
            self._body(body, mask)
        elif np.any(holds):
            both = np.broadcast_to(holds if mask is None else holds & mask, self.shape)
            if both.any():
                self._body(body, both)

    def _value(self, e: Aff) -> Any:
        return e.evaluate(self.values)

    def _uniform(self, value: Any, what: str) -> Any:
        """A value as one number where all blocks agree, else as [block, 1, 1]; the threads of a block must."""
        if np.ndim(value) == 0:
            return value if isinstance(value, int) else value.item()
        per_block = value[:, :1, :1]
        differ = np.broadcast_to(value != per_block, self.shape)
        if differ.any():
            raise Diverged(f"{what} differs between the threads of block {self._block(differ)}")
        return per_block if (per_block != per_block[0]).any() else per_block.flat[0].item()

    def whole(self, op: kir.Op, mask: Mask, axes: tuple[int, ...], group: str) -> None:
        """Refuse an operation that only some threads of a warp, or of a block, take part in."""
        if mask is not None and (split := mask.any(axes, keepdims=True) & ~mask).any():
            raise Diverged(
                f"{_title(op)}: only some threads of {group} of block {self._block(split)} take part",
                hint="the condition around it must be the same for all of them",
            )

    def _block(self, where: np.ndarray) -> tuple[int, ...]:
        return tuple(int(x) for x in self.blocks[:, np.argwhere(where)[0][0]])

    # ---- places

    def element(self, e: kir.Element) -> np.ndarray:
        """The eight values of a register element in every thread, [block, warp, lane, 8]: a view."""
        array, index = self.registers[e.array], []
        for x, extent in zip(map(self._value, e.index), array.shape[3:], strict=False):
            if np.ndim(x) and np.ptp(x):
                raise Diverged(f"an index of register array {e.array} differs between threads: {e.index}")
            index.append(int(np.max(x)))
            if not 0 <= index[-1] < extent:
                raise OutOfBounds(f"register {e.array}{index} is outside {e.array}{list(array.shape[3:-1])}")
        return array[(slice(None), slice(None), slice(None), *index)]

    def global_chunks(self, op: kir.Op, name: str, index: Index, mask: Mask) -> np.ndarray:
        """Where in a tensor the 8 consecutive values from `index` lie: chunk numbers [block, warp, lane]."""
        order, extents = self.ir.tensor(name).order, self.extents[name]
        self.inside(op, f"8 values of {name} at", index, extents, mask, order[-1])
        offset: Any = 0
        for d in order:
            offset = offset * extents[d] + index[d]
        offset = np.broadcast_to(offset, self.shape)
        if mask is not None:
            offset = np.where(mask, offset, 0)
        if (offset % CHUNK).any():
            raise NotAChunk(f"{_title(op)}: a 128-bit access to {name} that isn't aligned to 16 bytes")
        return offset // CHUNK

    def tile_chunks(self, op: kir.Op, tile: kir.SharedTile, index: Index, mask: Mask) -> Any:
        """The layout's chunk for each tile-local element; one more axis than threads have, in both, is fine."""
        layout = tile.layout
        if layout is None:
            raise NotAChunk(f"{_title(op)}: tile {tile.name} has no layout, as only an exchange buffer may")
        self.inside(op, f"tile {tile.name} at", index, [n for _, n in layout.inputs], mask)
        (chunk,) = _apply(layout, *index)
        self.inside(op, f"tile {tile.name} at chunk", (chunk,), (tile.chunks,), mask)
        return chunk

    def inside(self, op: kir.Op, what: str, index: Index, extents: Any, mask: Mask, across: int = -1) -> None:
        """Refuse indices outside a box; along dimension `across`, the seven elements that follow belong too."""
        for d, (x, extent) in enumerate(zip(index, extents, strict=True)):
            bad = np.asarray((x < 0) | (x > extent - (CHUNK if d == across else 1)))
            if not bad.any():
                continue
            bad = np.broadcast_to(bad, np.broadcast_shapes(bad.shape, self.shape + (1,) * (bad.ndim == 4)))
            if mask is not None:
                bad = bad & mask.reshape(mask.shape + (1,) * (bad.ndim == 4))
            if bad.any():
                at = tuple(np.argwhere(bad)[0])
                reached = ", ".join(str(np.broadcast_to(i, bad.shape)[at]) for i in index)
                raise OutOfBounds(
                    f"{_title(op)}: {what} [{reached}] aren't inside {list(extents)}"
                    if across >= 0
                    else f"{_title(op)}: {what} [{reached}] isn't inside {list(extents)}",
                    where=f"thread {at[1] * LANES + at[2]} of block {self._block(bad)}",
                    hint="an index expression is wrong, or a size isn't the multiple that the kernel is for",
                )

    def in_all_blocks(self, tile: str, chunk: Any) -> np.ndarray:
        """Chunk numbers in the tiles of all blocks, one after the other: [block, warp, lane]."""
        blocks, chunks, _ = self.shared[tile].shape
        return np.broadcast_to(np.arange(blocks)[:, None, None] * chunks + chunk, self.shape)


# ---- operations


def _zero(m: Machine, op: kir.Zero, mask: Mask) -> None:
    _write(m.element(op.target), np.float32(0), mask)


def _global_load(m: Machine, op: kir.GlobalLoad, mask: Mask) -> None:
    chunk = m.global_chunks(op, op.tensor, tuple(e.evaluate(m.values) for e in op.index), mask)
    _write(m.element(op.target), m.tensors[op.tensor].take(chunk, 0), mask)


def _shared_store(m: Machine, op: kir.SharedStore, mask: Mask) -> None:
    tile = m.ir.tile(op.tile)

    def places() -> Any:
        index = tuple(e.evaluate(m.values) for e in op.index)
        if np.any(index[m.ir.tensor(tile.of).order[-1]] % CHUNK):
            raise NotAChunk(f"{_title(op)}: a store to tile {tile.name} that doesn't start at a chunk's start")
        return m.tile_chunks(op, tile, index, mask)

    chunk = m.in_all_blocks(op.tile, m.remembered(op, op.index, mask, places))
    _scatter(m.shared[op.tile].reshape(-1, CHUNK), chunk, m.element(op.source), mask)


def _fragment_load(m: Machine, op: kir.FragmentLoad, mask: Mask) -> None:
    tile = m.ir.tile(op.tile)

    def places() -> Any:
        owned = _apply(op.ownership, np.arange(LANES)[:, None], np.arange(CHUNK))
        index = tuple(np.asarray(e.evaluate(m.values))[..., None] + o for e, o in zip(op.origin, owned))
        chunk = m.tile_chunks(op, tile, index, mask)
        chunk = np.broadcast_to(chunk, np.broadcast_shapes(np.shape(chunk), (1, LANES, CHUNK)))
        position = index[m.ir.tensor(tile.of).order[-1]] % CHUNK
        if (chunk != chunk[..., :1]).any() or (position != np.arange(CHUNK)).any():
            raise NotAChunk(f"{_title(op)}: the values that a lane owns aren't one chunk of {tile.name}")
        return chunk[..., 0]

    chunk = m.in_all_blocks(op.tile, m.remembered(op, op.origin, mask, places))
    if mask is not None:
        chunk = np.where(mask, chunk, 0)
    _write(m.element(op.target), m.shared[op.tile].reshape(-1, CHUNK).take(chunk, 0), mask)


def _mma(m: Machine, op: kir.Mma, mask: Mask) -> None:
    m.whole(op, mask, (2,), "a warp")
    d = m.element(op.d)
    a, b = (m.element(e).reshape(-1, LANES * CHUNK) for e in (op.a, op.b))
    for values, at_a, at_b, at_d in m.remembered(op, (), None, lambda: gathers(op.macro)):
        # [warp, quad-pair, row, k] @ [warp, quad-pair, k, column], back to [warp, lane, value]
        product = a.take(at_a, 1).astype(np.float32) @ b.take(at_b, 1).astype(np.float32)
        product = product.reshape(len(a), -1).take(at_d, 1)
        _write(d[..., values], d[..., values] + product.reshape(*m.shape, -1), mask)


@lru_cache(maxsize=64)
def gathers(macro: MacroMma) -> tuple[tuple[slice, np.ndarray, np.ndarray, np.ndarray], ...]:
    """Each instruction of a macro-MMA as gathers, from the instruction's ownership maps.

    Returns, for each step: the values of the accumulator fragment that it works on; where the quad-pairs'
    matrices A [4, 8, 4] and B [4, 4, 8] lie in a warp's fragments (lane * 8 + value); where each lane's
    accumulator values [lane, value] lie in the quad-pairs' products [4, 8, 8].
    """
    lane = np.arange(LANES)[:, None]
    quad_pair = lane % 16 // 4
    m, n, k = macro.instruction.shape
    steps = []
    for step in macro.steps:
        gathered = []
        for own, values, shape in ((macro.instruction.a, step.a, (m, k)), (macro.instruction.b, step.b, (k, n))):
            gathered.append(np.empty((4, *shape), np.intp))
            row, col = _apply(own, lane, np.arange(len(values)))
            gathered[-1][quad_pair, row, col] = lane * CHUNK + np.array(values)
        row, col = _apply(macro.instruction.d, lane, np.arange(len(step.d)))
        at_d = (quad_pair * m + row) * n + col
        steps.append((slice(step.d[0], step.d[-1] + 1), *gathered, at_d))
    return tuple(steps)


def _store_accumulator(m: Machine, op: kir.StoreAccumulator, mask: Mask) -> None:
    m.whole(op, mask, (2,), "a warp")
    ex, lane = op.exchange, np.arange(LANES)
    packed = m.element(op.source).astype(np.float16)  # to nearest even; too large becomes infinite
    buffer = m.shared[op.buffer].reshape(-1, CHUNK)
    of_warp = m.in_all_blocks(op.buffer, ex.chunks * np.arange(m.shape[1])[:, None])
    for p, values in enumerate(ex.registers):
        (word,) = _apply(ex.store, lane, p)
        m.inside(op, f"64-bit word of {op.buffer}", (word,), (2 * ex.chunks,), mask)
        _scatter(buffer.reshape(-1, CHUNK // 2), 2 * of_warp + word, packed[..., values], mask)
    (chunk,) = _apply(ex.load, lane)
    m.inside(op, f"chunk of {op.buffer}", (chunk,), (ex.chunks,), mask)
    words = buffer.take(of_warp + chunk, 0).reshape(*m.shape, CHUNK // 2, 2)[..., ex.words, :]
    index = tuple(e.evaluate(m.values) + o for e, o in zip(op.index, _apply(ex.owns, lane), strict=True))
    _scatter(m.tensors[op.tensor], m.global_chunks(op, op.tensor, index, mask), words.reshape(*m.shape, CHUNK), mask)


def _barrier(m: Machine, op: kir.Barrier, mask: Mask) -> None:
    m.whole(op, mask, (1, 2), "the threads")


_EXECUTE: dict[type, Callable[[Machine, Any, Mask], None]] = {
    kir.Zero: _zero, kir.GlobalLoad: _global_load, kir.SharedStore: _shared_store, kir.FragmentLoad: _fragment_load, kir.Mma: _mma,
    kir.StoreAccumulator: _store_accumulator, kir.Barrier: _barrier,
}  # fmt: skip


def _title(op: kir.Op) -> str:
    return f"{type(op).__name__} {op.statement}".rstrip()


def _apply(f: IndexMap, *inputs: Any) -> tuple:
    """An index map at numbers or arrays, by position."""
    return f.evaluate({name: x for (name, _), x in zip(f.inputs, inputs, strict=True)})


def _write(target: np.ndarray, values: Any, mask: Mask) -> None:
    """target[...] = values, where the threads take part."""
    np.copyto(target, values, where=True if mask is None else mask[..., None])


def _scatter(rows: np.ndarray, place: np.ndarray, values: np.ndarray, mask: Mask) -> None:
    """rows[place] = values, where the threads take part."""
    if mask is None:
        rows[place] = values
    else:
        rows[place[mask]] = values[mask]
