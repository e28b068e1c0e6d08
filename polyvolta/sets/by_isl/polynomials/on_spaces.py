"""isl's methods of polynomials on a space: what makes one, what is asked of it, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from ...counting.quasipoly import QPolynomial, number_of
from ...errors import NotAffine, SpaceMismatch, UnknownName, kind_of
from ...functions.rational import RationalPwAff
from ...values import kinds
from ...values.aff import linear, var
from ...values.space import Space, Tuple, fresh
from ..dimensions import by_kind as dimensions
from ..functions.quotients import reduced
from ..objects.lists import ListOf
from ..objects.spaces import get_var_ids
from ..objects.values import Id, Val
from ..relations import dump, itself
from .placed import PlacedPolynomial, Term, as_polynomial_on_domain, dim, everywhere, through, whole_of
from .spaces import IN, of_kind

# ---- what makes one


def on_space(space: Any, value: Any) -> PlacedPolynomial:  # noqa: ANN401
    """The polynomial on a set's space that is a number, or an expression."""
    from ...values.set import Set

    if isinstance(space, Set):
        space = Space(None, space.space.out, space.param_names)
    if not isinstance(space, Space) or space.inp is not None:
        raise SpaceMismatch(f"the Space of a set is needed, not {kind_of(space)}", where=str(space), hint="s.space")
    return PlacedPolynomial(QPolynomial.of(value), space)


def var_on_domain(space: Any, kind: Any, pos: int) -> PlacedPolynomial:  # noqa: ANN401
    """The polynomial on a space that is a dimension, or a parameter."""
    return on_space(space, var(kinds.spread(space, kind, pos)[0]))


def constant(value: Any) -> Callable[[Any], PlacedPolynomial]:  # noqa: ANN401
    """A function that makes the polynomial on a space that is a number."""

    def method(space: Any) -> PlacedPolynomial:  # noqa: ANN401
        return on_space(space, value)

    method.__doc__ = f"The polynomial on a space that is {value}."
    return method


def from_aff(f: Any) -> PlacedPolynomial:  # noqa: ANN401
    """The polynomial that a function is, which is one expression everywhere, or a quotient of one."""
    from ...functions.piecewise import check_function
    from ..functions.methods import expression

    num, den = (f.num, f.den) if isinstance(f, RationalPwAff) else (f, 1)
    check_function(num, "QPolynomial.from_aff")
    value = QPolynomial.of(expression(num)) * Fraction(1, den)
    return PlacedPolynomial(value, Space(None, num.space.source, num.param_names))


def from_constraint(c: Any, kind: Any, pos: int) -> PlacedPolynomial:  # noqa: ANN401
    """What a dimension is where a constraint is an equality, in terms of the other dimensions.

    Raises
    ------
    UnknownName : the dimension is not in the constraint.
    """
    space = c.get_space()
    name = kinds.spread(space, kind, pos)[0]
    times = c.expr.coefficient(name)
    if not times:
        raise UnknownName(f"{name} is not in the constraint", where=str(c))
    value = QPolynomial.of(c.expr - times * var(name)) * Fraction(-1, times)
    return PlacedPolynomial(value, space)


def from_term(term: Any) -> PlacedPolynomial:  # noqa: ANN401
    """The polynomial of one term."""
    if not isinstance(term, Term):
        raise SpaceMismatch(f"a Term is needed, not {kind_of(term)}", where=str(term))
    return term.of._like(QPolynomial({frozenset(term.powers.items()): term.coefficient}))


# ---- questions, and values


def evaluated(self: PlacedPolynomial, point: Any) -> Any:  # noqa: ANN401
    """The value at a point of its space, a tuple of numbers, of a polynomial without parameters."""
    return whole_of(self).eval(point)  # type: ignore[attr-defined]


