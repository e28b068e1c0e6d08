"""`Set` and `Map`: finite unions of conjuncts, in one or several spaces, over named parameters.

Both are the same thing, a relation; a set merely has no input tuple. A relation is immutable: every method
returns a new one. Operands are aligned on the union of their parameters first, and dimension names never
matter for what an operation means, only tuple names and arities do. `==` compares structure, which is cheap;
`is_equal` compares points, which is the mathematics.

Costs are stated in conjuncts (m and n for the two operands); what happens per conjunct is in `conjunct`,
`project`, `integer` and `lexopt`, which also hold the exactness arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Self

from . import conjunct as cj
from . import project as pj
from .conjunct import Conjunct
from .errors import NotAFunction, SpaceMismatch, UnknownName, nearest
from .space import Space, Tuple, distinct, position, renamed

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
        """Same parameters, spaces and normalised pieces: cheap, sufficient for equality of points, not necessary."""
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
        return self._of(
            self.params, [(s, tuple(d for d in map(f, cs) if d is not None)) for s, cs in self.parts]
        )

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
            raise SpaceMismatch(
                f"{what} needs two {type(self).__name__}s, not a {type(self).__name__} and a {type(other).__name__}",
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
            parts.append((space, _conjoin_all(cs, found)))
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

    __or__, __and__, __sub__ = union, intersect, subtract

    @property
    def _live(self) -> Iterator[tuple[Space, Conjunct]]:
        return ((s, c) for s, cs in self.parts for c in cs if not c.is_empty)

    def is_empty(self) -> bool:
        """Whether there is no integer point for any parameter values. Exact.

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

    def is_disjoint(self, other: Self) -> bool:
        """Whether no point is in both."""
        return self.intersect(other).is_empty()

    def without_empty(self) -> Self:
        """Without conjuncts that hold no integer point."""
        return self._map_conjuncts(lambda c: None if c.is_empty else c)

    # ---- parameters

    def params_set(self) -> Set:
        """The parameter values for which there is a point, as a set without dimensions."""
        n = len(self.params)
        out = []
        for _, cs in self.parts:
            out += [pj.project(c, tuple(range(n, c.n))) for c in cs]
        return Set._of(self.params, [(Space(None, Tuple(None, ())), tuple(c for c in out if c is not None))])

    def intersect_params(self, context: Set) -> Self:
        """The points for parameter values in `context`, a set without dimensions."""
        if any(s.dims for s, _ in context.parts):
            raise SpaceMismatch("a context has no dimensions", where=str(context), hint='write "[N] -> { : N > 0 }"')
        a, b = self._aligned(context)
        knives = [c for _, cs in b.parts for c in cs]
        parts = []
        for space, cs in a.parts:
            wide = [cj.reindex(k, len(a.params) + len(space.dims), tuple(range(len(a.params)))) for k in knives]
            parts.append((space, _conjoin_all(cs, wide)))
        return a._of(a.params, parts)

    def fix(self, **values: int) -> Self:
        """The slice at the given values of parameters or dimensions, which stay in place."""
        out = self
        for name, value in values.items():
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
            parts.append((space, _conjoin_all(cs, [knife])))
        if not found:
            known = [*self.params, *(d for s, _ in self.parts for d in s.dims)]
            raise UnknownName(f"no parameter or dimension is called {name!r}", where=str(self), hint=nearest(name, known))
        return self._of(self.params, parts)

    def known_divs(self) -> Self:
        """The same points with every existential written as a floor; exact, may split pieces."""
        return self._of(
            self.params, [(s, tuple(d for c in cs for d in pj.with_known_divs(c))) for s, cs in self.parts]
        )

    # ---- projection

    def project_out(self, *dims: str | int) -> Self:
        """Forget some dimensions: a point is in the result when one above it is in this. Exact over the integers.

        >>> from polyvolta.sets import Set
        >>> print(Set("{ [i, j] : i = 2j and 0 <= j < 5 }").project_out("j"))
        { [i] : i mod 2 = 0 and 0 <= i <= 8 }
        """
        space = self.space
        gone = {position(d, space.dims, str(space)) for d in dims}
        n_in = space.n_in
        out = renamed(space.out, [d for k, d in enumerate(space.out.dims) if k + n_in not in gone])
        inp = space.inp and renamed(space.inp, [d for k, d in enumerate(space.inp.dims) if k not in gone])
        drop = tuple(sorted(len(self.params) + k for k in gone))
        cs = (pj.project(c, drop) for c in self.parts[0][1])
        return self._of(self.params, [(Space(inp, out), tuple(c for c in cs if c is not None))])

    def project_out_params(self, *names: str) -> Self:
        """Forget some parameters, in every space."""
        drop = tuple(sorted(position(p, self.params, "parameters " + ", ".join(self.params)) for p in names))
        params = tuple(p for k, p in enumerate(self.params) if k not in drop)
        parts = []
        for s, cs in self.parts:
            done = (pj.project(c, drop) for c in cs)
            parts.append((s, tuple(c for c in done if c is not None)))
        return self._of(params, parts)

    # ---- optimisation, simplification, counting: one module each

    def lexmin(self) -> Self:
        """The lexicographically smallest point (of each image, for a map), parametric and exact."""
        from .lexrel import optimum

        return optimum(self, -1)

    def lexmax(self) -> Self:
        """The lexicographically largest point (of each image, for a map), parametric and exact."""
        from .lexrel import optimum

        return optimum(self, 1)

    def gist(self, context: Self) -> Self:
        """A simpler relation that agrees with this one wherever `context` holds."""
        from .gist import gist

        return gist(self, context)

    def coalesce(self) -> Self:
        """The same points in fewer conjuncts where two of them make one."""
        from .coalesce import coalesce

        return coalesce(self)

    def count(self, **params: int) -> int:
        """The number of integer points, with the parameters given."""
        from .count import count

        return count(self, params)

    def points(self, **params: int) -> Iterator[tuple[int, ...]]:
        """The integer points in lexicographic order, with the parameters given; inputs before outputs."""
        from .count import points

        return points(self, params)

    def sample(self) -> Self:
        """One point, as a set or map that holds just it; empty when there is none."""
        for space, c in self._live:
            point = cj.sample(c)
            rows = [(-v, *(int(k == d) for k in range(c.n))) for d, v in enumerate(point)]
            return self._of(self.params, [(space, (cj.normalise(c.n, (), rows, ()),))])
        return self._of(self.params, [(s, ()) for s, _ in self.parts])


