"""What kernels of the matrices compute: idioms, each one formula over named arrays.

The text of the formula has three readings: with `Graphs` it builds the graph that polyvolta compiles, with `Arrays`
over numpy or torch it computes the same thing in float64 from values. So the expected result shares no code with the
compiler, nor with `pv.reference`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from families import FAMILIES, Family, Warpgroups

import polyvolta as pv

LAYOUTS = ("row", "col")
OTHER = {"row": "col", "col": "row"}


@dataclass(frozen=True)
class Idiom:
    """A computation.

    Parameters
    ----------
    name, group : of the idiom, and of the idioms that it is counted with.
    tensors : name -> "sizes layout", in the order of the formula's arguments. Sizes are letters or 1; the layout is
        a, b or c for that of A, B and the result, capital for the other one; a vector has none.
    formula : of (functions, **arrays); `functions` is a `Graphs` or an `Arrays`. Several outputs are a tuple.
    scalars : names of numbers given at launch.
    accumulators : "auto", or what the option asks for.
    results : accumulators that a thread holds at the same time.
    zero_at_zero : whether zeros around the arrays add nothing to the products: what padding needs.
    rounded : whether a prologue's result is not a number that fp16 holds, even for data on a coarse grid.
    stage : tiles of left and of right operands that a k tile has where products that read the same have one loop.
    """

    name: str
    group: str
    tensors: Mapping[str, str] = field(hash=False)
    formula: Callable[..., Any] = field(hash=False)
    scalars: tuple[str, ...] = ()
    accumulators: str = "auto"
    results: int = 1
    zero_at_zero: bool = True
    rounded: bool = False
    stage: tuple[int, int] = (1, 1)

    def __reduce__(self) -> tuple:
        return idiom_called, (self.name,)  # formulas don't travel between processes

    @property
    def sizes(self) -> tuple[str, ...]:
        """Names of the sizes, in order of appearance."""
        letters = "".join(text.split()[0] for text in self.tensors.values())
        return tuple(dict.fromkeys(c for c in letters if c.isalpha()))

    @property
    def loads(self) -> int:
        """Matrices that are loaded for one operand, at most."""
        inner = [t.split()[0] for t in self.tensors.values() if t[-1] not in "cC" and len(t.split()[0]) == 2]
        whole = [s for s in inner if "1" not in s]
        return max(map(whole.count, whole)) + (len(inner) > len(whole))


A, B = {"A": "MK a"}, {"B": "KN b"}
PQ = {"P": "ML A", "Q": "LN b"}
UV = {"U": "MH a", "V": "HN B"}
BIAS = {"bias": "N"}


def _swish(f: Any) -> Callable:
    def swish_add(x: Any, r: Any) -> Any:
        return x * f.sigmoid(x) + 0.5 * r

    return swish_add


IDIOMS = (
    Idiom("plain", "plain", A | B, lambda f, A, B: A @ B),
    Idiom("one tensor twice", "plain", {"A": "NN a"}, lambda f, A: A @ A),
    Idiom("prologue A", "prologue", A | {"P": "MK a", "s": "M1 a"} | B, lambda f, A, P, s, B: f.relu(A + P) * s @ B),
    Idiom("prologue A, other layout", "prologue", A | {"P": "MK A", "k": "K"} | B,
          lambda f, A, P, k, B: (A - P + k) @ B),
    Idiom("prologue B", "prologue", A | B | {"Q": "KN b", "w": "N"}, lambda f, A, B, Q, w: A @ f.relu(B * w - Q)),
    Idiom("prologue B, not 0 at 0", "prologue", A | B | {"w": "K1 b"},
          lambda f, A, B, w: A @ (f.sigmoid(B) + w), rounded=True),
    Idiom("prologue A and B", "prologue", A | {"P": "MK A", "k": "K"} | B | {"w": "N"},
          lambda f, A, P, k, B, w: (f.relu(A) + P * k) @ f.relu(B + w)),
    Idiom("prologue scalars", "prologue", A | B, lambda f, A, B, alpha, beta: (alpha * A + beta) @ (B - alpha),
          scalars=("alpha", "beta"), zero_at_zero=False),
    Idiom("bias relu", "epilogue", A | B | BIAS, lambda f, A, B, bias: f.relu(A @ B + bias)),
    Idiom("column bias, leaky relu", "epilogue", A | B | {"bias": "M1 c"},
          lambda f, A, B, bias: f.leaky_relu(A @ B + bias, 0.125)),
    Idiom("residual gelu", "epilogue", A | B | {"R": "MN c"}, lambda f, A, B, R: f.gelu(A @ B) + R),
    Idiom("residual, other layout", "epilogue", A | B | {"R": "MN C"} | BIAS,
          lambda f, A, B, R, bias: f.tanh(0.0625 * (A @ B) + bias) * R),
    Idiom("clamp sigmoid", "epilogue", A | B, lambda f, A, B: f.sigmoid(f.clamp(A @ B, -4, 4))),
    Idiom("user's function", "epilogue", A | B | {"R": "MN c"}, lambda f, A, B, R: f.pointwise(_swish(f), A @ B, R)),
    Idiom("scalars at launch", "epilogue", A | B | {"R": "MN c"},
          lambda f, A, B, R, alpha, beta: alpha * (A @ B) + beta * R, scalars=("alpha", "beta")),
    Idiom("prologue and epilogue", "epilogue", A | {"P": "MK a"} | B | BIAS | {"R": "MN c"},
          lambda f, A, P, B, bias, R: f.relu(f.relu(A + P) @ B + bias) + R),
    Idiom("product and bias relu", "outputs", A | B | BIAS, lambda f, A, B, bias: (A @ B, f.relu(A @ B + bias))),
    Idiom("two results", "outputs", A | B | {"R": "MN c"},
          lambda f, A, B, R: (f.relu(A @ B) + R, f.tanh(A @ B) - R)),
    Idiom("sum of two", "one accumulator", A | B | PQ, lambda f, A, B, P, Q: A @ B + P @ Q),
    Idiom("sum of three", "one accumulator", A | B | PQ | UV, lambda f, A, B, P, Q, U, V: A @ B + P @ Q + U @ V),
    Idiom("scaled difference", "one accumulator", A | B | PQ, lambda f, A, B, P, Q: 2 * (A @ B) - 0.5 * (P @ Q)),
    Idiom("sum, bias relu", "one accumulator", A | B | PQ | BIAS,
          lambda f, A, B, P, Q, bias: f.relu(A @ B + P @ Q + bias)),
    Idiom("sum, prologues, residual", "one accumulator", A | {"s": "M1 a"} | B | PQ | {"w": "N", "R": "MN c"},
          lambda f, A, s, B, P, Q, w, R: f.relu(A * s @ B - f.relu(P) @ (Q + w)) + R),
    Idiom("sum of two, apart", "separate", A | B | PQ, lambda f, A, B, P, Q: A @ B + P @ Q,
          accumulators="separate", results=2),
    Idiom("sum of three, apart", "separate", A | B | PQ | UV, lambda f, A, B, P, Q, U, V: A @ B + P @ Q + U @ V,
          accumulators="separate", results=3),
    Idiom("gated", "separate", A | B | PQ, lambda f, A, B, P, Q: f.sigmoid(A @ B) * (P @ Q), results=2),
    Idiom("gated, one A", "separate", A | B | {"Q": "KN B"} | BIAS,
          lambda f, A, B, Q, bias: f.relu(A @ B + bias) * (A @ Q), results=2, stage=(1, 2)),
    Idiom("three, mixed", "separate", A | B | PQ | UV,
          lambda f, A, B, P, Q, U, V: f.relu(A @ B) + f.tanh(P @ Q) * (U @ V), results=3),
    Idiom("gated, prologues, residual", "separate", A | {"s": "M1 a"} | B | PQ | {"w": "N", "R": "MN c"},
          lambda f, A, s, B, P, Q, w, R: f.relu((A * s) @ B) * f.sigmoid(0.015625 * (f.relu(P) @ (Q + w))) + R,
          results=2),
)  # fmt: skip


OF_ONE_MATRIX = (
    Idiom("relu of A", "prologue", A | B, lambda f, A, B: f.relu(A) @ B),
    Idiom("relu of B", "prologue", A | B, lambda f, A, B: A @ f.relu(B)),
    Idiom("relu of A and B", "prologue", A | B, lambda f, A, B: f.relu(A) @ f.relu(B)),
    Idiom("sigmoid of B, not 0 at 0", "prologue", A | B, lambda f, A, B: A @ f.sigmoid(B), rounded=True),
    Idiom("sigmoid of A and B", "prologue", A | B, lambda f, A, B: f.sigmoid(A) @ f.sigmoid(B), zero_at_zero=False,
          rounded=True),
    Idiom("prologue, bias, residual", "prologue", A | B | BIAS | {"R": "MN c"},
          lambda f, A, B, bias, R: f.relu(f.relu(A) @ B + bias) + R),
    Idiom("sum of two, prologues", "one accumulator", A | B | PQ,
          lambda f, A, B, P, Q: f.relu(A) @ B + P @ f.relu(Q)),
    Idiom("sum of two, one A", "one accumulator", A | B | {"Q": "KN B"}, lambda f, A, B, Q: A @ B + A @ Q,
          stage=(1, 2)),
    Idiom("two results, prologue", "outputs", A | B, lambda f, A, B: (f.relu(A) @ B, f.tanh(f.relu(A) @ B))),
    Idiom("two products, one A", "outputs", A | B | {"Q": "KN B"}, lambda f, A, B, Q: (A @ B, f.relu(A @ Q)),
          results=2, stage=(1, 2)),
    Idiom("gated, one B", "separate", A | B | {"P": "MK A"}, lambda f, A, B, P: f.tanh(0.0625 * (A @ B)) * (P @ B),
          results=2, stage=(2, 1)),
    Idiom("gated, one relu of A", "separate", A | B | {"Q": "KN B"},
          lambda f, A, B, Q: f.relu(f.relu(A) @ B) * (f.relu(A) @ Q), results=2, stage=(1, 2)),
    Idiom("gated, prologues", "separate", A | B | {"Q": "KN B"},
          lambda f, A, B, Q: f.sigmoid(0.0625 * (f.relu(A) @ B)) * (A @ f.relu(Q)), results=2, stage=(1, 2)),
)  # fmt: skip
"""With operands that are computed from one matrix each, and loops that products share."""


def idiom_called(name: str) -> Idiom:
    """The idiom of a name."""
    return next(i for i in (*IDIOMS, *OF_ONE_MATRIX) if i.name == name)


_OF_WARPS = ("scaled difference", "sum, prologues, residual", "prologue and epilogue", "gated, prologues, residual",
             "prologue A", "prologue A, other layout", "prologue B", "prologue B, not 0 at 0",
             "prologue A and B")  # fmt: skip
"""With sums that are scaled between products, or operands that are computed from several tensors."""


def idioms_of(family: Family) -> tuple[Idiom, ...]:
    """The idioms of a target's matrix: all, or those that warpgroups compute, and more with operands of one matrix."""
    if not isinstance(family, Warpgroups):
        return IDIOMS
    known = [i for i in IDIOMS if i.name not in _OF_WARPS]
    last = [i for i in known if i.group in ("prologue", "separate")]
    return (*(i for i in known if i not in last), *last, *OF_ONE_MATRIX)


