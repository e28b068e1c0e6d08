"""What the pointwise functions mean, in numpy.

Each takes arrays of one floating type and gives that type: float64 for `pv.reference`, float32 for the interpreter.
Python's own numbers in here never widen a float32 array.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np


def like(made: Any, operand: Any) -> Any:
    """`made` in the operand's type."""
    return np.asarray(made).astype(np.result_type(operand), copy=False)


_GRID = 64  # points of erf's table per unit
_REACH = 6  # erf(6) is 1 in float64
_CHUNK = 2**14  # values computed at a time, so that what is in between stays in the cache


@cache
def _erf_table() -> tuple[np.ndarray, ...]:
    """At each grid point x: erf(x), then the Taylor coefficients of (erf(x + d) - erf(x)) / d, constant one first.

    The n-th derivative of exp(-x^2) is (-1)^n H_n(x) exp(-x^2), with Hermite's polynomials: H_0 = 1, H_1 = 2x and
    H_{n+1} = 2x H_n - 2n H_{n-1}.
    """
    x = np.arange(_REACH * _GRID + 1) / _GRID
    slope = 2 / math.sqrt(math.pi) * np.exp(-x * x)
    before, hermite, made = np.zeros_like(x), np.ones_like(x), [np.array([math.erf(p) for p in x])]
    for n in range(7):
        made.append((-1) ** n / math.factorial(n + 1) * hermite * slope)
        before, hermite = hermite, 2 * x * hermite - 2 * n * before
    return tuple(made)


def erf(x: Any) -> Any:
    """The error function, computed in float64, then rounded to the operand's type.

    The C library's value at the nearest of `_GRID` points per unit, and a Taylor polynomial from there: what is left
    out is below 1e-18 of the result, and the whole within two units in the last place of the C library's.
    Cost: about 30 ns a value.

    >>> float(erf(np.float64(0.5)))
    0.5204998778130465
    """
    flat = np.asarray(x, np.float64).ravel()
    made = np.empty_like(flat)
    for start in range(0, flat.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        made[part] = _erf(flat[part])
    return like(made.reshape(np.shape(x)), x)


def _erf(x: Any) -> Any:
    size = np.minimum(np.abs(x), _REACH)
    point = np.rint(np.fmin(size, _REACH) * _GRID)  # of NaN, too, which stays in the distance
    at = point.astype(np.intp)
    distance = size - point / _GRID
    value, *coefficients = _erf_table()
    made = coefficients[-1][at]
    for c in reversed(coefficients[:-1]):
        made *= distance
        made += c[at]
    return np.copysign(value[at] + distance * made, x)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), from exponentials of negative numbers alone, so that nothing overflows.

    >>> sigmoid(np.array([-800.0, 0.0, 800.0]))
    array([0. , 0.5, 1. ])
    """
    e = np.exp(-np.abs(x))
    return np.where(np.less(x, 0), e, like(1.0, e)) / (1.0 + e)


def gelu(x: Any) -> Any:
    """x times the normal distribution's cumulative function, in its exact form, by `erf`."""
    return 0.5 * x * (1.0 + erf(x * math.sqrt(0.5)))


def gelu_tanh(x: Any) -> Any:
    """The form of `gelu` with a hyperbolic tangent; differs from the exact one by at most 5e-4."""
    return 0.5 * x * (1.0 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def leaky_relu(x: Any, slope: Any) -> Any:
    """x, and slope * x where x is negative."""
    return x * np.where(np.less(x, 0), slope, like(1.0, x))


def elu(x: Any, scale: Any) -> Any:
    """x, and scale * (exp(x) - 1) where x isn't positive."""
    return np.where(np.greater(x, 0), x, scale * np.expm1(np.minimum(x, like(0.0, x))))


def where(condition: Any, a: Any, b: Any) -> Any:
    """a where the condition isn't 0 (NaN isn't), else b."""
    return np.where(np.not_equal(condition, 0), a, b)


def _truth(test: Callable[..., Any]) -> Callable[..., Any]:
    """A numpy test as a function whose result is 1 or 0."""
    return lambda *operands: like(test(*operands), operands[0])


MEANING: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "square": np.square,
    "pow": np.power,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "erf": erf,
    "floor": np.floor,
    "ceil": np.ceil,
    "rint": np.rint,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "where": where,
    "less": _truth(np.less),
    "less_equal": _truth(np.less_equal),
    "greater": _truth(np.greater),
    "greater_equal": _truth(np.greater_equal),
    "equal": _truth(np.equal),
    "not_equal": _truth(np.not_equal),
    "logical_and": _truth(np.logical_and),
    "logical_or": _truth(np.logical_or),
    "logical_not": _truth(np.logical_not),
    "relu": lambda x: np.where(np.less(x, 0), like(0.0, x), x),  # which keeps -0.0 and NaN
    "leaky_relu": leaky_relu,
    "elu": elu,
    "sigmoid": sigmoid,
    "silu": lambda x: x * sigmoid(x),
    "softplus": lambda x: np.logaddexp(x, like(0.0, x)),
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
}
"""Every function of `functions.FUNCTIONS` over numpy arrays."""
