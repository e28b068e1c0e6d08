"""Running a kernel on arrays: which machine, which variant, where the results go.

Arrays in host memory run on the GPU when there is one and on the interpreter otherwise; arrays on a GPU run
there. Nothing is launched where a result is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from polyvolta.compiler.arguments import Argument, dtype_of, memory_order, on_device, places
from polyvolta.compiler.calls import (
    Call,
    check_padding,
    cropped,
    device_call,
    host_call,
    out_names,
    outs_of,
    padded_on_host,
    stream_of,
)
from polyvolta.compiler.compiled import Compiled, NotAMultiple, padded_sizes
from polyvolta.compiler.plans import Packing, Plans, Seen, map_of
from polyvolta.cuda.ir.engines.clusters import ALONE
from polyvolta.cuda.run import launch
from polyvolta.cuda.run.views import BadArray as BadArray
from polyvolta.cuda.run.views import extents
from polyvolta.graph.binding import bind

if TYPE_CHECKING:
    from polyvolta.cuda.machine.stepping import Trace
    from polyvolta.cuda.run.prepared import Nothing, Prepared
    from polyvolta.graph.binding import Bound
    from polyvolta.graph.dag import Graph


def run(kernel: Compiled | Serving, arrays: tuple, named: dict[str, Any], out: Any, stream: Any) -> Any:
    """See `Kernel.__call__`."""
    plans = kernel._plans
    seen, plan = plans.look(arrays, named, out, stream)
    if seen is not None and plan is not None:
        results = plan.run(seen)
        if results is not None:
            return results[0] if len(results) == 1 else results
    bound = bind(kernel.graph, arrays, named)
    return first_call(kernel.serving(bound.sizes), plans, bound, out, stream, seen)


class Serving(Protocol):
    """What is run for any sizes, through the kernel for these."""

    @property
    def graph(self) -> Graph: ...

    @property
    def _plans(self) -> Plans: ...

    def serving(self, sizes: Mapping[str, int]) -> Compiled: ...


def first_call(
    kernel: Compiled, plans: Plans, bound: Bound, out: Any, stream: Any, seen: Seen | None
) -> Any:
    """A call that no plan is there for: all is checked; what was `seen` of it is what its plan is kept under."""
    outs = outs_of(kernel, out)
    given = {**bound.arrays, **{n: o for n, o in zip(out_names(kernel), outs) if o is not None}}
    if places(given):
        stream = stream_of(kernel, bound, stream)
        call = device_call(kernel, bound, outs, stream)
        pack = None if call.is_empty else _on_device(call, stream)
        if seen is not None and (pack is not None or call.is_empty):
            plans.keep(seen, call.inputs, call.outputs, call.results, out_names(kernel), pack)
        return call.result
    launch.stream_handle(stream)  # what is no stream is refused, whether or not there is a GPU to use it
    call = host_call(kernel, bound, outs)
    if call.is_empty:
        return call.result
    return _through_device(call, stream) if launch.gpu_available() else _interpreted(call)


def interpreted(
    kernel: Compiled,
    bound: Bound,
    out: Any,
    hook: Any,
    observe: str | Iterable[str] | None = (),
    patience: float | None = None,
    copies: str | int = "lazy",
) -> Any:
    """The interpreter's results, among what observers saw if there are any; see `Kernel.interpret`."""
    call = host_call(kernel, bound, outs_of(kernel, out))
    if observe is None or (isinstance(observe, tuple | list | set | frozenset) and not observe):
        return call.result if call.is_empty else _interpreted(call, hook, patience, copies)
    from polyvolta.compiler.observing import observed

    return observed(call, hook, observe, patience, copies)


def traced(kernel: Compiled, bound: Bound, block: tuple[int, ...], copies: str | int = "lazy") -> Trace:
    """The steps of one block, on results of its own; see `Kernel.trace`."""
    from polyvolta.cuda.machine.stepping import trace

    names = kernel.check_sizes(bound.sizes)
    call = padded_on_host(host_call(kernel, bound, outs_of(kernel, None))).fitted()
    arrays = {a.tensor.name: a.array for a in call.arguments}
    sizes = {name: call.sizes[name] for name in names}
    return trace(call.ir, call.kernel.schedule, arrays, sizes, call.scalars, block, copies)


def bound_launch(kernel: Compiled, bound: Bound, out: Any, stream: Any) -> Prepared | Nothing:
    """See `Kernel.bind`."""
    from polyvolta.cuda.run.prepared import Nothing

    launch.require_gpu()
    outs = outs_of(kernel, out)
    given = {**bound.arrays, **dict(zip(out_names(kernel), outs, strict=True))}
    allocate = any(o is None for o in outs)
    if allocate or not places(given):
        missing = "every output" if allocate else "arrays on the GPU"
        raise BadArray(
            f"a bound launch is given {missing} beforehand",
            hint="out=..., and polyvolta.cuda.run.launch.to_device(array), or arrays of torch, cupy or numba",
        )
    stream = stream_of(kernel, bound, stream)
    call = device_call(kernel, bound, outs, stream)
    if call.is_empty:
        return Nothing()
    sizes = padded_sizes(kernel, call.sizes)
    if sizes != call.sizes:
        n = next(n for n in sizes if sizes[n] != call.sizes[n])
        raise NotAMultiple(
            f"{n} = {call.sizes[n]} is no multiple of {dict(kernel.ir.context)[n]}: arrays would be padded each time",
            hint='compile with partial="guard"',
        )
    return prepare(call, stream)


