"""Kleene's elimination: paths from place to place, of which closures are asked for loops of one place alone.

Places are tuples of a map over several, or groups of points of one space between which the pieces of a map lead, so
that every piece begins in one group and ends in one. `{ [i] -> [i + 1] : i mod 2 = 0; [i] -> [i + 3] : i mod 2 = 1 }`
leads from even numbers to odd ones and back: paths through the odd ones are steps by 4, whose closure is known.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, TypeVar

from ..budgets import bounded, spend
from ..conjuncts.conjunct import Conjunct
from ..conjuncts.project import with_known_divs
from ..errors import BudgetExceeded
from ..hulls.coalesce import coalesce_conjuncts
from .compose import composed, domain, range_

if TYPE_CHECKING:
    from ..values.map import Map

PIECES = 8  # of a map whose ends are compared
FOR_ALL = 2_000  # steps to coalesce paths between several groups

K = TypeVar("K", bound=Hashable)
Pieces = tuple[Conjunct, ...]


def through(
    edges: dict[tuple[K, K], Pieces],
    loops: Sequence[K],
    n: dict[K, int],
    n_par: int,
    closed: Callable[[K, Pieces], tuple[Pieces, bool]],
) -> tuple[dict[tuple[K, K], Pieces], bool]:
    """Paths of one or more steps between any two places, and whether all closures were exact; else supersets.

    Parameters
    ----------
    edges : steps from place to place.
    loops : the places with steps from and to them.
    n : how many dimensions a place has.
    closed : the closure of steps from a place to itself, and whether it is exact.
    """
    places = tuple(range(n_par)), tuple(range(n_par)), n_par
    edges, all_exact = dict(edges), True
    for key in loops:
        loop: Pieces = ()
        if (key, key) in edges:
            loop, exact = closed(key, edges[key, key])
            edges[key, key] = loop
            all_exact &= exact
        into = {a: cs for (a, b), cs in edges.items() if b == key != a}
        onward = {b: cs for (a, b), cs in edges.items() if a == key != b}
        if loop:
            into = {a: _union(cs, composed(cs, loop, places, (n[a], n[key], n[key]))) for a, cs in into.items()}
            edges.update({(a, key): cs for a, cs in into.items()})
        for a, first in into.items():
            for b, second in onward.items():
                both = composed(first, second, places, (n[a], n[key], n[b]))
                if both:
                    edges[a, b] = _fewer(edges.get((a, b), ()), both)
        if loop:
            further = {b: _union(cs, composed(loop, cs, places, (n[key], n[key], n[b]))) for b, cs in onward.items()}
            edges.update({(key, b): cs for b, cs in further.items()})
    return edges, all_exact


def by_groups(self: Map, closed: Callable[[Map], tuple[Map, bool]]) -> Map | None:
    """The closure of a map of one space by groups of points; None where there is one group, or a loop has no exact one.

    Where pieces begin and end that have points there in common are one group, so each piece leads from one group to
    one. O(m^2) tests for a common point, and the closure of one loop for each group.

    >>> from polyvolta.sets import Map, Set
    >>> step = Map("{ [i] -> [i + 1] : i mod 2 = 0; [i] -> [i + 3] : i mod 2 = 1 }")
    >>> found = by_groups(step, lambda loop: loop.transitive_closure())
    >>> Set("{ [0] }").apply(found).intersect(Set("{ [i] : i <= 9 }")).is_equal(Set("{ [1]; [4]; [5]; [8]; [9] }"))
    True
    """
    pieces = self.pieces
    if not 2 <= len(pieces) <= PIECES:
        return None
    ends = [end for p in pieces for end in (domain(p), range_(p))]
    group = list(range(len(ends)))
    for i, j in combinations(group[:], 2):
        if group[i] != group[j] and not ends[i].is_disjoint(ends[j]):
            group = [group[i] if g == group[j] else g for g in group]
    if len({*group}) == 1:
        return None
    edges: dict[tuple[int, int], Pieces] = {}
    for p, a, b in zip(pieces, group[::2], group[1::2], strict=True):
        edges[a, b] = (*edges.get((a, b), ()), *p.parts[0][1])

    def close(_: int, loop: Pieces) -> tuple[Pieces, bool]:
        found, exact = closed(self._of(self.param_names, [(self.space, loop)]))
        return found.parts[0][1], exact

    loops = [g for g in dict.fromkeys(group[::2]) if g in group[1::2]]
    paths, exact = through(edges, loops, dict.fromkeys(group, self.space.n_in), len(self.param_names), close)
    every = self._of(self.param_names, [(self.space, tuple([c for cs in paths.values() for c in cs]))])
    if not exact or len(paths) == 1:
        return every if exact else None
    try:
        return bounded(FOR_ALL, every.coalesce)
    except BudgetExceeded:
        spend(0)  # ends the caller where the budget was its own
        return every


def _union(some: Pieces, more: Pieces) -> Pieces:
    """All pieces, each once."""
    return tuple(dict.fromkeys((*some, *more)))


def _fewer(some: Pieces, more: Pieces) -> Pieces:
    """The union of some pieces and more, coalesced where that adds any."""
    both = _union(some, more)
    if len(both) == len(some):
        return some
    return coalesce_conjuncts(tuple([p for c in both for p in with_known_divs(c)]))
