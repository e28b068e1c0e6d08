"""Keywords that a function hasn't: which one was meant."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from polyvolta.sets.errors import nearest

from .errors import BadArgument

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
        for name in named:
            if name not in known:
                raise BadArgument(f"{f.__name__} has no argument {name!r}", hint=nearest(name, known, most=len(known)))
        return f(*args, **named)

    return cast(F, call)
