"""Tensor-core instructions, the macro-MMAs that are made of them, and what else is done to accumulators."""

from __future__ import annotations

from functools import lru_cache

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
    a, b, d = macro.values
    lines = [line for s in macro.steps for line in _call(single.name, s, a, b)]
    return DeviceFunction(
        "hmma_" + "_".join(ins.layouts),
        "void",
        (f"float (&d)[{d}]", _fragment("a", a), _fragment("b", b)),
        tuple(lines),
        f"macro-MMA {macro.name}: d += a @ b, {_together(ins.scope)}",
        (single,),
    )


def _call(name: str, step: Step, a: int, b: int) -> list[str]:
    """The lines of one instruction: a call on its part of the accumulators, or on a copy where they are scattered."""
    first, count = step.d[0], len(step.d)
    words = f"{_words('a', step.a, a)}, {_words('b', step.b, b)}"
    if step.d == tuple(range(first, first + count)):
        return [f"{name}({f'd + {first}' if first else 'd'}, {words});"]
    copied = ", ".join(f"d[{v}]" for v in step.d)
    back = ", ".join(f"d[{v}] = part[{k}]" for k, v in enumerate(step.d))
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
    shape = "{}x{}x{}".format(*ins.shape)
    return DeviceFunction(
        f"mma_{ins.family}_" + "_".join(ins.layouts),
        "void",
        ("float *d", *(f"unsigned {w}" for w in words)),
        (
            f'asm volatile("{ins.name} "',
            f'             "{braces(d)}, {braces(a)}, {braces(b)}, {braces(d)};"',
            f"             : {outs}",
            "             : " + ", ".join(f'"r"({w})' for w in words) + ");",
        ),
        f"d += a @ b, {shape} {'in each ' + ins.scope.name if ins.units > 1 else 'by the whole ' + ins.scope.name}",
    )


def _fragment(name: str, values: int) -> str:
    """The parameter that is a fragment of so many values."""
    return declared(name, values) if vector(values) == values else f"const {declared(f'(&{name})', values)}"


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
