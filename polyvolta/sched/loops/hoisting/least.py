"""Where a size is the least it can be, or the most, the few calls left are written out, if many tests find them.

    for (c0 = 0; c0 < min(8, N); c0++)                       if (N >= 2)
      for (c1 = 0; c1 < N; c1++) {                             for (c0 = 0; c0 < min(8, N); c0++) ...
        if ((c0 - c1) % 8 == 0) {                            else {
          Z(c0, c1);                                           Z(0, 0);
          for (c3 = c1; c3 < N; c3++) W(c0, c1, c3);   ->      W(0, 0, 0);
        }                                                    }
        for (c3 = ...; c3 < N; c3 += 8) U(c0, c1, c3);
      }

With its number put in, loops run over numbers and conditions are true or false: what the code does there is found by
running it. Other sizes may stand in what is called. It takes one test more at all other sizes, where each of these
loops has more values, and a call more of code for each that is left. Where a condition inside is one that the new one
decides, it is no test more: so it is with `n <= 0` in the other branch of `n >= 2`, where n = 1 is apart. Where
the same is called at the next value or two, these are apart with it: one test tells them all. Where other code follows
that makes very many tests, the next end is apart, too; and where a condition leaves a size few values, all of them may
be: then no loop is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf
from typing import cast

from polyvolta.sched.loops.ast import (
    AnyOf,
    Ast,
    Block,
    Bound,
    Call,
    Condition,
    Extreme,
    For,
    If,
    asking,
    each,
    negation,
    nodes,
)
from polyvolta.sched.loops.hoisting.inside import asked_once
from polyvolta.sched.loops.hoisting.needs import stating
from polyvolta.sched.loops.hoisting.plain import implies
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sets import Aff, var
from polyvolta.sets.values.aff import Floor

CALLS = 5  # calls that are written out, at most
EACH = 3  # tests for each of them up to which they are left in loops, which may run for them alone
NEXT, THEN = 15, 40  # tests at the next size from which on one more is little; and a second one
FREE = 2  # the same where one more at the end spares one elsewhere
SOME = 2  # iterations up to which it isn't looked whether they are alike
CALLED = {Call}  # what code of calls alone is made of
LIKE = 3  # values that may be apart, from the end on
FEW, BELOW, MANY = 6, 10, 200  # the same of all, and below a condition; tests beyond which they are not looked for


def least_apart(known: Known, body: tuple[Ast, ...], few: int = FEW, again: bool = True) -> tuple[Ast, ...]:
    """The same code with what it calls at the end of a size's values written out, if that is little and tests are many.

    That it has such an end is promised, or a condition around says so, or that one failed; and there is none at the
    other side: what is between numbers is small where others are large. There every loop and condition must be decided,
    and something in the code not run, which other sizes are for: where all runs, loops of one iteration are as short as
    they can be said. Nothing is written out where other sizes leave that value out, as 3n >= m for m >= 5 does n = 1.
    What is called nowhere has no other branch. Of sizes below 0 none is apart, and 0 alone where that spares a test
    elsewhere.

    Parameters
    ----------
    few : tests up to which calls are left in loops where one more is made elsewhere.
    again : whether the next end may be apart, too, below the new condition: it is one test more at all that are left.
    """
    for name in sorted(_deciding(known.columns.sizes, body)):
        col = known.columns.ids[name]
        least, most = known.low.get(col), known.high.get(col)
        if least is not None and most is None:
            end, step = least, 1
        elif most is not None and least is None:
            end, step = most, -1
        else:
            found = _each_apart(body, name, least, most, few) if least is not None and most is not None else ()
            if found:
                return found
            continue
        if end < 0:
            continue
        there = Run()
        with suppress(Undecided):
            there.run(body, {name: end})
            many = there.tests > max(FEW, FREE * len(there.calls)) and not known.surely_excludes(_equal(col, end))
            if many and any(isinstance(n, Call) and id(n) not in there.met for n in nodes(body)):
                last, total = _alike(known, body, name, there, end, step)
                more: tuple[Condition, ...] = (("ge", step * (var(name) - last) - 1),)
                inside = asked_once(body, more)
                tests, spared = _beside(body, inside, {name: last + step})
                if spared or (
                    end > 0 and tests >= (NEXT if again else THEN) and total > max(few, EACH * len(there.calls))
                ):
                    if again:
                        inside = least_apart(known.given(stating(known, more)), inside, BELOW, False)
                    return (If(more, inside, body[0].at, tuple(there.calls)),)
    return each(body, lambda node: _inside(known, node))


def _each_apart(body: tuple[Ast, ...], name: str, least: int, most: int, few: int) -> tuple[Ast, ...]:
    """What code calls at each of a size's few values written out, if tests are many for that; nothing elsewhere.

    At each every loop and condition must be decided, and something called. Each value but the last takes a test, so
    that no value has more than two, and what runs at one is what code ran there.

        for (c0 = (n + 2)/3 - 1; c0 <= 1; c0++)                      if (n <= 3) {
          for (c1 = max(0, (2*n + 1)/3 - 2*c0 - 1); ...)               T(2);
            if (c1 == 0 && 3*c0 + 1 >= n) T(3*c0);            ->       T(3);
            else T(3*c0 + 2);                                        } else
                                                                       T(3);
    """
    if least < 1 or most - least >= LIKE:
        return ()
    runs = [Run() for _ in range(least, most + 1)]
    try:
        for value, there in enumerate(runs, least):
            there.run(body, {name: value})
    except Undecided:
        return ()
    calls = [len(there.calls) for there in runs]
    if not all(calls) or sum([there.tests for there in runs]) <= max(few, EACH * sum(calls)):
        return ()
    out: tuple[Ast, ...] = tuple(runs[-1].calls)
    for value, there in reversed([*enumerate(runs[:-1], least)]):
        out = (If((("ge", value - var(name)),), tuple(there.calls), body[0].at, out),)
    return out


def _alike(known: Known, body: Sequence[Ast], name: str, there: Run, end: int, step: int) -> tuple[int, int]:
    """The last of a few values of a size from its end on at which code calls the same, and its tests at all of them.

    One condition tells these from all others, so that it spares the tests of each.
    """
    total, last = there.tests, end
    for value in range(end + step, end + LIKE * step, step):
        beside = Run()
        with suppress(Undecided):
            beside.run(body, {name: value})
            if (
                value >= 0
                and beside.calls == there.calls
                and not known.surely_excludes(_equal(known.columns.ids[name], value))
            ):
                total, last = total + beside.tests, value
                continue
        break
    return last, total


def _beside(body: Sequence[Ast], inside: Sequence[Ast], values: Mapping[str, int]) -> tuple[int, bool]:
    """How many tests code makes at the size next to the end, up to what is undecided; whether one is spared there."""
    before, after = Run(inf), Run(inf)
    with suppress(Undecided):
        before.run(body, values)
        after.run(inside, values)
        return before.tests, after.tests < before.tests
    return before.tests, False


def _inside(known: Known, node: Ast) -> Ast:
    """The same of what is under a mark or a condition, and in its other branch."""
    if isinstance(node, Block):
        return replace(node, body=least_apart(known, node.body))
    if not isinstance(node, If):
        return node
    conditions, body = node.conditions, least_apart(known.given(stating(known, node.conditions)), node.body, BELOW)
    if not node.other and body is not node.body and len(body) == 1 and isinstance(one := body[0], If) and not one.other:
        left = tuple(c for c in conditions if not any(implies(d, c) for d in one.conditions))
        return replace(node, conditions=(*left, *one.conditions), body=one.body)
    other = node.other
    if other:
        other = least_apart(known.given(stating(known, negation(node.conditions))), other, BELOW)
    return node if body is node.body and other is node.other else replace(node, body=body, other=other)


def _equal(col: int, value: int) -> System:
    """A column has a value."""
    return System(eqs=[(((col, 1),), -value)])


def _deciding(sizes: Set[str], body: Sequence[Ast]) -> Set[str]:
    """The sizes of which one may decide what code does; a loop that comes first always asks for those in its bounds."""
    if not body or isinstance(body[0], Block) and len(body) == 1:
        return frozenset()
    first = sizes & _names(body[:1]) if isinstance(body[0], For) else ()
    if first:
        return first if len(first) == 1 else frozenset()
    return sizes & _names(nodes(body), sizes)  # a size that is in no bound or condition decides nothing


def _names(some: Iterable[Ast], enough: Set[str] | None = None) -> set[str]:
    """The names in the bounds of loops, and in conditions.

    Parameters
    ----------
    enough : names beside which no others are looked for.
    """
    out = set[str]()
    for node in some:
        for e in asking(node):
            out |= e.names()
        if enough is not None and enough <= out:
            break
    return out


class Undecided(Exception):
    """What runs depends on more than numbers, or is too much."""


@dataclass(slots=True)
class Run:
    """Calls as they run with numbers put in, which of the code they are, how many tests are made, and for nothing.

    Parameters
    ----------
    most, limit : calls and tests beyond which they are too many.
    marks : whether code may stand under marks.
    put : whether calls have numbers put in; else they are counted as they are.
    """

    most: float = CALLS
    limit: int = MANY
    marks: bool = False
    put: bool = True
    calls: list[Call] = field(default_factory=list)
    met: set[int] = field(default_factory=set)
    varying: dict[int, bool] = field(default_factory=dict)
    tests: int = 0
    idle: int = 0

    def run(self, body: Sequence[Ast], values: Mapping[str, int]) -> None:
        for node in body:
            if isinstance(node, Call):
                self.met.add(id(node))
                self.calls.append(replace(node, args=tuple([e.subs(values) for e in node.args])) if self.put else node)
            else:
                before, called = self.idle - self.tests, len(self.calls)
                self._inside(node, values)
                if len(self.calls) == called:  # all that was tested is for nothing
                    self.idle = before + self.tests
            if len(self.calls) > self.most or self.tests > self.limit:
                raise Undecided

    def _inside(self, node: For | If | Block, values: Mapping[str, int]) -> None:
        """What a node tests, and what runs in it."""
        if isinstance(node, If):
            self.run(node.body if self.hold(node.conditions, values) else node.other, values)
        elif isinstance(node, For) and node.upper:
            self.tests += 1
            low, high = number(node.lower[0], values), number(node.upper[0], values)
            for e in node.lower[1:]:
                low = max(low, number(e, values))
            for e in node.upper[1:]:
                high = min(high, number(e, values))
            self._each(node, range(low, high + 1, node.step), values)
        elif isinstance(node, Block) and self.marks:
            self.run(node.body, values)
        else:  # a mark stands around all that it is of; a loop without an end has no last call
            raise Undecided

    def _each(self, node: For, passes: range, values: Mapping[str, int]) -> None:
        """What runs in each iteration of a loop, which is a test; where calls stay as they are, alike ones at once."""
        n, here = len(passes), dict(values)
        if not self.put and n:
            if self.tests + n <= self.limit and {*map(type, node.body)} == CALLED:
                self.tests += n
                self.met.update(map(id, node.body))
                self.calls.extend(cast(tuple[Call, ...], node.body) * n)
                return
            if n > SOME and not self._varies(node):
                tests, idle, called = self.tests, self.idle, len(self.calls)
                self._once(node, passes[0], here)
                tests, idle, new = self.tests - tests, self.idle - idle, self.calls[called:]
                self.tests, self.idle = self.tests + (n - 1) * tests, self.idle + (n - 1) * idle
                if len(self.calls) + (n - 1) * len(new) > self.most or self.tests > self.limit:
                    raise Undecided
                self.calls.extend(new * (n - 1))
                return
        for v in passes:
            self._once(node, v, here)

    def _once(self, node: For, value: int, here: dict[str, int]) -> None:
        """One iteration of a loop."""
        before, called = self.idle - self.tests, len(self.calls)
        self.tests += 1
        here[node.var] = value
        self.run(node.body, here)
        if len(self.calls) == called:
            self.idle = before + self.tests

    def _varies(self, node: For) -> bool:
        """Whether iterations of a loop may test something else, each."""
        found = self.varying.get(id(node))
        if found is None:
            found = self.varying[id(node)] = node.var in _names(nodes(node.body))
        return found

    def hold(self, conditions: Sequence[Condition], values: Mapping[str, int]) -> bool:
        return all(self._holds(c, values) for c in conditions)

    def _holds(self, c: Condition, values: Mapping[str, int]) -> bool:
        if isinstance(c, AnyOf):
            return any(self.hold(case, values) for case in c.alternatives)
        self.tests += 1
        found = number(c[1], values)
        return found == 0 if c[0] == "eq" else found >= 0


def number(bound: Bound, values: Mapping[str, int]) -> int:
    """A bound with values put in; undecided where it speaks of more."""
    if not isinstance(bound, Aff):
        if isinstance(bound, Extreme):
            return (min if bound.kind == "min" else max)([number(e, values) for e in bound.terms])
        # conditions of a choice are no tests of their own
        return number(bound.then if Run().hold(bound.conditions, values) else bound.other, values)
    total = bound.const
    for atom, c in bound.terms:  # as `Aff.evaluate` does, but for so many of them
        if isinstance(atom, str):
            if atom not in values:
                raise Undecided
            total += c * values[atom]
        elif isinstance(atom, Floor):
            total += c * (number(atom.num, values) // atom.den)
        else:
            total += c * (number(atom.left, values) ^ number(atom.right, values))
    return total