def _conjoin_all(left: Iterable[Conjunct], right: Iterable[Conjunct]) -> tuple[Conjunct, ...]:
    left, right = tuple(left), tuple(right)
    found = (cj.conjoin(a, b) for a in left for b in right)
    found = [c for c in found if c is not None]
    if len(left) * len(right) > 1:
        found = [c for c in found if not c.is_empty]
    return tuple(found)


class Set(Relation):
    """A set of integer points, from isl's notation.

    >>> S = Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j < i }")
    >>> S.count(N=4)
    6
    """

    __slots__ = ()
    _is_map = False

    def apply(self, relation: Map) -> Set:
        """The image under a map; O(m n) projections.

        >>> print(Set("{ S[i] : 0 <= i < 70 }").apply(Map("{ S[i] -> [floor(i/32)] }")))
        { [i0] : 0 <= i0 <= 2 }
        """
        return relation.intersect_domain(self).range()

    def identity(self) -> Map:
        """The map from each point to itself."""
        parts = []
        for space, cs in self.parts:
            n_par, n = len(self.params), len(space.dims)
            width = n_par + 2 * n
            same = [(0, *[(k == n_par + d) - (k == n_par + n + d) for k in range(width)]) for d in range(n)]
            equal = cj.normalise(width, (), same, ())
            wide = (cj.reindex(c, width, tuple(range(n_par + n))) for c in cs)
            out = renamed(space.out, [d + "'" for d in space.out.dims])
            parts.append((Space(space.out, out), _conjoin_all(wide, [equal])))
        return Map._of(self.params, parts)

    def rename(self, name: str | None) -> Set:
        """The same points in a tuple of another name."""
        space = self.space
        return Set._of(self.params, [(Space(None, Tuple(name, space.out.dims, space.out.inner)), self.parts[0][1])])


