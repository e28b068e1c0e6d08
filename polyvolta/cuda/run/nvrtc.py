"""From CUDA C++ text to a cubin.

NVRTC is NVIDIA's compiler as a shared library. It needs no toolkit, no driver and no GPU: on any machine it
turns a self-contained text into a cubin, the ELF file of one GPU's machine code that drivers load as it is.
A cubin for a Volta can so be built, and its registers counted, on a laptop. The library's C interface is a
dozen functions, so it's called through `ctypes`: neither the Python bindings nor their version matter, and
NVRTC 12.9, the last that targets Volta (sm_70), can serve beside anything made for CUDA 13. Of several
installed NVRTCs the oldest that targets the architecture compiles, because a driver loads the cubins of
toolkits older than itself, and not always those of newer ones.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from ctypes import util as ctypes_util
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from weakref import WeakValueDictionary

from polyvolta.cuda.arch import parsed
from polyvolta.cuda.errors import CompileFailed, CompilerMissing, UnsupportedArch
from polyvolta.cuda.run.cubin import Resources as Resources
from polyvolta.cuda.run.cubin import arch_of as arch_of
from polyvolta.cuda.run.cubin import is_for
from polyvolta.cuda.run.cubin import resources as resources
from polyvolta.display.shown import Record
from polyvolta.sets import code_cache

_INSTALL = (
    'pip install "polyvolta[cuda12]"   (the compiler alone, 90 MB, no GPU needed: '
    'pip install "nvidia-cuda-nvrtc-cu12==12.9.*")'
)
_INSTALL_13 = 'pip install "polyvolta[cuda13]"   (CUDA 12.9 has no compiler for it)'
_OF_12 = (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 103, 120, 121)  # of NVRTC 12.9
_OF_13_ALONE = (88, 110)
CHIPS = tuple(sorted(_OF_12 + _OF_13_ALONE))
"""The numbers of NVIDIA's architectures, from Maxwell on; greater ones than the last may come."""


def no_such_chip(arch: str) -> str:
    """That an architecture is none that NVIDIA made, as a hint with the nearest; "" where it is one, or may be.

    >>> no_such_chip("sm_81"), no_such_chip("sm_80")
    ('there is no such chip; the nearest are sm_80 and sm_86', '')
    """
    number, _ = parsed(arch)
    if number in CHIPS or number > CHIPS[-1]:
        return ""
    below = [f"sm_{c}" for c in CHIPS if c < number][-1:]
    near = [*below, next(f"sm_{c}" for c in CHIPS if c > number)]
    return f"there is no such chip; the nearest {'are' if below else 'is'} {' and '.join(near)}"


class _Kept(Record):
    """What may be kept for as long as somebody else has it."""

    __slots__ = ("__weakref__",)


@dataclass(frozen=True, slots=True)
class Cubin(_Kept):
    """Machine code for one GPU architecture.

    Attributes
    ----------
    image : the ELF file.
    arch : what it was compiled for, such as "sm_70".
    log : what NVRTC and ptxas said (ptxas ran with -v).
    """

    image: bytes = field(repr=False)
    arch: str
    log: str = field(repr=False)

    def resources(self, entry: str) -> Resources:
        """What the kernel `entry` takes, spills included; see `resources`."""
        return resources(self.image, entry, log=self.log)

    def _facts(self) -> list[tuple[str, object]]:
        return [("machine code for", self.arch), ("size", f"{len(self.image):,} bytes")]

    def _html(self) -> str:
        from polyvolta.display.page import block, facts, fold

        return facts(self._facts()) + fold("what NVRTC said", block(self.log, boxed=True))


