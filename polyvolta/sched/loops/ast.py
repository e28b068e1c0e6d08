"""The loop AST that `scan` makes of a schedule tree: loops, conditions, calls of statements.

It is a small language with an obvious meaning, given by `polyvolta.sched.emit.run`; printers turn it into C and
Python, and the kernel generator lowers it to its own operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import is_
from typing import Literal

from polyvolta.sched.tree import Path
from polyvolta.sets import Aff


@dataclass(frozen=True, slots=True)
class Extreme:
    """min(terms) or max(terms): a bound of a loop over a union, which no single expression gives."""

    kind: Literal["min", "max"]
    terms: tuple[Bound, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One bound of a loop where all conditions hold, another one elsewhere: a statement may have no instance here."""

    conditions: tuple[Condition, ...]
    then: Bound
    other: Bound


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Holds where all conditions of at least one alternative hold."""

    alternatives: tuple[tuple[Condition, ...], ...]


Bound = Aff | Extreme | Choice
Condition = tuple[Literal["ge", "eq"], Aff] | AnyOf  # e >= 0, e = 0
FROM_ZERO: tuple[Bound, ...] = (Aff((), 0),)  # the lower bounds of most loops, one object, which printers know


@dataclass(frozen=True, slots=True)
class Call:
    """One instance of a statement: `S(args)`, the iterators' values in names and outer loop variables."""

    statement: str
    args: tuple[Aff, ...]
    at: Path = ()


@dataclass(frozen=True, slots=True)
class For:
    """`for (var = max(lower); var <= min(upper); var += step) body`, member number `member` of the band at `at`.

    Without `upper` bounds it never ends: the least of no numbers is infinite, and what stands after it never runs.
    `coincident`: the iterations may run at the same time.
    """

    var: str
    lower: tuple[Bound, ...]
    upper: tuple[Bound, ...]
    step: int
    unroll: bool
    body: tuple[Ast, ...]
    at: Path = ()
    member: int = 0
    coincident: bool = False


@dataclass(frozen=True, slots=True)
class If:
    """The body runs where every condition holds, and `other` where one does not."""

    conditions: tuple[Condition, ...]
    body: tuple[Ast, ...]
    at: Path = ()
    other: tuple[Ast, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """A marked part of the code: the subtree of a Mark node."""

    mark: str
    body: tuple[Ast, ...]
    at: Path = ()


Ast = Call | For | If | Block


def expressions(bound: Bound) -> Iterator[Aff]:
    """The expressions of which a bound is one."""
    if isinstance(bound, Aff):
        yield bound
    else:
        for inner in (bound.then, bound.other) if isinstance(bound, Choice) else bound.terms:
            yield from expressions(inner)


def looked_at(bound: Bound) -> Iterator[Aff]:
    """The same, and those of the conditions that say which."""
    if isinstance(bound, Aff):
        yield bound
    elif isinstance(bound, Choice):
        yield from compared(bound.conditions)
        yield from looked_at(bound.then)
        yield from looked_at(bound.other)
    else:
        for inner in bound.terms:
            yield from looked_at(inner)


def within(node: Ast) -> tuple[Ast, ...]:
    """What stands in a node, of a condition in both branches."""
    if isinstance(node, Call):
        return ()
    return (*node.body, *node.other) if isinstance(node, If) and node.other else node.body


def nodes(body: Sequence[Ast]) -> Iterator[Ast]:
    """All nodes of some code, each before those in it; at any depth."""
    todo = [*reversed(body)]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, Call):
            todo += reversed(within(node))


def asking(node: Ast) -> Iterator[Aff]:
    """The expressions in the bounds of a loop, and what these are chosen by, or in a condition."""
    if isinstance(node, For):
        for bound in (*node.lower, *node.upper):
            yield from looked_at(bound)
    elif isinstance(node, If):
        yield from compared(node.conditions)


def length(body: Sequence[Ast]) -> int:
    """How many loops, conditions, blocks and calls some code has."""
    return sum([1 + length(within(node)) for node in body])


