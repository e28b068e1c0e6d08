"""Full tiles apart from partial ones.

    BAND: S[i] → [⌊i/32⌋]                        =>      isolate: [t] : 32t + 31 < N
      BAND: S[i] → [i - 32⌊i/32⌋]

        for (t = 0; t <= (N - 1)/32; t++)                for (t = 0; t < N/32; t++)
          for (p = 0; p <= min(31, N - 1 - 32t); p++)      for (p = 0; p < 32; p++)
            S(32t + p);                                      S(32t + p);
                                                         if (N % 32 != 0) ...

In a full tile the loops over its points have constant bounds and nothing is tested. Which tiles are full is computed,
not guessed from sizes: a statement's bands give each instance its times (outer members, tile, points); a time that some
iterators have, be they in the domain or not, and that no instance of the domain has, is missing, and a tile is full if
no time is missing in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from polyvolta.sched.errors import BadPath
from polyvolta.sched.passes.common.places import depth
from polyvolta.sched.program.assuming import context_of
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.structure.reach import names_of
from polyvolta.sched.tree import Band, Extension, Filter, Leaf, Node, Path, Schedule
from polyvolta.sets import Aff, Map, Set, Unbounded, var
from polyvolta.sets.conjuncts import conjunct as cj

R = TypeVar("R", Map, Set)


@of_a_tree
def isolate_full_tiles(schedule: Schedule, at: Path, context: Set | str | None = None) -> Schedule:
    """Let code for the full tiles of the band at a path be generated apart: the band's `isolate` is the set of them.

        BAND: S[i] → [⌊i/32⌋]      =>      BAND: S[i] → [⌊i/32⌋]     isolate [N] -> { [t] : 0 <= 32*t <= N - 32 }

    A tile is full if it is so for every statement that could have points in it. The bands below the one at the path
    are its points, all of them, whatever stands between.

    Parameters
    ----------
    context : what is known of the parameters, a set without dimensions, or a text that says one.

    Raises
    ------
    BadPath : no band there, or no band below it.
    BadArgument, SetSyntaxError : a context that is no set, a text that is none.

    Exact. Cost: for each statement an image of its domain, a difference and two projections.

    Source: C. Ancourt and F. Irigoin, "Scanning polyhedra with DO loops" (1991); isl's `isolate` option.

    >>> from polyvolta.sched import Band, Domain, Member, Schedule
    >>> from polyvolta.sched.passes import tile
    >>> line = Schedule(Domain(Set("[N] -> { S[i] : 0 <= i < N }"), Band((Member((("S", var("i")),)),))))
    >>> print(isolate_full_tiles(tile(line, (0,), (32,)), (0,)).band((0,)).isolate)
    [N] -> { [o0] : 0 <= 32*o0 <= N - 32 }
    """
    band = schedule.band(at)
    context = context_of(context)
    n = depth(schedule, at) + len(band.members)
    above = schedule.prefix(at)
    reach, everything = _reaching(schedule, at)
    tiles: Set | None = None
    missing: list[Set] = []
    for s in names_of(reach):
        if s not in band.statements or not (below := list(_below(schedule, (*at, 0), s))):
            continue
        times = [*above[s], *band.schedule(s)]
        mine = reach.only(s) if context is None else reach.only(s).intersect_params(context)
        here = mine.apply(Map.from_affs(mine.space, times))
        tiles = here if tiles is None else tiles | here
        for points, kept in below:
            some, every = (r if kept is None else r & kept.only(s) for r in (mine, everything.only(s)))
            missing.append(_missing(some, every, (*times, *points), n))
    if tiles is None:
        raise BadPath("no band below has points of a tile", where=schedule.marked(at), hint="tile the band first")
    for m in missing:
        tiles = tiles - m
    tiles = tiles.coalesce().remove_redundancies()
    if context is not None and not tiles.is_empty():
        tiles = tiles.gist(Set.universe(str(tiles.space.out)).intersect_params(context))
    return schedule.replace(at, replace(band, isolate=tiles))


def _reaching(schedule: Schedule, at: Path) -> tuple[Set, Set]:
    """The instances that arrive at a node, and what would if there were no bounds above it."""
    domain = schedule.domain
    whole = replace(schedule.root, domain=_unbounded(domain))
    unbounded = schedule.replace((), whole)
    for place in (at[:k] for k in range(len(at))):
        node = unbounded.node(place)
        if isinstance(node, Extension):
            unbounded = unbounded.replace(place, replace(node, extension=_unbounded(node.extension)))
        if isinstance(node, Filter) and node.instances is not None:
            unbounded = unbounded.replace(place, replace(node, instances=_congruences(node.instances)))
    return schedule.instances_at(at), unbounded.instances_at(at)


def _unbounded(r: R) -> R:
    """All that a relation could relate, or a set could have."""
    n = len(r.param_names)
    return r._of(r.param_names, [(s, (cj.universe(n + s.n_in + s.n_out),)) for s, _ in r.parts])


def _congruences(instances: Set) -> Set:
    """What a filter says without its bounds, which cut tiles as those of the domain do: every second instance, say."""
    parts = []
    for space, pieces in instances.parts:
        head = 1 + len(instances.param_names) + space.n_out
        loose = (cj.normalise(c.n, c.divs, c.eqs, [row for row in c.ineqs if any(row[head:])]) for c in pieces)
        parts.append((space, tuple(c for c in loose if c is not None)))
    return Set._of(instances.param_names, parts)


def _below(schedule: Schedule, at: Path, statement: str) -> Iterator[tuple[tuple[Aff, ...], Set | None]]:
    """For every way down from a node that a statement takes past a band: its times there, and the instances that go."""
    stack: list[tuple[Node, tuple[Aff, ...], Set | None]] = [(schedule.node(at), (), None)]
    while stack:
        node, times, kept = stack.pop()
        match node:
            case Leaf():
                if times:
                    yield times, kept
                continue
            case Band() if statement in node.statements:
                times = (*times, *node.schedule(statement))
            case Filter(statements, _, found):
                if statement not in statements:
                    continue
                if found is not None:
                    kept = found if kept is None else kept & found
        stack += [(child, times, kept) for child in node.children]


def _missing(some: Set, every: Set, times: Sequence[Aff], n: int) -> Set:
    """The first `n` members of times that iterators have and no instance of a domain has.

    Of a member that is no tile's, and goes on forever, only the values that the domain has are counted.
    """
    there = Map.from_affs(some.space, times)
    mine, whole = some.apply(there), every.apply(there)
    endless = [k for k in range(n, len(times)) if _endless(whole, n, k)]
    if endless:
        kept = (*range(n), *endless)
        names = tuple(mine.space.out.dims[k] for k in kept)
        shape = mine.project_onto(*names).apply(Map.from_affs(mine.space, list(map(var, names))).reverse())
        whole = whole & shape
    return (whole - mine).project_out(*mine.space.out.dims[n:])


def _endless(whole: Set, n: int, k: int) -> bool:
    """Whether there is no bound on the values of member k at given values of the first `n`."""
    line = whole.project_onto(*whole.space.out.dims[:n], whole.space.out.dims[k])
    onto = Map.from_affs(line.space, [var(d) for d in line.space.out.dims[:n]]).intersect_domain(line)
    steps = onto.apply_range(onto.reverse()).deltas()
    try:
        steps.max(var(steps.space.out.dims[-1]))
    except Unbounded:
        return True
    return False
