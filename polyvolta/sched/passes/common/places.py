"""Where a transformation acts: members of a band by position or name, and what stands above a node.

A member is told by its position, by what it prints as (`"k"`, `"⌊k/32⌋"`, `"floor(k/32)"`), by the name it is mapped to
(`"blockIdx.y"`), or by an iterator that no other member of the band uses. A path or member that leads nowhere is
`BadPath`, with the tree printed and the node marked.
"""

from __future__ import annotations

from collections.abc import Iterable

from polyvolta.sched.cases import shown
from polyvolta.sched.errors import BadPath
from polyvolta.sched.nodes import added, relations
from polyvolta.sched.passes.common.arguments import items, whole
from polyvolta.sched.structure.reach import declared, way
from polyvolta.sched.tree import Band, Extension, Path, Schedule, Sequence, SetNode
from polyvolta.sets import Tuple, nearest
from polyvolta.sets.errors import kind_of
from polyvolta.sets.text.show_expressions import PAPER

MemberRef = int | str
"""A member of a band: its position, its text, the name it is mapped to, or the only iterator it has for itself."""


def member_at(schedule: Schedule, at: Path, member: MemberRef) -> int:
    """The position of a member in the band at a path.

    Raises
    ------
    BadPath : no band there, no such member, or several.
    """
    members = schedule.band(at).members
    position = whole(member)
    if position is not None:
        if 0 <= position < len(members):
            return position
        raise BadPath(
            f"the band has no member {position}: it has {len(members)}, the first is 0", where=schedule.marked(at)
        )
    if not isinstance(member, str):
        raise BadPath(f"a member is a position or a text, not {member!r}", where=schedule.marked(at))
    texts = [{m.name or "", *(t for _, e in m.exprs for t in (str(e), shown(e, PAPER)))} - {""} for m in members]
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


def members_at(schedule: Schedule, at: Path, members: MemberRef | Iterable[MemberRef]) -> tuple[int, ...]:
    """The positions of one member or several, each named once.

    Raises
    ------
    BadArgument : what is no member and no list of them.
    BadPath : one of them is no member, or is named twice.
    """
    alone = isinstance(members, str) or whole(members) is not None
    listed: tuple = (members,) if alone else items(members, "members", '("i", "j") or (0, 1)')
    found = tuple(member_at(schedule, at, m) for m in listed)
    if len(set(found)) < len(found):
        raise BadPath(f"a member is named twice in {list(listed)}", where=schedule.marked(at))
    return found


def bands_above(schedule: Schedule, at: Path) -> tuple[Band, ...]:
    """The bands on the way to a node, outermost first."""
    return tuple(node for node in way(schedule, at)[:-1] if isinstance(node, Band))


def depth(schedule: Schedule, at: Path) -> int:
    """The number of band members above a node; of a tree that is to be grafted those that its extension starts from."""
    root = schedule.root
    outside = max((s.n_in for s, _ in root.extension.parts), default=0) if isinstance(root, Extension) else 0
    return outside + sum(len(b.members) for b in bands_above(schedule, at))


def tuples_of(schedule: Schedule) -> dict[str, Tuple]:
    """All statements of a tree with their iterators, those that extensions add among them."""
    nodes = (node for _, node in schedule.walk())
    relations = [declared(schedule), *(more for node in nodes if (more := added(node)) is not None)]
    return {s.out.name or "": s.out for r in relations for s, _ in r.parts}


def words_of(schedule: Schedule) -> dict[str, str]:
    """The names that a tree and its dependences use, and what each is: a parameter, an array, an iterator, a statement.

    Cost: linear in the tree.
    """
    tuples = tuples_of(schedule)
    found: dict[str, str] = {}
    for d in schedule.dependences or ():
        found[d.array] = "an array"
        found.update(dict.fromkeys(d.relation.param_names, "a parameter"))
    for s, t in tuples.items():
        found.update(dict.fromkeys(t.dims, f"an iterator of {s}"))
    for _, node in schedule.walk():
        for r in relations(node):
            found.update(dict.fromkeys(r.param_names, "a parameter"))
        for m in node.members if isinstance(node, Band) else ():
            for s, e in m.exprs:
                own = tuples[s].dims if s in tuples else e.names()
                found.update(dict.fromkeys(e.names().difference(own), "a parameter"))
    found.update(dict.fromkeys(tuples, "a statement"))
    return found


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
        raise BadPath(f"the node at {list(at)} is {kind_of(node)}, no Sequence", where=schedule.marked(at))
    return node
