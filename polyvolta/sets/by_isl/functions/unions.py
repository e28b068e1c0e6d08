"""isl's names for functions of several tuples, which are relations here: `Map("{ S[i] -> [i]; T[] -> [0] }").add(...)`.

isl has classes of their own for these, `UnionPwAff`, `UnionPwMultiAff` and `MultiUnionPwAff`. As with `relations`, the
names are no attributes of `Map`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from ...conjuncts import conjunct as cj
from ...errors import NotAFunction, SpaceMismatch
from ...values.shape import need_map
from ...values.space import POINT, Space
from ..relations import spaces
from .made import of_graph, through

if TYPE_CHECKING:
    from ...functions.multi_pwaff import MultiPwAff
    from ...values.map import Map
    from ...values.set import Set


def is_everywhere(f: Map) -> bool:
    """Whether it is a tuple of no functions on no points, a function wherever a condition on parameters holds."""
    return len(f.parts) == 1 and f.parts[0][0].source.of_params and not f.parts[0][0].out.dims


def on_points(f: Map, points: Set) -> Map:
    """A tuple of no functions on the points of a set alone, for the parameters for which it is known."""
    if not is_everywhere(f) or points.is_params():  # type: ignore[attr-defined]
        return f
    there = points.intersect_params(f.domain().params())
    return f._of(there.param_names, [(Space(s.out, f.space.out), cs) for s, cs in there.parts])


def alongside(f: Map, g: Map) -> tuple[Map, Map]:
    """Two functions, of which one without functions is on the points of the other."""
    if is_everywhere(f) == is_everywhere(g):
        return f, g
    return on_points(f, g.domain()), on_points(g, f.domain())


def inputs_of(f: Any) -> set[tuple]:  # noqa: ANN401
    """The keys of the tuples of the points at which a function has a value."""
    return {space.source.key for space in _spaces_of(f)}


def values_of(f: Any) -> set[tuple]:  # noqa: ANN401
    """The keys of the tuples of the values of a function."""
    return {space.out.key for space in _spaces_of(f)}


def _spaces_of(f: Any) -> list[Space]:  # noqa: ANN401
    from ...values.map import Map

    if isinstance(f, Map):
        return [space for space, _ in f.parts]
    return [g.space for g in getattr(f, "functions", [f])]


def has_one_tuple(f: Any) -> bool:  # noqa: ANN401
    """Whether the values of a function lie in one tuple, as isl's of a `MultiUnionPwAff`, and others are refused."""
    return getattr(getattr(f, "kind", type(f)), "_one_tuple", False)


def need_values_in(self: Any, wanted: set[tuple], given: Any, doing: str) -> None:  # noqa: ANN401
    """Refuse, of a function whose values lie in one tuple, that they are in none of some.

    Raises
    ------
    SpaceMismatch : they are in another one.
    """
    if has_one_tuple(self) and wanted and (own := values_of(self)) and own.isdisjoint(wanted):
        raise SpaceMismatch(f"{doing} needs values of one tuple", where=f"{self}\n{given}",
                            hint="set_tuple_id gives them another name")  # fmt: skip


def need_one_value(m: Map) -> Map:
    """The relation itself, which has at most one value at each point.

    Raises
    ------
    NotAFunction : it has several at one.
    """
    if not m.is_single_valued():
        raise NotAFunction("the relation has several values at one point", where=str(m), hint="m.lexmin() has one")
    return m


def _combined(self: Map, other: Map, sign: str, strict: bool) -> list[Map]:
    """The sums or differences of the parts of two functions that have inputs and outputs in the same spaces.

    Raises
    ------
    SpaceMismatch : both have a value for an input, in different spaces, if `strict`.
    """
    a, b = self._aligned(need_map(other, "a sum of functions"))
    found = []
    for x in a.parts:
        for y in b.parts:
            if x[0].source.key != y[0].source.key:
                continue
            f, g = a._of(a.param_names, [x]), b._of(b.param_names, [y])
            if x[0].out.key == y[0].out.key:
                one, two = f.as_pw_multi_aff(), g.as_pw_multi_aff()
                found.append((one + two if sign == "+" else one - two).as_map())
            elif strict and not f.domain().is_disjoint(g.domain()):
                raise SpaceMismatch("the two have values in different spaces", where=f"{x[0]}\n{y[0]}")
    return found


