"""Polynomials at the points of a set: see `counting.known`; and floors that have one expression there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...counting.known import simplified
from ...counting.quasipoly import QPolynomial
from ...values.aff import Aff, Floor
from ...values.simplify import simplify
from ...values.space import Space, Tuple

if TYPE_CHECKING:
    from ...values.set import Set


def simpler(value: Any, points: Set) -> Any:  # noqa: ANN401
    """A polynomial, or what maps several, with the same values at the points of a set that is not empty.

    >>> from polyvolta.sets import PwQPolynomial, Set
    >>> [(_, q)] = PwQPolynomial("{ [i] -> floor(i/2) * i + floor(i/9) }").pieces
    >>> print(simpler(q, Set("{ [i] : i mod 2 = 1 and 0 <= i < 8 }")))
    -1/2 * i + 1/2 * i^2
    """
    if not isinstance(value, QPolynomial):
        return value.each(lambda q: simpler(q, points))
    value = simplified(value, points)
    for floor in {a for m in value._terms for a, _ in m if isinstance(a, Floor)}:
        flat = Space(None, Tuple(None, (*points.param_names, *points.dims())))
        short = simplify(Aff(((floor, 1),)), points._of((), [(flat, points.parts[0][1])]))
        if not any(isinstance(a, Floor) for a, _ in short.terms):
            value = with_atom(value, floor, QPolynomial.of(short))
    return value


def with_atom(q: QPolynomial, atom: Any, value: QPolynomial) -> QPolynomial:  # noqa: ANN401
    """The polynomial with another one in place of a floor; a floor that it stands in stays."""
    out = QPolynomial({})
    for m, c in q._terms.items():
        power = dict(m).get(atom, 0)
        term = QPolynomial({m - {(atom, power)}: c})
        for _ in range(power):
            term = term * value
        out = out + term
    return out
