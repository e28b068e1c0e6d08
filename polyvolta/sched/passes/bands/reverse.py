"""Reversal: a loop runs backwards.

BAND: S[i] → [i]      =>      BAND: S[i] → [-i]
"""

from __future__ import annotations

from dataclasses import replace

from polyvolta.sched.errors import IllegalTransformation
from polyvolta.sched.legality import band_flags
from polyvolta.sched.passes.bands.tile import not_mapped
from polyvolta.sched.passes.common.legal import checked, reflagged
from polyvolta.sched.passes.common.places import MemberRef, member_at
from polyvolta.sched.passes.common.subtree import rebased
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.tree import Path, Schedule
from polyvolta.sets import var


@of_a_tree
def reverse(schedule: Schedule, at: Path, member: MemberRef) -> Schedule:
    """Run a member of the band at a path backwards.

        BAND: S[i, j] → [i, j]      =>      BAND: S[i, j] → [i, -j]        reverse(tree, at, "j")

    Raises
    ------
    BadPath : no such member.
    IllegalTransformation : a dependence forbids it; without dependences: the member is not coincident. Or it is mapped
        to a name.

    Cost: the band's flags, and a check of the new tree if the member is not coincident.

    Source: M. Wolf and M. Lam, "A loop transformation theory and an algorithm to maximize parallelism" (1991).

    >>> from polyvolta.sched import Band, Domain, Member, Schedule
    >>> from polyvolta.sets import Set, var
    >>> tree = Schedule(Domain(Set("{ S[i] : 0 <= i < 9 }"), Band((Member((("S", var("i")),), coincident=True),))))
    >>> print(reverse(tree, (0,), 0))
    DOMAIN: S[i] : 0 ≤ i ≤ 8
      BAND: S[i] → [-i]
    """
    band = schedule.band(at)
    k = member_at(schedule, at, member)
    not_mapped(schedule, at, (k,))
    known = schedule.dependences is not None
    coincident = band_flags(schedule, at).coincident[k] if known else band.members[k].coincident
    if not known and not coincident:
        raise IllegalTransformation(
            f"the iterations of member {k} depend on one another: they keep their order",
            where=schedule.marked(at),
            hint="a coincident member can be reversed",
        )
    x = [var(f"x{n}") for n in range(len(band.members))]
    moved = rebased(schedule, at, {None: (len(x), [*x[:k], -x[k], *x[k + 1 :]])})
    members = (*band.members[:k], band.members[k].map(lambda _, e: -e), *band.members[k + 1 :])
    new = schedule.replace(at, replace(moved, members=members))
    return new if coincident else reflagged(checked(schedule, new, "reversing", at), at)