def known_of(target: str) -> tuple[Idiom, ...]:
    """All idioms of which there are kernels for a target: those that warpgroups don't compute, too."""
    return tuple(dict.fromkeys((*IDIOMS, *idioms_of(FAMILIES[target]))))


class Graphs:
    """Formulas read as graphs: the functions are polyvolta's."""

    def __getattr__(self, name: str) -> Any:
        return getattr(pv, name)


class Arrays:
    """Formulas read as float64 arithmetic, on arrays of numpy or torch; `xp` is the library."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp

    def relu(self, x: Any) -> Any:
        return self.xp.where(x < 0, 0.0, x)

    def leaky_relu(self, x: Any, slope: float) -> Any:
        return self.xp.where(x > 0, x, slope * x)

    def sigmoid(self, x: Any) -> Any:
        return 1 / (1 + self.xp.exp(-x))

    def tanh(self, x: Any) -> Any:
        return self.xp.tanh(x)

    def gelu(self, x: Any) -> Any:
        if self.xp.__name__ == "torch":
            return 0.5 * x * (1 + self.xp.erf(x / math.sqrt(2)))
        return 0.5 * x * (1 + self.xp.vectorize(math.erf, otypes=[float])(x / math.sqrt(2)))

    def clamp(self, x: Any, low: float, high: float) -> Any:
        return self.xp.where(x < low, float(low), self.xp.where(x > high, float(high), x))

    def pointwise(self, function: Callable, *arrays: Any) -> Any:
        return function(*arrays)


def layout(idiom: Idiom, tensor: str, a: str, b: str, c: str) -> str:
    """ "row" or "col" of an idiom's tensor, given those of A, B and the result."""
    _, _, letter = idiom.tensors[tensor].partition(" ")
    known = {"a": a, "b": b, "c": c, "": "row"}
    return known[letter] if letter in known else OTHER[known[letter.lower()]]


