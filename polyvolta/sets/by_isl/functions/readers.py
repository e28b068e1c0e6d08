"""`PwAff`, `MultiPwAff` and their like of `polyvolta.isl`, whose texts may say fractions, NaN, and domains of values.

They have the functions of the classes of `polyvolta.sets`, of which their values are; what these cannot say is of
`RationalPwAff` and `MultiFunction`, which are instances as well.

>>> f = PwAff("{ [i] -> [i/2] : i > 0 }")
>>> print(f, type(f + f).__name__, isinstance(f, PwAff), MultiPwAff("{ [i] -> [i, i/2] }").get_at(1))
{ [i] -> [(i)/2] : i >= 1 } PwAff True { [i] -> [(i)/2] }
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...functions import members, multi_pwaff, pwaff, rational
from ...functions.cells import Cell
from ...values.named import NamedByValue
from ...values.space import Space


class Reading(NamedByValue):
    """The type of a class whose constructor gives values of others, all of which are its instances."""

    _kinds: tuple[type, ...]

    @property
    def _home(cls) -> type:  # type: ignore[override]
        return cls._kinds[0]

    def _as_of(cls, value: Any) -> Any:  # noqa: ANN401
        return value._widened() if hasattr(type(value), "_widened") else value

    def __instancecheck__(cls, value: object) -> bool:
        """Of the values' classes; a class that derives from this one has no other instances than any has."""
        return isinstance(value, cls._kinds) if "_kinds" in vars(cls) else type.__instancecheck__(cls, value)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, cls._kinds) if "_kinds" in vars(cls) else type.__subclasscheck__(cls, other)


class Read:
    """What the two classes do: their values are of others."""

    __slots__ = ()
    _kinds: tuple[Any, Any]  # of integers alone, and of fractions
    _reads: Callable[[str], Any]
    _widens: str  # isl's name of what makes a value that need not be one expression

    def __new__(cls, text: Any, context: object = None) -> Any:  # noqa: ANN401, D102
        if isinstance(text, str):
            return cls._reads(text)
        integers, fractions = cls._kinds
        return getattr(text, cls._widens)() if isinstance(text, fractions) else integers(text)

    @classmethod
    def _of(cls, params: tuple[str, ...], space: Space, cells: Iterable[Cell]) -> Any:  # noqa: ANN401
        return cls._kinds[0]._of(params, space, cells)


class PwAff(Read, pwaff.PwAff, metaclass=Reading):
    """A function of one value; see the module."""

    __slots__ = ()
    _kinds = (pwaff.PwAff, rational.RationalPwAff)
    _reads = staticmethod(members.read_function)
    _widens = "to_pw_aff"


class MultiPwAff(Read, multi_pwaff.MultiPwAff, metaclass=Reading):
    """A function to a tuple; see the module."""

    __slots__ = ()
    _kinds = (multi_pwaff.MultiPwAff, members.MultiFunction)
    _reads = staticmethod(members.read_functions)
    _widens = "to_multi_pw_aff"
