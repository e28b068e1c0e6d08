"""What isl reads from an expression beside the coefficients of its dimensions: the floors in it, its divs, each a
quotient of a function, and the bound that a constraint is of a dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ...conjuncts import conjunct as cj
from ...errors import NotSupported, SpaceMismatch, UnknownName
from ...functions.members import MultiFunction
from ...functions.multi_pwaff import MultiPwAff
from ...functions.pwaff import PwAff
from ...functions.rational import RationalPwAff, involves_nan, lifted
from ...values import kinds
from ...values.aff import Aff, Floor, var
from ...values.space import Space, Tuple, whole
from ..binding import bind_range
from ..dimensions import by_kind
from ..objects.lists import dump
from ..objects.spaces import every, get_domain_space, get_space
from ..objects.values import Val
from ..relations import is_universe, itself, same
from .methods import (
    compared,
    expression,
    extremes,
    gist_params,
    is_empty,
    is_one_expression,
    narrowed,
    params,
    scale_down_val,
    with_numbers,
)

if TYPE_CHECKING:
    from ...functions.pwaff import PwAff
    from ...values.set import Set


def reduced(num: PwAff, den: int) -> Any:  # noqa: ANN401
    """A function by a number: a function where this divides all coefficients."""
    return RationalPwAff.of(num, den)


def _expression(self: Any) -> Aff:  # noqa: ANN401
    return expression(self) if isinstance(self, PwAff) or not hasattr(self, "expr") else self.expr


# ---- floors, of functions and of constraints


def floors(expr: Aff) -> list[Floor]:
    """The floors of an expression, each once, behind those in it."""

    def inside(e: Aff) -> Iterator[Floor]:
        for atom, _ in e.terms:
            if isinstance(atom, Floor):
                yield from inside(atom.num)
                yield atom

    return [*dict.fromkeys(inside(expr))]


def is_div(kind: Any) -> bool:  # noqa: ANN401
    """Whether floors are meant, of kinds of dimensions."""
    return getattr(kind, "name", None) == "div"


def number_of(self: Any, kind: Any) -> int:  # noqa: ANN401
    """The number of dimensions of a kind, or of floors, of a function or a constraint."""
    return len(floors(_expression(self))) if is_div(kind) else by_kind.dim(_placed(self), kind)


def coefficient(self: Any, kind: Any, pos: int) -> Val:  # noqa: ANN401
    """The coefficient of a dimension, or of a floor, in a function of one expression or a constraint."""
    expr = _expression(self)
    return Val(expr.coefficient(_floor(self, pos) if is_div(kind) else kinds.spread(_placed(self), kind, pos)[0]))


def _placed(self: Any) -> Any:  # noqa: ANN401
    """What knows of which dimensions and parameters it is: a function, or the space of a constraint."""
    return self if isinstance(self, PwAff) or not hasattr(self, "expr") else self.get_space()


def _floor(self: Any, pos: int) -> Floor:  # noqa: ANN401
    found = floors(_expression(self))
    if whole(pos) is None or not 0 <= pos < len(found):
        raise UnknownName(f"there is no floor at position {pos}", where=str(self), hint=f"there are {len(found)}")
    return found[pos]


def div(self: Any, pos: int) -> RationalPwAff:  # noqa: ANN401
    """What stands under a floor of a function of one expression or of a constraint, before it is rounded."""
    found = _floor(self, pos)
    return RationalPwAff(_function(self, found.num), found.den)


def _function(self: Any, expr: Aff) -> Any:  # noqa: ANN401
    """An expression as a function on the space of a function, or on that of a constraint of a set."""
    from ...functions.pwaff import PwAff
    from ...values.set import Set

    if not hasattr(self, "expr"):
        return self._lifted(expr)
    space = self.get_space()
    if space.inp is not None:
        raise NotSupported("an expression of inputs and outputs is no function of a set", where=str(self),
                           hint="c.expr is the expression, m.wrap() a set")  # fmt: skip
    return PwAff.on(Set.universe(space), expr)


def get_aff(self: Any) -> PwAff:  # noqa: ANN401
    """The function that is 0, or at least 0, of a constraint of a set."""
    return _function(self, self.expr)


def get_bound(self: Any, kind: Any, pos: int) -> PwAff | RationalPwAff:  # noqa: ANN401
    """What a constraint says that a dimension is, is at least or at most: a function, or a quotient of one.

    Raises
    ------
    NotSupported : it does not bound the dimension, or has it under a floor.
    """
    name = kinds.spread(self.get_space(), kind, pos)[0]
    times = self.expr.coefficient(name)
    rest = self.expr - times * Aff(((name, 1),), 0)
    if not times or name in rest.names():
        raise NotSupported(f"the constraint is no bound of {name}", where=str(self))
    return reduced(_function(self, -rest if times > 0 else rest), abs(times))


# ---- of quotients


def _part(self: RationalPwAff, number: int) -> Any:  # noqa: ANN401
    return Val.nan() if self.is_nan() else Val(Fraction(number, self.den))


def quotient_coefficient(self: RationalPwAff, kind: Any, pos: int) -> Any:  # noqa: ANN401
    """The coefficient of a dimension, or of a floor, a fraction where it is no integer."""
    return _part(self, 0 if self.is_nan() else coefficient(self.num, kind, pos))


def quotient_constant(self: RationalPwAff) -> Any:  # noqa: ANN401
    """The constant term, a fraction where it is no integer."""
    return _part(self, 0 if self.is_nan() else _expression(self.num).const)


def quotient_pieces(self: RationalPwAff) -> list[Any]:
    """The pairs of a set and what the function is there."""
    return [(where, narrowed(f)) for where, f in self.pieces]


def tdiv_q(self: RationalPwAff, other: Any) -> Any:  # noqa: ANN401
    """The quotient, rounded towards zero."""
    exact: Any = lifted(self / other)
    return lifted(exact.floor()).intersect_domain(exact.ge_set(0)).union_prefer(exact.ceil())


def nan_on_space(space: Space) -> RationalPwAff:
    """The function of the points of a set's space that is no number."""
    points: Any = every(space)
    return RationalPwAff.nan_on(points)


