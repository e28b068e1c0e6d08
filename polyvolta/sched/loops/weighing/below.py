"""What code calls at sizes below one that parts of it ask for, written out, where that is asked for anyway.

    if (n >= 1) A(0);                                            if (n >= 2) {
    for (c0 = 0; c0 < (n + 1)/2; c0++) ...                         A(0);
    if (n >= 2)                                            ->      for (c0 = 0; c0 < (n + 1)/2; c0++) ...
      for (c0 = 1; c0 <= (n + 3)/4; c0++) ...                      for (c0 = 1; c0 <= (n + 3)/4; c0++) ...
                                                                 } else if (n >= 1) {
                                                                   A(0);
                                                                   B(0);
                                                                 }

Parts that run at small sizes, too, find little there, one after the other. Asked for first, the size above is no test
of its own where a part asks for it; what all of the code calls at each of the few values below, down to one from which
on no piece has an integer point, is found by running it, as where one is at its end (`least`). Code that is longer by
these calls makes as many tests, or fewer, at all sizes, and half as many at one of those at most. The same is done down
to another size that is asked for, below which the code goes on, if each loop of it is then on one of the two sides:

    if (n >= 6) A ...                        if (n >= 6) { A ...  C ... }
    else if (n <= 2) B ...            ->     else if (n >= 4) S(5);
    if (n >= 4) C ...                        else if (n <= 2) B ...
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import replace

from polyvolta.sched.loops.ast import Ast, Block, Call, Condition, For, If, compared, has_loops, negation, nodes
from polyvolta.sched.loops.hoisting.inside import asked_once
from polyvolta.sched.loops.hoisting.least import CALLS, Run, Undecided
from polyvolta.sched.loops.hoisting.needs import stating
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sched.loops.rows.pieces import Piece
from polyvolta.sched.loops.weighing.idle_sizes import idle_left_out, nothing_up_to
from polyvolta.sched.loops.weighing.sizes import counted, where
from polyvolta.sets import Aff, var

VALUES = 5  # at which calls are written out, at most
MANY, EACH = 5, 2  # tests, and for each call, up to which code is left as it is
GROUPS = 3  # different lots of calls, at most
LONG = 100  # tests beyond which they are not counted
BESIDE = 1, 2, 3, 4, 5, 6, 8, 40  # values at which codes are compared

Groups = list[tuple[int, tuple[Ast, ...]]]  # first values, and what is called from there on


def few_found_apart(known: Known, pieces: Sequence[Piece], body: tuple[Ast, ...]) -> tuple[Ast, ...]:
    """The same code where small sizes that call little, or nothing (`idle_sizes`), are told apart.

    Parameters
    ----------
    pieces : nothing is called where none of these has an instance: an extension adds some where one comes by.
    """
    return idle_left_out(known, pieces, below_apart(known, pieces, body))


def below_apart(known: Known, pieces: Sequence[Piece], body: tuple[Ast, ...]) -> tuple[Ast, ...]:
    """The same code with what it calls below a value of a size written out; see the module.

    Cost: some runs of the code; where many tests find few calls, an integer program for each piece and value.

    Parameters
    ----------
    pieces : nothing is called where none of these has an instance.
    """
    for name in sorted(known.columns.sizes) if has_loops(body) else ():
        asked = {t for t in _asked(body, var(name)) if 1 < t <= VALUES + 1}
        late = [bound for bound in sorted(asked, reverse=True) if _late(body, name, bound)]
        each = [(bound, *one) for bound in late for one in _groups(known, pieces, body, name, bound, asked)]
        for bound, low, groups in sorted(each, key=lambda one: one[1] is not None):  # all that is below one first
            found = _told(body, name, low, bound, groups)
            if _better(known, body, found, name, bound):
                return found
    if len(body) == 1 and isinstance(node := body[0], If):
        inside = below_apart(known.given(stating(known, node.conditions)), pieces, node.body)
        fails = negation(node.conditions) if node.other else ()
        other = below_apart(known.given(stating(known, fails)), pieces, node.other) if fails else ()
        if inside is not node.body or other is not node.other:
            return (replace(node, body=inside, other=other),)
    return body


def _told(body: tuple[Ast, ...], name: str, low: int | None, bound: int, groups: Groups) -> tuple[Ast, ...]:
    """The code with calls of sizes from some value on, or of all, below a bound; as it is if a loop would be twice."""
    n, at = var(name), body[0].at
    more: Condition = ("ge", n - bound)
    above, other = asked_once(body, (more,)), _written(groups, n, at)
    if low is not None:
        beside: Condition = ("ge", n - low)
        fails = negation((beside,))
        below = asked_once(body, fails)
        if _loops(above) + _loops(below) > _loops(body):
            return body
        other = (If((beside,), other, at, below),) if other else (If(fails, below, at),)
    return (If((more,), above, at, other),) if above and other else body


def _loops(body: Sequence[Ast]) -> int:
    """How many loops code has."""
    return sum([isinstance(node, For) for node in nodes(body)])


def _groups(
    known: Known, pieces: Sequence[Piece], body: Sequence[Ast], name: str, bound: int, asked: Set[int]
) -> Iterator[tuple[int | None, Groups]]:
    """The calls at values of a size below one, from where on they are the same, while they are few.

    They are those from a value on that is asked for, too, which comes before them, or all: then there is None.

    There are no values below the least one, and no calls below the first at which a piece has an integer point. One
    that a condition around leaves out, as a remainder does, has what the next one has.
    """
    groups: Groups = []
    any_there = False
    col = known.columns.ids[name]
    least = known.low.get(col)
    value, calls = bound - 1, _calls(body, name, bound - 1)
    while calls is not None and value >= bound - VALUES:
        there = System()
        there.eq(((col, 1),), -value)
        left_out = known.surely_excludes(there)
        if groups and (left_out or not any_there or groups[-1][1] == calls):
            other = groups.pop()[1]
            calls = other if any_there else calls
        groups.append((value, calls))
        any_there = any_there or not left_out
        if len(groups) > GROUPS:
            return
        if value == least:
            yield None, groups[::-1]
            return
        if value in asked:
            yield value, groups[::-1]
        value, calls = value - 1, _calls(body, name, value - 1)
        if not calls and calls is not None and nothing_up_to(known, pieces, name, value):
            yield None, [(value, ()), *groups[::-1]]
            return


def _asked(body: Sequence[Ast], n: Aff) -> Iterator[int]:
    """The values of a size from which on conditions hold, or to before which they do, outside of loops."""
    for node in body:
        if isinstance(node, If):
            for e in compared(node.conditions):
                if (e - n).is_constant:
                    yield (n - e).const
                elif (e + n).is_constant:
                    yield (e + n).const + 1
            yield from _asked((*node.body, *node.other), n)
        elif isinstance(node, Block):
            yield from _asked(node.body, n)


def _late(body: Sequence[Ast], name: str, bound: int) -> bool:
    """Whether at a value below another one code that is decided finds few calls, or none, after many tests."""
    for value in range(1, bound):
        run = Run(CALLS, LONG, True, False)
        with suppress(Undecided):
            run.run(body, {name: value})
            if run.tests > max(MANY, EACH * len(run.calls)):
                return True
    return False


def _calls(body: Sequence[Ast], name: str, value: int) -> tuple[Call, ...] | None:
    """What code calls where a size has a value; None where that is much, or not decided."""
    for run in (Run(CALLS), Run(0, LONG, True)):  # of what stands under marks there is nothing
        with suppress(Undecided):
            run.run(body, {name: value})
            return tuple(run.calls)
    return None


def _written(groups: Groups, n: Aff, at: tuple[int, ...]) -> tuple[Ast, ...]:
    """Calls of sizes from some values on, up to the next ones: those that begin all come first."""
    (_, first), *rest = groups
    if not rest:
        return first
    value = rest[0][0]
    if all(calls[: len(first)] == first for _, calls in rest):
        more = _written([(v, calls[len(first) :]) for v, calls in rest], n, at)
        return (*first, If((("ge", n - value),), more, at)) if more else first
    return (If((("ge", n - value),), _written(rest, n, at), at, first),)


def _better(known: Known, body: tuple[Ast, ...], found: tuple[Ast, ...], name: str, bound: int) -> bool:
    """Whether code makes at most half of the tests of other code at a value below a bound, and nowhere more."""
    spared = False
    for value in BESIDE:
        for at in where(known, name, value):
            (tests, _, _), (after, _, _) = counted(body, at, LONG), counted(found, at, LONG)
            if after > tests:
                return False
            spared = spared or (value < bound and tests > MANY and 2 * after <= tests)
    return spared
