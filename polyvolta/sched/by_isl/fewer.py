"""The tree of fewer instances: no node speaks of a statement of which none is left, and no branch is for nothing."""

from __future__ import annotations

from dataclasses import replace

from polyvolta.sched.nodes import with_children
from polyvolta.sched.passes.common.subtree import restricted_members
from polyvolta.sched.passes.order.sequences import filter_of
from polyvolta.sched.structure.expansion import composed, filled
from polyvolta.sched.structure.reach import added_by, names_of, of_groups, passed
from polyvolta.sched.tree import Band, Domain, Expansion, Extension, Filter, Leaf, Node, Schedule, Sequence, SetNode
from polyvolta.sched.wrapped import labelled
from polyvolta.sets import Map, Set


def intersect_domain(tree: Schedule, instances: Set) -> Schedule:
    """The same order of fewer instances.

    A child of a sequence goes with its last instance, and the sequence with its last child but one, if that has all
    that comes there; so in isl. Dependences of statements that are gone are, too. Of no instances at all nothing is
    ordered. Cost: an intersection and a subset test for each filter that has a set.

    >>> from polyvolta.isl import Schedule, UnionSet
    >>> tree = Schedule('''{ domain: "{ S[i] : 0 <= i < 8; T[i] : 0 <= i < 8 }", child: {
    ...     schedule: "[{ S[i] -> [(i)]; T[i] -> [(i)] }]",
    ...     child: { sequence: [ { filter: "{ S[i] }" }, { filter: "{ T[i] }" } ] } } }''')
    >>> print(tree.intersect_domain(UnionSet("{ S[i] : i < 4 }")))
    { domain: "{ S[i] : 0 <= i <= 3 }", child: { schedule: "[{ S[i] -> [(i)] }]" } }
    """
    found = tree.domain & labelled(instances)
    left = filled(found)
    names = names_of(left)
    dependences = tree.dependences
    if dependences is not None:
        dependences = tuple([d for d in dependences if d.source in names and d.sink in names])
    root = Domain(left if left.parts else Set._of(found.param_names, []), _of(tree.root.children[0], left))
    return replace(tree, root=root, dependences=dependences)


def _of(node: Node, here: Set) -> Node:
    """A subtree to which some instances come, none of which no statement has."""
    names = names_of(here)
    if not names:
        return Leaf()
    match node:
        case Band():
            return replace(
                node, members=restricted_members(node.members, frozenset(names)), child=_of(node.child, here)
            )
        case Filter(_, child):
            come = filled(passed(here, node))
            return _filter(node, here, come, _of(child, come))
        case Sequence() | SetNode():
            each = [(child, filled(passed(here, child))) for child in node.children if isinstance(child, Filter)]
            each = [(child, come) for child, come in each if come.parts]
            if not each:
                return Leaf()
            if len(each) == 1 and here.is_subset(each[0][1]):
                return _of(each[0][0].child, each[0][1])
            return with_children(node, tuple([_filter(c, here, come, _of(c.child, come)) for c, come in each]))
        case Extension(extension, child):
            return replace(node, child=_of(child, here | added_by(extension)))
        case Expansion(contraction, expansion, child):
            expansion = composed(here.identity(), of_groups(expansion, names))
            led = filled(added_by(expansion)) if expansion.parts else Set._of((), [])
            own = {*names_of(led)}
            kept = [p for p in contraction.parts if p[0].source.name in own]
            return Expansion(Map._of(contraction.param_names, kept), filled(expansion), _of(child, led))
    return with_children(node, tuple([_of(child, here) for child in node.children]))


def _filter(node: Filter, here: Set, come: Set, child: Node) -> Filter:
    """The filter of some instances, a part of which it lets through, around another child."""
    if node.instances is None or not come.parts:
        return Filter(names_of(come), child)
    (found,) = filter_of(node.instances, here)
    return replace(found, child=child)
