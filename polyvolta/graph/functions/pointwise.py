"""What users call: a pointwise function by its own name, or `pointwise` with a name or a function of their own.

All take tensors, expressions and numbers, broadcast as in numpy, and work inside a user's own function as well.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from polyvolta.graph.errors import BadFunction
from polyvolta.graph.expr import apply, node
from polyvolta.graph.functions.formula import Call, Input, fold
from polyvolta.graph.functions.table import FUNCTIONS
from polyvolta.graph.names import reserved
from polyvolta.graph.operators import is_number

if TYPE_CHECKING:
    import sympy


def pointwise(f: str | Callable[..., Any] | sympy.Basic, *operands: object, **named: object) -> Any:
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
    if named or (type(f).__module__.startswith("sympy.") and not callable(f)):
        from polyvolta.graph.functions.from_sympy import lambda_of

        f, operands = lambda_of(f, operands, dict(named))
    if isinstance(f, str):
        return clamp(*operands) if f == "clamp" and len(operands) == 3 else apply(f, *operands)
    if not operands:
        raise BadFunction("pointwise was given no operand", hint="pv.pointwise(f, x, y) computes f(x, y)")
    if not callable(f):
        raise BadFunction(
            f"pointwise takes a function first, not a {type(f).__name__}",
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


def relu(x: object) -> Any:
    """max(x, 0).

    >>> import polyvolta as pv
    >>> print(pv.relu(pv.tensor("x", (4, 4))))
    relu(x)
    """
    return apply("relu", x)


def leaky_relu(x: object, slope: object = 0.01) -> Any:
    """x, and slope * x where x is negative.

    >>> import polyvolta as pv
    >>> print(pv.leaky_relu(pv.tensor("x", (4, 4)), 0.1))
    leaky_relu(x, 0.1)
    """
    return apply("leaky_relu", x, slope)


def elu(x: object, scale: object = 1.0) -> Any:
    """x, and scale * (exp(x) - 1) where x isn't positive."""
    return apply("elu", x, scale)


def sigmoid(x: object) -> Any:
    """1 / (1 + exp(-x))."""
    return apply("sigmoid", x)


def sin(x: object) -> Any:
    """The sine of x in radians, right for large x, too: much machine code."""
    return apply("sin", x)


def cos(x: object) -> Any:
    """The cosine of x in radians, right for large x, too: much machine code."""
    return apply("cos", x)


def tanh(x: object) -> Any:
    """The hyperbolic tangent."""
    return apply("tanh", x)


def gelu(x: object) -> Any:
    """x / 2 * (1 + erf(x / sqrt(2))), the exact form; see `gelu_tanh`."""
    return apply("gelu", x)


def gelu_tanh(x: object) -> Any:
    """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))), which differs from `gelu` by at most 5e-4."""
    return apply("gelu_tanh", x)


def silu(x: object) -> Any:
    """x * sigmoid(x)."""
    return apply("silu", x)


def softplus(x: object) -> Any:
    """log(1 + exp(x)), without overflow."""
    return apply("softplus", x)


def exp(x: object) -> Any:
    """e to the power of x."""
    return apply("exp", x)


def exp2(x: object) -> Any:
    """2 to the power of x."""
    return apply("exp2", x)


def expm1(x: object) -> Any:
    """exp(x) - 1, exact near 0."""
    return apply("expm1", x)


def log(x: object) -> Any:
    """The natural logarithm; NaN below 0."""
    return apply("log", x)


def log2(x: object) -> Any:
    """The logarithm to base 2; NaN below 0."""
    return apply("log2", x)


def log1p(x: object) -> Any:
    """log(1 + x), exact near 0."""
    return apply("log1p", x)


def sqrt(x: object) -> Any:
    """The square root; NaN below 0."""
    return apply("sqrt", x)


def rsqrt(x: object) -> Any:
    """1 / sqrt(x)."""
    return apply("rsqrt", x)


def square(x: object) -> Any:
    """x * x, which is what x**2 gives, too."""
    return apply("square", x)


def erf(x: object) -> Any:
    """The error function."""
    return apply("erf", x)


def sign(x: object) -> Any:
    """1, 0 or -1; NaN of NaN."""
    return apply("sign", x)


def floor(x: object) -> Any:
    """The largest whole number that is at most x."""
    return apply("floor", x)


def ceil(x: object) -> Any:
    """The smallest whole number that is at least x."""
    return apply("ceil", x)


def rint(x: object) -> Any:
    """The nearest whole number, halves to even."""
    return apply("rint", x)


def maximum(a: object, b: object) -> Any:
    """The larger one; NaN where either is NaN, as in numpy."""
    return apply("maximum", a, b)


def minimum(a: object, b: object) -> Any:
    """The smaller one; NaN where either is NaN, as in numpy."""
    return apply("minimum", a, b)


def clamp(x: object, low: object, high: object) -> Any:
    """`numpy.clip`: x, but at least low, and then at most high.

    >>> import polyvolta as pv
    >>> print(pv.clamp(pv.tensor("x", (4, 4)), 0, 6))
    minimum(maximum(x, 0), 6)
    """
    return minimum(maximum(x, low), high)


def where(condition: object, a: object, b: object) -> Any:
    """a where the condition holds, that is where it isn't 0, else b.

    Comparisons are conditions: `<`, `<=`, `>`, `>=`, `equal`, `not_equal`; `&`, `|`, `~` combine them.

    >>> import polyvolta as pv
    >>> x = pv.tensor("x", (4, 4))
    >>> print(pv.where((x > 0) & (x < 1), x, 0.5 * x))
    where((x > 0) & (x < 1), x, 0.5 * x)
    """
    return apply("where", condition, a, b)


def equal(a: object, b: object) -> Any:
    """1 where both are equal, else 0. (`==` compares expressions themselves.)"""
    return apply("equal", a, b)


def not_equal(a: object, b: object) -> Any:
    """0 where both are equal, else 1."""
    return apply("not_equal", a, b)
