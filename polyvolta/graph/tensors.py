"""Sizes and tensors: the leaves of every graph.

A size is the name of a positive int that is known only when the kernel is called. It is the parameter of
the integer sets that the graph's statements are made of: `{ S[i, j, k] : 0 <= i < M and ... }` ranges over
every M at once, which is why one kernel serves all of them. A tensor is a name, a shape of sizes and ints,
and a layout: which index runs fastest in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import index
from typing import Any, NoReturn

from polyvolta.graph.errors import BadSize, NameClash, NotANumberYet, UnknownLayout, UnsupportedDtype
from polyvolta.graph.expr import Expr, shape_text
from polyvolta.graph.names import check_name
from polyvolta.sets.errors import nearest

LAYOUTS = ("row", "col")
DTYPES = ("float16",)
_ALIASES = {"float16": "float16", "fp16": "float16", "half": "float16", "f2": "float16", "<f2": "float16",
            "f16": "float16", "e": "float16", "float": "float32", "single": "float32", "fp32": "float32",
            "double": "float64", "fp64": "float64", "bf16": "bfloat16"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Size:
    """A symbolic positive int; equal to every other `Size` of the same name.

    Whether it is less than something, and what it is, nobody knows before the kernel is called.

    >>> Size("M") < 3
    Traceback (most recent call last):
        ...
    polyvolta.graph.errors.NotANumberYet: [PV213] the size M has no value yet: M < 3
    hint: it is known when the kernel is called; for a fixed one, pv.tensor("A", (512, 64)) has numbers
    """

    name: str

    def __post_init__(self) -> None:
        check_name(self.name, "size")

    def __str__(self) -> str:
        return self.name

    def _no_arithmetic(self, other: object) -> Size:
        raise BadSize(
            f"there is no arithmetic on sizes: {self.name} with {other!r}",
            hint="a dimension is one size or one int; give what you would compute a size of its own",
        )

    def _no_value(self, text: str) -> NotANumberYet:
        return NotANumberYet(
            f"the size {self.name} has no value yet: {text}",
            hint='it is known when the kernel is called; for a fixed one, pv.tensor("A", (512, 64)) has numbers',
        )

    def __lt__(self, other: object) -> NoReturn:
        raise self._no_value(f"{self.name} < {_plainly(other)}")

    def __le__(self, other: object) -> NoReturn:
        raise self._no_value(f"{self.name} <= {_plainly(other)}")

    def __gt__(self, other: object) -> NoReturn:
        raise self._no_value(f"{self.name} > {_plainly(other)}")

    def __ge__(self, other: object) -> NoReturn:
        raise self._no_value(f"{self.name} >= {_plainly(other)}")

    def __int__(self) -> NoReturn:
        raise self._no_value(f"it is no int, as in int({self.name}) or range({self.name})")

    __index__ = __int__

    def __float__(self) -> NoReturn:
        raise self._no_value(f"float({self.name})")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _no_arithmetic
    __floordiv__ = __rfloordiv__ = __truediv__ = __rtruediv__ = __mod__ = __rmod__ = __pow__ = _no_arithmetic


def _plainly(x: object) -> str:
    """The other side of a comparison, in short."""
    text = str(x) if isinstance(x, Size) else repr(x)
    return text if len(text) <= 60 else f"{text[:57]}..."


Dim = int | Size


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Tensor(Expr):
    """An input of a graph: name, shape, layout and element type. Equal when all four are.

    One without dimensions is a scalar, an fp32 number given at launch.

    `layout="row"` has the last index contiguous in memory, `"col"` the first (Fortran order). Its array has
    the shape as written in both cases.
    """

    name: str
    dims: tuple[Dim, ...]
    layout: str = "row"

    def __post_init__(self) -> None:
        check_name(self.name, "tensor")
        object.__setattr__(self, "dims", _check_shape(self.name, self.dims))
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

    @property
    def dtype(self) -> str:
        return "float16" if self.dims else "float32"

    def __str__(self) -> str:
        return self.name

    def declaration(self) -> str:
        """The tensor as a message shows it.

        >>> tensor("B", (Size("K"), 64), layout="col").declaration()
        'B(K, 64) float16, layout "col"'
        """
        return f'{shape_text(self)} {self.dtype}, layout "{self.layout}"' if self.dims else f"{self.name}, a number"


def sizes(names: str) -> Any:
    """Symbolic sizes from names between blanks or commas: a tuple of `Size`, of a single name the `Size` itself.

    Raises
    ------
    BadSize : no name at all, or a name twice.
    BadName : a name that can't stand in C++ or in a set.

    >>> M, N, K = sizes("M N K")
    >>> print(M, sizes("batch"))
    M batch
    """
    if not isinstance(names, str):
        raise BadSize(f"sizes takes one str of names, not {type(names).__name__}", hint='write sizes("M N K")')
    words = [w for w in re.split(r"[\s,]+", names) if w]
    if not words:
        raise BadSize("sizes was given no name", hint='write sizes("M N K")')
    if twice := [w for n, w in enumerate(words) if w in words[:n]]:
        raise BadSize(f"sizes was given {twice[0]!r} twice", where=names)
    made = tuple(Size(w) for w in words)
    return made[0] if len(made) == 1 else made


def tensor(name: str, shape: Dim | Sequence[Dim], *, layout: str = "row", dtype: object = "float16") -> Tensor:
    """An input of the graph; its array is passed when the kernel is called.

    Parameters
    ----------
    name : an identifier that is reserved neither in C++ nor in CUDA.
    shape : sizes and positive ints. Shapes such as (N,) and (M, 1) broadcast as in numpy; () is a `scalar`.
    layout : "row", the last index contiguous in memory, or "col", the first one.
    dtype : "float16", or what numpy and torch have for it; a scalar is of float32 whatever is said.

    Raises
    ------
    BadName, BadSize, UnknownLayout, UnsupportedDtype, NameClash

    There is no transpose: a tensor is declared as it is multiplied, and a transposed array is the same memory in the
    other layout. `A @ A.T` is the product of A and `tensor("A_t", (K, M), layout="col")`, called with `a` and `a.T`.

    >>> M, K = sizes("M K")
    >>> tensor("A", (M, K)).shape == (M, K)
    True
    >>> tensor("A", (M, K), dtype="float32")
    Traceback (most recent call last):
        ...
    polyvolta.graph.errors.UnsupportedDtype: [PV202] tensor A: there are no kernels for dtype float32
    hint: use dtype="float16"; products are accumulated in float32
    """
    check_name(name, "tensor")
    kind = dtype_name(dtype)
    if kind not in DTYPES and not (shape == () and kind == "float32"):
        hint = 'use dtype="float16"; products are accumulated in float32'
        guess = nearest(kind, DTYPES) if kind not in _ALIASES.values() else ""
        raise UnsupportedDtype(
            f"tensor {name}: there are no kernels for dtype {kind}",
            hint=guess if guess.startswith("did") else hint,
        )
    return Tensor(name, shape, layout)  # type: ignore[arg-type]  # a bare dimension becomes a tuple of one


def scalar(name: str) -> Tensor:
    """A number that is given when the kernel is called, in fp32; `tensor(name, ())` is the same.

    >>> import polyvolta as pv
    >>> M, N = pv.sizes("M N")
    >>> print(pv.scalar("alpha") * pv.tensor("C", (M, N)))
    alpha * C
    """
    return tensor(name, ())


def dtype_name(dtype: object) -> str:
    """numpy's name of a dtype that may be a str, a type, or a dtype of numpy or torch.

    >>> dtype_name("half"), dtype_name(float)
    ('float16', 'float64')
    """
    if dtype is float:
        return "float64"
    text = dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or getattr(dtype, "__name__", None)
    text = str(dtype).rpartition(".")[2] if text is None else str(text)
    return _ALIASES.get(text.lower(), text)


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