def graph(
    idiom: Idiom, a: str, b: str, c: str, numbers: Mapping[str, int] | None = None, dtype: str = "float16"
) -> Any:
    """An idiom's outputs as expressions; `numbers` gives sizes that are known when it is compiled."""
    kind = {} if dtype == "float16" else {"dtype": dtype}
    sizes = {n: pv.sizes(n) for n in idiom.sizes} | {"1": 1} | dict(numbers or {})
    leaves = {}
    for name, text in idiom.tensors.items():
        shape = tuple(sizes[d] for d in text.split()[0])
        leaves[name] = pv.tensor(name, shape, layout=layout(idiom, name, a, b, c), **kind)
    leaves |= {name: pv.scalar(name) for name in idiom.scalars}
    results = idiom.formula(Graphs(), **leaves)
    several = isinstance(results, tuple)
    laid = tuple(pv.output(r, layout=c) if c == "col" else r for r in (results if several else (results,)))
    return laid if several else laid[0]


def expected(idiom: Idiom, arrays: Mapping[str, Any], xp: Any) -> tuple[Any, ...]:
    """An idiom's outputs for float64 arrays of numpy or torch, `xp`, and numbers for its scalars."""
    results = idiom.formula(Arrays(xp), **arrays)
    return results if isinstance(results, tuple) else (results,)