# ---- running


def _interpreted(
    call: Call, hook: Any = None, patience: float | None = None, copies: str | int = "lazy"
) -> Any:
    from polyvolta.cuda.machine.interpreter import interpret

    padded = padded_on_host(call).fitted()
    arrays = {a.tensor.name: a.array for a in padded.arguments}
    interpret(padded.ir, arrays, padded.sizes, padded.scalars, hook=hook, patience=patience, copies=copies)
    cropped(padded, call)
    return call.result


def _through_device(call: Call, stream: Any) -> Any:
    """Host arrays: copied to the GPU, run there, copied back."""
    import numpy as np

    padded = padded_on_host(call)
    inputs = []
    for a in padded.inputs:
        array = np.asarray(a.array, order=memory_order(a.tensor))
        inputs.append(on_device(launch.to_device(array, stream), a.tensor, a.tensor.name, stream))
    outputs = []
    for a in padded.outputs:
        device = launch.allocate(a.shape, memory_order(a.tensor), dtype_of(a.tensor))
        outputs.append(on_device(device, a.tensor, a.tensor.name, stream))
    prepare(replace(padded, inputs=tuple(inputs), outputs=tuple(outputs)), stream).launch()
    for device, result in zip(outputs, call.outputs, strict=True):
        whole = launch.copy_to_host(device.array, stream)
        result.array[...] = whole[tuple(slice(n) for n in result.shape)]
    return call.result


def _on_device(call: Call, stream: Any) -> Packing | None:
    """Arrays on the GPU: run in place, or on copies where tiles don't divide the sizes and the kernel wants it.

    Returns
    -------
    What makes such a launch again, and keeps no array alive; None for one on copies.
    """
    sizes = padded_sizes(call.kernel, call.sizes)
    if sizes == call.sizes:
        pack = packing(call, stream)
        pack().launch()
        return pack
    check_padding(call)

    def fitting(a: Argument) -> Argument:
        whole = launch.allocate(extents(a.tensor, sizes), memory_order(a.tensor), dtype_of(a.tensor))
        return on_device(whole, a.tensor, a.tensor.name, stream)

    inputs, outputs = ([fitting(a) for a in side] for side in (call.inputs, call.outputs))
    for small, large in zip(call.inputs, inputs, strict=True):
        launch.clear(large.array, stream)
        launch.copy_lines(small.array, large.array, small.shape, small.tensor.order, stream)
    prepare(replace(call, sizes=sizes, inputs=tuple(inputs), outputs=tuple(outputs)), stream).launch()
    for small, large in zip(call.outputs, outputs, strict=True):
        launch.copy_lines(large.array, small.array, small.shape, small.tensor.order, stream)
    return None


def prepare(call: Call, stream: Any) -> Prepared:
    """Everything about a launch that can be done beforehand: the variant, its machine code, its arguments packed."""
    return packing(call, stream)(tuple(a.array for a in call.arguments))


def packing(call: Call, stream: Any) -> Packing:
    """As `prepare`, but for packing, which the result does as often as it is called, with what is to be kept alive."""
    launch.require_gpu()
    call = call.fitted()
    kernel, arguments = call.kernel, {a.tensor.name: a for a in call.arguments}
    config = kernel.launch_config(**call.sizes)
    loaded = kernel.loaded({a.tensor.name: a.align for a in call.arguments})
    grid = config.grid
    if kernel.ir.resident:
        device, cluster, room = launch.current_device(), kernel.ir.cluster, None
        if cluster != ALONE:
            room = launch.clusters_at_once(loaded.handle, device, cluster, config.block[0], config.shared_bytes)
        grid = kernel.grid_on(launch.multiprocessors(device), call.sizes, room)
    values: dict[int, Any] = dict(enumerate([call.sizes[n] for n in kernel.ir.sizes]))
    values |= dict(enumerate([call.scalars[n] for n in kernel.ir.scalars], len(values)))
    values |= {at: launch.DevicePtr(arguments[name].ptr) for name, at in kernel.parameters.pointers}
    values |= {at: arguments[name].ld for name, at in kernel.parameters.lds}
    values |= {at: map_of(arguments[m.tensor], m)(arguments[m.tensor].ptr) for m, at in kernel.parameters.maps}
    return Packing(
        kernel.parameters, loaded, (grid, config.block, config.shared_bytes),
        tuple(values[at] for at in range(len(values))), launch.stream_handle(stream),
    )  # fmt: skip
