"""Statements: what the polyhedral model knows of an operation (the paper's "Problem Statement").

    for i < M, j < N, k < K:
        C[i, j] = mul_acc(C[i, j], A[i, k], B[k, j])          # S

A statement is the set of its instances `{ S[i, j, k] : 0 <= i < M and ... }`, for each access a relation
from instances to array elements `{ S[i, j, k] -> A[i, k] }`, and what an instance does: an expression tree (`terms`)
whose inner nodes are operations and whose leaves are the read accesses. `Statement.expression` has it in sympy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from polyvolta.display.shown import Shown
from polyvolta.display.text import brief
from polyvolta.graph.dims import Dim, Size
from polyvolta.graph.expr import Constant, Expr, MatMul, Pointwise
from polyvolta.graph.functions.formula import Call, Formula, Input, Number, substitute
from polyvolta.graph.tensors import Tensor
from polyvolta.graph.terms import MUL_ACC, Apply, Element, Scalar, Term, Value, postorder, preorder, text
from polyvolta.sets import Map, Set

if TYPE_CHECKING:
    import sympy


@dataclass(frozen=True, slots=True)
class Access(Shown):
    """One access of a statement: instances -> elements of an array, on the statement's domain only."""

    tensor: str
    index: tuple[str, ...]
    kind: Literal["read", "write"]
    relation: Map

    @property
    def element(self) -> Element:
        """The access as a leaf of the expression tree."""
        return Element(self.tensor, self.index)

    @property
    def leaf(self) -> sympy.Indexed:
        """The access as a leaf of the expression in sympy."""
        from polyvolta.graph.as_sympy import leaf

        return leaf(self.tensor, self.index)

    def __str__(self) -> str:
        return f"{self.tensor}[{', '.join(self.index)}]"

    def _html(self) -> str:
        from polyvolta.display.page import Html, code, facts

        return facts([(self.kind, Html(code(self))), ("relation", Html(code(self.relation)))])


@dataclass(frozen=True, slots=True, repr=False)
class Statement(Shown):
    """An operation of the graph as a statement in a loop nest.

    `extents[p]` bounds `iterators[p]`; `reads` are the arrays' elements among the leaves of `tree` from left to right,
    each once. Other leaves are numbers and scalars. `definitions` says what users' functions in it compute, by name.

    The first two iterators are the rows and columns of what is written, or, `turned`, its columns and rows.
    """

    name: str
    iterators: tuple[str, ...]
    extents: tuple[Dim, ...]
    domain: Set
    reads: tuple[Access, ...]
    write: Access
    tree: Term
    definitions: tuple[tuple[str, Formula], ...] = ()

    @property
    def expression(self) -> sympy.Expr:
        """The tree as a sympy expression: undefined functions of indexed symbols; scalars are symbols."""
        from polyvolta.graph.as_sympy import as_sympy

        return as_sympy(self.tree)

    @property
    def is_matmul(self) -> bool:
        """Whether instances accumulate products, so that the last iterator is a reduction."""
        return isinstance(self.tree, Apply) and self.tree.function == MUL_ACC

    @property
    def is_turned(self) -> bool:
        """Whether the first iterator counts the columns of what is written, and the second one the rows."""
        return len(self.write.index) == 2 and self.write.index != self.iterators[:2]

    @property
    def factors(self) -> tuple[Term, Term]:
        """The trees of a product's two sides: of the one with the first iterator, then of the one with the second."""
        assert isinstance(self.tree, Apply) and self.is_matmul
        _, left, right = self.tree.operands
        return (right, left) if self.is_turned else (left, right)

    def turned(self) -> Statement:
        """The same statement with the first two dimensions of its instances the other way round; of a vector, itself.

        S[i, j, k] -> C[i, j]  =>  S[j, i, k] -> C[i, j]

        >>> import polyvolta as pv
        >>> from polyvolta.graph.dag import Graph
        >>> (s,) = Graph.of(pv.tensor("A", (8, 2)) @ pv.tensor("B", (2, 4))).statements
        >>> print(s.turned().domain, s.turned(), sep="; ")
        { S[j, i, k] : 0 <= j <= 3 and 0 <= i <= 7 and 0 <= k <= 1 }; S: C[i, j] = mul_acc(C[i, j], A[i, k], B[k, j])
        """
        if len(self.write.index) < 2:
            return self
        (i, j, *ks), (m, n, *depths) = self.iterators, self.extents
        reads = tuple(a.element for a in self.reads)
        return _placed(self.name, (j, i, *ks), (n, m, *depths), reads, self.write.element, self.tree,
                       self.definitions, self.domain.param_names)  # fmt: skip

    @property
    def operation(self) -> str:
        """The compound operation's name, root first, as in the paper: relu_add, mul_acc.

        The functions of a product's own operands, its prologue, are not part of the name, and what is used several
        times is named once; a name has at most eight parts.
        """
        if self.is_matmul:
            return MUL_ACC
        return "_".join([e.function for e in preorder(self.tree) if isinstance(e, Apply)][:8])

    def access(self, leaf: Element | sympy.Basic) -> Access:
        """The read access that `leaf`, a leaf of the tree or of the expression, stands for."""
        if isinstance(leaf, Element):
            return next(a for a in self.reads if a.element is leaf)
        return next(a for a in self.reads if a.leaf == leaf)

    def __str__(self) -> str:
        return f"{self.name}: {self.write} = {text(self.tree)}"

    def __repr__(self) -> str:
        return f"<Statement {brief(str(self))}>"

    def _html(self) -> str:
        from polyvolta.display.page import Html, code, facts

        accesses = [(a.kind + "s", Html(code(a.relation))) for a in (*self.reads, self.write)]
        return facts([("statement", Html(code(self))), ("instances", Html(code(self.domain))), *accesses])

    def __hash__(self) -> int:
        return hash((self.name, self.iterators, self.extents))


