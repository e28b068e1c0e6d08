"""Prefetching in a promoted tree: the copies of later k tiles run while this one is computed on.

The k loop of every product is shifted and reordered by `sched.passes.prefetch`. Copies through registers run their loads
first, so that their latency is hidden behind the computation, then the computation, then barriers and stores in the
order that they have. With one buffer that makes loads, computation, barrier, stores, barrier; with several, whose
stores need not wait for the other warps' reads, loads, computation, stores, barrier.

A tile's buffers are a ring, tile k in slot k mod S, and copies run up to S - 1 tiles ahead: to a slot that all warps
have left at the barrier before. With one slot they run one tile ahead, since its stores stand between two barriers.
What is loaded is on its way in registers during one trip, whatever the distance: there is one set of them, and a trip
stores at its end what it has loaded at its start.

Asynchronous copies need no registers, and a trip starts with the wait for its own tile, a barrier, and the copies of a
later one:

    wait[kt]; sync_read[kt]; copy_A[kt + 2]; copy_B[kt + 2]; commit[kt + 2]; compute on tile kt

What a copy writes it may write at any time up to the wait for it: copy and wait both write the slot. How many groups
may be pending at a wait, which are those that were committed after the one it waits for, is counted from the tree.

Fragments that are a ring, too, are loaded during the strip before the one that they are for. The two loops, tiles and
their strips, become one (`flatten`), and fragment loads, waits and barriers move by a strip, copies by whole tiles; then
there are two loops again:

    BAND: copy_A → [kt]; wait → [kt]; frag_A → [kt]; S → [⌊k/64⌋]        copy_A → [kt - 2]; wait → [kt - 1]; ...
      BAND: copy_A → [0]; wait → [0]; frag_A → [ks]; S → [⌊k/16⌋ mod 4]    copy_A → [0]; wait → [3]; ...

Which slot an iteration touches is read off the operations, and that every tile's stores, barriers and reads stay in
order is for the pass to prove: two iterations that touch one slot keep their order, and the barrier between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache, partial

from polyvolta.cuda.build.promotion.model import PER_THREAD, STRIP, TILE, CannotPromote, Movement
from polyvolta.cuda.build.promotion.nests import conjunction
from polyvolta.cuda.ir.kernel_ir import Access, Memories, Op, WaitCopies
from polyvolta.cuda.ir.walk import operations
from polyvolta.sched.nodes import Band, Extension, Filter
from polyvolta.sched.passes.bands.flatten import flatten
from polyvolta.sched.passes.bands.join import join
from polyvolta.sched.passes.bands.loop_type import set_loop_type, unroll
from polyvolta.sched.passes.bands.split import split
from polyvolta.sched.passes.bands.strip_mine import strip_mine
from polyvolta.sched.passes.common.places import depth
from polyvolta.sched.passes.order.prefetch import prefetch
from polyvolta.sched.tree import Path, Schedule
from polyvolta.sets import Aff, Map, Set, Tuple, aff, var
from polyvolta.sets.conjuncts.conjunct import Conjunct
from polyvolta.sets.values.simplify import interval
from polyvolta.sets.values.space import Space, distinct

GROUPS = "groups of copies"
"""What commits close and waits wait for: an array of which each k tile has an element. No array has that name."""


def prefetched(
    schedule: Schedule, movements: Mapping[str, Movement], arrays: Memories, context: Set, ahead: int = 1
) -> Schedule:
    """The tree with the copies of every k loop some iterations ahead, and fragments that are a ring a strip.

    Parameters
    ----------
    movements : what the statements do, by name.
    arrays : all that they name.
    context : what may be assumed of the sizes.
    ahead : how many iterations; 0 leaves copies where they are.

    Raises
    ------
    IllegalTransformation : two iterations that touch the same slot would change their order, or lose the barrier
        between them; names the iterations and the slot.
    CannotPromote : a slot differs between threads.

    Cost: some small emptiness tests for each loop.
    """
    for at in bands_along_k(schedule, movements, arrays):
        strips = strips_of(schedule, at)
        if strips > 1:
            schedule = _by_strips(schedule, at, movements, arrays, context, ahead, strips)
        elif ahead:
            schedule = _by_tiles(schedule, at, movements, arrays, context, ahead)
    return schedule


def _by_tiles(
    schedule: Schedule, at: Path, movements: Mapping[str, Movement], arrays: Memories, context: Set, ahead: int
) -> Schedule:
    """A k loop with its copies some tiles ahead, behind the barrier of a trip where they are asynchronous."""
    band = schedule.band(at)
    has = {name: partial(_is, test=test) for name, test in _tests(arrays).items()}
    copying = any(has["issue"](movements[s]) for s in band.statements)
    stays = ("multiply", "await", "order") if copying else ("multiply",)
    by = {s: -ahead for s in band.statements if not any(has[t](movements[s]) for t in stays)}
    if copying:
        order = _order(schedule, at, movements, arrays, ("await", "order", "load", "issue", "commit", "multiply"))
    else:
        order = _order(schedule, at, movements, arrays, ("load", "multiply"))
    found, fences = (of(schedule, at, movements, arrays) for of in (touched, fences_of))
    schedule = prefetch(schedule, at, by, order, found, fences, context)
    return steady(schedule, at, movements, context) if copying else schedule


def _by_strips(
    schedule: Schedule, at: Path, movements: Mapping[str, Movement], arrays: Memories, context: Set, ahead: int,
    strips: int,
) -> Schedule:  # fmt: skip
    """A k loop over tiles and strips with fragment loads, waits and barriers a strip ahead, copies some tiles.

    What goes through registers is stored at the start of a trip's last strip, before the barrier of that strip.
    """
    schedule = join(schedule, at)
    found, fences = (of(schedule, at, movements, arrays, strips) for of in (touched, fences_of))
    schedule = flatten(schedule, at, strips, STRIP)
    has = {name: partial(_is, test=test) for name, test in _tests(arrays).items()}
    by = {}
    for s in schedule.band(at).statements:
        m = movements[s]
        if has["multiply"](m):
            continue
        by[s] = -1
        if ahead and (has["load"](m) or has["issue"](m) or has["commit"](m)):
            by[s] = -ahead * strips
        elif ahead and has["store"](m):
            by[s] = -(ahead - 1) * strips - 1
    order = list(range(len(schedule.node((*at, 0)).children)))
    if ahead:
        late = ("load", "issue", "commit", "fetch", "multiply")
        order = _order(schedule, at, movements, arrays, late, last=True)
    schedule = prefetch(schedule, at, by, order, found, fences, context, strips)
    schedule = strip_mine(schedule, at, {0: strips}, nested=False, level=(TILE,))
    schedule = split(schedule, at, 1)
    schedule = set_loop_type(unroll(schedule, (*at, 0), 0, False), (*at, 0), 0, "unroll")
    return steady(schedule, at, movements, context)


def steady(schedule: Schedule, at: Path, movements: Mapping[str, Movement], context: Set) -> Schedule:
    """Let code for the trips of a k loop that multiply be generated apart from those that fill the ring before."""
    band = schedule.band(at)
    (product,) = (s for s in band.statements if _is(movements[s], _multiplies))
    found = _instances(schedule, at, product)
    trips = found.apply(Map.from_affs(found.space, [band.members[0].of(product)]))
    trips = trips.gist(Set.universe(str(trips.space.out)).intersect_params(context))
    outer = tuple(f"o{k}" for k in range(depth(schedule, at)))
    pieces = conjunction(("t", *outer, "trip"), [("eq", var("t") - var("trip"))])
    every = Map._of((), [(Space(Tuple(None, ("t",)), Tuple(None, (*outer, "trip"))), pieces)])
    return schedule.replace(at, replace(band, isolate=trips.apply(every)))


def _order(
    schedule: Schedule, at: Path, movements: Mapping[str, Movement], arrays: Memories, does: Iterable[str],
    last: bool = False,
) -> list[int]:  # fmt: skip
    """The children of a k loop's sequence: those that do something first, or last, in the order of a list."""
    children, tests = schedule.node((*at, 0)).children, _tests(arrays)
    named: list[int] = []
    for name in does:
        named += [k for k, c in enumerate(children) if k not in named and _does(c, movements, tests[name])]
    rest = [k for k in range(len(children)) if k not in named]
    return [*rest, *named] if last else [*named, *rest]


