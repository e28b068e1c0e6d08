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

What lockstep can't show by itself is a race: a kernel that lacks a barrier may still compute the right values here.
Observers (`polyvolta.cuda.machine.observe`) see it, and count what a run costs. Asynchronous copies arrive as late as
they may, or when the caller says (`copies`). Roles go at paces of their own (`strands`), and so do the copy engine and
warpgroups' products (`asynchrony`); all of them as that one word says.

Data are moved bit by bit. An instruction's products are summed in float64, where sums of so few products of 16-bit
values are exact but for numbers more than 2^27 apart, so that their order makes no difference; the sum is rounded to
fp32 once, then added onto the accumulator, and rounded again. Pointwise formulas are computed in fp32, operation by
operation.

Blocks of a cluster run as the warps of one block do (`ir.unfolded`), each with memory and barriers of its own.

Where warps of a kernel have roles, each role is in lockstep in all blocks of a batch, as long as blocks wait for the
same in the same order; blocks of which that isn't so run one by one (`asynchrony.units.lockstep`).

This module is the way in; `machine` has memories, names and control, `access` where each operation goes in memory,
`operations` what it does there, `copies` what is on its way, `forecast` how long all of it takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan, prod
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from polyvolta.cuda.ir.engines.unfolded import unfolded
from polyvolta.cuda.ir.kernel_ir import GlobalTensor, KernelIR
from polyvolta.cuda.ir.well_formed import check
from polyvolta.cuda.machine.asynchrony.units import lockstep
from polyvolta.cuda.machine.copies import Arrival, checked_arrival
from polyvolta.cuda.machine.errors import BadCopies as BadCopies
from polyvolta.cuda.machine.errors import BadHook as BadHook
from polyvolta.cuda.machine.errors import BadPatience as BadPatience
from polyvolta.cuda.machine.errors import BadPhase as BadPhase
from polyvolta.cuda.machine.errors import BadTensor as BadTensor
from polyvolta.cuda.machine.errors import Deadlock, LeftBehind
from polyvolta.cuda.machine.errors import Diverged as Diverged
from polyvolta.cuda.machine.errors import NotAChunk as NotAChunk
from polyvolta.cuda.machine.errors import OutOfBounds as OutOfBounds
from polyvolta.cuda.machine.errors import TooLong as TooLong
from polyvolta.cuda.machine.forecast import Forecast
from polyvolta.cuda.machine.machine import POISON as POISON
from polyvolta.cuda.machine.machine import Hook, Machine, Step
from polyvolta.cuda.machine.memories import Memory
from polyvolta.cuda.machine.operations import EFFECTS
from polyvolta.cuda.machine.operations import gathers as gathers
from polyvolta.cuda.machine.turns.tiles import batch, launched
from polyvolta.cuda.run.views import ITEM, BadArray, extents, leading_dimension
from polyvolta.graph.functions.formats import KINDS
from polyvolta.sets import PolyvoltaError
from polyvolta.sets.errors import kind_of

BATCH_BYTES = 2**26  # of registers, shared memory and temporaries: as many blocks as fit run together


class Watching(Protocol):
    """Who watches a run; `polyvolta.cuda.machine.observe.watch` does."""

    def start(self, m: Machine) -> None:
        """A batch of blocks starts."""

    def step(self, m: Machine, step: Step) -> None:
        """An operation was taken."""

    def end(self, m: Machine) -> None:
        """The batch of blocks has ended."""

    def fault(self, m: Machine, wrong: PolyvoltaError, threads: np.ndarray | None) -> bool:
        """Something that would be refused; whether it was taken note of, so that the run goes on."""
        ...

    def ended(self, m: Machine, wrong: PolyvoltaError) -> bool:
        """The batch of blocks can't go on; whether it was taken note of, so that others run."""
        ...


