"""Conditions where they first hold: what neighbours test alike is tested once, outside of loops where it can be.

Of two neighbours, one of which runs only where the other does, the stronger condition stands inside the weaker one:

    if (c0 >= 1) S(c0);             if (c0 >= 1) {
    if (c0 >= 3) T(c0);               S(c0);
                                      if (c0 >= 3) T(c0);
                                    }

And parts of a loop that never run at one place outside of it, as n = 0 and n >= 1 say, have a loop each.
"""

from __future__ import annotations

from dataclasses import replace

from polyvolta.sched.loops.ast import AnyOf, Ast, Call, Condition, For, If
from polyvolta.sched.loops.hoisting.pieces import full
from polyvolta.sched.loops.hoisting.plain import covers, excludes, mentions, needed, periodic, tied, weaker, where

DEEP = 8  # conditions inside one another beyond which the next stands beside them


def tidied(body: tuple[Ast, ...], deep: int = 0) -> tuple[Ast, ...]:
    """The same code with neighbouring conditions joined and conditions hoisted out of loops.

    Parameters
    ----------
    deep : how many conditions stand around it.
    """
    out: list[Ast] = []
    same = True
    for inside in body:
        node = _inside(inside, deep)
        same &= node is inside
        if isinstance(node, If) and not node.conditions:  # alternatives of which one holds always
            same = False
            for part in node.body:
                _joined(out, part, deep)
        else:
            same &= not _joined(out, node, deep)
    return body if same else tuple(out)


def _joined(out: list[Ast], node: Ast, deep: int) -> bool:
    """Put a statement behind others, under the conditions that it shares with the last one; whether there are any."""
    last = out[-1] if out else None
    if isinstance(node, If) and isinstance(last, If):
        either = _either(last, node)
        if either is not None:
            out[-1:] = either
            return True
        shared = tuple(c for c in last.conditions if c in node.conditions)
        if _depth(last) < DEEP:
            found = weaker(last.conditions, node.conditions)
            shared = found if found == shared or not full((last, node), deep + 1) else shared
        if shared:
            inner = (*_rest(last, shared), *_rest(node, shared))
            out[-1] = If(shared, tidied(inner, deep + 1) if len(inner) > 1 else inner, last.at)
            return True
    out.append(node)
    return False


def _either(a: If, b: If) -> tuple[Ast, ...] | None:
    """What two neighbours do that do the same, each of them where the other does not."""
    if a.body != b.body:
        return None
    shared = tuple(c for c in a.conditions if c in b.conditions)
    mine, other = (tuple(c for c in node.conditions if c not in shared) for node in (a, b))
    if not _exclusive(mine, other):
        return None
    if len(mine) == 1:
        other = tuple(c for c in other if not covers(mine[0], c))
    if len(other) == 1:
        mine = tuple(c for c in mine if not covers(other[0], c))
    if not (mine and other):  # one holds always where the other does not
        return (If(shared, a.body, a.at),) if shared else a.body
    return (If((*shared, AnyOf((*_cases(mine), *_cases(other)))), a.body, a.at),)


def _exclusive(some: tuple[Condition, ...], others: tuple[Condition, ...]) -> bool:
    """Whether conditions plainly never hold where others do."""
    return all(any(excludes(c, d) for c in x for d in y) for x in _cases(some) for y in _cases(others))


def _parted(node: For) -> Ast:
    """A loop whose parts never run at one place outside of it as a loop for each: where it runs is tested once."""
    parts = [part for part in node.body if isinstance(part, If)]
    each = [tuple(c for c in part.conditions if not mentions(c, node.var)) for part in parts]
    alone = all(_exclusive(a, b) for k, a in enumerate(each) for b in each[:k])
    if len(parts) < max(2, len(node.body)) or not all(each) or not alone:
        return node
    loops = [replace(node, body=_rest(part, fixed)) for part, fixed in zip(parts, each, strict=True)]
    return If((), tuple(If(c, (loop,), part.at) for c, loop, part in zip(each, loops, parts, strict=True)), node.at)


def _cases(conditions: tuple[Condition, ...]) -> tuple[tuple[Condition, ...], ...]:
    """The alternatives that conditions are."""
    if len(conditions) == 1 and isinstance(conditions[0], AnyOf):
        return conditions[0].alternatives
    return (conditions,)


def _inside(node: Ast, deep: int) -> Ast:
    """A statement with what is in it tidied, and conditions around rather than inside it."""
    if isinstance(node, Call):
        return node
    body = tidied(node.body, deep + isinstance(node, If))
    inner = body[0] if len(body) == 1 else None
    if isinstance(node, For):
        node = node if body is node.body else replace(node, body=body)
        if isinstance(inner, If):
            fixed = tuple(c for c in inner.conditions if not mentions(c, node.var))
            if fixed:
                return If(fixed, (replace(node, body=_rest(inner, fixed)),), inner.at)
        return _parted(node)
    if isinstance(node, If) and isinstance(inner, If):
        new = tuple(c for c in inner.conditions if c not in node.conditions)
        return If(_selective(needed(tied((*node.conditions, *new)))), inner.body, node.at)
    if isinstance(node, If) and (conditions := tied(node.conditions)) != node.conditions:
        node = replace(node, conditions=conditions)
    return node if body is node.body else replace(node, body=body)


def _rest(node: If, without: tuple[Condition, ...]) -> tuple[Ast, ...]:
    """The condition less some of its tests."""
    left = tuple(d for c in node.conditions if c not in without for d in where(c, without))
    return (replace(node, conditions=left),) if left else node.body


def _depth(node: If) -> int:
    """How many conditions stand inside one another at the end of a condition."""
    inner = node.body[-1]
    return 1 + (_depth(inner) if isinstance(inner, If) else 0)


def _selective(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Conditions in an order in which what seldom holds is tested first: equalities, and then remainders.

    Bounds of loops and conditions around them leave less to what else there is.
    """

    def often(c: Condition) -> int:
        if isinstance(c, AnyOf):
            return 2
        return 0 if c[0] == "eq" else 1 if periodic(c[1]) else 2

    return tuple(sorted(conditions, key=often))
