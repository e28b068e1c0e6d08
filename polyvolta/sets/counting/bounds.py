"""The greatest values of a polynomial over the integer points of a set, as polynomials of what is kept: the parameters.

One dimension y after the other goes. What is left is a list of candidates, each a polynomial on some of the
parameters: none of the values is above all candidates there, and one that is `exact` is itself a value.

- A dimension that an equality says is an expression of the others is that.
- A floor of y is a dimension of its own, between the bounds that define it; what the polynomial doesn't mention is
  projected out. Few points without parameters are looked at one by one.
- Where the polynomial grows with y, or falls, its greatest value is at an end of y, the greatest or the least integer
  that the others leave it: exact. So it is at one of both ends where the polynomial is linear or convex in y.
- A concave parabola has its greatest value at the integer next to its vertex, or at an end that lies before.
- A dimension with a few values has each of them.
- Else it is between low and high at most the greatest of the coefficients of Bernstein's polynomials of degree d,
  p(low + s * (high - low)) = sum of b_k * C(d, k) * s^k * (1 - s)^(d - k) for 0 <= s <= 1, since these add up to 1. The
  first and the last are values, the others none as a rule (Clauss et al., "Symbolic polynomial maximization over convex
  sets and its application to memory requirement estimation", 2009, whose bounds isl has).
- Where y has no end it is infinite.

That it grows or is convex says the least value of a difference, a polynomial of less degree, which is found in the same
way, with the parameters as dimensions; so is that one candidate is never above another, which goes then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from math import comb, lcm
from typing import TYPE_CHECKING

from ..budgets import bounded, spend
from ..by_isl.objects.numbers import Number
from ..errors import BudgetExceeded, Unbounded
from ..operations.bounds import with_row
from ..optima.extent import is_bounded
from ..values.aff import Aff, Atom, Floor, linear, var
from ..values.space import Space, Tuple, fresh
from . import polynomial as pl
from .quasipoly import QPolynomial, number_of

if TYPE_CHECKING:
    from ..functions.pwaff import PwAff
    from ..values.set import Set

FEW = 1024  # points that are looked at one by one
VALUES = 8  # of a dimension, which are put in one by one
STEPS = 24  # dimensions, and floors of them, that go one after the other
PROOFS = 2  # how deep the question whether a polynomial is negative anywhere may ask again
PROOF = 2000  # steps of the budget for one such question
INFTY = Number(1, 0)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A polynomial on some parameters; `exact` if its value is one of those that are bounded."""

    where: Set
    value: QPolynomial
    exact: bool


def greatest(where: Set, value: QPolynomial, steps: int = STEPS, proofs: int = PROOFS) -> list[Candidate]:
    """The candidates for the greatest value of a polynomial over the points of a set, by its parameters.

    >>> from polyvolta.sets import PwQPolynomial, Set
    >>> [(where, p)] = PwQPolynomial("[n] -> { [i] -> n * i - i^2 : 0 <= i <= n }").pieces
    >>> for c in greatest(where, p):
    ...     print(c.where.params(), c.value, c.exact)
    [n] -> { : n >= 0 } n * floor((n + 1)/2) - floor((n + 1)/2)^2 True
    """
    found = []
    flat = where._of(where.param_names, [(Space(None, Tuple(None, where.dims())), where.parts[0][1])])
    for piece in flat.known_divs().pieces:
        if not piece.is_empty():
            found += list(_Search(piece, value, steps, proofs).candidates())
    return found


def never_negative(value: QPolynomial, where: Set, proofs: int = PROOFS) -> bool:
    """Whether a polynomial is seen to be at least 0 at all points of a set, for all parameters."""
    number = number_of(value)
    if number is not None:
        return number >= 0
    if proofs <= 0:
        return False
    names = (*where.param_names, *where.dims())
    flat = where._of((), [(Space(None, Tuple(None, names)), where.parts[0][1])])
    affine = _affine(value)
    if affine is not None:
        return with_row(flat, "ge", -1 - affine[0]).is_empty()
    if _by_signs(value, flat):
        return True
    try:
        found = bounded(PROOF, greatest, flat, -value, STEPS, proofs - 1)
    except BudgetExceeded:
        return False
    return all((most := number_of(c.value)) is not None and most <= 0 for c in found)


