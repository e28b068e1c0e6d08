"""isl's numbers that are no integers: fractions, the two infinities, and NaN.

`Val("1/2")` is one, and what bounds of a set are where it has none. Each is a numerator and a denominator without a
common factor; a denominator of 0 makes an infinity by the sign of the numerator, or NaN. None is an `int` of Python's,
so that none stands for one by accident: where an integer is needed they are refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from numbers import Rational
from operator import index
from typing import Any

from ...errors import NotAffine, kind_of
from ...values.named import ByValue
from .lists import ListOf, dump


class NumberType(ByValue):
    """The type of `Val`, of which numbers that are no integers are instances, too."""

    @property
    def _home(cls) -> type:  # type: ignore[override]
        return cls

    def __instancecheck__(cls, value: object) -> bool:
        return type.__instancecheck__(cls, value) or (type(value) is Number and cls.__name__ == "Val")

    def __subclasscheck__(cls, other: type) -> bool:
        return type.__subclasscheck__(cls, other) or (other is Number and cls.__name__ == "Val")


class Number:
    """A number that is no integer, with the methods of isl's; see `Val`, which makes one of a text.

    >>> from polyvolta.sets import Val
    >>> half, infty = Val("1/2"), Val.infty()
    >>> half + 1, half * 2, half.floor(), infty - 1, infty - infty, Val(7).div(0), half < 1 < infty
    (Val("3/2"), 1, 0, Val("infty"), Val("NaN"), Val("NaN"), True)
    >>> isinstance(half, Val), half.is_int(), infty.is_rat()
    (True, False, False)
    """

    __slots__ = ("den", "num")
    _takes_over = ("PwAff",)  # a sum of a function and a fraction has fractions

    def __init__(self, num: int, den: int) -> None:
        self.num, self.den = num, den

    @staticmethod
    def _taking(f: Any) -> Any:  # noqa: ANN401
        """A function that an operation is of beside this number."""
        from ...functions.rational import lifted

        return lifted(f)

    def __reduce__(self) -> tuple[object, ...]:
        return made, (self.num, self.den)

    def __str__(self) -> str:
        if self.den:
            return f"{self.num}/{self.den}"
        return {1: "infty", -1: "-infty", 0: "NaN"}[self.num]

    def __repr__(self) -> str:
        return f'Val("{self}")'

    def __hash__(self) -> int:
        return hash(Fraction(self.num, self.den)) if self.den else hash((self.num, "infty"))

    def __bool__(self) -> bool:
        return True

    def to_python(self) -> int:
        """Python's number: there is none.

        Raises
        ------
        NotAffine : always, a `ValueError`.
        """
        raise NotAffine(f"{self} is no integer", hint="v.is_int() asks for that")

    def get_num_si(self) -> int:
        """The numerator.

        Raises
        ------
        NotAffine : it is infinite or NaN.
        """
        if not self.den:
            raise NotAffine(f"{self} is no fraction", hint="v.is_rat() asks for that")
        return self.num

    def get_den_si(self) -> int:
        """The denominator; see `get_num_si`."""
        self.get_num_si()
        return self.den

    def get_den_val(self) -> Any:  # noqa: ANN401
        """The denominator; see `get_num_si`."""
        return made(self.get_den_si(), 1)

    def sgn(self) -> int:
        """-1, 0 or 1 by the sign; of NaN isl says -1."""
        return -1 if self.is_nan() else (self.num > 0) - (self.num < 0)

    def is_int(self) -> bool:
        """Whether it is an integer: never; so with 0, 1 and -1."""
        return False

    is_zero = is_one = is_negone = is_int

    def is_rat(self) -> bool:
        """Whether it is a fraction."""
        return self.den != 0

    def is_nan(self) -> bool:
        """Whether it is no number."""
        return not self.den and not self.num

    def is_infty(self) -> bool:
        """Whether it is greater than all others."""
        return not self.den and self.num == 1

    def is_neginfty(self) -> bool:
        """Whether it is less than all others."""
        return not self.den and self.num == -1

    def is_pos(self) -> bool:
        """Whether it is greater than 0."""
        return self.num > 0

    def is_neg(self) -> bool:
        """Whether it is less than 0."""
        return self.num < 0

    is_nonneg, is_nonpos = is_pos, is_neg

    def get_ctx(self) -> Any:  # noqa: ANN401
        """isl's context, which means nothing here."""
        from .values import DEFAULT_CONTEXT

        return DEFAULT_CONTEXT

    def copy(self) -> Number:
        """The number itself."""
        return self

    to_str = __str__


