"""C text to a function that Python can call: the system's C compiler and `ctypes`.

A text is compiled once; the library stays loaded, its file does not stay. Floating-point arithmetic keeps the order and
the roundings that the text says (no contraction into fused operations), so that results are those of Python's doubles.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

from polyvolta.sched.errors import NoCompiler

FLAGS = ("-std=gnu99", "-O3", "-march=native", "-ffp-contract=off", "-fwrapv", "-w", "-shared", "-fPIC")


def compiler() -> str:
    """The C compiler: what the variable CC says, else the first of cc, gcc and clang.

    Raises
    ------
    NoCompiler : there is none.
    """
    names = [os.environ["CC"]] if os.environ.get("CC") else ["cc", "gcc", "clang"]
    for name in names:
        if found := shutil.which(name):
            return found
    raise NoCompiler(
        "no C compiler is installed", where=", ".join(names), hint="install gcc or clang, or run with using='python'"
    )


@lru_cache(maxsize=64)
def compiled(text: str, name: str, openmp: bool = False) -> ctypes._CFuncPtr:  # type: ignore[name-defined]
    """The function called `name` of a C text.

    Raises
    ------
    NoCompiler : there is none, or it refuses the text.

    Cost: a run of the compiler, some 100 ms; memoised.
    """
    program = compiler()
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "program.c"), Path(folder, "program.so")
        source.write_text(text + "\n")
        flags = [*FLAGS, *(["-fopenmp"] if openmp else [])]
        done = subprocess.run(
            [program, *flags, str(source), "-o", str(library), "-lm"], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise NoCompiler(f"{program} refuses the text", where=done.stderr[:2000].strip())
        return getattr(ctypes.CDLL(str(library)), name)
