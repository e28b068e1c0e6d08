"""The computations that the command line can show: one graph for each of the paper's idioms.

    matmul      C = A @ B
    epilogue    D = relu(A @ B + bias), bias a vector along the columns
    prologue    C = relu(A) @ B
    sum         E = A @ B + P @ Q, two products in one accumulator

The sizes are symbolic, so that one kernel serves all.
"""

from __future__ import annotations

from collections.abc import Callable

from polyvolta.graph.dims import Dim, sizes
from polyvolta.graph.expr import Expr
from polyvolta.graph.functions.named import relu
from polyvolta.graph.tensors import Tensor
from polyvolta.sets.errors import PolyvoltaError, nearest


class UnknownIdiom(PolyvoltaError, ValueError):
    """No computation of the gallery has that name."""

    id = "PV603"


def _with(a: Tensor, name: str, dims: tuple[Dim, ...], layout: str = "row") -> Tensor:
    """A tensor of the element type of another."""
    return Tensor(name, dims, layout, a.dtype)


def _matmul(a: Tensor, b: Tensor, layouts: tuple[str, str]) -> Expr:
    return a @ b


def _epilogue(a: Tensor, b: Tensor, layouts: tuple[str, str]) -> Expr:
    return relu(a @ b + _with(a, "bias", (b.dims[1],)))


def _prologue(a: Tensor, b: Tensor, layouts: tuple[str, str]) -> Expr:
    return relu(a) @ b


def _sum(a: Tensor, b: Tensor, layouts: tuple[str, str]) -> Expr:
    p, q = (_with(a, name, t.dims, layout) for name, t, layout in zip("PQ", (a, b), layouts))
    return a @ b + p @ q


IDIOMS: dict[str, Callable[[Tensor, Tensor, tuple[str, str]], Expr]] = {
    "matmul": _matmul,
    "epilogue": _epilogue,
    "prologue": _prologue,
    "sum": _sum,
}


def idiom(name: str, layouts: tuple[str, str] = ("row", "col"), dtype: str = "float16") -> Expr:
    """The graph of that name, A and B in the given layouts, all tensors of that element type.

    Raises
    ------
    UnknownIdiom : there is none; suggests the nearest.
    UnknownLayout : a layout that is neither "row" nor "col".
    UnsupportedDtype : another element type than "float16" and "bfloat16".

    >>> print(idiom("epilogue"))
    relu(A @ B + bias)
    """
    if name not in IDIOMS:
        raise UnknownIdiom(f"there is no idiom {name!r}", hint=nearest(name, IDIOMS))
    M, N, K = sizes("M N K")
    a, b = (Tensor(n, dims, layout, dtype) for n, dims, layout in zip("AB", ((M, K), (K, N)), layouts))
    return IDIOMS[name](a, b, layouts)
