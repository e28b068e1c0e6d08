"""Products of relations, and wrapping: a pair of tuples as one.

A pair `x -> y` is a point of the wrapped space `[x -> y]`. `wrap` and `unwrap` go between a map and the set of its
pairs, `curry` and `uncurry` between a map of pairs and a map into maps, `zip` exchanges the inner tuples of a map
between pairs. Only tuples change, so all of that is linear. Products pair two relations:

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
from ..values.shape import all_spaces, flat, linked, pair, rearranged, spaced
from ..values.space import Space, Tuple
from .algebra import conjoin_all
from .compose import reverse

if TYPE_CHECKING:
    from ..values.map import Map
    from ..values.relation import Relation
    from ..values.set import Set

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
    """
    return _combined(self, other, "a domain product", pair, None)


def range_product(self: Map, other: Map) -> Map:
    """{ a -> [b -> c] : a -> b here and a -> c there }; O(m n) conjunctions, exact.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ S[i] -> A[i] }").range_product(Map("{ S[i] -> B[i + 1] }")))
    { S[i] -> [A[i] -> B[i + 1]] }

    Raises
    ------
    SpaceMismatch : the domains have no space in common.
    """
    return _combined(self, other, "a range product", None, pair)


def flat_domain_product(self: Map, other: Map) -> Map:
    """{ [a, c] -> b : a -> b here and c -> b there }; see `domain_product`."""
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
            if (inputs is None and left.inp.key != right.inp.key) or (
                outputs is None and left.out.key != right.out.key
            ):
                continue
            li, lo, ri, ro = left.n_in, left.n_out, right.n_in, right.n_out
            inp = left.inp if inputs is None or left.inp is None else inputs(left.inp, right.inp)
            out = left.out if outputs is None else outputs(left.out, right.out)
            n_in = len(inp.dims) if inp else 0
            width = n_par + n_in + len(out.dims)
            at_in, at_out = n_par + li * (inputs is not None), n_par + n_in + lo * (outputs is not None)
            first = (*range(n_par + li), *range(n_par + n_in, n_par + n_in + lo))
            second = (*range(n_par), *range(at_in, at_in + ri), *range(at_out, at_out + ro))
            both = conjoin_all((cj.reindex(c, width, first) for c in cs), (cj.reindex(d, width, second) for d in ds))
            parts.append((spaced(inp, out, a.param_names), both))
    if not parts and a.parts and b.parts:
        side = "ranges" if outputs is None else "domains"
        raise SpaceMismatch(
            f"{what} needs {side} in one space", where=f"first: {all_spaces(self)}\nsecond: {all_spaces(other)}"
        )
    return self._of(a.param_names, parts)


# ---- wrapping


def wrap(self: Map) -> Set:
    """The pairs as points of the wrapped space `[in -> out]`; linear.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ S[i] -> A[j] : i <= j }").wrap())
    { [S[i] -> A[j]] : i <= j }
    """
    from ..values.set import Set

    return rearranged(Set, self, lambda s: (None, pair(s.inp, s.out), range(len(s.dims))))


def unwrap(self: Set) -> Map:
    """The map whose pairs are the points of this set of a wrapped space; linear.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [S[i] -> A[j]] : j = i + 1 }").unwrap())
    { S[i] -> A[i + 1] }

    Raises
    ------
    SpaceMismatch : a tuple is not wrapped.
    """
    from ..values.map import Map

    def change(s: Space) -> tuple:
        inner = _inner(s.out, s, "unwrap")
        return inner.inp, inner.out, range(s.n_out)

    return rearranged(Map, self, change)


def _inner(tup: Tuple, space: Space, what: str) -> Space:
    """The relation wrapped in a tuple of the space."""
    if tup.inner is None:
        raise SpaceMismatch(f"{what} needs a wrapped tuple such as [A[i] -> B[j]], not {tup}", where=str(space))
    return tup.inner


def is_wrapping(self: Set) -> bool:
    """Whether every tuple of the set is a wrapped relation `[A -> B]`."""
    return all(s.out.inner is not None for s, _ in self.parts)


def domain_is_wrapping(self: Map) -> bool:
    """Whether every input tuple is a wrapped relation `[A -> B]`."""
    return all(s.inp.inner is not None for s, _ in self.parts)


def range_is_wrapping(self: Map) -> bool:
    """Whether every output tuple is a wrapped relation `[A -> B]`."""
    return all(s.out.inner is not None for s, _ in self.parts)


def curry(self: Map) -> Map:
    """[A -> B] -> C as A -> [B -> C]; linear.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ [A[i] -> B[j]] -> C[i + j] }").curry())
    { A[i] -> [B[j] -> C[i + j]] }

    Raises
    ------
    SpaceMismatch : an input tuple is not wrapped.
    """

    def change(s: Space) -> tuple:
        inner = _inner(s.inp, s, "curry")
        return inner.inp, pair(inner.out, s.out), range(len(s.dims))

    return rearranged(type(self), self, change)


def uncurry(self: Map) -> Map:
    """A -> [B -> C] as [A -> B] -> C; linear. See `curry`."""

    def change(s: Space) -> tuple:
        inner = _inner(s.out, s, "uncurry")
        return pair(s.inp, inner.inp), inner.out, range(len(s.dims))

    return rearranged(type(self), self, change)


