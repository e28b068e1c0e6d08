"""The bounds of a loop as expressions of what is outside: one on each side, or the extreme of those that count."""

from __future__ import annotations

from math import inf
from typing import Literal

from polyvolta.sched.loops.ast import Bound, Choice, Condition, Extreme
from polyvolta.sched.loops.conditions import stated
from polyvolta.sched.loops.rows.bounds import Bounds, Side
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import without
from polyvolta.sched.loops.writer import Writer
from polyvolta.sets import Aff

CASES = 6  # bounds of which each may count or not, beyond which those do that no size moves, or all
FEW = 2  # the same, where a bound must be chosen for each of their combinations
MOST = 3  # the same, where there is no value beyond all of them


def ends(writer: Writer, known: Known, col: int, sign: int, b: Bounds) -> tuple[Bound, ...]:
    """The bounds of a loop on one side, the lower one for a sign of 1, as expressions; none where it has no end."""
    (some, each), (others, _) = ((b.low, b.lows), (b.high, b.highs))[::sign]
    if some:
        return tuple(dict.fromkeys(end_of(writer, known, s, col, sign, b) for s in some))
    if not each:
        return ()
    beyond = end_of(writer, known, others[0], col, -sign, b) + sign if len(others) == 1 else None
    terms: list[tuple[Bound, tuple[Condition, ...]]] = []
    near: list[tuple[Bound, tuple[Condition, ...]]] = []
    for where, sides in each:
        one = tuple(dict.fromkeys(end_of(writer, known, s, col, sign, b) for s in sides))
        bound = one[0] if len(one) == 1 else Extreme("max" if sign == 1 else "min", one)
        cases = stated(known.columns, where, writer.tidy)
        if not cases:
            terms = [term for term in terms if term[0] != bound]
        if (bound, cases) not in terms and (bound, ()) not in terms:
            terms.append((bound, cases))
            if cases and len(each) > MOST and any(known.greatest((), without(key, col)) < inf for key, _, _ in sides):
                near.append((bound, cases))
    if sum(1 for _, cases in terms if cases) > most_of(terms, beyond):
        terms = [*dict.fromkeys((bound, () if (bound, cases) in near else cases) for bound, cases in terms)]
    return (furthest("min" if sign == 1 else "max", terms, beyond),)


def end_of(writer: Writer, known: Known, side: Side, col: int, sign: int, b: Bounds) -> Aff:
    """One bound as an expression."""
    key, const, a = side
    e = known.columns.aff(without(key, col), const)
    e = -(e // a) if sign == 1 else e // a
    if b.step > 1 and sign == 1:
        residue = known.columns.aff(*b.residue)
        return writer.argument(residue - b.step * ((residue - e) // b.step))
    return writer.tidy(e)


def furthest(
    kind: Literal["min", "max"], each: list[tuple[Bound, tuple[Condition, ...]]], beyond: Bound | None
) -> Bound:
    """The least or the greatest of the bounds whose conditions hold; any bound, or what is beyond, where none does."""
    always = [bound for bound, cases in each if not cases]
    partial = [(bound, cases) for bound, cases in each if cases]
    if len(partial) > most_of(each, beyond):
        always, partial = [bound for bound, _ in each], []
    default = always[0] if always else beyond if len(partial) > FEW else None
    if default is not None:
        terms = [*always, *(Choice(cases, bound, default) for bound, cases in partial)]
        return terms[0] if len(terms) == 1 else Extreme(kind, tuple(terms))
    (first, cases), *rest = partial
    if not rest:
        return first
    terms = (first, *[Choice(some, bound, first) for bound, some in rest if bound != first])
    found, other = first if len(terms) == 1 else Extreme(kind, terms), furthest(kind, rest, None)
    return found if found == other else Choice(cases, found, other)


def most_of(each: list[tuple[Bound, tuple[Condition, ...]]], beyond: Bound | None) -> int:
    """How many bounds may count or not."""
    return CASES if beyond is not None or not all(cases for _, cases in each) else MOST
