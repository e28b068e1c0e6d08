"""Which of torch's modules, functions and methods kernels have, as functions on expressions.

Each is called with what torch's own is called with, expressions in the place of tensors; an argument that it doesn't
take is an argument that kernels don't have. Products and what passes a tensor on are for `tracing`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from polyvolta.graph.functions import named as pv

functional = nn.functional


class Unfit(Exception):
    """An argument for which a kernel has no function; says why."""


def gelu(x: Any, approximate: str = "none") -> Any:
    """`functional.gelu`."""
    return pv.gelu_tanh(x) if approximate == "tanh" else pv.gelu(x)


def softplus(x: Any, beta: float = 1, threshold: float = 20) -> Any:
    """`functional.softplus`, whose linear piece beyond the threshold is within 3e-9 of it."""
    if threshold < 20:
        raise Unfit(f"a threshold of {threshold}: softplus is far from linear there")
    return pv.softplus(x) if beta == 1 else pv.softplus(beta * x) / beta


def leaky_relu(x: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """`functional.leaky_relu`."""
    return pv.leaky_relu(x, negative_slope)


def elu(x: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """`functional.elu`."""
    return pv.elu(x, alpha)


def clamp(x: Any, min: Any = None, max: Any = None) -> Any:  # noqa: A002 (torch's names)
    """`torch.clamp`."""
    x = x if min is None else pv.maximum(x, min)
    return x if max is None else pv.minimum(x, max)


def hardtanh(x: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """`functional.hardtanh`."""
    return clamp(x, min_val, max_val)


def hardsigmoid(x: Any, inplace: bool = False) -> Any:
    """`functional.hardsigmoid`."""
    return clamp(x / 6 + 0.5, 0, 1)


def dropout(x: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """`functional.dropout`, where it drops nothing."""
    if training and p > 0:
        raise Unfit("it drops at random: module.eval(), or p=0")
    return x


def _in_place(f: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function of one tensor that torch may be told to compute in place, which changes no value."""
    return lambda x, inplace=False: f(x)


def _sum(sign: int) -> Callable[..., Any]:
    """`torch.add` and `torch.sub`, with their factor."""

    def computed(a: Any, b: Any, alpha: float = 1) -> Any:
        b = b if alpha == 1 else alpha * b
        return a + b if sign > 0 else a - b

    return computed


def _divided(a: Any, b: Any, rounding_mode: str | None = None) -> Any:
    if rounding_mode is not None:
        raise Unfit(f"rounding_mode={rounding_mode!r}")
    return a / b


def _mish(x: Any) -> Any:
    return x * pv.tanh(pv.softplus(x))


def _hardswish(x: Any) -> Any:
    return x * hardsigmoid(x)


_relu6 = _in_place(lambda x: clamp(x, 0, 6))

METHODS: dict[str, Callable[..., Any]] = {
    "add": _sum(1), "sub": _sum(-1), "mul": lambda a, b: a * b, "div": _divided, "neg": lambda x: -x, "pow": pow,
    "relu": pv.relu, "sigmoid": pv.sigmoid, "tanh": pv.tanh, "exp": pv.exp, "exp2": pv.exp2, "expm1": pv.expm1,
    "log": pv.log, "log2": pv.log2, "log1p": pv.log1p, "sqrt": pv.sqrt, "rsqrt": pv.rsqrt, "square": pv.square,
    "abs": abs, "sin": pv.sin, "cos": pv.cos, "erf": pv.erf, "floor": pv.floor, "ceil": pv.ceil, "round": pv.rint,
    "sign": pv.sign, "maximum": pv.maximum, "minimum": pv.minimum, "clamp": clamp,
}  # fmt: skip
"""Methods of tensors, and functions of torch, by name."""

FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{getattr(torch, name): f for name, f in METHODS.items()},
    operator.add: operator.add, operator.sub: operator.sub, operator.mul: operator.mul,
    operator.truediv: operator.truediv, operator.neg: operator.neg, operator.pow: operator.pow,
    operator.abs: abs, operator.iadd: operator.add, operator.imul: operator.mul, operator.isub: operator.sub,
    operator.itruediv: operator.truediv, operator.ipow: operator.pow,
    functional.relu: _in_place(pv.relu), functional.gelu: gelu, functional.silu: _in_place(pv.silu),
    functional.sigmoid: pv.sigmoid, functional.tanh: pv.tanh, functional.softplus: softplus,
    functional.leaky_relu: leaky_relu, functional.elu: elu, functional.hardtanh: hardtanh,
    functional.relu6: _relu6, functional.hardsigmoid: hardsigmoid, functional.hardswish: _in_place(_hardswish),
    functional.mish: _in_place(_mish), functional.dropout: dropout,
}  # fmt: skip
"""Functions, by themselves."""

MODULES: dict[type, Callable[[Any, Any], Any]] = {
    nn.ReLU: lambda m, x: pv.relu(x),
    nn.GELU: lambda m, x: gelu(x, m.approximate),
    nn.SiLU: lambda m, x: pv.silu(x),
    nn.Sigmoid: lambda m, x: pv.sigmoid(x),
    nn.Tanh: lambda m, x: pv.tanh(x),
    nn.Softplus: lambda m, x: softplus(x, m.beta, m.threshold),
    nn.LeakyReLU: lambda m, x: pv.leaky_relu(x, m.negative_slope),
    nn.ELU: lambda m, x: pv.elu(x, m.alpha),
    nn.Hardtanh: lambda m, x: clamp(x, m.min_val, m.max_val),
    nn.ReLU6: lambda m, x: clamp(x, 0, 6),
    nn.Hardsigmoid: lambda m, x: hardsigmoid(x),
    nn.Hardswish: lambda m, x: _hardswish(x),
    nn.Mish: lambda m, x: _mish(x),
    nn.Identity: lambda m, x: x,
    nn.Dropout: lambda m, x: dropout(x, m.p, m.training),
}
"""Modules that are pointwise, by their classes."""

PRODUCTS = (operator.matmul, torch.matmul, torch.mm, functional.linear)

_BETWEEN = "keep it in torch, and convert what is before it and what is after it each by itself"
INSTEAD: dict[str, str] = {
    "LayerNorm": f"it sums over rows: {_BETWEEN}",
    "RMSNorm": f"it sums over rows: {_BETWEEN}",
    "softmax": f"it sums over rows: {_BETWEEN}",
    "Softmax": f"it sums over rows: {_BETWEEN}",
    "layer_norm": f"it sums over rows: {_BETWEEN}",
    "BatchNorm1d": "in eval mode torch.nn.utils.fusion.fuse_linear_bn_eval makes it part of the Linear before it",
    "Conv2d": "a convolution is a product of unfolded rows: torch.nn.functional.unfold, and a Linear",
    "Conv1d": "a convolution is a product of unfolded rows: torch.nn.functional.unfold, and a Linear",
    "Bilinear": "a Linear of a product of the inputs",
    "MultiheadAttention": f"its projections are Linears: {_BETWEEN}",
}
"""For what is asked for most among the rest: what to do instead."""

KNOWN = (
    f"Linear, {', '.join(m.__name__ for m in MODULES)}; +, -, *, /, ** and torch's functions of these names; "
    "x @ weight; " + _BETWEEN
)
