"""Which instances reach a node of a schedule tree: those of the domain that all filters above let through, those that
extensions above add, and what the groups among them stand for below an expansion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from polyvolta.sched.nodes import Expansion, Extension, Filter, Node, Path
from polyvolta.sched.tree import Schedule
from polyvolta.sets import Map, Set, Space, Tuple
from polyvolta.sets.values.space import renamed


def way(schedule: Schedule, at: Path) -> list[Node]:
    """The nodes from the root down to the one at a path, that one included.

    Raises
    ------
    BadPath : the path leaves the tree.
    """
    schedule.node(at)
    nodes = [schedule.root]
    for k in at:
        nodes.append(nodes[-1].children[k])
    return nodes


def declared(schedule: Schedule) -> Set:
    """The instances that are there at the root: none above an extension, of a tree that is to be grafted."""
    return Set._of((), []) if isinstance(schedule.root, Extension) else schedule.domain


def statements_at(schedule: Schedule, at: Path) -> tuple[str, ...]:
    """The statements that reach a node."""
    found = names_of(declared(schedule))
    for node in way(schedule, at)[:-1]:
        match node:
            case Filter(statements):
                found = tuple(s for s in found if s in statements)
            case Extension(extension):
                found += names_of(extension)
            case Expansion(_, expansion):
                found = names_of(of_groups(expansion, found))
    return found


def instances_at(schedule: Schedule, at: Path) -> Set:
    """The instances that reach a node. Cost: one intersection for each filter above that has a set."""
    found = declared(schedule)
    for node in way(schedule, at)[:-1]:
        match node:
            case Filter():
                found = passed(found, node)
            case Extension(extension):
                found = found | added_by(extension)
            case Expansion(_, expansion):
                found = expansion_of(found, expansion)
    return found


def expansion_of(found: Set, expansion: Map) -> Set:
    """What the groups among some instances stand for."""
    here = of_groups(expansion, names_of(found))
    return added_by(here.intersect_domain(found)) if here.parts else Set._of((), [])


def of_groups(expansion: Map, groups: Iterable[str]) -> Map:
    """The expansion of some groups."""
    wanted = set(groups)
    return Map._of(expansion.param_names, [p for p in expansion.parts if p[0].source.name in wanted])


def added_by(extension: Map) -> Set:
    """The instances that an extension adds, with their iterators called as there: the range may lose primes."""
    own = {s.out.name: s.out for s, _ in extension.parts}
    there = extension.range()
    return Set._of(there.param_names, [(replace(s, out=own[s.out.name]), cs) for s, cs in there.parts])


def as_declared(extension: Map, tuples: Mapping[str, Tuple]) -> Map:
    """An extension whose statements, where a tree has them already, call their iterators as there.

    Such a statement, all of whose instances filters above drop, is added again, as tiles that overlap have it. One that
    has a parameter of the extension for an iterator there stays as it is.
    """
    parts = []
    for s, cs in extension.parts:
        own, inp = tuples.get(s.out.name or "", s.out), s.inp
        if own.key != s.out.key or own == s.out or not {*own.dims}.isdisjoint(extension.param_names):
            parts.append((s, cs))
            continue
        if inp is not None and not {*own.dims}.isdisjoint(inp.dims):
            inp = renamed(inp, [d.rstrip("'@") + "@" for d in inp.dims])
        parts.append((Space(inp, own), cs))
    return Map._of(extension.param_names, parts)


def passed(instances: Set, node: Filter) -> Set:
    """The instances that a filter lets through."""
    found = only(instances, node.statements)
    return found if node.instances is None else found & node.instances


def only(instances: Set, statements: Iterable[str]) -> Set:
    """The instances of some statements."""
    wanted = set(statements)
    return Set._of(instances.param_names, [p for p in instances.parts if p[0].out.name in wanted])


def names_of(instances: Set | Map) -> tuple[str, ...]:
    """The statements that a set has instances of, or that an extension adds; "" for a tuple without a name."""
    return tuple(dict.fromkeys(s.out.name or "" for s, _ in instances.parts))
