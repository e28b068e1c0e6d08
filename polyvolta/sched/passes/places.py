"""Where a transformation acts: members of a band by position or name, and what stands above a node.

A member is told by its position, by what it prints as (`"k"`, `"⌊k/32⌋"`, `"floor(k/32)"`), by the name it is mapped to
(`"blockIdx.y"`), or by an iterator that no other member of the band uses. A path or member that leads nowhere is
`BadPath`, with the tree printed and the node marked.
"""

from __future__ import annotations

from collections.abc import Iterable

from polyvolta.sched.errors import BadPath
from polyvolta.sched.tree import Band, Path, Schedule, Sequence, SetNode
from polyvolta.sets import Map, Set, nearest
from polyvolta.sets.text.show import PAPER, show_aff

MemberRef = int | str
"""A member of a band: its position, its text, the name it is mapped to, or the only iterator it has for itself."""


def member_at(schedule: Schedule, at: Path, member: MemberRef) -> int:
    """The position of a member in the band at a path.

    Raises
    ------
    BadPath : no band there, no such member, or several.
    """
    members = schedule.band(at).members
    if isinstance(member, int) and not isinstance(member, bool):
        if 0 <= member < len(members):
            return member
        raise BadPath(
            f"the band has no member {member}: it has {len(members)}, the first is 0", where=schedule.marked(at)
        )
    if not isinstance(member, str):
        raise BadPath(f"a member is a position or a text, not {member!r}", where=schedule.marked(at))
    texts = [{m.name or "", *(t for _, e in m.exprs for t in (str(e), show_aff(e, PAPER)))} - {""} for m in members]
    for found in (
        [k for k, t in enumerate(texts) if member in t],
        [k for k, m in enumerate(members) if any(member in e.names() for _, e in m.exprs)],
    ):
        if len(found) == 1:
            return found[0]
        if found:
            raise BadPath(
                f"{len(found)} members of the band are called {member!r}",
                where=schedule.marked(at),
                hint=f"give a position: {' or '.join(map(str, found))}",
            )
    names = sorted({n for m in members for _, e in m.exprs for n in e.names()}.union(*texts))
    raise BadPath(f"the band has no member {member!r}", where=schedule.marked(at), hint=nearest(member, names))


def members_at(schedule: Schedule, at: Path, members: Iterable[MemberRef]) -> tuple[int, ...]:
    """The positions of several members, each named once.

    Raises
    ------
    BadPath : one of them is no member, or is named twice.
    """
    if isinstance(members, (str, int)):
        members = (members,)
    found = tuple(member_at(schedule, at, m) for m in members)
    if len(set(found)) < len(found):
        raise BadPath(f"a member is named twice in {list(members)}", where=schedule.marked(at))
    return found


def bands_above(schedule: Schedule, at: Path) -> tuple[Band, ...]:
    """The bands on the way to a node, outermost first."""
    schedule.node(at)
    found = (schedule.node(at[:k]) for k in range(len(at)))
    return tuple(node for node in found if isinstance(node, Band))


def depth(schedule: Schedule, at: Path) -> int:
    """The number of band members above a node."""
    return sum(len(b.members) for b in bands_above(schedule, at))


def names_of(instances: Set | Map) -> tuple[str, ...]:
    """The names of the statements of a set."""
    return tuple(dict.fromkeys(s.out.name or "" for s, _ in instances.parts))


def inserted_at(schedule: Schedule, at: Path) -> None:
    """A place where a node can be inserted.

    Raises
    ------
    BadPath : the root, which is the domain, or a child of a sequence, which is a filter.
    """
    schedule.node(at)
    if not at:
        raise BadPath("the domain is the root: nothing is inserted above it", where=schedule.marked(at))
    if isinstance(schedule.node(at[:-1]), (Sequence, SetNode)):
        raise BadPath(
            "the children of a sequence are filters: nothing is inserted above them",
            where=schedule.marked(at),
            hint=f"insert below the filter, at {[*at, 0]}, or above the sequence, at {list(at[:-1])}",
        )


def sequence_at(schedule: Schedule, at: Path) -> Sequence | SetNode:
    """The sequence (or set) at a path.

    Raises
    ------
    BadPath : the node there is another one.
    """
    node = schedule.node(at)
    if not isinstance(node, (Sequence, SetNode)):
        raise BadPath(f"the node at {list(at)} is a {type(node).__name__}, no Sequence", where=schedule.marked(at))
    return node
