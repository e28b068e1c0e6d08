"""Expression trees of statements as sympy's: functions of indexed symbols, for whoever computes with them.

The functions are undefined ones, so that sympy never rewrites them. Nothing of the compiler needs them, and this module
alone imports sympy where a graph is made; `Statement.expression` and `Access.leaf` come here.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy

from polyvolta.graph.terms import Apply, Element, Scalar, Term, Value, postorder


def as_sympy(tree: Term) -> sympy.Expr:
    """The tree as a sympy expression. Cost: linear in its nodes.

    >>> as_sympy(Apply("relu", (Element("C", ("i", "j")),)))
    relu(C[i, j])
    """
    made: dict[Term, sympy.Expr] = {}
    for node in postorder(tree):
        match node:
            case Apply(function, operands):
                made[node] = sympy.Function(function)(*(made[x] for x in operands))
            case Element(array, index):
                made[node] = leaf(array, index)
            case Scalar(name):
                made[node] = sympy.Symbol(name)
            case Value(value):
                made[node] = sympy.Integer(int(value)) if value.is_integer() else sympy.Float(value)
    return made[tree]


def leaf(array: str, index: Sequence[str]) -> sympy.Indexed:
    """The element of `array` at iterators or numbers, as sympy has it.

    >>> leaf("bias", ("0", "j"))
    bias[0, j]
    """
    places = [sympy.Integer(p) if p.isdigit() else sympy.Symbol(p, integer=True) for p in index]
    return sympy.Indexed(sympy.IndexedBase(sympy.Symbol(array)), *places)  # type: ignore[return-value]


def is_operation(node: sympy.Basic) -> bool:
    """Whether a node of a sympy expression is an operation, neither a leaf nor a number."""
    return isinstance(node, sympy.core.function.AppliedUndef)
