"""Tensors: the leaves of every graph, each a name, a shape of sizes and ints, and a layout.

The layout says which index runs fastest in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import index
from typing import Any, Literal, Never

from polyvolta.graph.dims import Dim, Size
from polyvolta.graph.errors import BadSize, NameClash, UnknownLayout, UnsupportedDtype
from polyvolta.graph.expr import Expr, shape_text, walk
from polyvolta.graph.names import check_name
from polyvolta.sets.errors import nearest

LAYOUTS = ("row", "col")
DTYPES = ("float16", "bfloat16")
"""Of a kernel's tensors; all of one kernel have the same."""
_ALIASES = {"float16": "float16", "fp16": "float16", "half": "float16", "f2": "float16", "<f2": "float16",
            "f16": "float16", "e": "float16", "float": "float32", "single": "float32", "fp32": "float32",
            "double": "float64", "fp64": "float64", "bfloat16": "bfloat16", "bf16": "bfloat16",
            "bfloat": "bfloat16", "nv_bfloat16": "bfloat16", "__nv_bfloat16": "bfloat16"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tensor(Expr):
    """An input of a graph: name, shape, layout and element type. Equal when all four are.

    One without dimensions is a scalar, an fp32 number given at launch: its `dtype` is "float32".

    `layout="row"` has the last index contiguous in memory, `"col"` the first (Fortran order). Its array has
    the shape as written in both cases.
    """

    name: str
    dims: tuple[Dim, ...]
    layout: str = "row"
    dtype: str = "float16"  # pyright: ignore[reportIncompatibleMethodOverride]  # what others look for in tensors

    def __post_init__(self) -> None:
        check_name(self.name, "tensor")
        object.__setattr__(self, "dims", _check_shape(self.name, self.dims))
        object.__setattr__(self, "dtype", _check_dtype(self.name, self.dims, self.dtype))
        check_layout(self.layout, f"tensor {self.name}")
        if any(str(d) == self.name for d in self.dims):
            raise NameClash(
                f"{self.name!r} names both a tensor and one of its sizes",
                where=shape_text(self),
                hint="rename one: in the generated text they are parameters side by side",
            )

    @property
    def shape(self) -> tuple[Dim, ...]:
        return self.dims

    def __str__(self) -> str:
        return self.name

    def _html(self) -> str:
        from polyvolta.graph.shown.notebook import tensor

        return tensor(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.declaration())

    def declaration(self) -> str:
        """The tensor as a message shows it.

        >>> tensor("B", (Size("K"), 64), layout="col").declaration()
        'B(K, 64) float16, layout "col"'
        """
        return f'{shape_text(self)} {self.dtype}, layout "{self.layout}"' if self.dims else f"{self.name}, a number"


def tensor(
    name: str,
    shape: Dim | Sequence[Dim],
    *more: Never,
    layout: Literal["row", "col"] = "row",
    dtype: object = "float16",
) -> Tensor:
    """An input of the graph; its array is passed when the kernel is called.

    Parameters
    ----------
    name : an identifier that is reserved neither in C++ nor in CUDA.
    shape : sizes and positive ints. Shapes such as (N,) and (M, 1) broadcast as in numpy; () is a `scalar`.
    more : there are none: a shape is one tuple.
    layout : "row", the last index contiguous in memory, or "col", the first one.
    dtype : "float16" or "bfloat16", or what numpy, ml_dtypes and torch have for them, for all tensors of a kernel the
        same; a scalar is of float32 whatever is said.

    Raises
    ------
    BadName, BadSize, UnknownLayout, UnsupportedDtype, NameClash

    There is no transpose: a tensor is declared as it is multiplied, and a transposed array is the same memory in the
    other layout. `A @ A.T` is the product of A and `tensor("A_t", (K, M), layout="col")`, called with `a` and `a.T`.

    >>> from polyvolta.graph.dims import sizes
    >>> M, K = sizes("M K")
    >>> tensor("A", (M, K)).shape == (M, K)
    True
    >>> tensor("A", (M, K), dtype="float32")
    Traceback (most recent call last):
        ...
    polyvolta.graph.errors.UnsupportedDtype: [PV202] tensor A: there are no kernels for dtype float32
    hint: use dtype="float16" or "bfloat16"; products are accumulated in float32
    """
    if more:
        raise _several(name, shape, more)
    return Tensor(name, shape, layout, dtype)  # type: ignore[arg-type]  # a bare dimension becomes a tuple of one


def _several(name: object, shape: object, more: Sequence[object]) -> BadSize:
    """The error for dimensions that are no tuple, or for what stands behind a shape without its name."""
    if not isinstance(shape, tuple | list):
        dims = ", ".join(map(str, (shape, *more)))
        return BadSize(f"tensor {name}: a shape is one tuple", hint=f'pv.tensor("{name}", ({dims}))')
    dims = ", ".join(map(str, shape)) + "," * (len(shape) == 1)
    layout = next((x for x in more if isinstance(x, str) and x in ("row", "col")), "")
    dtype = next((kind for x in more if (kind := dtype_name(x)) in DTYPES), "")
    said = [f'{option}="{value}"' for option, value in (("layout", layout), ("dtype", dtype)) if value]
    hint = f'pv.tensor("{name}", ({dims}), {", ".join(said)})' if said else 'such as layout="col", dtype="bfloat16"'
    return BadSize(f"tensor {name}: a layout and an element type are given by name, behind the shape", hint=hint)


def scalar(name: str) -> Tensor:
    """A number that is given when the kernel is called, in fp32; `tensor(name, ())` is the same.

    >>> import polyvolta as pv
    >>> M, N = pv.sizes("M N")
    >>> print(pv.scalar("alpha") * pv.tensor("C", (M, N)))
    alpha * C
    """
    return tensor(name, ())


def inputs_of(outputs: Iterable[Expr]) -> tuple[Tensor, ...]:
    """The tensors under `outputs`, scalars among them, in order of first appearance."""
    return tuple(e for e in walk(outputs) if isinstance(e, Tensor))


def dtype_name(dtype: object) -> str:
    """numpy's name of a dtype that may be a str, a type, or a dtype of numpy, ml_dtypes or torch.

    >>> dtype_name("half"), dtype_name("bf16"), dtype_name(float)
    ('float16', 'bfloat16', 'float64')
    """
    if dtype is float:
        return "float64"
    text = dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or getattr(dtype, "__name__", None)
    text = str(dtype).rpartition(".")[2] if text is None else str(text)
    return _ALIASES.get(text.lower(), text)


def _check_dtype(name: str, dims: Sequence[Dim], dtype: object) -> str:
    """The element type as `DTYPES` has it; of a scalar "float32"."""
    kind = dtype_name(dtype)
    if kind not in DTYPES and not (kind == "float32" and not dims):
        hint = 'use dtype="float16" or "bfloat16"; products are accumulated in float32'
        guess = nearest(kind, DTYPES) if kind not in _ALIASES.values() else ""
        raise UnsupportedDtype(
            f"tensor {name}: there are no kernels for dtype {kind}",
            hint=guess if guess.startswith("did") else hint,
        )
    return kind if dims else "float32"


def check_layout(layout: str, what: str) -> str:
    """`layout` itself where it is one.

    Raises
    ------
    UnknownLayout
    """
    if layout not in LAYOUTS:
        raise UnknownLayout(f"{what}: there is no layout {layout!r}", hint=nearest(_layout_word(layout), LAYOUTS))
    return layout


def check_names(inputs: Iterable[Tensor], outputs: Iterable[str] = ()) -> None:
    """That a graph of these tensors, with outputs of those names, has one thing for each name.

    Raises
    ------
    NameClash : two different tensors, a tensor and a size, two outputs, or an output and either, have one name.
    BadName : an output's name can't stand in C++ or in a set.
    """
    inputs, outputs = tuple(inputs), tuple(outputs)
    for a, b in combinations(inputs, 2):
        if a.name == b.name:
            raise NameClash(
                f"two different tensors are named {a.name!r}",
                where=f"{a.declaration()}\n{b.declaration()}",
                hint="rename one, or make both the same declaration: equal tensors are one tensor",
            )
    users = {d.name: t for t in reversed(inputs) for d in t.dims if isinstance(d, Size)}
    for name in [t.name for t in inputs] + list(outputs):
        if name in users:
            raise NameClash(
                f"{name!r} names both an array and a size",
                where=f"size {name} of {shape_text(users[name])}",
                hint="rename one of them",
            )
    known = {t.name: t for t in inputs}
    for at, name in enumerate(outputs):
        check_name(name, "output")
        if name in outputs[:at]:
            raise NameClash(
                f"two outputs are named {name!r}",
                where=f"outputs {outputs.index(name)} and {at}",
                hint="rename one of them",
            )
        if name in known:
            raise NameClash(
                f"{name!r} names both an output and an input",
                where=known[name].declaration(),
                hint="name the output otherwise; results are never written over an input",
            )


def _check_shape(name: str, shape: object) -> tuple[Dim, ...]:
    """The shape as a tuple of sizes and ints."""
    if isinstance(shape, str):
        raise BadSize(
            f"tensor {name}: its shape is a str, {shape!r}",
            hint='make sizes first: M, K = pv.sizes("M K"), then pass (M, K)',
        )
    dims = tuple(shape) if isinstance(shape, Iterable) else (shape,)
    return tuple(_check_dim(name, axis, d) for axis, d in enumerate(dims))


def _check_dim(name: str, axis: int, dim: object) -> Dim:
    if isinstance(dim, Size):
        return dim
    what = f"tensor {name}: dimension {axis} is {dim!r}"
    if isinstance(dim, str):
        raise BadSize(what, hint=f'make it a size: pv.sizes("{dim}")' if dim.isidentifier() else "pass an int")
    try:
        value = None if isinstance(dim, bool) else index(dim)  # type: ignore[arg-type]  # numpy's ints too
    except TypeError:
        value = None
    if value is None:
        raise BadSize(f"{what}, of type {type(dim).__name__}", hint="a dimension is a positive int or a size")
    if value < 1:
        raise BadSize(what, hint="dimensions are positive")
    return value


def _layout_word(layout: object) -> str:
    """What a layout's other names come to, for the hint."""
    words = {"c": "row", "row-major": "row", "n": "row", "f": "col", "column-major": "col", "fortran": "col"}
    return words.get(str(layout).lower(), str(layout).lower())
