"""The few values of a long loop that most of its conditions are for stand in a branch of their own.

    for (c0 = 0; c0 <= n; c0++) {                 for (c0 = 0; c0 <= n; c0++) {
      if (m <= 4) { if (c0 <= 1) S(c0); }           if (c0 <= 2) {
      T(c0);                                          if (m <= 4) { if (c0 <= 1) S(c0); }
      if (m % 3 == 0) { if (c0 <= 0) U(c0); }         T(c0);
      if (m >= 9) { if (c0 == 2) V(c0); }      ->     if (m % 3 == 0) { if (c0 <= 0) U(c0); }
    }                                                 if (m >= 9) { if (c0 == 2) V(c0); }
                                                    } else
                                                      T(c0);
                                                  }

Else all other values, which are most, ask what holds at none of them. A test that stands in the body, of the loop's
variable and a number, is one that tells them apart, and what either branch decides is not asked in it: both do what the
body does, in its order. The few values have one test more; what the others have is short, and half of the parts are
gone there that are asked straight in the loop, or more. Cost: some linear programs for each part of such a body.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from polyvolta.sched.loops.ast import (
    AnyOf,
    Ast,
    Block,
    Call,
    Condition,
    For,
    If,
    length,
    mapped,
    negation,
    nodes,
    within,
)
from polyvolta.sched.loops.hoisting.either import holds
from polyvolta.sched.loops.hoisting.needs import alternatives, extent, stating
from polyvolta.sched.loops.hoisting.together import Test, few, limited
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sets import var

PARTS = 4  # of a body that are asked straight in it, at least
SECOND = 6  # nodes that are written a second time, at most
TRIED = 3  # tests that are tried of a loop
CASES = 4  # alternatives of conditions beyond which they stay


def short_apart(known: Known, body: tuple[Ast, ...]) -> tuple[Ast, ...]:
    """The same code with few values of long loops in branches."""
    return tuple([_apart(known, node) for node in body]) if any(map(_many, nodes(body))) else body


def _many(node: Ast) -> bool:
    """Whether a node is a loop with as many parts as one that is looked at."""
    return isinstance(node, For) and len(_parts(node)) >= PARTS


def _parts(loop: For) -> list[For | If]:
    """What is asked straight in a loop."""
    return [node for node in loop.body if isinstance(node, If | For)]


def _apart(known: Known, node: Ast) -> Ast:
    match node:
        case If(conditions, body, _, other):
            body = short_apart(known.given(stating(known, conditions)), body)
            there = known.given(stating(known, negation(conditions))) if other else known
            return replace(node, body=body, other=short_apart(there, other))
        case For():
            there = known.given(extent(known, node))
            found = None if limited(known, node) else _in_two(there, node)
            return replace(node, body=found or short_apart(there, node.body))
    return mapped(node, lambda inner: short_apart(known, inner))


def _in_two(known: Known, loop: For) -> tuple[Ast, ...] | None:
    """The body of a loop in two branches; None where there is no such test."""
    parts = _parts(loop)
    col = known.columns.row(var(loop.var))[0][0][0]
    if len(parts) < PARTS or few(known, col):
        return None
    for c in islice(dict.fromkeys(_tests(known, loop.body, col)), TRIED):
        here, there = known.given(stating(known, (c,))), known.given(stating(known, negation((c,))))
        if not few(here, col):
            continue
        long = _left(there, loop.body)
        asked = sum(isinstance(node, If | For) for node in long)
        if 2 * (1 + asked) <= len(parts) and length(long) <= SECOND:
            at = next(node.at for node in parts)
            return (If((c,), short_apart(here, _left(here, loop.body)), at, long),) if long else None
    return None


def _tests(known: Known, body: Sequence[Ast], col: int) -> Iterator[Test]:
    """The tests that a column is at a number at most, or at least, in some code but not in its loops; and opposites."""
    for node in body:
        if isinstance(node, If):
            for c in node.conditions:
                if not isinstance(c, AnyOf) and c[0] == "ge" and [n for n, _ in known.columns.row(c[1])[0]] == [col]:
                    yield c
                    yield from (d for d in negation((c,)) if not isinstance(d, AnyOf))
            yield from _tests(known, within(node), col)


def _left(known: Known, body: Sequence[Ast]) -> tuple[Ast, ...]:
    """What is left of some code where more is known: no part that does not run there, no condition that holds."""
    out: list[Ast] = []
    for node in body:
        match node:
            case If(conditions):
                other = _left(known.given(stating(known, negation(conditions))), node.other) if node.other else ()
                if _never(known, conditions):
                    out += other
                    continue
                inside = _left(known.given(stating(known, conditions)), node.body)
                left = tuple([c for c in conditions if not holds(known, c)])
                if not left:
                    out += inside
                elif inside:
                    out.append(replace(node, conditions=left, body=inside, other=other))
                elif other:
                    out.append(replace(node, conditions=negation(conditions), body=other, other=()))
            case For():
                rows = extent(known, node)
                inside = () if known.excludes(rows) else _left(known.given(rows), node.body)
                out += (replace(node, body=inside),) if inside else ()
            case Block():
                inside = _left(known, node.body)
                out += (replace(node, body=inside),) if inside else ()
            case Call():
                out.append(node)
    return tuple(out)


def _never(known: Known, conditions: Sequence[Condition]) -> bool:
    """Whether conditions surely fail; not asked of many alternatives."""
    cases = alternatives(known, conditions, CASES)
    return cases is not None and all(map(known.excludes, cases))
