"""Pointwise operations: one device function for a formula, on eight values of each operand, in fp32.

The function's C expressions come from `graph.functions`; what a formula uses twice, or an expression needs twice,
gets a name. Division, square roots and the functions of CUDA's mathematics library are built into the compiler.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from polyvolta.cuda.text.device_function import DeviceFunction
from polyvolta.cuda.text.values import PACK_HALF8, UNPACK_HALF8
from polyvolta.graph.formula import Call, Formula, Input, Number, fold, nodes, shared
from polyvolta.graph.functions import FUNCTIONS
from polyvolta.graph.names import reserved

INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
SCALAR = "scalar "
_CALLED = {f for x in FUNCTIONS.values() for f in re.findall(r"\w+(?=\()", x.c)}
OWN_NAMES = re.compile(rf"i|y|count|(x|t|packed)\d+|{'|'.join(sorted(_CALLED))}")
"""Names in these functions; a scalar that is called so at launch is called otherwise here."""


@lru_cache(maxsize=256)
def pointwise(name: str, formula: Formula, kinds: tuple[str, ...], target: str, masked: bool) -> DeviceFunction:
    """The function of a formula.

    Parameters
    ----------
    name : what the operation is called.
    kinds : of the operands: "half", "float" (eight values each) or "scalar NAME".
    target : "half" or "float".
    masked : whether only the first `count` values are computed, and the others 0.
    """
    used = {n.position for n in nodes(formula) if isinstance(n, Input)}
    parameters, before, names, read = [], [], [], []
    for p, kind in enumerate(kinds):
        scalar = kind.removeprefix(SCALAR) if kind.startswith(SCALAR) else ""
        x = scalar if scalar and not OWN_NAMES.fullmatch(scalar) else f"x{p}"
        names.append(x)
        read.append(x if scalar else f"{x}[i]")
        match kind:
            case "half":
                parameters.append(f"half8 packed{p}")
                before += [f"float {x}[8];", f"unpack_half8({x}, packed{p});"] if p in used else []
            case "float":
                parameters.append(f"const float (&{x})[8]")
            case _:
                parameters.append(f"float {x}")
    lines, value = _expression(formula, read)
    value = f"i < count ? {value.within(1)} : 0.0f" if masked else value.text
    loop = ["#pragma unroll", "for (int i = 0; i < 8; i += 1) {", *(f"  {x}" for x in lines), f"  y[i] = {value};", "}"]
    if not lines:
        loop = [*loop[:1], "for (int i = 0; i < 8; i += 1)", f"  y[i] = {value};"]
    half = target == "half"
    needs = (*((UNPACK_HALF8,) if before else ()), *((PACK_HALF8,) if half else ()))
    body = (*before, *(["float y[8];"] if half else []), *loop, *(["return pack_half8(y);"] if half else []))
    about = f"y = {relation(formula, names)}, in fp32" + (", rounded to fp16" if half else "")
    return DeviceFunction(
        f"{c_name(name)}{'_inside' if masked else ''}",
        "half8" if half else "void",
        (*(() if half else ("float (&y)[8]",)), *parameters, *(("int count",) if masked else ())),
        body,
        about + ("; values from number count on are 0" if masked else ""),
        needs,
    )


def c_name(name: str) -> str:
    """What a function may be called in C."""
    return f"{name}_of" if reserved(name) or name in FUNCTIONS_OF_C | TAKEN else name


FUNCTIONS_OF_C = frozenset(
    """abs exp exp2 log log2 sqrt rsqrt tanh erf floor ceil rint pow min max expm1 log1p sin cos tan fabs fmax fmin
    round""".split()
)
TAKEN = frozenset("half4 half8 std".split())  # types of the text, and C++'s namespace


@dataclass(frozen=True, slots=True)
class _Text:
    """An expression and how strongly it binds: 0 a choice, 4 a sum, 5 a product, 6 a sign, 9 a name or a call."""

    text: str
    binds: int = 9

    def within(self, need: int) -> str:
        """The text where what is around binds so strongly."""
        return self.text if self.binds >= need else f"({self.text})"


def _infix(function: str, a: _Text, b: _Text) -> _Text:
    """Sums and products; what stands at the right keeps its parentheses, since fp32 addition is not associative."""
    level = 4 if function in ("add", "sub") else 5
    return _Text(f"{a.within(level)} {INFIX[function]} {b.within(level + 1)}", level)


def relation(formula: Formula, names: Sequence[str]) -> str:
    """A formula as people write it.

    >>> relation(Call("relu", (Call("add", (Input(0), Call("mul", (Number(2), Input(1))))),)), ("x", "y"))
    'relu(x + 2 * y)'
    """

    def call(function: str, arguments: tuple[_Text, ...]) -> _Text:
        if function in INFIX:
            return _infix(function, *arguments)
        return _Text(f"{function}({', '.join(a.text for a in arguments)})")

    operands = [_Text(n) for n in names]
    return fold(formula, operands, lambda v: _Text(f"{v:.6g}", 9 if v >= 0 else 6), call).text


def _expression(formula: Formula, read: Sequence[str]) -> tuple[list[str], _Text]:
    """Lines that name what is used twice, and the formula's value."""
    lines: list[str] = []
    values: dict[Formula, _Text] = {}
    twice = set(shared(formula)) | _repeated(formula)
    for node in nodes(formula):
        match node:
            case Input(position=p):
                values[node] = _Text(read[p])
            case Number(value=v):
                values[node] = _Text(literal(v), 6 if literal(v).startswith("-") else 9)
            case Call(function=f, arguments=arguments):
                values[node] = _call(f, [values[a] for a in arguments])
        if node in twice and node is not formula:
            name = f"t{len(lines)}"
            lines.append(f"const float {name} = {values[node].text};")
            values[node] = _Text(name)
    return lines, values[formula]


def _call(function: str, arguments: Sequence[_Text]) -> _Text:
    """A function of expressions, by its C expression."""
    if function in INFIX:
        return _infix(function, *arguments)
    c = FUNCTIONS[function].c
    need = 0 if re.fullmatch(r"\w+\(\{\d\}(, \{\d\})*\)", c) else 9
    return _Text(c.format(*(a.within(need) for a in arguments)), _binding(c))


@cache
def _binding(c: str) -> int:
    """How strongly a C expression binds, by its operators outside of parentheses."""
    while (inner := re.sub(r"\([^()]*\)", "", c)) != c:
        c = inner
    if any(x in c for x in ("?", "|", "&", "<", ">", "=")):
        return 0
    return 4 if re.search(r" [+-] ", c) else 5 if re.search(r" [*/] ", c) else 6 if c.startswith("-") else 9


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
