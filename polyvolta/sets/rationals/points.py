"""What sets and relations of rational points share: unions of polyhedra by space, and their algebra."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from numbers import Rational
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeGuard, TypeVar, overload

from ..budgets import metered_class
from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct
from ..errors import SetSyntaxError, SpaceMismatch, UnknownName, kind_of, nearest
from ..operations import algebra, dimensions
from ..values.aff import Aff, var
from ..values.named import by_isl
from ..values.shape import is_map, is_set
from ..values.space import Space
from ..values.united import United
from . import gist as gisting
from . import optima
from . import polyhedron as ph
from .polyhedron import Polyhedron, Row
from .read import bound, of_constraints, parse

if TYPE_CHECKING:
    from ..values.map import Map
    from ..values.set import Set

Part = tuple[Space, tuple[Polyhedron, ...]]
Number = int | Fraction
I = TypeVar("I", "Set", "Map")  # what has integer points instead


@metered_class
class RationalPoints(United[Polyhedron], Generic[I]):
    """What `RationalSet` and `RationalMap` share; a value is made from isl's notation or by `_of`."""

    __slots__ = ()
    _is_pairs: ClassVar[bool]  # a map's
    _listed = "pieces lists its polyhedra"
    _reindex, _project = staticmethod(ph.reindex), staticmethod(ph.project)
    _universe = staticmethod(ph.universe)

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            tuples = "[i] -> [j]" if self._is_pairs else "[i]"
            is_one = isinstance(text, RationalPoints) and text._noun == self._noun
            hint = f"it is a {self._noun} already" if is_one else f"such as '{{ rat: {tuples} : 2i = 1 }}'"
            raise SetSyntaxError(f"a {self._noun} is made from a text, not from {kind_of(text)}", hint=hint)
        self._fill(*parse(text, self._is_pairs))

    def _fill(self, params: tuple[str, ...], parts: Iterable[Part]) -> None:
        merged: dict[tuple, tuple[Space, dict[Polyhedron, None]]] = {}
        for space, ps in parts:
            _, seen = merged.setdefault(space.key, (space, {}))
            seen |= dict.fromkeys(ps)
            whole = ph.universe(len(params) + len(space.dims))
            if len(seen) > 1 and whole in seen:
                merged[space.key] = (space, {whole: None})
        self.param_names, self._hash = params, None
        self.parts = tuple([(space, tuple(seen)) for space, seen in merged.values()])

    @classmethod
    def _of(cls, params: tuple[str, ...], parts: Iterable[Part]) -> Self:
        self = object.__new__(cls)
        self._fill(params, parts)
        return self

    @property
    def _rough(self) -> tuple[Part, ...]:
        """What a budget measures."""
        return self.parts

    if not TYPE_CHECKING:  # a checker knows what there is

        def __getattr__(self, name: str) -> object:
            try:
                return by_isl(self, name)
            except AttributeError:
                if name.startswith("_") or not hasattr(self._integral(), name):
                    raise
            of = self._noun.removeprefix("Rational")
            said = f"a {self._noun} has no attribute {name!r}, but a {of} has: {of[0].lower()}.integer_points().{name}"
            raise AttributeError(said, name=name, obj=self)

    def __str__(self) -> str:
        from .show import show

        return show(self)

    @classmethod
    def _integral(cls) -> type[I]:
        """The class of what has integer points instead."""
        raise NotImplementedError

    def _of_integers(self, value: object) -> TypeGuard[I]:
        """Whether a value is what this is of integer points."""
        return is_map(value) if self._is_pairs else is_set(value)

    # ---- shared with sets of integer points

    union, symmetric_difference = algebra.union, algebra.symmetric_difference
    is_strict_subset = algebra.is_strict_subset
    __lt__, __ge__, __gt__ = is_strict_subset, algebra.is_superset, algebra.is_strict_superset
    __or__, __xor__ = union, symmetric_difference
    complement = __invert__ = dimensions.complement
    project_out, project_out_params = dimensions.project_out, dimensions.project_out_params
    project_out_param, project_out_all_params = dimensions.project_out_params, dimensions.project_out_all_params
    project_onto, eliminate = dimensions.project_onto, dimensions.eliminate
    insert_dims, add_dims, move_dims = dimensions.insert_dims, dimensions.add_dims, dimensions.move_dims
    rename_dims, rename_params = dimensions.rename_dims, dimensions.rename_params
    lexmin, lexmax, sample_point = optima.lexmin, optima.lexmax, optima.sample_point
    gist = gisting.gist

    # ---- algebra

    @overload
    def intersect(self, other: I) -> I: ...
    @overload
    def intersect(self, other: Self) -> Self: ...
    def intersect(self, other: Self | I) -> Self | I:
        """The points in both; with a `Set` or a `Map`, the integer points in both. O(m n) linear programs.

        `SpaceMismatch` is raised for another `other`, or one of another space.

        >>> from polyvolta.sets import RationalSet
        >>> print(RationalSet("{ rat: [i] : 2i <= 9 }") & RationalSet("{ rat: [i] : i > 1 }"))
        { rat: [i] : i > 1 and 2*i <= 9 }
        """
        if self._of_integers(other):
            return other.intersect(self.integer_points())
        self._check_space(other, "an intersection")
        self._check_params(other, "an intersection")
        other._check_params(self, "an intersection")
        assert isinstance(other, RationalPoints)
        a, b = self._aligned(other)
        parts = []
        for space, ps in a.parts:
            both = (ph.conjoin(p, q) for p in ps for q in b._find(space.key))
            parts.append((space, tuple([p for p in both if p is not None])))
        return a._of(a.param_names, [p for p in parts if p[1]] or parts[:1])

    def subtract(self, other: Self) -> Self:
        """The points of this and not of the other, exactly, as disjoint pieces; O(m n rows) emptiness tests.

        `SpaceMismatch` is raised for a `Set`, of which there may be infinitely many points to take out.

        >>> from polyvolta.sets import RationalSet
        >>> print(RationalSet("{ rat: [0:3] }") - RationalSet("{ rat: [1] }"))
        { rat: [i0] : 0 <= i0 < 1; rat: [i0] : 1 < i0 <= 3 }
        """
        self._check_space(other, "a difference")
        a, b = self._aligned(other)
        return a._of(a.param_names, [(s, tuple(ph.subtract_all(ps, b._find(s.key)))) for s, ps in a.parts])

    __and__ = __rand__ = intersect  # a Set on the left answers itself: the latter is for type checkers
    __sub__ = subtract

    def is_empty(self) -> bool:
        """Whether there is no point for any parameter values; O(1), for every piece has one.

        >>> from polyvolta.sets import RationalSet
        >>> RationalSet("{ rat: [i] : 2i = 1 }").is_empty(), RationalSet("{ rat: [i] : 1 < i < 1 }").is_empty()
        (False, True)
        """
        return not any(ps for _, ps in self.parts)

    def is_subset(self, other: Self | I) -> bool:
        """Whether every point is a point of the other; exact, a difference. Also `<=`.

        A subset of a `Set` has finitely many points, all of them integers.

        >>> from polyvolta.sets import RationalSet, Set
        >>> s = RationalSet("{ rat: [i] : 0 < i < 1 }")
        >>> s.is_subset(RationalSet("{ rat: [0:1] }")), s.is_subset(Set("{ [0:1] }"))
        (True, False)
        """
        if self._of_integers(other):
            a, b = self._aligned(other)
            return all(_in_integers(p, b._find(s.key), len(a.param_names)) for s, ps in a.parts for p in ps)
        self._check_kind(other, "a comparison")
        assert isinstance(other, RationalPoints)
        a, b = self._aligned(other)
        return all(not ph.subtract_all(ps, b._find(s.key)) for s, ps in a.parts)

    __le__ = is_subset

    def is_equal(self, other: Self | I) -> bool:
        """Whether both have the same points; exact, two differences. `==` compares how both are written.

        `other` may be a `Set`, see `is_subset`.

        >>> from polyvolta.sets import RationalSet
        >>> RationalSet("{ rat: [0:2]; rat: [1:3] }").is_equal(RationalSet("{ rat: [0:3] }"))
        True
        """
        return self.is_subset(other) and other.is_subset(self)

    def is_disjoint(self, other: Self | I) -> bool:
        """Whether no point is in both, of a `Set` no integer point; exact, O(m n) linear programs. See `intersect`.

        >>> from polyvolta.sets import RationalSet
        >>> RationalSet("{ rat: [i] : i < 1 }").is_disjoint(RationalSet("{ rat: [i] : i >= 1 }"))
        True
        """
        return algebra.is_disjoint(self, other)

    def coalesce(self) -> Self:
        """The same points in fewer pieces: pairs whose union is one polyhedron become it, until there is no such pair.

        Exact; each comparison is a linear program for each row, and a difference.

        >>> from polyvolta.sets import RationalSet
        >>> print(RationalSet("{ rat: [i] : 0 <= i < 1; rat: [1]; rat: [i] : 1 < 2i and i < 3 }").coalesce())
        { rat: [i] : 0 <= i < 3 }
        """
        return self._of(self.param_names, [(s, ph.coalesce(ps)) for s, ps in self.parts])

    # ---- points

    def is_rational(self) -> bool:
        """Whether its points are rational ones, as they are; of a `Set` they are integers.

        >>> from polyvolta.sets import RationalSet, Set
        >>> RationalSet("{ rat: [i] }").is_rational(), Set("{ rat: [i] }").is_rational(), Set("{ [i] }").is_rational()
        (True, True, False)
        """
        return True

    def integer_points(self) -> I:
        """The points whose coordinates are integers, for parameters that are integers, as a `Set`; linear.

        >>> from polyvolta.sets import RationalSet
        >>> print(RationalSet("{ rat: [i, j] : 0 < i < 3 and 2j = i }").integer_points())
        { [2, 1] }
        """
        return self._integral()._of(self.param_names, [(s, tuple(_conjuncts(ps))) for s, ps in self.parts])

    def contains(self, /, point: object, **params: Number) -> bool:
        """Whether a point, a tuple of integers and Fractions, is in the set; one evaluation a row. Also `in`.

        `params` are the values of the parameters by name.

        Raises
        ------
        SpaceMismatch : there are several tuples, or the point has another number of dimensions.
        Unbounded : a parameter that matters has no value.
        UnknownName : no parameter of that name.

        >>> from polyvolta.sets import RationalSet
        >>> (Fraction(1, 2),) in RationalSet("{ rat: [i] : 2i = 1 }")
        True
        """
        space = self.space
        values = tuple(point) if isinstance(point, Iterable) and not isinstance(point, str) else (point,)
        if len(values) != len(space.dims) or not all(map(_is_number, values)):
            n = len(space.dims)
            what = f"a point is {n} integer{'s' * (n != 1)} or Fraction{'s' * (n != 1)} here, not {point!r}"
            raise SpaceMismatch(what, where=str(space))
        return any(p.holds([_number(v) for v in values]) for _, ps in optima.concrete(self, params).parts for p in ps)

    __contains__ = contains

    # ---- constraints

    def fix(self, values: Mapping[str | int, Number] | None = None, /, **more: Number) -> Self:
        """The slice at the given values of parameters or dimensions, which stay in place; linear.

        `more` are values by name, as in `values`: integers or Fractions. With several tuples, those that lack a name
        stay whole.

        >>> from polyvolta.sets import RationalSet
        >>> print(RationalSet("[N] -> { rat: [i, j] : 0 <= i <= j <= N }").fix(i=Fraction(1, 2)))
        [N] -> { rat: [i, j] : 2*i = 1 and j <= N and 2*j >= 1 }

        Raises
        ------
        UnknownName : no parameter or dimension of that name or position.
        SpaceMismatch : a value is no number.
        """
        if values is not None and not isinstance(values, Mapping):
            raise SpaceMismatch(f"fix takes names or a mapping, not {values!r}", where=str(self), hint="fix(i=3)")
        out = self
        for name, value in {**(values or {}), **more}.items():
            if not _is_number(value):
                raise SpaceMismatch(f"{name} is fixed to an integer or Fraction, not to {value!r}", where=str(self))
            if not isinstance(name, str):
                name = (*out.param_names, *out.space.dims)[dimensions.column(out, name)]
            known = [*out.param_names, *(d for s, _ in out.parts for d in s.dims)]
            if name not in known:
                what = f"no parameter or dimension is called {name!r}"
                raise UnknownName(what, where=str(self), hint=nearest(name, known))
            number = Fraction(_number(value))
            out = out._with("eq", var(name) * number.denominator - number.numerator, name)
        return out

    def lower_bound(self, dim: str | int, bound: Number | str | Aff) -> Self:
        """The points with dim >= bound, a number, an `Aff` or a text such as "(N + 1)/2"; linear.

        >>> from polyvolta.sets import RationalSet
        >>> print(RationalSet("[N] -> { rat: [i] : i < N }").lower_bound("i", "N/2"))
        [N] -> { rat: [i] : i < N and 2*i >= N }

        Raises
        ------
        UnknownName : no parameter or dimension of that name or position.
        SpaceMismatch : there are several tuples, or the bound is none of these.
        """
        return self._with("ge", self._above(dim, bound))

    def upper_bound(self, dim: str | int, bound: Number | str | Aff) -> Self:
        """The points with dim <= bound; see `lower_bound`.

        >>> from polyvolta.sets import RationalSet
        >>> print(RationalSet("{ rat: [i] : i >= 0 }").upper_bound("i", Fraction(9, 2)))
        { rat: [i] : i >= 0 and 2*i <= 9 }
        """
        return self._with("ge", -self._above(dim, bound))

    def equate(self, a: str | int, b: str | int) -> Self:
        """The points at which two dimensions or parameters, names or positions `a` and `b`, are equal; linear.

        `UnknownName` is raised for others, `SpaceMismatch` where there are several tuples.

        >>> from polyvolta.sets import RationalSet
        >>> print(RationalSet("{ rat: [i, j] : 2i + j = 1 }").equate("i", "j"))
        { rat: [i, j] : 3*i = 1 and 3*j = 1 }
        """
        return self._with("eq", self._dim(a) - self._dim(b))

    def _dim(self, dim: str | int) -> Aff:
        return var((*self.param_names, *self.space.dims)[dimensions.column(self, dim)])

    def _above(self, dim: str | int, limit: object) -> Aff:
        """A positive multiple of how far a dimension is above a bound."""
        den = 1
        if isinstance(limit, str):
            limit, den = bound(limit, (*self.param_names, *self.space.dims))
        if _is_number(limit):
            number = Fraction(_number(limit))
            limit, den = Aff((), number.numerator), number.denominator
        if not isinstance(limit, Aff) or not all(isinstance(atom, str) for atom, _ in limit.terms):
            what = f"a bound is a number, an affine expression or its text, not {limit!r}"
            raise SpaceMismatch(what, where=str(self), hint='"(N - 1)/2"')
        return self._dim(dim) * den - limit

    def _with(self, kind: str, e: Aff, name: str | None = None) -> Self:
        """The points that satisfy a constraint; given a name, in those spaces that have it."""
        parts = []
        for space, ps in self.parts if name is not None else [(self.space, self.parts[0][1])]:
            names = (*self.param_names, *space.dims)
            if name is None or name in names:
                row = of_constraints([(kind, e)], names)
                both = (ph.conjoin(p, row) for p in ps if row is not None)
                ps = tuple([p for p in both if p is not None])
            parts.append((space, ps))
        return self._of(self.param_names, parts)


