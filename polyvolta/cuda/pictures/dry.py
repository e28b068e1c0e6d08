"""A kernel's control without its data: every operation that some blocks take, with the places that it names.

The lockstep machine runs the program with operations that do nothing, so that no arrays are needed, and gives out the
steps: what a picture shows is what the interpreter would do, in its order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from polyvolta.cuda.ir.kernel_ir import KernelIR, Loop
from polyvolta.cuda.ir.walk import walk
from polyvolta.cuda.machine.machine import Machine
from polyvolta.cuda.machine.operations import EFFECTS
from polyvolta.cuda.machine.reach import Reaches
from polyvolta.cuda.pictures.errors import BadPicture, NotInKernel
from polyvolta.sets import PolyvoltaError, nearest
from polyvolta.sets.errors import kind_of

LARGEST = 2**31 - 1
GENEROUS = 512  # sizes for which every operation on shared memory is reached


def ir_of(kernel: Any, wanted: str = "a kernel") -> KernelIR:
    """The IR of a kernel, or the IR itself.

    Raises
    ------
    BadPicture : it is neither.
    """
    ir = getattr(kernel, "ir", kernel)
    if not isinstance(ir, KernelIR):
        several = hasattr(kernel, "variants")
        hint = "each of its variants is one: kernel.variants[0]" if several else "pv.compile(...) makes a kernel"
        raise BadPicture(f"{kind_of(kernel)} where {wanted} should be", hint=hint)
    return ir


class DryMachine(Machine):
    """Blocks of a kernel that compute nothing; between steps `values` has the names' values.

    Attributes
    ----------
    refused : what was wrong with places that have been asked for, and of which threads; such threads take no part.
    """

    computes = False
    refused: list[tuple[PolyvoltaError, np.ndarray | None]]

    @property
    def loop_names(self) -> tuple[str, ...]:
        """The variables of all loops, in program order."""
        return tuple(dict.fromkeys(s.var for _, s in walk(self.ir.body) if isinstance(s, Loop)))

    def value(self, name: str) -> int:
        """What a name is now, for the first thread of the first block."""
        return int(np.ravel(self.values[name])[0])


def dry_machine(ir: KernelIR, sizes: Mapping[str, int], blocks: Any = ((0,), (0,), (0,))) -> DryMachine:
    """Some blocks of a kernel.

    Parameters
    ----------
    sizes : all of them.
    blocks : [3, block]: blockIdx.x, .y, .z.
    """
    values = {**sizes, **dict.fromkeys(ir.scalars, np.float32(0))}
    refused: list[tuple[PolyvoltaError, np.ndarray | None]] = []

    def note(_: Machine, wrong: PolyvoltaError, threads: np.ndarray | None) -> bool:
        refused.append((wrong, threads))
        return True

    made = DryMachine(ir, {}, values, np.asarray(blocks), dict.fromkeys(EFFECTS, _nothing), faults=note)
    made.refused = refused
    return made


def _nothing(*_: Any) -> Reaches:
    return ()


def all_sizes(ir: KernelIR, given: Mapping[str, int], default: int) -> dict[str, int]:
    """A number for each size: what is given, else a default, or the next number above that the kernel allows.

    Raises
    ------
    NotInKernel : a size that the kernel doesn't have.
    BadPicture : a number that it doesn't allow.
    """
    least, multiple = {n: ir.ranges.get(n, (0, None))[0] for n in ir.sizes}, dict(ir.context)
    for name, value in given.items():
        if name not in ir.sizes:
            raise NotInKernel(
                f"{ir.name} has no size {name!r}", hint=nearest(name, ir.sizes) or "all its sizes are numbers"
            )
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least[name] <= value <= LARGEST:
            raise BadPicture(f"the size {name} is a whole number, at least {least[name]}, not {value!r}")
        if value % multiple.get(name, 1):
            raise BadPicture(f"{name} = {value} isn't a multiple of {multiple[name]}, as {ir.name} requires")
    usual = {n: max(default, least[n]) for n in ir.sizes}
    return {n: int(given.get(n, -(-usual[n] // multiple.get(n, 1)) * multiple.get(n, 1))) for n in ir.sizes}
