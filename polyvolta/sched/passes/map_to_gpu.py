"""Mapping members of a band to indices of the machine.

    BAND: S → [⌊i/128⌋, ⌊k/32⌋]     =>      BAND: S → [blockIdx.y, ⌊k/32⌋]

A mapped member is no loop any more: its index is given, and all its values run at once. So only a coincident
member can be mapped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from polyvolta.sched.errors import BadPath, IllegalTransformation
from polyvolta.sched.tree import Path, Schedule


def map_members(schedule: Schedule, at: Path, names: Mapping[int, str]) -> Schedule:
    """Map members (by position) of the band at a path to names.

    Raises
    ------
    BadPath : no such member.
    IllegalTransformation : the member is not coincident: its iterations depend on one another.
    """
    band = schedule.band(at)
    members = list(band.members)
    for k, name in names.items():
        if not 0 <= k < len(members):
            raise BadPath(f"the band has no member {k}", where=schedule.marked(at))
        if not members[k].coincident:
            raise IllegalTransformation(
                f"member {k} cannot be mapped to {name}: its iterations depend on one another",
                where=schedule.marked(at),
            )
        members[k] = replace(members[k], name=name)
    return schedule.replace(at, replace(band, members=tuple(members)))
