"""Trees without cases: every case of a statement becomes a statement of its own, with the instances of that case.

What comes out has plain expressions only, and the same nodes at the same paths. Loops of it call `S#0` and `S#1` where
they call S: `Split.names` tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from polyvolta.sched.cases import Cases
from polyvolta.sched.nodes import Band, Domain, Extension, Filter, Member, Node, with_children
from polyvolta.sets import Aff, Map, Set, Space, Tuple

Cells = Mapping[str, list[tuple[str, Set]]]


@dataclass(frozen=True, slots=True)
class Split:
    """A tree with a statement for each case.

    Parameters
    ----------
    names : new statement -> the one that it is a case of.
    cells : statement -> the new ones and the instances of each.
    """

    root: Node
    names: dict[str, str]
    cells: Cells


def by_cases(root: Node) -> Split | None:
    """The tree with each case of a statement as a statement of its own; None where there are no cases.

    Cost: the cases of all bands over a statement are put together: a set operation for each couple of them.
    """
    found: dict[str, list[Set]] = {}
    _collect(root, found)
    if not found:
        return None
    there = list(_instances(root))
    for s, some in found.items():  # what no band has an expression for may be what is nowhere
        some[:] = [c for c in some if not all(part.only(s).is_disjoint(c) for part in there)]
    cells = {s: [(f"{s}#{k}", cell) for k, cell in enumerate(some)] for s, some in found.items()}
    names = {name: s for s, some in cells.items() for name, _ in some}
    return Split(_split(root, cells), names, cells)


def _collect(node: Node, found: dict[str, list[Set]]) -> None:
    """The joint cases of each statement."""
    if isinstance(node, Band):
        for m in node.members:
            for s, e in m.exprs:
                if isinstance(e, Cases):
                    every = Set.universe(e.pieces[0][0])
                    cells = found.setdefault(s, [every])
                    for when, _ in e.pieces:
                        cells[:] = [c for cell in cells for c in (cell & when, cell - when) if not c.is_empty()]
    for child in node.children:
        _collect(child, found)


def _instances(node: Node) -> Iterator[Set]:
    """What a tree has instances of, from its domain and its extensions."""
    match node:
        case Domain(domain):
            yield domain
        case Extension(extension):
            yield extension.range()
    for child in node.children:
        yield from _instances(child)


def _split(node: Node, cells: Cells) -> Node:
    match node:
        case Domain(domain):
            node = replace(node, domain=_parted(domain, cells))
        case Extension(extension):
            node = replace(node, extension=_parted(extension, cells))
        case Filter(statements, _, instances):
            names = tuple(n for s in statements for n in ([name for name, _ in cells[s]] if s in cells else [s]))
            node = Filter(names, node.child, None if instances is None else _parted(instances, cells))
        case Band():
            node = replace(node, members=tuple(_plain(m, cells) for m in node.members))
    return with_children(node, tuple(_split(child, cells) for child in node.children))


R = TypeVar("R", Set, Map)


def _parted(some: R, cells: Cells) -> R:
    """The instances, or those that a map adds, by cases."""
    out = []
    for space, pieces in some.parts:
        name = space.out.name or ""
        if name not in cells:
            out.append(some._of(some.param_names, [(space, pieces)]))
            continue
        one = some._of(some.param_names, [(space, pieces)])
        for new, cell in cells[name]:
            part = one.intersect_range(cell) if isinstance(one, Map) else one & cell
            called = [(Space(s.inp, Tuple(new, s.out.dims, s.out.inner)), cs) for s, cs in part.parts]
            out.append(part._of(part.param_names, called))
    total: Any = some._of(some.param_names, [])
    for part in out:
        total = total | part
    return total


def _plain(m: Member, cells: Cells) -> Member:
    """The member with an expression for each case."""
    exprs: list[tuple[str, Aff]] = []
    for s, e in m.exprs:
        if s not in cells:
            assert isinstance(e, Aff)
            exprs.append((s, e))
            continue
        for new, cell in cells[s]:
            if not isinstance(e, Cases):
                exprs.append((new, e))
                continue
            here = next((f for when, f in e.pieces if not when.is_disjoint(cell)), None)
            if here is not None:
                exprs.append((new, here))
    return replace(m, exprs=tuple(exprs))


def parted_relation(relation: Map, cells: Cells, source: str, sink: str) -> list[tuple[str, str, Map]]:
    """A relation between instances of two statements by the cases of both: (source, sink, relation)."""
    out = []
    for first, some in cells.get(source, [(source, None)]):
        for second, others in cells.get(sink, [(sink, None)]):
            part = relation if some is None else relation.intersect_domain(some)
            part = part if others is None else part.intersect_range(others)
            called = [
                (Space(s.inp and replace(s.inp, name=first), replace(s.out, name=second)), cs) for s, cs in part.parts
            ]
            out.append((first, second, Map._of(part.param_names, called)))
    return out
