"""The computation DAG: operations as statements, arrays as edges (the paper's "Problem Statement").

A graph is made from output expressions in three steps. First it is decided which operations become
statements of their own. A product always does, and so does what the user asked for as an output. A
pointwise operation is fused into the one statement that uses it: `relu(A @ B + bias)` is two statements,
the product and a compound `relu_add`, and in `relu(A) @ B` the relu is part of the product's tree. It
stands alone where several statements use it, or where it would be computed again and again inside a product
of a product. What follows from inputs alone is computed in every statement that uses it: in
`relu(A) @ B + relu(A) @ Q` the relu is part of both products. Then arrays, statements and iterators get names that
clash with nothing of the user's, and last each operation becomes a `Statement`. The result is a networkx graph in
topological order, `Graph.dag`, made when it is asked for:

    A, B    nodes of the inputs, by name
    S       nodes of the operations, by their statements' names
    A -> S  edges from who makes an array to who reads it

Attributes of every node are `kind` ("input" or "operation"), `tensor` (the input, or what the operation writes: its
name, shape, layout and element type), `output` (whether that stays when all is done) and `label` (a text). Operations
have `statement` and `expr`, too. Edges have `array`, its name, and `accesses`, where in it an instance reads. Scalars
are no nodes: `Graph.scalars` has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count, islice
from string import ascii_lowercase, ascii_uppercase
from typing import TYPE_CHECKING

from polyvolta.display.shown import Shown
from polyvolta.graph.expr import Expr, MatMul, Pointwise, shape_text, walk
from polyvolta.graph.functions.formula import Formula
from polyvolta.graph.names import fresh_names
from polyvolta.graph.outputs import Output, as_outputs
from polyvolta.graph.statements import Statement, extents_of, make_statement, size_names
from polyvolta.graph.tensors import Tensor, check_names

if TYPE_CHECKING:
    import networkx as nx

Outputs = Expr | Output | Sequence[Expr | Output] | Mapping[str, Expr | Output]


@dataclass(frozen=True, slots=True, repr=False)
class Graph(Shown):
    """A computation DAG; make one with `Graph.of`.

    Attributes
    ----------
    inputs : the tensors read, in order of first appearance.
    outputs : the tensors that stay, in the order asked for, named as asked or C, D, E, ...
    params : names of the symbolic sizes, in the order in which the statements' loops have them.
    statements : the operations in topological order: `S` alone, or `S1`, `S2`, ...
    roots : the output expressions.
    results : what each statement writes.
    operations : the expression of each statement.
    arguments : inputs and scalars, which have no dimensions, in order of first appearance: the order of a call.

    >>> import polyvolta as pv
    >>> from polyvolta.graph import Graph
    >>> M, N, K = pv.sizes("M N K")
    >>> graph = Graph.of(pv.relu(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N))))
    >>> [t.name for t in graph.inputs], [t.name for t in graph.outputs], graph.params
    (['A', 'B'], ['D'], ('M', 'N', 'K'))
    """

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    params: tuple[str, ...]
    statements: tuple[Statement, ...]
    roots: tuple[Expr, ...]
    results: tuple[Tensor, ...]
    operations: tuple[Expr, ...]
    arguments: tuple[Tensor, ...] = ()
    _dag: list[nx.DiGraph] = field(default_factory=list, compare=False, repr=False)

    @classmethod
    def of(cls, outputs: Outputs | Graph) -> Graph:
        """The graph of one output, of several, or of named ones; each an expression or made by `output`.

        Raises
        ------
        BadOutputs : no output, one twice, or an output that is a mere input.
        NameClash, BadName : names that can't stand together in one kernel.

        Cost: linear in nodes, but for the sets of each statement.

        >>> import polyvolta as pv
        >>> M, N, K = pv.sizes("M N K")
        >>> A, B, bias = pv.tensor("A", (M, K)), pv.tensor("B", (K, N)), pv.tensor("bias", (N,))
        >>> print(Graph.of(pv.relu(A @ B + bias)))
        inputs A(M, K), B(K, N), bias(N,)
        S1: C[i, j] = mul_acc(C[i, j], A[i, k], B[k, j])
        S2: D[i, j] = relu(add(C[i, j], bias[j]))
        outputs D(M, N)
        """
        if isinstance(outputs, Graph):
            return outputs
        asked = as_outputs(outputs)
        exprs = tuple(o.expr for o in asked)
        nodes = walk(exprs)
        arguments = tuple(e for e in nodes if isinstance(e, Tensor))
        inputs = tuple(t for t in arguments if t.dims)
        check_names(arguments, [o.name for o in asked if o.name is not None])
        roots = _statement_roots(nodes, exprs)
        dims = list(chain.from_iterable(extents_of(r) for r in roots)) + [d for t in inputs for d in t.dims]
        params = size_names(dims)
        arrays = _name_arrays(roots, arguments, params, asked)
        taken = {t.name for t in (*arrays.values(), *arguments)} | set(params)
        names = _statement_names(len(roots), taken)
        functions = _name_functions(nodes)
        statements = tuple(
            make_statement(name, root, _iterators(len(extents_of(root)), taken), arrays, params, functions)
            for name, root in zip(names, roots, strict=True))  # fmt: skip
        results = tuple(arrays[r] for r in roots)
        outputs = tuple(arrays[e] for e in exprs)
        return cls(inputs, outputs, params, statements, exprs, results, roots, arguments)

    def turned(self) -> Graph:
        """The same graph, with the first two dimensions of its statements' instances the other way round.

        >>> import polyvolta as pv
        >>> from polyvolta.graph import Graph
        >>> M, N, K = pv.sizes("M N K")
        >>> graph = Graph.of(pv.relu(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N))))
        >>> print(graph.turned().outputs[0].declaration())
        D(M, N) float16, layout "row"
        """
        statements = tuple(s.turned() for s in self.statements)
        return replace(self, statements=statements, _dag=[])

    @property
    def whole(self) -> tuple[int, int]:
        """Which dimension of a product's statement the rows and the columns of its result are: (1, 0) if turned."""
        return (1, 0) if any(s.is_turned for s in self.statements) else (0, 1)

    @property
    def dag(self) -> nx.DiGraph:
        """The graph as a frozen networkx one, with the attributes that the module lists; made once.

        >>> import polyvolta as pv
        >>> M, N, K = pv.sizes("M N K")
        >>> dag = Graph.of(pv.relu(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N)))).dag
        >>> [(name, node["kind"], node["tensor"].name) for name, node in dag.nodes.items()]
        [('A', 'input', 'A'), ('B', 'input', 'B'), ('S1', 'operation', 'C'), ('S2', 'operation', 'D')]
        >>> dag.edges["A", "S1"]["array"], str(dag.edges["A", "S1"]["accesses"][0])
        ('A', 'A[i, k]')
        """
        if not self._dag:
            self._dag.append(_networkx(self))
        return self._dag[0]

    @property
    def dtype(self) -> str:
        """The element type of the first input; a kernel's tensors all have it."""
        return next((t.dtype for t in self.inputs), "float16")

    @property
    def scalars(self) -> tuple[str, ...]:
        """The names of the scalars, in order of first appearance."""
        return tuple(t.name for t in self.arguments if not t.dims)

    @property
    def arrays(self) -> dict[str, Tensor]:
        """Every array by name: inputs, what statements write, outputs among them."""
        return {t.name: t for t in (*self.inputs, *self.results)}

    def writer(self, array: str) -> Statement | None:
        """The statement that writes `array`; None for an input.

        >>> import polyvolta as pv
        >>> from polyvolta.graph import Graph
        >>> M, N, K = pv.sizes("M N K")
        >>> graph = Graph.of(pv.relu(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N))))
        >>> graph.writer("C").name
        'S1'
        """
        return next((s for s in self.statements if s.write.tensor == array), None)

    def __str__(self) -> str:
        return "\n".join(
            [
                f"inputs {', '.join(map(shape_text, self.arguments))}",
                *map(str, self.statements),
                f"outputs {', '.join(map(shape_text, self.outputs))}",
            ]
        )

    def __repr__(self) -> str:
        names = ", ".join(s.name for s in self.statements)
        return f"<Graph of {names if len(names) < 50 else f'{len(self.statements)} statements'}; print it>"

    def _html(self) -> str:
        from polyvolta.graph.shown.notebook import graph

        return graph(self)


