"""Formulas: what a pointwise operation does to one element, as a small tree.

A statement's expression tree has array elements for leaves; a formula is the same tree over numbered inputs, so
that it can be evaluated on whatever holds the values: numpy arrays in the interpreter and the reference, registers
in a kernel's text.

Formulas are interned, see `interned`: equal ones are one object. `x * sigmoid(x)` has a single node for each of its x,
however large x is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from polyvolta.graph.interned import Interned

_V = TypeVar("_V")


class _Node(Interned):
    """A formula, as what is interned."""

    __slots__ = ("__weakref__",)

    def _nodes(self) -> tuple[Formula, ...]:
        return nodes(self)  # type: ignore[arg-type]  # all kinds of it are formulas

    def _brief(self) -> str:
        return show(self, [f"x{p}" for p in range(max(inputs(self), default=-1) + 1)])  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Input(_Node):
    """Operand number `position`."""

    position: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Number(_Node):
    """A constant; rounded to fp32 where it is used."""

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", float(self.value))

    @staticmethod
    def _key(field: Any) -> Any:
        return float(field).hex()  # 0.0 and -0.0 are two numbers


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Call(_Node):
    """A pointwise function, by its name in `graph.functions.FUNCTIONS`, of formulas."""

    function: str
    arguments: tuple[Formula, ...]


Formula = Input | Number | Call


def nodes(formula: Formula) -> tuple[Formula, ...]:
    """Every node once, arguments before their calls, left ones first. Cost: linear in the nodes.

    >>> x = Input(0)
    >>> len(nodes(Call("mul", (x, Call("sigmoid", (x,))))))
    3
    """
    order: dict[Formula, None] = {}
    stack: list[tuple[Formula, bool]] = [(formula, False)]
    while stack:
        node, ready = stack.pop()
        if node in order:
            continue
        if ready or not isinstance(node, Call):
            order[node] = None
        else:
            stack.append((node, True))
            stack.extend((x, False) for x in reversed(node.arguments) if x not in order)
    return tuple(order)


def fold(
    formula: Formula,
    operands: Sequence[_V],
    number: Callable[[float], _V],
    call: Callable[[str, tuple[_V, ...]], _V],
) -> _V:
    """The formula's value where `number` says what constants are and `call` what functions do. Each node once."""
    values: dict[Formula, _V] = {}
    for node in nodes(formula):
        match node:
            case Input(position=p):
                values[node] = operands[p]
            case Number(value=v):
                values[node] = number(v)
            case Call(function=f, arguments=arguments):
                values[node] = call(f, tuple(values[x] for x in arguments))
    return values[formula]


def inputs(formula: Formula) -> tuple[int, ...]:
    """The positions of the inputs that occur, ascending."""
    return tuple(sorted(n.position for n in nodes(formula) if isinstance(n, Input)))


def shared(formula: Formula) -> tuple[Call, ...]:
    """The calls that are used more than once, arguments before users: what a text computes once and names.

    >>> e = Call("exp", (Input(0),))
    >>> shared(Call("mul", (e, Call("neg", (e,))))) == (e,)
    True
    """
    uses = Counter(x for n in nodes(formula) if isinstance(n, Call) for x in n.arguments)
    return tuple(n for n in nodes(formula) if isinstance(n, Call) and uses[n] > 1)


def substitute(formula: Formula, replaced: Mapping[int, Formula]) -> Formula:
    """The formula with other formulas in the place of some inputs."""
    at = {p: replaced.get(p, Input(p)) for p in inputs(formula)}
    return fold(formula, at, Number, Call)  # type: ignore[arg-type]  # a mapping has the places that occur


def simplified(formula: Formula) -> Formula:
    """A formula without what is known to change no fp32 value: x * 1, x / 1, x / 0.5, and powers of 0, 1 and 2.

    Neither x + 0 nor x * 0 is simplified: x may be -0, infinite or NaN.

    >>> x = Input(0)
    >>> simplified(Call("div", (Call("pow", (x, Number(0))), Number(1)))), simplified(Call("mul", (Number(1), x)))
    (Number(value=1.0), Input(position=0))
    """
    return fold(formula, {p: Input(p) for p in inputs(formula)}, Number, _simple)  # type: ignore[arg-type]


def _simple(function: str, arguments: tuple[Formula, ...]) -> Formula:
    match function, arguments:
        case "pow", (_, Number(value=0.0)):
            return Number(1)
        case ("pow" | "mul" | "div", (x, Number(value=1.0))) | ("mul", (Number(value=1.0), x)):
            return x
        case "pow", (x, Number(value=2.0)):
            return Call("square", (x,))
        case "div", (x, Number(value=0.5 | -0.5 as half)):
            return Call("mul", (x, Number(1 / half)))
    return Call(function, arguments)


def show(formula: Formula, names: Sequence[str], limit: int = 400) -> str:
    """The formula as nested calls, its inputs by name; elided in the middle past `limit`."""

    def call(function: str, texts: tuple[str, ...]) -> str:
        text = f"{function}({', '.join(texts)})"
        return text if len(text) <= limit else f"{text[: limit // 2]} ... {text[-limit // 2 :]}"

    return fold(formula, names, lambda value: f"{value:g}", call)
