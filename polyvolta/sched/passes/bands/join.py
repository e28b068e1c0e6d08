"""Joining a band and the one inside it to one band: the inverse of splitting.

BAND: S → [a, b]          =>      BAND: S → [a, b, c]
  BAND: S → [c]
"""

from __future__ import annotations

from dataclasses import replace

from polyvolta.sched.errors import BadPath
from polyvolta.sched.passes.common.legal import reflagged
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.tree import Band, Path, Schedule
from polyvolta.sets.errors import kind_of


@of_a_tree
def join(schedule: Schedule, at: Path) -> Schedule:
    """The band at a path and the band that is its child as one band; the order of instances is the same.

        BAND: S[i, j] → [i]         =>      BAND: S[i, j] → [i, j]
          BAND: S[i, j] → [j]

    Two bands that the scheduler or a transformation left apart can be tiled together once they are one; whether they
    may be is what the flags of the joined band say. Without dependences the inner band's flags are kept only below an
    outer one that is all coincident: else dependences reach the joined band that did not reach the inner one. A part
    that the inner band isolates stays isolated; the outer band's own, a set over fewer members, is dropped.

    Raises
    ------
    BadPath : no band there, its child is no band, or the two do not schedule the same statements.

    Cost: the flags of the new band.

    Source: the inverse of isl's `isl_schedule_node_band_split`.

    >>> from polyvolta.sched import Band, Domain, Member, Schedule, split
    >>> from polyvolta.sets import Set, var
    >>> i, j = (Member((("S", var(n)),)) for n in "ij")
    >>> tree = Schedule(Domain(Set("{ S[i, j] : 0 <= i < 4 and 0 <= j < 4 }"), Band((i, j))))
    >>> join(split(tree, (0,), 1), (0,)) == tree
    True
    """
    outer = schedule.band(at)
    inner = outer.child
    if not isinstance(inner, Band):
        raise BadPath(
            f"only a band can be joined to a band; below this one is {kind_of(inner)}",
            where=schedule.marked(at),
            hint="sink, hoist or remove what stands between the two",
        )
    if set(outer.statements) != set(inner.statements):
        raise BadPath(
            f"the outer band schedules {', '.join(outer.statements)}, the inner one {', '.join(inner.statements)}",
            where=schedule.marked(at),
        )
    same = all(m.coincident for m in outer.members)  # all that reaches the outer band reaches the inner one
    below = tuple(m if same or not m.coincident else replace(m, coincident=False) for m in inner.members)
    permutable = same and outer.permutable and inner.permutable
    joined = replace(inner, members=(*outer.members, *below), permutable=permutable)
    return reflagged(schedule.replace(at, joined), at)
