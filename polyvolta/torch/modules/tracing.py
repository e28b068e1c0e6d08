"""A module of torch, read through torch.fx, as a list of kernels' expressions.

Rows are what a module doesn't look at: all dimensions of an input but the last are one, of size `rows`. A Linear is a
product with the transposed weight, which is the weight's own memory in the other layout. Pointwise operations join the
product before them, as its epilogue, or the one after them, as its prologue; what a product makes and another one reads
is a result of its own, and there one kernel ends and the next begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from traceback import extract_tb
from typing import Any

import torch
from torch import fx, nn

from polyvolta.graph.dims import Size
from polyvolta.graph.expr import Expr
from polyvolta.graph.gradients.rewrite import has_product
from polyvolta.graph.names import fresh_names
from polyvolta.graph.tensors import Tensor
from polyvolta.sets.errors import PolyvoltaError
from polyvolta.torch.errors import UnsupportedModule
from polyvolta.torch.modules.inplace import CHANGED, SharedChange, without_changes
from polyvolta.torch.modules.lengths import lengths_of
from polyvolta.torch.modules.state import check_state
from polyvolta.torch.modules.table import FUNCTIONS, INSTEAD, KNOWN, METHODS, MODULES, PRODUCTS, Unfit
from polyvolta.torch.modules.tracer import lines_of, operations, reads_training

ROWS = Size("rows")
NUMBER = int | float


@dataclass(frozen=True, slots=True)
class Source:
    """Where a kernel's tensor comes from.

    Attributes
    ----------
    kind : "input", "weight" or "result".
    name : of the input, the path of the weight in its module, or of the result.
    turned : whether its transpose is given.
    """

    kind: str
    name: str
    turned: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A kernel of a module: an expression, and what its result is called."""

    result: str
    expression: Expr


@dataclass(frozen=True, slots=True)
class Traced:
    """A module as kernels.

    Attributes
    ----------
    inputs : names of the arguments, with the length of their rows.
    steps : the kernels, in order.
    outputs : for each result of the module the tensor that it is.
    single : whether the module gives one tensor, no tuple.
    sources : by name what each tensor of an expression is.
    defaults : arguments that have a default, which is taken for them.
    reads_training : whether it is another module's in the other mode, but for Dropouts.
    """

    inputs: dict[str, int]
    steps: tuple[Step, ...]
    outputs: tuple[str, ...]
    single: bool
    sources: dict[str, Source]
    defaults: dict[str, Any]
    reads_training: bool


def _line_of(wrong: Exception) -> str:
    """The line of a module's code at which torch.fx gave up: the last that is neither its own nor of these modules."""
    own = (str(Path(fx.__file__).parent), str(Path(__file__).parent))
    frames = [f for f in extract_tb(wrong.__traceback__) if not f.filename.startswith(own) and f.name != "_call_impl"]
    return f"{frames[-1].filename}:{frames[-1].lineno}: {frames[-1].line}" if frames else ""


def trace(module: nn.Module, dtype: str) -> Traced:
    """Read a module.

    Parameters
    ----------
    dtype : of the tensors in the expressions.

    Raises
    ------
    UnsupportedModule : it can't be traced, or has an operator that kernels don't have; says which, where in the module,
        and what would work.
    """
    check_state(module)
    try:
        tracer, graph = operations(module)
    except UnsupportedModule:
        raise
    except Exception as wrong:  # whatever a module's own code raises for what it isn't made for
        raise UnsupportedModule(
            f"torch.fx doesn't trace this {type(module).__name__}: {str(wrong).split('. ')[0].splitlines()[0][:200]}",
            where=_line_of(wrong) or f"{type(wrong).__name__} in {type(module).__name__}.forward",
            hint="no conditions on values of tensors, and no sizes; convert the parts without them, each by itself",
        ) from wrong
    reading = _Reading(module, graph, dtype, tracer.defaults)
    reading.run()
    return reading.traced(reads_training(module, str(graph)))


