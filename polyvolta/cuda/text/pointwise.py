"""Pointwise operations: one device function for a formula, on eight values of each operand, in fp32.

The function's C expressions come from `graph.functions`; what a formula uses twice, or an expression needs twice,
gets a name. Division, square roots and the functions of CUDA's mathematics library are built into the compiler.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from polyvolta.cuda.text.device_function import DeviceFunction
from polyvolta.cuda.text.values import PACK_HALF8, UNPACK_HALF8
from polyvolta.graph.formula import Call, Formula, Input, Number, nodes, shared
from polyvolta.graph.functions import FUNCTIONS
from polyvolta.graph.names import reserved

INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


@lru_cache(maxsize=256)
def pointwise(name: str, formula: Formula, kinds: tuple[str, ...], target: str, masked: bool) -> DeviceFunction:
    """The function of a formula.

    Parameters
    ----------
    name : what the operation is called.
    kinds : of the operands: "half", "float" (eight values each) or "scalar".
    target : "half" or "float".
    masked : whether only the first `count` values are computed, and the others 0.
    """
    names = tuple(f"x{n}" for n in range(len(kinds)))
    parameters, before, read = [], [], []
    for n, kind in zip(names, kinds):
        parameters.append({"half": f"half8 {n}", "float": f"const float (&{n})[8]", "scalar": f"float {n}"}[kind])
        if kind == "half":
            before += [f"float {n}_[8];", f"unpack_half8({n}_, {n});"]
        read.append({"half": f"{n}_[i]", "float": f"{n}[i]", "scalar": n}[kind])
    used = {n.position for n in nodes(formula) if isinstance(n, Input)}
    before = [line for line in before if any(re.search(rf"\bx{p}_", line) for p in used)]
    lines, value = _expression(formula, read)
    value = f"i < count ? {_closed(value)} : 0.0f" if masked else value
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
    return f"{name}_of" if reserved(name) or name in FUNCTIONS_OF_C else name


FUNCTIONS_OF_C = frozenset(
    "abs exp log sqrt rsqrt tanh erf floor ceil rint pow min max expm1 log1p sin cos tan fabs fmax fmin round".split()
)


def relation(formula: Formula, names: Sequence[str]) -> str:
    """A formula as people write it.

    >>> relation(Call("relu", (Call("add", (Input(0), Call("mul", (Number(2), Input(1))))),)), ("x", "y"))
    'relu(x + 2 * y)'
    """
    texts: dict[Formula, tuple[str, int]] = {}  # with how strongly it binds: 0 a sum, 1 a product, 2 closed
    for node in nodes(formula):
        match node:
            case Input(position=p):
                texts[node] = names[p], 2
            case Number(value=v):
                texts[node] = f"{v:.6g}", 2 if v >= 0 else 0
            case Call(function=f, arguments=(a, b)) if f in INFIX:
                level = 0 if f in ("add", "sub") else 1
                left, right = texts[a], texts[b]
                more = level + (f in ("sub", "div"))
                shown = [x if binds >= need else f"({x})" for (x, binds), need in ((left, level), (right, more))]
                texts[node] = f" {INFIX[f]} ".join(shown), level
            case Call(function=f, arguments=arguments):
                texts[node] = f"{f}({', '.join(texts[a][0] for a in arguments)})", 2
    return texts[formula][0]


def _expression(formula: Formula, read: Sequence[str]) -> tuple[list[str], str]:
    """Lines that name what is used twice, and the formula's value."""
    lines: list[str] = []
    values: dict[Formula, str] = {}
    twice = set(shared(formula)) | _repeated(formula)
    for node in nodes(formula):
        match node:
            case Input(position=p):
                values[node] = read[p]
            case Number(value=v):
                values[node] = literal(v)
            case Call(function=f, arguments=arguments):
                values[node] = FUNCTIONS[f].c.format(*(_closed(values[a]) for a in arguments))
        if node in twice and node is not formula:
            name = f"t{len(lines)}"
            lines.append(f"const float {name} = {values[node]};")
            values[node] = name
    return lines, values[formula]


def _repeated(formula: Formula) -> set[Formula]:
    """The calls that stand in an expression which has their place several times."""
    found: set[Formula] = set()
    for node in nodes(formula):
        if isinstance(node, Call):
            text = FUNCTIONS[node.function].c
            found |= {a for n, a in enumerate(node.arguments) if isinstance(a, Call) and text.count(f"{{{n}}}") > 1}
    return found


def _closed(text: str) -> str:
    """An expression that may stand beside any operator: a name, a number, a call, or in parentheses."""
    if re.fullmatch(r"[\w.]+(\[\w+\])?|[\w.]+e-\d+f", text) or re.fullmatch(r"\w+\([^()]*(\([^()]*\)[^()]*)*\)", text):
        return text
    return f"({text})"


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
