"""Tensor-core instructions, the macro-MMAs that are made of them, and what else is done to accumulators."""

from __future__ import annotations

from functools import lru_cache

from polyvolta.cuda.ir.kernel_ir import CHUNK
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.cuda.text.helpers.device_function import DeviceFunction
from polyvolta.cuda.text.helpers.values import WORDS


@lru_cache(maxsize=64)
def mma(macro: MacroMma) -> DeviceFunction:
    """The macro-MMA as its sequence of instructions."""
    ins = macro.instruction
    single = _instruction(macro)
    a, b, d = macro.values
    lines = []
    for s in macro.steps:
        first = s.d[0]
        where = f"d + {first}" if first else "d"
        lines.append(f"{single.name}({where}, {_words('a', s.a, a)}, {_words('b', s.b, b)});")
    return DeviceFunction(
        "hmma_" + "_".join(ins.layouts),
        "void",
        (f"float (&d)[{d}]", _fragment("a", a), _fragment("b", b)),
        tuple(lines),
        f"macro-MMA {macro.name}: d += a @ b, the warp's four quad-pairs side by side",
        (single,),
    )


def _instruction(macro: MacroMma) -> DeviceFunction:
    ins, step = macro.instruction, macro.steps[0]
    n_a, n_b, n_d = len(step.a) // 2, len(step.b) // 2, len(step.d)
    regs = [f"%{k}" for k in range(n_d + n_a + n_b)]
    d, a, b = regs[:n_d], regs[n_d : n_d + n_a], regs[n_d + n_a :]
    braces = lambda names: "{" + ", ".join(names) + "}"  # noqa: E731
    outs = ", ".join(f'"+f"(d[{k}])' for k in range(n_d))
    words = [f"{x}{k}" for x, n in (("a", n_a), ("b", n_b)) for k in range(n)]
    return DeviceFunction(
        "mma_m{}n{}k{}_".format(*ins.shape) + "_".join(ins.layouts),
        "void",
        ("float *d", *(f"unsigned {w}" for w in words)),
        (
            f'asm volatile("{ins.name} "',
            f'             "{braces(d)}, {braces(a)}, {braces(b)}, {braces(d)};"',
            f"             : {outs}",
            "             : " + ", ".join(f'"r"({w})' for w in words) + ");",
        ),
        "d += a @ b, {}x{}x{} in each quad-pair".format(*ins.shape),
    )


def _fragment(name: str, values: int) -> str:
    return f"half8 {name}" if values == CHUNK else f"const half8 (&{name})[{values // CHUNK}]"


def _words(name: str, values: tuple[int, ...], of: int) -> str:
    """The registers that hold some values of a fragment, two in each."""
    part = lambda v: name if of == CHUNK else f"{name}[{v // CHUNK}]"  # noqa: E731
    return ", ".join(f"{part(v)}.{WORDS[v % CHUNK // 2]}" for v in values[::2])


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
