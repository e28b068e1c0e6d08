"""Scaling: the values of a loop are multiples.

BAND: S[i] → [i]      =>      BAND: S[i] → [4i]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from polyvolta.sched.passes.bands.tile import not_mapped
from polyvolta.sched.passes.common.arguments import positive, table
from polyvolta.sched.passes.common.places import MemberRef, members_at
from polyvolta.sched.passes.common.subtree import rebased
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.tree import Path, Schedule
from polyvolta.sets import var


@of_a_tree
def scale(schedule: Schedule, at: Path, factors: Mapping[MemberRef, int]) -> Schedule:
    """Multiply members of the band at a path by positive factors; the order and the flags stay.

        BAND: S[i, j] → [⌊i/32⌋, j]      =>      BAND: S[i, j] → [32⌊i/32⌋, j]        scale(tree, at, {0: 32})

    A tile loop that is scaled by the tile size counts in iterations of the original loop. Statements whose instances
    are to meet between those of others are shifted afterwards.

    Raises
    ------
    BadPath : no such member.
    BadTile, BadArgument : a factor is no positive integer; factors that are no mapping.
    IllegalTransformation : the member is mapped to a name.

    Cost: linear in the band.

    Source: isl's `isl_schedule_node_band_scale`.

    >>> from polyvolta.sched import Band, Domain, Member, Schedule
    >>> from polyvolta.sets import Set, var
    >>> tree = Schedule(Domain(Set("{ S[i] : 0 <= i < 9 }"), Band((Member((("S", var("i") // 4),)),))))
    >>> print(scale(tree, (0,), {0: 4}))
    DOMAIN: S[i] : 0 ≤ i ≤ 8
      BAND: S[i] → [4⌊i/4⌋]
    """
    band = schedule.band(at)
    factors = table(factors, "the factors by member", "{0: 4}")
    found = members_at(schedule, at, factors)
    numbers = positive(schedule, at, factors.values(), "factors")
    not_mapped(schedule, at, found)
    factor = dict(zip(found, numbers, strict=True))
    if all(f == 1 for f in factor.values()):
        return schedule
    become = [var(f"x{k}") * factor.get(k, 1) for k in range(len(band.members))]
    moved = rebased(schedule, at, {None: (len(become), become)})
    members = tuple(m.map(lambda _, e, k=k: e * factor.get(k, 1)) for k, m in enumerate(band.members))
    return schedule.replace(at, replace(moved, members=members))
