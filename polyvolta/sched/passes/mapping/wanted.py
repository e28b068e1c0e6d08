"""Loops that are wanted parallel or in vectors: marks that code generators turn into pragmas.

BAND: S[i, j] → [i, j]      =>      MARK: parallel
                                      BAND: S[i, j] → [i]
                                        MARK: vectorise
                                          BAND: S[i, j] → [j]
"""

from __future__ import annotations

from polyvolta.sched.passes.bands.split import split
from polyvolta.sched.passes.common.places import MemberRef, member_at
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.tree import Mark, Path, Schedule
from polyvolta.sched.wishes import independent


@of_a_tree
def parallelise(schedule: Schedule, at: Path, member: MemberRef = 0) -> Schedule:
    """Run the iterations of a member of the band at a path on all cores: `#pragma omp parallel for` in C.

        BAND: S[i, j] → [i, j]      =>      MARK: parallel                     parallelise(tree, at, "i")
                                              BAND: S[i, j] → [i, j]

    The members before it stay in a band of their own around the mark.

    Raises
    ------
    BadPath : no such member.
    IllegalTransformation : iterations depend on one another; without dependences: the band does not say otherwise.

    Cost: the band's flags.

    Source: OpenMP; isl's marks, as PPCG and others put them into trees.

    >>> from polyvolta.sched import Band, Domain, Member, Schedule
    >>> from polyvolta.sets import Set, var
    >>> rows = Band(tuple(Member((("S", var(n)),), coincident=True) for n in "ij"), permutable=True)
    >>> print(parallelise(Schedule(Domain(Set("{ S[i, j] : 0 <= i < 4 and 0 <= j < 4 }"), rows)), (0,)))
    DOMAIN: S[i, j] : 0 ≤ i ≤ 3 ∧ 0 ≤ j ≤ 3
      MARK: parallel
        BAND: S[i, j] → [i, j]
    """
    schedule, at = _first(schedule, at, member)
    return _marked(schedule, at, "parallel", "running it on several cores")


@of_a_tree
def vectorise(schedule: Schedule, at: Path, member: MemberRef = -1) -> Schedule:
    """Run the iterations of a member of the band at a path in vectors: `#pragma omp simd` in C.

        BAND: S[i, j] → [i, j]      =>      BAND: S[i, j] → [i]                vectorise(tree, at, "j")
                                              MARK: vectorise
                                                BAND: S[i, j] → [j]

    The member gets a band of its own: those before it are around it, those behind it inside. The compiler makes
    vectors of a loop whose body holds no other loop, save those that are written out.

    Parameters
    ----------
    member : the last one by default.

    Raises
    ------
    BadPath : no such member.
    IllegalTransformation : iterations depend on one another; without dependences: the band does not say otherwise.

    Cost: the band's flags.

    Source: OpenMP; isl's marks, as PPCG and others put them into trees.

    >>> from polyvolta.sched import Band, Domain, Member, Schedule
    >>> from polyvolta.sets import Set, var
    >>> rows = Band(tuple(Member((("S", var(n)),), coincident=True) for n in "ij"), permutable=True)
    >>> print(vectorise(Schedule(Domain(Set("{ S[i, j] : 0 <= i < 4 and 0 <= j < 4 }"), rows)), (0,)))
    DOMAIN: S[i, j] : 0 ≤ i ≤ 3 ∧ 0 ≤ j ≤ 3
      BAND: S[i, j] → [i]
        MARK: vectorise
          BAND: S[i, j] → [j]
    """
    if member == -1 and not isinstance(member, bool):
        member = len(schedule.band(at).members) - 1
    schedule, at = _first(schedule, at, member)
    if len(schedule.band(at).members) > 1:
        schedule = split(schedule, at, 1)
    return _marked(schedule, at, "vectorise", "running it in vectors")


def _first(schedule: Schedule, at: Path, member: MemberRef) -> tuple[Schedule, Path]:
    """The tree with a member at the head of a band, and the path of that."""
    k = member_at(schedule, at, member)
    return (split(schedule, at, k), (*at, 0)) if k else (schedule, at)


def _marked(schedule: Schedule, at: Path, name: str, doing: str) -> Schedule:
    independent(schedule, at, doing)
    return schedule.replace(at, Mark(name, schedule.node(at)))
