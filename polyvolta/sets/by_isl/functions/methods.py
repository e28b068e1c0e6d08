"""What isl calls otherwise what functions do here: `f.add(g)` for `f + g`, `f.get_at(0)` for `f[0]`.

As with sets and relations (`relations`), these names are no attributes of the classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ...conjuncts import conjunct as cj
from ...errors import NotAffine, SpaceMismatch, kind_of, need_function
from ...functions.members import MultiFunction
from ...functions.piecewise import left_to_others
from ...functions.rational import lifted
from ...values.space import Space, Tuple, position
from .. import relations as of_relations
from ..basic import narrowed
from ..dimensions.by_kind import extremum
from ..objects.lists import gives_list
from ..objects.vectors import MultiVal, need_same_tuple
from ..relations import get_map_tuple_name, itself, same, set_map_tuple_name
from .made import of_graph

if TYPE_CHECKING:
    from ...functions.multi_pwaff import MultiPwAff
    from ...functions.pwaff import PwAff
    from ...values.aff import Aff
    from ...values.map import Map
    from ...values.set import Set
    from .multi_union import MultiUnionPwAff


def make_zero_and_vars(set_vars: str | Sequence[str], params: str | Sequence[str] = ()) -> dict[str | int, PwAff]:
    """Functions of some dimensions and parameters: each by its name, and the function 0 by 0; islpy has this function.

    `set_vars` and `params` are lists of names, or texts with commas between them.

    >>> v = make_zero_and_vars("i,j", "n")
    >>> print(v[0].le_set(v["i"]) & (v["i"] + v["j"]).lt_set(v["n"]))
    [n] -> { [i, j] : i >= 0 and j < n - i }
    """
    from ...functions.pwaff import PwAff
    from ...values.aff import var
    from ...values.set import Set

    dims, outer = ([n.strip() for n in x.split(",")] if isinstance(x, str) else [*x] for x in (set_vars, params))
    space = Set.universe(Tuple(None, tuple(dims))).align_params(outer)
    return {0: PwAff.on(space, 0), **{n: PwAff.on(space, var(n)) for n in (*outer, *dims)}}


# ---- of functions with one value and with several


def pieces(self: Any) -> list[Any]:  # noqa: ANN401
    """The pairs of a set and what the function is there, a function of one expression on all of the space."""
    everywhere = cj.universe(len(self.param_names) + self.space.n_in)
    return [
        (domain, narrowed(self._with([(everywhere, value if isinstance(value, tuple) else (value,))])))
        for domain, value in self.pieces
    ]


def foreach_piece(self: Any, f: Callable[[Set, Any], object]) -> None:  # noqa: ANN401
    """Call a function with each set and what this function is there."""
    need_function(f, "two arguments")
    for domain, value in pieces(self):
        f(domain, value)


def every_piece(self: Any, f: Callable[[Set, Any], object]) -> bool:  # noqa: ANN401
    """Whether a function holds of each set and what this function is there."""
    need_function(f, "two arguments")
    return all(f(domain, value) for domain, value in pieces(self))


def params(self: Any) -> Set:  # noqa: ANN401
    """The parameter values for which it has a value somewhere."""
    return self.domain().params()


def is_empty(self: Any) -> bool:  # noqa: ANN401
    """Whether it has a value nowhere."""
    return self.domain().is_empty()


def gist_params(self: Any, context: Set) -> Any:  # noqa: ANN401
    """What is left of it where a condition on parameters holds."""
    return self.gist(self.domain().universe(self.domain().space).intersect_params(context))


def is_one_expression(self: Any) -> bool:  # noqa: ANN401
    """Whether it is one expression everywhere."""
    if len(self.cells) == 1 and self.cells[0][0] == cj.universe(len(self.names)):
        return True  # as most are, which programs make coefficient by coefficient
    return len(self.pieces) == 1 and of_relations.is_universe(self.domain())


# ---- of functions with one value


def compared(name: str) -> Callable[[PwAff], Set]:
    """A method that compares with 0."""

    def method(self: PwAff) -> Set:
        return getattr(self, name)(0)

    method.__doc__ = f"The points at which it has a value: `{name}(0)`."
    return method


def related(sign: str) -> Callable[[PwAff, PwAff], Map]:
    """A method that relates the points of one function to those of another by their values."""

    def method(self: PwAff, other: PwAff) -> Map:
        from ...functions.pwaff import PwAff
        from ...values.map import Map

        if not isinstance(other, PwAff):
            raise SpaceMismatch(f"a function of one value is needed, not {kind_of(other)}", where=str(self))
        between = Map(f"{{ [a] -> [b] : a {sign} b }}")
        return self.as_map().apply_range(between).apply_range(other.as_map().reverse())

    method.__doc__ = f"The pairs of a point of this and one of the other at which f(x) {sign} g(y)."
    return method


def scale_down_val(self: PwAff, den: Any) -> Any:  # noqa: ANN401
    """The function divided by a number, or by one that is a number on each piece; NaN where that is 0."""
    return lifted(self) / den


def tdiv_q(self: PwAff, den: PwAff | int) -> PwAff:
    """The quotient by a number, rounded towards zero."""
    return _by_sign(self, den, lambda f, d: f // d, -1)


def tdiv_r(self: PwAff, den: PwAff | int) -> PwAff:
    """What is left by the quotient rounded towards zero, of the sign of the function."""
    return _by_sign(self, den, lambda f, d: f % d, 1)


def _by_sign(self: PwAff, den: PwAff | int, divided: Callable[[PwAff, Any], PwAff], sign: int) -> PwAff:
    """What a division by a positive number gives, rounded towards zero; by its negative, that times the sign."""
    from ...functions.pwaff import PwAff

    if isinstance(den, PwAff):
        less = den.intersect_domain(den.lt_set(0))
        if not less.domain().is_empty():
            rest = den.intersect_domain(den.ge_set(0))
            found = _by_sign(self, -less, divided, sign) * sign
            return found if rest.domain().is_empty() else found.union_prefer(_by_sign(self, rest, divided, sign))
    elif den < 0:
        return _by_sign(self, -den, divided, sign) * sign
    low = divided(self, den).intersect_domain(self.ge_set(0))
    return low.union_prefer((-divided(-self, den)).intersect_domain(self.lt_set(0)))


def expression(self: PwAff) -> Aff:
    """The expression that a function is everywhere.

    Raises
    ------
    NotAffine : it has cases, or no value somewhere.
    """
    if not is_one_expression(self):
        raise NotAffine("the function is no single expression", where=str(self), hint="f.pieces lists its cases")
    return self.cells[0][1][0]


def as_aff(self: PwAff) -> PwAff:
    """The function itself, which is one expression everywhere; see `expression`."""
    expression(self)
    return self


# ---- of functions with several values


def as_multi_aff(self: MultiPwAff) -> MultiPwAff:
    """The function itself, which is one expression for each value everywhere.

    Raises
    ------
    NotAffine : it has cases, or no value somewhere.
    """
    if not is_one_expression(self):
        raise NotAffine("the function is not one expression for each value everywhere", where=str(self),
                        hint="f.pieces lists its cases")  # fmt: skip
    return self


def member(self: MultiPwAff, pos: int) -> PwAff:
    """One of the values, by its position."""
    return self[pos]


def members(self: MultiPwAff) -> list[PwAff]:
    """The values."""
    return list(self)


def with_member(self: MultiPwAff, pos: int, f: PwAff) -> MultiPwAff | MultiFunction:
    """With another function in the place of a value, each with its own domain.

    Raises
    ------
    SpaceMismatch : it has other inputs.
    """
    if f.space.source.key != self.space.source.key:
        raise SpaceMismatch("the functions have other inputs", where=f"{self.space}\n{f.space}")
    new = list(self)
    new[position(pos, self.space.out.dims, self.space, "value")] = f
    return MultiFunction.of(self.space, new)


def with_member_there(self: MultiPwAff, pos: int, f: PwAff) -> MultiPwAff | MultiFunction:
    """With another function in the place of a value, on this one's domain, as isl's of a `PwMultiAff`."""
    ours = f.space.source.key == self.space.source.key
    return with_member(self, pos, f.intersect_domain(self.domain()) if ours else f)


def with_numbers(combine: Callable[[Any, int], Any]) -> Callable[[Any, Iterable[int]], Any]:
    """A method of functions that combines each member with the number of its position."""

    def method(self: Any, numbers: Iterable[int]) -> Any:  # noqa: ANN401
        need_same_tuple(self.space.out, numbers, self)
        numbers = tuple(numbers)
        if len(numbers) != self.space.n_out:
            raise SpaceMismatch(f"{len(numbers)} numbers are given for {self.space.n_out} values", where=str(self))
        if not numbers:  # without values, whose domain no member knows
            return self
        return MultiFunction.of(self.space, map(combine, self, numbers))

    method.__doc__ = "Each value combined with the number of its position."
    return method


def extremes(name: str) -> Callable[[MultiPwAff], MultiVal]:
    """A method for the greatest or least of each value, infinite where there is none, and NaN of no inputs."""
    of_points = extremum(name)

    def method(self: MultiPwAff) -> MultiVal:
        return MultiVal([of_points(f.domain(), f) for f in self], Space(None, self.space.out, ()))

    method.__doc__ = (
        f"The {name}imum of each value, for all parameters and inputs together; isl's space has no parameters."
    )
    return method


def extremes_of_union(name: str) -> Callable[[Map], MultiVal]:
    """The same of a function of several tuples, which is a relation here; its values are in one."""
    of_values = extremum(f"dim_{name}")

    def method(self: Map) -> MultiVal:
        values = self.range()
        out = values.space.out
        return MultiVal([of_values(values, k) for k in range(len(out.dims))], Space(None, out, values.param_names))

    method.__doc__ = f"The {name}imum of each value, over all parameters and inputs."
    return method


def least_on(self: Set, function: Any) -> MultiVal:  # noqa: ANN401 - MultiUnionPwAff and its like
    """The least of each value of a function on the points of the set; NaN where it has none there."""
    return function.intersect_domain(self).min_multi_val()


def with_tuple_name(self: MultiPwAff, kind: Any, name: str | None) -> MultiPwAff:  # noqa: ANN401
    """The same values, or inputs, in a tuple of another name."""
    return of_graph(self, set_map_tuple_name(self.as_map(), kind, name))


def scaled(self: MultiPwAff, number: Any) -> Any:  # noqa: ANN401
    """The functions times a number, which may be a fraction."""
    return self * number if hasattr(number, "__index__") else with_numbers(times)(self, [number] * self.space.n_out)


def times(self: PwAff, number: Any) -> Any:  # noqa: ANN401
    """The function times a number, which may be a fraction."""
    return lifted(self) * number


def scaled_down(self: MultiPwAff, den: int) -> MultiPwAff:
    """The functions divided by a number; see `scale_down_val`."""
    return with_numbers(scale_down_val)(self, [den] * self.space.n_out)


def zero(cls: type[MultiPwAff], called: str, space: Any) -> MultiPwAff:  # noqa: ANN401
    """The function that is 0 in each dimension: of a map's space on its inputs, of a set's on parameters alone."""
    from ..objects.on_spaces import zeros
    from ..objects.spaces import every

    every(space)  # which refuses what is no space
    return zeros(space)


_RELATED = {"eq_map": "=", "lt_map": "<", "le_map": "<=", "gt_map": ">", "ge_map": ">="}


def as_functions(self: MultiPwAff) -> MultiUnionPwAff:
    """The function as one of several tuples."""
    from .multi_union import as_functions

    return as_functions(self)


def as_union(self: Any) -> Any:  # noqa: ANN401
    """The function, of integers or fractions, as isl's union, to which functions of other inputs are added."""
    from .multi_union import UnionPwMultiAff
    from .union_fractions import functions_of, gathered, is_fractional

    return gathered(functions_of(self), UnionPwMultiAff) if is_fractional(self) else UnionPwMultiAff(self.as_map())


