"""Statements: what the polyhedral model knows of an operation (the paper's "Problem Statement").

    for i < M, j < N, k < K:
        C[i, j] = mul_acc(C[i, j], A[i, k], B[k, j])          # S

A statement is the set of its instances `{ S[i, j, k] : 0 <= i < M and ... }`, for each access a relation
from instances to array elements `{ S[i, j, k] -> A[i, k] }`, and what an instance does: an expression tree
whose inner nodes are operations and whose leaves are the read accesses. The trees are sympy expressions
over indexed symbols. Their functions are undefined ones, so sympy never rewrites them: floating point is no
field, and the tree that the user wrote is the one that the kernel runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal

import sympy

from polyvolta.graph.expr import Constant, Expr, MatMul, Pointwise
from polyvolta.graph.functions.formula import Call, Formula, Input, Number, substitute
from polyvolta.graph.tensors import Dim, Size, Tensor
from polyvolta.sets import Map, Set

MUL_ACC = "mul_acc"
"""The root of a matrix product's tree: mul_acc(c, a, b) is c + a * b."""


@dataclass(frozen=True, slots=True)
class Access:
    """One access of a statement: instances -> elements of an array, on the statement's domain only."""

    tensor: str
    index: tuple[str, ...]
    kind: Literal["read", "write"]
    relation: Map

    @property
    def leaf(self) -> sympy.Indexed:
        """The access as a leaf of the expression tree."""
        return leaf(self.tensor, self.index)

    def __str__(self) -> str:
        return f"{self.tensor}[{', '.join(self.index)}]"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Statement:
    """An operation of the graph as a statement in a loop nest.

    `extents[p]` bounds `iterators[p]`; `reads` are the arrays' elements among the leaves of `expression` from left
    to right, each once. Other leaves are numbers and scalars, which are sympy symbols. `definitions` says what users'
    functions in it compute, by name.
    """

    name: str
    iterators: tuple[str, ...]
    extents: tuple[Dim, ...]
    domain: Set
    reads: tuple[Access, ...]
    write: Access
    expression: sympy.Expr
    definitions: tuple[tuple[str, Formula], ...] = ()

    @property
    def is_matmul(self) -> bool:
        """Whether instances accumulate products, so that the last iterator is a reduction."""
        return self.expression.func.__name__ == MUL_ACC

    @property
    def operation(self) -> str:
        """The compound operation's name, root first, as in the paper: relu_add, mul_acc.

        The functions of a product's own operands, its prologue, are not part of the name, and what is used several
        times is named once; a name has at most eight parts.
        """
        if self.is_matmul:
            return MUL_ACC
        return "_".join([e.func.__name__ for e in preorder(self.expression) if is_operation(e)][:8])

    def access(self, leaf: sympy.Basic) -> Access:
        """The read access that `leaf`, a leaf of the expression tree, stands for."""
        return next(a for a in self.reads if a.leaf == leaf)

    def __str__(self) -> str:
        return f"{self.name}: {self.write} = {_text(self.expression)}"

    def __repr__(self) -> str:
        return f"<Statement {self}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Statement):
            return NotImplemented
        names = (f.name for f in fields(self) if f.name != "expression")
        return all(getattr(self, n) == getattr(other, n) for n in names) and (
            self.expression is other.expression or _table(self.expression) == _table(other.expression)
        )

    def __hash__(self) -> int:
        return hash((self.name, self.iterators, self.extents))


def leaf(array: str, index: Sequence[str]) -> sympy.Indexed:
    """The element of `array` at iterators or numbers, as sympy has it.

    >>> leaf("bias", ("0", "j"))
    bias[0, j]
    """
    places = [sympy.Integer(p) if p.isdigit() else sympy.Symbol(p, integer=True) for p in index]
    return sympy.Indexed(sympy.IndexedBase(sympy.Symbol(array)), *places)  # type: ignore[return-value]


def is_operation(node: sympy.Basic) -> bool:
    """Whether a node of an expression tree is an operation, neither a leaf nor a number."""
    return isinstance(node, sympy.core.function.AppliedUndef)


def preorder(tree: sympy.Basic) -> tuple[sympy.Basic, ...]:
    """Every node of an expression tree once, where it occurs first; leaves are not opened. Cost: linear."""
    order: dict[sympy.Basic, None] = {}
    stack = [tree]
    while stack:
        if (node := stack.pop()) not in order:
            order[node] = None
            if is_operation(node):
                stack.extend(reversed(node.args))
    return tuple(order)


