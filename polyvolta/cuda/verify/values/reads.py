"""What a fragment load reads: whether it is the tile's elements at its place.

Fragments are read tile by tile: at tile-local element (r, c) must lie the operand's element `origin` + (r, c), with
one origin for all lanes of all warps, and the same formula. That it is the tile which is due is seen where it is
multiplied.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from polyvolta.cuda.ir.kernel_ir import FragmentLoad, LoadMatrix
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.verify.engine.addresses import byte_text
from polyvolta.cuda.verify.engine.memories import SLOT
from polyvolta.cuda.verify.engine.symbolic import Here
from polyvolta.cuda.verify.values.expressions import Meaning, extent_of
from polyvolta.cuda.verify.values.values import (
    Load,
    Skeleton,
    Table,
    Tags,
    combinations,
    element_text,
    formula_of,
    starts,
)
from polyvolta.graph.functions.formula import show
from polyvolta.sets import Aff, var

Spot = tuple[int, ...]  # warp, lane, value
BOTH = ("fresh", "result")


@dataclass(frozen=True, slots=True)
class Fragment:
    """What is read: of a tile, for an operand, "a" or "b"."""

    tile: str
    operand: str


@dataclass(frozen=True, slots=True)
class Read:
    """A fragment load with the values that it has found, or what a warpgroup's product finds for an operand.

    Parameters
    ----------
    values : [warp, lane, value]; of a product [warpgroup, row or column, k].
    local : their tile-local elements, and
    slots : their places in shared memory, of the same shape.
    names : of the tile's dimensions.
    groups : of a product the first warp of each warpgroup; ().
    """

    op: FragmentLoad | LoadMatrix | Fragment
    values: Tags
    local: tuple[np.ndarray, ...]
    slots: np.ndarray
    names: tuple[str, ...]
    groups: tuple[int, ...] = ()

    def refute(
        self,
        here: Here,
        at: Spot,
        why: str,
        writer: IrPath | None,
        proofs: tuple[str, ...] = ("fresh",),
        where: tuple[Aff, ...] = (),
    ) -> None:
        """Say what is wrong with a value, for sizes with `where` if there are any."""
        if here.point(*where) is None:
            where = ()
        warp, lane, _ = at
        who = f"warp {warp}, lane {lane} reads"
        if self.groups:
            warp, lane = self.groups[warp], 0
            who = f"the product of the warpgroup of warp {warp} takes what is to be"
        what = f"{who} {self.op.tile}[{', '.join(str(int(x[at])) for x in self.local)}] {why}"
        address = byte_text(here.ir, SLOT * int(self.slots[at]))
        for proof in proofs:
            here.refute(proof, what, where=where, warp=warp, lane=lane, address=address, other=writer)

    def strays(
        self, table: Table, meaning: Meaning, active: np.ndarray, notes: dict[str, dict[str, bool]]
    ) -> Iterator[tuple[Spot, str, tuple[str, ...], tuple[Aff, ...]]]:
        """Values that aren't the tile's elements: where, why, what that refutes, and when the operand has what is due.

        Beyond its edge 0 is due, which may well be what is read. `notes` gets what the tile is, and whether that speaks
        of trips of a loop, as it does where anything is read in one.
        """
        first: tuple[tuple[Aff, ...], tuple[int, int]] | None = None
        for (kind,), where in combinations([self.values.kind], None if active.all() else active[..., 0]):
            chosen = active if where is None else where & active
            at = tuple(int(x) for x in np.argwhere(chosen)[0])
            skeleton = table[kind]
            sides = meaning.sides(skeleton, self.op.operand)
            if not sides:
                text = element_text(skeleton, self.values.at[at], meaning.names)
                side = "left" if self.op.operand == "a" else "right"
                yield at, f"where {text} lies, which is no {side} operand of a product", BOTH, ()
                return
            line, depth = (self.values.at[..., c[0]] for c in sides[0].columns)
            row, column = (line, depth) if self.op.operand == "a" else (depth, line)
            bases = sides[0].bases if self.op.operand == "a" else sides[0].bases[::-1]
            offset = int(row[at]) - int(self.local[0][at]), int(column[at]) - int(self.local[1][at])
            due_bases, due_offset = first = first or (bases, offset)
            wrong = chosen & ((row - self.local[0] != due_offset[0]) | (column - self.local[1] != due_offset[1]))
            if bases != due_bases:
                wrong = chosen
            if wrong.any():
                at = tuple(int(x) for x in np.argwhere(wrong)[0])
                found = element_text(skeleton, self.values.at[at], meaning.names)
                due = [b + o + int(x[at]) for b, o, x in zip(due_bases, due_offset, self.local)]
                i, j, k = map(extent_of, meaning.products[sides[0].product].extents)
                inside = [n - 1 - e for n, e in zip((i, k) if self.op.operand == "a" else (k, j), due, strict=True)]
                text = f"where {found} lies, and element [{', '.join(map(str, due))}] of the operand is due"
                yield at, text, ("fresh",), tuple(inside)
                return
            told, trip = notes.setdefault(self.op.tile, {}), not sides[0].bases[1].is_constant
            if not told or trip and not any(told.values()):  # what is read before the loop is one tile of many
                told.clear()
                line_dim = 0 if self.op.operand == "a" else 1
                dims = (line_dim, 1 - line_dim)
                offsets = {c: (d, offset[d]) for d, columns in zip(dims, sides[0].columns) for c in columns}
                told[tile_text(self.op.tile, self.names, skeleton, offsets)] = trip


def tile_text(tile: str, names: tuple[str, ...], skeleton: Skeleton, offsets: dict[int, tuple[int, int]]) -> str:
    """What lies at a tile's elements, as a relation.

    Parameters
    ----------
    offsets : for each coordinate the tile's dimension that it goes with, and how much more it is.
    """
    texts = []
    for leaf, start in starts(skeleton):
        if isinstance(leaf, Load):
            places = []
            for d, base in enumerate(leaf.base):
                dimension, more = offsets.get(start + d, (-1, 0))
                places.append(str(base + more + var(names[dimension])) if dimension >= 0 else "0")
            texts.append(f"{leaf.tensor}[{', '.join(places)}]")
        else:
            texts.append(getattr(leaf, "name", "0"))
    return f"{{ {tile}[{', '.join(names)}] = {show(formula_of(skeleton), texts)} }}"
