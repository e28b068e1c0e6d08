"""The pointwise functions once more, for tests: fp32 step by step, the mathematics library's rounded once from double.

Written from the functions' descriptions: nothing of polyvolta's own meanings, definitions or C expressions is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

F = np.float32
INF, NAN = math.inf, math.nan


def library(f: Callable[..., float]) -> Callable[..., np.ndarray]:
    """A function of Python numbers over fp32 arrays, rounded to fp32 at the end; each bit pattern once."""

    def over(*xs: np.ndarray) -> np.ndarray:
        xs = np.broadcast_arrays(*(np.asarray(x, F) for x in xs))
        bits = np.stack([np.ascontiguousarray(x).view(np.uint32).ravel() for x in xs], -1)
        rows, back = np.unique(bits, axis=0, return_inverse=True)
        values = [f(*map(float, row)) for row in rows.view(F)]
        return np.array(values).astype(F)[back.ravel()].reshape(xs[0].shape)

    return over


def total(f: Callable[[float], float], at: dict[float, float] | None = None) -> Callable[[float], float]:
    """A function of `math` with C's results where Python raises: those of `at`, infinity beyond the range, else NaN."""

    def g(x: float) -> float:
        if at and x in at:
            return at[x]
        try:
            return f(x)
        except OverflowError:
            return INF
        except ValueError:
            return NAN

    return g


def power(x: float, y: float) -> float:
    """C's pow."""
    odd = math.isfinite(y) and y == int(y) and int(y) % 2 == 1
    try:
        return math.pow(x, y)
    except OverflowError:
        return -INF if x < 0 and odd else INF
    except ValueError:
        return NAN if x else math.copysign(INF, x) if odd else INF


def truth(test: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    return lambda *xs: np.where(test(*xs), F(1), F(0))


def larger(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The second one of two zeros, or of equal ones; NaN where either is."""
    return np.where(np.isnan(a) | np.isnan(b), F(NAN), np.where(a > b, a, b))


LIBRARY = {
    "exp": library(total(math.exp)),
    "exp2": library(total(math.exp2)),
    "expm1": library(total(math.expm1)),
    "log": library(total(math.log, {0.0: -INF})),
    "log2": library(total(math.log2, {0.0: -INF})),
    "log1p": library(total(math.log1p, {-1.0: -INF})),
    "sin": library(total(math.sin)),
    "cos": library(total(math.cos)),
    "tanh": library(math.tanh),
    "erf": library(math.erf),
    "rsqrt": library(lambda x: math.copysign(INF, x) if x == 0 else total(lambda v: 1 / math.sqrt(v))(x)),
    "pow": library(power),
}
"""What CUDA's library computes within a few units in the last place: here to half a unit."""


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return LIBRARY["exp"](np.where(x < 0, x, F(0))) * (F(1) / (F(1) + LIBRARY["exp"](-np.abs(x))))


def _normal(x: np.ndarray, curve: np.ndarray) -> np.ndarray:
    return F(0.5) * x * (F(1) + curve)


EXACT = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "abs": np.abs,
    "sign": lambda x: np.where(x > 0, F(1), np.where(x < 0, F(-1), np.where(x == 0, F(0), x))),
    "square": lambda a: a * a,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "rint": np.rint,
    "maximum": larger,
    "minimum": lambda a, b: -larger(-a, -b),
    "where": lambda c, a, b: np.where(c != 0, a, b),
    "less": truth(lambda a, b: a < b),
    "less_equal": truth(lambda a, b: a <= b),
    "greater": truth(lambda a, b: a > b),
    "greater_equal": truth(lambda a, b: a >= b),
    "equal": truth(lambda a, b: a == b),
    "not_equal": truth(lambda a, b: a != b),
    "logical_and": truth(lambda a, b: (a != 0) & (b != 0)),
    "logical_or": truth(lambda a, b: (a != 0) | (b != 0)),
    "logical_not": truth(lambda a: a == 0),
    "relu": lambda x: np.where(x < 0, F(0), x),
    "leaky_relu": lambda x, slope: np.where(x < 0, x * slope, x),
}
"""What IEEE 754 defines to the last bit."""

COMPOSED = {
    "elu": lambda x, scale: np.where(x > 0, x, scale * LIBRARY["expm1"](x)),
    "sigmoid": _sigmoid,
    "silu": lambda x: x * _sigmoid(x),
    "softplus": lambda x: np.where(x < 0, F(0), x) + LIBRARY["log1p"](LIBRARY["exp"](-np.abs(x))),
    "gelu": lambda x: _normal(x, LIBRARY["erf"](F(math.sqrt(0.5)) * x)),
    "gelu_tanh": lambda x: _normal(
        x, LIBRARY["tanh"](F(math.sqrt(2 / math.pi)) * (x + F(0.044715) * x * x * x))
    ),
}  # fmt: skip
"""Several steps, one of them the library's."""

FUNCTIONS: dict[str, Callable[..., np.ndarray]] = {**EXACT, **LIBRARY, **COMPOSED}
