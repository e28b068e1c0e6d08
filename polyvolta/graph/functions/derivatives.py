"""The derivatives of the pointwise functions, as data: for each function a formula for each operand.

A formula is over the function's operands, as definitions are. None stands for a derivative that is 0 wherever there
is one: of whole numbers, signs and comparisons, and of the condition of `where`. Where a function has a kink the
derivative is that of one side: 0, 0 and 1 of `relu`, `abs` and `leaky_relu` at 0; and of two equal operands of
`maximum` and `minimum` the second one counts, as it does for their value.
"""

from __future__ import annotations

from math import log, pi, sqrt

from polyvolta.graph.functions.formula import Call, Formula, Input, Number

X, Y = Input(0), Input(1)
ONE, ZERO = Number(1), Number(0)


def _call(function: str, *arguments: Formula | float) -> Call:
    return Call(function, tuple(Number(x) if isinstance(x, float | int) else x for x in arguments))


def _gelu() -> Formula:
    """The normal distribution, and x times its density."""
    below = _call("mul", 0.5, _call("add", 1, _call("erf", _call("mul", sqrt(0.5), X))))
    density = _call("mul", 1 / sqrt(2 * pi), _call("exp", _call("mul", -0.5, _call("square", X))))
    return _call("add", below, _call("mul", X, density))


def _gelu_tanh() -> Formula:
    square = _call("square", X)
    t = _call("tanh", _call("mul", sqrt(2 / pi), _call("mul", X, _call("add", 1, _call("mul", 0.044715, square)))))
    inner = _call("mul", sqrt(2 / pi), _call("add", 1, _call("mul", 3 * 0.044715, square)))
    slope = _call("mul", _call("sub", 1, _call("square", t)), inner)
    return _call("mul", 0.5, _call("add", _call("add", 1, t), _call("mul", X, slope)))


_SIGMOID = _call("sigmoid", X)
_RSQRT = _call("rsqrt", X)
_RISING = _call("greater", X, 0)
_FIRST, _BEFORE = _call("greater", X, Y), _call("less", X, Y)
_TO_POWER = _call("mul", Y, _call("pow", X, _call("sub", Y, 1)))

DERIVATIVES: dict[str, tuple[Formula | None, ...]] = {
    "add": (ONE, ONE),
    "sub": (ONE, Number(-1)),
    "mul": (Y, X),
    "div": (_call("div", 1, Y), _call("neg", _call("div", X, _call("square", Y)))),
    "neg": (Number(-1),),
    "abs": (_call("sign", X),),
    "square": (_call("mul", 2, X),),
    "pow": (
        _call("where", _call("equal", Y, 0), 0, _TO_POWER),
        _call("where", _call("equal", X, 0), 0, _call("mul", _call("pow", X, Y), _call("log", X))),
    ),
    "sqrt": (_call("div", 0.5, _call("sqrt", X)),),
    "rsqrt": (_call("mul", -0.5, _call("mul", _RSQRT, _call("square", _RSQRT))),),
    "exp": (_call("exp", X),),
    "exp2": (_call("mul", log(2), _call("exp2", X)),),
    "expm1": (_call("exp", X),),
    "log": (_call("div", 1, X),),
    "log2": (_call("div", 1 / log(2), X),),
    "log1p": (_call("div", 1, _call("add", 1, X)),),
    "sin": (_call("cos", X),),
    "cos": (_call("neg", _call("sin", X)),),
    "tanh": (_call("sub", 1, _call("square", _call("tanh", X))),),
    "erf": (_call("mul", 2 / sqrt(pi), _call("exp", _call("neg", _call("square", X)))),),
    "maximum": (_FIRST, _call("sub", 1, _FIRST)),
    "minimum": (_BEFORE, _call("sub", 1, _BEFORE)),
    "where": (None, _call("where", X, 1, 0), _call("where", X, 0, 1)),
    "relu": (_RISING,),
    "leaky_relu": (_call("where", _call("less", X, 0), Y, 1), _call("minimum", X, 0)),
    "elu": (
        _call("where", _RISING, 1, _call("mul", Y, _call("exp", X))),
        _call("where", _RISING, 0, _call("expm1", X)),
    ),
    "sigmoid": (_call("mul", _SIGMOID, _call("sub", 1, _SIGMOID)),),
    "silu": (_call("mul", _SIGMOID, _call("add", 1, _call("mul", X, _call("sub", 1, _SIGMOID)))),),
    "softplus": (_SIGMOID,),
    "gelu": (_gelu(),),
    "gelu_tanh": (_gelu_tanh(),),
    "sign": (None,),
    "floor": (None,),
    "ceil": (None,),
    "rint": (None,),
    "less": (None, None),
    "less_equal": (None, None),
    "greater": (None, None),
    "greater_equal": (None, None),
    "equal": (None, None),
    "not_equal": (None, None),
    "logical_and": (None, None),
    "logical_or": (None, None),
    "logical_not": (None,),
}
"""Every function of `table.FUNCTIONS`."""
