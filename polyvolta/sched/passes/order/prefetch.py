"""Software pipelining: statements of a loop run some iterations ahead of the others, data in the slots of a ring.

    BAND: S → [⌊k/32⌋]; load → [kt]; store → [kt]      =>      BAND: S → [⌊k/32⌋]; load → [kt - 2]; store → [kt - 2]
      SEQUENCE                                                   SEQUENCE
        FILTER: load                                               FILTER: load
        FILTER: store                                              FILTER: S
        FILTER: S                                                  FILTER: store

The copy bands are shifted, so that the data of a later tile is on its way while this tile is computed on, and the
sequence is put in the order that hides the latency (the paper's "Prefetching and Hiding Latency"). The loop then starts
at -2. How far copies may run ahead is a question of where data lies. In a *ring* of S slots tile k is in slot k mod S,
which `touches` says as a relation:

    store writes { [k] -> shared_A[k mod 3] }          S reads { [k] -> shared_A[k mod 3] }

Two iterations that touch one slot are found from these relations, exactly, and must keep two things:

- their order in the program;
- where a *fence* (a barrier) runs between them, that one does: they belong to different threads, for which the order in
  the program says nothing. Iteration k of S reads what iteration k + 3 of the store overwrites. Two iterations ahead
  the store is in the trip of tile k + 1, behind the barrier at the end of the trip before; three ahead it is in the
  trip of tile k itself, and no barrier is between.

Loops may be shifted by less than a fence's turn: where fences run every `period` iterations, as of strips of a tile,
that is what is counted with.

The dependences of a schedule do not know the copies; a statement that they know is checked against them as well.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from types import MappingProxyType

from polyvolta.sched.errors import BadArgument, BadPath, BadTile, IllegalTransformation
from polyvolta.sched.passes.bands.shift import shift
from polyvolta.sched.passes.common.arguments import table, whole
from polyvolta.sched.passes.common.legal import settled
from polyvolta.sched.passes.order.reorder import permutation
from polyvolta.sched.program.assuming import context_of
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.structure.times import prefix_schedule
from polyvolta.sched.tree import Extension, Filter, Node, Path, Schedule
from polyvolta.sched.tree import Sequence as InOrder
from polyvolta.sets import Map, Set, Space, Tuple, UnknownName, nearest, var
from polyvolta.sets.budgets import remembered
from polyvolta.sets.values.build import RowBuilder

Touched = Collection[str] | Map
Touches = Mapping[str, tuple[Touched, Touched]]
"""For each statement what its iterations read and what they write: names of arrays, each touched as a whole, or a map
{ [iteration] -> array[slot] }."""
Fences = Mapping[str, Collection[str]]
"""Statements between whose sides accesses of all threads are in order, each with the arrays for which that holds."""


@of_a_tree
def prefetch(
    schedule: Schedule,
    at: Path,
    by: Mapping[str, int],
    order: Sequence[int],
    touches: Touches,
    fences: Fences = MappingProxyType({}),
    context: Set | str | None = None,
    period: int = 1,
) -> Schedule:
    """Shift statements along the one member of the band at a path and reorder the sequence below it.

        BAND: load[k] → [k]; use[k] → [k]      =>      BAND: load[k] → [k - 1]; use[k] → [k]
          SEQUENCE                                       SEQUENCE
            FILTER: load[k]                                FILTER: use[k]
            FILTER: use[k]                                 FILTER: load[k]

    Parameters
    ----------
    by : iterations to shift by, per statement; -1 runs one iteration early.
    order : the present positions of the sequence's children in their new order.
    touches : what each statement reads and writes; an iteration is the band's value before the shift.
    fences : statements of the sequence that run in every iteration in which others touch their arrays, or in the first
        of every `period`.
    context : what is known of the parameters.
    period : fences run in iterations that are multiples of it.

    Raises
    ------
    BadPath : there is no one-member band with a sequence of filters there, or `order` is no permutation.
    BadTile, BadArgument : iterations that are no integers; what is no list or mapping where one is; a fence that does
        not run in every iteration, or shares a child of the sequence with what it orders.
    UnknownName : `touches` does not have a statement of the sequence, or the sequence does not have a fence.
    IllegalTransformation : two iterations that touch the same data would change their order, or lose the fence between
        them; names both, and the slot.

    Cost: for each pair of conflicting statements an emptiness test or two of small maps, shared among equal pairs.

    Source: M. Lam, "Software pipelining" (PLDI 1988); the paper, section "Prefetching and Hiding Latency".

    >>> from polyvolta.sched import Band, Domain, Filter, Member, Schedule, Sequence
    >>> from polyvolta.sets import var
    >>> loop = Band((Member((("load", var("k")), ("use", var("k")))),), Sequence((Filter(("load",)), Filter(("use",)))))
    >>> tree = Schedule(Domain(Set("{ load[k] : 0 <= k < 9; use[k] : 0 <= k < 9 }"), loop))
    >>> ring = Map("{ [k] -> tile[k mod 3] }")
    >>> touches = {"load": ((), ring), "use": (ring, ())}
    >>> print(prefetch(tree, (0,), {"load": -2}, (1, 0), touches))
    DOMAIN: load[k] : 0 ≤ k ≤ 8;
            use[k] : 0 ≤ k ≤ 8
      BAND: load[k] → [k - 2];
            use[k] → [k]
        SEQUENCE
          FILTER: use[k]
          FILTER: load[k]
    >>> try:
    ...     prefetch(tree, (0,), {"load": -4}, (1, 0), touches)
    ... except IllegalTransformation as refused:
    ...     print(refused.message)
    use in iteration 0 must run before load in iteration 3: both touch tile[0]
    """
    band = schedule.band(at)
    by = table(by, "the shifts by statement", '{"load": -1}')
    touches = table(touches, "reads and writes by statement", '{"load": (frozenset(), frozenset({"tile"}))}')
    context = context_of(context)
    fences = table(fences, "arrays by fence", '{"barrier": ("tile",)}')
    if len(band.members) != 1 or not isinstance(band.child, InOrder):
        raise BadPath("prefetching needs a band of one member above a sequence", where=schedule.marked(at))
    children = band.child.children
    order = permutation(schedule, (*at, 0), order, len(children))
    place = {s: k for k, child in enumerate(children) if isinstance(child, Filter) for s in child.statements}
    for s, n in by.items():
        if whole(n) is None:
            raise BadTile(f"{s} is shifted by a number of iterations, not by {n!r}", where=schedule.marked(at))
    for known, names, what in (
        (touches, place, "what {} reads and writes is not told"),
        (place, fences, "no {} is below"),
    ):
        for s in names:
            if s not in known:
                raise UnknownName(what.format(s), where=schedule.marked(at), hint=nearest(s, known))
    _apart(schedule, at, place, touches, fences)
    if whole(period) is None or period < 1:
        raise BadTile(f"a period is a positive number of iterations, not {period!r}", where=schedule.marked(at))
    _fenced(schedule, at, touches, fences, context, period)
    _Check(schedule, at, place, {s: order.index(k) for s, k in place.items()}, by, touches, fences, period).run()
    ordered = schedule.replace((*at, 0), replace(band.child, children=tuple(children[k] for k in order)))
    unknown = {s for d in schedule.dependences or () for s in (d.source, d.sink)}.isdisjoint
    moved = shift(replace(ordered, dependences=None), at, 0, by)
    moved = replace(moved, dependences=schedule.dependences)
    still = unknown(s for s in by if by[s]) and sum(not unknown(_statements(c)) for c in children) < 2
    return moved if still else settled(schedule, moved, "prefetching", at)


def _statements(child: Node) -> tuple[str, ...]:
    return child.statements if isinstance(child, Filter) else ()


# ---- what is touched


def slots_of(touched: Touched) -> dict[str, Map | None]:
    """The slots { [iteration] -> array[slot] } by array; None for an array as a whole.

    >>> slots_of(("A",)), slots_of(Map("{ [k] -> tile[k mod 3] }"))
    ({'A': None}, {'tile': Map('{ [k] -> tile[k mod 3] }')})
    """
    if not isinstance(touched, Map):
        return dict.fromkeys(touched)
    found: dict[str, Map | None] = {}
    for space, _ in touched.parts:
        if space.inp is None or len(space.inp.dims) != 1 or space.out.name is None:
            raise BadArgument(
                f"what is touched is told of an iteration, not of {space}",
                where=str(touched),
                hint="{ [k] -> tile[k mod 3] }",
            )
        found[space.out.name] = Map._of(
            touched.param_names, [p for p in touched.parts if p[0].out.name == space.out.name]
        )
    return found


def _apart(schedule: Schedule, at: Path, place: Mapping[str, int], touches: Touches, fences: Fences) -> None:
    """A fence is a child of its own: which side of it others of its child are on, the sequence does not say."""
    for fence, its in fences.items():
        for s, k in place.items():
            if s != fence and k == place[fence] and {*slots_of(touches[s][0]), *slots_of(touches[s][1])} & {*its}:
                raise BadArgument(
                    f"{fence} is a fence, and in one child of the sequence with {s}, which touches its arrays",
                    where=schedule.marked(at),
                    hint="give the fence a child of its own",
                )


def _fenced(schedule: Schedule, at: Path, touches: Touches, fences: Fences, context: Set | None, period: int) -> None:
    """A fence runs in every iteration in which a statement touches one of its arrays, and in those between; or in the
    first of every period of which that holds."""
    arrays = {s: {*slots_of(reads), *slots_of(writes)} for s, (reads, writes) in touches.items()}
    wanted = {*fences, *(s for s in arrays if any(not arrays[s].isdisjoint(its) for its in fences.values()))}
    ran = _iterations(schedule, at, wanted, context) if fences else {}
    if period > 1:
        for fence in fences:
            if not _turns(ran[fence], period):
                raise BadArgument(f"{fence} runs in iterations that are no multiples of {period}",
                                  where=schedule.marked(at))  # fmt: skip
        ran = {s: _periods(its, period) for s, its in ran.items()}
    for fence, its in fences.items():
        if not _convex(ran[fence]):
            raise BadArgument(f"{fence} leaves iterations out", where=schedule.marked(at))
        for s in ran:
            if s != fence and not arrays[s].isdisjoint(its) and not ran[s].is_subset(ran[fence]):
                raise BadArgument(
                    f"{s} runs in iterations in which {fence} does not", where=schedule.marked(at), hint="no fence then"
                )


def _iterations(schedule: Schedule, at: Path, names: set[str], context: Set | None) -> dict[str, Set]:
    """The iterations in which some statements run, with the members of outer bands before them."""
    for depth in range(len(at)):
        node = schedule.node(at[:depth])
        if isinstance(node, Extension):  # each statement of it costs a composition
            parts = [p for p in node.extension.parts if p[0].out.name in names]
            schedule = schedule.replace(at[:depth], Extension(Map._of(node.extension.param_names, parts), node.child))
    times = prefix_schedule(schedule, (*at, 0))
    times = times if context is None else times.intersect_params(context)
    mine = {str(space.inp.name): times.only(space.inp.name) for space, _ in times.parts if space.inp is not None}
    return {s: m.range() for s, m in mine.items() if s in names}


@remembered(256)
def _periods(ran: Set, period: int) -> Set:
    """The numbers of the periods in which there are iterations, with the outer members before them."""
    *outer, last = map(var, ran.space.out.dims)
    return ran.apply(Map.from_affs(ran.space, [*outer, last // period]))


@remembered(64)
def _turns(ran: Set, period: int) -> bool:
    """Whether all iterations are the first of a period."""
    params, dims = ran.param_names, ran.space.out.dims
    last = var(dims[-1])
    piece = RowBuilder((*params, *dims)).conjunct([("eq", last - period * (last // period))])
    return ran.is_subset(Set._of(params, [(ran.space, (piece,) if piece else ())]))


@remembered(64)
def _convex(ran: Set) -> bool:
    """Whether, for each value of the outer members, there is every iteration between two that there are."""
    space = ran.space
    moved = Space(Tuple(None, space.out.dims[:-1]), Tuple(None, space.out.dims[-1:]))
    inner = Map._of(ran.param_names, [(moved, pieces) for _, pieces in ran.parts])
    later, earlier = Map("{ [x] -> [z] : z > x }"), Map("{ [x] -> [z] : z < x }")
    return (inner.apply_range(later) & inner.apply_range(earlier)).is_subset(inner)


# ---- whether order and fences are kept


@dataclass(frozen=True, slots=True)
class _Time:
    """When an iteration of a statement runs: how many trips later than its number, and where among the children.

    Iterations are those of whole periods; of a fence, `every` other than 1, the first of each.
    """

    place: int
    shift: int = 0
    every: int = 1

    def before(self, other: _Time, period: int) -> Map:
        """{ [x] -> [y] }: iteration x of this runs before y of another one."""
        least = self.shift - other.shift + (self.place >= other.place)
        return _ahead(least, period, self.every, other.every)


@remembered(256)
def _ahead(least: int, period: int, step: int, other: int) -> Map:
    """{ [x] -> [y] : y - x >= least } for iterations of the periods from B to E - 1, multiples of two steps."""
    x, y, first, end = map(var, ("x", "y", "B", "E"))
    rows = [("ge", y - x - least)]
    rows += [("ge", e) for i in (x, y) for e in (i - period * first, period * end - 1 - i)]
    rows += [("eq", i - n * (i // n)) for i, n in ((x, step), (y, other)) if n > 1]
    piece = RowBuilder(("B", "E", "x", "y")).conjunct(rows)
    return Map._of(("B", "E"), [(Space(Tuple(None, ("x",)), Tuple(None, ("y",))), (piece,) if piece else ())])


class _Check:
    """Every two iterations that touch the same data, before and after."""

    def __init__(
        self, schedule: Schedule, at: Path, old: Mapping[str, int], new: Mapping[str, int], by: Mapping[str, int],
        touches: Touches, fences: Fences, period: int,
    ) -> None:  # fmt: skip
        self.schedule, self.at, self.fences, self.period = schedule, at, fences, period
        every = {s: period if s in fences else 1 for s in old}
        self.old = {s: _Time(k, 0, every[s]) for s, k in old.items()}
        self.new = {s: _Time(new[s], by.get(s, 0), every[s]) for s in old}
        self.touched = {s: tuple(map(slots_of, touches[s])) for s in old}

    def run(self) -> None:
        """Look at all pairs.

        Raises
        ------
        IllegalTransformation : at the first that goes wrong.
        """
        for s, t in product(self.old, repeat=2):
            (reads, writes), (other_reads, other_writes) = self.touched[s], self.touched[t]
            for mine, others in ((writes, other_reads), (writes, other_writes), (reads, other_writes)):
                for array in sorted(mine.keys() & others.keys()):
                    self.pair(s, t, array, mine[array], others[array])

    def pair(self, s: str, t: str, array: str, mine: Map | None, other: Map | None) -> None:
        """Iterations of s that touch what later ones of t touch keep their order, and a fence between them.

        Statements of one child of the sequence keep the order that the child gives them, which does not change.
        """
        one, two = self.new[s], self.new[t]
        before, after = self.old[s].before(self.old[t], self.period), one.before(two, self.period)
        if one.place == two.place:
            after = before if one.shift == two.shift else _NEVER
        if (found := _broken(before, after, mine, other)) is not None:
            x, y = found
            raise self.refused(
                f"{s} in iteration {x} must run before {t} in iteration {y}: both touch {_place(array, mine, x)}",
                "shift both by the same number of iterations, or keep their order",
            )
        fences = [f for f, arrays in self.fences.items() if array in arrays]
        had, has = (_between(all_[s], tuple(all_[f] for f in fences), all_[t], self.period)
                    for all_ in (self.old, self.new))  # fmt: skip
        if (found := _broken(had, has, mine, other)) is not None:
            x, y = found
            raise self.refused(
                f"{' or '.join(fences)} must run between {s} in iteration {x} and {t} in iteration {y}: both touch "
                f"{_place(array, mine, x)}",
                "a shift by fewer iterations, or more slots",
            )

    def refused(self, message: str, hint: str) -> IllegalTransformation:
        return IllegalTransformation(message, where=self.schedule.marked(self.at), hint=hint)


_NEVER = Map("[B, E] -> { [x] -> [y] : false }")


@remembered(256)
def _between(first: _Time, fences: tuple[_Time, ...], last: _Time, period: int) -> Map:
    """{ [x] -> [y] }: an iteration of a fence runs between x of the first and y of the last."""
    found = _NEVER
    for f in fences:
        found = found | first.before(f, period).apply_range(f.before(last, period))
    return found


@remembered(1024)
def _broken(holds: Map, wanted: Map, mine: Map | None, other: Map | None) -> tuple[int, int] | None:
    """Iterations with one slot of which one relation holds and the other does not, the first ones of a short loop; None
    if there are none, however long the loop is."""
    bad = holds - wanted
    if mine is not None and other is not None and not bad.is_empty():
        bad = bad & mine.apply_range(other.reverse())
    if bad.is_empty():
        return None
    short = (next(iter(bad.points(B=0, E=end)), None) for end in range(1, 16))
    x, y = next((p for p in short if p is not None), None) or next(
        iter(bad.sample().project_out_params("B", "E").points())
    )
    return x, y


def _place(array: str, slots: Map | None, iteration: int) -> str:
    """What an iteration touches of an array, in words."""
    if slots is None:
        return array
    found = [p for (p,) in slots.fix({0: iteration}).range().points()]
    return f"{array}[{', '.join(map(str, found))}]"
