"""Conditions where they first hold: what neighbours test alike is tested once, outside of loops where it can be."""

from __future__ import annotations

from dataclasses import replace

from polyvolta.sched.loops.ast import AnyOf, Ast, Call, Condition, For, If
from polyvolta.sets import Aff


def tidied(body: tuple[Ast, ...]) -> tuple[Ast, ...]:
    """The same code with neighbouring conditions joined and conditions hoisted out of loops."""
    out: list[Ast] = []
    same = True
    for inside in body:
        node = _inside(inside)
        same &= node is inside
        last = out[-1] if out else None
        if isinstance(node, If) and isinstance(last, If):
            shared = tuple(c for c in last.conditions if c in node.conditions)
            if shared:
                inner = (*_rest(last, shared), *_rest(node, shared))
                out[-1] = If(shared, tidied(inner) if len(inner) > 1 else inner, last.at)
                same = False
                continue
        out.append(node)
    return body if same else tuple(out)


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
    left = tuple(c for c in node.conditions if c not in without)
    return (replace(node, conditions=left),) if left else node.body


def _needed(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Conditions without those that another one plainly implies: n >= 2 beside n = 3 or n >= 3."""
    out = list(conditions)
    for c in conditions:
        if not isinstance(c, AnyOf) and c[0] == "ge" and any(_implies(o, c[1]) for o in out if o is not c):
            out.remove(c)
    return tuple(out)


def _implies(condition: Condition, e: Aff) -> bool:
    """Whether a condition differs from `e >= 0` by a constant that makes it say more."""
    if isinstance(condition, AnyOf):
        return False
    kind, other = condition
    return any(rest.is_constant and rest.const >= 0 for rest in (e - other, *((e + other,) if kind == "eq" else ())))


def _selective(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Conditions in an order in which what seldom holds, equalities, is tested first."""
    return tuple(sorted(conditions, key=lambda c: isinstance(c, AnyOf) or c[0] != "eq"))


def _mentions(condition: Condition, name: str) -> bool:
    if isinstance(condition, AnyOf):
        return any(_mentions(c, name) for case in condition.alternatives for c in case)
    return name in condition[1].names()
