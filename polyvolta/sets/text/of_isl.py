"""isl's names that are no attributes here: what makes a value, and what an error about a missing attribute says.

Read only when an attribute is missing, so that those that are there cost nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from .isl_rows import ROWS


def counterpart(kind: str, name: str) -> str:
    """What does here what a method of isl does, for objects of a class; "" where isl has no such method.

    >>> counterpart("Set", "foreach_point")
    'for p in s.points(): Set.points'
    >>> counterpart("Map", "nothing_of_the_kind")
    ''
    """
    for patterns, here in (*ROWS.get(kind, ()), *ROWS[""]):
        if any(fnmatchcase(name, p) for p in patterns.split()):
            return here
    return ""


def lacking(kind: str, name: str) -> str:
    """What an error says of a missing attribute of a class or a value of it.

    >>> lacking("Set", "foreach_point")
    "a Set has no attribute 'foreach_point'; for isl's foreach_point there is: for p in s.points(): Set.points"
    """
    here = counterpart(kind, name)
    isl = f"; for isl's {name} there is: {here}" if here and not here.startswith("not here") else ""
    return f"a {kind} has no attribute {name!r}" + (isl or (f"; isl's {name} is {here}" if here else ""))


# ---- what makes a value, by isl's names of functions of the class


def maker(cls: type, name: str) -> Callable[..., Any] | None:
    """The function of a class that isl calls so, None where there is none.

    >>> from polyvolta.sets import Map, PwAff
    >>> print(Map.from_pw_aff(PwAff("{ S[i] -> [i // 2] }")))
    { S[i] -> [floor(i/2)] }
    """
    for kind, names, make in _MAKERS:
        if kind in ("", cls.__name__) and name in names.split():
            return partial(make, cls)
    return None


def _read(cls: Any, *context_and_text: Any) -> Any:  # noqa: ANN401 - any of the classes
    """The value that a text says; isl's context, before the text, means nothing here."""
    return cls(context_and_text[-1])


def _same(cls: Any, value: Any) -> Any:  # noqa: ANN401
    """The value itself, for isl's classes of one kind are one class here."""
    if not isinstance(value, cls):
        cls(value)  # says what is wrong with it
        raise TypeError(f"a {cls.__name__} is wanted, not {type(value).__name__}")
    return value


def _graph(cls: Any, f: Any) -> Any:  # noqa: ANN401
    return f.as_map()


def _without_range(cls: Any, s: Any) -> Any:  # noqa: ANN401
    return cls.from_domain_and_range(s, type(s)("{ [] }"))


def _without_domain(cls: Any, s: Any) -> Any:  # noqa: ANN401
    return cls.from_domain_and_range(type(s)("{ [] }"), s)


def _function(cls: Any, m: Any) -> Any:  # noqa: ANN401
    return m.as_pw_multi_aff()


def _alone(cls: Any, f: Any) -> Any:  # noqa: ANN401
    return cls.of(f)


_MAKERS = (
    ("", "read_from_str", _read),
    ("Set", "from_basic_set from_set from_union_set from_params", _same),
    ("Map", "from_basic_map from_map from_union_map", _same),
    ("Map", "from_multi_aff from_multi_pw_aff from_pw_aff from_pw_multi_aff", _graph),
    ("Map", "from_domain", _without_range),
    ("Map", "from_range", _without_domain),
    ("MultiPwAff", "from_multi_aff from_multi_pw_aff from_pw_multi_aff", _same),
    ("MultiPwAff", "from_map from_union_map", _function),
    ("MultiPwAff", "from_pw_aff", _alone),
)

CLASSES = (
    ("Context DEFAULT_CONTEXT", "values belong to no context, and take none"),
    ("dim_type", "dimensions are named or counted, as in s.project_out('j') or s.project_out(1)"),
    ("Val", "numbers are Python's int"),
    ("Point", "a point is a tuple of numbers"),
    ("Id MultiId", "names are texts"),
    ("Constraint Mat Vec LocalSpace", "rows are no part of the interface: s & Set(text)"),
    ("UnionPwAff UnionPwMultiAff MultiUnionPwAff", "a function is of one tuple: MultiPwAff; of several, a Map"),
    ("Schedule* ScheduleNode* Ast* Union*Flow UnionAccessInfo Flow AccessInfo", "see polyvolta.sched"),
    ("Printer", "str(x)"),
    ("make_zero_and_vars affs_from_space", "var('i') is an expression, PwAff a function"),
)
"""isl's classes and the like that are none here: names, and what is here."""


def of_module(name: str) -> str:
    """What an error says of a name that isl's module has; "" of one that it hasn't.

    >>> of_module("Val")
    "; isl's Val is not here: numbers are Python's int"
    """
    for patterns, here in CLASSES:
        if any(fnmatchcase(name, p) for p in patterns.split()):
            return f"; isl's {name} is not here: {here}"
    return ""
