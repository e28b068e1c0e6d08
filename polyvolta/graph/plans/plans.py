"""Plans: a graph read as products with prologues, summed or not, and pointwise steps on their results.

What `idioms.plan` makes of a graph, and what promotion works on: contractions, each with two operands that are
formulas over loaded arrays, and steps.
"""

from __future__ import annotations

from dataclasses import dataclass

from polyvolta.graph.dag import Graph
from polyvolta.graph.functions.formula import Formula, Input
from polyvolta.graph.statements import Access, Statement
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
    index : the two iterators of its elements: (i, k) of the left one, (k, j) of the right one; of a turned product
        (j, k) and (k, i), as of B's transpose and A's.
    accesses : the statement's read accesses in it, left to right, each once; `Input(n)` of the formula is access n.
    scalars : scalar arguments in it; `Input(len(accesses) + n)` is scalar n.
    formula : `Input(0)` for a plain operand.
    layout : "row" or "col", that of the first access with two dimensions: which iterator of `index`, the second or the
        first, runs fastest in memory.
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

    `outputs` names the arrays that are stored to global memory; an accumulator may be among them. `dtype` is the
    element type of all tensors. `across` counts the matrices that steps read and store and that are contiguous in
    memory along the other dimension than the first output, whose `layout` says which that is.
    """

    contractions: tuple[Contraction, ...]
    steps: tuple[Step, ...]
    outputs: tuple[str, ...]
    dtype: str = "float16"
    across: int = 0
    layout: str = "row"

    @property
    def whole(self) -> tuple[int, int]:
        """Which of the statements' first two iterators the rows and the columns of results are: (1, 0) if turned."""
        return (1, 0) if self.contractions[0].statement.is_turned else (0, 1)

    def of_result(self, order: tuple[int, ...]) -> tuple[int, int]:
        """Dimensions of a matrix of the result's shape as positions of the statements' iterators, and back."""
        return self.whole[order[0]], self.whole[order[1]]

    def only_stores(self, step: Step) -> bool:
        """Whether a step makes an output of what it reads as it is: a sum that one accumulator holds."""
        return step.formula == Input(0) and step.statement.write.tensor in self.outputs

    @property
    def computes(self) -> bool:
        """Whether anything is computed on what accumulators hold, other than that it is stored."""
        return not all(map(self.only_stores, self.steps))


def marked(graph: Graph, statement: Statement, part: str = "") -> str:
    """The graph, with an arrow at a statement and carets under a part of it.

    >>> import polyvolta as pv
    >>> M, N, K = pv.sizes("M N K")
    >>> graph = Graph.of(pv.relu(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N))))
    >>> print(marked(graph, graph.statements[1], "C[i, j]"))
      inputs A(M, K), B(K, N)
      S1: C[i, j] = mul_acc(C[i, j], A[i, k], B[k, j])
    > S2: D[i, j] = relu(C[i, j])
                         ^^^^^^^
      outputs D(M, N)
    """
    lines = []
    for line in str(graph).splitlines():
        here = line == str(statement)
        lines.append(f"{'>' if here else ' '} {line}")
        if here and (at := line.rfind(part)) >= 0 and part:
            lines.append(" " * (at + 2) + "^" * len(part))
    return "\n".join(lines)