def pair(value: object) -> tuple[int, int] | None:
    """The numerator and the denominator of a number; None of what is none.

    >>> pair(3), pair(Fraction(6, 4)), pair("3")
    ((3, 1), (3, 2), None)
    """
    from ...values.space import whole

    if isinstance(value, Number):
        return value.num, value.den
    if isinstance(value, Rational) and not isinstance(value, bool):
        return int(value.numerator), int(value.denominator)
    number = whole(value)
    return None if number is None else (number, 1)


def made(num: int, den: int) -> Any:  # noqa: ANN401
    """The number of a numerator and a denominator: an integer where it is one.

    >>> made(6, 4), made(6, -2), made(-5, 0), made(0, 0)
    (Val("3/2"), -3, Val("-infty"), Val("NaN"))
    """
    from .values import Val

    factor = math.gcd(num, den) * (-1 if den < 0 else 1)
    if factor:
        num, den = num // factor, den // factor
    return Val(num) if den == 1 else Number(num, den)


_WRITTEN = re.compile(
    r"\s*(?P<sign>[+-]?)\s*(?:(?P<num>\d+)(?:\s*/\s*(?P<den>\d+))?|infty|infinity|(?P<nan>nan))\s*", re.IGNORECASE
)


def read(text: str) -> Any:  # noqa: ANN401
    """The number that a text says; None where it says none.

    >>> [read(t) for t in ("17", "-6/4", "infty", "-infty", "NaN", "1/0", "x")]
    [17, Val("-3/2"), Val("infty"), Val("-infty"), Val("NaN"), Val("infty"), None]
    """
    found = _WRITTEN.fullmatch(text)
    if found is None:
        return None
    sign = -1 if found["sign"] == "-" else 1
    return made(sign * int(found["num"] or not found["nan"]), int(found["den"] or 1) if found["num"] else 0)


# ---- arithmetic of pairs

Pair = tuple[int, int]


def add(a: Pair, b: Pair) -> Pair:
    """The sum; of two infinities that differ, NaN."""
    if a[1] and b[1]:
        return a[0] * b[1] + b[0] * a[1], a[1] * b[1]
    endless = [x for x in (a, b) if not x[1]]
    return endless[0] if all(x == endless[0] for x in endless) else (0, 0)


def mul(a: Pair, b: Pair) -> Pair:
    """The product; of an infinity and 0, NaN."""
    return a[0] * b[0], a[1] * b[1]


def div(a: Pair, b: Pair) -> Pair:
    """The quotient; by 0, and of two infinities, NaN."""
    if not b[0] or not (a[1] or b[1]):
        return 0, 0
    sign = 1 if b[0] > 0 else -1
    return (0, 1) if not b[1] else (a[0] * b[1] * sign, a[1] * b[0] * sign)


def order(a: Pair, b: Pair) -> int | None:
    """-1, 0 or 1 as a number is less, equal or greater; None beside NaN."""
    if (0, 0) in (a, b):
        return None
    if a[1] and b[1]:
        x, y = a[0] * b[1], b[0] * a[1]
    else:  # all that is finite lies between the infinities, -1 and 1
        x, y = (0 if a[1] else a[0]), (0 if b[1] else b[0])
    return (x > y) - (x < y)


def extreme(sign: int) -> Callable[[Pair, Pair], Pair]:
    """The function that gives the greater, or the less, of two numbers; beside NaN that."""

    def of(a: Pair, b: Pair) -> Pair:
        way = order(a, b)
        return (0, 0) if way is None else a if way * sign >= 0 else b

    return of


def rounded(how: Callable[[Fraction], int]) -> Callable[[Pair], Pair]:
    """The function that rounds; infinities and NaN stay."""
    return lambda a: (how(Fraction(*a)), 1) if a[1] else a


def integral(name: str) -> Callable[..., Any]:
    """A method that wants two integers, of which one is none."""

    def method(self: Any, *others: Any) -> Any:  # noqa: ANN401
        wrong = next(v for v in (self, *others) if isinstance(v, Number))
        raise NotAffine(f"{name} is of two integers, not of {wrong}", hint="v.is_int() asks for that")

    return method