def formula_of(statement: Statement, tree: Term) -> tuple[tuple[Access, ...], tuple[str, ...], Formula]:
    """A part of a statement's expression tree as (read accesses, scalars, formula over both), users' functions inlined.

    Accesses and scalars are in the order in which they occur, each once: inputs 0, 1, ... of the formula. Cost: linear.

    >>> import polyvolta as pv
    >>> from polyvolta.graph.dag import Graph
    >>> x, y, a = pv.tensor("x", (4, 4)), pv.tensor("y", (4,)), pv.scalar("a")
    >>> (s,) = Graph.of(x - a * y).statements
    >>> accesses, scalars, formula = formula_of(s, s.tree)
    >>> print(*accesses, *scalars, formula._brief())
    x[i, j] y[j] a sub(x0, mul(x2, x1))
    """
    definitions = dict(statement.definitions)
    order = postorder(tree)
    leaves = [node for node in order if isinstance(node, Element)]
    scalars = [node for node in order if isinstance(node, Scalar)]
    made: dict[Term, Formula] = {node: Input(at) for at, node in enumerate((*leaves, *scalars))}
    for node in order:
        match node:
            case Value(value):
                made[node] = Number(value)
            case Apply(function, operands):
                arguments = tuple(made[x] for x in operands)
                inner = definitions.get(function)
                made[node] = substitute(inner, dict(enumerate(arguments))) if inner else Call(function, arguments)
    accesses = tuple(statement.access(leaf) for leaf in leaves)
    return accesses, tuple(s.name for s in scalars), made[tree]


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
    target = Element(arrays[root].name, tuple(iterators[: len(root.shape)]))
    if isinstance(root, MatMul):
        i, j, k = iterators
        lower.reads[target] = None
        tree: Term = Apply(MUL_ACC, (target, lower(root.left, (i, k)), lower(root.right, (k, j))))
    else:
        tree = lower.operation(root, tuple(iterators))
    return _placed(name, tuple(iterators), extents_of(root), tuple(lower.reads), target, tree,
                   tuple(lower.definitions.items()), params)  # fmt: skip


def _placed(
    name: str,
    iterators: tuple[str, ...],
    extents: tuple[Dim, ...],
    reads: tuple[Element, ...],
    target: Element,
    tree: Term,
    definitions: tuple[tuple[str, Formula], ...],
    params: Sequence[str],
) -> Statement:
    """The statement whose instances have some iterators, in this order."""
    instance = f"{name}[{', '.join(iterators)}]"
    bounds = " and ".join(f"0 <= {i} < {e}" for i, e in zip(iterators, extents, strict=True))
    prefix = f"[{', '.join(params)}] -> " if params else ""

    def access(e: Element, kind: Literal["read", "write"]) -> Access:
        relation = f"{prefix}{{ {instance} -> {e.array}[{', '.join(e.index)}] : {bounds} }}"
        return Access(e.array, e.index, kind, Map(relation))

    domain = Set(f"{prefix}{{ {instance} : {bounds} }}")
    accesses = tuple(access(r, "read") for r in reads)
    return Statement(name, iterators, extents, domain, accesses, access(target, "write"), tree, definitions)


class _Lowering:
    """Expressions -> trees at given indices, noting the leaves in order."""

    def __init__(self, arrays: Mapping[Expr, Tensor], named: Mapping[Formula, str]) -> None:
        self.arrays, self.named = arrays, named
        self.definitions: dict[str, Formula] = {}
        self.reads: dict[Element, None] = {}
        self.done: dict[tuple[Expr, tuple[str, ...]], Term] = {}

    def __call__(self, expr: Expr, index: tuple[str, ...]) -> Term:
        """The value of `expr` at `index`: a leaf if it is in memory, else its operation."""
        return self._value(expr, index, self.arrays)

    def operation(self, root: Expr, index: tuple[str, ...]) -> Term:
        """The operation `root` at `index`, although its result is in memory, too."""
        return self._value(root, index, {e: t for e, t in self.arrays.items() if e is not root})

    def _value(self, root: Expr, at: tuple[str, ...], arrays: Mapping[Expr, Tensor]) -> Term:
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

    def _leaf(self, expr: Expr, index: tuple[str, ...], arrays: Mapping[Expr, Tensor]) -> Term | None:
        """What needs no operands: a number, a scalar, an array's element."""
        if isinstance(expr, Constant):
            negative_zero = expr.value == 0 and math.copysign(1, expr.value) < 0  # which sympy doesn't have
            return Apply("neg", (Value(0.0),)) if negative_zero else Value(expr.value)
        if isinstance(expr, Tensor) and not expr.dims:
            return Scalar(expr.name)
        if expr not in arrays:
            return None
        made = Element(arrays[expr].name, index)
        self.reads[made] = None
        return made

    def _apply(self, expr: Expr, operands: Sequence[Term]) -> Term:
        assert isinstance(expr, Pointwise)  # of the two operations, a product is always a root
        name = expr.function
        if expr.definition is not None:
            name = self.named.get(expr.definition, name)
            self.definitions[name] = expr.definition
        return Apply(name, tuple(operands))


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
