"""What `scan` returns, apart from how it is made: printers and runs take it without knowing of the walk of a tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from polyvolta.display.shown import Shown
from polyvolta.sched.loops.ast import Ast
from polyvolta.sched.loops.notation.c import c_text
from polyvolta.sets import Aff
from polyvolta.sets.values.simplify import Range

if TYPE_CHECKING:
    from polyvolta.sched.tree import Schedule


@dataclass(frozen=True, slots=True, repr=False)
class Scan(Shown):
    """The result of `scan`.

    Parameters
    ----------
    body : the loops.
    extents : name that members are mapped to -> number of its values as an expression of the parameters.
    ranges : inclusive ranges of names and loop variables, None where there is no constant bound.
    notes : what the tree asks for and was not done, a sentence each.
    params : the parameters of the tree and of the context, None for loops that come from elsewhere.
    largest : a bound of what the loops compute where sizes are small, and the expression that has it (`widths`); None
        if it is not known yet.
    plain : whether parameters and statements are known to be names in C and in Python, as the variables of `scan` are.
    tree : what was scanned, whose marks say how loops are wanted (`wishes`); None for loops that come from elsewhere.
    marked : whether the tree may have marks.

    >>> from polyvolta.sched import scan, schedule
    >>> from polyvolta.sets import Set
    >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
    >>> print(scan(tree))
    for (int c0 = 0; c0 < N; c0 += 1)
      for (int c1 = 0; c1 <= c0; c1 += 1)
        S(c0, c1);
    """

    body: tuple[Ast, ...]
    extents: Mapping[str, Aff] = field(default_factory=dict)
    ranges: Mapping[str, Range] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    params: tuple[str, ...] | None = None
    largest: tuple[int, str] | None = field(default=None, compare=False, repr=False)
    plain: bool = field(default=False, compare=False, repr=False)
    tree: Schedule | None = field(default=None, compare=False, repr=False)
    marked: bool = field(default=True, compare=False, repr=False)

    def __str__(self) -> str:
        return c_text(self)

    def __repr__(self) -> str:
        lines = str(self).count("\n") + 1
        return f"<Scan, {lines} line{'s' * (lines != 1)}; print it>"

    def _html(self) -> str:
        from polyvolta.display.code import Code

        return Code(str(self))._html()