def pointwise(sign: str) -> Callable[[Map, Map], Map]:
    """A method that gives the sums or differences of two functions where both have a value."""

    def method(self: Map, other: Any) -> Any:  # noqa: ANN401
        if self._is_union and (fractions := beside_fractions(self, other)) is not None:
            return fractions.add(other) if sign == "+" else fractions.sub(other)
        need_values_in(self, values_of(other), other, "a sum" if sign == "+" else "a difference")
        a, b = alongside(self, graph_of(other))
        return union(a, _combined(a, b, sign, not self._is_union))

    method.__doc__ = f"The function f {sign} g, where both have a value; exact."
    return method


def beside_fractions(self: Map, other: Any) -> Any:  # noqa: ANN401
    """A function as one that may have fractions, or members with domains of their own, beside such a one; else None."""
    from .own_domains import UnionMembers, members_of, tuple_of
    from .union_fractions import UnionFractions, functions_of, is_fractional
    from .union_parts import kind_of_functions

    if isinstance(other, UnionMembers):
        return UnionMembers(tuple_of(self), members_of(self))
    return UnionFractions(functions_of(self), kind_of_functions(self)) if is_fractional(other) else None


def from_list(space: Space, functions: Iterable[Any]) -> Any:  # noqa: ANN401
    """The function with the values of some functions, as many as a space has dimensions, in its tuple.

    Raises
    ------
    SpaceMismatch : they are not as many, or none, of which nobody knows where they have values.
    """
    from .multi_union import MultiUnionPwAff, UnionPwMultiAff
    from .one_space import side_by_side
    from .own_domains import UnionMembers, have_one_domain
    from .union_fractions import functions_of, gathered, is_fractional

    given = list(functions)
    if len(given) == space.n_out > 1 and any(isinstance(f, MultiUnionPwAff) for f in given):
        apart = [f if is_fractional(f) else UnionPwMultiAff(graph_of(f)) for f in given]
        if not have_one_domain(apart):
            return UnionMembers(space.out, apart)
    if any(map(is_fractional, given)) and len(given) == space.n_out:
        return gathered(side_by_side(space.out, map(functions_of, given)), MultiUnionPwAff)
    graphs = [graph_of(f) for f in given]
    if not graphs or len(graphs) != space.n_out:
        raise SpaceMismatch(f"{len(graphs)} functions are given of {space.n_out} dimensions", where=str(space))
    flat = reduce(lambda f, g: f.flat_range_product(g), graphs)
    return union(flat, [m.rename_range(space.out.name) for m in spaces(flat)])


def union_add(self: Map, other: Any) -> Map:  # noqa: ANN401
    """The sum where both have a value, and where one has one, that; exact. The other may be of one tuple.

    Raises
    ------
    SpaceMismatch : one is known everywhere for some parameters alone, the other at some points; what is added is no
        function.
    """
    if self._is_union and (fractions := beside_fractions(self, other)) is not None:
        return fractions.union_add(other)
    need_values_in(self, values_of(other), other, "a sum")
    other = graph_of(other)
    if is_everywhere(self) != is_everywhere(other):
        known, at = (self, other) if is_everywhere(self) else (other, self)
        if known.domain().is_universe():  # type: ignore[attr-defined]
            return known
        raise SpaceMismatch("points and a condition on parameters have no union", where=f"{known}\n{at}")
    if not any(space.out.dims for space, _ in self.parts):  # no values that could differ
        return self | other
    both = union(self, _combined(self, other, "+", True))
    if both.is_empty():
        return self | other
    there = both.domain()
    return both | self.subtract_domain(there) | other.subtract_domain(there)


def union(like: Map, maps: Iterable[Map]) -> Map:
    """The union, of nothing an empty relation."""
    return reduce(lambda a, b: a | b, maps, like._of(like.param_names, []))


