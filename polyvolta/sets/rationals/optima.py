"""Lexicographic optima of sets of rational points, and a point of one.

The least points of a set are those that are greater than none of it. A point is greater than some point of a piece
exactly when, for some k, its first k dimensions agree with those of the piece's point and the next one is greater: so
the points to take away are as many polyhedra as there are dimensions, each a projection of the piece with one dimension
more, which is bounded from above and eliminated.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from ..engine.simplex import Tableau
from ..errors import EmptySet, Unbounded, UnknownName, nearest
from .polyhedron import Point, Polyhedron, polyhedron, project, reindex, sample, subtract_all

if TYPE_CHECKING:
    from .points import RationalPoints

R = TypeVar("R", bound="RationalPoints[Any]")


def lexmin(self: R) -> R:
    """The lexicographically smallest point for each parameter values, none where the least value is not attained;
    of a relation the smallest output for each input.

    Exact: a projection for each dimension of each piece, and a difference. `0 < i` has no smallest i.

    Raises
    ------
    Unbounded : some parameters have points, and a dimension of a piece has no lower bound.

    >>> from polyvolta.sets import RationalSet
    >>> print(RationalSet("[N] -> { rat: [i, j] : 1 <= 2i <= N and 3j >= i }").lexmin())
    [N] -> { rat: [i, j] : N >= 1 and 2*i = 1 and 6*j = 1 }
    """
    return _optimum(self, 1)


def lexmax(self: R) -> R:
    """The lexicographically largest point for each parameter values; see `lexmin`.

    >>> from polyvolta.sets import RationalSet
    >>> print(RationalSet("{ rat: [i] : 0 <= 2i <= 9 or 1 <= i < 7 }").lexmax())
    { rat: [i] : false }
    """
    return _optimum(self, -1)


def _optimum(self: R, sign: int) -> R:
    parts = []
    for space, ps in self.parts:
        n_par = len(self.param_names) + space.n_in
        for p in ps:
            _check_bounded(self, p, n_par, sign)
        worse = [d for p in ps for d in _dominated(p, n_par, sign)]
        parts.append((space, tuple(subtract_all(ps, worse))))
    return self._of(self.param_names, parts)


def _dominated(p: Polyhedron, n_par: int, sign: int) -> list[Polyhedron]:
    """The points, with the same parameters, that are greater (sign 1) or less than some point of a polyhedron."""
    out = []
    for k in reversed(range(n_par, p.n)):
        prefix = project(p, tuple(range(k + 1, p.n)))  # its dimension k is that of the point, which goes to the end
        beside = reindex(prefix, p.n + 1, (*range(k), p.n))
        row = [0] * (p.n + 2)
        row[1 + k], row[1 + p.n] = sign, -sign
        above = polyhedron(p.n + 1, beside.eqs, beside.ineqs, (*beside.strict, tuple(row)))
        assert above is not None
        out.append(project(above, (p.n,)))
    return out


def _check_bounded(self: RationalPoints[Any], p: Polyhedron, n_par: int, sign: int) -> None:
    """Whether no dimension gets ever better while the parameters and those before it stay.

    Raises
    ------
    Unbounded : one does.
    """
    for k in range(n_par, p.n):
        cone = Tableau(p.n)
        for row in p.eqs:
            cone.add_eq((0, *row[1:]))
        for row in (*p.ineqs, *p.strict):
            cone.add_ineq((0, *row[1:]))
        for j in range(k):
            cone.add_eq((0, *[int(i == j) for i in range(p.n)]))
        cone.add_ineq((-1, *[-sign * (i == k) for i in range(p.n)]))
        if not cone.empty:
            what = "least" if sign > 0 else "greatest"
            hint = "bound the dimensions first"
            raise Unbounded(f"there is no lexicographically {what} point", where=str(self), hint=hint)


def sample_point(self: RationalPoints[Any], /, **params: int | Fraction) -> Point:
    """The coordinates of one point, for the given parameter values; exact, one linear program.

    `params` are the values of the parameters by name.

    Raises
    ------
    Unbounded : a parameter has no value.
    EmptySet : there is no point.

    >>> from polyvolta.sets import RationalSet
    >>> RationalSet("[N] -> { rat: [x, y] : 2x = N and 3y = x }").sample_point(N=1)
    (Fraction(1, 2), Fraction(1, 6))
    """
    _ = self.space
    for _, ps in concrete(self, params).parts:
        for p in ps:
            return sample(p)
    raise EmptySet("the set has no point", where=str(self), hint="ask is_empty() first")


def concrete(self: R, params: dict[str, int | Fraction]) -> R:
    """The set with its parameters given numbers and projected out.

    Raises
    ------
    UnknownName : a value is given to something that is no parameter.
    Unbounded : a parameter that matters has no value, neither given nor by an equality of every piece.
    """
    for name in params:
        if name not in self.param_names:
            raise UnknownName(f"no parameter is called {name!r}", where=str(self), hint=nearest(name, self.param_names))
    fixed = self.fix(None, **params)
    pieces = [p for _, ps in fixed.parts for p in ps]
    for k, name in enumerate(fixed.param_names, 1):
        values = {_pinned(p, k) for p in pieces}
        if any(_uses(p, k) for p in pieces) and (None in values or len(values) > 1):
            hint = f"give one: {name}=..."
            raise Unbounded(f"the parameter {name} has no value", where=str(self), hint=hint)
    return fixed.project_out_all_params()


def _uses(p: Polyhedron, col: int) -> bool:
    return any(r[col] for r in (*p.eqs, *p.ineqs, *p.strict))


def _pinned(p: Polyhedron, col: int) -> Fraction | None:
    """The number that a column is, if it is one."""
    for eq in p.eqs:
        if eq[col] and not any(c for k, c in enumerate(eq) if k and k != col):
            return Fraction(-eq[0], eq[col])
    return None
