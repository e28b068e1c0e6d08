"""What both branches of a condition do first, or last, stands once: before the condition, or behind it.

    if (a > 0) {                         if (a > 0)
      S(c0);                               S(c0);
      R(c0, n - 1);               ->     R(c0, n - 1);
    } else
      R(c0, n - 1);

Conditions are of parameters and loop variables, which nothing in a body changes, so they may be asked before or behind
what both branches do; each is asked once in either form, and what runs stays in its order. Where one branch has no more
than that, the condition is of the other one. An equality with nothing but an other branch stays: there it would be two
comparisons. Cost: one look at each branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polyvolta.sched.loops.ast import AnyOf, Ast, If, mapped, negation, same


def said_once(body: tuple[Ast, ...]) -> tuple[Ast, ...]:
    """The same code with what both branches of a condition do, first or last, before or behind it."""
    out: list[Ast] = []
    changed = False
    for node in body:
        inner = mapped(node, said_once)
        found = _around(inner) if isinstance(inner, If) and inner.other else (inner,)
        changed |= len(found) != 1 or found[0] is not node
        out += found
    return tuple(out) if changed else body


def _around(node: If) -> tuple[Ast, ...]:
    """A condition between what both of its branches do."""
    one, other = node.body, node.other
    first = _alike(one, other)
    one, other = one[len(first) :], other[len(first) :]
    last = _alike(one[::-1], other[::-1])[::-1]
    one, other = one[: len(one) - len(last)], other[: len(other) - len(last)]
    if not first and not last:
        return (node,)
    if one or not other:
        return (*first, *((replace(node, body=one, other=other),) if one else ()), *last)
    if any(isinstance(c, AnyOf) or c[0] == "eq" for c in node.conditions):
        return (node,)
    return (*first, replace(node, conditions=negation(node.conditions), body=other, other=()), *last)


def _alike(some: Sequence[Ast], others: Sequence[Ast]) -> list[Ast]:
    """What two codes do alike from the beginning on."""
    out: list[Ast] = []
    for a, b in zip(some, others, strict=False):
        both = same((a,), (b,))
        if both is None:
            break
        out += both
    return out
