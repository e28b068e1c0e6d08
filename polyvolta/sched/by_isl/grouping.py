"""Groups of instances in a tree: one statement for all that comes to a node at once, and what stands for a group."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import or_

from polyvolta.sched.by_isl.bands import unbounded, universe
from polyvolta.sched.errors import BadSchedule
from polyvolta.sched.nodes import with_children
from polyvolta.sched.passes.common.places import inserted_at, tuples_of
from polyvolta.sched.passes.common.subtree import restricted, restricted_members
from polyvolta.sched.structure.expansion import R, composed, filled, minus
from polyvolta.sched.structure.reach import added_by, expansion_of, names_of, of_groups, only, passed
from polyvolta.sched.structure.times import prefix_schedule
from polyvolta.sched.tree import Band, Domain, Expansion, Extension, Filter, Leaf, Node, Path, Schedule, SetNode
from polyvolta.sched.tree import Sequence as SequenceNode
from polyvolta.sched.wrapped import labelled
from polyvolta.sets import Map, Set, Space, Tuple, var
from polyvolta.sets.by_isl.functions.unions import graph_of
from polyvolta.sets.text.tokens import is_spelt
from polyvolta.sets.values.space import distinct


def grouped(tree: Schedule, at: Path, name: str) -> tuple[Schedule, Path]:
    """The tree whose nodes above a place speak of groups, and the place below their expansion.

    >>> from polyvolta.isl import Schedule
    >>> tree = Schedule("{ domain: '{ S[i, j] : 0 <= i, j < 9 }', child: { schedule: '[{ S[i, j] -> [(i)] }]' } }")
    >>> print(tree.get_root().child(0).child(0).group("G").get_schedule().show())
    DOMAIN: G[i0] : 0 ≤ i0 ≤ 8
      BAND: G[i0] → [i0]
        EXPANSION: G[i0] → S[i0, j] : 0 ≤ i0 ≤ 8 ∧ 0 ≤ j ≤ 8

    Raises
    ------
    BadPath, BadSchedule : see `ScheduleNode.group`.
    """
    inserted_at(tree, at)
    if not isinstance(name, str) or not is_spelt(name):
        raise BadSchedule("the name of a statement is one word", where=repr(name), hint='such as "G"')
    if name in tuples_of(tree):
        raise BadSchedule(f"a second statement is called {name}", where=tree.marked(at))
    times, gone = prefix_schedule(tree, at), tree.instances_at(at)
    if not times.parts:
        raise BadSchedule("no instances come here", where=tree.marked(at))
    if not times.is_single_valued():
        raise BadSchedule("an instance comes here at several times", where=tree.marked(at))
    depth = max((space.n_out for space, _ in times.parts), default=0)
    group = Tuple(str(name), distinct([f"i{k}" for k in range(depth)], times.param_names))
    into = _named(times, group)
    contraction = _named(prefix_schedule(unbounded(tree), at), group)
    node: Node = Expansion(contraction, into.reverse(), tree.node(at))
    waiting = set(names_of(into.reverse()))  # statements that are declared further up
    for k in reversed(range(len(at))):
        above = tree.node(at[:k])
        children = (*above.children[: at[k]], node, *above.children[at[k] + 1 :])
        if isinstance(above, Band):
            depth -= len(above.members)
        if waiting:
            declared = waiting.intersection(_declared(above))
            if declared and declared != waiting:
                raise BadSchedule("what comes here was declared at several places", where=tree.marked(at))
            left = minus(tree.instances_at(at[:k]), gone)
            above, children = _of_groups(above, children, left, gone, into, group.dims[depth:])
            waiting -= declared
        node = with_children(above, children)
    return replace(tree, root=node, dependences=None), (*at, 0)


def _named(times: Map, group: Tuple) -> Map:
    """A relation from instances to times as one to the groups that have these times."""
    return Map._of(times.param_names, [(Space(space.inp, group), cs) for space, cs in times.parts])


def _declared(node: Node) -> tuple[str, ...]:
    """The statements that a node declares."""
    match node:
        case Domain(some) | Extension(some) | Expansion(_, some):
            return names_of(some)
    return ()


def _of_groups(
    node: Node, children: tuple[Node, ...], left: Set, gone: Set, into: Map, times: tuple[str, ...]
) -> tuple[Node, tuple[Node, ...]]:
    """A node above a group and its children, in terms of groups.

    Parameters
    ----------
    left : the instances that come to the node and are in no group.
    gone : those that are in one.
    into : these -> their groups.
    times : the iterators of a group for the members from the node on.
    """
    (group,) = {space.out for space, _ in into.parts}
    name, names = str(group.name), frozenset(names_of(left))
    match node:
        case Domain():
            return replace(node, domain=left | _fewer(into.range())), children
        case Extension(extension):
            rest = filled(extension.subtract_range(gone))
            return replace(node, extension=rest | _fewer(composed(extension, into))), children
        case Expansion(contraction, expansion):
            outer = _fewer(composed(into.reverse(), contraction))
            if not outer.is_single_valued():
                raise BadSchedule("a group would be of several groups above", where=str(outer))
            rest = filled(expansion.subtract_range(gone))
            kept = set(names_of(rest))
            own = [p for p in contraction.parts if p[0].source.name in kept]
            contraction = Map._of(contraction.param_names, own) | outer
            return Expansion(contraction, rest | _fewer(composed(expansion, into))), children
        case Filter(statements, _, instances):
            through = names_of(filled(passed(left, node)))
            kept = tuple(s for s in statements if s in through)
            if instances is not None:
                instances = only(instances, kept) | Set.universe(into.range())
            return Filter((name, *kept), instances=instances), children
        case Band(members):
            members = restricted_members(members, names)
            members = [replace(m, exprs=((name, var(d)), *m.exprs)) for m, d in zip(members, times)]
            return replace(node, members=tuple(members)), children
        case SequenceNode() | SetNode():
            return node, tuple(c if _on(c, name) else restricted(c, names) for c in children)
    return node, children


def _fewer(some: R) -> R:
    """The same in fewer pieces; of groups that are none, which are declared all the same, what they are."""
    found = some.coalesce()
    return found if found.parts else some


def _on(child: Node, name: str) -> bool:
    """Whether a child of a sequence is the one to which groups come."""
    return isinstance(child, Filter) and name in child.statements


def subtree_expansion(node: Node, here: Set) -> Map:
    """The instances that come to a node -> what the expansions below it lead to."""
    return _led(node, here, contracting=False)


def subtree_contraction(node: Node, here: Set) -> Map:
    """What the expansions below a node lead to -> the instances that come to it."""
    return _led(node, here, contracting=True).reverse()


def _led(node: Node, here: Set, contracting: bool) -> Map:
    """Where expansions lead what comes to a node, by their expansions or by their contractions, turned round."""
    match node:
        case Leaf():
            return here.identity()
        case Filter():
            here = passed(here, node)
        case Expansion(contraction, expansion, child):
            step = contraction.reverse() if contracting else expansion
            step = composed(here.identity(), step)
            return composed(step, _led(child, universe(step.range()), contracting))
    return reduce(or_, [_led(child, here, contracting) for child in node.children])


def expand(tree: Schedule, contraction: Map, expansion: Schedule) -> Schedule:
    """The tree whose leaves are expanded: what comes there stands for instances of another tree, in its order.

    What comes to a leaf and stands for none is beside these, in a set of which any order is right.

    Parameters
    ----------
    contraction : a function from the instances of the other tree to those of this one.
    expansion : the other tree.

    >>> from polyvolta.isl import Schedule, UnionPwMultiAff
    >>> tree = Schedule("{ domain: '{ G[i] : 0 <= i < 9 }', child: { schedule: '[{ G[i] -> [(-i)] }]' } }")
    >>> pairs = Schedule("{ domain: '{ S[i] : 0 <= i < 18 }', child: { schedule: '[{ S[i] -> [(i)] }]' } }")
    >>> print(tree.expand(UnionPwMultiAff("{ S[i] -> G[(floor(i/2))] }"), pairs).get_map())
    { S[i] -> [-floor(i/2), i] : 0 <= i <= 17 }

    Raises
    ------
    BadSchedule : an instance has two values.
    """
    contraction = labelled(graph_of(contraction))
    if not contraction.is_single_valued():
        raise BadSchedule("only a function tells what stands for what", where=str(contraction))
    every = contraction.intersect_domain(expansion.domain).reverse()

    def walked(node: Node, here: Set) -> Node:
        match node:
            case Leaf():
                return _expanded(contraction, every, expansion, here)
            case Filter():
                here = passed(here, node)
            case Domain(some):
                here = some
            case Extension(some):
                here = here | added_by(some)
            case Expansion(_, some):
                here = expansion_of(here, some)
        return with_children(node, tuple([walked(child, here) for child in node.children]))

    return replace(tree, root=walked(tree.root, Set("{ }")), dependences=None)


def _expanded(contraction: Map, every: Map, expansion: Schedule, here: Set) -> Node:
    """What stands in place of a leaf to which some instances come: those that are not expanded stay what they are.

    `every` is the contraction turned round, of the instances of the other tree.
    """
    led = of_groups(every, names_of(here))
    rest = minus(here, led.domain()) if led.parts else here
    if rest == here:
        return Leaf()
    finer = frozenset(names_of(led))
    own = Map._of(contraction.param_names, [p for p in contraction.parts if p[0].source.name in finer])
    below = Expansion(
        of_groups(own.reverse(), names_of(here)).reverse(), led, restricted(expansion.root.children[0], finer)
    )
    if not rest.parts:
        return below
    done = led.domain()
    return SetNode((Filter(names_of(done), below, done), Filter(names_of(rest), Leaf(), rest)))
