"""Strip-mining: one loop as a loop over strips and a loop in a strip.

    BAND: S[i, j, k] → [i, j, k]      =>      BAND: S[i, j, k] → [0, 0, ⌊k/8⌋]
                                                BAND: S[i, j, k] → [i, j, k - 8⌊k/8⌋]

The strips go around all other members, whose own tile is everything: a tile loop that has one iteration. That is the
paper's form, in which the macro-MMAs of one strip follow each other. With `nested=False` the two loops take the place
of the one, which changes no order.

    BAND: S[i, j, k] → [i, j, k]      =>      BAND: S[i, j, k] → [i, j, ⌊k/8⌋, k - 8⌊k/8⌋]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from polyvolta.sched.passes.bands.levels import Levels, of_level
from polyvolta.sched.passes.bands.tile import not_mapped, two_levels
from polyvolta.sched.passes.common.arguments import positive, table
from polyvolta.sched.passes.common.legal import reflagged
from polyvolta.sched.passes.common.places import MemberRef, members_at
from polyvolta.sched.passes.common.subtree import rebased
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.tree import Member, Path, Schedule
from polyvolta.sets import aff, var


@of_a_tree
def strip_mine(
    schedule: Schedule, at: Path, sizes: Mapping[MemberRef, int], nested: bool = True, level: Levels = None
) -> Schedule:
    """Strip-mine some members of the band at a path.

        BAND: S[i, k] → [i, k]      =>      BAND: S[i, k] → [0, ⌊k/8⌋]
                                              BAND: S[i, k] → [i, k - 8⌊k/8⌋]

    Parameters
    ----------
    sizes : the length of a strip, by member.
    nested : whether the strips go around the other members, or stay in their place.
    level : of the loops over strips; with `nested` of the others' tile loops, too. If missing, they have none.

    Raises
    ------
    BadPath : no such member.
    BadTile, BadArgument : a size is no positive integer; sizes that are no mapping.
    IllegalTransformation : as for `tile`; without `nested` the order stays and nothing is refused.

    Cost: as for `tile`.

    Source: the paper, figures sched1-strip-mined and sched3-warp-tile-strip-mined.

    >>> from polyvolta.sched import Band, Domain, Member, Schedule
    >>> from polyvolta.sets import Set, var
    >>> i, k = (Member((("S", var(n)),)) for n in "ik")
    >>> tree = Schedule(Domain(Set("{ S[i, k] : 0 <= i < 64 and 0 <= k < 64 }"), Band((i, k), permutable=True)))
    >>> print(strip_mine(tree, (0,), {"k": 8}))
    DOMAIN: S[i, k] : 0 ≤ i ≤ 63 ∧ 0 ≤ k ≤ 63
      BAND: S[i, k] → [0, ⌊k/8⌋]
        BAND: S[i, k] → [i, k - 8⌊k/8⌋]
    """
    band = schedule.band(at)
    sizes = table(sizes, "the sizes of strips by member", '{"k": 8}')
    found = members_at(schedule, at, sizes)
    lengths = positive(schedule, at, sizes.values())
    not_mapped(schedule, at, found)
    if not found:
        return schedule
    size = dict(zip(found, lengths, strict=True))
    if not nested:
        return _in_place(schedule, at, size, level)
    outer = tuple(
        _plain(m.map(lambda _, e, k=k: e // size[k]))
        if k in size
        else Member(tuple((s, aff(0)) for s in band.statements), coincident=True)
        for k, m in enumerate(band.members)
    )
    inner = tuple(m.map(lambda _, e, k=k: e % size[k]) if k in size else m for k, m in enumerate(band.members))
    x = [var(f"x{k}") for k in range(len(outer))]
    parts = [(x[k] // size[k], x[k] % size[k]) if k in size else (aff(0), x[k]) for k in range(len(outer))]
    return two_levels(schedule, at, of_level(outer, level), inner, parts, "strip-mining")


def _in_place(schedule: Schedule, at: Path, size: Mapping[int, int], level: Levels) -> Schedule:
    band = schedule.band(at)
    members, become = [], []
    for k, m in enumerate(band.members):
        x = var(f"x{k}")
        if k in size:
            strips = _plain(m.map(lambda _, e, k=k: e // size[k]))
            members += [*of_level((strips,), level), m.map(lambda _, e, k=k: e % size[k])]
            become += [x // size[k], x % size[k]]
        else:
            members.append(m)
            become.append(x)
    permutable = band.permutable and all(band.members[k].coincident for k in size)
    moved = rebased(schedule, at, {None: (len(band.members), become)})
    new = schedule.replace(at, replace(moved, members=tuple(members), permutable=permutable))
    return new if permutable else reflagged(new, at)


def _plain(m: Member) -> Member:
    """The member without what is said of its loop."""
    return replace(m, unroll=False, loop_type="default", isolated_type=None, level=None)
