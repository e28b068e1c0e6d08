"""The callbacks of an `AstBuild`: finished loops are walked, and each function is asked at its places.

The order is that of the code: `before_each_for`, what the loop runs, `after_each_for`; marks likewise. isl asks while
it makes loops, so that of neighbours below conditions that exclude each other any may be the first there. What a
function raises, the caller gets.

A leaf, of `create_leaf`, is what no further loop of a band is in: neighbours that have one time, whatever values the
loop variables around have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Protocol

from polyvolta.sched.by_isl.ast.nodes import AstNode
from polyvolta.sched.by_isl.ast.noted import noted
from polyvolta.sched.by_isl.ast.places import Place
from polyvolta.sched.errors import BadArgument
from polyvolta.sched.loops.ast import Ast, Block, Call, For, If, branches, within
from polyvolta.sched.loops.notation.expressions import Range
from polyvolta.sched.loops.result import Scan
from polyvolta.sched.tree import Band, Path, Schedule
from polyvolta.sets import Id, Map, Set
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

    @property
    def place(self) -> Place | None:
        """Where the loops stand that are made, of those that a function of `create_leaf` makes."""
        ...

    def at(self, place: Place) -> Asked:
        """The same at a place."""
        ...


def asked(build: Asked, made: Scan, flat: bool) -> Scan:
    """The loops after the callbacks of a build; `flat` as of a `Place`."""
    asking = _Asking(build, made, flat, dict(build.hooks))
    body = _body(asking, made.body, ())
    largest = made.largest if asking.ranges == made.ranges else None  # of loops that functions made nobody knows
    return replace(made, body=body, ranges=asking.ranges, largest=largest)


class _Asking:
    """What is the same at all places."""

    def __init__(self, build: Asked, made: Scan, flat: bool, hooks: Hooks) -> None:
        self.build, self.made, self.flat, self.hooks = build, made, flat, hooks
        self.ranges: dict[str, Range] = dict(made.ranges)

    def place(self, node: Ast, around: tuple[Ast, ...]) -> Place:
        """Where a node stands."""
        return Place(self.made, node, around, self.flat, self.build.context, self.build.place)

    def at(self, node: Ast, around: tuple[Ast, ...]) -> Asked:
        """The build at a place."""
        return self.build.at(self.place(node, around))

    def changed(self, hook: str, node: Ast, build: Asked) -> tuple[Ast, ...]:
        """What a function that may change a node gives for it."""
        f = self.hooks.get(hook)
        return (node,) if f is None else self.given(hook, f(AstNode(self.made, (node,)), build))

    def given(self, hook: str, found: object) -> tuple[Ast, ...]:
        """What a function gave; a variable of loops that it made has the values of all loops of that name."""
        if not isinstance(found, AstNode):
            raise BadArgument(f"the function of set_{hook} returns an AstNode, not {kind_of(found)}", where=repr(found))
        if found.scan is not self.made:
            for v, (low, high) in found.scan.ranges.items():
                least, most = self.ranges.get(v, (low, high))
                self.ranges[v] = (
                    None if low is None or least is None else min(low, least),
                    None if high is None or most is None else max(high, most),
                )
        return found.body

    def leaves(self, body: tuple[Ast, ...], around: tuple[Ast, ...]) -> Iterator[Ast | If]:
        """Nodes, those of one leaf in an `If` of no condition that knows where the leaf is."""
        group: list[Ast] = []
        here: tuple[Path, Map] | None = None
        for node in body:
            own = self.time(node, around)
            if own is not None and here is not None and own[0] == here[0]:
                both = own[1] | here[1]
                if both.is_single_valued():
                    group.append(node)
                    here = own[0], both
                    continue
            if here is not None:
                yield If((), tuple(group), here[0])
            group, here = [node], own
            if own is None:
                yield node
        if here is not None:
            yield If((), tuple(group), here[0])

    def time(self, node: Ast, around: tuple[Ast, ...]) -> tuple[Path, Map] | None:
        """The leaf of the tree that a node is of, and loop variables -> its time there; None if it holds several."""
        tree = self.made.tree
        places = {call.at for call in _calls(node)} if tree is not None and _is_leaf(node, tree) else {}
        if len(places) != 1 or tree is None:
            return None
        (at,) = places
        here = self.place(If((), (node,), at), around).flat_schedule()
        times = here.reverse().apply_range(tree.prefix_schedule(at))
        return (at, times) if times.is_single_valued() else None


def _is_leaf(node: Ast, tree: Schedule) -> bool:
    """Whether no mark is in a node, and no loop but those of a leaf, over what no member determines."""
    if isinstance(node, Block) or isinstance(node, For) and isinstance(tree.node(node.at), Band):
        return False
    return isinstance(node, Call) or all(_is_leaf(inner, tree) for inner in within(node))


def _calls(node: Ast) -> Iterator[Call]:
    if isinstance(node, Call):
        yield node
    for inner in within(node):
        yield from _calls(inner)


def _body(asking: _Asking, body: tuple[Ast, ...], around: tuple[Ast, ...]) -> tuple[Ast, ...]:
    leaf = asking.hooks.get("create_leaf")
    new: list[Ast] = []
    for node in body if leaf is None else asking.leaves(body, around):
        if leaf is not None and isinstance(node, If) and not node.conditions:
            new += asking.given("create_leaf", leaf(asking.at(node, around)))
        else:
            new += _node(asking, node, around)
    return tuple(new)


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
    body, other = (_body(asking, branch.body, (*around, branch)) for branch in branches(node))
    return (replace(node, body=body, other=other),)
