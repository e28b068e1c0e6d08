"""Transformations of schedule trees, one a file: `op(schedule, at, ...) -> schedule`.

    from polyvolta.sched.passes import tile, hoist, map_members

    tree = tile(tree, (0,), (128, 128, 32))
    tree = hoist(tree, (0,))
    tree = map_members(tree, (0,), {0: "blockIdx.y", 1: "blockIdx.x"})

`at` is the path of a node. Each is a pure function, its docstring shows the tree before and after, and each checks
itself: with dependences (`schedule.dependences`) a transformation that they forbid is refused with one of them and two
instances that would run in the wrong order. The flags of the bands that it made hold then, too; `reflagged` finds all
that the dependences allow. Without (`None`) a transformation goes by the flags that the bands have, and where they say
nothing, as of the order of a sequence, it is done.

Which one for what:

    order of loops        tile, strip_mine, split, join, flatten, interchange, skew, reverse, scale, shift
    loops and statements  sink, fuse, distribute, hoist
    order of statements   reorder, order_before, order_after, insert_sequence, insert_set
    machine               map_members, contract, prefetch, insert_extension
    code                  isolate_full_tiles, set_loop_type, unroll, insert_guard, insert_context
    processors            parallelise, vectorise, unroll_and_jam
    names of places       insert_mark, remove_mark, insert_filter (`schedule.find(mark=...)` finds them)
    names of loops        set_level, tile (`schedule.find(level=...)`)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyvolta.sched.lazily import homes, lazily

if TYPE_CHECKING:
    from polyvolta.sched.passes.bands.flatten import flatten as flatten
    from polyvolta.sched.passes.bands.interchange import interchange as interchange
    from polyvolta.sched.passes.bands.isolate import isolate_full_tiles as isolate_full_tiles
    from polyvolta.sched.passes.bands.join import join as join
    from polyvolta.sched.passes.bands.levels import set_level as set_level
    from polyvolta.sched.passes.bands.loop_type import set_loop_type as set_loop_type
    from polyvolta.sched.passes.bands.loop_type import unroll as unroll
    from polyvolta.sched.passes.bands.reverse import reverse as reverse
    from polyvolta.sched.passes.bands.scale import scale as scale
    from polyvolta.sched.passes.bands.shift import shift as shift
    from polyvolta.sched.passes.bands.skew import skew as skew
    from polyvolta.sched.passes.bands.split import split as split
    from polyvolta.sched.passes.bands.strip_mine import strip_mine as strip_mine
    from polyvolta.sched.passes.bands.tile import tile as tile
    from polyvolta.sched.passes.bands.unroll_and_jam import unroll_and_jam as unroll_and_jam
    from polyvolta.sched.passes.common.legal import reflagged as reflagged
    from polyvolta.sched.passes.mapping.context import insert_context as insert_context
    from polyvolta.sched.passes.mapping.context import insert_guard as insert_guard
    from polyvolta.sched.passes.mapping.contract import contract as contract
    from polyvolta.sched.passes.mapping.extension import insert_extension as insert_extension
    from polyvolta.sched.passes.mapping.map_members import map_members as map_members
    from polyvolta.sched.passes.mapping.mark import insert_mark as insert_mark
    from polyvolta.sched.passes.mapping.mark import remove_mark as remove_mark
    from polyvolta.sched.passes.mapping.wanted import parallelise as parallelise
    from polyvolta.sched.passes.mapping.wanted import vectorise as vectorise
    from polyvolta.sched.passes.order.distribute import distribute as distribute
    from polyvolta.sched.passes.order.fuse import fuse as fuse
    from polyvolta.sched.passes.order.hoist import hoist as hoist
    from polyvolta.sched.passes.order.prefetch import prefetch as prefetch
    from polyvolta.sched.passes.order.reorder import reorder as reorder
    from polyvolta.sched.passes.order.sequences import insert_filter as insert_filter
    from polyvolta.sched.passes.order.sequences import insert_sequence as insert_sequence
    from polyvolta.sched.passes.order.sequences import insert_set as insert_set
    from polyvolta.sched.passes.order.sequences import order_after as order_after
    from polyvolta.sched.passes.order.sequences import order_before as order_before
    from polyvolta.sched.passes.order.sink import sink as sink

_HOMES = homes(
    {
        "bands.flatten": "flatten",
        "bands.interchange": "interchange",
        "bands.isolate": "isolate_full_tiles",
        "bands.join": "join",
        "bands.levels": "set_level",
        "bands.loop_type": "set_loop_type unroll",
        "bands.reverse": "reverse",
        "bands.scale": "scale",
        "bands.shift": "shift",
        "bands.skew": "skew",
        "bands.split": "split",
        "bands.strip_mine": "strip_mine",
        "bands.tile": "tile",
        "bands.unroll_and_jam": "unroll_and_jam",
        "common.legal": "reflagged",
        "mapping.context": "insert_context insert_guard",
        "mapping.contract": "contract",
        "mapping.extension": "insert_extension",
        "mapping.map_members": "map_members",
        "mapping.mark": "insert_mark remove_mark",
        "mapping.wanted": "parallelise vectorise",
        "order.distribute": "distribute",
        "order.fuse": "fuse",
        "order.hoist": "hoist",
        "order.prefetch": "prefetch",
        "order.reorder": "reorder",
        "order.sequences": "insert_filter insert_sequence insert_set order_after order_before",
        "order.sink": "sink",
    }
)
if not TYPE_CHECKING:  # checkers know the names, and that there are no others
    __getattr__, __dir__ = lazily(__name__, _HOMES)

__all__ = [  # noqa: F822 (the names are there on first use)
    "contract",
    "distribute",
    "flatten",
    "fuse",
    "hoist",
    "insert_context",
    "insert_extension",
    "insert_filter",
    "insert_guard",
    "insert_mark",
    "insert_sequence",
    "insert_set",
    "interchange",
    "isolate_full_tiles",
    "join",
    "map_members",
    "order_after",
    "order_before",
    "parallelise",
    "prefetch",
    "reflagged",
    "remove_mark",
    "reorder",
    "reverse",
    "scale",
    "set_level",
    "set_loop_type",
    "shift",
    "sink",
    "skew",
    "split",
    "strip_mine",
    "tile",
    "unroll",
    "unroll_and_jam",
    "vectorise",
]
