"""isl's methods of expressions: of an `Aff` here, which has names and no domain, of a function that is one, as isl's
`Aff` is, and of polynomials and constraints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import SpaceMismatch, UnknownName, kind_of
from ..functions.piecewise import left_to_others
from ..values import kinds
from ..values.aff import Aff, var
from ..values.space import Space, whole
from .constraints import Constraint
from .dimensions import by_kind
from .functions.methods import expression
from .functions.quotients import coefficient
from .objects.numbers import Number
from .objects.values import Val
from .relations import itself, same

if TYPE_CHECKING:
    from ..functions.pwaff import PwAff

# ---- of an expression


def one(self: Any) -> Aff:  # noqa: ANN401
    """The expression that an expression, or a function of one, is."""
    return self if isinstance(self, Aff) else expression(self)


def get_constant_val(self: Any) -> Val:  # noqa: ANN401
    """The constant term."""
    return Val(one(self).const)


def get_coefficients_by_name(self: Any, kind: Any = None) -> dict[Any, Val]:  # noqa: ANN401
    """The coefficients but 0 by name, of one kind if it is given, and the constant by 1; floors have none."""
    expr = one(self)
    names = [a for a, _ in expr.terms if isinstance(a, str)] if kind is None else kinds.of_kind(self, kind)
    found: dict[Any, Val] = {n: Val(expr.coefficient(n)) for n in names if expr.coefficient(n)}
    return {**found, **({1: Val(expr.const)} if expr.const else {})}


def coefficient_sgn(self: PwAff, kind: Any, pos: int) -> int:  # noqa: ANN401
    """The sign of the coefficient of a dimension."""
    return coefficient(self, kind, pos).sgn()


def changed(self: PwAff, expr: Aff) -> Any:  # noqa: ANN401
    """The function on the same points that is another expression, without a minimum or maximum if this has none."""
    if len(self.cells) == 1:
        ((c, _),) = self.cells
        return self._with([(c, (expr,))])
    return type(self).on(self.domain(), expr)


def set_constant_val(self: PwAff, value: int) -> PwAff:
    """With another constant term."""
    expr = one(self)
    return changed(self, expr + (_integer(value) - expr.const))


def set_coefficient_val(self: PwAff, kind: Any, pos: int, value: int) -> PwAff:  # noqa: ANN401
    """With another coefficient of a dimension."""
    name = kinds.spread(self, kind, pos)[0]
    expr = one(self)
    return changed(self, expr + var(name) * (_integer(value) - expr.coefficient(name)))


def add_coefficient_val(self: PwAff, kind: Any, pos: int, value: int) -> PwAff:  # noqa: ANN401
    """With a number added to the coefficient of a dimension."""
    return changed(self, one(self) + var(kinds.spread(self, kind, pos)[0]) * _integer(value))


def set_coefficients_by_name(self: PwAff, coefficients: Mapping[Any, int]) -> PwAff:
    """With other coefficients by name, and another constant by 1."""
    c = Constraint(one(self), True, Space(None, self.inp), self.param_names)
    return changed(self, c.set_coefficients_by_name(coefficients).expr)


def set_coefficients(self: Any, kind: Any, coefficients: Iterable[Any]) -> Any:  # noqa: ANN401
    """With other coefficients of the first dimensions of a kind, one each."""
    for pos, value in enumerate(coefficients):
        self = self.set_coefficient_val(kind, pos, value)
    return self


def _integer(value: object) -> int:
    number = whole(value)
    if number is None:
        raise UnknownName(f"a coefficient is an integer, not {kind_of(value)}")
    return number


def is_zero(self: Any) -> bool:  # noqa: ANN401
    """Whether it is 0 as it is written."""
    return one(self) == Aff((), 0)


# ---- what makes functions on a space


def on_space(space: Any, expr: Aff, make: type[PwAff] | None = None) -> Any:  # noqa: ANN401
    """An expression as a function on all points of a space of a set."""
    from ..functions.pwaff import PwAff
    from ..values.set import Set

    if isinstance(space, Set):
        space = Space(None, space.space.out, space.param_names)
    if not isinstance(space, Space):
        raise SpaceMismatch(f"a Space is needed, not {kind_of(space)}", where=str(space), hint="s.get_space()")
    return (make or PwAff).on(Set.universe(space), expr)


def _on_points(domain: Any, expr: Aff) -> Any:  # noqa: ANN401
    """An expression as a function on a space, or on the points of a set alone, as isl's `PwAff.val_on_domain`."""
    from ..functions.pwaff import PwAff
    from ..values.set import Set

    return PwAff.on(domain, expr) if isinstance(domain, Set) else on_space(domain, expr)


def zero_on_domain(space: Any) -> Any:  # noqa: ANN401
    """The function that is 0 on a space."""
    return on_space(space, Aff((), 0))


