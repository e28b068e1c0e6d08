"""Sizes given by name: those that a graph's products have, each a number."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import TYPE_CHECKING

from polyvolta.sets import PolyvoltaError, nearest

if TYPE_CHECKING:
    from polyvolta.compiler.needs import Needs, Work


class BadSizes(PolyvoltaError, TypeError):
    """Sizes that are to be weighed: one is missing, unknown, or no int from 0 on."""

    id = "PV406"


def work_of(needs: Needs, sizes: Mapping[str, int]) -> Work:
    """What is to be multiplied at given sizes.

    Raises
    ------
    BadSizes : says which size is missing, unknown or no number.

    >>> from polyvolta.compiler.needs import Needs
    >>> work_of(Needs(extents=(("M", "N", 64),)), {"M": 8, "N": 16})
    Work(rows=8, cols=16, depths=(64,))
    """
    names = needs.unknown
    for name, value in sizes.items():
        if name not in names:
            raise BadSizes(f"products have no size {name!r}", hint=nearest(name, names) if names else "")
        try:
            right = not isinstance(value, bool) and index(value) >= 0
        except TypeError:
            right = False
        if not right:
            raise BadSizes(f"the size {name} is an int, at least 0, not {value!r}")
    if missing := [name for name in names if name not in sizes]:
        lack = f"the size {missing[0]} is" if len(missing) == 1 else f"the sizes {', '.join(missing)} are"
        raise BadSizes(f"{lack} missing", hint=f"sizes are {', '.join(names)}")
    found = needs.work({name: index(value) for name, value in sizes.items()})
    assert found is not None  # nothing is missing
    return found
