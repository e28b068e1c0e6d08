"""How far a kernel's arithmetic may lead from the exact value: a bound for every element, from the rounding it does.

A kernel rounds in three places. What a prologue makes of an operand is an fp16 number again; sums, and every function
of an epilogue, are computed in fp32; a result is rounded to fp16 at the end. (In a graph of bfloat16 read bf16 for
fp16: it has 8 significant bits for 11, and fp32's range.) `bounded` follows the first two through the graph: the exact
value of each node, in float64 as `reference` has it, and how much a computation so rounded may differ from it. No
constant is tuned: the bounds are those of the textbooks (Higham, "Accuracy and Stability of Numerical Algorithms",
sections 2.2, 3.1 and 3.5).

  * A number x is off by at most u |x| after a rounding to fp32, u = 2^-24.
  * A sum of n products is off by at most n u times the sum of the products' magnitudes, whatever the order; and by
    |a| db + da |b| + da db summed, where operands a and b are off by da and db.
  * fp16's rounding is monotone: what lies between x - d and x + d lies between their fp16 neighbours afterwards. An
    operand that fp16 holds exactly, as data and relu of data are, stays exact.
  * A function of an argument between x - d and x + d has its extremes at the two ends, or at 0; the few that rise and
    fall elsewhere have a slope that is bounded.

The bound fits the data: where sums cancel it is as large as what may be lost, elsewhere a few units of fp32. It is
infinite where nothing can be said: where an operand may exceed fp16's range, or a sum of bf16's products fp32's, a
divisor may be 0, or an infinity may meet a 0. An exact NaN or infinity with a finite bound is what the kernel has to
give, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyvolta.graph.expr import Constant, Expr, MatMul, Pointwise, walk
from polyvolta.graph.functions.formats import FORMATS, FP16, Format
from polyvolta.graph.functions.formula import fold
from polyvolta.graph.functions.meaning import MEANING
from polyvolta.graph.reference import value_of

if TYPE_CHECKING:
    from polyvolta.graph.binding import Bound
    from polyvolta.graph.dag import Graph

Float64 = NDArray[np.float64]
Pair = tuple[Any, Any]  # an exact value and how far off it may be: arrays, or numbers

UNIT = 2.0**-24  # of fp32, rounded to nearest
FEW = 64  # roundings of fp32 that a function, or a kernel beside its sums, may do: generous, and still 2^-18
LARGEST = float(np.finfo(np.float32).max)
SMALLEST = float(np.finfo(np.float32).tiny)  # more than what a product loses by underflow
TINY = 2.0**-120  # more than what underflow of fp32 loses

EXACT = frozenset(
    ("neg", "abs", "sign", "floor", "ceil", "rint", "maximum", "minimum", "where", "less", "less_equal", "greater",
     "greater_equal", "equal", "not_equal", "logical_and", "logical_or", "logical_not", "relu")
)  # fmt: skip
"""Functions whose result needs no rounding."""

CANCEL = frozenset(("add", "sub", "gelu", "gelu_tanh", "sin", "cos"))
"""Functions whose rounding goes with their arguments, not with the result."""

SLOPE = {"sin": 1.0, "cos": 1.0, "silu": 1.2, "gelu": 1.2, "gelu_tanh": 1.2}
"""Functions with extremes elsewhere than at 0, and more than the steepest slope that they have."""


def bounded(graph: Graph, bound: Bound) -> tuple[tuple[Float64, Float64], ...]:
    """Each output's exact value, and how far off 16-bit operands, fp32 sums and fp32 functions may leave it.

    Parameters
    ----------
    graph : what is computed.
    bound : real arrays in float64 and scalars, all of them numbers that the kernel holds exactly: fp16 (bf16) and fp32.

    Returns
    -------
    For each output two float64 arrays of its shape: the value, the same as `reference` has, and a bound >= 0 of the
    difference before the result's own rounding to fp16 (bf16); infinite where nothing is known.

    Cost: three products for each one of `reference`, and up to 3^n pointwise operations on n arguments.

    >>> import numpy as np, polyvolta as pv
    >>> from polyvolta.graph import Graph
    >>> from polyvolta.graph.binding import Bound
    >>> A, B = pv.tensor("A", (2, 2)), pv.tensor("B", (2, 2))
    >>> data = {"A": np.eye(2), "B": np.ones((2, 2))}
    >>> ((exact, off),) = bounded(Graph.of(A @ B), Bound(data, {}))
    >>> bool(off.max() < 1e-5)
    True
    >>> ((exact, off),) = bounded(Graph.of(pv.sigmoid(A) @ B), Bound(data, {}))  # sigmoid(A) is rounded to fp16
    >>> bool(1e-4 < off.max() < 1e-3)
    True
    """
    exact: dict[Expr, Any] = {}
    off: dict[Expr, Any] = {}
    form = FORMATS[graph.dtype]
    steps = FEW  # roundings of a sum, of all products so far: they may share an accumulator
    with np.errstate(all="ignore"):
        for node in walk(graph.roots):
            exact[node] = value_of(node, exact, bound)
            xs = [(exact[x], off[x]) for x in node.operands]
            match node:
                case MatMul():
                    steps += exact[node.left].shape[1]
                    off[node] = _product(xs[0], xs[1], steps, form)
                case Pointwise(function=f, definition=None):
                    off[node] = _function(f, xs, exact[node], steps)
                case Pointwise(definition=definition):
                    off[node] = _formula(definition, xs, steps)
                case Constant(value=value):
                    off[node] = _number(value)[1]
                case _:
                    off[node] = 0.0
    return tuple((exact[e], np.array(np.broadcast_to(off[e], np.shape(exact[e])))) for e in graph.roots)


# ---- products


def _product(left: Pair, right: Pair, steps: int, form: Format) -> Float64:
    """How far off a product of two operands is, each rounded to the format first."""
    (a, da), (b, db) = ((x, _halved(x, d, form)) for x, d in (left, right))
    size_a, size_b, off_a, off_b = (np.where(np.isfinite(x), np.abs(x), 0.0) for x in (a, b, da, db))
    whole = (size_a + off_a) @ (size_b + off_b)
    off = off_a @ (size_b + off_b) + size_a @ off_b + steps * UNIT * whole
    if form is not FP16:  # whose products are far from either end of fp32's range
        off = off + np.where(whole > 0, steps * SMALLEST, 0.0)
        off = np.where(whole + off > LARGEST, np.inf, off)
    unknown = np.logical_or.outer(np.isinf(da).any(1), np.isinf(db).any(0))
    for x, y, dy in ((a, b, db), (b.T, a.T, da.T)):  # an infinity times what may be 0, or of either sign
        doubtful = (np.abs(y) <= dy) & (dy > 0)
        if doubtful.any() and np.isinf(x).any():
            met = np.isinf(x).astype(float) @ doubtful > 0
            unknown |= met if y is b else met.T
    return np.where(unknown, np.inf, off)


def _halved(x: Any, d: Any, form: Format) -> Float64:
    """How far off a value is when it was rounded to the format."""
    ends = [form.rounded(x + s * d) for s in (-1, 1)]
    return np.where(np.isinf(d), np.inf, np.maximum(*(_distance(end, x) for end in ends)))


# ---- functions


def _number(value: float) -> Pair:
    """A constant, which is rounded to fp32."""
    return np.float64(value), _distance(np.float64(np.float32(value)), np.float64(value))


def _formula(formula: Any, xs: Sequence[Pair], steps: int) -> Any:
    """How far off a user's function is: call by call."""

    def call(f: str, pairs: tuple[Pair, ...]) -> Pair:
        value = MEANING[f](*(x for x, _ in pairs))
        return value, _function(f, pairs, value, steps)

    return fold(formula, xs, _number, call)[1]


