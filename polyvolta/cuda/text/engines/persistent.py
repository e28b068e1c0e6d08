"""Persistent blocks: a loop over the tiles of the result that a block computes, by their numbers.

    const unsigned columns = (N + 255) / 256;
    const unsigned rows = (M + 127) / 128;
    ...
    int tiles = 0;
    for (unsigned number = blockIdx.x; number < columns * rows; number += gridDim.x) {
      const int blockIdx_x = number % columns;
      const int blockIdx_y = number / columns;
      ...
      tiles += (K + 63) / 64;
    }

The grid is a line of blocks, as many as are launched. Block b of g computes the tiles of numbers b, b + g, b + 2 g and
so on: each number below `columns * rows` is of one block, its remainder by g, whatever g is. A number's place is that
of the block of that number in a kernel whose blocks have one tile each (`head.block_order`). Each role has the loop.

Blocks of a cluster go on together: numbers are of clusters, the grid is a line of these along x, `columns` and `rows`
are theirs, and which of a cluster's places is a block's the hardware says.

    for (unsigned number = blockIdx.x; number < columns * rows; number += gridDim.x) {
      const int blockIdx_x = number % columns;
      const int blockIdx_y = 2 * (number / columns) + blockIdx.y % 2;
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce

from polyvolta.cuda.ir.engines.clusters import ALONE, of_clusters
from polyvolta.cuda.ir.kernel_ir import KernelIR, Tiles
from polyvolta.cuda.text.head.block_order import Unsigned, place_of_number
from polyvolta.cuda.text.scope import Scope
from polyvolta.sets import Aff, aff

EXTENTS = ("columns", "rows", "layers")
"""What the extents of the grid of places are called, along x, y and z."""


def extents(scope: Scope) -> list[str]:
    """The lines that say how many places there are along each axis; where there is one, none."""
    of = "" if scope.ir.cluster == ALONE else "  // of clusters"
    return [f"  const unsigned {scope.own(name)} = {scope.c(e)};{of}" for name, e in _extents(scope.ir) if e != aff(1)]


def _extents(ir: KernelIR) -> Iterator[tuple[str, Aff]]:
    """Of the grid of places, or of clusters of these, along each axis: what it is called, and how many there are."""
    return zip(EXTENTS, of_clusters(ir.grid, ir.cluster), strict=True)


def of_tiles(scope: Scope, s: Tiles, used: Callable[[str], bool]) -> tuple[list[str], str, list[str], list[str]]:
    """What stands before the loop, its head, the tile's place at the start of its body, and what goes on at the end.

    Parameters
    ----------
    used : whether the loop's body has a name.
    """
    number, order, cluster = scope.own("number"), scope.ir.block_order, scope.ir.cluster
    names = tuple("1" if e == aff(1) else scope.own(name) for name, e in _extents(scope.ir))
    most = reduce(lambda x, y: x * y, [Unsigned(n) for n in names if n != "1"] or [Unsigned("1")])
    sums = [(s.turn, aff(1)), *s.counters]
    counted = [(name, e) for name, e in sums if used(name)]
    before = [f"int {name} = {scope.c(s.first * e)};{_about(s, name)}" for name, e in counted]
    own, blocks = (_of_line(name, cluster[0]) for name in ("blockIdx.x", "gridDim.x"))
    first, step = own + _times(s.first, blocks) if s.first else own, _times(s.step, blocks)
    head = f"for (unsigned {number} = {first}; {number} < {most}; {number} += {step}) {{"
    what = "tiles" if cluster == ALONE else "clusters"
    rows = [] if order.plain else [f"// {what} in groups of {order.group} rows, a group column by column"]
    place = [*rows, *place_of_number(order, number, names, used, scope.own, cluster)]
    return before, head, place, [f"{name} += {scope.c(s.step * e)};" for name, e in counted]


def _about(s: Tiles, name: str) -> str:
    return "  // number of the block's tile" if name == s.turn else "  // of the ring, that the block had before"


def _of_line(name: str, columns: int) -> Unsigned:
    """What the hardware says of blocks along x, of clusters of so many columns."""
    return Unsigned(name) // columns if columns > 1 else Unsigned(name)


def _times(count: int, blocks: Unsigned) -> Unsigned:
    return count * blocks if count > 1 else blocks