def bands_along_k(schedule: Schedule, movements: Mapping[str, Movement], arrays: Memories) -> list[Path]:
    """The loops over k tiles: the bands of that level with both the copies and the macro-MMAs of a product."""
    tests = _that(arrays, "write", "shared"), _multiplies
    loops = {at: [movements[s] for s in schedule.band(at).statements] for at in schedule.find(level=TILE)}
    return [at for at, mine in loops.items() if all(any(_is(m, test) for m in mine) for test in tests)]


def strips_of(schedule: Schedule, at: Path) -> int:
    """How many strips a tile of a k loop has that stand right below it, with all of its statements; else 1."""
    band, inner = schedule.band(at), schedule.node((*at, 0))
    if not isinstance(inner, Band) or [m.level for m in inner.members] != [STRIP]:
        return 1
    highs = [interval(inner.members[0].of(s), {})[1] for s in band.statements]
    return 1 + max((high for high in highs if high is not None), default=0)


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
    added = next((e for s, ((_, e),) in own.items() if not _is(movements[s], _multiplies)), (aff(0),))
    fetches = _that(arrays, "read", "shared")
    inner = [m for _, node in schedule.walk(at) if isinstance(node, Filter) for s in node.statements
             if s not in own and _is(m := movements[s], fetches)]  # fmt: skip
    for s, parts in own.items():
        if _is(movements[s], _multiplies):
            parts += [(m, added) for m in inner]  # they say the k tile by the name by which the copies do
    rings = _register_rings(movements, arrays, own)
    out = {}
    for s, parts in own.items():
        found = [(m, e, a) for m, e in parts for op in operations(m.ops) for a in op.accesses(arrays)]
        of_kind = ([_slot(m, e, a, strips, rings) for m, e, a in found if a.kind == kind] for kind in ("read", "write"))
        reads, writes = map(_together, of_kind)
        out[s] = reads, writes
    _with_groups(out, own, movements, arrays, strips)
    return out


