"""What the pointwise functions mean, in numpy.

Each takes arrays of one floating type and gives that type: float64 for `pv.reference`, float32 for the interpreter.
Python's own numbers in here never widen a float32 array.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def like(made: Any, operand: Any) -> Any:
    """`made` in the operand's type."""
    return np.asarray(made).astype(np.result_type(operand), copy=False)


def erf(x: Any) -> Any:
    """The error function, by the C library in float64, then rounded to the operand's type.

    >>> float(erf(np.float64(0.5)))
    0.5204998778130465
    """
    flat = np.asarray(x, np.float64)
    return like(np.fromiter(map(math.erf, flat.ravel().tolist()), np.float64, flat.size).reshape(flat.shape), x)


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
    "square": np.square,
    "pow": np.power,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
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
    "relu": lambda x: np.maximum(x, like(0.0, x)),
    "leaky_relu": leaky_relu,
    "sigmoid": sigmoid,
    "silu": lambda x: x * sigmoid(x),
    "softplus": lambda x: np.logaddexp(x, like(0.0, x)),
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
}
"""Every function of `functions.FUNCTIONS` over numpy arrays."""
