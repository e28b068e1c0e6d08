"""What the fields of a target, an instruction and a composition must be, as data; `settle` holds a record to it.

A `Rule` has words and an example for people, a predicate, and what is made of a value first (a list a tuple). A
record's class lists the rules of its fields, and its `__post_init__` calls `settle`: what is no record of that kind is
refused where it is written, by the field's name, and who reads records need not ask again. What only maps together can
tell, such as whether each element has one owner, is asked when a target is registered (`Target.check`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.sets import Aff


class BadTarget(CudaError, ValueError):
    """A target, or an instruction of one, that no kernel could be made for: says what is wrong with it."""

    id = "PV519"


def _same(value: object) -> object:
    return value


def _tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class Rule:
    """What a field must be.

    Parameters
    ----------
    words : what it must be, for people.
    example : of one, as it is written.
    fits : whether a value is that.
    tidy : what is made of a value first.
    """

    words: str
    example: str
    fits: Callable[[Any], bool]
    tidy: Callable[[Any], object] = _same


def settle(record: object, rules: Mapping[str, Rule], wrong: type[CudaError]) -> None:
    """Put tidied values into a frozen record's fields.

    Raises
    ------
    wrong : a value isn't what its rule wants; the hint has the rule's words.
    """
    for name, rule in rules.items():
        value = rule.tidy(getattr(record, name))
        if not rule.fits(value):
            where, hint = f"{type(record).__name__}({name}={value!r})", f"for example {name}={rule.example}"
            raise wrong(f"{name} is {value!r}, no {rule.words}", where=where, hint=hint)
        object.__setattr__(record, name, value)


def whole(least: int) -> Callable[[object], bool]:
    """Whether a value is an int, no bool, of at least so much.

    >>> [whole(1)(v) for v in (1, 0, True, 1.0, None)]
    [True, False, False, False, False]
    """
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def of(kind: type, words: str, example: str) -> Rule:
    """A value of that class."""
    return Rule(words, example, lambda value: isinstance(value, kind))


def each(words: str, example: str, fits: Callable[[object], bool], count: int | None = None) -> Rule:
    """A tuple (or list) of which each item fits, of so many items if a count is given.

    >>> rule = each("three positive ints", "(1, 2, 3)", whole(1), 3)
    >>> rule.fits((1, 2, 3)), rule.fits((1, 2)), rule.tidy([1, 2, 3])
    (True, False, (1, 2, 3))
    """

    def fit(value: object) -> bool:
        return isinstance(value, tuple) and count in (None, len(value)) and all(map(fits, value))

    return Rule(words, example, fit, _tuple)


def every(kind: type, example: str) -> Rule:
    """A tuple (or list) of records of that class; one alone is none."""
    example += ", with the comma that makes one a tuple"
    return each(f"tuple of {kind.__name__}s", example, lambda value: isinstance(value, kind))


def spelled(words: str, example: str, pattern: str) -> Rule:
    """A text that a regular expression matches as a whole."""
    return Rule(words, example, lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None)


COUNT = Rule("positive int", "32", whole(1))
SIZES = each("three positive ints", "(16, 8, 16)", whole(1), 3)


def function(
    own: IndexMap, inputs: tuple[tuple[str, int | None], ...], outputs: tuple[str, ...], what: str
) -> IndexMap:
    """An index map with its outputs in a given order, told apart by their names.

    Parameters
    ----------
    inputs : (name, extent) of each, in order; None for any extent.
    what : it is, for the error.

    Raises
    ------
    BadTarget : inputs or outputs are others, or an expression asks for something that is no input.
    """
    if not _paired(own.inputs, int) or not _paired(own.outputs, Aff):
        raise BadTarget(
            f"{what} is no index map: its inputs are (name, extent), its outputs (name, expression)",
            hint="owned(values, ...) makes one",
        )
    wanted = " and ".join(name if size is None else f"{name} < {size}" for name, size in inputs)
    names = tuple(name for name, _ in own.inputs)
    fit = names == tuple(name for name, _ in inputs)
    if not fit or any(size not in (None, extent) for (_, size), (_, extent) in zip(inputs, own.inputs)):
        raise BadTarget(f"{what} is no function of {wanted}", where=str(own), hint="owned(values, ...) makes one")
    given = tuple(name for name, _ in own.outputs)
    if sorted(given) != sorted(outputs):
        raise BadTarget(
            f"{what} leads to {' and '.join(given) or 'nothing'}, not to {' and '.join(outputs)}", where=str(own),
            hint=f"name its outputs: owned(values, {', '.join(f'{name}=...' for name in outputs)}), in any order",
        )  # fmt: skip
    known_names(own.exprs, names, what)
    return IndexMap(own.inputs, tuple((name, own[name]) for name in outputs))


def _paired(part: object, kind: type) -> bool:
    """Whether something is a tuple of pairs of a name and a value of that class."""
    return isinstance(part, tuple) and all(
        isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) and isinstance(pair[1], kind)
        for pair in part
    )


def known_names(exprs: Iterable[Aff], names: tuple[str, ...], what: str) -> None:
    """Refuse expressions in other names than the given.

    Raises
    ------
    BadTarget : says which name.
    """
    for e in exprs:
        for name in sorted(e.names() - set(names)):
            raise BadTarget(f"{what} depends on {name}, which is none of its inputs", where=str(e),
                            hint=f"its inputs are {' and '.join(names)}")  # fmt: skip
