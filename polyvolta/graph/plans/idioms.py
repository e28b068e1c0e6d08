"""The computations that kernels are made for: products with prologues, summed or not, and a pointwise epilogue.

`plan` reads a graph as the paper's idioms: contractions, each with two operands that are formulas over loaded
arrays, followed by pointwise steps on their results. All results have one shape, so that a warp has the fragments of
all of them at the same places. Which array's registers a contraction accumulates in is decided here, too: products
that only enter a sum share one accumulator (`accumulators`).
"""

from __future__ import annotations

from polyvolta.graph.dag import Graph
from polyvolta.graph.errors import MixedDtypes
from polyvolta.graph.expr import shape_text
from polyvolta.graph.plans.accumulators import shared
from polyvolta.graph.plans.plans import Contraction, Operand, Plan, Step, Unsupported, marked
from polyvolta.graph.statements import Statement, formula_of
from polyvolta.graph.terms import Term
from polyvolta.sets.errors import UnknownName, nearest

ACCUMULATORS = ("auto", "one", "separate")


def plan(graph: Graph, accumulators: str = "auto") -> Plan:
    """A graph as one of the idioms; see the module.

    Parameters
    ----------
    accumulators : "auto": products that only enter a sum share an accumulator; "one": all must, "separate": none do.

    Raises
    ------
    Unsupported : the graph is outside of the idioms, or its products can't share one accumulator although they must.
    MixedDtypes : its tensors have two element types.

    Cost: linear in the graph's nodes.

    >>> import polyvolta as pv
    >>> from polyvolta.graph.functions.formula import Call, Input
    >>> M, N, K = pv.sizes("M N K")
    >>> A, B, bias = pv.tensor("A", (M, K)), pv.tensor("B", (K, N)), pv.tensor("bias", (N,))
    >>> found = plan(Graph.of(pv.relu(pv.relu(A) @ B + bias)))
    >>> found.contractions[0].left.formula == Call("relu", (Input(0),))
    True
    >>> found.steps[0].name, [str(a) for a in found.steps[0].accesses], found.outputs
    ('relu_add', ['C[i, j]', 'bias[j]'], ('D',))
    """
    if accumulators not in ACCUMULATORS:
        raise UnknownName(f"accumulators={accumulators!r}", hint=nearest(accumulators, ACCUMULATORS))
    _check_dtypes(graph)
    _check(graph)
    names: dict[str, None] = {}
    contractions, steps = [], []
    for s in graph.statements:
        if s.is_matmul:
            i, j, k = s.iterators
            left, right = (
                _operand(graph, s, side, index, names)
                for side, index in zip(s.factors, ((i, k), (k, j)), strict=True)
            )
            contractions.append(Contraction(s, left, right, s.write.tensor))
        else:
            steps.append(Step(s, s.operation, *formula_of(s, s.tree)))
    found = Plan(tuple(contractions), tuple(steps), tuple(t.name for t in graph.outputs), graph.dtype,
                 _across(graph, steps), graph.outputs[0].layout)  # fmt: skip
    return found if accumulators == "separate" else shared(graph, found, all_of_them=accumulators == "one")


def _across(graph: Graph, steps: list[Step]) -> int:
    """How many matrices steps read and store that are not contiguous along the first output's contiguous dimension."""
    layouts = {t.name: t.layout for t in (*graph.inputs, *graph.outputs)}
    first = graph.outputs[0].layout
    read = set()
    for s in steps:
        along = s.statement.write.index[-1 if first == "row" else 0]
        read |= {(a.tensor, a.index) for a in s.accesses
                 if len(a.index) > 1 and a.tensor in layouts
                 and a.index[-1 if layouts[a.tensor] == "row" else 0] != along}  # fmt: skip
    made = {s.write.tensor for s in graph.statements}
    return sum(name not in made for name, _ in read) + sum(t.layout != first for t in graph.outputs)


def _check_dtypes(graph: Graph) -> None:
    """That all tensors have one element type: tensor cores multiply two operands of the same."""
    by_dtype: dict[str, list[str]] = {}
    for t in graph.inputs:
        by_dtype.setdefault(t.dtype, []).append(t.name)
    if len(by_dtype) > 1:
        groups = [f"{', '.join(names)} of {dtype}" for dtype, names in by_dtype.items()]
        raise MixedDtypes(
            f"a kernel's tensors have one element type, and these have {len(by_dtype)}: {'; '.join(groups)}",
            where="\n".join(t.declaration() for t in graph.inputs),
            hint="declare all with the same dtype, and convert the arrays of the others before the call",
        )


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
    graph: Graph, statement: Statement, side: Term, index: tuple[str, str], names: dict[str, None]
) -> Operand:
    """One side of a product; its name is noted in `names`.

    Parameters
    ----------
    index : the iterators of its rows and columns, which a tensor may have the other way round.
    """
    accesses, scalars, formula = formula_of(statement, side)
    arrays = graph.arrays
    whole = [a for a in accesses if set(a.index) == set(index)]
    tensor = (whole or accesses)[0].tensor
    name, taken = tensor, {*names, *arrays, *graph.params, *graph.scalars}
    if tensor in names:
        name = next(n for n in (f"{tensor}_{p}" for p in range(2, len(taken) + 3)) if n not in taken)
    names[name] = None
    layout = arrays[tensor].layout if whole else "row"
    if whole and whole[0].index != index:  # as of a turned product, whose operands are transposes
        layout = "col" if layout == "row" else "row"
    return Operand(name, index, accesses, scalars, formula, layout)
