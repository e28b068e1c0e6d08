"""Sequences: statements or instances that reach a node are told apart, and put in order.

    BAND: S[i] → [i]      =>      SEQUENCE
                                    FILTER: S[i] : i ≤ 8
                                      BAND: S[i] → [i]
                                    FILTER: S[i] : i ≥ 9
                                      BAND: S[i] → [i]

What goes a way is told by the name of a statement, by several names, or by a set of instances, a text of one too.
Together the ways take all instances, each once: `parted` finds out and says which instance is lost or goes twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from polyvolta.sched.errors import BadSchedule, IllegalTransformation
from polyvolta.sched.example import example
from polyvolta.sched.passes.common.arguments import items, of_kind
from polyvolta.sched.passes.common.legal import settled
from polyvolta.sched.passes.common.places import inserted_at, tuples_of
from polyvolta.sched.passes.common.subtree import restricted
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.structure.reach import names_of, only
from polyvolta.sched.tree import Extension, Filter, Node, Path, Schedule, SetNode
from polyvolta.sched.tree import Sequence as InOrder
from polyvolta.sets import Set, UnknownName, nearest

Part = str | Iterable[str] | Set
"""Statements by name, or a set of instances, which a text in isl's notation may say."""
Kind = type[InOrder] | type[SetNode]


@of_a_tree
def order_before(schedule: Schedule, at: Path, first: Part) -> Schedule:
    """Run some of what arrives at a node before the rest.

        BAND: S[i] → [i]; T[i] → [i]      =>      SEQUENCE
                                                    FILTER: T[i]
                                                      BAND: T[i] → [i]
                                                    FILTER: S[i]
                                                      BAND: S[i] → [i]        order_before(tree, at, "T")

    Parameters
    ----------
    first : names of statements, or a set of instances. If that is all or nothing of what arrives, the tree stays.

    Raises
    ------
    BadPath, UnknownName : no such node, no such statement there.
    BadSchedule, BadArgument : a set of instances with other iterators; what is no name, no list of names and no set.
    IllegalTransformation : a dependence forbids it; or a node below speaks of the members above it.

    Cost: for a set of instances a difference and a subset test; a check of the new tree and the flags of its bands.

    Source: isl's `isl_schedule_node_order_before`.

    >>> from polyvolta.sched import Domain, Schedule
    >>> print(order_before(Schedule(Domain(Set("{ S[i] : 0 <= i < 9 }"))), (0,), Set("{ S[i] : i >= 5 }")))
    DOMAIN: S[i] : 0 ≤ i ≤ 8
      SEQUENCE
        FILTER: S[i] : i ≥ 5
        FILTER: S[i] : i ≤ 4
    """
    return _ordered(schedule, at, first, "ordering some instances before the rest", True)


@of_a_tree
def order_after(schedule: Schedule, at: Path, last: Part) -> Schedule:
    """Run some of what arrives at a node after the rest; see `order_before`.

        BAND: S[i] → [i]; T[i] → [i]      =>      SEQUENCE
                                                    FILTER: T[i]
                                                      BAND: T[i] → [i]
                                                    FILTER: S[i]
                                                      BAND: S[i] → [i]        order_after(tree, at, "S")

    Raises
    ------
    As `order_before`.

    Cost: as for `order_before`.

    Source: isl's `isl_schedule_node_order_after`.

    >>> from polyvolta.sched import Domain, Schedule
    >>> print(order_after(Schedule(Domain(Set("{ S[i] : 0 <= i < 9; T[] }"))), (0,), "S"))
    DOMAIN: S[i] : 0 ≤ i ≤ 8;
            T[]
      SEQUENCE
        FILTER: T[]
        FILTER: S[i]
    """
    return _ordered(schedule, at, last, "ordering some instances after the rest", False)


def _ordered(schedule: Schedule, at: Path, part: Part, doing: str, first: bool) -> Schedule:
    part = _read(part)
    arrived = schedule.statements_at(at)
    if isinstance(part, Set):
        reach = schedule.instances_at(at)
        known_statements(schedule, at, part, arrived)
        mine, rest = reach & part, (reach - part).coalesce()
        parts: tuple[Part, Part] = (mine, rest)
        trivial = mine.is_empty() or rest.is_empty()
    else:
        names = _names(part)
        known_statements(schedule, at, names, arrived)
        rest_names = tuple(s for s in arrived if s not in names)
        parts = (names, rest_names)
        trivial = not names or not rest_names
    if trivial:
        return schedule
    return _inserted(schedule, at, parts if first else parts[::-1], InOrder, doing)