def _function(f: str, xs: Sequence[Pair], value: Any, steps: int) -> Any:
    """How far off a function's value is: what its arguments' errors may do, and its own rounding."""
    if f in SLOPE:
        off = SLOPE[f] * sum(d for _, d in xs)
    elif f in ("equal", "not_equal"):
        (x, dx), (y, dy) = xs
        off = np.where((np.abs(x - y) <= dx + dy) & (dx + dy > 0), 1.0, 0.0)
    else:
        off = 0.0
        for point in product(*(_points(x, d) for x, d in xs)):
            off = np.maximum(off, _distance(MEANING[f](*point), value))
    if f == "pow":  # NaN of a negative number, unless the exponent is whole
        (x, dx), (_, dy) = xs
        off = np.where((x - dx < 0) & (dy > 0), np.inf, off)
    if f not in EXACT:
        size = np.abs(value) + off + (sum(np.abs(x) + d for x, d in xs) if f in CANCEL else 0.0)
        off = off + np.where(np.isfinite(size), steps * UNIT * size + TINY, 0.0)
        off = np.where(np.isfinite(value) & (np.abs(value) + off > LARGEST), np.inf, off)
    for _, d in xs:
        off = np.where(np.isinf(d), np.inf, off)
    return off


def _points(x: Any, d: Any) -> tuple[Any, ...]:
    """Where a function of a number between x - d and x + d has its extremes: at both ends, or nearest to 0."""
    return (x,) if not np.any(d) else (x - d, x + d, np.clip(0.0, x - d, x + d))


def _distance(x: Any, y: Any) -> Any:
    """|x - y|; 0 of two equal infinities and of two NaNs, infinite of one NaN."""
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    apart = np.abs(np.where(same, 0.0, x) - np.where(same, 0.0, y))
    return np.where(np.isnan(apart), np.inf, apart)
