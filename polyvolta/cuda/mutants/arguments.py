"""Mutants of the kernel's arguments: tensors that are other ones than the graph's.

No observer sees them: a call refuses arrays that the kernel can't take, or gives a result in another layout.
"""

from __future__ import annotations

from dataclasses import replace

from polyvolta.cuda.ir.kernel_ir import GlobalTensor, KernelIR
from polyvolta.cuda.mutants.model import Mutant, NothingToBreak, differing


def _with(ir: KernelIR, old: GlobalTensor | None, **fields: object) -> KernelIR:
    """The kernel with some fields of a tensor changed."""
    if old is None:
        raise NothingToBreak(f"{ir.name} has no such tensor", where=ir.about)
    return differing(ir, replace(ir, tensors=tuple(replace(t, **fields) if t is old else t for t in ir.tensors)))


def _transposed(ir: KernelIR) -> KernelIR:
    """The first matrix with its extents exchanged."""
    first = next((t for t in ir.tensors if len(t.dims) == 2 and not t.written), None)
    return _with(ir, first, dims=first.dims[::-1] if first else ())


def _other_layout(ir: KernelIR) -> KernelIR:
    """The last output in the other layout."""
    last = next((t for t in reversed(ir.tensors) if len(t.dims) == 2 and t.written), None)
    return _with(ir, last, order=last.order[::-1] if last else ())


MUTANTS = (
    Mutant(
        "rows taken for columns",
        "the extents of the first matrix are exchanged: the kernel takes its rows for its columns where it ends",
        ("arguments",), (), (), _transposed,
    ),
    Mutant(
        "result in the other layout",
        "the last output lies column by column where the graph has it row by row, or the other way round",
        ("arguments",), (), (), _other_layout,
    ),
)  # fmt: skip
