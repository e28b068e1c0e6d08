"""Conditions where they first hold: what neighbours test alike is tested once, outside of loops where it can be.

Of two neighbours, one of which runs only where the other does, the stronger condition stands inside the weaker one:

    if (c0 >= 1) S(c0);             if (c0 >= 1) {
    if (c0 >= 3) T(c0);               S(c0);
                                      if (c0 >= 3) T(c0);
                                    }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polyvolta.sched.loops.ast import AnyOf, Ast, Call, Condition, For, If

DEEP = 8  # conditions inside one another beyond which the next stands beside them


def tidied(body: tuple[Ast, ...]) -> tuple[Ast, ...]:
    """The same code with neighbouring conditions joined and conditions hoisted out of loops."""
    out: list[Ast] = []
    same = True
    for inside in body:
        node = _inside(inside)
        same &= node is inside
        if isinstance(node, If) and not node.conditions:  # alternatives of which one holds always
            same = False
            for part in node.body:
                _joined(out, part)
        else:
            same &= not _joined(out, node)
    return body if same else tuple(out)


def _joined(out: list[Ast], node: Ast) -> bool:
    """Put a statement behind others, under the conditions that it shares with the last one; whether there are any."""
    last = out[-1] if out else None
    if isinstance(node, If) and isinstance(last, If):
        either = _either(last, node)
        if either is not None:
            out[-1:] = either
            return True
        shared = tuple(c for c in last.conditions if c in node.conditions)
        if _depth(last) < DEEP:
            shared = _weaker(last.conditions, node.conditions)
        if shared:
            inner = (*_rest(last, shared), *_rest(node, shared))
            out[-1] = If(shared, tidied(inner) if len(inner) > 1 else inner, last.at)
            return True
    out.append(node)
    return False


def _either(a: If, b: If) -> tuple[Ast, ...] | None:
    """What two neighbours do that do the same, each of them where the other does not."""
    if a.body != b.body:
        return None
    shared = tuple(c for c in a.conditions if c in b.conditions)
    mine, other = (tuple(c for c in node.conditions if c not in shared) for node in (a, b))
    if not all(any(_excludes(c, d) for c in x for d in y) for x in _cases(mine) for y in _cases(other)):
        return None
    if len(mine) == 1:
        other = tuple(c for c in other if not _covers(mine[0], c))
    if len(other) == 1:
        mine = tuple(c for c in mine if not _covers(other[0], c))
    if not (mine and other):  # one holds always where the other does not
        return (If(shared, a.body, a.at),) if shared else a.body
    return (If((*shared, AnyOf((*_cases(mine), *_cases(other)))), a.body, a.at),)


def _cases(conditions: tuple[Condition, ...]) -> tuple[tuple[Condition, ...], ...]:
    """The alternatives that conditions are."""
    if len(conditions) == 1 and isinstance(conditions[0], AnyOf):
        return conditions[0].alternatives
    return (conditions,)


def _inside(node: Ast) -> Ast:
    """A statement with what is in it tidied, and conditions around rather than inside it."""
    if isinstance(node, Call):
        return node
    body = tidied(node.body)
    inner = body[0] if len(body) == 1 else None
    if isinstance(node, For):
        node = node if body is node.body else replace(node, body=body)
        if isinstance(inner, If):
            fixed = tuple(c for c in inner.conditions if not _mentions(c, node.var))
            if fixed:
                return If(fixed, (replace(node, body=_rest(inner, fixed)),), inner.at)
        return node
    if isinstance(node, If) and isinstance(inner, If):
        new = tuple(c for c in inner.conditions if c not in node.conditions)
        return If(_selective(_needed((*node.conditions, *new))), inner.body, node.at)
    return node if body is node.body else replace(node, body=body)


def _rest(node: If, without: tuple[Condition, ...]) -> tuple[Ast, ...]:
    """The condition less some of its tests."""
    left = tuple(d for c in node.conditions if c not in without for d in _where(c, without))
    return (replace(node, conditions=left),) if left else node.body


def _where(c: Condition, known: Sequence[Condition]) -> tuple[Condition, ...]:
    """A condition where others hold: of alternatives what these do not say, and none where one of them is left.

    Inside of n >= 3, n >= 3 and m >= 1 or m <= 0 is no condition.
    """
    if not isinstance(c, AnyOf):
        return (c,)
    out: list[tuple[Condition, ...]] = []
    for case in c.alternatives:
        if not any(_excludes(d, x) for x in case for d in known):
            out.append(tuple(x for x in case if not any(_implies(d, x) for d in known)))
    single = [case[0] for case in out if len(case) == 1]
    if not all(out) or any(_covers(x, y) for k, x in enumerate(single) for y in single[:k]):
        return ()
    return (AnyOf(tuple(out)),) if len(out) > 1 else out[0] if out else (c,)


def _excludes(a: Condition, b: Condition) -> bool:
    """Whether two conditions plainly never hold at once: n >= 3 and n <= 1, or n = 0."""
    if isinstance(a, AnyOf) or isinstance(b, AnyOf) or "ge" not in (a[0], b[0]):
        return False
    sums = [a[1] + b[1]] + ([b[1] - a[1]] if a[0] == "eq" else []) + ([a[1] - b[1]] if b[0] == "eq" else [])
    return any(e.is_constant and e.const < 0 for e in sums)


def _covers(a: Condition, b: Condition) -> bool:
    """Whether one of two conditions plainly holds wherever the other does not: n >= 3 and n <= 2."""
    if isinstance(a, AnyOf) or isinstance(b, AnyOf) or (a[0], b[0]) != ("ge", "ge"):
        return False
    whole = a[1] + b[1]
    return whole.is_constant and whole.const >= -1


def _needed(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Conditions without those that another one plainly implies: n >= 2 beside n = 3 or n >= 3."""
    plain = [c for c in conditions if not isinstance(c, AnyOf)]
    conditions = tuple(d for c in conditions for d in _where(c, plain))
    out = list(conditions)
    for c in conditions:
        seldom = not isinstance(c, AnyOf) and c[0] == "eq"  # tested first, for it says the most
        if not seldom and any(_implies(o, c) for o in out if o is not c):
            out.remove(c)
    return tuple(out)