def _by_signs(value: QPolynomial, where: Set) -> bool:
    """Whether each term alone is at least 0 at all points, by the signs of what it is a product of.

    Costs at most two questions whether a set is empty for each name and floor.
    """
    signs: dict[Atom, int] = {}
    for m, c in value._terms.items():
        sign = 1 if c > 0 else -1
        for atom, exponent in m:
            if exponent % 2:
                if atom not in signs:
                    beyond = (with_row(where, "ge", linear({atom: -way}, -1)) for way in (1, -1))
                    signs[atom] = next((way for way, s in zip((1, -1), beyond, strict=True) if s.is_empty()), 0)
                sign *= signs[atom]
        if sign <= 0:
            return False
    return True


def _affine(value: QPolynomial) -> tuple[Aff, int] | None:
    """A polynomial as an expression over a positive number; None where it is none."""
    if any(sum(e for _, e in m) > 1 for m in value._terms) or isinstance(number_of(value), Number):
        return None
    den = lcm(*[c.denominator for c in value._terms.values()])
    terms: dict[Atom, int] = {a: int(c * den) for m, c in value._terms.items() for a, _ in m}
    return linear(terms, int(value._terms.get(frozenset(), 0) * den)), den


def _at(value: QPolynomial, name: str, e: Aff) -> QPolynomial:
    return value.subs({name: e})


