"""Marks around the band of the blocks: how many run at a time, which form clusters, in which order they start.

A mark changes nothing of what a schedule means: which blocks there are and what each does is the band's. Where a kernel
has nothing to say, there is no mark, and the stage is left out.
"""

from __future__ import annotations

from polyvolta.cuda.build.promotion.model import BLOCK
from polyvolta.cuda.ir.block_order import BlockOrder
from polyvolta.graph.plans.plans import Plan
from polyvolta.sched import Schedule
from polyvolta.sched.nodes import Mark


def persistent(tree: Schedule, resident: int, clusters: bool = False) -> Schedule:
    """The tree with a mark around the band of the blocks that says how these are shared out, where there are fewer
    blocks than places: `resident`, or what a GPU has room for; 0: as many as there are places. Clusters are likewise.
    """
    if not resident:
        return tree
    at = tree.find(level=BLOCK)[0]
    whole = f"cluster n of tiles by cluster n mod {resident} of blocks"
    what = whole if clusters else f"tile n by block n mod {resident}"
    return tree.replace(at, Mark(what, tree.node(at)))


def clustered(tree: Schedule, cluster: tuple[int, int], parts: int = 1) -> Schedule:
    """The tree with a mark around the band of the blocks that says which of them form clusters; alone it has none."""
    if cluster == (1, 1) and parts == 1:
        return tree
    at = tree.find(level=BLOCK)[0]
    more = f" for each of {parts} parts of K" if parts > 1 else ""
    return tree.replace(at, Mark(f"clusters of {cluster[0]} x {cluster[1]} blocks{more}", tree.node(at)))


def grouped(tree: Schedule, order: BlockOrder, cluster: tuple[int, int] = (1, 1), parts: int = 1) -> Schedule:
    """The tree with a mark around the band of the blocks with the order in which they start; row by row it has none."""
    if order.plain:
        return tree
    alone = cluster == (1, 1) and parts == 1
    at = tree.find(level=BLOCK)[0]
    at = at if alone else at[:-1]  # around the mark of clusters
    return tree.replace(at, Mark(f"{'blocks' if alone else 'clusters'} in {order}", tree.node(at)))


def swapped(tree: Schedule, idiom: Plan) -> Schedule:
    """The tree with a mark around the band of the blocks that says which members are a macro-MMA's rows and columns;
    the result's own have none.

    The band is what it is: members are in the order in which statements have their iterators.
    """
    product = idiom.contractions[0].statement
    if not product.is_turned:
        return tree
    m, n, _ = product.iterators
    at = tree.find(level=BLOCK)[0]
    return tree.replace(at, Mark(f"macro-MMAs have {m} as rows (m), {n} as columns (n)", tree.node(at)))
