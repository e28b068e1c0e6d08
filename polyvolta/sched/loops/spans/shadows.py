"""What lanes say of a loop's column and of what is outside: the shadows that are looked at to cut it."""

from __future__ import annotations

from collections.abc import Sequence

from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.lanes import Lane, in_cell
from polyvolta.sched.loops.rows.linear import System, coefficient, plus
from polyvolta.sched.loops.rows.order import ends
from polyvolta.sched.loops.rows.strides import grid
from polyvolta.sched.loops.spans.holes import few_holes
from polyvolta.sched.loops.spans.telling import disjoint, terse, width

MANY = 32  # shadows of which no union is made


def shadows_of(known: Known, lanes: Sequence[Lane], k: int, col: int) -> list[System]:
    """What lanes say of a column and of what is outside, rounded to their strides; those of one value last.

    That there is a value at all is said, too.
    """
    return list(shadows_and_remainders(known, lanes, k, col)[0])


def shadows_and_remainders(
    known: Known, lanes: Sequence[Lane], k: int, col: int
) -> tuple[Sequence[System], Sequence[System]]:
    """The same, and for each of them the remainders of what is outside without which it has no values.

    A row of what is outside that follows at these is left out: c0 <= N - 4 does for multiples of 4 before N, if N is.
    """
    found: dict[tuple, tuple[System, System]] = {}
    for lane in lanes:
        shadow = lane.shadows[k]
        beside = known.given(System(mods=shadow.mods))
        eqs = [row for row in shadow.eqs if not known.implies_zero(*row)]
        s = System([beside.tight(*row) for row in shadow.ineqs.items()], eqs)
        for row in s.without((col,), known.low, known.high).ineqs.items():
            s.ge(*known.tight(*row))
        rows = [(row, row if coefficient(row[0], col) else beside.loose(*row)) for row in s.ineqs.items()]
        s.ineqs = {key: const for (key, const), loose in rows if not known.implies(*loose)}
        mods = [row for row in shadow.mods if not coefficient(row[0], col) and not known.implies_mod(*row)]
        where = System(mods=mods)
        _, before = found.setdefault((frozenset(s.eqs), frozenset(s.ineqs.items())), (s, where))
        before.mods = [row for row in before.mods if row in where.mods]
    some = sorted(found.values(), key=lambda one: valued(one[0], col))
    return [s for s, _ in some], [where for _, where in some]


def within(known: Known, lanes: Sequence[Lane], cells: Sequence[System], k: int, col: int) -> list[list[Lane]]:
    """Lanes within each of some cells, those that may have values there."""
    each = (in_cell(known, lanes, terse(known, cell, col), k) for cell in cells)
    return [inside for inside in each if inside]


def valued(s: System, col: int) -> bool:
    return any(coefficient(key, col) for key, _ in s.eqs)


def one_each(known: Known, lanes: Sequence[Lane], shadows: Sequence[System], k: int, col: int) -> list[System] | None:
    """What two shadows of one value each have, disjoint: one, and the other where its value is another.

    A loop from one of these values to the other would ask at each whose it is. Two conditions before are enough; one
    is where it is known which is less (`few.by_order`). The one value may be that of a stride between two bounds, at
    some places outside: of S[i] -> [i - 1] for m <= 2i <= m + 2 and i mod 2 = n mod 2, where 0 <= m, beside T[] -> [-1]
    it is S at -1, T, and S behind. Cost: a linear program for each lane with a stride.
    """
    if len(shadows) != 2:
        return None
    if not all(valued(s, col) for s in shadows):
        return disjoint(known, shadows[::-1]) if all(_one(known, lane.shadows[k], col) for lane in lanes) else None
    (p, a), (q, b) = [grid(known, s, col)[1] for s in shadows]
    if known.implies(plus(1, q, -1, p), b - a) or known.implies(plus(1, p, -1, q), a - b):
        return None
    return disjoint(known, shadows)


def _one(known: Known, s: System, col: int) -> bool:
    """Whether a shadow has one value of a column at most at any place outside, be it by its stride."""
    step = grid(known, s, col)[0]
    return step == 0 or (step > 1 and width(known, s, col, step))


def span(s: System, col: int) -> int | None:
    """How far two numbers are apart between which a system has a column; None where it doesn't."""
    low, high = ends(s, col)
    return None if low is None or high is None else high - low


def dense(known: Known, lanes: Sequence[Lane], k: int, col: int) -> bool:
    """Whether a loop over lanes finds nothing but a few times in a row, as that of many counts, too."""
    shadows = shadows_of(known, lanes, k, col)
    return not 1 < len(shadows) <= MANY or few_holes(known, shadows, col, False)