def _statement_roots(nodes: Sequence[Expr], outputs: Sequence[Expr]) -> tuple[Expr, ...]:
    """The operations that become statements, in topological order; the others are fused into their user."""
    users: dict[Expr, list[Expr]] = {n: [] for n in nodes}
    after_product: set[Expr] = set()
    for node in nodes:
        for x in node.operands:
            users[x].append(node)
        if isinstance(node, MatMul) or any(x in after_product for x in node.operands):
            after_product.add(node)
    kept, owner = set(outputs), {}
    for node in reversed(nodes):
        if node not in after_product and node not in kept:
            continue  # it is computed wherever it is used
        owners = {owner[u] for u in users[node] if u in owner}
        target = owners.pop() if len(owners) == 1 else node
        alone = node in kept or not isinstance(node, Pointwise)
        recomputed = isinstance(target, MatMul) and node in after_product
        owner[node] = node if alone or recomputed else target
    return tuple(n for n in nodes if owner.get(n) is n)


def _name_arrays(
    roots: Sequence[Expr], arguments: Sequence[Tensor], params: Sequence[str], asked: Sequence[Output]
) -> dict[Expr, Tensor]:
    """Inputs and every statement's result as tensors; names not given are C, D, E, ..., then C1, C2, ..."""
    by_expr = {o.expr: o for o in asked}
    taken = {t.name for t in arguments} | set(params) | {o.name for o in asked if o.name}
    letters = ascii_uppercase[2:].replace("S", "")  # S1, S2 are statements in the paper
    free = fresh_names(chain(letters, (f"C{n}" for n in count(1))), taken)
    results, dtype = {}, next((t.dtype for t in arguments if t.dims), "float16")
    for root in roots:
        o = by_expr.get(root, Output(root))
        results[root] = Tensor(o.name or next(free), root.shape, o.layout, dtype)
    return {**{t: t for t in arguments if t.dims}, **results}


