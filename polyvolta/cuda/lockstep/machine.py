"""A batch of thread blocks in lockstep: their memories, their names, and control.

Values of the IR's expressions are numbers, where all threads agree, or arrays that broadcast to [block, warp,
lane]. A mask says which threads take part; it comes from the conditions around an operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from polyvolta.cuda import kernel_ir as kir
from polyvolta.cuda.ir_walk import IrPath
from polyvolta.cuda.kernel_ir import CHUNK, CHUNK_BYTES, LANES, KernelIR
from polyvolta.cuda.lockstep.errors import Diverged, NotAChunk, OutOfBounds
from polyvolta.sets import Aff

POISON = {"half": np.uint16(0xFEAD).view(np.float16), "float": np.uint32(0xFFC0DEAD).view(np.float32)}

Index = tuple[Any, ...]  # integers, or integer arrays broadcastable to [block, warp, lane]
Mask = np.ndarray | None  # which threads [block, warp, lane] take part; None: all
Hook = Callable[["Machine", kir.Op, Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Step:
    """An operation that a batch of blocks has taken.

    Parameters
    ----------
    path : where in the kernel's body it stands; see `ir_walk`.
    op : the operation.
    mask : which threads [block, warp, lane] took part, None: all.
    """

    path: IrPath
    op: kir.Op
    mask: Mask


@dataclass(frozen=True, slots=True)
class Memory:
    """A tensor's memory: its values from first to last, [n] of fp16; its shape; its strides, in values."""

    values: np.ndarray
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def runs(self) -> np.ndarray:
        """Every run of eight consecutive values, [n - 7, 8]."""
        count = self.values.size - CHUNK + 1
        return np.lib.stride_tricks.as_strided(self.values, (max(count, 0), CHUNK), self.values.strides * 2)


