"""Shifting statements along a member of a band: they run earlier or later than the others.

BAND: S[i] → [i]; T[i] → [i]      =>      BAND: S[i] → [i]; T[i] → [i - 1]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from polyvolta.sched.errors import BadPath
from polyvolta.sched.tree import Path, Schedule


def shift(schedule: Schedule, at: Path, member: int, by: Mapping[str, int]) -> Schedule:
    """Add a constant to one member's expression, by statement.

    Raises
    ------
    BadPath : no such member.
    """
    band = schedule.band(at)
    if not 0 <= member < len(band.members):
        raise BadPath(f"the band has no member {member}", where=schedule.marked(at))
    moved = band.members[member].map(lambda s, e: e + by.get(s, 0))
    members = (*band.members[:member], moved, *band.members[member + 1 :])
    return schedule.replace(at, replace(band, members=members))
