"""Tensor-core instructions, the macro-MMAs that are made of them, and what else is done to accumulators."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import groupby

from polyvolta.cuda.target.instruction import Instruction, Scope
from polyvolta.cuda.target.macro_mma import MacroMma, Step
from polyvolta.cuda.text.helpers.device_function import DeviceFunction
from polyvolta.cuda.text.helpers.values import declared, vector, word

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")


@lru_cache(maxsize=64)
def mma(macro: MacroMma) -> DeviceFunction:
    """The macro-MMA as its sequence of instructions."""
    ins = macro.instruction
    single = _instruction(ins)
    _, _, d = macro.values
    lines = [line for s in macro.steps for line in _call(single.name, s, macro.values, ("a", "b", "d"))]
    return DeviceFunction(
        "hmma_" + "_".join(ins.layouts),
        "void",
        (f"float (&d)[{d}]", _fragment("a", macro.values[0]), _fragment("b", macro.values[1])),
        tuple(lines),
        f"macro-MMA {macro.name}: d += a @ b, {_together(ins.scope)}",
        (single,),
    )


@lru_cache(maxsize=64)
def products(macro: MacroMma, rows: int, cols: int, single: tuple[bool, bool, bool]) -> DeviceFunction:
    """The macro-MMAs of all fragments of a warp's rows with all of its columns, rows innermost, back and forth.

    So each instruction has the part of B of the one before, or its part of A, and registers of operands are read less
    often. What one accumulator sums up keeps its order.

    Parameters
    ----------
    single : of A, B and D, whether there is one fragment and no array of them.
    """
    ins = macro.instruction
    one = _instruction(ins)
    values = macro.values
    a, b, d = (name if alone else name + at for name, at, alone in zip("abd", ("[i]", "[j]", "[i][j]"), single))
    body = ["#pragma unroll", f"for (int j = 0; j < {cols}; j += 1) {{"] if cols > 1 else []
    if cols == 1:
        b, d = (x.replace("[j]", "[0]") for x in (b, d))
    if rows == 1:
        a, d = (x.replace("[i]", "[0]") for x in (a, d))
    pad, down = "  " if cols > 1 else "", True
    for _, steps in groupby(sorted(macro.steps, key=_first_with(macro)), key=lambda s: s.b):
        calls = [line for s in steps for line in _call(one.name, s, values, (a, b, d))]
        if rows > 1:
            span = f"0; i < {rows}; i += 1" if down else f"{rows - 1}; i >= 0; i -= 1"
            brace = " {" if len(calls) > 1 else ""
            body += [f"{pad}#pragma unroll", f"{pad}for (int i = {span}){brace}", *(f"{pad}  {c}" for c in calls)]
            body += [f"{pad}}}"] if brace else []
        else:
            body += [pad + c for c in calls]
        down = not down
    body += ["}"] if cols > 1 else []
    count = lambda number, alone: "" if alone else f"[{number}]"  # noqa: E731
    parameters = (
        f"float (&d){'' if single[2] else f'[{rows}][{cols}]'}[{values[2]}]",
        _fragment("a", values[0], count(rows, single[0])),
        _fragment("b", values[1], count(cols, single[1])),
    )
    return DeviceFunction(
        "hmma_" + "_".join(ins.layouts),
        "void",
        parameters,
        tuple(body),
        f"{rows} x {cols} macro-MMAs {macro.name}: d += a @ b, {_together(ins.scope)}; all rows with a part of b "
        "before the next\npart, back and forth, so that an instruction has an operand of the one before",
        (one,),
    )


def _first_with(macro: MacroMma) -> Callable[[Step], int]:
    """Of a step, when its part of B comes first."""
    first: dict[tuple[int, ...], int] = {}
    for n, s in enumerate(macro.steps):
        first.setdefault(s.b, n)
    return lambda s: first[s.b]


def _call(name: str, step: Step, values: tuple[int, int, int], fragments: tuple[str, str, str]) -> list[str]:
    """The lines of one instruction: a call on its part of the accumulators, or on a copy where they are scattered."""
    first, count = step.d[0], len(step.d)
    a, b, d = fragments
    words = f"{_words(a, step.a, values[0])}, {_words(b, step.b, values[1])}"
    if step.d == tuple(range(first, first + count)):
        return [f"{name}({f'{d} + {first}' if first else d}, {words});"]
    copied = ", ".join(f"{d}[{v}]" for v in step.d)
    back = ", ".join(f"{d}[{v}] = part[{k}]" for k, v in enumerate(step.d))
    return ["{", f"  float part[{count}] = {{{copied}}};", f"  {name}(part, {words});", f"  {back};", "}"]


def _together(scope: Scope) -> str:
    """Who multiplies, in words.

    >>> from polyvolta.cuda.target.instruction import QUAD_PAIR, WARP
    >>> _together(QUAD_PAIR), _together(WARP)
    ("the warp's four quad-pairs side by side", 'the whole warp together')
    """
    if scope.units == 1:
        return f"the whole {scope.name} together"
    number = NUMBERS[scope.units] if scope.units < len(NUMBERS) else scope.units
    return f"the warp's {number} {scope.name}s side by side"


@lru_cache(maxsize=64)
def _instruction(ins: Instruction) -> DeviceFunction:
    n_a, n_b, n_d = ins.values[0] // 2, ins.values[1] // 2, ins.values[2]
    regs = [f"%{k}" for k in range(n_d + n_a + n_b)]
    d, a, b = regs[:n_d], regs[n_d : n_d + n_a], regs[n_d + n_a :]
    braces = lambda names: "{" + ", ".join(names) + "}"  # noqa: E731
    outs = ", ".join(f'"+f"(d[{k}])' for k in range(n_d))
    words = [f"{x}{k}" for x, n in (("a", n_a), ("b", n_b)) for k in range(n)]
    start = "asm volatile" if ins.volatile else "asm"
    pad = " " * len(start)
    shape = "{}x{}x{}".format(*ins.shape)
    return DeviceFunction(
        f"mma_{ins.family}_" + "_".join(ins.layouts),
        "void",
        ("float *d", *(f"unsigned {w}" for w in words)),
        (
            f'{start}("{ins.name} "',
            f'{pad} "{braces(d)}, {braces(a)}, {braces(b)}, {braces(d)};"',
            f"{pad} : {outs}",
            f"{pad} : " + ", ".join(f'"r"({w})' for w in words) + ");",
        ),
        f"d += a @ b, {shape} {'in each ' + ins.scope.name if ins.units > 1 else 'by the whole ' + ins.scope.name}",
    )


def _fragment(name: str, values: int, count: str = "") -> str:
    """The parameter that is a fragment of so many values, or an array of them of some extents."""
    whole = vector(values) == values and not count
    return declared(name, values) if whole else f"const {declared(f'(&{name}){count}', values)}"


def _words(name: str, values: tuple[int, ...], of: int) -> str:
    """The registers that hold some values of a fragment, two in each."""
    return ", ".join(word(name, low, high, of) for low, high in zip(values[::2], values[1::2], strict=True))


@lru_cache(maxsize=16)
def zero(width: int) -> DeviceFunction:
    """An accumulator fragment becomes 0."""
    body = ("#pragma unroll", f"for (int i = 0; i < {width}; i += 1)", "  d[i] = 0.0f;")
    return DeviceFunction("hmma_zero", "void", (f"float (&d)[{width}]",), body, "d = 0")


@lru_cache(maxsize=16)
def scale(width: int) -> DeviceFunction:
    """An accumulator fragment times a number."""
    body = ("#pragma unroll", f"for (int i = 0; i < {width}; i += 1)", "  d[i] *= factor;")
    return DeviceFunction("hmma_scale", "void", (f"float (&d)[{width}]", "float factor"), body, "d = d * factor")