def is_quotient_of_one(self: RationalPwAff) -> bool:
    """Whether it is one expression by a number everywhere, or NaN."""
    if is_one_expression(self.num):
        return True  # and NaN nowhere
    return len(self.pieces) == 1 and is_universe(self.domain())


# ---- names and dimensions, as of functions of integers


def changed(name: str) -> Callable[..., Any]:
    """A method that changes names or dimensions, by that of functions of integers for numerator and NaN."""

    def method(self: RationalPwAff, *args: Any) -> Any:  # noqa: ANN401
        num = self.num.align_params(self.nan)
        where = num.on(self.nan.align_params(num), 0)
        return RationalPwAff.of(getattr(num, name)(*args), self.den, getattr(where, name)(*args).domain())

    method.__doc__ = f"As `{name}` of a function of integers."
    return method


def zeros_of(self: MultiFunction) -> Any:  # noqa: ANN401
    """The function of the same space that is 0 everywhere."""
    zeros = (Aff((), 0),) * self.space.n_out
    everywhere = cj.universe(len(self.param_names) + len(self.inp.dims))
    return MultiPwAff._of(self.param_names, self.space, [(everywhere, zeros)])


def asked(name: str) -> Callable[..., Any]:
    """A method that asks for names, which are those of any function of the space."""

    def method(self: RationalPwAff | MultiFunction, *args: Any) -> Any:  # noqa: ANN401
        return getattr(self.num if isinstance(self, RationalPwAff) else zeros_of(self), name)(*args)

    method.__doc__ = f"As `{name}` of a function of integers."
    return method


def members_changed(name: str) -> Callable[..., Any]:
    """A method that changes names or dimensions of each member's inputs, or names of the tuple."""

    def method(self: MultiFunction, *args: Any) -> Any:  # noqa: ANN401
        if wrong := [f for f in args if isinstance(f, RationalPwAff | MultiFunction)]:
            raise SpaceMismatch(f"{name} takes names and spaces, not a function", where=str(wrong[0]))
        zeros = zeros_of(self)
        like = getattr(zeros, name)(*args)
        if like.space.n_out < zeros.space.n_out:  # members are dropped, from one on
            _, first, n = args
            return MultiFunction.of(like.space, [*self.members[:first], *self.members[first + n :]])
        same_inputs = like.space.source == zeros.space.source and like.param_names == zeros.param_names
        own = name.replace("tuple_name", "tuple_id")
        found = self.members if same_inputs else [getattr(f, own)(*args) for f in self.members]
        return MultiFunction(like.space, found)

    method.__doc__ = f"As `{name}` of a function of integers."
    return method


