"""isl's methods of expressions: of an `Aff` here, which has names and no domain, of a function that is one, as isl's
`Aff` is, and of polynomials and constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..counting.known import simplified
from ..counting.quasipoly import PwQPolynomial, QPolynomial
from ..errors import SpaceMismatch, Unbounded, UnknownName, kind_of, need_function
from ..values import kinds
from ..values.aff import Aff, var
from ..values.space import POINT, Space, Tuple, whole
from .constraints import Constraint
from .dimensions import by_kind
from .functions import expression
from .objects.values import Val
from .quotients import coefficient
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
    """The function on the same points that is another expression."""
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


def zero_on_domain(space: Any) -> Any:  # noqa: ANN401
    """The function that is 0 on a space."""
    return on_space(space, Aff((), 0))


def val_on_domain(space: Any, value: int) -> Any:  # noqa: ANN401
    """The function that is a number on a space."""
    return on_space(space, Aff((), _integer(value)))


def var_on_domain(space: Any, kind: Any, pos: int) -> Any:  # noqa: ANN401
    """The function that is a dimension, or a parameter, of a space."""
    return on_space(space, var(kinds.spread(space, kind, pos)[0]))


def param_on_domain(space: Any, name: str) -> Any:  # noqa: ANN401
    """The function on a space that is a parameter."""
    from ..values.set import Set

    return on_space(Set.universe(space).align_params([name]), var(name))


def of_domain(domain: Any, value: Any = None) -> Any:  # noqa: ANN401
    """A function, restricted to a set; isl's `PwAff.alloc`.

    Raises
    ------
    SpaceMismatch : no set and no function.
    """
    from ..functions.piecewise import check_function
    from ..values.shape import need_set

    need_set(domain, "PwAff.alloc")
    check_function(value, "PwAff.alloc")
    return value.intersect_domain(domain)


# ---- polynomials


class Term:
    """A product of powers with a coefficient: what isl's polynomials are sums of."""

    def __init__(self, of: PlacedPolynomial, powers: dict[Any, int], coefficient: Fraction) -> None:
        self.of, self.powers, self.coefficient = of, powers, coefficient

    def get_coefficient_val(self) -> Any:  # noqa: ANN401
        """The coefficient; a fraction where it is no integer."""
        return Val(self.coefficient)

    def get_num_si(self) -> int:
        """The numerator of the coefficient."""
        return self.coefficient.numerator

    def get_den_val(self) -> Val:
        """The denominator of the coefficient."""
        return Val(self.coefficient.denominator)

    def get_exp(self, kind: Any, pos: int) -> int:  # noqa: ANN401
        """The power of a dimension."""
        return self.powers.get(kinds.spread(self.of, kind, pos)[0], 0)

    def dim(self, kind: Any) -> int:  # noqa: ANN401
        """The number of dimensions of a kind."""
        return by_kind.dim(self.of, kind)


class PlacedPolynomial(QPolynomial):
    """A polynomial that knows of which parameters and dimensions it is, as isl's do.

    >>> [(where, what)] = PwQPolynomial("[n] -> { [i] -> 2 * i + n }").get_pieces()
    >>> what.get_var_names(kinds.dim_type.in_), [t.get_coefficient_val() for t in what.get_terms()]
    (['i'], [2, 1])
    """

    __slots__ = ("param_names", "space")

    def __init__(self, of: QPolynomial, domain: Any) -> None:  # noqa: ANN401 - a set
        super().__init__(of._terms)
        self.param_names, self.space = domain.param_names, Space(domain.space.out, POINT, domain.param_names)

    def __reduce__(self) -> tuple[object, ...]:
        """Copies are polynomials without places."""
        return QPolynomial, (self._terms,)

    def get_terms(self) -> list[Term]:
        """The terms; see `PlacedPolynomial`."""
        return [Term(self, dict(powers), c) for powers, c in self.terms]

    def foreach_term(self, f: Callable[[Term], object]) -> None:
        """Call a function with each term; see `PlacedPolynomial`."""
        need_function(f)
        for term in self.get_terms():
            f(term)

    def get_constant_val(self) -> Any:  # noqa: ANN401
        """The constant term, a fraction where it is no integer; see `PlacedPolynomial`."""
        return Val(next((c for powers, c in self.terms if not powers), 0))

    get_space = property(lambda self: lambda: self.space)
    dim, get_dim_name = by_kind.dim, by_kind.get_dim_name
    get_var_names, get_var_dict = by_kind.get_var_names, by_kind.get_var_dict


def placed_pieces(self: PwQPolynomial) -> list[tuple[Any, PlacedPolynomial]]:
    """The pairs of a set and what the polynomial is there."""
    return [(s, PlacedPolynomial(q, s)) for s, q in self.pieces]


def foreach_piece(self: PwQPolynomial, f: Callable[[Any, QPolynomial], object]) -> None:
    """Call a function with each set and what the polynomial is there."""
    need_function(f, "two arguments")
    for domain, value in placed_pieces(self):
        f(domain, value)


def every_piece(self: PwQPolynomial, f: Callable[[Any, QPolynomial], object]) -> bool:
    """Whether a function holds of each set and what the polynomial is there."""
    need_function(f, "two arguments")
    return all(f(domain, value) for domain, value in placed_pieces(self))


