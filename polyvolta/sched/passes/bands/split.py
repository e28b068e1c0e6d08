"""Splitting a band in two nested ones.

BAND: S → [a, b, c]       =>      BAND: S → [a, b]
                                    BAND: S → [c]
"""

from __future__ import annotations

from polyvolta.sched.errors import BadPath
from polyvolta.sched.passes.common.arguments import whole
from polyvolta.sched.passes.common.legal import reflagged
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.tree import Band, Path, Schedule


@of_a_tree
def split(schedule: Schedule, at: Path, where: int) -> Schedule:
    """The first `where` members in a band of their own around the rest; the order of instances is the same.

        BAND: S[i, j] → [i, j]      =>      BAND: S[i, j] → [i]
                                              BAND: S[i, j] → [j]

    Members of the inner band are coincident where all dependences that the outer one leaves have distance 0, so that
    splitting a skewed band finds the wavefront parallel.

    Raises
    ------
    BadPath : `where` is not strictly inside the band.

    Cost: the flags of the two bands, unless they cannot change.

    Source: isl's `isl_schedule_node_band_split`.

    >>> from polyvolta.sched import Band, Domain, Member, Schedule
    >>> from polyvolta.sets import Set, var
    >>> i, j = (Member((("S", var(n)),)) for n in "ij")
    >>> print(split(Schedule(Domain(Set("{ S[i, j] : 0 <= i < 4 and 0 <= j < 4 }"), Band((i, j)))), (0,), 1))
    DOMAIN: S[i, j] : 0 ≤ i ≤ 3 ∧ 0 ≤ j ≤ 3
      BAND: S[i, j] → [i]
        BAND: S[i, j] → [j]
    """
    band = schedule.band(at)
    outer = whole(where)
    if outer is None or not 0 < outer < len(band.members):
        raise BadPath(
            f"cannot split {len(band.members)} members at {where!r}",
            where=schedule.marked(at),
            hint="the number of members that go outside",
        )
    inner = Band(band.members[outer:], band.child, band.permutable, band.isolate)
    new = schedule.replace(at, Band(band.members[:outer], inner, band.permutable))
    if not band.permutable:
        new = reflagged(new, at)
    return new if band.permutable and all(m.coincident for m in inner.members) else reflagged(new, (*at, 0))
