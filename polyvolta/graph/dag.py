"""The computation DAG: operations as statements, arrays as edges (the paper's "Problem Statement").

A graph is made from output expressions in three steps. First it is decided which operations become
statements of their own. A product always does, and so does what the user asked for as an output. A
pointwise operation is fused into the one statement that uses it: `relu(A @ B + bias)` is two statements,
the product and a compound `relu_add`, and in `relu(A) @ B` the relu is part of the product's tree. It
stands alone where several statements use it, or where it would be computed again and again inside a product
of a product. Then arrays, statements and iterators get names that clash with nothing of the user's, and
last each operation becomes a `Statement`. The result is a networkx graph in topological order:

    A, B    nodes of the inputs,       attribute `tensor`
    S       nodes of the operations,   attributes `statement`, `tensor` (what it writes) and `expr`
    A -> S  edges from who makes an array to who reads it, attribute `array`
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count, islice
from string import ascii_lowercase, ascii_uppercase

import networkx as nx

from polyvolta.graph.binding import as_outputs
from polyvolta.graph.expr import Expr, MatMul, Pointwise, shape_text, walk
from polyvolta.graph.names import fresh_names
from polyvolta.graph.statements import Statement, extents_of, make_statement, size_names
from polyvolta.graph.tensors import Tensor, check_names


@dataclass(frozen=True, slots=True)
class Graph:
    """A computation DAG; make one with `Graph.of`.

    Attributes
    ----------
    inputs : the tensors read, in order of first appearance; a kernel's arguments come in this order.
    outputs : the tensors that stay, in the order asked for: row-major, named as asked or C, D, E, ...
    params : names of the symbolic sizes, in the order in which the statements' loops have them.
    statements : the operations in topological order: `S` alone, or `S1`, `S2`, ...
    roots : the output expressions.
    dag : the frozen networkx graph.
    """

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    params: tuple[str, ...]
    statements: tuple[Statement, ...]
    roots: tuple[Expr, ...]
    dag: nx.DiGraph = field(compare=False, repr=False)

    @classmethod
    def of(cls, outputs: Expr | Sequence[Expr] | Mapping[str, Expr] | Graph) -> Graph:
        """The graph of one output, of several, or of named ones.

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
        named = as_outputs(outputs)
        nodes = walk(e for _, e in named)
        inputs = tuple(e for e in nodes if isinstance(e, Tensor))
        check_names(inputs, [name for name, _ in named if name is not None])
        roots = _statement_roots(nodes, [e for _, e in named])
        dims = list(chain.from_iterable(extents_of(r) for r in roots)) + [d for t in inputs for d in t.dims]
        params = size_names(dims)
        arrays = _name_arrays(roots, inputs, params, {e: name for name, e in named if name is not None})
        taken = {t.name for t in arrays.values()} | set(params)
        names = _statement_names(len(roots), taken)
        statements = tuple(
            make_statement(name, root, _iterators(len(extents_of(root)), taken), arrays, params)
            for name, root in zip(names, roots, strict=True))  # fmt: skip
        results = tuple(arrays[r] for r in roots)
        return cls(
            inputs,
            tuple(arrays[e] for _, e in named),
            params,
            statements,
            tuple(e for _, e in named),
            _networkx(inputs, statements, results, roots),
        )

    @property
    def arrays(self) -> dict[str, Tensor]:
        """Every array by name: inputs, what statements write, outputs among them."""
        return {data["tensor"].name: data["tensor"] for _, data in self.dag.nodes(data=True)}

    def writer(self, array: str) -> Statement | None:
        """The statement that writes `array`; None for an input."""
        return next((s for s in self.statements if s.write.tensor == array), None)

    def __str__(self) -> str:
        return "\n".join(
            [
                f"inputs {', '.join(map(shape_text, self.inputs))}",
                *map(str, self.statements),
                f"outputs {', '.join(map(shape_text, self.outputs))}",
            ]
        )


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
        owners = {owner[u] for u in users[node]}
        target = owners.pop() if len(owners) == 1 else node
        alone = node in kept or not isinstance(node, Pointwise)
        recomputed = isinstance(target, MatMul) and node in after_product
        owner[node] = node if alone or recomputed else target
    return tuple(n for n in nodes if isinstance(n, MatMul | Pointwise) and owner[n] is n)


def _name_arrays(
    roots: Sequence[Expr], inputs: Sequence[Tensor], params: Sequence[str], given: Mapping[Expr, str]
) -> dict[Expr, Tensor]:
    """Inputs and every statement's result as tensors; names not given are C, D, E, ..., then C1, C2, ..."""
    taken = {t.name for t in inputs} | set(params) | set(given.values())
    letters = ascii_uppercase[2:].replace("S", "")  # S1, S2 are statements in the paper
    free = fresh_names(chain(letters, (f"C{n}" for n in count(1))), taken)
    results = {root: Tensor(given.get(root) or next(free), root.shape) for root in roots}
    return {**{t: t for t in inputs}, **results}


def _statement_names(number: int, taken: set[str]) -> list[str]:
    """S, or S1 to Sn; with another letter when an array or a size has such a name."""
    prefixes: Iterator[str] = chain("STUVWXYZ", (f"S{'_' * n}" for n in count(1)))
    prefix = next(p for p in prefixes if not any(re.fullmatch(rf"{p}\d*", name) for name in taken))
    return [prefix] if number == 1 else [f"{prefix}{n}" for n in range(1, number + 1)]


def _iterators(number: int, taken: set[str]) -> tuple[str, ...]:
    """i, j, k, l, ..., without what arrays and sizes are called."""
    letters = ascii_lowercase[8:] + ascii_lowercase[:8]
    return tuple(islice(fresh_names(chain(letters, (f"i{n}" for n in count())), taken), number))


def _networkx(
    inputs: Sequence[Tensor],
    statements: Sequence[Statement],
    results: Sequence[Tensor],
    roots: Sequence[Expr],
) -> nx.DiGraph:
    dag = nx.DiGraph()
    for t in inputs:
        dag.add_node(t.name, tensor=t)
    maker = {t.name: t.name for t in inputs}
    for s, result, root in zip(statements, results, roots, strict=True):
        dag.add_node(s.name, statement=s, tensor=result, expr=root)
        for name in dict.fromkeys(a.tensor for a in s.reads if a.tensor != s.write.tensor):
            dag.add_edge(maker[name], s.name, array=name)
        maker[result.name] = s.name
    return nx.freeze(dag)
