"""What is assumed of the parameters, as people give it: a set without dimensions, or its text."""

from __future__ import annotations

from polyvolta.sched.errors import BadArgument
from polyvolta.sets import Set
from polyvolta.sets.errors import kind_of


def context_of(given: object) -> Set | None:
    """A context as a set; None, for nothing assumed, is itself.

    Raises
    ------
    BadArgument : it is neither a set nor a text.
    SetSyntaxError : the text is no set.

    >>> context_of("[N] -> { : N >= 1 }")
    Set('[N] -> { : N >= 1 }')
    """
    if isinstance(given, str):
        given = Set(given)
    if given is None or isinstance(given, Set):
        return given
    hint = 'such as "[N] -> { : N >= 1 }"'
    raise BadArgument(f"a context is a Set or its text, not {kind_of(given)}", where=repr(given), hint=hint)
