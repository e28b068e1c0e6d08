"""What a graph means, in float64 numpy: the yardstick for every kernel.

Inputs are widened to float64 and nothing is rounded on the way, so the difference between a kernel's result
and this one is the kernel's own rounding (and the rounding of its output to fp16, or bf16).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyvolta.graph.arrays.host import NotInHostMemory, as_numpy, in_kind, is_foreign
from polyvolta.graph.binding import Bound, bind
from polyvolta.graph.errors import BadArguments
from polyvolta.graph.expr import Constant, Expr, MatMul, Pointwise, walk
from polyvolta.graph.functions.formula import Call, Input, Number
from polyvolta.graph.functions.meaning import MEANING, evaluate
from polyvolta.graph.outputs import Output, as_outputs
from polyvolta.graph.tensors import Tensor, check_names, inputs_of
from polyvolta.sets.errors import kind_of

if TYPE_CHECKING:
    from polyvolta.graph.dag import Graph, Outputs

Float64 = NDArray[np.float64]


@overload
def reference(outputs: Expr | Output, /, *arrays: ArrayLike, **named: ArrayLike) -> Float64: ...
@overload
def reference(
    outputs: Mapping[str, Expr | Output], /, *arrays: ArrayLike, **named: ArrayLike
) -> dict[str, Float64]: ...
@overload
def reference(
    outputs: Sequence[Expr | Output] | Graph, /, *arrays: ArrayLike, **named: ArrayLike
) -> tuple[Float64, ...]: ...
def reference(
    outputs: Outputs | Graph, /, *arrays: Any, **named: Any
) -> Float64 | tuple[Float64, ...] | dict[str, Float64]:
    """The value of `outputs` for those arrays, in float64.

    Parameters
    ----------
    outputs : an expression, a sequence of them, or expressions by name.
    arrays : real arrays and numbers in the order in which tensors and scalars first appear: of numpy, of torch or of
        any other library that exports DLPack from host memory; lists will do.
    named : the same by name.

    Returns
    -------
    An array for one expression, a tuple for a sequence or a graph, a dict for expressions by name. They are numpy's,
    unless the first array given is torch's or another library's: then that library's.

    Raises
    ------
    BadArguments, ArrayMismatch : arrays that don't fit the tensors (see `bind`) or aren't real numbers.
    BadOutputs, NameClash : outputs that make no graph.

    NaN and infinity are computed with in silence. Cost: numpy's, one float64 array for each node.

    >>> import numpy as np, polyvolta as pv
    >>> M, N, K = pv.sizes("M N K")
    >>> A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
    >>> pv.reference(pv.relu(A @ B - 11), np.eye(2), B=np.array([[10, 20], [30, 40]]))
    array([[ 0.,  9.],
           [19., 29.]])
    """
    many = not isinstance(outputs, Expr | Output)
    asked = as_outputs(getattr(outputs, "roots", outputs))
    roots = [o.expr for o in asked]
    inputs = inputs_of(roots)
    check_names(inputs, [o.name for o in asked if o.name is not None])
    names = [t.name for t in inputs]
    if any(isinstance(x, Mapping) for x in arrays):
        bind(inputs, arrays[: len(names)])  # which says for what it stands
    by_position = [_real(x, name) for x, name in zip(arrays, names, strict=False)]
    by_name = {name: _real(x, name) if name in names else x for name, x in named.items()}
    bound = bind(inputs, [*by_position, *arrays[len(names) :]], by_name)
    values: dict[Expr, Any] = {}
    with np.errstate(all="ignore"):
        for node in walk(roots):
            values[node] = value_of(node, values, bound)
    first = next((x for x in (*arrays, *named.values()) if getattr(x, "shape", ())), None)
    results = [in_kind(values[e], first) for e in roots]
    if isinstance(outputs, Mapping):
        return {str(o.name): result for o, result in zip(asked, results, strict=True)}
    return tuple(results) if many else results[0]


def value_of(node: Expr, values: Mapping[Expr, Any], bound: Bound) -> Any:
    """One node in float64, from the values of its operands; numpy warns of NaN and infinity."""
    match node:
        case Tensor(name=name):
            return bound.arrays[name] if node.dims else np.float64(bound.scalars[name])
        case Constant(value=value):
            return value
        case MatMul(left=left, right=right):
            return values[left] @ values[right]
        case Pointwise(function=f, arguments=arguments, definition=None):
            return MEANING[f](*(values[x] for x in arguments))
        case Pointwise(arguments=arguments, definition=Call() | Input() | Number() as formula):
            return evaluate(formula, [values[x] for x in arguments], np.float64)
    raise TypeError(type(node).__name__)


def _bits() -> np.dtype:
    """What stands for bf16 until it is widened: it is the upper half of an fp32 number, and needs no other package."""
    return np.dtype([("bits", np.uint16)])


def _real(x: Any, name: str) -> Float64:
    """The array in float64; complex numbers, texts, booleans and ragged lists are refused."""
    try:
        array = as_numpy(x, _bits) if is_foreign(x) else np.asarray(x)
    except NotInHostMemory as wrong:
        raise BadArguments(f"{name} is {wrong}", hint=wrong.hint) from wrong
    except (TypeError, ValueError) as error:
        raise BadArguments(
            f"{name}: {kind_of(x)} doesn't convert to a numpy array",
            where=str(error)[:400],
            hint="copy it to the host first",
        ) from error
    if array.dtype == _bits():
        return (array["bits"].astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if array.dtype.kind not in "fiu" and array.dtype.name != "bfloat16":  # ml_dtypes', of which numpy knows no kind
        raise BadArguments(
            f"{name}: its elements are {array.dtype}, not real numbers",
            hint="pass float16 or bfloat16 data; other floats and ints are widened",
        )
    return array.astype(np.float64)
