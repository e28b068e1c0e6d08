"""isl's quasi-polynomials and folds of several tuples, `polyvolta.isl.UnionPwQPolynomial` and `UnionPwQPolynomialFold`,
whose space is that of the parameters.

They are a `PwQPolynomial` or a `PwQPolynomialFold`, have its methods, and are equal to one of the same pieces; what the
methods give that is one is a union, but what `ONE` lists. Any tuple may lack a counterpart: where there is none they
have no piece, and are 0.

>>> from polyvolta.isl import PwQPolynomial, UnionPwQPolynomial, UnionSet
>>> f = UnionPwQPolynomial("[n] -> { S[i] -> n * i : 0 <= i < n }")
>>> f.get_space().is_params(), (f + f).get_space().is_params(), f == PwQPolynomial(str(f))
(True, True, True)
>>> f.get_pw_qpolynomial_list()
[PwQPolynomial('[n] -> { S[i] -> i * n : 0 <= i < n }')]
>>> print(f.intersect_domain(UnionSet("{ T[i] }")), f.intersect_domain(UnionSet("[n] -> { : n > 9 }")))
[n] -> { } [n] -> { S[i] -> i * n : n >= 10 and 0 <= i < n }
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ...counting.quasipoly import PwQPolynomial
from ...errors import SpaceMismatch, kind_of
from ...values.named import Named
from ...values.space import PARAMS, Space
from .folds import PwQPolynomialFold

ONE = frozenset(["extract_pw_qpolynomial", "extract_pw_qpolynomial_fold"])
"""Methods that give what is in one space."""


def united(value: Any) -> Any:  # noqa: ANN401
    """A quasi-polynomial or a fold by pieces as a union; any other value as it is."""
    if not isinstance(value, (PwQPolynomial, PwQPolynomialFold)) or value._is_union:
        return value
    return UnionPwQPolynomial(value) if isinstance(value, PwQPolynomial) else UnionPwQPolynomialFold(value)


class Unions(Named):
    """The type of the classes: what isl's names give that are looked up on one is a union."""

    def __getattr__(cls, name: str) -> Any:  # noqa: ANN401
        found: Callable[..., Any] = super().__getattr__(name)  # type: ignore[misc]
        if name in ONE:
            return found

        @wraps(found)
        def call(*args: Any, **named: Any) -> Any:  # noqa: ANN401
            return united(found(*args, **named))

        return call


class _Union:
    """What the two share."""

    __slots__ = ()
    _is_union = _of_isl = True
    _one: Any  # the class of what is of one tuple
    param_names: tuple[str, ...]
    pieces: Any

    def __str__(self) -> str:
        if self.pieces:
            return str(PwQPolynomial.__str__(self))  # type: ignore[arg-type]
        return f"[{', '.join(self.param_names)}] -> {{ }}" if self.param_names else "{ }"

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
        if not isinstance(other, self._one):
            raise SpaceMismatch(f"a {type(self).__name__} is needed, not {kind_of(other)}", where=str(other))
        return bool(self.param_names == other.param_names)


class UnionPwQPolynomial(_Union, PwQPolynomial, metaclass=Unions):
    """A quasi-polynomial on pieces of any tuples, isl's union; see `PwQPolynomial`, and the module."""

    __slots__ = ()
    _one = PwQPolynomial

    def __init__(self, param_names: Any, pieces: Any = None, home: Space | None = None) -> None:
        """From parameters and pieces, from a text in isl's notation, or from a `PwQPolynomial`, alone."""
        given: Any = param_names
        if isinstance(given, PwQPolynomial) and pieces is None:
            super().__init__(given.param_names, given.pieces)
        else:
            super().__init__(param_names, pieces)
            if not self.pieces:  # a text of 0 may say of which tuple, of which a union knows nothing
                self.home = None

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.param_names, self.pieces)

    def of_one(self) -> PwQPolynomial:
        """The same as what is of one tuple."""
        return PwQPolynomial(self.param_names, self.pieces, self.home)


class UnionPwQPolynomialFold(_Union, PwQPolynomialFold, metaclass=Unions):
    """A fold of polynomials on pieces of any tuples, isl's union; see `PwQPolynomialFold`, and the module."""

    __slots__ = ()
    _one = PwQPolynomialFold

    def __init__(self, text: Any) -> None:  # noqa: ANN401
        """From a text in isl's notation, or from a `PwQPolynomialFold`."""
        if isinstance(text, PwQPolynomialFold):
            self._fill(text.kind, text.param_names, text.pieces, None)
        else:
            super().__init__(text)

    def _fill(self, kind: Any, params: Any, pieces: Any, home: Space | None) -> None:  # noqa: ANN401, ARG002
        super()._fill(kind, params, pieces, None)  # of one without pieces there is no tuple

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).of, (self.kind, self.param_names, self.pieces)

    def of_one(self) -> PwQPolynomialFold:
        """The same as what is of one tuple."""
        return PwQPolynomialFold.of(self.kind, self.param_names, self.pieces, self.home)


METHODS: tuple[tuple[str, str, Any], ...] = (
    ("PwQPolynomial", "to_union_pw_qpolynomial", united),
    ("PwQPolynomialFold", "to_union_pw_qpolynomial_fold", united),
)
"""Classes, isl's names, and the method."""