METHODS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("PwAff MultiPwAff", "copy", itself),
    ("PwAff MultiPwAff", "to_str", lambda self: str(self)),
    ("PwAff MultiPwAff", "plain_is_equal", lambda self, other: self == other),
    ("PwAff MultiPwAff", "add", same("__add__")),
    ("PwAff MultiPwAff", "sub", same("__sub__")),
    ("MultiPwAff", "scale_val", scaled),
    ("PwAff MultiPwAff", "floor", itself),
    ("PwAff MultiPwAff", "foreach_piece", foreach_piece),
    ("PwAff MultiPwAff", "every_piece", every_piece),
    ("PwAff MultiPwAff", "n_piece", lambda self: len(self.pieces)),
    ("PwAff MultiPwAff", "gist_params", gist_params),
    ("PwAff MultiPwAff", "involves_nan", lambda self: False),
    ("PwAff MultiPwAff", "intersect_domain_union_set", same("intersect_domain")),
    ("PwAff MultiPwAff", "subtract_domain_union_set", same("subtract_domain")),
    ("PwAff MultiPwAff", "pullback_union_pw_multi_aff", same("pullback")),
    ("PwAff", "mul", same("__mul__")),
    ("PwAff", "ceil", itself),
    ("PwAff", "mod_val", same("__mod__")),
    *(("PwAff", name, left_to_others(name, related(sign))) for name, sign in _RELATED.items()),
    ("PwAff", "tdiv_q", left_to_others("tdiv_q", tdiv_q)),
    ("PwAff", "tdiv_r", left_to_others("tdiv_r", tdiv_r)),
    ("PwAff", "nonneg_set", compared("ge_set")),
    ("PwAff", "pos_set", compared("gt_set")),
    ("PwAff", "zero_set zero_union_set", compared("eq_set")),
    ("PwAff", "non_zero_set", compared("ne_set")),
    ("PwAff", "get_pieces", pieces),
    ("PwAff", "get_aggregate_domain", same("domain")),
    ("PwAff", "params", params),
    ("PwAff", "is_empty", is_empty),
    ("PwAff", "isa_aff", is_one_expression),
    ("PwAff", "as_aff", as_aff),
    ("PwAff RationalPwAff", "to_union_pw_aff", as_union),
    ("PwAff", "get_pw_aff_list", gives_list(lambda self: [self])),
    ("PwAff", "n_pw_aff", lambda self: 1),
    ("MultiPwAff", "get_at get_aff get_pw_aff get_union_pw_aff", member),
    ("MultiPwAff", "set_at set_aff", with_member),
    ("MultiPwAff", "set_pw_aff", with_member_there),
    ("MultiPwAff", "scale_multi_val", with_numbers(lambda f, n: f * n)),
    ("MultiPwAff", "mod_multi_val", with_numbers(lambda f, n: f % n)),
    ("MultiPwAff", "scale_down_multi_val", with_numbers(scale_down_val)),
    ("MultiPwAff", "scale_down_val", scaled_down),
    ("MultiPwAff", "get_tuple_name", get_map_tuple_name),
    ("MultiPwAff", "set_tuple_name", with_tuple_name),
    ("PwAff MultiPwAff", "set_tuple_id", with_tuple_name),
    ("PwAff MultiPwAff", "reset_tuple_id", lambda self, kind: with_tuple_name(self, kind, None)),
    ("MultiPwAff", "get_list", gives_list(members)),
    ("MultiPwAff", "is_cst", lambda self: all(f.is_cst() for f in self)),
    ("MultiPwAff", "isa_multi_aff", is_one_expression),
    ("MultiPwAff", "isa_pw_multi_aff", lambda self: True),
    ("MultiPwAff", "as_multi_aff", as_multi_aff),
    ("MultiPwAff", "as_pw_multi_aff", itself),
    ("MultiPwAff", "to_multi_pw_aff to_pw_multi_aff", itself),
    ("MultiPwAff MultiFunction", "to_union_pw_multi_aff", as_union),
    ("MultiPwAff", "as_multi_union_pw_aff to_multi_union_pw_aff", as_functions),
    ("MultiPwAff", "plain_is_empty", is_empty),
    ("MultiPwAff", "max_multi_val", extremes("max")),
    ("MultiPwAff", "min_multi_val", extremes("min")),
    ("Map", "max_multi_val", extremes_of_union("max")),
    ("Map", "min_multi_val", extremes_of_union("min")),
    ("Set", "min_multi_union_pw_aff", least_on),
    ("MultiPwAff", "as_union_map", same("as_map")),
)
"""Classes, isl's names, and the method."""
