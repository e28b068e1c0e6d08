"""Rings of boxes: a tile's products run on while the next tile's are issued, and a warp of its own has tiles copied.

The k loop of `boxed` waits for each tile's products before it goes on. Here waiting and releasing move by a trip, so
that one group of products is always running:

    BAND: full → [kt]; S → [⌊k/64⌋]; close → [kt]; done → [kt]; release → [kt]
                                    =>
    BAND: full → [kt]; S → [⌊k/64⌋]; close → [kt]; done → [kt + 1]; release → [kt + 1]

What every iteration touches is read off its operations, as slots of rings: a box writes a slot of a tile, and products
read it, until they are done. That all iterations which touch one slot keep their order is for the pass to prove; with
one slot they don't, and it says so. Groups are closed, empty ones, as many trips longer as waits come later, so that a
wait always counts the same.

Where a left operand is in registers, waiting moves by a strip of a tile, see `steps`. Then `roles` splits the program.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import reduce
from operator import or_

from polyvolta.cuda.build.promotion.boxes import steps
from polyvolta.cuda.build.promotion.boxes.boxed import LAG
from polyvolta.cuda.build.promotion.model import BLOCK, CONSUMER, PRODUCER, TILE, Movement
from polyvolta.cuda.build.promotion.pipeline import pending, steady, strips_of
from polyvolta.cuda.build.promotion.slots import does
from polyvolta.cuda.ir.kernel_ir import (
    Arrive,
    Await,
    BoxCopy,
    LoadMatrix,
    Memories,
    Op,
    SharedLoad,
    SharedStore,
    Wgmma,
    WgmmaCommit,
    WgmmaWait,
)
from polyvolta.cuda.ir.walk import operations
from polyvolta.sched.nodes import Band
from polyvolta.sched.nodes import Sequence as InOrder
from polyvolta.sched.passes.order.prefetch import prefetch
from polyvolta.sched.passes.order.roles import roles
from polyvolta.sched.tree import Filter, Path, Schedule
from polyvolta.sets import Aff, Map, Tuple, var
from polyvolta.sets.values.build import RowBuilder
from polyvolta.sets.values.space import Space, distinct

GROUPS = "groups of products"
"""What is closed and waited for: an array of which each k tile has an element. No array has that name."""


def lagging(
    schedule: Schedule, movements: Mapping[str, Movement], arrays: Memories, context: object
) -> Schedule:
    """The tree with the waits for a tile's products, and the releases of its slots, a trip later.

    Raises
    ------
    IllegalTransformation : two iterations that touch the same slot would change their order, as with one slot.
    """
    for at in bands_of_products(schedule, movements):
        band: Band = schedule.band(at)
        words = {s: does(movements[s], arrays) for s in band.statements}
        behind = [s for s in band.statements if _waits(movements[s]) or _releases(band, movements, s)]
        if steps.sets_of(schedule, at, movements, arrays):
            schedule = steps.lagging(schedule, at, movements, arrays, context, strips_of(schedule, at), behind, _slots)  # type: ignore[arg-type]
            continue
        if _single(schedule, at, movements):
            continue
        by = dict.fromkeys(behind, LAG)
        order = list(range(len(schedule.node((*at, 0)).children)))
        touched = _touched(band, movements)
        schedule = prefetch(schedule, at, by, order, touched, {}, context)  # type: ignore[arg-type]
        schedule = steady(schedule, at, words, context)  # type: ignore[arg-type]
    return schedule


def awaited(schedule: Schedule, movements: Mapping[str, Movement], arrays: Memories) -> dict[str, Movement]:
    """The movements with the numbers of groups of products that may be running at each wait: those that are closed
    between a tile's own and its wait, counted in the tree.

    Parameters
    ----------
    schedule : in its final order.
    """
    out = dict(movements)
    for at in bands_of_products(schedule, movements):
        statements = schedule.band(at).statements
        commits = [s for s in statements if any(isinstance(op, WgmmaCommit) for op in operations(movements[s].ops))]
        for wait in (s for s in statements if _waits(movements[s])):
            if steps.sets_of(schedule, at, movements, arrays) and (strips := strips_of(schedule, at)) > 1:
                counts = [steps.running(schedule, at, wait, commit, movements, strips) for commit in commits]
            else:
                counts = [pending(schedule, at, wait, commit, movements) for commit in commits]
            running = sum(counts)
            m = movements[wait]
            ops = tuple(replace(op, pending=running) if isinstance(op, WgmmaWait) else op for op in m.ops)
            out[wait] = replace(m, ops=ops)
    return out


def bands_of_products(schedule: Schedule, movements: Mapping[str, Movement]) -> list[Path]:
    """The loops over k tiles with products of warpgroups."""
    multiplies = {s for s, m in movements.items() if any(isinstance(op, Wgmma) for op in operations(m.ops))}
    return [at for at in schedule.find(level=TILE) if not multiplies.isdisjoint(schedule.band(at).statements)]


def _single(schedule: Schedule, at: Path, movements: Mapping[str, Movement]) -> bool:
    """Whether a loop has one k tile: its band has a constant."""
    return all(schedule.band(at).schedule(s)[0].is_constant for s in schedule.band(at).statements)


def _waits(m: Movement) -> bool:
    return any(isinstance(op, WgmmaWait) for op in operations(m.ops))


def _releases(band: Band, movements: Mapping[str, Movement], statement: str) -> bool:
    """Whether a statement says that a slot is free: it arrives where another one waits before its boxes."""
    ops = (op for s in band.statements for op in operations(movements[s].ops))
    first = next((op.phase.barriers for op in ops if isinstance(op, Await)), None)
    return any(isinstance(op, Arrive) and op.phase.barriers == first for op in operations(movements[statement].ops))


def _touched(band: Band, movements: Mapping[str, Movement]) -> dict[str, tuple[Map, Map]]:
    """What the iterations of each statement read and write, { [iteration] -> array[slot] } each.

    A tile is read until its products are done: so their wait reads it, too.
    """
    out, read = {}, []
    for s in band.statements:
        m, found = movements[s], {"read": [], "write": []}
        for op in operations(m.ops):
            for array, slot, kind in _slots(op):
                found[kind].append(_graph(m.dims, band.schedule(s)[0], slot, array))
            if isinstance(op, BoxCopy):
                read.append(_graph(m.dims, band.schedule(s)[0], op.buffer, op.tile))
        out[s] = _together(found["read"]), _together(found["write"])
    return {s: (_together([reads, *read]), writes) if _waits(movements[s]) else (reads, writes)
            for s, (reads, writes) in out.items()}  # fmt: skip


def _slots(op: Op) -> list[tuple[str, Aff | None, str]]:
    """(array, slot, "read" or "write") of what an operation touches; slot None: the iteration's own number."""
    match op:
        case Await(phase):
            return [(phase.barriers, phase.slot, "read")]
        case Arrive(phase):
            return [(phase.barriers, phase.slot, "write")]
        case BoxCopy():
            return [(op.tile, op.buffer, "write"), (op.phase.barriers, op.phase.slot, "write")]
        case Wgmma():
            return [*((x.tile, x.buffer, "read") for _, x in op.shared), (GROUPS, None, "write")]
        case LoadMatrix() | SharedLoad():
            return [(op.tile, op.buffer, "read")]
        case SharedStore():
            return [(op.tile, op.buffer, "write")]
        case WgmmaCommit():
            return [(GROUPS, None, "write")]
        case WgmmaWait():
            return [(GROUPS, None, "read")]
    return []


