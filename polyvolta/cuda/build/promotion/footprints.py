"""Footprints: which data the instances below a level of the schedule touch, asked of the access relations.

The inverse of the members above a level, followed by an access, is the level's *footprint*, a map from members to
elements; its box hull is a data tile, at an offset in the members, of constant size (the paper's "Global, Shared and
Register Data Tiles").

Sizes need not be multiples of tiles. A kernel computes on whole tiles, so the instances are first widened to those
of every *started* tile, whose footprints are boxes always. What is really there is the footprint of the real
instances. Where the box has more than that, a copy must be guarded; the tiles in which it has not are *full*, and a
conjunction such as `M >= 128*by + 128 and K >= 32*kt + 32` says which these are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from polyvolta.cuda.build.promotion.model import BLOCK, STRIP, TILE, WARP, CannotPromote, Nest, free_name
from polyvolta.sched.nodes import Band, Domain, Filter, Member, Node
from polyvolta.sched.tree import Schedule
from polyvolta.sets import Aff, Map, Set, Tuple, aff, var
from polyvolta.sets.conjuncts.conjunct import Conjunct, universe
from polyvolta.sets.hulls.box import Box, box_hull
from polyvolta.sets.values.build import RowBuilder, affs_of, expression
from polyvolta.sets.values.simplify import interval
from polyvolta.sets.values.space import Space, distinct

NAMES = {BLOCK: ("by", "bx"), TILE: ("kt",), WARP: ("wy", "wx", "wz"), STRIP: ("sy", "sx", "ks")}
"""What the members of a level are called."""
WARPS = ("warpIdx_y", "warpIdx_x", "warpIdx_z")
"""What the loops over warps are mapped to: rows, columns and depth."""
Dims = Sequence[tuple[str, Aff]]
Index = tuple[Aff | str, ...]
"""Of an array's elements: iterators, or expressions in them."""


# ---- schedules as lists of members


def nest_of(fine: Schedule, statement: str, context: Set, taken: Iterable[str] = ()) -> Nest:
    """A statement's nest in a tree of scalar instances.

    Parameters
    ----------
    context : what may be assumed of the sizes.
    taken : names that the members' names must keep off.

    Raises
    ------
    CannotPromote : a level is missing, or the levels are not nested in the order of `NAMES`.
    """
    domain = fine.domain.only(statement)
    iterators = domain.space.out.dims
    members = tuple(_members(fine.root, statement))
    used = {*domain.param_names, *iterators, *taken}
    real = domain.intersect_params(context)
    nest = Nest(statement, iterators, members, (), real, real)
    names = [free_name(n, used) for n in _wishes(members[: nest.depth(STRIP)])]
    named = tuple(None if m.of(statement).is_constant else n for m, n in zip(members, names))
    nest = replace(nest, names=named)
    _in_order(nest)
    above = members_map(nest, TILE)
    started = real.apply(above).apply(above.reverse())
    return nest if started.is_subset(real) else replace(nest, padded=beside(started, context))


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


def warps_of(nests: Iterable[Nest]) -> tuple[int, int, int]:
    """How many warps of a block there are along y, x and z: the values of what is mapped to their indices.

    Raises
    ------
    CannotPromote : they have no end.
    """
    most = dict.fromkeys(WARPS, 1)
    for nest in nests:
        for m in nest.members:
            if m.name in most:
                low, high = interval(m.of(nest.statement), {})
                if low != 0 or high is None:
                    raise CannotPromote(f"{m.name} of {nest.statement} has no end: {m.of(nest.statement)}")
                most[m.name] = max(most[m.name], high + 1)
    y, x, z = (most[name] for name in WARPS)
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