def _with_groups(
    out: dict[str, tuple[Map, Map]], own: Mapping[str, list], movements: Mapping[str, Movement], arrays: Memories,
    strips: int,
) -> None:  # fmt: skip
    """Say of copies, commits and waits which group they are about, and of waits what they complete."""
    tests = _tests(arrays)
    copies = [s for s in own if _is(movements[s], tests["issue"])]
    written = [p for s in copies for p in out[s][1].parts if p[0].out.name in _completed(movements[s], arrays)]
    for s in own:
        m, e = own[s][0]
        issues, commits, awaits = (_is(m, tests[t]) for t in ("issue", "commit", "await"))
        if not (issues or commits or awaits):
            continue
        reads, writes = out[s]
        group = _named(_graph(m.dims, e, _tile(e), strips), GROUPS)
        if awaits:
            writes = _together([writes, Map._of((), list(dict.fromkeys(written)))])
        out[s] = _together([reads, group]), writes if awaits else _together([writes, group])


def _tile(times: tuple[Aff, ...]) -> Aff:
    """The k tile of an iteration, by the number of the loop over them."""
    return times[0]


def _completed(m: Movement, arrays: Memories) -> set[str]:
    """What a movement's asynchronous copies write."""
    return {a.array for op in operations(m.ops) for a in op.accesses(arrays) if a.writes and a.when == "completion"}


def _register_rings(movements: Mapping[str, Movement], arrays: Memories, names: Iterable[str]) -> frozenset[str]:
    """The arrays of fragments whose first index says which of several sets of registers an element is in."""
    operands = (a for s in names for op in operations(movements[s].ops) if _multiplies(op)
                for a in op.accesses(arrays)[1:3])  # fmt: skip
    return frozenset(a.array for a in operands if len(a.index) > 1)


def fences_of(
    schedule: Schedule, at: Path, movements: Mapping[str, Movement], arrays: Memories, strips: int = 1
) -> dict[str, frozenset[str]]:
    """The barriers of a k loop, and the tiles whose accesses they order: all that the loop stores to.

    A tile is read by other warps than have stored it, so that it is the block's barriers alone that order it.
    """
    statements = schedule.band(at).statements
    found = (a for s in statements for op in operations(movements[s].ops) for a in op.accesses(arrays))
    stored = frozenset(a.array for a in found if a.space == "shared" and a.writes)
    return {s: stored for s in statements if _is(movements[s], _orders)}


def awaited(schedule: Schedule, movements: Mapping[str, Movement], arrays: Memories) -> dict[str, Movement]:
    """The movements with the numbers of groups that may be pending at each wait.

    These are the groups that a thread has committed after the one that it waits for, whenever it does. The wait of
    tile k is for group k, and at time t, so that it may leave those groups k' > k pending whose commits come before t.

    Parameters
    ----------
    schedule : in its final order.
    """
    out = dict(movements)
    for at in bands_along_k(schedule, movements, arrays):
        statements = schedule.band(at).statements
        waits, commits = ([s for s in statements if _is(movements[s], test)] for test in (_awaits, _commits))
        for wait in waits:
            pending = sum(_pending(schedule, at, wait, commit, movements) for commit in commits)
            ops = tuple(replace(op, pending=pending) if isinstance(op, WaitCopies) else op for op in movements[wait].ops)
            out[wait] = replace(movements[wait], ops=ops)
    return out