def interpret(
    ir: KernelIR,
    tensors: Mapping[str, np.ndarray],
    sizes: Mapping[str, int],
    scalars: Mapping[str, float] | None = None,
    *,
    hook: Hook | None = None,
    watch: Watching | None = None,
    patience: float | None = None,
    copies: Arrival = "lazy",
) -> None:
    """Run a kernel on numpy arrays; the output tensors are written in place.

    Parameters
    ----------
    ir : the kernel.
    tensors : for each tensor an array of its shape and kind (fp16; bf16 of ml_dtypes, or its bit patterns in uint16),
        its values next to one another along the innermost dimension of its `order`: a whole array or a view into a
        larger one, at an address and with a leading dimension that are multiples of the tensor's `align`. They stand
        for separate memories: no overlaps.
    sizes : a value for each symbolic size.
    scalars : a value for each scalar argument.
    hook : called as `hook(machine, op, values)` after each operation of each batch of blocks, with the names'
        values; it may look at, and change, `machine.shared` and `machine.registers`.
    watch : sees each operation after it was taken, with the threads that took part and where in memory, and takes note
        of what would be refused.
    patience : seconds that all may take; by default ten minutes.
    copies : when asynchronous copies arrive, boxes come and products are done, and whose turn it is where there are
        roles: "lazy", "eager", "random" or the seed of random times; see `copies` and `strands`.

    Raises
    ------
    BadTensor : an array, a size or a scalar that is missing or doesn't fit.
    BadCopies : `copies` is none of these.
    BadHook : the hook is no function.
    BadPatience : the patience is no number of seconds.
    OutOfBounds, Diverged, NotAChunk, BadPhase, Deadlock, LeftBehind : the kernel is wrong.
    TooLong : after about a second, when all would take longer than `patience`; says how long, and smaller sizes.

    Warns
    -----
    RuntimeWarning : after about a second, when all will take more than a minute; says the same.

    Notes
    -----
    Time goes with the number of operations per block times the number of batches, then with the data moved: about
    0.2 s for a product of 256 x 256 x 256, 3 s for 1024 x 1024 x 1024. Memory stays under about 256 MB beyond the
    tensors', whatever the grid.
    """
    if hook is not None and not callable(hook):
        raise BadHook(
            f"hook is {kind_of(hook)}, which can't be called",
            where=repr(hook)[:200],
            hint="a function of (machine, op, values); see polyvolta.cuda.machine.interpreter.interpret",
        )
    number = isinstance(patience, int | float) and not isinstance(patience, bool)
    if patience is not None and (not number or isnan(patience) or patience < 0):
        raise BadPatience(f"patience is a number of seconds, not {patience!r}", hint="patience=3600 is an hour")
    arrival = checked_arrival(copies)
    memory, values = prepared_memory(ir, tensors, sizes, scalars)
    whole = unfolded(ir)
    ir = whole.ir
    grid: list[Any] = [g.evaluate(sizes) for g in ir.grid]
    count = prod(launched(ir, grid))
    together = max(1, BATCH_BYTES // _block_bytes(ir, watch is not None)) if lockstep(ir) else 1
    forecast = Forecast(ir, values, grid, together, patience, perf_counter)
    for first in range(0, count, together):
        blocks = batch(ir, grid, first, min(first + together, count))
        faults = None if watch is None else watch.fault
        machine = Machine(ir, memory, values, blocks, EFFECTS, hook, faults, arrival, count, whole)
        _run(machine, watch, forecast)


def _run(machine: Machine, watch: Watching | None, forecast: Forecast) -> None:
    """A batch of blocks, from start to end."""
    if watch is not None:
        watch.start(machine)
    try:
        for step in (steps := machine.steps()):
            if watch is not None:
                watch.step(machine, step)
            if forecast.measuring:
                forecast.step(step)
            elif watch is None:
                break
        for _ in steps:  # nobody looks at what is left
            pass
        if watch is not None:
            watch.end(machine)
    except (BadPhase, Deadlock, LeftBehind) as wrong:
        if watch is None or not watch.ended(machine, wrong):
            raise


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
    IllFormed : the IR means nothing.
    """
    check(ir)
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


def _memory(t: GlobalTensor, array: np.ndarray, sizes: Mapping[str, int]) -> Memory:
    """A tensor's memory, from its first value to its last: a view of the caller's array."""
    shape = extents(t, sizes)
    kind = KINDS[t.kind]
    if str(array.dtype) == kind.dtype:
        array = array.view(kind.storage)
    if array.dtype != kind.storage or array.shape != shape:
        raise BadTensor(f"{t.name} is {array.dtype}{list(array.shape)}, not {kind.dtype}{list(shape)}")
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
    if t.whole and (run := shape[t.order[-1]]) % t.align:
        raise BadTensor(
            f"{t.name}: copies bring {t.align} values or none, so that its extent along dimension {t.order[-1]} is to "
            f"be a multiple of {t.align}",
            where=f"extent {run}",
            hint="views.narrowed(ir, ...) makes the kernel for narrower accesses",
        )
    count = sum((n - 1) * s for n, s in zip(shape, _strides(t, ld), strict=True)) + 1 if array.size else 0
    values = np.lib.stride_tricks.as_strided(array, (count,), (ITEM,), writeable=t.written)
    return Memory(values, shape, _strides(t, ld))


def _strides(t: GlobalTensor, ld: int) -> tuple[int, ...]:
    """Steps along each dimension, in values."""
    return (1,) if len(t.order) == 1 else (ld, 1) if t.order == (0, 1) else (1, ld)


def _block_bytes(ir: KernelIR, watched: bool = False) -> int:
    """Bytes that one block takes here: registers, shared memory, and 512 a thread for temporaries.

    Observers keep up to six times the shared memory in records, look at all accesses of an operation at once, and where
    phases order threads they have a number for each two of a block.
    """
    registers = sum(prod(r.shape) * r.width * POISON[r.kind].itemsize for r in ir.registers)
    shared, temporaries = (7 * ir.shared_bytes, 4096) if watched else (ir.shared_bytes, 512)
    clocks = 4 * ir.threads**2 if watched and ir.barriers else 0
    return shared + clocks + ir.threads * (registers + temporaries)
