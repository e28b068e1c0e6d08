"""Formulas as C expressions on fp32 values.

A formula is a graph, in which a node may have many users, and a text is a tree. What is used twice, or stands twice in
the expression of a function, gets a name in a line of its own; so does what would make a line too long. Then each
node is written once, and the text is linear in the nodes, however deep they are and however much they share.

Conditions are C's: `where(x > 0, x, y)` is `x > 0.0f ? x : y`, without the 0 or 1 that a comparison is as a value.

Every operation of a formula is rounded by itself, whoever compiles the text with whatever options: where a compiler
may fuse a product with the sum that it enters, the sum is an intrinsic that is never fused; see `rounded_apart`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from polyvolta.graph.functions.formula import Call, Formula, Input, Number, inputs, nodes, shared, substitute
from polyvolta.graph.functions.table import FUNCTIONS

INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
COMPARED = {
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "equal": "==",
    "not_equal": "!=",
}
APART = {"add": "__fadd_rn", "sub": "__fsub_rn", "mul": "__fmul_rn", "div": "__fdiv_rn"}
"""CUDA's intrinsics that are rounded to nearest, and that no compiler fuses with anything."""
LONGEST = 88
"""Characters of an expression; a longer one has its longest part named first."""
CHOICE, OR, AND, COMPARISON, SUM, PRODUCT, SIGN, ATOM = range(8)
"""How strongly an expression binds."""


@dataclass(frozen=True, slots=True)
class Text:
    """An expression of C, and how strongly it binds; `condition` is what it says where it is 1 or 0."""

    text: str
    binds: int = ATOM
    condition: Text | None = None

    def within(self, need: int) -> str:
        """The text where what is around binds so strongly."""
        return self.text if self.binds >= need else f"({self.text})"

    @property
    def holds(self) -> Text:
        """Whether it isn't 0."""
        return self.condition or Text(f"{self.within(SUM)} != 0.0f", COMPARISON)


@dataclass(frozen=True, slots=True)
class Spelled:
    """A formula in C.

    Parameters
    ----------
    lines : that declare what has a name, in order.
    value : the formula's value after them.
    names : what is named, and how.
    """

    lines: tuple[str, ...]
    value: Text
    names: Mapping[Formula, str]


def spell(formula: Formula, read: Sequence[str], products: Collection[int] = ()) -> Spelled:
    """A formula in C, each node once, functions that have a definition by their definitions.

    Parameters
    ----------
    read : the operands' values in C, each a name or an access.
    products : the operands that are products of what the same thread computed before.

    >>> e = Call("exp", (Input(0),))
    >>> spelled = spell(Call("where", (Call("less", (e, Number(1))), e, Input(1))), ("x[i]", "alpha"))
    >>> print(*spelled.lines, spelled.value.text)
    const float t0 = expf(x[i]); t0 < 1.0f ? t0 : alpha
    """
    written = defined(formula)
    formula = written[formula]
    apart = rounded_apart(formula, products)
    lines: list[str] = []
    values: dict[Formula, Text] = {}
    names: dict[Formula, str] = {}

    def name(node: Formula) -> None:
        value = values[node]
        names[node] = f"t{len(lines)}"
        kind, text = ("bool", value.condition) if value.condition else ("float", value)
        lines.append(f"const {kind} {names[node]} = {text.text};")
        values[node] = _truth(Text(names[node])) if value.condition else Text(names[node])

    twice = set(shared(formula)) | _repeated(formula)
    for node in nodes(formula):
        match node:
            case Input(position=p):
                values[node] = Text(read[p])
            case Number(value=v):
                values[node] = _number(literal(v))
            case Call(function=f, arguments=arguments):
                parts = sorted({a for a in arguments if isinstance(a, Call)}, key=lambda a: -len(values[a].text))
                while len((made := _call(f, [values[a] for a in arguments], node in apart)).text) > LONGEST and parts:
                    if (part := parts.pop(0)) not in names:
                        name(part)
                values[node] = made
        if node in twice and node is not formula:
            name(node)
    return Spelled(tuple(lines), values[formula], {x: names[y] for x, y in written.items() if y in names})