def zip_(self: Map) -> Map:
    """[A -> B] -> [C -> D] as [A -> C] -> [B -> D]; linear.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ [A[i] -> B[j]] -> [C[k] -> D[2j]] : i <= k }").zip())
    { [A[i] -> C[k]] -> [B[j] -> D[2*j]] : i <= k }

    Raises
    ------
    SpaceMismatch : a tuple is not wrapped.
    """

    def change(s: Space) -> tuple:
        left, right = _inner(s.inp, s, "zip"), _inner(s.out, s, "zip")
        a, b, c = left.n_in, left.n_in + left.n_out, len(s.inp.dims) + right.n_in
        order = (*range(a), *range(b, c), *range(a, b), *range(c, len(s.dims)))
        return pair(left.inp, right.inp), pair(left.out, right.out), order

    return rearranged(type(self), self, change)


def domain_reverse(self: Map) -> Map:
    """[A -> B] -> C as [B -> A] -> C; linear.

    Raises
    ------
    SpaceMismatch : an input tuple is not wrapped.
    """

    def change(s: Space) -> tuple:
        inner = _inner(s.inp, s, "domain_reverse")
        order = (*range(inner.n_in, s.n_in), *range(inner.n_in), *range(s.n_in, len(s.dims)))
        return pair(inner.out, inner.inp), s.out, order

    return rearranged(type(self), self, change)


def range_reverse(self: Map) -> Map:
    """A -> [B -> C] as A -> [C -> B]; linear.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ A[i] -> [B[j] -> C[k]] : j <= k }").range_reverse())
    { A[i] -> [C[k] -> B[j]] : j <= k }

    Raises
    ------
    SpaceMismatch : an output tuple is not wrapped.
    """
    return reverse(domain_reverse(reverse(self)))


def flatten(self: R) -> R:
    """Every tuple anonymous and without inner ones, the dimensions in order; linear.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [S[i] -> T[j]] : i <= j }").flatten())
    { [i, j] : i <= j }
    """
    return rearranged(type(self), self, lambda s: (s.inp and flat(s.inp), flat(s.out), range(len(s.dims))))


def flatten_domain(self: Map) -> Map:
    """The input tuples anonymous and without inner ones; linear. See `flatten`."""
    return rearranged(type(self), self, lambda s: (flat(s.inp), s.out, range(len(s.dims))))


def flatten_range(self: Map) -> Map:
    """The output tuples anonymous and without inner ones; linear. See `flatten`."""
    return rearranged(type(self), self, lambda s: (s.inp, flat(s.out), range(len(s.dims))))


# ---- from pairs to their parts


def domain_map(self: Map) -> Map:
    """{ [x -> y] -> x } over all pairs; linear.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ S[i] -> A[j] : i <= j }").domain_map())
    { [S[i] -> A[j]] -> S[i] : i <= j }
    """
    return _part_map(self, lambda s: (s.inp, 0))


def range_map(self: Map) -> Map:
    """{ [x -> y] -> y } over all pairs; linear. See `domain_map`."""
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
        parts.append((spaced(pair(space.inp, space.out), out, self.param_names), conjoin_all(wide, [equal])))
    return self._of(self.param_names, parts)


def factor_domain(self: Map) -> Map:
    """[A -> B] -> [C -> D] to A -> C; exact, m projections.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ [A[i] -> B[j]] -> [C[i + 1] -> D[j]] : 0 <= j < i }").factor_domain())
    { A[i] -> C[i + 1] : i >= 1 }

    Raises
    ------
    SpaceMismatch : a tuple is not wrapped.
    """
    return _factor(self, "first", "first", "factor_domain")


def factor_range(self: Map) -> Map:
    """[A -> B] -> [C -> D] to B -> D; see `factor_domain`."""
    return _factor(self, "second", "second", "factor_range")


def domain_factor_domain(self: Map) -> Map:
    """[A -> B] -> C to A -> C; see `factor_domain`."""
    return _factor(self, "first", "all", "domain_factor_domain")


def domain_factor_range(self: Map) -> Map:
    """[A -> B] -> C to B -> C; see `factor_domain`."""
    return _factor(self, "second", "all", "domain_factor_range")


def range_factor_domain(self: Map) -> Map:
    """A -> [B -> C] to A -> B; see `factor_domain`."""
    return _factor(self, "all", "first", "range_factor_domain")


def range_factor_range(self: Map) -> Map:
    """A -> [B -> C] to A -> C; see `factor_domain`."""
    return _factor(self, "all", "second", "range_factor_range")


def _factor(self: Map, of_input: str, of_output: str, what: str) -> Map:
    def chosen(tup: Tuple, which: str, first: int, s: Space) -> tuple[Tuple, range]:
        if which == "all":
            return tup, range(first, first + len(tup.dims))
        inner = _inner(tup, s, what)
        cut, end = first + inner.n_in, first + len(tup.dims)
        return (inner.inp, range(first, cut)) if which == "first" else (inner.out, range(cut, end))

    def change(s: Space) -> tuple:
        inp, left = chosen(s.inp, of_input, 0, s)
        out, right = chosen(s.out, of_output, s.n_in, s)
        return inp, out, (*left, *right)

    return rearranged(type(self), self, change)