def _is_number(value: object) -> bool:
    return isinstance(value, Rational) and not isinstance(value, bool)


def _number(value: Any) -> Number:  # noqa: ANN401 - any Rational, numpy's too
    return Fraction(int(value.numerator), int(value.denominator))


def _conjuncts(ps: Iterable[Polyhedron]) -> Iterable[Conjunct]:
    """The integer points of polyhedra: of integers, above 0 is at least 1."""
    for p in ps:
        c = cj.normalise(p.n, (), p.eqs, (*p.ineqs, *[(r[0] - 1, *r[1:]) for r in p.strict]))
        if c is not None:
            yield c


def _in_integers(p: Polyhedron, cs: tuple[Conjunct, ...], n_par: int) -> bool:
    """Whether a polyhedron is one integer point, which is in one of some conjuncts.

    Parameters that neither speaks of may be anything.
    """

    def used(k: int) -> bool:
        return k >= n_par or any(r[1 + k] for r in p.eqs) or any(cj.uses(c, k) for c in cs)

    point = [0] * p.n
    for eq in p.eqs:
        col = ph.last(eq)
        if any(eq[1:col]) or eq[col] != 1:
            return False
        point[col - 1] = -eq[0]
    solved = {ph.last(eq) - 1 for eq in p.eqs}
    rows: tuple[Row, ...] = (*p.ineqs, *p.strict)
    return not rows and all(k in solved or not used(k) for k in range(p.n)) and any(cj.holds(c, point) for c in cs)
