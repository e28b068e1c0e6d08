"""Whether the fields of an IR's parts hold what their declarations say: a name where a `str` is declared, and so on.

The kernel IR is made of frozen dataclasses, which take anything for anything. Here their annotations are read once, as
types, and made into checks: of classes, numbers, unions, tuples of fixed and of any length, and mappings.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from polyvolta.graph.functions.formula import Call, Input, Number
from polyvolta.sets import Aff
from polyvolta.sets.errors import kind_of

WHOLE = (Aff, Input, Number, Call)
"""Classes whose own fields are their own business."""

Seen = set[int]
Check = Callable[[Any, Seen], Iterator[str]]


def misfits(part: Any) -> Iterator[str]:
    """What of a dataclass and of all below it is of another type than declared, in words.

    >>> from polyvolta.cuda.ir.kernel_ir import Element, Zero
    >>> list(misfits(Zero(Element("hmma_C", (0,)))))
    ['target.index[0] is an int, 0, where Aff belongs']
    """
    seen: Seen = set()
    yield from _of_class(type(part))(part, seen)


@cache
def _of_class(cls: type) -> Check:
    """The check of a dataclass's fields; one of the same object is made once."""
    hints = get_type_hints(cls)
    own = [(f.name, _of_type(hints[f.name])) for f in fields(cls) if f.init]

    def check(part: Any, seen: Seen) -> Iterator[str]:
        if id(part) in seen:
            return
        seen.add(id(part))
        for name, of_field in own:
            for what in of_field(getattr(part, name), seen):
                yield f"{name}{what if what[0] in '[ ' else f'.{what}'}"

    return check


@cache
def _of_type(hint: Any) -> Check:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _of_union(arguments, " or ".join(_name(a) for a in arguments))
    if origin is tuple:
        return _of_tuple(arguments)
    if origin is not None and issubclass(origin, Mapping):
        return _of_mapping(*arguments)
    return _of_plain(hint)


def _name(hint: Any) -> str:
    return getattr(hint, "__name__", str(hint)) if hint is not type(None) else "None"


def _is(hint: type, x: Any) -> bool:
    """Whether a value is of a class; truth values are no numbers, and whole numbers are numbers."""
    if isinstance(x, bool):
        return hint is bool
    return isinstance(x, (int, float) if hint is float else hint)


def _of_plain(hint: type) -> Check:
    whole = hint in WHOLE or not is_dataclass(hint)  # nothing below it to look at

    def check(x: Any, seen: Seen) -> Iterator[str]:
        if whole and type(x) is hint:
            return
        if not _is(hint, x):
            yield f" is {_words(x)}, where {_name(hint)} belongs"
        elif is_dataclass(x) and type(x) not in WHOLE:  # of its own class: an operation is declared by its base
            yield from _of_class(type(x))(x, seen)

    return check


def _of_union(hints: tuple[Any, ...], words: str) -> Check:
    plain = {h: _of_type(h) for h in hints if get_origin(h) is None}
    others = [_of_type(h) for h in hints if get_origin(h) is not None]

    def check(x: Any, seen: Seen) -> Iterator[str]:
        found = next((c for h, c in plain.items() if _is(h, x)), None)
        if found is not None:
            yield from found(x, seen)
        elif all(next(c(x, seen), None) for c in others) or not others:
            yield f" is {_words(x)}, where {words} belongs"

    return check


def _of_tuple(arguments: tuple[Any, ...]) -> Check:
    checks = [_of_type(a) for a in arguments if a is not Ellipsis]

    def any_length(x: Any, seen: Seen) -> Iterator[str]:
        if not isinstance(x, tuple):
            yield f" is {_words(x)}, where a tuple belongs"
            return
        for n, e in enumerate(x):
            for what in checks[0](e, seen):
                yield f"[{n}]{what if what[0] in '[ ' else f'.{what}'}"

    def fixed(x: Any, seen: Seen) -> Iterator[str]:
        if not isinstance(x, tuple) or len(x) != len(checks):
            yield f" is {_words(x)}, where a tuple of {len(checks)} belongs"
            return
        for n, (e, check) in enumerate(zip(x, checks, strict=True)):
            for what in check(e, seen):
                yield f"[{n}]{what if what[0] in '[ ' else f'.{what}'}"

    return any_length if Ellipsis in arguments else fixed


def _of_mapping(key: Any, value: Any) -> Check:
    of_key, of_value = _of_type(key), _of_type(value)

    def check(x: Any, seen: Seen) -> Iterator[str]:
        if not isinstance(x, Mapping):
            yield f" is {_words(x)}, where a mapping belongs"
            return
        for k, v in x.items():
            yield from (f" of {k!r}{what}" for c, y in ((of_key, k), (of_value, v)) for what in c(y, seen))

    return check


def _words(x: Any) -> str:
    """A value in a message: its kind, and itself if that is short."""
    text = repr(x) if isinstance(x, (str, int, float, tuple, bool)) else ""
    return f"{kind_of(x)}, {text}" if 0 < len(text) <= 40 else kind_of(x)
