"""A module of torch that runs on kernels: the weights are the module's own, and so are their gradients."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from polyvolta.display.page import facts, fold, heading
from polyvolta.display.shown import Shown
from polyvolta.graph.plans.plans import Unsupported
from polyvolta.graph.tensors import dtype_name
from polyvolta.sets.errors import kind_of
from polyvolta.torch.errors import ChangedModule, UnsupportedModule, WrongTensor
from polyvolta.torch.modules.state import Followed
from polyvolta.torch.modules.tracing import Source, Traced, trace
from polyvolta.torch.operators import OnCpu, Operator, operator
from polyvolta.torch.shapes import DTYPES, check_strided

if TYPE_CHECKING:
    from polyvolta.compiler.options import Options

_numbers = count()


def from_module(
    module: nn.Module,
    *,
    dtype: object = None,
    target: Any = "auto",
    options: Options | None = None,
    on_cpu: OnCpu = "kernel",
    name: str | None = None,
) -> KernelModule:
    """A module of Linears and pointwise operations, as kernels.

    Parameters
    ----------
    module : such as a Linear with an activation, an MLP, a gated MLP; traced by torch.fx. Its weights are shared.
    dtype : "float16" or "bfloat16", what kernels multiply; by default what the weights are of. Weights and inputs of
        another type are converted in each call, so that weights of fp32 are trained with products of fp16.
    target, options : as for `pv.compile`, of each kernel.
    on_cpu : as for `operator`.
    name : "namespace::name", to which the name of each kernel's result is added in `torch.ops`.

    Raises
    ------
    UnsupportedModule : something in it that kernels don't have: which operator, where, and what would work; weights
        of a type that kernels don't multiply.

    >>> layer = torch.nn.Sequential(torch.nn.Linear(8, 5), torch.nn.ReLU()).half()
    >>> ours = from_module(layer)
    >>> print(ours)
    KernelModule(
      x1 = relu(input @ x0_weight + x0_bias)
    )
    >>> x = torch.randn(2, 3, 8).half()
    >>> ours(x).shape, torch.allclose(ours(x), layer(x), atol=1e-3)
    (torch.Size([2, 3, 5]), True)
    """
    if not isinstance(module, nn.Module):
        raise UnsupportedModule(
            f"from_module takes a module of torch.nn, and {kind_of(module)} was given",
            hint="Module(), one of that class" if isinstance(module, type)
            else "a class derived from torch.nn.Module, with it as its forward",
        )  # fmt: skip
    kind = _dtype(module, dtype)
    traced = trace(module, kind)
    base = name or f"polyvolta::{type(module).__name__.lower()}_{next(_numbers)}"
    made: dict[str, Operator] = {}
    for step in traced.steps:
        try:
            made[step.result] = operator(
                step.expression, f"{base}_{step.result}", on_cpu=on_cpu, target=target, options=options
            )
        except Unsupported as wrong:
            raise UnsupportedModule(
                f"no kernel is made for {step.result}: {wrong.message}",
                where=f"{step.result} = {step.expression}",
                hint=wrong.hint or "split the module there, and convert the parts each by itself",
            ) from wrong
    return KernelModule(module, traced, made, DTYPES[kind])


def _dtype(module: nn.Module, dtype: object) -> str:
    """The element type of the kernels."""
    if dtype is not None:
        kind = dtype_name(dtype)
        found = {kind: ["dtype"]}
    else:
        found = {}
        for name, p in (*module.named_parameters(), *module.named_buffers()):
            if p.is_floating_point():
                found.setdefault(str(p.dtype).removeprefix("torch."), []).append(name)
    if not found:
        found = {"float16": []}  # nothing to multiply by: `trace` says what is there
    if len(found) == 1 and next(iter(found)) in DTYPES:
        return next(iter(found))
    what = "; ".join(f"{', '.join(names[:3])}{', ...' * (len(names) > 3)} of {k}" for k, names in found.items())
    raise UnsupportedModule(
        f"kernels multiply float16 or bfloat16, one of them: {what}",
        where=type(module).__name__,
        hint="module.half() or module.bfloat16(); or from_module(module, dtype=torch.float16) to convert in each call",
    )


class KernelModule(Shown, nn.Module):
    """A module that runs on kernels; `from_module` makes it.

    Attributes
    ----------
    module : the one that it was made from, whose weights it uses.
    operators : its kernels, by the names of their results, in order.
    """

    def __init__(self, module: nn.Module, traced: Traced, operators: dict[str, Operator], dtype: torch.dtype) -> None:
        super().__init__()
        self.module, self.operators, self._traced, self._dtype = module, operators, traced, dtype
        self._weights = {n: (*_owner(module, s), s.turned) for n, s in traced.sources.items() if s.kind == "weight"}
        self._followed = Followed(module, traced.reads_training)
        self._inputs = {s.name: n for n, s in traced.sources.items() if s.kind == "input"}

    def extra_repr(self) -> str:
        return "\n".join(f"{s.result} = {s.expression}" for s in self._traced.steps)

    def __repr__(self) -> str:
        lines = "\n  ".join(self.extra_repr().splitlines())
        return f"{type(self).__name__}(\n  {lines}\n)"

    def _html(self) -> str:
        taken = [(name, f"rows of {length} values") for name, length in self._traced.inputs.items()]
        kernels = (fold(f"{s.result} = {s.expression}", self.operators[s.result]._html()) for s in self._traced.steps)
        return heading(type(self.module).__name__, "a module that runs on kernels") + facts(taken) + "".join(kernels)

    def forward(self, *inputs: torch.Tensor, **named: torch.Tensor) -> Any:
        """The module's results, for tensors of any number of dimensions, the last of which is a row's.

        Raises
        ------
        WrongTensor : too few tensors or too many, rows of another length, inputs of different numbers of rows; what is
            no tensor of real numbers in strides.
        ChangedModule : the module is another one than when it was converted, beyond its weights' values.
        """
        self._followed.check()
        known, inputs = {}, self._in_order(inputs, named)
        for (name, length), x in zip(self._traced.inputs.items(), inputs, strict=True):
            if not isinstance(x, torch.Tensor):
                what = f"{name} is a tensor, and {kind_of(x)} was given for it"
                raise WrongTensor(what, hint="torch.as_tensor(x) makes one of an array")
            check_strided(x, name)
            if x.is_complex():
                raise WrongTensor(f"{name} is of real numbers, and a tensor of {x.dtype} was given for it")
            if x.shape[-1:] != (length,):
                given = f"a tensor of shape {tuple(x.shape)} was given"
                raise WrongTensor(f"{name} has rows of {length} values, and {given}")
            if x.shape[:-1] != inputs[0].shape[:-1]:
                shapes = " and ".join(str(tuple(y.shape)) for y in (inputs[0], x))
                raise WrongTensor(f"inputs of different numbers of rows, {shapes}", hint="expand one of them first")
            known[self._inputs[name]] = x.reshape(-1, length).to(self._dtype)
        for name, (owner, attribute, turned) in self._weights.items():
            weight = getattr(owner, attribute, None)
            if not isinstance(weight, torch.Tensor):
                what = f"the {type(owner).__name__} has no {attribute}, which its kernels read"
                raise ChangedModule(what, hint="from_module once more, of the module as it is")
            known[name] = _matrix(weight, turned).to(self._dtype)
        for name, op in self.operators.items():
            known[name] = op(*[known[n] for n in op.argument_names])
        results = [known[n].reshape(*inputs[0].shape[:-1], known[n].shape[1]) for n in self._traced.outputs]
        return results[0] if self._traced.single else tuple(results)

    def _in_order(self, inputs: tuple, named: dict[str, torch.Tensor]) -> tuple:
        rest = [*self._traced.inputs][len(inputs) :]
        if len(inputs) + len(named) != len(self._traced.inputs) or any(n not in named for n in rest):
            names = ", ".join(self._traced.inputs)
            taken = ", ".join(f"{n}={x!r}" for n, x in self._traced.defaults.items())
            hint = f"{taken} is what it was converted with: a module around it for another value" if taken else ""
            message = f"{len(inputs) + len(named)} tensors were given, and the module takes {names}"
            raise WrongTensor(message, hint=hint)
        return (*inputs, *[named[n] for n in rest])


def _owner(module: nn.Module, source: Source) -> tuple[nn.Module, str]:
    """The submodule that has a weight, and its name there."""
    *above, name = source.name.split(".")
    return module.get_submodule(".".join(above)), name


def _matrix(weight: torch.Tensor, turned: bool) -> torch.Tensor:
    """A weight as its kernel takes it: a single number as a matrix, a turned one transposed."""
    if weight.dim() == 0:
        return weight.reshape(1, 1)
    return weight.t() if turned else weight