def asked(name: str) -> Callable[[PlacedPolynomial], bool]:
    """A method that asks whether it is a number that isl's numbers are asked about by the same name."""

    def method(self: PlacedPolynomial) -> bool:
        found = number_of(self)
        return found is not None and bool(getattr(Val(found), name)())

    method.__doc__ = f"Whether it is a number of which `{name}` holds."
    return method


def sgn(self: PlacedPolynomial) -> int:
    """The sign of the number that it is; 0 where it has names."""
    found = number_of(self)
    return 0 if found is None or Val(found).is_nan() else Val(found).sgn()


def isa_aff(self: QPolynomial) -> bool:
    """Whether it is an expression with rational coefficients."""
    return all(sum(e for _, e in m) <= 1 for m in self._terms)


def as_aff(self: PlacedPolynomial) -> Any:  # noqa: ANN401
    """The function that it is, or the quotient of one where its coefficients are fractions.

    Raises
    ------
    NotAffine : it is no expression, or no number.
    """
    from ...functions.pwaff import PwAff

    found = number_of(self)
    if not isa_aff(self) or not (found is None or Val(found).is_rat()):
        raise NotAffine("the polynomial is no expression", where=str(self), hint="q.isa_aff() asks for that")
    den = 1
    for c in self._terms.values():
        den *= (c * den).denominator
    const = self._terms.get(frozenset(), 0) * den
    expr = linear({next(iter(m))[0]: int(c * den) for m, c in self._terms.items() if m}, int(const))
    f = PwAff.on(everywhere(self), expr)
    return f if den == 1 else reduced(f, den)


def involves_dims(self: PlacedPolynomial, kind: Any, first: int, n: int) -> bool:  # noqa: ANN401
    """Whether some dimensions of a kind, parameters or inputs, are in it."""
    return not self.names().isdisjoint(kinds.spread(self, of_kind(self, kind), first, n))


def homogenized(self: PlacedPolynomial) -> PlacedPolynomial:
    """With a new first dimension, whose powers make the terms of one degree in the dimensions; floors have none."""
    home = self.space.source
    name = fresh("i0", {*home.dims, *self.param_names})

    def degree(m: frozenset) -> int:
        return sum(e for a, e in m if a in home.dims)

    most = max(map(degree, self._terms), default=0)
    terms: Any = {m | ({(name, most - degree(m))} if most > degree(m) else set()): c for m, c in self._terms.items()}
    return PlacedPolynomial(QPolynomial(terms), Space(None, Tuple(None, (name, *home.dims)), self.param_names))


def aligned(self: PlacedPolynomial, model: Any) -> PlacedPolynomial:  # noqa: ANN401
    """With the parameters of a space, or of what has some, in front of its own."""
    return PlacedPolynomial(self, everywhere(self).align_params(model))


def rational(number: Any) -> Any:  # noqa: ANN401
    """A number of Python's or isl's that is rational.

    Raises
    ------
    NotAffine : it is none.
    """
    if getattr(number, "den", 1) == 0 or isinstance(number, bool):
        raise NotAffine("a polynomial or a number is needed, not an infinity or NaN", where=str(number))
    return QPolynomial.of(number)


def scaled(self: Any, factor: Any) -> Any:  # noqa: ANN401
    """It, a polynomial on a space or by pieces, times a number; see `rational`."""
    return self * rational(factor)


def scaled_down(self: Any, den: Any) -> Any:  # noqa: ANN401
    """It, a polynomial on a space or by pieces, divided by a number.

    Raises
    ------
    NotAffine : it is no rational number, or 0.
    """
    number = rational(den)
    if not number:
        raise NotAffine("a number other than 0 divides a polynomial, not 0", where=str(self))
    return self * (Fraction(1) / number._terms[frozenset()])


def get_var_dict(self: Any, kind: Any = None) -> dict[str, tuple[Any, int]]:  # noqa: ANN401
    """For each name of a parameter or an input the kind and the position; of one kind if it is given."""
    wanted = [kinds.dim_type.param, IN] if kind is None else [kind]
    return {n: (kinds.dim_type[k.name], at) for k in wanted for at, n in enumerate(kinds.of_kind(self, k))}