class Machine:
    """A batch of thread blocks in lockstep: their memories, their names, and the program's effect on them.

    Attributes
    ----------
    ir : the kernel.
    blocks : [3, block]: blockIdx.x, .y, .z of each block of the batch.
    shape : (blocks, warps, 32).
    tensors : name -> `Memory`, of the caller's arrays.
    memory : the blocks' shared memory, [block, chunk, 8] of fp16.
    shared : tile -> [block, chunk, 8], its part of `memory`, all buffers: a view.
    registers : array -> [block, warp, lane, *shape, width] of fp16 ("half") or fp32 ("float").
    values : name -> a number (sizes, scalars, loop variables) or an array broadcastable to `shape`.
    """

    def __init__(
        self,
        ir: KernelIR,
        tensors: Mapping[str, Memory],
        values: Mapping[str, Any],
        blocks: np.ndarray,
        effects: Mapping[type, Callable[[Machine, Any, Mask], None]],
        hook: Hook | None = None,
    ) -> None:
        self.ir, self.tensors, self.blocks, self.effects, self.hook = ir, tensors, blocks, effects, hook
        self.shape = (blocks.shape[1], ir.warps, LANES)
        self.memory = np.full((self.shape[0], ir.shared_bytes // CHUNK_BYTES, CHUNK), POISON["half"])
        self.shared = {t.name: self.memory[:, t.start : t.start + t.buffers * t.chunks] for t in ir.tiles}
        self.registers = {}
        for r in ir.registers:  # in memory, an element of all threads is contiguous; the axes are as documented
            array = np.full((*r.shape, *self.shape, r.width), POISON[r.kind])
            self.registers[r.name] = np.moveaxis(array, (-4, -3, -2), (0, 1, 2))
        self.values: dict[str, Any] = dict(values)
        for axis, numbers in zip("xyz", blocks, strict=True):
            self.values[f"blockIdx.{axis}"] = numbers[:, None, None]
        self.values["linearId"] = np.arange(ir.threads).reshape(1, -1, LANES)
        for name, e in ir.derived:
            self.values[name] = e.evaluate(self.values)
            self._in_range(name, self.values[name])

    def run(self) -> None:
        """Execute the whole program, once."""
        for _ in self.steps():
            pass

    def steps(self) -> Iterator[Step]:
        """Execute the program, once, operation by operation: each step is given out when it has been taken."""
        return self._body(self.ir.body, None, ())

    # ---- control

    def _body(self, body: tuple[kir.Stmt, ...], mask: Mask, at: IrPath, first: int = 0) -> Iterator[Step]:
        for k, s in enumerate(body, first):
            if isinstance(s, kir.Loop):
                yield from self._loop(s, mask, (*at, k))
            elif isinstance(s, kir.When):
                holds = reduce(np.logical_and, (x >= 0 for x in self.at(s.conditions)), True)
                if s.uniform:
                    holds = self._uniform(holds, f"a condition marked uniform, all of {s.conditions} >= 0,")
                yield from self._guarded(s.body, mask, holds, (*at, k))
                if s.orelse:
                    yield from self._guarded(s.orelse, mask, np.logical_not(holds), (*at, k), len(s.body))
            else:
                with np.errstate(all="ignore"):  # values may overflow, divide by zero and be NaN, as on a GPU
                    self.effects[type(s)](self, s, mask)
                if self.hook is not None:
                    self.hook(self, s, self.values)
                yield Step((*at, k), s, mask)

    def _loop(self, loop: kir.Loop, mask: Mask, at: IrPath) -> Iterator[Step]:
        lower = self._uniform(reduce(np.maximum, self.at(loop.lower)), f"a lower bound of loop {loop.var}")
        upper = self._uniform(reduce(np.minimum, self.at(loop.upper)), f"an upper bound of loop {loop.var}")
        for trip in range(int(np.max((upper - lower) // loop.step)) + 1):
            self.values[loop.var] = lower + trip * loop.step
            holds = self.values[loop.var] <= upper
            self._in_range(loop.var, self.values[loop.var], holds)
            yield from self._guarded(loop.body, mask, holds, at)
        self.values.pop(loop.var, None)

    def _guarded(
        self, body: tuple[kir.Stmt, ...], mask: Mask, holds: Any, at: IrPath, first: int = 0
    ) -> Iterator[Step]:
        """A body, for the threads where the condition holds too."""
        if np.all(holds):
            yield from self._body(body, mask, at, first)
        elif np.any(holds):
            both = np.broadcast_to(holds if mask is None else holds & mask, self.shape)
            if both.any():
                yield from self._body(body, both, at, first)

    def _in_range(self, name: str, value: Any, where: Any = True) -> None:
        """Refuse a name's value outside of what the kernel's `ranges` promise to its other readers."""
        low, high = self.ir.ranges.get(name, (None, None))
        bad = (low is not None and value < low) | (high is not None and value > high)
        if np.any(bad & where):
            raise OutOfBounds(
                f"{name} takes the values {np.unique(value)[:4].tolist()}, not in its range {low} .. {high}"
            )

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
            raise Diverged(f"{title(op)}: only part of {group} of block {self._block(split)} takes part")

    def _block(self, where: np.ndarray) -> tuple[int, ...]:
        return tuple(int(x) for x in self.blocks[:, np.argwhere(where)[0][0]])

    # ---- places

    def at(self, index: tuple[Aff, ...]) -> Index:
        """Expressions at the names' present values."""
        return tuple([e.evaluate(self.values) for e in index])

    def number(self, e: Aff, what: str) -> int:
        """An expression on which all threads agree."""
        value: Any = e.evaluate(self.values)
        if np.ndim(value) and np.ptp(value):
            raise Diverged(f"{what} differs between threads: {e}")
        return int(np.max(value))

    def element(self, e: kir.Element) -> np.ndarray:
        """The values of a register element in every thread, [block, warp, lane, width]: a view."""
        array = self.registers[e.array]
        index = [self.number(x, f"an index of register array {e.array}") for x in e.index]
        extents = list(array.shape[3:-1])
        if any(not 0 <= i < n for i, n in zip(index, extents, strict=True)):
            raise OutOfBounds(f"register {e.array}{index} is outside of {e.array}{extents}")
        return array[(slice(None), slice(None), slice(None), *index)]

    def places(self, op: Any, mask: Mask) -> tuple[np.ndarray, int, np.ndarray | None]:
        """Where in a tensor's memory the 8 values of a load or a store lie.

        Returns
        -------
        The number of the first one [block, warp, lane]; the step from one to the next; which of them are inside and
        take part [block, warp, lane, 8], None for all of all threads.
        """
        tensor, memory = self.ir.tensor(op.tensor), self.tensors[op.tensor]
        index = self.at(op.index)
        if op.guarded:
            inside = self.which(index, memory.shape, op.along, mask)
            inside = None if inside.all() else inside
        else:
            self.inside(op, op.tensor, index, memory.shape, mask, -1 if op.along is None else op.along)
            inside = None if mask is None else np.broadcast_to(mask[..., None], (*self.shape, CHUNK))
        first: Any = 0
        for x, stride in zip(index, memory.strides, strict=True):
            first = first + x * stride
        first = np.broadcast_to(first, self.shape)
        step = 0 if op.along is None else memory.strides[op.along]
        if op.along == tensor.order[-1] and tensor.align > 1:
            astray = first % tensor.align != 0
            if (astray if inside is None else astray & inside.any(-1)).any():
                raise NotAChunk(
                    f"{title(op)}: an access of {tensor.align} values to {op.tensor} "
                    f"that isn't aligned to {2 * tensor.align} bytes"
                )
        return first, step, inside

    def which(self, index: Index, extents: Any, along: int | None, mask: Mask) -> np.ndarray:
        """Which of the 8 values at `index` and further along a dimension are inside a box: [block, warp, lane, 8]."""
        inside: Any = True
        for d, (x, extent) in enumerate(zip(index, extents, strict=True)):
            x, extent = (np.asarray(v)[..., None] for v in (x, extent))
            x = x + np.arange(CHUNK) if d == along else x
            inside = inside & (x >= 0) & (x < extent)
        inside = np.broadcast_to(inside, (*self.shape, CHUNK))
        return inside if mask is None else inside & mask[..., None]

    def tile_chunks(self, op: kir.Op, tile: kir.SharedTile, index: Index, buffer: Aff, mask: Mask) -> Any:
        """The chunk of `memory` for each tile-local element; the arrays may have one axis more than threads."""
        if tile.layout is None:
            raise NotAChunk(f"{title(op)}: tile {tile.name} has no layout, as only an exchange buffer may")
        self.inside(op, tile.name, index, [n for _, n in tile.layout.inputs], mask)
        (chunk,) = apply(tile.layout, *index)
        number = self.at((buffer,))
        self.inside(op, f"the buffers of {tile.name}", number, [tile.buffers], mask)
        self.inside(op, f"the chunks of {tile.name}", (chunk,), [tile.chunks], mask)
        first = tile.start + np.asarray(number[0]) * tile.chunks
        return chunk + (first[..., None] if np.ndim(chunk) == 4 and first.ndim else first)

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
                    f"{title(op)}: {what}{reached}{values} is outside of {what}{list(extents)}",
                    where=f"thread {at[1] * LANES + at[2]} of block {self._block(bad)}",
                    hint="an index expression is wrong, or a guard is missing",
                )

    def in_all_blocks(self, chunk: Any, mask: Mask, per_chunk: int = 1) -> np.ndarray:
        """Numbers of chunks, or of parts of chunks, counted through the shared memories of all blocks."""
        blocks, chunks, _ = self.memory.shape
        first = np.arange(blocks)[:, None, None] * (chunks * per_chunk)
        return self.settled(first + chunk, mask)

    def settled(self, value: Any, mask: Mask) -> np.ndarray:
        """A value as [block, warp, lane], 0 for the threads that don't take part."""
        return np.broadcast_to(value, self.shape) if mask is None else np.where(mask, value, 0)


def title(op: kir.Op) -> str:
    """How messages name an operation."""
    return f"{type(op).__name__} {op.statement}".rstrip()


def apply(f: Any, *inputs: Any) -> tuple:
    """An index map at numbers or arrays, by position."""
    return f.evaluate({name: x for (name, _), x in zip(f.inputs, inputs, strict=True)})