def relation(formula: Formula, operands: Sequence[str], names: Mapping[Formula, str] | None = None) -> str:
    """A formula as people write it; one that is too long for a line by the parts that have `names`.

    >>> formula = Call("relu", (Call("add", (Input(0), Call("mul", (Number(2), Input(1))))),))
    >>> relation(formula, ("x", "y"))
    'relu(x + 2 * y)'
    """
    whole = _relation(formula, operands, {})
    if len(whole) <= LONGEST or not names:
        return whole
    named = {node: name for node, name in names.items() if node is not formula}
    each = list(named.values())
    parts = f"{each[0]} to {each[-1]}" if len(each) > 1 else each[0]
    return f"{_relation(formula, operands, named)} with {parts} as below"


def _relation(formula: Formula, operands: Sequence[str], names: Mapping[Formula, str]) -> str:
    """The relation's text; elided in the middle where it is several lines long."""
    values: dict[Formula, Text] = {}
    for node in nodes(formula):
        match node:
            case Input(position=p):
                values[node] = Text(operands[p])
            case Number(value=v):
                values[node] = _number(f"{v:.6g}")
            case Call(function=f, arguments=arguments):
                made = [values[a] for a in arguments]
                if f in INFIX:
                    text = _infix(f, *made)
                elif f in COMPARED:
                    text = Text(f"{made[0].within(SUM)} {COMPARED[f]} {made[1].within(SUM)}", COMPARISON)
                else:
                    text = Text(f"{f}({', '.join(a.text for a in made)})")
                if len(text.text) > 4 * LONGEST:
                    text = Text(f"{text.text[:LONGEST]} ... {text.text[-LONGEST:]}")
                values[node] = Text(names[node]) if node in names else text
    return values[formula].text


_OPERANDS = (Input(0), Input(1), Input(2))


def defined(formula: Formula) -> dict[Formula, Formula]:
    """Each node, and what it is with their definitions in the place of functions that have one.

    >>> x = Input(0)
    >>> defined(Call("silu", (x,)))[Call("silu", (x,))].function
    'mul'
    """
    made: dict[Formula, Formula] = {}
    for node in nodes(formula):
        made[node] = node
        if isinstance(node, Call):
            arguments = tuple(made[a] for a in node.arguments)
            definition = FUNCTIONS[node.function].definition or Call(node.function, _OPERANDS[: len(arguments)])
            made[node] = substitute(definition, dict(enumerate(arguments)))
    return made


_ROUNDS_AFRESH = frozenset(
    ("add", "sub", "sqrt", "sign", "floor", "ceil", "rint", "less", "less_equal", "greater", "greater_equal", "equal",
     "not_equal", "logical_and", "logical_or", "logical_not")
)  # fmt: skip
_HANDS_ON = frozenset(("neg", "abs", "where", "maximum", "minimum", "relu"))


def products_of(formula: Formula, products: Collection[int] = ()) -> frozenset[Formula]:
    """The nodes whose value a compiler may see as a product: of two factors, or at the end of a library's function.

    A quotient by a constant is one, too: halves are products by 0.5. What hands an operand on, perhaps with another
    sign, is one where the operand may be.

    Parameters
    ----------
    products : the operands that are.

    >>> square, root = Call("square", (Input(0),)), Call("sqrt", (Input(0),))
    >>> products_of(Call("add", (square, root))) == {square}, len(products_of(Call("relu", (Call("neg", (square,)),))))
    (True, 3)
    """
    found: set[Formula] = set()
    for node in nodes(formula):
        match node:
            case Input(position=p):
                is_one = p in products
            case Number():
                is_one = False
            case Call(function="div", arguments=(_, divisor)):
                is_one = not inputs(divisor)
            case Call(function=f, arguments=arguments):
                handed = f not in _HANDS_ON or any(a in found for a in arguments[f == "where" :])
                is_one = f not in _ROUNDS_AFRESH and handed
        if is_one:
            found.add(node)
    return frozenset(found)


