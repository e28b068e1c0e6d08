"""How often a loop runs at most, where a number says it, and its value where it has one: it is no loop then.

What is to be written out is from a row below all of its values.

c1 <= i <= c1 + 3                       from c1, four times
2*c1 <= i, i <= 4*floor(c1/2) + 1       two rows, whose difference is a number by what floors say
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from polyvolta.sched.loops.rows.bounds import Bounds, Side, bounds, end
from polyvolta.sched.loops.rows.columns import Row
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import FLOOR, Key, System, coefficient, negated, plus, without
from polyvolta.sched.loops.rows.steps import equalities

SOME = 300  # steps that a question of integers between numbers may take


def several(known: Known, shadows: Sequence[System], columns: Sequence[int]) -> int:
    """How many of some columns may have several values by their shadows, and so have a loop; 0 is none."""
    each = [(s, col, bounds(known, [s], col)) for s, col in zip(shadows, columns, strict=True) if col]
    return sum(b is not None and single(known, b, [s], col) is None for s, col, b in each)


def span(
    known: Known, b: Bounds, shadows: Sequence[System], each: Sequence[System], col: int
) -> tuple[Side, int] | None:
    """A row below all values of a loop and how many steps further it goes at most; None where no number says that.

    Parameters
    ----------
    shadows, each : of the classes of its lanes, and of the lanes.
    """
    found = None if b.lows or b.highs else longest(known, b, col)
    found = found or constant_span(known, shadows, col, b.step)
    found = found or constant_span(known, each, col, b.step)
    found = found or span_beside(known, each, col, b.step)
    if found is not None and b.step > 1:
        other = span_of_residue(known, each, col, b.step, b.residue)
        found = other if other is not None and other[1] <= found[1] else found
    return found


def longest(known: Known, b: Bounds, col: int) -> tuple[Side, int] | None:
    """A lower bound and how many steps further the loop goes at most, if that has a limit."""
    rows, best = [(k, c) for k, c, _ in (*b.low, *b.high)], None
    for side in b.low:
        key, const, a = side
        top = known.greatest(rows, key)
        if top == -inf:
            return None
        if top != inf:
            steps = int((top + const) // a) // b.step
            if best is None or steps < best[1]:
                best = (side, steps)
    return best


def constant_span(known: Known, shadows: Sequence[System], col: int, step: int) -> tuple[Side, int] | None:
    """A constant lower bound of all shadows and the number of steps from it to a constant upper one."""
    lows, highs = [], []
    for s in shadows:
        tab = known.tableau(s.ineqs.items(), s.eqs)
        if not tab.empty:
            row = tab.row(((col, 1),), 0)
            low, high = tab.minimum(row), tab.maximum(row)
            if low is None or high is None:
                return None
            lows.append(-(-low[0] // low[1]))
            highs.append(high[0] // high[1])
    return ((((col, 1),), -min(lows), 1), (max(highs) - min(lows)) // step) if lows else None


def span_of_residue(
    known: Known, shadows: Sequence[System], col: int, step: int, residue: Row
) -> tuple[Side, int] | None:
    """A bound that is a number of steps from a loop's residue, and how many it is at most from there to the last value.

    Of c = t mod 128 with t2 - 514 <= c <= t2 - 510, where 125 <= t <= 127 and 254 <= t2 <= 256, it is t - 384: no floor
    says where the first value is. Two linear programs for each shadow.
    """
    key, const = plus(1, ((col, 1),), -1, residue[0]), -residue[1]
    lows, highs = [], []
    for s in shadows:
        tab = known.tableau(s.ineqs.items(), s.eqs)
        if not tab.empty:
            low, high = tab.minimum(tab.row(key, const)), tab.maximum(tab.row(key, const))
            if low is None or high is None:
                return None
            lows.append(-(-low[0] // (low[1] * step)))
            highs.append(high[0] // (high[1] * step))
    return ((key, const - min(lows) * step, 1), max(highs) - min(lows)) if lows else None


def span_beside(known: Known, shadows: Sequence[System], col: int, step: int) -> tuple[Side, int] | None:
    """A row that is a number below all values of some shadows, at most, and how many steps further they go at most.

    The least such number of steps. Where c2 is 4*floor(M/4) in one and 3*floor((M + 1)/3) in another one, which have
    2*c1 <= c2 <= 2*c1 + 1 by what they say of their floors, it is 2*c1: rows for it are those that are left of each
    without the floors that are in rows of the column, and each is asked of every shadow as it is. Two linear programs
    for each row and shadow.
    """
    tabs = [tab for s in shadows if not (tab := known.tableau(s.ineqs.items(), s.eqs)).empty]
    best: tuple[Side, int] | None = None
    for key in dict.fromkeys(key for s in shadows for key in _below(known, s, col)):
        ends = [(tab.minimum(row), tab.maximum(row)) for tab in tabs for row in (tab.row(key, 0),)]
        lows = [-(-low[0] // low[1]) for low, _ in ends if low is not None]
        highs = [high[0] // high[1] for _, high in ends if high is not None]
        if tabs and len(lows) == len(highs) == len(tabs):
            a = coefficient(key, col)
            steps = (max(highs) - min(lows)) // a // step
            if best is None or steps < best[1]:
                best = (key, -min(lows), a), steps
    return best


def _below(known: Known, shadow: System, col: int) -> Iterator[Key]:
    """Rows of lower bounds of a column by a shadow, and by what is left of it without floors that are in these."""
    mine = [key for key, _ in shadow.every_ge() if coefficient(key, col)]
    floors = {c for key in mine for c, _ in key if c >= FLOOR}
    around = shadow.copy()
    for key, const in known.ineqs.items():
        if any(c in floors for c, _ in key):
            around.ge(key, const)
    for system in (shadow, around.without(floors, known.low, known.high)):
        yield from [key for key, _ in system.every_ge() if coefficient(key, col) > 0]


# ---- one value


def single(known: Known, b: Bounds, shadows: Sequence[System], col: int) -> tuple[Key, int, int] | None:
    """The one value (key . x + const)/den of a loop over what is outside, if it has at most one everywhere."""
    if b.lows or b.highs or not b.low or not b.high:
        return None
    if all(any(coefficient(k, col) for k, _ in s.eqs) for s in shadows):
        key, const = next(r for r in shadows[0].eqs if coefficient(r[0], col))
        if len(shadows) == 1 or all((key, const) in s.eqs for s in shadows):
            v = coefficient(key, col)
            rest = without(key, col)
            return (negated(rest), -const, v) if v > 0 else (rest, const, -v)
    tab = b.tableau
    if len(b.low) == 1 == len(b.high):
        (low, c_low, a), (high, c_high, h) = b.low[0], b.high[0]
        if a == h and not plus(1, low, 1, high):
            if c_low + c_high >= a * b.step:
                return None
        elif len(low) == 1 == len(high):
            if c_high // h + c_low // a >= b.step:
                return None
    if tab is None:
        twice = [*[(k, c) for k, c, _ in b.low], *[(k, c - a * b.step) for k, c, a in b.high]]
        if known.plainly(twice, ()) == 0:  # somewhere all bounds hold at a value, and at the next one, too
            return None
        tab = known.tableau([(k, c) for k, c, _ in (*b.low, *b.high)])
    if tab.empty:
        return None
    for side, sign in [(s, 1) for s in b.low] + [(s, -1) for s in b.high]:
        key, const, a = side
        if tab.always(negated(key), a * b.step - 1 - const):
            return (*end(known, side, col, sign, b.step, b.residue), 1)
    return None


def single_of_integers(known: Known, b: Bounds, col: int) -> tuple[Key, int, int] | None:
    """The same where loops outside are between numbers and rational numbers between theirs leave room for several.

    Of even c2 with 2 <= c2 <= 4 and 4*c0 <= c2 <= 3*c0 + 2 for 0 <= c0 <= 1 it is 2*c0 + 2: at c0 = 1/2 there are more.
    """
    sides = [*[(s, 1) for s in b.low], *[(s, -1) for s in b.high]]
    others = {c for (key, _, _), _ in sides for c, _ in key if c != col}
    if b.lows or b.highs or not others or not others <= known.low.keys() & known.high.keys():
        return None
    if len(sides) < 3 and b.limited:
        return None
    for key, const in equalities(b.system(col), known.ineqs) or ():
        v = coefficient(key, col)
        if abs(v) == 1 and others.issuperset(c for c, _ in without(key, col)):
            return plus(-v, without(key, col), 0, ()), -v * const, 1
    for side, sign in sides:
        there = b.system(col)
        there.ge(side[0], side[1] - side[2] * b.step)
        if known.surely_excludes(there, SOME):
            return (*end(known, side, col, sign, b.step, b.residue), 1)
    return None
