"""That each place of a grid is one block's: the order of a kernel's blocks is a bijection.

Tiles are told by the places of blocks, blockIdx.x and blockIdx.y of the kernel IR. Which block is at a place is the
`BlockOrder`'s, whose own lemmas say that it is one, for all grids. Where one of them doesn't hold, a small grid is
looked for in which a place is two blocks', or nobody's.
"""

from __future__ import annotations

from itertools import product

from polyvolta.cuda.ir.block_order import BlockOrder
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.report.records import CounterExample

SMALL = range(1, 8)  # columns of the grids that are gone through; rows up to two groups and some more


def misplaced(order: BlockOrder) -> CounterExample | None:
    """A place that isn't one block's; None if the lemmas say that there is none.

    Raises
    ------
    Undecided : a lemma doesn't hold, and no place is found.
    """
    wrong = [lemma for lemma in order.proof() if not lemma.holds]
    if not wrong:
        return None
    for columns, rows in product(SMALL, range(1, 2 * order.group + 4)):
        found: dict[tuple[int, int], int] = {}
        for number in range(columns * rows):
            place = order.place(number, columns, rows)
            where = f"in a grid of {columns} x {rows} blocks"
            if place in found:
                what = f"blocks number {found[place]} and {number} are both at place {place} {where}"
                return CounterExample(what, block=(*place, 0))
            if not (0 <= place[0] < columns and 0 <= place[1] < rows):
                return CounterExample(f"block number {number} is at place {place}, outside, {where}")
            found[place] = number
    raise Undecided(f"the order of blocks isn't shown to be a bijection: {wrong[0].statement}", where=wrong[0].relation)


def shown(order: BlockOrder) -> str:
    """What is shown of an order, with what it was shown by."""
    groups = [lemma.relation for lemma in order.proof()[2:]]
    return f"each place of the grid is one block's, in {order}: {groups[-1]}; {groups[-2]}, and so for fewer rows"
