"""A loop of statements that take turns counts by one where all in it speaks of its values divided by the step.

    for (c0 = 0; c0 <= 2*t - 2; c0 += 2) {            for (c0 = 0; c0 < t; c0++) {
      E(c0/2);                                  ->      E(c0);
      H(c0/2);                                          H(c0);
    }                                                 }

So it is where a step of time is 2t and 2t + 1 for two statements: a value of the loop is neither one's alone. isl's
generator counts such loops so, too. A loop of one statement has the values of the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import gcd

from polyvolta.sched.loops.ast import (
    AnyOf,
    Ast,
    Block,
    Bound,
    Call,
    Choice,
    Condition,
    Extreme,
    For,
    If,
    asking,
    expressions,
    nodes,
)
from polyvolta.sets import Aff, var


def by_one(loop: For, residue: Aff) -> For:
    """The loop over the numbers of its values, if what is in it is shorter so, all of it; else the loop.

    Exact where each lower bound is of its residue modulo the step, plainly, and each upper bound a number from that:
    with v = step*n + residue it is the same n that are between the bounds, which are divided. Nothing is asked that was
    not before, nor more often. Cost: linear in what is in the loop.

    Parameters
    ----------
    residue : of its values modulo the step, over what is outside.
    """
    step, name = loop.step, loop.var
    bounds = (*loop.lower, *loop.upper)
    if not loop.upper or not all(map(_plain, bounds)):
        return loop
    each = [e - residue for b in bounds for e in expressions(b)]
    if any(c % step for e in each for _, c in e.terms):
        return loop
    if any((e - residue).const % step for b in loop.lower for e in expressions(b)):
        return loop

    def divided(e: Aff) -> Aff:
        return (e - residue) // step

    value = step * var(name) + residue
    found = _with_terms(loop.body, lambda e: e.subs({name: value}) if name in e.names() else e)
    before, after = _spoken(loop.body, name), _spoken(found, name)
    if len(before) != len(after) or any(len(str(b)) > len(str(a)) for a, b in zip(before, after, strict=True)):
        return loop
    low, high = (tuple([_bound_of(b, divided) for b in some]) for some in (loop.lower, loop.upper))
    return replace(loop, lower=low, upper=high, step=1, body=found)


def _plain(b: Bound) -> bool:
    """Whether a bound is one of expressions, without conditions."""
    return isinstance(b, Aff) or (isinstance(b, Extreme) and all(map(_plain, b.terms)))


def _spoken(body: Sequence[Ast], name: str) -> list[Aff]:
    """The expressions in some code that have a name, in order."""
    each = [node.args if isinstance(node, Call) else asking(node) for node in nodes(body)]
    return [e for some in each for e in some if name in e.names()]


def _with_terms(body: Sequence[Ast], f: Callable[[Aff], Aff]) -> tuple[Ast, ...]:
    """Some code with what a function makes of each expression in it; those of conditions are divided as they can be."""
    out: list[Ast] = []
    for node in body:
        match node:
            case Call(_, args):
                out.append(replace(node, args=tuple([f(e) for e in args])))
            case If(conditions, inside, _, other):
                inside, other = _with_terms(inside, f), _with_terms(other, f)
                out.append(replace(node, conditions=_conditions(conditions, f), body=inside, other=other))
            case For(_, lower, upper, _, _, inside):
                low, high = (tuple([_bound_of(b, f) for b in bounds]) for bounds in (lower, upper))
                out.append(replace(node, lower=low, upper=high, body=_with_terms(inside, f)))
            case Block(_, inside):
                out.append(replace(node, body=_with_terms(inside, f)))
    return tuple(out)


def _bound_of(b: Bound, f: Callable[[Aff], Aff]) -> Bound:
    """A bound with what a function makes of each expression in it."""
    match b:
        case Extreme(kind, terms):
            return Extreme(kind, tuple([_bound_of(t, f) for t in terms]))
        case Choice(conditions, then, other):
            return Choice(_conditions(conditions, f), _bound_of(then, f), _bound_of(other, f))
    return f(b)


def _conditions(conditions: Sequence[Condition], f: Callable[[Aff], Aff]) -> tuple[Condition, ...]:
    return tuple([_condition(c, f) for c in conditions])


def _condition(c: Condition, f: Callable[[Aff], Aff]) -> Condition:
    if isinstance(c, AnyOf):
        return AnyOf(tuple([_conditions(case, f) for case in c.alternatives]))
    kind, e = c[0], f(c[1])
    g = gcd(*[v for _, v in e.terms])
    return (kind, e // g) if g > 1 and (kind == "ge" or e.const % g == 0) else (kind, e)