def _name_functions(nodes: Sequence[Expr]) -> dict[Formula, str]:
    """A name for each of the users' functions: its own where no other one has it already."""
    names: dict[Formula, str] = {}
    for node in nodes:
        if isinstance(node, Pointwise) and node.definition is not None and node.definition not in names:
            known = names.values()
            free = chain([node.function], (f"{node.function}_{n}" for n in count(2)))
            names[node.definition] = next(n for n in free if n not in known)
    return names


def _statement_names(number: int, taken: set[str]) -> list[str]:
    """S, or S1 to Sn; with another letter when an array or a size has such a name."""
    prefixes: Iterator[str] = chain("STUVWXYZ", (f"S{'_' * n}" for n in count(1)))
    prefix = next(p for p in prefixes if not any(re.fullmatch(rf"{p}\d*", name) for name in taken))
    return [prefix] if number == 1 else [f"{prefix}{n}" for n in range(1, number + 1)]


def _iterators(number: int, taken: set[str]) -> tuple[str, ...]:
    """i, j, k, l, ..., without what arrays and sizes are called."""
    letters = ascii_lowercase[8:] + ascii_lowercase[:8]
    return tuple(islice(fresh_names(chain(letters, (f"i{n}" for n in count())), taken), number))


def _networkx(graph: Graph) -> nx.DiGraph:
    import networkx as nx

    dag = nx.DiGraph()
    for t in graph.inputs:
        dag.add_node(t.name, kind="input", tensor=t, output=False, label=shape_text(t))
    maker = {t.name: t.name for t in graph.inputs}
    for s, result, root in zip(graph.statements, graph.results, graph.operations, strict=True):
        stays = result in graph.outputs
        dag.add_node(s.name, kind="operation", tensor=result, output=stays, label=str(s), statement=s, expr=root)
        for name in dict.fromkeys(a.tensor for a in s.reads if a.tensor != s.write.tensor):
            accesses = tuple(a for a in s.reads if a.tensor == name)
            dag.add_edge(maker[name], s.name, array=name, accesses=accesses)
        maker[result.name] = s.name
    return nx.freeze(dag)
