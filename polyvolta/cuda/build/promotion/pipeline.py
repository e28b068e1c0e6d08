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

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from polyvolta.cuda.build.promotion.model import PER_THREAD, TILE, CannotPromote, Movement
from polyvolta.cuda.build.promotion.nests import conjunction
from polyvolta.cuda.ir.kernel_ir import Access, Memories, Op
from polyvolta.cuda.ir.walk import operations
from polyvolta.sched.nodes import Band, Filter
from polyvolta.sched.passes.order.prefetch import prefetch
from polyvolta.sched.tree import Path, Schedule
from polyvolta.sets import Aff, Map, Set, Tuple, aff, var
from polyvolta.sets.conjuncts.conjunct import Conjunct
from polyvolta.sets.values.space import Space, distinct


def prefetched(
    schedule: Schedule, movements: Mapping[str, Movement], arrays: Memories, context: Set, ahead: int = 1
) -> Schedule:
    """The tree with the copies of every k loop some iterations ahead.

    Parameters
    ----------
    movements : what the statements do, by name.
    arrays : all that they name.
    context : what may be assumed of the sizes.
    ahead : how many iterations; 0 leaves the tree as it is.

    Raises
    ------
    IllegalTransformation : two iterations that touch the same slot would change their order, or lose the barrier
        between them; names the iterations and the slot.
    CannotPromote : a slot differs between threads.

    Cost: some small emptiness tests for each loop.
    """
    for at in bands_along_k(schedule, movements, arrays) if ahead else ():
        children = schedule.node((*at, 0)).children
        first = [k for k, c in enumerate(children) if _does(c, movements, _that(arrays, "read", "global"))]
        compute = [k for k, c in enumerate(children) if _does(c, movements, _multiplies)]
        rest = [k for k in range(len(children)) if k not in (*first, *compute)]
        by = {s: -ahead for s in schedule.band(at).statements if not _is(movements[s], _multiplies)}
        found, fences = (of(schedule, at, movements, arrays) for of in (touched, fences_of))
        schedule = prefetch(schedule, at, by, (*first, *compute, *rest), found, fences, context)
    return schedule


def bands_along_k(schedule: Schedule, movements: Mapping[str, Movement], arrays: Memories) -> list[Path]:
    """The loops over k tiles: the bands of that level with both the copies and the macro-MMAs of a product."""
    tests = _that(arrays, "write", "shared"), _multiplies
    loops = {at: [movements[s] for s in schedule.band(at).statements] for at in schedule.find(level=TILE)}
    return [at for at, mine in loops.items() if all(any(_is(m, test) for m in mine) for test in tests)]


def touched(
    schedule: Schedule, at: Path, movements: Mapping[str, Movement], arrays: Memories
) -> dict[str, tuple[Map, Map]]:
    """What the iterations of each statement of a k loop read and write, { [iteration] -> array[slot] } each.

    A product's reads are those of the fragment loads that its strips add.

    Raises
    ------
    CannotPromote : a slot differs between threads.
    """
    band: Band = schedule.band(at)
    member = band.members[0]
    own = {s: [(movements[s], member.of(s))] for s in band.statements}
    added = next((e for s, ((_, e),) in own.items() if not _is(movements[s], _multiplies)), aff(0))
    fetches = _that(arrays, "read", "shared")
    inner = [m for _, node in schedule.walk(at) if isinstance(node, Filter) for s in node.statements
             if s not in own and _is(m := movements[s], fetches)]  # fmt: skip
    for s, parts in own.items():
        if _is(movements[s], _multiplies):
            parts += [(m, added) for m in inner]  # they say the k tile by the name by which the copies do
    out = {}
    for s, parts in own.items():
        found = [(m, e, a) for m, e in parts for op in operations(m.ops) for a in op.accesses(arrays)]
        of_kind = ([_slot(m, e, a) for m, e, a in found if a.kind == kind] for kind in ("read", "write"))
        reads, writes = map(_together, of_kind)
        out[s] = reads, writes
    return out


def fences_of(
    schedule: Schedule, at: Path, movements: Mapping[str, Movement], arrays: Memories
) -> dict[str, frozenset[str]]:
    """The barriers of a k loop, and the tiles whose accesses they order: all that the loop stores to.

    A tile is read by other warps than have stored it, so that it is the block's barriers alone that order it.
    """
    statements = schedule.band(at).statements
    found = (a for s in statements for op in operations(movements[s].ops) for a in op.accesses(arrays))
    stored = frozenset(a.array for a in found if a.space == "shared" and a.writes)
    return {s: stored for s in statements if _is(movements[s], _orders)}


def _slot(m: Movement, iteration: Aff, access: Access) -> Map:
    """{ [iteration] -> array[slot] } of an access: slots are the buffers of tiles; other arrays have one.

    A name of a thread is no parameter of that relation, which would have one value in both of two iterations that are
    compared, while two threads that run them have two.
    """
    if own := sorted((access.slot.names() - set(m.dims)) & PER_THREAD):
        raise CannotPromote(
            f"{m.statement} is in a k loop whose copies go ahead, and reaches slot {access.slot} of {access.array}, "
            f"where {own[0]} differs between threads",
            hint="a slot is the same for all threads of a block; prefetch=0 leaves the copies where they are",
        )
    params, space, pieces = _graph(m.dims, iteration, access.slot)
    return Map._of(params, [(Space(space.inp, Tuple(access.array, space.out.dims)), pieces)])


@lru_cache(maxsize=1024)
def _graph(dims: tuple[str, ...], x: Aff, y: Aff) -> tuple[tuple[str, ...], Space, tuple[Conjunct, ...]]:
    """{ [x] -> [y] }, both expressions in some dimensions: its parameters, its space, its pieces."""
    params = tuple(sorted((x.names() | y.names()) - set(dims)))
    one, two = distinct(("x", "slot"), (*params, *dims))
    pieces = conjunction((*params, one, *dims, two), [("eq", var(one) - x), ("eq", var(two) - y)])
    whole = Map._of(params, [(Space(Tuple(None, (one, *dims)), Tuple(None, (two,))), pieces)])
    ((space, pieces),) = whole.project_out(*dims).parts
    return params, space, pieces


def _together(maps: Iterable[Map]) -> Map:
    """All of them, each once."""
    parts = dict.fromkeys(p for m in maps for p in m.parts)
    return Map._of((), list(parts))


def _that(arrays: Memories, kind: str, space: str) -> Callable[[Op], bool]:
    """Whether an operation reads, or writes, in a memory."""
    return lambda op: any((a.kind, a.space) == (kind, space) for a in op.accesses(arrays))


def _multiplies(op: Op) -> bool:
    return op.product is not None


def _orders(op: Op) -> bool:
    return op.orders == "block"


def _is(m: Movement, test: Callable[[Op], bool]) -> bool:
    return any(map(test, operations(m.ops)))


def _does(child: object, movements: Mapping[str, Movement], test: Callable[[Op], bool]) -> bool:
    return isinstance(child, Filter) and any(_is(movements[s], test) for s in child.statements)
