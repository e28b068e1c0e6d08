"""Loops that carry more than their meaning: an annotation, or an expression in the place of a call.

A callback of an `AstBuild` may put both into the loops; printers and walks take them for the loops that they are.

>>> from polyvolta.sched.loops.ast import Call
>>> from polyvolta.sets import Id
>>> node = noted(Call("S", ()), Id("mine", user=[1]))
>>> note_of(node).user, isinstance(node, Call), note_of(Call("S", ()))
([1], True, None)
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from polyvolta.sched.by_isl.expressions import AstExpr
from polyvolta.sched.loops.ast import Ast, Block, Call, For, If
from polyvolta.sets import Id


@dataclass(frozen=True, slots=True)
class NotedCall(Call):
    """A call with an annotation, and the expression that stands in its place."""

    note: Id | None = None
    expr: AstExpr | None = None


@dataclass(frozen=True, slots=True)
class NotedFor(For):
    """A loop with an annotation."""

    note: Id | None = None


@dataclass(frozen=True, slots=True)
class NotedIf(If):
    """A condition with an annotation."""

    note: Id | None = None


@dataclass(frozen=True, slots=True)
class NotedBlock(Block):
    """A marked part with an annotation."""

    note: Id | None = None


_NOTED: dict[type, Any] = {Call: NotedCall, For: NotedFor, If: NotedIf, Block: NotedBlock}


def noted(node: Ast, note: Id) -> Ast:
    """The node with an annotation."""
    given = {f.name: getattr(node, f.name) for f in fields(node)}
    cls: Any = _NOTED.get(type(node), type(node))
    return cls(**{**given, "note": note})


def note_of(node: Ast) -> Id | None:
    """The annotation of a node, if it has one."""
    return getattr(node, "note", None)


def has_expressions(body: tuple[Ast, ...]) -> bool:
    """Whether an expression stands in the place of a call."""
    inner = list(body)
    for node in inner:  # which grows
        if isinstance(node, NotedCall) and node.expr is not None:
            return True
        if not isinstance(node, Call):
            inner += node.body
    return False
