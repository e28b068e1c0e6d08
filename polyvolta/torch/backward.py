"""An operator's gradient: kernels for what is products, torch for sums and for what no product enters.

`polyvolta.graph.gradients` says what is to be computed; here it is, each kernel an operator of its own, made when it is
first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any

import torch

from polyvolta.display.page import block
from polyvolta.display.shown import Shown
from polyvolta.graph.dag import Graph, Outputs
from polyvolta.graph.expr import Expr, walk
from polyvolta.graph.gradients.derive import Gradients, gradients
from polyvolta.graph.gradients.rewrite import has_product
from polyvolta.graph.outputs import Output
from polyvolta.graph.tensors import Tensor
from polyvolta.torch.pointwise import evaluated, summed
from polyvolta.torch.shapes import DTYPES


class Backward(Shown):
    """The gradient of a graph on tensors.

    Attributes
    ----------
    plan : what is computed, in a graph's own language; prints so.
    reads : the inputs of the graph that it reads.
    operators : the kernels made so far, by name, each an `Operator`.
    """

    def __init__(self, graph: Graph, name: str, make: Callable[[Outputs, str], Any]) -> None:
        self.graph, self._name, self._make = graph, name, make
        self.plan: Gradients = gradients(graph)
        self.operators: dict[str, Any] = {}
        self._lock = Lock()
        self._tensors = {t.name: t for t in graph.inputs}
        wanted = [e for parts in self.plan.parts.values() for e in parts]
        names = {e.name for e in walk([*(o.expr for o in self.plan.shared), *wanted]) if isinstance(e, Tensor)}
        self.reads = frozenset({self.plan.turned.get(n, n) for n in names} & {*self._tensors})

    def __str__(self) -> str:
        return str(self.plan)

    def _html(self) -> str:
        return block(str(self.plan))

    def __call__(
        self, wanted: Iterable[str], values: Mapping[str, Any], seeds: Sequence[torch.Tensor]
    ) -> dict[str, torch.Tensor]:
        """Gradients by the names of inputs.

        Parameters
        ----------
        wanted : these names.
        values : what `reads` names, and the scalars.
        seeds : the gradients of the outputs.
        """
        known = {**values, **{t.name: x for t, x in zip(self.plan.seeds, seeds, strict=True)}}
        needed = {n: self.plan.parts[n] for n in wanted if self.plan.parts[n]}
        leaves = {e.name for e in walk([e for parts in needed.values() for e in parts]) if isinstance(e, Tensor)}
        if any(t.name in leaves for t in self.plan.shared_tensors):
            made = self._operator("backward", self.plan.shared)
            results = self._called(made, known)
            tensors = results if isinstance(results, tuple | list) else (results,)
            known |= {t.name: x for t, x in zip(self.plan.shared_tensors, tensors, strict=True)}
        return {n: self._gradient(self._tensors[n], parts, known) for n, parts in needed.items()}

    def _gradient(self, t: Tensor, parts: Sequence[Expr], known: Mapping[str, Any]) -> torch.Tensor:
        shares = [summed(self._part(t, n, e, known), e, t) for n, e in enumerate(parts)]
        if len(shares) == 1:
            return shares[0].to(DTYPES[t.dtype])
        whole = shares[0].to(torch.float32)
        for share in shares[1:]:
            whole = whole + share
        return whole.to(DTYPES[t.dtype])

    def _part(self, t: Tensor, number: int, e: Expr, known: Mapping[str, Any]) -> torch.Tensor:
        if isinstance(e, Tensor):
            return known[e.name]
        if not has_product(e):
            return evaluated(e, self._with_turned(e, known))
        layout = t.layout if e.shape == t.shape else "row"
        name = f"grad_{t.name}" if number == 0 else f"grad_{t.name}_{number}"
        return self._called(self._operator(name, Output(e, None, layout)), known)

    def _operator(self, name: str, outputs: Outputs) -> Any:
        with self._lock:
            if name not in self.operators:
                self.operators[name] = self._make(outputs, f"{self._name}_{name}")
            return self.operators[name]

    def _called(self, op: Any, known: Mapping[str, Any]) -> Any:
        return op(*(self._value(name, known) for name in op.argument_names))

    def _value(self, name: str, known: Mapping[str, Any]) -> Any:
        """What is known by a name, or a view of it: the transpose, of a vector a column."""
        if name in known:
            return known[name]
        x = known[self.plan.turned[name]]
        return x.unsqueeze(1) if x.dim() == 1 else x.t()

    def _with_turned(self, e: Expr, known: Mapping[str, Any]) -> dict[str, Any]:
        return {t.name: self._value(t.name, known) for t in walk((e,)) if isinstance(t, Tensor)}
