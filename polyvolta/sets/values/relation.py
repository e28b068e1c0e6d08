"""What `Set` and `Map` share: finite unions of conjuncts, in one or several spaces, over named parameters.

A relation is immutable: every method returns a new one. Operands are aligned on the union of their parameters
first, and dimension names never matter for what an operation means, only tuple names and arities do. `==`
compares structure, which is cheap; `is_equal` compares points, which is the mathematics.

The class holds the structure; its methods are functions of the modules below, one theme each (`algebra`, `dimensions`,
`lexrel`, `gist`, `coalesce`, `count`), whose first argument is the relation.

Costs are stated in conjuncts (m and n for the two operands); what happens per conjunct is in `conjunct`,
`project`, `integer` and `lexopt`, which also hold the exactness arguments. Everything is exact over the
integers. What can be exponential stops with `BudgetExceeded`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Self, TypeVar

from ..budgets import metered_class
from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct
from ..counting import cardinality as cardinalities
from ..counting import count as counting
from ..errors import SetSyntaxError, SpaceMismatch, UnknownName, kind_of
from ..functions import multi_pwaff
from ..hulls import box, hull
from ..hulls import coalesce as coalescing
from ..hulls import gist as gisting
from ..operations import algebra, bounds, dimensions, make
from ..operations import product as products
from ..optima import extent, lexrel, optimise
from .named import Named
from .space import Space, apart, renamings

Part = tuple[Space, tuple[Conjunct, ...]]
R = TypeVar("R", bound="Relation")


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


@metered_class
class Relation(metaclass=Named):
    """What `Set` and `Map` share; a value is made from isl's notation or by `_of`."""

    __slots__ = ("_hash", "_origin", "_rough", "_settle", "param_names", "parts")
    param_names: tuple[str, ...]
    parts: tuple[Part, ...]
    _rough: tuple[Part, ...]  # the parts, whose pieces need not be normal: what a composition reads
    _settle: Callable[[], Iterable[Part]]  # gives the parts of what `_later` made
    _origin: Self | None  # of what this is the reverse
    _hash: int | None
    _is_map: bool

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise self._no_text(text)
        from ..text.parse import parse

        self._fill(*parse(text, self._is_map))

    def _no_text(self, value: object) -> SetSyntaxError:
        """The error that this is made from another value than a text."""
        kind = type(self).__name__
        if type(value) is type(self):
            hint = f"it is a {kind} already"
        elif isinstance(value, Relation):
            hint = "m.wrap() is its pairs as a set" if value._is_map else "s.identity() or s.unwrap() is a map"
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
    def _later(cls, params: tuple[str, ...], part: Part, settle: Callable[[], Iterable[Part]]) -> Self:
        """A relation that is usually composed next, with pieces that say the same as those that `settle` gives.

        They need not be normal. Its parts are settled when someone asks for them, a composition doesn't (`_rough`).
        """
        self = object.__new__(cls)
        self.param_names, self._hash, self._origin = params, None, None
        self._rough, self._settle = (part,), settle
        return self

    if not TYPE_CHECKING:  # a checker knows what there is

        def __getattr__(self, name: str) -> tuple[Part, ...]:
            """The parts, asked for the first time."""
            if name != "parts":
                raise self._lacks(name)
            self.parts = _merged_parts(len(self.param_names), tuple(self._settle()))
            return self.parts

    def _lacks(self, name: str) -> AttributeError:
        """The error that there is no such attribute; of a method of isl's it says what is here instead."""
        kind, said = type(self).__name__, ""
        if not name.startswith("_"):
            from ..text.of_isl import lacking

            said = lacking(type(self), name)
        return AttributeError(said or f"a {kind} has no attribute {name!r}", name=name, obj=self)

    def __reduce__(self) -> tuple[object, ...]:
        """Made anew from its parts, for another process hashes names otherwise."""
        return self._of, (self.param_names, self.parts)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.param_names, frozenset([(s.key, frozenset(p)) for s, p in self.parts])))
        return self._hash

    def __eq__(self, other: object) -> bool:
        """Same parameters, spaces and normalised pieces: cheap; implies `is_equal`, not conversely."""
        if not isinstance(other, Relation) or type(self) is not type(other) or self.param_names != other.param_names:
            return False
        mine, theirs = self.parts, other.parts
        if len(mine) == 1 == len(theirs):
            ((space, cs),), ((other_space, ds),) = mine, theirs
            return space.key == other_space.key and (cs == ds or (len(cs) > 1 and set(cs) == set(ds)))
        return {s.key: set(p) for s, p in mine} == {s.key: set(p) for s, p in theirs}

    def __bool__(self) -> bool:
        raise SpaceMismatch(f"a {self._kind()} has no truth value", where=str(self), hint="ask not r.is_empty()")

    def __len__(self) -> int:
        raise SpaceMismatch(f"a {self._kind()} has no length", where=str(self), hint="count() counts its points")

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        hint = "points() lists its points, pieces its conjuncts"
        raise SpaceMismatch(f"a {self._kind()} is not iterated by itself", where=str(self), hint=hint)

    def _kind(self) -> str:
        return type(self).__name__.lower()

    def __str__(self) -> str:
        from ..text.show import show_relation

        return show_relation(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def _repr_html_(self) -> str:
        from ..text.notebook import html

        return html(str(self))

    # ---- structure

    @property
    def pieces(self) -> tuple[Self, ...]:
        """The conjuncts, each as an object of its own."""
        return tuple(self._of(self.param_names, [(s, (c,))]) for s, cs in self.parts for c in cs)

    @property
    def space(self) -> Space:
        """The one space of this object.

        Raises
        ------
        SpaceMismatch : it has several tuples, or none.
        """
        if len(self.parts) != 1:
            found = "; ".join(str(s) for s, _ in self.parts) or "nothing"
            hint = (
                "pick one with .only(name)" if self.parts else "it is empty, without a tuple: { S[i] : false } has one"
            )
            raise SpaceMismatch("this operation needs a single space", where=found, hint=hint)
        return self.parts[0][0]

    @property
    def tuple_names(self) -> tuple[str | None, ...]:
        """The names of the domain tuples (of the tuples, for a set), in order."""
        return tuple(dict.fromkeys((s.inp or s.out).name for s, _ in self.parts))

    def only(self, name: str | None) -> Self:
        """The part whose (domain) tuple is called `name`; empty when there is none.

        `UnknownName` is raised where `name` is neither a name nor None.

        Raises
        ------
        UnknownName

        >>> from polyvolta.sets import Set
        >>> print(Set("{ S[i] : i > 0; T[j] : j < 0 }").only("S"))
        { S[i] : i >= 1 }
        """
        if name is not None and not isinstance(name, str):
            raise UnknownName(f"a tuple is given by its name, not by {name!r}", where=str(self))
        return self._of(self.param_names, [(s, p) for s, p in self.parts if (s.inp or s.out).name == name])

    def dims(self) -> tuple[str, ...]:
        """The names of the dimensions, inputs first.

        `SpaceMismatch` is raised where there are several tuples, or none.

        >>> from polyvolta.sets import Map
        >>> Map("{ S[i, j] -> [k] : k = i + j }").dims()
        ('i', 'j', 'k')
        """
        return self.space.dims

    def _map_conjuncts(self, f: Callable[[Conjunct], Conjunct | None]) -> Self:
        return self._of(self.param_names, [(s, tuple(d for d in map(f, cs) if d is not None)) for s, cs in self.parts])

    def align_params(self, params: Iterable[str]) -> Self:
        """The same points over a longer list of parameters; those it lacks are unconstrained.

        `params` are names.

        A dimension that is called like a parameter gets a prime, in print and for addressing it.

        >>> from polyvolta.sets import Set
        >>> print(Set("{ A[i] : i > 0 }") & Set("[i] -> { A[j] : j < i }"))
        [i] -> { A[i'] : 1 <= i' < i }

        Raises
        ------
        UnknownName : something that is no list of names.
        """
        if isinstance(params, str) or not isinstance(params, Iterable):
            raise UnknownName(f"parameters are a list of names, not {params!r}", where=str(self), hint='["N", "M"]')
        params = tuple(params)
        wrong = [p for p in params if not isinstance(p, str)]
        if wrong:
            raise UnknownName(f"a parameter is given by its name, not by {wrong[0]!r}", where=str(self))
        wanted = tuple(dict.fromkeys([*params, *self.param_names]))
        if wanted == self.param_names:
            return self
        shift = len(wanted) - len(self.param_names)
        head = tuple(wanted.index(p) for p in self.param_names)

        def move(c: Conjunct) -> Conjunct:
            places = head + tuple(range(len(wanted), c.n + shift))
            return cj.reindex(c, c.n + shift, places)

        return self._of(wanted, [(apart(s, wanted), tuple(map(move, cs))) for s, cs in self.parts])

    def _aligned(self, other: R) -> tuple[Self, R]:
        if self.param_names == other.param_names:
            return self, other
        params = tuple(dict.fromkeys([*self.param_names, *other.param_names]))
        return self.align_params(params), other.align_params(params)

    def _merged(self, other: Relation) -> tuple[tuple[str, ...], tuple[int, ...], tuple[int, ...]]:
        """The parameters of both, and where those of each stand among them."""
        ours, theirs = self.param_names, other.param_names
        if ours == theirs:
            return ours, tuple(range(len(ours))), tuple(range(len(ours)))
        params = tuple(dict.fromkeys([*ours, *theirs]))
        return params, tuple(range(len(ours))), tuple(map(params.index, theirs))

    def _check_kind(self, other: object, what: str) -> None:
        if type(other) is not type(self):
            kind = type(self).__name__
            raise SpaceMismatch(
                f"{what} needs two {kind}s, not a {kind} and {kind_of(other)}",
                where=f"{self}\n{other}",
            )

    def _check_space(self, other: Relation, what: str) -> None:
        """Refuse two single spaces that differ; several may lack a counterpart."""
        self._check_kind(other, what)
        if len(self.parts) == 1 == len(other.parts) and self.parts[0][0].key != other.parts[0][0].key:
            here, there = self.parts[0][0], other.parts[0][0]
            hint = renamings(there, here)
            raise SpaceMismatch(f"{what} needs operands of one space", where=f"{here}\n{there}", hint=hint)

    def _find(self, key: tuple) -> tuple[Conjunct, ...]:
        for space, cs in self.parts:
            if space.key == key:
                return cs
        return ()

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
    lexmin, lexmax, sample = lexrel.lexmin, lexrel.lexmax, lexrel.sample
    gist, gist_params, coalesce = gisting.gist, gisting.gist_params, coalescing.coalesce
    remove_redundancies, detect_equalities = hull.remove_redundancies, hull.detect_equalities
    affine_hull, convex_hull, polyhedral_hull = hull.affine_hull, hull.convex_hull, hull.polyhedral_hull
    simple_hull, unshifted_simple_hull, box_hull = hull.simple_hull, hull.unshifted_simple_hull, box.box_hull
    is_bounded, is_box, is_singleton = extent.is_bounded, extent.is_box, extent.is_singleton
    bounding_box = extent.bounding_box
    count, points, cardinality = counting.count, counting.points, cardinalities.cardinality
