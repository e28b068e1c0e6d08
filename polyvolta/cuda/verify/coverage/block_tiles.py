"""The tiles of an output that blocks write: whether they partition it, and elements that show that they don't.

A tile starts at an index in sizes and block indices, [128*blockIdx.y, 128*blockIdx.x], and is a box from there. Which
blocks have an element in their tile is the relation

    { [M, N, i, j] -> [x, y, z] : 128*y <= i < 128*y + 128 and 128*x <= j < 128*x + 128 and [x, y, z] in the grid }

It has a block for each element of the tensor, and one only: that is asked of the set core, for all sizes at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from polyvolta.cuda.ir.kernel_ir import GlobalTensor, KernelIR
from polyvolta.cuda.verify.engine.conditions import Condition
from polyvolta.cuda.verify.engine.symbols import BLOCKS, of_grid, of_sizes, tile_names
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.sets import Aff, Map, Set, aff, var
from polyvolta.sets.values.build import RowBuilder
from polyvolta.sets.values.space import Space, Tuple

OTHERS = {b: var(f"other.{b}") for b in BLOCKS}
MOST_BLOCKS = 4096  # of a concrete grid that is gone through for a message

Point = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Tile:
    """A box of a tensor's elements.

    Parameters
    ----------
    start : its first element, in sizes and block indices.
    shape : its extents.
    """

    start: tuple[Aff, ...]
    shape: tuple[int, ...]

    def has(self, index: tuple[Aff, ...]) -> list[Aff]:
        """When an element is in the tile: each `e >= 0`."""
        return [c for i, s, n in zip(index, self.start, self.shape, strict=True) for c in (i - s, s + n - 1 - i)]


@dataclass(frozen=True, slots=True)
class Way:
    """What blocks under some condition write of one tensor.

    Parameters
    ----------
    condition : on sizes and block indices.
    tile : the box of what they write; None: nothing.
    holes : bool, the shape of the tile: which of its elements they don't write.
    """

    condition: Condition
    tile: Tile | None
    holes: np.ndarray


def element(tensor: GlobalTensor) -> tuple[Aff, ...]:
    """Names for the coordinates of an element."""
    return tuple(var(f"element.{d}") for d in range(len(tensor.dims)))


def inside(tensor: GlobalTensor, index: tuple[Aff, ...]) -> list[Aff]:
    """When an index is one of the tensor's: each `e >= 0`."""
    return [c for e, n in zip(index, map(extent, tensor.dims), strict=True) for c in (e, n - 1 - e)]


def extent(n: str | int) -> Aff:
    """A tensor's extent as an expression."""
    return var(n) if isinstance(n, str) else aff(n)


def not_once(ir: KernelIR, tensor: GlobalTensor, tile: Tile) -> Point | None:
    """Sizes and an element that no block's tile has, or that two have; None if there is none: a partition."""
    index = element(tensor)
    known = (*ir.sizes, *(f"element.{d}" for d in range(len(index))))
    elements = [*of_sizes(ir), *inside(tensor, index)]
    owner = [*elements, *of_grid(ir), *tile.has(index)]
    to_block = Map._of((), [(Space(Tuple(None, known), Tuple(None, BLOCKS)), _conjunct((*known, *BLOCKS), owner))])
    for some in ([extents - 1 for extents in ir.grid], []):  # rather sizes for which there are blocks at all
        wanted = Set._of((), [(Space(None, Tuple(None, known)), _conjunct(known, [*elements, *some]))])
        nobody = wanted.subtract(to_block.domain())
        if not nobody.is_empty():
            return dict(zip(known, nobody.lexmin().sample_point(), strict=True))
    if to_block.is_single_valued():
        return None
    names = (*known, *BLOCKS, *(f"other.{b}" for b in BLOCKS))
    for d, b in enumerate(BLOCKS):  # the first coordinate in which the two blocks differ
        same = [e for x in BLOCKS[:d] for e in (var(x) - OTHERS[x], OTHERS[x] - var(x))]
        two = [*owner, *(e.subs(OTHERS) for e in owner), *same, OTHERS[b] - var(b) - 1]
        if (found := Condition(names, (frozenset(),)).point(*two)) is not None:
            return found
    raise Undecided(f"the tiles of {tensor.name} have an element twice that isn't found")


def different(way: Way, tensor: GlobalTensor, tile: Tile) -> Iterator[Point]:
    """Elements that only one of a way's tile and another one has, or that are holes, with sizes and a block."""
    index = element(tensor)
    names = tuple(f"element.{d}" for d in range(len(index)))
    condition = Condition((*way.condition.names, *names), way.condition.pieces)
    found: list[Point | None] = []
    if way.tile is None:
        found = [condition.point(*inside(tensor, index), *tile.has(index))]
    elif way.tile != tile:
        found = [
            condition.point(*inside(tensor, index), *one.has(index), -bound - 1)
            for one, other in ((tile, way.tile), (way.tile, tile))
            for bound in other.has(index)
        ]
    yield from (point for point in found if point is not None)
    for place in np.argwhere(way.holes) if way.tile is not None else ():
        at = [i - s - int(p) for i, s, p in zip(index, way.tile.start, place, strict=True)]  # type: ignore[union-attr]
        if (point := condition.point(*inside(tensor, index), *at, *(-e for e in at))) is not None:
            yield point


def writers(ir: KernelIR, ways: list[Way], point: Point, at: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The blocks that write an element for some sizes, by going through all of the grid.

    Raises
    ------
    Undecided : there are too many.
    """
    sizes = {n: point[n] for n in ir.sizes} | dict.fromkeys(tile_names(ir), 0)
    grid = [int(e.evaluate(sizes)) for e in ir.grid]  # type: ignore[call-overload]
    if prod(grid) > MOST_BLOCKS:
        raise Undecided(f"whether {at} is written once is a question about {prod(grid)} blocks")
    out = []
    for block in product(*map(range, grid)):
        here = {**sizes, **dict(zip(BLOCKS, block, strict=True))}
        way = next(w for w in ways if any(all(e.evaluate(here) >= 0 for e in p) for p in w.condition.pieces))  # type: ignore[operator]
        if way.tile is not None:
            place = tuple(x - int(s.evaluate(here)) for x, s in zip(at, way.tile.start, strict=True))  # type: ignore[call-overload]
            if all(0 <= x < n for x, n in zip(place, way.tile.shape, strict=True)) and not way.holes[place]:
                out.append(block)
    return out


def _conjunct(names: tuple[str, ...], constraints: list[Aff]) -> tuple:
    c = RowBuilder(names).conjunct([("ge", e) for e in constraints])
    return () if c is None else (c,)