def product(self: MultiFunction, other: Any) -> Any:  # noqa: ANN401
    """The function of pairs of points to pairs of the values of both."""
    other = MultiFunction(other.space, other)
    like = zeros_of(self).product(zeros_of(other))
    n = len(self.inp.dims)
    first, second = placed_apart(self, like.inp, like.inp.dims[:n]), placed_apart(other, like.inp, like.inp.dims[n:])
    return MultiFunction.of(like.space, [*first, *second])


def placed_apart(self: MultiFunction, inp: Tuple, dims: tuple[str, ...]) -> list[Any]:
    """The functions as ones of a longer tuple of inputs, of which some dimensions are theirs."""
    points = MultiPwAff._of((), Space(inp, self.inp), [(cj.universe(len(inp.dims)), tuple(map(var, dims)))])
    return [lifted(f).pullback(points) for f in self.members]


def range_splice(self: MultiFunction, pos: int, other: Any) -> Any:  # noqa: ANN401
    """The values of another function of the same inputs put in at a position."""
    return MultiFunction.of(
        zeros_of(self).range_splice(pos, zeros_of(other)).space, [*self.members[:pos], *other, *self.members[pos:]]
    )


def lexicographic(strict: str, equal: bool, by_place: bool = False) -> Callable[[MultiFunction, Any], Set]:
    """A method for the points at which the values of two functions are in lexicographic order.

    All values are needed, or, `by_place`, those up to the first two that differ.
    """

    def method(self: MultiFunction, other: Any) -> Set:  # noqa: ANN401
        if self.space.key != other.space.key:
            raise SpaceMismatch("two functions of one space are needed", where=f"{self.space}\n{other.space}")
        alike = self.domain() & other.domain()
        if by_place:
            alike = alike.universe(alike.space).align_params(alike)
        found = alike - alike
        for f, g in zip(map(lifted, self), map(lifted, other), strict=True):
            found |= alike & getattr(f, strict)(g)
            alike &= f.eq_set(g)
        return found | alike if equal else found

    method.__doc__ = "The points where all have values, and those of this one come before the others, or behind them."
    return method


_NAMES = "set_dim_name set_dim_id set_tuple_id reset_tuple_id add_dims insert_dims move_dims drop_dims"
_MOVES = (
    "bind_domain domain_reverse insert_domain intersect_domain_wrapped_domain intersect_domain_wrapped_range"
    " project_domain_on_params unbind_params_insert_domain"
)
_ASKED = (
    "get_tuple_id has_tuple_id get_dim_id find_dim_by_name get_var_names get_var_dict get_var_ids"
    " get_var_names_not_none get_id_dict"
)

_OF_NUMBERS: tuple[tuple[str, str, Callable[..., Any]], ...] = tuple([
    ("RationalPwAff", name, compared(f"{sign}_set")) for name, sign in (
        ("nonneg_set", "ge"), ("pos_set", "gt"), ("zero_set", "eq"), ("non_zero_set", "ne"), ("neg_basic_set", "lt"))
])  # fmt: skip

