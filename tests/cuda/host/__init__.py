"""CUDA texts run on the host: asm statements translated, put behind a shim, compiled by a C++ compiler.

A printed text stays as it is, but for its asm statements, of which `ptx.translated` makes calls of functions that do
what the PTX manual says, each for exactly one instruction. What the manual's shim doesn't have is an error, so a text
with other instructions can't pass unseen.

Device functions run by themselves (`compiled`); whole kernels run with a fiber a thread (`launch.run`), on arrays with
every access watched. The compiler is told to round every operation by itself, and to assume nothing about NaN,
infinity and zeros.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cuda.host.ptx import translated

HERE = Path(__file__).parent
SHIM = HERE / "shim.h"
COMPILER = shutil.which("g++") or shutil.which("c++")
FLAGS = ("-std=c++17", "-O1", "-ffp-contract=off", "-fno-fast-math", "-fno-strict-aliasing", "-w", "-shared", "-fPIC")
FUSING = ("-O2", "-ffp-contract=fast", "-mfma")
"""Flags behind which products and sums are fused, as NVIDIA's compilers do by default."""

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")


def fuses() -> bool:
    """Whether the compiler and the processor can fuse a product and a sum."""
    try:
        known = "fma" in Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return False
    return COMPILER is not None and known


def compiled(
    folder: Path, text: str, flags: Sequence[str] = (), name: str = "device", own: bool = False
) -> ctypes.CDLL:
    """A CUDA text as a shared library of the functions that are extern "C" in it."""
    assert COMPILER is not None
    source, made = folder / f"{name}.cpp", folder / f"{name}.so"
    source.write_text(f'#include "{SHIM}"\n{translated(text, own=own)}')
    subprocess.run([COMPILER, *FLAGS, *flags, "-o", made, source], check=True)
    return ctypes.CDLL(str(made))
