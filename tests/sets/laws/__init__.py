"""The laws of the set core: every operation compared with truth tables on random inputs.

A *family* draws an input, one or several random sets or maps; its *laws* each apply one operation to that input and
compare the result with the truth table at every point of the window, for all parameter values of the window. One law
on one input is one *case*. The same registry serves the tests (`test_laws`, by hypothesis) and the campaign
(`python -m tests.sets.campaign`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules

import numpy as np

from polyvolta.sets import Map, Set
from tests.sets.draw import Case, Source, case
from tests.sets.tables import function_table, table

LENGTH = 200  # bytes that an input is decoded from; what it needs beyond them is the simplest


@dataclass(frozen=True)
class One:
    """A drawn relation as the library reads it, `r`, and its truth table, `t`."""

    r: Set | Map
    t: np.ndarray
    text: str

    def __repr__(self):
        return self.text


@dataclass(frozen=True)
class Family:
    """Laws over inputs of one kind; `weight` is its share of the inputs that the tests draw (costly ones: less)."""

    name: str
    draw: Callable[[Source], tuple]
    weight: float
    laws: dict[str, Callable] = field(default_factory=dict)

    def law(self, f):
        """Register a law; its name says the operation."""
        self.laws[f.__name__.rstrip("_").replace("_", " ")] = f
        return f


FAMILIES: dict[str, Family] = {}


def family(name, *shapes, weight=1):
    """A family whose input is one relation for each shape: keywords of `draw.case`, or a function of a Source."""

    def draw(source):
        return tuple(s(source) if callable(s) else one(source, **s) for s in shapes)

    FAMILIES[name] = Family(name, draw, weight)
    return FAMILIES[name]


def one(source, **shape):
    """A relation of a shape, read by the library."""
    return read(case(source, **shape), Map if shape.get("inputs") else Set)


def read(c: Case, kind=Set):
    """The relation that the library reads from a drawn text."""
    return One(kind(c.text), c.truth, c.text)


def same(relation, expected):
    """Check a relation against a truth table."""
    found = table(relation)
    good = not expected.any() if found is None else found.shape == expected.shape and (found == expected).all()
    assert good, f"wrong points: {relation}"


def same_function(f, where, values):
    """Check a piecewise function: its domain, and its values there."""
    found, at = function_table(f)
    assert found.shape == where.shape and (found == where).all(), f"wrong domain: {f}"
    assert (at == values)[where].all(), f"wrong values: {f}"


def equal(found, expected):
    """Check an answer."""
    assert found == expected, f"{found!r} instead of {expected!r}"


def load():
    """All families, by name."""
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return FAMILIES
