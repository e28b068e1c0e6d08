"""Alternatives of a condition, less what all of them need and what is asked behind them.

    if (m <= -1 || (n <= 1 && m <= 2) || (n % 3 == 1 && m <= 2))
                                                   ->    if (m <= 2 && (m <= -1 || n <= 1 || n % 3 == 1))

    if (c1 <= 4 && (n >= 8 || (n <= 5 && c0 == 0))) {          if (c1 <= 4) {
      if (n >= 8)                                                if (n >= 8)
        S(c1);                                          ->         S(c1);
      else                                                       else if (n <= 5 && c0 == 0)
        T(c1);                                                     T(c1);
    }                                                          }

The first is for what holds at few sizes alone: at all others it is the only test. What holds often would be one test
more before the first alternative. The second asks an alternative once where it was asked twice, wherever it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polyvolta.sched.loops.ast import AnyOf, Ast, Condition, If, mapped
from polyvolta.sched.loops.hoisting.needs import seldom
from polyvolta.sched.loops.hoisting.plain import ensures
from polyvolta.sched.loops.rows.known import Known


def without_common(known: Known, body: tuple[Ast, ...]) -> tuple[Ast, ...]:
    """The same code with such alternatives as less."""
    out: list[Ast] = []
    same = True
    for node in body:
        new = mapped(node, lambda inner: without_common(known, inner))
        found = (new,)
        if isinstance(new, If) and any(isinstance(c, AnyOf) for c in new.conditions):
            found = _asked_inside(_needed_first(known, new))
        same &= len(found) == 1 and found[0] is node
        out += found
    return body if same else tuple(out)


def _needed_first(known: Known, node: If) -> If:
    """A condition with what all alternatives need, and several say, before these, if it holds at few sizes alone."""
    out: list[Condition] = []
    for c in node.conditions:
        shared = _shared(known, c.alternatives) if isinstance(c, AnyOf) else ()
        out += shared
        left = tuple(tuple(d for d in case if d not in shared) for case in c.alternatives) if shared else ()
        out += [c] if not shared else [AnyOf(left)] if all(left) else []
    return node if out == list(node.conditions) else replace(node, conditions=tuple(out))


def _shared(known: Known, cases: Sequence[tuple[Condition, ...]]) -> tuple[Condition, ...]:
    """The conditions of few sizes that several of some cases say, and all others imply."""
    found: list[Condition] = []
    for c in dict.fromkeys(c for case in cases for c in case if not isinstance(c, AnyOf) and c[0] == "ge"):
        several = sum(c in case for case in cases) > 1
        if several and all(ensures(case, (c,)) for case in cases) and _of_few(known, c):
            found.append(c)
    return tuple(found)


def _of_few(known: Known, c: Condition) -> bool:
    """Whether an inequality is of sizes, and holds at few of them."""
    if isinstance(c, AnyOf):
        return False
    row = known.columns.row(c[1])
    return known.columns.of_sizes(row[0]) and seldom(known, *row)


def _asked_inside(node: If) -> tuple[Ast, ...]:
    """Two alternatives of which the first one is asked next, as that test and the second one where it fails."""
    inner = node.body[0] if len(node.body) == 1 and not node.other else None
    if not isinstance(inner, If) or not inner.other:
        return (node,)
    for c in node.conditions:
        others = [case for case in c.alternatives if case != inner.conditions] if isinstance(c, AnyOf) else []
        if isinstance(c, AnyOf) and len(c.alternatives) == 2 and len(others) == 1:
            (second,) = others
            new = replace(inner, other=(If(second, inner.other, node.at),))
            rest = tuple(d for d in node.conditions if d is not c)
            return (replace(node, conditions=rest, body=(new,)) if rest else new,)
    return (node,)
