"""Rings of boxes whose products are waited for strip by strip: those with a left operand in registers.

Registers take turns by strips, so it is strips on which the next ones' loads and formulas run while products do. The
loops over tiles and over their strips become one, the waits and what stands behind them move by a strip, and there are
two loops again:

    BAND: full → [kt]; frag_A → [kt]; S → [⌊k/64⌋]; done → [kt]; release → [kt]
      BAND: full → [0]; frag_A → [ks]; S → [⌊k/16⌋ mod 4]; done → [ks]; release → [3]
                                    =>
    BAND: full → [kt]; frag_A → [kt]; S → [⌊k/64⌋]; done → [kt + ⌊(ks + 1)/4⌋]; release → [kt + 1]
      BAND: full → [0]; frag_A → [ks]; S → [⌊k/16⌋ mod 4]; done → [(ks + 1) mod 4]; release → [0]

By how many strips follows from the sets of registers. Arrivals in several blocks of a cluster are a branch in the text,
and ptxas serialises the products of a trip that has one between them (C7513): so these stand at the trip's end, a tile
later. What each strip touches is read off the operations: that nobody
loads fragments over those of a product that hasn't been waited for is for the pass to prove.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import cast

from polyvolta.cuda.build.promotion.model import STRIP, TILE, Movement
from polyvolta.cuda.build.promotion.pipeline import instances_of, later, steady, times_of
from polyvolta.cuda.build.promotion.slots import does
from polyvolta.cuda.ir.kernel_ir import Element, LoadMatrix, Memories, Op, Wgmma, WgmmaWait
from polyvolta.cuda.ir.walk import operations
from polyvolta.sched.nodes import Band
from polyvolta.sched.passes.bands.flatten import flatten
from polyvolta.sched.passes.bands.join import join
from polyvolta.sched.passes.bands.loop_type import set_loop_type, unroll
from polyvolta.sched.passes.bands.split import split
from polyvolta.sched.passes.bands.strip_mine import strip_mine
from polyvolta.sched.passes.order.prefetch import prefetch
from polyvolta.sched.tree import Path, Schedule
from polyvolta.sets import Aff, Map, Set, Tuple, var
from polyvolta.sets.values.build import RowBuilder
from polyvolta.sets.values.simplify import Range, simplify
from polyvolta.sets.values.space import Space, distinct

Slots = Callable[[Op], Sequence[tuple[str, Aff | None, str]]]
"""(array, slot, "read" or "write") of what an operation touches; slot None: the strip's own number."""


def sets_of(schedule: Schedule, at: Path, movements: Mapping[str, Movement], arrays: Memories) -> int:
    """In how many sets of registers the strips of a k loop take turns; 0 of one whose left operand is no fragment."""
    ops = (op for s in schedule.band(at).statements for op in operations(movements[s].ops))
    held = (op.a for op in ops if isinstance(op, Wgmma) and isinstance(op.a, Element))
    return next((arrays.register(x.array).shape[0] for x in held), 0)


def lagging(
    schedule: Schedule, at: Path, movements: Mapping[str, Movement], arrays: Memories, context: Set, strips: int,
    moved: Sequence[str], slots: Slots,
) -> Schedule:  # fmt: skip
    """The k loop with some statements so many strips later as there are further sets of registers.

    Parameters
    ----------
    moved : the waits for products, and what stands behind them.

    Raises
    ------
    IllegalTransformation : two strips that touch the same slot would change their order.
    """
    lag = sets_of(schedule, at, movements, arrays) - 1
    words = {s: does(movements[s], arrays) for s in schedule.band(at).statements}
    if lag:
        schedule = join(schedule, at)
        touched = _touched(schedule.band(at), movements, strips, slots)
        schedule = flatten(schedule, at, strips, STRIP)
        order = list(range(len(schedule.node((*at, 0)).children)))
        by = {s: lag if len(movements[s].ops) == 1 else lag * strips for s in moved}
        schedule = prefetch(schedule, at, by, order, touched, {}, context, strips)
        schedule = strip_mine(schedule, at, {0: strips}, nested=False, level=(TILE,))
        schedule = split(schedule, at, 1)
        schedule = set_loop_type(unroll(schedule, (*at, 0), 0, False), (*at, 0), 0, "unroll")
        names = {m.dims[-1]: (0, strips - 1) for m in (movements[s] for s in moved) if _waits(m)}
        for path in (at, (*at, 0)):
            schedule = _simplified(schedule, path, names)
    return steady(schedule, at, words, context)