@dataclass(slots=True)
class _Reading:
    """A walk through a module's operations."""

    module: nn.Module
    graph: fx.Graph
    dtype: str
    defaults: dict[str, Any]
    inputs: dict[str, int] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    single: bool = True
    values: dict[fx.Node, Any] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    sources: dict[str, Source] = field(default_factory=dict)
    known: dict[tuple, Tensor] = field(default_factory=dict)

    def traced(self, reads_training: bool) -> Traced:
        return Traced(self.inputs, tuple(self.steps), self.outputs, self.single, self.sources, self.defaults,
                      reads_training)  # fmt: skip

    def run(self) -> None:
        self._check_products()
        self._without_changes()
        lengths = lengths_of(self.module, self.graph)
        for node in self.graph.nodes:
            match node.op:
                case "placeholder":
                    if (length := lengths.get(node)) is None:
                        hint = "an input enters a Linear, or an operation with something that does"
                        raise self.refused(node, f"how long the rows of {node.target} are isn't known", hint)
                    name = self._new(node.target, Source("input", node.target))
                    self.inputs[node.target] = length
                    self.values[node] = Tensor(name, (ROWS, length), "row", self.dtype)
                case "output":
                    self.single = not isinstance(node.args[0], tuple | list)
                    asked = (node.args[0],) if self.single else node.args[0]
                    self.outputs = tuple(self._output(node, x) for x in asked)
                case _:
                    value = self._value(node)
                    if CHANGED in node.meta and value.shape != self.values[node.meta[CHANGED]].shape:
                        raise self.refused(node, f"{_word(self.module, node)} changes a tensor's shape in place")
                    self.values[node] = self._stored_for_products(node, value)

    def _check_products(self) -> None:
        """Say first that there are no products, or what stands in their place."""
        if any(self._is_product(node) for node in self.graph.nodes):
            return
        for node in self.graph.nodes:
            inner = self.module.get_submodule(str(node.target)) if node.op == "call_module" else None
            table: Mapping[Any, Any] = METHODS if node.op == "call_method" else FUNCTIONS
            target = str(node.target).removesuffix("_") if node.op == "call_method" else node.target
            called = node.op in ("call_method", "call_function") and node.target is not getattr
            if (inner is not None and type(inner) not in MODULES) or (called and target not in table):
                raise self.refused(node, f"kernels have no {_word(self.module, node)}")
        raise UnsupportedModule(
            f"there is no product in this {type(self.module).__name__}, and kernels are made for products",
            where="\n".join(_listed(self.module, self.graph.nodes, None)),
            hint="a Linear in it, or x @ weight; of what is pointwise alone torch.compile makes a kernel",
        )

    def _without_changes(self) -> None:
        try:
            without_changes(self.module, self.graph)
        except SharedChange as wrong:
            whose = "an input, which is the caller's" if wrong.tensor.op == "placeholder" else "a weight"
            message = f"{_word(self.module, wrong.node)} changes {wrong.tensor.target} in place, {whose}"
            raise self.refused(wrong.node, message, "inplace=False, or x = x * 2 in the place of x.mul_(2)") from None

    # ---- values

    def _value(self, node: fx.Node) -> Any:
        """What a node computes: an expression, or a weight as it lies."""
        try:
            if node.op == "get_attr":
                return _Weight(str(node.target), _at(self.module, str(node.target)))
            if node.op == "call_module":
                inner = self.module.get_submodule(str(node.target))
                args, named = self._given(node)
                x = next(iter((*args, *named.values())), None)
                if type(inner) is nn.Linear:
                    weights = _Weight(f"{node.target}.weight", inner.weight, True), inner.bias
                    return self._linear(node, x, *weights, f"{node.target}.bias")
                if type(inner) in MODULES:
                    return MODULES[type(inner)](inner, self._plain(x))
                raise self.refused(node, f"kernels have no {type(inner).__name__}")
            return self._called(node)
        except Unfit as wrong:
            raise self.refused(node, f"{_word(self.module, node)}: {wrong}") from wrong
        except UnsupportedModule:
            raise
        except (PolyvoltaError, TypeError, ValueError) as wrong:
            message = wrong.message if isinstance(wrong, PolyvoltaError) else str(wrong)
            hint = wrong.hint if isinstance(wrong, PolyvoltaError) else ""
            raise self.refused(node, f"{_word(self.module, node)}: {message}", hint) from wrong

    def _called(self, node: fx.Node) -> Any:
        """A function's or a method's value."""
        args, named = self._given(node)
        is_turned = node.target in ("t", "T", "mT") or (node.target is getattr and args[1] in ("T", "mT"))
        if is_turned and isinstance(args[0], _Weight):
            return args[0].transposed()
        if node.target in PRODUCTS:
            if node.target is nn.functional.linear:
                rest = dict(zip(("input", "weight", "bias"), args)) | named
                bias = rest.get("bias")
                weight = rest["weight"]
                return self._linear(
                    node, rest["input"], weight.transposed() if isinstance(weight, _Weight) else weight, bias
                )
            return self._linear(node, *args)
        table: Mapping[Any, Any] = METHODS if node.op == "call_method" else FUNCTIONS
        target = str(node.target).removesuffix("_") if node.op == "call_method" else node.target
        if target not in table:
            raise self.refused(node, f"kernels have no {_word(self.module, node)}")
        return table[target](*map(self._plain, args), **{name: self._plain(x) for name, x in named.items()})

    def _given(self, node: fx.Node) -> tuple[list[Any], dict[str, Any]]:
        args, named = (fx.node.map_arg(x, lambda n: self.values[n]) for x in (node.args, node.kwargs))
        return list(args), dict(named)  # type: ignore[arg-type]  # map_arg keeps the kind

    def _plain(self, x: Any) -> Any:
        """An operand of a pointwise operation: a weight is a vector, or one number."""
        return self._weight(x) if isinstance(x, _Weight) else x

    def _linear(self, node: fx.Node, x: Any, weight: Any, bias: Any = None, path: str = "") -> Any:
        """x @ weight + bias; a bias is a weight, or a parameter at a path."""
        if not isinstance(x, Expr) or not isinstance(weight, _Weight) or weight.value.dim() != 2:
            raise self.refused(node, f"{_word(self.module, node)} of two computed matrices, or of a weight on the left",
                               "x @ weight, of rows and a parameter of two dimensions")  # fmt: skip
        made = x @ self._weight(weight)
        if bias is None:
            return made
        return made + (self._plain(bias) if isinstance(bias, _Weight) else self._weight(_Weight(path, bias)))

    def _weight(self, w: _Weight) -> Tensor:
        """A parameter or a buffer as a tensor of expressions; a single number as one of shape (1, 1)."""
        key = w.path, w.turned
        if key not in self.known:
            shape = tuple(w.value.shape) or (1, 1)
            shape, layout = (shape[::-1], "col") if w.turned else (shape, "row")
            name = self._new(w.path, Source("weight", w.path, w.turned))
            self.known[key] = Tensor(name, shape, layout, self.dtype)
        return self.known[key]

    # ---- results

    def _stored_for_products(self, node: fx.Node, value: Any) -> Any:
        """A value that a product made and that another one reads, as the result of a kernel."""
        if isinstance(value, Expr) and has_product(value) and any(self._is_product(u) for u in node.users):
            return self._stored(node, value)
        return value

    def _is_product(self, node: fx.Node) -> bool:
        if node.op == "call_module":
            return type(self.module.get_submodule(str(node.target))) is nn.Linear
        return node.op == "call_function" and node.target in PRODUCTS

    def _stored(self, node: fx.Node, value: Expr) -> Tensor:
        name = self._new(node.name, Source("result", node.name))
        self.sources[name] = Source("result", name)
        self.steps.append(Step(name, value))
        return Tensor(name, value.shape, "row", self.dtype)

    def _output(self, node: fx.Node, x: Any) -> str:
        if not isinstance(x, fx.Node) or not isinstance(self.values[x], Expr):
            raise self.refused(node, f"it returns {x!r}", "a tensor that a product enters, or a tuple of such")
        value = self.values[x]
        if isinstance(value, Tensor) and value.name in {s.result for s in self.steps}:
            return value.name
        if not has_product(value):
            raise self.refused(x, f"it returns {x.name}, which no product enters in its kernel",
                               "kernels are made for products; compute it in torch")  # fmt: skip
        self.values[x] = self._stored(x, value)
        return self.values[x].name

    # ---- names and errors

    def _new(self, wanted: str, source: Source) -> str:
        """A name for a tensor like `wanted`."""
        base = re.sub(r"\W+|__+", "_", wanted).strip("_") or "x"
        names = (f"{base}{'' if n == 0 else f'_{n}'}" for n in range(len(self.sources) + 10))
        name = next(fresh_names((f"x{n}" if n[0].isdigit() else n for n in names), {*self.sources, str(ROWS)}))
        self.sources[name] = source
        return name

    def refused(self, node: fx.Node, message: str, hint: str = "") -> UnsupportedModule:
        """The error for an operation, in the list of all."""
        word = _word(self.module, node)
        return UnsupportedModule(
            message,
            where="\n".join([*_listed(self.module, self.graph.nodes, node), *lines_of(node)]),
            hint=hint or INSTEAD.get(word, "") or f"there are {KNOWN}",
        )


