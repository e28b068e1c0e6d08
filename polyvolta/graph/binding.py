"""From a call's arguments to tensors and sizes.

A graph is called as a function: arrays in the order in which its tensors first appear, or by name. The shapes
of the arrays say what the symbolic sizes are, and all have to agree. Only `.shape` is looked at here, so
arrays of numpy, torch, cupy and numba bind alike, wherever their data is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any

from polyvolta.graph.errors import ArrayMismatch, BadArguments, BadOutputs
from polyvolta.graph.expr import Expr, MatMul, Pointwise, shape_text
from polyvolta.graph.tensors import Size, Tensor
from polyvolta.sets.errors import nearest

if TYPE_CHECKING:
    from polyvolta.graph.dag import Graph


@dataclass(frozen=True, slots=True)
class Bound:
    """Arrays by tensor name, in the tensors' order, and the sizes that their shapes give."""

    arrays: dict[str, Any]
    sizes: dict[str, int]


def as_outputs(outputs: object) -> tuple[tuple[str | None, Expr], ...]:
    """Outputs in any accepted form as (name or None, expression) pairs.

    Raises
    ------
    BadOutputs : none, one twice, something that is no expression, or an input as it is.
    """
    if isinstance(outputs, Mapping):
        named = list(outputs.items())
    elif isinstance(outputs, Iterable) and not isinstance(outputs, str):
        named = [(None, e) for e in outputs]
    else:
        named = [(None, outputs)]
    if not named:
        raise BadOutputs("a graph has at least one output", hint="pass an expression such as A @ B")
    seen: dict[Expr, object] = {}
    pairs: list[tuple[str | None, Expr]] = []
    for at, (name, e) in enumerate(named):
        what = f"output {at if name is None else name!r}"
        if not isinstance(e, MatMul | Pointwise):
            kind = "an input as it is" if isinstance(e, Tensor) else f"a {type(e).__name__}, no expression"
            raise BadOutputs(f"{what} is {kind}", where=str(e)[:200], hint="an output is an operation such as A @ B")
        if e in seen:
            raise BadOutputs(f"{what} is output {seen[e]!r} again", where=str(e), hint="each output is computed once")
        seen[e] = at if name is None else name
        pairs.append((name, e))
    return tuple(pairs)


def bind(graph: Graph | Sequence[Tensor], args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> Bound:
    """The arrays of a call by tensor name, and the sizes that follow from their shapes.

    Parameters
    ----------
    graph : a graph, or the tensors that it reads.
    args : arrays in the order of the graph's inputs; anything with a `.shape`.
    kwargs : arrays by tensor name.

    Raises
    ------
    BadArguments : an array missing, unknown, given twice, or no array.
    ArrayMismatch : a shape that isn't the tensor's, or two values for one size.

    Cost: linear in the number of dimensions; no array is read.

    >>> import numpy as np, polyvolta as pv
    >>> M, N, K = pv.sizes("M N K")
    >>> A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N))
    >>> bind([A, B], [np.ones((2, 3))], {"B": np.ones((3, 4))}).sizes
    {'M': 2, 'K': 3, 'N': 4}
    """
    tensors: tuple[Tensor, ...] = tuple(graph if isinstance(graph, Sequence) else graph.inputs)
    arrays = _match(tensors, args, kwargs or {})
    sizes: dict[str, int] = {}
    origin: dict[str, str] = {}
    for t in tensors:
        shape = _shape(t, arrays[t.name])
        for axis, (dim, got) in enumerate(zip(t.dims, shape, strict=True)):
            place = f"{shape_text(t)}  dimension {axis} of an array of shape {shape}"
            if got < 1:
                raise ArrayMismatch(f"array {t.name} is empty: dimension {axis} is {got}", where=place)
            if not isinstance(dim, Size):
                if dim != got:
                    raise ArrayMismatch(f"array {t.name}: dimension {axis} is {got}, declared as {dim}", where=place)
            elif sizes.setdefault(dim.name, got) != got:
                raise ArrayMismatch(
                    f"{dim} is {sizes[dim.name]} in one array and {got} in another",
                    where=f"{sizes[dim.name]}: {origin[dim.name]}\n{got}: {place}",
                    hint=f"give both dimensions the same length, or declare one with a size other than {dim}",
                )
            else:
                origin.setdefault(dim.name, place)
    return Bound(arrays, sizes)


def _match(tensors: tuple[Tensor, ...], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments to tensors, as Python matches them to parameters."""
    names = [t.name for t in tensors]
    signature = f"({', '.join(map(shape_text, tensors))})"
    if len(args) > len(names):
        raise BadArguments(f"{len(args)} arrays were given for {len(names)} tensors", where=signature)
    for name in kwargs:
        if name not in names:
            raise BadArguments(f"no tensor of this graph is named {name!r}", where=signature, hint=nearest(name, names))
        if name in names[: len(args)]:
            raise BadArguments(f"the array of {name} was given twice, by position and by name", where=signature)
    arrays = {**dict(zip(names, args, strict=False)), **kwargs}
    if missing := [name for name in names if name not in arrays]:
        raise BadArguments(
            f"no array was given for {', '.join(missing)}",
            where=signature,
            hint="arrays come in this order, or by name",
        )
    return {name: arrays[name] for name in names}


def _shape(t: Tensor, array: Any) -> tuple[int, ...]:
    """The array's shape, of as many dimensions as the tensor has."""
    try:
        shape = tuple(index(d) for d in array.shape)
    except (AttributeError, TypeError):
        raise BadArguments(
            f"what was given for {t.name} is no array: {type(array).__name__}",
            where=t.declaration(),
            hint="pass something with a .shape, such as a numpy array",
        ) from None
    if len(shape) != len(t.dims):
        raise ArrayMismatch(
            f"array {t.name} has {len(shape)} dimensions, its tensor {len(t.dims)}",
            where=f"{shape_text(t)}  given an array of shape {shape}",
            hint=f"give it the shape of {shape_text(t)}",
        )
    return shape
