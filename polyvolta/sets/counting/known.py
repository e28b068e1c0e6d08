"""Polynomials where equalities hold: names that others determine are written out, and floors that round nothing.

At n = 2m the polynomial n + floor(n/2) is 3m, and where n is even floor(n/2) is 1/2 * n.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING

from ..values.aff import Aff, Floor, var
from ..values.build import RowBuilder
from .overlay import Piece
from .quasipoly import QPolynomial, has_equality

if TYPE_CHECKING:
    from ..values.set import Set

Sum = dict[str, Fraction]  # of names with coefficients; the number by the name ""


def simplified(q: QPolynomial, here: Set) -> QPolynomial:
    """The polynomial with what the affine hull of a set says; the same values at its points.

    Of the names of an equality the last is written out, parameters before dimensions.

    >>> from polyvolta.sets import Set, var
    >>> n, m = QPolynomial.of(var("n")), QPolynomial.of(var("m"))
    >>> print(simplified(n * m + 1, Set("[n, m] -> { : 3m = 2n and n > 4 }")))
    1 + 2/3 * n^2
    >>> print(simplified(QPolynomial.of(var("n") // 2), Set("[n] -> { : n mod 4 = 3 }")))
    -1/2 + 1/2 * n
    """
    hull = here.affine_hull()
    if hull.is_empty() or not q:
        return q
    point = hull.sample_point()
    values = {**point.params, **dict(zip(hull.space.dims, point, strict=True))}  # type: ignore[attr-defined]
    exact = _Exact(hull, values)
    known = _solved(exact, (*hull.param_names, *hull.space.dims))
    found = QPolynomial({})
    for factors, c in q.terms:
        term = QPolynomial.of(c)
        for atom, power in factors:
            num, den = exact.written(Aff(((atom, 1),)), known)
            value = QPolynomial.of(num) * Fraction(1, den)
            for _ in range(power):
                term = term * value
        found = found + term
    return found


def settled(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Pieces whose polynomials, or what maps several by `each`, have only names that equalities of their sets leave.

    So two that are equal there are written alike, as isl's are; those that turn out to be 0 are gone. Only where each
    conjunct has an equality of a name in the polynomial is there anything to look for.
    """
    out = []
    for where, what in pieces:
        found = what
        names, cs = what.names(), where.parts[0][1]
        if cs and all(has_equality(where, c, names) for c in cs):
            found = what.each(lambda q: simplified(q, where)) if hasattr(what, "each") else simplified(what, where)  # noqa: B023
        if found or not what:
            out.append((where, found))
    return tuple(out)


class _Exact:
    """Expressions without rounding, where the points of a set leave one remainder.

    Parameters
    ----------
    hull : the set.
    values : one of its points, parameters and dimensions by name.
    """

    def __init__(self, hull: Set, values: Mapping[str, int]) -> None:
        self.hull, self.values = hull, values

    def sum(self, e: Aff) -> Sum | None:
        """An expression of names, floors written as quotients; None where one is rounded."""
        total: Sum = {"": Fraction(e.const)}
        for atom, c in e.terms:
            part = {atom: Fraction(1)} if isinstance(atom, str) else self.quotient(atom)
            if part is None:
                return None
            total = _plus(total, part, Fraction(c))
        return total

    def quotient(self, atom: object) -> Sum | None:
        """What a floor is."""
        if not isinstance(atom, Floor) or not atom.num.names() <= {*self.values}:
            return None
        rest = atom.num.evaluate(self.values) % atom.den
        total = self.sum(atom.num - rest)
        if total is None or not self.hull.is_subset(self.where((atom.num - rest) % atom.den)):
            return None
        return {n: v / atom.den for n, v in total.items()}

    def written(self, e: Aff, known: Mapping[str, Sum]) -> tuple[Aff, int]:
        """A numerator and a denominator of an expression, without the names that are known, in floors neither."""
        total, den = Aff((), e.const), 1
        for atom, c in e.terms:
            part = {atom: Fraction(1)} if isinstance(atom, str) else self.quotient(atom)
            if part is None:
                assert isinstance(atom, Floor)
                inner, below = self.written(atom.num, known)
                value, by = inner // (atom.den * below), 1
            else:
                value, by = _over_one(_written(part, known))
            total, den = total * by + value * (c * den), den * by
        return total, den

    def where(self, zero: Aff) -> Set:
        """The points of the set's space at which an expression is 0."""
        c = RowBuilder((*self.hull.param_names, *self.hull.space.dims)).conjunct([("eq", zero)])
        return self.hull._of(self.hull.param_names, [(self.hull.space, () if c is None else (c,))])


def _solved(exact: _Exact, order: Sequence[str]) -> dict[str, Sum]:
    """By name what it is in terms of others, of the equalities of the set."""
    from ..by_isl.constraints import short_constraints

    known: dict[str, Sum] = {}
    for c in short_constraints(exact.hull):
        total = exact.sum(c.expr) if c.equal else None
        total = _written(total or {}, known)
        names = [n for n in order if n in total]
        if not names:
            continue
        by = total.pop(names[-1])
        table = {names[-1]: {n: -v / by for n, v in total.items()}}
        known = {n: _written(e, table) for n, e in known.items()} | table
    return known


def _written(total: Sum, known: Mapping[str, Sum]) -> Sum:
    """A sum without the names that are known."""
    found: Sum = {}
    for name, v in total.items():
        found = _plus(found, known.get(name, {name: Fraction(1)}), v)
    return found


def _plus(a: Sum, b: Sum, times: Fraction) -> Sum:
    found = dict(a)
    for name, v in b.items():
        found[name] = found.get(name, Fraction(0)) + times * v
    return {n: v for n, v in found.items() if v}


def _over_one(total: Sum) -> tuple[Aff, int]:
    """A sum as a numerator and a denominator."""
    den = lcm(*[v.denominator for v in total.values()])
    terms = [(n, int(v * den)) for n, v in total.items() if n]
    return sum((var(n) * v for n, v in terms), Aff((), int(total.get("", 0) * den))), den
