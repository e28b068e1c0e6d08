"""What isl calls otherwise what sets and relations do here: `s.get_basic_sets()` for `s.pieces`.

These names are no attributes of the classes (`text.of_isl`), which stay as short as they are; a program that was
written for isl finds them all the same. Lists are Python's, numbers its integers, and basic and union sets are sets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct, uses
from ..conjuncts.implies import subtract
from ..counting.count import pinned
from ..engine.rows import Row
from ..errors import UnknownName, need_function
from ..operations.algebra import in_spaces_with_points
from ..values.shape import rearranged
from ..values.space import PARAMS, Space, Tuple, position, renamed
from ..values.unions import united
from .basic import narrowed
from .objects.lists import dump, gives_list
from .objects.spaces import one_space as one_space_of
from .objects.values import DEFAULT_CONTEXT, Point, plain
from .objects.values import number as number_of

if TYPE_CHECKING:
    from ..functions.multi_pwaff import MultiPwAff
    from ..functions.pwaff import PwAff
    from ..values.map import Map
    from ..values.relation import Relation
    from ..values.set import Set

# ---- of sets and relations


def itself(self: Any) -> Any:  # noqa: ANN401
    """The value itself, which is immutable, and a union already."""
    return self


def get_ctx(self: object) -> Any:  # noqa: ANN401
    """isl's context, which means nothing here."""
    return DEFAULT_CONTEXT


def order_of_texts(self: object, other: object) -> int:
    """An order that means nothing but whether two are the same: 0, else -1 or 1."""
    return 0 if self == other else -1 if str(self) < str(other) else 1


def is_universe(self: Relation) -> bool:
    """Whether all points of its one space are in it; exact, a difference."""
    return type(self).universe(self.space).is_subset(self)


def spaces(self: Relation) -> list[Any]:
    """The parts in one space each that have points."""
    return [self._of(self.param_names, [(space, cs)]) for space, cs in self.parts if not all(c.is_empty for c in cs)]


def pieces(self: Relation) -> list[Any]:
    """The pieces, each a conjunction, as isl's basic sets or relations."""
    return [narrowed(piece) for piece in self.pieces]


def each(found: Callable[[Any], list[Any]]) -> Callable[[Any, Callable[[Any], object]], None]:
    """A method that calls a function with each of some things."""

    def foreach(self: Any, f: Callable[[Any], object]) -> None:  # noqa: ANN401
        need_function(f)
        for x in found(self):
            f(x)

    foreach.__doc__ = f"Call a function with each: {found.__doc__}"
    return foreach


def all_of(found: Callable[[Any], list[Any]]) -> Callable[[Any, Callable[[Any], object]], bool]:
    """A method that asks whether a function holds of each of some things."""

    def every(self: Any, f: Callable[[Any], object]) -> bool:  # noqa: ANN401
        need_function(f)
        return all(f(x) for x in found(self))

    every.__doc__ = f"Whether a function holds of each: {found.__doc__}"
    return every


def number(found: Callable[[Any], list[Any]]) -> Callable[[Any], int]:
    """A method that counts some things."""

    def n(self: Any) -> int:  # noqa: ANN401
        return len(found(self))

    n.__doc__ = f"The number of: {found.__doc__}"
    return n


def one_space(self: Relation) -> Relation:
    """The value itself, which has one space with points; `SpaceMismatch` is raised where it has several."""
    found = in_spaces_with_points(self)
    found = found if found.parts else self
    _ = found.space
    return found


def has_one_space(self: Relation) -> bool:
    """Whether it has one space with points."""
    return len(in_spaces_with_points(self).parts) == 1


def make_disjoint(self: Relation) -> Any:  # noqa: ANN401
    """The same points, no two pieces with one in common; exact, a difference for each pair."""
    parts = []
    for space, cs in self.known_divs().parts:
        done: list[Conjunct] = []
        for k, c in enumerate(cs):
            left = [c]
            for before in cs[:k]:
                left = [p for q in left for p in subtract(q, before)]
            done += left
        parts.append((space, tuple(done)))
    return self._of(self.param_names, parts)


