"""Tiling a band: a loop over tiles around a loop over the points of a tile.

    BAND: S[i] → [i]          =>      BAND: S[i] → [⌊i/32⌋]
                                        BAND: S[i] → [i - 32⌊i/32⌋]

Strip-mining is tiling by the extent the member already has in all members but one; the expressions' normal
form then turns the tile loops of the others into 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polyvolta.sched.errors import BadArgument, BadTile, IllegalTransformation
from polyvolta.sched.legality import band_flags
from polyvolta.sched.passes.bands.levels import Levels, of_level
from polyvolta.sched.passes.common.arguments import items, positive
from polyvolta.sched.passes.common.legal import checked, reflagged
from polyvolta.sched.passes.common.subtree import marked_node, rebased
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.tree import Band, Member, Path, Schedule
from polyvolta.sets import var

Marks = tuple[str | None, str | None]


@of_a_tree
def tile(
    schedule: Schedule,
    at: Path,
    sizes: Sequence[int],
    marks: Marks = (None, None),
    levels: tuple[Levels, Levels] = (None, None),
) -> Schedule:
    """Tile the band at a path.

        BAND: S[i, j] → [i, j]      =>      BAND: S[i, j] → [⌊i/32⌋, ⌊j/8⌋]
                                              BAND: S[i, j] → [i - 32⌊i/32⌋, j - 8⌊j/8⌋]

    A band whose dependences have no negative distance (a permutable one) can be tiled by any sizes, and both bands are
    permutable then, and coincident where the band was. Requests to unroll stay with the points.

    Parameters
    ----------
    sizes : one for each member; 1 leaves the member to the tiles, and its points are 0.
    marks : names of mark nodes to put above the tiles and above the points.
    levels : of the tiles and of the points, one for all members or one for each. If missing, tiles have none and points
        that of the band.

    Raises
    ------
    BadTile : not one positive size per member.
    BadArgument : sizes that are no list, marks that are no pair of names.
    IllegalTransformation : a dependence forbids it; without dependences: the band has several members and is not
        permutable. Or a member is mapped to a name and is no loop.

    Cost: the band's flags, and for a band that is not permutable a check of the new tree.

    Source: F. Irigoin and R. Triolet, "Supernode partitioning" (POPL 1988); the paper, section "Compute Decomposition".

    >>> from polyvolta.sched import Band, Domain, Member, Schedule
    >>> from polyvolta.sets import Set, var
    >>> i, j = (Member((("S", var(n)),)) for n in "ij")
    >>> tree = Schedule(Domain(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j < N }"), Band((i, j), permutable=True)))
    >>> print(tile(tree, (0,), (32, 8)))
    DOMAIN: S[i, j] : 0 ≤ i < N ∧ 0 ≤ j < N
      BAND: S[i, j] → [⌊i/32⌋, ⌊j/8⌋]
        BAND: S[i, j] → [i - 32⌊i/32⌋, j - 8⌊j/8⌋]
    """
    band = schedule.band(at)
    sizes = items(sizes, "tile sizes", "(32, 32)")
    if len(sizes) != len(band.members):
        raise BadTile(f"{len(sizes)} tile sizes for a band of {len(band.members)} members", where=schedule.marked(at))
    sizes = positive(schedule, at, sizes)
    _check_marks(marks)
    not_mapped(schedule, at, range(len(sizes)))
    above, below = _two_levels(levels)
    tiles = of_level((_tiles(m, s) for m, s in zip(band.members, sizes)), above)
    points = of_level((_points(m, s) for m, s in zip(band.members, sizes)), below)
    return two_levels(schedule, at, tiles, points, [(var(f"x{k}") // s, var(f"x{k}") % s) for k, s in enumerate(sizes)],
                  "tiling", marks)  # fmt: skip


def _tiles(member: Member, size: int) -> Member:
    moved = member.map(lambda _, e: e // size)
    return replace(moved, unroll=False, loop_type="default", isolated_type=None, level=None)


def _points(member: Member, size: int) -> Member:
    inside = member.map(lambda _, e: e % size)
    return replace(inside, coincident=True) if size == 1 else inside


def two_levels(schedule: Schedule, at: Path, outer, inner, parts, doing: str, marks: Marks = (None, None)) -> Schedule:  # noqa: ANN001
    """The band at a path as two nested ones, each member x being `outer` and `inner` of it; both nondecreasing in x for
    fixed other, so that a permutable band stays one.

    Parameters
    ----------
    parts : for each member what its outer and inner member are, in `x0, x1, ...`, the members of the band.
    """
    band = schedule.band(at)
    several = len(band.members) > 1
    known = schedule.dependences is not None
    permutable = band_flags(schedule, at).permutable if known and several else band.permutable
    if not known and several and not permutable:
        raise IllegalTransformation(
            f"{doing} interleaves the members of a band, which this one's dependences forbid",
            where=schedule.marked(at),
            hint="only a permutable band can be tiled",
        )
    become = (len(parts), [a for a, _ in parts] + [b for _, b in parts])
    moved = rebased(schedule, at, {None: become})
    points = Band(inner, moved.child, band.permutable, moved.isolate)
    tiles = Band(outer, marked_node(marks[1], points), band.permutable)
    new = schedule.replace(at, marked_node(marks[0], tiles))
    if not known or not several or (permutable and band.permutable):
        return new
    if not permutable:
        checked(schedule, new, doing, at)
    places = (*at, *((0,) if marks[0] is not None else ()))
    return reflagged(new, places, (*places, 0, *((0,) if marks[1] is not None else ())))


def _two_levels(levels: object) -> tuple[Levels, Levels]:
    """The levels of the tiles and of the points."""
    if not isinstance(levels, (tuple, list)) or len(levels) != 2:
        raise BadArgument("the levels are a pair, of tiles and of points", where=repr(levels), hint='("warp", None)')
    return levels[0], levels[1]


def _check_marks(marks: Marks) -> None:
    pair = isinstance(marks, (tuple, list)) and len(marks) == 2
    if not pair or not all(m is None or (isinstance(m, str) and m) for m in marks):
        raise BadArgument(
            "the marks are two names, above the tiles and above the points, None for no mark",
            where=repr(marks),
            hint='such as ("tiles", None)',
        )


def not_mapped(schedule: Schedule, at: Path, members) -> None:  # noqa: ANN001
    """The members of the band at a path are loops.

    Raises
    ------
    IllegalTransformation : one of them is mapped to a name.
    """
    band = schedule.band(at)
    for k in members:
        if band.members[k].name is not None:
            raise IllegalTransformation(
                f"member {k} is mapped to {band.members[k].name}: its iterations are no loop any more",
                where=schedule.marked(at),
                hint="map members last",
            )
