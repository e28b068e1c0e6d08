"""Architectures by name, and which GPU runs what was made for which.

A kernel's text names an architecture whose instructions it uses, `sm_80`. Instructions stay: any later GPU runs the
text, compiled for itself. Those of a name with a letter do not: `sm_90a` is of that GPU alone, `sm_100f` of its family.
Machine code is for one architecture and later ones of its family at best; it is compiled for the GPU at hand.

What the GPU at hand is, is asked of the driver itself: its library is loaded by name, which costs nothing where there
is none, and needs neither numba nor NVIDIA's Python packages.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from typing import Any

from polyvolta.cuda.errors import UnsupportedArch
from polyvolta.sets.errors import nearest

_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
AUTO = "auto"


@cache
def parsed(arch: str) -> tuple[int, str]:
    """Number and letter of an architecture's name.

    Raises
    ------
    UnsupportedArch : it is none.

    >>> parsed("sm_80"), parsed("sm_90a")
    ((80, ''), (90, 'a'))
    """
    match = re.fullmatch(r"sm_(\d+)([af]?)", arch)
    if match is None:
        raise UnsupportedArch(f"{arch!r} is no GPU architecture", hint="write it as 'sm_70' or 'sm_90a'")
    return int(match[1]), match[2]


def runs_on(made_for: str, gpu: str) -> bool:
    """Whether a GPU runs text for an architecture.

    >>> [runs_on("sm_80", gpu) for gpu in ("sm_75", "sm_80", "sm_86", "sm_120")]
    [False, True, True, True]
    >>> runs_on("sm_90a", "sm_90"), runs_on("sm_90a", "sm_100"), runs_on("sm_100f", "sm_103")
    (True, False, True)
    """
    (wanted, letter), (number, _) = parsed(made_for), parsed(gpu)
    if letter == "a":
        return number == wanted
    return number >= wanted and (letter != "f" or number // 10 == wanted // 10)


def code_runs_on(code: str, gpu: str) -> bool:
    """Whether a GPU runs machine code for an architecture: an earlier one of its own generation, or its own.

    >>> [code_runs_on("sm_80", gpu) for gpu in ("sm_80", "sm_86", "sm_90")], code_runs_on("sm_90a", "sm_90")
    ([True, True, False], True)
    """
    return runs_on(code, gpu) and parsed(code)[0] // 10 == parsed(gpu)[0] // 10


def code_for(made_for: str, gpu: str) -> str:
    """What text for an architecture is compiled for, so that a GPU that runs it runs the code: the GPU's own, by the
    letter of the text's, without which the compiler has not all instructions.

    >>> code_for("sm_80", "sm_90"), code_for("sm_90a", "sm_90"), code_for("sm_100f", "sm_103")
    ('sm_90', 'sm_90a', 'sm_103f')
    """
    letter = parsed(made_for)[1]
    return gpu if parsed(gpu)[1] else gpu + letter


def newest_for(gpu: str, names: Iterable[str]) -> str | None:
    """Of some architectures the newest whose text a GPU runs; of one number the one with a letter.

    >>> newest_for("sm_86", ["sm_70", "sm_75", "sm_80", "sm_90"]), newest_for("sm_61", ["sm_70"])
    ('sm_80', None)
    """
    return max((name for name in names if runs_on(name, gpu)), key=parsed, default=None)


CHIPS = {chip: arch for arch, chips in {
    "sm_70": "volta v100 titanv", "sm_75": "turing t4 rtx20", "sm_80": "ampere a100 a30 a800",
    "sm_86": "a2 a10 a10g a16 a40 a6000 rtx30", "sm_89": "ada lovelace l4 l40 l40s rtx40",
    "sm_90": "hopper h20 h100 h200 h800 gh200", "sm_100": "blackwell b200 gb200", "sm_120": "rtx50",
}.items() for chip in chips.split()}  # fmt: skip
"""What people call chips and their families; of those for games by their series."""


def called(name: str) -> str:
    """The architecture of a chip, a family or a number, as people and drivers write them; else the name itself.

    >>> called("NVIDIA H100 80GB HBM3"), called("sm90"), called("compute_80"), called("8.6"), called("RTX 3090")
    ('sm_90', 'sm_90', 'sm_80', 'sm_86', 'sm_86')
    >>> called("RTX 2000 Ada"), called("Quadro RTX 4000"), called("mi300")
    ('sm_89', 'Quadro RTX 4000', 'mi300')
    """
    if number := re.fullmatch(r"(?:sm|compute|cc)?(\d{2,3}[af]?)", _plain(name)):
        return f"sm_{number[1]}"
    return CHIPS.get(_chip(name), name)


def _plain(name: str) -> str:
    """A name without what stands between its letters, and without its maker's."""
    return re.sub(r"[^a-z0-9]", "", name.lower()).removeprefix("nvidia").removeprefix("geforce")


def _chip(name: str) -> str:
    """A chip as `CHIPS` has it, "" of one that it hasn't; behind its name there may be how it is built in."""
    plain = _plain(name)
    series = re.sub(r"^(rtx\d0)[5-9]0.*$", r"\1", plain)
    return next((x for x in (plain, series, *re.findall(r"[a-z0-9]+", name.lower())) if x in CHIPS), "")


def instead(name: str, names: Iterable[str]) -> str:
    """What to take of some architectures in the place of another name: what a GPU of that name runs, or the nearest.

    >>> print(*(instead(name, ["sm_70", "sm_80", "sm_90a"]) for name in ("sm_86", "H100", "sm_60")), sep="\\n")
    take 'sm_80': its kernels run on sm_86, too
    take 'sm_90a': its kernels are for sm_90
    no target's kernels run on sm_60; known: sm_70, sm_80, sm_90a, auto
    """
    names = list(names)
    known = [*names, AUTO]
    near = nearest(name, known)
    if not near.startswith("did you mean") or _chip(name):
        name = called(name)
    with suppress(UnsupportedArch):
        older = newest_for(name, names)
        if older is None:
            return f"no target's kernels run on {name}; known: {', '.join(known)}"
        same = parsed(older)[0] == parsed(name)[0]
        return f"take {older!r}: its kernels {f'are for {name}' if same else f'run on {name}, too'}"
    return near


def gpu_at_hand() -> str | None:
    """The architecture of the GPU whose context is current, else of the first one; None without a GPU or its driver.

    Cost: the driver's start, once a process, some tenths of a second; without a driver some microseconds.
    """
    driver = _driver()
    if driver is None:
        return None
    device, count = ctypes.c_int(), ctypes.c_int()
    if driver.cuCtxGetDevice(ctypes.byref(device)):  # there is no context
        if driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
            return None
        if driver.cuDeviceGet(ctypes.byref(device), 0):
            return None
    numbers = []
    for attribute in (_MAJOR, _MINOR):
        value = ctypes.c_int()
        if driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, device):
            return None
        numbers.append(value.value)
    return "sm_{}{}".format(*numbers)


@cache
def _driver() -> Any:
    """The driver's library, started; None where there is none, or it doesn't start."""
    try:
        library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        return None if library.cuInit(0) else library
    except (OSError, AttributeError):
        return None
