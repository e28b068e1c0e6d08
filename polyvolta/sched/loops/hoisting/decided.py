"""Conditions in a loop that its bounds decide, where these are extremes of what several statements have.

    for (c0 = 0; c0 < max(1, (n >= 9 ? n : 1)); c0++)         for (c0 = 0; c0 < max(1, (n >= 9 ? n : 1)); c0++)
      if (c0 == 0) A();                                  ->     if (c0 == 0) A();
      else if (n >= 9 && c0 < n) B(c0);                         else B(c0);

One of the bounds holds, whichever it is: here c0 < 1, or n >= 9 and c0 < n. What follows from each of those that are
possible at a place is no test there. Where the loop is made no bound is known but the one that all of them imply. Cost:
some linear programs for each condition in such a loop.

What runs nowhere, by the rows of what is around it, is left out: cases of sizes that are told apart may leave nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice, product

from polyvolta.sched.loops.ast import (
    AnyOf,
    Ast,
    Bound,
    Call,
    Choice,
    Condition,
    Extreme,
    For,
    If,
    mapped,
    negation,
    within,
)
from polyvolta.sched.loops.conditions import guarded
from polyvolta.sched.loops.hoisting.either import holds
from polyvolta.sched.loops.hoisting.needs import extent, stating
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sets import var

MOST = 6  # cases of a loop's bounds beyond which they are not looked at


def without_decided(known: Known, body: tuple[Ast, ...], cases: Sequence[System] = ()) -> tuple[Ast, ...]:
    """The same code without the conditions that follow from each of the cases in which a loop has a value.

    Parameters
    ----------
    cases : of the loop around, one of which holds.
    """
    return tuple(chain.from_iterable(_without(known, node, cases) for node in body))


def _without(known: Known, node: Ast, cases: Sequence[System]) -> tuple[Ast, ...]:
    match node:
        case Call():
            return (node,)
        case For():
            own = list(islice(_of_bounds(known, node), MOST + 1))
            own = own if 1 < len(own) <= MOST else cases
            inside = _where_it_runs(known, extent(known, node), node.body, own)
            return (replace(node, body=inside),) if inside else ()
        case If(conditions):
            left = tuple([c for c in conditions if not (cases and _follows(known, cases, c))])
            rows = stating(known, conditions)
            inside = _where_it_runs(known, rows, node.body, cases)
            if not left:
                return inside
            if not inside and not _where_it_runs(known, rows, node.other, cases):
                return without_decided(known, node.other, cases)
            fails = negation(conditions)
            other = without_decided(_where(known, fails), node.other, cases) if node.other else ()
            if not inside:
                return guarded(fails, other, node.at)
            if not other and len(inside) == 1 and isinstance(only := inside[0], If) and not only.other:
                left, inside = (*left, *only.conditions), only.body
            return (replace(node, conditions=left, body=inside, other=other),)
    left = mapped(node, lambda inner: without_decided(known, inner, cases))
    return (left,) if within(left) else ()


def _where_it_runs(known: Known, rows: System, body: tuple[Ast, ...], cases: Sequence[System]) -> tuple[Ast, ...]:
    """The code of a branch or a loop, given the rows that hold in it; none where they hold nowhere."""
    return () if known.excludes(rows) else without_decided(known.given(rows), body, cases)


def _follows(known: Known, cases: Sequence[System], c: Condition) -> bool:
    """Whether a condition holds in each of some cases that is possible."""
    left = [known.given(case) for case in cases if not known.excludes(case)]
    return bool(left) and all(_holds(there, c) for there in left)


def _holds(known: Known, c: Condition) -> bool:
    if isinstance(c, AnyOf):
        return any(all(_holds(known, d) for d in case) for case in c.alternatives)
    return holds(known, c)


def _where(known: Known, conditions: Sequence[Condition]) -> Known:
    """What is known where conditions hold; of alternatives the one that is possible, if it is one."""
    for c in conditions:
        if isinstance(c, AnyOf):
            each = [stating(known, case) for case in c.alternatives]
            left = [s for s in each if not s.empty and not known.excludes(s)]
            known = known.given(left[0]) if len(left) == 1 else known
        else:
            known = known.given(stating(known, (c,)))
    return known


def _of_bounds(known: Known, node: For) -> Iterator[System]:
    """The cases of which one holds at each value of a loop."""
    sides = [_side(known, node, e, -1) for e in node.lower] + [_side(known, node, e, 1) for e in node.upper]
    yield from _all_of(sides)


def _side(known: Known, node: For, e: Bound, sign: int) -> list[System]:
    """The cases of which one holds where a loop's variable is within a bound, from above (sign 1) or below."""
    match e:
        case Extreme(kind, terms):
            each = [_side(known, node, term, sign) for term in terms]
            return [*chain.from_iterable(each)] if (kind == "max") == (sign > 0) else [*islice(_all_of(each), MOST + 1)]
        case Choice(conditions, then, other):
            there = stating(known, conditions)
            return [s.add(there) for s in _side(known, node, then, sign)] + _side(known, node, other, sign)
    return [stating(known, (("ge", sign * (e - var(node.var))),))]


def _all_of(sides: Sequence[Sequence[System]]) -> Iterator[System]:
    for some in product(*sides):
        case = System()
        for s in some:
            case.add(s)
        yield case
