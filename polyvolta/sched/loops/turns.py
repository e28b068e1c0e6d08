"""Whose turn it is first where all members of a band are equal: what the nodes below say of two statements."""

from __future__ import annotations

from polyvolta.sched.tree import Band, Filter, Leaf, Node, Sequence, SetNode
from polyvolta.sets import Aff


def runs_first(node: Node, a: str, b: str) -> bool:
    """Whether all instances of a statement that come to a node may run before all of another one's."""
    match node:
        case Leaf():
            return True
        case Filter():
            return runs_first(node.child, a, b)
        case Band():
            values = [(dict(m.exprs).get(a), dict(m.exprs).get(b)) for m in node.members if not m.name]
            pairs = [
                (p, q)
                for p, q in values
                if isinstance(p, Aff) and isinstance(q, Aff) and p.is_constant and q.is_constant
            ]
            if len(pairs) < len(node.members):
                return False
            order = next((p.const - q.const for p, q in pairs if p != q), 0)
            return order < 0 or (order == 0 and runs_first(node.child, a, b))
        case Sequence() | SetNode():
            filters = [c.statements for c in node.children if isinstance(c, Filter)]
            if len(filters) < len(node.children):
                return False
            mine, other = ({k for k, names in enumerate(filters) if s in names} for s in (a, b))
            if mine == other and len(mine) == 1:
                return runs_first(node.children[min(mine)], a, b)
            if isinstance(node, SetNode):
                return not mine & other
            return max(mine, default=0) < min(other, default=0)
    return False


def holds_bands(node: Node) -> bool:
    """Whether there is a band at or below a node."""
    return isinstance(node, Band) or any(map(holds_bands, node.children))
