"""What a graph is asked for: expressions, with names and layouts of their own or without."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from polyvolta.display.shown import Shown
from polyvolta.graph.errors import BadOutputs
from polyvolta.graph.expr import Expr, MatMul, Pointwise
from polyvolta.graph.names import check_name
from polyvolta.graph.tensors import Tensor, check_layout
from polyvolta.sets.errors import kind_of


@dataclass(frozen=True, slots=True, eq=False)
class Output(Shown):
    """An output with more said about it than its expression; make one with `output`."""

    expr: Expr
    name: str | None = None
    layout: str = "row"

    def __str__(self) -> str:
        said = f', layout "{self.layout}"' if self.layout != "row" else ""
        return f"{self.name} = {self.expr}{said}" if self.name else f"{self.expr}{said}"

    def _html(self) -> str:
        from polyvolta.graph.shown.notebook import output

        return output(self.expr, self.name, self.layout)


def output(expr: Expr, name: str | None = None, *, layout: Literal["row", "col"] = "row") -> Output:
    """An output with a name or a layout of its own, in the place of the plain expression.

    Parameters
    ----------
    expr : what is computed.
    name : of the array; without it C, D, E, ... as for plain expressions.
    layout : "row" or "col": which index of the result runs fastest in memory.

    Raises
    ------
    UnknownLayout, BadOutputs, BadName

    >>> import polyvolta as pv
    >>> from polyvolta.graph import Graph
    >>> M, N, K = pv.sizes("M N K")
    >>> product = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N))
    >>> print(Graph.of(pv.output(product, "Z", layout="col")).outputs[0].declaration())
    Z(M, N) float16, layout "col"
    """
    if not isinstance(expr, Expr):
        raise BadOutputs(f"an output is an expression, not {kind_of(expr)}",
                         where=str(expr.expr if isinstance(expr, Output) else expr)[:200])  # fmt: skip
    if name is not None:
        check_name(name, "output")
    return Output(expr, name, check_layout(layout, f"output {name or expr}"))


def as_outputs(outputs: object) -> tuple[Output, ...]:
    """Outputs in any accepted form.

    Raises
    ------
    BadOutputs : none, one twice, one with two names, something that is no expression, a number, or an input as it is.
    """
    if isinstance(outputs, Mapping):
        named = list(outputs.items())
    elif isinstance(outputs, Iterable) and not isinstance(outputs, str | Expr):
        named = [(None, e) for e in outputs]
    else:
        named = [(None, outputs)]
    if not named:
        raise BadOutputs("a graph has at least one output", hint="pass an expression such as A @ B")
    seen: dict[Expr, object] = {}
    made: list[Output] = []
    for at, (name, given) in enumerate(named):
        o = given if isinstance(given, Output) else Output(given)  # type: ignore[arg-type]  # checked below
        what, e = f"output {at if name is None else name!r}", o.expr
        if not isinstance(e, MatMul | Pointwise):
            kind = "an input as it is" if isinstance(e, Tensor) else f"{kind_of(e)}, no expression"
            raise BadOutputs(f"{what} is {kind}", where=str(e)[:200], hint="an output is an operation such as A @ B")
        if not e.shape:
            raise BadOutputs(f"{what} is a number, {e}", hint="compute numbers before the call; outputs are arrays")
        if e in seen:
            raise BadOutputs(f"{what} is output {seen[e]!r} again", where=str(e), hint="each output is computed once")
        if None not in (name, o.name) and name != o.name:
            raise BadOutputs(f"{what} is named {o.name!r}, too", where=str(e), hint="give it one name")
        made.append(Output(e, o.name if name is None else name, o.layout))
        seen[e] = at if made[-1].name is None else made[-1].name
    return tuple(made)
