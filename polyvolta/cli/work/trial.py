"""Trying a kernel: what its machine code takes; on random data where it ran, its error against float64, its time.

A run whose data don't fit into memory is refused first. How long interpreting takes is the interpreter's to say, which
measures it; here its warning is a line like the others.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from math import prod
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

import typer

from polyvolta.cli import terminal, values
from polyvolta.cli.progress import Bar
from polyvolta.sets.errors import PolyvoltaError

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from polyvolta.compiler.kernel import Kernel
    from polyvolta.cuda.machine.machine import Machine
    from polyvolta.graph.tensors import Tensor

TOLERANCE = {"float16": 5e-4, "bfloat16": 4e-3}
"""Relative L2 error against float64, by element type: 2^-11 and 2^-8, what the results' rounding may come to at most.
On normal data it comes to less than half of that, which leaves room for the roundings of sums and prologues."""
VALUE_BYTES = 30  # that a run takes for each value: random in fp32, 16 bits, and float64 with what is in between
MANY_VALUES = 1 << 22  # of all inputs, whose random data take some tenths of a second


class TooMuch(PolyvoltaError, MemoryError):
    """A run whose data don't fit into the machine's memory."""

    id = "PV604"


def random_arrays(kernel: Kernel, sizes: dict[str, int], seed: int) -> list[np.ndarray]:
    """Standard normal data for each input of a kernel, of its element type and in its layout."""
    import numpy as np

    from polyvolta.cuda.run.dtypes import numpy_dtype

    rng = np.random.default_rng(seed)
    arrays = []
    for t in kernel.graph.inputs:
        data = rng.standard_normal(shape_of(t, sizes), np.float32).astype(numpy_dtype(t.dtype))
        arrays.append(np.asfortranarray(data) if t.layout == "col" else data)
    return arrays


def shape_of(tensor: Tensor, sizes: dict[str, int]) -> tuple[int, ...]:
    """A tensor's shape at some sizes."""
    return tuple(d if isinstance(d, int) else sizes[d.name] for d in tensor.dims)


def check_memory(kernel: Kernel, sizes: dict[str, int]) -> None:
    """Refuse a run whose arrays, in 16 bits and in the reference's float64, don't fit into the machine's memory.

    Raises
    ------
    TooMuch
    """
    tensors = (*kernel.graph.inputs, *kernel.graph.outputs)
    needed = VALUE_BYTES * sum(prod(shape_of(t, sizes)) for t in tensors)
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else needed
    if needed > there:
        raise TooMuch(
            f"{' x '.join(map(str, sizes.values()))} takes about {needed / 2**30:,.0f} GiB in host memory, with the "
            f"reference in float64; this machine has {there / 2**30:,.0f} GiB",
            hint="a smaller --size",
        )


def check_time(kernel: Kernel, sizes: dict[str, int], interpret: bool) -> None:
    """Refuse a run that would be interpreted for too long, before its data are made: zeros cost nothing.

    Where the data are made in a moment nothing is tried: the run itself refuses.

    Raises
    ------
    TooLong
    """
    import numpy as np

    from polyvolta.cuda.machine.forecast import MOMENT
    from polyvolta.cuda.run import launch
    from polyvolta.cuda.run.dtypes import numpy_dtype

    shapes = [shape_of(t, sizes) for t in kernel.graph.inputs]
    if sum(map(prod, shapes)) < MANY_VALUES or (launch.gpu_available() and not interpret):
        return
    layouts: list[Literal["C", "F"]] = ["F" if t.layout == "col" else "C" for t in kernel.graph.inputs]
    types = [numpy_dtype(t.dtype) for t in kernel.graph.inputs]
    zeros = [np.zeros(shape, t, order) for shape, t, order in zip(shapes, types, layouts, strict=True)]
    start = monotonic()

    def stop(machine: Machine, op: object, names: object) -> None:
        if monotonic() - start > 2 * MOMENT:  # after one it's known to take not too long
            raise _LongEnough

    with Bar("estimating"), suppress(_LongEnough), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of a long run, which says so itself
        interpreted(partial(kernel.interpret, hook=stop), zeros)


class _LongEnough(Exception):
    """A run on zeros has gone on for so long that it is known how long all of it takes."""


def interpreted(call: Callable[..., Any], arrays: Sequence[np.ndarray]) -> Any:
    """What a call gives; where it would take too long, sizes that would not are an option of the command line."""
    from polyvolta.cuda.machine.errors import TooLong

    try:
        return call(*arrays)
    except TooLong as wrong:
        hint = f"a smaller --size: {wrong.smaller}" if wrong.smaller else "a smaller --size"
        raise TooLong(wrong.message, where=wrong.where, hint=hint) from None


