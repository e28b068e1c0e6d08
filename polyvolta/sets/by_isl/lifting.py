"""isl's `lift`: the floors of a set as dimensions, beside the ones that it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct
from ..engine.columns import defining_rows
from ..values.set import Set
from ..values.space import Space, Tuple, distinct

Sparse = tuple[int, frozenset[tuple[int, int]]]


def lift(self: Set) -> Set:
    """The points with the values of the floors that the set speaks of, as pairs `lifted[S[i] -> local[i1]]`.

    Each point is in one pair: the domain of `lift().unwrap()` is the set. Which floors there are is ours to choose, as
    it is isl's: what is written without any has none.

    >>> print(lift(Set("{ S[i] : i mod 3 = 1 and i > 0 }")))
    { lifted[S[i] -> local[i1]] : i mod 3 = 1 and i1 = floor(i/3) and i >= 1 }
    """
    found = self.known_divs()
    parts = []
    for space, pieces in found.parts:
        first = 1 + len(found.param_names) + len(space.dims)
        common: dict[Sparse, int] = {}
        places = [_placed(c, first, common) for c in pieces]
        taken = [*found.param_names, *space.dims]
        locals_ = distinct([f"i{len(space.dims) + k}" for k in range(len(common))], taken)
        lifted = Tuple("lifted", (*space.dims, *locals_), Space(space.out, Tuple("local", locals_)))
        n = first + len(common)
        defining = [r for k, div in enumerate(common) for r in defining_rows((div[0], _dense(div[1], n)), first + k, n)]
        cs = []
        for c, place in zip(pieces, places, strict=True):
            eqs, ineqs = ([_dense(_sparse(r, place), n) for r in rows] for rows in (c.eqs, c.ineqs))
            new = cj.normalise(n - 1, (), eqs, [*ineqs, *defining])
            cs += [new] if new is not None else []
        parts.append((Space(None, lifted), tuple(cs)))
    return found._of(found.param_names, parts)


def _placed(c: Conjunct, first: int, common: dict[Sparse, int]) -> list[int]:
    """The columns of a conjunct in rows that have those of all floors, to which its own are added."""
    place = list(range(first))
    for den, num in c.known_divs():
        key = den, _sparse(num, place)
        place.append(first + common.setdefault(key, len(common)))
    return place


def _sparse(row: tuple[int, ...], place: list[int]) -> frozenset[tuple[int, int]]:
    return frozenset((place[k], v) for k, v in enumerate(row) if v)


def _dense(row: frozenset[tuple[int, int]], n: int) -> tuple[int, ...]:
    found = [0] * n
    for k, v in row:
        found[k] = v
    return tuple(found)


METHODS: tuple[tuple[str, str, Callable[..., Any]], ...] = (("Set", "lift", lift),)
"""Classes, isl's names, and the method."""