def get_id_dict(self: Any, kind: Any = None) -> dict[Id, tuple[Any, int]]:  # noqa: ANN401
    """`get_var_dict` by identifiers."""
    return {Id(name): at for name, at in get_var_dict(self, kind).items()}


def plain_is_equal(self: PlacedPolynomial, other: PlacedPolynomial) -> bool:
    """Whether both have the same terms in the same space."""
    return self.home == other.home and self.param_names == other.param_names and self == self._here(other)


def _each(names: tuple[str, ...]) -> Iterator[tuple[str, str, Any]]:
    yield from (("PlacedPolynomial", name, through(name)) for name in names)


METHODS: tuple[tuple[str, str, Any], ...] = (
    ("PlacedPolynomial", "copy", itself),
    ("PlacedPolynomial", "get_ctx", lambda self: Val(0).get_ctx()),
    ("PlacedPolynomial", "plain_is_equal", plain_is_equal),
    ("PlacedPolynomial", "add", lambda self, other: self + other),
    ("PlacedPolynomial", "sub", lambda self, other: self - other),
    ("PlacedPolynomial", "mul", lambda self, other: self * other),
    ("PlacedPolynomial", "neg", lambda self: -self),
    ("PlacedPolynomial", "pow", lambda self, exponent: self**exponent),
    ("PlacedPolynomial PwQPolynomial", "scale_val", scaled),
    ("PlacedPolynomial PwQPolynomial", "scale_down_val", scaled_down),
    ("PlacedPolynomial", "get_space", lambda self: self.space),
    ("PlacedPolynomial", "get_domain_space", lambda self: self.home),
    ("PlacedPolynomial", "dim", dim),
    ("PlacedPolynomial", "get_var_names get_var_names_not_none", dimensions.get_var_names),
    ("PlacedPolynomial", "get_var_dict", get_var_dict),
    ("PlacedPolynomial", "get_var_ids", get_var_ids),
    ("PlacedPolynomial", "get_id_dict", get_id_dict),
    ("PlacedPolynomial", "to_list", lambda self: ListOf([self])),
    ("PlacedPolynomial QPolynomialFold PwQPolynomialFold", "dump", dump),
    ("PlacedPolynomial", "zero_on_domain", constant(0)),
    ("PlacedPolynomial", "one_on_domain", constant(1)),
    ("PlacedPolynomial", "infty_on_domain", constant(Val.infty())),
    ("PlacedPolynomial", "neginfty_on_domain", constant(Val.neginfty())),
    ("PlacedPolynomial", "nan_on_domain", constant(Val.nan())),
    ("PlacedPolynomial", "val_on_domain", on_space),
    ("PlacedPolynomial", "var_on_domain", var_on_domain),
    ("PlacedPolynomial", "from_aff", from_aff),
    ("PlacedPolynomial", "from_constraint", from_constraint),
    ("PlacedPolynomial", "from_term", from_term),
    *(("PlacedPolynomial", name, asked(name)) for name in ("is_zero", "is_infty", "is_neginfty", "is_nan")),
    ("PlacedPolynomial", "sgn", sgn),
    ("PlacedPolynomial", "isa_aff", isa_aff),
    ("PlacedPolynomial", "as_aff", as_aff),
    ("PlacedPolynomial", "eval", evaluated),
    ("PlacedPolynomial", "involves_dims", involves_dims),
    ("PlacedPolynomial", "as_polynomial_on_domain", as_polynomial_on_domain),
    ("PlacedPolynomial", "homogenize", homogenized),
    ("PlacedPolynomial", "align_params", aligned),
    *_each(("add_dims", "insert_dims", "move_dims", "drop_dims", "set_dim_name", "domain_reverse", "gist",
            "gist_params", "project_domain_on_params")),
)  # fmt: skip
"""Classes, isl's names, and the method; those that make a polynomial are of the class."""