def _weaker(some: Sequence[Condition], others: Sequence[Condition]) -> tuple[Condition, ...]:
    """The conditions of each of two lists that the other list plainly implies, once each."""
    found = [c for c in some if any(_implies(d, c) for d in others)]
    found += [d for d in others if d not in found and any(_implies(c, d) for c in some)]
    return tuple(c for c in found if not any(d is not c and d != c and _implies(d, c) for d in found))


def _implies(a: Condition, b: Condition) -> bool:
    """Whether one condition plainly implies another one: it is the same but for a number, or each of its cases is."""
    if a == b:
        return True
    if isinstance(b, AnyOf):
        cases = a.alternatives if isinstance(a, AnyOf) else ((a,),)
        return all(any(_ensures(case, other) for other in b.alternatives) for case in cases)
    if isinstance(a, AnyOf) or b[0] != "ge":
        return False
    gaps = [b[1] - a[1]] + ([b[1] + a[1]] if a[0] == "eq" else [])
    return any(gap.is_constant and gap.const >= 0 for gap in gaps)


def _ensures(some: Sequence[Condition], others: Sequence[Condition]) -> bool:
    """Whether all of some conditions together plainly imply all others."""
    return all(any(_implies(c, d) for c in some) for d in others)


def _depth(node: If) -> int:
    """How many conditions stand inside one another at the end of a condition."""
    inner = node.body[-1]
    return 1 + (_depth(inner) if isinstance(inner, If) else 0)


def _selective(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Conditions in an order in which what seldom holds, equalities, is tested first."""
    return tuple(sorted(conditions, key=lambda c: isinstance(c, AnyOf) or c[0] != "eq"))


def _mentions(condition: Condition, name: str) -> bool:
    if isinstance(condition, AnyOf):
        return any(_mentions(c, name) for case in condition.alternatives for c in case)
    return name in condition[1].names()
