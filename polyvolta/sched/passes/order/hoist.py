"""Sequence hoisting: a sequence moves up between the members of a band, below the outer ones.

    BAND: S1[i, j, k] → [⌊i/128⌋, ⌊j/128⌋, ⌊k/32⌋];      =>      BAND: S1[i, j, k] → [⌊i/128⌋, ⌊j/128⌋];
          S2[i, j] → [⌊i/128⌋, ⌊j/128⌋, ⌊K/32⌋]                        S2[i, j] → [⌊i/128⌋, ⌊j/128⌋]
      SEQUENCE                                                     SEQUENCE
        FILTER: S1[i, j, k]                                          FILTER: S1[i, j, k]
        FILTER: S2[i, j]                                               BAND: S1[i, j, k] → [⌊k/32⌋]
                                                                     FILTER: S2[i, j]
                                                                       BAND: S2[i, j] → [⌊K/32⌋]

The outer members, parallel ones, stay around the sequence as a band of their own: they become the blocks. Within a
block, all that S1 has to do runs before S2, and each has its own tree for the transformations that follow.
"""

from __future__ import annotations

from dataclasses import replace

from polyvolta.sched.errors import BadPath
from polyvolta.sched.legality import band_flags
from polyvolta.sched.passes.common.arguments import whole
from polyvolta.sched.passes.common.legal import settled
from polyvolta.sched.passes.order.distribute import chain_below, flags_allow, pushed
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.tree import Band, Path, Schedule, SetNode
from polyvolta.sched.tree import Sequence as InOrder
from polyvolta.sets.errors import kind_of


@of_a_tree
def hoist(schedule: Schedule, at: Path, keep: int | None = None) -> Schedule:
    """Move the sequence below the band at a path up to behind its first `keep` members.

        BAND: S[i, k] → [i, k]; T[i] → [i, K]      =>      BAND: S[i, k] → [i]; T[i] → [i]
          SEQUENCE                                           SEQUENCE
            FILTER: S[i, k]                                    FILTER: S[i, k]
            FILTER: T[i]                                         BAND: S[i, k] → [k]
                                                               FILTER: T[i]
                                                                 BAND: T[i] → [K]

    The other members go into each child, as do all bands and marks between the band and the sequence.

    Parameters
    ----------
    keep : how many members stay above; by default the coincident ones at the front. With 0 the sequence is on top.

    Raises
    ------
    BadPath : no sequence below the band, or fewer members than `keep`.
    IllegalTransformation : a dependence forbids it; without dependences: what goes into the children has a member that
        is not coincident, and the band is not split behind its coincident ones.

    Cost: a check of the new tree and the flags of its bands.

    Source: the paper, section "Kernel Fusion", figure sched3-separation.

    >>> from polyvolta.sched import Band, Domain, Filter, Member, Schedule, Sequence
    >>> from polyvolta.sets import Set, var
    >>> i = Member((("S", var("i")), ("T", var("i"))), coincident=True)
    >>> k = Member((("S", var("k")), ("T", var("K"))))
    >>> domain = Set("[K] -> { S[i, k] : 0 <= i < 9 and 0 <= k < K; T[i] : 0 <= i < 9 }")
    >>> band = Band((i, k), Sequence((Filter(("S",)), Filter(("T",)))), permutable=True)
    >>> print(hoist(Schedule(Domain(domain, band), ()), (0,), 1))
    DOMAIN: S[i, k] : 0 ≤ i ≤ 8 ∧ 0 ≤ k < K;
            T[i] : 0 ≤ i ≤ 8
      BAND: S[i, k] → [i];
            T[i] → [i]
        SEQUENCE
          FILTER: S[i, k]
            BAND: S[i, k] → [k]
          FILTER: T[i]
            BAND: T[i] → [K]
    """
    band = schedule.band(at)
    chain, below = chain_below(band)
    if not isinstance(below, (InOrder, SetNode)):
        raise BadPath(
            f"below the band is {kind_of(below)}, no sequence to hoist",
            where=schedule.marked(at),
            hint="distribute puts the statements of a leaf in a sequence",
        )
    if keep is None:
        flags = [m.coincident for m in band.members]
        if schedule.dependences is not None:
            flags = list(band_flags(schedule, at).coincident)
        keep = next((k for k, c in enumerate(flags) if not c), len(flags))
    asked, keep = keep, whole(keep)
    if keep is None or not 0 <= keep <= len(band.members):
        raise BadPath(
            f"cannot keep {asked!r} of {len(band.members)} members above",
            where=schedule.marked(at),
            hint="the number of members that stay around the sequence",
        )
    inner = chain[1:]
    if keep < len(band.members):
        inner = [Band(band.members[keep:], permutable=band.permutable, isolate=band.isolate), *inner]
    if not inner:
        return schedule
    flags_allow(schedule, at, [n for n in inner if isinstance(n, Band)], "hoisting")
    sequence = pushed(inner, below)
    isolate = band.isolate if keep == len(band.members) else None
    outer = sequence if not keep else replace(band, members=band.members[:keep], child=sequence, isolate=isolate)
    new = schedule.replace(at, outer)
    return settled(schedule, new, "hoisting the sequence", at)
