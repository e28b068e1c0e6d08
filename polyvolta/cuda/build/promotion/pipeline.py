"""Prefetching in a promoted tree: the copies of later k tiles run while this one is computed on.

The k loop of every product is shifted and reordered by `sched.passes.prefetch`. Copies through registers run their
loads first, so that their latency is hidden behind the computation, then the computation, then barriers and stores in
the order that they have. With one buffer that makes loads, computation, barrier, stores, barrier; with several, whose
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
their strips, become one (`flatten`), and fragment loads, waits and barriers move by a strip, copies by whole tiles;
then there are two loops again:

    BAND: copy_A → [kt]; wait → [kt]; frag_A → [kt]; S → [⌊k/64⌋]        copy_A → [kt - 2]; wait → [kt - 1]; ...
      BAND: copy_A → [0]; wait → [0]; frag_A → [ks]; S → [⌊k/16⌋ mod 4]    copy_A → [0]; wait → [3]; ...

Which slot an iteration touches is read off the operations (`slots`), and that every tile's stores, barriers and reads
stay in order is for the pass to prove: two iterations that touch one slot keep their order, and the barrier between
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from polyvolta.cuda.build.promotion.model import STRIP, TILE, Movement
from polyvolta.cuda.build.promotion.nests import conjunction
from polyvolta.cuda.build.promotion.slots import does, fences_of, touched
from polyvolta.cuda.ir.kernel_ir import Memories, WaitCopies
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
from polyvolta.sets.values.space import Space


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
    words = {s: does(movements[s], arrays) for s in schedule.band(at).statements}
    copying = any("issue" in w for w in words.values())
    stays = {"multiply", "await", "order"} if copying else {"multiply"}
    by = {s: -ahead for s, w in words.items() if not w & stays}
    first = ("await", "order", "load", "issue", "commit", "multiply") if copying else ("load", "multiply")
    order = _order(schedule, at, words, first)
    found, fences = touched(schedule, at, movements, arrays), fences_of(schedule, at, movements, arrays)
    schedule = prefetch(schedule, at, by, order, found, fences, context)
    return steady(schedule, at, words, context) if copying else schedule


def _by_strips(
    schedule: Schedule, at: Path, movements: Mapping[str, Movement], arrays: Memories, context: Set, ahead: int,
    strips: int,
) -> Schedule:  # fmt: skip
    """A k loop over tiles and strips with fragment loads, waits and barriers a strip ahead, copies some tiles.

    What goes through registers is stored at the start of a trip's last strip, before the barrier of that strip.
    """
    schedule = join(schedule, at)
    words = {s: does(movements[s], arrays) for s in schedule.band(at).statements}
    found, fences = touched(schedule, at, movements, arrays, strips), fences_of(schedule, at, movements, arrays)
    schedule = flatten(schedule, at, strips, STRIP)
    by = {s: -1 for s, w in words.items() if "multiply" not in w}
    order = list(range(len(schedule.node((*at, 0)).children)))
    if ahead:
        by |= {s: -ahead * strips for s, w in words.items() if w & {"load", "issue", "commit"}}
        by |= {s: -(ahead - 1) * strips - 1 for s, w in words.items() if "store" in w}
        order = _order(schedule, at, words, ("load", "issue", "commit", "fetch", "multiply"), last=True)
    schedule = prefetch(schedule, at, by, order, found, fences, context, strips)
    schedule = strip_mine(schedule, at, {0: strips}, nested=False, level=(TILE,))
    schedule = split(schedule, at, 1)
    schedule = set_loop_type(unroll(schedule, (*at, 0), 0, False), (*at, 0), 0, "unroll")
    return steady(schedule, at, words, context)


def steady(schedule: Schedule, at: Path, words: Mapping[str, frozenset[str]], context: Set) -> Schedule:
    """Let code for the trips of a k loop that multiply be generated apart from those that fill the ring before."""
    band = schedule.band(at)
    product = next(s for s in band.statements if "multiply" in words[s])  # those of one loop have the same trips
    found = instances_of(schedule, at, product)
    trips = found.apply(Map.from_affs(found.space, [band.members[0].of(product)]))
    trips = trips.gist(Set.universe(str(trips.space.out)).intersect_params(context))
    outer = tuple(f"o{k}" for k in range(depth(schedule, at)))
    pieces = conjunction(("t", *outer, "trip"), [("eq", var("t") - var("trip"))])
    every = Map._of((), [(Space(Tuple(None, ("t",)), Tuple(None, (*outer, "trip"))), pieces)])
    return schedule.replace(at, replace(band, isolate=trips.apply(every)))


def _order(
    schedule: Schedule, at: Path, words: Mapping[str, frozenset[str]], named: Sequence[str], last: bool = False
) -> list[int]:
    """The children of a k loop's sequence: those that do something first, or last, in the order of a list of words."""
    children = schedule.node((*at, 0)).children
    does = [set().union(*(words.get(s, ()) for s in c.statements)) if isinstance(c, Filter) else set()
            for c in children]  # fmt: skip
    found = list(dict.fromkeys(k for word in named for k, w in enumerate(does) if word in w))
    rest = [k for k in range(len(children)) if k not in found]
    return [*rest, *found] if last else [*found, *rest]


