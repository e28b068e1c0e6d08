"""Statements whose instances are pairs, such as PPCG's copies `read[[c] -> A[x]]`.

A tree knows a statement by its name, and `read` may be several: of A and of B. So while it is in a tree a wrapped tuple
is called by all that it wraps, `read[A -> s]`, and in texts by its own name. The only statement of a tree may have no
name; it is called "" there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from polyvolta.sched.errors import BadSchedule
from polyvolta.sets import Map, Set, Space, Tuple

R = TypeVar("R", Set, Map)


def labelled(some: R, inputs: bool = True, outputs: bool = True) -> R:
    """A relation as a tree has it, its wrapped statements called by their labels; one of a tree is as it is.

    Tuples without a name are called "" where the inputs, or the outputs, are instances.
    """

    def label(t: Tuple, instances: bool) -> Tuple:
        if t.inner is not None:
            return replace(t, name=plain_tuple(t).label)
        return replace(t, name="") if instances and t.name is None and not t.of_params else t

    return _called(some, lambda t: label(t, inputs), lambda t: label(t, outputs))


def statements(instances: Set) -> Set:
    """Instances as a tree has them, each of a statement with a name of its own.

    Raises
    ------
    BadSchedule : one of several tuples has no name, or two have one.
    """
    instances, names = labelled(instances), set[str | None]()
    for space, _ in instances.parts if isinstance(instances, Set) else ():
        name = space.out.name
        if not name and len(instances.parts) > 1:
            raise no_name(space.out)
        if name in names:
            raise BadSchedule(f"a second statement is called {name}", where=str(plain(instances)))
        names.add(name)
    return instances


def no_name(t: Tuple) -> BadSchedule:
    """What is wrong with a statement without a name beside others."""
    return BadSchedule(f"the tuple {plain_tuple(t)} has no name", hint="a statement is written S[i, j]")


def called_nothing(times: Map) -> Map:
    """The times of instances, whose only statement is called "", as in a tree, where it has no name."""
    if len({space.source.key for space, _ in times.parts}) != 1 or times.parts[0][0].source.label:
        return times
    parts = [(Space(replace(s.source, name=""), s.out), cs) for s, cs in times.parts]
    return times._of(times.param_names, parts)


def plain(some: R) -> R:
    """A relation of a tree as texts and users have it."""
    return _called(some, plain_tuple, plain_tuple)


def plain_tuple(t: Tuple) -> Tuple:
    """A statement's tuple as texts and users have it."""
    if t.name == "":
        return replace(t, name=None)
    if t.inner is None or t.name is None or "[" not in t.name:
        return t
    return replace(t, name=t.name.partition("[")[0] or None)


def word(label: str) -> str:
    """A statement's name in code.

    >>> word("S"), word("read[A -> s]"), word("[S -> T]")
    ('S', 'read', 'S_T')
    """
    return label.partition("[")[0] or re.sub(r"\W+", "_", label).strip("_")


def _called(some: R, first: Callable[[Tuple], Tuple], second: Callable[[Tuple], Tuple]) -> R:
    """A relation whose inputs and outputs, or whose points, are called otherwise."""
    if not isinstance(some, Set | Map):
        return some  # who takes it says what it should have been
    found = [(s, Space(s.inp and first(s.inp), second(s.out)), cs) for s, cs in some.parts]
    if all(new.inp is s.inp and new.out is s.out for s, new, _ in found):
        return some
    return some._of(some.param_names, [(new, cs) for _, new, cs in found])