def val_on_domain(space: Any, value: Any) -> Any:  # noqa: ANN401
    """The function that is a number, which may be a fraction or NaN, on a space, or on the points of a set."""
    from ..functions.rational import lifted

    if type(value) is Number:
        return lifted(_on_points(space, Aff((), 0))) + value
    return _on_points(space, Aff((), _integer(value)))


def var_on_domain(space: Any, kind: Any, pos: int) -> Any:  # noqa: ANN401
    """The function that is a dimension, or a parameter, of a space."""
    return on_space(space, var(kinds.spread(space, kind, pos)[0]))


def param_on_domain(space: Any, name: str) -> Any:  # noqa: ANN401
    """The function that is a parameter on a space, or on the points of a set."""
    from ..values.set import Set

    points = space if isinstance(space, Set) else Set.universe(space)
    return _on_points(points.align_params([*points.param_names, name]), var(name))


def of_domain(domain: Any, value: Any = None) -> Any:  # noqa: ANN401
    """A function, which may have fractions, restricted to a set; isl's `PwAff.alloc`.

    Raises
    ------
    SpaceMismatch : no set and no function.
    """
    from ..functions.piecewise import check_function
    from ..functions.rational import RationalPwAff
    from ..values.shape import need_set

    need_set(domain, "PwAff.alloc")
    if not isinstance(value, RationalPwAff):
        check_function(value, "PwAff.alloc")
    return value.intersect_domain(domain)


# ---- constraints


def constraint_space(self: Constraint) -> Space:
    """The space, which knows the parameters: those that stand in the constraint come last."""
    more = [n for n in sorted(self.expr.names()) if n not in (*self.param_names, *self.space.dims)]
    return Space(self.space.inp, self.space.out, (*self.param_names, *more))


_EXPRESSIONS = (
    ("is_cst", lambda self: one(self).is_constant),
    ("get_constant_val", get_constant_val),
    ("get_denominator_val", lambda self: Val(1)),
    ("plain_is_zero", is_zero),
    ("get_coefficients_by_name", get_coefficients_by_name),
)
_ARITHMETIC = (
    ("copy floor ceil", itself),
    ("to_str", lambda self: str(self)),
    ("add add_constant_val", lambda self, other: self + other),
    ("sub", lambda self, other: self - other),
    ("mul scale_val", lambda self, other: self * other),
    ("neg", lambda self: -self),
    ("mod_val", lambda self, den: self % den),
    ("plain_is_equal", lambda self, other: self == other),
    ("is_nan", lambda self: False),
)
METHODS: tuple[tuple[str, str, Any], ...] = (
    *(("Aff", names, f) for names, f in (*_EXPRESSIONS, *_ARITHMETIC)),
    *(("PwAff", names, f) for names, f in _EXPRESSIONS if names != "is_cst"),
    ("PwAff", "coefficient_sgn", coefficient_sgn),
    ("PwAff", "set_constant_val", left_to_others("set_constant_val", set_constant_val)),
    ("PwAff", "set_coefficient_val", left_to_others("set_coefficient_val", set_coefficient_val)),
    ("PwAff", "add_coefficient_val", left_to_others("add_coefficient_val", add_coefficient_val)),
    ("PwAff", "set_coefficients_by_name", set_coefficients_by_name),
    ("PwAff RationalPwAff Constraint", "set_coefficients", set_coefficients),
    ("PwAff", "to_pw_aff", itself),
    *(("PwAff", f"{sign}_basic_set", same(f"{sign}_set")) for sign in ("eq", "ge", "gt", "le", "lt")),
    ("PwAff", "zero_basic_set", lambda self: self.eq_set(0)),
    ("PwAff", "neg_basic_set", lambda self: self.lt_set(0)),
    ("Constraint", "is_equal", lambda self, other: self == other),
    ("Aff", "zero_on_domain", zero_on_domain),
    ("Aff PwAff", "val_on_domain", val_on_domain),
    ("Aff PwAff", "var_on_domain", var_on_domain),
    ("PwAff", "param_on_domain_id", param_on_domain),
    ("PwAff", "alloc", of_domain),
    ("Constraint", "get_space", constraint_space),
    *(("Constraint", names, lambda self, *args, f=f: f(constraint_space(self), *args)) for names, f in (
        ("get_dim_name", by_kind.get_dim_name), ("get_var_dict", by_kind.get_var_dict),
        ("get_var_names get_var_names_not_none", by_kind.get_var_names),
    )),
    ("Constraint", "involves_dims", lambda self, kind, first, n: bool(
        self.expr.names() & {*kinds.spread(constraint_space(self), kind, first, n)})),
)  # fmt: skip
"""Classes, isl's names, and the method; those that make a function are of the class."""
