"""Restrictions of one tuple of a wrapped pair: the points whose factor is in a set or map.

    { [S[i] -> A[j]] -> B[k] }  with  { S[i] : i > 0 }          intersect_domain_wrapped_domain
                                with  { S[i] -> B[k] : i < k }  intersect_domain_factor_domain
                                with  { A[j] -> B[k] : j < k }  intersect_domain_factor_range

What is restricted keeps its tuples. The names and their meaning are isl's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ..conjuncts import conjunct as cj
from ..errors import SpaceMismatch
from ..values.shape import all_spaces, need_map, need_set, single
from ..values.space import Space, Tuple
from .algebra import conjoin_all
from .wrapping import inside

if TYPE_CHECKING:
    from ..values.map import Map
    from ..values.relation import Relation
    from ..values.set import Set

R = TypeVar("R", bound="Relation")
Half = tuple[Tuple, range]  # a tuple within a space, and where its dimensions are
Pick = Callable[[Space, str], tuple[Half | None, Half]]  # the factor's inputs and outputs in a space


def intersect_factor_domain(self: Set, factor: Set) -> Set:
    """The points [x -> y] with x in the set `factor`; O(m n) conjunctions, exact.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [A[i] -> B[j]] : i < j }").intersect_factor_domain(Set("{ A[i] : i > 3 }")))
    { [A[i] -> B[j]] : i >= 4 and i < j }

    Raises
    ------
    SpaceMismatch : the only tuple is not wrapped, or its part is in another space than the only one of the factor.
    """
    return _restricted(self, need_set(factor, "this factor"), lambda s, what: (None, _half(s, s.out, 0, 0, what)))


def intersect_factor_range(self: Set, factor: Set) -> Set:
    """The points [x -> y] with y in the set `factor`; see `intersect_factor_domain`.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [A[i] -> B[j]] }").intersect_factor_range(Set("{ B[j] : j > 0 }")))
    { [A[i] -> B[j]] : j >= 1 }
    """
    return _restricted(self, need_set(factor, "this factor"), lambda s, what: (None, _half(s, s.out, 0, 1, what)))


def intersect_domain_factor_domain(self: Map, factor: Map) -> Map:
    """The pairs [x -> y] -> z with x -> z in `factor`; see `intersect_factor_domain`.

    >>> from polyvolta.sets import Map
    >>> pairs = Map("{ [A[i] -> B[j]] -> C[k] }")
    >>> print(pairs.intersect_domain_factor_domain(Map("{ A[i] -> C[i + 1] }")))
    { [A[i] -> B[j]] -> C[i + 1] }
    """
    return _restricted(self, need_map(factor, "this factor"), lambda s, what: (_of_input(s, 0, what), _output(s)))


def intersect_domain_factor_range(self: Map, factor: Map) -> Map:
    """The pairs [x -> y] -> z with y -> z in `factor`; see `intersect_factor_domain`.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ [A[i] -> B[j]] -> C[k] }").intersect_domain_factor_range(Map("{ B[j] -> C[k] : j < k }")))
    { [A[i] -> B[j]] -> C[k] : j < k }
    """
    return _restricted(self, need_map(factor, "this factor"), lambda s, what: (_of_input(s, 1, what), _output(s)))


def intersect_range_factor_domain(self: Map, factor: Map) -> Map:
    """The pairs x -> [y -> z] with x -> y in `factor`; see `intersect_factor_domain`.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ A[i] -> [B[j] -> C[k]] }").intersect_range_factor_domain(Map("{ A[i] -> B[j] : i < j }")))
    { A[i] -> [B[j] -> C[k]] : i < j }
    """
    return _restricted(self, need_map(factor, "this factor"), lambda s, what: (_input(s), _of_output(s, 0, what)))


def intersect_range_factor_range(self: Map, factor: Map) -> Map:
    """The pairs x -> [y -> z] with x -> z in `factor`; see `intersect_factor_domain`.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ A[i] -> [B[j] -> C[k]] }").intersect_range_factor_range(Map("{ A[i] -> C[k] : i < k }")))
    { A[i] -> [B[j] -> C[k]] : i < k }
    """
    return _restricted(self, need_map(factor, "this factor"), lambda s, what: (_input(s), _of_output(s, 1, what)))


def intersect_domain_wrapped_domain(self: Map, sets: Set) -> Map:
    """The pairs [x -> y] -> z with x in a set; see `intersect_factor_domain`.

    >>> from polyvolta.sets import Map, Set
    >>> tagged = Map("{ [S[i] -> R[]] -> A[i]; [T[i] -> R[]] -> A[i] }")
    >>> print(tagged.intersect_domain_wrapped_domain(Set("{ S[i] : 0 <= i < 4 }")))
    { [S[i] -> R[]] -> A[i] : 0 <= i <= 3 }
    """
    return _restricted(self, need_set(sets, "a restriction"), lambda s, what: (None, _of_input(s, 0, what)))


def intersect_range_wrapped_domain(self: Map, sets: Set) -> Map:
    """The pairs x -> [y -> z] with y in a set; see `intersect_factor_domain`.

    `sets` is a set of the tuples that the wrapped range begins with.

    >>> from polyvolta.sets import Map, Set
    >>> print(Map("{ A[i] -> [B[j] -> C[k]] }").intersect_range_wrapped_domain(Set("{ B[j] : j > 0 }")))
    { A[i] -> [B[j] -> C[k]] : j >= 1 }
    """
    return _restricted(self, need_set(sets, "a restriction"), lambda s, what: (None, _of_output(s, 0, what)))


def _input(space: Space) -> Half:
    assert space.inp is not None
    return space.inp, range(space.n_in)


def _output(space: Space) -> Half:
    return space.out, range(space.n_in, len(space.dims))


def _of_input(space: Space, side: int, what: str) -> Half:
    assert space.inp is not None
    return _half(space, space.inp, 0, side, what)


def _of_output(space: Space, side: int, what: str) -> Half:
    return _half(space, space.out, space.n_in, side, what)


def _half(space: Space, tup: Tuple, first: int, side: int, what: str) -> Half:
    """The first or second tuple within a wrapped one whose dimensions begin at `first`."""
    inner = inside(tup, space, what)
    assert inner.inp is not None
    cut = first + inner.n_in
    return (inner.out, range(cut, first + len(tup.dims))) if side else (inner.inp, range(first, cut))


def _restricted(self: R, factor: Relation, pick: Pick) -> R:
    """The points whose factor is in a relation; of several tuples those that have one there."""
    what = "a restriction of a factor"
    a, b = self._aligned(factor)
    n_par = len(a.param_names)
    parts = []
    for space, cs in a.parts:
        try:
            left, right = pick(space, what)
        except SpaceMismatch:
            if single(a):
                raise
            continue
        key = left[0].key if left else None, right[0].key
        at = (*range(n_par), *[n_par + k for k in (*(left[1] if left else ()), *right[1])])
        n = n_par + len(space.dims)
        parts.append((space, conjoin_all(cs, [cj.reindex(c, n, at) for c in b._find(key)])))
        if single(a, b) and b.parts[0][0].key != key:
            here = f"{left[0]} -> {right[0]}" if left else right[0]
            raise SpaceMismatch(
                "the factor is in another space", where=f"factor of this: {here}\nfactor: {all_spaces(factor)}"
            )
    return a._of(a.param_names, [p for p in parts if p[1]] or parts[:1])
