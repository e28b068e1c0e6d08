"""isl's names on the classes: `Set.read_from_str`, `Map.from_pw_aff`, and methods such as `Set.get_basic_sets`.

These names are no attributes, so that the classes stay as short as they are: they are looked up where an attribute is
missing (`text.of_isl`). Of another name of isl's the error says what is here instead, as it does on values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache, wraps
from inspect import isfunction
from types import MethodType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from ..errors import PolyvoltaError, UnknownName, kind_of


class Lacking(PolyvoltaError, AttributeError):
    """That a class, or a value of it, has no such attribute.

    What is here instead takes a while to find, so it is looked up where the message is read: `hasattr` reads none. The
    object is not kept (`obj`), of which Python would suggest names beside ours.

    >>> from polyvolta.sets import Set
    >>> Set("{ [i] }").intersct
    Traceback (most recent call last):
        ...
    polyvolta.sets.values.named.Lacking: [PV112] a Set has no attribute 'intersct'; did you mean intersect?
    """

    id = "PV112"
    where = hint = ""

    def __init__(self, cls: type, name: str) -> None:
        AttributeError.__init__(self, name)
        self.name, self.cls = name, cls

    def __reduce__(self) -> tuple[object, ...]:
        """Copies and pickles look the message up again."""
        return Lacking, (self.cls, self.name)

    @property
    def message(self) -> str:  # type: ignore[override]
        """What there is instead."""
        from ..text.of_isl import lacking

        return lacking(self.cls, self.name or "")


def update_persistent_hash(self: object, key_hash: Any, key_builder: Any) -> None:  # noqa: ANN401
    """Feed a hash what the value is, for the dictionaries on disk of pytools, whose keys outlast a process.

    pytools calls it, for the hash of a value here is one of this process alone; values of one text have one key.

    Parameters
    ----------
    key_hash, key_builder : pytools' hash, and what feeds it, by its `rec`.

    Examples
    --------
    >>> from polyvolta.sets import Set
    >>> class Builder:
    ...     def rec(self, key_hash, value):
    ...         key_hash.append(value)
    >>> Set("{ [i] : i > 0 }").update_persistent_hash(found := [], Builder()); found
    ["Set('{ [i] : i >= 1 }')"]
    """
    key_builder.rec(key_hash, repr(self))


class Named(type):
    """The class of the classes of sets, relations and functions, of spaces and constraints.

    `as_islpy` says that `==` is `is_equal`, as in islpy, of two values that are not written alike, and that each value
    is true, as what says nothing else is in Python: see `isl.stand_in`.
    """

    as_islpy: bool = False
    shown: ClassVar[dict[type, type]] = {}  # of a class that islpy doesn't have, its class of the same values

    if not TYPE_CHECKING:  # a checker knows what there is

        def __getattr__(cls, name: str) -> object:
            if not name.startswith("_") and name not in cls.__annotations__:  # of a field dataclasses ask for a default
                from ..text.of_isl import maker, method

                made = maker(cls, name) or method(cls, name)
                if made is not None:
                    return made
                raise Lacking(cls, name)
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}", name=name, obj=cls)


class ByValue(type):
    """The type of a class that has instances of other classes than those that derive from it, as `isl.Aff` has.

    A method that is looked up on the class is that of the value on which it is called, so that `isl.Aff.floor(f)` is
    `f.floor()`. A call of a method of a value asks nothing of this, and costs nothing more.
    """

    _home: type  # whose methods fit its values; those of others have their own

    def __getattribute__(cls, name: str) -> Any:  # noqa: ANN401
        found = super().__getattribute__(name)
        return found if name.startswith("_") or not isfunction(found) else of_value(cls, name, found)

    def _as_of(cls, value: Any) -> Any:  # noqa: ANN401
        """A value of another class as what a method of this one is called on."""
        return value


def dispatching(cls: Any, name: str, found: Callable[..., Any]) -> Callable[..., Any]:  # noqa: ANN401
    """The function of a class, which on a value that is an instance but does not derive from it is the value's own.

    Functions without a value that they are called on, static ones and those that make one, are as they are.
    """
    if name.startswith("from_") or any(isinstance(vars(c).get(name), staticmethod) for c in cls.__mro__):
        return found

    @wraps(found)
    def call(*args: Any, **named: Any) -> Any:  # noqa: ANN401
        if args and isinstance(args[0], cls) and cls._home not in type(args[0]).__mro__:
            return getattr(cls._as_of(args[0]), name)(*args[1:], **named)
        return found(*args, **named)

    call.__module__, call.__qualname__ = cls.__module__, f"{cls.__qualname__}.{name}"
    return call


of_value = lru_cache(maxsize=1 << 12)(dispatching)  # one function each time that it is looked up


class NamedByValue(ByValue, Named):
    """Both: isl's names that are looked up on the class are those of the value, too."""

    if not TYPE_CHECKING:  # a checker knows what there is

        def __getattr__(cls, name: str) -> object:
            found = super().__getattr__(name)
            return of_value(cls, name, found) if isfunction(found) else found


class Shown:
    """Values whose `__class__` is islpy's class of them where `polyvolta.isl` stands in its place, as programs ask.

    Their type, which `isinstance` asks first, is that of `polyvolta.sets`, from which islpy's derives.
    """

    __slots__ = ()

    if not TYPE_CHECKING:

        @property
        def __class__(self) -> type:
            return Named.shown.get(type(self), type(self))

    def __reduce__(self) -> tuple[object, ...]:
        """Made anew as of its type; what Python makes by itself is refused where that is not the `__class__`."""
        return _blank, (type(self),), self.__getstate__()


def _blank(kind: type) -> object:
    return object.__new__(kind)


def by_isl(value: object, name: str) -> Any:  # noqa: ANN401
    """The method of a value that isl calls so and we otherwise.

    Raises
    ------
    AttributeError : there is none; what is here instead is said.
    """
    if name == "_base_name":  # islpy's, by which programs find the method of a printer
        kind = value.__class__.__name__.removeprefix("Rational").replace("MultiFunction", "MultiPwAff")
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).lower()
    if name.startswith("_"):
        raise AttributeError(f"{kind_of(value)} has no attribute {name!r}", name=name, obj=value)
    from ..text.of_isl import maker, method

    found = method(type(value), name)
    if found is None:
        made = maker(type(value), name)  # a value has the functions of its class, which may be of itself
        if made is not None:
            return lambda *given, **named: made(*(given if given or named else (value,)), **named)
        raise Lacking(type(value), name)
    return found.__get__(value) if isinstance(found, property) else MethodType(found, value)


class OverParams(Protocol):
    """A set, a relation or a function: what may stand for the list of its parameters."""

    param_names: tuple[str, ...]


def listed(params: Iterable[str] | OverParams, where: object) -> tuple[str, ...]:
    """The parameters that a list names, or those of a value.

    Raises
    ------
    UnknownName : neither; `where` is what was to have them.
    """
    found = getattr(params, "param_names", None)
    if isinstance(found, tuple):
        return found
    if isinstance(params, str) or not isinstance(params, Iterable):
        what = repr(params) if isinstance(params, str) else kind_of(params)
        hint = '["N", "M"], or a Set, Map or function whose parameters they are'
        raise UnknownName(f"parameters are a list of names, not {what}", where=str(where), hint=hint)
    names = tuple(params)
    wrong = [p for p in names if not isinstance(p, str)]
    if wrong:
        raise UnknownName(f"a parameter is given by its name, not by {wrong[0]!r}", where=str(where))
    return names
