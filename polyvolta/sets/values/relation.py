"""What `Set` and `Map` share: finite unions of conjuncts, in one or several spaces, over named parameters.

What does not depend on what the pieces are is in `united`: parts, parameters and names. Methods are functions of the
modules below, one theme each (`algebra`, `dimensions`, `lexrel`, `gist`, `coalesce`, `count`), whose first argument is
the relation.

Costs are stated in conjuncts (m and n for the two operands); what happens per conjunct is in `conjunct`,
`project`, `integer` and `lexopt`, which also hold the exactness arguments. Everything is exact over the
integers. What can be exponential stops with `BudgetExceeded`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast
from zlib import crc32

from ..budgets import metered_class
from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct
from ..counting import cardinality as cardinalities
from ..counting import count as counting
from ..errors import SetSyntaxError, kind_of
from ..functions import multi_pwaff
from ..hulls import box, hull
from ..hulls import coalesce as coalescing
from ..hulls import gist as gisting
from ..operations import algebra, bounds, dimensions, make
from ..operations import product as products
from ..optima import extent, lexrel, optimise
from ..optima.projected import projected
from .named import by_isl
from .space import Space
from .united import United

F = TypeVar("F", bound=Callable[..., Any])
Part = tuple[Space, tuple[Conjunct, ...]]
Rough = tuple[Space, tuple[Conjunct | cj.Beside, ...]]


def _merged_parts(n_par: int, parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts, one for each space; equal pieces and those that plainly hold no point gone, a universe alone."""
    if len(parts) == 1 and len(parts[0][1]) < 2:  # nothing to merge
        space, pieces = parts[0]
        if pieces and pieces[0] == cj.nothing(pieces[0].n):
            pieces = ()
        return ((space, tuple(pieces)),)
    merged: dict[tuple, tuple[Space, dict[Conjunct, None]]] = {}
    for space, pieces in parts:
        _, seen = merged.setdefault(space.key, (space, {}))
        for c in pieces:
            seen[c] = None
        n = n_par + len(space.dims)
        seen.pop(cj.nothing(n), None)
        if len(seen) > 1 and cj.universe(n) in seen:
            merged[space.key] = (space, {cj.universe(n): None})
    return tuple([(space, tuple(seen)) for space, seen in merged.values()])


PROBES = 48  # points by which sets are told apart, half of them of numbers below 3, half below 12


@lru_cache(maxsize=1 << 10)
def probes(params: tuple[str, ...], n: int) -> tuple[tuple[int, ...], ...]:
    """Some points of n dimensions, a parameter having one value in each, whatever parameters there are besides.

    >>> one, other = probes(("N",), 2), probes(("M", "N"), 2)
    >>> len(one), [p[1:] for p in other] == list(one)
    (48, True)
    """
    names, places = [crc32(name.encode()) for name in params], range(n)
    found = []
    for k in range(PROBES):
        size = 3 if k < PROBES // 2 else 12
        values = [crc32(b"%d %d" % (name, k)) % 24 for name in names]  # larger, as sizes are
        found.append((*values, *[crc32(b"%d in %d" % (at, k)) % size for at in places]))
    return tuple(found)


def one_piece(f: F) -> F:
    """The method, whose value is of isl's class of what is one piece, `polyvolta.isl.BasicSet` or `BasicMap`."""

    @wraps(f)
    def call(self: Any) -> Any:  # noqa: ANN401
        from ..by_isl.basic import narrowed

        return narrowed(f(self))

    return cast(F, call)


