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
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from polyvolta.cuda.ir.kernel_ir import Tiles
from polyvolta.cuda.text.head.block_order import Unsigned, place_of_number
from polyvolta.cuda.text.scope import Scope
from polyvolta.sets import aff

EXTENTS = ("columns", "rows", "layers")
"""What the extents of the grid of places are called, along x, y and z."""


def extents(scope: Scope) -> list[str]:
    """The lines that say how many places there are along each axis; where there is one, none."""
    return [f"  const unsigned {scope.own(name)} = {scope.c(e)};"
            for name, e in zip(EXTENTS, scope.ir.grid, strict=True) if e != aff(1)]  # fmt: skip


def of_tiles(scope: Scope, s: Tiles, used: Callable[[str], bool]) -> tuple[list[str], str, list[str], list[str]]:
    """What stands before the loop, its head, the tile's place at the start of its body, and what goes on at the end.

    Parameters
    ----------
    used : whether the loop's body has a name.
    """
    number, order = scope.own("number"), scope.ir.block_order
    names = tuple("1" if e == aff(1) else scope.own(name) for name, e in zip(EXTENTS, scope.ir.grid, strict=True))
    most = reduce(lambda x, y: x * y, [Unsigned(n) for n in names if n != "1"] or [Unsigned("1")])
    sums = [(s.turn, aff(1)), *s.counters]
    counted = [(name, e) for name, e in sums if used(name)]
    before = [f"int {name} = {scope.c(s.first * e)};{_about(s, name)}" for name, e in counted]
    start, step = (_blocks(scope, n) for n in (s.first, s.step))
    first = f"blockIdx.x + {start}" if s.first else "blockIdx.x"
    head = f"for (unsigned {number} = {first}; {number} < {most}; {number} += {step}) {{"
    rows = [] if order.plain else [f"// tiles in groups of {order.group} rows, a group column by column"]
    place = [*rows, *place_of_number(order, number, names, used, scope.own)]
    return before, head, place, [f"{name} += {scope.c(s.step * e)};" for name, e in counted]


def _about(s: Tiles, name: str) -> str:
    return "  // number of the block's tile" if name == s.turn else "  // of the ring, that the block had before"


def _blocks(scope: Scope, times: int) -> str:
    """So many times the number of blocks."""
    return "gridDim.x" if times == 1 else f"{times} * gridDim.x"
