"""CUDA text run on the host: translated where it must be, put behind a shim, compiled by a C++ compiler.

A printed text stays as it is, but for its asm statements: `translated` finds each, and puts in its place a call of the
function of `shim.h` that is written for exactly those instructions, with the statement's operands in their order. An
asm statement that `PTX` has no function for is an error, so a text with other instructions can't pass unseen.

The compiler is told to round every operation by itself, and to assume nothing about NaN, infinity and zeros.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

SHIM = Path(__file__).parent / "shim.h"
COMPILER = shutil.which("g++") or shutil.which("c++")
FLAGS = ("-std=c++17", "-O1", "-ffp-contract=off", "-fno-fast-math", "-fno-strict-aliasing", "-w", "-shared", "-fPIC")
FUSING = ("-O2", "-ffp-contract=fast", "-mfma")
"""Flags behind which products and sums are fused, as NVIDIA's compilers do by default."""

PTX = {
    "{.reg .b16 l, h; cvt.rn.f16.f32 l, %1; cvt.rn.f16.f32 h, %2; mov.b32 %0, {l, h};}": "ptx_pack_half2",
    "{.reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h;}": "ptx_unpack_half2",
}
"""The functions of the shim, by the instructions that they stand for."""

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")

_ASM = re.compile(r'\basm\b(?:\s+volatile)?\s*\(((?:\s*"[^"]*")+)\s*((?::[^;]*)?)\);')
_OPERAND = re.compile(r'"[=+]?[a-z]"\s*\(([^()]*)\)')


def translated(text: str) -> str:
    """A CUDA text with its asm statements as calls.

    Raises
    ------
    LookupError : instructions that `PTX` doesn't have, or an asm statement of another form.

    >>> unpack = next(k for k in PTX if "cvt.f32.f16" in k)
    >>> translated(f'asm("{unpack}" : "=f"(v[0]), "=f"(v[1]) : "r"(word));')
    'ptx_unpack_half2(v[0], v[1], word);'
    """

    def call(found: re.Match[str]) -> str:
        instructions = "".join(re.findall(r'"([^"]*)"', found[1]))
        if instructions not in PTX:
            raise LookupError(f"no function of the shim is for {instructions!r}")
        return f"{PTX[instructions]}({', '.join(_OPERAND.findall(found[2]))});"

    made = _ASM.sub(call, text)
    if left := re.search(r"\basm\b.*", re.sub(r"//.*", "", made)):
        raise LookupError(f"an asm statement in another form: {left[0]}")
    return made


def fuses() -> bool:
    """Whether the compiler and the processor can fuse a product and a sum."""
    try:
        known = "fma" in Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return False
    return COMPILER is not None and known


def compiled(folder: Path, text: str, flags: Sequence[str] = (), name: str = "device") -> ctypes.CDLL:
    """A CUDA text as a shared library of the functions that are extern "C" in it."""
    assert COMPILER is not None
    source, made = folder / f"{name}.cpp", folder / f"{name}.so"
    source.write_text(f'#include "{SHIM}"\n{translated(text)}')
    subprocess.run([COMPILER, *FLAGS, *flags, "-o", made, source], check=True)
    return ctypes.CDLL(str(made))