@dataclass(frozen=True, slots=True)
class _Weight:
    """A parameter or a buffer of the module, or its transpose."""

    path: str
    value: torch.Tensor
    turned: bool = False

    def transposed(self) -> _Weight:
        return _Weight(self.path, self.value, not self.turned)


def _at(module: nn.Module, path: str) -> Any:
    *above, name = path.split(".")
    return getattr(module.get_submodule(".".join(above)), name)


def _word(module: nn.Module, node: fx.Node) -> str:
    """What a node does, in a word."""
    if node.op == "call_module":
        return type(module.get_submodule(str(node.target))).__name__
    return getattr(node.target, "__name__", str(node.target))


def _listed(module: nn.Module, nodes: Iterable[fx.Node], culprit: fx.Node | None) -> list[str]:
    """The operations around a culprit, which is marked, or the first ones."""
    lines, at = [], 0
    for node in nodes:
        if node is culprit:
            at = len(lines)
        arguments = ", ".join(str(x) for x in (*node.args, *(f"{n}={x}" for n, x in node.kwargs.items())))
        place = f"{node.target}: " if node.op == "call_module" else ""
        word = "return " if node.op == "output" else f"{node.name} = {place}{_word(module, node)}"
        shown = f"input {node.target}" if node.op == "placeholder" else f"{word}({arguments})"
        lines.append(shown + ("    <-- here" if node is culprit else ""))
    first, last = max(0, at - 4), at + 3
    return [*(["..."] if first else []), *lines[first:last], *(["..."] if last < len(lines) else [])]
