"""Small values of a size at which code calls nothing, left out before it, if it tests much there to find nothing.

    for N mod 3 = 1: 1 <= i < N, else -1 <= i < N          if (N >= 2 || N <= 0)
    for (c1 = (-((N + 2) % 3) + 7)/6 - 1; ...)       ->      for (c1 = (-((N + 2) % 3) + 7)/6 - 1; ...)
      for (c2 = 0; c2 < 3; c2++) { ... }                       for (c2 = 0; c2 < 3; c2++) { ... }

Rows that all of the pieces need of sizes are asked for before code is (`nothing`): over rationals, as bounds that all
share, for many tests. Here a value has nothing by integers, or by what guards leave, between others that have something
or below all of these. Which values call nothing is found by running the code at some numbers. That it is so whatever
other sizes are is certain where the code is decided by this size alone, so that the run says all; or where no piece has
an integer point at this value. Where no piece has any at smaller ones, either, the next larger one is what is asked
for. That is one test, or two at sizes below, and it takes the place of one that says less: where sizes leave something
no more are made. Cost: no code is longer but by this condition.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from polyvolta.sched.loops.ast import AnyOf, Ast, Block, Condition, If
from polyvolta.sched.loops.hoisting.inside import asked_once
from polyvolta.sched.loops.hoisting.least import Run, Undecided
from polyvolta.sched.loops.hoisting.plain import ensures, excludes, tied
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sched.loops.rows.pieces import Piece
from polyvolta.sched.loops.weighing.sizes import counted, where
from polyvolta.sets import var

VALUES = 1, 2, 3, 4, 5  # of a size, of which some may be left out
FEW = 4  # tests for nothing that are too many
LONG, SHORT = 200, 50  # tests beyond which they are not counted; where something is called
BESIDE = 1, 2, 3, 4, 5, 6, 8  # values at which codes are compared


def idle_left_out(known: Known, pieces: Sequence[Piece], body: tuple[Ast, ...]) -> tuple[Ast, ...]:
    """The same code under a condition that leaves out values of a size at which it calls nothing; see the module.

    Cost: some runs of the code; where many tests find nothing, integer programs for each piece and value.

    Parameters
    ----------
    pieces : nothing is called where none of these has an instance.
    """
    for name in sorted(known.columns.sizes):
        idle = [v for v in VALUES if _for_nothing(known, body, name, v) >= FEW]
        for last in reversed(idle):
            said = _leaving_out(known, pieces, body, name, last)
            found = None if said is None else _put(body, name, last, said)
            if found is not None and _better(known, body, found, name, idle):
                body = found
                break
    return body


def _for_nothing(known: Known, body: Sequence[Ast], name: str, value: int) -> int:
    """How many tests code makes where a size has a value, if it calls nothing there, whatever others are; else 0."""
    runs: list[Run] = []
    with suppress(Undecided):  # as soon as anything is called
        for at in where(known, name, value):
            runs.append(Run(0, LONG, True, False))
            runs[-1].run(body, at)
        return min([run.tests for run in runs], default=0)
    return 0


def _leaving_out(known: Known, pieces: Sequence[Piece], body: Sequence[Ast], name: str, last: int) -> Condition | None:
    """What leaves out a value of a size, and those next to it below, at which nothing is called; None if this has some.

    All below are left out if that is certain.
    """
    col, n = known.columns.ids[name], var(name)
    beyond: Condition = ("ge", n - (last + 1))
    if nothing_up_to(known, pieces, name, last):
        return beyond
    first, least = last + 1, known.low.get(col)
    while first > max(0, least or 0) and _nothing(known, pieces, body, name, first - 1):
        first -= 1
    if first > last:
        return None
    if first == least:
        return beyond
    return AnyOf(((beyond,), (("eq", n - (first - 1)) if first - 1 == least else ("ge", first - 1 - n),)))


def nothing_up_to(known: Known, pieces: Sequence[Piece], name: str, last: int) -> bool:
    """Whether it is certain that no piece has an integer point where a size has a value, or a smaller one."""
    below = System()
    below.ge(((known.columns.ids[name], -1),), last)
    return all(_excludes(known, piece, below) for piece in pieces)


def _nothing(known: Known, pieces: Sequence[Piece], body: Sequence[Ast], name: str, value: int) -> bool:
    """Whether it is certain that nothing is called where a size has a value."""
    run = Run(0, LONG, True, False)
    with suppress(Undecided):
        run.run(body, {name: value})
        return True
    there = System()
    there.eq(((known.columns.ids[name], 1),), -value)
    return not run.calls and all(_excludes(known, piece, there) for piece in pieces)


def _excludes(known: Known, piece: Piece, there: System) -> bool:
    """Whether a piece has no integer point where some rows over sizes hold."""
    return known.surely_excludes(piece.system.copy().add(there))


def _put(body: tuple[Ast, ...], name: str, value: int, said: Condition) -> tuple[Ast, ...]:
    """The body under a condition, inside of the one around it, in the branch where a size has a value, or of a mark.

    What it implies of those around it goes, and inside of it what it decides.
    """
    if len(body) == 1 and isinstance(node := body[0], Block):
        return (replace(node, body=_put(node.body, name, value, said)),)
    if len(body) == 1 and isinstance(node := body[0], If):
        if not node.other:
            inner = _put(node.body, name, value, _beside(said, node.conditions))
            if len(inner) == 1 and isinstance(one := inner[0], If) and not one.other:
                left = tuple(c for c in node.conditions if not any(_implies(d, c) for d in one.conditions))
                return (replace(node, conditions=(*left, *one.conditions), body=one.body),)
            return (replace(node, body=inner),)
        with suppress(Undecided):
            if Run().hold(node.conditions, {name: value}):
                return (replace(node, body=_put(node.body, name, value, said)),)
            return (replace(node, other=_put(node.other, name, value, said)),)
    return (If((said,), asked_once(body, (said,)), body[0].at),) if body else ()


def _implies(a: Condition, b: Condition) -> bool:
    """Whether a condition plainly implies another one, or each of its alternatives does."""
    return all(ensures(case, (b,)) for case in (a.alternatives if isinstance(a, AnyOf) else ((a,),)))


def _beside(said: Condition, conditions: Sequence[Condition]) -> Condition:
    """What leaves out values, beside conditions around: n >= 2 or n = 0 for n >= 2 or n <= 0 where n >= 0."""
    for c in conditions:
        if isinstance(said, AnyOf):
            each = [(case, tied((*case, c))) for case in said.alternatives if not any(excludes(c, d) for d in case)]
            cases = tuple([one if len(one) == 1 else case for case, one in each])
            said = AnyOf(cases) if len(cases) > 1 else cases[0][0] if cases else said
    return said


def _better(known: Known, body: tuple[Ast, ...], found: tuple[Ast, ...], name: str, idle: Sequence[int]) -> bool:
    """Whether code makes half as many tests, or less, where others call nothing, and nowhere more."""
    spared = False
    for value in BESIDE:
        for at in where(known, name, value):
            long = LONG if value in idle else SHORT
            (tests, _, calls), (after, _, _) = counted(body, at, long), counted(found, at, long)
            if value in idle and not calls:
                spared = spared or 2 * after <= tests
            elif calls and after > tests:
                return False
    return spared
