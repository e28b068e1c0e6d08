"""Mutants of the order in which blocks compute the tiles of a grid: two blocks at one place, none at another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from polyvolta.cuda.ir.block_order import BlockOrder
from polyvolta.cuda.ir.kernel_ir import KernelIR
from polyvolta.cuda.mutants.model import Mutant, NothingToBreak


@dataclass(frozen=True, slots=True)
class Crossed(BlockOrder):
    """A group's columns and rows exchanged: right where it has as many of the ones as of the others."""

    def within(self, place: Any, height: Any) -> tuple[Any, Any]:
        return place % height, place // height


@dataclass(frozen=True, slots=True)
class Cut(BlockOrder):
    """The last group is as high as the others, even if the grid has fewer rows left."""

    def within(self, place: Any, height: Any) -> tuple[Any, Any]:
        return place // self.group, place % self.group


def _ordered(ir: KernelIR, kind: type[BlockOrder]) -> KernelIR:
    """The kernel with its blocks in another order."""
    if ir.block_order.plain:
        raise NothingToBreak(f"the blocks of {ir.name} are in the plain order", where=ir.about)
    return replace(ir, block_order=kind(ir.block_order.group))


MUTANTS = (
    Mutant(
        "blocks of a group crossed",
        "a block takes its column in a group for its row",
        ("written_once",), ("uninitialised",), (), lambda ir: _ordered(ir, Crossed),
    ),
    Mutant(
        "last group of blocks as high as the others",
        "the blocks of the last group go to rows that the grid doesn't have",
        ("written_once",), ("uninitialised",), (), lambda ir: _ordered(ir, Cut),
    ),
)  # fmt: skip
