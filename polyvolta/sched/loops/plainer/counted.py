"""A loop of statements that take turns counts by one where all in it speaks of its values divided by the step.

    for (c0 = 0; c0 <= 2*t - 2; c0 += 2) {            for (c0 = 0; c0 < t; c0++) {
      E(c0/2);                                  ->      E(c0);
      H(c0/2);                                          H(c0);
    }                                                 }

So it is where a step of time is 2t and 2t + 1 for two statements: a value of the loop is neither one's alone. isl's
generator counts such loops so, too. A loop of one statement has the values of the tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polyvolta.sched.loops.ast import (
    Ast,
    Bound,
    Call,
    Extreme,
    For,
    If,
    bound_of,
    compared,
    expressions,
    with_terms,
    within,
)
from polyvolta.sets import Aff, var


def counted(loop: For, residue: Aff) -> For:
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
    found = with_terms(loop.body, lambda e: e.subs({name: value}) if name in e.names() else e)
    before, after = _spoken(loop.body, name), _spoken(found, name)
    if len(before) != len(after) or any(len(str(b)) > len(str(a)) for a, b in zip(before, after, strict=True)):
        return loop
    low, high = (tuple([bound_of(b, divided) for b in some]) for some in (loop.lower, loop.upper))
    return replace(loop, lower=low, upper=high, step=1, body=found)


def _plain(b: Bound) -> bool:
    """Whether a bound is one of expressions, without conditions."""
    return isinstance(b, Aff) or (isinstance(b, Extreme) and all(map(_plain, b.terms)))


def _spoken(body: Sequence[Ast], name: str) -> list[Aff]:
    """The expressions in some code that have a name, in order."""
    out: list[Aff] = []
    for node in body:
        match node:
            case Call(_, args):
                out += args
            case If(conditions):
                out += compared(conditions)
            case For(_, lower, upper):
                out += [e for b in (*lower, *upper) for e in expressions(b)]
        out += _spoken(within(node), name)
    return [e for e in out if name in e.names()]
