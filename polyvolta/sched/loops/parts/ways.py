"""Filters that tell nothing apart but places: what is below them is one leaf.

    S[i] -> [i], filters for i mod 3 = 0 and for i mod 3 >= 1, leaves      one leaf: nothing is asked of i mod 3
    S[i, j] -> [i], filters for j <= i and for j > i, leaves               both have instances at one place: in order

A node with a filter and a leaf for each child says in which order instances run at one place, where the members above
have one value each. If no place has instances of two children, it says nothing.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from functools import reduce
from itertools import combinations
from operator import or_

from polyvolta.sched.errors import BadSchedule
from polyvolta.sched.structure.times import prefix_schedule
from polyvolta.sched.tree import Domain, Extension, Filter, Leaf, Node, Path, Schedule, SetNode
from polyvolta.sched.tree import Sequence as SequenceNode
from polyvolta.sets import BudgetExceeded
from polyvolta.sets.budgets import bounded, left

WORTH, PART = 5000, 0.05  # steps that it may take to ask that of a node, and which part of those left


def without_ways(root: Domain) -> Domain:
    """The tree with a leaf for each such node in which a statement has several ways, none at one size alone.

    All instances that come to a node go some way. Cost: the intersections of what each two children have of places.
    Extensions add instances at places by themselves: trees that have one stay as they are.
    """
    schedule = Schedule(root)
    nodes = [(at, node) for at, node in schedule.walk() if isinstance(node, SequenceNode | SetNode)]
    if not nodes or any(isinstance(node, Extension) for _, node in schedule.walk()):
        return root
    with suppress(BudgetExceeded, BadSchedule):
        for at, _ in reversed(nodes):  # the inner ones first
            if _several(schedule.node(at)) and bounded(int(min(WORTH, PART * left())), _alone, schedule, at):
                schedule = schedule.replace(at, Leaf())
    assert isinstance(schedule.root, Domain)
    return schedule.root


def _several(node: Node) -> bool:
    """Whether children are filters above leaves, several of which are for one statement, none `_at_one_size`."""
    each = [child for child in node.children if isinstance(child, Filter) and isinstance(child.child, Leaf)]
    ways = Counter(s for child in each for s in child.statements)
    several = len(each) == len(node.children) and max(ways.values(), default=0) > 1
    return several and not any(map(_at_one_size, each))


def _at_one_size(child: Filter) -> bool:
    """Whether a way is gone at single sizes alone, such as N = 2: its loops know the size, and others ask it once."""
    some = child.instances
    if some is None or not some.parts:
        return False
    first = 1 + len(some.param_names)
    return all(any(not any(row[first:]) for row in c.eqs) for _, cs in some.parts for c in cs)


def _alone(schedule: Schedule, at: Path) -> bool:
    """Whether all instances that come to a node go some way, and no place has instances that go different ways."""
    each = [prefix_schedule(schedule, (*at, k, 0)) for k in range(len(schedule.node(at).children))]
    if not all(a.range().is_disjoint(b.range()) for a, b in combinations(each, 2)):
        return False
    return prefix_schedule(schedule, at).domain() <= reduce(or_, [times.domain() for times in each])
