"""Whole kernels on the host: the text that a call would compile and launch, on the arrays that it would get.

What is called, with which arguments, grid and shared memory, is what a launch on a GPU takes of the kernel. `gpu.cpp`
has the threads. A run has a seed, from which the threads' order follows and when the bytes of copies arrive; the first
twelve seeds have each of three arrivals with each of four ways to choose who goes on.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from polyvolta.compiler.calls import Call, cropped, host_call, outs_of, padded_on_host
from polyvolta.graph.binding import bind
from tests.cuda.host import COMPILER, FLAGS, HERE
from tests.cuda.host.ptx import translated

ARRIVALS = ("eager", "lazy", "random")
STRATEGIES = ("random", "one warp ahead", "warps by rank", "in turns")
WATCHED = (
    "-fsanitize=thread", "--param", "tsan-instrument-func-entry-exit=0", "-fsanitize=alignment,bounds",
    "-ftrivial-auto-var-init=pattern", "-g1", "-nodefaultlibs",
)  # fmt: skip
"""Every access calls `gpu.cpp`, registers start with a pattern, and lines are known; no library has the hooks."""

_EXTERN = re.compile(r"extern __shared__ (\w+) (\w+)\[\];")


class WrongText(Exception):
    """What a text did wrong: the message, and the lines of the text where it was."""


@dataclass(frozen=True)
class Counts:
    """What runs took: fibers' turns, watched accesses, mma instructions."""

    switches: int = 0
    accesses: int = 0
    products: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.switches + other.switches, self.accesses + other.accesses, self.products + other.products)


# ---- compiling


@cache
def _folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="host-texts-")


def _compile(*arguments: Any) -> None:
    done = subprocess.run([COMPILER, *FLAGS, *arguments], capture_output=True, text=True)
    if done.returncode:
        raise WrongText(f"the C++ compiler refuses the text:\n{done.stderr[:4000]}")


@cache
def machine() -> ctypes.CDLL:
    """`gpu.cpp`, for all kernels of the process, and `kernel.h` as the compiler reads it fastest."""
    folder = Path(_folder().name)
    _compile("-O2", "-o", folder / "gpu.so", HERE / "gpu.cpp")
    _compile(*WATCHED, "-x", "c++-header", "-o", folder / "kernel.h.gch", HERE / "kernel.h")
    return ctypes.CDLL(str(folder / "gpu.so"), mode=ctypes.RTLD_GLOBAL)


class Text:
    """A kernel's text, compiled.

    Parameters
    ----------
    source : CUDA C++.
    name : the kernel's.
    arch : the compute capability that it is for: instructions of later ones are refused.
    """

    def __init__(self, source: str, name: str, arch: int) -> None:
        machine()
        text, count = _EXTERN.subn(r"\1 *const \2 = (\1 *)gpu.shared;", translated(source, arch))
        if count != 1:
            raise WrongText(f"the text has {count} declarations of dynamic shared memory")
        folder = Path(_folder().name)
        stem = folder / sha256(source.encode()).hexdigest()[:16]
        whole = f'#include "kernel.h"\n#line 1 "kernel.cu"\n{text}\n'
        enter = f'extern "C" UNWATCHED void gpu_enter(void **arguments) {{ gpu_call({name}, arguments); }}\n'
        stem.with_suffix(".cpp").write_text(whole + enter)
        self.made = stem.with_suffix(".so")
        includes = f"-I{folder}", f"-I{HERE}"
        _compile(*WATCHED, *includes, "-o", self.made, stem.with_suffix(".cpp"), folder / "gpu.so", "-lm", "-lc")
        self.library, self.source = ctypes.CDLL(str(self.made)), source

    def close(self) -> None:
        """Forget the machine code; the text can't be run any more."""
        import _ctypes

        _ctypes.dlclose(self.library._handle)
        self.made.unlink()
        self.made.with_suffix(".cpp").unlink()

    def lines(self, place: int) -> str:
        """The lines of the text that a place in the machine code came from, innermost first."""
        tool = shutil.which("addr2line")
        if not place or tool is None:
            return ""
        base = ctypes.cast(self.library.gpu_enter, ctypes.c_void_p).value or 0
        symbols = subprocess.run([tool[:-9] + "nm", "-D", self.made], capture_output=True, text=True).stdout
        start = next((int(s.split()[0], 16) for s in symbols.splitlines() if s.endswith(" T gpu_enter")), 0)
        offset = hex(place - 1 - (base - start))
        shown = subprocess.run([tool, "-i", "-e", self.made, offset], capture_output=True, text=True).stdout
        numbers = [int(n) for n in re.findall(rf"(?:kernel\.cu|{self.made.stem}\.cpp):(\d+)", shown)]
        text = self.source.splitlines()
        return "".join(f"\n  line {n}: {text[n - 1].strip()}" for n in numbers if 0 < n <= len(text))