def bands_along_k(schedule: Schedule, movements: Mapping[str, Movement], arrays: Memories) -> list[Path]:
    """The loops over k tiles: the bands of that level with both the copies and the macro-MMAs of a product."""

    def loops(at: Path) -> bool:
        words = frozenset().union(*(does(movements[s], arrays) for s in schedule.band(at).statements))
        return "multiply" in words and bool(words & {"store", "issue"})

    return [at for at in schedule.find(level=TILE) if loops(at)]


def strips_of(schedule: Schedule, at: Path) -> int:
    """How many strips a tile of a k loop has that stand right below it, with all of its statements; else 1."""
    band, inner = schedule.band(at), schedule.node((*at, 0))
    if not isinstance(inner, Band) or [m.level for m in inner.members] != [STRIP]:
        return 1
    highs = [interval(inner.members[0].of(s), {})[1] for s in band.statements]
    return 1 + max((high for high in highs if high is not None), default=0)


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
        waits, commits = ([s for s in statements if word in does(movements[s], arrays)] for word in ("await", "commit"))
        for wait in waits:
            newest = sum(pending(schedule, at, wait, commit, movements) for commit in commits)
            m = movements[wait]
            ops = tuple(replace(op, pending=newest) if isinstance(op, WaitCopies) else op for op in m.ops)
            out[wait] = replace(m, ops=ops)
    return out


def pending(schedule: Schedule, at: Path, wait: str, commit: str, movements: Mapping[str, Movement]) -> int:
    """How many commits of later tiles come before a tile's wait, for every tile that there is."""
    w, c = (times_of(schedule, at, s) for s in (wait, commit))
    assert movements[wait].dims == movements[commit].dims
    *_, kt = movements[wait].dims or ("",)
    behind = later(kt, w, c)
    if behind.is_empty():
        return 0
    there, made = (instances_of(schedule, at, s) for s in (wait, commit))
    steps = [o for (o,) in behind.deltas().points()]
    dims = there.space.out.dims
    moved = ([var(d) + o if d == kt else var(d) for d in dims] for o in steps)
    made = Set._of(made.param_names, [(Space(None, Tuple(None, made.space.out.dims)), c) for _, c in made.parts])
    return sum(there.apply(Map.from_affs(there.space, exprs)).is_subset(made) for exprs in moved)


def times_of(schedule: Schedule, at: Path, statement: str) -> tuple[Aff, ...]:
    """When a statement of a k loop runs: the loop's members, strips, and its place in the sequence."""
    node, times = schedule.node(at), ()
    while isinstance(node, Band):
        times += node.schedule(statement)
        node = node.child
    place = next(k for k, c in enumerate(node.children) if isinstance(c, Filter) and statement in c.statements)
    return *times, aff(place)


def later(kt: str, wait: tuple[Aff, ...], commit: tuple[Aff, ...]) -> Map:
    """{ [k] -> [k'] : k' > k and the commit of k' comes before the wait of k }."""
    pieces: list[Conjunct] = []
    commit = tuple(e.subs({kt: var("later")}) for e in commit)
    for n in range(len(wait)):
        rows = [("ge", var("later") - var("k") - 1), ("ge", wait[n].subs({kt: var("k")}) - commit[n] - 1)]
        rows += [("eq", wait[m].subs({kt: var("k")}) - commit[m]) for m in range(n)]
        pieces += conjunction(("k", "later"), rows)
    return Map._of((), [(Space(Tuple(None, ("k",)), Tuple(None, ("later",))), tuple(pieces))])


def instances_of(schedule: Schedule, at: Path, statement: str) -> Set:
    """The instances of a statement: those that an extension adds above a loop, or those of the domain."""
    for here in (at[:k] for k in reversed(range(len(at)))):
        node = schedule.node(here)
        if isinstance(node, Extension):
            for space, pieces in node.extension.parts:
                if space.out.name == statement:
                    return Map._of(node.extension.param_names, [(space, pieces)]).range()
    return schedule.domain.only(statement)
