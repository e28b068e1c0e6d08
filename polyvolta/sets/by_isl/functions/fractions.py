"""The rarer of isl's methods of functions with fractions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from math import lcm
from typing import Any

from ...errors import SpaceMismatch, UnknownName, nearest, need_function
from ...functions.members import MultiFunction
from ...functions.multi_pwaff import MultiPwAff
from ...functions.rational import RationalPwAff, lifted
from ...values import kinds
from ...values.aff import var
from ...values.map import Map
from ...values.set import Set
from ...values.space import Space
from ..expressions import get_coefficients_by_name as by_name
from ..objects.context import DEFAULT_CONTEXT
from ..objects.lists import ListOf
from ..objects.spaces import get_domain_space
from ..objects.values import Val
from ..objects.vectors import MultiVal
from ..relations import itself, order_of_texts, same
from .made import range_is_wrapping
from .methods import as_functions, every_piece, foreach_piece, narrowed, with_numbers
from .methods import pieces as pieces_of
from .quotients import (
    changed,
    is_quotient_of_one,
    lexicographic,
    members_changed,
    placed_apart,
    quotient_coefficient,
    quotient_constant,
    tdiv_q,
    zeros_of,
)
from .unions import as_set

# ---- of one value


def _dimension(self: RationalPwAff, kind: Any, pos: int) -> RationalPwAff:  # noqa: ANN401
    """The function that is a dimension, or a parameter."""
    (name,) = kinds.spread(self.num, kind, pos)
    return lifted(self.num._lifted(var(name)))


def add_coefficient_val(self: RationalPwAff, kind: Any, pos: int, number: Any) -> Any:  # noqa: ANN401
    """With a number added to the coefficient of a dimension."""
    return self + _dimension(self, kind, pos) * number


def set_coefficient_val(self: RationalPwAff, kind: Any, pos: int, number: Any) -> Any:  # noqa: ANN401
    """With another coefficient of a dimension, of a function of one expression."""
    here = _dimension(self, kind, pos)
    return self - here * quotient_coefficient(self, kind, pos) + here * number


def set_constant_val(self: RationalPwAff, number: Any) -> Any:  # noqa: ANN401
    """With another constant term, of a function of one expression."""
    return self - quotient_constant(self) + number


def add_constant_num_si(self: RationalPwAff, number: int) -> Any:  # noqa: ANN401
    """With a number added to the constant term of the numerator."""
    return self + Fraction(number, self.den)


def tdiv_r(self: RationalPwAff, other: Any) -> Any:  # noqa: ANN401
    """The remainder of the division that is rounded towards zero."""
    return self - lifted(other, self.num) * tdiv_q(self, other)


def as_aff(self: RationalPwAff) -> Any:  # noqa: ANN401
    """The function of one expression that it is.

    Raises
    ------
    SpaceMismatch : it has cases, or a domain of its own.
    """
    if not is_quotient_of_one(self):
        raise SpaceMismatch("the function is not one expression everywhere", where=str(self))
    return narrowed(self)


def related(name: str) -> Callable[[RationalPwAff, Any], Map]:
    """A method for the pairs of points at which the values of two functions compare so; exact, as of rationals."""

    def method(self: RationalPwAff, other: Any) -> Map:  # noqa: ANN401
        other = lifted(other)
        den = lcm(self.den, other.den)
        return getattr(self.num * (den // self.den), name)(other.num * (den // other.den))

    method.__doc__ = f"The pairs of points at which `{name}` holds of the values."
    return method


def mentioned(name: str) -> Callable[..., bool]:
    """A method that asks what a function mentions, in its values or where it has them."""

    def method(self: Any, *args: Any) -> bool:  # noqa: ANN401
        members = self.members if isinstance(self, MultiFunction) else (self,)
        return any(
            getattr(g, name)(*args)
            for f in map(lifted, members)
            for g in (f.num, *([] if f.nan.is_empty() else [f.num.on(f.nan, 0)]))
        )

    method.__doc__ = f"As `{name}` of a function of integers."
    return method


def drop_unused_params(self: RationalPwAff) -> Any:  # noqa: ANN401
    """Without the parameters that nothing mentions."""
    named = {*self.num.drop_unused_params().param_names, *self.nan.drop_unused_params().param_names}  # type: ignore[attr-defined]
    names = [p for p in dict.fromkeys([*self.num.param_names, *self.nan.param_names]) if p in named]
    num, nan = (f.drop_unused_params().align_params(names) for f in (self.num, self.nan))  # type: ignore[attr-defined]
    return RationalPwAff(num, self.den, nan)


def set_coefficients_by_name(self: RationalPwAff, coefficients: Mapping[Any, Any]) -> Any:  # noqa: ANN401
    """With other coefficients by name, and another constant by 1, of a function of one expression.

    Raises
    ------
    UnknownName : a name is none of a dimension or a parameter.
    """
    params, dims = self.num.param_names, self.num.inp.dims
    f: Any = self
    for name, number in coefficients.items():
        if name == 1:
            f = set_constant_val(lifted(f), number)
        elif name in params or name in dims:
            kind, names = (kinds.dim_type.param, params) if name in params else (kinds.dim_type.in_, dims)
            f = set_coefficient_val(lifted(f), kind, names.index(name), number)
        else:
            hint = nearest(str(name), (*params, *dims))
            raise UnknownName(f"no dimension is called {name!r}", where=str(self), hint=hint)
    return f


def get_coefficients_by_name(self: RationalPwAff, kind: Any = None) -> dict[Any, Val]:  # noqa: ANN401
    """The coefficients but 0 by name, of one kind if it is given, and the constant by 1; floors have none."""
    found = by_name(self.num, kind).items()
    return {name: Val(Fraction(number, self.den)) for name, number in found}  # type: ignore[arg-type]


def factor_range(self: MultiFunction) -> Any:  # noqa: ANN401
    """Of values that are wrapped pairs, without inputs, the second ones.

    Raises
    ------
    SpaceMismatch : there are inputs, or the values are no pairs.
    """
    if not self.inp.of_params:
        raise SpaceMismatch("the function has inputs", where=str(self), hint="f.range_factor_range()")
    return self.range_factor_range()


def _without_params(self: MultiFunction) -> list[Any]:
    """The members without the parameters that none of them mentions."""
    return [f.drop_unused_params() for f in self.members]


# ---- of tuples


def splice(self: MultiFunction, in_pos: int, out_pos: int, other: Any) -> Any:  # noqa: ANN401
    """The values of another function put in among the outputs, and its inputs among the inputs."""
    other = MultiFunction(other.space, other)
    like = zeros_of(self).splice(in_pos, out_pos, zeros_of(other))
    dims, end = like.inp.dims, in_pos + len(other.inp.dims)
    own = placed_apart(self, like.inp, (*dims[:in_pos], *dims[end:]))
    others = placed_apart(other, like.inp, dims[in_pos:end])
    return MultiFunction.of(like.space, [*own[:out_pos], *others, *own[out_pos:]])


def _on_pairs(self: MultiFunction, other: Any) -> tuple[MultiFunction, MultiFunction]:
    """Two functions as ones of pairs of their points."""
    other = MultiFunction(other.space, other)
    pairs = zeros_of(self).product(zeros_of(other)).inp
    if self.space.out.key != other.space.out.key:
        raise SpaceMismatch("two functions of values of one tuple are needed", where=f"{self.space}\n{other.space}")
    n = len(self.inp.dims)
    return (
        MultiFunction(Space(pairs, self.space.out), placed_apart(self, pairs, pairs.dims[:n])),
        MultiFunction(Space(pairs, self.space.out), placed_apart(other, pairs, pairs.dims[n:])),
    )


def in_order(strict: str, equal: bool) -> Callable[[MultiFunction, Any], Map]:
    """A method for the pairs of points at which the values of two functions are in lexicographic order.

    As isl's it asks for a value where those before it are equal alone: each has a domain of its own.
    """
    points = lexicographic(strict, equal, by_place=True)

    def method(self: MultiFunction, other: Any) -> Map:  # noqa: ANN401
        return points(*_on_pairs(self, other)).unwrap()

    method.__doc__ = "The pairs of points of which the values of the first come before those of the second, or behind."
    return method


def eq_map(self: MultiFunction, other: Any) -> Map:  # noqa: ANN401
    """The pairs of points at which the values of two functions are equal."""
    first, second = _on_pairs(self, other)
    found = first.domain() & second.domain()
    for f, g in zip(map(lifted, first), second, strict=True):
        found &= f.eq_set(g)
    return found.unwrap()


def union_extreme(least: bool) -> Callable[[MultiFunction, Any], Any]:
    """A method for the values of two functions that come first, or last, where both have some; else those of one."""
    before = lexicographic("lt_set" if least else "gt_set", True)

    def method(self: MultiFunction, other: Any) -> Any:  # noqa: ANN401
        other = MultiFunction(other.space, other)
        theirs = other.domain()
        mine: Set = (self.domain() - theirs) | before(self, other)
        rest = theirs - mine
        return MultiFunction.of(self.space, [
            lifted(f.intersect_domain(mine)).union_prefer(lifted(g.intersect_domain(rest)))
            for f, g in zip(self, other, strict=True)
        ])  # fmt: skip

    method.__doc__ = "The lexicographically lesser, or greater, values where both have some, elsewhere those that are."
    return method


added_to_each = with_numbers(lambda f, n: lifted(f) + n)
"""The function plus a number for each value."""


def _constants(self: MultiFunction) -> MultiVal:
    return MultiVal([quotient_constant(lifted(f)) for f in self.members], Space(None, self.space.out))


def _is_of_one(self: MultiFunction) -> bool:
    return all(is_quotient_of_one(lifted(f)) for f in self.members)


def as_multi_aff(self: MultiFunction) -> Any:  # noqa: ANN401
    """The tuple of functions of one expression that it is.

    Raises
    ------
    SpaceMismatch : one of them has cases, or a domain of its own.
    """
    if not _is_of_one(self):
        raise SpaceMismatch("the functions are not one expression everywhere", where=str(self))
    return narrowed(self)


def _context(self: object) -> object:
    return DEFAULT_CONTEXT


def _order() -> Iterator[tuple[str, str, Callable[..., Any]]]:
    for name in ("lt", "le", "gt", "ge"):
        yield "MultiFunction", f"lex_{name}_map", in_order(f"{name[0]}t_set", name[1] == "e")
    for name in ("eq_map", "ge_map", "gt_map", "le_map", "lt_map"):
        yield "RationalPwAff", name, related(name)


def of_space(name: str) -> Callable[..., Any]:
    """A method that asks for what the space knows."""

    def method(self: MultiFunction, *args: Any) -> Any:
        return getattr(MultiPwAff._of(self.param_names, self.space, []), name)(*args)

    method.__doc__ = f"`{name}` of any function of the space."
    return method


def pieces(self: MultiFunction) -> list[Any]:
    """The pairs of a set and what the function is there, of one expression each, on all of the space.

    Raises
    ------
    NotAffine : some value is NaN.
    """
    parts = [lifted(f) for f in self.members]
    if not all(f.nan.is_empty() for f in parts):
        self.joint()
    found = pieces_of(MultiFunction(self.space, [f.num for f in parts]).joint())
    return [
        (domain, narrowed(MultiFunction.of(self.space, [lifted(g) / f.den for g, f in zip(value, parts, strict=True)])))
        for domain, value in found
    ]


def each_piece(self: MultiFunction, f: Callable[[Any, Any], object]) -> None:
    """Call a function with each set and what this function is there."""
    need_function(f, "two arguments")
    for domain, value in pieces(self):
        f(domain, value)


def all_pieces(self: MultiFunction, f: Callable[[Any, Any], object]) -> bool:
    """Whether a function holds of each set and what this function is there."""
    need_function(f, "two arguments")
    return all(f(domain, value) for domain, value in pieces(self))


def fix_si(self: MultiFunction, kind: Any, pos: int, value: int) -> Any:  # noqa: ANN401
    """The function at one value of a parameter or an input."""
    points: Any = self.domain()
    return self.intersect_domain(points.fix_val(kinds.dim_type.set if kind.name == "in_" else kind, pos, value))


_BOTH = "RationalPwAff MultiFunction"
METHODS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("RationalPwAff", "add_coefficient_val", add_coefficient_val),
    ("RationalPwAff", "set_coefficient_val", set_coefficient_val),
    ("RationalPwAff", "set_constant_val", set_constant_val),
    ("RationalPwAff", "add_constant_num_si", add_constant_num_si),
    ("RationalPwAff", "tdiv_r", tdiv_r),
    ("RationalPwAff", "drop_unused_params", drop_unused_params),
    ("RationalPwAff", "get_coefficients_by_name", get_coefficients_by_name),
    ("RationalPwAff", "set_coefficients_by_name", set_coefficients_by_name),
    ("RationalPwAff", "get_aggregate_domain", same("domain")),
    ("RationalPwAff MultiFunction", "plain_cmp", order_of_texts),
    ("RationalPwAff", "get_local_space get_domain_local_space", get_domain_space),
    ("RationalPwAff", "as_aff", as_aff),
    ("RationalPwAff", "foreach_piece", foreach_piece),
    ("RationalPwAff", "every_piece", every_piece),
    ("RationalPwAff", "plain_is_zero", lambda self: False),
    ("RationalPwAff", "bind_domain_wrapped_domain", changed("bind_domain_wrapped_domain")),
    ("RationalPwAff", "from_range", changed("from_range")),
    *_order(),
    *((_BOTH, name, mentioned(name)) for name in ("involves_dims", "involves_locals", "involves_param_id")),
    ("MultiFunction", "isa_multi_aff", _is_of_one),
    *(("MultiFunction", name, of_space(name)) for name in ("get_dim_name", "has_tuple_name")),
    ("MultiFunction", "n_piece", lambda self: len(pieces(self))),
    ("MultiFunction", "foreach_piece", each_piece),
    ("MultiFunction", "every_piece", all_pieces),
    ("MultiFunction", "fix_si", fix_si),
    ("MultiFunction", "involves_param_id_list", mentioned("involves_param_id")),
    (_BOTH, "get_ctx", _context),
    (_BOTH, "reset_user", itself),
    (_BOTH, "to_list", lambda self: ListOf([self])),
    ("MultiFunction", "to_multi_union_pw_aff", as_functions),
    ("MultiFunction", "drop_unused_params", lambda self: MultiFunction(self.space, _without_params(self))),
    ("MultiFunction", "from_range", members_changed("from_range")),
    ("MultiFunction", "factor_range", factor_range),
    ("MultiFunction", "range_is_wrapping", range_is_wrapping),
    ("MultiFunction", "as_set", as_set),
    ("MultiFunction", "bind_domain_wrapped_domain", members_changed("bind_domain_wrapped_domain")),
    ("MultiFunction", "splice", splice),
    ("MultiFunction", "eq_map", eq_map),
    ("MultiFunction", "union_lexmin", union_extreme(True)),
    ("MultiFunction", "union_lexmax", union_extreme(False)),
    ("MultiFunction", "add_constant_val", lambda self, number: added_to_each(self, [number] * len(self.members))),
    ("MultiFunction", "add_constant_multi_val", added_to_each),
    ("MultiFunction", "get_constant_multi_val", _constants),
    ("MultiFunction", "get_list", lambda self: ListOf(self.members)),
    ("MultiFunction", "is_cst", lambda self: all(lifted(f).num.is_cst() for f in self.members)),
    ("MultiFunction", "as_multi_aff", as_multi_aff),
)
"""Classes, isl's names, and the method."""
