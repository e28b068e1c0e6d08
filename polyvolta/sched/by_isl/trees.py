"""isl's methods of a tree, found when they are called; see `Schedule.__getattr__`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from polyvolta.sched.by_isl.bands import universe
from polyvolta.sched.by_isl.fewer import intersect_domain
from polyvolta.sched.by_isl.grouping import expand
from polyvolta.sched.by_isl.node import ScheduleNode
from polyvolta.sched.by_isl.pulled import pullback
from polyvolta.sched.by_isl.standing import with_params
from polyvolta.sched.errors import BadSchedule
from polyvolta.sched.tree import Band, Domain, Filter, Node, Schedule, Sequence, SetNode
from polyvolta.sched.wrapped import plain
from polyvolta.sets import DEFAULT_CONTEXT, Context, Map, Set
from polyvolta.sets.by_isl.arguments import checked
from polyvolta.sets.values.unions import gives_union


def get_root(tree: Schedule) -> ScheduleNode:
    """The root as a place."""
    return ScheduleNode(tree)


def get_ctx(tree: Schedule) -> Context:
    """isl's context, which means nothing here."""
    return DEFAULT_CONTEXT


def itself(tree: Schedule, *_: object) -> Schedule:
    """The tree itself, which is immutable and has the parameters of what is said."""
    return tree


def gist_domain_params(tree: Schedule, context: Set) -> Schedule:
    """The tree without what a condition on parameters says of its instances."""
    return tree.replace((), replace(tree.root, domain=tree.domain.gist_params(context)))  # type: ignore[arg-type]


@gives_union
def get_domain(tree: Schedule) -> Set:
    """The instances."""
    return plain(tree.domain)


@gives_union
def get_map(tree: Schedule) -> Map:
    """Instances -> their times, whether the domain has them or not; of a statement without any where bands order it."""
    ordered = {s for at in tree.find(Band) if isinstance(band := tree.node(at), Band) for s in band.statements}
    each = [(space, Set._of(tree.domain.param_names, [(space, cs)])) for space, cs in tree.domain.parts]
    there = [(space, own.parts[0][1]) for space, own in each if space.out.name in ordered or not own.is_empty()]
    root = Domain(universe(Set._of(tree.domain.param_names, there)), tree.root.children[0])
    return plain(tree.replace((), root).to_map())


def is_equal(tree: Schedule, other: Schedule) -> bool:
    """Whether both are one tree."""
    return tree == other


def dump(tree: Schedule) -> None:
    """Write isl's text of the tree to the errors' output."""
    print(tree.to_isl(), file=sys.stderr)


def foreach_schedule_node_top_down(tree: Schedule, f: Callable[[ScheduleNode], object]) -> None:
    """Call a function with every node, and with none below one of which it says False."""
    ScheduleNode(tree).foreach_descendant_top_down(f)


def map_schedule_node_bottom_up(tree: Schedule, f: Callable[[ScheduleNode], ScheduleNode]) -> Schedule:
    """The tree after a function of each node, children first."""
    return ScheduleNode(tree).map_descendant_bottom_up(f).schedule


def insert_partial_schedule(tree: Schedule, schedule: Map) -> Schedule:
    """A band above all others."""
    return ScheduleNode(tree, (0,)).insert_partial_schedule(schedule).schedule


def insert_context(tree: Schedule, context: Set) -> Schedule:
    """A context above everything."""
    return ScheduleNode(tree, (0,)).insert_context(context).schedule


def insert_guard(tree: Schedule, guard: Set) -> Schedule:
    """A guard above everything."""
    return ScheduleNode(tree, (0,)).insert_guard(guard).schedule


def sequence(tree: Schedule, other: Schedule) -> Schedule:
    """The instances of one tree before those of another; they have no statement in common."""
    return _joined(tree, other, Sequence)


def set_of(tree: Schedule, other: Schedule) -> Schedule:
    """The instances of two trees in any order; they have no statement in common."""
    return _joined(tree, other, SetNode)


def _joined(tree: Schedule, other: Schedule, kind: Callable[[tuple[Node, ...]], Node]) -> Schedule:
    children: list[Node] = []
    for one in (tree, other):
        child = one.root.children[0]
        several = isinstance(child, Sequence | SetNode) and kind is type(child)
        names = tuple(map(str, one.domain.tuple_names))
        children += child.children if several else [Filter(names, child)]
    if not {*tree.domain.tuple_names}.isdisjoint(other.domain.tuple_names):
        raise BadSchedule("both trees have instances of a statement", where=f"{tree}\n{other}")
    return replace(tree, root=Domain(tree.domain | other.domain, kind(tuple(children))), dependences=None)


_METHODS: dict[str, Callable[..., Any]] = {
    "get_root": get_root, "root": get_root, "get_domain": get_domain, "get_map": get_map, "is_equal": is_equal,
    "plain_is_equal": is_equal, "to_str": Schedule.to_isl, "insert_partial_schedule": insert_partial_schedule,
    "foreach_schedule_node_top_down": foreach_schedule_node_top_down, "insert_context": insert_context,
    "map_schedule_node_bottom_up": map_schedule_node_bottom_up, "insert_guard": insert_guard,
    "intersect_domain": intersect_domain, "get_ctx": get_ctx, "dump": dump, "copy": itself,
    "reset_user": itself, "align_params": with_params, "gist_domain_params": gist_domain_params,
    "sequence": sequence, "expand": expand, "set": set_of, "pullback_union_pw_multi_aff": pullback,
}  # fmt: skip
METHODS: dict[str, Callable[..., Any]] = {
    name: checked("Schedule", name, f, frozenset(["Map", "Schedule", "Set"])) for name, f in _METHODS.items()
}
"""By isl's names; an argument of another kind is refused by an error of the library."""