def _graph(dims: tuple[str, ...], time: Aff, slot: Aff | None, array: str) -> Map:
    """{ [iteration] -> array[slot] } for expressions in some dimensions."""
    at = time if slot is None else slot
    params = tuple(sorted((time.names() | at.names()) - set(dims)))
    one, two = distinct(("x", "slot"), (*params, *dims))
    piece = RowBuilder((*params, one, *dims, two)).conjunct([("eq", var(one) - time), ("eq", var(two) - at)])
    space = Space(Tuple(None, (one, *dims)), Tuple(None, (two,)))
    whole = Map._of(params, [(space, () if piece is None else (piece,))]).project_out(*dims)
    return Map._of(whole.param_names, [(Space(x.inp, Tuple(array, x.out.dims)), c) for x, c in whole.parts])


def _together(maps: Collection[Map]) -> Map:
    """All of them."""
    return reduce(or_, dict.fromkeys(maps), Map._of((), []))


def split(schedule: Schedule, producing: Collection[str]) -> Schedule:
    """The tree with the block's program split between a producer and consumers."""
    at = next(at for at, node in schedule.walk(schedule.find(level=BLOCK)[0]) if isinstance(node, InOrder))
    there = [s for c in schedule.node(at).children if isinstance(c, Filter) for s in c.statements]
    named = {CONSUMER: [s for s in there if s not in producing], PRODUCER: [s for s in there if s in producing]}
    return roles(schedule, at, named)
