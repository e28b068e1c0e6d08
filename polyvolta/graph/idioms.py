"""The computations that kernels are made for: products with prologues, summed or not, and a pointwise epilogue.

`plan` reads a graph as the paper's idioms: contractions, each with two operands that are formulas over loaded
arrays, followed by pointwise steps on their results. All results have one shape, so that a warp has the fragments of
all of them at the same places. Which array's registers a contraction accumulates in is decided here, too: products
that only enter a sum share one accumulator (`accumulators`).
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from polyvolta.graph.dag import Graph
from polyvolta.graph.expr import shape_text
from polyvolta.graph.formula import Formula, Input
from polyvolta.graph.statements import Access, Statement, formula_of
from polyvolta.sets.errors import PolyvoltaError, UnknownName, nearest

ACCUMULATORS = ("auto", "one", "separate")


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

    def only_stores(self, step: Step) -> bool:
        """Whether a step makes an output of what it reads as it is: a sum that one accumulator holds."""
        return step.formula == Input(0) and step.statement.write.tensor in self.outputs

    @property
    def computes(self) -> bool:
        """Whether anything is computed on what accumulators hold, other than that it is stored."""
        return not all(map(self.only_stores, self.steps))


def plan(graph: Graph, accumulators: str = "auto") -> Plan:
    """A graph as one of the idioms; see the module.

    Parameters
    ----------
    accumulators : "auto": products that only enter a sum share an accumulator; "one": all must, "separate": none do.

    Raises
    ------
    Unsupported : the graph is outside of the idioms, or its products can't share one accumulator although they must.

    Cost: linear in the graph's nodes.

    >>> import polyvolta as pv
    >>> from polyvolta.graph.formula import Call, Input
    >>> M, N, K = pv.sizes("M N K")
    >>> A, B, bias = pv.tensor("A", (M, K)), pv.tensor("B", (K, N)), pv.tensor("bias", (N,))
    >>> found = plan(Graph.of(pv.relu(pv.relu(A) @ B + bias)))
    >>> found.contractions[0].left.formula == Call("relu", (Input(0),))
    True
    >>> found.steps[0].name, [str(a) for a in found.steps[0].accesses], found.outputs
    ('relu_add', ['C[i, j]', 'bias[j]'], ('D',))
    """
    from polyvolta.graph.accumulators import shared

    if accumulators not in ACCUMULATORS:
        raise UnknownName(f"accumulators={accumulators!r}", hint=nearest(accumulators, ACCUMULATORS))
    _check(graph)
    names: dict[str, None] = {}
    contractions, steps = [], []
    for s in graph.statements:
        if s.is_matmul:
            i, j, k = s.iterators
            left, right = (
                _operand(graph, s, side, index, names)
                for side, index in zip(s.expression.args[1:], ((i, k), (k, j)), strict=True)
            )
            contractions.append(Contraction(s, left, right, s.write.tensor))
        else:
            steps.append(Step(s, s.operation, *formula_of(s, s.expression)))
    found = Plan(tuple(contractions), tuple(steps), tuple(t.name for t in graph.outputs))
    return found if accumulators == "separate" else shared(graph, found, all_of_them=accumulators == "one")


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


def _check(graph: Graph) -> None:
    """That the graph is within the idioms."""
    products = [s for s in graph.statements if s.is_matmul]
    if not products:
        raise Unsupported(
            "the graph has no matrix product",
            where=str(graph),
            hint="kernels are made for products and pointwise operations around them; pv.reference takes any graph",
        )
    made = {s.write.tensor: s for s in graph.statements}
    follows: set[str] = set()  # arrays that products enter
    for s in graph.statements:
        if s.is_matmul:
            _check_operands(graph, s, made, follows)
        if s.is_matmul or any(a.tensor in follows for a in s.reads):
            follows.add(s.write.tensor)
    for s in graph.statements:
        _check_shape(graph, s, products[0], follows)
    joined = set(follows)  # arrays that enter an operation with a product, at some point
    for s in reversed(graph.statements):
        if s.write.tensor in joined:
            joined |= {a.tensor for a in s.reads}
        else:
            raise Unsupported(
                f"{s.name} makes {s.write.tensor} from inputs alone, and no product has to do with it",
                where=marked(graph, s, str(s.write)),
                hint=f"make {s.write.tensor} apart from the kernel; kernels are made for products",
            )


def _check_operands(graph: Graph, product: Statement, made: dict[str, Statement], follows: set[str]) -> None:
    """That a product's operands are computed from inputs alone."""
    for access in product.reads[1:]:
        if (writer := made.get(access.tensor)) is None:
            continue
        where = marked(graph, product, str(access))
        if access.tensor in follows:
            between = "" if writer.is_matmul else ", with pointwise operations between"
            raise Unsupported(
                f"{product.name} is a product of a product{between}: {access.tensor} is the result of {writer.name}",
                where=where,
                hint=f"make two kernels: one for {access.tensor}, and one with {access.tensor} as an input",
            )
        raise Unsupported(
            f"{product.name} multiplies {access.tensor}, which is an output as well",
            where=where,
            hint=f"leave {access.tensor} out of the outputs, and it is computed on the way",
        )


def _check_shape(graph: Graph, s: Statement, product: Statement, follows: set[str]) -> None:
    """That a statement's result has the shape of the first product's."""
    if s.extents[: len(s.write.index)] == product.extents[:2]:
        return
    arrays = graph.arrays
    result, expected = shape_text(arrays[s.write.tensor]), shape_text(arrays[product.write.tensor])
    hint = f"all results of a kernel have one shape, here {expected}; make another kernel for {s.write.tensor}"
    part = str(s.write)
    if s.is_matmul:
        message = f"products of different shapes: {s.name} makes {result}, {product.name} makes {expected}"
    elif read := next((a for a in s.reads if a.tensor in follows), None):
        message = f"{s.name} broadcasts the result of a product, {shape_text(arrays[read.tensor])}, to {result}"
        hint = f"make two kernels: one for {read.tensor}, and one with {read.tensor} as an input"
        part = str(read)
    else:
        message = f"{s.name} makes {result}, which is no product's shape, from inputs alone"
    raise Unsupported(message, where=marked(graph, s, part), hint=hint)


def _operand(
    graph: Graph, statement: Statement, side: sympy.Basic, index: tuple[str, str], names: dict[str, None]
) -> Operand:
    """One side of a product; its name is noted in `names`."""
    accesses, scalars, formula = formula_of(statement, side)
    arrays = graph.arrays
    whole = [a for a in accesses if a.index == index]
    tensor = (whole or accesses)[0].tensor
    name, taken = tensor, {*names, *arrays, *graph.params, *graph.scalars}
    if tensor in names:
        name = next(n for n in (f"{tensor}_{p}" for p in range(2, len(taken) + 3)) if n not in taken)
    names[name] = None
    return Operand(name, index, accesses, scalars, formula, arrays[tensor].layout if whole else "row")
