"""One small value of a size at which code of all sizes tests much, apart: its code knows the number.

    for (c1 = -2; c1 <= n/2 + 1; c1++) ...           if (n == 1)
      for (c3 = ...) for (c5 = ...)          ->        for (c1 = -2; c1 <= 1; c1++) for (c2 = -1; c2 <= 1; c2++)
        S(c5, c3 - 2*c5 + 1, c2);                        S(c1 + 1, 0, c2);
                                                     else
                                                       for (c1 = -2; c1 <= n/2 + 1; c1++) ...

Loops whose bounds depend on a size run over few values each where it is small, or over none, and find few instances by
many tests. Where it is a number, equalities and bounds are of numbers, and loops of one iteration vanish. Which code is
better is found by running both at this value: what is called and in which order is the same whatever they say. Of
several values the one with the most tests for each call is looked at; of one that makes no more than greater ones do
that it is small is not the reason, but what remainders it has. Cost: one test more at all other sizes, which
make several anyway; a text that is longer; and another scan, of few instances, where tests are many for the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import inf

from polyvolta.sched.loops.ast import Ast, If, has_loops, length
from polyvolta.sched.loops.hoisting.least import Run, Undecided
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sched.loops.weighing.sizes import counted, where
from polyvolta.sets import var

VALUES = 1, 2, 3, 4, 5  # of a size, of which one may be apart
MOST = 2  # of them; where tests are many at more, no value is the reason
FEW, EACH, FREE = 20, 6, 4  # tests that are few in all, for each call, and for each more as another size grows
IDLE = 0.2  # of them find nothing, at least: loops of one iteration in one another make two each, and none for nothing
SIMPLE, PLAIN = 20, 30  # loops, conditions and calls up to which tests for each call more don't count; and up to which
# some find nothing: code of more has cases of sizes anyway
LONG = 200  # tests beyond which they are not counted
GREATER, FEWER, FAR = (11, 13, 17), 0.7, 2000  # sizes that make fewer tests for each call; tests that are not counted
LESS = 0.25  # of them, or of those beyond one for each call where code is not simple, are worth another text
BESIDE, SEVERAL = (1, 2, 3, 4, 5, 6, 7, 9, 40), 4  # other values; tests of them beside which one more is little
SHORT = 12  # what is short beside any code

Counts = tuple[Mapping[str, int], float, int, int]  # sizes, and the tests there, those for nothing, and the calls


def value_apart(
    known: Known, body: tuple[Ast, ...], make: Callable[[System], tuple[Ast, ...]], once: bool = False
) -> tuple[Ast, ...] | None:
    """The code with a value of a size apart, for which other code makes much fewer tests; None where there is none.

    Parameters
    ----------
    make : the code where some rows hold; none where it can't be said.
    once : whether loops are to stand once (`atomic`): beside them stands code without any.
    """
    found: list[tuple[float, str, int, Sequence[Counts]]] = []
    for name in sorted(known.columns.sizes):
        said: dict[int, tuple[float, Sequence[Counts]]] = {}
        for v in VALUES:
            each = _counted(body, where(known, name, v))
            if (many := _many(each, length(body))) > 0:
                said[v] = many, each
            if len(said) > MOST:
                break
        for v, (many, each) in said.items() if len(said) <= MOST else ():
            if _little(known, body, name, v) and not _recurs(known, body, name, max(t / n for _, t, _, n in each)):
                found.append((-many, name, v, each))
    if not found:
        return None
    _, name, v, each = min(found, key=lambda one: one[:3])
    inside = make(System(eqs=[(((known.columns.ids[name], 1),), -v)]))
    most = [LESS * (tests + 1) if length(body) <= SIMPLE else LESS * (tests - n + 1) + n for _, tests, _, n in each]
    less = all(counted(inside, at, LONG)[0] + 2 <= few for (at, *_), few in zip(each, most, strict=True))
    if not inside or not less or length(inside) > max(SHORT, length(body)) or (once and has_loops(inside)):
        return None
    return _put(body, name, v, inside)


def _counted(body: Sequence[Ast], places: Iterable[Mapping[str, int]]) -> Sequence[Counts]:
    """The tests that code makes at some sizes, those for nothing, and the calls; none where it calls nothing at some,
    or tests are too many.
    """
    each = [(at, *counted(body, at, LONG)) for at in places]
    return each if all(calls and tests < inf for _, tests, _, calls in each) else []


def _many(each: Sequence[Counts], size: int) -> float:
    """How many tests code makes for each call, if these are many; 0 where they are not, or too few are for nothing.

    Of code that is not simple it is how many more there are for each call more, as other sizes may be large: a nest of
    loops, tiled or not, has no text of its own for that.
    """
    part = IDLE if size <= PLAIN else 0
    if not each or any(idle < part * tests for _, tests, idle, _ in each):
        return 0
    if all(tests > max(FEW, EACH * calls) for _, tests, _, calls in each):
        return max(tests / calls for _, tests, _, calls in each)
    (_, tests, _, calls), (_, more, _, most) = each[0], each[-1]
    many = size > SIMPLE and most > calls and more > FEW and more - tests > FREE * (most - calls)
    return (more - tests) / (most - calls) if many else 0


def _recurs(known: Known, body: tuple[Ast, ...], name: str, many: float) -> bool:
    """Whether some greater value of a size has nearly as many tests for each call."""
    for other in GREATER:
        for at in where(known, name, other):
            tests, _, calls = counted(body, at, FAR)
            if calls and tests >= FEWER * many * calls:
                return True
    return False


def _little(known: Known, body: tuple[Ast, ...], name: str, value: int) -> bool:
    """Whether one test more is little at other values: beside several, or at smaller ones, which leave nothing."""
    trial = _put(body, name, value, ())
    for other in BESIDE:
        for at in where(known, name, other) if other != value else ():
            tests, _, calls = counted(body, at, LONG)
            if tests < SEVERAL and (calls or other > value) and counted(trial, at, LONG)[0] > tests:
                return False
    return True


def _put(body: tuple[Ast, ...], name: str, value: int, code: tuple[Ast, ...]) -> tuple[Ast, ...]:
    """The body with code of its own where a size has a value, in the branch that this decides of conditions around."""
    if len(body) == 1 and isinstance(node := body[0], If):
        with suppress(Undecided):
            if Run().hold(node.conditions, {name: value}):
                return (replace(node, body=_put(node.body, name, value, code)),)
            if node.other:
                return (replace(node, other=_put(node.other, name, value, code)),)
    return (If((("eq", var(name) - value),), code, body[0].at, body),)