def drop_unused_params(self: Relation) -> Any:  # noqa: ANN401
    """Without the parameters that no constraint mentions."""
    used = {p for k, p in enumerate(self.param_names) for _, cs in self.parts for c in cs if uses(c, k)}
    return self.project_out_param(*(p for p in self.param_names if p not in used))


def neg(self: Relation) -> Any:  # noqa: ANN401
    """With the opposite of each dimension of a set, or of each output of a relation; linear."""
    parts = []
    for space, cs in self.parts:
        first = 1 + len(self.param_names) + space.n_in
        opposite = range(first, first + space.n_out)
        parts.append((space, tuple(d for c in cs if (d := _with_opposite(c, opposite)) is not None)))
    return self._of(self.param_names, parts)


def _with_opposite(c: Conjunct, columns: range) -> Conjunct | None:
    """The conjunct with some columns replaced by their opposites, in its divs, too."""

    def turned(row: Row) -> Row:
        return tuple([-v if k in columns else v for k, v in enumerate(row)])

    divs = [div and (div[0], turned(div[1])) for div in c.divs]
    return cj.normalise(c.n, divs, map(turned, c.eqs), map(turned, c.ineqs))


# ---- of sets


def count_val(self: Set) -> int:
    """The number of points: `count`."""
    return self.count()


def foreach_point(self: Set, f: Callable[[tuple[int, ...]], object]) -> None:
    """Call a function with each point, a `Point`, of a set whose parameters have values."""
    need_function(f)
    params = {name: value for name in self.param_names if (value := pinned(self, name)) is not None}
    for space, pieces in self.parts:
        for p in self._of(self.param_names, [(space, pieces)]).points():
            f(Point(p, space, params))


def is_params(self: Set) -> bool:
    """Whether it is a set without a tuple, of parameters alone."""
    return len(self.parts) == 1 and self.space.out.of_params


def get_tuple_name(self: Set) -> str | None:
    """The name of its one tuple, None where it has none."""
    return self.space.out.name


def set_tuple_name(self: Set, name: str) -> Set:
    """The same points in a tuple of another name: `rename`."""
    return self.rename(plain(name))


def as_function(self: Set) -> Any:  # noqa: ANN401
    """The function of the parameters that it is, where it has at most one point for each choice of them."""
    from ..values.map import Map

    graph: Any = rearranged(Map, self, lambda s: (PARAMS, s.out, range(len(s.dims))))
    return graph.as_pw_multi_aff()


def optimum_of_set(name: str) -> Callable[[Set, Set], tuple[Set, Set]]:
    """A method for the first or last point for each choice of the parameters, and where of some there is none."""

    def partial(self: Set, dom: Set) -> tuple[Set, Set]:
        return getattr(self.intersect_params(dom), name)(), dom.subtract(self.params())

    partial.__doc__ = f"`{name}` for the parameters in `dom`, and those of them without a point."
    return partial


# ---- of relations


def optimum_of_map(name: str) -> Callable[[Map, Set], tuple[Map, Set]]:
    """A method for the first or last output of some inputs, and the inputs of them without one."""

    def partial(self: Map, dom: Set) -> tuple[Map, Set]:
        return getattr(self.intersect_domain(dom), name)(), dom.subtract(self.domain())

    partial.__doc__ = f"`{name}` of the inputs in `dom`, and those of them without an output."
    return partial


def is_translation(self: Map) -> bool:
    """Whether all differences of outputs and inputs, of one space, are one for each choice of the parameters."""
    inp, out = self.space.source, self.space.out
    return inp.key == out.key and self.deltas().is_singleton()


def image_is_bounded(self: Map) -> bool:
    """Whether each input has finitely many outputs."""
    flat = self.flatten_domain()
    return flat.move_dims(*flat.space.source.dims, to="params").is_bounded()


