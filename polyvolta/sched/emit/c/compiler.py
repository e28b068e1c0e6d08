"""C text to a function that Python can call: the system's C compiler and `ctypes`.

A text is compiled once: the library is kept in the package's cache folder (`polyvolta.sets.code_cache`), under
everything that it depends on, the processor and the compiler's file among that. The one that is loaded is a copy whose
file does not stay. Floating-point arithmetic keeps the order and the roundings that the text says (no contraction into
fused operations), so that results are those of Python's doubles.
"""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

from polyvolta.sched.errors import NoCompiler
from polyvolta.sets import code_cache

WRAPPING = "-fwrapv"  # integers wrap round as numpy's do; loops that the compiler knows not to wrap run faster
FLAGS = ("-std=gnu99", "-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC")


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


def compiled(text: str, name: str, flags: tuple[str, ...] = ()) -> ctypes._CFuncPtr:  # type: ignore[name-defined]
    """The function called `name` of a C text; see `library`."""
    return getattr(library(text, flags), name)


@lru_cache(maxsize=64)
def library(text: str, flags: tuple[str, ...] = ()) -> ctypes.CDLL:
    """The library of a C text.

    Parameters
    ----------
    flags : what the compiler is told besides `FLAGS`, such as "-fopenmp".

    Raises
    ------
    NoCompiler : there is none, or it refuses the text.
    BadCacheSize : the environment's limit of the cache is no size.

    Cost: a run of the compiler, some 100 ms, or 2 ms for a text that the cache has; memoised.
    """
    program = compiler()
    key = code_cache.key_of("library of C", *_identity(program), _processor(), *FLAGS, *flags, text)
    kept = code_cache.read(key)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.so")
        if kept is not None:
            path.write_bytes(kept[0])
        else:
            _compile(program, text, flags, path)
            code_cache.write(key, path.read_bytes(), "")
        try:
            return ctypes.CDLL(str(path))
        except OSError as error:  # a library that the compiler makes needs, such as OpenMP's, is not there
            raise NoCompiler(f"what {program} made cannot be loaded", where=str(error)) from None


def _compile(program: str, text: str, flags: tuple[str, ...], path: Path) -> None:
    """Run the compiler; the library is at the path then.

    Raises
    ------
    NoCompiler : it refuses the text.
    """
    source = path.with_suffix(".c")
    source.write_text(text + "\n")
    command = [program, *FLAGS, *flags, str(source), "-o", str(path), "-lm"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise NoCompiler(f"{program} cannot be run", where=str(error)) from None
    if done.returncode:
        raise NoCompiler(f"{program} refuses the text", where=done.stderr[:2000].strip())


def _identity(program: str) -> tuple[str, ...]:
    """What tells one compiler from another, and from itself when it is replaced."""
    path = Path(program).resolve()
    stat = path.stat()
    return str(path), str(stat.st_size), str(stat.st_mtime_ns)


@lru_cache(maxsize=1)
def _processor() -> str:
    """What `-march=native` depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    said = [line for line in lines if line.startswith(("model name", "flags", "Features"))][:2]
    return "\n".join([platform.machine(), platform.processor(), *said])
