"""Sizes at which loops run for nothing are asked for before them, where many tests are made.

    for (c0 = -1; c0 <= (n + 1)/2; c0++)             if (n >= 2)
      for (c1 = 1; c1 < n; c1++) S(c0, c1);    ->      for (c0 = -1; c0 <= (n + 1)/2; c0++)
                                                         for (c1 = 1; c1 < n; c1++) S(c0, c1);

At n = 1 each of three iterations outside finds that none is inside. All sizes but those have one test more, so that a
few tests are left as they are: those of a loop of one iteration, or of two. Where parts of a loop run at sizes between
which there are others, as at n <= 1 and n >= 3, one of a few conditions stands before it.

Neighbours each of which is asked for nothing at the same sizes stand under one condition, beside others that run there:

    for (c0 = 4; c0 <= n; c0++) S(c0);               if (n >= 4) {
    if (n >= 6) T();                                   for (c0 = 4; c0 <= n; c0++) S(c0);
    for (c0 = 9; c0 <= n; c0++) U(c0);         ->      if (n >= 6) T();
    for (c0 = 9; c0 <= n; c0++) V(c0);                 for (c0 = 9; c0 <= n; c0++) U(c0);
    W();                                               for (c0 = 9; c0 <= n; c0++) V(c0);
                                                     }
                                                     W();
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import islice, pairwise, product
from math import inf

from polyvolta.sched.loops.ast import (
    AnyOf,
    Ast,
    Block,
    Bound,
    Call,
    Condition,
    For,
    If,
    comparisons,
    expressions,
)
from polyvolta.sched.loops.conditions import (
    any_of,
    beyond,
    elsewhere,
    guarded,
    has_rows,
    loosened,
    stated,
    widest,
)
from polyvolta.sched.loops.hoisting.needs import extent, less, needs, of_sizes, required, stating
from polyvolta.sched.loops.hoisting.pieces import Part, full, in_pieces, most_neighbours
from polyvolta.sched.loops.hoisting.plain import cases_of, periodic
from polyvolta.sched.loops.rows.columns import Row
from polyvolta.sched.loops.rows.known import Known, sides
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sched.loops.writer import Writer
from polyvolta.sets import BudgetExceeded
from polyvolta.sets.budgets import bounded

MOST = 12  # ways to calls beyond which they are not looked at
LONG = 3  # comparisons of one of some conditions, at most
WORTH = 1500  # steps that one of these may take
FEW = 7  # tests for nothing that cost less than one more at all sizes
SMALL = 5  # the same of those made at sizes from 1 on
BESIDE = 3  # the same of neighbours, not all of the code


def asked_before(
    known: Known, body: tuple[Ast, ...], writer: Writer, cases: bool = True, few: float = FEW, deep: int = 0
) -> tuple[Ast, ...]:
    """The same code with conditions on sizes around parts of it, and it, without which many tests are for nothing.

    Parameters
    ----------
    cases : whether one of a few may be among them: not where alternatives stand around the code already.
    few : tests for nothing up to which one more at all sizes is not worth it; fewer where a size has few values.
    deep : how many conditions stand around it.
    """
    if not body or not known.columns.sizes:
        return body
    at = body[0].at
    if len(body) == 1 and isinstance(node := body[0], If | Block):
        there = known.given(stating(known, node.conditions)) if isinstance(node, If) else known
        cases = cases and not (isinstance(node, If) and any(isinstance(c, AnyOf) for c in node.conditions))
        few = BESIDE if _at_few(known, there) else few
        deep += isinstance(node, If)
        return (replace(node, body=asked_before(there, node.body, writer, cases, few, deep)),)
    if len(body) > 1:
        body = tuple(in_pieces(body, lambda piece: _together(known, piece, writer, deep)))
        body = tuple(part for node in body for part in asked_before(known, (node,), writer, cases, few, deep))
    rows = idle(known, body, few=few)
    conditions = stated(known.columns, rows, writer.tidy)
    body = less(body, conditions)
    if cases and len(body) == 1 and isinstance(body[0], For):
        with suppress(BudgetExceeded):
            conditions += bounded(WORTH, sometimes, known.given(rows), body, writer)
    return guarded(conditions, body, at)


def _at_few(known: Known, there: Known) -> bool:
    """Whether a size is between two numbers where more is known, and is not otherwise."""
    sizes = [known.columns.ids[name] for name in known.columns.sizes]
    return any(_between(there, c) and not _between(known, c) for c in sizes)


def _between(known: Known, col: int) -> bool:
    return known.low.get(col) is not None and known.high.get(col) is not None


def _together(known: Known, body: Sequence[Ast], writer: Writer, deep: int) -> tuple[Ast, ...]:
    """Some code with the most neighbours under a row over sizes that all of them need; so what is before and behind.

    They are if they make more than `BESIDE` tests where it does not hold, as four loops do that find nothing: one test
    more is made at all other sizes. Nothing is asked for sizes below 0, and for all of the code elsewhere (`idle`).

    Parameters
    ----------
    deep : how many conditions stand around it.
    """
    if full(body, deep):
        return tuple(body)
    plain = [isinstance(node, Call) for node in (body[0], *body, body[-1])]
    beside = [not plain[k] and not all(plain[k - 1 : k + 2 : 2]) for k in range(1, len(body) + 1)]
    each = [needs(known, node, True) if near else None for node, near in zip(body, beside, strict=True)]
    sizes = {known.columns.ids[name] for name in known.columns.sizes}
    rows = dict.fromkeys(known.columns.bare(*row) for some in each if some is not None for row in some.every_ge())
    rows = [row for row in rows if all(c in sizes for c, _ in row[0])]
    if not rows:
        return tuple(body)
    alike = _alike(known)
    usual = natural(alike, 0)
    rows = [row for row in rows if not usual.implies(*row)]
    there = [None if some is None or some.everywhere else Part(known, some) for some in each]

    def follows(k: int, row: Row) -> bool:
        one = there[k]
        return one is not None and one.implies(*row)

    def worth(row: Row, first: int, end: int) -> bool:
        return _spared_by(alike.given(sides(*row)[1]), body[first:end]) > BESIDE

    best = most_neighbours(len(body), [(row, row, None) for row in rows], follows, worth)
    if best is None or best[1] - best[0] == len(body):
        return tuple(body)
    first, end, row = best
    conditions = stated(known.columns, System([row]), writer.tidy)
    inside = less(body[first:end], conditions)
    before, behind = (_together(known, some, writer, deep) if some else () for some in (body[:first], body[end:]))
    return *before, *guarded(conditions, inside, inside[0].at), *behind


def _spared_by(known: Known, body: Sequence[Ast]) -> float:
    """How many tests some code makes at most where none is needed; any number beyond `BESIDE` where they are more.

    A condition makes one: neighbours may exclude it.
    """
    total: float = 0
    for node in body:
        total += 1 if isinstance(node, If) and node.conditions else most_tests(known, (node,), BESIDE)
        if total > BESIDE:
            break
    return total


def idle(known: Known, body: Sequence[Ast], remainders: bool = False, few: float = FEW) -> System:
    """Rows over sizes without which nothing in some code runs, and more than a few tests may be made.

    One that is asked at each iteration of a loop is asked before it, however few these are.

    May be made at sizes that are alike: with M = 0 the loop over N outside of one over M is left as it is. What is
    between numbers, as a processor of eight, is not one of these: it is small where the others are large.

    Parameters
    ----------
    remainders : whether rows are those of remainders of sizes alone.
    few : how many tests are a few; less for a row that a size has at half of its values, or that sizes from 1 on lack.
    """
    out, columns = System(), known.columns
    rows = [columns.bare(*row) for row in required(known, body).every_ge()]
    for key, const in sorted(rows, key=lambda row: len(row[0])):
        floors = any(c in columns.floors for c, _ in key)
        if not columns.of_sizes(key) or floors != remainders or (floors and not periodic(columns.aff(key, 0))):
            continue
        if not known.given(out).implies(key, const):
            alike = _alike(known)
            there = alike.given(out).given(sides(key, const)[1])
            least = BESIDE if _at_half(known, (key, const)) else few
            if not floors and least > SMALL and not natural(alike, 1).implies(key, const):
                least = SMALL
            if many(there, body, least) or any(_asked_inside(known, node, (key, const)) for node in body):
                out.ge(key, const)
    return out


def _asked_inside(known: Known, node: Ast, row: Row) -> bool:
    """Whether each iteration of a loop, or of one in it, asks for a row, which is one test before it."""
    if not isinstance(node, For):
        return False
    some = [inner for inner in node.body if isinstance(inner, If)]
    asked = [r for inner in some for r in stating(known, inner.conditions).every_ge()]
    return any(known.columns.bare(*r) == row for r in asked) or any(_asked_inside(known, i, row) for i in node.body)


def _alike(known: Known) -> Known:
    """What is known where all sizes are alike but those between numbers, which are small where others are large."""
    sizes = sorted(known.columns.ids[name] for name in known.columns.sizes)
    sizes = [c for c in sizes if not _between(known, c)]
    return known.given(System(eqs=[(((a, 1), (b, -1)), 0) for a, b in pairwise(sizes)]))


def natural(known: Known, least: int) -> Known:
    """What is known where all sizes are at least a number."""
    return known.given(System([(((known.columns.ids[name], 1),), -least) for name in known.columns.sizes]))


def sometimes(known: Known, body: Sequence[Ast], writer: Writer) -> tuple[Condition, ...]:
    """Conditions on sizes of which one holds where anything in some code runs; none where few tests are made elsewhere.

    Each way to a call has some, as integers have them: all conditions and bounds of loops on it, of alternatives one.
    Of one way alone `idle` says what it needs.
    """
    if not 1 < number_of_ways(body) <= MOST:
        return ()
    ways = ways_to_calls(known, body)
    found: list[System] = []
    for way in sorted(ways, key=lambda s: len(s.eqs) + len(s.ineqs)):  # what needs nothing is likely the shortest
        for s in of_sizes(known, way):
            s = beyond(known, s)  # noqa: PLW2901
            if not has_rows(s):
                return ()
            found += [] if known.excludes_exactly(s) else [s]
    found = widest(known, found)
    alike = _alike(known)
    left = [s for s in elsewhere(known, found) if not alike.excludes_exactly(s)]
    if not found or not any(many(alike.given(s), body) for s in left):
        return ()
    out = any_of([stated(known.columns, s, writer.tidy) for s in loosened(known, found)])
    return out if len(out) == 1 and comparisons(out) <= LONG else ()


def ways_to_calls(known: Known, body: Sequence[Ast]) -> Iterator[System]:
    """For each way to a call all that holds on it, what alternatives there are."""
    if any(isinstance(node, Call) for node in body):
        yield System()
        return
    for node in body:
        cases = [System()]
        match node:
            case If(conditions, _):
                cases = [stating(known, case) for case in cases_of(conditions)]
            case For():
                cases = [extent(known, node)]
        for inner in () if isinstance(node, Call) else ways_to_calls(known, node.body):
            for case in cases:
                yield inner.copy().add(case)


def number_of_ways(body: Sequence[Ast]) -> int:
    """How many `ways_to_calls` there are; any number beyond `MOST` where they are more than that."""
    if any(isinstance(node, Call) for node in body):
        return 1
    total = 0
    for node in body:
        inner = 0 if isinstance(node, Call) else number_of_ways(node.body)
        if isinstance(node, If) and inner:
            inner *= len(list(islice(cases_of(node.conditions), MOST + 1)))
        total += inner
        if total > MOST:
            break
    return total


def _at_half(known: Known, row: Row) -> bool:
    """Whether a row `>= 0` over one size that is between numbers holds at half of its values, or fewer.

    As often it spares tests at a size as it is one more: M <= 3 does where M is from 2 to 5.
    """
    (c, v), *others = row[0]
    least, most = known.low.get(c), known.high.get(c)
    if others or least is None or most is None:
        return False
    there = known.given(System([row]))
    low, high = there.low.get(c), there.high.get(c)
    return low is not None and high is not None and 2 * (high - low + 1) <= most - least + 1


def many(known: Known, body: Sequence[Ast], few: float = FEW) -> bool:
    """Whether some code may make more than a few tests, as far as is plain from what is known."""
    return most_tests(known, body, few) > few


def most_tests(known: Known, body: Sequence[Ast], enough: float) -> float:
    """How many tests some code makes at most; any number beyond what is enough where they are more than that."""
    total: float = 0
    for node in () if known.nowhere else body:
        total += _of_node(known, node, enough - total)
        if total > enough:
            break
    return total


def _of_node(known: Known, node: Ast, enough: float) -> float:
    match node:
        case Call():
            return 0
        case Block(_, body):
            return most_tests(known, body, enough)
        case If(conditions, body):
            own = comparisons(conditions)
            return (
                own if own > enough else own + most_tests(known.given(stating(known, conditions)), body, enough - own)
            )
    there = known.given(extent(known, node))
    if there.nowhere:
        return 1
    steps = min((_most(there, high, low) for low, high in product(node.lower, node.upper)), default=inf)
    times = inf if steps == inf else steps // node.step + 1
    return 1 + times if 1 + times > enough else 1 + times * (1 + most_tests(there, node.body, enough))


def _most(known: Known, high: Bound, low: Bound) -> float | Fraction:
    """The greatest distance of two bounds, at least 0."""
    out: float | Fraction = 0
    for a, b in product(expressions(high), expressions(low)):
        key, const = known.columns.row(a - b)
        out = max(out, known.greatest((), key) + const)
    return out
