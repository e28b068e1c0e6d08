"""Wrapping: a pair of tuples as one tuple, and what becomes of a wrapped tuple.

A pair `x -> y` is a point of the wrapped space `[x -> y]`. `wrap` and `unwrap` go between a map and the set of its
pairs, `curry` and `uncurry` between a map of pairs and a map into maps, `zip` exchanges the inner tuples of a map
between pairs, and factors leave one of them. Only tuples change, so all of that is linear, projections aside.

Of a relation of several tuples those that are wrapped are meant, and the others are left out, as isl's unions do; a
single tuple that is not wrapped is a mistake. The names and their meaning are isl's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ..conjuncts import conjunct as cj
from ..errors import SpaceMismatch
from ..values.shape import linked, pair, rearranged, single, spaced
from ..values.space import Space, Tuple
from .algebra import conjoin_all

if TYPE_CHECKING:
    from ..values.map import Map
    from ..values.relation import Relation
    from ..values.set import Set

R = TypeVar("R", bound="Relation")
Change = Callable[[Space], tuple]


def wrap(self: Map) -> Set:
    """The pairs as points of the wrapped space `[in -> out]`; linear.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ S[i] -> A[j] : i <= j }").wrap())
    { [S[i] -> A[j]] : i <= j }
    """
    from ..values.set import Set

    return rearranged(Set, self, lambda s: (None, pair(s.source, s.out), range(len(s.dims))))


def unwrap(self: Set) -> Map:
    """The map whose pairs are the points of this set of a wrapped space; linear.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [S[i] -> A[j]] : j = i + 1 }").unwrap())
    { S[i] -> A[i + 1] }

    Raises
    ------
    SpaceMismatch : the only tuple is not wrapped.
    """
    from ..values.map import Map

    def change(s: Space) -> tuple:
        inner = inside(s.out, s, "unwrap")
        return inner.inp, inner.out, range(s.n_out)

    return _changed(Map, self, change)


def inside(tup: Tuple, space: Space, what: str) -> Space:
    """The relation wrapped in a tuple of the space."""
    if tup.inner is None:
        raise SpaceMismatch(f"{what} needs a wrapped tuple such as [A[i] -> B[j]], not {tup}", where=str(space))
    return tup.inner


def _changed(kind: type[R], self: Relation, change: Change) -> R:
    """The parts of a relation in other tuples; of several parts those that have the wrapped tuples for it."""
    if not single(self):
        self = self._of(self.param_names, [p for p in self.parts if _fits(p[0], change)])
    return rearranged(kind, self, change)


def _fits(space: Space, change: Change) -> bool:
    try:
        change(space)
    except SpaceMismatch:
        return False
    return True


def is_wrapping(self: Set) -> bool:
    """Whether every tuple of the set is a wrapped relation `[A -> B]`.

    A set without a tuple says True.

    >>> from polyvolta.sets import Set
    >>> Set("{ [A[i] -> B[j]] }").is_wrapping(), Set("{ A[i] }").is_wrapping()
    (True, False)
    """
    return all(s.out.inner is not None for s, _ in self.parts)


def domain_is_wrapping(self: Map) -> bool:
    """Whether every input tuple is a wrapped relation `[A -> B]`.

    A map without a tuple says True.

    >>> from polyvolta.sets import Map
    >>> Map("{ [A[i] -> B[j]] -> C[k] }").domain_is_wrapping(), Map("{ A[i] -> C[k] }").domain_is_wrapping()
    (True, False)
    """
    return all(s.source.inner is not None for s, _ in self.parts)


def range_is_wrapping(self: Map) -> bool:
    """Whether every output tuple is a wrapped relation `[A -> B]`.

    A map without a tuple says True.

    >>> from polyvolta.sets import Map
    >>> Map("{ A[i] -> [B[j] -> C[k]] }").range_is_wrapping(), Map("{ A[i] -> C[k] }").range_is_wrapping()
    (True, False)
    """
    return all(s.out.inner is not None for s, _ in self.parts)


def curry(self: Map) -> Map:
    """[A -> B] -> C as A -> [B -> C]; linear.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ [A[i] -> B[j]] -> C[i + j] }").curry())
    { A[i] -> [B[j] -> C[i + j]] }

    Raises
    ------
    SpaceMismatch : the only input tuple is not wrapped.
    """

    def change(s: Space) -> tuple:
        inner = inside(s.source, s, "curry")
        return inner.inp, pair(inner.out, s.out), range(len(s.dims))

    return _changed(type(self), self, change)


def uncurry(self: Map) -> Map:
    """A -> [B -> C] as [A -> B] -> C; linear. See `curry`.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ A[i] -> [B[j] -> C[i + j]] }").uncurry())
    { [A[i] -> B[j]] -> C[i + j] }
    """

    def change(s: Space) -> tuple:
        inner = inside(s.out, s, "uncurry")
        return pair(s.source, inner.source), inner.out, range(len(s.dims))

    return _changed(type(self), self, change)


def range_curry(self: Map) -> Map:
    """A -> [[B -> C] -> D] as A -> [B -> [C -> D]]; linear. See `curry`.

    A name of the whole output tuple stays, as in isl.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ A[] -> [[B[i] -> C[j]] -> D[k]] : i <= k }").range_curry())
    { A[] -> [B[i] -> [C[j] -> D[k]]] : i <= k }
    """

    def change(s: Space) -> tuple:
        outer = inside(s.out, s, "range_curry")
        inner = inside(outer.source, s, "range_curry")
        return s.inp, pair(inner.source, pair(inner.out, outer.out), s.out.name), range(len(s.dims))

    return _changed(type(self), self, change)


def zip_(self: Map) -> Map:
    """[A -> B] -> [C -> D] as [A -> C] -> [B -> D]; linear.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ [A[i] -> B[j]] -> [C[k] -> D[2j]] : i <= k }").zip())
    { [A[i] -> C[k]] -> [B[j] -> D[2*j]] : i <= k }

    Raises
    ------
    SpaceMismatch : the only tuple is not wrapped.
    """

    def change(s: Space) -> tuple:
        left, right = inside(s.source, s, "zip"), inside(s.out, s, "zip")
        a, b, c = left.n_in, left.n_in + left.n_out, len(s.source.dims) + right.n_in
        order = (*range(a), *range(b, c), *range(a, b), *range(c, len(s.dims)))
        return pair(left.source, right.source), pair(left.out, right.out), order

    return _changed(type(self), self, change)


def domain_reverse(self: Map) -> Map:
    """[A -> B] -> C as [B -> A] -> C; linear. A name of the wrapped tuple stays where A and B are one space.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ N[A[i] -> A[j]] -> C[] : i <= j }").domain_reverse())
    { N[A[j] -> A[i]] -> C[] : i <= j }

    Raises
    ------
    SpaceMismatch : the only input tuple is not wrapped.
    """

    def change(s: Space) -> tuple:
        turned, order = _turned(s.source, s, "domain_reverse")
        return turned, s.out, (*order, *range(s.n_in, len(s.dims)))

    return _changed(type(self), self, change)


def range_reverse(self: Map) -> Map:
    """A -> [B -> C] as A -> [C -> B]; linear. See `domain_reverse`.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ A[i] -> [B[j] -> C[k]] : j <= k }").range_reverse())
    { A[i] -> [C[k] -> B[j]] : j <= k }

    Raises
    ------
    SpaceMismatch : the only output tuple is not wrapped.
    """

    def change(s: Space) -> tuple:
        turned, order = _turned(s.out, s, "range_reverse")
        return s.inp, turned, (*range(s.n_in), *[s.n_in + k for k in order])

    return _changed(type(self), self, change)


def wrapped_reverse(self: Set) -> Set:
    """[A -> B] as [B -> A]; linear. See `Map.domain_reverse`.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [S[i] -> A[j]] : i <= j }").wrapped_reverse())
    { [A[j] -> S[i]] : i <= j }

    Raises
    ------
    SpaceMismatch : the only tuple is not wrapped.
    """
    return _changed(type(self), self, lambda s: (None, *_turned(s.out, s, "wrapped_reverse")))


def _turned(tup: Tuple, space: Space, what: str) -> tuple[Tuple, tuple[int, ...]]:
    """The wrapped tuple [A -> B] as [B -> A], and where its dimensions were."""
    inner = inside(tup, space, what)
    name = tup.name if inner.source.key == inner.out.key else None
    order = (*range(inner.n_in, len(inner.dims)), *range(inner.n_in))
    return pair(inner.out, inner.source, name), order


# ---- from pairs to their parts


def domain_map(self: Map) -> Map:
    """{ [x -> y] -> x } over all pairs; linear.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ S[i] -> A[j] : i <= j }").domain_map())
    { [S[i] -> A[j]] -> S[i] : i <= j }
    """
    return _part_map(self, lambda s: (s.source, 0))


def range_map(self: Map) -> Map:
    """{ [x -> y] -> y } over all pairs; linear. See `domain_map`.


    >>> from polyvolta.sets import Map
    >>> print(Map("{ S[i] -> A[j] : i <= j }").range_map())
    { [S[i] -> A[j]] -> A[j] : i <= j }
    """
    return _part_map(self, lambda s: (s.out, s.n_in))


def _part_map(self: Map, pick: Callable[[Space], tuple[Tuple, int]]) -> Map:
    n_par = len(self.param_names)
    parts = []
    for space, cs in self.parts:
        out, first = pick(space)
        n, more = len(space.dims), len(out.dims)
        width = n_par + n + more
        equal = linked(width, [(n_par + first + d, n_par + n + d) for d in range(more)])
        wide = (cj.reindex(c, width, tuple(range(n_par + n))) for c in cs)
        parts.append((spaced(pair(space.source, space.out), out, self.param_names), conjoin_all(wide, [equal])))
    return self._of(self.param_names, parts)


def factor_domain(self: Map) -> Map:
    """[A -> B] -> [C -> D] to A -> C; exact, m projections.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ [A[i] -> B[j]] -> [C[i + 1] -> D[j]] : 0 <= j < i }").factor_domain())
    { A[i] -> C[i + 1] : i >= 1 }

    Raises
    ------
    SpaceMismatch : the only tuple is not wrapped.
    """
    return _factor(self, "first", "first", "factor_domain")


def factor_range(self: Map) -> Map:
    """[A -> B] -> [C -> D] to B -> D; see `factor_domain`.

    `SpaceMismatch` is raised where a tuple is not wrapped.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ [A[i] -> B[j]] -> [C[i] -> D[j + 1]] }").factor_range())
    { B[j] -> D[j + 1] }
    """
    return _factor(self, "second", "second", "factor_range")


def domain_factor_domain(self: Map) -> Map:
    """[A -> B] -> C to A -> C; see `factor_domain`.

    `SpaceMismatch` is raised where the only input tuple is not wrapped.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ [A[i] -> B[j]] -> C[i + j] : 0 <= j < 4 }").domain_factor_domain())
    { A[i] -> C[i0] : i <= i0 <= i + 3 }
    """
    return _factor(self, "first", "all", "domain_factor_domain")


def domain_factor_range(self: Map) -> Map:
    """[A -> B] -> C to B -> C; see `factor_domain`.

    `SpaceMismatch` is raised where the only input tuple is not wrapped.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ [A[i] -> B[j]] -> C[i + j] : 0 <= i < 4 }").domain_factor_range())
    { B[j] -> C[i0] : j <= i0 <= j + 3 }
    """
    return _factor(self, "second", "all", "domain_factor_range")


def range_factor_domain(self: Map) -> Map:
    """A -> [B -> C] to A -> B; see `factor_domain`.

    `SpaceMismatch` is raised where the only output tuple is not wrapped.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ A[i] -> [B[i + 1] -> C[2i]] }").range_factor_domain())
    { A[i] -> B[i + 1] }
    """
    return _factor(self, "all", "first", "range_factor_domain")


def range_factor_range(self: Map) -> Map:
    """A -> [B -> C] to A -> C; see `factor_domain`.

    `SpaceMismatch` is raised where the only output tuple is not wrapped.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ A[i] -> [B[i + 1] -> C[2i]] }").range_factor_range())
    { A[i] -> C[2*i] }
    """
    return _factor(self, "all", "second", "range_factor_range")


def _factor(self: Map, of_input: str, of_output: str, what: str) -> Map:
    def chosen(tup: Tuple, which: str, first: int, s: Space) -> tuple[Tuple, range]:
        if which == "all":
            return tup, range(first, first + len(tup.dims))
        inner = inside(tup, s, what)
        cut, end = first + inner.n_in, first + len(tup.dims)
        return (inner.source, range(first, cut)) if which == "first" else (inner.out, range(cut, end))

    def change(s: Space) -> tuple:
        inp, left = chosen(s.source, of_input, 0, s)
        out, right = chosen(s.out, of_output, s.n_in, s)
        return inp, out, (*left, *right)

    return _changed(type(self), self, change)
