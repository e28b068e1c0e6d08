"""What is refused where a tree is wanted."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from polyvolta.sched.errors import BadArgument
from polyvolta.sched.tree import Schedule
from polyvolta.sets.errors import kind_of

P = ParamSpec("P")
T = TypeVar("T")


def need_schedule(given: object, doing: str, more: str = ", ...") -> None:
    """Refuse what is no tree.

    Parameters
    ----------
    doing : the function that takes one.
    more : what it takes besides, for the hint.

    Raises
    ------
    BadArgument : it is something else; a program has two trees to take.
    """
    if not isinstance(given, Schedule):
        hint = "schedule(program) and Schedule.parse(text) make one"
        if hasattr(given, "schedule"):
            written, better = f"{doing}(program.schedule{more})", f"{doing}(schedule(program){more})"
            hint = f"{written} is of the order as written, {better} of a better one"
        raise BadArgument(f"{doing} takes a Schedule, not {kind_of(given)}", hint=hint)


def of_a_tree(f: Callable[P, T]) -> Callable[P, T]:
    """The function, whose first argument, `schedule`, is refused where it is none.

    Raises
    ------
    BadArgument : see `need_schedule`.
    """

    @wraps(f)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        if args or "schedule" in kwargs:
            need_schedule(args[0] if args else kwargs["schedule"], f.__name__)
        return f(*args, **kwargs)

    return call
