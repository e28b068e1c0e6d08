"""What an operator's results are like, without computing them, and arguments as a kernel wants them.

Shapes are found by name: a size of the kernel is the length of some argument's dimension, which may itself be a symbol
of torch's. No value of a size is asked for, so that one traced graph serves all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from polyvolta.graph.dag import Graph
from polyvolta.graph.dims import Size
from polyvolta.graph.expr import shape_text
from polyvolta.graph.tensors import Tensor
from polyvolta.sets.errors import kind_of
from polyvolta.torch.errors import WrongTensor

DTYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16}


def empty_results(graph: Graph, arguments: Sequence[Any]) -> tuple[torch.Tensor, ...]:
    """Tensors like a call's results, made from those that it is given.

    Raises
    ------
    WrongTensor : of the arguments' types, dimensions and devices; that sizes agree is `torch._check`ed.
    """
    check(graph, arguments)
    sizes: dict[str, Any] = {}
    for t, x in zip(graph.arguments, arguments, strict=True):
        for dim, length in zip(t.dims, x.shape if t.dims else (), strict=True):
            known = sizes.setdefault(dim.name, length) if isinstance(dim, Size) else dim
            if known is not length:
                said = f"{dim} is {known} in one tensor, and {length} in that for {shape_text(t)}"
                torch._check(length == known, lambda said=said: said)
    like = next(x for t, x in zip(graph.arguments, arguments, strict=True) if t.dims)
    return tuple(_empty(like, t, [sizes[d.name] if isinstance(d, Size) else d for d in t.dims]) for t in graph.outputs)


def _empty(like: torch.Tensor, t: Tensor, shape: Sequence[Any]) -> torch.Tensor:
    if t.layout == "row":
        return like.new_empty(shape)
    return like.new_empty(shape[::-1]).t()


def check(graph: Graph, arguments: Sequence[Any]) -> None:
    """Types, numbers of dimensions and devices of an operator's arguments.

    Raises
    ------
    WrongTensor
    """
    devices: dict[Any, list[str]] = {}
    for t, x in zip(graph.arguments, arguments, strict=True):
        if not t.dims:
            if isinstance(x, torch.Tensor) or isinstance(x, bool) or not hasattr(x, "__float__"):
                requires = getattr(x, "requires_grad", False)
                hint = "a scalar has no gradient: for one, make it a tensor of shape (1, 1)" if requires else ""
                what = f"{t.name} is a number, and {kind_of(x)} was given for it"
                raise WrongTensor(what, where=signature(graph, t), hint=hint or f"{t.name}.item()")
            continue
        if not isinstance(x, torch.Tensor):
            what = f"{t.name} is a tensor, and {kind_of(x)} was given for it"
            raise WrongTensor(what, where=signature(graph, t), hint="torch.as_tensor(x) makes one of an array")
        check_strided(x, t.name, signature(graph, t))
        if x.dtype != DTYPES[t.dtype]:
            what = f"{t.name} is of {t.dtype}, and a tensor of {str(x.dtype).removeprefix('torch.')} was given for it"
            own = f"{t.name}.real" if x.is_complex() else t.name
            hint = f"{own}.to(torch.{t.dtype})" + ", which has a gradient, too" * x.is_floating_point()
            raise WrongTensor(what, where=signature(graph, t), hint=hint)
        if x.dim() != len(t.dims):
            what = f"{t.name} has {len(t.dims)} dimensions, and a tensor of shape {tuple(x.shape)} was given for it"
            raise WrongTensor(what, where=signature(graph, t), hint=f"its shape is that of {shape_text(t)}")
        devices.setdefault(x.device, []).append(t.name)
    if len(devices) > 1:
        what = "; ".join(f"{', '.join(names)} on {device}" for device, names in devices.items())
        hint = f".to('{next(iter(devices))}') for the others"
        raise WrongTensor(f"tensors on {len(devices)} devices: {what}", where=signature(graph), hint=hint)


def check_strided(x: torch.Tensor, name: str, where: str = "") -> None:
    """That a tensor has memory with strides, as a kernel reads it.

    Raises
    ------
    WrongTensor : a sparse one.
    """
    if x.layout != torch.strided:
        kind = str(x.layout).removeprefix("torch.").removeprefix("_")
        what = f"{name} is a tensor with strides, and a tensor of layout {kind} was given for it"
        raise WrongTensor(what, where=where, hint=f"{name}.to_dense()")


def signature(graph: Graph, culprit: Tensor | None = None) -> str:
    """What an operator takes, in order, with carets under one of it."""
    words = [shape_text(t) for t in graph.arguments]
    line = f"({', '.join(words)})"
    if culprit is None:
        return line
    at = graph.arguments.index(culprit)
    return f"{line}\n {' ' * len(', '.join([*words[:at], '']))}{'^' * len(words[at])}".rstrip()


def arranged(x: torch.Tensor, t: Tensor) -> torch.Tensor:
    """A tensor as its kernel reads it, without gradient: itself where it lies so, else a copy in the kernel's layout.

    >>> from polyvolta.graph.tensors import tensor
    >>> x = torch.zeros(6, 4)
    >>> arranged(x, tensor("A", (6, 4))).stride(), arranged(x, tensor("A", (6, 4), layout="col")).stride()
    ((4, 1), (1, 6))
    """
    x = x.detach()
    if x.is_neg():
        x = x.resolve_neg()
    strides, shape = x.stride(), x.shape
    run = len(shape) - 1 if t.layout == "row" or len(shape) == 1 else 0
    lines = 1 - run
    if 0 in shape or (
        (shape[run] == 1 or strides[run] == 1)
        and (len(shape) == 1 or shape[lines] == 1 or strides[lines] >= shape[run])
    ):
        return x
    if run == len(shape) - 1:
        return x.clone(memory_format=torch.contiguous_format)
    return x.t().clone(memory_format=torch.contiguous_format).t()
