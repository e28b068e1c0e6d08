"""Prefetching in a promoted tree: the copies of the next k tile run while this one is computed on.

The k loop of every product is shifted and reordered by `sched.passes.prefetch`: the loads run first, so that their
latency is hidden behind the computation, then the computation, then barriers and stores in the order that they have.
With one buffer that makes loads, computation, barrier, stores, barrier; with two, whose stores need not wait for the
other warps' reads, loads, computation, stores, barrier.

The order of a tile's stores, barriers and reads, among themselves and to those of the tiles before and after, stays
what it is in the promoted tree. That is checked: a barrier counts as touching all of shared memory.
"""

from __future__ import annotations

from collections.abc import Mapping

from polyvolta.cuda.ir.walk import operations, touches
from polyvolta.cuda.ir.kernel_ir import Barrier, FragmentLoad, GlobalLoad, Mma, SharedStore
from polyvolta.cuda.build.promotion.model import Movement
from polyvolta.sched.nodes import Band, Filter
from polyvolta.sched.nodes import Sequence as InOrder
from polyvolta.sched.passes.order.prefetch import prefetch
from polyvolta.sched.tree import Path, Schedule

Touched = tuple[frozenset[str], frozenset[str]]


def prefetched(schedule: Schedule, movements: Mapping[str, Movement]) -> Schedule:
    """The tree with the copies of every k loop one iteration ahead.

    Parameters
    ----------
    movements : what the statements do, by name.

    Raises
    ------
    IllegalTransformation : two iterations that touch the same array would change their order.

    Cost: some small emptiness tests for each loop.
    """
    for at in k_loops(schedule, movements):
        children = schedule.node((*at, 0)).children
        first = [k for k, c in enumerate(children) if _does(c, movements, GlobalLoad)]
        compute = [k for k, c in enumerate(children) if _does(c, movements, Mma)]
        rest = [k for k in range(len(children)) if k not in (*first, *compute)]
        statements = schedule.band(at).statements
        ahead = {s: -1 for s in statements if not _is(movements[s], Mma)}
        found = _touches(schedule, at, movements)
        schedule = prefetch(schedule, at, ahead, (*first, *compute, *rest), found)
    return schedule


def k_loops(schedule: Schedule, movements: Mapping[str, Movement]) -> list[Path]:
    """The bands that stand above both the copies and the macro-MMAs of a product."""
    found = []
    for at in schedule.bands():
        band = schedule.band(at)
        if len(band.members) == 1 and isinstance(band.child, InOrder):
            kinds = [any(_is(movements[s], kind) for s in band.statements) for kind in (SharedStore, Mma)]
            found += [at] if all(kinds) else []
    return found


def _touches(schedule: Schedule, at: Path, movements: Mapping[str, Movement]) -> dict[str, Touched]:
    """What each statement of a k loop reads and writes; a product's with the fragment loads that its strips add."""
    band: Band = schedule.band(at)
    own = {s: _touched(movements[s]) for s in band.statements}
    shared = frozenset(op.tile for s in band.statements for op in _ops(movements[s]) if isinstance(op, SharedStore))
    inner = [m for _, node in schedule.walk(at) if isinstance(node, Filter) for s in node.statements
             if s not in own and _is(m := movements[s], FragmentLoad)]  # fmt: skip
    for s in band.statements:
        if _is(movements[s], Mma):
            parts = [own[s], *(_touched(m) for m in inner)]
            own[s] = frozenset().union(*(r for r, _ in parts)), frozenset().union(*(w for _, w in parts))
        elif _is(movements[s], Barrier):
            own[s] = shared, shared
    return own


def _ops(m: Movement) -> tuple:
    return tuple(operations(m.ops))


def _is(m: Movement, kind: type) -> bool:
    return any(isinstance(op, kind) for op in _ops(m))


def _does(child: object, movements: Mapping[str, Movement], kind: type) -> bool:
    return isinstance(child, Filter) and any(_is(movements[s], kind) for s in child.statements)


def _touched(m: Movement) -> Touched:
    found = [touches(op) for op in _ops(m)]
    return frozenset().union(*(r for r, _ in found)), frozenset().union(*(w for _, w in found))
