"""What isl reads from an expression beside the coefficients of its dimensions: the floors in it, its divs, each a
quotient of a function, and the bound that a constraint is of a dimension.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import TYPE_CHECKING, Any

from ...errors import NotSupported, UnknownName
from ...values import kinds
from ...values.aff import Aff, Floor, linear
from ...values.space import Space, whole
from ..dimensions import by_kind
from ..objects.values import Val
from .methods import expression, is_one_expression, scale_down_val

if TYPE_CHECKING:
    from ...functions.multi_pwaff import MultiPwAff
    from ...functions.pwaff import PwAff


@dataclass(frozen=True, slots=True)
class Quotient:
    """A function of one expression divided by a number, before it is rounded: an `Aff` of isl's with a denominator.

    Parameters
    ----------
    num : the function, a single expression on all of its space.
    den : what it is divided by, at least 1.

    >>> from polyvolta.sets import PwAff
    >>> [(_, f)] = PwAff("[n] -> { [i, j] -> [n + 2 * floor((i - 2 * j + 1)/3)] }").get_pieces()
    >>> q = f.get_div(0)
    >>> print(q, q.floor(), f.get_coefficient_val(kinds.dim_type.div, 0))
    [n] -> { [i, j] -> [(i - 2*j + 1)/3] } [n] -> { [i, j] -> [(floor((i - 2*j + 1)/3))] } 2
    >>> q.get_constant_val(), q.get_coefficient_val(kinds.dim_type.in_, 1), q.get_denominator_val()
    (Val("1/3"), Val("-2/3"), 3)
    """

    num: PwAff
    den: int

    @property
    def space(self) -> Space:
        """That of the function."""
        return self.num.space

    @property
    def param_names(self) -> tuple[str, ...]:
        """Those of the function."""
        return self.num.param_names

    def __str__(self) -> str:
        text, expr = str(self.num), str(_expression(self.num))
        return text.replace(f"[({expr})]", f"[({expr})/{self.den}]")

    to_str = __str__

    def get_denominator_val(self) -> Val:
        """What the function is divided by."""
        return Val(self.den)

    def get_constant_val(self) -> Any:  # noqa: ANN401
        """The constant term, a fraction where it is no integer."""
        return Val(Fraction(_expression(self.num).const, self.den))

    def get_coefficient_val(self, kind: Any, pos: int) -> Any:  # noqa: ANN401
        """The coefficient of a dimension, or of a floor, a fraction where it is no integer."""
        return Val(Fraction(coefficient(self.num, kind, pos), self.den))

    def is_cst(self) -> bool:
        """Whether it is a number."""
        return _expression(self.num).is_constant

    def get_div(self, pos: int) -> Quotient:
        """What stands under one of its floors."""
        return div(self.num, pos)

    def dim(self, kind: Any) -> int:  # noqa: ANN401
        """The number of dimensions of a kind, or of floors."""
        return number_of(self.num, kind)

    def get_dim_name(self, kind: Any, pos: int) -> str:  # noqa: ANN401
        """The name of a dimension."""
        return by_kind.get_dim_name(self.num, kind, pos)

    def get_space(self) -> Space:
        """The space of the function, which knows the parameters."""
        return Space(self.space.inp, self.space.out, self.param_names)

    def get_domain_space(self) -> Space:
        """The space of what the function is of."""
        return Space(None, self.space.source, self.param_names)

    def floor(self) -> PwAff:
        """The greatest integer that is not above it."""
        return self.num // self.den

    def ceil(self) -> PwAff:
        """The least integer that is not below it."""
        return self.num.ceildiv(self.den)

    def neg(self) -> Quotient:
        """The opposite."""
        return Quotient(-self.num, self.den)

    def scale_val(self, factor: int) -> PwAff | Quotient:
        """It times an integer: a function where the denominator is gone."""
        return reduced(self.num * factor, self.den)


@dataclass(frozen=True, slots=True)
class MultiQuotient:
    """Functions of one expression each, divided by numbers: a `MultiAff` of isl's with denominators.

    Parameters
    ----------
    nums : the functions.
    dens : what each is divided by, at least 1.

    >>> from polyvolta.sets import MultiPwAff
    >>> q = MultiQuotient(MultiPwAff("[N] -> { A[N + 1, 2] }"), (2, 1))
    >>> print(q, q.get_aff(0), q.get_aff(1), q.get_at(0).get_constant_val())
    [N] -> { A[(N + 1)/2, (2)] } [N] -> { [(N + 1)/2] } [N] -> { [(2)] } 1/2
    """

    nums: MultiPwAff
    dens: tuple[int, ...]

    @property
    def space(self) -> Space:
        """That of the functions."""
        return self.nums.space

    def __len__(self) -> int:
        return len(self.dens)

    def __str__(self) -> str:
        text = str(self.nums)
        values = [f"({_expression(self.nums[k])})" for k in range(len(self.dens))]
        quotients = [v if den == 1 else f"{v}/{den}" for v, den in zip(values, self.dens, strict=True)]
        return text.replace(f"[{', '.join(values)}]", f"[{', '.join(quotients)}]")

    to_str = __str__

    def size(self) -> int:
        """How many functions there are."""
        return len(self.dens)

    def dim(self, kind: Any) -> int:  # noqa: ANN401
        """The number of dimensions of a kind."""
        return by_kind.dim(self.nums, kind)

    def get_aff(self, pos: int) -> PwAff | Quotient:
        """One of the functions, a quotient where its values are fractions."""
        return reduced(self.nums[pos], self.dens[pos])

    get_at = get_aff


def reduced(num: PwAff, den: int) -> PwAff | Quotient:
    """A function of one expression by a number: a function where this divides all coefficients."""
    expr = _expression(num)
    factor = gcd(den, expr.const, *(c for _, c in expr.terms))
    smaller = num._lifted(linear({a: c // factor for a, c in expr.terms}, expr.const // factor))
    return smaller if factor == den else Quotient(smaller, den // factor)


def _expression(self: Any) -> Aff:  # noqa: ANN401
    return self.expr if hasattr(self, "expr") else expression(self)


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
    return self.get_space() if hasattr(self, "expr") else self


def _floor(self: Any, pos: int) -> Floor:  # noqa: ANN401
    found = floors(_expression(self))
    if whole(pos) is None or not 0 <= pos < len(found):
        raise UnknownName(f"there is no floor at position {pos}", where=str(self), hint=f"there are {len(found)}")
    return found[pos]


def div(self: Any, pos: int) -> Quotient:  # noqa: ANN401
    """What stands under a floor of a function of one expression or of a constraint, before it is rounded."""
    found = _floor(self, pos)
    return Quotient(_function(self, found.num), found.den)


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


def get_bound(self: Any, kind: Any, pos: int) -> PwAff | Quotient:  # noqa: ANN401
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


def scaled_down(self: PwAff, den: int) -> PwAff | Quotient:
    """A function divided by a number: a quotient, to be rounded, where it is one expression of fractions.

    Raises
    ------
    NotAffine : it has cases, and some value would be a fraction.
    """
    if is_one_expression(self) and (number := whole(den)) is not None and number > 0:
        return reduced(self, number)
    return scale_down_val(self, den)


METHODS = (
    ("PwAff", "scale_down_val", scaled_down),
    ("PwAff Constraint", "dim", number_of),
    ("PwAff Constraint", "get_coefficient_val", coefficient),
    ("PwAff Constraint", "get_div", div),
    ("Constraint", "get_aff", get_aff),
    ("Constraint", "get_bound", get_bound),
)
"""Classes, isl's names, and the method."""
