"""The lockstep interpreter: what a kernel means, as a program over numpy arrays.

All threads of many blocks take each operation together. A register array is one numpy array with axes
[block, warp, lane, ...], shared memory one with axes [block, chunk, 8]; an operation is a gather or a scatter
whose places are the operation's own expressions, evaluated for all threads at once. Nothing here knows what a
matrix product is: values arrive in a register because they were loaded, in shared memory because they were
stored, and a tensor-core instruction multiplies what its lanes hold where its ownership maps say.

Three habits make mistakes show. Registers and shared memory start as NaNs of a known pattern (`POISON`), so
what nobody wrote can't pass for a number. Every index is checked against the box that it should keep to, and
every wide access against the boundary that it should start at, with statement, block and thread in the message.
And a warp-wide operation that part of a warp skips, or a barrier that part of a block skips, is an error, not a
guess.

What lockstep can't show is a race: a kernel that lacks a barrier may still compute the right values here.

Data are moved bit by bit. Products of fp16 values are exact in fp32; sums are rounded to fp32, instruction by
instruction: the four products, then their sum onto the accumulator. Pointwise formulas are computed in fp32,
operation by operation.

This module is the way in; `lockstep.machine` has memories, names, control and places, `lockstep.operations` what
each operation does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, log2, prod
from time import perf_counter
from typing import Any
from warnings import warn

import numpy as np

from polyvolta.cuda.kernel_ir import GlobalTensor, KernelIR
from polyvolta.cuda.lockstep.errors import BadHook as BadHook
from polyvolta.cuda.lockstep.errors import BadTensor as BadTensor
from polyvolta.cuda.lockstep.errors import Diverged as Diverged
from polyvolta.cuda.lockstep.errors import NotAChunk as NotAChunk
from polyvolta.cuda.lockstep.errors import OutOfBounds as OutOfBounds
from polyvolta.cuda.lockstep.machine import POISON as POISON
from polyvolta.cuda.lockstep.machine import Hook, Machine, Memory
from polyvolta.cuda.lockstep.operations import EFFECTS
from polyvolta.cuda.lockstep.operations import gathers as gathers
from polyvolta.cuda.views import ITEM, BadArray, extents, leading_dimension

BATCH_BYTES = 2**26  # of registers, shared memory and temporaries: as many blocks as fit run together
PATIENCE = 60  # seconds that interpreting may take without a warning


def interpret(
    ir: KernelIR,
    tensors: Mapping[str, np.ndarray],
    sizes: Mapping[str, int],
    scalars: Mapping[str, float] | None = None,
    *,
    hook: Hook | None = None,
) -> None:
    """Run a kernel on numpy arrays; the output tensors are written in place.

    Parameters
    ----------
    ir : the kernel.
    tensors : an fp16 array for each tensor, of its shape, its values next to one another along the innermost
        dimension of its `order`: a whole array or a view into a larger one, at an address and with a leading
        dimension that are multiples of the tensor's `align`. They stand for separate memories: no overlaps.
    sizes : a value for each symbolic size.
    scalars : a value for each scalar argument.
    hook : called as `hook(machine, op, values)` after each operation of each batch of blocks, with the names'
        values; it may look at, and change, `machine.shared` and `machine.registers`.

    Raises
    ------
    BadTensor : an array, a size or a scalar that is missing or doesn't fit.
    BadHook : the hook is no function.
    OutOfBounds, Diverged, NotAChunk : the kernel is wrong.

    Warns
    -----
    RuntimeWarning : after the first batch of blocks, when all will take more than a minute; says how long.

    Notes
    -----
    Time goes with the number of operations per block times the number of batches, then with the data moved: about
    0.2 s for a product of 256 x 256 x 256, 3 s for 1024 x 1024 x 1024. Memory stays under about 256 MB beyond the
    tensors', whatever the grid.
    """
    if hook is not None and not callable(hook):
        raise BadHook(
            f"hook is a {type(hook).__name__}, which can't be called",
            where=repr(hook)[:200],
            hint="a function of (machine, op, values); see polyvolta.cuda.interpreter.interpret",
        )
    memory, values = prepared_memory(ir, tensors, sizes, scalars)
    grid: list[Any] = [g.evaluate(sizes) for g in ir.grid]
    count, batch = prod(grid), max(1, BATCH_BYTES // _block_bytes(ir))
    start = perf_counter()
    for first in range(0, count, batch):
        Machine(ir, memory, values, _blocks(grid, first, min(first + batch, count)), EFFECTS, hook).run()
        if first == 0 and count > batch:
            _warn_of_hours(ir, sizes, (perf_counter() - start) * count / batch)


def prepared_memory(
    ir: KernelIR,
    tensors: Mapping[str, np.ndarray],
    sizes: Mapping[str, int],
    scalars: Mapping[str, float] | None = None,
) -> tuple[dict[str, Memory], dict[str, Any]]:
    """What a machine is given: each tensor's memory, views of the arrays, and the values of sizes and scalars.

    Parameters as of `interpret`.

    Raises
    ------
    BadTensor
    """
    scalars = scalars or {}
    for what, given, names in (
        ("size", sizes, ir.sizes), ("scalar", scalars, ir.scalars), ("tensor", tensors, [t.name for t in ir.tensors]),
    ):  # fmt: skip
        if missing := [name for name in names if name not in given]:
            raise BadTensor(f"no value for the {what} {', '.join(missing)} of {ir.name}")
    for name, multiple in ir.context:
        if sizes[name] % multiple:
            raise BadTensor(f"{name} = {sizes[name]} isn't a multiple of {multiple}, as {ir.name} requires")
    memory = {t.name: _memory(t, tensors[t.name], sizes) for t in ir.tensors}
    with np.errstate(over="ignore"):  # too large a scalar is infinite, as on a GPU
        values = {**sizes, **{s: np.float32(scalars[s]) for s in ir.scalars}}
    return memory, values


def _blocks(grid: Sequence[int], first: int, end: int) -> np.ndarray:
    """blockIdx.x, .y, .z of blocks by number, x running fastest: [3, end - first]."""
    number = np.arange(first, end)
    return np.stack([number % grid[0], number // grid[0] % grid[1], number // (grid[0] * grid[1])])


def _warn_of_hours(ir: KernelIR, sizes: Mapping[str, int], seconds: float) -> None:
    """Say how long all blocks will take, when that is more than `PATIENCE`, and which sizes would take less."""
    if seconds <= PATIENCE:
        return
    by = 2 ** ceil(log2(seconds / PATIENCE) / 3)  # of each of three dimensions
    smaller = ", ".join(f"{name} = {-(-n // by)}" for name, n in sizes.items())
    long = f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.0f} hours"
    text = f"interpreting {ir.name} on these arrays takes about {long}"
    warn(f"{text}; {smaller} would take about a minute" if smaller else text, RuntimeWarning, stacklevel=3)


def _memory(t: GlobalTensor, array: np.ndarray, sizes: Mapping[str, int]) -> Memory:
    """A tensor's memory, from its first value to its last: a view of the caller's array."""
    shape = extents(t, sizes)
    if array.dtype != np.float16 or array.shape != shape:
        raise BadTensor(f"{t.name} is {array.dtype}{list(array.shape)}, not float16{list(shape)}")
    if t.written and not array.flags.writeable:
        raise BadTensor(f"{t.name} is written to, and its array is read-only")
    if any(s % ITEM for s in array.strides):
        raise BadTensor(f"{t.name} has strides of {array.strides} bytes, no multiples of its values' {ITEM}")
    try:
        ld = leading_dimension(t.name, shape, [s // ITEM for s in array.strides], t.order)
    except BadArray as wrong:
        raise BadTensor(wrong.message, where=wrong.where, hint=wrong.hint) from None
    address = array.ctypes.data
    if array.size and (address % (ITEM * t.align) or ld % t.align):
        raise BadTensor(
            f"{t.name}: accesses of {t.align} values need an address that is a multiple of {ITEM * t.align} bytes "
            f"and a leading dimension that is one of {t.align}",
            where=f"address {address:#x}, leading dimension {ld}",
            hint="views.narrowed(ir, ...) makes the kernel for narrower accesses",
        )
    count = sum((n - 1) * s for n, s in zip(shape, _strides(t, ld), strict=True)) + 1 if array.size else 0
    values = np.lib.stride_tricks.as_strided(array, (count,), (ITEM,), writeable=t.written)
    return Memory(values, shape, _strides(t, ld))


def _strides(t: GlobalTensor, ld: int) -> tuple[int, ...]:
    """Steps along each dimension, in values."""
    return (1,) if len(t.order) == 1 else (ld, 1) if t.order == (0, 1) else (1, ld)


def _block_bytes(ir: KernelIR) -> int:
    """Bytes that one block takes here: registers, shared memory, and 512 a thread for temporaries."""
    registers = sum(prod(r.shape) * r.width * POISON[r.kind].itemsize for r in ir.registers)
    return ir.shared_bytes + ir.threads * (registers + 512)
