"""Python's and numpy's operators, for everything that stands for values that are not there yet.

Expressions of whole tensors and the elements that a user's function is traced with (`trace`) have the same
operators: each becomes a pointwise function by name. What has no meaning for either - a truth value, an index, a
loop over elements, a conversion to a number - says so, and what to write instead.

Numpy's own functions work, too, as far as they are pointwise: `np.maximum(x, 0)` asks `x` what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeVar

from polyvolta.graph.errors import BadFunction, BadOperand
from polyvolta.graph.functions.table import FUNCTIONS
from polyvolta.sets.errors import nearest

if TYPE_CHECKING:
    import numpy as np

    Number = float | Real | np.integer[Any] | np.floating[Any]
    """What counts as a number beside the operators: of Python, of numpy; sympy's are such, too (`is_number`)."""

E = TypeVar("E", bound="Operators[Any]")
"""What operations on it make: expressions of expressions, elements of elements."""

_OURS = """sub mul div neg abs pow rsqrt erf where relu leaky_relu elu sigmoid silu softplus
gelu gelu_tanh""".split()
UFUNCS = {
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "true_divide": "div",
    "negative": "neg",
    "absolute": "abs",
    "fabs": "abs",
    "power": "pow",
    **{name: name for name in FUNCTIONS if name not in _OURS},
}
"""The numpy functions that are pointwise functions of a graph, by numpy's names."""

REDUCTIONS = """sum prod mean std var max min amax amin argmax argmin any all cumsum cumprod dot median sort linalg
nansum nanmax nanmin trace einsum tensordot inner vdot average ptp count_nonzero norm""".split()
INSTEAD = {
    "mod": "a % b is a - b * pv.floor(a / b), in fp32",
    "floor_divide": "a // b is pv.floor(a / b)",
    "isnan": "pv.not_equal(x, x) is 1 where x is NaN",
    "isinf": "pv.equal(abs(x), np.inf) is 1 where x is infinite",
    "isfinite": "abs(x) < np.inf is 1 where x is finite",
    "tan": "pv.sin(x) / pv.cos(x)",
    "log10": "pv.log(x) / math.log(10)",
    "reciprocal": "1 / x",
    "round": "pv.rint(x) gives the nearest whole number",
    "trunc": "pv.where(x < 0, pv.ceil(x), pv.floor(x))",
    "fmax": "pv.maximum(a, b), which differs for NaN",
    "fmin": "pv.minimum(a, b), which differs for NaN",
    "hypot": "pv.sqrt(a * a + b * b)",
    "bitwise_and": "& and | combine conditions; there are no bits",
}
INSTEAD |= {"remainder": INSTEAD["mod"], "fmod": "a - b * trunc(a / b), with pv.floor and pv.ceil for trunc",
            "around": INSTEAD["round"], "bitwise_or": INSTEAD["bitwise_and"]}  # fmt: skip
"""For functions that kernels don't have: what to write in their place."""

MOST_FACTORS = 8  # x**n is a product up to this n, a call of pow above


