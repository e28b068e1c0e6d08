"""The graph floor: tensors, expressions, the DAG of statements, and what it all means in float64.

    dims, tensors     sizes and tensors
    expr, outputs     the expressions that operators build, and which of them are asked for
    dag, statements   the DAG of operations, each with iteration domain, access relations and expression tree (`terms`)
    functions/        what an operation does to one element: functions by name (`table`, `meaning`), users' own
                      functions, read by running them once (`trace`), formulas over numbered inputs, rounding
    plans/            a graph as what a kernel is made from: products, their prologues, pointwise steps
    gradients/        the gradient of a graph, as graphs: for kernels of its own
    arrays/           arrays of other libraries in host memory, data frames
    interned          one object for each value, for expressions and formulas
    binding           a call's arrays and numbers -> tensors, scalars and sizes; outputs in any form
    reference         float64 numpy evaluation

Names are imported on first use, so that writing an expression costs neither sympy nor networkx.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polyvolta.graph.binding import Bound as Bound
    from polyvolta.graph.binding import bind as bind
    from polyvolta.graph.dag import Graph as Graph
    from polyvolta.graph.dims import Size as Size
    from polyvolta.graph.expr import Expr as Expr
    from polyvolta.graph.statements import Access as Access
    from polyvolta.graph.statements import Statement as Statement
    from polyvolta.graph.tensors import Tensor as Tensor

_HOMES = {"Access": "statements", "Bound": "binding", "Expr": "expr", "Graph": "dag", "Size": "dims",
          "Statement": "statements", "Tensor": "tensors", "bind": "binding"}  # fmt: skip

__all__ = ["Access", "Bound", "Expr", "Graph", "Size", "Statement", "Tensor", "bind"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The names of the package and of its modules that are there, without what it imports for itself."""
    there = (n for n, v in globals().items() if n.startswith("__") or isinstance(v, ModuleType))
    return sorted({*there, *__all__})
