"""Calls: arguments that fit the kernel, and each other.

A kernel takes any sizes. One that was compiled for multiples of its tiles alone (`partial="pad"`) works on copies of
the arrays with zeros around them, where these make no difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from polyvolta.compiler.arguments import (
    Argument,
    check_output,
    check_overlaps,
    dtype_of,
    empty_on_host,
    fitting,
    for_output,
    memory_order,
    on_device,
    on_host,
)
from polyvolta.compiler.compiled import Compiled, padded_sizes
from polyvolta.cuda.ir.kernel_ir import CHUNK
from polyvolta.cuda.run import launch
from polyvolta.cuda.run.tensor_maps import takes
from polyvolta.cuda.run.views import ITEM, BadArray, extents, narrowed

if TYPE_CHECKING:
    from polyvolta.cuda.ir.kernel_ir import GlobalTensor, KernelIR
    from polyvolta.graph.binding import Bound
    from polyvolta.graph.plans.plans import Operand


@dataclass(frozen=True, slots=True)
class Call:
    """A call with everything checked.

    Attributes
    ----------
    kernel, sizes, scalars : what is run, for which values of its sizes and scalar arguments.
    inputs, outputs : its arrays, in the order of the kernel's arguments.
    results : what the caller gets for each output: the arrays of its own library; or numpy's, which `result` makes
        arrays of that library of.
    like : in host memory, an array of the library of which results are that the caller gave no array for.
    given : for each output whether the caller gave an array for it.
    """

    kernel: Compiled
    sizes: dict[str, int]
    scalars: dict[str, float]
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    results: tuple[Any, ...]
    like: Any = None
    given: tuple[bool, ...] = ()

    @property
    def arguments(self) -> tuple[Argument, ...]:
        return *self.inputs, *self.outputs

    def fitted(self) -> Call:
        """The call of the kernel for its arrays: one that copies otherwise, where the copy engine doesn't take them."""
        plain = [a.tensor.name for a in self.arguments if a.tensor.name in self.kernel.boxed and not _boxes(a)]
        kernel = self.kernel.taking(plain)
        if kernel is self.kernel:
            return self
        tensors = {t.name: t for t in kernel.ir.tensors}
        inputs, outputs = ([fitting(a, tensors[a.tensor.name]) for a in side] for side in (self.inputs, self.outputs))
        return replace(self, kernel=kernel, inputs=tuple(inputs), outputs=tuple(outputs))

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
        """What the caller gets, once everything is computed."""
        results = self.results
        if self.like is not None:
            from polyvolta.graph.arrays.host import in_kind

            results = tuple(r if g else in_kind(r, self.like) for r, g in zip(results, self.given, strict=True))
        return results[0] if len(results) == 1 else results


def _boxes(a: Argument) -> bool:
    """Whether the copy engine takes an array."""
    lines, run = (a.shape[d] for d in a.tensor.order)
    return a.align >= CHUNK and takes(a.ptr, (lines, run), ITEM * a.ld)


def written(kernel: Compiled) -> tuple[GlobalTensor, ...]:
    return tuple(t for t in kernel.ir.tensors if t.written)


def read(kernel: Compiled) -> tuple[GlobalTensor, ...]:
    return tuple(t for t in kernel.ir.tensors if not t.written)


def out_names(kernel: Compiled) -> tuple[str, ...]:
    """What errors call the outputs."""
    count = len(written(kernel))
    return ("out",) if count == 1 else tuple(f"out[{n}]" for n in range(count))


def outs_of(kernel: Compiled, out: Any) -> tuple[Any, ...]:
    """The given output arrays, None for those to allocate."""
    count = len(written(kernel))
    if out is None:
        return (None,) * count
    if isinstance(out, tuple | list):
        if len(out) != count:
            arrays, results = (f"{n} {what}{'s' * (n != 1)}" for n, what in ((len(out), "array"), (count, "result")))
            raise BadArray(f"out has {arrays}, the kernel {results}", hint="None: allocate that one")
        return tuple(out)
    if count > 1:
        raise BadArray(f"out is one array, the kernel has {count} results", hint=f"out=({', '.join('x' * count)})")
    return (out,)


def stream_of(kernel: Compiled, bound: Bound, stream: Any) -> Any:
    """The stream of a call; where none is given, the one on which the first array's library works."""
    return launch.current_stream(bound.arrays[read(kernel)[0].name]) if stream is None else stream


def host_call(kernel: Compiled, bound: Bound, outs: Sequence[Any]) -> Call:
    """A call on arrays in host memory; results are of the library of the first input where `outs` has None."""
    sizes = kernel.check_sizes(bound.sizes)
    inputs = tuple(on_host(bound.arrays[t.name], t, t.name) for t in read(kernel))
    results = []
    for t, out in zip(written(kernel), outs, strict=True):
        results.append(empty_on_host(t, extents(t, sizes)) if out is None else out)
    outputs = tuple(
        for_output(on_host, a, t, extents(t, sizes), n)
        for a, t, n in zip(results, written(kernel), out_names(kernel), strict=True)
    )
    call = _checked(kernel, bound, inputs, outputs, tuple(results))
    like, given = bound.arrays[read(kernel)[0].name], tuple(o is not None for o in outs)
    return call if inputs[0].array is like else replace(call, like=like, given=given)


def device_call(kernel: Compiled, bound: Bound, outs: Sequence[Any], stream: Any) -> Call:
    """A call on arrays in GPU memory; results are made by the first input's own library where `outs` has None."""
    sizes = kernel.check_sizes(bound.sizes)
    inputs = tuple(on_device(bound.arrays[t.name], t, t.name, stream) for t in read(kernel))
    like, results = bound.arrays[read(kernel)[0].name], []
    for t, out in zip(written(kernel), outs, strict=True):
        results.append(_made_like(like, t, extents(t, sizes)) if out is None else out)
    outputs = tuple(
        for_output(on_device, a, t, extents(t, sizes), n, stream)
        for a, t, n in zip(results, written(kernel), out_names(kernel), strict=True)
    )
    return _checked(kernel, bound, inputs, outputs, tuple(results))


def _made_like(array: Any, tensor: GlobalTensor, shape: tuple[int, ...]) -> Any:
    """A result in GPU memory, made by the library that made `array`."""
    return launch.empty_like(array, shape, dtype=dtype_of(tensor), order=memory_order(tensor))


def _checked(kernel: Compiled, bound: Bound, inputs: tuple, outputs: tuple, results: tuple) -> Call:
    names = out_names(kernel)
    for output, name in zip(outputs, names, strict=True):
        check_output(output, extents(output.tensor, bound.sizes), name)
    check_overlaps(inputs, outputs, names)
    scalars = {s: float(bound.scalars[s]) for s in kernel.ir.scalars}
    return Call(kernel, dict(bound.sizes), scalars, inputs, outputs, results)


# ---- padding


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
    from polyvolta.graph.functions.formula import Input, fold
    from polyvolta.graph.functions.meaning import evaluate

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
        if large.array is not small.array:
            small.array[...] = large.array[tuple(slice(n) for n in small.shape)]
