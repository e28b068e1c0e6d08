"""Where a size is the least it can be, the few calls that are left are written out, if many tests find them.

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
loops has more values, and a call more of code for each that is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from polyvolta.sched.loops.ast import AnyOf, Ast, Block, Bound, Call, Choice, Condition, Extreme, For, If, within
from polyvolta.sched.loops.hoisting.inside import asked_once
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sets import var

CALLS = 5  # calls that are written out, at most
EACH = 3  # tests for each of them up to which they are left in loops, which may run for them alone
FEW, MANY = 6, 200  # the same of all, and tests beyond which they are not looked for


def least_apart(known: Known, body: tuple[Ast, ...]) -> tuple[Ast, ...]:
    """The same code with what it calls at the least value of a size written out, if that is little and tests are many.

    That it has one is promised, and it has no greatest: what is between numbers is small where others are large. There
    every loop and condition must be decided, and something in the code not run, which larger sizes are for: where all
    runs, loops of one iteration are as short as they can be said. Nothing is written out where other sizes leave that
    value out, as 3n >= m for m >= 5 does n = 1.
    """
    if len(body) == 1 and isinstance(node := body[0], Block):
        return (replace(node, body=least_apart(known, node.body)),)
    for name in sorted(known.columns.sizes):
        col = known.columns.ids[name]
        least, there = known.low.get(col), _Run()
        if least is None or known.high.get(col) is not None:
            continue
        with suppress(_Undecided):
            there.run(body, {name: least})
            many = there.calls and there.tests > max(FEW, EACH * len(there.calls))
            left_out = many and known.surely_excludes(_equal(col, least))
            if many and not left_out and any(id(call) not in there.met for call in _calls(body)):
                more: tuple[Condition, ...] = (("ge", var(name) - least - 1),)
                return (If(more, asked_once(body, more), body[0].at, tuple(there.calls)),)
    return body


def _equal(col: int, value: int) -> System:
    """A column has a value."""
    out = System()
    out.eq(((col, 1),), -value)
    return out


def _calls(body: Sequence[Ast]) -> Iterator[Call]:
    for node in body:
        if isinstance(node, Call):
            yield node
        else:
            yield from _calls(within(node))


class _Undecided(Exception):
    """What runs depends on more than numbers, or is too much."""


@dataclass(slots=True)
class _Run:
    """Calls as they run with numbers put in, which of the code they are, and how many tests are made."""

    calls: list[Call] = field(default_factory=list)
    met: set[int] = field(default_factory=set)
    tests: int = 0

    def run(self, body: Sequence[Ast], values: Mapping[str, int]) -> None:
        for node in body:
            match node:
                case Call(_, args):
                    self.met.add(id(node))
                    self.calls.append(replace(node, args=tuple([e.subs(values) for e in args])))
                case If(conditions, inside, _, other):
                    self.run(inside if self.hold(conditions, values) else other, values)
                case For(name, lower, upper, step, _, inside) if upper:
                    self.tests += 1
                    last = min([_number(e, values) for e in upper])
                    for v in range(max([_number(e, values) for e in lower]), last + 1, step):
                        self.tests += 1
                        self.run(inside, {**values, name: v})
                case _:  # a mark stands around all that it is of; a loop without an end has no last call
                    raise _Undecided
            if len(self.calls) > CALLS or self.tests > MANY:
                raise _Undecided

    def hold(self, conditions: Sequence[Condition], values: Mapping[str, int]) -> bool:
        return all(self._holds(c, values) for c in conditions)

    def _holds(self, c: Condition, values: Mapping[str, int]) -> bool:
        if isinstance(c, AnyOf):
            return any(self.hold(case, values) for case in c.alternatives)
        self.tests += 1
        found = _number(c[1], values)
        return found == 0 if c[0] == "eq" else found >= 0


def _number(bound: Bound, values: Mapping[str, int]) -> int:
    """A bound with values put in; undecided where it speaks of more, or by conditions."""
    if isinstance(bound, Extreme):
        return (min if bound.kind == "min" else max)([_number(e, values) for e in bound.terms])
    if isinstance(bound, Choice) or not (found := bound.subs(values)).is_constant:
        raise _Undecided
    return found.const