def mapped(node: Ast, f: Callable[[tuple[Ast, ...]], tuple[Ast, ...]]) -> Ast:
    """The node with what a function makes of what stands in it, of each branch of a condition; itself if that is it."""
    if isinstance(node, Call):
        return node
    body = f(node.body)
    if isinstance(node, If) and node.other:
        other = f(node.other)
        return node if body is node.body and other is node.other else replace(node, body=body, other=other)
    return node if body is node.body else replace(node, body=body)


def each(body: tuple[Ast, ...], f: Callable[[Ast], Ast]) -> tuple[Ast, ...]:
    """What a function makes of each part of some code; the code itself if that is it."""
    return kept(body, [f(node) for node in body])


def kept(body: tuple[Ast, ...], made: Sequence[Ast]) -> tuple[Ast, ...]:
    """What was made of some code; the code itself if that is it."""
    return body if len(made) == len(body) and all(map(is_, made, body)) else tuple(made)


def same(some: tuple[Ast, ...], others: tuple[Ast, ...]) -> tuple[Ast, ...] | None:
    """Code that does what either of two does, if they are equal but for the places of the tree that they are of.

    A call is then of what is around both of its leaves, a loop of the first one's place. Marked parts are of one place,
    and loops whose iterations may run at the same time: what is known of one of their bands need not hold of another.
    """
    if len(some) != len(others):
        return None
    out: list[Ast] = []
    for a, b in zip(some, others, strict=True):
        if isinstance(a, Call) and isinstance(b, Call):
            mine, other = replace(a, at=_around(a.at, b.at)), replace(b, at=_around(a.at, b.at))
        elif isinstance(a, For | If) and isinstance(b, For | If):
            body = same(a.body, b.body)
            if body is None or (isinstance(a, For) and a.coincident and a.at != b.at):
                return None
            mine, other = replace(a, body=body), replace(b, body=body, at=a.at)
            if isinstance(mine, If) and isinstance(other, If):
                left = same(mine.other, other.other)
                if left is None:
                    return None
                mine, other = replace(mine, other=left), replace(other, other=left)
        else:
            mine, other = a, b
        if mine != other:
            return None
        out.append(mine)
    return tuple(out)


def _around(a: Path, b: Path) -> Path:
    """What is around two places, the innermost."""
    differ = (k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)
    return a[: next(differ, min(len(a), len(b)))]


def negation(conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    """Conditions that hold where not all of some do.

    >>> from polyvolta.sets import var
    >>> N = var("N")
    >>> ((_, e),) = negation([("ge", N - 5)])
    >>> print(e)
    4 - N
    """
    cases: list[tuple[Condition, ...]] = []
    for c in conditions:
        if isinstance(c, AnyOf):
            cases.append(tuple(d for case in c.alternatives for d in negation(case)))
        else:
            cases.append((("ge", -c[1] - 1),))
            if c[0] == "eq":
                cases.append((("ge", c[1] - 1),))
    return cases[0] if len(cases) == 1 else (AnyOf(tuple(cases)),)


def branches(node: If) -> tuple[If, If]:
    """The two branches of a condition, each under what holds there."""
    return If(node.conditions, node.body, node.at), If(negation(node.conditions), node.other, node.at)


def compared(conditions: Sequence[Condition]) -> Iterator[Aff]:
    """The expressions of conditions and their alternatives."""
    for c in conditions:
        if isinstance(c, AnyOf):
            for case in c.alternatives:
                yield from compared(case)
        else:
            yield c[1]


def comparisons(conditions: Sequence[Condition]) -> int:
    """How many comparisons conditions are."""
    return sum([sum(map(comparisons, c.alternatives)) if isinstance(c, AnyOf) else 1 for c in conditions])


def endless(body: Sequence[Ast]) -> bool:
    """Whether a loop without an end is among some code."""
    return any(isinstance(node, For) and not node.upper for node in nodes(body))


def conditional(body: Sequence[Ast]) -> bool:
    """Whether a condition is among some code, or a part in which nothing runs."""
    return any(isinstance(node, If) or not (isinstance(node, Call) or node.body) for node in nodes(body))


def has_loops(body: Sequence[Ast]) -> bool:
    """Whether a loop is among some code."""
    return any(isinstance(node, For) for node in nodes(body))
