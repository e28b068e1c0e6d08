"""The loop AST that `scan` makes of a schedule tree: loops, conditions, calls of statements."""

from __future__ import annotations

from dataclasses import dataclass

from polyvolta.sched.tree import Path
from polyvolta.sets import Aff


@dataclass(frozen=True, slots=True)
class Call:
    """One instance of a statement: `S(args)`, the iterators' values in names and outer loop variables."""

    statement: str
    args: tuple[Aff, ...]
    at: Path = ()


@dataclass(frozen=True, slots=True)
class For:
    """`for (var = max(lower); var <= min(upper); var += step) body`, member number `member` of the band at `at`."""

    var: str
    lower: tuple[Aff, ...]
    upper: tuple[Aff, ...]
    step: int
    unroll: bool
    body: tuple[Ast, ...]
    at: Path = ()
    member: int = 0


@dataclass(frozen=True, slots=True)
class If:
    """The body runs where every condition `e >= 0` or `e = 0` holds."""

    conditions: tuple[tuple[str, Aff], ...]
    body: tuple[Ast, ...]
    at: Path = ()


Ast = Call | For | If
