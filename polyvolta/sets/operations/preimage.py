"""Preimages: what a function leads into a set, or into a side of a map.

The function is a `PwAff` or `MultiPwAff`, or a single-valued `Map`, which may be a union, as isl's `UnionPwMultiAff`
is. A point where it has no value is in no preimage. The names and their meaning are isl's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import NotAFunction, SpaceMismatch, kind_of
from ..values.shape import all_spaces, is_map, single
from .compose import apply_range, domain, intersect_range, reverse

if TYPE_CHECKING:
    from ..functions.piecewise import Piecewise
    from ..values.map import Map
    from ..values.set import Set


def preimage(self: Set, function: Piecewise | Map) -> Set:
    """{ x : function(x) is in this set }; exact, O(m n) projections.

    >>> from polyvolta.sets import MultiPwAff, Set
    >>> print(Set("{ A[x] : 0 <= x < 8 }").preimage(MultiPwAff("{ S[i, j] -> A[(4i + j)] }")))
    { S[i, j] : -4*i <= j <= 7 - 4*i }

    Raises
    ------
    SpaceMismatch : this is no function, or it leads elsewhere.
    NotAFunction : a map of which some input has several outputs.
    """
    return domain(intersect_range(_leading(function, {s.out.key for s, _ in self.parts}, self), self))


def preimage_domain(self: Map, function: Piecewise | Map) -> Map:
    """{ x -> y : function(x) -> y here }; see `preimage`.

    >>> from polyvolta.sets import Map, MultiPwAff
    >>> access = Map("{ S[i] -> A[i + 1] : 0 <= i < 64 }")
    >>> print(access.preimage_domain(MultiPwAff("{ T[b, t] -> S[(32b + t)] : 0 <= t < 32 }")))
    { T[b, t] -> A[32*b + t + 1] : 0 <= b <= 1 and 0 <= t <= 31 }
    """
    return apply_range(_leading(function, {s.inp.key for s, _ in self.parts if s.inp}, self), self)


def preimage_range(self: Map, function: Piecewise | Map) -> Map:
    """{ x -> y : x -> function(y) here }; see `preimage`.

    `function` is a single-valued map or a piecewise function.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ S[i] -> [j] : 0 <= j < 8 }").preimage_range(Map("{ T[k] -> [k + 2] }")))
    { S[i] -> T[k] : -2 <= k <= 5 }
    """
    return apply_range(self, reverse(_leading(function, {s.out.key for s, _ in self.parts}, self)))


def _leading(function: Piecewise | Map, there: set[tuple], what: Set | Map) -> Map:
    """The function as a map, as far as it leads to some tuples."""
    found = function if is_map(function) else getattr(function, "as_map", lambda: function)()
    if not is_map(found):
        raise SpaceMismatch(f"a preimage needs a function, not {kind_of(function)}", where=str(function))
    if found is function and not found.is_single_valued():
        raise NotAFunction("a preimage is one under a function", where=str(function), hint="apply_domain takes any map")
    parts = [p for p in found.parts if p[0].out.key in there]
    if not parts and single(found, what):
        where = f"function: {all_spaces(found)}\nhere: {all_spaces(what)}"
        raise SpaceMismatch("the function leads elsewhere", where=where)
    return found._of(found.param_names, parts)
