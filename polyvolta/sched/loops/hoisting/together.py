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

from polyvolta.sched.loops.ast import (
    AnyOf,
    Ast,
    Block,
    Call,
    For,
    If,
    each,
    expressions,
    has_loops,
    kept,
    mapped,
    negation,
    nodes,
)
from polyvolta.sched.loops.hoisting.either import said
from polyvolta.sched.loops.hoisting.inside import asked_once
from polyvolta.sched.loops.hoisting.needs import less, needs, stating
from polyvolta.sched.loops.hoisting.tidy import tidied
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import negated
from polyvolta.sets import Aff, var

CALLS = 4  # calls that stand in both branches, at most

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
        if isinstance(node, For) and not limited(known, node):
            loops = long | {known.columns.row(var(node.var))[0][0][0]}
        loops = frozenset(c for c in loops if not few(there, c))
        inner = asked_together(there, node.body, loops)
        inner = kept(node.body, inner)
        out.append(node if inner is node.body else replace(node, body=inner))
    return tuple(_runs(known, out, long)) if _beside(out) else tuple(out)


def limited(known: Known, loop: For) -> bool:
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


def few(known: Known, col: int) -> bool:
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
    return any(few(there, col) for col in long)


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


def asked_apart(body: tuple[Ast, ...]) -> tuple[Ast, ...]:
    """The same code with a test that parts ask, though others stand between, asked once: calls are in both branches.

        if (n % 2 == 0) T();                        if (n % 2 == 0) {
        S();                                          T();
        if (n % 2 == 0)                               S();
          for (c0 = 0; c0 < n; c0++) T(c0);    ->     for (c0 = 0; c0 < n; c0++) T(c0);
                                                    } else
                                                      S();

    One of the parts asks it first, whatever else is so, and another one, or a loop in it, behind others: where it fails
    none of these is asked, so that no place has more tests than before. It costs a second text of a few calls; no loop
    is written twice. Where it is asked three times or fewer, a call stands there that nothing is asked for, also one
    for two that exclude each other: conditions may exclude one another (`branched`) without.
    """
    found = _in_branches(body)
    if found is not None:
        first, end, node = found
        return *asked_apart(body[:first]), mapped(node, asked_apart), *asked_apart(body[end:])
    return each(body, lambda node: mapped(node, asked_apart))


def _in_branches(body: tuple[Ast, ...]) -> tuple[int, int, If] | None:
    """Some neighbours, from where to where, with the test that most of them ask, if one does always, in branches."""
    best: tuple[int, int, int, If] | None = None
    some = [node.conditions[0] for node in body if isinstance(node, If) and not node.other]
    for c in dict.fromkeys(c for c in some if not isinstance(c, AnyOf)):
        times = [_asked(node, c) for node in body]
        places = [k for k, n in enumerate(times) if n]
        first, end = places[0], places[-1] + 1
        if len(places) < 2 or (best is not None and sum(times) <= best[0]):
            continue
        inside = body[first:end]
        other = tidied(asked_once(_without(inside, c), negation((c,)))) if _simple(inside) else None
        plain = other is not None and (sum(times) > 3 or any(isinstance(node, Call) for node in other))
        if other and plain and _few_calls(other):
            at = next(node.at for node in inside if isinstance(node, If))
            best = sum(times), first, end, If((c,), tidied(asked_once(inside, (c,))), at, other)
    return None if best is None else best[1:]


def _simple(body: Sequence[Ast]) -> bool:
    """Whether no condition in some code has another branch, and nothing is marked."""
    return not any(isinstance(node, Block) or (isinstance(node, If) and node.other) for node in nodes(body))


def _asked(node: Ast, c: Test) -> int:
    """How often the text of a node asks a test."""
    return sum([isinstance(inner, If) and c in inner.conditions for inner in nodes((node,))])


def _without(body: Sequence[Ast], c: Test) -> tuple[Ast, ...]:
    """What is left of some code where a test fails."""
    out: list[Ast] = []
    for node in body:
        if isinstance(node, Call):
            out.append(node)
        elif not (isinstance(node, If) and c in node.conditions) and (inside := _without(node.body, c)):
            out.append(replace(node, body=inside))
    return tuple(out)


def _few_calls(body: Sequence[Ast]) -> bool:
    """Whether some code is a few calls, without loops."""
    return not has_loops(body) and sum([isinstance(node, Call) for node in nodes(body)]) <= CALLS
