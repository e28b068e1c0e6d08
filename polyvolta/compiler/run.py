"""Running a kernel on arrays: which machine, which variant, where the results go.

Arrays in host memory run on the GPU when there is one and on the interpreter otherwise; arrays on a GPU run
there. A kernel takes any sizes: nothing is launched where a result is empty, and a kernel that was compiled for
multiples of its tiles alone (`partial="pad"`) works on copies of the arrays with zeros around them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from polyvolta.compiler.arguments import (
    Argument,
    check_output,
    check_overlaps,
    empty_on_host,
    for_output,
    memory_order,
    on_device,
    on_host,
    places,
)
from polyvolta.cuda.run import launch
from polyvolta.cuda.run.views import BadArray as BadArray
from polyvolta.cuda.run.views import extents, narrowed

if TYPE_CHECKING:
    from polyvolta.compiler.kernel import Kernel
    from polyvolta.cuda.ir.kernel_ir import GlobalTensor, KernelIR
    from polyvolta.cuda.machine.stepping import TraceStep
    from polyvolta.cuda.run.prepared import Nothing, Prepared
    from polyvolta.graph.binding import Bound
    from polyvolta.graph.plans.plans import Operand


@dataclass(frozen=True, slots=True)
class Call:
    """A call with everything checked.

    Attributes
    ----------
    kernel, sizes, scalars : what is run, for which values of its sizes and scalar arguments.
    inputs, outputs : its arrays, in the order of the kernel's arguments.
    results : what the caller gets for each output: the arrays of its own library.
    """

    kernel: Kernel
    sizes: dict[str, int]
    scalars: dict[str, float]
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    results: tuple[Any, ...]

    @property
    def arguments(self) -> tuple[Argument, ...]:
        return *self.inputs, *self.outputs

    @property
    def ir(self) -> KernelIR:
        """The kernel's IR for accesses as wide as these arrays allow."""
        return narrowed(self.kernel.ir, {a.tensor.name: a.align for a in self.arguments})

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to compute."""
        return any(0 in a.shape for a in self.outputs)

    @property
    def result(self) -> Any:
        return self.results[0] if len(self.results) == 1 else self.results


def run(kernel: Kernel, bound: Bound, out: Any, stream: Any) -> Any:
    """See `Kernel.__call__`."""
    outs = _outs(kernel, out)
    given = {**bound.arrays, **{n: o for n, o in zip(_out_names(kernel), outs) if o is not None}}
    if places(given):
        stream = _stream(kernel, bound, stream)
        call = device_call(kernel, bound, outs, stream)
        if not call.is_empty:
            _on_device(call, stream)
        return call.result
    call = host_call(kernel, bound, outs)
    if call.is_empty:
        return call.result
    return _through_device(call, stream) if launch.gpu_available() else _interpreted(call)


def interpreted(
    kernel: Kernel,
    bound: Bound,
    out: Any,
    hook: Any,
    observe: str | Iterable[str] | None = (),
    patience: float | None = None,
) -> Any:
    """The interpreter's results, among what observers saw if there are any; see `Kernel.interpret`."""
    call = host_call(kernel, bound, _outs(kernel, out))
    if observe is None or (isinstance(observe, tuple | list | set | frozenset) and not observe):
        return call.result if call.is_empty else _interpreted(call, hook, patience)
    from polyvolta.compiler.observing import observed

    return observed(call, hook, observe, patience)


def traced(kernel: Kernel, bound: Bound, block: tuple[int, ...]) -> Iterator[TraceStep]:
    """The steps of one block, on results of its own; see `Kernel.trace`."""
    from polyvolta.cuda.machine.stepping import checked_block, trace

    sizes = kernel.check_sizes(bound.sizes)
    checked_block(block, kernel.launch_config(**sizes).grid, sizes)
    call = padded_on_host(host_call(kernel, bound, _outs(kernel, None)))
    arrays = {a.tensor.name: a.array for a in call.arguments}
    return trace(call.ir, kernel.schedule, arrays, call.sizes, call.scalars, block)


def bound_launch(kernel: Kernel, bound: Bound, out: Any, stream: Any) -> Prepared | Nothing:
    """See `Kernel.bind`."""
    from polyvolta.compiler.kernel import NotAMultiple
    from polyvolta.cuda.run.prepared import Nothing

    launch.require_gpu()
    outs = _outs(kernel, out)
    given = {**bound.arrays, **dict(zip(_out_names(kernel), outs, strict=True))}
    allocate = any(o is None for o in outs)
    if allocate or not places(given):
        missing = "every output" if allocate else "arrays on the GPU"
        raise BadArray(
            f"a bound launch is given {missing} beforehand",
            hint="out=..., and polyvolta.cuda.run.launch.to_device(array), or arrays of torch, cupy or numba",
        )
    stream = _stream(kernel, bound, stream)
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


