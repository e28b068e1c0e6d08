"""Sizes at which loops run for nothing are asked for before them, where many tests are made.

    for (c0 = -1; c0 <= (n + 1)/2; c0++)             if (n >= 2)
      for (c1 = 1; c1 < n; c1++) S(c0, c1);    ->      for (c0 = -1; c0 <= (n + 1)/2; c0++)
                                                         for (c1 = 1; c1 < n; c1++) S(c0, c1);

At n = 1 each of three iterations outside finds that none is inside. All sizes but those have one test more, so that a
few tests are left as they are: those of a loop of one iteration, or of two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from math import inf

from polyvolta.sched.loops.ast import AnyOf, Ast, Block, Bound, Call, Choice, Condition, If
from polyvolta.sched.loops.conditions import guarded, stated
from polyvolta.sched.loops.hoisting.needs import extent, less, required, stating
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import System, negated
from polyvolta.sched.loops.writer import Writer
from polyvolta.sets import Aff

FEW = 7  # tests for nothing that cost less than one more at all sizes


def asked_before(known: Known, body: tuple[Ast, ...], writer: Writer) -> tuple[Ast, ...]:
    """The same code with conditions on sizes around parts of it, and it, without which many tests are for nothing."""
    if not body:
        return body
    at = body[0].at
    if len(body) == 1 and isinstance(node := body[0], If | Block):
        there = known.given(stating(known, node.conditions)) if isinstance(node, If) else known
        return (replace(node, body=asked_before(there, node.body, writer)),)
    if len(body) > 1:
        body = tuple(part for node in body for part in asked_before(known, (node,), writer))
    conditions = stated(known.columns, idle(known, body), writer.tidy)
    return guarded(conditions, less(body, conditions), at) if conditions else body


def idle(known: Known, body: Sequence[Ast]) -> System:
    """Rows over sizes without which nothing in some code runs, and more than a few tests may be made.

    May be made at sizes that are alike: with M = 0 the loop over N outside of one over M is left as it is. What is
    between numbers, as a processor of eight, is not one of these: it is small where the others are large.
    """
    out, sizes = System(), sorted(known.columns.ids[name] for name in known.columns.sizes)
    alike, large = known, [c for c in sizes if known.low.get(c) is None or known.high.get(c) is None]
    if len(large) > 1:
        same = System()
        same.eqs = [(((a, 1), (b, -1)), 0) for a, b in pairwise(large)]
        alike = known.given(same)
    rows = [known.columns.bare(*row) for row in required(known, body).every_ge()]
    for key, const in sorted(rows, key=lambda row: len(row[0])):
        there = alike.given(out)
        if all(c in sizes for c, _ in key) and not there.implies(key, const):
            opposite = System()
            opposite.ge(negated(key), -const - 1)
            if tests(there.given(opposite), body) > FEW:
                out.ge(key, const)
    return out


def tests(known: Known, body: Sequence[Ast]) -> float:
    """How many tests some code makes at most, as far as is plain from what is known."""
    return 0 if known.nowhere else sum(_of_node(known, node) for node in body)


def _of_node(known: Known, node: Ast) -> float:
    match node:
        case Call():
            return 0
        case Block(_, body):
            return tests(known, body)
        case If(conditions, body):
            there = known.given(stating(known, conditions))
            return _length(conditions) + tests(there, body)
    there = known.given(extent(known, node))
    if there.nowhere:
        return 1
    steps = min((_most(there, high, low) for low, high in product(node.lower, node.upper)), default=inf)
    return inf if steps == inf else 1 + (steps // node.step + 1) * (1 + tests(there, node.body))


def _length(conditions: Sequence[Condition]) -> int:
    """How many comparisons conditions are."""
    return sum(sum(map(_length, c.alternatives)) if isinstance(c, AnyOf) else 1 for c in conditions)


def _most(known: Known, high: Bound, low: Bound) -> float | Fraction:
    """The greatest distance of two bounds, at least 0."""
    out: float | Fraction = 0
    for a, b in product(_each(high), _each(low)):
        key, const = known.columns.row(a - b)
        out = max(out, known.greatest((), key) + const)
    return out


def _each(bound: Bound) -> Iterator[Aff]:
    """The expressions that a bound may be."""
    if isinstance(bound, Aff):
        yield bound
    else:
        for inner in (bound.then, bound.other) if isinstance(bound, Choice) else bound.terms:
            yield from _each(inner)