def _composed(first: Map, second: Map) -> Map:
    """The pairs (x, z) with x -> y -> z, of none an empty relation, in whatever spaces the y are."""
    if {s.out.key for s, _ in first.parts}.isdisjoint(s.source.key for s, _ in second.parts):
        return first._of(first.param_names, [])
    return first.apply_range(second)


def pulled_back(self: Map, inputs: Any) -> Map:  # noqa: ANN401
    """The function of what another function gives, where these are points."""
    return _composed(graph_of(inputs), self)


def applied(self: Map, f: Any) -> Any:  # noqa: ANN401
    """The values that a function has at the values of this one.

    Raises
    ------
    SpaceMismatch : it has others as inputs than the values of this one, a `MultiUnionPwAff`.
    """
    if self._is_union and (fractions := beside_fractions(self, f)) is not None:
        return fractions.apply(f)
    need_values_in(self, inputs_of(f), f, "a function of the values")
    return _composed(self, graph_of(f))


def graph_of(f: Any) -> Map:  # noqa: ANN401
    """The relation itself, or that of a function.

    Raises
    ------
    SpaceMismatch : it is neither.
    """
    from ...functions.members import MultiFunction
    from ...functions.piecewise import check_function
    from ...values.map import Map
    from .own_domains import UnionMembers
    from .union_fractions import UnionFractions

    if isinstance(f, Map):
        return f
    if isinstance(f, (UnionFractions, UnionMembers)):
        return f.as_map()  # type: ignore[no-any-return]
    if isinstance(f, MultiFunction):
        f = f.joint()
    check_function(f, "a function of several tuples")
    return f.as_map()


def zero_union_set(self: Map) -> Set:
    """The inputs at which all values are 0."""
    zeros = self.range()
    parts = []
    for space, cs in zeros.parts:
        first, n = 1 + len(zeros.param_names), len(space.dims)
        for c in cs[:1]:
            rows = [tuple([int(j == first + k) for j in range(first + n)]) for k in range(n)]
            parts.append((space, (cj.sure(cj.normalise(c.n, (), rows, ())),)))
    return self.intersect_range(zeros._of(zeros.param_names, parts)).domain()


def _on_ends(pairs: Map, f: Any) -> Map:  # noqa: ANN401
    """A function on both points of some pairs, of which one without functions may be known everywhere."""
    return on_points(graph_of(f), pairs.domain() | pairs.range())


def eq_at(self: Map, f: Any) -> Map:  # noqa: ANN401
    """The pairs whose two points have the same value of a function."""
    graph = _on_ends(self, f)
    return self & graph.apply_range(graph.reverse())


def lex_at(name: str) -> Callable[[Map, Any], Map]:
    """A method that keeps the pairs whose values of a function are in lexicographic order."""

    def method(self: Map, f: Any) -> Map:  # noqa: ANN401
        graph = _on_ends(self, f)
        return self & getattr(graph, name)(graph)

    method.__doc__ = f"The pairs (x, y) of which (f(x), f(y)) are as `{name}` says."
    return method


def _by_label(self: Map, change: Callable[[Map], Map]) -> Map:
    """What becomes of the pairs whose inputs are wrapped, whose names are kept; others are left out."""
    found = []
    for name in dict.fromkeys([space.source.name for space, _ in self.parts if space.source.inner is not None]):
        own = [part for part in self.parts if part[0].source.name == name and part[0].source.inner is not None]
        changed = change(self._of(self.param_names, own))
        parts = [(Space(replace(s.source, name=name), s.out), cs) for s, cs in changed.parts]
        found.append(changed._of(changed.param_names, parts))
    return union(self, found)


def intersect_domain_wrapped_range(self: Map, sets: Set) -> Map:
    """The pairs [x -> y] -> z with y in a set; inputs that are not wrapped have none."""
    return _by_label(self, lambda m: m.domain_reverse().intersect_domain_wrapped_domain(sets).domain_reverse())


def preimage_of_first(self: Map, f: Map) -> Map:
    """The pairs [x -> y] -> z with [f(x) -> y] -> z; inputs that are not wrapped have none."""

    def change(m: Map) -> Map:
        found = _composed(graph_of(f), m.curry())
        return found.uncurry() if found.parts else found

    return _by_label(self, change)