# ---- running


def launched(
    text: Text,
    values: list[Any],
    grid: tuple[int, ...],
    threads: int,
    shared_bytes: int,
    arrays: list[tuple[np.ndarray, bool]],
    seed: int,
    watch: bool = True,
) -> Counts:
    """Run a grid.

    Parameters
    ----------
    values : the arguments, as ctypes has them.
    arrays : what may be touched: views, and whether they are written.
    seed : of the order and the arrivals.
    watch : whether accesses are looked at.

    Raises
    ------
    WrongText
    """
    regions: list[int] = []
    keep = []
    for array, written in arrays:
        span = sum((n - 1) * abs(s) // 2 for n, s in zip(array.shape, array.strides)) + 1 if array.size else 0
        allowed = np.zeros(span, np.uint8)
        steps = [s // 2 for s in array.strides]
        np.lib.stride_tricks.as_strided(allowed, array.shape, steps)[...] = 2 if written else 1
        keep.append(allowed)
        regions += [array.ctypes.data, 2 * span, allowed.ctypes.data]
    pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
    settings = (ctypes.c_longlong * 6)(
        threads, shared_bytes, seed, seed % len(ARRIVALS), seed // len(ARRIVALS) % len(STRATEGIES), watch
    )
    message, place = ctypes.create_string_buffer(2000), ctypes.c_void_p()
    counts = (ctypes.c_ulonglong * 3)()
    wrong = machine().gpu_launch(
        text.library.gpu_enter, pointers, (ctypes.c_uint * 3)(*grid), (ctypes.c_void_p * len(regions))(*regions),
        len(arrays), settings, message, ctypes.byref(place), counts,
    )  # fmt: skip
    if wrong:
        raise WrongText(f"{message.value.decode()}{text.lines(place.value or 0)}")
    return Counts(*counts)


def run(
    kernel: Any,
    inputs: Mapping[str, Any],
    scalars: Mapping[str, float],
    out: Any,
    seed: int,
    *,
    change: Callable[[str], str] = str,
    watch: bool = True,
    texts: dict[str, Text] | None = None,
) -> Counts:
    """Call a kernel on numpy arrays with its text on the host; see `Kernel.interpret` for the arguments.

    Parameters
    ----------
    change : what is made of the text before it is compiled.
    texts : where compiled texts are kept.
    """
    call = host_call(kernel, bind(kernel.graph, (), {**inputs, **scalars}), outs_of(kernel, out))
    if call.is_empty:
        return Counts()
    padded = padded_on_host(call)
    counts = _launch(padded, seed, change, watch, {} if texts is None else texts)
    cropped(padded, call)
    return counts


def _launch(call: Call, seed: int, change: Callable[[str], str], watch: bool, texts: dict[str, Text]) -> Counts:
    kernel = call.kernel
    source = change(kernel.variant(**{a.tensor.name: a.align for a in call.arguments}).source)
    if source not in texts:
        texts[source] = Text(source, kernel.name, int(kernel.target.name.removeprefix("sm_")))
    config = kernel.launch_config(**call.sizes)
    values: list[Any] = [ctypes.c_int(call.sizes[n]) for n in kernel.ir.sizes]
    values += [ctypes.c_float(call.scalars[n]) for n in kernel.ir.scalars]
    for a in call.arguments:
        values.append(ctypes.c_void_p(a.array.ctypes.data))
        values += [ctypes.c_int(a.ld)] if a.tensor.ld else []
    arrays = [(a.array, a.tensor.written) for a in call.arguments]
    return launched(texts[source], values, config.grid, config.block[0], config.shared_bytes, arrays, seed, watch)
