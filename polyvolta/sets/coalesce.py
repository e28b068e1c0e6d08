"""Coalescing: two conjuncts become one when nothing lies between them.

For a pair A, B the candidate is H, the conjunction of the constraints of either that hold on both. H contains
A and B by construction; when H - A - B is empty, H is their union. The test is exact, for boxes, strides and
polyhedra alike, and costs an emptiness test per constraint plus one subtraction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from . import conjunct as cj
from .conjunct import Conjunct
from .project import with_known_divs

if TYPE_CHECKING:
    from .relation import Relation

R = TypeVar("R", bound="Relation")


def coalesce(self: R) -> R:
    """The same points in fewer conjuncts where two of them make one.

    Exact; O(m^2) hulls and subtractions a round, at most m rounds.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [i] : 0 <= i < 5; [i] : 5 <= i < 9 }").coalesce())
    { [i] : 0 <= i <= 8 }
    """
    parts = []
    for space, cs in self.parts:
        pieces = [p for c in cs for p in with_known_divs(c) if not p.is_empty]
        while (pair := _fusible(pieces)) is not None:
            k, j, fused = pair
            pieces = [p for at, p in enumerate(pieces) if at not in (k, j)] + [fused]
        parts.append((space, tuple(pieces)))
    return self._of(self.param_names, parts)


def _fusible(pieces: list[Conjunct]) -> tuple[int, int, Conjunct] | None:
    for k, a in enumerate(pieces):
        for j in range(k + 1, len(pieces)):
            fused = fuse(a, pieces[j])
            if fused is not None:
                return k, j, fused
    return None


def fuse(a: Conjunct, b: Conjunct) -> Conjunct | None:
    """One conjunct with exactly the points of both, or None if the constraints at hand give none."""
    if not cj.subtract(a, b):
        return b
    if not cj.subtract(b, a):
        return a
    hull = cj.universe(a.n)
    for this, other in ((a, b), (b, a)):
        valid = [r for r in this.ineqs if _holds(this, r, other)]
        eqs = []
        for row in this.eqs:
            negative = tuple(-v for v in row)
            sides = [r for r in (row, negative) if _holds(this, r, other)]
            if len(sides) == 2:
                eqs.append(row)
            else:
                valid += sides
        hull = cj.conjoin(hull, cj.normalise(a.n, this.divs, eqs, valid))
    left = [p for p in cj.subtract(hull, a) for p in cj.subtract(p, b)]
    return None if left else hull


def _holds(this: Conjunct, row: cj.Row, other: Conjunct) -> bool:
    """Whether `row >= 0`, a row of `this`, holds on all of `other`."""
    outside = cj.normalise(this.n, this.divs, (), [(-row[0] - 1, *(-v for v in row[1:]))])
    if outside is None:
        return True
    both = cj.conjoin(outside, other)
    return both is None or both.is_empty
