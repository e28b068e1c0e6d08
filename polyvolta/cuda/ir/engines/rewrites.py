"""Chunks of shared memory come back to threads, as they were stored: what is computed where it lies goes this way.

A tile that a copy engine brings is as the tensor is. An operand that tensor cores read from shared memory themselves,
and that is computed on the way, is rewritten there: each thread loads some chunks, computes, and stores them where they
were.
"""

from __future__ import annotations

from dataclasses import dataclass

from polyvolta.cuda.ir.accesses import Access, Operation, of_element
from polyvolta.cuda.ir.memories import CHUNK, TENSOR_ITEM, ZERO, Element, Memories
from polyvolta.sets import Aff


@dataclass(frozen=True, slots=True)
class SharedLoad(Operation):
    """Each thread loads one chunk of buffer number `buffer` of a tile, at tile-local `index`: `SharedStore` turned
    around."""

    target: Element
    tile: str
    index: tuple[Aff, ...]
    buffer: Aff = ZERO
    statement: str = ""

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        run = ir.tile(self.tile).order[-1:]  # () of a tile without a layout, of which nobody may load so
        along = run[0] if run else None
        place = Access("shared", "read", self.tile, self.index, CHUNK, CHUNK, TENSOR_ITEM, along, slot=self.buffer)
        return place, of_element(ir, "write", self.target)


OPERATIONS = (SharedLoad,)
"""Those of this module."""
