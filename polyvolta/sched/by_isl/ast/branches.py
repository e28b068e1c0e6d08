"""Conditions that exclude each other, one after another, as isl has them: each but the first in an other branch.

`scan` writes each part below its own condition, `if (n >= 5) A(); if (n <= 4) B();`. A part whose condition holds only
where the one before it does not goes to the other branch of that one, without what this says already; a part whose
condition holds only where the one before it holds goes into it.

>>> from polyvolta.isl import AstBuild, UnionMap
>>> loops = AstBuild.alloc().node_from_schedule_map(UnionMap("[n] -> { A[] -> [0] : n >= 5; B[] -> [1] : n < 5 }"))
>>> print(loops.to_C_str(), end="")
if (n >= 5) {
  A();
} else {
  B();
}
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import pairwise

from polyvolta.sched.by_isl.ast.noted import NotedIf, note_of
from polyvolta.sched.by_isl.ast.places import all_of
from polyvolta.sched.loops.ast import Ast, Condition, If
from polyvolta.sets import Set
from polyvolta.sets.by_isl.objects.context import option


@dataclass(frozen=True, slots=True)
class _Region:
    """A branch: where it stands, in which conditions, and in the other branches of which.

    Sets stay apart: a loop to the greatest of many bounds has a piece for each, of which differences have the product.
    """

    where: Set
    within: tuple[Set, ...] = ()
    without: tuple[Set, ...] = ()

    def has(self, some: Set) -> bool:
        """Whether points of `where` are all here."""
        return all(some.is_subset(s) for s in self.within) and all(some.is_disjoint(s) for s in self.without)

    def lies_in(self, given: Set, wanted: Set) -> bool:
        """Whether the points that are in a given set, too, are in a wanted one."""
        some = reduce(Set.intersect, self.within, self.where & given)
        if not self.without:
            return some.is_subset(wanted)
        return (some - wanted).is_subset(reduce(Set.union, self.without))


@dataclass(slots=True)
class _Branches:
    """A condition while its branches grow: where it is reached, and holds, and where it is reached, and does not."""

    node: If
    conditions: tuple[Condition, ...]
    holds: _Region
    fails: _Region
    then: list[Ast | _Branches]
    other: list[Ast | _Branches] = field(default_factory=list)


def branched(body: Sequence[Ast], given: Collection[int], known: Callable[[], Set]) -> tuple[Ast, ...]:
    """Nodes after one another, whose conditions have other branches where the next ones run there alone.

    Order and condition of what runs stay. Cost: for neighbours below conditions a few emptiness tests each.

    Parameters
    ----------
    given : the places of what functions gave, which stays as it is: its conditions may have other branches already,
        and speak of parameters that are unknown here.
    known : what is known where they stand, of parameters and loop variables, all as parameters.
    """
    own = [isinstance(node, If) and at not in given for at, node in enumerate(body)]
    if not any(a and b for a, b in pairwise(own)):
        return tuple(body)
    where, out, last = known(), [], []
    allowed = bool(option("ast_build_allow_else"))
    for node, may in zip(body, own, strict=True):
        if may and isinstance(node, If):
            _place(node, where, out, last, allowed)
        else:
            last = []
            out.append(node)
    return tuple(map(_done, out))


def _place(node: If, where: Set, out: list[Ast | _Branches], last: list[_Branches], allowed: bool) -> None:
    """Put a node behind those of `out`, or in a branch of one of `last`, conditions that nothing stands behind."""
    branch, here = out, _Region(where)
    holds = _points(where, node.conditions)
    runs = where & holds
    while last:
        if last[-1].holds.has(runs):
            branch, here = last[-1].then, last[-1].holds
            break
        if allowed and last[-1].fails.has(runs):
            branch, here = last[-1].other, last[-1].fails
            break
        last.pop()
    left = list(node.conditions)
    for c in node.conditions if branch is not out else ():
        rest = [d for d in left if d is not c]
        if here.lies_in(_points(where, rest), _points(where, [c])):
            left = rest
    if left:
        inside, outside = replace(here, within=(*here.within, holds)), replace(here, without=(*here.without, holds))
        new = _Branches(node, tuple(left), inside, outside, list(node.body))
        last.append(new)
        branch.append(new)
    else:
        branch += node.body


def _points(like: Set, conditions: Sequence[Condition]) -> Set:
    """Where conditions hold, with the parameters of a set."""
    return Set(f"[{', '.join(like.param_names)}] -> {{ : {all_of(conditions)} }}")


def _done(node: Ast | _Branches) -> Ast:
    if not isinstance(node, _Branches):
        return node
    then, other = tuple(map(_done, node.then)), tuple(map(_done, node.other))
    return NotedIf(node.conditions, then, node.node.at, note_of(node.node), other)
