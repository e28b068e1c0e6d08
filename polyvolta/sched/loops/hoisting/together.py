"""Neighbours in a long loop that run at few of its values alone, or where one of them does, are tested for these once.

    for (c0 = 0; c0 < n; c0 += 1) {                  for (c0 = 0; c0 < n; c0 += 1) {
      S(c0);                                           S(c0);
      if (c0 <= 2) T(c0);                     ->       if (c0 <= 2) {
      if (c0 + m == 1 && m >= 0) U(c0);                  T(c0);
    }                                                    if (c0 + m == 1 && m >= 0) U(c0);
                                                       }
                                                     }

Each of them has a test at all other values, too, and they are most. What one of them says that leaves the loop few
values, and the others imply, stands around all: one more test at these few, at most. So does the only test of one of
them, wherever: it is made once in either case, and none of the others where it fails.

    if (4*c0 + 4 <= n) S(c0);                        if (4*c0 + 4 <= n) {
    if (8*c0 + 8 <= n) T(c0);                          S(c0);
    if (4*c0 + 4 <= n) U(c0);               ->         if (8*c0 + 8 <= n) T(c0);
                                                       U(c0);
                                                     }
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, product
from math import inf
from typing import Literal

from polyvolta.sched.loops.ast import AnyOf, Ast, Call, For, If, expressions
from polyvolta.sched.loops.hoisting.either import said
from polyvolta.sched.loops.hoisting.needs import less, needs, stating
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import negated
from polyvolta.sets import Aff, var

Test = tuple[Literal["ge", "eq"], Aff]


def neighbours(body: Sequence[Ast]) -> bool:
    """Whether two conditions stand side by side anywhere in some code."""
    return _beside(body) or any(neighbours(node.body) for node in body if not isinstance(node, Call))


def _beside(body: Sequence[Ast]) -> bool:
    """Whether two conditions stand side by side."""
    return any(isinstance(a, If) and isinstance(b, If) for a, b in pairwise(body))


def asked_together(known: Known, body: Sequence[Ast], long: frozenset[int] = frozenset()) -> tuple[Ast, ...]:
    """The same code with such tests around neighbours; `long` are the columns of loops around it without a limit.

    Nothing is asked of code in which no two conditions stand side by side.
    """
    out: list[Ast] = []
    for node in body:
        if isinstance(node, Call) or not neighbours(node.body):
            out.append(node)
            continue
        there, loops = known.given(said(known, node)), long
        if isinstance(node, For) and not _limited(known, node):
            loops = long | {known.columns.row(var(node.var))[0][0][0]}
        loops = frozenset(c for c in loops if not _few(there, c))
        inner = asked_together(there, node.body, loops)
        same = len(inner) == len(node.body) and all(a is b for a, b in zip(inner, node.body, strict=True))
        out.append(node if same else replace(node, body=inner))
    return tuple(_runs(known, out, long)) if _beside(out) else tuple(out)


def _limited(known: Known, loop: For) -> bool:
    """Whether the bounds of a loop are a number apart, plainly, or as each is between numbers."""
    low, high = ([e for bound in side for e in expressions(bound)] for side in (loop.lower, loop.upper))
    if any(
        (b - a).is_constant for a, b in product(loop.lower, loop.upper) if isinstance(a, Aff) and isinstance(b, Aff)
    ):
        return True
    columns = known.columns
    keys = [negated(columns.row(e)[0]) for e in low] + [columns.row(e)[0] for e in high]
    floors = [[row for c, _ in key if c in columns.floors for row in columns.floor_rows(c)] for key in keys]
    return all(known.greatest(rows, key) < inf for rows, key in zip(floors, keys, strict=True))


def _few(known: Known, col: int) -> bool:
    """Whether a column is between two numbers."""
    return all(known.greatest((), ((col, sign),)) < inf for sign in (1, -1))


def _runs(known: Known, body: Sequence[Ast], long: frozenset[int]) -> Iterator[Ast]:
    """Some code with the most neighbours that need one such test under it; so what is before, in and behind them."""
    if not _beside(body):
        yield from body
        return
    needed = [known.given(needs(known, node)) if isinstance(node, If) else None for node in body]
    best: tuple[int, int, Test] | None = None
    worth: dict[Test, bool] = {}
    for c, alone in dict.fromkeys(_tests(body, bool(long))):
        row, first = known.columns.row(c[1]), 0
        for k, there in enumerate((*needed, None)):
            if there is None or not (there.implies(*row) if c[0] == "ge" else there.implies_zero(*row)):
                mine = alone is None or first <= alone < k
                if mine and k - first > 1 and (best is None or k - first > best[1] - best[0]):
                    if alone is None and c not in worth:
                        worth[c] = _shortens(known, c, long)
                    best = (first, k, c) if alone is not None or worth[c] else best
                first = k + 1
    if best is None:
        yield from body
        return
    first, end, c = best
    at = next(node.at for node in body[first:end] if isinstance(node, If))
    yield from _runs(known, body[:first], long)
    inside = _runs(known.given(stating(known, [c])), less(body[first:end], [c]), long)
    yield If((c,), tuple(inside), at)
    yield from _runs(known, body[end:], long)


def _shortens(known: Known, c: Test, long: frozenset[int]) -> bool:
    """Whether a test leaves a long loop few values."""
    there = known.given(stating(known, [c]))
    return any(_few(there, col) for col in long)


def _tests(body: Sequence[Ast], long: bool) -> Iterator[tuple[Test, int | None]]:
    """Each test that is alone, and where; and inequalities of some conditions that may leave a long loop few values."""
    for k, node in enumerate(body):
        conditions = node.conditions if isinstance(node, If) else ()
        for c in conditions:
            if isinstance(c, AnyOf):
                continue
            if len(conditions) == 1:
                yield c, k
            if c[0] == "ge" and long:
                yield c, None
