"""What can be wrong with a program, a schedule or a transformation of one: PV3xx."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from polyvolta.sets import PolyvoltaError, nearest


class BadPath(PolyvoltaError, LookupError):
    """A path that leads to no node, or to a node of another kind; a member out of range."""

    id = "PV301"


class IllegalTransformation(PolyvoltaError):
    """A transformation that a dependence forbids; names the dependence and two instances."""

    id = "PV302"


class BadTile(PolyvoltaError, ValueError):
    """Sizes that are not positive, too few or too many."""

    id = "PV303"


class NotScannable(PolyvoltaError):
    """A tree for which no loops can be written: one of a loop that has no beginning, for one."""

    id = "PV304"


class NotAffineProgram(PolyvoltaError, ValueError):
    """A loop nest with a part that is not affine; shows the offending line."""

    id = "PV305"


class BadProgram(PolyvoltaError, ValueError):
    """A program whose parts do not fit: an undefined statement or array, a schedule that misses instances."""

    id = "PV306"


class BadSchedule(PolyvoltaError, ValueError):
    """A tree that is no schedule: a statement or instance without a place, filters that overlap, a band that has no
    expression for a statement."""

    id = "PV307"


class TreeSyntaxError(PolyvoltaError, ValueError):
    """Text that is no schedule tree in isl's notation; shows the line with a caret."""

    id = "PV308"


class NoSchedule(PolyvoltaError):
    """Dependences that no schedule respects, or constraints that leave none."""

    id = "PV309"


class BadArgument(PolyvoltaError, TypeError):
    """A call of a program with an argument that is missing, unknown, or of another kind than the program uses it as."""

    id = "PV310"


class NoCompiler(PolyvoltaError):
    """There is no C compiler, or it refuses the text."""

    id = "PV311"


class NotTranslatable(PolyvoltaError):
    """A body that has no meaning in C, such as the call of a Python function; shows the body with a caret."""

    id = "PV312"


class NoReader(PolyvoltaError, ImportError):
    """C is to be read, and pycparser, which does, is not installed."""

    id = "PV313"


F = TypeVar("F", bound=Callable[..., Any])


def says_keywords(f: F) -> F:
    """The function, which says of a keyword that it hasn't what it is called here.

    >>> @says_keywords
    ... def area(*, width, height=1):
    ...     return width * height
    >>> area(width=3, height=2)
    6
    >>> area(widht=3)
    Traceback (most recent call last):
        ...
    polyvolta.sched.errors.BadArgument: [PV310] area has no argument 'widht'
    hint: did you mean 'width'?
    """
    found = inspect.signature(f).parameters.values()
    known = {p.name: None for p in found if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}

    @wraps(f)
    def call(*args: Any, **named: Any) -> Any:  # noqa: ANN401
        if not named:  # the usual call
            return f(*args)
        for name in named:
            if name not in known:
                raise BadArgument(f"{f.__name__} has no argument {name!r}", hint=nearest(name, known, most=len(known)))
        return f(*args, **named)

    return cast(F, call)