def can_zip(self: Map) -> bool:
    """Whether both tuples are wrapped."""
    return self.domain_is_wrapping() and self.range_is_wrapping()


def can_range_curry(self: Map) -> bool:
    """Whether the outputs are wrapped, and the first tuple of them is, too."""
    return self.range_is_wrapping() and self.range().unwrap().domain_is_wrapping()


def in_space(self: Relation, space: Space) -> Any:  # noqa: ANN401
    """The part in one space; empty where it has none."""
    wanted = type(self).universe(space).space
    found = [(s, cs) for s, cs in self.parts if s.key == wanted.key]
    return self._of(self.param_names, found or [(wanted, ())])


def member(self: Map, pos: int) -> Map:
    """One of the values, by its position, of a relation that is a function of several tuples."""

    def change(space: Space) -> tuple:
        at = position(pos, space.out.dims, space, "value")
        return space.inp, Tuple(None, (space.out.dims[at],)), (*range(space.n_in), space.n_in + at)

    return rearranged(type(self), self, change)


def as_multi_union_pw_aff(self: Map) -> Any:  # noqa: ANN401
    """The function that a relation is; of one tuple, where it is no union, a `MultiPwAff`."""
    if self._is_union:
        from .functions.multi_union import as_functions

        return as_functions(self)
    return self if len(self.parts) > 1 else self.as_multi_pw_aff()


def as_union_pw_multi_aff(self: Map) -> Any:  # noqa: ANN401
    """The function of several tuples that a relation is; `NotAFunction` where it has several values at one point."""
    from .functions.multi_union import UnionPwMultiAff, as_functions

    return as_functions(self, UnionPwMultiAff)


def remove_map_if(self: Map, f: Callable[[Map], object]) -> Map:
    """Without the parts, of one space each, of which a function holds."""
    need_function(f)
    return self._of(self.param_names, [m.parts[0] for m in spaces(self) if not f(m)])


def get_map_tuple_name(self: Any, kind: Any) -> str | None:  # noqa: ANN401
    """The name of a tuple of the one space of a relation or a function, None where it has none, as parameters have."""
    return None if getattr(kind, "name", None) == "param" else tuple_of(self, kind).name


def set_map_tuple_name(self: Map, kind: Any, name: str | None) -> Map:  # noqa: ANN401
    """The same pairs, a tuple under another name."""
    _ = tuple_of(self, kind)
    return self.rename_domain(plain(name)) if kind.name == "in_" else self.rename_range(plain(name))


def tuple_of(self: Any, kind: Any) -> Tuple:  # noqa: ANN401
    """The tuple of a kind, dim_type.in_ or dim_type.out, of a relation or a function.

    Raises
    ------
    UnknownName : it is another kind.
    """
    if getattr(kind, "name", None) not in ("in_", "out", "set"):
        raise UnknownName(f"{kind!r} is no tuple of a map", where=str(self), hint="dim_type.in_, dim_type.out")
    space = one_space_of(self, kind)
    return space.source if kind.name == "in_" else space.out


def fixed_power_val(self: Map, exponent: int) -> Map:
    """The relation applied so many times: `fixed_power`, in few pieces as isl's is."""
    return self.fixed_power(exponent).coalesce()


def extremes_of_map(name: str) -> Callable[[Any], Any]:
    """A method for the least or greatest value of each output dimension, or of each dimension of a set."""

    def multi(self: Any) -> Any:  # noqa: ANN401
        from ..functions.multi_pwaff import MultiPwAff

        out = self.space.out
        if not out.dims:  # one value, where there is one
            return self.as_pw_multi_aff()
        values: list[PwAff] = [getattr(self, name)(k) for k in range(len(out.dims))]
        return in_tuple(MultiPwAff.of(*values), out)

    multi.__doc__ = f"`{name}` of each dimension, as one function."
    return multi


