"""What guards below loops ask of sizes is asked of the domain, for the statements that they keep out.

    S: 0 <= i <= n, T: i = n                                      if (m >= 3)
    for c0 <= n: { if (m >= 3) S(c0); if (c0 == n) T; }    ->       for c0 <= n: { S(c0); if (c0 == n) T; }
                                                                  else
                                                                    T;

A loop is made for the statements that have an instance, so that at other sizes none runs for those without. A member
above that is one number for a statement says no more than that in a guard.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import or_

from polyvolta.sched.tree import Band, Domain, Extension, Filter, Guard, Member, Node
from polyvolta.sets import Aff, Set
from polyvolta.sets.conjuncts.conjunct import Conjunct, normalise, uses

CASES = 3  # conjunctions of sizes that are asked above all bands


def met(root: Domain) -> tuple[Domain, Set | None]:
    """The tree with the instances alone that guards below its bands let pass, of those that speak of sizes alone; and
    what is to be asked of sizes above all bands, if anything.

    An extension adds what it adds where any instance comes by: the domain of a tree that has one stays as it is. So do
    the instances of a statement that would be in more pieces, or that guards let pass anyway. If all of several
    statements meet guards, and some would be in more pieces, these are asked above all bands as well, if they are a few
    conjunctions.
    """
    names = [space.out.name or "" for space, _ in root.domain.parts]
    asked = {} if _extends(root) else _asked(root.child, names, ())
    if not asked:
        return root, None
    parts: list[Set] = []
    whole = True
    for name, (space, pieces) in zip(names, root.domain.parts, strict=True):
        part = root.domain._of(root.domain.param_names, [(space, pieces)])
        if name in asked:
            left = part.intersect_params(asked[name]).coalesce()
            if sum(len(some) for _, some in left.parts) > len(pieces):
                whole = False
            elif not part <= left:
                part = left
        parts.append(part)
    sizes = None
    if not whole and len(asked) == len(names) > 1:
        sizes = reduce(or_, asked.values()).coalesce()
        sizes = sizes if 0 < sum(len(some) for _, some in sizes.parts) <= CASES else None
    return replace(root, domain=reduce(or_, parts)), sizes


def _extends(node: Node) -> bool:
    return isinstance(node, Extension) or any(map(_extends, node.children))


def speaks_of_members(s: Set) -> bool:
    """Whether a set has a condition on its dimensions, which are the members above."""
    params = len(s.param_names)
    return any(uses(c, dim) for space, cs in s.parts for c in cs for dim in range(params, params + space.n_out))


def _asked(node: Node, statements: Sequence[str], above: tuple[Member, ...]) -> dict[str, Set]:
    """The sizes at which guards let pass instances of statements, of those all of whose instances meet one.

    Parameters
    ----------
    above : the members of the bands above.
    """
    if isinstance(node, Filter):
        statements = [s for s in statements if s in node.statements]
    inside = (*above, *node.members) if isinstance(node, Band) else above
    each = [(child, _asked(child, statements, inside)) for child in node.children]
    out: dict[str, Set] = {}
    for s in statements:
        ways = [found for child, found in each if not isinstance(child, Filter) or s in child.statements]
        if ways and all(s in found for found in ways):
            out[s] = reduce(or_, [found[s] for found in ways])
    if above and isinstance(node, Guard):
        for s in statements:
            sizes = _sizes(node.guard, [dict(m.exprs).get(s) for m in above])
            if sizes is not None:
                out[s] = sizes & out[s] if s in out else sizes
    return out


def _sizes(guard: Set, values: Sequence[object]) -> Set | None:
    """The sizes at which a guard holds by values of members above; None where it speaks of one that is no number."""
    first = 1 + len(guard.param_names)
    numbers = {first + k: v.const for k, v in enumerate(values) if isinstance(v, Aff) and v.is_constant}

    def at(c: Conjunct) -> Conjunct | None:
        rows = [tuple(-v if j == 0 else int(j == dim) for j in range(1 + c.n)) for dim, v in numbers.items()]
        return normalise(c.n, c.divs, [*c.eqs, *[(*row, *(0,) * len(c.divs)) for row in rows]], c.ineqs)

    if not speaks_of_members(guard):
        return guard.params()
    for space, some in guard.parts:
        others = {first + k for k in range(space.n_out)} - numbers.keys()
        if space.n_out != len(values) or any(uses(c, dim - 1) for c in some for dim in others):
            return None
    return guard._map_conjuncts(at).params()