class Operators(Generic[E]):
    """The operators; a subclass says in `_apply` what a pointwise function of it is."""

    __slots__ = ()

    def _apply(self, function: str, operands: tuple[object, ...]) -> E:
        raise NotImplementedError

    def __add__(self, other: Operators[E] | Number) -> E:
        return self._apply("add", (self, other))

    def __radd__(self, other: Number) -> E:
        return self._apply("add", (other, self))

    def __sub__(self, other: Operators[E] | Number) -> E:
        return self._apply("sub", (self, other))

    def __rsub__(self, other: Number) -> E:
        return self._apply("sub", (other, self))

    def __mul__(self, other: Operators[E] | Number) -> E:
        return self._apply("mul", (self, other))

    def __rmul__(self, other: Number) -> E:
        return self._apply("mul", (other, self))

    def __truediv__(self, other: Operators[E] | Number) -> E:
        return self._apply("div", (self, other))

    def __rtruediv__(self, other: Number) -> E:
        return self._apply("div", (other, self))

    def __pow__(self, other: Operators[E] | Number) -> E:
        return power(self, other)

    def __rpow__(self, other: Number) -> E:
        return self._apply("pow", (other, self))

    def __neg__(self) -> E:
        return self._apply("neg", (self,))

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> E:
        return self._apply("abs", (self,))

    def __lt__(self, other: Operators[E] | Number) -> E:
        return self._apply("less", (self, other))

    def __le__(self, other: Operators[E] | Number) -> E:
        return self._apply("less_equal", (self, other))

    def __gt__(self, other: Operators[E] | Number) -> E:
        return self._apply("greater", (self, other))

    def __ge__(self, other: Operators[E] | Number) -> E:
        return self._apply("greater_equal", (self, other))

    def __and__(self, other: Operators[E]) -> E:
        return self._logical("logical_and", self, other)

    def __rand__(self, other: Operators[E]) -> E:
        return self._logical("logical_and", other, self)

    def __or__(self, other: Operators[E]) -> E:
        return self._logical("logical_or", self, other)

    def __ror__(self, other: Operators[E]) -> E:
        return self._logical("logical_or", other, self)

    def __invert__(self) -> E:
        return self._apply("logical_not", (self,))

    def __round__(self, digits: None = None) -> E:
        if digits is not None:
            self._no(f"rounding to {digits} digits", "pv.rint(x * 100) / 100 rounds to two")
        return self._apply("rint", (self,))

    def __floor__(self) -> E:
        return self._apply("floor", (self,))

    def __ceil__(self) -> E:
        return self._apply("ceil", (self,))

    # ---- what has no meaning

    def _logical(self, function: str, *operands: object) -> E:
        """& and | of conditions; of numbers they would be taken for operations on bits."""
        if numbers := [x for x in operands if is_number(x)]:
            self._no(
                f"bits, for {'&' if function == 'logical_and' else '|'} with the number {numbers[0]}",
                "& and | combine conditions, each in parentheses: (x > 0) & (x < 1)",
            )
        return self._apply(function, operands)

    def __matmul__(self, other: Any) -> Any:
        self._no("product @: it is a single number", "multiply matrices in the graph, and numbers with *")

    __rmatmul__ = __matmul__

    def _no_transpose(self) -> NoReturn:
        self._no("transpose: it is a single number", "declare tensors as they are multiplied")

    def _no(self, what: str, hint: str) -> NoReturn:
        raise BadOperand(f"{self._noun()} has no {what}", where=str(self), hint=hint)

    def _noun(self) -> str:
        return "an expression"

    def __bool__(self) -> bool:
        self._no(
            "truth value: its elements are known only when the kernel runs",
            "pv.where(condition, a, b) selects; &, |, ~ stand for `and`, `or`, `not`; pv.maximum for max()",
        )

    def __getitem__(self, index: object) -> NoReturn:
        self._no(
            f"element [{_short(index)}]: a pointwise operation reads every operand at its own place",
            "accesses are affine and follow from shapes alone; a vector (N,) or (M, 1) broadcasts, and other "
            "selections are made of the arrays before the call",
        )

    def __iter__(self) -> NoReturn:
        self._no("elements to loop over", "operators and functions work on all elements at once")

    def __float__(self) -> float:
        self._no(
            "value yet: float() and the functions of `math` work on numbers",
            "use numpy's function of that name, or polyvolta's",
        )

    __int__ = __index__ = __float__  # type: ignore[assignment]

    def _no_function(self, name: str) -> NoReturn:
        raise no_function(name, where=str(self))

    def __floordiv__(self, other: object) -> NoReturn:
        self._no_function("floor_divide")

    def __rfloordiv__(self, other: object) -> NoReturn:
        self._no_function("floor_divide")

    def __mod__(self, other: object) -> NoReturn:
        self._no_function("mod")

    def __rmod__(self, other: object) -> NoReturn:
        self._no_function("mod")

    # ---- numpy

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: object, **kwargs: object) -> Any:
        name = ufunc.__name__
        if method != "__call__":
            raise BadFunction(
                f"np.{name}.{method} is not pointwise",
                where=str(self),
                hint="of reductions there is only the matrix product",
            )
        if kwargs:
            raise BadFunction(f"np.{name} takes operands alone here, no {', '.join(kwargs)}", where=str(self))
        if name == "matmul":
            return self.__matmul__(inputs[1]) if inputs[0] is self else self.__rmatmul__(inputs[0])
        if name == "power":
            return power(*inputs)
        if name not in UFUNCS:
            raise no_function(name, where=str(self), numpy=True)
        return self._apply(UFUNCS[name], inputs)

    def __array_function__(self, func: Any, types: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        name = func.__name__
        if kwargs:
            raise BadFunction(f"np.{name} takes operands by position here", where=str(self))
        if name in ("transpose", "matrix_transpose", "permute_dims", "swapaxes"):
            self._no_transpose()
        if name == "where" and len(args) == 3:
            return self._apply("where", args)
        if name == "clip" and len(args) == 3:
            return self._apply("minimum", (self._apply("maximum", args[:2]), args[2]))
        raise no_function(name, where=str(self), numpy=True)


def is_number(x: Any) -> bool:
    """Whether it is a real number: of Python, of numpy, of sympy; no bool."""
    return isinstance(x, Real) and not isinstance(x, bool)


def power(base: Any, exponent: Any) -> Any:
    """`base ** exponent`: products for small whole exponents, else `pow`.

    >>> import polyvolta as pv
    >>> x = pv.tensor("x", (4,))
    >>> print(x**2, x**3, x**-1, x**2.5, sep="; ")
    square(x); square(x) * x; 1 / x; pow(x, 2.5)
    """
    whole = is_number(exponent) and abs(exponent) in range(MOST_FACTORS + 1)
    if not whole or exponent == 0:
        one: Any = base if isinstance(base, Operators) else exponent
        return one._apply("pow", (base, exponent))
    if exponent < 0:
        return base._apply("div", (1, power(base, -exponent)))
    made: Any = None
    square, left = base, int(exponent)
    while left:
        if left % 2:
            made = square if made is None else square * made
        left //= 2
        if left:
            square = square._apply("square", (square,))
    return made


def no_function(name: str, *, where: str = "", numpy: bool = False) -> BadFunction:
    """The error for a function that is no pointwise function of a graph."""
    what = f"np.{name} is" if numpy else f"{name!r} is"
    if numpy and name in REDUCTIONS:
        return BadFunction(f"{what} not pointwise", where=where, hint="of reductions there is only the matrix product")
    known = (*UFUNCS, "where", "clip") if numpy else FUNCTIONS
    hint = INSTEAD.get(name) or nearest(name, known)
    if hint.startswith("known:"):
        tables = "polyvolta.graph.operators.UFUNCS, all in polyvolta.graph.functions.table.FUNCTIONS"
        hint = f"those of numpy are in {tables}"
    return BadFunction(f"{what} no pointwise function that kernels have", where=where, hint=hint)


def _short(x: object) -> str:
    text = " ".join((str if isinstance(x, Operators) else repr)(x).split())
    return text if len(text) <= 40 else text[:37] + "..."
