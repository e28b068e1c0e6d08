"""Interpreting a kernel with observers on: what they saw, beside the result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from math import prod
from typing import Any

import numpy as np

from polyvolta.compiler.calls import Call, cropped, padded_on_host
from polyvolta.compiler.compiled import Compiled
from polyvolta.cuda.machine.interpreter import interpret
from polyvolta.cuda.machine.observe.counts import CountObserver
from polyvolta.cuda.machine.observe.observations import Observations
from polyvolta.cuda.machine.observe.values import ValueObserver
from polyvolta.cuda.machine.observe.watch import Watch, names_of
from polyvolta.cuda.text.places import Places
from polyvolta.graph.binding import Bound
from polyvolta.graph.functions.rounding import Float64, bounded
from polyvolta.graph.plans.idioms import plan


def observed(
    call: Call, hook: Any, observe: str | Iterable[str], patience: float | None, copies: str | int = "lazy"
) -> Observations:
    """See `Kernel.interpret`. Places are those of the variant that runs; an empty result has nothing to see.

    Raises
    ------
    UnknownName, NothingToObserve : of the observers' names.
    """
    padded = call if call.is_empty else padded_on_host(call).fitted()
    kernel, ir = padded.kernel, padded.ir
    watch = Watch(ir, names_of(observe, ir))
    if not call.is_empty:
        arrays = {a.tensor.name: a.array for a in padded.arguments}
        interpret(
            ir, arrays, padded.sizes, padded.scalars, hook=hook, watch=watch, patience=patience, copies=copies
        )
        cropped(padded, call)
    for o in watch.observers.values():
        if isinstance(o, CountObserver):
            o.useful_flops = useful_flops(kernel, call.sizes)
        elif isinstance(o, ValueObserver):
            o.expected = partial(exact_results, call)
    seen: dict[str, Any] = watch.seen(Places(ir, kernel.schedule))
    made = ", ".join(f"{t.name} = {e}" for t, e in zip(kernel.graph.outputs, kernel.graph.roots, strict=True))
    sizes = ", ".join(f"{n} = {v}" for n, v in call.sizes.items())
    wide = {t.name: t.align for t in call.kernel.ir.tensors}
    if narrow := ", ".join(f"{t.name}={t.align}" for t in ir.tensors if t.align != wide[t.name]):
        sizes += f"; lines are those of kernel.variant({narrow})"
    return Observations(f"{kernel.name}: {made}", sizes, call.result, ir, **seen)


def exact_results(call: Call) -> tuple[tuple[Float64, Float64], ...]:
    """Each output's exact value for a call's arrays, and how far off the kernel's rounding may leave it."""
    arrays = {a.tensor.name: np.asarray(a.array, np.float64) for a in call.inputs}
    with np.errstate(over="ignore"):  # too large a scalar is infinite, as on a GPU
        scalars = {name: float(np.float32(value)) for name, value in call.scalars.items()}
    return bounded(call.kernel.graph, Bound(arrays, call.sizes, scalars))


def useful_flops(kernel: Compiled, sizes: Mapping[str, int]) -> int:
    """Floating-point operations that a graph's products need: 2 M N K each."""
    contractions = plan(kernel.graph, kernel.options.accumulators).contractions
    extents = [[str(e) for e in c.statement.extents] for c in contractions]
    return sum(2 * prod(sizes[e] if e in sizes else int(e) for e in three) for three in extents)
