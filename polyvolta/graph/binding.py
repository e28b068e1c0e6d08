"""From a call's arguments to tensors, scalars and sizes.

A graph is called as a function: arrays and numbers in the order in which its tensors and scalars first appear, or by
name. The shapes of the arrays say what the symbolic sizes are, and all have to agree. Only `.shape` is looked at
here, so arrays of numpy, torch, cupy and numba bind alike, wherever their data is. A dimension may be empty.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from operator import index
from typing import TYPE_CHECKING, Any

from polyvolta.graph.dims import Size
from polyvolta.graph.errors import ArrayMismatch, BadArguments
from polyvolta.graph.expr import shape_text
from polyvolta.graph.operators import is_number
from polyvolta.graph.tensors import Tensor
from polyvolta.sets.errors import kind_of, nearest

if TYPE_CHECKING:
    from polyvolta.graph.dag import Graph


@dataclass(frozen=True, slots=True)
class Bound:
    """A call's arrays by tensor name and numbers by scalar name, each in the graph's order, and the sizes."""

    arrays: dict[str, Any]
    sizes: dict[str, int]
    scalars: dict[str, float] = field(default_factory=dict)


def bind(graph: Graph | Sequence[Tensor], args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> Bound:
    """The arrays and numbers of a call by name, and the sizes that follow from the arrays' shapes.

    Parameters
    ----------
    graph : a graph, or the tensors and scalars that it reads.
    args : arrays, anything with a `.shape`, and numbers in the order of the graph's arguments.
    kwargs : the same by name.

    Raises
    ------
    BadArguments : an array or a number missing, unknown, given twice, or neither of it.
    ArrayMismatch : a shape that isn't the tensor's, or two values for one size.

    Cost: linear in the number of dimensions; no array is read.

    >>> import numpy as np, polyvolta as pv
    >>> M, N, K = pv.sizes("M N K")
    >>> A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N))
    >>> bind([A, B], [np.ones((2, 3))], {"B": np.ones((3, 4))}).sizes
    {'M': 2, 'K': 3, 'N': 4}
    """
    tensors: tuple[Tensor, ...] = tuple(graph if isinstance(graph, Sequence) else graph.arguments)
    given = _match(tensors, args, kwargs or {})
    scalars: dict[str, float] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    for t in tensors:
        if t.name in given and t.dims:
            shapes[t.name] = _shape(t, given[t.name], tensors)
        elif t.name in given:
            scalars[t.name] = _number(t, given[t.name], tensors)
    if len(given) < len(tensors):
        raise _missing(tensors, given)
    sizes: dict[str, int] = {}
    origin: dict[str, tuple[Tensor, int, tuple[int, ...]]] = {}
    for t in tensors:
        shape = shapes.get(t.name, ())
        for axis, (dim, got) in enumerate(zip(t.dims, shape, strict=True)):
            if not isinstance(dim, Size):
                if dim != got:
                    what = f"array {t.name}: dimension {axis} is {got}, declared as {dim}"
                    raise ArrayMismatch(what, where=_place(t, axis, shape))
            elif sizes.setdefault(dim.name, got) != got:
                raise ArrayMismatch(
                    f"{dim} is {sizes[dim.name]} in one array and {got} in another",
                    where=f"{sizes[dim.name]}: {_place(*origin[dim.name])}\n{got}: {_place(t, axis, shape)}",
                    hint=f"give both dimensions the same length, or declare one with a size other than {dim}",
                )
            else:
                origin.setdefault(dim.name, (t, axis, shape))
    return Bound({name: given[name] for name in shapes}, sizes, scalars)


def _place(t: Tensor, axis: int, shape: tuple[int, ...]) -> str:
    return f"{shape_text(t)}  dimension {axis} of an array of shape {shape}"


def _signature(tensors: Sequence[Tensor], culprits: Collection[str] = ()) -> str:
    """What a call is given, in order, with carets under some of it."""
    words = [shape_text(t) for t in tensors]
    marks = ["^" * len(w) if t.name in culprits else " " * len(w) for t, w in zip(tensors, words, strict=True)]
    line = f"({', '.join(words)})"
    return f"{line}\n {'  '.join(marks)}".rstrip() if culprits else line


def _sizes_of(tensors: Sequence[Tensor]) -> set[str]:
    return {dim.name for t in tensors for dim in t.dims if isinstance(dim, Size)}


def _match(tensors: Sequence[Tensor], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """What was given, by name, as Python matches arguments to parameters; some may be missing."""
    names = [t.name for t in tensors]
    if len(args) > len(names):
        raise BadArguments(
            f"{len(args)} arguments were given, and the graph reads {len(names)}", where=_signature(tensors)
        )
    for name in kwargs:
        if name not in names:
            raise BadArguments(
                f"no tensor or scalar of this graph is named {name!r}",
                where=_signature(tensors),
                hint="sizes are those of the arrays" if name in _sizes_of(tensors) else nearest(name, names),
            )
        if name in names[: len(args)]:
            what = f"{name} was given twice, by position and by name"
            raise BadArguments(what, where=_signature(tensors, [name]))
    return {**dict(zip(names, args, strict=False)), **kwargs}


def _missing(tensors: Sequence[Tensor], given: Collection[str]) -> BadArguments:
    """The error that arrays and numbers are missing."""
    missing = [t for t in tensors if t.name not in given]
    arrays, scalars = ([t.name for t in missing if bool(t.dims) == has] for has in (True, False))
    parts = [f"no array was given for {', '.join(arrays)}"] if arrays else []
    if scalars:
        parts.append(f"no number was given for the scalar{'s' * (len(scalars) > 1)} {', '.join(scalars)}")
    return BadArguments(
        ", and ".join(parts),
        where=_signature(tensors, [t.name for t in missing]),
        hint=f"by name, {', '.join(f'{t.name}=...' for t in missing)}, or by position, in this order",
    )


def _number(t: Tensor, x: Any, tensors: Sequence[Tensor]) -> float:
    """A scalar's value."""
    one = x.item() if getattr(x, "shape", None) == () and hasattr(x, "item") else x
    if is_number(one):
        try:
            return float(one)
        except OverflowError:
            raise BadArguments(f"the number given for {t.name} is beyond every float") from None
    raise BadArguments(
        f"{t.name} is a number, and {_kind(x)} was given for it",
        where=_signature(tensors, [t.name]),
        hint=f"arguments come in this order, or by name: {t.name}=0.5",
    )


def _shape(t: Tensor, array: Any, tensors: Sequence[Tensor]) -> tuple[int, ...]:
    """The array's shape, of as many dimensions as the tensor has."""
    try:
        shape = tuple(index(d) for d in array.shape)
    except (AttributeError, TypeError):
        shape = None
    if shape is None or (shape == () and is_number(array)):
        raise BadArguments(
            f"{t.name} is an array, and {_kind(array)} was given for it",
            where=_signature(tensors, [t.name]),
            hint=f"arguments come in this order, or by name; an array has a .shape, here that of {shape_text(t)}",
        )
    if len(shape) != len(t.dims):
        raise ArrayMismatch(
            f"array {t.name} has {len(shape)} dimension{'s' * (len(shape) != 1)}, its tensor {len(t.dims)}",
            where=f"{shape_text(t)}  given an array of shape {shape}",
            hint=f"give it the shape of {shape_text(t)}",
        )
    return shape


def _kind(x: Any) -> str:
    """What an argument is, in a message."""
    if is_number(x):
        return f"the number {x}"[:60]
    if x is None:
        return "None"
    shape = getattr(x, "shape", None)
    return kind_of(x) if shape is None else f"an array of shape {tuple(shape)}"