@of_a_tree
def insert_sequence(schedule: Schedule, at: Path, parts: Sequence[Part]) -> Schedule:
    """A sequence at a node: some of what arrives, then some more, and so on.

        BAND: S[i] → [i]; T[i] → [i]      =>      SEQUENCE
                                                    FILTER: S[i]
                                                      BAND: S[i] → [i]
                                                    FILTER: T[i]
                                                      BAND: T[i] → [i]        insert_sequence(tree, at, ["S", "T"])

    Parameters
    ----------
    parts : in order; each names of statements, or a set of instances.

    Raises
    ------
    BadSchedule : an instance that arrives is in none of the parts, or in two, or has other iterators than the
        statement.
    BadArgument : parts that are no list of names and sets.
    IllegalTransformation : a dependence forbids it; or a node below speaks of the members above it.

    Cost: as for `order_before`.

    Source: S. Verdoolaege, S. Guelton, T. Grosser, A. Cohen, "Schedule Trees" (IMPACT 2014), section 4.

    >>> from polyvolta.sched import Domain, Schedule
    >>> print(insert_sequence(Schedule(Domain(Set("{ S[]; T[]; U[] }"))), (0,), ["T", ("S", "U")]))
    DOMAIN: S[];
            T[];
            U[]
      SEQUENCE
        FILTER: T[]
        FILTER: S[]; U[]
    """
    return _inserted(schedule, at, parts, InOrder, "inserting a sequence")


@of_a_tree
def insert_set(schedule: Schedule, at: Path, parts: Sequence[Part]) -> Schedule:
    """A set node at a node: parts that run in any order; see `insert_sequence`.

        BAND: S[i] → [i]; T[i] → [i]      =>      SET
                                                    FILTER: S[i]
                                                      BAND: S[i] → [i]
                                                    FILTER: T[i]
                                                      BAND: T[i] → [i]

    Raises
    ------
    As `insert_sequence`. No instance may depend on one of another part.

    Cost: as for `order_before`.

    Source: S. Verdoolaege, S. Guelton, T. Grosser, A. Cohen, "Schedule Trees" (IMPACT 2014), section 2.

    >>> from polyvolta.sched import Domain, Schedule
    >>> print(insert_set(Schedule(Domain(Set("{ S[]; T[] }"))), (0,), ["S", "T"]))
    DOMAIN: S[];
            T[]
      SET
        FILTER: S[]
        FILTER: T[]
    """
    return _inserted(schedule, at, parts, SetNode, "inserting a set")


@of_a_tree
def insert_filter(schedule: Schedule, at: Path, part: Part, narrow: bool = False) -> Schedule:
    """A filter at a node.

    `part` is what goes this way: the name of a statement, several, or a set of instances.

        BAND: S[i] → [i]      =>      FILTER: S[i]
                                        BAND: S[i] → [i]

    Parameters
    ----------
    narrow : whether it may drop instances on purpose, such as those that other threads run; what is dropped is demanded
        no longer, and no dependence is checked for it.

    Raises
    ------
    BadPath : no such node, or one that nothing can stand above: the root, a child of a sequence.
    BadSchedule : an instance that arrives would be lost, or has other iterators than the statement.

    Cost: for a set of instances a difference and a subset test.

    Source: isl's `isl_schedule_node_insert_filter`; with `narrow`, PPCG's filters of blocks and threads.

    >>> from polyvolta.sched import Domain, Schedule
    >>> print(insert_filter(Schedule(Domain(Set("{ S[i] : 0 <= i < 9 }"))), (0,), "S"))
    DOMAIN: S[i] : 0 ≤ i ≤ 8
      FILTER: S[i]
    """
    inserted_at(schedule, at)
    part = _read(part)
    if narrow:
        names = _names(part)
        known_statements(schedule, at, names, schedule.statements_at(at))
        found = Filter(names, instances=part if isinstance(part, Set) else None)
        return schedule.replace(at, replace(found, child=restricted(schedule.node(at), frozenset(names))))
    for found in parted(schedule, at, [part]):
        return schedule.replace(at, Filter(found.statements, schedule.node(at), found.instances))
    return schedule  # nothing arrives


def _inserted(
    schedule: Schedule, at: Path, parts: Sequence[Part], kind: type[InOrder] | type[SetNode], doing: str
) -> Schedule:
    filters = parted(schedule, at, items(parts, "the parts of a sequence", '["S", ("T", "U")]'))
    if len(filters) < 2:
        return schedule
    inserted_at(schedule, at)
    not_copied(schedule, at, doing)
    node = schedule.node(at)
    kids: list[Node] = []
    for f in filters:
        child = restricted(node, frozenset(f.statements))
        if f.instances is None and type(child) is kind and kind is InOrder:
            kids += child.children
        else:
            kids.append(Filter(f.statements, child, f.instances))
    new = schedule.replace(at, kind(tuple(kids)))
    return settled(schedule, new, doing, at)


def not_copied(schedule: Schedule, at: Path, doing: str) -> None:
    """A subtree that adds instances is not copied, as they would run twice.

    Raises
    ------
    IllegalTransformation : an extension stands at or below the path.
    """
    for place, node in schedule.walk(at):
        if isinstance(node, Extension):
            raise IllegalTransformation(
                f"{doing} would copy what a node below adds: it is an Extension, and would run in each part",
                where=schedule.marked(place),
                hint="order the instances first, and add others then",
            )


