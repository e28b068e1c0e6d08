"""What the pointwise functions mean, in numpy.

Each takes arrays of one floating type and gives that type: float64 for `pv.reference`, float32 for the interpreter.
Python's own numbers in here never widen a float32 array.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from polyvolta.graph.functions.formula import Formula, fold
from polyvolta.graph.functions.table import FUNCTIONS


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


def power(x: Any, y: Any) -> Any:
    """x to the power of y with C's special values, and x * x where y is 2.

    For some y, where it is a single number, numpy computes another function: sqrt, which is NaN at -infinity.

    >>> power(np.array([-0.0, 9.0], np.float32), np.float32(0.5))
    array([0., 3.], dtype=float32)
    """
    made = np.where(np.equal(y, 2), np.square(x), np.power(x, y))
    made = np.where(np.equal(y, 0.5) & (np.isinf(x) | np.equal(x, 0)), np.abs(x), made)
    return np.where(np.equal(y, 0) | np.equal(x, 1), like(1.0, x), made)  # of NaN, too


def maximum(a: Any, b: Any) -> Any:
    """The larger one, NaN if one is; of two zeros the second one, where numpy gives either."""
    return np.where(np.greater(a, b) | np.isnan(a), a, b)


def minimum(a: Any, b: Any) -> Any:
    """The smaller one, NaN if one is; of two zeros the second one, where numpy gives either."""
    return np.where(np.less(a, b) | np.isnan(a), a, b)


def where(condition: Any, a: Any, b: Any) -> Any:
    """a where the condition isn't 0 (NaN isn't), else b."""
    return np.where(np.not_equal(condition, 0), a, b)


def _truth(test: Callable[..., Any]) -> Callable[..., Any]:
    """A numpy test as a function whose result is 1 or 0."""
    return lambda *operands: like(test(*operands), operands[0])


def _defined(definition: Formula) -> Callable[..., Any]:
    """A formula as a function whose steps are those of `MEANING`."""

    def value(*operands: Any) -> Any:
        return fold(definition, operands, lambda v: like(v, operands[0]), lambda f, xs: MEANING[f](*xs))

    return value


MEANING: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "square": np.square,
    "pow": power,
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
    "maximum": maximum,
    "minimum": minimum,
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
}
MEANING |= {name: _defined(f.definition) for name, f in FUNCTIONS.items() if f.definition is not None}
"""Every function of `functions.FUNCTIONS` over numpy arrays."""


def evaluate(formula: Formula, operands: Sequence[Any], dtype: Any = "float32") -> Any:
    """The formula on numpy arrays, every function computed in `dtype`.

    Parameters
    ----------
    operands : arrays or numbers of any real type; they broadcast as in numpy.
    dtype : float32, what kernels compute in, or float64. Numpy's warnings about NaN and infinity are silent.

    >>> from polyvolta.graph.functions.formula import Call, Input, Number
    >>> evaluate(Call("relu", (Call("sub", (Input(0), Number(1))),)), [[0.5, 3]])
    array([0., 2.], dtype=float32)
    """
    def cast(x: Any) -> Any:
        return np.asarray(x, dtype)

    with np.errstate(all="ignore"):
        return fold(formula, [cast(x) for x in operands], cast, lambda f, xs: cast(MEANING[f](*xs)))