def computed(f: Callable[..., Pair], dunder: bool = False) -> Callable[..., Any]:
    """A method of numbers that computes a number; an operator where Python wants to know what it can't do."""

    def method(self: Any, *others: Any) -> Any:  # noqa: ANN401
        pairs = [pair(x) for x in others]
        if None in pairs:
            if dunder:
                return NotImplemented
            raise NotAffine(f"a number is needed, not {kind_of(others[0])}")
        return made(*f(pair(self), *pairs))

    return method


def asked(f: Callable[[int | None], bool], dunder: bool = False) -> Callable[..., Any]:
    """A method that compares two numbers."""

    def method(self: Any, other: Any) -> Any:  # noqa: ANN401
        that = pair(other)
        if that is None:
            if dunder:
                return NotImplemented
            raise NotAffine(f"a number is needed, not {kind_of(other)}")
        return f(order(pair(self), that))  # type: ignore[arg-type]

    return method


COMPUTED: dict[str, Callable[..., Pair]] = {
    "add": add, "sub": lambda a, b: add(a, (-b[0], b[1])), "mul": mul, "div": div, "add_ui": add,
    "sub_ui": lambda a, b: add(a, (-b[0], b[1])), "mul_ui": mul, "div_ui": div,
    "max": extreme(1), "min": extreme(-1), "neg": lambda a: (-a[0], a[1]), "abs": lambda a: (abs(a[0]), a[1]),
    "inv": lambda a: div((1, 1), a), "floor": rounded(math.floor), "ceil": rounded(math.ceil),
    "trunc": rounded(math.trunc),
}  # fmt: skip
"""What isl calls so, of numerators and denominators; see `Number`."""

COMPARED: dict[str, Callable[[int | None], bool]] = {
    "eq": lambda way: way == 0, "ne": lambda way: way is not None and way != 0, "lt": lambda way: way == -1,
    "le": lambda way: way in (-1, 0), "gt": lambda way: way == 1, "ge": lambda way: way in (0, 1),
}  # fmt: skip
"""What isl's comparisons say of the order of two numbers; beside NaN all say no."""


def compared_to(self: Any, other: int) -> int:  # noqa: ANN401
    """-1, 0 or 1 as the number is less than an integer, equal or greater; see `Val`."""
    return order(pair(self), (other, 1)) or 0  # type: ignore[arg-type]


def equal_size(self: Any, other: Any) -> bool:  # noqa: ANN401
    """Whether both are the same but for their signs; see `Val`."""
    return self.eq(other) or self.neg().eq(other)


def power_of_two(self: Any) -> Any:  # noqa: ANN401
    """2 to this power, a fraction where it is less than 0; see `Val`."""
    number = self.to_python()
    return made(2**number, 1) if number >= 0 else made(1, 2**-number)


def as_float(self: Any) -> float:  # noqa: ANN401
    """Python's nearest number with a point; see `Val`."""
    num, den = pair(self)  # type: ignore[misc]
    return num / den if den else math.copysign(math.inf, num) if num else math.nan


BOTH: dict[str, Callable[..., Any]] = {
    **{name: computed(f) for name, f in COMPUTED.items()},
    **{name: asked(f) for name, f in COMPARED.items()},
    "set_si": lambda self, number: made(index(number), 1), "to_list": lambda self: ListOf([self]),
    "dump": lambda self: dump(self), "cmp_si": compared_to, "abs_eq": equal_size,
    "two_exp": power_of_two, "pow2": power_of_two, "get_d": as_float,
}  # fmt: skip
"""The methods of all numbers, of integers, too."""

for _name, _f in BOTH.items():
    if not _f.__doc__:
        _f.__name__, _f.__qualname__, _f.__doc__ = _name, f"Val.{_name}", f"{_name} of numbers; see `Val`."
    setattr(Number, _name, _f)
for _name in ("mod", "gcd", "gcdext", "is_divisible_by", "__mod__", "__rmod__"):
    setattr(Number, _name, integral(_name.strip("_").removeprefix("r")))
for _name in ("add", "sub", "mul"):
    setattr(Number, f"__{_name}__", computed(COMPUTED[_name], dunder=True))
    setattr(Number, f"__r{_name}__", computed(lambda a, b, f=COMPUTED[_name]: f(b, a), dunder=True))
for _name, _says in COMPARED.items():
    setattr(Number, f"__{_name}__", asked(_says, dunder=True))
Number.__neg__, Number.__abs__ = Number.neg, Number.abs  # type: ignore[attr-defined]
