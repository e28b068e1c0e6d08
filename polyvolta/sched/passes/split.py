"""Splitting a band in two nested ones.

BAND: S → [a, b, c]       =>      BAND: S → [a, b]
                                    BAND: S → [c]
"""

from __future__ import annotations

from polyvolta.sched.errors import BadPath
from polyvolta.sched.tree import Band, Path, Schedule


def split(schedule: Schedule, at: Path, where: int) -> Schedule:
    """The first `where` members in a band of their own around the rest; the order of instances is the same.

    Raises
    ------
    BadPath : `where` is not strictly inside the band.
    """
    band = schedule.band(at)
    if not 0 < where < len(band.members):
        raise BadPath(f"cannot split {len(band.members)} members at {where}", where=schedule.marked(at))
    inner = Band(band.members[where:], band.child, band.permutable)
    return schedule.replace(at, Band(band.members[:where], inner, band.permutable))
