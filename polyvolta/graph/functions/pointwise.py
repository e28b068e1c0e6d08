"""What users call: a pointwise function by its own name, or `pointwise` with a name or a function of their own.

All take tensors, expressions and numbers, broadcast as in numpy, and work inside a user's own function as well.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from polyvolta.graph.errors import BadFunction
from polyvolta.graph.expr import apply, node
from polyvolta.graph.functions.formula import Call, Input, fold
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


def relu(x: Operators[E]) -> E:
    """max(x, 0).

    >>> import polyvolta as pv
    >>> print(pv.relu(pv.tensor("x", (4, 4))))
    relu(x)
    """
    return apply("relu", x)


def leaky_relu(x: Operators[E], slope: Operators[E] | Number = 0.01) -> E:
    """x, and slope * x where x is negative.

    >>> import polyvolta as pv
    >>> print(pv.leaky_relu(pv.tensor("x", (4, 4)), 0.1))
    leaky_relu(x, 0.1)
    """
    return apply("leaky_relu", x, slope)


def elu(x: Operators[E], scale: Operators[E] | Number = 1.0) -> E:
    """x, and scale * (exp(x) - 1) where x isn't positive.

    Of the shape of `x`, a tensor or an expression, with which `scale` broadcasts; `BadOperand` for anything else.

    >>> import polyvolta as pv
    >>> pv.reference(pv.elu(pv.tensor("x", (3,))), [-1, 0, 2])
    array([-0.63212056,  0.        ,  2.        ])
    """
    return apply("elu", x, scale)


def sigmoid(x: Operators[E]) -> E:
    """1 / (1 + exp(-x)).

    Of the shape of `x`, a tensor or an expression; `BadOperand` is raised for anything else.

    >>> import polyvolta as pv
    >>> pv.reference(pv.sigmoid(pv.tensor("x", (3,))), [-1, 0, 2])
    array([0.26894142, 0.5       , 0.88079708])
    """
    return apply("sigmoid", x)


def sin(x: Operators[E]) -> E:
    """The sine of x in radians, right for large x, too: much machine code.

    Of the shape of `x`, a tensor or an expression; `BadOperand` is raised for anything else.

    >>> import polyvolta as pv
    >>> pv.reference(pv.sin(pv.tensor("x", (3,))), [0, 1, 2])
    array([0.        , 0.84147098, 0.90929743])
    """
    return apply("sin", x)


def cos(x: Operators[E]) -> E:
    """The cosine of x in radians, right for large x, too: much machine code.

    Of the shape of `x`, a tensor or an expression; `BadOperand` is raised for anything else.

    >>> import polyvolta as pv
    >>> pv.reference(pv.cos(pv.tensor("x", (3,))), [0, 1, 2])
    array([ 1.        ,  0.54030231, -0.41614684])
    """
    return apply("cos", x)


def tanh(x: Operators[E]) -> E:
    """The hyperbolic tangent.

    Of the shape of `x`, a tensor or an expression; `BadOperand` is raised for anything else.

    >>> import polyvolta as pv
    >>> pv.reference(pv.tanh(pv.tensor("x", (3,))), [-1, 0, 2])
    array([-0.76159416,  0.        ,  0.96402758])
    """
    return apply("tanh", x)


def gelu(x: Operators[E]) -> E:
    """x / 2 * (1 + erf(x / sqrt(2))), the exact form; see `gelu_tanh`.

    Of the shape of `x`, a tensor or an expression; `BadOperand` is raised for anything else.

    >>> import polyvolta as pv
    >>> pv.reference(pv.gelu(pv.tensor("x", (3,))), [-1, 0, 2])
    array([-0.15865525,  0.        ,  1.95449974])
    """
    return apply("gelu", x)


def gelu_tanh(x: Operators[E]) -> E:
    """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))), which differs from `gelu` by at most 5e-4.

    Of the shape of `x`, a tensor or an expression; `BadOperand` is raised for anything else.

    >>> import polyvolta as pv
    >>> pv.reference(pv.gelu_tanh(pv.tensor("x", (3,))), [-1, 0, 2])
    array([-0.15880801,  0.        ,  1.95459769])
    """
    return apply("gelu_tanh", x)


def silu(x: Operators[E]) -> E:
    """x * sigmoid(x).

    Of the shape of `x`, a tensor or an expression; `BadOperand` is raised for anything else.

    >>> import polyvolta as pv
    >>> pv.reference(pv.silu(pv.tensor("x", (3,))), [-1, 0, 2])
    array([-0.26894142,  0.        ,  1.76159416])
    """
    return apply("silu", x)


def softplus(x: Operators[E]) -> E:
    """log(1 + exp(x)), without overflow.

    Of the shape of `x`, a tensor or an expression; `BadOperand` is raised for anything else.

    >>> import polyvolta as pv
    >>> pv.reference(pv.softplus(pv.tensor("x", (3,))), [-1, 0, 1000])
    array([3.13261688e-01, 6.93147181e-01, 1.00000000e+03])
    """
    return apply("softplus", x)


def exp(x: Operators[E]) -> E:
    """e to the power of x.

    Of the shape of `x`, a tensor or an expression; `BadOperand` is raised for anything else.

    >>> import polyvolta as pv
    >>> pv.reference(pv.exp(pv.tensor("x", (3,))), [-1, 0, 2])
    array([0.36787944, 1.        , 7.3890561 ])
    """
    return apply("exp", x)


def exp2(x: Operators[E]) -> E:
    """2 to the power of x.

    Of the shape of `x`, a tensor or an expression; `BadOperand` is raised for anything else.

    >>> import polyvolta as pv
    >>> pv.reference(pv.exp2(pv.tensor("x", (3,))), [-1, 0, 3])
    array([0.5, 1. , 8. ])
    """
    return apply("exp2", x)


def expm1(x: Operators[E]) -> E:
    """exp(x) - 1, exact near 0.

    Of the shape of `x`, a tensor or an expression; `BadOperand` is raised for anything else.

    >>> import polyvolta as pv
    >>> pv.reference(pv.expm1(pv.tensor("x", (3,))), [-1, 0, 1e-9])
    array([-6.32120559e-01,  0.00000000e+00,  1.00000000e-09])
    """
    return apply("expm1", x)


def log(x: Operators[E]) -> E:
    """The natural logarithm; NaN below 0.

    Of the shape of `x`, a tensor or an expression; `BadOperand` is raised for anything else.

    >>> import polyvolta as pv
    >>> pv.reference(pv.log(pv.tensor("x", (3,))), [1, 2, 0])
    array([0.        , 0.69314718,       -inf])
    """
    return apply("log", x)


def log2(x: Operators[E]) -> E:
    """The logarithm to base 2; NaN below 0.

    Of the shape of `x`, a tensor or an expression; `BadOperand` is raised for anything else.

    >>> import polyvolta as pv
    >>> pv.reference(pv.log2(pv.tensor("x", (3,))), [1, 8, 0.5])
    array([ 0.,  3., -1.])
    """
    return apply("log2", x)


def log1p(x: Operators[E]) -> E:
    """log(1 + x), exact near 0.

    Of the shape of `x`, a tensor or an expression; `BadOperand` is raised for anything else.

    >>> import polyvolta as pv
    >>> pv.reference(pv.log1p(pv.tensor("x", (3,))), [0, 1e-9, 1])
    array([0.00000000e+00, 9.99999999e-10, 6.93147181e-01])
    """
    return apply("log1p", x)


def sqrt(x: Operators[E]) -> E:
    """The square root; NaN below 0.

    Of the shape of `x`, a tensor or an expression; `BadOperand` is raised for anything else.

    >>> import polyvolta as pv
    >>> pv.reference(pv.sqrt(pv.tensor("x", (3,))), [1, 4, 2])
    array([1.        , 2.        , 1.41421356])
    """
    return apply("sqrt", x)


def rsqrt(x: Operators[E]) -> E:
    """1 / sqrt(x).

    Of the shape of `x`, a tensor or an expression; `BadOperand` is raised for anything else.

    >>> import polyvolta as pv
    >>> pv.reference(pv.rsqrt(pv.tensor("x", (3,))), [1, 4, 0.25])
    array([1. , 0.5, 2. ])
    """
    return apply("rsqrt", x)


def square(x: Operators[E]) -> E:
    """x * x, which is what x**2 gives, too.

    Of the shape of `x`, a tensor or an expression; `BadOperand` is raised for anything else.

    >>> import polyvolta as pv
    >>> pv.reference(pv.square(pv.tensor("x", (3,))), [-3, 0.5, 2])
    array([9.  , 0.25, 4.  ])
    """
    return apply("square", x)


def erf(x: Operators[E]) -> E:
    """The error function.

    Of the shape of `x`, a tensor or an expression; `BadOperand` is raised for anything else.

    >>> import polyvolta as pv
    >>> pv.reference(pv.erf(pv.tensor("x", (3,))), [-1, 0, 2])
    array([-0.84270079,  0.        ,  0.99532227])
    """
    return apply("erf", x)


def sign(x: Operators[E]) -> E:
    """1, 0 or -1; NaN of NaN.

    Of the shape of `x`, a tensor or an expression; `BadOperand` is raised for anything else.

    >>> import polyvolta as pv
    >>> pv.reference(pv.sign(pv.tensor("x", (3,))), [-3, 0, 2])
    array([-1.,  0.,  1.])
    """
    return apply("sign", x)


def floor(x: Operators[E]) -> E:
    """The largest whole number that is at most x.

    Of the shape of `x`, a tensor or an expression; `BadOperand` is raised for anything else.

    >>> import polyvolta as pv
    >>> pv.reference(pv.floor(pv.tensor("x", (3,))), [-0.5, 0.5, 2])
    array([-1.,  0.,  2.])
    """
    return apply("floor", x)


def ceil(x: Operators[E]) -> E:
    """The smallest whole number that is at least x.

    Of the shape of `x`, a tensor or an expression; `BadOperand` is raised for anything else.

    >>> import polyvolta as pv
    >>> pv.reference(pv.ceil(pv.tensor("x", (3,))), [-0.5, 0.5, 2])
    array([-0.,  1.,  2.])
    """
    return apply("ceil", x)


def rint(x: Operators[E]) -> E:
    """The nearest whole number, halves to even.

    Of the shape of `x`, a tensor or an expression; `BadOperand` is raised for anything else.

    >>> import polyvolta as pv
    >>> pv.reference(pv.rint(pv.tensor("x", (3,))), [0.5, 1.5, 2.4])
    array([0., 2., 2.])
    """
    return apply("rint", x)


@overload
def maximum(a: Operators[E], b: Operators[E] | Number) -> E: ...
@overload
def maximum(a: Number, b: Operators[E]) -> E: ...
def maximum(a: object, b: object) -> Any:
    """The larger one; NaN where either is NaN, as in numpy.

    `a` and `b` are tensors or expressions, one of them may be a number; they broadcast, or `ShapeMismatch` is raised.

    >>> import polyvolta as pv
    >>> pv.reference(pv.maximum(pv.tensor("a", (3,)), 1), [-1, 0.5, 2])
    array([1., 1., 2.])
    """
    return apply("maximum", a, b)


@overload
def minimum(a: Operators[E], b: Operators[E] | Number) -> E: ...
@overload
def minimum(a: Number, b: Operators[E]) -> E: ...
def minimum(a: object, b: object) -> Any:
    """The smaller one; NaN where either is NaN, as in numpy.

    `a` and `b` are tensors or expressions, one of them may be a number; they broadcast, or `ShapeMismatch` is raised.

    >>> import polyvolta as pv
    >>> pv.reference(pv.minimum(pv.tensor("a", (3,)), 1), [-1, 0.5, 2])
    array([-1. ,  0.5,  1. ])
    """
    return apply("minimum", a, b)


def clamp(x: Operators[E], low: Operators[E] | Number, high: Operators[E] | Number) -> E:
    """`numpy.clip`: x, but at least low, and then at most high.

    >>> import polyvolta as pv
    >>> print(pv.clamp(pv.tensor("x", (4, 4)), 0, 6))
    minimum(maximum(x, 0), 6)
    """
    return minimum(maximum(x, low), high)


@overload
def where(condition: Operators[E], a: Operators[E] | Number, b: Operators[E] | Number) -> E: ...
@overload
def where(condition: Number, a: Operators[E], b: Operators[E] | Number) -> E: ...
@overload
def where(condition: Number, a: Number, b: Operators[E]) -> E: ...
def where(condition: object, a: object, b: object) -> Any:
    """a where the condition holds, that is where it isn't 0, else b.

    Comparisons are conditions: `<`, `<=`, `>`, `>=`, `equal`, `not_equal`; `&`, `|`, `~` combine them.

    >>> import polyvolta as pv
    >>> x = pv.tensor("x", (4, 4))
    >>> print(pv.where((x > 0) & (x < 1), x, 0.5 * x))
    where((x > 0) & (x < 1), x, 0.5 * x)
    """
    return apply("where", condition, a, b)


@overload
def equal(a: Operators[E], b: Operators[E] | Number) -> E: ...
@overload
def equal(a: Number, b: Operators[E]) -> E: ...
def equal(a: object, b: object) -> Any:
    """1 where both are equal, else 0. (`==` compares expressions themselves.)

    `a` and `b` are tensors or expressions, one of them may be a number; they broadcast, or `ShapeMismatch` is raised.

    >>> import polyvolta as pv
    >>> pv.reference(pv.equal(pv.tensor("a", (3,)), 1), [-1, 1, 2])
    array([0., 1., 0.])
    """
    return apply("equal", a, b)


@overload
def not_equal(a: Operators[E], b: Operators[E] | Number) -> E: ...
@overload
def not_equal(a: Number, b: Operators[E]) -> E: ...
def not_equal(a: object, b: object) -> Any:
    """0 where both are equal, else 1.

    `a` and `b` are tensors or expressions, one of them may be a number; they broadcast, or `ShapeMismatch` is raised.

    >>> import polyvolta as pv
    >>> pv.reference(pv.not_equal(pv.tensor("a", (3,)), 1), [-1, 1, 2])
    array([1., 0., 1.])
    """
    return apply("not_equal", a, b)
