"""That each place of a grid is one block's: the order of a kernel's blocks is a bijection, and blocks that compute
several places share their numbers out.

Tiles are told by the places of blocks, blockIdx.x and blockIdx.y of the kernel IR. Which block is at a place is the
`BlockOrder`'s, whose own lemmas say that it is one, for all grids. They are about the parts that it is made of; so
small grids are gone through as well, place by place.
"""

from __future__ import annotations

from itertools import product
from math import lcm, prod

import numpy as np

from polyvolta.cuda.ir.block_order import BlockOrder, shared_out
from polyvolta.cuda.ir.engines.unfolded import warps_of_block
from polyvolta.cuda.ir.kernel_ir import BoxStore, GlobalStore, KernelIR, Roles, Tiles
from polyvolta.cuda.ir.walk import operations, walk
from polyvolta.cuda.verify.engine.conditions import Condition
from polyvolta.cuda.verify.engine.symbols import loops_over_tiles, of_sizes
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.report.records import CounterExample
from polyvolta.sets import var

SMALL = range(1, 8)  # columns of the grids that are gone through; rows up to two groups and some more


def misplaced(order: BlockOrder) -> CounterExample | None:
    """A place that isn't one block's; None if small grids have none, and the lemmas say that no grid has.

    The lemmas are about the parts of which `place` is made; that it is made of them is seen in the small grids.

    Raises
    ------
    Undecided : a lemma doesn't hold, and no place is found.

    Cost: some milliseconds for each row of a group.
    """
    for columns, rows in product(SMALL, range(1, 2 * order.group + 4)):
        if not _is_bijective(order, columns, rows):
            return _case(order, columns, rows)
    wrong = [lemma for lemma in order.proof() if not lemma.holds]
    if wrong:
        what = f"the order of blocks isn't shown to be a bijection: {wrong[0].statement}"
        raise Undecided(what, where=wrong[0].relation)
    return None


def _is_bijective(order: BlockOrder, columns: int, rows: int) -> bool:
    """Whether each place of one grid is one block's."""
    x, y = (np.broadcast_to(e, columns * rows) for e in order.place(np.arange(columns * rows), columns, rows))
    inside = (x >= 0) & (x < columns) & (y >= 0) & (y < rows)
    return bool(inside.all()) and len(np.unique(x * rows + y)) == columns * rows


def _case(order: BlockOrder, columns: int, rows: int) -> CounterExample:
    """A place of one grid that is two blocks', or that the grid doesn't have."""
    found: dict[tuple[int, int], int] = {}
    where = f"in a grid of {columns} x {rows} blocks"
    for number in range(columns * rows):
        x, y = (int(e) for e in order.place(number, columns, rows))
        if (x, y) in found:
            what = f"blocks number {found[x, y]} and {number} are both at place {(x, y)} {where}"
            return CounterExample(what, block=(x, y, 0))
        if not (0 <= x < columns and 0 <= y < rows):
            return CounterExample(f"block number {number} is at place {(x, y)}, outside, {where}")
        found[x, y] = number
    raise Undecided(f"places of blocks one by one are others than those of all at once, {where}")


def left_out(ir: KernelIR) -> CounterExample | None:
    """A place whose tile no block computes, since all roles that store it leave it out; None: there is none.

    Blocks of a cluster store a part each of every one of its tiles: none of them may leave one out.

    Raises
    ------
    Undecided : a lemma doesn't hold.
    """
    stores = _storing(ir)
    if not stores:
        return None
    wrong = [lemma for lemma in shared_out() if not lemma.holds]
    if wrong:
        raise Undecided(f"places aren't shown to be shared out among blocks: {wrong[0].statement}")
    missing = [turn for loops in stores.values() if (turn := _missing(loops)) is not None]
    if not missing:
        return None
    turn = min(missing)
    sizes = _with_places(ir, ir.resident * turn + 1)
    grid = [int(e.evaluate(sizes)) for e in ir.grid]  # type: ignore[call-overload]
    x, y, z = (int(n) for n in ir.block_order.blocks(grid, ir.resident * turn, ir.resident * turn + 1)[:, 0])
    one = "cluster" if warps_of_block(ir) else "block"
    many = f"{ir.resident} {one}s are launched"
    what = f"nobody computes the tile at place {(x, y, z)}, tile {turn} of {one} 0: {many}"
    return CounterExample(what, sizes, (x, y, z), iteration={loops_over_tiles(ir)[0].turn: turn})


def _storing(ir: KernelIR) -> dict[int, list[Tiles]]:
    """The loops over tiles in which results are stored, by the cluster's block whose they are."""
    out: dict[int, list[Tiles]] = {}
    warps = warps_of_block(ir) or ir.warps
    roles = [role for _, s in walk(ir.body) if isinstance(s, Roles) for role in s.roles]
    for role in roles if ir.resident else ():
        for _, s in walk(role.body):
            if isinstance(s, Tiles) and any(isinstance(op, GlobalStore | BoxStore) for op in operations(s.body)):
                out.setdefault(role.first // warps, []).append(s)
    return out


def _missing(loops: list[Tiles]) -> int | None:
    """The first tile's number that none of some loops takes; None: there is none."""
    end = max(s.first for s in loops) + lcm(*(s.step for s in loops))  # from then on they come round again
    return next((n for n in range(end) if not any(n in range(s.first, end, s.step) for s in loops)), None)


def _with_places(ir: KernelIR, count: int) -> dict[str, int]:
    """Sizes with at least so many places."""
    sizes = Condition(ir.sizes, (frozenset(of_sizes(ir)),))
    ones = [var(n) - 1 for n in ir.sizes]
    for extent in ir.grid:
        if extent.names() and (point := sizes.point(*ones, extent - count)) is not None:
            return point
    if (point := sizes.point()) is not None and prod(int(e.evaluate(point)) for e in ir.grid) >= count:  # type: ignore[call-overload]
        return point
    raise Undecided("the grid has no more places than blocks are launched, and which tile is left out isn't known")


def shown(order: BlockOrder) -> str:
    """What is shown of an order, with what it was shown by."""
    groups = [lemma.relation for lemma in order.proof()[2:]]
    return f"each place of the grid is one block's, in {order}: {groups[-1]}; {groups[-2]}, and so for fewer rows"


def shown_shares(ir: KernelIR) -> str:
    """What is shown of how blocks share places out."""
    lemma, further = shared_out()
    relations = f"{lemma.relation}; {further.relation}"
    return f"each number of a place is one block's of g, in one turn, whatever g >= 1: {relations}"
