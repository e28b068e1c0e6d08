"""What each stage is, in a sentence; and all of them, to step through, with what each pass changed."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING

from polyvolta.sched.tree import Schedule
from polyvolta.sets import PolyvoltaError

if TYPE_CHECKING:
    from polyvolta.compiler.options import Options
    from polyvolta.cuda.target.target import Target


def sentences(o: Options, target: Target) -> dict[str, str]:
    """What the pass to each stage does, by stage."""
    blocks = o.by_blocks(target)
    who = "warpgroup" if blocks else "warp"
    shared = "what several of them read is copied once" if prod(o.cluster) > 1 else ""
    parts = f"each has one of {o.split_k} parts of K" if o.split_k > 1 else ""
    return {
        "initial": "One band over all loops. It is permutable, so it can be tiled; i and j are parallel.",
        "block_tiled": f"Tiles of {tile(o.block_tile)}: a block takes one along i and j, and steps along k.",
        "hoisted": "The sequence moves up: all of a product runs before what uses it, and each has a tree of its own.",
        "warp_tiled": f"Inside a block's tile, one tile of {tile(o.warp_tile)} for each {who}.",
        "mapped": f"Parallel tile loops become indices: of the block in the grid, of the {who} in its block.",
        "strip_mined": f"A {who}'s step along k is cut into strips as deep as a macro-MMA.",
        "contracted": f"One instance stands for a whole macro-MMA {o.macro_mma}: the domain thins out.",
        "promoted": "Copies enter: global memory, registers, shared memory, fragments; and results back.",
        "prefetched": _ahead(o, blocks),
        "roles": "Who has tiles copied and who multiplies part: each has a program, and waits for the other's phases.",
        "persistent": "Blocks are as many as run at a time, and each computes one tile after the other.",
        "clustered": f"Blocks form clusters: {' and '.join(filter(None, (shared, parts)))}.",
        "swapped": "Columns of the result are rows of macro-MMAs: what is computed are its transpose's tiles.",
        "grouped": f"Blocks start in groups of {o.group} rows, whose operands the second-level cache holds.",
    }


def tile(sizes: tuple[int, ...]) -> str:
    """A tile as people write it.

    >>> tile((128, 128, 32))
    '128x128x32'
    """
    return "x".join(map(str, sizes))


def stepper(trees: Mapping[str, Schedule], notes: Mapping[str, str], changes: bool = True) -> str:
    """The stages as steps: each tree, with `changes` what is new or gone in it. Cost: that of `diff`."""
    from polyvolta.display.page import said, steps

    panels, before = [], None
    for stage, tree in trees.items():
        panels.append((stage, said(notes.get(stage, ""), "faint") + _changes(before, tree)))
        before = tree if changes else None
    return steps(panels)


def _changes(before: Schedule | None, tree: Schedule) -> str:
    """A tree, with what is changed marked where there is one before that it can be compared with."""
    from polyvolta.sched.views.diff import diff

    try:
        return tree._html() if before is None else diff(before, tree)._html()
    except PolyvoltaError:
        return tree._html()


def _ahead(o: Options, blocks: bool) -> str:
    """What pipelining did."""
    if blocks:
        return "Products are waited for an iteration later than they begin; their slot of the ring is free then."
    if not o.prefetch:
        return "The next strip's fragments are loaded beside this one's products."
    if o.prefetch == 1:
        return "The copies of the next k tile run one iteration ahead, beside this one's computation."
    return f"Copies run {o.prefetch} k tiles ahead, through a ring of {o.buffers}, beside the computation."
