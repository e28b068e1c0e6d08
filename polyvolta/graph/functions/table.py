"""The pointwise functions, as data: for each its expression in CUDA C, or a formula.

A function takes numbers and gives a number. Its meaning (`meaning.MEANING`) is a function over numpy arrays that keeps
their type: on float64 arrays it is the yardstick of `pv.reference`, on float32 arrays what the interpreter computes.
Its C expression works on fp32 values and needs no header: `expf`, `erff` and the like are built into NVIDIA's
compiler. A function that takes several steps, as `sigmoid` does, is a formula of others: one definition, of which
reference, interpreter and kernel compute every step, in this order, each rounded by itself.

NaN and infinity behave as in numpy: `maximum` propagates NaN, which C's `fmaxf` would drop, and `relu(NaN)` is
NaN. A comparison gives 1 where it holds and 0 elsewhere; a condition holds where it isn't 0. Of two zeros `maximum`
and `minimum` give the second one.

Sine and cosine are right for large arguments, too. That is paid in machine code: an epilogue of `sin` alone has eight
times the code of a plain product, most of it for arguments above 1e5, and 32 bytes of local memory a thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt

from polyvolta.graph.functions.formula import Call, Formula, Input, Number


@dataclass(frozen=True, slots=True)
class Function:
    """A pointwise function.

    Parameters
    ----------
    name : in graphs and formulas.
    arity : how many operands it takes.
    c : a C expression on fp32 values. `{0}`, `{1}`, ... are the operands, each a name, a number or a call, or in
        parentheses; an operand may occur several times. The expression itself binds no stronger than its operator.
        It adds nothing to a product, and doubles none: see `rounded_apart` of the text.
    definition : in the place of `c`, the formula of other functions that it is.
    """

    name: str
    arity: int
    c: str = ""
    definition: Formula | None = None


X, Y = Input(0), Input(1)
_MAX = "{0} > {1} || {0} != {0} ? {0} : {1}"
_MIN = "{0} < {1} || {0} != {0} ? {0} : {1}"
_SIGN = "{0} > 0.0f ? 1.0f : {0} < 0.0f ? -1.0f : {0} == 0.0f ? 0.0f : {0}"


def _call(function: str, *arguments: Formula | float) -> Call:
    return Call(function, tuple(Number(x) if isinstance(x, float | int) else x for x in arguments))


_FALLING = _call("exp", _call("neg", _call("abs", X)))
"""exp(-|x|), which overflows nowhere."""
_SIGMOID = _call(
    "mul",
    _call("exp", _call("where", _call("less", X, 0.0), X, 0.0)),  # a choice between exponentials takes more registers
    _call("div", 1.0, _call("add", 1.0, _FALLING)),
)
_SOFTPLUS = _call("add", _call("relu", X), _call("log1p", _FALLING))
_CUBE = _call("mul", _call("mul", _call("mul", 0.044715, X), X), X)
_TANH = _call("tanh", _call("mul", sqrt(2 / pi), _call("add", X, _CUBE)))
_ERF = _call("erf", _call("mul", sqrt(0.5), X))


def _normal(curve: Formula) -> Call:
    """x / 2 * (1 + curve)."""
    return _call("mul", _call("mul", 0.5, X), _call("add", 1.0, curve))


_LISTED = (
    Function("add", 2, "{0} + {1}"),
    Function("sub", 2, "{0} - {1}"),
    Function("mul", 2, "{0} * {1}"),
    Function("div", 2, "{0} / {1}"),
    Function("neg", 1, "-{0}"),
    Function("abs", 1, "fabsf({0})"),
    Function("sign", 1, _SIGN),
    Function("square", 1, "{0} * {0}"),
    Function("pow", 2, "powf({0}, {1})"),
    Function("sqrt", 1, "sqrtf({0})"),
    Function("rsqrt", 1, "rsqrtf({0})"),
    Function("exp", 1, "expf({0})"),
    Function("exp2", 1, "exp2f({0})"),
    Function("expm1", 1, "expm1f({0})"),
    Function("log", 1, "logf({0})"),
    Function("log2", 1, "log2f({0})"),
    Function("log1p", 1, "log1pf({0})"),
    Function("sin", 1, "sinf({0})"),
    Function("cos", 1, "cosf({0})"),
    Function("tanh", 1, "tanhf({0})"),
    Function("erf", 1, "erff({0})"),
    Function("floor", 1, "floorf({0})"),
    Function("ceil", 1, "ceilf({0})"),
    Function("rint", 1, "rintf({0})"),
    Function("maximum", 2, _MAX),
    Function("minimum", 2, _MIN),
    Function("where", 3, "{0} != 0.0f ? {1} : {2}"),
    Function("less", 2, "{0} < {1} ? 1.0f : 0.0f"),
    Function("less_equal", 2, "{0} <= {1} ? 1.0f : 0.0f"),
    Function("greater", 2, "{0} > {1} ? 1.0f : 0.0f"),
    Function("greater_equal", 2, "{0} >= {1} ? 1.0f : 0.0f"),
    Function("equal", 2, "{0} == {1} ? 1.0f : 0.0f"),
    Function("not_equal", 2, "{0} != {1} ? 1.0f : 0.0f"),
    Function("logical_and", 2, "{0} != 0.0f && {1} != 0.0f ? 1.0f : 0.0f"),
    Function("logical_or", 2, "{0} != 0.0f || {1} != 0.0f ? 1.0f : 0.0f"),
    Function("logical_not", 1, "{0} != 0.0f ? 0.0f : 1.0f"),
    Function("relu", 1, "{0} < 0.0f ? 0.0f : {0}"),
    Function("leaky_relu", 2, definition=_call("where", _call("less", X, 0.0), _call("mul", X, Y), X)),
    Function("elu", 2, definition=_call("where", _call("greater", X, 0.0), X, _call("mul", Y, _call("expm1", X)))),
    Function("sigmoid", 1, definition=_SIGMOID),
    Function("silu", 1, definition=_call("mul", X, _SIGMOID)),
    Function("softplus", 1, definition=_SOFTPLUS),
    Function("gelu", 1, definition=_normal(_ERF)),
    Function("gelu_tanh", 1, definition=_normal(_TANH)),
)  # fmt: skip

FUNCTIONS: dict[str, Function] = {f.name: f for f in _LISTED}
"""Every pointwise function by its name."""
