"""The check at the end of every transformation, and the flags of the bands it made.

A transformation builds its tree first and asks then: `checked` walks the new tree with the dependences that the
schedule carries and refuses it with the dependence, two instances and the node where their order goes wrong. A schedule
without dependences (`schedule.dependences is None`) says nothing but the flags of its bands, and a transformation goes
by those: what they do not allow is refused, and what they say nothing about is done.
"""

from __future__ import annotations

from dataclasses import replace

from polyvolta.sched.errors import IllegalTransformation
from polyvolta.sched.legality import band_flags, check, violations
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.structure.reach import names_of
from polyvolta.sched.tree import Band, Path, Schedule


def checked(old: Schedule, new: Schedule, doing: str, at: Path) -> Schedule:
    """The new schedule, if it respects the dependences.

    Raises
    ------
    IllegalTransformation : names a dependence and two instances; says so if the old schedule broke one already.

    Cost: two emptiness tests for a dependence and a band member.
    """
    try:
        return check(new, doing=doing, at=at)
    except IllegalTransformation:
        broken = next(violations(old), None)
        if broken is None:
            raise
    place = broken.at if isinstance(old.node(broken.at), Band) else at
    raise IllegalTransformation(
        f"before {doing} the schedule breaks a dependence already: {broken}",
        where=old.marked(place),
        hint="start from a schedule for which legality.violations finds nothing",
    )


@of_a_tree
def reflagged(schedule: Schedule, *places: Path) -> Schedule:
    """The bands at some paths, all bands by default, with the flags that the dependences allow.

    `places` are the paths of the bands.

    Which members are coincident and which bands permutable is what the dependences say exactly; flags that were set by
    hand are found out. Without dependences the schedule stays as it is. Of a statement that an extension adds they say
    nothing: a band with one loses flags and gets none.

    Raises
    ------
    BadPath : there is no band.

    Cost: two emptiness tests for a dependence and a band member.

    >>> from polyvolta.sched import Band, Domain, Member, Schedule
    >>> from polyvolta.sched.dependence import Dependence
    >>> from polyvolta.sets import Map, Set, var
    >>> sums = Dependence("RAW", "C", "S", "S", Map("{ S[i, k] -> S[i, k + 1] : 0 <= i < 9 and 0 <= k < 8 }"))
    >>> members = tuple(Member((("S", var(n)),)) for n in "ik")
    >>> tree = Schedule(Domain(Set("{ S[i, k] : 0 <= i < 9 and 0 <= k < 9 }"), Band(members)), (sums,))
    >>> band = reflagged(tree).band((0,))
    >>> band.permutable, [m.coincident for m in band.members]
    (True, [True, False])
    """
    if schedule.dependences is None:
        return schedule
    known = set(names_of(schedule.domain))
    for at in places or schedule.bands():
        band = schedule.band(at)
        flags = band_flags(schedule, at)
        coincident, permutable = flags.coincident, flags.permutable
        if not known.issuperset(band.statements):
            coincident = tuple(c and m.coincident for m, c in zip(band.members, coincident, strict=True))
            permutable = permutable and band.permutable
        members = tuple(
            m if m.coincident == c else replace(m, coincident=c) for m, c in zip(band.members, coincident, strict=True)
        )
        if members != band.members or permutable != band.permutable:
            schedule = schedule.replace(at, replace(band, members=members, permutable=permutable))
    return schedule


def unflagged(schedule: Schedule, at: Path) -> Schedule:
    """The band at a path without flags, where nothing is known that would allow them.

    A band of one member is permutable by itself.
    """
    band = schedule.band(at)
    members = tuple(replace(m, coincident=False) for m in band.members)
    return schedule.replace(at, replace(band, members=members, permutable=band.permutable and len(members) == 1))


def settled(old: Schedule, new: Schedule, doing: str, at: Path) -> Schedule:
    """The new schedule, checked, the bands at and below a node with the flags that the dependences allow.

    Raises
    ------
    IllegalTransformation : see `checked`.
    """
    checked(old, new, doing, at)
    below = [place for place, node in new.walk(at) if isinstance(node, Band)]
    return reflagged(new, *below) if below else new