def rounded_apart(formula: Formula, products: Collection[int] = ()) -> frozenset[Formula]:
    """The operations that a compiler may fuse with a product which they read, if they are written as + - * /.

    C compilers for GPUs round a * b + c once, unless they are told otherwise; then `sqrt(x * x - y * y)` is NaN for
    some x = y. Sums of products are such operations, and products doubled: 2 * x is compiled as x + x.

    >>> x, y, z = Input(0), Input(1), Input(2)
    >>> total = Call("add", (Call("mul", (x, y)), z))
    >>> rounded_apart(Call("add", (total, z))) == {total}
    True
    """
    found = products_of(formula, products)
    return frozenset(
        node
        for node in nodes(formula)
        if isinstance(node, Call) and node.function in APART and any(a in found for a in node.arguments)
        and (node.function in ("add", "sub") or _may_double(node))
    )  # fmt: skip


def _may_double(call: Call) -> bool:
    """Whether a product or a quotient may be by a constant that makes it twice, or minus twice, the other operand."""
    doubling, factors = (2.0, call.arguments) if call.function == "mul" else (0.5, call.arguments[1:])
    return any(abs(x.value) == doubling if isinstance(x, Number) else not inputs(x) for x in factors)


def _call(function: str, x: Sequence[Text], apart: bool = False) -> Text:
    """A function of expressions; `apart` where it must not be fused with what is in them."""
    if apart:
        return Text(f"{APART[function]}({', '.join(a.text for a in x)})")
    if function in INFIX:
        return _infix(function, *x)
    if function in COMPARED:
        return _truth(Text(f"{x[0].within(SUM)} {COMPARED[function]} {x[1].within(SUM)}", COMPARISON))
    match function:
        case "logical_and":
            return _truth(Text(" && ".join(a.holds.within(AND) for a in x), AND))
        case "logical_or":
            return _truth(Text(" || ".join(a.holds.within(OR if a.holds.binds == OR else COMPARISON) for a in x), OR))
        case "logical_not":
            return _truth(Text(f"!{x[0].holds.within(ATOM)}", SIGN))
        case "where":
            return Text(f"{x[0].holds.within(OR)} ? {x[1].within(OR)} : {x[2].within(OR)}", CHOICE)
    c = FUNCTIONS[function].c
    need = CHOICE if re.fullmatch(r"\w+\(\{\d\}(, \{\d\})*\)", c) else ATOM
    return Text(c.format(*(a.within(need) for a in x)), _binding(c))


def _infix(function: str, a: Text, b: Text) -> Text:
    """Sums and products; what stands at the right keeps its parentheses, since fp32 addition is not associative."""
    level = SUM if function in ("add", "sub") else PRODUCT
    return Text(f"{a.within(level)} {INFIX[function]} {b.within(level + 1)}", level)


def _truth(condition: Text) -> Text:
    """A condition's value: 1 or 0."""
    return Text(f"{condition.within(OR)} ? 1.0f : 0.0f", CHOICE, condition)


def _number(text: str) -> Text:
    return Text(text, SIGN if text.startswith("-") else ATOM)


@cache
def _binding(c: str) -> int:
    """How strongly a C expression binds, by its operators outside of parentheses."""
    while (inner := re.sub(r"\([^()]*\)", "", c)) != c:
        c = inner
    if any(x in c for x in ("?", "|", "&", "<", ">", "=")):
        return CHOICE
    return SUM if re.search(r" [+-] ", c) else PRODUCT if re.search(r" [*/] ", c) else SIGN if c[0] == "-" else ATOM


def _repeated(formula: Formula) -> set[Formula]:
    """The calls that stand in an expression which has their place several times."""
    found: set[Formula] = set()
    for node in nodes(formula):
        if isinstance(node, Call):
            text = FUNCTIONS[node.function].c
            found |= {a for n, a in enumerate(node.arguments) if isinstance(a, Call) and text.count(f"{{{n}}}") > 1}
    return found


def literal(value: float) -> str:
    """A number as fp32 in C.

    >>> literal(0.1), literal(-2), literal(float("inf")), literal(1e-9)
    ('0.1f', '-2.0f', '__int_as_float(0x7f800000)', '1e-09f')
    """
    with np.errstate(over="ignore"):
        x = np.float32(value)
    if np.isfinite(x):
        return f"{float(str(x))!r}f"
    return f"__int_as_float(0x{int(x.view(np.uint32)):08x})"
