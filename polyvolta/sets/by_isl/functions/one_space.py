"""Functions of one space each, whose values may be fractions: what is made of two, for those of several tuples.

A `MultiFunction` knows points by its values' domains, so functions to tuples of nothing are a `MultiPwAff` each.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

from ...functions.members import MultiFunction
from ...functions.rational import beside, lifted
from ...text.union_functions import named
from ...values.space import Space, Tuple


def several(f: Any) -> Any:  # noqa: ANN401
    """A function to a tuple as one whose values may be fractions; without values it is a domain alone, and remains."""
    return MultiFunction(f.space, f) if len(f) else f


def product(f: Any, g: Any, name: str) -> Any:  # noqa: ANN401
    """The product of this name of two functions; one without values is its domain, which the other one takes over."""
    if not len(f) and len(g):
        f, g = MultiFunction(f.space, ()), g.intersect_domain(f.domain())
    elif not len(g):
        f = f.intersect_domain(g.domain())
    return getattr(several(f) if len(f) else f, name)(g)


def after(f: Any, g: Any) -> Any:  # noqa: ANN401
    """The values of the second function at those of the first; without values it is known at integers alone."""
    if len(g):
        return several(g).pullback(f)
    return f.as_map().apply_range(g.as_map()).as_multi_pw_aff()


def as_one(given: list[Any]) -> Any:  # noqa: ANN401
    """Functions of one space without a common point as one."""
    first, *others = given
    if not others:
        return first
    if not len(first):
        return reduce(lambda a, b: a | b, [f.as_map() for f in given]).as_multi_pw_aff()
    return MultiFunction.of(first.space, [beside([lifted(f[k]) for f in given]) for k in range(len(first))])


def union_sum(given: list[Any]) -> Any:  # noqa: ANN401
    """The sum of two functions of one space where both have values, elsewhere those of one; or one function."""
    if len(given) == 1:
        return given[0]
    f, g = given
    return as_one([f + g, f.subtract_domain(g.domain()), g.subtract_domain(f.domain())])


def side_by_side(out: Tuple, members: Iterable[list[Any]]) -> list[Any]:
    """The functions with some values in a tuple, of the inputs that all have a value for."""
    tables = [{f.inp.key: f for f in found} for found in members]
    out = named(out, tuple([f"o{k}" for k in range(len(tables))]))
    return [
        MultiFunction(Space(f.space.inp, out), [table[key][0] for table in tables])
        for key, f in tables[0].items()
        if all(key in table for table in tables)
    ]
