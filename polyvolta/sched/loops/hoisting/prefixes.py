"""What alternatives side by side begin with is tested once, and what they say behind their first condition.

    a && b && x || a && b && y || z     ->      a && b && (x || y) || z
    a && x || b && x                    ->      (a || b) && x

Where `a` or `b` does not hold, neither is asked again, and where both do, not either: no order of values takes more
tests than before, for all are asked in the same order. Of the second, `x` is asked once where one of `a` and `b` holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby, takewhile

from polyvolta.sched.loops.ast import AnyOf, Ast, Condition, If, each, mapped


def asked_first(body: tuple[Ast, ...]) -> tuple[Ast, ...]:
    """The same code with conditions whose alternatives share no beginning with the next one."""
    return each(body, _asked_first)


def _asked_first(node: Ast) -> Ast:
    inner = mapped(node, asked_first)
    if isinstance(inner, If) and any(isinstance(c, AnyOf) for c in inner.conditions):
        return replace(inner, conditions=_conditions(inner.conditions))
    return inner


def _conditions(some: Sequence[Condition]) -> tuple[Condition, ...]:
    """Conditions, each alternative of which begins with another condition than the one before it."""
    out: list[Condition] = []
    for c in some:
        cases = _cases(c.alternatives) if isinstance(c, AnyOf) else ((c,),)
        out += cases[0] if len(cases) == 1 else (AnyOf(cases),)
    return tuple(out)


def _cases(cases: Sequence[tuple[Condition, ...]]) -> tuple[tuple[Condition, ...], ...]:
    """Alternatives of which those side by side that begin alike are one, and those that then go on alike."""
    out: list[tuple[Condition, ...]] = []
    for _, together in groupby(cases, key=lambda case: case[:1]):
        some = list(together)
        shared = tuple(c[0] for c in takewhile(lambda c: c.count(c[0]) == len(c), zip(*some, strict=False)))
        rests = [case[len(shared) :] for case in some]
        if len(some) == 1 or not all(rests):  # one that is but the beginning holds where the others do
            out.append(_conditions(some[0]) if len(some) == 1 else shared)
        else:
            out.append((*shared, AnyOf(_cases(rests))))
    ended: list[tuple[Condition, ...]] = []
    for rest, together in groupby(out, key=lambda case: case[1:]):
        some = list(together)
        ended += [(AnyOf(tuple([case[:1] for case in some])), *rest)] if rest and len(some) > 1 else some
    return tuple(ended)
