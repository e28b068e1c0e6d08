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
from dataclasses import dataclass, field
from itertools import pairwise

from polyvolta.sched.by_isl.ast.noted import NotedIf, note_of
from polyvolta.sched.by_isl.ast.places import all_of
from polyvolta.sched.loops.ast import Ast, Condition, If
from polyvolta.sets import Set
from polyvolta.sets.by_isl.objects.context import option


@dataclass(slots=True)
class _Branches:
    """A condition while its branches grow: where it is reached, and holds, and where it is reached, and does not."""

    node: If
    conditions: tuple[Condition, ...]
    holds: Set
    fails: Set
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
    branch, here = out, where
    runs = where & _points(where, node.conditions)
    while last:
        if runs.is_subset(last[-1].holds):
            branch, here = last[-1].then, last[-1].holds
            break
        if allowed and runs.is_subset(last[-1].fails):
            branch, here = last[-1].other, last[-1].fails
            break
        last.pop()
    left = list(node.conditions)
    for c in node.conditions if branch is not out else ():
        rest = [d for d in left if d is not c]
        if (here & _points(here, rest)).is_subset(_points(here, [c])):
            left = rest
    if left:
        new = _Branches(node, tuple(left), runs, here - runs, list(node.body))
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
