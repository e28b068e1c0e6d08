"""The bounds of a loop as expressions of what is outside: one on each side, or the extreme of those that count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from polyvolta.sched.loops.ast import Bound, Choice, Condition, Extreme
from polyvolta.sched.loops.conditions import any_of, stated
from polyvolta.sched.loops.rows.bounds import Bounds, Partial, Side, outermost
from polyvolta.sched.loops.rows.columns import Row
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import System, negated, plus, without
from polyvolta.sched.loops.writer import Writer
from polyvolta.sets import Aff

CASES = 6  # bounds of which each may count or not, beyond which those do that are hardly beyond others
FEW = 2  # the same, where a bound must be chosen for each of their combinations
MOST = 3  # the same, where there is no value beyond all of them
NEAR = 8  # values by which a bound is hardly beyond another one
KINDS: dict[int, Literal["min", "max"]] = {1: "max", -1: "min"}  # of several bounds of one shadow

Term = tuple[Bound, tuple[Condition, ...]]  # a bound, and the conditions under which it counts


def ends(writer: Writer, known: Known, col: int, sign: int, b: Bounds, once: bool = False) -> tuple[Bound, ...]:
    """The bounds of a loop on one side, the lower one for a sign of 1, as expressions; none where it has no end.

    Parameters
    ----------
    once : whether it is a loop that is entered once, for which bounds are chosen once: of equal ones that is one.
    """
    (some, each), (others, _) = ((b.low, b.lows), (b.high, b.highs))[::sign]
    if sign == 1 and b.step > 1 and len(some) > 1:
        some = _first_of_steps(known, some, col, b)
    if some:
        return tuple(dict.fromkeys(end_of(writer, known, s, col, sign, b) for s in some))
    if not each:
        return ()
    beyond = end_of(writer, known, others[0], col, -sign, b) + sign if len(others) == 1 else None
    conditions = [stated(known.columns, where, writer.tidy) for where, _ in each]
    values = [extreme(KINDS[sign], [end_of(writer, known, s, col, sign, b) for s in sides]) for _, sides in each]
    chosen = [bound for bound, cases in zip(values, conditions, strict=True) if cases]
    if once and beyond is None and len(chosen) == len(each) > MOST:
        beyond = past(writer, known, col, sign, b)
    if len(set(chosen) if once else chosen) > (MOST if beyond is None and all(conditions) else CASES):
        conditions = [cases if far(known, each, k, col) else () for k, cases in enumerate(conditions)]
        if beyond is None and all(conditions):
            beyond = past(writer, known, col, sign, b)
    found: dict[Bound, list[tuple[Condition, ...]]] = {}
    for bound, cases in zip(values, conditions, strict=True):
        found.setdefault(bound, []).append(cases)
    terms = [(bound, any_of(cases)) for bound, cases in found.items()]
    return (furthest(KINDS[-sign], terms, beyond),)


def far(known: Known, each: Sequence[Partial], k: int, col: int) -> bool:
    """Whether bound k of one side may be far beyond all others that count where its own condition does not hold.

    If it is not, it may always count: the loop is hardly longer than what it visits.
    """

    def beside(where: System, sides: Sequence[Side]) -> bool:
        there = known.given(where)
        return all(any(near(there, side, mine, col) for mine in each[k][1]) for side in sides)

    others = [one for j, one in enumerate(each) if j != k]
    always = [one for one in others if one[0].everywhere]
    return not (any(beside(*one) for one in always) or all(beside(*one) for one in others))


def near(known: Known, side: Side, other: Side, col: int) -> bool:
    """Whether another bound of the side of one is at most a few values beyond it."""
    (key, const, a), (beyond, shift, b) = side, other
    return known.implies(plus(b, without(key, col), -a, without(beyond, col)), NEAR * a * b + b * const - a * shift)


def past(writer: Writer, known: Known, col: int, sign: int, b: Bounds) -> Bound | None:
    """What is past all values of a loop; None where it has no end on the other side."""
    one, each = (b.high, b.highs) if sign == 1 else (b.low, b.lows)
    sides = one[:1] or outermost(known, each, col, -sign)
    return extreme(KINDS[sign], [end_of(writer, known, s, col, -sign, b) + sign for s in sides]) if sides else None


def extreme(kind: Literal["min", "max"], each: Iterable[Bound]) -> Bound:
    """The least or the greatest of some bounds."""
    some = tuple(dict.fromkeys(each))
    return some[0] if len(some) == 1 else Extreme(kind, some)


def end_of(writer: Writer, known: Known, side: Side, col: int, sign: int, b: Bounds) -> Aff:
    """One bound as an expression."""
    key, const, a = side
    e = known.columns.aff(without(key, col), const)
    e = -(e // a) if sign == 1 else e // a
    if b.step > 1 and sign == 1:
        rest = _to_residue(known, side, col, b)
        if rest is not None:
            return writer.argument(e + known.columns.aff(*rest))
        residue = known.columns.aff(*b.residue)
        return writer.argument(residue - b.step * ((residue - e) // b.step))
    return writer.tidy(e)


def _to_residue(known: Known, side: Side, col: int, b: Bounds) -> Row | None:
    """How far the first value at or beyond a lower bound is from it; None where that is not known by residues.

    Of c >= c0 in steps of 8 from t on it is t, where c0 mod 8 = 0 and 0 <= t <= 7. Cost: two rows are asked for.
    """
    key, const, a = side
    if a > 1:
        return None
    low = negated(without(key, col)), -const
    rest, shift = known.modulo(plus(1, b.residue[0], -1, low[0]), b.residue[1] - low[1], b.step)
    shift %= b.step
    if len(rest) > 1 or not (known.implies(rest, shift) and known.implies(negated(rest), b.step - 1 - shift)):
        return None
    return rest, shift


def _first_of_steps(known: Known, some: Sequence[Side], col: int, b: Bounds) -> Sequence[Side]:
    """Lower bounds without those whose first value of the loop's residue is never beyond that of another one.

    The first values of two are a multiple of the step apart: in steps of 8 from t on those of c >= c0 and c >= t, with
    c0 >= 0 and t <= 7, for c0 >= t - 7. A bound whose first value no residues say is left. Cost: a row is asked for
    each couple.
    """
    for side in sorted(some, key=lambda side: -len(side[0])):
        rest = _to_residue(known, side, col, b)
        if rest is None:
            continue
        low, const = plus(1, rest[0], -1, without(side[0], col)), rest[1] - side[1]
        for key, shift, a in some:
            beyond = plus(-1, without(key, col), -1, low), b.step - 1 - shift - const
            if a == 1 and (key, shift, a) != side and known.implies(*beyond):
                some = [one for one in some if one != side]
                break
    return some


def furthest(kind: Literal["min", "max"], each: Sequence[Term], beyond: Bound | None) -> Bound:
    """The least or the greatest of the bounds whose conditions hold; any bound, or what is beyond, where none does."""
    always = [bound for bound, cases in each if not cases]
    partial = [(bound, cases) for bound, cases in each if cases]
    default = always[0] if always else beyond if len(partial) > FEW else None
    if default is not None:
        return extreme(kind, [*always, *(Choice(cases, bound, default) for bound, cases in partial)])
    if len(partial) > MOST:
        return extreme(kind, [bound for bound, _ in partial])
    (first, cases), *rest = partial
    if not rest:
        return first
    found = extreme(kind, [first, *[Choice(some, bound, first) for bound, some in rest if bound != first]])
    other = furthest(kind, rest, None)
    return found if found == other else Choice(cases, found, other)
