"""Nodes of which there is one object for each value.

Expressions and formulas are built from the leaves up, and the same part is built again and again: `A @ B` on two
lines of a program, `x` in `x * sigmoid(x)`. Here a constructor gives the object that is in use already, where there is
one with the same fields. So equality is identity, hashing costs nothing, common parts are shared by construction, and
walks cost one step a node however many paths lead to it. Copying and unpickling construct as well, and give the same
object again. Nodes that nobody uses are freed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self
from weakref import WeakValueDictionary

_INTERNED: WeakValueDictionary[tuple, Any] = WeakValueDictionary()
LONGEST = 4000  # characters of a repr that constructs; a node that is shared is written wherever it is used


class Interned:
    """A frozen dataclass without defaults whose equal instances are one object; `eq=False`, `repr=False`.

    A class that derives from it has a slot for weak references, or a base with one: which dataclasses add one by
    themselves differs between Pythons.
    """

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()

    def __new__(cls, *fields: Any, **named: Any) -> Self:
        rest = cls.__match_args__[len(fields) :]
        if named.keys() != set(rest):
            return object.__new__(cls)  # and `__init__` says what is wrong
        key = (cls, *map(cls._key, (*fields, *(named[f] for f in rest))))
        found = _INTERNED.get(key)
        return _INTERNED.setdefault(key, object.__new__(cls)) if found is None else found

    @staticmethod
    def _key(field: Any) -> Any:
        """What tells a field from others."""
        return field

    def _nodes(self) -> Iterable[Any]:
        """This node and all under it, operands before their users."""
        raise NotImplementedError

    def _brief(self) -> str:
        """A text of bounded length."""
        raise NotImplementedError

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, f) for f in self.__match_args__)

    def __repr__(self) -> str:
        """What constructs the node; a short text in angle brackets where that would be longer than `LONGEST`."""
        texts: dict[Any, str] = {}
        for node in self._nodes():
            texts[node] = _constructor(node, texts) if isinstance(node, Interned) else repr(node)
            if len(texts[node]) > LONGEST:
                return f"<{type(self).__name__} {self._brief()}>"
        return texts[self]


def _constructor(node: Interned, texts: Mapping[Any, str]) -> str:
    """The call that makes a node, from the texts of those under it."""
    fields = (f"{f}={_text(getattr(node, f), texts)}" for f in node.__match_args__)
    return f"{type(node).__name__}({', '.join(fields)})"


def _text(value: Any, texts: Mapping[Any, str]) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(_text(x, texts) for x in value)}{',' * (len(value) == 1)})"
    return texts[value] if value in texts else repr(value)
