"""What alternatives in a loop need of sizes is asked before it.

    for (c0 = 0; c0 <= N; c0++)                              if (M == 0 || (M >= 3 && M <= 6))
      if (M == 0 || (M >= 3 && (M - c0) % 4 == 2 &&    ->      for (c0 = 0; c0 <= N; c0++)
                     M <= 6)) S(c0);                             if (M == 0 || (M - c0) % 4 == 2) S(c0);

Nothing runs at other sizes, however long the loop is. What it costs is a few tests wherever the loop begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice, product

from polyvolta.sched.loops.ast import AnyOf, Ast, Condition, For, If, comparisons, has_loops, nodes
from polyvolta.sched.loops.conditions import beyond, has_rows, length, uncovered, widest
from polyvolta.sched.loops.few_values import united
from polyvolta.sched.loops.hoisting.needs import CASES, WORTH, growth, of_remainders, of_sizes, seldom, stating
from polyvolta.sched.loops.hoisting.plain import mentions
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import LOOP, Key, System, coefficient, negated, plus, without
from polyvolta.sets import BudgetExceeded
from polyvolta.sets.budgets import bounded

ROWS = 3  # over sizes that an alternative is asked for by, at most


def needed_cases(outer: Known, inner: Known, body: Sequence[Ast], col: int, loop: System) -> list[System]:
    """Cases on sizes of which one holds where anything in a loop runs, by the conditions in it or their alternatives.

    Of n <= 4 or c0 mod 3 = 0, where 1 <= c0 <= 3 and (n + 2*c0) mod 8 >= 4, the second one leaves c0 = 3, and
    (n - 1) mod 8 >= 4. Where that takes more than a test a case, or holds at most sizes, a few tests that each case
    needs (`_weaker`). None where there is none, or one holds anyway, as where an outermost loop runs, or cases are too
    many, or a loop outside decides, too: the test would stand in that.

    Parameters
    ----------
    outer, inner : what is known outside, and inside.
    col, loop : its column and its bounds.
    """
    cases = [stating(inner, some) for some in islice(_alternatives(body), CASES + 1)]
    if not 0 < len(cases) <= CASES or not all(_speaks_of_sizes(inner, s, col) for s in cases):
        return []
    found: list[System] = []
    with suppress(BudgetExceeded):
        for case in cases:
            found += bounded(WORTH, of_sizes, inner, case.copy().add(loop))
        found = united(outer, [beyond(outer, s) for s in found if not outer.excludes_exactly(s)])
        found = widest(outer, found) if len(found) <= CASES else found
        if len(found) == 1:
            return found if has_rows(found[0]) and _one_test(outer, found[0]) else []
        if 1 < len(found) <= CASES and all(_one_test(outer, s) for s in found):
            return found
    try:
        each = [bounded(WORTH, _weaker, outer, inner, case.add(loop), loop) for case in cases]
    except BudgetExceeded:
        return []
    few = [s for s, _ in each if not s.empty]
    if not few or any(s.everywhere for s in few) or not uncovered(outer, few):
        return []
    if col == LOOP and not uncovered(inner, few):
        return []
    return [s.copy().add(beside) for s, beside in each if not s.empty]


def _weaker(outer: Known, inner: Known, system: System, loop: System) -> tuple[System, System]:
    """Rows over sizes that hold where values of loops satisfy a system: those of few sizes, and others beside them.

    Of few sizes: an equality, a step, one row that only small sizes or some remainders have, and what is so of sizes
    between numbers. Nothing beside them where that makes more than `ROWS`, and nothing that more iterations satisfy: of
    M <= N + 3 before a loop to N. Changes the system, which gets what its floors are.
    """
    columns = inner.columns
    inside: set[int] = set()  # what is not outside of all loops
    while more := {c for c in system.columns() if not columns.of_sizes(((c, 1),))} - inside:
        for floor in more & columns.floors.keys():
            for row in columns.floor_rows(floor):
                system.ge(*row)
        inside |= more
    sizes = system.without(inside, outer.low, outer.high)
    runs = loop.without(inside & loop.columns(), outer.low, outer.high)
    there = outer.given(runs)
    rows = list(sizes.ineqs.items())
    for floor in sorted(inside & columns.floors.keys()):
        rows += _landing(columns, system.without(inside - {floor}, outer.low, outer.high), floor)
    plain = System()
    plain.eqs, plain.mods = list(sizes.eqs), list(sizes.mods)
    for key, const in rows:
        simple = all(c not in columns.floors for c, _ in key) and (const < 0 or min(v for _, v in key) < 0)
        if simple or (seldom(outer, key, const) and not of_remainders(outer, key)):
            plain.ge(key, const)
    found, beside = beyond(there, plain), System()
    left, found.ineqs = found.ineqs, {}
    seldom_so = [row for row in left.items() if seldom(outer, *row)]
    remainders = [row for row in rows if of_remainders(outer, row[0]) and not there.implies(*row)]
    for some in [some for some in (seldom_so, remainders) if some][:1]:
        found.ge(*max(some, key=lambda row: len(row[0])))
    longer = {c for key in runs.ineqs for c, v in key if v > 0}
    for key, const in left.items():
        if not any(v > 0 and c in longer for c, v in key) and (key, const) not in seldom_so:
            (found if _between(outer, key) else beside).ge(key, const)
    return found, beside if length(found) + length(beside) <= ROWS else System()


def _between(known: Known, key: Key) -> bool:
    """Whether all sizes in a row are between numbers."""
    return all(known.low.get(c) is not None and known.high.get(c) is not None for c, _ in key)


def _landing(columns: Columns, system: System, col: int) -> Iterator[tuple[Key, int]]:
    """Rows over sizes for a multiple of a column to be between two bounds: 72*k <= N <= 72*k + 27 is N mod 72 <= 27."""
    for key, const in system.ineqs.items():
        v, rest = coefficient(key, col), without(key, col)
        high = system.ineqs.get(negated(key)) if v > 1 and columns.of_sizes(rest) else None
        if high is not None and const + high < v - 1:
            whole, shift = columns.quotient(v, negated(rest), high)
            yield plus(1, rest, v, whole), const + v * shift


def _speaks_of_sizes(known: Known, system: System, col: int) -> bool:
    """Whether there is a parameter in a system, or in a floor of it, and nothing else but a column."""
    sizes, affs = known.columns.sizes, known.columns.affs
    names = {n for c in system.columns() if c in affs for n in affs[c].names()}
    return bool(names & sizes) and names <= sizes | affs[col].names()


def _one_test(known: Known, system: System) -> bool:
    """Whether a system over sizes is a row that is not known, and holds at small ones or for some remainders alone."""
    if len(system.ineqs) + len(system.eqs) + len(system.mods) > 1:
        return False
    for key, const in system.ineqs.items():
        remainder = any(c in known.columns.floors for c, _ in key)
        found = growth(known, key, const)
        if not seldom(known, key, const) and not (remainder and found is not None and found[0] == 0):
            return False
    return True


def _alternatives(body: Sequence[Ast]) -> Iterator[list[Condition]]:
    """Conditions of which, where something in some code runs, those of one list hold."""
    for node in body:
        if not isinstance(node, If):
            yield []
            continue
        plain = [c for c in node.conditions if not isinstance(c, AnyOf)]
        for some in product(*[c.alternatives for c in node.conditions if isinstance(c, AnyOf)]):
            for inner in _alternatives(node.body):
                yield [*plain, *[c for case in some for c in case], *inner]


def asks_which(body: Sequence[Ast], name: str) -> bool:
    """Whether some code is a loop with none inside, in which conditions ask for its value."""
    if len(body) == 1 and isinstance(body[0], If) and not body[0].other:
        return asks_which(body[0].body, name)
    return len(body) == 1 and isinstance(body[0], For) and not has_loops(body[0].body) and _asks(body[0].body, name)


def asks_less(found: Sequence[Ast], loop: Sequence[Ast]) -> bool:
    """Whether code that does what a loop of two values does, each in its place, asks no more than that.

        for (c0 = max(1, n - 1); c0 <= n; c0++) {           if (n >= 1) {
          if (c0 + 1 == n) S(c0);                             if (n >= 2) S(n - 1);
          if (c0 == n) T();                          ->       T();
        }                                                   }

    It has no more comparisons than the loop has inside, each made once, and the loop itself one more than it has
    values. Where it has none, that is one; so is it here if all stands under one comparison.
    """
    if has_loops(found) or _compared(found) > _compared(loop):
        return False
    some = [node for node in found if isinstance(node, If)]
    return len(some) < len(found) or (len(some) == 1 and comparisons(some[0].conditions) == 1)


def _compared(body: Sequence[Ast]) -> int:
    """How many comparisons the conditions in some code are."""
    return sum([comparisons(node.conditions) for node in nodes(body) if isinstance(node, If)])


def _asks(body: Sequence[Ast], name: str) -> bool:
    """Whether a condition in some code is of a name."""
    return any(isinstance(node, If) and any(mentions(c, name) for c in node.conditions) for node in nodes(body))