def _pending(schedule: Schedule, at: Path, wait: str, commit: str, movements: Mapping[str, Movement]) -> int:
    """How many commits of later tiles come before a tile's wait, for every tile that there is."""
    w, c = (_times(schedule, at, s) for s in (wait, commit))
    assert movements[wait].dims == movements[commit].dims
    *_, kt = movements[wait].dims or ("",)
    later = _later(kt, w, c)
    if later.is_empty():
        return 0
    there, made = (_instances(schedule, at, s) for s in (wait, commit))
    steps = [o for (o,) in later.deltas().points()]
    dims = there.space.out.dims
    moved = ([var(d) + o if d == kt else var(d) for d in dims] for o in steps)
    made = Set._of(made.param_names, [(Space(None, Tuple(None, made.space.out.dims)), c) for _, c in made.parts])
    return sum(there.apply(Map.from_affs(there.space, exprs)).is_subset(made) for exprs in moved)


def _times(schedule: Schedule, at: Path, statement: str) -> tuple[Aff, ...]:
    """When a statement of a k loop runs: the loop's members, strips, and its place in the sequence."""
    node, times = schedule.node(at), ()
    while isinstance(node, Band):
        times += node.schedule(statement)
        node = node.child
    place = next(k for k, c in enumerate(node.children) if isinstance(c, Filter) and statement in c.statements)
    return *times, aff(place)


def _later(kt: str, wait: tuple[Aff, ...], commit: tuple[Aff, ...]) -> Map:
    """{ [k] -> [k'] : k' > k and the commit of k' comes before the wait of k }."""
    pieces: list[Conjunct] = []
    commit = tuple(e.subs({kt: var("later")}) for e in commit)
    for n in range(len(wait)):
        rows = [("ge", var("later") - var("k") - 1), ("ge", wait[n].subs({kt: var("k")}) - commit[n] - 1)]
        rows += [("eq", wait[m].subs({kt: var("k")}) - commit[m]) for m in range(n)]
        pieces += conjunction(("k", "later"), rows)
    return Map._of((), [(Space(Tuple(None, ("k",)), Tuple(None, ("later",))), tuple(pieces))])


def _instances(schedule: Schedule, at: Path, statement: str) -> Set:
    """The instances of a statement: those that an extension adds above a loop, or those of the domain."""
    for here in (at[:k] for k in reversed(range(len(at)))):
        node = schedule.node(here)
        if isinstance(node, Extension):
            for space, pieces in node.extension.parts:
                if space.out.name == statement:
                    return Map._of(node.extension.param_names, [(space, pieces)]).range()
    return schedule.domain.only(statement)


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


def _that(arrays: Memories, kind: str, space: str) -> Callable[[Op], bool]:
    """Whether an operation reads, or writes, in a memory."""
    return lambda op: any((a.kind, a.space) == (kind, space) for a in op.accesses(arrays))


def _multiplies(op: Op) -> bool:
    return op.product is not None


def _orders(op: Op) -> bool:
    return op.orders == "block"


def _commits(op: Op) -> bool:
    return op.commits


def _awaits(op: Op) -> bool:
    return op.awaits is not None


def _tests(arrays: Memories) -> dict[str, Callable[[Op], bool]]:
    """What operations do in a k loop, by a word for it."""

    def moves(kind: str, space: str, when: str) -> Callable[[Op], bool]:
        return lambda op: any((a.kind, a.space, a.when) == (kind, space, when) for a in op.accesses(arrays))

    return {
        "load": moves("read", "global", "issue"),
        "store": moves("write", "shared", "issue"),
        "issue": moves("write", "shared", "completion"),
        "fetch": moves("read", "shared", "issue"),
        "commit": _commits,
        "await": _awaits,
        "order": _orders,
        "multiply": _multiplies,
    }


def _is(m: Movement, test: Callable[[Op], bool]) -> bool:
    return any(map(test, operations(m.ops)))


def _does(child: object, movements: Mapping[str, Movement], test: Callable[[Op], bool]) -> bool:
    return isinstance(child, Filter) and any(_is(movements[s], test) for s in child.statements)
