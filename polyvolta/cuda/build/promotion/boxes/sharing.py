"""Boxes that several blocks of a cluster need: each block has a part of them copied, to all that need it.

Which blocks read an operand's tile follows from where tiles start: those of two blocks have an element in common, for
one k tile, if they are apart by less than a tile in every dimension. Within a cluster of (rows, columns) blocks that is
a relation

    { [by, bx] -> [by', bx'] : the same cluster, and the tiles meet }

of which it is shown that tiles which meet are the same, and that it is made of *moves*: of a cluster's places, counted
round, the ones that are (y, x) further. Of A, whose tiles depend on the row, these are (0, 0) .. (0, columns - 1). So
there are as many that share a tile in every block, each takes its part of the tile's boxes by its own place, and has
them written to the ranks of all. The other way round, a block has the boxes of all those *senders* in its tiles, and
tells each of them when a slot is free.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from polyvolta.cuda.build.promotion.model import BLOCK, CannotPromote, Nest
from polyvolta.cuda.build.promotion.nests import conjunction
from polyvolta.cuda.ir.engines.clusters import ranked
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.nodes import Band, Domain
from polyvolta.sched.tree import Schedule
from polyvolta.sets import Aff, Map, Set, Tuple, aff, var
from polyvolta.sets.hulls.box import Box as Hull
from polyvolta.sets.values.simplify import simplify
from polyvolta.sets.values.space import Space, distinct

Pair = tuple[int, int]
NO_PART = aff(0)


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Blocks of a cluster, by where they are from one.

    Parameters
    ----------
    cluster : its rows and columns.
    place : the block's row and column in it.
    moves : to the blocks, as places so much further; the block itself included.
    part : which part of K a block has, where those of a cluster split it: ranks of one part are neighbours.
    """

    cluster: Pair
    place: tuple[Aff, Aff]
    moves: frozenset[Pair]
    part: Aff = NO_PART

    @property
    def count(self) -> int:
        """How many they are."""
        return len(self.moves)


@dataclass(frozen=True, slots=True)
class Sharing(_Blocks):
    """The blocks of a cluster that need one tile."""

    @property
    def number(self) -> Aff:
        """A block's own number among them."""
        found = aff(0)
        for extent, at, steps in zip(self.cluster, self.place, _axes(self.cluster, self.moves), strict=True):
            found = extent * found + at if len(steps) > 1 else found
        return found

    @property
    def ranks(self) -> tuple[Aff, ...]:
        """Their ranks; () where there is one, the block itself."""
        return ranks(self.cluster, self.place, self.moves, self.part) if self.count > 1 else ()


@dataclass(frozen=True, slots=True)
class Senders(_Blocks):
    """The blocks of a cluster whose boxes come to a block's tiles, itself included: as `Sharing`, the other way."""

    @property
    def ranks(self) -> tuple[Aff | None, ...]:
        """Their ranks; None for the block itself, where it is alone."""
        return ranks(self.cluster, self.place, self.moves, self.part) if self.count > 1 else (None,)


def senders(sides: Iterable[Sharing], cluster: Pair) -> Senders:
    """Those of all operands together."""
    sides = tuple(sides)
    rows, cols = cluster
    moves = {((-y) % rows, (-x) % cols) for s in sides for y, x in s.moves}
    return Senders(cluster, sides[0].place, frozenset(moves), sides[0].part)


def ranks(
    cluster: Pair, place: tuple[Aff, Aff], moves: frozenset[Pair], part: Aff = NO_PART
) -> tuple[Aff, ...]:
    """The ranks of the places so much further than a block's, each once.

    >>> y, x = var("y") % 2, var("x") % 2
    >>> [str(e) for e in ranks((2, 2), (y, x), frozenset({(0, 0), (0, 1)}))]
    ['2*(y mod 2)', '2*(y mod 2) + 1']
    >>> [str(e) for e in ranks((2, 2), (y, x), frozenset({(0, 0), (0, 1), (1, 0)}))]
    ['(x mod 2) + 2*(y mod 2)', '2*(y mod 2) + ((x + 1) mod 2)', '(x mod 2) + 2*((y + 1) mod 2)']
    """
    axes = _axes(cluster, moves)
    along: list[dict[int, Aff]] = []
    whole = len(moves) == len(axes[0]) * len(axes[1])
    for extent, at, steps in zip(cluster, place, axes, strict=True):
        if whole and len(steps) == extent:  # all along this side: whoever it is that counts
            along.append({n: aff(n) for n in steps})
        else:
            along.append({n: _further(at, n, extent) for n in steps})
    rows, cols = along
    extents = cluster[1], cluster[0], 1
    return tuple(ranked((cols[x], rows[y], part), extents) for y, x in sorted(moves))


def _further(at: Aff, by: int, extent: int) -> Aff:
    """A place so much further along a side, counted round; `at` is something mod the extent."""
    return (at + by) % extent if by else at


def _axes(cluster: Pair, moves: frozenset[Pair]) -> tuple[list[int], list[int]]:
    """The steps along rows and along columns that moves have."""
    return sorted({y for y, _ in moves}), sorted({x for _, x in moves})