def postorder(tree: sympy.Basic) -> tuple[sympy.Basic, ...]:
    """Every node of an expression tree once, operands first; leaves are not opened. Cost: linear."""
    order: dict[sympy.Basic, None] = {}
    stack = [(tree, False)]
    while stack:
        node, ready = stack.pop()
        if node in order:
            continue
        if ready or not is_operation(node):
            order[node] = None
        else:
            stack.append((node, True))
            stack.extend((x, False) for x in reversed(node.args) if x not in order)
    return tuple(order)


def _table(tree: sympy.Basic) -> list[object]:
    """An expression tree as a table of its nodes, equal for equal trees: sympy's own comparison walks every path."""
    table: list[object] = []
    number: dict[sympy.Basic, int] = {}
    for node in postorder(tree):
        number[node] = len(table)
        table.append((node.func.__name__, *(number[x] for x in node.args)) if is_operation(node) else node)
    return table


def _text(tree: sympy.Basic, limit: int = 2000) -> str:
    """An expression tree as sympy writes it; elided in the middle past `limit`."""
    texts: dict[sympy.Basic, str] = {}
    for node in postorder(tree):
        if is_operation(node):
            text = f"{node.func.__name__}({', '.join(texts[x] for x in node.args)})"
        elif isinstance(node, sympy.Number):
            text = sympy.sstr(node, full_prec=False) if abs(node) < 10**16 else str(float(node))
        else:
            text = sympy.sstr(node)
        texts[node] = text if len(text) <= limit else f"{text[: limit // 2]} ... {text[-limit // 2 :]}"
    return texts[tree]


def formula_of(statement: Statement, tree: sympy.Basic) -> tuple[tuple[Access, ...], tuple[str, ...], Formula]:
    """A part of a statement's expression tree as (read accesses, scalars, formula over both), users' functions inlined.

    Accesses and scalars are in the order in which they occur, each once: inputs 0, 1, ... of the formula. Cost: linear.

    >>> import polyvolta as pv
    >>> from polyvolta.graph.dag import Graph
    >>> x, y, a = pv.tensor("x", (4, 4)), pv.tensor("y", (4,)), pv.scalar("a")
    >>> (s,) = Graph.of(x - a * y).statements
    >>> accesses, scalars, formula = formula_of(s, s.expression)
    >>> print(*accesses, *scalars, formula._brief())
    x[i, j] y[j] a sub(x0, mul(x2, x1))
    """
    definitions = dict(statement.definitions)
    leaves: dict[sympy.Basic, None] = {}
    scalars: dict[sympy.Basic, None] = {}
    order = postorder(tree)
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


def extents_of(expr: Expr) -> tuple[Dim, ...]:
    """How many values each iterator of the expression's loop nest takes: its shape, then the reduction's."""
    return (*expr.shape, expr.left.shape[1]) if isinstance(expr, MatMul) else expr.shape


def make_statement(
    name: str,
    root: Expr,
    iterators: Sequence[str],
    arrays: Mapping[Expr, Tensor],
    params: Sequence[str],
    named: Mapping[Formula, str] | None = None,
) -> Statement:
    """The statement of one operation with everything that is fused into it.

    Parameters
    ----------
    name : of the statement, the tuple name of its instances.
    root : the operation whose result is written, to `arrays[root]`.
    iterators : one for each of `extents_of(root)`.
    arrays : what is in memory: inputs, and the results of other statements. An operation that isn't in it is
        computed inside this statement, from its own operands.
    params : the sizes that the sets are over, the same ones for all statements of a graph.
    named : the names of users' functions, distinct, by what they compute.

    Cost: linear in the expression's nodes.
    """
    lower = _Lowering(arrays, named or {})
    target = leaf(arrays[root].name, iterators[: len(root.shape)])
    if isinstance(root, MatMul):
        i, j, k = iterators
        lower.reads[target] = None
        expression = sympy.Function(MUL_ACC)(target, lower(root.left, (i, k)), lower(root.right, (k, j)))
    else:
        expression = lower.operation(root, tuple(iterators))
    extents = extents_of(root)
    instance = f"{name}[{', '.join(iterators)}]"
    bounds = " and ".join(f"0 <= {i} < {e}" for i, e in zip(iterators, extents, strict=True))
    prefix = f"[{', '.join(params)}] -> " if params else ""

    def access(element: sympy.Indexed, kind: Literal["read", "write"]) -> Access:
        array, index = str(element.base), tuple(str(p) for p in element.indices)
        return Access(array, index, kind, Map(f"{prefix}{{ {instance} -> {array}[{', '.join(index)}] : {bounds} }}"))

    return Statement(
        name,
        tuple(iterators),
        extents,
        Set(f"{prefix}{{ {instance} : {bounds} }}"),
        tuple(access(r, "read") for r in lower.reads),
        access(target, "write"),
        expression,
        tuple(lower.definitions.items()),
    )


