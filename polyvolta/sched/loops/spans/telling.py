"""What systems over a loop's column and what is outside say beside one another.

Which rows tell one from another, what both say, how they are made disjoint, and how many values they have of a column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import combinations
from math import inf

from polyvolta.sched.loops.rows.known import Known, difference
from polyvolta.sched.loops.rows.linear import Key, System, coefficient, negated, plus, without
from polyvolta.sched.loops.rows.tableaus import ALMOST
from polyvolta.sets import BudgetExceeded
from polyvolta.sets.budgets import bounded

PIECES = 48  # pieces of a union beyond which there is one loop
PLACES = 3, 8  # pieces of which it is asked which ones are before which others: of two either may be cut off first
STEPS = 3000  # in which that is asked


def ties(s: System) -> list[tuple[Key, int]]:
    """The equalities of a system as inequalities."""
    return [row for key, const in s.eqs for row in ((key, const), (negated(key), -const))]


def telling(known: Known, where: System, system: System) -> list[tuple[Key, int]]:
    """The rows of a system that the others do not imply within another one; those of equalities stay.

    Where that takes linear programs, they share a tableau, which each row leaves that is implied.
    """
    rows = list(system.ineqs.items())
    both = ties(system)
    around, order = [*where.every_ge(), *both], sorted(rows, key=lambda r: -len(r[0]))
    for at, row in enumerate(order):
        rest = [r for r in rows if r is not row]
        top = known.plainly([*around, *rest], negated(row[0]))
        if top is None:
            return [*both, *_needed(known, around, rows, order[at:])]
        if top < row[1] + 1:
            rows = rest
    return [*both, *rows]


def _needed(
    known: Known, around: Sequence[tuple[Key, int]], rows: list[tuple[Key, int]], asked: Sequence[tuple[Key, int]]
) -> list[tuple[Key, int]]:
    """Some rows without those asked for that the others imply where those around hold, one after another."""
    tab = known.tableau([*around, *rows])
    if tab.empty or len(rows) == 1:
        rows = _contradicting(known, around, rows, asked) if tab.empty else rows
        for row in [r for r in asked if r in rows]:
            rest = [r for r in rows if r is not row]
            if known.ensures([*around, *rest], *row):
                rows = rest
        return rows
    first = tab.made - len(rows)
    numbers = {row[0]: -(first + k + 1) for k, row in enumerate(rows)}
    gone = {key for key, _ in asked if tab.relaxed_implies(numbers[key], ALMOST)}
    return [r for r in rows if r[0] not in gone]


def _contradicting(
    known: Known, around: Sequence[tuple[Key, int]], rows: list[tuple[Key, int]], asked: Sequence[tuple[Key, int]]
) -> list[tuple[Key, int]]:
    """Of rows that hold nowhere those without the first ones asked for, which the others imply: they hold nowhere."""
    tab = known.tableau(around)
    kept: list[tuple[Key, int]] = []
    for row in (*[r for r in rows if r not in asked], *reversed(asked)):
        if tab.empty:
            break
        tab.ge(*row)
        kept.append(row)
    return [r for r in rows if r in kept or r not in asked]


def terse(known: Known, s: System, col: int) -> System:
    """A system without rows of what is outside that its bounds of a column imply: a loop that runs ensures them."""
    out = s.copy()
    for key, const in s.ineqs.items():
        if not coefficient(key, col):
            del out.ineqs[key]
            if not known.ensures([*out.every_ge()], key, const):
                out.ineqs[key] = const
    return out


def hull(known: Known, a: System, b: System) -> System:
    """The rows of each of two systems that hold on the other."""
    out = System()
    for one, other in ((a, b), (b, a)):
        tab, said = known.tableau(other.ineqs.items(), other.eqs), dict(other.every_ge())
        for key, const in one.every_ge():
            if said.get(key, inf) <= const or known.says(key, const) or tab.always(key, const):
                out.ge(key, const)
    out.untie()
    return out


def left_of(known: Known, system: System, others: Iterable[System]) -> list[System]:
    """What is left of a system without some others, as disjoint systems."""
    left = [system]
    for other in others:
        left = [part for whole in left for part in difference(known, whole, telling(known, whole, other))]
    return left


def disjoint(known: Known, systems: Sequence[System]) -> list[System] | None:
    """Disjoint systems whose union is that of some; None where they would be too many."""
    out: list[System] = []
    for piece in systems:
        left = [] if piece.empty else [piece]  # it may have no row that says so, and would take all from others
        out += [part for whole in left for part in left_of(known, whole, out)]
        if len(out) > PIECES:
            return None
    return out


def one_behind_another(known: Known, systems: Sequence[System], col: int) -> list[System]:
    """Some systems, those before others of which all values of a column are before the others' wherever both have any.

    Made disjoint in turn, of such that lie one behind another the first is whole, and what is left of the others lies
    before or behind it at all sizes. Were one cut off first that lies behind, it would leave some of each before it and
    behind it where it is empty or not, which no order has: of 0 <= i < a, then b, then c values, whatever their signs,
    what the last one leaves of the first may be behind it, before the second, of which all is before the last. So the
    loops of arrays one behind another are the same whatever order their statements have in the text. Others stay in the
    order they have, each behind those before it. Cost: a linear program or two for each couple.
    """
    if not PLACES[0] <= len(systems) <= PLACES[1]:
        return [*systems]
    arcs: list[tuple[int, int]] = []
    with suppress(BudgetExceeded):
        arcs = bounded(STEPS, _arcs, known, systems, col)
    out: list[int] = []
    seen: set[int] = set()

    def put(n: int) -> None:
        if n not in seen:
            seen.add(n)
            for p in [p for p in range(len(systems)) if (p, n) in arcs]:
                put(p)
            out.append(n)

    for n in range(len(systems)):
        put(n)
    return [systems[n] for n in out]


def _arcs(known: Known, systems: Sequence[System], col: int) -> list[tuple[int, int]]:
    """Which of some systems are before which others, and not behind these, too."""
    twin, out = known.columns.twin(col), list[tuple[int, int]]()
    each = [([*s.every_ge()], []) for s in systems]
    for rows, beside in each:
        for key, const in rows:
            v = coefficient(key, col)
            beside.append((plus(1, without(key, col), v, ((twin, 1),)) if v else key, const))

    def before(p: int, q: int) -> bool:
        return known.ensures([*each[p][0], *each[q][1]], plus(1, ((twin, 1),), -1, ((col, 1),)), -1)

    for p, q in combinations(range(len(systems)), 2):
        first, last = before(p, q), before(q, p)
        if first != last:
            out.append((p, q) if first else (q, p))
    return out


def width(known: Known, part: System, col: int, few: int) -> bool:
    """Whether a system has at most so many values of a column at any values outside."""
    twin = known.columns.twin(col)
    rows = list(part.every_ge())
    for key, const in part.every_ge():
        v = coefficient(key, col)
        if v:
            rows.append((plus(1, without(key, col), v, ((twin, 1),)), const))
    return known.ensures(rows, ((col, 1), (twin, -1)), few - 1)
