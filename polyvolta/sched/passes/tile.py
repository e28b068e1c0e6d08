"""Tiling a band: a loop over tiles around a loop over the points of a tile.

    BAND: S[i] → [i]          =>      BAND: S[i] → [⌊i/32⌋]
                                        BAND: S[i] → [i - 32⌊i/32⌋]

Strip-mining is tiling by the extent the member already has in all members but one; the expressions' normal
form then turns the tile loops of the others into 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from polyvolta.sched.errors import BadTile, IllegalTransformation
from polyvolta.sched.tree import Band, Path, Schedule


def tile(schedule: Schedule, at: Path, sizes: Sequence[int]) -> Schedule:
    """Tile the band at a path; the tile band stays permutable and coincident where the band was.

    Raises
    ------
    BadTile : not one positive size per member.
    IllegalTransformation : the band is not permutable and has several members.

    Cost: linear in the band.
    """
    band = schedule.band(at)
    if len(sizes) != len(band.members):
        raise BadTile(f"{len(sizes)} tile sizes for a band of {len(band.members)} members", where=schedule.marked(at))
    if any(isinstance(s, bool) or not isinstance(s, int) or s <= 0 for s in sizes):
        raise BadTile(f"tile sizes are positive integers, not {list(sizes)}", where=schedule.marked(at))
    if not band.permutable and len(band.members) > 1:
        raise IllegalTransformation(
            "tiling interleaves the members of a band, which this one's dependences forbid",
            where=schedule.marked(at),
            hint="only a permutable band can be tiled",
        )
    tiles = tuple(m.map(lambda _, e, s=s: e // s) for m, s in zip(band.members, sizes))
    points = tuple(m.map(lambda _, e, s=s: e % s) for m, s in zip(band.members, sizes))
    return schedule.replace(at, Band(tiles, Band(points, band.child, band.permutable), band.permutable))