def space_of(self: PwQPolynomial) -> Space:
    """The one space of a polynomial: its dimensions are inputs.

    Raises
    ------
    SpaceMismatch : its pieces lie in several tuples, or there is none.
    """
    found: dict[tuple, Tuple] = {s.space.key: s.space.out for s, _ in self.pieces}
    if len(found) != 1:
        raise SpaceMismatch("the pieces lie in several tuples" if found else "0 everywhere is in no space",
                            where=str(self), hint='pick one with .only("name")' if found else "")  # fmt: skip
    return Space(next(iter(found.values())), POINT, self.param_names)


def in_space(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of spaces, asked of a polynomial."""

    def asked(self: PwQPolynomial, *args: Any) -> Any:  # noqa: ANN401
        if getattr(next(iter(args), None), "name", None) == "param":
            return method(Space(None, POINT, self.param_names), *args)  # of 0, too
        return method(space_of(self), *args)

    asked.__doc__ = method.__doc__
    return asked


def restricted(self: PwQPolynomial, domain: Any) -> PwQPolynomial:  # noqa: ANN401
    """What it is on a set, 0 elsewhere."""
    from ..values.set import Set

    if not isinstance(domain, Set):
        raise SpaceMismatch(f"a Set is needed, not {kind_of(domain)}", where=str(self))
    return self * PwQPolynomial(domain.param_names, [(domain, QPolynomial.of(1))])


def within(self: PwQPolynomial, context: Any, params: bool = False) -> PwQPolynomial:  # noqa: ANN401
    """The same values at the points of a set, those of parameters if `params`; the pieces in fewer conditions.

    Pieces that have no point there are gone, and polynomials are written with what equalities say there.
    """
    from ..values.set import Set

    if not isinstance(context, Set):
        raise SpaceMismatch(f"a Set is needed, not {kind_of(context)}", where=str(self))
    meet, gist = (Set.intersect_params, Set.gist_params) if params else (Set.intersect, Set.gist)
    here = [(where, q, meet(where, context)) for where, q in self.pieces]
    left = [(gist(where, context), simplified(q, both)) for where, q, both in here if not both.is_empty()]
    names = tuple(dict.fromkeys((*self.param_names, *(p for where, _ in left for p in where.param_names))))
    return PwQPolynomial(names, [(where.align_params(names), q) for where, q in left])


def evaluated(self: PwQPolynomial, point: Any) -> Any:  # noqa: ANN401
    """The value at a point, a tuple of numbers; parameters have the values that a `Point` knows."""
    params = getattr(point, "params", {})
    for name in self.param_names:
        if name not in params:
            raise Unbounded(f"{name} has no value", where=str(self), hint="f.eval_with_dict({...})")
    values = {name: params[name] for name in self.param_names}
    return self(**values, **dict(zip(space_of(self).source.dims, point))) if self.pieces else 0


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
    ("PwAff", "set_constant_val", set_constant_val),
    ("PwAff", "set_coefficient_val", set_coefficient_val),
    ("PwAff", "add_coefficient_val", add_coefficient_val),
    ("PwAff", "set_coefficients_by_name", set_coefficients_by_name),
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
    ("PwQPolynomial", "get_pieces", placed_pieces),
    ("PwQPolynomial", "foreach_piece", foreach_piece),
    ("PwQPolynomial", "every_piece", every_piece),
    ("PwQPolynomial", "space", property(space_of)),
    ("PwQPolynomial", "get_space", space_of),
    ("PwQPolynomial", "get_domain_space", lambda self: Space(None, space_of(self).source, self.param_names)),
    ("PwQPolynomial", "dim", in_space(by_kind.dim)),
    ("PwQPolynomial", "get_var_names get_var_names_not_none", in_space(by_kind.get_var_names)),
    ("PwQPolynomial", "get_var_dict", in_space(by_kind.get_var_dict)),
    ("PwQPolynomial", "intersect_domain", restricted),
    ("PwQPolynomial", "eval", evaluated),
    ("PwQPolynomial", "coalesce", itself),
    ("PwQPolynomial", "get_aggregate_domain", lambda self: self.domain()),
    ("PwQPolynomial", "pow", lambda self, exponent: self**exponent),
    ("PwQPolynomial", "gist", within),
    ("PwQPolynomial", "gist_params", lambda self, context: within(self, context, True)),
    ("PwQPolynomial", "add_disjoint", lambda self, other: self + other),
    ("Constraint", "get_space", constraint_space),
    *(("Constraint", names, lambda self, *args, f=f: f(constraint_space(self), *args)) for names, f in (
        ("get_dim_name", by_kind.get_dim_name), ("get_var_dict", by_kind.get_var_dict),
        ("get_var_names get_var_names_not_none", by_kind.get_var_names),
    )),
    ("Constraint", "involves_dims", lambda self, kind, first, n: bool(
        self.expr.names() & {*kinds.spread(constraint_space(self), kind, first, n)})),
)  # fmt: skip
"""Classes, isl's names, and the method; those that make a function are of the class."""
