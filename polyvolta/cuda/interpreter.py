"""The lockstep interpreter: what a kernel means, as a program over numpy arrays.

All threads of many blocks take each operation together. A register array is one numpy array with axes
[block, warp, lane, ...], a shared tile one with axes [block, chunk, 8]; an operation is a gather or a scatter
whose places are the operation's own expressions, evaluated for all threads at once. Nothing here knows what a
matrix product is: values arrive in a register because they were loaded, in shared memory because they were
stored, and a tensor-core instruction multiplies what its lanes hold where its ownership maps say.

Three habits make mistakes show. Registers and shared memory start as NaNs of a known pattern (`POISON`), so
what nobody wrote can't pass for a number. Every index is checked against the box that it should keep to, with
statement, block and thread in the message. And a warp-wide operation that part of a warp skips, or a barrier
that part of a block skips, is an error, not a guess.

What lockstep can't show is a race: a kernel that lacks a barrier may still compute the right values here.

Data are moved bit by bit. Products of fp16 values are exact in fp32; sums are rounded to fp32, instruction by
instruction: the four products, then their sum onto the accumulator.
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
POISON = {"half8": np.uint16(0xFEAD).view(np.float16), "float8": np.uint32(0xFFC0DEAD).view(np.float32)}

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
    ir: KernelIR, tensors: Mapping[str, np.ndarray], sizes: Mapping[str, int], *, hook: Hook | None = None
) -> None:
    """Run a kernel on numpy arrays; the output tensors are written in place.

    Parameters
    ----------
    ir : the kernel.
    tensors : an fp16 array for each tensor, of its shape and contiguous in its `order` (column-major: a
        Fortran-ordered array). They stand for separate memories: no overlaps.
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
    grid: list[Any] = [g.evaluate(sizes) for g in ir.grid]
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
            hint="numpy.ascontiguousarray makes a row-major, asfortranarray a column-major matrix",
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
        self.ir, self.tensors, self.blocks, self.hook = ir, tensors, blocks, hook
        self.shape = (blocks.shape[1], ir.warps, LANES)
        self.extents = {t.name: _extents(t, sizes) for t in ir.tensors}
        self.shared = {t.name: np.full((self.shape[0], t.chunks, CHUNK), POISON["half8"]) for t in ir.tiles}
        self.registers = {}
        for r in ir.registers:  # in memory, an element of all threads is contiguous; the axes are as documented
            array = np.full((*r.shape, *self.shape, CHUNK), POISON[r.kind])
            self.registers[r.name] = np.moveaxis(array, (-4, -3, -2), (0, 1, 2))
        self.values: dict[str, Any] = dict(sizes)
        for axis, numbers in zip("xyz", blocks, strict=True):
            self.values[f"blockIdx.{axis}"] = numbers[:, None, None]
        self.values["linearId"] = np.arange(ir.threads).reshape(1, -1, LANES)
        for name, e in ir.derived:
            self.values[name] = e.evaluate(self.values)

    def run(self) -> None:
        """Execute the whole program, once."""
        with np.errstate(over="ignore", invalid="ignore"):  # conversions and sums may overflow, as on a GPU
            self._body(self.ir.body, None)

    # ---- control

    def _body(self, body: tuple[kir.Stmt, ...], mask: Mask) -> None:
        for s in body:
            if isinstance(s, kir.Loop):
                self._loop(s, mask)
            elif isinstance(s, kir.When):
                holds = reduce(np.logical_and, (x >= 0 for x in self.at(s.conditions)), True)
                if s.uniform:
                    holds = self._uniform(holds, f"a condition marked uniform, all of {s.conditions} >= 0,")
                self._guarded(s.body, mask, holds)
            else:
                _EXECUTE[type(s)](self, s, mask)
                if self.hook is not None:
                    self.hook(self, s, self.values)

    def _loop(self, loop: kir.Loop, mask: Mask) -> None:
        lower = self._uniform(reduce(np.maximum, self.at(loop.lower)), f"a lower bound of loop {loop.var}")
        upper = self._uniform(reduce(np.minimum, self.at(loop.upper)), f"an upper bound of loop {loop.var}")
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

    def _uniform(self, value: Any, what: str) -> Any:
        """A value as one number where all blocks agree, else [block, 1, 1]; the threads of a block must."""
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
            raise Diverged(f"{_title(op)}: only part of {group} of block {self._block(split)} takes part")

    def _block(self, where: np.ndarray) -> tuple[int, ...]:
        return tuple(int(x) for x in self.blocks[:, np.argwhere(where)[0][0]])

    # ---- places

    def at(self, index: tuple[Aff, ...]) -> Index:
        """Expressions at the names' present values."""
        return tuple([e.evaluate(self.values) for e in index])

    def element(self, e: kir.Element) -> np.ndarray:
        """The eight values of a register element in every thread, [block, warp, lane, 8]: a view."""
        array, index = self.registers[e.array], []
        for x in self.at(e.index):
            if np.ndim(x) and np.ptp(x):
                raise Diverged(f"an index of register array {e.array} differs between threads: {e.index}")
            index.append(int(np.max(x)))
        extents = list(array.shape[3:-1])
        if any(not 0 <= i < n for i, n in zip(index, extents, strict=True)):
            raise OutOfBounds(f"register {e.array}{index} is outside of {e.array}{extents}")
        return array[(slice(None), slice(None), slice(None), *index)]

    def global_chunks(self, op: kir.Op, name: str, index: Index, mask: Mask) -> np.ndarray:
        """Where in a tensor the 8 consecutive values from `index` lie: chunk numbers [block, warp, lane]."""
        order, extents = self.ir.tensor(name).order, self.extents[name]
        self.inside(op, name, index, extents, mask, order[-1])
        offset: Any = 0
        for d in order:
            offset = offset * extents[d] + index[d]
        offset = self.settled(offset, mask)
        if (offset % CHUNK).any():
            raise NotAChunk(f"{_title(op)}: a 128-bit access to {name} that isn't aligned to 16 bytes")
        return offset // CHUNK

    def tile_chunks(self, op: kir.Op, tile: kir.SharedTile, index: Index, mask: Mask) -> Any:
        """The layout's chunk for each tile-local element; the arrays may have one axis more than threads."""
        if tile.layout is None:
            raise NotAChunk(f"{_title(op)}: tile {tile.name} has no layout, as only an exchange buffer may")
        self.inside(op, tile.name, index, [n for _, n in tile.layout.inputs], mask)
        return _apply(tile.layout, *index)[0]

    def inside(self, op: kir.Op, what: str, index: Index, extents: Any, mask: Mask, along: int = -1) -> None:
        """Refuse indices outside a box; along dimension `along`, the seven next elements belong too."""
        for d, (x, extent) in enumerate(zip(index, extents, strict=True)):
            bad = np.asarray((x < 0) | (x > extent - (CHUNK if d == along else 1)))
            if not bad.any():
                continue
            shape = np.broadcast_shapes(self.shape + (1,) * (bad.ndim - 3), *map(np.shape, index))
            bad = np.broadcast_to(bad, shape)
            if mask is not None:
                bad = bad & mask.reshape(mask.shape + (1,) * (bad.ndim - 3))
            if bad.any():
                at = tuple(np.argwhere(bad)[0])
                reached = [int(np.broadcast_to(i, bad.shape)[at]) for i in index]
                values = f" (8 values along dimension {along})" if along >= 0 else ""
                raise OutOfBounds(
                    f"{_title(op)}: {what}{reached}{values} is outside of {what}{list(extents)}",
                    where=f"thread {at[1] * LANES + at[2]} of block {self._block(bad)}",
                    hint="an index expression is wrong, or a size isn't the multiple that the kernel is for",
                )

    def in_all_blocks(self, op: kir.Op, tile: str, chunk: Any, mask: Mask) -> np.ndarray:
        """Chunk numbers in the tiles of all blocks, one after the other: [block, warp, lane]."""
        blocks, chunks, _ = self.shared[tile].shape
        self.inside(op, f"the chunks of {tile}", (chunk,), [chunks], mask)
        return self.settled(np.arange(blocks)[:, None, None] * chunks + chunk, mask)

    def settled(self, value: Any, mask: Mask) -> np.ndarray:
        """A value as [block, warp, lane], 0 for the threads that don't take part."""
        return np.broadcast_to(value, self.shape) if mask is None else np.where(mask, value, 0)


