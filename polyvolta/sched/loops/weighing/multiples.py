"""Sizes that leave no multiple of a number between what loops ask of it are asked for before them.

    for (c0 = b; c0 < (m + n)/4; c0 += 2)                  if ((4*b - 4*d + t) % 8 < m)
      for (c1 = d; c1 <= n/4; c1 += 2)               ->      for (c0 = b; c0 < (m + n)/4; c0 += 2) ...
        if (4*c1 <= 4*c0 + t && 4*c0 + t < 4*c1 + m)
          S(c0, c1);

With the steps of loops put in, c0 = b + 2*k and c1 = d + 2*l, it is 0 <= 4*b - 4*d + t + 8*(k - l) < m: where m is less
than 8 few blocks b and d and threads t have a multiple of 8 there. Rational numbers have one at each m, so that no row
that is projected says so, and an anti diagonal of tiles is looked at by all of them. Where no multiple is left nothing
is called, so the same runs. It is one test more where one is: it is made if many tests are for nothing without, at some
sizes of a few looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, product, starmap
from math import ceil, floor, gcd

from polyvolta.sched.loops.ast import Ast, Block, For, If, asking, comparisons, expressions, nodes
from polyvolta.sched.loops.conditions import guarded, has_rows, stated
from polyvolta.sched.loops.hoisting.idle import number_of_ways, ways_to_calls
from polyvolta.sched.loops.hoisting.needs import less, stating
from polyvolta.sched.loops.rows.columns import Row
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import Key, System, negated, plus, without
from polyvolta.sched.loops.weighing.sizes import counted
from polyvolta.sched.loops.writer import Writer

WAYS = 4  # ways to calls beyond which they are not looked at
FEW = 7  # tests for nothing, up to which they are left
SHORT, FAR = (1, 2), (10, 4)  # what a size is at which that is asked, and others
PLACES = 40  # sizes that are looked at


def multiples_before(known: Known, body: tuple[Ast, ...], writer: Writer, asked: int = 0) -> tuple[Ast, ...]:
    """The same code with what loops ask of multiples before it, where it makes many tests for nothing without.

    Parameters
    ----------
    asked : tests around the code, which are for nothing, too, where it calls nothing.
    """
    if len(body) != 1 or len(known.columns.sizes) < 2 or not any(map(_scaled, nodes(body))):
        return body
    node = body[0]
    if isinstance(node, If | Block):
        if isinstance(node, If) and node.other:
            return body
        there, tests = known, asked
        if isinstance(node, If):
            there, tests = known.given(stating(known, node.conditions)), asked + comparisons(node.conditions)
        inner = multiples_before(there, node.body, writer, tests)
        return body if inner is node.body else (replace(node, body=inner),)
    rows = System()
    for row in _left(known, body):
        if not known.given(rows).implies(*row):
            each = (counted(body, at) for at in islice(_failing(known, row), PLACES))
            if any(idle > FEW - asked and idle == tests for tests, idle, _ in each):
                rows.ge(*row)
    if not has_rows(rows):
        return body
    conditions = stated(known.columns, rows, writer.tidy)
    return guarded(conditions, less(body, conditions), node.at)


def _left(known: Known, body: Sequence[Ast]) -> list[Row]:
    """Rows over sizes that all ways to calls need, for there to be multiples that they ask for."""
    if not 0 < number_of_ways(body) <= WAYS:
        return []
    steps, found = dict(_steps(known, body)), None
    for way in ways_to_calls(known, body):
        for col in sorted(steps, reverse=True):  # the lower ends of inner loops may be by those outside
            step, key, const = steps[col]
            if step:
                way.replace(col, plus(step, ((col, 1),), 1, key), const)
        rows: dict[Key, int] = {}
        for key, const in _multiples(known, way):
            rows[key] = min(const, rows.get(key, const))
        found = rows if found is None else {key: max(c, rows[key]) for key, c in found.items() if key in rows}
    return [row for row in (found or {}).items() if not known.implies(*row)]


def _steps(known: Known, body: Sequence[Ast]) -> Iterator[tuple[int, tuple[int, Key, int]]]:
    """The columns of loops with steps, and a value from which on they go in these; no step where two loops have one
    column.
    """
    found: dict[int, tuple[int, Key, int]] = {}
    for node in nodes(body):
        if not isinstance(node, For):
            continue
        col = known.columns.ids[node.var]
        lows = [known.columns.row(e) for bound in node.lower for e in expressions(bound)]
        key, const = min(lows, key=lambda row: len(row[0]))
        apart = [(plus(1, other, -1, key), c - const) for other, c in lows]
        like = all(v % node.step == 0 for rest, c in apart for v in (c, *[v for _, v in rest]))
        found[col] = (node.step if like and node.step > 1 and col not in found else 0, key, const)
    yield from found.items()


def _scaled(node: Ast) -> bool:
    """Whether a loop has a step, or a bound or a condition a multiple or a floor: else nothing asks for multiples."""
    step = isinstance(node, For) and node.step > 1
    return step or any(abs(v) > 1 or not isinstance(atom, str) for e in asking(node) for atom, v in e.terms)


def _multiples(known: Known, way: System) -> Iterator[Row]:
    """Rows over sizes for a multiple that two rows bound to be between them: of a <= 8*k <= b it is a <= 8*floor(b/8).

    It is one of several loops: what one alone asks of its own steps is in its bounds.
    """
    columns = known.columns
    lows: dict[Key, list[Row]] = {}
    for key, const in way.every_ge():
        inner = tuple([term for term in key if not columns.of_sizes((term,))])
        if len(inner) > 1 and gcd(*[v for _, v in inner]) > 1:
            outer = tuple([term for term in key if term not in inner])
            lows.setdefault(inner, []).append((outer, const))
    for inner, some in lows.items():
        if inner[0][1] > 0:
            d = gcd(*[v for _, v in inner])
            for both in product(some, lows.get(negated(inner), ())):
                (a, low), (b, high) = sorted(starmap(partial(_plain, known), both), key=lambda row: -len(row[0]))
                key, shift = columns.quotient(d, b, high)  # either end says it: the shorter one is in the floor
                yield plus(1, a, d, key), low + d * shift


def _plain(known: Known, key: Key, const: int) -> Row:
    """A row with numbers in the place of floors that have one value."""
    for c, v in key:
        if c in known.columns.floors:
            rows = [*known.columns.floor_rows(c)]
            most, least = known.greatest(rows, ((c, 1),)), -known.greatest(rows, ((c, -1),))
            if abs(most) + abs(least) < 1e9 and ceil(least) == floor(most):
                key, const = without(key, c), const + v * floor(most)
    return key, const


def _failing(known: Known, row: Row) -> Iterator[dict[str, int]]:
    """Sizes at which a row does not hold: one that no numbers bound is small, and others are not; those between numbers
    are the least they can be, or one of them is the next.
    """
    columns = known.columns
    sizes = {columns.ids[name]: name for name in columns.sizes}
    between = [c for c in sizes if known.low.get(c) is not None and known.high.get(c) is not None]
    free = [c for c in sizes if c not in between]
    least = {c: known.low[c] for c in between}
    few = [least, *[{**least, c: low + 1} for c, low in least.items() if low < known.high[c]]]
    for far, short, small, at in product(FAR, SHORT, free, few):
        values = {**dict.fromkeys(free, far), small: short, **at}
        if columns.value(*row, values) < 0 and known.allows(values):
            yield {name: values[c] for c, name in sizes.items()}
