"""Expressions: what `A @ B + bias` builds.

An expression is a node with operands: a tensor, a number, a matrix product or a pointwise operation.
Nothing is computed while it is built; only shapes are checked, at once, so that a mistake is reported on
the line that makes it. Nodes are immutable and interned, see `interned`: building `A @ B` twice gives the same object.

Dimensions are ints or symbolic sizes. Two dimensions agree when they are the same: that `M` might turn out to
be 512 is not known here, so `M` and `512` don't agree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from polyvolta.display.shown import Shown
from polyvolta.graph.errors import BadFunction, BadOperand, NoTranspose, ShapeMismatch
from polyvolta.graph.functions.table import FUNCTIONS
from polyvolta.graph.interned import Interned
from polyvolta.graph.operators import Operators, is_number, no_function
from polyvolta.sets.errors import kind_of

if TYPE_CHECKING:
    from polyvolta.graph.dims import Dim
    from polyvolta.graph.functions.formula import Formula

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "less": "<", "less_equal": "<=", "greater": ">",
          "greater_equal": ">=", "logical_and": "&", "logical_or": "|"}  # fmt: skip
_PREFIX = {"neg": "-", "logical_not": "~"}
_BINDING = {"<": 1, "<=": 1, ">": 1, ">=": 1, "|": 2, "&": 3, "+": 4, "-": 4, "*": 5, "/": 5, "@": 5, "-x": 6}
_ATOM = 9


class Expr(Operators["Expr"], Shown):
    """A node of the graph: has a shape, an element type and operands, and the operators that build on it."""

    __slots__ = ("__weakref__",)

    @property
    def dtype(self) -> str:
        """The element type of the first tensor under it: all of a kernel have the same. Cost: linear in its nodes."""
        return next((x.dtype for x in walk([self]) if not x.operands and x.shape), "float16")

    @property
    def shape(self) -> tuple[Dim, ...]:
        raise NotImplementedError

    @property
    def operands(self) -> tuple[Expr, ...]:
        return ()

    def __matmul__(self, other: Expr) -> Expr:
        return matmul(self, other)

    def __rmatmul__(self, other: Expr) -> Expr:
        return matmul(other, self)

    @property
    def T(self) -> NoReturn:  # noqa: N802
        """Refused, with what to declare in its place.

        Raises
        ------
        NoTranspose : always; `hasattr` says that there is none.
        """
        self._no_transpose()

    def _no_transpose(self) -> NoReturn:
        raise _transpose(self)

    if not TYPE_CHECKING:  # checkers know the names, and that there are no others

        def __getattr__(self, name: str) -> object:
            from polyvolta.graph.functions.elsewhere import missing, of_expression

            return missing(self, name, of_expression)

    def _apply(self, function: str, operands: tuple[object, ...]) -> Expr:
        return apply(function, *operands)

    def __str__(self) -> str:
        return show(self)

    def _html(self) -> str:
        from polyvolta.graph.shown.notebook import expression

        return expression(self)

    def _repr_latex_(self) -> str:
        from polyvolta.graph.shown.notebook import as_latex

        return as_latex(self)


class _Node(Interned, Expr):
    """An expression that is interned; a tensor, which is no node, is equal to every other one of its fields."""

    __slots__ = ()

    def _nodes(self) -> tuple[Expr, ...]:
        return walk([self])

    def _brief(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Constant(_Node):
    """A real number in an expression, or an infinite one; rounded to the kernel's type only where it is used."""

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", float(self.value))

    @staticmethod
    def _key(field: Any) -> Any:
        return float(field).hex()  # 0.0 and -0.0 are two numbers

    @property
    def shape(self) -> tuple[Dim, ...]:
        return ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MatMul(_Node):
    """The matrix product of two expressions with two dimensions each; made by `@`."""

    left: Expr
    right: Expr

    def __post_init__(self) -> None:
        _check_product(self.left, self.right)

    @property
    def shape(self) -> tuple[Dim, ...]:
        return (self.left.shape[0], self.right.shape[1])

    @property
    def operands(self) -> tuple[Expr, ...]:
        return (self.left, self.right)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pointwise(_Node):
    """A function on operands that broadcast as in numpy; made by `+ - *`, `relu` and so on.

    It is one of `FUNCTIONS`, or a user's: then `definition` says over its operands what it computes.
    """

    function: str
    arguments: tuple[Expr, ...]
    definition: Formula | None
    _shape: tuple[Dim, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_shape", broadcast(self.function, self.arguments))

    @property
    def shape(self) -> tuple[Dim, ...]:
        return self._shape

    @property
    def operands(self) -> tuple[Expr, ...]:
        return self.arguments


def matmul(left: object, right: object) -> Expr:
    """The product that `left @ right` stands for.

    Raises
    ------
    ShapeMismatch : an operand without exactly two dimensions, or inner dimensions that differ.
    BadOperand : an operand that is no expression.

    >>> import polyvolta as pv
    >>> M, N, K = pv.sizes("M N K")
    >>> C = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
    >>> print(C, *C.shape)
    A @ B M N
    """
    left, right = (_operand(x, "@") for x in (left, right))
    return MatMul(left, right)


def apply(function: str, *operands: object) -> Any:
    """`function`, a name of `FUNCTIONS`, element by element; operands broadcast, numbers count as tensors.

    Raises
    ------
    ShapeMismatch : operands whose shapes don't broadcast.
    BadFunction : there is no such function, or it takes another number of operands.
    BadOperand : an operand that is neither an expression nor a real number (NaN is none), or numbers alone.

    >>> import polyvolta as pv
    >>> M, N = pv.sizes("M N")
    >>> print(apply("maximum", 2 * pv.tensor("x", (M, N)), pv.tensor("row", (N,))))
    maximum(2 * x, row)
    """
    if function not in FUNCTIONS:
        raise no_function(function)
    arity = FUNCTIONS[function].arity
    if len(operands) != arity:
        raise BadFunction(f"{function} takes {arity} operand{'s' * (arity != 1)}, not {len(operands)}")
    for x in operands:
        if isinstance(x, Operators) and not isinstance(x, Expr):  # an element that a function is traced with
            return x._apply(function, operands)
    return node(function, operands)


def node(function: str, operands: Iterable[object], definition: Formula | None = None) -> Expr:
    """The pointwise operation, where function and number of operands are known to fit."""
    arguments = tuple(_operand(x, _INFIX.get(function, function)) for x in operands)
    if all(isinstance(x, Constant) for x in arguments):
        raise BadOperand(
            f"{function} of numbers alone is no part of a graph",
            where=", ".join(map(str, arguments)),
            hint="compute numbers in Python; a graph's operations take at least one tensor",
        )
    return Pointwise(function, arguments, definition)


def broadcast(function: str, operands: Iterable[Expr]) -> tuple[Dim, ...]:
    """The shape of a pointwise operation: dimensions pair up from the right, and a 1 stretches."""
    shape: list[Dim] = []
    operands = tuple(operands)
    rank = max(len(x.shape) for x in operands)
    for axis in range(-rank, 0):
        dims = [x.shape[axis] for x in operands if len(x.shape) >= -axis]
        stretched = list(dict.fromkeys(d for d in dims if d != 1))
        if len(stretched) > 1:
            raise ShapeMismatch(
                f"{_INFIX.get(function, function)} of shapes that don't broadcast: "
                + " and ".join(shape_text(x) for x in operands),
                where="\n".join(
                    f"{shape_text(x)}  dimension {axis} is {x.shape[axis]}  of  {x}"
                    for x in operands
                    if len(x.shape) >= -axis
                ),
                hint=_same_or_int_hint(
                    stretched[0], stretched[1], "pairs of dimensions, from the right, must be equal or 1"
                ),
            )
        shape.append(stretched[0] if stretched else 1)
    return tuple(shape)


def walk(outputs: Iterable[Expr]) -> tuple[Expr, ...]:
    """Every node under `outputs` once, operands before their users, left operands first.

    Without recursion: depth is bounded by memory alone. Cost: linear in nodes and edges.

    >>> import polyvolta as pv
    >>> A, x = pv.tensor("A", (4, 4)), pv.tensor("x", (4,))
    >>> [str(e) for e in walk([A + x])]
    ['A', 'x', 'A + x']
    """
    order: dict[Expr, None] = {}
    stack: list[tuple[Expr, bool]] = [(e, False) for e in reversed(tuple(outputs))]
    while stack:
        node, ready = stack.pop()
        if node in order:
            continue
        if ready:
            order[node] = None
        else:
            stack.append((node, True))
            stack.extend((x, False) for x in reversed(node.operands) if x not in order)
    return tuple(order)


def show(expr: Expr, limit: int = 400) -> str:
    """The expression as Python would read it, with few parentheses; elided in the middle past `limit`."""
    texts: dict[Expr, tuple[str, int]] = {}
    for node in walk([expr]):
        texts[node] = _show_node(node, [texts[x] for x in node.operands], limit)
    return texts[expr][0]


def shape_text(expr: Expr) -> str:
    """`A(M, K)`, or `(M, K)` for what has no name of its own; a scalar is its name.

    >>> import polyvolta as pv
    >>> shape_text(pv.tensor("v", (8,)))
    'v(8,)'
    """
    if not expr.shape:
        return str(expr)
    dims = ", ".join(map(str, expr.shape)) + ("," if len(expr.shape) == 1 else "")
    return f"{getattr(expr, 'name', '')}({dims})"


def _show_node(node: Expr, operands: list[tuple[str, int]], limit: int) -> tuple[str, int]:
    """Text and binding strength of one node, from those of its operands."""
    match node:
        case Constant(value=v):
            text, strength = f"{v:g}" if float(f"{v:g}") == v else repr(v), _ATOM
            if v < 0 or text.startswith("-"):
                strength = _BINDING["-x"]
        case Pointwise(function=f, definition=None) if f in _PREFIX:
            (a, p), strength = operands[0], _BINDING["-x"]
            text = f"{_PREFIX[f]}{a}" if p > strength else f"{_PREFIX[f]}({a})"
        case MatMul() | Pointwise(definition=None) if isinstance(node, MatMul) or node.function in _INFIX:
            op = "@" if isinstance(node, MatMul) else _INFIX[node.function]
            strength = _BINDING[op]
            (a, p), (b, q) = operands
            chained = strength == _BINDING["<"]  # a < b < c means something else in Python
            left = a if p > strength or (p == strength and not chained) else f"({a})"
            text = f"{left} {op} {b if q > strength else f'({b})'}"
        case Pointwise(function=f):
            text, strength = f"{f}({', '.join(a for a, _ in operands)})", _ATOM
        case _:
            text, strength = str(getattr(node, "name", node)), _ATOM
    if len(text) > limit:
        text, strength = f"{text[: limit // 2]} ... {text[-limit // 2 :]}", 0
    return text, strength


def operand_hint(x: object, known: str) -> str:
    """What to write instead of an operand that is none; `known` says what operands there are."""
    if type(x).__name__ in ("bool", "bool_"):
        return (
            "True and False, which == and != give of whole expressions, are no operands: pv.equal(a, b) and "
            "pv.not_equal(a, b) compare element by element"
        )
    return f"operands are {known}"


def _operand(x: object, op: str) -> Expr:
    """`x` as a node; numbers become constants."""
    if isinstance(x, Expr):
        return x
    if op != "@" and is_number(x):
        return Constant(constant(x, op))
    if hasattr(x, "shape") and getattr(x, "shape", ()) != ():
        hint = 'arrays are no part of a graph: declare pv.tensor("X", shape), then pass the array to the kernel'
    elif is_number(x):
        hint = "@ multiplies matrices; * scales by a number"
    else:
        hint = operand_hint(x, "tensors, expressions" + ("" if op == "@" else " and real numbers"))
    raise BadOperand(f"{op} can't take {kind_of(x)} as an operand", where=_short(x), hint=hint)


def constant(x: Any, op: str) -> float:
    """A number as a float, infinite ones too; NaN and ints beyond every float are refused as an operand of `op`."""
    try:
        value = float(x)
    except OverflowError:
        raise BadOperand(
            f"{_short(x)} is no operand of {op}: it is beyond every float", hint='float("inf") is infinite'
        ) from None
    if math.isnan(value):
        raise BadOperand(f"{_short(x)} is no operand of {op}: numbers in a graph are not NaN")
    return value


def _check_product(left: Expr, right: Expr) -> None:
    """That two matrices multiply; the message marks the two dimensions that differ."""
    head, tail = shape_text(left), shape_text(right)
    for side, x in (("left", left), ("right", right)):
        if (rank := len(x.shape)) != 2:
            pad = "* scales by a number" if rank == 0 else ""
            if rank == 1:
                pad = f"declare it with two, such as ({x.shape[0]}, 1) or (1, {x.shape[0]})"
            raise ShapeMismatch(
                f"@ multiplies matrices, and its {side} operand has {rank} dimension{'s' * (rank != 1)}: "
                f"{shape_text(x)}",
                where=f"{head} @ {tail}",
                hint=pad or "there are no batches of matrices yet: make one product for each matrix",
            )
    columns, rows = left.shape[1], right.shape[0]
    if columns != rows:
        at = len(f"{head} @ ") + tail.index("(") + 1
        marks = f"{'^' * len(str(columns)):>{len(head) - 1}}".ljust(at) + "^" * len(str(rows))
        rule = "the two marked dimensions must be the same"
        if right.shape[1] == columns:
            rule += f'; to multiply by its transpose, declare the right one ({columns}, {rows}), layout "col"'
        raise ShapeMismatch(
            f"{head} and {tail} don't multiply: {columns} columns on the left, {rows} rows on the right",
            where=f"{head} @ {tail}\n{marks}",
            hint=_same_or_int_hint(columns, rows, rule),
        )


def _same_or_int_hint(a: Dim, b: Dim, rule: str) -> str:
    if isinstance(a, int) != isinstance(b, int):
        return f"{rule}; write {a if isinstance(a, int) else b} in both places, or the symbolic size in both"
    return rule


def _transpose(x: Expr) -> NoTranspose:
    """The error for `x.T`."""
    name, layout = getattr(x, "name", ""), getattr(x, "layout", "row")
    if not name:
        hint = '(A @ B).T is B.T @ A.T, of factors declared transposed; an output may have layout="col"'
    elif len(x.shape) != 2:
        hint = "a vector (N,) stands in every row, a vector (M, 1) in every column"
    else:
        hint = (
            f'declare it, pv.tensor("{name}_t", ({x.shape[1]}, {x.shape[0]}), '
            f'layout="{"col" if layout == "row" else "row"}"), and pass {name}.T of the array, the same memory'
        )
    return NoTranspose(f"there is no transpose of {x}: a tensor is declared as it is multiplied", hint=hint)


def _short(x: object) -> str:
    text = " ".join(repr(x).split())
    return text if len(text) <= 80 else text[:77] + "..."