class _Lowering:
    """Expressions -> sympy trees at given indices, noting the leaves in order."""

    def __init__(self, arrays: Mapping[Expr, Tensor], named: Mapping[Formula, str]) -> None:
        self.arrays, self.named = arrays, named
        self.definitions: dict[str, Formula] = {}
        self.reads: dict[sympy.Indexed, None] = {}
        self.done: dict[tuple[Expr, tuple[str, ...]], sympy.Expr] = {}

    def __call__(self, expr: Expr, index: tuple[str, ...]) -> sympy.Expr:
        """The value of `expr` at `index`: a leaf if it is in memory, else its operation."""
        return self._value(expr, index, self.arrays)

    def operation(self, root: Expr, index: tuple[str, ...]) -> sympy.Expr:
        """The operation `root` at `index`, although its result is in memory, too."""
        return self._value(root, index, {e: t for e, t in self.arrays.items() if e is not root})

    def _value(self, root: Expr, at: tuple[str, ...], arrays: Mapping[Expr, Tensor]) -> sympy.Expr:
        stack = [(root, at)]
        while stack:
            expr, index = stack[-1]
            if (expr, index) not in self.done:
                if (made := self._leaf(expr, index, arrays)) is None:
                    operands = _places(expr, index)
                    if missing := [x for x in reversed(operands) if x not in self.done]:
                        stack += missing
                        continue
                    made = self._apply(expr, [self.done[x] for x in operands])
                self.done[expr, index] = made
            stack.pop()
        return self.done[root, at]

    def _leaf(self, expr: Expr, index: tuple[str, ...], arrays: Mapping[Expr, Tensor]) -> sympy.Expr | None:
        """What needs no operands: a number, a scalar, an array's element."""
        if isinstance(expr, Constant):
            made = sympy.Integer(int(expr.value)) if expr.value.is_integer() else sympy.Float(expr.value)
            negative_zero = expr.value == 0 and math.copysign(1, expr.value) < 0  # which sympy doesn't have
            return sympy.Function("neg")(made) if negative_zero else made
        if isinstance(expr, Tensor) and not expr.dims:
            return sympy.Symbol(expr.name)
        if expr not in arrays:
            return None
        made = leaf(arrays[expr].name, index)
        self.reads[made] = None
        return made

    def _apply(self, expr: Expr, operands: Sequence[sympy.Expr]) -> sympy.Expr:
        assert isinstance(expr, Pointwise)  # of the two operations, a product is always a root
        name = expr.function
        if expr.definition is not None:
            name = self.named.get(expr.definition, name)
            self.definitions[name] = expr.definition
        return sympy.Function(name)(*operands)


def _places(expr: Expr, index: tuple[str, ...]) -> list[tuple[Expr, tuple[str, ...]]]:
    """The operands of a pointwise operation at `index`, each with its own index: 0 where a 1 stretches."""
    places = []
    for x in expr.operands:
        shift = len(index) - len(x.shape)
        own = ("0" if d == 1 and expr.shape[shift + a] != 1 else index[shift + a] for a, d in enumerate(x.shape))
        places.append((x, tuple(own)))
    return places


def size_names(dims: Sequence[Dim]) -> tuple[str, ...]:
    """The names of the symbolic sizes among `dims`, in order, each once.

    >>> size_names((Size("M"), 4, Size("K"), Size("M")))
    ('M', 'K')
    """
    return tuple(dict.fromkeys(d.name for d in dims if isinstance(d, Size)))