# ---- operations


def _global_load(m: Machine, op: kir.GlobalLoad, mask: Mask) -> None:
    chunk = m.global_chunks(op, op.tensor, m.at(op.index), mask)
    _write(m.element(op.target), m.tensors[op.tensor].take(chunk, 0), mask)


def _shared_store(m: Machine, op: kir.SharedStore, mask: Mask) -> None:
    tile, index = m.ir.tile(op.tile), m.at(op.index)
    if m.settled(index[m.ir.tensor(tile.of).order[-1]] % CHUNK, mask).any():
        raise NotAChunk(f"{_title(op)}: a store to tile {tile.name} that doesn't start where a chunk does")
    chunk = m.in_all_blocks(op, op.tile, m.tile_chunks(op, tile, index, mask), mask)
    _scatter(m.shared[op.tile].reshape(-1, CHUNK), chunk, m.element(op.source), mask)


def _fragment_load(m: Machine, op: kir.FragmentLoad, mask: Mask) -> None:
    tile = m.ir.tile(op.tile)
    # [block, warp, lane, value], of extent 1 where nothing depends on it
    owned = _apply(op.ownership, np.arange(LANES).reshape(1, 1, -1, 1), np.arange(CHUNK).reshape(1, 1, 1, -1))
    index = tuple(np.asarray(x)[..., None] + own for x, own in zip(m.at(op.origin), owned, strict=True))
    chunk = m.tile_chunks(op, tile, index, mask)
    position = index[m.ir.tensor(tile.of).order[-1]] % CHUNK
    apart = (chunk != chunk[..., :1]) | (position != np.arange(CHUNK))
    if m.settled(apart.any(-1), mask).any():
        raise NotAChunk(f"{_title(op)}: the values that a lane owns aren't one chunk of {tile.name}")
    chunk = m.in_all_blocks(op, op.tile, chunk[..., 0], mask)
    _write(m.element(op.target), m.shared[op.tile].reshape(-1, CHUNK).take(chunk, 0), mask)


