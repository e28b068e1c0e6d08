"""From CUDA C++ text to a cubin, and what a cubin says about itself.

NVRTC is NVIDIA's compiler as a shared library. It needs no toolkit, no driver and no GPU: on any machine it
turns a self-contained text into a cubin, the ELF file of one GPU's machine code that drivers load as it is.
A cubin for a Volta can so be built, and its registers counted, on a laptop. The library's C interface is a
dozen functions, so it's called through `ctypes`: neither the Python bindings nor their version matter, and
NVRTC 12.9, the last that targets Volta (sm_70), can serve beside anything made for CUDA 13. Of several
installed NVRTCs the oldest that targets the architecture compiles, because a driver loads the cubins of
toolkits older than itself, and not always those of newer ones.

What decides how a kernel runs, its registers, its shared memory, and whether some registers had to be spilled
to memory, is read from two places. The ELF file has, for every kernel, a section of attributes (`.nv.info`,
with register count and stack frame) and a section as large as the static shared memory (`.nv.shared.NAME`).
Bytes of spill code are only in the log that ptxas, the assembler inside NVRTC, writes with `-v`.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import struct
import sys
from collections.abc import Iterator
from ctypes import util as ctypes_util
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

from polyvolta.cuda.errors import BadImage, CompileFailed, CompilerMissing, UnsupportedArch
from polyvolta.cuda.run import cubin_cache

_INSTALL = (
    'pip install "polyvolta[cuda12]"   (the compiler alone, 90 MB, no GPU needed: '
    'pip install "nvidia-cuda-nvrtc-cu12==12.9.*")'
)


@dataclass(frozen=True, slots=True)
class Resources:
    """What one kernel takes of the machine.

    Attributes
    ----------
    registers : 32-bit registers a thread.
    shared_bytes : static shared memory a block, in bytes, without the 1024 that drivers add from sm_80 on.
    local_bytes : stack frame a thread, in bytes: spilled registers and arrays indexed at run time. 0 is good.
    spill_stores, spill_loads : bytes of spill code a thread, counted once an instruction; None if the
        compiler's log isn't at hand, since the cubin itself doesn't say.
    constant_bytes : constant bank 0, in bytes: the launch parameters behind a fixed header.
    """

    registers: int
    shared_bytes: int
    local_bytes: int
    spill_stores: int | None = None
    spill_loads: int | None = None
    constant_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Cubin:
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
    match = re.fullmatch(r"sm_(\d+)[af]?", arch)
    if match is None:
        raise UnsupportedArch(f"{arch!r} is no GPU architecture", hint="write it as 'sm_70' or 'sm_90a'")
    _leave_others_theirs()
    seen = []
    for nvrtc in filter(None, map(_load, _candidates())):
        if int(match[1]) in nvrtc.targets:
            return nvrtc
        seen.append(nvrtc)
    if not seen:
        raise CompilerMissing("NVRTC, the CUDA compiler library, isn't installed", hint=_INSTALL)
    where = "\n".join(
        f"NVRTC {n.version[0]}.{n.version[1]} at {n.path} targets " + ", ".join(f"sm_{t}" for t in n.targets)
        for n in seen
    )
    volta = "; CUDA 12.9 is the last that targets Volta" if arch in ("sm_70", "sm_72") else ""
    raise UnsupportedArch(f"no installed NVRTC targets {arch}{volta}", where=where, hint=_INSTALL)


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
    128 unrolled tensor-core instructions; 0.2 ms for one that `cubin_cache` has.
    """
    if arch is None:
        from polyvolta.cuda.target.registry import targets  # brings in numpy, for which who names one need not wait

        arch = targets.default
    nvrtc = _nvrtc_for(arch)
    options = [f"--gpu-architecture={arch}", "--std=c++17", "--ptxas-options=-v"]
    if nvrtc.version >= (12, 9):
        options.append("--no-cache")  # a cubin from the cache in ~/.nv comes without ptxas's log
    key = cubin_cache.key_of(name, source, *options, nvrtc.identity)
    if (found := cubin_cache.read(key)) is not None:
        return Cubin(found[0], arch, found[1])
    cubin = Cubin(*_compile(nvrtc, source, options, f"{name}.cu", arch))
    cubin_cache.write(key, cubin.image, cubin.log)
    return cubin


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
                where=where or log,
                log=log,
                hint="the whole log is in the error's .log",
            )
        return nvrtc.text(program, "CUBIN"), arch, log
    finally:
        nvrtc.lib.nvrtcDestroyProgram(ctypes.byref(program))


