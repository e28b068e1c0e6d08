"""The computations that kernels are made for: products with prologues, summed or not, and a pointwise epilogue.

`plan` reads a graph as one of the paper's idioms: contractions, each with two operands that are formulas over
loaded arrays, followed by pointwise steps on their results. Which array's registers a contraction accumulates
in is decided here too: products that only enter a sum share one accumulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy

from polyvolta.graph.dag import Graph
from polyvolta.graph.formula import Call, Formula, Input, Number, substitute
from polyvolta.graph.statements import Access, Statement
from polyvolta.graph.tensors import Tensor
from polyvolta.sets.errors import PolyvoltaError


class Unsupported(PolyvoltaError, ValueError):
    """A graph for which no kernel is made: says which node, why, and what would be possible."""

    id = "PV402"


@dataclass(frozen=True, slots=True)
class Operand:
    """One side of a product: a formula, element by element, of what is loaded.

    Parameters
    ----------
    name : of the array that it stands for, distinct among all operands of the plan: the tensor's where it is one.
    index : the two iterators of its elements: (i, k) of the left one, (k, j) of the right one.
    accesses : the statement's read accesses in it, left to right, each once; `Input(n)` of the formula is access n.
    scalars : scalar arguments in it; `Input(len(accesses) + n)` is scalar n.
    formula : `Input(0)` for a plain operand.
    layout : "row" or "col", that of the first access with two dimensions: which iterator runs fastest in memory.
    """

    name: str
    index: tuple[str, str]
    accesses: tuple[Access, ...]
    scalars: tuple[str, ...]
    formula: Formula
    layout: str


@dataclass(frozen=True, slots=True)
class Contraction:
    """A matrix product.

    Parameters
    ----------
    statement : its statement; iterators m, n and k in this order.
    left, right : its operands.
    accumulator : the array in whose accumulator fragments it sums; products of one sum share it.
    factor : what the accumulator is multiplied by before it starts; None when it starts at 0.
    """

    statement: Statement
    left: Operand
    right: Operand
    accumulator: str
    factor: float | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A pointwise statement on the results of products and other arrays.

    Parameters
    ----------
    statement : its statement, with two iterators.
    name : for its helper function, such as "relu_add".
    accesses : what it reads: accumulators, results of earlier steps, tensors; `Input(n)` is access n.
    scalars : scalar arguments; `Input(len(accesses) + n)` is scalar n.
    formula : what is computed, with sums that share an accumulator already taken together.
    """

    statement: Statement
    name: str
    accesses: tuple[Access, ...]
    scalars: tuple[str, ...]
    formula: Formula


@dataclass(frozen=True, slots=True)
class Plan:
    """A graph as contractions and pointwise steps, each in the graph's order.

    `outputs` names the arrays that are stored to global memory; an accumulator may be among them.
    """

    contractions: tuple[Contraction, ...]
    steps: tuple[Step, ...]
    outputs: tuple[str, ...]


def plan(graph: Graph, accumulators: str = "auto") -> Plan:
    """A graph as one of the idioms; see the module.

    Parameters
    ----------
    accumulators : "auto": products that only enter a sum share an accumulator; "one": all must, "separate": none do.

    Raises
    ------
    Unsupported : the graph is outside the idioms.

    Cost: linear in the graph's nodes.

    >>> import polyvolta as pv
    >>> M, N, K = pv.sizes("M N K")
    >>> A, B, bias = pv.tensor("A", (M, K)), pv.tensor("B", (K, N)), pv.tensor("bias", (N,))
    >>> found = plan(Graph.of(pv.relu(pv.relu(A) @ B + bias)))
    >>> found.contractions[0].left.formula == Call("relu", (Input(0),))
    True
    >>> found.steps[0].name, [str(a) for a in found.steps[0].accesses], found.outputs
    ('relu_add', ['C[i, j]', 'bias[j]'], ('D',))
    """
    arrays = graph.arrays
    taken = set(arrays) | set(graph.params)
    contractions, steps = [], []
    for s in graph.statements:
        if s.is_matmul:
            i, j, k = s.iterators
            left, right = (
                _operand(s, side, index, arrays, taken)
                for side, index in zip(s.expression.args[1:], ((i, k), (k, j)), strict=True)
            )
            contractions.append(Contraction(s, left, right, s.write.tensor))
        else:
            accesses, scalars, formula = _formula(s, s.expression)
            steps.append(Step(s, s.operation, accesses, scalars, formula))
    return Plan(tuple(contractions), tuple(steps), tuple(t.name for t in graph.outputs))


def _operand(
    statement: Statement, side: sympy.Basic, index: tuple[str, str], arrays: dict[str, Tensor], taken: set[str]
) -> Operand:
    """One side of a product; its name is noted in `taken`."""
    accesses, scalars, formula = _formula(statement, side)
    matrices = [a for a in accesses if a.index == index] or [a for a in accesses if len(a.index) == 2]
    first = (matrices or accesses)[0].tensor
    layout = arrays[first].layout if matrices else "row"
    plain = f"operand {first}"  # each tensor's first operand has its name
    name, number = first, 1
    while (plain if name == first else name) in taken:
        number += 1
        name = f"{first}_{number}"
    taken.add(plain if name == first else name)
    return Operand(name, index, accesses, scalars, formula, layout)


def _formula(statement: Statement, tree: sympy.Basic) -> tuple[tuple[Access, ...], tuple[str, ...], Formula]:
    """An expression tree as (read accesses, scalars, formula over both)."""
    definitions = dict(statement.definitions)
    leaves: dict[sympy.Basic, None] = {}
    scalars: dict[sympy.Basic, None] = {}
    order = _postorder(tree)
    for node in order:
        if isinstance(node, sympy.Indexed):
            leaves[node] = None
        elif isinstance(node, sympy.Symbol):
            scalars[node] = None
    place = {node: Input(at) for at, node in enumerate((*leaves, *scalars))}
    made: dict[sympy.Basic, Formula] = {}
    for node in order:
        if node in place:
            made[node] = place[node]
        elif isinstance(node, sympy.Number):
            made[node] = Number(float(node))
        else:
            function, arguments = node.func.__name__, tuple(made[x] for x in node.args)
            inner = definitions.get(function)
            made[node] = substitute(inner, dict(enumerate(arguments))) if inner else Call(function, arguments)
    accesses = tuple(statement.access(leaf) for leaf in leaves)
    return accesses, tuple(str(s) for s in scalars), made[tree]


def _postorder(tree: sympy.Basic) -> Sequence[sympy.Basic]:
    """Every node of an expression tree once, operands first; leaves are not opened."""
    order: dict[sympy.Basic, None] = {}
    stack: list[tuple[sympy.Basic, bool]] = [(tree, False)]
    while stack:
        node, ready = stack.pop()
        if node in order:
            continue
        if ready or isinstance(node, sympy.Indexed | sympy.Symbol | sympy.Number):
            order[node] = None
        else:
            stack.append((node, True))
            stack.extend((x, False) for x in reversed(node.args) if x not in order)
    return tuple(order)
