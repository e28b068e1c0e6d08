"""What one statement has of a loop that others share, apart: all of its values, those it has alone, or where all end.

    S1[i] -> [i] for n <= i <= 3, S2[] -> [1]                   where n is 3 at most one loop, and S2 alone elsewhere
    S1[i] -> [i] for i <= n, S2[] -> [0], S3[] -> [n]           what S1 has between them, in a loop of its own
    S1[i] -> [i], S2[] -> [n], S3[i] -> [i] for i < n           an innermost one to n - 1, and what is at n
    S1[i] -> [i] for 2*i <= n + 6, S2[] -> [n + 1], atomic      where n is 5 or more S1, and S2 behind; else one loop
    but for 1 to 3, which are isolated

A loop of all would ask at each value of the others whether it is one of that statement's, or run on where sizes leave
these nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from itertools import islice, product

from polyvolta.sched.loops.conditions import beyond
from polyvolta.sched.loops.hoisting.needs import seldom
from polyvolta.sched.loops.rows.bounds import bounds
from polyvolta.sched.loops.rows.columns import Row
from polyvolta.sched.loops.rows.known import Known, difference, sides
from polyvolta.sched.loops.rows.lanes import Group, Lane
from polyvolta.sched.loops.rows.linear import LOOP, System, coefficient, negated, plus, without
from polyvolta.sched.loops.rows.order import Compared, First
from polyvolta.sched.loops.rows.strides import grid
from polyvolta.sched.loops.spans.holes import ONCE, few_holes, joined, long
from polyvolta.sched.loops.spans.shadows import span, valued
from polyvolta.sched.loops.spans.telling import disjoint, hull, left_of, telling, width

SOME = 6  # shadows of which one is looked for that has all values of the others, and pieces of the union then
VERSIONS = 2  # cases of what is outside beyond which a loop does not stand in each of them
TAILS = 16  # the same of one that has many values alone: linear programs for each pair, so 240 times a few


def of_one(known: Known, shadows: Sequence[System], col: int, once: bool, innermost: bool) -> list[System] | None:
    """A shadow that has all values of the others at the sizes at which it has any, and what they have at other sizes.

    For an innermost loop values of those outside count as sizes do, if there are but two pieces then. None where no
    shadow does, where one has values wherever the others have, and where the rest are more than a few.
    """
    best: tuple[System, list[System], int] | None = None
    for s in shadows if len(shadows) <= SOME else ():
        others = (left for o in shadows if o is not s for left in difference(known, o, telling(known, o, s)))
        enough = 1 if valued(s, col) else 2 * SOME + 1 if best is None else len(best[1])
        rest = list(islice(others, enough))
        if not rest:
            return None
        if len(rest) == enough:
            continue
        for sizes, most in ((True, SOME), (False, 2 * innermost)):
            if most and all(known.excludes_exactly(_places(known, s, col, sizes).add(left)) for left in rest):
                best = s, rest, most
                break
    if best is None:
        return None
    cells = disjoint(known, [best[0], *joined(known, best[1], col, once)])
    return cells if cells is not None and len(cells) <= best[2] else None


def alone(
    known: Known, shadows: Sequence[System], col: int, least: int, strict: bool, much: bool, innermost: bool = False
) -> list[System] | None:
    """The values around all but one of some shadows, and the many that this one has alone; None where none has.

    Where the others are on both sides of these, the values before them and behind. None of fewer than `least` others,
    whose tests are not worth a loop, unless these have several values between numbers, which is not enough where it is
    `strict`; or but a few values where `much` is asked at each: a few that it has alone at some places stay with these.
    Of more than `SOME`, all of which would be tested at each value, another one may have many alone of what is around,
    too: S[i] -> [i] for m <= i <= 3 before 0, and T[i] -> [i] for 0 <= i <= n behind 5, of several for 0 <= i <= 5.
    It takes a few linear programs for each pair.
    """
    for s in shadows if len(shadows) <= TAILS else ():
        if width(known, s, col, ONCE):
            continue
        others = [o for o in shadows if o is not s]
        few = much and all(width(known, o, col, ONCE) for o in others)
        if len(others) < least and not few and (strict or not all(span(o, col) for o in others)):
            continue
        around = reduce(partial(hull, known), others)
        rows = telling(known, s, around)
        rest = difference(known, s, rows)
        if few and len(rest) > 2:
            single = innermost and all(width(known, o, col, 1) for o in others)
            around, rest = _many_beside(known, s, rows, col, single)
        if 0 < len(rest) <= 2 and not all(width(known, left, col, ONCE) for left in rest):
            left = [o.copy().add(around) for o in shadows] if len(shadows) > SOME else []
            left = [o for o in left if not (o.empty or known.excludes(o))]
            cells = alone(known, left, col, least, strict, much, innermost) if len(left) > 1 else None
            return [*[cell.copy().add(around) for cell in cells or (System(),)], *rest]
        rest = [] if rest or strict else left_of(known, s, others)
        rest = [left for left in rest if not width(known, left, col, ONCE)]
        if len(rest) == 1 and not _versions(telling(known, s, rest[0]), col):
            return [*rest, *difference(known, System(), telling(known, System(), rest[0]))]
    return None


def _versions(rows: Sequence[Row], col: int) -> bool:
    """Whether rows by which a shadow is alone are several of what is outside and none of a column.

    Then the others are not cut: each row is a case in which it and all of them stand again, with the same tests.
    """
    return len(rows) > VERSIONS and not any(coefficient(key, col) for key, _ in rows)


def _many_beside(known: Known, s: System, rows: Sequence[Row], col: int, single: bool) -> tuple[System, list[System]]:
    """Of rows of others those beside which a shadow has many values, and what it has there; nothing if what is outside
    says that it has many alone, but beside single values in an innermost loop (`single`).

    There it is cut at these alone: of S[i] -> [i] for 0 <= i <= n + 1 and T[] -> [n] for m >= 5 no iteration asks
    for n, whatever m is. Loops inside would stand in each part again.

    Of S[i] -> [i] for 0 <= i <= n and others for max(1, k) <= i <= k + 1 and 0 <= k <= 2 it has few before 1 and k: one
    cut behind k + 1 is enough. A linear program for each row.
    """
    around = System()
    for key, const in rows:
        if not width(known, s.copy().add(sides(key, const)[1]), col, ONCE):
            if coefficient(key, col):
                around.ge(key, const)
            elif not single:
                return around, []
    return around, difference(known, s, [*around.every_ge()])


def asked(known: Known, lanes: Sequence[Lane], k: int, col: int, own: bool = False) -> int:
    """How many rows that its bounds do not ensure loop k asks of some lanes at each value, congruences included.

    Parameters
    ----------
    own : count those of its column alone, of lanes that have several values: others are one test, or before it.
    """
    b = bounds(known, [lane.shadows[k] for lane in lanes], col)
    if b is None:
        return 0
    inside = b.within(known, col)
    each = [beyond(inside, lane.shadows[k]) for lane in lanes]
    if own:
        several = [rows for rows, lane in zip(each, lanes, strict=True) if not valued(lane.shadows[k], col)]
        return sum(coefficient(key, col) != 0 for rows in several for key, _ in rows.every_ge())
    return sum(len([*rows.every_ge()]) + len(rows.mods) for rows in each)


def mixed(known: Known, lanes: Sequence[Lane], k: int, columns: Sequence[int], first: First | None) -> bool:
    """Whether one instance may be before one of many, or behind it, inside loop k: it has a test at each place.

    Of S[i] -> [i, 2] for 0 <= i < N and U[] -> [0, N mod 4] a loop would ask before S and behind it whether i is 0. So
    it would of a few values of loop k, where none has one instance alone: of U[j] -> [j, j mod 4] for N <= j <= N + 2.
    """
    inside = Compared(known, k + 1, columns, first)
    loops = [(j, col) for j, col in enumerate(columns) if j >= k and col]
    few = [lane for lane in lanes if all(valued(lane.shadows[j], col) for j, col in loops)]
    many = [lane for lane in lanes if not valued(lane.shadows[k], columns[k])]
    if not few:  # linear programs for two values at one place
        few = [lane for lane in lanes if width(known, lane.shadows[k], columns[k], ONCE)]
        many = [lane for lane in many if lane not in few]
    return any(not (inside.precedes(a, b) or inside.precedes(b, a)) for a, b in product(few, many))


def at_end(known: Known, shadows: Sequence[System], col: int, once: bool) -> list[System] | None:
    """The one value of a shadow at which all others end, or begin, some there and some beside it; and the others.

    A loop through all would ask of each statement whether it is there yet. None where there is no such value.
    """
    several = [s for s in shadows if not valued(s, col)]
    for key, const in [row for s in shadows for row in s.eqs] if len(several) > 1 else ():
        v = coefficient(key, col)
        if abs(v) != 1:
            continue
        for sign in (1, -1):  # its value is the greatest, or the least
            towards = (key, const) if sign * v < 0 else (negated(key), -const)
            if all(known.ensures([*s.every_ge()], *towards) for s in shadows):
                beside = [known.ensures([*s.every_ge()], towards[0], towards[1] - 1) for s in several]
                if any(beside) and not all(beside):
                    there, others = System(eqs=[(key, const)]), System([(towards[0], towards[1] - 1)])
                    dense = few_holes(known, [s.copy().add(others) for s in several], col, once)
                    return [there, others] if dense else None
    return None


def beyond_others(known: Known, group: Group, k: int, columns: Sequence[int]) -> list[System]:
    """Sizes at which the one value of a statement is behind all that others have, or before it, and all other sizes, if
    these are few and a loop of all may be long; empty where there are none.

    Of S[i] -> [i] for 4 <= i and 2*i <= n + 6 and T[] -> [n + 1] an atomic loop of both asks at each value which has
    it, though T is behind S wherever n is 5 or more. What is inside is written in each case: where all of a band is to
    be one loop, it is; this is for what stands beside values that it isolates, and so in several anyway.
    """
    col, each = columns[k], dict[str, list[Lane]]()
    for lane in group.lanes if group.cell is None else ():
        each.setdefault(lane.piece.statement, []).append(lane)
    for name, lanes in each.items() if len(each) > 1 else ():
        if len(values := {grid(known, lane.shadows[k], col) for lane in lanes}) > 1:
            continue
        ((step, value),) = values
        others = [lane.shadows[k] for other, some in each.items() if other != name for lane in some]
        if step or not long(known, [lane.shadows[k] for lane in group.lanes], col):
            continue
        for sign in (1, -1):
            rows = [_apart(known, s, col, value, sign) for s in others]
            some = dict.fromkeys(row for row in rows if row is not None and not known.implies(*row))
            if None not in rows and 0 < len(some) <= VERSIONS:
                there = System(some)
                return [there, *difference(known, System(), [*there.every_ge()])]
    return []


def _apart(known: Known, s: System, col: int, value: Row, sign: int) -> Row | None:
    """A row that holds but at few sizes, by which a value is behind all of a system's column (1), or before it (-1)."""
    for key, const in s.every_ge():
        v = coefficient(key, col)
        if v * sign < 0:
            row = plus(-1, without(key, col), -v, value[0]), -const - v * value[1] - 1
            if known.implies(*row) or (known.columns.of_sizes(row[0]) and seldom(known, negated(row[0]), -row[1] - 1)):
                return row
    return None


def _places(known: Known, s: System, col: int, sizes: bool) -> System:
    """Where a system has values of a column: the rows of sizes alone, or of loops outside, too."""
    out, beyond = System(), s.without((col,), known.low, known.high)
    for key, const in beyond.every_ge():
        if not sizes or all(c < LOOP for c, _ in key):
            out.ge(key, const)
    return out
