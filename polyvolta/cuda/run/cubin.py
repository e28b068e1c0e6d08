"""What a cubin says about itself: for which architecture it is, and what its kernels take of the machine.

What decides how a kernel runs, its registers, its shared memory, and whether some registers had to be spilled
to memory, is read from two places. The ELF file has, for every kernel, a section of attributes (`.nv.info`,
with register count and stack frame) and a section as large as the static shared memory (`.nv.shared.NAME`).
Bytes of spill code are only in the log that ptxas, the assembler inside NVRTC, writes with `-v`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from polyvolta.cuda.errors import BadImage
from polyvolta.display.shown import Record

_NOBITS = 8  # sh_type of a section without content
_CUDA, _SHIFTED = 190, 8  # e_machine of a cubin; the version of its ABI from which flags are laid out differently
_REGCOUNT, _FRAME_SIZE = 0x2F, 0x11  # EIATTR_*: payload (symbol, value), 32 bits each
_RESERVED = 1024  # bytes at the start of .nv.shared.NAME that are the driver's, from sm_90 on


@dataclass(frozen=True, slots=True)
class Resources(Record):
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

    def of_a_thread(self, registers: int | None = None) -> list[tuple[str, str]]:
        """What a thread takes, in words: registers, of so many that there are, spills, local memory.

        >>> Resources(128, 0, 0, 0, 0).of_a_thread(255)
        [('registers', '128 a thread, of 255'), ('spills', 'none'), ('local memory', 'none')]
        """
        most = "" if registers is None else f", of {registers}"
        spills = "none"
        if self.spill_stores is None or self.spill_loads is None:
            spills = "not known"
        elif self.spill_stores or self.spill_loads:
            spills = f"{self.spill_stores} bytes stored, {self.spill_loads} loaded"
        return [("registers", f"{self.registers} a thread{most}"), ("spills", spills),
                ("local memory", f"{self.local_bytes} bytes a thread" if self.local_bytes else "none")]  # fmt: skip

    def _facts(self) -> list[tuple[str, object]]:
        return [*self.of_a_thread(), ("shared memory", f"{self.shared_bytes:,} bytes a block"),
                ("constant bank 0", f"{self.constant_bytes} bytes")]  # fmt: skip

    def _title(self) -> str:
        return "what machine code takes"


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


def arch_of(image: bytes) -> str:
    """The architecture that a cubin was compiled for, such as "sm_80", by its ELF header.

    The flags have its number in the lowest byte, and in files of newer toolkits in the next one; a bit says that it is
    of one GPU alone (`sm_90a`).

    Raises
    ------
    BadImage : `image` is no cubin.
    """
    if image[:6] != b"\x7fELF\x02\x01" or len(image) < 0x40:
        raise BadImage("these bytes are no cubin, an ELF file of 64 bits", hint="compile_cubin(...).image is")
    machine, version = struct.unpack_from("<H", image, 0x12)[0], image[8]
    (flags,) = struct.unpack_from("<I", image, 0x30)
    if machine != _CUDA:
        raise BadImage("this ELF file is no cubin, but for another machine", hint="compile_cubin(...).image is")
    number, own = (flags & 0xFF, flags & 0x800) if version < _SHIFTED else (flags >> 8 & 0xFF, flags & 0x8)
    return f"sm_{number}{'a' if own else ''}"


def is_for(image: bytes, arch: str) -> bool:
    """Whether bytes are a cubin for an architecture; a family's (`sm_100f`) is one of its first member."""
    try:
        return arch_of(image) == arch.removesuffix("f")
    except BadImage:
        return False


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
