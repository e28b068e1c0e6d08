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

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from heapq import heapify, heappop, heappush
from itertools import pairwise, product
from math import inf
from operator import is_
from typing import Literal

from polyvolta.sched.loops.ast import (
    AnyOf,
    Ast,
    Block,
    Call,
    Condition,
    For,
    If,
    expressions,
    has_loops,
    kept,
    mapped,
    negation,
    nodes,
)
from polyvolta.sched.loops.hoisting.either import said
from polyvolta.sched.loops.hoisting.inside import asked_once, never
from polyvolta.sched.loops.hoisting.needs import at_a_place, less, needs, stating
from polyvolta.sched.loops.hoisting.pieces import Part, full, in_pieces, most_neighbours
from polyvolta.sched.loops.hoisting.plain import mentions, unsaid
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


def asked_together(
    known: Known, body: Sequence[Ast], long: frozenset[int] = frozenset(), deep: int = 0
) -> tuple[Ast, ...]:
    """The same code with such tests around neighbours.

    Nothing is asked of code in which no two conditions stand side by side.

    Parameters
    ----------
    long : the columns of loops around it without a limit.
    deep : how many conditions stand around it.
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
        inner = kept(node.body, asked_together(there, node.body, loops, deep + isinstance(node, If)))
        out.append(node if inner is node.body else replace(node, body=inner))
    return tuple(_runs(known, out, long, deep)) if _beside(out) else tuple(out)


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


def _runs(known: Known, body: Sequence[Ast], long: frozenset[int], deep: int) -> list[Ast]:
    """Some code with the most neighbours that need one such test under it; so what is before, in and behind them."""
    return in_pieces(body, lambda piece: _nested(known, piece, long, deep))


def _nested(known: Known, body: Sequence[Ast], long: frozenset[int], deep: int) -> Iterator[Ast]:
    """`_runs` of few conditions."""
    if not _beside(body) or full(body, deep):
        yield from body
        return

    @cache
    def needed(k: int) -> Part:
        return Part(known, needs(known, body[k]))

    @cache
    def somewhere(k: int) -> Part:
        place = at_a_place(known, body[k])
        return needed(k) if place is None else Part(known, place)

    short = cache(partial(_shortens, known, long))

    def follows(k: int, test: tuple[Test, int | None]) -> bool:
        node, (kind, e) = body[k], test[0]
        if not isinstance(node, If):
            return False
        if not node.other and test[0] in node.conditions:
            return True
        row = known.columns.row(e)
        deeper = not any(isinstance(inner, Call) for inner in node.body)
        for there in (somewhere, needed) if deeper else (needed,):  # what all places need, one says
            part = there(k)
            if not (part.implies(*row) if kind == "ge" else part.implies_zero(*row)):
                return False
        return True

    def worth(test: tuple[Test, int | None], *_: int) -> bool:
        return test[1] is not None or short(test[0])

    asked = [(test, known.columns.row(test[0][1]), test[1]) for test in dict.fromkeys(_tests(body, bool(long)))]
    best = most_neighbours(len(body), asked, follows, worth)
    if best is None:
        yield from body
        return
    first, end, (c, _) = best
    at = next(node.at for node in body[first:end] if isinstance(node, If))
    yield from _nested(known, body[:first], long, deep)
    inside = _nested(known.given(stating(known, [c])), less(body[first:end], [c]), long, deep + 1)
    yield If((c,), tuple(inside), at)
    yield from _nested(known, body[end:], long, deep)


def _shortens(known: Known, long: frozenset[int], c: Test) -> bool:
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
    out: list[Ast] = []
    at = 0
    for first, end, node in _in_branches(body):
        out += [mapped(inner, asked_apart) for inner in (*body[at:first], node)]
        at = end
    out += [mapped(inner, asked_apart) for inner in body[at:]]
    return body if len(out) == len(body) and all(map(is_, out, body)) else tuple(out)


def _in_branches(body: tuple[Ast, ...]) -> list[tuple[int, int, If]]:
    """Neighbours, from where to where, with the test that most of them ask, if one does always, in branches.

    Then others beside these, of what is left on either side.
    """
    alone: dict[Test, list[int]] = {}  # of tests, where they are first
    asked: dict[Test, dict[int, int]] = {}  # and where they are asked, how often
    for k, node in enumerate(body):
        c = node.conditions[0] if isinstance(node, If) and not node.other else None
        if c is not None and not isinstance(c, AnyOf):
            alone.setdefault(c, []).append(k)
    parts = sum([not isinstance(node, Call) for node in body])  # a test is asked in two of them, or in none
    for k, node in enumerate(body if alone and parts > 1 else ()):
        for c in _asked(node):
            if not isinstance(c, AnyOf) and c in alone:
                there = asked.setdefault(c, {})
                there[k] = there.get(k, 0) + 1
    todo: list[tuple[int, int, Test, list[int]]] = []  # how often tests are asked where, the first ones first

    def put(c: Test, places: list[int]) -> None:
        """Try a test in a part of the code, where it is asked at some places."""
        at = bisect_left(alone[c], places[0]) if places else 0
        if len(places) > 1 and at < len(alone[c]) and alone[c][at] <= places[-1]:
            heappush(todo, (-sum([asked[c][k] for k in places]), alone[c][at], c, places))

    for c, places in asked.items():
        put(c, list(places))
    found: dict[int, tuple[int, int, If]] = {}
    failed: list[tuple[Test, list[int]]] = []
    while todo:
        times, _, c, places = heappop(todo)
        first, end = places[0], places[-1] + 1
        node = _branches(body[first:end], c, -times) if _few_others(body, first, end, c) else None
        if node is None:
            failed.append((c, places))
            continue
        found[first] = first, end, node
        again = [(d, some) for _, _, d, some in todo if some[0] < end and some[-1] >= first]
        if again:
            todo = [one for one in todo if one[3][0] >= end or one[3][-1] < first]
            heapify(todo)
        again += [(d, some) for d, some in failed if some[0] < end and some[-1] >= first]
        failed = [(d, some) for d, some in failed if some[0] >= end or some[-1] < first]
        for d, some in again:
            put(d, [k for k in some if k < first])
            put(d, [k for k in some if k >= end])
    return [found[first] for first in sorted(found)]


def _branches(body: tuple[Ast, ...], c: Test, times: int) -> If | None:
    """Some code with a test that it asks so often in branches, if it is one that is little where the test fails."""
    other = tidied(asked_once(_without(body, c), negation((c,)))) if _simple(body) else ()
    if other and _few_calls(other) and (times > 3 or any(isinstance(node, Call) for node in other)):
        at = next(node.at for node in body if isinstance(node, If))
        return If((c,), tidied(asked_once(body, (c,))), at, other)
    return None


def _few_others(body: Sequence[Ast], first: int, end: int, c: Test) -> bool:
    """Whether what is left of some code where a test fails may be a few calls; of equal ones one may be left."""
    calls: set[Call] = set()
    for node in body[first:end]:
        for call in _others((node,), c, negation((c,))):
            if call is None:
                return False
            calls.add(call)
            if len(calls) > CALLS:
                return False
    return True


def _others(body: Sequence[Ast], c: Test, known: tuple[Condition, ...]) -> Iterator[Call | None]:
    """The calls in some code that conditions which are known do not exclude, where a test fails; None for a loop."""
    for node in body:
        if isinstance(node, Call):
            yield node
        elif isinstance(node, If):
            if c not in node.conditions and not never(node.conditions, known):
                yield from _others(node.body, c, (*unsaid(known, node.conditions), *node.conditions))
        else:
            loop = node if isinstance(node, For) else None
            there = known if loop is None else tuple([d for d in known if not mentions(d, loop.var)])
            for call in _others(node.body, c, there):
                yield call if loop is None else None


def _asked(node: Ast) -> Iterator[Condition]:
    """The conditions that the text of a node asks, as often as it does."""
    for one in nodes((node,)):
        if isinstance(one, If):
            yield from dict.fromkeys(one.conditions)


def _simple(body: Sequence[Ast]) -> bool:
    """Whether no condition in some code has another branch, and nothing is marked."""
    return not any(isinstance(node, Block) or (isinstance(node, If) and node.other) for node in nodes(body))


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
