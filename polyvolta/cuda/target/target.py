"""Targets: what a GPU architecture allows, as data.

Limits are per block or thread, from the CUDA C++ Programming Guide's table of compute capabilities; how many
multiprocessors there are is the architecture's first product's, from its whitepaper (V100).
"""

from __future__ import annotations

from dataclasses import dataclass

from polyvolta.cuda.errors import CudaError
from polyvolta.sets import nearest


class UnknownTarget(CudaError, ValueError):
    """No target, or no macro-MMA of a target, of that name."""

    id = "PV514"


@dataclass(frozen=True, slots=True)
class Target:
    """An architecture.

    Parameters
    ----------
    name : for the compiler, e.g. "sm_70".
    threads : most threads of a block.
    registers : most 32-bit registers of a thread.
    block_registers : registers that a block's threads share.
    shared_bytes : most shared memory of a block.
    grid : most blocks along x, y and z.
    macro_mmas : names of the macro-MMAs that its instructions make.
    multiprocessors : of a GPU; a grid of fewer blocks leaves some without work.
    """

    name: str
    threads: int
    registers: int
    block_registers: int
    shared_bytes: int
    grid: tuple[int, int, int]
    macro_mmas: tuple[str, ...]
    multiprocessors: int


TARGETS = {
    "sm_70": Target(
        name="sm_70",
        threads=1024,
        registers=255,
        block_registers=65536,
        shared_bytes=96 * 1024,
        grid=(2**31 - 1, 65535, 65535),
        macro_mmas=("m16n16k8", "m32n32k8"),
        multiprocessors=80,
    )
}


def target_of(name: str | Target) -> Target:
    """The target of a name.

    Raises
    ------
    UnknownTarget : suggests the nearest name.

    >>> target_of("sm_70").shared_bytes
    98304
    """
    if isinstance(name, Target):
        return name
    if name not in TARGETS:
        raise UnknownTarget(f"no target is called {name!r}", hint=nearest(str(name), TARGETS))
    return TARGETS[name]
