"""Fusion: one nest of loops around a sequence in place of one in each of its children.

    SEQUENCE                           =>      BAND: S[i] → [i]; T[i] → [i]
      FILTER: S[i]                               SEQUENCE
        BAND: S[i] → [i]                           FILTER: S[i]
      FILTER: T[i]                                 FILTER: T[i]
        BAND: T[i] → [i]

Iteration x of the first child runs, then iteration x of the second; `shift` before aligns what belongs together.
"""

from __future__ import annotations

from dataclasses import replace

from polyvolta.sched.errors import BadPath, IllegalTransformation
from polyvolta.sched.passes.common.arguments import whole
from polyvolta.sched.passes.common.legal import settled
from polyvolta.sched.passes.common.places import sequence_at
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.tree import Band, Filter, Member, Node, Path, Schedule


@of_a_tree
def fuse(schedule: Schedule, at: Path, members: int | None = None) -> Schedule:
    """Fuse the bands in the children of the sequence at a path.

        SEQUENCE                        =>      BAND: S[i, k] → [i]; T[i] → [i]
          FILTER: S[i, k]                         SEQUENCE
            BAND: S[i, k] → [i, k]                  FILTER: S[i, k]
          FILTER: T[i]                                BAND: S[i, k] → [k]
            BAND: T[i] → [i]                        FILTER: T[i]

    Parameters
    ----------
    members : how many members are fused; by default as many as each of the bands has. The rest stays in the children.

    Raises
    ------
    BadPath : no sequence there, a child without a band, or a band of fewer members.
    IllegalTransformation : a dependence forbids it; or the bands do not fit: members are mapped to different names, or
        two children have the same statement with different expressions. (Without dependences nothing is known, and
        nothing else is refused.)

    Cost: a check of the new tree and the flags of its bands.

    Source: K. Kennedy and K. McKinley, "Maximizing loop parallelism and improving data locality via loop fusion and
    distribution" (1993).

    >>> from polyvolta.sched import Band, Domain, Filter, Member, Schedule, Sequence
    >>> from polyvolta.sets import Set, var
    >>> loops = (Filter((s,), Band((Member(((s, var("i")),)),))) for s in "ST")
    >>> print(fuse(Schedule(Domain(Set("{ S[i] : 0 <= i < 9; T[i] : 0 <= i < 9 }"), Sequence(tuple(loops)))), (0,)))
    DOMAIN: S[i] : 0 ≤ i ≤ 8;
            T[i] : 0 ≤ i ≤ 8
      BAND: S[i] → [i];
            T[i] → [i]
        SEQUENCE
          FILTER: S[i]
          FILTER: T[i]
    """
    sequence = sequence_at(schedule, at)
    bands = []
    for k, child in enumerate(sequence.children):
        if not isinstance(child, Filter) or not isinstance(child.child, Band):
            raise BadPath(
                f"child {k} of the sequence has no band right below its filter",
                where=schedule.marked((*at, k)),
                hint="only bands can be fused",
            )
        bands.append(child.child)
    if members is None:
        members = min(len(b.members) for b in bands)
    asked, members = members, whole(members)
    if members is None or members < 1:
        raise BadPath(f"cannot fuse {asked!r} members", where=schedule.marked(at))
    for k, b in enumerate(bands):
        if len(b.members) < members:
            raise BadPath(
                f"cannot fuse {members} members: a band has {len(b.members)}", where=schedule.marked((*at, k, 0))
            )
    joint = tuple(_joint(schedule, at, [b.members[n] for b in bands]) for n in range(members))
    isolate = bands[0].isolate if all(len(b.members) == members for b in bands) else None
    if any(b.isolate != isolate for b in bands if len(b.members) == members):
        raise IllegalTransformation("the bands have different isolated parts", where=schedule.marked(at))
    kids = tuple(replace(c, child=_rest(b, members)) for c, b in zip(sequence.children, bands))
    new = schedule.replace(at, Band(joint, replace(sequence, children=kids), isolate=isolate))
    return settled(schedule, new, "fusing", at)


def _joint(schedule: Schedule, at: Path, members: list[Member]) -> Member:
    """One member for the statements of several."""
    exprs: dict = {}
    for m in members:
        if m.name != members[0].name:
            raise IllegalTransformation(
                f"a member is mapped to {members[0].name} in one child and to {m.name} in another",
                where=schedule.marked(at),
            )
        for s, e in m.exprs:
            if exprs.setdefault(s, e) != e:
                raise IllegalTransformation(
                    f"{s} runs in two children, at {exprs[s]} and at {e}: a fused band has one expression for it",
                    where=schedule.marked(at),
                )
    first, level, inside = members[0].loop_type, members[0].level, members[0].isolated_type
    return Member(
        tuple(exprs.items()),
        name=members[0].name,
        unroll=all(m.unroll for m in members),
        loop_type=first if all(m.loop_type == first for m in members) else "default",
        level=level if all(m.level == level for m in members) else None,
        isolated_type=inside if all(m.isolated_type == inside for m in members) else None,
    )


def _rest(band: Band, members: int) -> Node:
    """What stays of a band without its first members."""
    return replace(band, members=band.members[members:]) if len(band.members) > members else band.child
