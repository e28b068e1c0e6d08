"""The callbacks of an `AstBuild`: finished loops are walked, and each function is asked at its places.

The order is isl's: `before_each_for`, what the loop runs, `after_each_for`; marks likewise. What a function raises,
the caller gets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from polyvolta.sched.by_isl.ast.nodes import AstNode
from polyvolta.sched.by_isl.ast.noted import noted
from polyvolta.sched.by_isl.ast.places import Place
from polyvolta.sched.errors import BadArgument
from polyvolta.sched.loops.ast import Ast, Block, Call, For
from polyvolta.sched.loops.result import Scan
from polyvolta.sets import Id, Set
from polyvolta.sets.errors import kind_of

Hooks = dict[str, Callable[..., Any]]


class Asked(Protocol):
    """What a function gets beside a node: an `AstBuild`."""

    @property
    def hooks(self) -> tuple[tuple[str, Callable[..., Any]], ...]:
        """The functions, by what they are for."""
        ...

    @property
    def context(self) -> Set | None:
        """What is known of the parameters."""
        ...

    def at(self, place: Place) -> Asked:
        """The same at a place."""
        ...


def asked(build: Asked, made: Scan, flat: bool) -> Scan:
    """The loops after the callbacks of a build; `flat` as of a `Place`."""
    hooks = dict(build.hooks)
    return replace(made, body=_body(_Asking(build, made, flat, hooks), made.body, ()))


class _Asking:
    """What is the same at all places."""

    def __init__(self, build: Asked, made: Scan, flat: bool, hooks: Hooks) -> None:
        self.build, self.made, self.flat, self.hooks = build, made, flat, hooks

    def at(self, node: Ast, around: tuple[Ast, ...]) -> Asked:
        """The build at a place."""
        return self.build.at(Place(self.made, node, around, self.flat, self.build.context))

    def changed(self, hook: str, node: Ast, build: Asked) -> tuple[Ast, ...]:
        """What a function that may change a node gives for it."""
        f = self.hooks.get(hook)
        if f is None:
            return (node,)
        found = f(AstNode(self.made, (node,)), build)
        if not isinstance(found, AstNode):
            raise BadArgument(f"the function of set_{hook} returns an AstNode, not {kind_of(found)}", where=repr(found))
        return found.body


def _body(asking: _Asking, body: tuple[Ast, ...], around: tuple[Ast, ...]) -> tuple[Ast, ...]:
    return tuple(new for node in body for new in _node(asking, node, around))


def _node(asking: _Asking, node: Ast, around: tuple[Ast, ...]) -> tuple[Ast, ...]:
    """A node after the functions, which may put several in its place."""
    if isinstance(node, Call):
        return asking.changed("at_each_domain", node, asking.at(node, around))
    inside = (*around, node)
    if isinstance(node, For):
        build, before = asking.at(node, inside), asking.hooks.get("before_each_for")
        note = before(build) if before else None
        if before and not isinstance(note, Id):
            raise BadArgument(f"the function of set_before_each_for returns an Id, not {kind_of(note)}",
                              where=repr(note), hint='Id("loop", user=anything)')  # fmt: skip
        new: Ast = replace(node, body=_body(asking, node.body, inside))
        return asking.changed("after_each_for", noted(new, note) if note is not None else new, build)
    if isinstance(node, Block):
        build, before = asking.at(node, around), asking.hooks.get("before_each_mark")
        if before:
            before(node.mark if isinstance(node.mark, Id) else Id(node.mark), build)
        return asking.changed("after_each_mark", replace(node, body=_body(asking, node.body, inside)), build)
    return (replace(node, body=_body(asking, node.body, inside)),)
