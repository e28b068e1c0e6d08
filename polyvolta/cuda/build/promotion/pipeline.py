"""Prefetching in a promoted tree: the copies of later k tiles run while this one is computed on.

The k loop of every product is shifted and reordered by `sched.passes.prefetch`: the loads run first, so that their
latency is hidden behind the computation, then the computation, then barriers and stores in the order that they have.
With one buffer that makes loads, computation, barrier, stores, barrier; with several, whose stores need not wait for
the other warps' reads, loads, computation, stores, barrier.

A tile's buffers are a ring, tile k in slot k mod S, and copies run up to S - 1 tiles ahead: to a slot that all warps
have left at the barrier before. With one slot they run one tile ahead, since its stores stand between two barriers.
What is loaded is on its way in registers during one trip, whatever the distance: there is one set of them, and a trip
stores at its end what it has loaded at its start.

Which slot an iteration touches is read off the operations, and that every tile's stores, barriers and reads stay in
order is for the pass to prove: two iterations that touch one slot keep their order, and the barrier between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from polyvolta.cuda.build.promotion.footprints import conjunction
from polyvolta.cuda.build.promotion.model import TILE, Movement
from polyvolta.cuda.ir.kernel_ir import Barrier, FragmentLoad, GlobalLoad, Mma, Op, SharedStore
from polyvolta.cuda.ir.walk import operations, touches
from polyvolta.sched.nodes import Band, Filter
from polyvolta.sched.passes.order.prefetch import prefetch
from polyvolta.sched.tree import Path, Schedule
from polyvolta.sets import Aff, Map, Set, Tuple, aff, var
from polyvolta.sets.conjuncts.conjunct import Conjunct
from polyvolta.sets.values.space import Space, distinct


def prefetched(schedule: Schedule, movements: Mapping[str, Movement], context: Set, ahead: int = 1) -> Schedule:
    """The tree with the copies of every k loop some iterations ahead.

    Parameters
    ----------
    movements : what the statements do, by name.
    context : what may be assumed of the sizes.
    ahead : how many iterations; 0 leaves the tree as it is.

    Raises
    ------
    IllegalTransformation : two iterations that touch the same slot would change their order, or lose the barrier
        between them; names the iterations and the slot.

    Cost: some small emptiness tests for each loop.
    """
    for at in k_loops(schedule, movements) if ahead else ():
        children = schedule.node((*at, 0)).children
        first = [k for k, c in enumerate(children) if _does(c, movements, GlobalLoad)]
        compute = [k for k, c in enumerate(children) if _does(c, movements, Mma)]
        rest = [k for k in range(len(children)) if k not in (*first, *compute)]
        by = {s: -ahead for s in schedule.band(at).statements if not _is(movements[s], Mma)}
        found, fences = touched(schedule, at, movements), fences_of(schedule, at, movements)
        schedule = prefetch(schedule, at, by, (*first, *compute, *rest), found, fences, context)
    return schedule


def k_loops(schedule: Schedule, movements: Mapping[str, Movement]) -> list[Path]:
    """The loops over k tiles: the bands of that level with both the copies and the macro-MMAs of a product."""
    loops = {at: [movements[s] for s in schedule.band(at).statements] for at in schedule.find(level=TILE)}
    return [at for at, mine in loops.items() if all(any(_is(m, kind) for m in mine) for kind in (SharedStore, Mma))]


def touched(schedule: Schedule, at: Path, movements: Mapping[str, Movement]) -> dict[str, tuple[Map, Map]]:
    """What the iterations of each statement of a k loop read and write, { [iteration] -> array[slot] } each.

    A product's reads are those of the fragment loads that its strips add.
    """
    band: Band = schedule.band(at)
    member = band.members[0]
    own = {s: [(movements[s], member.of(s))] for s in band.statements}
    added = next((e for s, ((_, e),) in own.items() if not _is(movements[s], Mma)), aff(0))
    inner = [m for _, node in schedule.walk(at) if isinstance(node, Filter) for s in node.statements
             if s not in own and _is(m := movements[s], FragmentLoad)]  # fmt: skip
    for s, parts in own.items():
        if _is(movements[s], Mma):
            parts += [(m, added) for m in inner]  # they say the k tile by the name by which the copies do
    out = {}
    for s, parts in own.items():
        ops = [(m, e, op) for m, e in parts for op in operations(m.ops)]
        out[s] = tuple(_together(_slots(m, e, op, touches(op)[k]) for m, e, op in ops) for k in (0, 1))
    return out


def fences_of(schedule: Schedule, at: Path, movements: Mapping[str, Movement]) -> dict[str, frozenset[str]]:
    """The barriers of a k loop, and the tiles whose accesses they order: all that the loop stores to."""
    statements = schedule.band(at).statements
    stored = [op for s in statements for op in operations(movements[s].ops) if isinstance(op, SharedStore)]
    return {s: frozenset(op.tile for op in stored) for s in statements if _is(movements[s], Barrier)}


def _slots(m: Movement, iteration: Aff, op: Op, arrays: Iterable[str]) -> Iterator[Map]:
    """{ [iteration] -> array[slot] } of an operation: slots are the buffers of tiles; other arrays have one."""
    for array in sorted(arrays):
        params, space, pieces = _graph(m.dims, iteration, _slot(op, array))
        yield Map._of(params, [(Space(space.inp, Tuple(array, space.out.dims)), pieces)])


@lru_cache(maxsize=1024)
def _graph(dims: tuple[str, ...], x: Aff, y: Aff) -> tuple[tuple[str, ...], Space, tuple[Conjunct, ...]]:
    """{ [x] -> [y] }, both expressions in some dimensions: its parameters, its space, its pieces."""
    params = tuple(sorted((x.names() | y.names()) - set(dims)))
    one, two = distinct(("x", "slot"), (*params, *dims))
    pieces = conjunction((*params, one, *dims, two), [("eq", var(one) - x), ("eq", var(two) - y)])
    whole = Map._of(params, [(Space(Tuple(None, (one, *dims)), Tuple(None, (two,))), pieces)])
    ((space, pieces),) = whole.project_out(*dims).parts
    return params, space, pieces


def _slot(op: Op, array: str) -> Aff:
    """The buffer of a tile that an operation touches."""
    return op.buffer if isinstance(op, SharedStore | FragmentLoad) and array in ("", op.tile) else aff(0)


def _together(maps: Iterable[Iterable[Map]]) -> Map:
    """All of them, each once."""
    parts = dict.fromkeys(p for some in maps for m in some for p in m.parts)
    return Map._of((), list(parts))


def _is(m: Movement, kind: type) -> bool:
    return any(isinstance(op, kind) for op in operations(m.ops))


def _does(child: object, movements: Mapping[str, Movement], kind: type) -> bool:
    return isinstance(child, Filter) and any(_is(movements[s], kind) for s in child.statements)
