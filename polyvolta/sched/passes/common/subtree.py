"""Subtrees of fewer statements, and subtrees that speak of the band members above them.

A pass that runs statements apart gives each its own copy of what stood above both: `restricted` leaves in a copy only
what concerns its statements. `Context`, `Guard`, `Extension` and a band's `isolate` are sets over the members of the
bands above: they are *anchored*. Where a pass changes those members in one way for all statements, `rebased` says the
same of the new members; where it does not, the pass is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from polyvolta.sched.errors import IllegalTransformation
from polyvolta.sched.passes.common.places import depth
from polyvolta.sched.structure.reach import names_of, only
from polyvolta.sched.tree import (
    Band,
    Context,
    Expansion,
    Extension,
    Filter,
    Guard,
    Leaf,
    Mark,
    Node,
    Path,
    Schedule,
    SetNode,
    with_children,
)
from polyvolta.sched.tree import Sequence as InOrder
from polyvolta.sets import Aff, Map, Set, Tuple, var
from polyvolta.sets.errors import kind_of
from polyvolta.sets.values.build import RowBuilder
from polyvolta.sets.values.space import Space


def restricted(node: Node, statements: frozenset[str]) -> Node:
    """A subtree for some of its statements: bands without the others, no branch and no band for nothing.

    A sequence of which one whole filter is left is that filter's child.
    """
    match node:
        case Leaf():
            return node
        case Band(members):
            child = restricted(node.child, statements)
            if statements.issuperset(node.statements):
                return node if child is node.child else replace(node, child=child)
            if statements.isdisjoint(node.statements):
                return child
            return replace(node, members=restricted_members(members, statements), child=child)
        case Filter(names, _, instances):
            kept = tuple(s for s in names if s in statements)
            found = instances if instances is None else only(instances, kept)
            child = restricted(node.child, statements)
            same = kept == names and child is node.child
            return node if same else replace(node, statements=kept, child=child, instances=found)
        case InOrder() | SetNode():
            kids = tuple(restricted(c, statements) for c in node.children)
            left = tuple(k for k in kids if not isinstance(k, Filter) or k.statements)
            if not left:
                return Leaf()
            if len(left) == 1 < len(node.children) and isinstance(left[0], Filter) and left[0].instances is None:
                return left[0].child
            same = len(left) == len(node.children) and all(a is b for a, b in zip(left, node.children))
            return node if same else replace(node, children=left)
        case Extension(extension):
            return with_children(node, (restricted(node.child, statements.union(names_of(extension))),))
        case Expansion(_, expansion):
            come = frozenset(str(s.out.name) for s, _ in expansion.parts if s.inp and s.inp.name in statements)
            return with_children(node, (restricted(node.child, come),))
        case _:
            return with_children(node, (restricted(node.child, statements),))


def restricted_members(members, statements: frozenset[str]) -> tuple:  # noqa: ANN001
    """The members of a band for some of its statements."""
    return tuple(replace(m, exprs=tuple((s, e) for s, e in m.exprs if s in statements)) for m in members)


def anchor(node: Node, at: Path = ()) -> Path | None:
    """The path of the first node at or below one that speaks of the band members above, or adds instances."""
    match node:
        case Context(found) | Guard(found) if found.space.n_out:
            return at
        case Extension():
            return at
        case Band(isolate=found) if found is not None:
            return at
    for k, child in enumerate(node.children):
        inner = anchor(child, (*at, k))
        if inner is not None:
            return inner
    return None


def not_anchored(schedule: Schedule, at: Path, doing: str) -> None:
    """Refuse to move or copy what speaks of the members above.

    Raises
    ------
    IllegalTransformation : a node at or below the path is anchored.
    """
    found = anchor(schedule.node(at), at)
    if found is not None:
        node = schedule.node(found)
        what = "has an isolated part" if isinstance(node, Band) else f"is {kind_of(node)}"
        raise IllegalTransformation(
            f"{doing} would change what a node below speaks of: it {what}, a set over the band members above it",
            where=schedule.marked(found),
            hint="insert extensions, guards and isolated parts after the loops have their final order",
        )


Change = tuple[int, Sequence[Aff]]
"""How many members change, and what they become: expressions in `x0, x1, ...`, the old members."""


def rebased(schedule: Schedule, at: Path, changes: Mapping[str | None, Change]) -> Band:
    """The band at a path and what is below it after its members have become others; unchanged nodes are shared.

    Only what speaks of the members changes: the band's own members are the caller's.

    Parameters
    ----------
    changes : by statement; under None for all alike.

    Raises
    ------
    IllegalTransformation : an anchored node stands above statements with different changes.
    """
    band = schedule.band(at)
    if anchor(band) is None:
        return band
    hashable = {s: (count, tuple(become)) for s, (count, become) in changes.items()}
    try:
        moved = _rebased(band, depth(schedule, at), hashable, None)
    except IllegalTransformation as refusal:
        raise IllegalTransformation(refusal.message, where=schedule.marked(at), hint=refusal.hint) from None
    assert isinstance(moved, Band)
    return moved


def _rebased(node: Node, start: int, changes: Mapping[str | None, Change], here: frozenset[str] | None) -> Node:
    """`here` are the statements at the node, None for all."""
    if isinstance(node, (Filter, Band)):
        mine = frozenset(node.statements)
        here = mine if here is None else here & mine
    kids = tuple(_rebased(c, start, changes, here) for c in node.children)
    if any(a is not b for a, b in zip(kids, node.children)):
        node = with_children(node, kids)
    match node:
        case Context(found):
            return replace(node, context=_moved(found, start, changes, here))
        case Guard(found):
            return replace(node, guard=_moved(found, start, changes, here))
        case Band(isolate=found) if found is not None:
            return replace(node, isolate=_moved(found, start, changes, here))
        case Extension(extension):
            known = extension.parts[0][0].n_in if extension.parts else 0
            move = _move(known, start, _one(changes, here)) if known > start else None
            return node if move is None else replace(node, extension=extension.apply_domain(move))
    return node


def _one(changes: Mapping[str | None, Change], here: frozenset[str] | None) -> Change:
    """The change that all statements at a node share."""
    found = {changes.get(s, changes.get(None)) for s in here} if here else set(changes.values())
    found.discard(None)
    if len(found) > 1:
        raise IllegalTransformation(
            "an extension, guard, context or isolated part below speaks of members that change by statement",
            hint="insert it afterwards, or below a filter of one statement",
        )
    return found.pop() or (0, ()) if found else (0, ())


def _moved(found: Set, start: int, changes: Mapping[str | None, Change], here: frozenset[str] | None) -> Set:
    if found.space.n_out <= start:
        return found
    move = _move(found.space.n_out, start, _one(changes, here))
    return found if move is None else found.apply(move)


def _move(n: int, start: int, change: Change) -> Map | None:
    """The map from the old members above a node, of which it knows `n`, to the new ones; None for the identity."""
    count, become = change
    if n < start + count:
        raise IllegalTransformation("a node below speaks of some members of the band only")
    old = tuple(f"x{k}" for k in range(n))
    local = {f"x{k}": var(old[start + k]) for k in range(count)}
    values = (
        *(var(x) for x in old[:start]),
        *(e.rewrite(lambda name: local.get(name) or var(name)) for e in become),
        *(var(x) for x in old[start + count :]),
    )
    if values == tuple(map(var, old)):
        return None
    params = tuple(sorted({m for e in become for m in e.names()}.difference(old)))
    new = tuple(f"y{k}" for k in range(len(values)))
    rows = RowBuilder((*params, *old, *new)).conjunct([("eq", var(y) - e) for y, e in zip(new, values)])
    return Map._of(params, [(Space(Tuple(None, old), Tuple(None, new)), () if rows is None else (rows,))])


def marked_node(name: str | None, node: Node) -> Node:
    """A node below a mark, if there is a name for one."""
    return node if name is None else Mark(name, node)
