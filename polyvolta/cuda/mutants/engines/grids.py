"""Mutants of a kernel that begins while the kernel before still runs: it waits for that one's end late, or in part."""

from __future__ import annotations

from dataclasses import replace

from polyvolta.cuda.ir.kernel_ir import AwaitGrids, KernelIR, When
from polyvolta.cuda.mutants.model import Mutant, differing, edited, places, without
from polyvolta.sets import var


def _one_warp_waits(ir: KernelIR) -> KernelIR:
    """The wait for the grids before stands below a condition."""
    return edited(ir, places(ir, AwaitGrids), lambda op: (When((-var("warp"),), (op,), uniform=False),))


def _waits_late(ir: KernelIR) -> KernelIR:
    """The wait for the grids before is the last statement."""
    waits = [s for s in ir.body if isinstance(s, AwaitGrids)]
    return differing(ir, replace(ir, body=(*(s for s in ir.body if s not in waits), *waits)))


MUTANTS = (
    Mutant("other grids are not waited for", "the kernel starts while others may still write what it reads",
           ("grids",), (), (), lambda ir: edited(ir, places(ir, AwaitGrids), without)),
    Mutant("a warp waits for other grids", "one warp of each block waits for the grids before, the others don't",
           ("grids",), (), (), _one_warp_waits),
    Mutant("other grids are waited for late", "boxes are asked for, and then others are waited for",
           ("grids",), (), (), _waits_late),
)  # fmt: skip
"""A run shows them as errors (`EarlyAccess`), and no observer does."""