def widened(schedule: Schedule, nests: Iterable[Nest], shape: Sequence[int]) -> Schedule:
    """The tree with the instances of every started tile, as many as its contraction leaves of them.

    DOMAIN: S[i] : 0 <= i < M and 16*floor(i/16) = i     =>     DOMAIN: S[i] : 0 <= i and 128*floor(i/128) < M
                                                                         and 16*floor(i/16) = i

    Parameters
    ----------
    shape : by how much the statements' iterators are contracted.
    """
    parts = []
    for nest in nests:
        if nest.padded is nest.real:
            parts += schedule.domain.only(nest.statement).parts
            continue
        params, space = nest.padded.param_names, nest.padded.space
        grid = [("eq", var(i) - f * (var(i) // f)) for i, f in zip(nest.iterators, shape) if f > 1]
        stays = Set._of(params, [(space, conjunction((*params, *nest.iterators), grid))])
        parts += (nest.padded & stays).parts
    assert isinstance(schedule.root, Domain)
    return schedule.replace((), Domain(Set._of(schedule.domain.param_names, parts), schedule.root.child))


# ---- footprints


def footprint(nest: Nest, dims: Dims, access: Map, real: bool = False) -> Map:
    """{ [dims] -> array[element] }: what the instances at given members touch.

    Parameters
    ----------
    access : { statement[iterators] -> array[element] }; it need not be restricted to the instances.
    real : of the real instances, not of those of started tiles.
    """
    instances = nest.real if real else nest.padded
    return members_of(nest, dims).intersect_domain(instances).reverse().apply_range(access)


def element_map(nest: Nest, array: str | None, index: Index) -> Map:
    """{ statement[iterators] -> array[index] } for all values of the iterators."""
    params = nest.real.param_names
    outs = distinct((f"x{k}" for k in range(len(index))), (*params, *nest.iterators))
    exprs = [var(e) if isinstance(e, str) else e for e in index]
    pieces = conjunction((*params, *nest.iterators, *outs), [("eq", e - var(o)) for o, e in zip(outs, exprs)])
    return Map._of(params, [(Space(Tuple(nest.statement, nest.iterators), Tuple(array, outs)), pieces)])


@lru_cache(maxsize=1024)
def places(nest: Nest, name: str) -> Set:
    """The values of the members down to a level, in started tiles."""
    return nest.padded.apply(members_map(nest, name))


def data_tile(nest: Nest, name: str, index: Index, what: str) -> Box:
    """The box of the elements at an index that the started tiles of a level touch, which is exactly their footprint.

    Raises
    ------
    CannotPromote : the box has elements that no instance touches.

    Cost: for each dimension a composition, a box hull and a subset test, which tensors of the same shape share.

    >>> from polyvolta.sched import Schedule
    >>> band = Band(tuple(Member((("S", e),), level=n) for n, e in zip(NAMES, (var("i") // 32, *[aff(0)] * 3))))
    >>> tree = Schedule(Domain(Set("[N] -> { S[i] : 0 <= i < N }"), band))
    >>> nest = nest_of(tree, "S", Set("[N] -> { : N > 0 }"))
    >>> box = data_tile(nest, "tile", ("i",), "A")
    >>> print(*box.offset, box.size, *full_where(nest, "tile", ("i",), Set("[N] -> { : N > 0 }")))
    32*by (32,) N - 32*by - 32
    """
    found: dict[int, tuple[Aff, int, int]] = {}
    for part in _parts(nest, index):
        if isinstance(e := index[part[0]], Aff) and e.is_constant:
            found[part[0]] = (e, 1, 1)
            continue
        touched = _image(nest, name, tuple(index[p] for p in part))
        box = _exact_hull(touched, touched.space.dims)
        if box is None:
            raise CannotPromote(
                f"the tile of {what} is not full: its box reaches beyond what is accessed",
                where=str(touched),
                hint="tiles must divide the tiles around them",
            )
        found |= dict(zip(part, zip(box.offset, box.size, box.stride)))
    offset, size, stride = zip(*(found[k] for k in range(len(index))), strict=True) if found else ((), (), ())
    return Box(offset, size, stride)


def numbered(nest: Nest, iterator: str, inner: Aff, count: int) -> tuple[Aff, int]:
    """The number of a fragment along an iterator among all that a warp has of its block, and how many these are.

    Parameters
    ----------
    inner : its number among the `count` fragments of a strip. Loops above that are neither a block's nor a warp's run
        over further fragments.

    >>> i = var("i")
    >>> exprs = (i // 128, aff(0), i // 64 - 2 * (i // 128), aff(0))
    >>> band = Band(tuple(Member((("S", e),), level=n) for n, e in zip(NAMES, exprs)))
    >>> nest = nest_of(Schedule(Domain(Set("{ S[i] : 0 <= i < 256 }"), band)), "S", Set("{ : }"))
    >>> print(*numbered(nest, "i", i // 16 - 4 * (i // 64), 4))  # a warp has both halves: it is mapped to no index
    -8*floor(i/128) + floor(i/16) 8
    """
    for k in reversed(nest.between(TILE, STRIP)):
        member, e = nest.members[k], nest.members[k].of(nest.statement)
        if member.name is None and iterator in e.names():
            box = data_tile(nest, BLOCK, (e,), f"the loop over {e}")
            first = box.offset[0].subs(dict(level(nest, BLOCK)))
            inner, count = inner + count * (e - first), count * box.size[0]
    return inner, count


def full_where(nest: Nest, name: str, index: Index, context: Set) -> tuple[Aff, ...]:
    """Conditions `e >= 0` on members and sizes under which a tile has no element beside the real instances'.

    No condition where that is so always, `-1 >= 0` where it never is.

    Parameters
    ----------
    index : of the tile's elements, as for `data_tile`.
    context : what may be assumed of the sizes; conditions that follow from it are left out.

    Raises
    ------
    CannotPromote : the full tiles are no conjunction of inequalities.

    Cost: a difference, a projection, a complement and a gist of small sets, for each dimension.
    """
    if nest.padded is nest.real:
        return ()
    found: dict[Aff, None] = {}
    for part in _parts(nest, index):
        exprs = tuple(index[p] for p in part)
        if not all(isinstance(e, Aff) and e.is_constant for e in exprs):
            found |= dict.fromkeys(_full(nest, name, exprs, context))
    if aff(-1) in found:
        return (aff(-1),)
    order = {n: k for k, n in enumerate(nest.names) if n}
    return tuple(sorted(found, key=lambda e: min((order[n] for n in e.names() if n in order), default=0)))


@lru_cache(maxsize=1024)
def _full(nest: Nest, name: str, exprs: Index, context: Set) -> tuple[Aff, ...]:
    touched, there = _image(nest, name, exprs), _image(nest, name, exprs, True)
    tiles = touched.domain()
    return conditions_of((tiles - (touched - there).domain()).gist(tiles.intersect_params(context)))


@lru_cache(maxsize=1024)
def _exact_hull(touched: Map, dims: tuple[str, ...]) -> Box | None:
    """The box hull, if every element of it is in the image; `dims` are the names that it speaks of."""
    box = box_hull(touched)
    whole = box.relation(touched)
    assert isinstance(whole, Map)
    return box if whole.is_subset(touched) else None


@lru_cache(maxsize=1024)
def _image(nest: Nest, name: str, exprs: Index, real: bool = False) -> Map:
    """The footprint { [members] -> [exprs] } in nothing but the members and iterators that have to do with it.

    Rows and columns of a tile hang together with different members, and instances of a product are a product of ranges:
    an image in one dimension, whatever else its tensor has.
    """
    mine = {i for i in nest.iterators for e in exprs if i in ({e} if isinstance(e, str) else e.names())}
    mine = mine.union(*(g for g in _groups(nest) if g & mine))
    others = tuple(i for i in nest.iterators if i not in mine)
    instances = nest.real if real else nest.padded
    instances = instances.drop_constraints_involving(*others).project_out(*others) if others else instances
    iterators = tuple(i for i in nest.iterators if i in mine)
    alone = Set._of(instances.param_names, [(Space(None, Tuple("S", iterators)), c) for _, c in instances.parts])
    small = replace(nest, statement="S", iterators=iterators, real=alone, padded=alone)
    dims = [(n, e) for n, e in level(nest, name) if e.names() & mine]
    return footprint(small, dims, element_map(small, None, exprs))


def _parts(nest: Nest, index: Index) -> list[list[int]]:
    """The positions of an index in parts that have nothing to do with one another."""
    names = [({e} if isinstance(e, str) else e.names()) & set(nest.iterators) for e in index]
    parts: list[tuple[frozenset[str], list[int]]] = []
    for k, own in enumerate(names):
        mine = frozenset(own).union(*(g for g in _groups(nest) if g & own))
        joined = [p for p in parts if p[0] & mine]
        parts = [p for p in parts if not p[0] & mine]
        parts.append((mine.union(*(p[0] for p in joined)), sorted([k, *(x for p in joined for x in p[1])])))
    return [positions for _, positions in parts]


@lru_cache(maxsize=256)
def _groups(nest: Nest) -> tuple[frozenset[str], ...]:
    """The iterators in groups that constraints and members connect."""
    n = len(nest.real.param_names)
    links = [{i for i in nest.iterators if i in m.of(nest.statement).names()} for m in nest.members]
    for instances in (nest.real, nest.padded):
        for c in (c for _, cs in instances.parts for c in cs):
            dims = range(1 + n, 1 + c.n)
            links += [{nest.iterators[x - 1 - n] for x in _together(c, {col}, dims)} for col in dims]
    groups: list[frozenset[str]] = []
    for link in links:
        joined = [g for g in groups if g & link]
        groups = [*(g for g in groups if not g & link), frozenset(link).union(*joined)]
    return tuple(g for g in groups if g)


def _together(c: Conjunct, start: set[int], dims: range) -> set[int]:
    """The dimensions that constraints connect with those at the start, by way of divs, but not of parameters."""
    base = 1 + c.n
    links = [{col for col, v in enumerate(r) if v and (col in dims or col >= base)} for r in (*c.eqs, *c.ineqs)]
    links += [{base + k} | {col for col, v in enumerate(d[1]) if v and (col in dims or col >= base)}
              for k, d in enumerate(c.divs) if d is not None]  # fmt: skip
    found = set(start)
    while any(link & found and not link <= found for link in links):
        found = found.union(*(link for link in links if link & found))
    return {col for col in found if col in dims}


def conditions_of(where: Set) -> tuple[Aff, ...]:
    """The inequalities `e >= 0` of a set that is one conjunction; `-1 >= 0` where it is empty.

    Raises
    ------
    CannotPromote : it is none.
    """
    if len(where.pieces) > 1:
        where = where.coalesce()
    pieces = where.parts[0][1] if where.parts else ()
    if not pieces:
        return (aff(-1),)
    if len(pieces) != 1 or None in pieces[0].divs:
        raise CannotPromote("the full tiles are no conjunction of inequalities", where=str(where))
    table = affs_of(pieces[0], (*where.param_names, *where.space.out.dims))
    rows = [*pieces[0].ineqs, *(s for r in pieces[0].eqs for s in (r, tuple(-v for v in r)))]
    return tuple(expression(r, table) for r in rows)


# ---- instances that extensions add


def instances(
    name: str,
    dims: Sequence[str],
    prefix: Sequence[str | None],
    of: Set,
    bounds: Sequence[tuple[Aff, int]],
    context: Set,
) -> Map:
    """The extension { [outer members] -> name[dims] }.

    Parameters
    ----------
    dims : of the added statement; the leading ones are a point of `of`.
    prefix : for each outer member the dimension that equals it; None for a member that is constant.
    bounds : pairs (e, extent): 0 <= e < extent.
    context : what need not be said of the sizes.
    """
    params = of.param_names
    piece = _stated(of, context)
    inputs = tuple(d + "@" if d else f"_{k}" for k, d in enumerate(prefix))
    rows = [("eq", var(i) - var(d)) for i, d in zip(inputs, prefix) if d]
    rows += [b for e, extent in bounds for b in (("ge", e), ("ge", extent - 1 - e))]
    table = affs_of(piece, (*params, *dims[: len(of.space.out.dims)]))
    rows += [("ge", expression(r, table)) for r in piece.ineqs] + [("eq", expression(r, table)) for r in piece.eqs]
    pieces = conjunction((*params, *inputs, *dims), rows)
    return Map._of(params, [(Space(Tuple(None, inputs), Tuple(name, tuple(dims))), pieces)])


@lru_cache(maxsize=1024)
def _stated(of: Set, context: Set) -> Conjunct:
    """What has to be said of a set's points where a context holds."""
    (piece,) = beside(of, context).parts[0][1]
    return piece


def together(maps: Sequence[Map]) -> Map:
    """Extensions together."""
    parts = [p for m in maps for p in m.parts]
    return Map._of(maps[0].param_names, parts)
