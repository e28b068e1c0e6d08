"""Expressions made from others: with users' functions written out, transposed, with numbers computed.

There is no transpose among a graph's operations. But a product's operand is a pointwise function of tensors, and the
transpose of that is the same function of the tensors' transposes, each of which is the same memory in the other layout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from polyvolta.graph.expr import Constant, Expr, MatMul, Pointwise, apply, walk
from polyvolta.graph.functions.formula import Formula, fold
from polyvolta.graph.functions.meaning import MEANING
from polyvolta.graph.tensors import Tensor


def computed(formula: Formula, operands: tuple[Expr, ...]) -> Expr:
    """A formula of expressions as an expression, without operations on numbers alone, and without a factor of 1.

    >>> import polyvolta as pv
    >>> from polyvolta.graph.functions.derivatives import DERIVATIVES
    >>> x = pv.tensor("x", (4,))
    >>> print(computed(DERIVATIVES["pow"][0], (x, Constant(2.5))))
    2.5 * pow(x, 1.5)
    """
    return fold(formula, operands, Constant, _apply)


def _apply(function: str, operands: tuple[Any, ...]) -> Expr:
    if all(isinstance(x, Constant) for x in operands):
        return Constant(float(MEANING[function](*(x.value for x in operands))))
    match function, operands:
        case "mul", (Constant(value=1.0), x) | (x, Constant(value=1.0)):
            return x
        case "mul", (Constant(value=-1.0), x) | (x, Constant(value=-1.0)):
            return apply("neg", x)
        case "where", (Constant(value=value), a, b):
            return a if value else b
    return apply(function, *operands)


CONDITIONS = frozenset({"greater", "greater_equal", "less", "less_equal", "equal", "not_equal"})


def product(a: Expr, b: Expr) -> Expr:
    """a * b, elementwise; a itself where b is 1. Where b is 0 or 1 a is taken, or it isn't: an infinite one is no NaN
    where it isn't taken."""
    match b:
        case Pointwise(function=f) if f in CONDITIONS:
            return apply("where", b, a, Constant(0.0))
        case Pointwise(function="where", arguments=(condition, Constant(value=1.0), Constant(value=0.0))):
            return apply("where", condition, a, Constant(0.0))
        case Pointwise(function="where", arguments=(condition, Constant(value=0.0), Constant(value=1.0))):
            return apply("where", condition, Constant(0.0), a)
        case Pointwise(function="sub", arguments=(Constant(value=1.0), Pointwise(function=f) as c)) if f in CONDITIONS:
            return apply("where", c, Constant(0.0), a)
    return _apply("mul", (a, b))


def total(a: Expr | None, b: Expr) -> Expr:
    """a + b; b where there is no a."""
    return b if a is None else apply("add", a, b)


def rebuilt(roots: tuple[Expr, ...], leaf: Callable[[Tensor], Expr], turn: bool = False) -> dict[Expr, Expr]:
    """Every node under `roots` -> it with other leaves, users' functions written out; with `turn` without products."""
    made: dict[Expr, Expr] = {}
    for node in walk(roots):
        match node:
            case Tensor():
                made[node] = leaf(node)
            case Constant():
                made[node] = node
            case MatMul(left=left, right=right) if not turn:
                made[node] = MatMul(made[left], made[right])
            case Pointwise(function=f, arguments=arguments, definition=None):
                made[node] = apply(f, *(made[x] for x in arguments))
            case Pointwise(arguments=arguments, definition=formula) if formula is not None:
                made[node] = computed(formula, tuple(made[x] for x in arguments))
            case _:
                raise TypeError(type(node).__name__)
    return made


def written_out(roots: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The expressions with every function of a user's in the place of its name."""
    made = rebuilt(roots, lambda t: t)
    return tuple(made[e] for e in roots)


def transposed(e: Expr, turned: Mapping[Tensor, Tensor]) -> Expr:
    """The transpose of a matrix that is computed from tensors without a product.

    Parameters
    ----------
    turned : for each tensor with dimensions its transpose.
    """
    return rebuilt((e,), lambda t: turned[t] if t.dims else t, turn=True)[e]


def turned_tensor(t: Tensor, name: str) -> Tensor:
    """A tensor's transpose, called `name`: the other layout; a vector, which stands in every row, becomes a column.

    >>> import polyvolta as pv
    >>> M, K = pv.sizes("M K")
    >>> print(turned_tensor(pv.tensor("A", (M, K)), "A_t").declaration())
    A_t(K, M) float16, layout "col"
    >>> print(turned_tensor(pv.tensor("bias", (K,)), "bias_t").declaration())
    bias_t(K, 1) float16, layout "row"
    """
    if len(t.dims) == 1:
        return Tensor(name, (t.dims[0], 1), "row", t.dtype)
    return Tensor(name, (t.dims[1], t.dims[0]), "col" if t.layout == "row" else "row", t.dtype)


def has_product(e: Expr) -> bool:
    """Whether a product is under it."""
    return any(isinstance(x, MatMul) for x in walk((e,)))