# ---- the library -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Nvrtc:
    """One loaded libnvrtc: where it lies, its version (major, minor), the sm numbers it targets."""

    lib: ctypes.CDLL
    path: str
    version: tuple[int, int]
    targets: tuple[int, ...]

    @property
    def identity(self) -> str:
        """Which compiler this is: its version, and what tells builds of one version apart."""
        return f"NVRTC {self.version[0]}.{self.version[1]}, {_build(self.path)}"

    def check(self, status: int) -> None:
        """Raise on a status that isn't success; only a broken installation gets here."""
        if status:
            describe = self.lib.nvrtcGetErrorString
            describe.restype = ctypes.c_char_p
            raise CompileFailed(f"NVRTC at {self.path}: {describe(status).decode()}", hint=_INSTALL)

    def text(self, program: ctypes.c_void_p, what: str) -> bytes:
        """One of the outputs of a program ("CUBIN", "ProgramLog"), by its size and content functions."""
        size = ctypes.c_size_t()
        self.check(getattr(self.lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(size.value)
        self.check(getattr(self.lib, f"nvrtcGet{what}")(program, buffer))
        return buffer.raw


@cache
def _build(path: str) -> str:
    """What tells a library's builds apart: its size and a hash of 32 pages spread over it (all 100 MB take 0.1 s).

    A library that was found by the system's search has no path here: then nothing but its version is known.
    """
    try:
        size = os.path.getsize(path)
        digest = hashlib.sha256()
        with open(path, "rb", buffering=0) as file:
            for page in range(32):
                file.seek(max(size - 4096, 0) * page // 31)
                digest.update(file.read(4096))
    except OSError:
        return "build unknown"
    return f"{size} bytes, {digest.hexdigest()[:16]}"


def _files(folder: Path) -> list[str]:
    """The NVRTCs in a folder."""
    name = "nvrtc64_*0_0.dll" if sys.platform == "win32" else "libnvrtc.so.*"
    return [str(p) for p in sorted(folder.glob(name))] if folder.is_dir() else []


def _wheels(of: str, linux: str, windows: str) -> list[Path]:
    """The folders where NVIDIA's wheels `of` have their libraries."""
    inner = windows if sys.platform == "win32" else linux
    return [Path(p) / "nvidia" / of / inner for p in sys.path if p]


def _wheels_of_13() -> list[Path]:
    return _wheels("cu13", "lib", "bin/x86_64")


def _candidates() -> Iterator[str]:
    """Paths of installed NVRTCs: NVIDIA's wheels, CUDA 12 before 13; then conda's, then the toolkit's."""
    windows = sys.platform == "win32"
    homes = [os.environ.get(v, "") for v in ("CUDA_HOME", "CUDA_PATH")] + ["/usr/local/cuda"]
    folders = _wheels("cuda_nvrtc", "lib", "bin") + _wheels_of_13()
    folders += [Path(sys.prefix) / ("Library/bin" if windows else "lib")]
    folders += [Path(h) / ("bin" if windows else "lib64") for h in homes if h]
    for folder in folders:
        yield from _files(folder)
    if found := ctypes_util.find_library("nvrtc"):
        yield found


def _leave_others_theirs() -> None:
    """Load the NVRTC of CUDA 13's wheels, where there is one, before any other: NVIDIA's Python packages want it.

    They take for theirs what the process has loaded already, CUDA 13's before 12's. So without this, numba with CUDA 13
    would compile with our NVRTC 12.9 after we did, and for GPUs that only 13 knows not at all.
    """
    for folder in _wheels_of_13():
        for path in _files(folder):
            _load(path)


@cache
def _load(path: str) -> _Nvrtc | None:
    """Load one libnvrtc; None if the file doesn't load here or is older than what this module calls.

    NVRTC opens its library of built-in declarations by name while it compiles, and from CUDA 13 on it doesn't
    look beside itself; loaded beforehand, that library is found.
    """
    try:
        beside = Path(path).parent.glob("*nvrtc-builtins[._6]*") if os.path.isabs(path) else ()
        for builtins in sorted(beside):
            ctypes.CDLL(str(builtins))
        lib = ctypes.CDLL(path)
        major, minor, count = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        lib.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        lib.nvrtcGetNumSupportedArchs(ctypes.byref(count))
        archs = (ctypes.c_int * count.value)()
        lib.nvrtcGetSupportedArchs(archs)
    except (OSError, AttributeError):
        return None
    return _Nvrtc(lib, path, (major.value, minor.value), tuple(archs))


def _nvrtc_for(arch: str) -> _Nvrtc:
    """The first installed NVRTC that targets `arch`.

    Raises
    ------
    UnsupportedArch : `arch` isn't an architecture's name, or no installed NVRTC targets it.
    CompilerMissing : there is no NVRTC at all.
    """
    number, _ = parsed(arch)
    _leave_others_theirs()
    seen = []
    for nvrtc in filter(None, map(_load, _candidates())):
        if number in nvrtc.targets:
            return nvrtc
        seen.append(nvrtc)
    if not seen:
        raise CompilerMissing("NVRTC, the CUDA compiler library, isn't installed", hint=_INSTALL)
    where = "\n".join(
        f"NVRTC {n.version[0]}.{n.version[1]} at {n.path} targets " + ", ".join(f"sm_{t}" for t in n.targets)
        for n in seen
    )
    if none := no_such_chip(arch):
        raise UnsupportedArch(f"no GPU has the architecture {arch}", hint=none)
    volta = "; CUDA 12.9 is the last that targets Volta" if arch in ("sm_70", "sm_72") else ""
    hint = _INSTALL if number in _OF_12 else _INSTALL_13
    raise UnsupportedArch(f"no installed NVRTC targets {arch}{volta}", where=where, hint=hint)


# ---- compiling ---------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def compile_cubin(source: str, arch: str | None = None, *, name: str) -> Cubin:
    """Compile a self-contained CUDA C++ text for one architecture, or take it from the cache on disk.

    Parameters
    ----------
    source : the text; it may include nothing but what NVRTC has built in.
    arch : real architecture, such as "sm_70" or "sm_90a"; by default the default target's.
    name : what diagnostics call the text; `NAME.cu` there.

    Returns
    -------
    Cubin; the same object again for the same arguments (the last 256 are kept).

    Raises
    ------
    CompileFailed : the text is wrong; the error shows the lines, its `.log` has everything.
    UnsupportedArch : no installed NVRTC targets `arch`.
    CompilerMissing : NVRTC isn't installed.

    Notes
    -----
    Cost: about 150 ms for the first text of a process, then 30 ms for a small one and 250 ms for one with
    128 unrolled tensor-core instructions; 0.2 ms for one that `code_cache` has.
    """
    if arch is None:
        from polyvolta.cuda.target.registry import targets  # brings in numpy, for which who names one need not wait

        arch = targets.default
    nvrtc = _nvrtc_for(arch)
    cubin = _on_disk(nvrtc, source, arch, name)
    if cubin is None:
        options = _options(nvrtc, arch)
        cubin = Cubin(*_compile(nvrtc, source, options, f"{name}.cu", arch))
        code_cache.write(_key(nvrtc, source, options, name), cubin.image, cubin.log)
    _in_memory[source, arch, name] = cubin
    return cubin


_in_memory: WeakValueDictionary[tuple[str, str, str], Cubin] = WeakValueDictionary()
"""What `compile_cubin` returned and somebody still has, by its arguments."""


def known_cubin(source: str, arch: str, *, name: str) -> Cubin | None:
    """The machine code that `compile_cubin` has for these arguments without compiling; None where it would compile.

    Raises
    ------
    UnsupportedArch, CompilerMissing : as `compile_cubin` does.

    Notes
    -----
    Cost: 0.2 ms; some 30 ms for the first text of a process, for which NVRTC is loaded.
    """
    if (cubin := _in_memory.get((source, arch, name))) is not None:
        return cubin
    return _on_disk(_nvrtc_for(arch), source, arch, name)


def _on_disk(nvrtc: _Nvrtc, source: str, arch: str, name: str) -> Cubin | None:
    """The machine code that `code_cache` has."""
    found = code_cache.read(_key(nvrtc, source, _options(nvrtc, arch), name))
    return Cubin(found[0], arch, found[1]) if found is not None and is_for(found[0], arch) else None


def _options(nvrtc: _Nvrtc, arch: str) -> list[str]:
    """What NVRTC is called with."""
    options = [f"--gpu-architecture={arch}", "--std=c++17", "--ptxas-options=-v"]
    if nvrtc.version >= (12, 9):
        options.append("--no-cache")  # a cubin from the cache in ~/.nv comes without ptxas's log
    return options


def _key(nvrtc: _Nvrtc, source: str, options: list[str], name: str) -> bytes:
    """The name of machine code in `code_cache`."""
    return code_cache.key_of(name, source, *options, nvrtc.identity)


def _compile(nvrtc: _Nvrtc, source: str, options: list[str], file: str, arch: str) -> tuple[bytes, str, str]:
    """Run NVRTC: the cubin, its architecture, the log."""
    argv = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
    program = ctypes.c_void_p()
    nvrtc.check(nvrtc.lib.nvrtcCreateProgram(ctypes.byref(program), source.encode(), file.encode(), 0, None, None))
    try:
        status = nvrtc.lib.nvrtcCompileProgram(program, len(options), argv)
        log = nvrtc.text(program, "ProgramLog").rstrip(b"\0\n").decode(errors="replace")
        if status:
            where, count = _offending_lines(source, file, log)
            errors = "an error" if count == 1 else f"{count} errors" if count else "errors"
            raise CompileFailed(
                f"{file} has {errors} for {arch}",
                where=where or _few(log.splitlines()),
                log=log,
                hint="the whole log is in the error's .log",
            )
        return nvrtc.text(program, "CUBIN"), arch, log
    finally:
        nvrtc.lib.nvrtcDestroyProgram(ctypes.byref(program))


def _offending_lines(source: str, file: str, log: str, most: int = 5) -> tuple[str, int]:
    """The first `most` errors of a log, each under the line it's about, and how many there are.

    What is said of several lines that read the same stands there once, with their number.
    """
    errors = re.findall(rf"^{re.escape(file)}\((\d+)\): ((?:catastrophic )?error.*)$", log, re.MULTILINE)
    lines = source.splitlines()
    same: dict[tuple[str, str], list[int]] = {}
    for number, message in errors:
        text = lines[int(number) - 1] if int(number) <= len(lines) else ""
        same.setdefault((text, message), []).append(int(number))
    shown = []
    for (text, message), at in list(same.items())[:most]:
        times = f"   ({len(at)} times, the last in line {at[-1]})" if len(at) > 1 else ""
        shown.append(f"{at[0]:4} | {text}\n     ^ {message}{times}")
    left = sum(len(at) for at in list(same.values())[most:])
    if left:
        shown.append(f"and {left} more")
    return "\n".join(shown), len(errors)


def _few(lines: Iterable[str], most: int = 8) -> str:
    """The first `most` lines, of those that say the same of different places one with their number.

    >>> print(_few(["k.ptx, line 3; error : no such thing", "k.ptx, line 9; error : no such thing", "done"]))
    k.ptx, line 3; error : no such thing   (2 times)
    done
    """
    first: dict[str, str] = {}
    times: Counter[str] = Counter()
    for line in lines:
        what = re.sub(r"\bline \d+|\(\d+\)", "", line)
        first.setdefault(what, line)
        times[what] += 1
    shown = [line + (f"   ({times[what]} times)" if times[what] > 1 else "") for what, line in first.items()]
    return "\n".join(shown[:most] + [f"and {len(shown) - most} lines more"] * (len(shown) > most))