def compared(name: str) -> Callable[[MultiPwAff, MultiPwAff], Set]:
    """A method for the points at which the values of two functions are in lexicographic order."""

    def method(self: MultiPwAff, other: MultiPwAff) -> Set:
        pairs = getattr(self.as_map(), name)(other.as_map())
        same = pairs & pairs.identity(self.space.source)
        return same.domain() if self.space.source.dims or self.space.source.name else same.domain().params()

    method.__doc__ = f"The points x of which (f(x), g(x)) are as `{name}` says."
    return method


def union_extreme(sign: str) -> Callable[[MultiPwAff, MultiPwAff], MultiPwAff]:
    """A method for the lexicographically first or last of two values where both are, and where one is, that."""

    def method(self: MultiPwAff, other: MultiPwAff) -> MultiPwAff:
        better = compared(f"lex_{sign}_map")(self, other)
        return self.intersect_domain(better).union_prefer(other).union_prefer(self)

    method.__doc__ = "The lexicographically first or last of two values where both are, and where one is, that."
    return method


def at_first(self: Any, f: Any) -> Any:  # noqa: ANN401
    """The function of [x -> y] that this one is of [f(x) -> y]."""
    return of_graph(self, preimage_of_first(self.as_map(), f))


def second_values(self: MultiPwAff) -> MultiPwAff:
    """Of values that are wrapped pairs, without inputs, the second ones."""
    return self.as_map().range_factor_range().as_pw_multi_aff()


def as_set(self: MultiPwAff) -> Set:
    """The point for each choice of the parameters, of a function without inputs.

    Raises
    ------
    SpaceMismatch : it has inputs.
    """
    if self.space.source.key != POINT.key:
        raise SpaceMismatch("a function with inputs is no set", where=str(self), hint="f.as_map() is its graph")
    return self.as_map().range()


METHODS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("Map", "from_union_pw_aff_list", from_list),
    ("Map", "add", pointwise("+")),
    ("Map", "sub", pointwise("-")),
    ("Map", "union_add", union_add),
    ("Map", "pullback_union_pw_multi_aff", pulled_back),
    ("Map", "apply_multi_aff apply_pw_aff apply_pw_multi_aff", applied),
    ("Map", "zero_union_set", zero_union_set),
    ("Map", "eq_at_multi_union_pw_aff eq_at_multi_pw_aff", eq_at),
    ("Map", "lex_lt_at_multi_union_pw_aff lex_lt_at_multi_pw_aff", lex_at("lex_lt_map")),
    ("Map", "lex_le_at_multi_union_pw_aff lex_le_at_multi_pw_aff", lex_at("lex_le_map")),
    ("Map", "lex_gt_at_multi_union_pw_aff lex_gt_at_multi_pw_aff", lex_at("lex_gt_map")),
    ("Map", "lex_ge_at_multi_union_pw_aff lex_ge_at_multi_pw_aff", lex_at("lex_ge_map")),
    ("Map", "intersect_domain_wrapped_range", intersect_domain_wrapped_range),
    ("Map", "preimage_domain_wrapped_domain_union_pw_multi_aff", preimage_of_first),
    ("Map", "involves_nan", lambda self: False),
    ("PwAff MultiPwAff", "domain_reverse", through("domain_reverse")),
    ("MultiPwAff", "range_factor_domain", through("range_factor_domain")),
    ("MultiPwAff", "range_factor_range", through("range_factor_range")),
    ("MultiPwAff", "factor_range", second_values),
    ("MultiPwAff", "as_set", as_set),
    ("MultiPwAff", "union_lexmax", union_extreme("ge")),
    ("MultiPwAff", "union_lexmin", union_extreme("le")),
    ("MultiPwAff", "preimage_domain_wrapped_domain_pw_multi_aff", at_first),
    ("MultiPwAff", "lex_lt_set", compared("lex_lt_map")),
    ("MultiPwAff", "lex_le_set", compared("lex_le_map")),
    ("MultiPwAff", "lex_gt_set", compared("lex_gt_map")),
    ("MultiPwAff", "lex_ge_set", compared("lex_ge_map")),
)
"""Classes, isl's names, and the method."""