def _mma(m: Machine, op: kir.Mma, mask: Mask) -> None:
    m.whole(op, mask, (2,), "the lanes of a warp")
    d = m.element(op.d)
    a, b = (m.element(e).reshape(-1, LANES * CHUNK) for e in (op.a, op.b))
    for values, at_a, at_b, at_d in gathers(op.macro):
        # [warp, quad-pair, row, k] @ [warp, quad-pair, k, column], back to [warp, lane, value]
        product = a.take(at_a, 1).astype(np.float32) @ b.take(at_b, 1).astype(np.float32)
        product = product.reshape(len(a), -1).take(at_d, 1)
        _write(d[..., values], d[..., values] + product.reshape(*m.shape, -1), mask)


@lru_cache(maxsize=64)
def gathers(macro: MacroMma) -> tuple[tuple[slice, np.ndarray, np.ndarray, np.ndarray], ...]:
    """Each instruction of a macro-MMA as gathers, from the instruction's own ownership maps.

    Returns, for each step: the values of the accumulator fragment that it works on; where the quad-pairs'
    matrices A [4, 8, 4] and B [4, 4, 8] lie in a warp's fragments (lane * 8 + value); where each lane's
    accumulator values [lane, value] lie in the quad-pairs' products [4, 8, 8].
    """
    lane = np.arange(LANES)[:, None]
    quad_pair = lane % 16 // 4
    instruction, steps = macro.instruction, []
    rows, cols, depth = instruction.shape
    for step in macro.steps:
        at = np.empty((4, rows, depth), np.intp), np.empty((4, depth, cols), np.intp)
        for matrix, own, values in zip(at, (instruction.a, instruction.b), (step.a, step.b), strict=True):
            matrix[quad_pair, *_apply(own, lane, np.arange(len(values)))] = lane * CHUNK + np.array(values)
        row, col = _apply(instruction.d, lane, np.arange(len(step.d)))
        at_d = (quad_pair * rows + row) * cols + col
        steps.append((slice(step.d[0], step.d[-1] + 1), *at, at_d))
    return tuple(steps)


def _store_accumulator(m: Machine, op: kir.StoreAccumulator, mask: Mask) -> None:
    m.whole(op, mask, (2,), "the lanes of a warp")
    ex, lane = op.exchange, np.arange(LANES)
    packed = m.element(op.source).astype(np.float16)  # to nearest even; too large becomes infinite
    buffer = m.shared[op.buffer].reshape(-1, CHUNK)
    of_warp = ex.chunks * np.arange(m.ir.warps)[:, None]  # the first chunk of each warp's buffer
    (chunk,) = _apply(ex.load, lane)
    m.inside(op, f"a warp's chunks of {op.buffer}", (chunk,), [ex.chunks], mask)
    first, loaded = (m.in_all_blocks(op, op.buffer, of_warp + x, mask) for x in (0, chunk))
    for values, word in zip(ex.registers, _apply(ex.store, lane), strict=True):
        m.inside(op, f"a warp's 64-bit words of {op.buffer}", (word,), [2 * ex.chunks], mask)
        _scatter(buffer.reshape(-1, CHUNK // 2), 2 * first + word, packed[..., values], mask)
    row = buffer.take(loaded, 0).reshape(*m.shape, CHUNK // 2, 2)[..., ex.words, :].reshape(*m.shape, CHUNK)
    index = tuple(x + own for x, own in zip(m.at(op.index), _apply(ex.owns, lane), strict=True))
    _scatter(m.tensors[op.tensor], m.global_chunks(op, op.tensor, index, mask), row, mask)


_EXECUTE: dict[type, Callable[[Machine, Any, Mask], None]] = {
    kir.Zero: lambda m, op, mask: _write(m.element(op.target), np.float32(0), mask),
    kir.GlobalLoad: _global_load,
    kir.SharedStore: _shared_store,
    kir.FragmentLoad: _fragment_load,
    kir.Mma: _mma,
    kir.StoreAccumulator: _store_accumulator,
    kir.Barrier: lambda m, op, mask: m.whole(op, mask, (1, 2), "the threads"),
}


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
    active = ... if mask is None else mask
    rows[place[active]] = values[active]