def sharing_of(nest: Nest, tile: Hull, what: str, cluster: Pair, part: Aff = NO_PART) -> Sharing:
    """Who in a cluster needs an operand's tile.

    Parameters
    ----------
    tile : a block's tile for a k tile, in the members of the nest.
    what : it is, for errors.
    part : which part of K a block has.

    Raises
    ------
    CannotPromote : blocks share parts of tiles, or in no regular way; or there is one row, or column, of blocks.

    Cost: some milliseconds for each block of a cluster.
    """
    blocks = nest.above(BLOCK)
    place = []
    for name, extent, axis in zip(blocks, cluster, ("rows", "columns"), strict=True):
        if name is None and extent > 1:
            raise CannotPromote(f"a cluster of {extent} {axis} of blocks, and there is one", hint="cluster=(1, 1)")
        place.append(aff(0) if name is None else var(name) % extent)
    here = place[0], place[1]
    if cluster == (1, 1):
        return Sharing(cluster, here, frozenset({(0, 0)}), part)
    meets, same = _shared(nest, tile, cluster)
    moves = {m: _moved(nest, m, cluster) for m in product(range(cluster[0]), range(cluster[1]))}
    found = frozenset(m for m, there in moves.items() if there.is_subset(same))
    left = meets
    for m in found:
        left = left - moves[m]
    full = len(found) == len(_axes(cluster, found)[0]) * len(_axes(cluster, found)[1])
    whole = all(len(steps) in (1, extent) for steps, extent in zip(_axes(cluster, found), cluster, strict=True))
    if not left.is_empty() or not full or not whole:
        raise CannotPromote(
            f"blocks of a cluster share tiles of {what} in part, or in no regular way", where=str(meets),
            hint="cluster=(1, 1)",
        )  # fmt: skip
    return Sharing(cluster, here, found, part)


def _shared(nest: Nest, tile: Hull, cluster: Pair) -> tuple[Map, Map]:
    """{ [by, bx] -> [by', bx'] } of a cluster whose tiles, for one k tile, meet; and whose tiles are the same."""
    primed = dict(zip(_names(nest), _others(nest)))
    table = {n: var(o) for n, o in primed.items()}
    gaps = [e.subs(table) - e for e in tile.offset]
    near = [("ge", e + n - 1) for e, n in zip(gaps, tile.size)] + [("ge", n - 1 - e) for e, n in zip(gaps, tile.size)]
    return _relation(nest, cluster, near), _relation(nest, cluster, [("eq", e) for e in gaps])


def _moved(nest: Nest, move: Pair, cluster: Pair) -> Map:
    """{ [by, bx] -> [by', bx'] }: so much further in the cluster, counted round."""
    rows = []
    for name, other, by, extent in zip(_names(nest), _others(nest), move, cluster, strict=True):
        rows.append(("eq", var(other) % extent - (var(name) + by) % extent))
    return _relation(nest, cluster, rows)


def _relation(nest: Nest, cluster: Pair, rows: list[tuple[str, Aff]]) -> Map:
    """{ [by, bx] -> [by', bx'] } of one cluster; k tiles and sizes, of which tiles' places may speak, are the same."""
    names, others = _names(nest), _others(nest)
    more = sorted({n for _, e in rows for n in e.names()} - {*names, *others})
    together = [("eq", var(o) // n - var(d) // n) for d, o, n in zip(names, others, cluster, strict=True)]
    kept = [("ge", var(d)) for d in (*names, *others)]
    pieces = conjunction((*more, *names, *others), [*together, *kept, *rows])
    return Map._of(tuple(more), [(Space(Tuple(None, names), Tuple(None, others)), pieces)])


def grid_of(contracted: Schedule, cluster: Pair, context: Set) -> dict[str, Aff]:
    """How many values names of blocks have in whole clusters; none where each block is one.

    The last clusters may have blocks beyond the result. They run as the others do: what boxes bring from beyond a
    tensor is 0, and what is stored there is dropped.

    Parameters
    ----------
    contracted : the tree, whose band of blocks says how many there are with work.
    """
    if cluster == (1, 1):
        return {}
    band = contracted.band(contracted.find(level=BLOCK)[0])
    members = [m for m in band.members if m.level == BLOCK]
    extents = scan(Schedule(Domain(contracted.domain, Band(tuple(members)))), context).extents
    sides = {m.name: n for m, n in zip(members, cluster, strict=True) if m.name is not None}
    return {name: simplify((extents[name] + n - 1) // n * n, {}) for name, n in sides.items()}


def _names(nest: Nest) -> tuple[str, ...]:
    """What the members of blocks are called; one that is constant has a name that nothing else has."""
    return tuple(_named(nest))


def _named(nest: Nest) -> Iterator[str]:
    for name, wish in zip(nest.above(BLOCK), ("by", "bx"), strict=True):
        yield name or distinct((wish,), (*nest.iterators, *nest.real.param_names, *(n for n in nest.names if n)))[0]


def _others(nest: Nest) -> tuple[str, ...]:
    return tuple(distinct(_names(nest), _names(nest)))
