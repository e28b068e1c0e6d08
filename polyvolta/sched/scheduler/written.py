"""The order in which a program was written: of its statements, and, where no better one is found, of its instances.

The order of the program respects all its dependences. So where no affine row can be found for some statements, though
there are loops left or they depend on each other, they keep the part of the program's own tree that is theirs: it
orders whatever the bands above have left at equal times.
"""

from __future__ import annotations

from dataclasses import replace

from polyvolta.sched.nodes import Band, Context, Domain, Filter, Leaf, Node, SetNode, with_children
from polyvolta.sched.nodes import Sequence as SequenceNode


def in_order(node: Node, names: tuple[str, ...]) -> tuple[str, ...]:
    """The statements of a tree as they come in its sequences; those that no sequence orders as in `names`."""
    if isinstance(node, Filter):
        names = tuple([n for n in names if n in node.statements])
    found = dict.fromkeys([n for child in node.children for n in in_order(child, names)])
    return tuple(found) if found else names


def as_written(node: Node, names: tuple[str, ...]) -> Node:
    """The part of a tree that orders some statements; its bands claim nothing."""
    match node:
        case Leaf():
            return node
        case Domain(_, child) | Context(_, child):
            return as_written(child, names)
        case Filter(statements, child):
            return replace(
                node, statements=tuple([s for s in statements if s in names]), child=as_written(child, names)
            )
        case Band(members, child):
            own = [tuple([(s, e) for s, e in m.exprs if s in names]) for m in members]
            plain = tuple([replace(m, exprs=exprs, coincident=False) for m, exprs in zip(members, own)])
            return replace(node, members=plain, child=as_written(child, names), permutable=False)
        case SequenceNode(children) | SetNode(children):
            kept = [c for c in children if not isinstance(c, Filter) or set(c.statements) & set(names)]
            below = [as_written(c, names) for c in kept]
            if len(below) == 1 and isinstance(below[0], Filter) and below[0].instances is None:
                return below[0].child
            return replace(node, children=tuple(below))
        case _:
            return with_children(node, tuple([as_written(c, names) for c in node.children]))
