"""`PwAff`: piecewise quasi-affine functions to the integers.

    [N] -> { S[i] -> [(floor(i/32) + N)] : 0 <= i < N; S[i] -> [(0)] : i < 0 }

Sums, minima, remainders and comparisons of such functions are again such functions, or sets. A product needs one
factor that is a number wherever the other varies. See `piecewise` for what a function is made of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..budgets import metered_class
from ..conjuncts import conjunct as cj
from ..errors import NotAffine, SpaceMismatch, UnknownName, nearest
from ..optima.lexrel import tidy
from ..optima.optimise import expression_cases, overall
from ..values.aff import Aff
from ..values.shape import need_set
from ..values.space import Space, Tuple, whole
from .cells import Cell, better, disjoint, knives, refined
from .piecewise import Piecewise, shared
from .pwparse import parse_piecewise

if TYPE_CHECKING:
    from ..values.set import Set

ONE = Tuple(None, ("o0",))


@metered_class
class PwAff(Piecewise):
    """A piecewise quasi-affine function of parameters and one tuple of inputs, with integer values.

    >>> from polyvolta.sets import var
    >>> f = PwAff("[N] -> { S[i] -> [(floor(i/32) + N)] : 0 <= i < N; S[i] -> [0] : i < 0 }")
    >>> f(i=70, N=100), f.eval((-3,), N=100)
    (102, 0)
    >>> print(2 * f.max(f + 1) - var("N"))
    [N] -> { S[i] -> [(N + 2*floor(i/32) + 2)] : 0 <= i < N; S[i] -> [(2 - N)] : i <= -1 }
    """

    __slots__ = ()
    _noun = "PwAff"

    def __init__(self, text: str, context: object = None) -> None:
        if isinstance(text, PwAff):  # isl has several classes for what is one here
            self._be(text)
            return
        params, space, cells = parse_piecewise(text)
        if space.n_out != 1 or space.out.name or space.out.inner:
            raise SpaceMismatch("a PwAff has one anonymous output", where=str(space), hint="use MultiPwAff(...)")
        self._fill(params, Space(space.inp, ONE), cells)

    @classmethod
    def on(cls, domain: Set, value: Aff | str | int) -> PwAff:
        """An expression in the names of the domain's dimensions and parameters, as a function on it.

        `value` is an expression, a text or an int.

        >>> from polyvolta.sets import Set
        >>> print(PwAff.on(Set("[N] -> { S[i] : 0 <= i < N }"), "max(i, 3) - N"))
        [N] -> { S[i] -> [(max(3 - N, i - N))] : 0 <= i < N }
        """
        need_set(domain, "a function on a domain")
        space, names = domain.space, (*domain.param_names, *domain.space.dims)
        pieces = disjoint(names, ((c, ()) for c in domain.parts[0][1]), domain)
        cells = [
            (part, (e,))
            for c, _ in pieces
            for when, e in expression_cases(domain, value, names)
            if (part := refined(c, names, when)) is not None
        ]
        return cls._of(domain.param_names, Space(space.out, ONE), cells)

    @property
    def pieces(self) -> tuple[tuple[Set, Aff], ...]:
        """(domain, expression) pairs; domains are disjoint."""
        groups: dict[Aff, list] = {}
        for c, (value,) in self.cells:
            groups.setdefault(value, []).append(c)
        return tuple((self._set(cs), value) for value, cs in groups.items())

    def _result(self, totals: list[object]) -> object:
        return totals[0]

    def _lifted(self, other: PwAff | Aff | int) -> PwAff:
        """A number or an expression as a function on the whole space of this one."""
        if isinstance(other, PwAff):
            return other
        number = int(other) if isinstance(other, int) else whole(other)
        if number is None and not isinstance(other, Aff):
            raise NotAffine(f"a PwAff cannot be combined with {other!r}", hint="use a PwAff, an Aff or a number")
        e = other if isinstance(other, Aff) else Aff((), number)  # type: ignore[arg-type]
        for name in e.names():
            if name not in self.names:
                raise UnknownName(
                    f"{name!r} is not a parameter or input", where=str(self), hint=nearest(name, self.names)
                )
        return self._with([(cj.universe(len(self.names)), (e,))])

    def _each(self, f: Callable[[Aff], Aff]) -> PwAff:
        return self._with((c, (f(e),)) for c, (e,) in self.cells)

    # ---- arithmetic

    def __add__(self, other: PwAff | Aff | int) -> PwAff:
        """The sum, where both have values; O(m n) conjunctions, as for all operations on two functions."""
        return self._pointwise(self._lifted(other), "a sum", lambda x, y: x + y)

    __radd__ = __add__

    def __sub__(self, other: PwAff | Aff | int) -> PwAff:
        return self._pointwise(self._lifted(other), "a difference", lambda x, y: x - y)

    def __rsub__(self, other: Aff | int) -> PwAff:
        return self._lifted(other) - self

    def __neg__(self) -> PwAff:
        """The function with the opposite sign, in the same cells.

        >>> from polyvolta.sets import PwAff
        >>> print(-PwAff("{ [i] -> [i - 2] }"))
        { [i] -> [(2 - i)] }
        """
        return self._each(lambda e: -e)

    neg = __neg__

    def __mul__(self, other: PwAff | Aff | int) -> PwAff:
        """The product, where both have values and at least one of them is a number.

        Raises
        ------
        NotAffine : somewhere both factors vary.
        """

        def times(x: Aff, y: Aff) -> Aff:
            if x.is_constant or y.is_constant:
                return y * x.const if x.is_constant else x * y.const
            raise NotAffine("the product of two varying functions", where=f"({x}) * ({y})", hint="one must be a number")

        return self._pointwise(self._lifted(other), "a product", times)

    __rmul__ = __mul__

    def __floordiv__(self, den: PwAff | int) -> PwAff:
        """floor(f / den) for a positive number.

        Raises
        ------
        NotAffine : `den` varies or is not positive.
        """
        return self._pointwise(self._lifted(den), "a quotient", lambda x, y: x // _number(y, "divisor"))

    def __mod__(self, den: PwAff | int) -> PwAff:
        """The remainder in 0 <= r < den, for a positive number; see `//`."""
        return self._pointwise(self._lifted(den), "a remainder", lambda x, y: x % _number(y, "modulus"))

    def __truediv__(self, den: object) -> PwAff:
        if den == 0:
            raise NotAffine("division by zero", where=f"({self}) / 0")
        raise NotAffine("a quotient may be a fraction", where=f"({self}) / {den}", hint="use // or ceildiv")

    def floordiv(self, den: PwAff | int) -> PwAff:
        """floor(f / den); see `//`.

        >>> from polyvolta.sets import PwAff
        >>> print(PwAff("{ [i] -> [i - 2] }").floordiv(4))
        { [i] -> [(floor((i + 2)/4) - 1)] }
        """
        return self // den

    def ceildiv(self, den: PwAff | int) -> PwAff:
        """ceil(f / den); see `//`.

        >>> print(PwAff("{ [i] -> [i] }").ceildiv(4))
        { [i] -> [(floor((i + 3)/4))] }
        """
        return self._pointwise(self._lifted(den), "a quotient", lambda x, y: tidy(-(-x // _number(y, "divisor"))))

    def min(self, other: PwAff | Aff | int) -> PwAff:
        """The lesser value, where both have one; see `union_min` and, for the least value of all, `min_val`.

        `other` is a function of the same inputs.

        >>> from polyvolta.sets import PwAff
        >>> print(PwAff("{ [i] -> [2i] }").min(PwAff("{ [i] -> [i + 3] }")))
        { [i] -> [(min(2*i, i + 3))] }
        """
        return self._chosen(other, -1)

    def max(self, other: PwAff | Aff | int) -> PwAff:
        """The greater value, where both have one; see `union_max` and, for the greatest value of all, `max_val`.

        >>> print(PwAff("{ [i] -> [i] }").max(3))
        { [i] -> [(max(i, 3))] }
        """
        return self._chosen(other, 1)

    def abs(self) -> PwAff:
        """The absolute value.

        >>> from polyvolta.sets import PwAff
        >>> print(PwAff("{ [i] -> [i - 2] }").abs())
        { [i] -> [(max(2 - i, i - 2))] }
        """
        return self.max(-self)

    __abs__ = abs

    def _chosen(self, other: PwAff | Aff | int, sign: int) -> PwAff:
        a, b = self._same_outputs(self._lifted(other), "a minimum or maximum")
        cells: list[Cell] = []
        for c, (x,), (y,) in a._joined(b):
            for value, atom in ((x, (x - y) * sign), (y, (y - x) * sign - 1)):
                part = c if atom.is_constant and atom.const >= 0 else refined(c, a.names, [("ge", atom)])
                if part is not None:
                    cells.append((part, (value,)))
        return a._with(cells)

    def union_min(self, other: PwAff) -> PwAff:
        """The lesser value where both have one, elsewhere the one that has a value; exact (isl's `union_min`).

        `other` is a function of the same inputs.

        >>> from polyvolta.sets import PwAff
        >>> print(PwAff("{ [i] -> [2i] }").union_min(PwAff("{ [i] -> [i + 3] }")))
        { [i] -> [(min(2*i, i + 3))] }
        """
        return self._better(other, -1)

    def union_max(self, other: PwAff) -> PwAff:
        """The greater value where both have one, elsewhere the one that has a value; exact (isl's `union_max`).

        `other` is a function of the same inputs.

        >>> from polyvolta.sets import PwAff
        >>> print(PwAff("{ [i] -> [2i] }").union_max(PwAff("{ [i] -> [i + 3] }")))
        { [i] -> [(max(2*i, i + 3))] }
        """
        return self._better(other, 1)

    def _better(self, other: PwAff, sign: int) -> PwAff:
        """The greater (sign 1) or lesser value where both have one, elsewhere the one that has one."""
        a, b = self._same_outputs(other, "a union")
        domains = knives(c for c, _ in a.folded), knives(c for c, _ in b.folded)
        return a._with(better(a.names, (a.cells, b.cells), domains, sign))

    def cond(self, then: PwAff | Aff | int, other: PwAff | Aff | int) -> PwAff:
        """`then` where this is not 0, `other` where it is 0; as C's ternary operator.

        >>> from polyvolta.sets import Set
        >>> even = Set("{ [i] : i mod 2 = 0 }").indicator_function()
        >>> print(even.cond(PwAff("{ [i] -> [i // 2] }"), -1))
        { [i] -> [(floor(i/2))] : i mod 2 = 0; [i] -> [(-1)] : i mod 2 >= 1 }
        """
        yes = self._lifted(then).intersect_domain(self.ne_set(0))
        return yes.union_prefer(self._lifted(other).intersect_domain(self.eq_set(0)))

    # ---- comparisons

    def le_set(self, other: PwAff | Aff | int) -> Set:
        """The points where this is at most the other; exact.

        >>> print(PwAff("{ [i] -> [i] }").le_set(PwAff("[N] -> { [i] -> [min(N, 5)] }")).coalesce())
        [N] -> { [i] : i <= 5 and i <= N }
        """
        return self._compared(other, lambda d: [[("ge", -d)]])

    def lt_set(self, other: PwAff | Aff | int) -> Set:
        """The points where this is less than the other; exact.

        `other` is a function of the same inputs.

        >>> from polyvolta.sets import PwAff
        >>> print(PwAff("{ [i] -> [2i] }").lt_set(PwAff("{ [i] -> [i + 3] }")))
        { [i] : i <= 2 }
        """
        return self._compared(other, lambda d: [[("ge", -d - 1)]])

    def ge_set(self, other: PwAff | Aff | int) -> Set:
        """The points where this is at least the other; exact.

        `other` is a function of the same inputs.

        >>> from polyvolta.sets import PwAff
        >>> print(PwAff("{ [i] -> [2i] }").ge_set(PwAff("{ [i] -> [i + 3] }")))
        { [i] : i >= 3 }
        """
        return self._compared(other, lambda d: [[("ge", d)]])

    def gt_set(self, other: PwAff | Aff | int) -> Set:
        """The points where this is greater than the other; exact.

        `other` is a function of the same inputs.

        >>> from polyvolta.sets import PwAff
        >>> print(PwAff("{ [i] -> [2i] }").gt_set(PwAff("{ [i] -> [i + 3] }")))
        { [i] : i >= 4 }
        """
        return self._compared(other, lambda d: [[("ge", d - 1)]])

    def eq_set(self, other: PwAff | Aff | int) -> Set:
        """The points where both are equal; exact.

        `other` is a function of the same inputs.

        >>> from polyvolta.sets import PwAff
        >>> print(PwAff("{ [i] -> [2i] }").eq_set(PwAff("{ [i] -> [i + 3] }")))
        { [3] }
        """
        return self._compared(other, lambda d: [[("eq", d)]])

    def ne_set(self, other: PwAff | Aff | int) -> Set:
        """The points where both have values that differ; exact.

        `other` is a function of the same inputs.

        >>> from polyvolta.sets import PwAff
        >>> print(PwAff("{ [i] -> [2i] }").ne_set(PwAff("{ [i] -> [i + 3] }")))
        { [i] : i >= 4; [i] : i <= 2 }
        """
        return self._compared(other, lambda d: [[("ge", d - 1)], [("ge", -d - 1)]])

    def _compared(self, other: PwAff | Aff | int, atoms: Callable[[Aff], list]) -> Set:
        a, b = self._same_outputs(self._lifted(other), "a comparison")
        found = []
        for c, (x,), (y,) in a._joined(b):
            found += [refined(c, a.names, case) for case in atoms(x - y)]
        return a._set(c for c in found if c is not None)

    # ---- reading

    def is_cst(self) -> bool:
        """Whether all pieces are numbers (isl's `is_cst`); no search.

        >>> from polyvolta.sets import PwAff
        >>> PwAff("{ [i] -> [7] }").is_cst(), PwAff("{ [i] -> [i] }").is_cst()
        (True, False)
        """
        return all(e.is_constant for _, (e,) in self.cells)

    def min_val(self) -> int:
        """The least value, over all parameters and inputs of the domain; exact, an integer program a cell.

        Raises
        ------
        Unbounded : there is none.
        EmptySet : the domain is empty.

        >>> PwAff("{ [i, j] -> [i + 2*j] : 0 <= i < 8 and i <= j < 9 }").min_val()
        0
        """
        return overall(self, -1)

    def max_val(self) -> int:
        """The greatest value, over all parameters and inputs of the domain; see `min_val`.

        >>> from polyvolta.sets import PwAff
        >>> PwAff("{ [i] -> [2i] : 0 <= i < 9 }").max_val()
        16
        """
        return overall(self, 1)


shared(PwAff, "__add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __floordiv__ min max")
shared(PwAff, "union_add union_min union_max union_prefer cond le_set lt_set ge_set gt_set eq_set ne_set is_equal")
shared(PwAff, "pullback pullback_multi_aff pullback_multi_pw_aff pullback_pw_multi_aff")


def _number(e: Aff, what: str) -> int:
    if not e.is_constant or e.const <= 0:
        raise NotAffine(f"a {what} must be a positive number, not {e}")
    return e.const


def indicator_function(self: Set) -> PwAff:
    """The function that is 1 on the set and 0 elsewhere; exact, by subtraction (isl's `indicator_function`).

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [i] : i >= 3 }").indicator_function())
    { [i] -> [(1)] : i >= 3; [i] -> [(0)] : i <= 2 }
    """
    inside = PwAff.on(self, 1)
    everywhere = self._of(
        self.param_names, [(self.space, (cj.universe(len(self.param_names) + len(self.space.dims)),))]
    )
    return inside.union_prefer(PwAff.on(everywhere, 0))
