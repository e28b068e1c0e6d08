"""Expressions as mathematics.

A matrix product is written by juxtaposition, a product of elements with a point or, of two arrays, ⊙. What is large and
used several times gets a name of its own, t1, t2, ..., and a line; what is larger than anybody reads is elided, so that
the text is bounded whatever the graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from polyvolta.display.formulas import Built, Formula, Name, Number, Row, Sign, fenced, listed, row
from polyvolta.graph.expr import Constant, Expr, MatMul, Pointwise, walk
from polyvolta.graph.functions.formula import Call, Input, nodes
from polyvolta.graph.functions.formula import Number as Value

INFIX = {"add": "+", "sub": "−", "less": "<", "less_equal": "≤", "greater": ">", "greater_equal": "≥", "equal": "=",
         "not_equal": "≠", "logical_and": "∧", "logical_or": "∨"}  # fmt: skip
STRENGTH = {"<": 1, "≤": 1, ">": 1, "≥": 1, "=": 1, "≠": 1, "∨": 2, "∧": 3, "+": 4, "−": 4}
PRODUCT, SIGNED, POWER, ATOM = 5, 4.5, 6, 9
SHORT = {"maximum": "max", "minimum": "min", "tanh": "tanh", "log": "ln"}
LARGE, LONGEST, NAMED = 60, 160, 6
"""Signs of an expression that is written without names; of one line; of what gets a name."""
Made = tuple[Formula, float]


def lines(expr: Expr) -> list[tuple[str, Formula]]:
    """What an expression is: names of what is used several times with what they stand for, last "" with the whole.

    Cost: linear in the nodes.
    """
    order = walk([expr])
    uses = Counter(x for node in order for x in node.operands)
    weight: dict[Expr, int] = {}
    names: dict[Expr, str] = {}
    for node in order:
        weight[node] = min(1 + sum(1 if x in names else weight[x] for x in node.operands), 10**6)
        if uses[node] > 1 and weight[node] > NAMED and node is not expr:
            names[node] = f"t{len(names) + 1}"
    if _size(order) <= LARGE:
        names = {}
    made: dict[Expr, Made] = {}
    sizes: dict[Expr, int] = {}
    out = []
    for node in order:
        sizes[node] = 1 + sum(1 if x in names else sizes[x] for x in node.operands)
        operands = [(named(names[x]), ATOM) if x in names else made[x] for x in node.operands]
        made[node] = _node(node, operands) if sizes[node] <= LONGEST else (Sign("⋯"), ATOM)
        sizes[node] = sizes[node] if sizes[node] <= LONGEST else 1
        if node in names:
            out.append((names[node], made[node][0]))
    return [*out, ("", made[expr][0])]


def definitions(expr: Expr) -> list[Formula]:
    """What each user's function in an expression is, one formula each."""
    found = {n.definition: n.function for n in walk([expr]) if isinstance(n, Pointwise) and n.definition is not None}
    out: list[Formula] = []
    for definition, name in found.items():
        made: dict[Any, Made] = {}
        arguments: dict[int, Formula] = {}
        for node in nodes(definition):
            match node:
                case Input(position=p):
                    arguments[p] = Built("sub", (Name("x"), Number(str(p + 1))))
                    made[node] = arguments[p], ATOM
                case Value(value=v):
                    made[node] = number(v)
                case Call(function=f, arguments=xs):
                    made[node] = _function(f, [made[x] for x in xs], "·")
        out.append(row(_applied(name, [arguments[p] for p in sorted(arguments)]), "=", made[definition][0]))
    return out


def number(value: float) -> Made:
    """A number, and how strongly it binds."""
    if value in (float("inf"), float("-inf")):
        return (Sign("∞"), ATOM) if value > 0 else (row("−", "∞"), SIGNED)
    text = f"{abs(value):g}" if float(f"{value:g}") == value else repr(abs(value))
    mantissa, _, exponent = text.partition("e")
    shown: Formula = Number(mantissa)
    if exponent:
        power = Built("sup", (Number("10"), Number(str(int(exponent)).replace("-", "−"))))
        shown = power if mantissa == "1" else row(Number(mantissa), "·", power)
    negative = str(value).startswith("-")
    return (row("−", shown), SIGNED) if negative else (shown, PRODUCT if exponent else ATOM)


def shape(dims: Sequence[object]) -> Formula:
    """Dimensions with × between them."""
    return row(*(x for k, d in enumerate(dims) for x in (("×", _dim(d)) if k else (_dim(d),))))