class Map(Relation):
    """A relation between integer points, from isl's notation.

    >>> T = Map("{ S[i, j] -> [floor(i/32), j mod 8] }")
    >>> T.is_single_valued()
    True
    """

    __slots__ = ()
    _is_map = True

    def _side(self, keep_out: bool) -> Set:
        parts = []
        n_par = len(self.params)
        for space, cs in self.parts:
            n_in = space.n_in
            drop = range(n_par, n_par + n_in) if keep_out else range(n_par + n_in, n_par + len(space.dims))
            done = (pj.project(c, tuple(drop)) for c in cs)
            tup = space.out if keep_out else space.inp
            tup = renamed(tup, distinct(tup.dims, self.params))
            parts.append((Space(None, tup), tuple(c for c in done if c is not None)))
        return Set._of(self.params, parts)

    def domain(self) -> Set:
        """The inputs that are related to something. Exact."""
        return self._side(keep_out=False)

    def range(self) -> Set:
        """The outputs that something is related to. Exact."""
        return self._side(keep_out=True)

    def reverse(self) -> Map:
        """Inputs and outputs swapped. Linear."""
        parts = []
        n_par = len(self.params)
        for space, cs in self.parts:
            n_in, n_out = space.n_in, space.n_out
            places = (*range(n_par), *range(n_par + n_out, n_par + n_out + n_in), *range(n_par, n_par + n_out))
            swapped = tuple(cj.reindex(c, c.n, places) for c in cs)
            parts.append((_spaced(space.out, space.inp, self.params), swapped))
        return Map._of(self.params, parts)

    def _restrict(self, sets: Set, on_input: bool) -> Map:
        if not isinstance(sets, Set):
            raise SpaceMismatch("a restriction needs a Set", where=str(sets))
        a, b = self._aligned(sets)
        n_par = len(a.params)
        parts = []
        for space, cs in a.parts:
            tup = space.inp if on_input else space.out
            first = n_par if on_input else n_par + space.n_in
            places = (*range(n_par), *range(first, first + len(tup.dims)))
            found = b._find((None, tup.key))
            wide = [cj.reindex(c, n_par + len(space.dims), places) for c in found]
            parts.append((space, _conjoin_all(cs, wide)))
        return a._of(a.params, [p for p in parts if p[1]] or parts[:1])

    def intersect_domain(self, sets: Set) -> Map:
        """The pairs whose input is in the set."""
        return self._restrict(sets, True)

    def intersect_range(self, sets: Set) -> Map:
        """The pairs whose output is in the set."""
        return self._restrict(sets, False)

    def apply_range(self, other: Map) -> Map:
        """First this, then the other: { x -> z : x -> y here and y -> z there }. O(m n) projections; exact.

        Raises
        ------
        SpaceMismatch : no range tuple of this is a domain tuple of the other.
        """
        self._check_kind(other, "a composition")
        a, b = self._aligned(other)
        n_par = len(a.params)
        parts = []
        for left, cs in a.parts:
            for right, ds in b.parts:
                if left.out.key != right.inp.key:
                    continue
                n_in, n_mid, n_out = left.n_in, left.n_out, right.n_out
                width = n_par + n_in + n_out + n_mid
                mid = tuple(range(n_par + n_in + n_out, width))
                first = (*range(n_par + n_in), *mid)
                second = (*range(n_par), *mid, *range(n_par + n_in, n_par + n_in + n_out))
                both = _conjoin_all((cj.reindex(c, width, first) for c in cs), (cj.reindex(d, width, second) for d in ds))
                done = (pj.project(c, mid) for c in both)
                parts.append((_spaced(left.inp, right.out, a.params), tuple(c for c in done if c is not None)))
        if not parts and a.parts and b.parts:
            raise SpaceMismatch("nothing of the first map's range is in the second map's domain", where=f"{self}\n{other}")
        return Map._of(a.params, parts)

    def apply_domain(self, other: Map) -> Map:
        """Replace inputs by their images: { z -> y : x -> y here and x -> z there }."""
        return self.reverse().apply_range(other).reverse()

    def __call__(self, sets: Set) -> Set:
        return sets.apply(self)

    def is_single_valued(self) -> bool:
        """Whether no input has two outputs. Exact: this^-1 . this must lie in the identity."""
        if all(self._solved(c, s) for s, cs in self.parts if len(cs) == 1 for c in cs) and all(
            len(cs) <= 1 for _, cs in self.parts
        ) and len({s.inp.key for s, _ in self.parts}) == len(self.parts):
            return True
        pairs = self.reverse().apply_range(self)
        same = self.range().identity()
        return pairs.is_subset(same)

    def _solved(self, c: Conjunct, space: Space) -> bool:
        from .lexrel import solved_outputs

        return solved_outputs(c, len(self.params), space) is not None

    def is_injective(self) -> bool:
        """Whether no output has two inputs."""
        return self.reverse().is_single_valued()

    def is_bijective(self) -> bool:
        """Whether inputs and outputs are in one-to-one correspondence."""
        return self.is_single_valued() and self.is_injective()

    def deltas(self) -> Set:
        """{ y - x } over all pairs x -> y of one space."""
        space = self.space
        if space.n_in != space.n_out:
            raise SpaceMismatch("differences need equal arities", where=str(space))
        n_par, n = len(self.params), space.n_in
        width = n_par + 3 * n
        rows = []
        for d in range(n):
            row = [0] * (1 + width)
            row[1 + n_par + d], row[1 + n_par + n + d], row[1 + n_par + 2 * n + d] = 1, 1, -1
            rows.append(tuple(row))
        knife = cj.normalise(width, (), rows, ())
        places = (*range(n_par), *range(n_par + n, width))
        both = _conjoin_all((cj.reindex(c, width, places) for c in self.parts[0][1]), [knife])
        done = (pj.project(c, tuple(range(n_par + n, width))) for c in both)
        out = Tuple(None, distinct((f"d{d}" for d in range(n)), self.params))
        return Set._of(self.params, [(Space(None, out), tuple(c for c in done if c is not None))])

    def wrap(self) -> Set:
        """The pairs as points of the wrapped space `[in -> out]`."""
        parts = [(Space(None, Tuple(None, s.dims, s)), cs) for s, cs in self.parts]
        return Set._of(self.params, parts)

    def as_affs(self) -> tuple:
        """The outputs as quasi-affine expressions (`Aff`) of the inputs and parameters.

        Raises
        ------
        NotAFunction : some input has several outputs, or no single expression gives them.
        """
        from .lexrel import output_affs

        return output_affs(self)


def _spaced(inp: Tuple, out: Tuple, params: tuple[str, ...]) -> Space:
    """A map space whose dimension names are distinct."""
    names = distinct((*inp.dims, *out.dims), params)
    return Space(renamed(inp, names[: len(inp.dims)]), renamed(out, names[len(inp.dims) :]))


def not_a_function(relation: Map, why: str) -> NotAFunction:
    return NotAFunction(why, where=str(relation), hint="use lexmin() to choose one output")