def parted(schedule: Schedule, at: Path, parts: Sequence[Part]) -> list[Filter]:
    """Filters for parts of what arrives at a node; parts of nothing are left out.

    Raises
    ------
    UnknownName : a statement that does not arrive there.
    BadSchedule : an instance is in no part, or in two.
    """
    arrived = schedule.statements_at(at)
    parts = [p if isinstance(p, Set) else _names(p) for p in map(_read, parts)]
    by_name = [None if isinstance(p, Set) else p for p in parts]
    for p in parts:
        known_statements(schedule, at, p, arrived)
    pieces = [p for p in parts if isinstance(p, Set)]
    reach = schedule.instances_at(at) if pieces else None
    for k, p in enumerate(parts):
        for q in parts[k + 1 :]:
            _disjoint(schedule, at, p, q, reach)
    taken = {s for names in by_name for s in names or ()}
    missing = tuple(s for s in arrived if s not in taken)
    if missing and reach is None:
        raise BadSchedule(f"{', '.join(missing)} would be lost: no part has it", where=schedule.marked(at))
    if reach is not None:
        lost = only(reach, missing)
        for p in pieces:
            lost = lost - p
        if not lost.is_empty():
            raise BadSchedule(
                f"an instance would be lost: no part has {example(lost)}",
                where=schedule.marked(at),
                hint="name it in a part; what is left of a set is one difference away",
            )
    filters = []
    for p, names in zip(parts, by_name):
        if isinstance(p, Set):
            assert reach is not None
            filters += filter_of(p, reach)
        elif names:
            filters.append(Filter(names))
    return filters


def known_statements(schedule: Schedule, at: Path, part: Iterable[str] | Set, arrived: Sequence[str]) -> None:
    """Names of statements that arrive at a node; a set may have instances of others, which do not arrive.

    Raises
    ------
    UnknownName : one of them does not; or a set has instances of what is no statement of the tree.
    BadSchedule : a set has instances with other iterators than the statement.
    """
    known = (*arrived, *names_of(schedule.domain)) if isinstance(part, Set) else arrived
    for s in names_of(part) if isinstance(part, Set) else part:
        if s not in known:
            raise UnknownName(
                f"no statement {s!r} arrives here", where=schedule.marked(at), hint=nearest(str(s), known)
            )
    if isinstance(part, Set):
        tuples = tuples_of(schedule)
        for space, _ in part.parts:
            if space.out.key != tuples[space.out.name or ""].key:
                raise BadSchedule(
                    f"the statement is {tuples[space.out.name or '']}, not {space.out}", where=schedule.marked(at)
                )


def _disjoint(schedule: Schedule, at: Path, p: Part, q: Part, reach: Set | None) -> None:
    if reach is None or not (isinstance(p, Set) or isinstance(q, Set)):
        twice = sorted({*_names(p)}.intersection(_names(q)))
        if twice:
            raise BadSchedule(f"{twice[0]} would run twice: two parts have it", where=schedule.marked(at))
        return
    both = reach
    for part in (p, q):
        if isinstance(part, Set) and both.is_disjoint(part):  # of other statements, too, which no intersection takes
            return
        both = both & part if isinstance(part, Set) else only(both, _names(part))
    if not both.is_empty():
        raise BadSchedule(
            f"an instance would run twice: two parts have {example(both)}",
            where=schedule.marked(at),
            hint="subtract one part from the other",
        )


def _read(part: Part) -> Part:
    """A set of instances where it is given as a text, which has braces; names have none."""
    return Set(part) if isinstance(part, str) and "{" in part else part


def _names(part: Part) -> tuple[str, ...]:
    """The statements that a part names."""
    if isinstance(part, Set):
        return names_of(part)
    listed = (part,) if isinstance(part, str) else items(part, "the statements of a part", '("S", "T")')
    for name in listed:
        of_kind(name, str, "the name of a statement", '"S"')
    return tuple(dict.fromkeys(listed))


def filter_of(part: Set, reach: Set) -> list[Filter]:
    """The filter of a set of instances, without what does not arrive; it says no more than it must. None for nothing.

    >>> filter_of(Set("{ S[i] : 2 <= i < 9; T[] }"), Set("{ S[i] : 0 <= i < 4 }"))
    [Filter(statements=('S',), child=Leaf(), instances=Set('{ S[i] : i >= 2 }'))]
    """
    mine = reach & part
    names = tuple(s for s in names_of(mine) if not mine.only(s).is_empty())
    if not names:
        return []
    mine = only(mine, names)
    whole = only(reach, names)
    return [Filter(names, instances=None if whole.is_subset(mine) else mine.coalesce().gist(whole))]


__all__ = ["insert_filter", "insert_sequence", "insert_set", "order_after", "order_before"]
