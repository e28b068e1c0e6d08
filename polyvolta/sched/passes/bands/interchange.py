"""Interchange: the loops of a band in another order.

BAND: S[i, j, k] → [i, j, k]      =>      BAND: S[i, j, k] → [k, i, j]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polyvolta.sched.errors import BadPath, IllegalTransformation
from polyvolta.sched.legality import band_flags
from polyvolta.sched.passes.common.arguments import items
from polyvolta.sched.passes.common.legal import checked
from polyvolta.sched.passes.common.places import MemberRef, members_at
from polyvolta.sched.passes.common.subtree import rebased
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.tree import Path, Schedule
from polyvolta.sets import var


@of_a_tree
def interchange(schedule: Schedule, at: Path, order: Sequence[MemberRef]) -> Schedule:
    """The members of the band at a path in another order, outermost first.

        BAND: S[i, j] → [i, j]      =>      BAND: S[i, j] → [j, i]

    Raises
    ------
    BadPath, BadArgument : `order` does not name every member once.
    IllegalTransformation : a dependence forbids it; without dependences: the band is not permutable.

    Cost: the band's flags, and for a band that is not permutable a check of the new tree.

    Source: J. Allen and K. Kennedy, "Automatic loop interchange" (1984).

    >>> from polyvolta.sched import Band, Domain, Member, Schedule
    >>> from polyvolta.sets import Set, var
    >>> i, j = (Member((("S", var(n)),)) for n in "ij")
    >>> tree = Schedule(Domain(Set("{ S[i, j] : 0 <= i < 4 and 0 <= j < 4 }"), Band((i, j), permutable=True)))
    >>> print(interchange(tree, (0,), ("j", "i")))
    DOMAIN: S[i, j] : 0 ≤ i ≤ 3 ∧ 0 ≤ j ≤ 3
      BAND: S[i, j] → [j, i]
    """
    band = schedule.band(at)
    places = members_at(schedule, at, items(order, "members", '("j", "i")'))
    if len(places) != len(band.members):
        raise BadPath(
            f"{len(places)} members in the new order, the band has {len(band.members)}", where=schedule.marked(at)
        )
    if places == tuple(range(len(places))):
        return schedule
    if schedule.dependences is None and not band.permutable:
        raise IllegalTransformation(
            "the members of a band that is not permutable keep their order",
            where=schedule.marked(at),
            hint="only a permutable band's members can be interchanged",
        )
    become = (len(places), [var(f"x{k}") for k in places])
    moved = rebased(schedule, at, {None: become})
    new = schedule.replace(at, replace(moved, members=tuple(band.members[k] for k in places)))
    if schedule.dependences is None:
        return new
    loops = all(m.name is None for m in band.members)  # a mapped member orders nothing: what stood before it must
    return new if loops and band_flags(schedule, at).permutable else checked(schedule, new, "interchanging members", at)
