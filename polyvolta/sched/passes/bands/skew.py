"""Skewing: one loop runs along a diagonal.

BAND: S[t, i] → [t, i]      =>      BAND: S[t, i] → [t, i + t]

A dependence with distance (1, -1) has distance (1, 0) then: the band can be tiled, which is what skewing is for.
"""

from __future__ import annotations

from dataclasses import replace

from polyvolta.sched.errors import BadPath, BadTile, IllegalTransformation
from polyvolta.sched.passes.bands.tile import not_mapped
from polyvolta.sched.passes.common.arguments import whole
from polyvolta.sched.passes.common.legal import checked, reflagged
from polyvolta.sched.passes.common.places import MemberRef, member_at
from polyvolta.sched.passes.common.subtree import rebased
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.tree import Path, Schedule
from polyvolta.sets import var


@of_a_tree
def skew(schedule: Schedule, at: Path, member: MemberRef, other: MemberRef, factor: int = 1) -> Schedule:
    """Add `factor` times another member to a member of the band at a path.

        BAND: S[t, i] → [t, i]      =>      BAND: S[t, i] → [t, i + 2t]        skew(tree, at, "i", "t", 2)

    Skewing by a member further out changes no order, and is always legal; the flags are found anew.

    Raises
    ------
    BadPath : no such member, or a member is to be skewed by itself.
    BadTile : the factor is no integer.
    IllegalTransformation : a dependence forbids it; without dependences: the other member is further in, and the band
        is not permutable or the factor negative. Or the member is mapped to a name.

    Cost: the band's flags; a check of the new tree if the other member is further in.

    Source: M. Wolfe, "Loop skewing: the wavefront method revisited" (1986).

    >>> from polyvolta.sched import Band, Domain, Member, Schedule
    >>> from polyvolta.sets import Set, var
    >>> t, i = (Member((("S", var(n)),)) for n in "ti")
    >>> tree = Schedule(Domain(Set("{ S[t, i] : 0 <= t < 4 and 0 <= i < 4 }"), Band((t, i))))
    >>> print(skew(tree, (0,), "i", "t", 2))
    DOMAIN: S[t, i] : 0 ≤ t ≤ 3 ∧ 0 ≤ i ≤ 3
      BAND: S[t, i] → [t, i + 2t]
    """
    band = schedule.band(at)
    k, o = member_at(schedule, at, member), member_at(schedule, at, other)
    if k == o:
        raise BadPath(f"member {k} is to be skewed by itself", where=schedule.marked(at), hint="scale multiplies it")
    times = whole(factor)
    if times is None:
        raise BadTile(f"a skewing factor is an integer, not {factor!r}", where=schedule.marked(at))
    if not times:
        return schedule
    not_mapped(schedule, at, (k,))
    by = band.members[o]
    coincident = band.members[k].coincident and by.coincident
    skewed = replace(band.members[k].map(lambda s, e: e + by.of(s) * times), coincident=coincident)
    permutable = band.permutable and times > 0
    if schedule.dependences is None and o > k and not permutable:
        raise IllegalTransformation(
            f"member {k} may go ahead of member {o}, which runs inside it",
            where=schedule.marked(at),
            hint="a permutable band may be skewed by positive factors, any band by members further out",
        )
    x = [var(f"x{n}") for n in range(len(band.members))]
    become = (len(x), [*x[:k], x[k] + x[o] * times, *x[k + 1 :]])
    moved = rebased(schedule, at, {None: become})
    members = (*band.members[:k], skewed, *band.members[k + 1 :])
    new = schedule.replace(at, replace(moved, members=members, permutable=permutable))
    if o > k:
        checked(schedule, new, "skewing", at)
    return reflagged(new, at)
