"""The loop AST that `scan` makes of a schedule tree: loops, conditions, calls of statements.

It is a small language with an obvious meaning, given by `polyvolta.sched.emit.run`; printers turn it into C and
Python, and the kernel generator lowers it to its own operations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
    """The body runs where every condition holds."""

    conditions: tuple[Condition, ...]
    body: tuple[Ast, ...]
    at: Path = ()


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


def endless(body: Sequence[Ast]) -> bool:
    """Whether a loop without an end is among some code."""
    inner = list(body)
    for node in inner:  # which grows
        if isinstance(node, For) and not node.upper:
            return True
        if not isinstance(node, Call):
            inner += node.body
    return False


def has_loops(body: Sequence[Ast]) -> bool:
    """Whether a loop is among some code."""
    return any(isinstance(node, For) or (not isinstance(node, Call) and has_loops(node.body)) for node in body)
