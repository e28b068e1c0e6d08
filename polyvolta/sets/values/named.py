"""isl's names on the classes: `Set.read_from_str`, `Map.from_pw_aff`, and methods such as `Set.get_basic_sets`.

These names are no attributes, so that the classes stay as short as they are: they are looked up where an attribute is
missing (`text.of_isl`). Of another name of isl's the error says what is here instead, as it does on values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import MethodType
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import UnknownName, kind_of


class Named(type):
    """The class of the classes of sets, relations and functions."""

    if not TYPE_CHECKING:  # a checker knows what there is

        def __getattr__(cls, name: str) -> object:
            if not name.startswith("_"):
                from ..text.of_isl import lacking, maker, method

                made = maker(cls, name) or method(cls, name)
                if made is not None:
                    return made
                raise AttributeError(lacking(cls, name), name=name, obj=cls)
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}", name=name, obj=cls)


def by_isl(value: object, name: str) -> Callable[..., Any]:
    """The method of a value that isl calls so and we otherwise.

    Raises
    ------
    AttributeError : there is none; what is here instead is said.
    """
    from ..text.of_isl import lacking, method

    found = None if name.startswith("_") else method(type(value), name)
    if found is not None:
        return MethodType(found, value)
    kind = type(value).__name__
    said = "" if name.startswith("_") else lacking(type(value), name)
    raise AttributeError(said or f"a {kind} has no attribute {name!r}", name=name, obj=value)


class OverParams(Protocol):
    """A set, a relation or a function: what may stand for the list of its parameters."""

    param_names: tuple[str, ...]


def listed(params: Iterable[str] | OverParams, where: object) -> tuple[str, ...]:
    """The parameters that a list names, or those of a value.

    Raises
    ------
    UnknownName : neither; `where` is what was to have them.
    """
    if isinstance(type(params), Named):
        return params.param_names  # type: ignore[union-attr]
    if isinstance(params, str) or not isinstance(params, Iterable):
        what = repr(params) if isinstance(params, str) else kind_of(params)
        hint = '["N", "M"], or a Set, Map or function whose parameters they are'
        raise UnknownName(f"parameters are a list of names, not {what}", where=str(where), hint=hint)
    names = tuple(params)
    wrong = [p for p in names if not isinstance(p, str)]
    if wrong:
        raise UnknownName(f"a parameter is given by its name, not by {wrong[0]!r}", where=str(where))
    return names
