"""What conditions outside say is not asked again inside.

    if (n <= 3 || k <= 7)                           if (n <= 3 || k <= 7)
      for c0: if (k >= 8 && n <= 3) S(c0);    ->      for c0: if (k >= 8) S(c0);

What is known where a part is made is a conjunction: of alternatives that stand around it there is nothing in it. Here
they are looked at once all is made, as far as equal terms say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polyvolta.sched.loops.ast import AnyOf, Ast, Bound, Call, Choice, Condition, Extreme, For, If, kept, negation
from polyvolta.sched.loops.hoisting.plain import excludes, implies, mentions, unsaid, where


def asked_once(body: tuple[Ast, ...], known: tuple[Condition, ...] = ()) -> tuple[Ast, ...]:
    """The same code without tests that conditions around them decide, `known` of which hold around the whole."""
    out: list[Ast] = []
    for node in body:
        if isinstance(node, Call):
            out.append(node)
            continue
        there = known
        if isinstance(node, If):
            left = _left(node.conditions, known)
            other = asked_once(node.other, (*known, *negation(node.conditions))) if node.other else ()
            if left is None:
                out += other
                continue
            node = node if other is node.other else replace(node, other=other)  # noqa: PLW2901
            there = (*unsaid(known, node.conditions), *node.conditions)
            node = node if left == node.conditions else replace(node, conditions=left)  # noqa: PLW2901
        elif isinstance(node, For):
            there = tuple(c for c in known if not mentions(c, node.var))
            lower, upper = (tuple([_bound(b, there) for b in some]) for some in (node.lower, node.upper))
            if (lower, upper) != (node.lower, node.upper):
                node = replace(node, lower=lower, upper=upper)  # noqa: PLW2901
        inner = asked_once(node.body, there)
        if inner is not node.body:
            node = replace(node, body=inner)  # noqa: PLW2901
        if isinstance(node, If) and node.conditions and node.other and not inner:  # that branch alone is left
            node = If(negation(node.conditions), node.other, node.at)  # noqa: PLW2901
            inner = node.body
        if inner:
            out += inner if isinstance(node, If) and not node.conditions else (node,)
    return kept(body, out)


def never(conditions: tuple[Condition, ...], known: Sequence[Condition]) -> bool:
    """Whether conditions never hold where others do, as far as equal terms say."""
    return _left(conditions, known) is None


def _left(conditions: tuple[Condition, ...], known: Sequence[Condition]) -> tuple[Condition, ...] | None:
    """What is left of conditions beside what is known and one another; None where they never hold."""
    left = list(conditions)
    for c in conditions:
        at = next(k for k, d in enumerate(left) if d is c)
        facts = _facts([*known, *left[:at], *left[at + 1 :]])
        cases = c.alternatives if isinstance(c, AnyOf) else ((c,),)
        if all(any(excludes(f, x) for x in case for f in facts) for case in cases):
            return None
        left[at : at + 1] = () if any(implies(f, c) for f in facts) else where(c, facts)
    return tuple(left)


def _bound(b: Bound, known: Sequence[Condition]) -> Bound:
    """A bound of a loop where some conditions hold, which leave one of what it chooses from."""
    match b:
        case Extreme(kind, some):
            terms = tuple(dict.fromkeys(_bound(t, known) for t in some))
            return b if terms == some else terms[0] if len(terms) == 1 else Extreme(kind, terms)
        case Choice(conditions, then, other):
            left = _left(conditions, known)
            if left is None:
                return _bound(other, known)
            then = _bound(then, known)
            return then if not left else replace(b, conditions=left, then=then, other=_bound(other, known))
    return b


def _facts(known: Sequence[Condition]) -> list[Condition]:
    """What is known, and the conditions of alternatives of which the others exclude all but one."""
    facts, todo = list(known), [c for c in known if isinstance(c, AnyOf)]
    while todo:
        later = []
        for c in todo:
            cases = [case for case in c.alternatives if not any(excludes(f, x) for x in case for f in facts)]
            if len(cases) == 1:
                facts += cases[0]
            else:
                later.append(c)
        if len(later) == len(todo):
            break
        todo = later
    return facts
