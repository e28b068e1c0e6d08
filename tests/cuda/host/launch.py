"""Whole kernels on the host: the text that a call would compile and launch, on the arrays that it would get.

What is called, with which arguments, grid and shared memory, is what a launch on a GPU takes of the kernel. `gpu.cpp`
has the threads. A run has a seed, from which the threads' order follows and when the bytes of copies arrive; the first
twelve seeds have each of three arrivals with each of four ways to choose who goes on.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from polyvolta.compiler.calls import Call, cropped, host_call, outs_of, padded_on_host
from polyvolta.compiler.plans import map_of
from polyvolta.cuda.run import tensor_maps
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

_CLUSTER = re.compile(r"__cluster_dims__\((\d+), (\d+), (\d+)\)")
_EXTERN = re.compile(r"extern __shared__ (?:__align__\(\d+\) )?(\w+) (\w+)\[\];")


class WrongText(Exception):
    """What a text did wrong: the message, and the lines of the text where it was."""


@dataclass(frozen=True)
class Counts:
    """What runs took: fibers' turns, watched accesses, mma and wgmma instructions, boxes."""

    switches: int = 0
    accesses: int = 0
    products: int = 0
    boxes: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(x + y for x, y in zip(astuple(self), astuple(other))))


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
    """`gpu.cpp`, for all kernels of the process, and `kernel.h` as the compiler reads it fastest.

    Of the parallel processes of a test run the first one compiles them, the others take copies.
    """
    folder = Path(_folder().name)
    if (run := os.environ.get("TESTS_OF_A_RUN")) is None:
        _build(folder)
    else:
        import fcntl  # which not every system has

        made = Path(run) / "host-machine"
        with open(Path(run) / "host-machine.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not made.exists():
                _build(folder)
                shutil.copytree(folder, made)
        shutil.copytree(made, folder, dirs_exist_ok=True)
    return ctypes.CDLL(str(folder / "gpu.so"), mode=ctypes.RTLD_GLOBAL)


def _build(folder: Path) -> None:
    _compile("-o", folder / "gpu.so", HERE / "gpu.cpp")
    _compile(*WATCHED, "-x", "c++-header", "-o", folder / "kernel.h.gch", HERE / "kernel.h")


class Text:
    """A kernel's text, compiled.

    Parameters
    ----------
    source : CUDA C++.
    name : the kernel's.
    arch : the compute capability that it is for: instructions of later ones are refused.
    own : whether it is for that one alone, as sm_90a.

    Attributes
    ----------
    cluster : blocks that it says to run together, along x, y and z.
    """

    def __init__(self, source: str, name: str, arch: int, own: bool = False) -> None:
        machine()
        text, count = _EXTERN.subn(r"\1 *const \2 = (\1 *)gpu.shared;", translated(source, arch, own))
        if count != 1:
            raise WrongText(f"the text has {count} declarations of dynamic shared memory")
        said = _CLUSTER.search(source)
        self.cluster = tuple(map(int, said.groups())) if said else (1, 1, 1)
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


@cache
def _texts() -> dict[str, Text]:
    """By their CUDA C++."""
    return {}


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
    settings = (ctypes.c_longlong * 9)(
        threads, shared_bytes, seed, seed % len(ARRIVALS), seed // len(ARRIVALS) % len(STRATEGIES), watch, *text.cluster
    )
    message, place = ctypes.create_string_buffer(2000), ctypes.c_void_p()
    counts = (ctypes.c_ulonglong * 4)()
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
    texts : where compiled texts are kept; None: with the process.
    """
    call = host_call(kernel, bind(kernel.graph, (), {**inputs, **scalars}), outs_of(kernel, out))
    if call.is_empty:
        return Counts()
    padded = padded_on_host(call)
    counts = _launch(padded, seed, change, watch, _texts() if texts is None else texts)
    cropped(padded, call)
    return counts


def _launch(call: Call, seed: int, change: Callable[[str], str], watch: bool, texts: dict[str, Text]) -> Counts:
    call = call.fitted()
    kernel = call.kernel.variant(**{a.tensor.name: a.align for a in call.arguments})
    source = change(kernel.source)
    if source not in texts:
        name = kernel.target.name.removeprefix("sm_")
        texts[source] = Text(source, kernel.name, int(name.rstrip("a")), name.endswith("a"))
    config = kernel.launch_config(**call.sizes)
    arguments = {a.tensor.name: a for a in call.arguments}
    values: dict[int, Any] = dict(enumerate(ctypes.c_int(call.sizes[n]) for n in kernel.ir.sizes))
    values |= dict(enumerate((ctypes.c_float(call.scalars[n]) for n in kernel.ir.scalars), len(values)))
    values |= {at: ctypes.c_void_p(arguments[name].array.ctypes.data) for name, at in kernel.parameters.pointers}
    values |= {at: ctypes.c_int(arguments[name].ld) for name, at in kernel.parameters.lds}
    with _encoding():
        for m, at in kernel.parameters.maps:
            values[at] = map_of(arguments[m.tensor], m)(arguments[m.tensor].array.ctypes.data)
    arrays = [(a.array, a.tensor.written) for a in call.arguments]
    return launched(
        texts[source], [values[at] for at in range(len(values))], config.grid, config.block[0], config.shared_bytes,
        arrays, seed, watch,
    )  # fmt: skip


# ---- tensor maps


class Map(ctypes.Structure):
    """What `gpu/state.h` finds in the place of the 128 bytes that a driver makes."""

    _fields_ = (
        *((name, ctypes.c_uint64) for name in ("magic", "start", "run", "lines", "stride")),
        *((name, ctypes.c_uint32) for name in ("box_run", "box_lines", "swizzle", "zero")),
    )


MAGIC = int.from_bytes(b"host-map", "little")
_WIDTHS = {0: 0, 1: 32, 2: 64, 3: 128}  # CU_TENSOR_MAP_SWIZZLE_NONE, 32B, 64B, 128B
_TYPES = (6, 9)  # CU_TENSOR_MAP_DATA_TYPE_FLOAT16, BFLOAT16


def _encode(
    at: int, kind: int, rank: int, start: int, extents: Any, strides: Any, box: Any, steps: Any, interleave: int,
    swizzle: int, promotion: int, fill: int,
) -> int:  # fmt: skip
    """In the place of `cuTensorMapEncodeTiled`: 1, CUDA_ERROR_INVALID_VALUE, for what that refuses, or isn't here."""
    run, lines = extents[0], extents[1]
    width = 2 * box[0]
    good = (
        kind in _TYPES and rank == 2 and interleave == 0 and fill == 0 and swizzle in _WIDTHS
        and at % 64 == 0 and start % 16 == 0 and strides[0] % 16 == 0 and 0 < strides[0] < 2**40
        and all(0 < n <= 2**32 for n in (run, lines)) and all(0 < n <= 256 for n in (box[0], box[1]))
        and (steps[0], steps[1]) == (1, 1) and width % 16 == 0
        and (not _WIDTHS.get(swizzle) or width <= _WIDTHS[swizzle])
    )  # fmt: skip
    if not good:
        return 1
    Map.from_address(at).__init__(MAGIC, start, run, lines, strides[0], box[0], box[1], _WIDTHS[swizzle], 0)
    return 0


@contextmanager
def _encoding() -> Iterator[None]:
    """Maps are encoded as a launch does it, by this driver, and not kept."""

    with patch.multiple(tensor_maps, _function=lambda: _encode, _encoded=tensor_maps._encoded.__wrapped__):
        yield


def tensor_map(pointer: int, extents: tuple[int, int], stride: int, box: tuple[int, int], swizzle: int) -> Any:
    """The map of a matrix of halves; see `tensor_maps.encode`."""
    with _encoding():
        return tensor_maps.encode(pointer, "half", extents, stride, box, swizzle)