class _Search:
    """The greatest values over one conjunct with points, by the dimension that goes first."""

    def __init__(self, where: Set, value: QPolynomial, steps: int, proofs: int) -> None:
        self.where, self.value = where, value
        self.steps, self.proofs = steps - 1, proofs
        self._ends: dict[tuple[str, int], list[tuple[Set, Aff]] | None] = {}

    def candidates(self) -> Iterator[Candidate]:
        """See `greatest`."""
        spend()
        dims = self.where.dims()
        if not dims or isinstance(number_of(self.value), Number):
            yield Candidate(self.where.params(), self.value, not isinstance(number_of(self.value), Number))
            return
        if self.steps < 0:
            yield Candidate(self.where.params(), QPolynomial.of(INFTY), False)
            return
        points = self._few()
        if points is not None:
            best = max(self.value.evaluate(dict(zip(dims, p, strict=True))) for p in points)
            yield Candidate(self.where.params(), QPolynomial.of(best), True)
            return
        if (equal := self._equal()) is not None:
            name, e = equal
            yield from greatest(self.where.project_out(name), _at(self.value, name, e), self.steps, self.proofs)
            return
        if self._floors():
            in_floors = {n for f in self._floors() for n in f.num.names()}
            if (few := self._values([d for d in dims if d in in_floors])) is not None:
                yield from self._at_values(*few)
                return
            yield from greatest(*self._without_floors(), self.steps, self.proofs)
            return
        unused = [d for d in dims if d not in self.value.names()]
        if unused:
            yield from greatest(self.where.project_out(*unused), self.value, self.steps, self.proofs)
            return
        yield from self._next()

    def _few(self) -> list[tuple[int, ...]] | None:
        """The points, if they are few and without parameters."""
        if self.where.param_names or not is_bounded(self.where):
            return None
        found = list(islice(self.where.points(), FEW + 1))
        return found if len(found) <= FEW else None

    def _values(self, dims: list[str]) -> tuple[str, range] | None:
        """One of some dimensions with a few values, whatever the parameters are, and these; None without any."""
        flat = self.where.move_dims(*self.where.param_names, to="out") if self.where.param_names else self.where
        found = []
        for d in dims:
            try:
                low, high = flat.min(d), flat.max(d)
            except Unbounded:
                continue
            assert isinstance(low, int) and isinstance(high, int)
            if high - low < VALUES:
                found.append((d, range(low, high + 1)))
        return min(found, key=lambda f: len(f[1]), default=None)

    def _at_values(self, name: str, values: range) -> Iterator[Candidate]:
        """The candidates at each value of a dimension."""
        for v in values:
            at = self.where.fix({name: v}).project_out(name)
            yield from greatest(at, _at(self.value, name, Aff((), v)), self.steps, self.proofs)

    def _equal(self) -> tuple[str, Aff] | None:
        """A dimension that an equality says is an expression of the others without floors, and this."""
        params = self.where.param_names
        names = (*params, *self.where.dims())
        for row in self.where.parts[0][1][0].eqs:
            unit = max((k for k, v in enumerate(row[: 1 + len(names)]) if abs(v) == 1), default=0)
            if unit > len(params) and not any(row[1 + len(names) :]):
                rest: dict[Atom, int] = {n: -v * row[unit] for n, v in zip(names, row[1:]) if v}
                del rest[names[unit - 1]]
                return names[unit - 1], linear(rest, -row[0] * row[unit])
        return None

    def _floors(self) -> list[Floor]:
        """The floors in the polynomial that are of dimensions."""
        dims = set(self.where.dims())
        atoms = {a for m in self.value._terms for a, _ in m if isinstance(a, Floor)}
        return sorted((a for a in atoms if dims & a.num.names()), key=lambda a: a.place)

    def _without_floors(self) -> tuple[Set, QPolynomial]:
        """A dimension in place of each floor, between its bounds."""
        where, terms = self.where, self.value._terms
        for floor in self._floors():
            name = fresh("q", {*where.param_names, *where.dims()})
            rest = floor.num - floor.den * var(name)
            where = where.add_dims(name)
            where = with_row(with_row(where, "ge", rest), "ge", floor.den - 1 - rest)
            terms = {frozenset((name if a == floor else a, e) for a, e in m): c for m, c in terms.items()}
        return where, QPolynomial(terms)

    # ---- the ends of a dimension

    def _end(self, name: str, sign: int) -> list[tuple[Set, Aff]] | None:
        """The greatest values of a dimension, or the least, on sets of the others; None where it has none."""
        if (name, sign) not in self._ends:
            others = [d for d in self.where.dims() if d != name]
            line = self.where.move_dims(*others, to="params") if others else self.where
            try:
                f: PwAff = line.dim_max(name) if sign > 0 else line.dim_min(name)
            except Unbounded:
                self._ends[name, sign] = None
            else:
                back = [(s.params(), e) for s, e in f.pieces]
                self._ends[name, sign] = [(s.move_dims(*others, to="out") if others else s, e) for s, e in back]
        return self._ends[name, sign]

    def _at_end(self, name: str, sign: int) -> Iterator[Candidate]:
        """The candidates where a dimension is at an end, or an infinite one without one."""
        ends = self._end(name, sign)
        if ends is None:
            yield Candidate(self.where.params(), QPolynomial.of(INFTY), False)
        for s, e in ends or ():
            yield from greatest(s, _at(self.value, name, e), self.steps, self.proofs)

    def _next(self) -> Iterator[Candidate]:
        """The candidates without some dimension, one by which they stay exact if there is any."""
        degree = {d: max(dict(m).get(d, 0) for m in self.value._terms) for d in self.where.dims()}
        slopes = {d: self._slope(d) for d in degree}
        numbers = {d: number_of(slopes[d]) for d in degree if degree[d] == 1}
        dims = sorted(degree, key=lambda d: (self._rounded(d), numbers.get(d) is None, degree[d]))
        for d in dims:
            number = numbers.get(d)
            if number is not None:
                yield from self._at_end(d, 1 if number > 0 else -1)
                return
            way = self._way(slopes[d])
            if way and self._end(d, way) is not None:
                yield from self._at_end(d, way)
                return
            closed = self._end(d, 1) is not None and self._end(d, -1) is not None
            if closed and (degree[d] == 1 or never_negative(self._slope(d, 2), self._between(), self.proofs)):
                yield from self._at_end(d, 1)
                yield from self._at_end(d, -1)
                return
            vertex = self._vertex(d) if degree[d] == 2 else None
            if vertex is not None:
                yield from self._at_vertex(d, *vertex)
                return
        if (few := self._values(dims)) is not None:
            yield from self._at_values(*few)
            return
        for d in dims:
            if self._end(d, 1) is not None and self._end(d, -1) is not None:
                yield from self._bernstein(d, degree[d])
                return
        yield Candidate(self.where.params(), QPolynomial.of(INFTY), False)

    def _rounded(self, name: str) -> bool:
        """Whether an end of a dimension is a floor of other dimensions, which would be one more dimension then."""
        others = {*self.where.dims()} - {name}
        ends = [e for sign in (1, -1) for _, e in self._end(name, sign) or ()]
        return any(isinstance(a, Floor) and others & a.num.names() for e in ends for a, _ in e.terms)

    def _slope(self, name: str, times: int = 1) -> QPolynomial:
        """The difference of the values at y + 1 and at y; that of the differences if it is taken twice."""
        found = self.value
        for _ in range(times):
            found = _at(found, name, var(name) + 1) - found
        return found

    def _between(self) -> Set:
        """The set, or a greater one in which no integers between two values of a dimension are missing."""
        plain = not any(c.divs for _, cs in self.where.parts for c in cs)
        return self.where if plain else self.where.convex_hull()

    def _way(self, slope: QPolynomial) -> int:
        """1 where the polynomial never falls, -1 where it never grows, 0 where neither is seen."""
        for sign in (1, -1):
            if never_negative(slope * sign, self._between(), self.proofs):
                return sign
        return 0

    # ---- parabolas

    def _vertex(self, name: str) -> tuple[Aff, QPolynomial] | None:
        """The integer next to the vertex of a concave parabola in y; None where it is no expression."""
        _, linear_, square = (QPolynomial(p) for p in pl.powers_of(self.value._terms, name))
        number, affine = number_of(square), _affine(linear_)
        if number is None or isinstance(number, Number) or number >= 0 or affine is None:
            return None
        e, den = affine  # the vertex is e/den / (-2 * number), and floor(x + 1/2) is next to x
        scale = -2 * number * den
        at = (2 * scale.denominator * e + scale.numerator).floordiv(2 * scale.numerator)
        return at, _at(self.value, name, at)

    def _at_vertex(self, name: str, at: Aff, top: QPolynomial) -> Iterator[Candidate]:
        """The candidates at the vertex where it is a point, and at an end that lies before it."""
        inside = with_row(self.where, "eq", var(name) - at).project_out(name)
        left = self.where.project_out(name).subtract(inside)
        if not inside.is_empty():
            yield from greatest(inside, top, self.steps, self.proofs)
        for sign in (1, -1):
            for s, e in self._end(name, sign) or ():
                beyond = with_row(s, "ge", (at - e) * sign - 1)
                if beyond.is_empty():
                    continue
                left = left.subtract(beyond)
                yield from greatest(beyond, _at(self.value, name, e), self.steps, self.proofs)
        if not left.is_empty():  # between two points of the set, that is
            yield from (Candidate(c.where, c.value, False) for c in greatest(left, top, self.steps, self.proofs))

    # ---- Bernstein's polynomials

    def _bernstein(self, name: str, degree: int) -> Iterator[Candidate]:
        """The candidates that the coefficients between the ends are."""
        for s, low in self._end(name, -1) or ():
            for t, high in self._end(name, 1) or ():
                both = s.intersect(t)
                if both.is_empty():
                    continue
                for k, b in enumerate(self._coefficients(name, degree, low, high)):
                    found = greatest(both, b, self.steps, self.proofs)
                    yield from (Candidate(c.where, c.value, c.exact and k in (0, degree)) for c in found)

    def _coefficients(self, name: str, degree: int, low: Aff, high: Aff) -> list[QPolynomial]:
        """Bernstein's coefficients b_0, ..., b_degree of the polynomial between two values of y."""
        step = fresh("s", self.value.names() | low.names() | high.names())
        width = QPolynomial.of(high - low)
        inner = pl.plus(QPolynomial.of(low)._terms, pl.times({frozenset(((step, 1),)): Fraction(1)}, width._terms))
        powers = pl.powers_of(pl.substituted(self.value._terms, name, inner), step)
        powers += [{}] * (degree + 1 - len(powers))
        out = []
        for j in range(degree + 1):
            b: pl.Poly = {}
            for k in range(j + 1):
                b = pl.plus(b, powers[k], Fraction(comb(j, k), comb(degree, k)))
            out.append(QPolynomial(b))
        return out