def print_resources(out: Console, kernel: Kernel) -> None:
    """What the machine code takes of the target, or why there is none."""
    from polyvolta.cuda.errors import CompilerMissing, UnsupportedArch

    target = kernel.target
    terminal.heading(out, f"machine code for {target.name}")
    try:
        with Bar(f"compiling for {target.name}"):
            r = kernel.resources()
    except (CompilerMissing, UnsupportedArch) as missing:
        out.print("note: no machine code was made; nothing else here needs it.", style="yellow")
        for line in str(missing).splitlines():
            terminal.put(out, line)
        return
    for what, taken in r.of_a_thread(target.registers):
        terminal.fact(out, what, taken)
    terminal.fact(out, "shared memory", f"{r.shared_bytes:,} bytes a block, of {target.shared_bytes:,}")


class Steps:
    """Counts what the interpreter does, as its hook, for a bar: how much that is in all is known beforehand."""

    def __init__(self, bar: Bar) -> None:
        self._bar, self._shown = bar, 0.0
        self._machine: Machine | None = None
        self._before = self._blocks = self._done = 0
        self._of = self._every = 1

    def __call__(self, machine: Machine, op: object, names: object) -> None:
        if machine is not self._machine:
            self._begin(machine)
        self._done += 1
        now = monotonic()
        if now - self._shown > 0.1:
            self._shown = now
            share = self._before + self._blocks * min(self._done / self._of, 1.0)
            self._bar.reach("interpreting", share / self._every, 1.0)

    def _begin(self, machine: Machine) -> None:
        """Another batch of blocks."""
        from polyvolta.cuda.machine.forecast import executions
        from polyvolta.cuda.machine.turns.tiles import launched

        grid = [g.evaluate(machine.values) for g in machine.ir.grid]
        self._before += self._blocks
        self._machine, self._blocks, self._done = machine, machine.blocks.shape[1], 0
        self._every = machine.launched or prod(launched(machine.ir, grid))
        counted = executions(machine.ir, machine.values, machine.blocks, machine.launched)
        self._of = max(sum(counted.values()), 1)


def run_random(
    out: Console, kernel: Kernel, sizes: dict[str, int], seed: int, interpret: bool, json: bool = False
) -> None:
    """Run on standard normal data; print where, the error against float64 and the time, or write them as data.

    Raises
    ------
    typer.Exit : with 1, if the error exceeds that of `TOLERANCE`.
    """
    from time import perf_counter

    import numpy as np

    from polyvolta.cuda.run import launch
    from polyvolta.graph.functions.formats import FORMATS
    from polyvolta.graph.reference import reference

    gpu = launch.gpu_available()
    on_gpu = gpu and not interpret
    arrays = random_arrays(kernel, sizes, seed)
    where = f"GPU, {launch.device_arch()}" if on_gpu else "interpreter" if gpu else "interpreter (no GPU)"
    names = ", ".join(t.name for t in kernel.graph.inputs)
    form = FORMATS[kernel.graph.dtype]
    line = f"{names}: standard normal {form.short} data, seed {seed}."
    if not json:
        terminal.heading(out, f"run {' x '.join(str(sizes[n]) for n in 'MNK')}", line)
    with Bar(f"running on the {where}") as bar:
        call = kernel if on_gpu else kernel.interpret
        if bar.is_shown and not on_gpu:
            call = partial(call, hook=Steps(bar))
        if on_gpu:
            call(*arrays)  # compiles and loads
        start = perf_counter()
        c = interpreted(call, arrays)
        seconds = perf_counter() - start
        bar.pulse("comparing with float64")
        (exact,) = reference(kernel.graph, *arrays)
    error = float(np.linalg.norm(c.astype(np.float64) - exact) / (np.linalg.norm(exact) or 1))
    tolerance = TOLERANCE[kernel.graph.dtype]
    time = f"{seconds:.2f} s" if seconds >= 0.1 else f"{seconds * 1e3:.2f} ms"
    if json:
        found = {"sizes": sizes, "seed": seed, "where": where, "relative_error": error, "tolerance": tolerance,
                 "seconds": seconds, "ok": error <= tolerance}  # fmt: skip
        values.write({**values.kernel(kernel), **found})
    else:
        terminal.fact(out, "ran on", where)
        terminal.fact(out, "relative error", f"{error:.1e} (L2, against float64; at most {tolerance:.0e})")
        terminal.fact(out, "time", time + ", with copies to the GPU and back" * on_gpu)
    if not error <= tolerance:
        message = f"the result is wrong: relative error {error:.1e}, at most {tolerance:.0e}"
        terminal.console(stderr=True).print(message, style="bold red")
        raise typer.Exit(1)
