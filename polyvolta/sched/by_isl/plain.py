"""What all of isl's objects have: copies, a context, a text for the errors' output, errors about arguments."""

from __future__ import annotations

from typing import Self, TypeVar

from polyvolta.sets import DEFAULT_CONTEXT, Context
from polyvolta.sets.by_isl.arguments import checks_arguments as checking
from polyvolta.sets.by_isl.objects.lists import dump

C = TypeVar("C", bound=type)
KINDS = frozenset("AstBuild AstExpr AstNode AstPrintOptions Map MultiPwAff PwAff Printer Schedule Set Space".split())
"""What annotations may name, beside Python's own, for an argument of another kind to be named in an error."""


def checks_arguments(cls: C) -> C:
    """The class, whose public methods, and those of its bases here, say which argument is of another kind.

    They say so where Python's own error would come from inside of them; see `polyvolta.sets.by_isl.arguments`.

    >>> from polyvolta.isl import Schedule, UnionSet
    >>> Schedule.from_domain(UnionSet("{ S[i] }")).get_root().every_descendant("S")
    Traceback (most recent call last):
        ...
    polyvolta.sets.errors.SpaceMismatch: [PV102] ScheduleNode.every_descendant needs a function for f, not a str
    """
    return checking(cls, __name__.rpartition(".")[0], KINDS)


class Plain:
    """An immutable object of isl's."""

    __slots__ = ()

    def copy(self) -> Self:
        """The object itself."""
        return self

    def reset_user(self) -> Self:
        """The object itself: names know nothing of a user's here."""
        return self

    def get_ctx(self) -> Context:
        """isl's context, which means nothing here."""
        return DEFAULT_CONTEXT

    dump = dump
