"""isl's quasi-polynomials of several tuples, `polyvolta.isl.UnionPwQPolynomial`, whose space is that of the parameters.

They are a `PwQPolynomial`, have its methods, and are equal to one of the same pieces; what the methods give that is one
is a union, but what `ONE` lists.

>>> from polyvolta.isl import PwQPolynomial, UnionPwQPolynomial
>>> f = UnionPwQPolynomial("[n] -> { S[i] -> n * i : 0 <= i < n }")
>>> f.get_space().is_params(), (f + f).get_space().is_params(), f == PwQPolynomial(str(f))
(True, True, True)
>>> f.get_pw_qpolynomial_list()
[PwQPolynomial('[n] -> { S[i] -> i * n : 0 <= i < n }')]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ...counting.quasipoly import PwQPolynomial
from ...errors import SpaceMismatch, kind_of
from ...values.named import Named
from ...values.space import PARAMS, Space

ONE = frozenset(["extract_pw_qpolynomial"])
"""Methods that give what is in one space."""


def united(value: Any) -> Any:  # noqa: ANN401
    """A quasi-polynomial by pieces as a union; any other value as it is."""
    if not isinstance(value, PwQPolynomial) or isinstance(value, UnionPwQPolynomial):
        return value
    return UnionPwQPolynomial(value.param_names, value.pieces, value.home)


class Unions(Named):
    """The type of the class: what isl's names give that are looked up on it is a union."""

    def __getattr__(cls, name: str) -> Any:  # noqa: ANN401
        found: Callable[..., Any] = super().__getattr__(name)  # type: ignore[misc]
        if name in ONE:
            return found

        @wraps(found)
        def call(*args: Any, **named: Any) -> Any:  # noqa: ANN401
            return united(found(*args, **named))

        return call


class UnionPwQPolynomial(PwQPolynomial, metaclass=Unions):
    """A quasi-polynomial on pieces of any tuples, isl's union; see `PwQPolynomial`, and the module."""

    __slots__ = ()
    _of_isl = True

    def __init__(self, param_names: Any, pieces: Any = None, home: Space | None = None) -> None:
        """From parameters and pieces, from a text in isl's notation, or from a `PwQPolynomial`, alone."""
        given: Any = param_names
        if isinstance(given, PwQPolynomial) and pieces is None:
            super().__init__(given.param_names, given.pieces, given.home)
        else:
            super().__init__(param_names, pieces, home)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.param_names, self.pieces, self.home)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def get_space(self) -> Space:
        """The space of the parameters, of however many tuples it is."""
        return Space(None, PARAMS, self.param_names)

    def has_equal_space(self, other: Any) -> bool:  # noqa: ANN401
        """Whether both have the same parameters in the same order.

        Raises
        ------
        SpaceMismatch : the other is of another kind.
        """
        if not isinstance(other, PwQPolynomial):
            raise SpaceMismatch(f"a UnionPwQPolynomial is needed, not {kind_of(other)}", where=str(other))
        return self.param_names == other.param_names

    def of_one(self) -> PwQPolynomial:
        """The same as what is of one tuple."""
        return PwQPolynomial(self.param_names, self.pieces, self.home)
