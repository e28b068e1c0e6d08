"""The two sides of a relation of rational points, and composition: methods of `RationalMap` and `RationalSet`.

Sets and relations are parts over the same columns, inputs first, so each of these moves columns to other tuples, or
conjoins polyhedra over the columns of all tuples and projects those between out. All of it is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import SpaceMismatch, kind_of
from ..operations.wrapping import inside
from ..values.shape import pair, spaced
from ..values.space import Space, Tuple, renaming
from . import polyhedron as ph

if TYPE_CHECKING:
    from .points import RationalPoints
    from .rational import RationalSet
    from .relation import RationalMap

R = TypeVar("R", bound="RationalPoints[Any]")


def _rearranged(kind: type[R], self: RationalPoints[Any], change: Callable[[Space], tuple]) -> R:
    """The parts in other tuples, as `values.shape.rearranged`: new input or None, new output, places of old columns."""
    n_par = len(self.param_names)
    parts = []
    for space, ps in self.parts:
        inp, out, order = change(space)
        parts.append((spaced(inp, out, self.param_names), tuple([_taken(p, n_par, order) for p in ps])))
    return kind._of(self.param_names, parts)


def _taken(p: ph.Polyhedron, n_par: int, order: Sequence[int]) -> ph.Polyhedron:
    """The polyhedron over its parameters and the dimensions `order`, in that order."""
    kept = sorted(order)
    done = ph.project(p, tuple([n_par + k for k in range(p.n - n_par) if k not in kept]))
    rank = {k: at for at, k in enumerate(order)}
    return ph.reindex(done, done.n, (*range(n_par), *[n_par + rank[k] for k in kept]))


def _need(value: object, pairs: bool, what: str) -> Any:  # noqa: ANN401
    """`value`, which must be a set of rational points, or a relation of them."""
    kind = "RationalMap" if pairs else "RationalSet"
    if getattr(value, "_noun", None) != kind:
        hint = "of rational points is what a text with 'rat:' says"
        raise SpaceMismatch(f"{what} needs a {kind}, not {kind_of(value)}", where=str(value), hint=hint)
    return value


def _match(ours: Sequence[Tuple], theirs: Sequence[Tuple], what: str, where: str) -> None:
    """Refuse two single tuples that differ; several may lack a counterpart."""
    if len(ours) == 1 == len(theirs) and ours[0].key != theirs[0].key:
        raise SpaceMismatch(f"{what} needs one tuple on both", where=where,
                            hint=renaming(theirs[0], ours[0], "the second"))  # fmt: skip


# ---- sides


def domain(self: RationalMap) -> RationalSet:
    """The inputs that are related to something; m projections.

    >>> from polyvolta.sets import RationalMap
    >>> print(RationalMap("{ rat: S[i] -> [j] : 0 < 2j <= i < 3 }").domain())
    { rat: S[i] : 0 < i < 3 }
    """
    from .rational import RationalSet

    return _rearranged(RationalSet, self, lambda s: (None, s.source, range(s.n_in)))


def range_(self: RationalMap) -> RationalSet:
    """The outputs that something is related to; m projections.

    >>> from polyvolta.sets import RationalMap
    >>> print(RationalMap("{ rat: S[i] -> [2i] : 0 < 4i <= 3 }").range())
    { rat: [i0] : i0 > 0 and 2*i0 <= 3 }
    """
    from .rational import RationalSet

    return _rearranged(RationalSet, self, lambda s: (None, s.out, range(s.n_in, len(s.dims))))


def reverse(self: RationalMap) -> RationalMap:
    """Inputs and outputs swapped; linear.

    >>> from polyvolta.sets import RationalMap
    >>> print(RationalMap("{ rat: S[i] -> [j] : i = 2j }").reverse())
    { rat: [j] -> S[2*j] }
    """
    return _rearranged(type(self), self, lambda s: (s.out, s.inp, (*range(s.n_in, len(s.dims)), *range(s.n_in))))


def wrap(self: RationalMap) -> RationalSet:
    """The pairs as points of the wrapped space `[in -> out]`; linear.

    >>> from polyvolta.sets import RationalMap
    >>> print(RationalMap("{ rat: S[i] -> A[j] : i < j }").wrap())
    { rat: [S[i] -> A[j]] : j > i }
    """
    from .rational import RationalSet

    return _rearranged(RationalSet, self, lambda s: (None, pair(s.source, s.out), range(len(s.dims))))


def unwrap(self: RationalSet) -> RationalMap:
    """The relation whose pairs are the points of this set of a wrapped space; linear.

    >>> from polyvolta.sets import RationalSet
    >>> print(RationalSet("{ rat: [S[i] -> A[j]] : 2j = i + 1 }").unwrap())
    { rat: S[i] -> A[j] : 2*j = i + 1 }

    Raises
    ------
    SpaceMismatch : the only tuple is not wrapped; of several tuples those that are not are left out.
    """
    from .relation import RationalMap

    parts = [(s, ps) for s, ps in self.parts if s.out.inner is not None or len(self.parts) == 1]

    def change(s: Space) -> tuple:
        inner = inside(s.out, s, "unwrap")
        return inner.inp, inner.out, range(s.n_out)

    return _rearranged(RationalMap, self._of(self.param_names, parts), change)


def identity(self: RationalSet) -> RationalMap:
    """The relation of each point of the set to itself; linear.

    >>> from polyvolta.sets import RationalSet
    >>> print(RationalSet("{ rat: S[i] : 0 < i < 4 }").identity())
    { rat: S[i] -> S[i] : 0 < i < 4 }
    """
    from .relation import RationalMap

    n_par, parts = len(self.param_names), []
    for space, ps in self.parts:
        n = space.n_out
        wide = (ph.reindex(p, n_par + 2 * n, tuple(range(n_par + n))) for p in ps)
        equal = _linked(n_par + 2 * n, [(n_par + d, n_par + n + d) for d in range(n)])
        parts.append((spaced(space.out, space.out, self.param_names), _each(wide, [equal])))
    return RationalMap._of(self.param_names, parts)


def _linked(n: int, pairs: Sequence[tuple[int, int]]) -> ph.Polyhedron:
    """The polyhedron over `n` dimensions in which those of each pair are equal."""
    found = ph.polyhedron(n, [(0, *[(k == a) - (k == b) for k in range(n)]) for a, b in pairs])
    assert found is not None
    return found


def _each(left: Any, right: Any) -> tuple[ph.Polyhedron, ...]:  # noqa: ANN401 - iterables of polyhedra
    right = tuple(right)
    return tuple([both for p in left for q in right if (both := ph.conjoin(p, q)) is not None])


# ---- restriction and composition


def intersect_domain(self: RationalMap, sets: RationalSet) -> RationalMap:
    """The pairs whose input is in the set; O(m n) conjunctions.

    Raises
    ------
    SpaceMismatch : both have one tuple there and these differ, or `sets` is no `RationalSet`.

    >>> from polyvolta.sets import RationalMap, RationalSet
    >>> print(RationalMap("{ rat: S[i] -> [i] }").intersect_domain(RationalSet("{ rat: S[i] : 0 < i < 1 }")))
    { rat: S[i] -> [i] : 0 < i < 1 }
    """
    return _restricted(self, sets, "domain")


def intersect_range(self: RationalMap, sets: RationalSet) -> RationalMap:
    """The pairs whose output is in the set; see `intersect_domain`.

    >>> from polyvolta.sets import RationalMap, RationalSet
    >>> print(RationalMap("{ rat: S[i] -> [2i] }").intersect_range(RationalSet("{ rat: [i] : 0 < i < 1 }")))
    { rat: S[i] -> [2*i] : i > 0 and 2*i < 1 }
    """
    return _restricted(self, sets, "range")


def _restricted(self: RationalMap, sets: RationalSet, side: str) -> RationalMap:
    a, b = self._aligned(_need(sets, False, f"a restriction of the {side}"))
    n_par, is_domain = len(a.param_names), side == "domain"
    ours = [s.source if is_domain else s.out for s, _ in a.parts]
    _match(ours, [s.out for s, _ in b.parts], f"a restriction of the {side}", f"{self}\n{sets}")
    parts = []
    for (space, ps), tup in zip(a.parts, ours, strict=True):
        first = n_par + (0 if is_domain else space.n_in)
        places = (*range(n_par), *range(first, first + len(tup.dims)))
        knives = [ph.reindex(q, n_par + len(space.dims), places) for q in b._find((None, tup.key))]
        parts.append((space, _each(ps, knives)))
    return a._of(a.param_names, [p for p in parts if p[1]] or parts[:1])


def apply_range(self: RationalMap, other: RationalMap) -> RationalMap:
    """First this, then the other: { x -> z : x -> y here and y -> z there }, y rational; O(m n) projections.

    Raises
    ------
    SpaceMismatch : both have one tuple there and these differ, or `other` is no `RationalMap`.

    >>> from polyvolta.sets import RationalMap
    >>> half = RationalMap("{ rat: [i] -> [j] : i = 2j }")
    >>> print(half.apply_range(RationalMap("{ rat: [j] -> T[k] : j < k }")))
    { rat: [i] -> T[k] : 2*k > i }
    """
    return _applied(self, other, "a composition")


def _applied(self: R, other: RationalMap, what: str) -> R:
    """The images of a set's points, or of a relation's outputs; `what` it is for those who read an error."""
    a, b = self._aligned(_need(other, True, what))
    _match([s.out for s, _ in a.parts], [s.source for s, _ in b.parts], what, f"{self}\n{other}")
    parts = list(_composed(a, b))
    return a._of(a.param_names, [p for p in parts if p[1]] or parts[:1])


def _composed(a: RationalPoints[Any], b: RationalMap) -> Iterator[tuple[Space, tuple[ph.Polyhedron, ...]]]:
    """What each part of a set or a relation leads to."""
    n_par = len(a.param_names)
    head = tuple(range(n_par))
    for left, ps in a.parts:
        for right, qs in b.parts:
            if left.out.key != right.source.key:
                continue
            n_in, n_out = left.n_in, right.n_out
            n = n_par + n_in + n_out + left.n_out
            outer, last = tuple(range(n_par, n_par + n_in)), tuple(range(n_par + n_in, n_par + n_in + n_out))
            mid = tuple(range(n_par + n_in + n_out, n))
            firsts = [ph.reindex(p, n, (*head, *outer, *mid)) for p in ps]
            seconds = [ph.reindex(q, n, (*head, *mid, *last)) for q in qs]
            done = tuple([ph.project(p, mid) for p in _each(firsts, seconds)])
            yield spaced(left.inp, right.out, a.param_names), done


def apply_domain(self: RationalMap, other: RationalMap) -> RationalMap:
    """Inputs replaced by their images: { z -> y : x -> y here and x -> z there }; see `apply_range`.

    >>> from polyvolta.sets import RationalMap
    >>> print(RationalMap("{ rat: S[i] -> [i] }").apply_domain(RationalMap("{ rat: S[i] -> T[2i] }")))
    { rat: T[i0] -> [i] : 2*i = i0 }
    """
    return reverse(apply_range(reverse(self), _need(other, True, "a composition")))


def apply(self: RationalSet, relation: RationalMap) -> RationalSet:
    """The image under a relation; O(m n) projections.

    Raises
    ------
    SpaceMismatch : both have one tuple there and these differ, or `relation` is no `RationalMap`.

    >>> from polyvolta.sets import RationalMap, RationalSet
    >>> print(RationalSet("{ rat: [i] : 0 < i < 1 }").apply(RationalMap("{ rat: [i] -> [3i] }")))
    { rat: [i0] : 0 < i0 < 3 }
    """
    return _applied(self, relation, "an image")


def deltas(self: RationalMap) -> RationalSet:
    """The differences of outputs and inputs; m projections.

    Raises
    ------
    SpaceMismatch : an input and its output are of different spaces.

    >>> from polyvolta.sets import RationalMap
    >>> print(RationalMap("{ rat: [i] -> [j] : 0 <= j <= i < 1 }").deltas())
    { rat: [i] : -1 < i <= 0 }
    """
    from .rational import RationalSet

    n_par, parts = len(self.param_names), []
    for space, ps in self.parts:
        if space.source.key != space.out.key:
            raise SpaceMismatch("differences need inputs and outputs of one space", where=str(space))
        m = space.n_out
        n = n_par + 3 * m
        rows = []
        for k in range(m):  # difference = output - input
            row = [0] * (1 + n)
            row[1 + n_par + k], row[1 + n_par + m + k], row[1 + n_par + 2 * m + k] = 1, -1, 1
            rows.append(tuple(row))
        apart = ph.polyhedron(n, rows)
        wide = [ph.reindex(p, n, tuple(range(n_par + 2 * m))) for p in ps]
        gone = tuple(range(n_par, n_par + 2 * m))
        parts.append((Space(None, space.source), tuple([ph.project(p, gone) for p in _each(wide, [apart])])))
    return RationalSet._of(self.param_names, parts)


# ---- functions


def is_single_valued(self: RationalMap) -> bool:
    """Whether no input has two outputs; a composition and a difference for each pair of pieces.

    >>> from polyvolta.sets import RationalMap
    >>> RationalMap("{ rat: [i] -> [j] : i = 2j }").is_single_valued()
    True
    """
    both = apply_range(reverse(self), self)
    return both.is_subset(identity(range_(self)))


def is_injective(self: RationalMap) -> bool:
    """Whether no output has two inputs; see `is_single_valued`.

    >>> from polyvolta.sets import RationalMap
    >>> RationalMap("{ rat: [i, j] -> [i + j] }").is_injective()
    False
    """
    return is_single_valued(reverse(self))


def is_bijective(self: RationalMap) -> bool:
    """Whether it is single-valued and injective.

    >>> from polyvolta.sets import RationalMap
    >>> RationalMap("{ rat: [i] -> [3i] }").is_bijective()
    True
    """
    return is_single_valued(self) and is_injective(self)
