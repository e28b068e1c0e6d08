"""What `Set` and `Map` share: finite unions of conjuncts, in one or several spaces, over named parameters.

A relation is immutable: every method returns a new one. Operands are aligned on the union of their parameters
first, and dimension names never matter for what an operation means, only tuple names and arities do. `==`
compares structure, which is cheap; `is_equal` compares points, which is the mathematics.

Costs are stated in conjuncts (m and n for the two operands); what happens per conjunct is in `conjunct`,
`project`, `integer` and `lexopt`, which also hold the exactness arguments. Everything is exact over the
integers. What can be exponential stops with `BudgetExceeded`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING, Self

from . import conjunct as cj
from . import project as pj
from .conjunct import Conjunct
from .errors import SpaceMismatch, UnknownName, nearest
from .space import Space, Tuple, position, without

if TYPE_CHECKING:
    from .set import Set

Part = tuple[Space, tuple[Conjunct, ...]]


class Relation:
    """What `Set` and `Map` share; a value is made from isl's notation or by `_of`."""

    __slots__ = ("_hash", "params", "parts")
    params: tuple[str, ...]
    parts: tuple[Part, ...]
    _is_map: bool

    def __init__(self, text: str) -> None:
        from .parse import parse

        params, parts = parse(text, self._is_map)
        self._fill(params, parts)

    def _fill(self, params: tuple[str, ...], parts: Iterable[Part]) -> None:
        merged: dict[tuple, tuple[Space, dict[Conjunct, None]]] = {}
        for space, pieces in parts:
            _, seen = merged.setdefault(space.key, (space, {}))
            seen.update(dict.fromkeys(pieces))
            seen.pop(cj.nothing(len(params) + len(space.dims)), None)
        self.params = params
        self.parts = tuple((space, tuple(seen)) for space, seen in merged.values())
        self._hash = hash((params, tuple((s.key, p) for s, p in self.parts)))

    @classmethod
    def _of(cls, params: tuple[str, ...], parts: Iterable[Part]) -> Self:
        self = object.__new__(cls)
        self._fill(params, parts)
        return self

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        """Same parameters, spaces and normalised pieces: cheap; implies `is_equal`, not conversely."""
        return (
            type(self) is type(other)
            and self._hash == other._hash
            and self.params == other.params
            and {s.key: set(p) for s, p in self.parts} == {s.key: set(p) for s, p in other.parts}
        )

    def __str__(self) -> str:
        from .show import show_relation

        return show_relation(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def _repr_html_(self) -> str:
        return f"<code>{escape(str(self))}</code>"

    # ---- structure

    @property
    def pieces(self) -> tuple[Self, ...]:
        """The conjuncts, each as an object of its own."""
        return tuple(self._of(self.params, [(s, (c,))]) for s, cs in self.parts for c in cs)

    @property
    def space(self) -> Space:
        """The one space of this object.

        Raises
        ------
        SpaceMismatch : it has several tuples, or none.
        """
        if len(self.parts) != 1:
            found = "; ".join(str(s) for s, _ in self.parts) or "nothing"
            raise SpaceMismatch("this operation needs a single space", where=found, hint="pick one with .only(name)")
        return self.parts[0][0]

    @property
    def tuple_names(self) -> tuple[str | None, ...]:
        """The names of the domain tuples (of the tuples, for a set), in order."""
        return tuple(dict.fromkeys((s.inp or s.out).name for s, _ in self.parts))

    def only(self, name: str | None) -> Self:
        """The part whose (domain) tuple is called `name`; empty when there is none."""
        return self._of(self.params, [(s, p) for s, p in self.parts if (s.inp or s.out).name == name])

    def dims(self) -> tuple[str, ...]:
        """The names of the dimensions, inputs first."""
        return self.space.dims

    def _map_conjuncts(self, f: Callable[[Conjunct], Conjunct | None]) -> Self:
        return self._of(self.params, [(s, tuple(d for d in map(f, cs) if d is not None)) for s, cs in self.parts])

    def align_params(self, params: Iterable[str]) -> Self:
        """The same points over a longer list of parameters; those it lacks are unconstrained."""
        wanted = tuple(dict.fromkeys([*params, *self.params]))
        if wanted == self.params:
            return self
        shift = len(wanted) - len(self.params)
        head = tuple(wanted.index(p) for p in self.params)

        def move(c: Conjunct) -> Conjunct:
            places = head + tuple(range(len(wanted), c.n + shift))
            return cj.reindex(c, c.n + shift, places)

        return self._of(wanted, [(s, tuple(map(move, cs))) for s, cs in self.parts])

    def _aligned(self, other: Relation) -> tuple[Self, Relation]:
        if self.params == other.params:
            return self, other
        params = tuple(dict.fromkeys([*self.params, *other.params]))
        return self.align_params(params), other.align_params(params)

    def _check_kind(self, other: object, what: str) -> None:
        if type(other) is not type(self):
            kind = type(self).__name__
            raise SpaceMismatch(
                f"{what} needs two {kind}s, not a {kind} and a {type(other).__name__}",
                where=f"{self}\n{other}",
            )

    def _find(self, key: tuple) -> tuple[Conjunct, ...]:
        return next((cs for s, cs in self.parts if s.key == key), ())

    # ---- boolean algebra

    def union(self, other: Self) -> Self:
        """All points of either. O(m + n); nothing is merged but equal conjuncts (see `coalesce`)."""
        self._check_kind(other, "a union")
        a, b = self._aligned(other)
        return a._of(a.params, [*a.parts, *b.parts])

    def intersect(self, other: Self) -> Self:
        """The points in both. O(m n) conjunctions."""
        self._check_kind(other, "an intersection")
        a, b = self._aligned(other)
        parts = []
        for space, cs in a.parts:
            found = b._find(space.key)
            parts.append((space, conjoin_all(cs, found)))
        return a._of(a.params, [p for p in parts if p[1]] or parts[:1])

    def subtract(self, other: Self) -> Self:
        """The points of this and not of the other, exactly; O(m n rows) emptiness tests.

        >>> from polyvolta.sets import Set
        >>> print(Set("{ [i] : 0 <= i < 10 }") - Set("{ [i] : 3 <= i < 5 }"))
        { [i] : 0 <= i <= 2; [i] : 5 <= i <= 9 }
        """
        self._check_kind(other, "a difference")
        a, b = self._aligned(other)
        parts = []
        for space, cs in a.parts:
            left = list(cs)
            for knife in (k for c in b._find(space.key) for k in pj.with_known_divs(c)):
                left = [piece for c in left for piece in cj.subtract(c, knife)]
            parts.append((space, tuple(left)))
        return a._of(a.params, parts)

    def symmetric_difference(self, other: Self) -> Self:
        """The points in exactly one of both; two subtractions."""
        return self.subtract(other).union(other.subtract(self))

    __or__, __and__, __sub__, __xor__ = union, intersect, subtract, symmetric_difference

    @property
    def _live(self) -> Iterator[tuple[Space, Conjunct]]:
        return ((s, c) for s, cs in self.parts for c in cs if not c.is_empty)

    def is_empty(self) -> bool:
        """Whether there is no integer point for any parameter values; exact, at most m emptiness tests.

        >>> from polyvolta.sets import Set
        >>> Set("{ [x, y] : 3x - 3y + 2 >= 0 and -3x + 3y - 1 >= 0 }").is_empty()
        True
        """
        return next(self._live, None) is None

    def is_subset(self, other: Self) -> bool:
        """Whether every point is a point of the other; exact, by subtraction."""
        self._check_kind(other, "a comparison")
        return self == other or self.subtract(other).is_empty()

    def is_equal(self, other: Self) -> bool:
        """Whether both have the same points; exact, two subtractions."""
        return self.is_subset(other) and other.is_subset(self)

    def is_strict_subset(self, other: Self) -> bool:
        """Whether every point is a point of the other, which has more; exact, two subtractions."""
        return self.is_subset(other) and not other.is_subset(self)

    def is_disjoint(self, other: Self) -> bool:
        """Whether no point is in both; exact, O(m n) emptiness tests."""
        return self.intersect(other).is_empty()

    def without_empty(self) -> Self:
        """Without conjuncts that hold no integer point; exact, m emptiness tests."""
        return self._map_conjuncts(lambda c: None if c.is_empty else c)

    # ---- parameters

    def params_set(self) -> Set:
        """The parameter values with a point, as a set without dimensions; exact, m projections."""
        from .set import Set

        n = len(self.params)
        out = []
        for _, cs in self.parts:
            out += [pj.project(c, tuple(range(n, c.n))) for c in cs]
        return Set._of(self.params, [(Space(None, Tuple(None, ())), tuple(c for c in out if c is not None))])

    def intersect_params(self, context: Set) -> Self:
        """The points for parameter values in `context`, a set without dimensions; O(m n) conjunctions."""
        if any(s.dims for s, _ in context.parts):
            raise SpaceMismatch("a context has no dimensions", where=str(context), hint='write "[N] -> { : N > 0 }"')
        a, b = self._aligned(context)
        knives = [c for _, cs in b.parts for c in cs]
        parts = []
        for space, cs in a.parts:
            wide = [cj.reindex(k, len(a.params) + len(space.dims), tuple(range(len(a.params)))) for k in knives]
            parts.append((space, conjoin_all(cs, wide)))
        return a._of(a.params, parts)

    def fix(self, **values: int) -> Self:
        """The slice at the given values of parameters or dimensions, which stay in place; linear.

        >>> from polyvolta.sets import Set
        >>> print(Set("[N] -> { [i, j] : 0 <= i < N and 0 <= j < i }").fix(N=8, i=3))
        [N] -> { [3, j] : N = 8 and 0 <= j <= 2 }
        """
        out = self
        for name, value in values.items():
            if isinstance(value, bool) or not hasattr(value, "__index__"):
                raise SpaceMismatch(f"{name} is fixed to an integer, not to {value!r}", where=str(self))
            value = value.__index__()
            out = out._fix_one(name, value)
        return out

    def _fix_one(self, name: str, value: int) -> Self:
        found = False
        parts = []
        for space, cs in self.parts:
            names = (*self.params, *space.dims)
            if name not in names:
                parts.append((space, cs))
                continue
            found = True
            row = [0] * (1 + len(names))
            row[0], row[1 + names.index(name)] = -value, 1
            knife = cj.normalise(len(names), (), [tuple(row)], ())
            parts.append((space, conjoin_all(cs, [knife])))
        if not found:
            known = [*self.params, *(d for s, _ in self.parts for d in s.dims)]
            raise UnknownName(
                f"no parameter or dimension is called {name!r}", where=str(self), hint=nearest(name, known)
            )
        return self._of(self.params, parts)

    def known_divs(self) -> Self:
        """The same points, every existential a floor; exact, by parametric lexmin, may split pieces."""
        return self._of(self.params, [(s, tuple(d for c in cs for d in pj.with_known_divs(c))) for s, cs in self.parts])

    # ---- projection

    def project_out(self, *dims: str | int) -> Self:
        """Forget some dimensions: a point is in the result when one above it is in this.

        Exact over the integers, m eliminations; existentials that no floor expresses stay existentials.

        >>> from polyvolta.sets import Set
        >>> print(Set("{ [i, j] : i = 2j and 0 <= j < 5 }").project_out("j"))
        { [i] : i mod 2 = 0 and 0 <= i <= 8 }
        """
        space = self.space
        gone = {position(d, space.dims, str(space)) for d in dims}
        n_in = space.n_in
        out = without(space.out, {k - n_in for k in gone})
        inp = space.inp and without(space.inp, gone)
        drop = tuple(sorted(len(self.params) + k for k in gone))
        cs = (pj.project(c, drop) for c in self.parts[0][1])
        return self._of(self.params, [(Space(inp, out), tuple(c for c in cs if c is not None))])

    def project_out_params(self, *names: str) -> Self:
        """Forget some parameters, in every space; exact, m eliminations."""
        drop = tuple(sorted(position(p, self.params, f"[{', '.join(self.params)}]", "parameter") for p in names))
        params = tuple(p for k, p in enumerate(self.params) if k not in drop)
        parts = []
        for s, cs in self.parts:
            done = (pj.project(c, drop) for c in cs)
            parts.append((s, tuple(c for c in done if c is not None)))
        return self._of(params, parts)

    # ---- optimisation, simplification, counting: one module each

    def lexmin(self) -> Self:
        """The lexicographically smallest point (of each image, for a map), for each parameter values.

        Exact: m parametric integer programs and, for a union, m^2 comparisons of their pieces.

        Raises
        ------
        Unbounded : some parameters have points but no smallest one.

        >>> from polyvolta.sets import Map
        >>> print(Map("[N] -> { [i] -> [j] : i <= 4j and j < N }").lexmin())
        [N] -> { [i] -> [floor((i + 3)/4)] : i <= 4*N - 4 }
        """
        from .lexrel import optimum

        return optimum(self, -1)

    def lexmax(self) -> Self:
        """The lexicographically largest point (of each image, for a map); see `lexmin`."""
        from .lexrel import optimum

        return optimum(self, 1)

    def gist(self, context: Self) -> Self:
        """A simpler relation that agrees with this one wherever `context` holds.

        Exact: O(rows n) emptiness tests; it never has more constraints than this.
        """
        from .gist import gist

        return gist(self, context)

    def coalesce(self) -> Self:
        """The same points in fewer conjuncts where two of them make one.

        Exact; O(m^2) hulls and subtractions a round.
        """
        from .coalesce import coalesce

        return coalesce(self)

    def count(self, **params: int) -> int:
        """The number of integer points, with the parameters given.

        Exact. Boxes and strides cost nothing per point; at worst all but one dimension are enumerated.

        Raises
        ------
        Unbounded : a dimension is unbounded, or a parameter has no value.
        """
        from .count import count

        return count(self, params)

    def points(self, **params: int) -> Iterator[tuple[int, ...]]:
        """The integer points in lexicographic order, with the parameters given; inputs before outputs.

        Exact; an emptiness test per prefix of a point. Raises as `count` does.
        """
        from .count import points

        return points(self, params)

    def sample(self) -> Self:
        """One point, as a set or map that holds just it; empty when there is none. Exact, one search.

        >>> from polyvolta.sets import Set
        >>> print(Set("{ [x, y] : 3x + 5y = 1 and 0 <= x < 9 }").sample())
        { [2, -1] }
        """
        for space, c in self._live:
            point = cj.sample(c)
            rows = [(-v, *(int(k == d) for k in range(c.n))) for d, v in enumerate(point)]
            return self._of(self.params, [(space, (cj.normalise(c.n, (), rows, ()),))])
        return self._of(self.params, [(s, ()) for s, _ in self.parts])


def conjoin_all(left: Iterable[Conjunct], right: Iterable[Conjunct]) -> tuple[Conjunct, ...]:
    """The conjunctions of every piece with every piece; empty ones are dropped where there are several."""
    left, right = tuple(left), tuple(right)
    found = (cj.conjoin(a, b) for a in left for b in right)
    found = [c for c in found if c is not None]
    if len(left) * len(right) > 1:
        found = [c for c in found if not c.is_empty]
    return tuple(found)
