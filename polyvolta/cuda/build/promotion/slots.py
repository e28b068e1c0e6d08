"""What a k loop's iterations touch, as relations: buffers of tiles, sets of fragments, groups of copies.

    copy_A writes { [kt] -> shared_A[kt mod 3] }        wait writes { [kt] -> shared_A[kt mod 3] }
    frag_A reads  { [x] -> shared_A[⌊x/4⌋ mod 3] }      frag_A writes { [x] -> hmma_A[x mod 2] }

An iteration is a k tile, or a strip of one where the loop counts strips. Everything is read off the operations: `does`
says what kinds of them a statement has, `touched` which slots its iterations reach, `fences_of` which barriers order
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from polyvolta.cuda.build.promotion.model import PER_THREAD, CannotPromote, Movement
from polyvolta.cuda.build.promotion.nests import conjunction
from polyvolta.cuda.ir.kernel_ir import Access, Memories
from polyvolta.cuda.ir.walk import operations
from polyvolta.sched.nodes import Band, Filter
from polyvolta.sched.tree import Path, Schedule
from polyvolta.sets import Aff, Map, Tuple, aff, var
from polyvolta.sets.conjuncts.conjunct import Conjunct
from polyvolta.sets.values.space import Space, distinct

GROUPS = "groups of copies"
"""What commits close and waits wait for: an array of which each k tile has an element. No array has that name."""
MOVES = {
    "load": ("read", "global", "issue"),
    "store": ("write", "shared", "issue"),
    "issue": ("write", "shared", "completion"),
    "fetch": ("read", "shared", "issue"),
}
"""What an operation does by its accesses: kind, memory, and when."""


def does(m: Movement, arrays: Memories) -> frozenset[str]:
    """What a statement's operations do in a k loop: "load" and "store" on the way through registers; "issue" copies,
    "commit" and "await" groups of them; "fetch" fragments; "multiply"; "order" the threads of the block.
    """
    found = set()
    for op in operations(m.ops):
        moved = {(a.kind, a.space, a.when) for a in op.accesses(arrays)}
        found |= {word for word, move in MOVES.items() if move in moved}
        stated = (("commit", op.commits), ("await", op.awaits is not None), ("multiply", op.product is not None))
        found |= {word for word, holds in (*stated, ("order", op.orders == "block")) if holds}
    return frozenset(found)


def touched(
    schedule: Schedule, at: Path, movements: Mapping[str, Movement], arrays: Memories, strips: int = 1
) -> dict[str, tuple[Map, Map]]:
    """What the iterations of each statement of a k loop read and write, { [iteration] -> array[slot] } each.

    A product's reads are those of the fragment loads that its strips add. What copies write, the wait for them writes,
    too.

    Parameters
    ----------
    strips : of a tile, where the band has a second member for them: an iteration is a strip then.

    Raises
    ------
    CannotPromote : a slot differs between threads.
    """
    band: Band = schedule.band(at)
    own = {s: [(movements[s], band.schedule(s))] for s in band.statements}
    words = {s: does(movements[s], arrays) for s in own}
    added = next((e for s, ((_, e),) in own.items() if "multiply" not in words[s]), (aff(0),))
    inner = [m for _, node in schedule.walk(at) if isinstance(node, Filter) for s in node.statements
             if s not in own and "fetch" in does(m := movements[s], arrays)]  # fmt: skip
    for s, parts in own.items():
        if "multiply" in words[s]:
            parts += [(m, added) for m in inner]  # they say the k tile by the name by which the copies do
    rings = _register_rings(movements, arrays, own)
    out = {}
    for s, parts in own.items():
        found = [(m, e, a) for m, e in parts for op in operations(m.ops) for a in op.accesses(arrays)]
        of_kind = ([_slot(m, e, a, strips, rings) for m, e, a in found if a.kind == kind] for kind in ("read", "write"))
        reads, writes = map(_together, of_kind)
        out[s] = reads, writes
    completed = [p for s in own if "issue" in words[s] for p in out[s][1].parts if p[0].out.name in
                 _completed(movements[s], arrays)]  # fmt: skip
    for s, ((m, e), *_) in own.items():
        if words[s] & {"issue", "commit", "await"}:
            reads, writes = out[s]
            group = _named(_graph(m.dims, e, e[0], strips), GROUPS)
            more = Map._of((), list(dict.fromkeys(completed))) if "await" in words[s] else group
            out[s] = _together([reads, group]), _together([writes, more])
    return out


def _completed(m: Movement, arrays: Memories) -> set[str]:
    """What a movement's asynchronous copies write."""
    return {a.array for op in operations(m.ops) for a in op.accesses(arrays) if a.writes and a.when == "completion"}


