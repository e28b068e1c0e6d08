"""Nests: a statement's schedule read off the tree as a list of members, cut at the levels that they are of.

Wherever bands are cut, and whatever else stands between, the members from the root down to the last one of a level are
what that level has above its points: their values say which block, k tile, warp or strip it is. Instances are widened
to those of whole tiles: see `footprints`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from polyvolta.cuda.build.promotion.makers import WARPS
from polyvolta.cuda.build.promotion.model import BLOCK, STRIP, TILE, WARP, CannotPromote, Nest, free_name
from polyvolta.sched.nodes import Band, Domain, Filter, Member, Node
from polyvolta.sched.tree import Schedule
from polyvolta.sets import Aff, Map, Set, Tuple, var
from polyvolta.sets.conjuncts.conjunct import Conjunct, universe
from polyvolta.sets.values.build import RowBuilder
from polyvolta.sets.values.simplify import interval
from polyvolta.sets.values.space import Space

NAMES = {BLOCK: ("by", "bx"), TILE: ("kt",), WARP: ("wy", "wx", "wz"), STRIP: ("sy", "sx", "ks")}
"""What the members of a level are called."""
Dims = Sequence[tuple[str, Aff]]


def nest_of(
    fine: Schedule, statement: str, context: Set, taken: Iterable[str] = (), cluster: tuple[int, int] = (1, 1)
) -> Nest:
    """A statement's nest in a tree of scalar instances.

    Parameters
    ----------
    context : what may be assumed of the sizes.
    taken : names that the members' names must keep off.
    cluster : rows and columns of blocks that start together.

    Raises
    ------
    CannotPromote : a level is missing, or the levels are not nested in the order of `NAMES`.
    """
    domain = fine.domain.only(statement)
    iterators = domain.space.out.dims
    members = tuple(_members(fine.root, statement))
    used = {*domain.param_names, *iterators, *taken}
    real = domain.intersect_params(context)
    nest = Nest(statement, iterators, members, (), real, real, cluster)
    names = [free_name(n, used) for n in _wishes(members[: nest.depth(STRIP)])]
    named = tuple(None if m.of(statement).is_constant else n for m, n in zip(members, names))
    nest = replace(nest, names=named)
    _in_order(nest)
    above = members_of(nest, started_with(nest, TILE))
    started = real.apply(above).apply(above.reverse())
    return nest if started.is_subset(real) else replace(nest, padded=beside(started, context))


def started_with(nest: Nest, name: str) -> tuple[tuple[str, Aff], ...]:
    """What instances that start together have alike: the members down to a level, of blocks the cluster's."""
    blocks = dict(zip(nest.above(BLOCK), nest.cluster))
    return tuple((n, e // blocks.get(n, 1)) for n, e in level(nest, name))


def beside(of: Set, context: Set) -> Set:
    """A set of one space without what holds in a context of the sizes anyway."""
    every = Set._of(of.param_names, [(of.space, (universe(len(of.param_names) + len(of.space.out.dims)),))])
    return of.gist(every.intersect_params(context))


def _wishes(members: Sequence[Member]) -> list[str]:
    """A name for each member: that of its place in its level, `x` and a number where it has none."""
    counts: dict[str | None, int] = {}
    out = []
    for m in members:
        k = counts[m.level] = counts.get(m.level, -1) + 1
        known = NAMES.get(m.level or "", ())
        out.append(known[k] if k < len(known) else f"{m.level or 'x'}{k}")
    return out


def _in_order(nest: Nest) -> None:
    """Levels are nested, and nothing but the k tile stands between the block and what is copied for it."""
    depths = [nest.depth(level) for level in NAMES]
    levels = [m.level for m in nest.members if m.level in NAMES]
    if depths != sorted(depths) or levels != sorted(levels, key=[*NAMES].index):
        raise CannotPromote(f"the levels of {nest.statement} are not nested as {', '.join(NAMES)}: {', '.join(levels)}")
    loops = [m.level for m, name in zip(nest.members, nest.above(TILE)) if name]
    if loops.count(TILE) > 1 or not {*loops} <= {BLOCK, TILE}:
        raise CannotPromote(
            f"{nest.statement} has a further loop around its blocks or its k tiles, which one loop copies",
            hint="a further tiling stands below the level tile",
        )


def warps_of(nests: Iterable[Nest], names: Sequence[str] = WARPS) -> tuple[int, int, int]:
    """How many warps, or warpgroups, of a block there are along y, x and z: the values of what is mapped to their
    indices.

    Raises
    ------
    CannotPromote : they have no end.
    """
    most = dict.fromkeys(names, 1)
    for nest in nests:
        for m in nest.members:
            if m.name in most:
                low, high = interval(m.of(nest.statement), {})
                if low != 0 or high is None:
                    raise CannotPromote(f"{m.name} of {nest.statement} has no end: {m.of(nest.statement)}")
                most[m.name] = max(most[m.name], high + 1)
    y, x, z = (most[name] for name in names)
    return y, x, z


def _members(node: Node, statement: str) -> Iterable[Member]:
    if isinstance(node, Band):
        yield from node.members
    for child in node.children:
        if not isinstance(child, Filter) or statement in child.statements:
            yield from _members(child, statement)


def level(nest: Nest, name: str) -> tuple[tuple[str, Aff], ...]:
    """(name, expression in the iterators) of the members down to the last one of a level that are not constant."""
    return tuple((n, m.of(nest.statement)) for n, m in zip(nest.above(name), nest.members) if n is not None)


def members_map(nest: Nest, name: str) -> Map:
    """{ statement[iterators] -> [members down to a level] }."""
    return members_of(nest, level(nest, name))


def members_of(nest: Nest, dims: Dims) -> Map:
    """{ statement[iterators] -> [dims] } for named expressions in the iterators."""
    params = nest.real.param_names
    names = tuple(d for d, _ in dims)
    pieces = conjunction((*params, *nest.iterators, *names), [("eq", e - var(d)) for d, e in dims])
    return Map._of(params, [(Space(Tuple(nest.statement, nest.iterators), Tuple(None, names)), pieces)])


def conjunction(names: Sequence[str], rows: Iterable[tuple[str, Aff]]) -> tuple[Conjunct, ...]:
    """Rows ("eq" or "ge", expression in the names) as the pieces of a relation: one, or none where they contradict."""
    c = RowBuilder(tuple(names)).conjunct(rows)
    return () if c is None else (c,)


def widened(schedule: Schedule, nests: Iterable[Nest], shapes: Mapping[str, Sequence[int]]) -> Schedule:
    """The tree with the instances of every started tile, as many as its contraction leaves of them.

    DOMAIN: S[i] : 0 <= i < M and 16*floor(i/16) = i     =>     DOMAIN: S[i] : 0 <= i and 128*floor(i/128) < M
                                                                         and 16*floor(i/16) = i

    Parameters
    ----------
    shapes : by how much each statement's iterators are contracted.
    """
    parts = []
    for nest in nests:
        if nest.padded is nest.real:
            parts += schedule.domain.only(nest.statement).parts
            continue
        params, space = nest.padded.param_names, nest.padded.space
        grid = [("eq", var(i) - f * (var(i) // f)) for i, f in zip(nest.iterators, shapes[nest.statement]) if f > 1]
        stays = Set._of(params, [(space, conjunction((*params, *nest.iterators), grid))])
        parts += (nest.padded & stays).align_params(schedule.domain.param_names).parts
    assert isinstance(schedule.root, Domain)
    return schedule.replace((), Domain(Set._of(schedule.domain.param_names, parts), schedule.root.child))