@metered_class
class Relation(United[Conjunct]):
    """What `Set` and `Map` share; a value is made from isl's notation or by `_of`."""

    __slots__ = ("_origin", "_rough", "_settle")
    _rough: tuple[Rough, ...]  # the parts, whose pieces need not be normal: what a composition reads
    _settle: Callable[[], Iterable[Part]]  # gives the parts of what `_later` made
    _origin: Self | None  # of what this is the reverse
    _is_map: bool

    def __init__(self, text: str, context: object = None) -> None:
        if not isinstance(text, str):
            if isinstance(text, Relation) and text._is_map == self._is_map:  # isl's basic sets, sets and unions are one
                self._fill(text.param_names, text.parts)
                return
            raise self._no_text(text)
        from ..text.parse import parse

        self._fill(*parse(text, self._is_map))

    def _no_text(self, value: object) -> SetSyntaxError:
        """The error that this is made from another value than a text."""
        kind = type(self).__name__
        if isinstance(value, Relation):
            hint = "m.wrap() is its pairs as a set" if value._is_map else "s.identity() or s.unwrap() is a map"
        elif isinstance(value, United):
            hint = value._beside
        else:
            hint = f"{kind}(str(x)) reads what prints in isl's notation"
        return SetSyntaxError(f"a {kind} is made from a text in isl's notation, not from {kind_of(value)}", hint=hint)

    def _fill(self, params: tuple[str, ...], parts: Iterable[Part]) -> None:
        self.param_names, self._hash, self._origin = params, None, None
        self.parts = self._rough = _merged_parts(len(params), tuple(parts))

    @classmethod
    def _of(cls, params: tuple[str, ...], parts: Iterable[Part]) -> Self:
        self = object.__new__(cls)
        self._fill(params, parts)
        return self

    @classmethod
    def _disjoint(cls, params: tuple[str, ...], part: Part) -> Self:
        """A relation of pieces of which no two have a common point, and none is empty: nothing is to be merged."""
        self = object.__new__(cls)
        self.param_names, self._hash, self._origin = params, None, None
        self.parts = self._rough = (part,)
        return self

    @classmethod
    def _later(cls, params: tuple[str, ...], part: Rough, settle: Callable[[], Iterable[Part]]) -> Self:
        """A relation that is usually composed next, with pieces that say the same as those that `settle` gives.

        They need not be normal. Its parts are settled when someone asks for them, a composition doesn't (`_rough`).
        """
        self = object.__new__(cls)
        self.param_names, self._hash, self._origin = params, None, None
        self._rough, self._settle = (part,), settle
        return self

    if not TYPE_CHECKING:  # a checker knows what there is

        def __getattr__(self, name: str) -> object:
            """The parts, asked for the first time; or a method by isl's name."""
            if name != "parts":
                return by_isl(self, name)
            self.parts = _merged_parts(len(self.param_names), tuple(self._settle()))
            return self.parts

    def _hash_of_points(self) -> int:
        """Which of some points are in it, by tuple: the same for the same points. An evaluation of each row for each.

        Tuples with none of these say nothing, for they may have none at all.
        """
        found = []
        for space, cs in self.parts:
            tried = probes(self.param_names, len(space.dims)) if cs else ()
            inside = tuple([k for k, point in enumerate(tried) if any(cj.holds(c, point) for c in cs)])
            found += [(space.key, inside)] if inside else []
        return hash((self._noun, frozenset(found)))

    def __str__(self) -> str:
        from ..text.show import show_relation

        return show_relation(self)

    def _map_conjuncts(self, f: Callable[[Conjunct], Conjunct | None]) -> Self:
        return self._of(self.param_names, [(s, tuple(d for d in map(f, cs) if d is not None)) for s, cs in self.parts])

    def _merged(self, other: Relation) -> tuple[tuple[str, ...], tuple[int, ...], tuple[int, ...]]:
        """The parameters of both, and where those of each stand among them."""
        ours, theirs = self.param_names, other.param_names
        if ours == theirs:
            return ours, tuple(range(len(ours))), tuple(range(len(ours)))
        params = tuple(dict.fromkeys([*ours, *theirs]))
        return params, tuple(range(len(ours))), tuple(map(params.index, theirs))

    # ---- pieces

    _counted, _listed = "count() counts its points", "points() lists its points, pieces its conjuncts"
    _reindex, _project = staticmethod(cj.reindex), staticmethod(projected)
    _universe = staticmethod(cj.universe)

    # ---- methods: one module a theme

    union, intersect, subtract = algebra.union, algebra.intersect, algebra.subtract
    symmetric_difference = algebra.symmetric_difference
    __or__, __and__, __sub__, __xor__ = union, intersect, subtract, symmetric_difference
    is_empty, is_equal, is_disjoint = algebra.is_empty, algebra.is_equal, algebra.is_disjoint
    is_subset, is_strict_subset = algebra.is_subset, algebra.is_strict_subset
    __le__, __lt__, __ge__, __gt__ = is_subset, is_strict_subset, algebra.is_superset, algebra.is_strict_superset
    without_empty = algebra.without_empty

    params, intersect_params = dimensions.params, dimensions.intersect_params
    project_out, project_out_params = dimensions.project_out, dimensions.project_out_params
    project_out_param, project_out_all_params = dimensions.project_out_params, dimensions.project_out_all_params
    project_onto, eliminate, known_divs = dimensions.project_onto, dimensions.eliminate, dimensions.known_divs
    insert_dims, add_dims, move_dims = dimensions.insert_dims, dimensions.add_dims, dimensions.move_dims
    rename_dims, rename_params = dimensions.rename_dims, dimensions.rename_params
    complement = __invert__ = dimensions.complement

    universe, empty = classmethod(make.universe), classmethod(make.empty)
    from_points = classmethod(make.from_points)
    contains = __contains__ = make.contains

    fix, lower_bound, upper_bound, equate = bounds.fix, bounds.lower_bound, bounds.upper_bound, bounds.equate
    order_lt, order_le, order_gt, order_ge = bounds.order_lt, bounds.order_le, bounds.order_gt, bounds.order_ge
    drop_constraints_involving = bounds.drop_constraints_involving

    product, flat_product, flatten = products.product, products.flat_product, products.flatten

    min, max, dim_min, dim_max = optimise.min_, optimise.max_, optimise.dim_min, optimise.dim_max
    lexmin_pw_multi_aff, lexmax_pw_multi_aff = multi_pwaff.lexmin_pw_multi_aff, multi_pwaff.lexmax_pw_multi_aff
    lexmin, lexmax, sample = lexrel.lexmin, lexrel.lexmax, one_piece(lexrel.sample)
    gist, gist_params, coalesce = gisting.gist, gisting.gist_params, coalescing.coalesce
    remove_redundancies, detect_equalities = hull.remove_redundancies, hull.detect_equalities
    affine_hull, convex_hull = one_piece(hull.affine_hull), one_piece(hull.convex_hull)
    polyhedral_hull, simple_hull = one_piece(hull.polyhedral_hull), one_piece(hull.simple_hull)
    unshifted_simple_hull, box_hull = one_piece(hull.unshifted_simple_hull), box.box_hull
    is_bounded, is_box, is_singleton = extent.is_bounded, extent.is_box, extent.is_singleton
    bounding_box = extent.bounding_box
    count, points, cardinality = counting.count, counting.points, cardinalities.cardinality