def _dim(d: object) -> Formula:
    return Number(str(d)) if isinstance(d, int) else Name(str(d))


def _size(order: Sequence[Expr]) -> int:
    sizes: dict[Expr, int] = {}
    for node in order:
        sizes[node] = min(1 + sum(sizes[x] for x in node.operands), 10**6)
    return sizes[order[-1]]


def named(text: str) -> Formula:
    """A name; a number at its end stands below."""
    head = text.rstrip("0123456789")
    digits = text[len(head) :]
    return Built("sub", (Name(head), Number(digits))) if digits and head and not head.endswith("_") else Name(text)


def _node(node: Expr, operands: list[Made]) -> Made:
    match node:
        case Constant(value=v):
            return number(v)
        case MatMul():
            (a, p), (b, q) = operands
            return row(_within(a, p, PRODUCT), "", _within(b, q, PRODUCT + 0.1)), PRODUCT
        case Pointwise(function=f, definition=None):
            arrays = sum(bool(x.shape) for x in node.operands)
            return _function(f, operands, "⊙" if arrays == 2 else "·")
        case Pointwise(function=f):
            return _applied(f, [a for a, _ in operands]), ATOM
    return named(str(getattr(node, "name", node))), ATOM


def _function(f: str, operands: list[Made], times: str) -> Made:
    """A function of operands, by its usual notation."""
    if f in INFIX:
        (a, p), (b, q) = operands
        sign = INFIX[f]
        own = STRENGTH[sign]
        chained = own == 1
        left, right = _within(a, p, own + 0.1 * chained), _within(b, q, own + 0.1 * (sign != "+"))
        return Row((left, Sign(sign), right)), own
    if f == "mul":
        (a, p), (b, q) = operands
        least = PRODUCT + 0.1 * (times == "⊙")  # or else it would be a factor of the matrix product beside it
        return Row((_within(a, p, least), Sign(times), _within(b, q, PRODUCT + 0.1))), PRODUCT
    if f in _FORMS:
        return _FORMS[f](operands)
    return _applied(SHORT.get(f, f), [a for a, _ in operands]), ATOM


def _within(a: Formula, strength: float, wanted: float) -> Formula:
    return a if strength >= wanted else fenced("(", a, ")")


def _applied(f: str, operands: list[Formula]) -> Formula:
    return Row((Name(f, upright=True), fenced("(", listed(operands), ")")))


def _power(base: Formula, strength: float, exponent: Formula) -> Made:
    return Built("sup", (_within(base, strength, ATOM), exponent)), POWER


def _between(left: str, right: str) -> Callable[[list[Made]], Made]:
    return lambda x: (fenced(left, x[0][0], right), ATOM)


def _root(x: list[Made]) -> Formula:
    return Built("sqrt", (x[0][0],))


_E = Name("e", upright=True)
_FORMS: dict[str, Callable[[list[Made]], Made]] = {
    "div": lambda x: (Built("frac", (x[0][0], x[1][0])), PRODUCT + 0.5),
    "neg": lambda x: (row("−", _within(*x[0], PRODUCT)), SIGNED),
    "logical_not": lambda x: (row("¬", _within(*x[0], POWER)), POWER),
    "abs": _between("|", "|"),
    "floor": _between("⌊", "⌋"),
    "ceil": _between("⌈", "⌉"),
    "square": lambda x: _power(*x[0], Number("2")),
    "pow": lambda x: _power(*x[0], x[1][0]),
    "sqrt": lambda x: (_root(x), ATOM),
    "rsqrt": lambda x: (Built("frac", (Number("1"), _root(x))), PRODUCT + 0.5),
    "exp": lambda x: _power(_E, ATOM, x[0][0]),
    "exp2": lambda x: _power(Number("2"), ATOM, x[0][0]),
    "expm1": lambda x: (row(_power(_E, ATOM, x[0][0])[0], "−", Number("1")), STRENGTH["−"]),
    "log1p": lambda x: (_applied("ln", [row(Number("1"), "+", x[0][0])]), ATOM),
    "log2": lambda x: (Row((Built("sub", (Name("log", upright=True), Number("2"))), fenced("(", x[0][0], ")"))), ATOM),
    "where": lambda x: (
        Built("cases", (x[1][0], row(Name("if", upright=True), "", x[0][0]), x[2][0], Name("else", upright=True))), 0,
    ),
}  # fmt: skip
