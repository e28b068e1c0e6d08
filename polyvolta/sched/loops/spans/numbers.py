"""Single values at numbers: beside loops that sizes end, or two, which are no loop.

    S[i] -> [i] for 0 <= i < N, T[] -> [0], U[] -> [4]     T; S to 3; U; S from 4 on
    S[i] -> [i] for 0 <= i <= 1, T[] -> [1]                S(0); T; S(1)
    S[i, j] -> [i, j] for 0 <= i <= 1, T[i, j] -> [i, j] for 0 <= i <= 1 and i <= j <= n    T and S at 0, and at 1

A loop from the least to the greatest of all would ask at each value of S whose it is, and run from N to 4 to find U
there, at small sizes. Each cut costs one test of a loop, and a loop inside the code of one more.

    for (c0 = 0; c0 < 2; c0++) {          for (c1 = 0; c1 < n; c1++) S(0, c1);
      if (c0 == 1) T();             ->    T();
      for (c1 = 0; c1 < n; c1++)          for (c1 = 0; c1 < n; c1++) S(1, c1);
        S(c0, c1);
    }

What runs at both of two numbers is written twice, and with the number in place of the variable: there is no test of it,
and what a statement needs of sizes at one of them, as of n >= 5 - 3*c0, is asked once. Loops inside stay as they are,
for code that doubles at each level is soon too much.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from polyvolta.sched.loops.rows.columns import Row
from polyvolta.sched.loops.rows.groups import in_order
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.lanes import Lane, in_cell
from polyvolta.sched.loops.rows.linear import LOCAL, LOOP, System, coefficient, negated, plus, without
from polyvolta.sched.loops.rows.order import Compared, First, ends
from polyvolta.sched.loops.spans.holes import joined, many
from polyvolta.sched.loops.spans.shadows import shadows_of, valued

COPIES = 4, 16  # of statements, the most that cuts make: in a nest of loops, alone
AMONG = 8  # the same in an innermost loop of several


def is_number(s: System, col: int) -> bool:
    """Whether a system has a column at one number alone."""
    low, high = ends(s, col)
    return low is not None and low == high


def beside_numbers(known: Known, lanes: Sequence[Lane], shadows: Sequence[System], k: int, col: int) -> list[System]:
    """Shadows of lanes beside which all others are numbers; none where there is no such, or one of them is seldom much.

    That is one with few values, or with some at a remainder of what is outside alone, which may be a case.
    """
    several = [s for s in shadows if not is_number(s, col)]
    if len(several) == len(shadows) or not all(None in ends(s, col) and many(known, s, col) for s in several):
        return []
    return [] if _seldom(known, [lane for lane in lanes if not is_number(lane.shadows[k], col)], k, col) else several


def _seldom(known: Known, lanes: Sequence[Lane], k: int, col: int) -> bool:
    """Whether one of some lanes has values at a remainder of what is outside alone."""
    mods = [row for lane in lanes for row in lane.shadows[k].mods]
    return any(not coefficient(row[0], col) and not known.implies_mod(*row) for row in mods)


def few_copies(lanes: Sequence[Lane], k: int, col: int, innermost: bool) -> bool:
    """Whether cuts at all numbers of lanes make few copies of the others."""
    numbers = {ends(lane.shadows[k], col) for lane in lanes if is_number(lane.shadows[k], col)}
    return len(numbers) * sum(not is_number(lane.shadows[k], col) for lane in lanes) <= COPIES[innermost]


def at_numbers(
    known: Known, lanes: Sequence[Lane], k: int, columns: Sequence[int], first: First | None
) -> list[list[Lane]]:
    """The lanes at each number and those between, before and after them.

    What others have at a number is after what is there, or before it; nothing where neither may be so everywhere.
    """
    col = columns[k]
    here: dict[int, list[Lane]] = {}
    for lane in lanes:
        low, high = ends(lane.shadows[k], col)
        if low is not None and low == high:
            here.setdefault(int(low), []).append(lane)
    others = [lane for lane in lanes if not is_number(lane.shadows[k], col)]
    for shift in (0, 1):
        cuts = [None, *[v + shift for v in sorted(here)], None]
        between = [_between(known, others, k, col, *span) for span in pairwise(cuts)]
        items = [some for some in (*here.values(), *between) if some]
        if len(in_order(known, items, k, columns, first)) == len(items):
            return items
    return []


def around_numbers(
    known: Known, lanes: Sequence[Lane], k: int, columns: Sequence[int], first: First | None, innermost: bool
) -> list[System] | None:
    """The numbers at which a lane has loops inside that others are in the midst of, and what is between them.

    Of S[i] -> [i, 2] beside T[i, j] -> [20, i, j] the loops of T would ask at each of their iterations whether it is
    the place of S; at 20 alone they are cut there. Where they are no part of an outer loop it costs a copy of each
    other lane. None where there is no such number, or copies are many. Those of an innermost loop are `_among_several`.
    """
    if innermost:
        return _among_several(known, lanes, k, columns[k])
    col, inside = columns[k], Compared(known, k + 1, columns, first)
    loops = [(j, inner) for j, inner in enumerate(columns) if j > k and inner]
    others = [lane for lane in lanes if not is_number(lane.shadows[k], col)]
    found: set[int] = set()
    for lane in lanes:
        low, high = ends(lane.shadows[k], col)
        if low is not None and low == high and not all(valued(lane.shadows[j], inner) for j, inner in loops):
            if any(not (inside.precedes(lane, o) or inside.precedes(o, lane)) for o in others):
                found.add(low)
    return _cells([((), -low) for low in sorted(found)], col) if 0 < len(found) * len(others) <= COPIES[0] else None


def _among_several(known: Known, lanes: Sequence[Lane], k: int, col: int) -> list[System] | None:
    """The numbers of some lanes of an innermost loop, and what is between them, where two or more others are many.

    Of S[i] -> [i, 0] for 0 <= i <= n, T[] -> [5, 1] and U[i] -> [i, 2] for 1 <= i <= n one loop would ask at each value
    whether it is 5, and of U whether it has begun. From 6 on neither is asked. It costs two loops more at each number,
    and a copy of each other lane. None where one of these is seldom much, where copies are many, or where there is but
    one other: its loop has one test in it, which is little more than two loops have. Where sizes leave the others in
    different orders loops are cut by these.

    Where no lane has a number, and one has one value that loops outside decide, that is one.
    """
    shadows = shadows_of(known, lanes, k, col)
    others = [lane for lane in lanes if not valued(lane.shadows[k], col)]
    numbers = {low for s in shadows if is_number(s, col) and (low := ends(s, col)[0]) is not None}
    found = [((), -low) for low in sorted(numbers)] or _value(shadows, col)
    if not 0 < len(found) * len(others) <= AMONG:
        return None
    several = [s for s in shadows if not valued(s, col)]
    if len(several) < 2 or not all(None in ends(s, col) and many(known, s, col) for s in several):
        return None
    if _seldom(known, others, k, col) or len(joined(known, several, col, False)) > 1:
        return None
    return _cells(found, col)


def _value(shadows: Sequence[System], col: int) -> list[Row]:
    """The one value that shadows have a column at alone, as what it and a row add up to; none where there are several.

    It is of loops outside: where sizes alone say it, it is in no order with what is between sizes.
    """
    found = dict[Row, None]()
    for key, const in [row for s in shadows for row in s.eqs]:
        v = coefficient(key, col)
        if abs(v) != 1 or not any(LOOP <= c < LOCAL for c, _ in without(key, col)):
            return []
        rest = without(key, col)
        found[(rest, const) if v > 0 else (negated(rest), -const)] = None
    return [*found] if len(found) == 1 else []


def _cells(values: Sequence[Row], col: int) -> list[System]:
    """Values of a column that are 0 with a row added, in order, and what is before, between and behind them."""
    out: list[System] = []
    for low, high in pairwise([None, *values, None]):
        cell = System()
        if low is not None:
            out.append(System(eqs=[(plus(1, ((col, 1),), 1, low[0]), low[1])]))
            cell.ge(plus(1, ((col, 1),), 1, low[0]), low[1] - 1)
        if high is not None:
            cell.ge(plus(1, ((col, -1),), -1, high[0]), -high[1] - 1)
        out.append(cell)
    return out


def _between(known: Known, lanes: Sequence[Lane], k: int, col: int, low: int | None, high: int | None) -> list[Lane]:
    """The lanes that may have values from one number to before another one."""
    cell = System()
    if low is not None:
        cell.ge(((col, 1),), -low)
    if high is not None:
        cell.ge(((col, -1),), high - 1)
    return in_cell(known, lanes, cell, k)


def both_values(shadows: Sequence[System], col: int) -> list[System] | None:
    """The two values, a number and the next one, of shadows; None where there are others, or all have the same one.

    It is for an outermost loop of several alone, inside which loops ask what each has at which number unless that is
    put in, also if all have both.
    """
    found = [ends(s, col) for s in shadows]
    numbers = {end for both in found for end in both}
    low = min((n for n in numbers if n is not None), default=0)
    if numbers != {low, low + 1}:
        return None
    return [System(eqs=[(((col, 1),), -n)]) for n in (low, low + 1)]
