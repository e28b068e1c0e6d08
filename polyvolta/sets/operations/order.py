"""The lexicographic order as relations.

x comes before y when, at the first place where they differ, x has the smaller number. As a relation that is one
conjunct a place: equal before it, smaller there. Orders of two sets, of two maps (by their images) and of all points
of a space are that relation, restricted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..conjuncts import conjunct as cj
from ..errors import SpaceMismatch
from ..values.shape import all_spaces, need_set, single, spaced
from ..values.space import Space, renamings
from .algebra import conjoin_all
from .compose import apply_range, reverse
from .make import SpaceLike, everything

if TYPE_CHECKING:
    from ..conjuncts.conjunct import Conjunct
    from ..values.map import Map
    from ..values.set import Set


def before(n_par: int, n: int, strict: bool) -> tuple[Conjunct, ...]:
    """The pairs (x, y) of n numbers each, behind the parameters, with x before y, or equal to it unless strict."""
    width = 1 + n_par + 2 * n

    def difference(d: int, const: int) -> tuple[int, ...]:
        row = [0] * width
        row[0], row[1 + n_par + d], row[1 + n_par + n + d] = const, -1, 1
        return tuple(row)

    found = []
    for d in range(n):
        last = d == n - 1 and not strict
        found.append(
            cj.normalise(width - 1, (), [difference(j, 0) for j in range(d)], [difference(d, 0 if last else -1)])
        )
    return tuple(found) if n or strict else (cj.universe(n_par),)


def _pairs(a: Set, b: Set, what: str, strict: bool, swapped: bool) -> Map:
    """{ x -> y : x in a, y in b, x before y }, or y before x."""
    from ..values.map import Map

    need_set(a, what)
    need_set(b, what)
    if single(a, b) and not {s.key for s, _ in a.parts} & {s.key for s, _ in b.parts}:
        hint = renamings(b.parts[0][0], a.parts[0][0])
        where = f"{all_spaces(a)}\n{all_spaces(b)}"
        raise SpaceMismatch(f"{what} needs two sets of one space", where=where, hint=hint)
    a, b = a._aligned(b)
    n_par = len(a.param_names)
    parts = []
    for space, cs in a.parts:
        n = space.n_out
        width = n_par + 2 * n
        head, left, right = range(n_par), range(n_par, n_par + n), range(n_par + n, width)
        order = before(n_par, n, strict)
        if swapped:
            order = tuple(cj.reindex(c, width, (*head, *right, *left)) for c in order)
        inputs = [cj.reindex(c, width, (*head, *left)) for c in cs]
        outputs = [cj.reindex(c, width, (*head, *right)) for c in b._find(space.key)]
        parts.append((spaced(space.out, space.out, a.param_names), conjoin_all(conjoin_all(inputs, outputs), order)))
    return Map._of(a.param_names, parts)


# ---- of two sets


def lex_lt_set(self: Set, other: Set) -> Map:
    """{ x -> y : x here, y there, x before y in lexicographic order }; exact, one conjunct a dimension.

    `other` is a set of the same space.

    >>> from polyvolta.sets import Set
    >>> square = Set("{ [i, j] : 0 <= i < 3 and 0 <= j < 3 }")
    >>> square.lex_lt_set(square).count()
    36

    Raises
    ------
    SpaceMismatch : the sets have no space in common.
    """
    return _pairs(self, other, "an order", strict=True, swapped=False)


def lex_le_set(self: Set, other: Set) -> Map:
    """{ x -> y : x here, y there, x before y or equal }; see `lex_lt_set`.

    `other` is a set of the same space.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ S[i] : 0 <= i < 3 }").lex_le_set(Set("{ S[i] : i = 1 }")))
    { S[i] -> S[1] : 0 <= i <= 1 }
    """
    return _pairs(self, other, "an order", strict=False, swapped=False)


def lex_gt_set(self: Set, other: Set) -> Map:
    """{ x -> y : x here, y there, x after y }; see `lex_lt_set`.

    `other` is a set of the same space.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ S[i] : 0 <= i < 3 }").lex_gt_set(Set("{ S[i] : i = 1 }")))
    { S[i] -> S[1] : i = 2 }
    """
    return _pairs(self, other, "an order", strict=True, swapped=True)


def lex_ge_set(self: Set, other: Set) -> Map:
    """{ x -> y : x here, y there, x after y or equal }; see `lex_lt_set`.

    `other` is a set of the same space.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ S[i] : 0 <= i < 3 }").lex_ge_set(Set("{ S[i] : i = 1 }")))
    { S[i] -> S[1] : 1 <= i <= 2 }
    """
    return _pairs(self, other, "an order", strict=False, swapped=True)


# ---- of two maps, by their images


def lex_lt_map(self: Map, other: Map) -> Map:
    """{ x -> y : some image of x here comes before some image of y there }; exact, two compositions.

    `other` is a map with the same outputs.

    With schedules, which take statements to times, that is "runs before".

    >>> from polyvolta.sets import Map
    >>> time = Map("{ S[i] -> [i, 0]; T[i] -> [i, 1] }")
    >>> time.lex_lt_map(time).is_equal(
    ...     Map("{ S[i] -> S[j] : i < j; T[i] -> T[j] : i < j; S[i] -> T[j] : i <= j; T[i] -> S[j] : i < j }")
    ... )
    True

    Raises
    ------
    SpaceMismatch : the ranges have no space in common.
    """
    return _by_images(self, other, lex_lt_set)


def lex_le_map(self: Map, other: Map) -> Map:
    """{ x -> y : some image of x here comes before some image of y there or equals it }; see `lex_lt_map`.

    `other` is a map with the same outputs.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ A[i] -> [i] }").lex_le_map(Map("{ B[j] -> [2j] }")))
    { A[i] -> B[j] : i <= 2*j }
    """
    return _by_images(self, other, lex_le_set)


def lex_gt_map(self: Map, other: Map) -> Map:
    """{ x -> y : some image of x here comes after some image of y there }; see `lex_lt_map`.

    `other` is a map with the same outputs.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ A[i] -> [i] }").lex_gt_map(Map("{ B[j] -> [2j] }")))
    { A[i] -> B[j] : 2*j < i }
    """
    return _by_images(self, other, lex_gt_set)


def lex_ge_map(self: Map, other: Map) -> Map:
    """{ x -> y : some image of x here comes after some image of y there or equals it }; see `lex_lt_map`.

    `other` is a map with the same outputs.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ A[i] -> [i] }").lex_ge_map(Map("{ B[j] -> [2j] }")))
    { A[i] -> B[j] : 2*j <= i }
    """
    return _by_images(self, other, lex_ge_set)


def _by_images(self: Map, other: Map, order: Callable[[Set, Set], Map]) -> Map:
    from ..values.set import Set

    self._check_kind(other, "an order")
    images = Set._of((), [(Space(None, s.out), (cj.universe(s.n_out),)) for s, _ in self.parts])
    return apply_range(apply_range(self, order(images, images)), reverse(other))


# ---- of all points


def lex_lt(cls: type[Map], space: SpaceLike) -> Map:
    """The lexicographic order of all points of a space, given as text, `Tuple`, or a set in it; linear.

    >>> from polyvolta.sets import Map
    >>> Map.lex_lt("T[a, b]").is_equal(Map("{ T[a, b] -> T[c, d] : a < c or a = c and b < d }"))
    True
    """
    return _of_space(space, lex_lt_set)


def lex_le(cls: type[Map], space: SpaceLike) -> Map:
    """The lexicographic order of all points of a space, and equality; see `lex_lt`.

    >>> from polyvolta.sets import Map, Set
    >>> print(Map.lex_le(Set("{ S[i] }").space))
    { S[i] -> S[i'] : i <= i' }
    """
    return _of_space(space, lex_le_set)


def lex_gt(cls: type[Map], space: SpaceLike) -> Map:
    """The reversed lexicographic order of all points of a space; see `lex_lt`.

    >>> from polyvolta.sets import Map, Set
    >>> print(Map.lex_gt(Set("{ S[i] }").space))
    { S[i] -> S[i'] : i' < i }
    """
    return _of_space(space, lex_gt_set)


def lex_ge(cls: type[Map], space: SpaceLike) -> Map:
    """The reversed lexicographic order of all points of a space, and equality; see `lex_lt`.

    >>> from polyvolta.sets import Map, Set
    >>> print(Map.lex_ge(Set("{ S[i] }").space))
    { S[i] -> S[i'] : i' <= i }
    """
    return _of_space(space, lex_ge_set)


def _of_space(space: SpaceLike, order: Callable[[Set, Set], Map]) -> Map:
    points = everything(space)
    return order(points, points)
