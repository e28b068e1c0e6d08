"""Alternatives of sizes that all of a code needs stand around it.

    for c0: {                                       if (n <= 7 || m <= 1)
      if (n <= 7 || m <= 1) S(c0);           ->       for c0: {
      if (n + c0 <= 0 && c0 >= 0) T(c0);                S(c0);
    }                                                   if (n + c0 <= 0 && c0 >= 0) T(c0);
                                                      }

A part whose own conditions say one of them has no test of them, so that they are no condition that all parts share. So
it is of what a condition of sizes has under it, wherever that stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from polyvolta.sched.loops.ast import AnyOf, Ast, Call, Condition, For, If, each, mapped
from polyvolta.sched.loops.conditions import guarded
from polyvolta.sched.loops.hoisting.needs import extent, stating
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sched.tree import Path

MOST = 4  # conditions that are tried


def needed_around(known: Known, body: tuple[Ast, ...], at: Path) -> tuple[Ast, ...]:
    """The same code under the alternatives that all of it needs; else so what conditions of sizes have under them.

    Those stand before loops at last: of parts of which none runs where another one does each gets a loop of its own.
    """
    if next(_alternatives(known, body, 1), None) is None:
        return body
    found = needed_alternatives(known, body)
    return guarded(found, body, at) if found else each(body, lambda node: _around_inside(known, node))


def _around_inside(known: Known, node: Ast) -> Ast:
    if isinstance(node, Call):
        return node
    there = known.given(said(known, node))
    if isinstance(node, If) and not node.other and all(_of_sizes(known, c) for c in node.conditions):
        return mapped(node, lambda inner: needed_around(there, inner, node.at))
    return mapped(node, lambda inner: each(inner, lambda part: _around_inside(there, part)))


def needed_alternatives(known: Known, body: Sequence[Ast]) -> tuple[AnyOf, ...]:
    """The conditions of sizes alone, alternatives in a loop or at several places, without which nothing in a code runs.

    Each holds at every call: it is tested around it, or what is tested and the loops there say one of its cases.
    """
    often = Counter(c for c, times in _alternatives(known, body, 1) for _ in range(times))
    tried = [c for c, times in often.items() if times > 1][:MOST]
    return tuple(c for c in tried if _needs(known, body, c))


def _alternatives(known: Known, body: Sequence[Ast], times: int) -> Iterator[tuple[AnyOf, int]]:
    """The alternatives of sizes that are tested in some code that runs so many times, 2 in a loop; and how many."""
    for node in body:
        if isinstance(node, Call):
            continue
        for c in node.conditions if isinstance(node, If) else ():
            if isinstance(c, AnyOf) and _of_sizes(known, c):
                yield c, times
        yield from _alternatives(known, node.body, 2 if isinstance(node, For) else times)


def _of_sizes(known: Known, c: Condition) -> bool:
    if isinstance(c, AnyOf):
        return all(_of_sizes(known, inner) for inner in chain.from_iterable(c.alternatives))
    return known.columns.of_sizes(known.columns.row(c[1])[0])


def _needs(known: Known, body: Sequence[Ast], c: AnyOf) -> bool:
    """Whether a condition holds at all calls in some code."""
    for node in body:
        if isinstance(node, Call):
            return False
        if isinstance(node, If) and c in node.conditions:
            continue
        there = known.given(said(known, node))
        if not any(all(holds(there, d) for d in case) for case in c.alternatives) and not _needs(there, node.body, c):
            return False
    return True


def said(known: Known, node: Ast) -> System:
    """What holds inside of a node."""
    if isinstance(node, If):
        return stating(known, node.conditions)
    return extent(known, node) if isinstance(node, For) else System()


def holds(known: Known, c: Condition) -> bool:
    """Whether a condition, none of alternatives, holds wherever something is known."""
    if isinstance(c, AnyOf):
        return False
    row = known.columns.row(c[1])
    return known.implies_zero(*row) if c[0] == "eq" else known.implies(*row)


def without_implied(known: Known, body: tuple[Ast, ...]) -> tuple[Ast, ...]:
    """Code without the conditions that another one of the same test implies, of what is known at all places.

    Of n >= 32*b + 1 and n >= 32*b + t + 1 the first one where t >= 0: each came from another part of the code. The
    other one stands where the first of the two did, so that no test is longer. Cost: some linear programs for each two
    conditions of a test.
    """
    return each(body, lambda node: _less_implied(known, node))


def _less_implied(known: Known, node: Ast) -> Ast:
    node = mapped(node, lambda inner: without_implied(known, inner))
    if not isinstance(node, If) or len(node.conditions) < 2:
        return node
    left = list(node.conditions)
    for c in node.conditions:
        others = [] if isinstance(c, AnyOf) else [d for d in left if d is not c and not isinstance(d, AnyOf)]
        d = next((d for d in others if holds(known.given(stating(known, (d,))), c)), None)
        if d is not None and c in left:
            at = min(left.index(c), left.index(d))
            left = [other for other in left if other is not c and other is not d]
            left.insert(at, d)
    return node if len(left) == len(node.conditions) else replace(node, conditions=tuple(left))
