"""What guards below loops ask of sizes is asked of the domain, for the statements that they keep out.

    S: 0 <= i <= n, T: i = n                                      if (m >= 3)
    for c0 <= n: { if (m >= 3) S(c0); if (c0 == n) T; }    ->       for c0 <= n: { S(c0); if (c0 == n) T; }
                                                                  else
                                                                    T;

A loop is made for the statements that have an instance, so that at other sizes none runs for those without.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import or_

from polyvolta.sched.tree import Band, Domain, Extension, Filter, Guard, Node
from polyvolta.sets import Set
from polyvolta.sets.conjuncts.conjunct import uses


def met(root: Domain) -> Domain:
    """The tree with the instances alone that guards below its bands let pass, of those that speak of sizes alone.

    An extension adds what it adds where any instance comes by: the domain of a tree that has one stays as it is. So do
    the instances of a statement that would be in more pieces, or that guards let pass anyway.
    """
    names = [space.out.name or "" for space, _ in root.domain.parts]
    asked = {} if _extends(root) else _asked(root.child, names, False)
    if not asked:
        return root
    parts: list[Set] = []
    for name, (space, pieces) in zip(names, root.domain.parts, strict=True):
        part = root.domain._of(root.domain.param_names, [(space, pieces)])
        if name in asked:
            left = part.intersect_params(asked[name]).coalesce()
            if sum(len(some) for _, some in left.parts) <= len(pieces) and not part <= left:
                part = left
        parts.append(part)
    return replace(root, domain=reduce(or_, parts))


def _extends(node: Node) -> bool:
    return isinstance(node, Extension) or any(map(_extends, node.children))


def speaks_of_members(s: Set) -> bool:
    """Whether a set has a condition on its dimensions, which are the members above."""
    params = len(s.param_names)
    return any(uses(c, dim) for space, cs in s.parts for c in cs for dim in range(params, params + space.n_out))


def _asked(node: Node, statements: Sequence[str], below: bool) -> dict[str, Set]:
    """The sizes at which guards let pass instances of statements, of those all of whose instances meet one.

    Parameters
    ----------
    below : whether a band is above.
    """
    if isinstance(node, Filter):
        statements = [s for s in statements if s in node.statements]
    each = [(child, _asked(child, statements, below or isinstance(node, Band))) for child in node.children]
    out: dict[str, Set] = {}
    for s in statements:
        ways = [found for child, found in each if not isinstance(child, Filter) or s in child.statements]
        if ways and all(s in found for found in ways):
            out[s] = reduce(or_, [found[s] for found in ways])
    if below and isinstance(node, Guard) and not speaks_of_members(node.guard):
        sizes = node.guard.params()
        out = {s: sizes & out[s] if s in out else sizes for s in statements}
    return out
