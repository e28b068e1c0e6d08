"""The members of bands: a dimension each, with an expression for every statement and how its loop is made."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, cast, get_args

from polyvolta.display.shown import Record
from polyvolta.sched.cases import Cases
from polyvolta.sched.errors import BadSchedule
from polyvolta.sets import Aff, nearest
from polyvolta.sets.errors import kind_of

LoopType = Literal["default", "atomic", "separate", "unroll"]
LOOP_TYPES = get_args(LoopType)
LEVEL = re.compile(r"[A-Za-z_]\w*")


def check(value: object, kind: type, what: str, hint: str = "") -> None:
    """Refuse a part of a node that is of another kind."""
    if not isinstance(value, kind):
        wanted = f"{'an' if kind is Aff else 'a'} {kind.__name__}"
        raise BadSchedule(f"{what} is {wanted}, not {kind_of(value)}", where=repr(value), hint=hint)


@dataclass(frozen=True, slots=True)
class Member(Record):
    """One dimension of a band.

    Parameters
    ----------
    exprs : (statement, expression in its iterators and the parameters), one for each statement of the band; an
        expression by cases is a `Cases`.
    coincident : whether its iterations are independent of one another (given those of outer members).
    name : what the dimension is mapped to, e.g. `blockIdx.y`; then it is no loop but an index that is given.
    unroll : whether the generated loop carries a request to the compiler to unroll it (`#pragma unroll`).
    loop_type : how code is generated for the dimension, isl's AST options: "atomic" is one loop whatever runs in it,
        "separate" one loop for every set of statements that run together, "unroll" no loop but its iterations written
        out.
    isolated_type : the same for what the band isolates, isl's option `[isolate[] -> unroll[k]]`; None for the same.
    level : what the dimension is for, such as "block" or "warp": a name to find it by; see `passes.set_level`.

    >>> from polyvolta.sched import schedule
    >>> from polyvolta.sets import Set
    >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
    >>> str(tree.band((0,)).members[1].of("S"))
    'j'
    """

    exprs: tuple[tuple[str, Aff | Cases], ...]
    coincident: bool = False
    name: str | None = None
    unroll: bool = False
    loop_type: LoopType = "default"
    level: str | None = None
    isolated_type: LoopType | None = None

    def __post_init__(self) -> None:
        hint = 'Member((("S", var("i")),))'
        check(self.exprs, tuple, "what a member says of its statements", hint)
        for pair in self.exprs:
            if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], str):
                raise BadSchedule("a member has pairs (statement, expression)", where=repr(pair), hint=hint)
            if not isinstance(pair[1], Cases):
                check(pair[1], Aff, f"the expression for {pair[0]}", "aff('i + 1')")
        if self.isolated_type == self.loop_type:
            object.__setattr__(self, "isolated_type", None)
        for loop_type in (self.loop_type, self.isolated_type):
            if loop_type is not None and loop_type not in LOOP_TYPES:
                hint = nearest(str(loop_type), LOOP_TYPES)
                raise BadSchedule(f"no loop type is called {loop_type!r}", hint=hint)
        if self.level is not None and not (isinstance(self.level, str) and LEVEL.fullmatch(self.level)):
            raise BadSchedule("the level of a member is one word", where=repr(self.level), hint='such as "warp"')

    def of(self, statement: str) -> Aff:
        """The expression for one statement.

        Raises
        ------
        BadSchedule : there is none.

        >>> from polyvolta.sched import schedule
        >>> from polyvolta.sets import Set
        >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
        >>> str(tree.band((0,)).members[1].of("S"))
        'j'
        """
        table = dict(self.exprs)
        if statement not in table:
            raise BadSchedule(f"a member of the band has no expression for {statement}", hint=nearest(statement, table))
        return cast("Aff", table[statement])  # `Cases` computes likewise

    def map(self, f: Callable[[str, Aff], Aff]) -> Member:
        """The member with `f(statement, expression)` in place of each expression.

        `f` is called with each statement's name and expression.

        >>> from polyvolta.sched import schedule
        >>> from polyvolta.sets import Set
        >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
        >>> print(tree.band((0,)).members[1].map(lambda name, e: e + 1).of("S"))
        j + 1
        """
        return replace(self, exprs=tuple((s, f(s, cast("Aff", e))) for s, e in self.exprs))
