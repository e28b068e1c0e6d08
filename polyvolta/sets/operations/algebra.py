"""Boolean algebra of relations: methods of `Set` and `Map`.

Union is a concatenation, intersection conjoins every piece with every piece, and a difference removes the rows
of one operand one at a time, so that its pieces are disjoint. Comparisons are emptiness tests of differences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from ..budgets import bounded, metered, meters_itself, spend
from ..conjuncts import conjunct as cj
from ..conjuncts import project as pj
from ..conjuncts.conjunct import Conjunct
from ..conjuncts.cover import covers
from ..conjuncts.implies import implied, plainly_apart, plainly_implied
from ..conjuncts.implies import subtract as subtract_conjunct
from ..conjuncts.witness import witnessed
from ..errors import BudgetExceeded
from ..hulls.coalesce import coalesced
from ..values.shape import is_beside
from ..values.space import Space

if TYPE_CHECKING:
    from ..rationals.points import RationalPoints
    from ..values.relation import Relation
    from ..values.united import United

R = TypeVar("R", bound="Relation")
U = TypeVar("U", bound="United[Any]")
FEW = 4  # pairs of pieces of which it costs more to ask first whether they are plainly apart
MANY = 500  # dear pairs of pieces, from which on an intersection has its operands coalesced
DEAR = 100  # entries of a pair's rows; a smaller one is conjoined in a tenth of the time that a comparison takes
FOR_A_PAIR = 40  # steps for each such pair to coalesce an operand: at most some times what its conjunction takes


class Comparable(Protocol):
    """What has the operations of which the others are made."""

    def union(self, other: Any, /) -> Any: ...  # noqa: ANN401
    def intersect(self, other: Any, /) -> Any: ...  # noqa: ANN401
    def subtract(self, other: Any, /) -> Any: ...  # noqa: ANN401
    def is_empty(self) -> bool: ...
    def is_equal(self, other: Any, /) -> bool: ...  # noqa: ANN401
    def is_subset(self, other: Any, /) -> bool: ...  # noqa: ANN401
    def is_strict_subset(self, other: Any, /) -> bool: ...  # noqa: ANN401
    @property
    def parts(self) -> tuple[tuple[Space, Any], ...]: ...
    def _check_kind(self, other: object, what: str) -> None: ...
    def _find(self, key: tuple) -> tuple: ...


V = TypeVar("V", bound=Comparable)


def union(self: U, other: U) -> U:
    """All points of either. O(m + n); nothing is merged but equal conjuncts (see `coalesce`).

    `other` is of the same kind; its spaces may be others. `SpaceMismatch` is raised for a set and a map.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ S[i] : 0 <= i < 9 }").union(Set("{ T[j] : j = 3 }")))
    { S[i] : 0 <= i <= 8; T[3] }
    """
    self._check_kind(other, "a union")
    a, b = self._aligned(other)
    return a._of(a.param_names, [*a.parts, *b.parts])


def intersect(self: R, other: R | RationalPoints[Any]) -> R:
    """The points in both. O(m n) conjunctions; of more than 500 large ones the operands are coalesced first, as far as
    that takes about as long as these do.

    `other` is of the same kind; `SpaceMismatch` says that the operands are of two kinds, or of no common space. Of a
    `RationalSet` beside a set, and a `RationalMap` beside a map, here and below, the integer points are meant.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ S[i] : 0 <= i < 9 }").intersect(Set("{ S[i] : i mod 2 = 0 }")))
    { S[i] : i mod 2 = 0 and 0 <= i <= 8 }
    """
    other = _beside(self, other)
    self._check_space(other, "an intersection")
    if self._is_union or other._is_union or not len(self.parts) == 1 == len(other.parts):  # else the spaces are one
        self._check_params(other, "an intersection")
        other._check_params(self, "an intersection")
    a, b = self._aligned(other)
    parts = []
    for space, cs in a.parts:
        found = b._find(space.key)
        sides = _fewer(cs, found) if len(cs) * len(found) > MANY else (cs, found)
        parts.append((space, conjoin_all(*sides)))
    return a._of(a.param_names, [p for p in parts if p[1]] or parts[:1])


def subtract(self: R, other: R | RationalPoints[Any]) -> R:
    """The points of this and not of the other, exactly; O(m n rows) emptiness tests.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [i] : 0 <= i < 10 }") - Set("{ [i] : 3 <= i < 5 }"))
    { [i] : 0 <= i <= 2; [i] : 5 <= i <= 9 }
    """
    other = _beside(self, other)
    self._check_space(other, "a difference")
    a, b = self._aligned(other)
    parts = []
    for space, cs in a.parts:
        others = b._find(space.key)
        left = [c for c in cs if not any(witnessed(c, d) for d in others if not d.known)]
        knives = [k for d in others for k in pj.with_known_divs(d)] if left else []
        cut = _without if len(cs) * len(knives) > FEW else subtract_conjunct
        for knife in knives:
            left = [piece for c in left for piece in cut(c, knife)]
        parts.append((space, tuple(left)))
        if len(left) > 1 == len(cs) == len(a.parts):
            return a._disjoint(a.param_names, parts[0])
    return a._of(a.param_names, parts)


def _without(c: Conjunct, knife: Conjunct) -> tuple[Conjunct, ...]:
    """A piece of a difference; pairs that are plainly apart, of which there are many, are not remembered."""
    return (c,) if plainly_apart(c, knife) else subtract_conjunct(c, knife)


def symmetric_difference(self: V, other: V) -> V:
    """The points in exactly one of both; two subtractions.

    `other` is of the same kind; `SpaceMismatch` says that the operands are of two kinds, or of no common space.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [i] : 0 <= i < 5 }").symmetric_difference(Set("{ [i] : 3 <= i < 9 }")))
    { [i] : 0 <= i <= 2; [i] : 5 <= i <= 8 }
    """
    return self.subtract(other).union(other.subtract(self))


@meters_itself
def is_empty(self: Relation) -> bool:
    """Whether there is no integer point for any parameter values; exact, at most m emptiness tests.

    >>> from polyvolta.sets import Set
    >>> Set("{ [x, y] : 3x - 3y + 2 >= 0 and -3x + 3y - 1 >= 0 }").is_empty()
    True
    """
    for _, cs in self._rough:
        if cs:
            return _is_empty(self)
    return True


@metered
def _is_empty(self: Relation) -> bool:
    """`is_empty` of pieces."""
    for _, cs in self.parts:
        for c in cs:
            if not c.is_empty:
                return False
    return True


def is_subset(self: R, other: R | RationalPoints[Any]) -> bool:
    """Whether every point is a point of the other; exact, O(m n) implications, subtraction from a union.

    `other` is of the same kind; also `<=`.

    >>> from polyvolta.sets import Set
    >>> Set("{ [i] : 0 < i < 5 }").is_subset(Set("{ [i] : 0 <= i < 9 }"))
    True
    """
    other = _beside(self, other)
    self._check_kind(other, "a comparison")
    return self == other or _within(*self._aligned(other))


def _within(a: Relation, b: Relation) -> bool:
    """`is_subset`, the parameters being the same."""
    for space, cs in a.parts:
        others = b._find(space.key)
        for c in cs:
            if not covered(c, others):
                return False
    return True


def covered(c: Conjunct, others: Sequence[Conjunct]) -> bool:
    """Whether every point of `c` is a point of one of the others."""
    if len(others) == 1 and others[0].known:
        return implied(c, others[0])
    if len(others) > 1 and c in others or any(witnessed(c, d) for d in others if not d.known):
        return True
    knives = [k for d in others for k in ((d,) if not d.divs else pj.with_known_divs(d))]
    if len(knives) > FEW:
        knives = [k for k in knives if not plainly_apart(c, k)]
    if len(knives) < 2:
        return (len(knives) == 1 and implied(c, knives[0])) or c.is_empty
    return any(plainly_implied(c, knife) for knife in knives) or covers(knives, c)


def is_equal(self: R, other: R | RationalPoints[Any]) -> bool:
    """Whether both have the same points; exact, two subtractions.

    `other` is of the same kind, or one of rational points, all of whose points are then integers; `==` compares how
    both are written, which is cheaper and stricter.

    >>> from polyvolta.sets import Set
    >>> Set("{ [i] : i mod 2 = 0 }").is_equal(Set("{ [i] : exists(k : i = 2k) }"))
    True
    """
    if _differ(self, other):
        return cast(Comparable, other).is_equal(self)
    self._check_kind(other, "a comparison")
    if self._is_alike(other):
        return True
    a, b = self._aligned(cast(R, other))
    return _within(a, b) and _within(b, a)


def is_strict_subset(self: V, other: V | RationalPoints[Any]) -> bool:
    """Whether every point is a point of the other, which has more; exact, two subtractions.

    `other` is of the same kind; also `<`.

    >>> from polyvolta.sets import Set
    >>> Set("{ [i] : 0 < i < 5 }").is_strict_subset(Set("{ [i] : 1 <= i <= 4 }"))
    False
    """
    return self.is_subset(other) and not cast(Comparable, other).is_subset(self)


def is_superset(self: V, other: V | RationalPoints[Any]) -> bool:
    """Whether every point of the other is a point of this; see `is_subset`."""
    if not _differ(self, other):
        self._check_kind(other, "a comparison")
    return cast(Comparable, other).is_subset(self)


def is_strict_superset(self: V, other: V | RationalPoints[Any]) -> bool:
    """Whether every point of the other is a point of this, which has more; see `is_strict_subset`."""
    if not _differ(self, other):
        self._check_kind(other, "a comparison")
    return cast(Comparable, other).is_strict_subset(self)


def is_disjoint(self: V, other: V | RationalPoints[Any]) -> bool:
    """Whether no point is in both; exact, O(m n) emptiness tests. Points of different tuples are different.

    `other` is of the same kind.

    >>> from polyvolta.sets import Set
    >>> Set("{ [i] : i < 0 }").is_disjoint(Set("{ [i] : i > 3 }")), Set("{ A[i] }").is_disjoint(Set("{ B[i] }"))
    (True, True)
    """
    if not _differ(self, other):
        self._check_kind(other, "a comparison")
    return not any(other._find(space.key) for space, _ in self.parts) or self.intersect(other).is_empty()


def _differ(self: object, other: object) -> bool:
    """Whether one is a set or relation of integer points, and one the same of rational ones."""
    return type(self) is not type(other) and (is_beside(self, other) or is_beside(other, self))


def _beside(self: R, other: R | RationalPoints[Any]) -> R:
    """The other operand; of rational points beside a set of integer ones, its integer points."""
    if type(self) is type(other) or not is_beside(other, self):
        return cast(R, other)
    return cast(R, cast("RationalPoints[Any]", other).integer_points())


def without_empty(self: R) -> R:
    """Without conjuncts that hold no integer point; exact, m emptiness tests.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [i] : 2i = 1; [j] : j = 3 }").without_empty())
    { [3] }
    """
    return self._map_conjuncts(lambda c: None if c.is_empty else c)


def in_spaces_with_points(self: R) -> R:
    """The same points; of a union, or where there are several tuples, without those that have none, as in isl.

    A set or relation of one tuple stays in its space. At most m emptiness tests.

    >>> from polyvolta.isl import UnionSet
    >>> UnionSet("{ A[i] : i > 0; B[i] : 2i = 1 }").universe()
    UnionSet('{ A[i] }')
    """
    if len(self.parts) < 2 and not self._is_union:
        return self
    kept = [(s, cs) for s, cs in self.parts if not all(c.is_empty for c in cs)]
    return self if len(kept) == len(self.parts) else self._of(self.param_names, kept)


def live(self: Relation) -> Iterator[tuple[Space, Conjunct]]:
    """The conjuncts that hold an integer point, with their spaces."""
    return ((s, c) for s, cs in self.parts for c in cs if not c.is_empty)


def conjoin_all(left: Iterable[Conjunct], right: Iterable[Conjunct]) -> tuple[Conjunct, ...]:
    """The conjunctions of every piece with every piece; empty ones are dropped where there are several."""
    left, right = tuple(left), tuple(right)
    if len(left) * len(right) <= FEW:
        return filled([cj.conjoin(a, b) for a in left for b in right])
    return filled([None if plainly_apart(a, b) else cj.conjoin(a, b) for a in left for b in right])


def _fewer(left: tuple[Conjunct, ...], right: tuple[Conjunct, ...]) -> tuple[tuple[Conjunct, ...], ...]:
    """Two unions to be intersected; where many pairs of pieces are dear, in fewer pieces.

    What pieces that overlap have in common overlaps, too, so that intersections one after the other would grow as the
    product of all. The smaller union is coalesced first, the larger one where many pairs are left. One with more pairs
    of its own than it has with the other stays, and so do one for which the steps don't do, and one that is in no fewer
    pieces then, as existentials are spelt out.
    """
    sides = [left, right]
    for at in (0, 1) if len(left) <= len(right) else (1, 0):
        own, other = sides[at], sides[1 - at]
        if len(own) * len(other) <= MANY or len(own) > 2 * len(other):
            continue
        pairs = sum([_dear(a, b) for a in own for b in other])
        if pairs > MANY:
            try:
                sides[at] = min(own, bounded(FOR_A_PAIR * pairs, coalesced, own), key=len)
            except BudgetExceeded:
                spend(0)  # ends the caller where the budget was its own
    return tuple(sides)


def _dear(a: Conjunct, b: Conjunct) -> bool:
    """Whether a conjunction is of many rows and columns, and no box says that it is empty."""
    rows = len(a.eqs) + len(a.ineqs) + len(b.eqs) + len(b.ineqs)
    return rows * (a.n + len(a.divs) + len(b.divs)) > DEAR and not plainly_apart(a, b)


def filled(pieces: Sequence[Conjunct | None]) -> tuple[Conjunct, ...]:
    """The pieces that are not plainly contradictory; where there are several, not the empty ones either."""
    found = [c for c in pieces if c is not None]
    return tuple([c for c in found if not c.is_empty] if len(pieces) > 1 else found)
