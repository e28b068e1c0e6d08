"""Which arguments a kernel has: for a launcher and for the text alike.

They are the sizes, the scalars, for each tensor that threads reach themselves its pointer and its leading dimension,
then the maps of the copy engine, each 128 bytes in the place of a pointer and a stride. A tensor that is reached by
boxes alone has a map and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

from polyvolta.cuda.ir.kernel_ir import BoxMap, GlobalTensor, KernelIR
from polyvolta.cuda.ir.walk import operations
from polyvolta.display.shown import Record


def direct_tensors(ir: KernelIR) -> tuple[GlobalTensor, ...]:
    """The tensors that have a pointer, in order: all but those that have a map and are touched by boxes alone."""
    mapped = {m.tensor for m in ir.maps}
    if not mapped:
        return ir.tensors
    touched = {a.array for op in operations(ir.body) for a in op.accesses(ir)
               if (a.space, a.proxy) == ("global", "generic")}  # fmt: skip
    return tuple(t for t in ir.tensors if t.name not in mapped or t.name in touched)


@dataclass(frozen=True, slots=True)
class Parameters(Record):
    """Where a kernel's arguments are, by their numbers: the sizes from 0 on, the scalars, and what tensors have.

    Parameters
    ----------
    pointers : for each tensor that has one, in order, its name and the number of its pointer.
    lds : likewise of its leading dimension.
    maps : each map, and its number.
    """

    pointers: tuple[tuple[str, int], ...]
    lds: tuple[tuple[str, int], ...]
    maps: tuple[tuple[BoxMap, int], ...]


def parameters(ir: KernelIR) -> Parameters:
    """Where the arguments of a kernel are."""
    pointers, lds, at = [], [], len(ir.sizes) + len(ir.scalars)
    for t in direct_tensors(ir):
        pointers.append((t.name, at))
        at += 1
        if t.ld:
            lds.append((t.name, at))
            at += 1
    return Parameters(tuple(pointers), tuple(lds), tuple((m, at + n) for n, m in enumerate(ir.maps)))
