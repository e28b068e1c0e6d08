"""The GPUs whose figures come with the package, and which of them a kernel is made for.

Multiprocessors, clocks, caches and rates are those of NVIDIA's data sheets, whitepapers and the CUDA C++ Programming
Guide, the clock being the one at which the data sheet's tensor rate holds. L2 bandwidths are of published
micro-benchmarks, where there are some, else 64 bytes a cycle for each multiprocessor, less what such benchmarks leave
of it. Only a chip whose `source` says "measured" has fitted figures of its own; the others' are those of the nearest
chip that was measured, in seconds and shares, and order tilings by what differs in the data sheets.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from polyvolta.cuda import arch
from polyvolta.cuda.devices import gpu_here
from polyvolta.cuda.target.chips.chip import DATA_SHEET, BadChip, Chip, Fitted
from polyvolta.sets.errors import PolyvoltaError

if TYPE_CHECKING:
    from polyvolta.cuda.target.target import Target

KIB, MIB = 1024, 1024**2
_GPCS = 16, 16, 16, 16, 16, 16, 18, 18
"""Multiprocessors of the groups of an H100 or H200 (SXM), as most of them are."""
OF_BOXES = Fitted(
    launch=1.38e-6, block=0.709e-6, latency=0.37e-6, trip=1e-9, finish=0.389e-9, piece=46.5e-9, operand=143e-9,
    single=33.1e-9, store=0.882, meet=0.423e-6, together=23e-9, exchange=0.0848, prologue=18.9e-9, rewrite=5.68e-9,
    strip=32.3e-9, back=135e-9, crowd=0.112, outside=9.01e12, far=1.55, ragged=2.67, tensor=1.0, shared=1.32, l2=3.41,
    dram=0.94, power=0.315, sharp=7.93,
)  # fmt: skip
"""Of an H200, by `benchmarks/model.py --fit`; shares above 1 say that a rate is more than the data sheet's, as where
neighbours ask L2 for the same lines."""
OF_COPIES = Fitted()
THROUGH_REGISTERS = Fitted()


def _chip(
    name: str, architecture: str, multiprocessors: int, ghz: float, rate: float, shared: int, l2: float, *,
    l2_tb: float, dram_gb: float, scope: str = "warp", fitted: Fitted = OF_COPIES, source: str = DATA_SHEET,
    warpgroups: float = 0, neighbours: tuple[int, ...] = (),
) -> Chip:  # fmt: skip
    """A chip of round figures: GHz, KiB of shared memory, MiB and TB/s of L2, GB/s of DRAM."""
    rates = ((scope, float(rate)), *((("warpgroup", float(warpgroups)),) if warpgroups else ()))
    return Chip(name, architecture, multiprocessors, ghz * 1e9, rates, shared * KIB, int(l2 * MIB), l2_tb * 1e12,
                dram_gb * 1e9, neighbours=neighbours, warps=fitted, warpgroups=OF_BOXES, source=source)  # fmt: skip


_HOPPER = {"shared": 227, "l2": 50, "l2_tb": 7.0, "warpgroups": 2048, "neighbours": _GPCS}
_KNOWN = (
    _chip("V100", "sm_70", 80, 1.53, 512, 96, 6, l2_tb=2.5, dram_gb=900, scope="quad-pair", fitted=THROUGH_REGISTERS),
    _chip("T4", "sm_75", 40, 1.25, 512, 64, 4, l2_tb=1.3, dram_gb=320, fitted=THROUGH_REGISTERS),
    _chip("RTX 2080 Ti", "sm_75", 68, 1.545, 256, 64, 5.5, l2_tb=2.0, dram_gb=616, fitted=THROUGH_REGISTERS),
    _chip("A100", "sm_80", 108, 1.41, 1024, 163, 40, l2_tb=4.5, dram_gb=1555),
    _chip("A10", "sm_86", 72, 1.695, 512, 99, 6, l2_tb=2.5, dram_gb=600),
    _chip("A40", "sm_86", 84, 1.74, 512, 99, 6, l2_tb=3.0, dram_gb=696),
    _chip("RTX 3090", "sm_86", 82, 1.695, 256, 99, 6, l2_tb=2.8, dram_gb=936),
    _chip("L4", "sm_89", 58, 2.04, 512, 99, 48, l2_tb=2.5, dram_gb=300),
    _chip("L40S", "sm_89", 142, 2.52, 512, 99, 96, l2_tb=5.5, dram_gb=864),
    _chip("RTX 4090", "sm_89", 128, 2.52, 256, 99, 72, l2_tb=5.5, dram_gb=1008),
    _chip("H100", "sm_90", 132, 1.98, 1300, dram_gb=3350, **_HOPPER),
    _chip("H200", "sm_90", 132, 1.98, 1300, dram_gb=4800, source="measured", **_HOPPER),
)
chips: dict[str, Chip] = {chip.name: chip for chip in _KNOWN}
"""By name, those that come with the package."""
REFERENCE = {"sm_70": "V100", "sm_75": "T4", "sm_80": "A100", "sm_90a": "H200"}
"""The chips that a target's kernels are made for, where nothing is known of the GPU at hand."""


