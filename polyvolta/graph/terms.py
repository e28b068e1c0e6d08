"""Expression trees of statements: what an instance does, over the elements that it reads.

    mul_acc(C[i, j], A[i, k], B[k, j])    Apply("mul_acc", (Element("C", ("i", "j")), Element("A", ...), ...))

Nothing is ever rewritten: floating point is no field, and the tree that the user wrote is the one that the kernel runs.
Trees are interned (`interned`): equal ones are one object, so that walks cost a step a node however often it is used.
`as_sympy` has the same trees for those who compute with sympy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polyvolta.graph.interned import Interned

MUL_ACC = "mul_acc"
"""The root of a matrix product's tree: mul_acc(c, a, b) is c + a * b."""


class _Node(Interned):
    """A tree, as what is interned."""

    __slots__ = ("__weakref__",)

    def _nodes(self) -> tuple[Term, ...]:
        return postorder(self)  # type: ignore[arg-type]  # all kinds of it are terms

    def _brief(self) -> str:
        return text(self, 400)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Element(_Node):
    """An array's element at iterators or numbers: `bias[0, j]`."""

    array: str
    index: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.array}[{', '.join(self.index)}]" if self.index else self.array


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scalar(_Node):
    """An argument without dimensions, by its name."""

    name: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Value(_Node):
    """A number."""

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", float(self.value))

    @staticmethod
    def _key(field: Any) -> Any:
        return float(field).hex()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Apply(_Node):
    """An operation, by its name, on operands."""

    function: str
    operands: tuple[Term, ...]


Term = Element | Scalar | Value | Apply


def preorder(tree: Term) -> tuple[Term, ...]:
    """Every node of a tree once, where it occurs first. Cost: linear."""
    order: dict[Term, None] = {}
    stack = [tree]
    while stack:
        if (node := stack.pop()) not in order:
            order[node] = None
            if isinstance(node, Apply):
                stack.extend(reversed(node.operands))
    return tuple(order)


def postorder(tree: Term) -> tuple[Term, ...]:
    """Every node of a tree once, operands first. Cost: linear."""
    order: dict[Term, None] = {}
    stack = [(tree, False)]
    while stack:
        node, ready = stack.pop()
        if node in order:
            continue
        if ready or not isinstance(node, Apply):
            order[node] = None
        else:
            stack.append((node, True))
            stack.extend((x, False) for x in reversed(node.operands) if x not in order)
    return tuple(order)


def text(tree: Term, limit: int = 2000) -> str:
    """A tree as nested calls; elided in the middle past `limit`.

    >>> text(Apply("mul", (Element("A", ("i", "k")), Value(0.5))))
    'mul(A[i, k], 0.5)'
    """
    texts: dict[Term, str] = {}
    for node in postorder(tree):
        match node:
            case Apply(function, operands):
                made = f"{function}({', '.join(texts[x] for x in operands)})"
            case Scalar(name):
                made = name
            case Value(value):
                made = number(value)
            case _:
                made = str(node)
        texts[node] = made if len(made) <= limit else f"{made[: limit // 2]} ... {made[-limit // 2 :]}"
    return texts[tree]


def number(value: float) -> str:
    """A number of a tree: whole ones below 10^16 without a point, others to 15 digits.

    >>> number(2.0), number(0.1), number(1e-7), number(1e16)
    ('2', '0.1', '1.0e-7', '1e+16')
    """
    if not abs(value) < 10**16:  # infinite ones, too
        return str(value)
    if value.is_integer():
        return str(int(value))
    mantissa, exponent = f"{value:.14e}".split("e")
    if -5 < int(exponent) < 15:
        digits = f"{value:.{14 - int(exponent)}f}"
        whole, _, rest = digits.partition(".")
        return f"{whole}.{rest.rstrip('0') or '0'}"
    whole, _, rest = mantissa.partition(".")
    return f"{whole}.{rest.rstrip('0') or '0'}e{int(exponent):+d}"
