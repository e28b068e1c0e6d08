"""isl's basic sets and relations, `polyvolta.isl.BasicSet` and `BasicMap`: texts of one piece, all of whose values are
sets and relations here.

>>> from polyvolta.isl import BasicSet, Set
>>> some = BasicSet("{ [i] : i > 3 }")
>>> some, isinstance(some, BasicSet), isinstance(some, Set)
(Set('{ [i] : i >= 4 }'), True, True)
"""

from __future__ import annotations

from typing import Any

from ..errors import SetSyntaxError
from ..values.map import Map
from ..values.set import Set


class One(type):
    """Classes whose constructor takes what is one piece, and makes a value of another class; they have its methods."""

    of: Any

    def __call__(cls, *given: Any, **named: Any) -> Any:  # noqa: ANN401
        """The set or relation of a text, or another one.

        Raises
        ------
        SetSyntaxError : there are several pieces or tuples, or no tuple.
        """
        value = cls.of(*given, **named)
        pieces = sum(len(cs) for _, cs in value.parts)
        if len(value.parts) != 1 or pieces > 1:
            what = "no tuple" if not value.parts else f"{pieces} pieces"
            raise SetSyntaxError(f"a {cls.__name__} is one piece, and this has {what}", where=str(value),
                                 hint=f"{cls.of.__name__}(text) takes any number")  # fmt: skip
        return value

    def __getattr__(cls, name: str) -> Any:  # noqa: ANN401
        return getattr(cls.of, name)

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, cls.of)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, cls.of)

    def __dir__(cls) -> list[str]:
        return sorted({*dir(cls.of), "read_from_str"})


class BasicSet(metaclass=One):
    """A set of one piece."""

    of = Set

    @staticmethod
    def read_from_str(*text: Any) -> Set:  # noqa: ANN401
        """The set of a text; isl's context before it means nothing."""
        return BasicSet(text[-1])


class BasicMap(metaclass=One):
    """A relation of one piece."""

    of = Map

    @staticmethod
    def read_from_str(*text: Any) -> Map:  # noqa: ANN401
        """The relation of a text; isl's context before it means nothing."""
        return BasicMap(text[-1])
