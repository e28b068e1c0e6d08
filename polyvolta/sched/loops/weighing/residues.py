"""Residues of a size at which loops run for nothing are asked for before them, where one of few values finds that.

    for (c0 = 0; c0 <= n; c0++)                           if ((n + 1) % 4 <= 2)
      for (c1 = 0; c1 < 2; c1++)                   ->       for (c0 = 0; c0 <= n; c0++)
        if ((n - c1 + 1) % 4 <= 1) S(c0, c1);                 for (c1 = 0; c1 < 2; c1++)
                                                                if ((n - c1 + 1) % 4 <= 1) S(c0, c1);

No residue of n is needed at each c1, so that no row says that it is 0, 1 or 3: what is left of each is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from polyvolta.sched.loops.ast import Ast, Call, Condition, For, If, compared, within
from polyvolta.sched.loops.conditions import guarded, stated
from polyvolta.sched.loops.hoisting.idle import MOST as WAYS
from polyvolta.sched.loops.hoisting.idle import idle, many, number_of_ways, ways_to_calls
from polyvolta.sched.loops.hoisting.needs import extent, less, seldom, stating
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import Key, System
from polyvolta.sched.loops.writer import Writer
from polyvolta.sets import Aff

LARGEST = 8  # a divisor beyond which residues are not looked at


def remainders_before(known: Known, body: tuple[Ast, ...], writer: Writer) -> tuple[Ast, ...]:
    """The same code with what loops need of remainders of sizes around each that makes many tests without, as these.

    for (c0 = 0; c0 < m; c0++)                          if (n % 8 >= 1)
      for (c1 = 0; c1 < n % 8; c1++) S(c0, c1);   ->      for (c0 = 0; c0 < m; c0++)
                                                            for (c1 = 0; c1 < n % 8; c1++) S(c0, c1);

    So it is of neighbours in a loop: of a row of tiles the last one may have no points, whose loops are asked for it at
    each row. Where sizes are small anyway loops are as they were. All that runs in a loop needs what is asked before
    it, so the same runs: cost is one test where the remainder leaves something, or one at each iteration outside.
    """
    return _remainders(known, body, writer, True)


def _remainders(known: Known, body: tuple[Ast, ...], writer: Writer, asked: bool) -> tuple[Ast, ...]:
    """The same; an only loop in a loop is not `asked`: what it needs the one outside does."""
    if any(seldom(known, *row) for row in known.ineqs.items()):
        return body
    out: list[Ast] = []
    for node in body:
        if isinstance(node, Call) or (isinstance(node, For) and not _has_floors(node)):
            out.append(node)
            continue
        loop, there, conditions = isinstance(node, For), known, ()
        if isinstance(node, For):
            conditions = stated(known.columns, idle(known, (node,), True), writer.tidy) if asked else ()
            there = known.given(stating(known, conditions)).given(extent(known, node))
        elif isinstance(node, If):
            there = known.given(stating(known, node.conditions))
        inner = _remainders(there, node.body, writer, len(node.body) > 1 if loop else asked)
        node = node if inner == node.body else replace(node, body=inner)  # noqa: PLW2901
        out += guarded(conditions, less((node,), conditions), node.at)
    return tuple(out)


def _has_floors(node: Ast) -> bool:
    """Whether a bound or a condition in some code has a floor: without one nothing is said of remainders."""
    match node:
        case For(_, lower, upper):
            some = [e for e in (*lower, *upper) if isinstance(e, Aff)]
        case If(conditions):
            some = compared(conditions)
        case _:
            some = ()
    floors = any(not isinstance(atom, str) for e in some for atom, _ in e.terms)
    return floors or any(map(_has_floors, within(node)))


def residues_before(known: Known, body: tuple[Ast, ...]) -> tuple[Ast, ...]:
    """The same code with residues of sizes around each loop that makes many tests at some, and runs nothing there.

    They are those of floors of a size and an inner loop's variable, beside variables of loops outside, and a window of
    them, which is one test. At those at which nothing is left all ways to calls have no integers; so the same runs.
    Cost: a test at the other residues, for each iteration outside, before a loop that makes more than a few without.
    Where sizes are small anyway loops are as they were.
    """
    if any(seldom(known, *row) for row in known.ineqs.items()):
        return body
    out: list[Ast] = []
    for node in body:
        if isinstance(node, Call):
            out.append(node)
            continue
        there = known
        if isinstance(node, For):
            found = next((c for what in _divisors(known, node) if (c := _window(known, node, *what))), None)
            if found is not None:
                out += guarded((found,), (node,), node.at)
                continue
            there = known.given(extent(known, node))
        elif isinstance(node, If):
            there = known.given(stating(known, node.conditions))
        inner = residues_before(there, node.body)
        out.append(node if inner == node.body else replace(node, body=inner))
    return tuple(out)


def _divisors(known: Known, node: For) -> Iterator[tuple[Key, int]]:
    """What floors divide that conditions in a loop ask of inner ones, as far as it is outside, and by which number.

    It is of a size, which may be any number there, and not of that alone.
    """
    found: dict[tuple[Key, int], None] = {}
    columns, inner = known.columns, {known.columns.ids[name] for name in _variables((node,))}
    for expression in _asked(node.body):
        for col, _ in columns.row(expression)[0]:
            d, key, _ = columns.floors.get(col, (0, (), 0))
            outer = tuple([term for term in key if term[0] not in inner])
            plain = not any(c in columns.floors for c, _ in key)
            if 1 < d <= LARGEST and plain and len(outer) < len(key):
                if any(columns.of_sizes((term,)) and abs(term[1]) == 1 for term in outer):
                    found[outer, d] = None
    yield from found


def _variables(body: Sequence[Ast]) -> Iterator[str]:
    """The variables of the loops in some code."""
    for node in body:
        if isinstance(node, For):
            yield node.var
        yield from _variables(within(node))


def _asked(body: Sequence[Ast]) -> Iterator:
    """What the conditions in some code compare."""
    for node in body:
        if isinstance(node, If):
            yield from compared(node.conditions)
        yield from _asked(within(node))


def _window(known: Known, node: For, key: Key, d: int) -> Condition | None:
    """A condition on a residue of what is outside without which nothing in a loop runs; None where it spares few tests.

    So it is where there are more ways to calls than are looked at, or what is left is no window of residues.
    """
    if not 0 < number_of_ways((node,)) <= WAYS:
        return None
    each = [System() for _ in range(d)]
    for r, residue in enumerate(each):
        residue.mod(key, -r, d)
    ways = [*ways_to_calls(known, (node,))]
    left = [r for r in range(d) if not all(known.surely_excludes(way.copy().add(each[r])) for way in ways)]
    first = [r for r in left if (r - 1) % d not in left]
    if len(first) != 1 or not any(many(known.given(each[r]), (node,)) for r in range(d) if r not in left):
        return None
    e = (known.columns.aff(key, 0) - first[0]) % d
    return ("eq", e) if len(left) == 1 else ("ge", len(left) - 1 - e)
