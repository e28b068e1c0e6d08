"""Pointwise expressions on tensors of torch, in fp32: what of a gradient no product enters.

A kernel of ours is made for a product. What has none, such as the gradient of a bias, is a few pointwise operations and
a sum, and torch's own do that; under `torch.compile` they become one kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from polyvolta.graph.expr import Constant, Expr, Pointwise, walk
from polyvolta.graph.functions.formula import Formula, fold
from polyvolta.graph.functions.table import FUNCTIONS
from polyvolta.graph.gradients.derive import summed_over
from polyvolta.graph.tensors import Tensor


def _number(test: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """A test as 1 or 0."""
    return lambda a, b: test(a, b).to(torch.float32)


def _both(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a != 0) & (b != 0)


def _either(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a != 0) | (b != 0)


MEANING: dict[str, Callable[..., torch.Tensor]] = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "neg": torch.neg, "abs": torch.abs,
    "sign": torch.sign, "square": torch.square, "pow": torch.pow, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt,
    "exp": torch.exp, "exp2": torch.exp2, "expm1": torch.expm1, "log": torch.log, "log2": torch.log2,
    "log1p": torch.log1p, "sin": torch.sin, "cos": torch.cos, "tanh": torch.tanh, "erf": torch.erf,
    "floor": torch.floor, "ceil": torch.ceil, "rint": torch.round, "maximum": torch.maximum,
    "minimum": torch.minimum, "where": lambda c, a, b: torch.where(c != 0, a, b), "less": _number(torch.lt),
    "less_equal": _number(torch.le), "greater": _number(torch.gt), "greater_equal": _number(torch.ge),
    "equal": _number(torch.eq), "not_equal": _number(torch.ne), "logical_and": _number(_both),
    "logical_or": _number(_either), "logical_not": lambda a: (a == 0).to(torch.float32), "relu": torch.relu,
}  # fmt: skip
"""Every function without a definition, on tensors of fp32."""


def evaluated(e: Expr, values: Mapping[str, Any]) -> torch.Tensor:
    """An expression without products, in fp32.

    Parameters
    ----------
    values : by name a tensor for each tensor under it, a number for each scalar.

    >>> import polyvolta as pv
    >>> x = pv.tensor("x", (3,))
    >>> evaluated(2 * pv.relu(x - 1), {"x": torch.tensor([0.0, 1.5, 3.0])})
    tensor([0., 1., 4.])
    """
    like = next(v for v in values.values() if isinstance(v, torch.Tensor))

    def number(value: float) -> torch.Tensor:
        return torch.full((), value, dtype=torch.float32, device=like.device)

    def call(function: str, operands: Sequence[torch.Tensor]) -> torch.Tensor:
        definition: Formula | None = FUNCTIONS[function].definition
        if definition is None:
            return MEANING[function](*operands)
        return fold(definition, operands, number, call)

    made: dict[Expr, torch.Tensor] = {}
    for node in walk((e,)):
        match node:
            case Tensor(name=name):
                made[node] = values[name].to(torch.float32) if node.dims else number(values[name])
            case Constant(value=value):
                made[node] = number(value)
            case Pointwise(function=f, arguments=arguments):
                made[node] = call(f, [made[x] for x in arguments])
            case _:
                raise TypeError(type(node).__name__)
    return made[e]


def summed(part: torch.Tensor, like: Expr, t: Tensor) -> torch.Tensor:
    """A part of a gradient, of the shape of `like`, summed in fp32 to a tensor's shape where it is larger."""
    axes = summed_over(like.shape, t.dims)
    if not axes:
        return part
    kept = part.sum(axes, keepdim=True, dtype=torch.float32)
    return kept.reshape(kept.shape[len(like.shape) - len(t.dims) :])
