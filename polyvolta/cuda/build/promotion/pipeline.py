"""Prefetching in a promoted tree: the copies of the next k tile run while this one is computed on.

The k loop of every product is shifted and reordered by `sched.passes.prefetch`: the loads run first, so that their
latency is hidden behind the computation, then the computation, then barriers and stores in the order that they have.
With one buffer that makes loads, computation, barrier, stores, barrier; with two, whose stores need not wait for the
other warps' reads, loads, computation, stores, barrier.

The order of a tile's stores, barriers and reads, among themselves and to those of the tiles before and after, stays
what it is in the promoted tree. That is checked: a barrier counts as touching all of shared memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from polyvolta.cuda.ir.walk import operations, touches
from polyvolta.cuda.ir.kernel_ir import Access, Memories, Op
from polyvolta.cuda.build.promotion.model import Movement
from polyvolta.sched.nodes import Band, Filter
from polyvolta.sched.nodes import Sequence as InOrder
from polyvolta.sched.passes.prefetch import prefetch
from polyvolta.sched.tree import Path, Schedule

Touched = tuple[frozenset[str], frozenset[str]]


def prefetched(schedule: Schedule, movements: Mapping[str, Movement], arrays: Memories) -> Schedule:
    """The tree with the copies of every k loop one iteration ahead.

    Parameters
    ----------
    movements : what the statements do, by name.
    arrays : all that they name.

    Raises
    ------
    IllegalTransformation : two iterations that touch the same array would change their order.

    Cost: some small emptiness tests for each loop.
    """
    for at in k_loops(schedule, movements, arrays):
        children = schedule.node((*at, 0)).children
        loads = _that(arrays, "read", "global")
        first = [k for k, c in enumerate(children) if _does(c, movements, loads)]
        compute = [k for k, c in enumerate(children) if _does(c, movements, _multiplies)]
        rest = [k for k in range(len(children)) if k not in (*first, *compute)]
        statements = schedule.band(at).statements
        ahead = {s: -1 for s in statements if not _is(movements[s], _multiplies)}
        found = _touches(schedule, at, movements, arrays)
        schedule = prefetch(schedule, at, ahead, (*first, *compute, *rest), found)
    return schedule


def k_loops(schedule: Schedule, movements: Mapping[str, Movement], arrays: Memories) -> list[Path]:
    """The bands that stand above both the copies and the macro-MMAs of a product."""
    found = []
    for at in schedule.bands():
        band = schedule.band(at)
        if len(band.members) == 1 and isinstance(band.child, InOrder):
            tests = _that(arrays, "write", "shared"), _multiplies
            found += [at] if all(any(_is(movements[s], test) for s in band.statements) for test in tests) else []
    return found


def _touches(schedule: Schedule, at: Path, movements: Mapping[str, Movement], arrays: Memories) -> dict[str, Touched]:
    """What each statement of a k loop reads and writes; a product's with the fragment loads that its strips add.

    A barrier touches all that is stored to shared memory: nothing of it may come to stand on its other side.
    """
    band: Band = schedule.band(at)
    own = {s: _touched(movements[s], arrays) for s in band.statements}
    shared = frozenset(
        a.array for s in band.statements for a in _accesses(movements[s], arrays) if a.space == "shared" and a.writes
    )
    fetches = _that(arrays, "read", "shared")
    inner = [m for _, node in schedule.walk(at) if isinstance(node, Filter) for s in node.statements
             if s not in own and _is(m := movements[s], fetches)]  # fmt: skip
    for s in band.statements:
        if _is(movements[s], _multiplies):
            parts = [own[s], *(_touched(m, arrays) for m in inner)]
            own[s] = frozenset().union(*(r for r, _ in parts)), frozenset().union(*(w for _, w in parts))
        elif _is(movements[s], _orders):
            own[s] = shared, shared
    return own


def _that(arrays: Memories, kind: str, space: str) -> Callable[[Op], bool]:
    """Whether an operation reads, or writes, in a memory."""
    return lambda op: any((a.kind, a.space) == (kind, space) for a in op.accesses(arrays))


def _multiplies(op: Op) -> bool:
    return op.product is not None


def _orders(op: Op) -> bool:
    return op.orders is not None


def _ops(m: Movement) -> tuple[Op, ...]:
    return tuple(operations(m.ops))


def _accesses(m: Movement, arrays: Memories) -> list[Access]:
    return [a for op in _ops(m) for a in op.accesses(arrays)]


def _is(m: Movement, test: Callable[[Op], bool]) -> bool:
    return any(map(test, _ops(m)))


def _does(child: object, movements: Mapping[str, Movement], test: Callable[[Op], bool]) -> bool:
    return isinstance(child, Filter) and any(_is(movements[s], test) for s in child.statements)


def _touched(m: Movement, arrays: Memories) -> Touched:
    found = [touches(op, arrays) for op in _ops(m)]
    return frozenset().union(*(r for r, _ in found)), frozenset().union(*(w for _, w in found))