def in_tuple(f: MultiPwAff, out: Tuple) -> MultiPwAff:
    """The function with its values in another tuple, wrapped or not, of as many dimensions."""
    return type(f)._of(f.param_names, Space(f.space.inp, renamed(out, f.space.out.dims)), f.cells)


def plain_is_equal(self: Relation, other: Relation) -> bool:
    """Whether both are written alike, but for pieces and tuples without a point."""
    if self == other:
        return True
    if self._noun != other._noun or self.param_names != other.param_names:
        return False
    a, b = ([p for p in r.without_empty().parts if p[1]] for r in (self, other))
    if a and b:
        return self._of(self.param_names, a) == self._of(self.param_names, b)
    return not a and not b and (self._is_union or {s.key for s, _ in self.parts} == {s.key for s, _ in other.parts})


def same(name: str) -> Callable[..., Any]:
    """A method under another name."""

    def method(self: Any, *args: Any) -> Any:  # noqa: ANN401
        return getattr(self, name)(*args)

    method.__doc__ = f"`{name}`, by isl's other name of it."
    return method


METHODS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("Set Map Constraint", "copy", itself),
    ("Set Map PwAff MultiPwAff PwQPolynomial Aff Constraint Space Multi Point", "get_ctx", get_ctx),
    ("Set Map PwAff MultiPwAff PwQPolynomial Constraint Space Multi Point", "dump", dump),
    ("Set Map PwAff MultiPwAff PwQPolynomial Constraint", "to_list", gives_list(lambda self: [self])),
    ("Set Map PwAff MultiPwAff PwQPolynomial Space Multi", "reset_user", itself),
    ("Set PwAff MultiPwAff Constraint", "plain_cmp", order_of_texts),
    ("Set RationalSet Map RationalMap", "to_str", lambda self: str(self)),
    ("Set Map", "plain_is_equal", plain_is_equal),
    ("Set Map", "plain_is_empty", same("is_empty")),
    ("Set Map", "is_universe plain_is_universe", is_universe),
    ("Set Map", "make_disjoint", make_disjoint),
    ("Set Map", "drop_unused_params", drop_unused_params),
    ("Set Map", "compute_divs", same("known_divs")),
    ("Set Map", "align_divs", itself),
    ("Set Map", "neg", neg),
    ("Set Map", "union_disjoint", same("union")),
    ("Set Map", "plain_unshifted_simple_hull", same("unshifted_simple_hull")),
    ("Set", "set_tuple_id", set_tuple_name),
    ("Set", "reset_tuple_id", lambda self: self.rename(None)),
    ("Map", "set_tuple_id", set_map_tuple_name),
    ("Map", "reset_tuple_id", lambda self, kind: set_map_tuple_name(self, kind, None)),
    ("Set", "to_set", itself),
    ("Set", "to_union_set", united),
    ("Set", "as_set", one_space),
    ("Set", "isa_set", has_one_space),
    ("Set", "get_set_list", gives_list(spaces)),
    ("Set", "foreach_set", each(spaces)),
    ("Set", "every_set", all_of(spaces)),
    ("Set", "n_set", number(spaces)),
    ("Set RationalSet", "get_basic_sets get_basic_set_list", gives_list(pieces)),
    ("Set", "foreach_basic_set", each(pieces)),
    ("Set RationalSet", "n_basic_set", number(pieces)),
    ("Set", "gist_basic_set", same("gist")),
    ("Set", "add_set", same("union")),
    ("Set", "plain_is_disjoint", same("is_disjoint")),
    ("Set", "bounded_simple_hull", same("simple_hull")),
    ("Set", "count_val", number_of(count_val)),
    ("Set", "foreach_point", foreach_point),
    ("Set", "is_params", is_params),
    ("Set RationalSet", "get_tuple_name", get_tuple_name),
    ("Set", "set_tuple_name", set_tuple_name),
    ("Set", "max_multi_pw_aff", extremes_of_map("dim_max")),
    ("Set", "min_multi_pw_aff", extremes_of_map("dim_min")),
    ("Set", "as_pw_multi_aff", as_function),
    ("Set", "partial_lexmin", optimum_of_set("lexmin")),
    ("Set", "partial_lexmax", optimum_of_set("lexmax")),
    ("Set", "partial_lexmin_pw_multi_aff", optimum_of_set("lexmin_pw_multi_aff")),
    ("Set", "partial_lexmax_pw_multi_aff", optimum_of_set("lexmax_pw_multi_aff")),
    ("Set", "split_dims", lambda self, kind, first, n: self),
    ("Set", "lex_lt_union_set", same("lex_lt_set")),
    ("Set", "lex_le_union_set", same("lex_le_set")),
    ("Set", "lex_gt_union_set", same("lex_gt_set")),
    ("Set", "lex_ge_union_set", same("lex_ge_set")),
    ("Map", "to_map", itself),
    ("Map", "to_union_map as_union_map", united),
    ("Map", "as_union_pw_multi_aff", as_union_pw_multi_aff),
    ("Map", "as_map", one_space),
    ("Map", "isa_map", has_one_space),
    ("Map", "get_map_list", gives_list(spaces)),
    ("Map", "foreach_map", each(spaces)),
    ("Map", "every_map", all_of(spaces)),
    ("Map", "n_map", number(spaces)),
    ("Map", "remove_map_if", remove_map_if),
    ("Map RationalMap", "get_basic_maps get_basic_map_list", gives_list(pieces)),
    ("Map", "foreach_basic_map", each(pieces)),
    ("Map RationalMap", "n_basic_map", number(pieces)),
    ("Map", "gist_basic_map", same("gist")),
    ("Map", "add_map", same("union")),
    ("Set", "extract_set", in_space),
    ("Map", "extract_map", in_space),
    ("Map", "get_union_pw_aff get_at", member),
    ("Map", "is_rational", lambda self: False),
    ("Map", "fixed_power_val", fixed_power_val),
    ("Map RationalMap", "get_tuple_name", get_map_tuple_name),
    ("Map", "set_tuple_name", set_map_tuple_name),
    ("Map", "is_translation", is_translation),
    ("Map", "image_is_bounded", image_is_bounded),
    ("Map", "can_curry", same("domain_is_wrapping")),
    ("Map", "can_uncurry", same("range_is_wrapping")),
    ("Map", "can_range_curry", can_range_curry),
    ("Map", "can_zip is_product", can_zip),
    ("Map", "plain_is_injective", same("is_injective")),
    ("Map", "plain_is_single_valued", same("is_single_valued")),
    ("Map", "max_multi_pw_aff", extremes_of_map("dim_max")),
    ("Map", "min_multi_pw_aff", extremes_of_map("dim_min")),
    ("Map", "as_multi_union_pw_aff", as_multi_union_pw_aff),
    ("Map", "partial_lexmin", optimum_of_map("lexmin")),
    ("Map", "partial_lexmax", optimum_of_map("lexmax")),
    ("Map", "partial_lexmin_pw_multi_aff", optimum_of_map("lexmin_pw_multi_aff")),
    ("Map", "partial_lexmax_pw_multi_aff", optimum_of_map("lexmax_pw_multi_aff")),
    ("Map", "lex_lt_union_map", same("lex_lt_map")),
    ("Map", "lex_le_union_map", same("lex_le_map")),
    ("Map", "lex_gt_union_map", same("lex_gt_map")),
    ("Map", "lex_ge_union_map", same("lex_ge_map")),
    ("Map", "intersect_domain_union_set", same("intersect_domain")),
    ("Map", "intersect_range_union_set", same("intersect_range")),
    ("Map", "intersect_domain_wrapped_domain_union_set", same("intersect_domain_wrapped_domain")),
    ("Map", "intersect_range_wrapped_domain_union_set", same("intersect_range_wrapped_domain")),
)
"""Classes, isl's names, and the method."""