# ---- from arguments to a call


def _stream(kernel: Kernel, bound: Bound, stream: Any) -> Any:
    """The stream of a call; where none is given, the one on which the first array's library works."""
    return launch.current_stream(bound.arrays[_read(kernel)[0].name]) if stream is None else stream


def written(kernel: Kernel) -> tuple[GlobalTensor, ...]:
    return tuple(t for t in kernel.ir.tensors if t.written)


def _read(kernel: Kernel) -> tuple[GlobalTensor, ...]:
    return tuple(t for t in kernel.ir.tensors if not t.written)


def _out_names(kernel: Kernel) -> tuple[str, ...]:
    """What errors call the outputs."""
    count = len(written(kernel))
    return ("out",) if count == 1 else tuple(f"out[{n}]" for n in range(count))


def _outs(kernel: Kernel, out: Any) -> tuple[Any, ...]:
    """The given output arrays, None for those to allocate."""
    count = len(written(kernel))
    if out is None:
        return (None,) * count
    if isinstance(out, tuple | list):
        if len(out) != count:
            raise BadArray(f"out has {len(out)} arrays, the kernel {count} results", hint="None: allocate that one")
        return tuple(out)
    if count > 1:
        raise BadArray(f"out is one array, the kernel has {count} results", hint=f"out=({', '.join('x' * count)})")
    return (out,)


def host_call(kernel: Kernel, bound: Bound, outs: Sequence[Any]) -> Call:
    """A call on numpy arrays."""
    sizes = kernel.check_sizes(bound.sizes)
    inputs = tuple(on_host(bound.arrays[t.name], t, t.name) for t in _read(kernel))
    results = []
    for t, out in zip(written(kernel), outs, strict=True):
        results.append(empty_on_host(t, extents(t, sizes)) if out is None else out)
    outputs = tuple(
        for_output(on_host, a, t, extents(t, sizes), n)
        for a, t, n in zip(results, written(kernel), _out_names(kernel), strict=True)
    )
    return _checked(kernel, bound, inputs, outputs, tuple(results))


def device_call(kernel: Kernel, bound: Bound, outs: Sequence[Any], stream: Any) -> Call:
    """A call on arrays in GPU memory; results are made by the first input's own library where `outs` has None."""
    sizes = kernel.check_sizes(bound.sizes)
    inputs = tuple(on_device(bound.arrays[t.name], t, t.name, stream) for t in _read(kernel))
    like, results = bound.arrays[_read(kernel)[0].name], []
    for t, out in zip(written(kernel), outs, strict=True):
        results.append(launch.empty_like(like, extents(t, sizes), order=memory_order(t)) if out is None else out)
    outputs = tuple(
        for_output(on_device, a, t, extents(t, sizes), n, stream)
        for a, t, n in zip(results, written(kernel), _out_names(kernel), strict=True)
    )
    return _checked(kernel, bound, inputs, outputs, tuple(results))


def _checked(kernel: Kernel, bound: Bound, inputs: tuple, outputs: tuple, results: tuple) -> Call:
    names = _out_names(kernel)
    for output, name in zip(outputs, names, strict=True):
        check_output(output, extents(output.tensor, bound.sizes), name)
    check_overlaps(inputs, outputs, names)
    scalars = {s: float(bound.scalars[s]) for s in kernel.ir.scalars}
    return Call(kernel, dict(bound.sizes), scalars, inputs, outputs, results)


# ---- running


def _interpreted(call: Call, hook: Any = None, patience: float | None = None) -> Any:
    from polyvolta.cuda.machine.interpreter import interpret

    padded = padded_on_host(call)
    arrays = {a.tensor.name: a.array for a in padded.arguments}
    interpret(padded.ir, arrays, padded.sizes, padded.scalars, hook=hook, patience=patience)
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
        device = launch.allocate(a.shape, memory_order(a.tensor))
        outputs.append(on_device(device, a.tensor, a.tensor.name, stream))
    prepare(replace(padded, inputs=tuple(inputs), outputs=tuple(outputs)), stream).launch()
    for device, result in zip(outputs, call.outputs, strict=True):
        whole = launch.copy_to_host(device.array, stream)
        result.array[...] = whole[tuple(slice(n) for n in result.shape)]
    return call.result


def _on_device(call: Call, stream: Any) -> None:
    """Arrays on the GPU: run in place, or on copies where tiles don't divide the sizes and the kernel wants it."""
    sizes = padded_sizes(call.kernel, call.sizes)
    if sizes == call.sizes:
        prepare(call, stream).launch()
        return
    check_padding(call)

    def fitting(a: Argument) -> Argument:
        whole = launch.allocate(extents(a.tensor, sizes), memory_order(a.tensor))
        return on_device(whole, a.tensor, a.tensor.name, stream)

    inputs, outputs = ([fitting(a) for a in side] for side in (call.inputs, call.outputs))
    for small, large in zip(call.inputs, inputs, strict=True):
        launch.clear(large.array, stream)
        launch.copy_lines(small.array, large.array, small.shape, small.tensor.order, stream)
    prepare(replace(call, sizes=sizes, inputs=tuple(inputs), outputs=tuple(outputs)), stream).launch()
    for small, large in zip(call.outputs, outputs, strict=True):
        launch.copy_lines(large.array, small.array, small.shape, small.tensor.order, stream)


