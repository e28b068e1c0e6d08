"""The spaces of polynomials: the dimensions are inputs, and the value is the one output."""

from __future__ import annotations

from typing import Any

from ...errors import UnknownName
from ...values import kinds
from ...values.space import Space, Tuple, fresh

IN = kinds.dim_type.in_


def valued(home: Tuple, params: tuple[str, ...]) -> Space:
    """The space of the functions with one value at the points of a tuple."""
    return Space(home, Tuple(None, (fresh("o0", {*home.dims, *params}),)), params)


def place(self: Any) -> str:  # noqa: ANN401
    """The text of the tuple of a polynomial on a space, and an arrow; "" of parameters alone."""
    home = self.space.source
    return f"{home} -> " if home.dims or home.name is not None or home.inner is not None else ""


def of_kind(self: Any, kind: Any) -> Any:  # noqa: ANN401
    """The kind of dimensions of what a polynomial is of: parameters, or inputs.

    Raises
    ------
    UnknownName : it is another.
    """
    if getattr(kind, "name", None) not in ("param", "in_"):
        raise UnknownName("a polynomial is of parameters and inputs", where=str(self), hint="dim_type.in_")
    return kinds.dim_type[kind.name]
