"""`pointwise`: a function of elements by name, or one of the user's own, of numpy's or of sympy's.

The functions that have names of their own are in `named`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from polyvolta.graph.errors import BadFunction
from polyvolta.graph.expr import apply, node
from polyvolta.graph.functions.formula import Call, Input, fold
from polyvolta.graph.functions.named import clamp
from polyvolta.graph.functions.table import FUNCTIONS
from polyvolta.graph.names import reserved
from polyvolta.graph.operators import E, Operators, is_number
from polyvolta.sets.errors import kind_of

if TYPE_CHECKING:
    import sympy

    from polyvolta.graph.operators import Number


def pointwise(
    f: str | Callable[..., Any] | sympy.Basic, *operands: Operators[E] | Number, **named: Operators[E] | Number
) -> E:
    """A function of one element of each operand, element by element.

    Parameters
    ----------
    f : the name of a function (`polyvolta.graph.functions.table.FUNCTIONS`), one of numpy's functions, a Python
        function of as many numbers as there are operands, a `sympy.Lambda`, or an expression of sympy. A Python
        function is called once, with symbols: it computes with Python's operators, numpy's functions and polyvolta's,
        and has no condition on an element (`where` selects) and no index. Under its name it appears as one operation;
        a lambda as what it computes.
    operands : tensors and expressions, which broadcast as in numpy; numbers, which `f` gets as they are.
    named : of an expression of sympy the operand for each of its symbols; that of a single one may stand without name.

    Raises
    ------
    BadFunction, BadOperand : `f` can't be computed element by element, or not by kernels; see `trace`.
    ShapeMismatch : operands whose shapes don't broadcast.

    >>> import numpy as np, polyvolta as pv
    >>> M, N, K = pv.sizes("M N K")
    >>> A, B, bias = pv.tensor("A", (M, K)), pv.tensor("B", (K, N)), pv.tensor("bias", (N,))
    >>> def swish(x, b):
    ...     y = x + b
    ...     return y / (1 + np.exp(-y))
    >>> print(pv.pointwise(swish, A @ B, bias))
    swish(A @ B, bias)
    >>> print(pv.pointwise(lambda x, b: np.maximum(x + b, 0), A @ B, bias))
    maximum(A @ B + bias, 0)
    >>> import sympy
    >>> x, b = sympy.symbols("x b")
    >>> print(pv.pointwise(sympy.diff(x * sympy.tanh(x + b), b), x=A @ B, b=bias))
    A @ B * (1 - square(tanh(bias + A @ B)))
    """
    return _pointwise(f, operands, named)


def _pointwise(f: Any, operands: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """See `pointwise`."""
    if named or (type(f).__module__.startswith("sympy.") and not callable(f)):
        from polyvolta.graph.functions.from_sympy import lambda_of

        f, operands = lambda_of(f, operands, named)
    if isinstance(f, str):
        return clamp(*operands) if f == "clamp" and len(operands) == 3 else apply(f, *operands)
    if not operands:
        raise BadFunction("pointwise was given no operand", hint="pv.pointwise(f, x, y) computes f(x, y)")
    if not callable(f):
        raise BadFunction(
            f"pointwise takes a function first, not {kind_of(f)}",
            where=str(f)[:200],
            hint="pv.pointwise(f, x, y): a name, or a function of one element of each operand",
        )
    from polyvolta.graph.functions.trace import Element, inlined, trace

    name, formula = trace(f, [x if is_number(x) else None for x in operands])
    known = tuple(x for x in operands if not is_number(x))
    if any(isinstance(x, Element) for x in known):
        return inlined(formula, known)
    plain = formula.function if isinstance(formula, Call) else ""
    if formula is Call(plain, tuple(map(Input, range(len(known))))):
        return apply(plain, *known)
    if not name.isidentifier() or not name.isascii() or "__" in name or _is_library(f):
        return fold(formula, known, float, lambda function, xs: apply(function, *xs))
    while name in FUNCTIONS or name == "mul_acc" or reserved(name):
        name = name.strip("_") + "_1"
    return node(name, known, formula)


def _is_library(f: Callable[..., Any]) -> bool:
    """Whether a function is none of the user's own."""
    home = getattr(f, "__module__", None) or type(f).__module__
    known = home.partition(".")[0] in ("numpy", "polyvolta", "builtins", "_operator")
    return known and getattr(sys.modules.get(home), getattr(f, "__name__", ""), None) is f
