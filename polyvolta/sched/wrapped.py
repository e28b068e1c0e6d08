"""Statements whose instances are pairs, such as PPCG's copies `read[[c] -> A[x]]`.

A tree knows a statement by its name, and `read` may be several: of A and of B. So while it is in a tree a wrapped tuple
is called by all that it wraps, `read[A -> s]`, and in texts by its own name.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TypeVar

from polyvolta.sets import Map, Set, Space, Tuple

R = TypeVar("R", Set, Map)


def labelled(some: R) -> R:
    """A relation from a text, its wrapped statements called by their labels."""
    return _called(some, lambda t: replace(t, name=t.label) if t.inner is not None else t)


def plain(some: R) -> R:
    """A relation of a tree as a text has it."""
    return _called(some, plain_tuple)


def plain_tuple(t: Tuple) -> Tuple:
    """A statement's tuple as a text has it."""
    if t.inner is None or t.name is None or "[" not in t.name:
        return t
    return replace(t, name=t.name.partition("[")[0] or None)


def word(label: str) -> str:
    """A statement's name in code.

    >>> word("S"), word("read[A -> s]"), word("[S -> T]")
    ('S', 'read', 'S_T')
    """
    return label.partition("[")[0] or re.sub(r"\W+", "_", label).strip("_")


def _called(some: R, change) -> R:  # noqa: ANN001
    if all(t is None or t.inner is None for s, _ in some.parts for t in (s.inp, s.out)):
        return some
    parts = [(Space(s.inp and change(s.inp), change(s.out)), cs) for s, cs in some.parts]
    return some._of(some.param_names, parts)
