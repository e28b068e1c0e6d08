"""Trees of fewer instances, of all of them or of those below a new filter, as isl has them.

No node speaks of a statement of which none is left, and no branch is for nothing. Filters that would stand one below
the other are one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from operator import or_

from polyvolta.sched.nodes import Path, with_children
from polyvolta.sched.passes.common.legal import settled
from polyvolta.sched.passes.common.places import inserted_at
from polyvolta.sched.passes.common.subtree import restricted_members
from polyvolta.sched.passes.order.sequences import filter_of, not_copied, parted
from polyvolta.sched.structure.expansion import composed, filled
from polyvolta.sched.structure.reach import added_by, names_of, of_groups, only, passed, way
from polyvolta.sched.tree import Band, Domain, Expansion, Extension, Filter, Leaf, Node, Schedule, Sequence, SetNode
from polyvolta.sched.wrapped import labelled
from polyvolta.sets import Map, Set, Tuple
from polyvolta.sets.values.shape import need_set


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


def known_at(tree: Schedule, at: Path, instances: Set) -> Set:
    """What a set has of statements that are declared above a node; isl leaves what a tree does not have aside, too."""
    declared: dict[str, Tuple] = {}
    for node in way(tree, at)[:-1]:
        match node:
            case Domain(some) | Extension(some):
                declared |= {str(s.out.name): s.out for s, _ in some.parts}
            case Expansion(_, some):
                declared = {str(s.out.name): s.out for s, _ in some.parts}
    some = labelled(need_set(instances, "a choice of instances"))
    keys = {t.key for t in declared.values()}
    return Set._of(some.param_names, [p for p in some.parts if p[0].out.key in keys])


def gate_of(instances: Set) -> Filter:
    """The filter of some instances, above a leaf."""
    return Filter(names_of(instances), instances=instances)


def branched(node: Node, gates: Iterable[Filter], universe: Set) -> list[Filter]:
    """What is left of a subtree below some filters, as the branches of a sequence.

    `universe` has all instances of the filters' statements.
    """
    here = lambda gate: only(universe, gate.statements) if gate.instances is None else gate.instances  # noqa: E731
    return gated([(gate, _of(node, filled(here(gate)))) for gate in gates])


def gated(pairs: list[tuple[Filter, Node]]) -> list[Filter]:
    """Subtrees below filters, the branches of a sequence: a filter at the root of one becomes a part of that above it.

    It does not where no branch would have anything of a statement any more: there has to be one, and in isl a second
    order has what the filter drops run again.
    """
    found = [below(gate, node) for gate, node in pairs]
    taken = {s for one in found for s in one.statements}
    nested = [replace(gate, child=node) for gate, node in pairs]
    return [one if taken.issuperset(two.statements) else two for one, two in zip(found, nested, strict=True)]


def below(gate: Filter, node: Node) -> Filter:
    """A subtree below a filter; two filters are one."""
    return within(node, gate) if isinstance(node, Filter) else replace(gate, child=node)


def within(node: Filter, gate: Filter) -> Filter:
    """A filter that lets through no more than another one."""
    names = tuple([n for n in node.statements if n in gate.statements])
    both = [only(some.instances, names) for some in (gate, node) if some.instances is not None]
    instances = None if not both else both[0] if len(both) == 1 else both[0] & both[1] if names else both[0]
    return replace(node, statements=names, instances=instances)


def paired(tree: Schedule, at: Path, node: Node, instances: Set, first: bool) -> list[Filter]:
    """What a node becomes where some of the instances run before or after the others: two branches, or none.

    `node` is the one at the path, or the filter straight above it.
    """
    arrived = tree.instances_at(at)
    mine = only(known_at(tree, at, instances), names_of(arrived))
    if not mine.parts:
        return []
    pair = parted(tree, at, [mine, (arrived - mine).coalesce()])
    if len(pair) < 2:
        return []
    universe = Set.universe(arrived)
    return branched(node, pair if first else pair[::-1], universe)


def branches(
    tree: Schedule, at: Path, parts: Iterable[Set], kind: type[Sequence] | type[SetNode], doing: str
) -> Schedule:
    """The tree with a sequence or set at a node, of a branch for each of some parts of what arrives there.

    Raises
    ------
    BadPath, BadSchedule, IllegalTransformation : see `polyvolta.sched.insert_sequence`.
    """
    known = [known_at(tree, at, part) for part in parts]
    arrived = tree.instances_at(at)
    parted(tree, at, [only(part, names_of(arrived)) for part in known])
    inserted_at(tree, at)
    not_copied(tree, at, doing)
    node, gates = tree.node(at), [gate_of(part) for part in known]
    universe = Set.universe(reduce(or_, known, arrived))
    new = tree.replace(at, kind(tuple(branched(node, gates, universe)))) if gates else tree
    return settled(tree, new, doing, at)