METHODS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("PwAff", "scale_down_val div", scale_down_val),
    ("PwAff", "nan_on_domain_space nan_on_domain", nan_on_space),
    ("PwAff", "scale_val", same("__mul__")),
    ("PwAff", "add_constant_val", same("__add__")),
    ("PwAff Constraint", "dim", number_of),
    ("PwAff Constraint", "get_coefficient_val", coefficient),
    ("PwAff Constraint", "get_div", div),
    ("Constraint", "get_aff", get_aff),
    ("Constraint", "get_bound", get_bound),
    *_OF_NUMBERS,
    *(("RationalPwAff", f"{sign}_basic_set", same(f"{sign}_set")) for sign in ("eq", "ge", "gt", "le", "lt")),
    ("RationalPwAff MultiFunction", "add", same("__add__")),
    ("RationalPwAff MultiFunction", "sub", same("__sub__")),
    ("RationalPwAff", "scale_val mul", same("__mul__")),
    ("RationalPwAff", "scale_down_val div", same("__truediv__")),
    ("RationalPwAff", "add_constant_val", same("__add__")),
    ("RationalPwAff", "mod_val", same("__mod__")),
    ("RationalPwAff", "tdiv_q", tdiv_q),
    ("RationalPwAff", "get_denominator_val", lambda self: _part(self, self.den * self.den)),
    ("RationalPwAff", "get_constant_val", quotient_constant),
    ("RationalPwAff", "get_coefficient_val", quotient_coefficient),
    ("RationalPwAff", "get_div", lambda self, pos: div(self.num, pos)),
    ("RationalPwAff", "dim", lambda self, kind: number_of(self.num, kind)),
    ("RationalPwAff", "get_dim_name", lambda self, kind, pos: by_kind.get_dim_name(self.num, kind, pos)),
    ("RationalPwAff MultiFunction", "get_space", get_space),
    ("RationalPwAff MultiFunction", "get_domain_space", get_domain_space),
    ("RationalPwAff MultiFunction", "copy", itself),
    ("RationalPwAff", "to_pw_aff", itself),
    ("RationalPwAff MultiFunction", "to_str", lambda self: str(self)),
    ("RationalPwAff", "params", params),
    ("RationalPwAff", "is_empty", is_empty),
    ("RationalPwAff MultiFunction", "gist_params", gist_params),
    ("RationalPwAff", "pullback_aff", same("pullback")),
    ("RationalPwAff", "involves_nan", involves_nan),
    ("RationalPwAff", "plain_is_equal", same("is_equal")),
    ("RationalPwAff", "is_cst", lambda self: self.num.is_cst()),
    ("RationalPwAff", "get_pieces", quotient_pieces),
    ("RationalPwAff", "n_piece", lambda self: len(self.pieces)),
    ("RationalPwAff", "isa_aff", is_quotient_of_one),
    ("RationalPwAff", "zero_basic_set", same("zero_set")),
    ("RationalPwAff", "coefficient_sgn", lambda self, kind, pos: quotient_coefficient(self, kind, pos).sgn()),
    ("MultiFunction", "to_pw_multi_aff to_multi_pw_aff", itself),
    *(("RationalPwAff", name, changed(name)) for name in f"{_NAMES} {_MOVES}".split()),
    *(("MultiFunction", name, members_changed(name)) for name in f"{_NAMES} {_MOVES}".split()),
    *(
        ("MultiFunction", f"{name}_tuple_{what}", members_changed(f"{name}_tuple_{what}"))
        for name, what in (("set", "name"), ("set_range", "id"), ("reset_range", "id"))
    ),
    ("MultiFunction", "flatten_range", members_changed("flatten_range")),
    ("MultiFunction", "product", product),
    ("MultiFunction", "range_splice", range_splice),
    *(
        ("MultiFunction", f"lex_{name}_set", lexicographic(f"{name[0]}t_set", name[1] == "e"))
        for name in ("lt", "le", "gt", "ge")
    ),
    *(("RationalPwAff MultiFunction", name, asked(name)) for name in _ASKED.split()),
    ("RationalPwAff", "has_dim_id", asked("has_dim_id")),
    *(("MultiFunction", name, asked(name)) for name in ("find_dim_by_id", "identity_multi_pw_aff")),
    *(("MultiFunction", name, asked(name)) for name in ("get_tuple_name", "get_range_tuple_id", "has_range_tuple_id")),
    ("RationalPwAff MultiFunction", "dump", dump),
    ("MultiFunction", "scale_multi_val", with_numbers(lambda f, n: f * n)),
    ("MultiFunction", "mod_multi_val", with_numbers(lambda f, n: f % n)),
    ("MultiFunction", "scale_down_multi_val", with_numbers(scale_down_val)),
    ("MultiFunction", "bind", lambda self, names: bind_range(self.as_map(), names)),
    ("MultiFunction", "max_multi_val", extremes("max")),
    ("MultiFunction", "min_multi_val", extremes("min")),
    ("MultiFunction", "dim", lambda self, kind: by_kind.dim(self, kind)),
)
"""Classes, isl's names, and the method."""
