"""Products of relations: the points of two side by side, as pairs.

A pair `x -> y` is a point of the wrapped space `[x -> y]` (module `wrapping`). Products pair two relations:

    product         (A -> B), (C -> D)    [A -> C] -> [B -> D]        sets: A, B    [A -> B]
    domain_product  (A -> B), (C -> B)    [A -> C] -> B
    range_product   (A -> B), (A -> C)    A -> [B -> C]

and their flat versions write anonymous tuples with the dimensions of both. Factors are the way back. The names and
their meaning are isl's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ..conjuncts import conjunct as cj
from ..errors import SpaceMismatch
from ..values.shape import all_spaces, flat, pair, rearranged, single, spaced
from ..values.space import Tuple
from .algebra import conjoin_all

if TYPE_CHECKING:
    from ..values.map import Map
    from ..values.relation import Relation

R = TypeVar("R", bound="Relation")
Join = Callable[[Tuple, Tuple], Tuple]


# ---- products


def product(self: R, other: R) -> R:
    """Every point of this with every point of the other: [A -> B], for maps [A -> C] -> [B -> D].

    O(m n) conjunctions; exact.

    >>> from polyvolta.sets import Map, Set
    >>> print(Set("{ S[i] : 0 <= i < 4 }").product(Set("{ T[j] : j >= 2 }")))
    { [S[i] -> T[j]] : 0 <= i <= 3 and j >= 2 }
    >>> print(Map("{ A[i] -> B[i] }").product(Map("{ C[k] -> D[2k] }")))
    { [A[i] -> C[k]] -> [B[i] -> D[2*k]] }
    """
    return _combined(self, other, "a product", pair, pair)


def flat_product(self: R, other: R) -> R:
    """The product with flat anonymous tuples; see `product`.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ A[i] -> B[i] }").flat_product(Map("{ C[k] -> D[2k] }")))
    { [i, k] -> [i, 2*k] }
    """
    return _combined(self, other, "a product", flat, flat)


def domain_product(self: Map, other: Map) -> Map:
    """{ [a -> c] -> b : a -> b here and c -> b there }; O(m n) conjunctions, exact.

    Raises
    ------
    SpaceMismatch : the ranges have no space in common.

    `other` is a map of the same range; where they lead to different spaces, nothing is left.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ A[i] -> C[i] }").domain_product(Map("{ B[j] -> C[2j] }")))
    { [A[i] -> B[j]] -> C[2*j] : i mod 2 = 0 and j = floor(i/2) }
    """
    return _combined(self, other, "a domain product", pair, None)


def range_product(self: Map, other: Map) -> Map:
    """{ a -> [b -> c] : a -> b here and a -> c there }; O(m n) conjunctions, exact.

    `other` is a map.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ S[i] -> A[i] }").range_product(Map("{ S[i] -> B[i + 1] }")))
    { S[i] -> [A[i] -> B[i + 1]] }

    Raises
    ------
    SpaceMismatch : the domains have no space in common.
    """
    return _combined(self, other, "a range product", None, pair)


def flat_domain_product(self: Map, other: Map) -> Map:
    """{ [a, c] -> b : a -> b here and c -> b there }; see `domain_product`.

    `other` is a map of the same range.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ A[i] -> C[i] }").flat_domain_product(Map("{ B[j] -> C[2j] }")))
    { [i, j] -> C[2*j] : i mod 2 = 0 and j = floor(i/2) }
    """
    return _combined(self, other, "a domain product", flat, None)


def flat_range_product(self: Map, other: Map) -> Map:
    """{ a -> [b, c] : a -> b here and a -> c there }; see `range_product`.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ S[i] -> [floor(i/4)] }").flat_range_product(Map("{ S[i] -> [i mod 4] }")))
    { S[i] -> [floor(i/4), i mod 4] }
    """
    return _combined(self, other, "a range product", None, flat)


def _combined(self: R, other: R, what: str, inputs: Join | None, outputs: Join | None) -> R:
    """Both side by side, each side's tuples joined, or equal and shared where the join is None."""
    self._check_kind(other, what)
    a, b = self._aligned(other)
    n_par = len(a.param_names)
    parts = []
    for left, cs in a.parts:
        for right, ds in b.parts:
            if (inputs is None and left.source.key != right.source.key) or (
                outputs is None and left.out.key != right.out.key
            ):
                continue
            li, lo, ri, ro = left.n_in, left.n_out, right.n_in, right.n_out
            inp = left.inp if inputs is None or left.inp is None else inputs(left.inp, right.source)
            out = left.out if outputs is None else outputs(left.out, right.out)
            n_in = len(inp.dims) if inp else 0
            width = n_par + n_in + len(out.dims)
            at_in, at_out = n_par + li * (inputs is not None), n_par + n_in + lo * (outputs is not None)
            first = (*range(n_par + li), *range(n_par + n_in, n_par + n_in + lo))
            second = (*range(n_par), *range(at_in, at_in + ri), *range(at_out, at_out + ro))
            both = conjoin_all((cj.reindex(c, width, first) for c in cs), (cj.reindex(d, width, second) for d in ds))
            parts.append((spaced(inp, out, a.param_names), both))
    if not parts and single(a, b):
        side = "ranges" if outputs is None else "domains"
        raise SpaceMismatch(
            f"{what} needs {side} in one space", where=f"first: {all_spaces(self)}\nsecond: {all_spaces(other)}"
        )
    return self._of(a.param_names, parts)


# ---- one flat tuple


def flatten(self: R) -> R:
    """Every tuple that wraps another as an anonymous one without inner ones, the dimensions in order; linear.

    A tuple that wraps none stays as it is, as in isl: with its name.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [S[i] -> T[j]] : i <= j }").flatten(), Set("{ S[i] }").flatten())
    { [i, j] : i <= j } { S[i] }
    """
    return rearranged(type(self), self, lambda s: (s.inp and _flattened(s.inp), _flattened(s.out), range(len(s.dims))))


def _flattened(tup: Tuple) -> Tuple:
    return flat(tup) if tup.inner is not None else tup


def flatten_domain(self: Map) -> Map:
    """The input tuples that wrap others as anonymous ones without inner ones; linear. See `flatten`.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ [A[i] -> B[j]] -> C[i + j] }").flatten_domain())
    { [i, j] -> C[i + j] }
    """
    return rearranged(type(self), self, lambda s: (_flattened(s.source), s.out, range(len(s.dims))))


def flatten_range(self: Map) -> Map:
    """The output tuples that wrap others as anonymous ones without inner ones; linear. See `flatten`.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ A[i] -> [B[i] -> C[i + 1]] }").flatten_range())
    { A[i] -> [i, i + 1] }
    """
    return rearranged(type(self), self, lambda s: (s.inp, _flattened(s.out), range(len(s.dims))))