def prepare(call: Call, stream: Any) -> Prepared:
    """Everything about a launch that can be done beforehand: the variant, its machine code, its arguments packed."""
    from polyvolta.cuda.run.prepared import prepare as pack

    launch.require_gpu()
    kernel = call.kernel
    config = kernel.launch_config(**call.sizes)
    loaded = kernel.loaded({a.tensor.name: a.align for a in call.arguments})
    values: list[Any] = [call.sizes[n] for n in kernel.ir.sizes]
    values += [call.scalars[n] for n in kernel.ir.scalars]
    for a in call.arguments:
        values.append(launch.DevicePtr(a.ptr))
        if a.tensor.ld:
            values.append(a.ld)
    keep = tuple(a.array for a in call.arguments)
    return pack(loaded, config.grid, config.block, config.shared_bytes, values, stream, keep)


# ---- padding


def padded_sizes(kernel: Kernel, sizes: dict[str, int]) -> dict[str, int]:
    """The sizes that a kernel works on: the next multiples of what its context asks for."""
    multiples = dict(kernel.ir.context)
    return {n: -(-v // multiples.get(n, 1)) * multiples.get(n, 1) for n, v in sizes.items()}


def check_padding(call: Call) -> None:
    """Refuse zeros around the operands where prologues would make other numbers of them.

    The sum over k runs through the padding: there the product of the operands has to be 0, whatever the values are
    that don't depend on k, as long as they are finite.

    Raises
    ------
    BadArray : a size that is summed over is padded, and the product can't be told to be 0 in the padding.
    """
    from polyvolta.graph.plans.idioms import plan

    padded = padded_sizes(call.kernel, call.sizes)
    for c in plan(call.kernel.graph, call.kernel.options.accumulators).contractions:
        depth = str(c.statement.extents[2])
        if padded.get(depth) == call.sizes.get(depth):
            continue
        left, right = (_beyond(side, c.statement.iterators[2], call.scalars) for side in (c.left, c.right))
        adds = left * right if left is not None and right is not None else 0.0 if 0 in (left, right) else None
        if adds != 0:
            what = "something unknown" if adds is None else f"{adds:g}"
            raise BadArray(
                f"padded with zeros, the operands {c.left.name} and {c.right.name} add {what} to every sum over k",
                where=str(c.statement),
                hint='compile with partial="guard", or give sizes that the tiles divide: '
                + ", ".join(f"{n}: {m}" for n, m in call.kernel.ir.context),
            )


def _beyond(side: Operand, k: str, scalars: dict[str, float]) -> float | None:
    """An operand's value in the padding along k; None where that depends on values that are not there padded."""
    from polyvolta.graph.functions.formula import Call as Node
    from polyvolta.graph.functions.formula import Input, evaluate, fold

    def computed(function: str, xs: tuple[float | None, ...]) -> float | None:
        if None not in xs:
            return float(evaluate(Node(function, tuple(Input(p) for p in range(len(xs)))), xs))
        vanishes = 0 in xs if function == "mul" else function == "div" and xs[0] == 0
        return 0.0 if vanishes else None

    values = [0.0 if k in a.index else None for a in side.accesses] + [scalars[s] for s in side.scalars]
    return fold(side.formula, values, lambda v: v, computed)


def padded_on_host(call: Call) -> Call:
    """The call on copies with zeros around them; the call itself where nothing is to be padded."""
    sizes = padded_sizes(call.kernel, call.sizes)
    if sizes == call.sizes:
        return call
    check_padding(call)
    inputs, outputs = [], []
    for a in call.inputs:
        whole = empty_on_host(a.tensor, extents(a.tensor, sizes))
        whole[...] = 0
        whole[tuple(slice(n) for n in a.shape)] = a.array
        inputs.append(on_host(whole, a.tensor, a.tensor.name))
    for a in call.outputs:
        outputs.append(on_host(empty_on_host(a.tensor, extents(a.tensor, sizes)), a.tensor, a.tensor.name))
    return replace(call, sizes=sizes, inputs=tuple(inputs), outputs=tuple(outputs))


def cropped(padded: Call, call: Call) -> None:
    """The results out of the padded ones."""
    for large, small in zip(padded.outputs, call.outputs, strict=True):
        if large is not small:
            small.array[...] = large.array[tuple(slice(n) for n in small.shape)]