def _register_rings(movements: Mapping[str, Movement], arrays: Memories, names: Iterable[str]) -> frozenset[str]:
    """The arrays of fragments whose first index says which of several sets of registers an element is in."""
    operands = (a for s in names for op in operations(movements[s].ops) if op.product is not None
                for a in op.accesses(arrays)[1:3])  # fmt: skip
    return frozenset(a.array for a in operands if len(a.index) > 1)


def fences_of(
    schedule: Schedule, at: Path, movements: Mapping[str, Movement], arrays: Memories
) -> dict[str, frozenset[str]]:
    """The barriers of a k loop, and the tiles whose accesses they order: all that the loop stores to.

    A tile is read by other warps than have stored it, so that it is the block's barriers alone that order it.
    """
    statements = schedule.band(at).statements
    found = (a for s in statements for op in operations(movements[s].ops) for a in op.accesses(arrays))
    stored = frozenset(a.array for a in found if a.space == "shared" and a.writes)
    return {s: stored for s in statements if "order" in does(movements[s], arrays)}


def _slot(m: Movement, times: tuple[Aff, ...], access: Access, strips: int, rings: frozenset[str]) -> Map:
    """{ [iteration] -> array[slot] } of an access: slots are the buffers of tiles, and the sets of registers that
    fragments take turns in; other arrays have one.

    A name of a thread is no parameter of that relation, which would have one value in both of two iterations that are
    compared, while two threads that run them have two.
    """
    slot = access.index[0] if access.array in rings else access.slot
    if own := sorted((slot.names() - set(m.dims)) & PER_THREAD):
        raise CannotPromote(
            f"{m.statement} is in a k loop whose copies go ahead, and reaches slot {slot} of {access.array}, "
            f"where {own[0]} differs between threads",
            hint="a slot is the same for all threads of a block; prefetch=0 leaves the copies where they are",
        )
    return _named(_graph(m.dims, times, slot, strips), access.array)


def _named(graph: tuple[tuple[str, ...], Space, tuple[Conjunct, ...]], array: str) -> Map:
    """{ [iteration] -> array[slot] } of what `_graph` gives."""
    params, space, pieces = graph
    return Map._of(params, [(Space(space.inp, Tuple(array, space.out.dims)), pieces)])


@lru_cache(maxsize=1024)
def _graph(
    dims: tuple[str, ...], times: tuple[Aff, ...], slot: Aff, strips: int
) -> tuple[tuple[str, ...], Space, tuple[Conjunct, ...]]:
    """{ [iteration] -> [slot] } for expressions in some dimensions: its parameters, its space, its pieces.

    With a second member, of strips, the iterations are counted over both.
    """
    params = tuple(sorted(slot.names().union(*(e.names() for e in times)) - set(dims)))
    one, two = distinct(("x", "slot"), (*params, *dims))
    x, rows = times[0], []
    if len(times) > 1:
        x = strips * times[0] + times[1]
        rows = [("ge", times[1]), ("ge", strips - 1 - times[1])]
    pieces = conjunction((*params, one, *dims, two), [("eq", var(one) - x), ("eq", var(two) - slot), *rows])
    whole = Map._of(params, [(Space(Tuple(None, (one, *dims)), Tuple(None, (two,))), pieces)])
    ((space, pieces),) = whole.project_out(*dims).parts
    return params, space, pieces


def _together(maps: Iterable[Map]) -> Map:
    """All of them, each once."""
    parts = dict.fromkeys(p for m in maps for p in m.parts)
    return Map._of((), list(parts))
