"""What callers pass to a transformation is of the kind that it takes.

Numbers are integers of any make, numpy's among them, but no truth values; several of them come in any order that can be
iterated, tables as mappings. Where that is not so the transformation is refused before it looks at the tree, and says
what it takes: `BadArgument` for another kind of thing, `BadTile` for a size that is no positive integer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import index
from typing import Any, TypeVar

from polyvolta.sched.errors import BadArgument, BadTile
from polyvolta.sched.tree import Path, Schedule
from polyvolta.sets import Map, Set
from polyvolta.sets.errors import kind_of
from polyvolta.sets.values.united import United

T = TypeVar("T")
R = TypeVar("R", Set, Map)


def whole(value: object) -> int | None:
    """The integer that a value is; None for what is none.

    >>> whole(3), whole(True), whole(2.0), whole("3")
    (3, None, None, None)
    """
    if isinstance(value, bool):
        return None
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def items(given: Any, what: str, such_as: str) -> tuple:  # noqa: ANN401
    """What is listed; a text is no list of its letters, nor a relation or another set one of its points.

    Raises
    ------
    BadArgument : it is no list.
    """
    if isinstance(given, (str, bytes, United)) or not isinstance(given, Iterable):
        raise BadArgument(f"{what} are listed, not {kind_of(given)}", where=repr(given), hint=f"such as {such_as}")
    return tuple(given)


def table(given: Any, what: str, such_as: str) -> dict:  # noqa: ANN401
    """What is given by name or number.

    Raises
    ------
    BadArgument : it is no mapping.
    """
    if not isinstance(given, Mapping):
        raise BadArgument(f"{what} are a mapping, not {kind_of(given)}", where=repr(given), hint=f"such as {such_as}")
    return dict(given)


def of_kind(given: Any, kind: type[T], what: str, such_as: str) -> T:  # noqa: ANN401
    """What is of a class.

    Raises
    ------
    BadArgument : it is of another one.
    """
    if not isinstance(given, kind):
        raise BadArgument(
            f"{what} is a {kind.__name__}, not {kind_of(given)}", where=repr(given), hint=f"such as {such_as}"
        )
    return given


def relation(given: Any, kind: type[R], what: str, such_as: str) -> R:  # noqa: ANN401
    """A set or map, or what a text in isl's notation says.

    Raises
    ------
    BadArgument : it is neither.
    SetSyntaxError : the text is no set or map.

    >>> relation("{ : }", Set, "a context", "")
    Set('{ : }')
    """
    return kind(given) if isinstance(given, str) else of_kind(given, kind, what, such_as)


def positive(schedule: Schedule, at: Path, sizes: Iterable[object], what: str = "tile sizes") -> tuple[int, ...]:
    """Sizes as integers.

    Raises
    ------
    BadTile : one is no positive integer.
    """
    sizes = tuple(sizes)
    found = tuple(n for n in map(whole, sizes) if n is not None and n > 0)
    if len(found) < len(sizes):
        raise BadTile(f"{what} are positive integers, not {list(sizes)}", where=schedule.marked(at))
    return found
