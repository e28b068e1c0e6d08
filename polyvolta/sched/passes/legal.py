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


def reflagged(schedule: Schedule, *places: Path) -> Schedule:
    """The bands at some paths with the flags that the dependences allow; as they are when those are not known."""
    if schedule.dependences is None:
        return schedule
    for at in places:
        band = schedule.band(at)
        flags = band_flags(schedule, at)
        members = tuple(
            m if m.coincident == c else replace(m, coincident=c)
            for m, c in zip(band.members, flags.coincident, strict=True)
        )
        if members != band.members or flags.permutable != band.permutable:
            schedule = schedule.replace(at, replace(band, members=members, permutable=flags.permutable))
    return schedule


def bands_below(schedule: Schedule, at: Path) -> list[Path]:
    """The paths of the bands at and below a node."""
    return [place for place, node in schedule.walk(at) if isinstance(node, Band)]
