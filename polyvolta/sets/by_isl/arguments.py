"""What an error says where an argument of one of isl's names is of another kind than its function is for.

The functions here compute at once, and Python's own errors come from inside of them where an argument is nothing that
they know. Then the annotations of the function tell whether an argument is to blame: the error is one of ours, which
says which kind is needed. An error of ours stands, and one of Python's where all arguments are right, ours to mend or
raised by what a user had called.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar

from ..errors import SHOWN, PolyvoltaError, SpaceMismatch, kind_of, one
from ..values.kinds import is_kind
from ..values.space import whole
from .keywords import placed

OF_PYTHON: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "int": ("an integer", lambda x: whole(x) is not None),
    "str": ("a text", lambda x: isinstance(x, str)),
    "None": ("None", lambda x: x is None),
    "Callable": ("a function", callable),
    "Iterable": ("several values", lambda x: isinstance(x, Iterable)),
    "Sequence": ("several values", lambda x: isinstance(x, Sequence)),
    "Mapping": ("a dict", lambda x: isinstance(x, Mapping)),
    "kind": ("a dim_type", is_kind),
}
"""What a function says of its arguments that is no class of ours: in words, and what is one."""


def checked(kind: str, name: str, f: Any, classes: frozenset[str]) -> Any:  # noqa: ANN401 - a property is none
    """The function behind one of isl's names of a class; see the module. `classes` are what an annotation may name.

    >>> def repeated(self, times: int): return [self] * times
    >>> checked("str", "repeated", repeated, frozenset(["str"]))("x", None)
    Traceback (most recent call last):
        ...
    polyvolta.sets.errors.SpaceMismatch: [PV102] str.repeated needs an integer for times, not None
    """
    if not inspect.isfunction(f):
        return f

    @wraps(f)
    def method(*args: Any, **named: Any) -> Any:  # noqa: ANN401
        found = placed(f, args, named, name) if named else None
        if found is not None:
            args, named = found, {}
        try:
            return f(*args, **named)
        except PolyvoltaError:
            raise
        except Exception as error:
            alone = args and isinstance(args[0], list)  # lists have one class for all
            of = type(args[0]).__name__ if alone else SHOWN.get(kind, kind)
            for wrong in _wrong(kind, f, classes, args, named):
                raise SpaceMismatch(f"{of}.{name} needs {wrong}") from error
            raise

    return method


C = TypeVar("C", bound=type)
OF_SETS = frozenset("Aff Map MultiPwAff MultiVal Point PwAff Set Space Val".split())
"""What annotations of objects of sets may name, beside Python's own, for an argument of another kind to be named."""
_done: set[Callable[..., Any]] = set()


def checks_arguments(cls: C, home: str = "polyvolta.sets.by_isl", classes: frozenset[str] = OF_SETS) -> C:
    """The class, whose public methods, and those of its bases at `home`, say which argument is of another kind.

    They say so where Python's own error would come from inside of them; see the module.

    >>> from polyvolta.isl import ValList
    >>> ValList("(1, 2)").foreach("x")
    Traceback (most recent call last):
        ...
    polyvolta.sets.errors.SpaceMismatch: [PV102] ValList.foreach needs a function for f, not a str
    """
    for owner in cls.__mro__:
        if not owner.__module__.startswith(home):
            continue
        for name, value in list(vars(owner).items()):
            bound = isinstance(value, (classmethod, staticmethod))
            f = value.__func__ if bound else value
            if inspect.isfunction(f) and not name.startswith("_") and f not in _done:
                made = checked(cls.__name__, name, f, classes)
                _done.add(made)
                setattr(owner, name, type(value)(made) if bound else made)
    return cls


def _wrong(
    kind: str, f: Any, classes: frozenset[str], args: tuple[Any, ...], named: Mapping[str, Any]
) -> Iterator[str]:
    """Of each argument that is of another kind than needed what is, and what it is."""
    for k, p in enumerate(inspect.signature(f).parameters.values()):
        if p.kind is p.VAR_POSITIONAL or p.kind is p.VAR_KEYWORD or (k >= len(args) and p.name not in named):
            continue
        value = args[k] if k < len(args) else named[p.name]
        of_class = k == 0 and p.name == "self"
        needed = [kind if of_class else "kind" if p.name == "kind" else part.partition("[")[0].strip()
                  for part in str(p.annotation).split("|")]  # fmt: skip
        if not all(word in classes or word in OF_PYTHON for word in needed):
            continue
        if not any(_is_one(value, word) for word in needed):
            words = " or ".join([OF_PYTHON[w][0] if w in OF_PYTHON else one(w) for w in dict.fromkeys(needed)])
            yield f"{words}{'' if of_class else f' for {p.name}'}, not {kind_of(value)}"


def _is_one(value: object, word: str) -> bool:
    if word in OF_PYTHON:
        return OF_PYTHON[word][1](value)
    return word in [c.__name__ for c in type(value).__mro__]