def _offending_lines(source: str, file: str, log: str, most: int = 5) -> tuple[str, int]:
    """The first `most` errors of a log, each under the line it's about, and how many there are."""
    errors = re.findall(rf"^{re.escape(file)}\((\d+)\): ((?:catastrophic )?error.*)$", log, re.MULTILINE)
    lines = source.splitlines()
    shown = []
    for number, message in errors[:most]:
        text = lines[int(number) - 1] if int(number) <= len(lines) else ""
        shown.append(f"{int(number):4} | {text}\n     ^ {message}")
    if len(errors) > most:
        shown.append(f"and {len(errors) - most} more")
    return "\n".join(shown), len(errors)


# ---- reading a cubin ---------------------------------------------------------------------------------------

_NOBITS = 8  # sh_type of a section without content
_REGCOUNT, _FRAME_SIZE = 0x2F, 0x11  # EIATTR_*: payload (symbol, value), 32 bits each
_RESERVED = 1024  # bytes at the start of .nv.shared.NAME that are the driver's, from sm_90 on


@dataclass(frozen=True, slots=True)
class _Section:
    """A section of an ELF64 file: name, size in bytes, sh_info, content (empty for NOBITS)."""

    name: str
    size: int
    info: int
    content: bytes


def _sections(image: bytes) -> tuple[_Section, ...]:
    """The sections of an ELF64 little-endian file, in order."""
    if image[:6] != b"\x7fELF\x02\x01":
        raise BadImage("these bytes are no cubin, an ELF file of 64 bits", hint="compile_cubin(...).image is")
    try:
        (start,) = struct.unpack_from("<Q", image, 0x28)
        entry_size, count, names_at = struct.unpack_from("<3H", image, 0x3A)
        # sh_name, sh_type, sh_flags, sh_addr, sh_offset, sh_size, sh_link, sh_info
        heads = [struct.unpack_from("<2I4Q2I", image, start + i * entry_size) for i in range(count)]
        names = heads[names_at][4]
        return tuple(
            _Section(
                name=_c_string(image, names + name),
                size=size,
                info=info,
                content=b"" if kind == _NOBITS else image[offset : offset + size],
            )
            for name, kind, _, _, offset, size, _, info in heads
        )
    except (struct.error, IndexError, ValueError) as wrong:
        raise BadImage("this cubin is cut off or damaged", hint="compile it again") from wrong


def _c_string(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()


def _symbol_names(sections: dict[str, _Section]) -> list[str]:
    """The names of the symbol table, by index."""
    table, strings = sections[".symtab"].content, sections[".strtab"].content
    return [_c_string(strings, name) for name, *_ in struct.iter_unpack("<IBBHQQ", table)]


def _attributes(info: bytes) -> Iterator[tuple[int, bytes]]:
    """The (attribute, payload) pairs of an `.nv.info` section.

    Each starts with a format and an attribute byte. Format 4 has a size of 16 bits and then so many bytes;
    the other formats have 16 bits of value in place of the size.
    """
    at = 0
    while at + 4 <= len(info):
        form, attribute, value = struct.unpack_from("<BBH", info, at)
        size = value if form == 4 else 0
        yield attribute, info[at + 4 : at + 4 + size]
        at += 4 + size


def resources(image: bytes, entry: str, *, log: str = "") -> Resources:
    """What a kernel takes of the machine, read from its cubin.

    Parameters
    ----------
    image : the cubin.
    entry : the kernel's name in it (its name in the text, for an `extern "C"` kernel).
    log : the log of its compilation, for the bytes of spill code; `Cubin.resources` passes its own.

    Raises
    ------
    BadImage : `image` is no cubin, or has no such kernel (the error names those it has).
    """
    sections = {s.name: s for s in _sections(image)}
    text = sections.get(f".text.{entry}")
    if text is None:
        kernels = [name.removeprefix(".text.") for name in sections if name.startswith(".text.")]
        raise BadImage(f"no kernel {entry!r} in this cubin", hint="it has " + (", ".join(kernels) or "none"))
    names = _symbol_names(sections)
    values = {
        attribute: struct.unpack("<2I", payload)[1]
        for attribute, payload in _attributes(sections[".nv.info"].content)
        if len(payload) == 8 and names[struct.unpack("<2I", payload)[0]] == entry
    }
    shared = sections.get(f".nv.shared.{entry}")
    reserved = _RESERVED if ".nv.shared.reserved.0" in sections else 0
    constant = sections.get(f".nv.constant0.{entry}")
    spills = re.search(
        rf"Function properties for {re.escape(entry)}\s.*?(\d+) bytes spill stores, (\d+) bytes spill loads",
        log,
        re.DOTALL,
    )
    return Resources(
        registers=values.get(_REGCOUNT, text.info >> 24),
        shared_bytes=shared.size - reserved if shared else 0,
        local_bytes=values.get(_FRAME_SIZE, 0),
        spill_stores=int(spills[1]) if spills else None,
        spill_loads=int(spills[2]) if spills else None,
        constant_bytes=constant.size if constant else 0,
    )