def _simplified(schedule: Schedule, at: Path, ranges: Mapping[str, Range]) -> Schedule:
    """The tree with the expressions of a band in simpler words, where names have ranges."""
    band: Band = schedule.band(at)
    members = (replace(m, exprs=tuple((s, simplify(cast("Aff", e), ranges)) for s, e in m.exprs)) for m in band.members)
    return schedule.replace(at, replace(band, members=tuple(members)))


def _waits(m: Movement) -> bool:
    return any(isinstance(op, WgmmaWait) for op in operations(m.ops))


def _touched(
    band: Band, movements: Mapping[str, Movement], strips: int, slots: Slots
) -> dict[str, tuple[Map, Map]]:
    """What the strips of each statement read and write, { [strip] -> array[slot] } each.

    What products read they read until they are done: so their wait reads it, too.
    """
    out, of_products = {}, []
    for s in band.statements:
        m, found = movements[s], {"read": [], "write": []}
        for op in operations(m.ops):
            for array, slot, kind in (*slots(op), *_of_registers(op)):
                found[kind].append(graph := _graph(m.dims, band.schedule(s), slot, array, strips))
                of_products += [graph] if isinstance(op, Wgmma) and kind == "read" else []
        out[s] = _together(found["read"]), _together(found["write"])
    whole = _together(of_products)
    return {s: (reads | whole, writes) if _waits(movements[s]) else (reads, writes)
            for s, (reads, writes) in out.items()}  # fmt: skip


def _of_registers(op: Op) -> list[tuple[str, Aff | None, str]]:
    """The sets of registers that an operation loads or multiplies."""
    match op:
        case LoadMatrix(target):
            return [(target.array, target.index[0], "write")]
        case Wgmma(_, Element(array, index)):
            return [(array, index[0], "read")]
    return []


def _graph(dims: tuple[str, ...], times: Sequence[Aff], slot: Aff | None, array: str, strips: int) -> Map:
    """{ [strip] -> array[slot] } for a tile's and a strip's number in some dimensions."""
    tile, strip = times
    time = strips * tile + strip
    at = time if slot is None else slot
    params = tuple(sorted((time.names() | at.names()) - set(dims)))
    one, two = distinct(("x", "slot"), (*params, *dims))
    rows = [("eq", var(one) - time), ("eq", var(two) - at), ("ge", strip), ("ge", strips - 1 - strip)]
    piece = RowBuilder((*params, one, *dims, two)).conjunct(rows)
    space = Space(Tuple(None, (one, *dims)), Tuple(None, (two,)))
    whole = Map._of(params, [(space, () if piece is None else (piece,))]).project_out(*dims)
    return Map._of(whole.param_names, [(Space(x.inp, Tuple(array, x.out.dims)), c) for x, c in whole.parts])


def _together(maps: Sequence[Map]) -> Map:
    return reduce(or_, dict.fromkeys(maps), Map._of((), []))


def running(
    schedule: Schedule, at: Path, wait: str, commit: str, movements: Mapping[str, Movement], strips: int
) -> int:
    """How many commits of later strips come before a strip's wait, for every strip that there is."""
    *_, kt, ks = movements[wait].dims
    n = "n"
    tile, strip = var(n) // strips, var(n) % strips
    w, c = (tuple(e.subs({kt: tile, ks: strip}) for e in times_of(schedule, at, s)) for s in (wait, commit))
    found = later(n, w, c)
    if found.is_empty():
        return 0
    there, made = (instances_of(schedule, at, s) for s in (wait, commit))
    dims = there.space.out.dims
    made = Set._of(made.param_names, [(Space(None, Tuple(None, made.space.out.dims)), c) for _, c in made.parts])
    whole = strips * var(kt) + var(ks)
    count = 0
    for (o,) in found.deltas().points():
        moved = {kt: (whole + o) // strips, ks: (whole + o) % strips}
        shifted = there.apply(Map.from_affs(there.space, [moved.get(d, var(d)) for d in dims]))
        count += shifted.is_subset(made)
    return count
