"""A tree of other instances, each of which runs when the instance does that a function gives for it."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import or_

from polyvolta.sched.errors import BadSchedule
from polyvolta.sched.structure.expansion import Expansions, along, without_groups
from polyvolta.sched.tree import Domain, Expansion, Schedule
from polyvolta.sched.wrapped import labelled
from polyvolta.sets import Map, Set
from polyvolta.sets.by_isl.functions.unions import graph_of


def pullback(tree: Schedule, function: Map) -> Schedule:
    """The instances that a function leads into the tree's, at the times of what it gives for them; no dependences.

    So PPCG has a tree of accesses, pairs of an instance and a name, from that of the instances:

    >>> from polyvolta.isl import Schedule, UnionPwMultiAff
    >>> tree = Schedule("{ domain: '{ S[i] : 0 <= i < 9 }', child: { schedule: '[{ S[i] -> [(i)] }]' } }")
    >>> print(tree.pullback_union_pw_multi_aff(UnionPwMultiAff("{ [S[i] -> read[]] -> S[i] }")).get_map())
    { [S[i] -> read[]] -> [i] }

    Raises
    ------
    BadSchedule : an instance has two values, which would be two times; the tree has expansions.
    """
    if tree.find(Expansion):
        raise BadSchedule("a tree with expansions is not pulled back", where=str(tree),
                          hint="Schedule.parse(str(tree)) of polyvolta.sched has none")  # fmt: skip
    function = graph_of(function)
    if not function.is_single_valued():
        raise BadSchedule("only a function is pulled back along", where=str(function), hint="f.is_single_valued()")
    old = Set.universe(tree.domain)
    parts = [old.only(name) for name in tree.domain.tuple_names]
    function = labelled(function)
    # a new statement may have an old name: the old ones stand aside, with more primes than any name has
    primes = "'" * (1 + max(str(name).count("'") for name in (*tree.domain.tuple_names, *function.tuple_names)))
    apart: Map = reduce(or_, [s.identity().rename_domain(f"old{k}{primes}") for k, s in enumerate(parts)])
    return _along(_along(tree, apart), function.apply_range(apart.reverse()))


def _along(tree: Schedule, function: Map) -> Schedule:
    """The tree of the instances of statements that it has none of, by a function into its own."""
    gone = Set.universe(tree.domain)
    groups = tuple([space.out for space, _ in gone.parts])
    leaf = Expansions(function, function.reverse(), gone, groups)

    below = along(tree.root.children[0], leaf)
    instances = function.reverse().intersect_domain(tree.domain).range().without_empty()
    # `along` has no expression for a statement without instances, so the domain doesn't know it either
    instances = Set._of(instances.param_names, [p for p in instances.parts if p[1]] or instances.parts[:1])
    return replace(tree, root=without_groups(Domain(instances, below)), dependences=None)
