"""The two sides of a map, restriction by them, and composition: methods of `Map` (and `Set.apply`).

A map relates inputs to outputs. Its domain and range are projections; restricting a side conjoins a set there;
composing two maps puts them side by side over a common middle tuple, which is then projected out. A map is a
function when x -> y and x -> z only with y = z, that is when (reversed, then itself) lies in the identity.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from ..budgets import spend
from ..conjuncts import conjunct as cj
from ..conjuncts import project as pj
from ..conjuncts.conjunct import Conjunct
from ..conjuncts.implies import box
from ..errors import SpaceMismatch
from ..hulls.intervals import Box, touch
from ..values.aff import Aff
from ..values.shape import all_spaces, flat, linked, need_map, need_set, rearranged, single, spaced
from ..values.space import Space, Tuple, apart, refuse_params, renamed, renaming, unlike
from .algebra import conjoin_all, filled, in_spaces_with_points

if TYPE_CHECKING:
    from ..values.map import Map
    from ..values.relation import Part, Relation, Rough
    from ..values.set import Set

MANY = 64  # pairs of pieces from which on numbers are compared before anything else


# ---- sides


def domain(self: Map) -> Set:
    """The inputs that are related to something; exact, m projections.

    A set with a tuple for each input tuple of the map.

    >>> from polyvolta.sets import Map
    >>> print(Map("[N] -> { S[i] -> [2i] : 0 <= i < N }").domain())
    [N] -> { S[i] : 0 <= i < N }
    """
    from ..values.set import Set

    return rearranged(Set, self, lambda s: (None, s.inp, range(s.n_in)))


def range_(self: Map) -> Set:
    """The outputs that something is related to; exact, m projections.

    A set with a tuple for each output tuple of the map.

    >>> from polyvolta.sets import Map
    >>> print(Map("[N] -> { S[i] -> [2i] : 0 <= i < N }").range())
    [N] -> { [i0] : i0 mod 2 = 0 and 0 <= i0 <= 2*N - 2 }
    """
    from ..values.set import Set

    return rearranged(Set, self, lambda s: (None, s.out, range(s.n_in, len(s.dims))))


def reverse(self: Map) -> Map:
    """Inputs and outputs swapped. Linear.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ S[i] -> [i + 1] }").reverse())
    { [i0] -> S[i0 - 1] }
    """
    if self._origin is not None:
        return self._origin
    turned = _reversed(self)
    turned._origin = self  # what gave outputs plainly may be lost in the normal form with inputs and outputs swapped
    return turned


def _reversed(self: Map) -> Map:
    swapped = partial(rearranged, type(self), self, lambda s: (s.out, s.inp, _swapped(s.n_in, s.n_out)))
    parts = self._rough
    if len(parts) != 1 or len(parts[0][1]) != 1:
        return swapped()
    ((space, (c,)),) = parts
    n_par = len(self.param_names)
    places = (*range(n_par), *[n_par + k for k in _swapped(space.n_out, space.n_in)])
    turned = spaced(space.out, space.inp, self.param_names)
    rough = cj.beside(c.n, cj.members(c, places))
    return self._later(self.param_names, (turned, (rough,)), lambda: swapped().parts)


def _swapped(n_in: int, n_out: int) -> tuple[int, ...]:
    """Where outputs and then inputs stand among inputs and then outputs."""
    return (*range(n_in, n_in + n_out), *range(n_in))


def identity(self: Set) -> Map:
    """The map from each point of the set to itself; linear.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ S[i] : 0 <= i < 4 }").identity())
    { S[i] -> S[i] : 0 <= i <= 3 }
    """
    from ..values.map import Map

    parts = []
    n_par = len(self.param_names)
    for space, cs in in_spaces_with_points(self).parts:
        n = space.n_out
        equal = linked(n_par + 2 * n, [(n_par + d, n_par + n + d) for d in range(n)])
        wide = (cj.reindex(c, n_par + 2 * n, tuple(range(n_par + n))) for c in cs)
        parts.append((spaced(space.out, space.out, self.param_names), conjoin_all(wide, [equal])))
    return Map._of(self.param_names, parts)


# ---- restriction


def _meet(a: Relation, side: str, b: Relation) -> None:
    """Whether one space of a side of `a` can be a space of the set `b`; several may lack a counterpart.

    Raises
    ------
    SpaceMismatch : both have one space and these differ, or the set is a condition on parameters.
    """
    sides = [s.source if side == "domain" else s.out for s, _ in a._rough]
    refuse_params([s.out for s, _ in b._rough], sides, f"a restriction of the {side}")
    if single(a, b):
        here, there = sides[0], b._rough[0][0].out
        if here.key != there.key:
            hint = renaming(there, here, "the set")
            where = f"{side}: {here}\nset: {there}"
            raise SpaceMismatch(f"the set is not in the space of the {side}", where=where, hint=hint)


def _restricted(self: Map, sets: Set, side: str) -> Map:
    """The pairs of which one side is in the set."""
    need_set(sets, f"a restriction of the {side}")
    _meet(self, side, sets)
    settle = partial(_met, self, sets, side)
    params, ours, theirs = self._merged(sets)
    if not (len(self._rough) == 1 == len(sets.parts) and len(self._rough[0][1]) == 1 == len(sets.parts[0][1])):
        return self._of(params, settle())
    (((space, (c,)),), ((_, (d,)),)) = self._rough, sets.parts
    n_par, n = len(params), len(params) + len(space.dims)
    tup, first = (space.source, n_par) if side == "domain" else (space.out, n_par + space.n_in)
    there = (*theirs, *range(first, first + len(tup.dims)))
    rough = cj.beside(n, (*cj.members(c, (*ours, *range(n_par, n))), (d, there)))
    return self._later(params, (apart(space, params), (rough,)), settle)


def _met(self: Map, sets: Set, side: str) -> list[Part]:
    a, b = self._aligned(sets)
    parts = [(space, conjoin_all(cs, _widened(a, b, side, space))) for space, cs in a.parts]
    return [p for p in parts if p[1]] or parts[:1]


def _widened(a: Map, b: Set, side: str, space: Space) -> list[Conjunct]:
    """What `b` says of one side of a space of `a`, which has the same parameters, over all dimensions."""
    n_par = len(a.param_names)
    tup, first = (space.source, n_par) if side == "domain" else (space.out, n_par + space.n_in)
    places = (*range(n_par), *range(first, first + len(tup.dims)))
    return [cj.reindex(c, n_par + len(space.dims), places) for c in b._find((None, tup.key))]


def _without(self: Map, sets: Set, side: str) -> Map:
    """The pairs of which one side is not in the set."""
    need_set(sets, f"a restriction of the {side}")
    a, b = self._aligned(sets)
    parts: list[Part] = []
    for space, cs in a.parts:
        knife = a._of(a.param_names, [(space, tuple(_widened(a, b, side, space)))])
        parts += a._of(a.param_names, [(space, cs)]).subtract(knife).parts
    return a._of(a.param_names, [p for p in parts if p[1]] or parts[:1])


def intersect_domain(self: Map, sets: Set) -> Map:
    """The pairs whose input is in the set; O(m n) conjunctions, exact.

    Raises
    ------
    SpaceMismatch : both have one tuple there and these differ.

    >>> from polyvolta.sets import Map, Set
    >>> print(Map("{ S[i] -> [2i] }").intersect_domain(Set("{ S[i] : 0 <= i < 9 }")))
    { S[i] -> [2*i] : 0 <= i <= 8 }
    """
    return _restricted(self, sets, "domain")


def intersect_range(self: Map, sets: Set) -> Map:
    """The pairs whose output is in the set; see `intersect_domain`.

    `sets` is a set of output tuples.

    >>> from polyvolta.sets import Map, Set
    >>> print(Map("{ S[i] -> [2i] }").intersect_range(Set("{ [j] : 0 <= j < 9 }")))
    { S[i] -> [2*i] : 0 <= i <= 4 }
    """
    return _restricted(self, sets, "range")


def subtract_domain(self: Map, sets: Set) -> Map:
    """The pairs whose input is not in the set, all of those in other tuples too; exact, a subtraction.

    >>> from polyvolta.sets import Map, Set
    >>> print(Map("{ [i] -> [i + 1] : 0 <= i < 9 }").subtract_domain(Set("{ [i] : i >= 4 }")))
    { [i] -> [i + 1] : 0 <= i <= 3 }
    """
    return _without(self, sets, "domain")


def subtract_range(self: Map, sets: Set) -> Map:
    """The pairs whose output is not in the set; see `subtract_domain`.

    `sets` is a set of output tuples.

    >>> from polyvolta.sets import Map, Set
    >>> print(Map("{ S[i] -> [2i] : i >= 0 }").subtract_range(Set("{ [j] : j > 9 }")))
    { S[i] -> [2*i] : 0 <= i <= 4 }
    """
    return _without(self, sets, "range")


# ---- composition


def apply(self: Set, relation: Map) -> Set:
    """The image under a map; exact, O(m n) projections.

    `relation` is a map of the set's tuples.

    Raises
    ------
    SpaceMismatch : both have one tuple there and these differ.

    >>> from polyvolta.sets import Map, Set
    >>> print(Set("{ S[i] : 0 <= i < 70 }").apply(Map("{ S[i] -> [floor(i/32)] }")))
    { [i0] : 0 <= i0 <= 2 }
    """
    if not getattr(relation, "_is_map", False):
        raise SpaceMismatch("a set is applied to a Map", where=str(relation))
    need_set(self, "a map applied to something")
    rough = relation._rough
    if single(self, relation) and self.parts[0][0].out.key != rough[0][0].source.key:
        raise SpaceMismatch(
            "no tuple of the set is in the map's domain",
            where=f"set: {all_spaces(self)}\nmap: {all_spaces(relation)}",
            hint=renaming(self.parts[0][0].out, rough[0][0].source, "the set"),
        )
    params, ours, theirs = self._merged(relation)
    n_par = len(params)
    parts = []
    for space, cs in rough:
        n = n_par + len(space.dims)
        inside = tuple(range(n_par, n_par + space.n_in))
        everywhere = (*theirs, *range(n_par, n))
        found = self._find((None, space.source.key))
        done = [pj.compose(c, d, n, everywhere, ours + inside, inside) for c in cs for d in found]
        parts.append((spaced(None, space.out, params), filled(done)))
    return self._of(params, [p for p in parts if p[1]] or parts[:1])


def apply_range(self: Map, other: Map) -> Map:
    """First this, then the other: { x -> z : x -> y here and y -> z there }. O(m n) projections; exact.

    Raises
    ------
    SpaceMismatch : both have one tuple there and these differ.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ S[i] -> A[i + 1] }").apply_range(Map("{ A[j] -> [floor(j/4)] }")))
    { S[i] -> [floor((i + 1)/4)] }
    """
    self._check_kind(other, "a composition")
    params, ours, theirs = self._merged(other)
    parts = []
    begins: dict[tuple, list[Rough]] = {}
    for right, ds in other._rough:
        begins.setdefault(right.source.key, []).append((right, ds))
    for left, cs in self._rough:
        for right, ds in begins.get(left.out.key, ()):
            done = composed(cs, ds, (ours, theirs, len(params)), (left.n_in, left.n_out, right.n_out))
            parts.append((spaced(left.inp, right.out, params), done))
    if not parts and single(self, other):
        raise SpaceMismatch(
            "nothing of the first map's range is in the second map's domain",
            where=f"first: {all_spaces(self)}\nsecond: {all_spaces(other)}",
            hint=renaming(other._rough[0][0].source, self._rough[0][0].out, "the second", "rename_domain"),
        )
    return self._of(params, parts)


def composed(
    firsts: Iterable[Conjunct | cj.Beside],
    seconds: Iterable[Conjunct | cj.Beside],
    params: tuple[tuple[int, ...], tuple[int, ...], int],
    sides: tuple[int, int, int],
) -> tuple[Conjunct, ...]:
    """First one of some pieces, then one of some others. A projection for each pair.

    Of many pairs those are none where numbers say that the one ends elsewhere than the other begins.

    Parameters
    ----------
    params : where the parameters of the first ones stand, those of the second ones, and how many there are in all.
    sides : the numbers of inputs, of what is between, and of outputs.
    """
    ours, theirs, n_par = params
    n_in, n_mid, n_out = sides
    width = n_par + n_in + n_out + n_mid
    mid = tuple(range(n_par + n_in + n_out, width))
    first = (*ours, *range(n_par, n_par + n_in), *mid)
    second = (*theirs, *mid, *range(n_par + n_in, n_par + n_in + n_out))
    firsts, seconds = tuple(firsts), tuple(seconds)
    if len(firsts) * len(seconds) < MANY:
        return filled([pj.compose(c, d, width, first, second, mid) for c in firsts for d in seconds])
    begins = [(d, _spans(d, second, mid)) for d in seconds]
    found: list[Conjunct | None] = []
    for c in firsts:
        own = _spans(c, first, mid)
        spend(1 + len(begins) // 16)
        near = [d for d, other in begins if touch(own, other)]
        found += [pj.compose(c, d, width, first, second, mid) for d in near]
    return filled([None, *found])  # one pair of several: what comes of it is asked whether it is empty


def _spans(c: Conjunct | cj.Beside, places: tuple[int, ...], dims: tuple[int, ...]) -> Box:
    """Between which numbers some dimensions of a piece lie, of which the places of its own are given."""
    found = dict.fromkeys(dims, (-inf, inf))
    for member, at in cj.members(c, places):
        found |= {place: span for place, span in zip(at, box(member), strict=True) if place in found}
    return tuple(found.values())


def apply_domain(self: Map, other: Map) -> Map:
    """Replace inputs by their images: { z -> y : x -> y here and x -> z there }; see `apply_range`.

    `other` is a map with the same inputs; see `apply_range` for the errors.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ S[i] -> A[i + 1] }").apply_domain(Map("{ S[i] -> T[2i] }")))
    { T[i0] -> A[floor(i0/2) + 1] : i0 mod 2 = 0 }
    """
    need_map(other, "a composition")
    return reverse(apply_range(reverse(self), other))


# ---- functions


def is_single_valued(self: Map) -> bool:
    """Whether no input has two outputs.

    Exact. Free where equalities give the outputs; else, unless the reverse is a `Layout`, whose digits tell, by one
    emptiness test for each two pieces and each output: whether it differs.

    >>> from polyvolta.sets import Map
    >>> Map("{ S[i] -> [floor(i/2)] }").is_single_valued(), Map("{ S[i] -> [j] : j > i }").is_single_valued()
    (True, False)
    """
    from ..layouts.recognise_layout import injective_by_digits
    from ..optima.outputs import solved_outputs
    from .differ import two_outputs

    apart = len({s.source.key for s, _ in self.parts}) == len(self.parts) and all(len(cs) <= 1 for _, cs in self.parts)
    if apart and all(solved_outputs(c, len(self.param_names), s) is not None for s, cs in self.parts for c in cs):
        return True
    known = None if self.param_names else injective_by_digits(reverse(self))
    return not two_outputs(self) if known is None else known


def is_injective(self: Map) -> bool:
    """Whether no output has two inputs; exact. By its digits, if it is a layout; else see `is_single_valued`.

    >>> from polyvolta.sets import Map
    >>> Map("{ S[i] -> [2i] }").is_injective(), Map("{ S[i] -> [floor(i/2)] }").is_injective()
    (True, False)
    """
    from ..layouts.recognise_layout import injective_by_digits

    known = injective_by_digits(self)
    return is_single_valued(reverse(self)) if known is None else known


def is_bijective(self: Map) -> bool:
    """Whether inputs and outputs are in one-to-one correspondence; exact, see `is_single_valued`.

    >>> from polyvolta.sets import Map
    >>> Map("{ S[i] -> [floor(i/32), i mod 32] }").is_bijective()
    True
    """
    return is_single_valued(self) and is_injective(self)


def is_identity(self: Map) -> bool:
    """Whether every pair is a point and itself; exact, one subtraction. The empty map is one.

    >>> from polyvolta.sets import Map
    >>> Map("{ [i] -> [4*floor(i/4) + i mod 4] : i >= 0 }").is_identity()
    True
    """
    return all(s.source.key == s.out.key or not any(not c.is_empty for c in cs) for s, cs in self.parts) and (
        self.is_subset(identity(domain(self)))
    )


def as_affs(self: Map) -> tuple[Aff, ...]:
    """The outputs as quasi-affine expressions of the inputs and parameters.

    Exact wherever the map is defined. Free where equalities give the outputs, else one parametric lexmin.

    >>> from polyvolta.sets import Map
    >>> print(*Map("{ [a, b] -> [32a + b] : 0 <= b < 32 }").reverse().as_affs())
    floor(i0/32) i0 mod 32

    Raises
    ------
    NotAFunction : some input has several outputs, or no single expression gives them.
    """
    from ..optima.outputs import output_affs

    return output_affs(self)


# ---- differences


def _difference(self: Map) -> list[tuple[Space, tuple, Tuple]]:
    """Per part that has differences its space, the conjuncts, and the tuple of the difference."""
    found = []
    for space, cs in self.parts:
        n = space.n_in
        if not single(self) and space.source.key != space.out.key:  # of a union pairs of unlike tuples are left out
            continue
        if n != space.n_out:
            raise SpaceMismatch("differences need as many inputs as outputs", where=str(space))
        if unlike(space.source, space.out):
            raise SpaceMismatch(
                "differences need inputs and outputs of one name",
                where=f"inputs: {space.inp}\noutputs: {space.out}",
                hint="rename_domain or rename_range gives them one",
            )
        target = space.out if space.source.key == space.out.key else flat(space.out)
        found.append((space, cs, target))
    return found


def deltas(self: Map) -> Set:
    """{ y - x } over all pairs x -> y; exact, m projections.

    The tuple, with its name and those inside, stays where both sides have it, as in isl; else the differences are in an
    anonymous one. Of several pairs of tuples only those of two equal ones have differences. Dimensions are called as
    the inputs are, as in isl.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ S[i, j] -> S[i + 1, j - 2] }").deltas())
    { S[1, -2] }

    Raises
    ------
    SpaceMismatch : some pair has more inputs than outputs, or fewer, or both sides have names, and these differ, at
        any depth.
    """
    from ..values.set import Set

    n_par = len(self.param_names)
    parts = []
    for space, cs, out in _difference(self):
        out = renamed(out, space.source.dims)
        done = (pj.differences(c, n_par) for c in cs)
        parts.append((spaced(None, out, self.param_names), tuple(c for c in done if c is not None)))
    return Set._of(self.param_names, parts)


def deltas_map(self: Map) -> Map:
    """{ [x -> y] -> y - x } over all pairs; linear. See `deltas`; differences are called as outputs are.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ S[i] -> S[i + 3] }").deltas_map())
    { [S[i] -> S[i0]] -> S[3] : i0 = i + 3 }
    """
    n_par = len(self.param_names)
    parts = []
    for space, cs, out in _difference(self):
        n, width = space.n_in, n_par + 3 * space.n_in
        rows = [
            (0, *[(k == n_par + d) - (k == n_par + n + d) + (k == n_par + 2 * n + d) for k in range(width)])
            for d in range(n)
        ]
        knife = cj.sure(cj.normalise(width, (), rows, ()))
        both = conjoin_all((cj.reindex(c, width, tuple(range(n_par + 2 * n))) for c in cs), [knife])
        wrapped = Tuple(None, space.dims, space)
        parts.append((spaced(wrapped, out, self.param_names), both))
    return self._of(self.param_names, parts)
