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

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from polyvolta.cuda.build.promotion.model import BLOCK, STRIP, TILE, CannotPromote, Nest
from polyvolta.cuda.build.promotion.nests import Dims, beside, conjunction, level, members_map, members_of
from polyvolta.sets import Aff, Map, Set, Tuple, aff, var
from polyvolta.sets.conjuncts.conjunct import Conjunct
from polyvolta.sets.hulls.box import Box, box_hull
from polyvolta.sets.values.build import affs_of, expression
from polyvolta.sets.values.space import Space, distinct

Index = tuple[Aff | str, ...]
"""Of an array's elements: iterators, or expressions in them."""


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
    >>> from polyvolta.cuda.build.promotion.nests import NAMES, nest_of
    >>> from polyvolta.sched import Band, Domain, Member, Schedule
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

    >>> from polyvolta.cuda.build.promotion.nests import NAMES, nest_of
    >>> from polyvolta.sched import Band, Domain, Member, Schedule
    >>> i = var("i")
    >>> exprs = (i // 128, aff(0), i // 64 - 2 * (i // 128), aff(0))
    >>> band = Band(tuple(Member((("S", e),), level=n) for n, e in zip(NAMES, exprs)))
    >>> nest = nest_of(Schedule(Domain(Set("{ S[i] : 0 <= i < 256 }"), band)), "S", Set("{ : }"))
    >>> print(*numbered(nest, "i", i // 16 - 4 * (i // 64), 4))  # a warp has both halves: it is mapped to no index
    floor(i/16) mod 8 8
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
    params = maps[0].param_names
    return Map._of(params, [p for m in maps for p in m.align_params(params).parts])
