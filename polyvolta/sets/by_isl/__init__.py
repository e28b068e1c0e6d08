"""isl's names of what has another name here, or is an operator; `text.of_isl` looks them up where one is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

MODULES = ("dimensions.by_kind", "dimensions.strides", "objects.spaces", "objects.structure", "objects.on_spaces",
           "objects.members", "objects.vectors", "objects.matrices", "relations", "functions.methods", "constraints",
           "expressions", "functions.quotients", "binding", "lifting", "functions.fractions",
           "functions.unions", "vertices", "approximations", "made", "functions.made", "functions.union_parts",
           "polynomials.on_spaces", "polynomials.pieces", "polynomials.piecewise", "polynomials.folds",
           "polynomials.unions", "polynomials.bounding")  # fmt: skip


def methods() -> Iterator[tuple[str, str, Callable[..., Any]]]:
    """Classes, isl's names, and the method, of all modules here."""
    for name in MODULES:
        yield from import_module(f"{__name__}.{name}").METHODS