def chip_of(target: Target, device_name: str | None = None) -> Chip:
    """The chip that a target's kernels are made for: the GPU at hand if it is known and runs them, else the target's.

    What `polyvolta calibrate` has kept of the GPU at hand goes before what comes with the package.

    Parameters
    ----------
    device_name : a GPU's name, as its driver has it, or a part of it; None: that of the GPU at hand.

    >>> from polyvolta.cuda.target.registry import targets
    >>> chip_of(targets["sm_80"], "NVIDIA H200").name, chip_of(targets["sm_90a"], "NVIDIA A100-SXM4-80GB").name
    ('H200', 'H200')
    """
    if device_name is None:
        at_hand = gpu_here()
        device_name = at_hand.name if at_hand else ""
    found = _named(device_name)
    if found is not None and arch.runs_on(target.name, found.architecture):
        return found
    return chips[REFERENCE[target.name]] if target.name in REFERENCE else _nearest(target)


def _named(device_name: str) -> Chip | None:
    """The chip that a device is; one kept before one of the package of the same name."""
    known = {**chips, **kept()}
    found = [name for name in known if is_named(device_name, name)]
    return known[max(found, key=len)] if found else None


def is_named(device_name: str, name: str) -> bool:
    """Whether a device's name, as its driver has it, has a chip's name in it as a word.

    >>> [is_named(d, "A10") for d in ("NVIDIA A10", "NVIDIA A100-SXM4-80GB", "NVIDIA A10G")]
    [True, False, False]
    """
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", device_name) is not None


def _nearest(target: Target) -> Chip:
    """The newest reference chip that runs a target's kernels, else that of the newest target."""
    of = [chips[name] for name in REFERENCE.values()]
    return next((c for c in reversed(of) if arch.runs_on(target.name, c.architecture)), of[-1])


@cache
def kept() -> dict[str, Chip]:
    """The chips that `keep` has written on this computer; none where there is no such file, or one of something else,
    or the cache is switched off."""
    from polyvolta.sets.code_cache import folder, limit

    try:
        if not limit():
            return {}
        data = json.loads((folder() / FILE).read_text())
        return {chip.name: chip for chip in map(Chip.from_data, data)}
    except (OSError, RuntimeError, ValueError, TypeError, BadChip):
        return {}


FILE = "chips.json"
ELSEWHERE = "POLYVOLTA_CACHE_DIR names another folder"


class NotKept(PolyvoltaError):
    """Figures of a chip that can't be kept: the cache is switched off, or its folder can't be written."""

    id = "PV583"


def keepable() -> Path:
    """The file that `keep` writes, in a folder that may be written.

    Raises
    ------
    NotKept : there is none.
    BadCacheSize : see `code_cache.limit`.
    """
    from polyvolta.sets.code_cache import folder, limit

    if not limit():
        raise NotKept("figures aren't kept: the cache is switched off", hint="POLYVOLTA_CACHE_SIZE=256M, or unset")
    try:
        path = folder() / FILE
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as wrong:
        raise NotKept(f"figures can't be kept in {folder()}: {wrong.strerror}", hint=ELSEWHERE) from wrong
    except RuntimeError as wrong:  # of a user without a home
        raise NotKept(f"figures can't be kept: {wrong}", hint=ELSEWHERE) from wrong
    if not os.access(path.parent, os.W_OK):
        raise NotKept(f"figures can't be kept: {path.parent} can't be written", hint=ELSEWHERE)
    return path


def keep(chip: Chip) -> str:
    """Write a chip beside those kept before, in the cache's folder; the file's name.

    Raises
    ------
    NotKept : it can't be written, or the cache is switched off.
    """
    path = keepable()
    kept.cache_clear()  # another process may have kept some
    known = {**kept(), chip.name: chip}
    try:
        with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".tmp", delete=False) as new:
            new.write(json.dumps([c.as_data() for c in known.values()], indent=1))
        Path(new.name).replace(path)
    except OSError as wrong:
        raise NotKept(f"{path} can't be written: {wrong.strerror}", hint=ELSEWHERE) from wrong
    kept.cache_clear()
    return str(path)
