"""The computations that kernels are made for: products with prologues, summed or not, and a pointwise epilogue.

`plan` reads a graph as one of the paper's idioms: contractions, each with two operands that are formulas over
loaded arrays, followed by pointwise steps on their results. Which array's registers a contraction accumulates
in is decided here too: products that only enter a sum share one accumulator.
"""

from __future__ import annotations

from dataclasses import dataclass

from polyvolta.graph.dag import Graph
from polyvolta.graph.formula import Formula
from polyvolta.graph.statements import Access, Statement


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
    """A graph as one of the idioms; see the module."""
    raise NotImplementedError
