"""Formulas as linear combinations: whether two of them compute the same, over the real numbers.

Sums that share an accumulator are computed in another order than the graph writes them, with factors that scale what
is there before more is added: 2*(A @ B) - P @ Q is made as -2*(A @ B) + P @ Q, and its sign is turned in the end. Such
formulas are equal as linear combinations. So a formula is read as one: additions, differences, negatives, multiples and
quotients by numbers are a list of terms, each a factor and an atom; every other call is an atom, known by its function
and its arguments' lists. Equal lists are equal formulas, exactly but for the rounding of factors: they count as equal
within 1e-12 of themselves.

A product may be in another place of its sum, and that is all. Only products' terms are taken together, since only they
are summed in registers. What else is added keeps its association: it is one term, the *rest*, which is the sum as it
was written with the products left out. x + 1e30 - 1e30 loses x, and x + (1e30 - 1e30) doesn't; x - x is no 0 where x
is infinite, and 0*x is none either. And a factor is taken into a term as long as fp32 has room for the term's; beyond,
it is a call like others.

What is exact is no matter of room: a sign goes into every term, and a number 0 that is added stays one, of any multiple
of its sum. It isn't left out, though, and it has a sign: where x is -0, x + 0 is 0, and x - 0 is x + (-0), which is x.
(The sign of a sum with products that is 0 depends on the order.)
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable, Sequence
from fractions import Fraction
from math import copysign, isfinite

from polyvolta.graph.functions.formula import Formula, fold

Linear = tuple[tuple[int, Fraction], ...]
"""Terms, each an atom and a factor, ascending: products, and one that is the rest. () is a sum of no products, 0."""

ONE, PLUS_ZERO, MINUS_ZERO = -1, -2, -3  # atoms that are numbers
ZEROS = PLUS_ZERO, MINUS_ZERO  # and have no factor, which would have no sign
COMMUTE = frozenset({"mul", "equal", "not_equal", "logical_and", "logical_or"})
LARGEST_FACTOR = 2**64  # of a term, in either direction: beyond, fp32 may lose it
ROUNDING = 1e-12  # relative, of two factors that count as one


class Forms:
    """Linear combinations over numbered atoms, each once.

    >>> from polyvolta.graph.functions.formula import Call, Input, Number
    >>> forms = Forms()
    >>> x, y = forms.atom("x", summed=True), forms.atom("y", summed=True)
    >>> doubled = Call("sub", (Call("mul", (Number(2), Input(0))), Input(1)))
    >>> turned = Call("neg", (Call("add", (Call("mul", (Input(0), Number(-2))), Input(1))),))
    >>> forms.of(doubled, (x, y)) == forms.of(turned, (x, y))
    True
    >>> forms.of(Call("relu", (doubled,)), (x, y)) == forms.of(Call("relu", (turned,)), (y, x))
    False

    A product is anywhere in a sum; what isn't one has its place.

    >>> left = Call("add", (Call("add", (Input(0), Input(1))), Input(2)))
    >>> right = Call("add", (Input(0), Call("add", (Input(1), Input(2)))))
    >>> b, c, d = map(forms.atom, "bcd")
    >>> forms.of(left, (b, c, x)) == forms.of(right, (b, c, x)), forms.of(left, (b, c, d)) == forms.of(right, (b, c, d))
    (True, False)
    """

    def __init__(self) -> None:
        self._number: dict[Hashable, int] = {}
        self._summed: set[int] = set()
        self._apart: set[int] = set()  # multiples of products that are atoms
        self._factors: list[float] = []  # ascending, each standing for those near it

    def atom(self, name: Hashable, summed: bool = False) -> Linear:
        """What stands for itself.

        Parameters
        ----------
        summed : whether it is a product, whose terms are taken together.
        """
        number = self._number.setdefault(name, len(self._number))
        if summed:
            self._summed.add(number)
        return ((number, Fraction(1)),)

    def of(self, formula: Formula, operands: Sequence[Linear]) -> tuple[tuple[int, float | Fraction], ...]:
        """The combination of a formula over combinations, comparable."""
        return self._comparable(fold(formula, operands, self._constant, self._call))

    def _constant(self, value: float) -> Linear:
        if not isfinite(value):
            return self.atom(("number", value))
        if value == 0:
            return ((MINUS_ZERO if copysign(1, value) < 0 else PLUS_ZERO, Fraction(1)),)
        return ((ONE, Fraction(value)),)

    def _call(self, function: str, arguments: tuple[Linear, ...]) -> Linear:
        match function, arguments:
            case "add", (a, b):
                return self.combined(a, b)
            case "sub", (a, b):
                return self.combined(a, self.scaled(b, Fraction(-1)))
            case "neg", (a,):
                return self.scaled(a, Fraction(-1))
            case "mul", (a, b) if (factor := constant(b)) is not None:
                return self.scaled(a, factor)
            case "mul", (a, b) if (factor := constant(a)) is not None:
                return self.scaled(b, factor)
            case "div", (a, b) if factor := constant(b):
                return self.scaled(a, 1 / factor)
        values = tuple(map(self._comparable, arguments))
        return self.atom((function, tuple(sorted(values)) if function in COMMUTE else values))

    def combined(self, a: Linear, b: Linear) -> Linear:
        """a + b."""
        total: dict[int, Fraction] = {}
        apart, rest = [], []
        for atom, c in (*a, *b):
            if atom in self._summed:
                total[atom] = total.get(atom, Fraction(0)) + c
            else:
                (apart if atom in self._apart else rest).append((atom, c))
        if len(rest) > 1:
            rest = [*self.atom(("add", tuple(sorted(self._comparable(tuple(rest))))))]
        return tuple(sorted([*total.items(), *apart, *rest]))

    def scaled(self, a: Linear, factor: Fraction) -> Linear:
        """factor * a, the factor not 0; a term that fp32 may lose so is another atom."""
        return tuple(sorted(self._times(atom, c, factor) for atom, c in a))

    def _times(self, atom: int, c: Fraction, factor: Fraction) -> tuple[int, Fraction]:
        if atom in ZEROS and abs(factor) <= LARGEST_FACTOR:
            return (atom if factor > 0 else PLUS_ZERO + MINUS_ZERO - atom), c
        if abs(factor) == 1 or within(factor * c):
            return atom, factor * c
        ((other, one),) = self.atom(("times", atom, self.factor(c), self.factor(factor)))
        if atom in self._summed or atom in self._apart:
            self._apart.add(other)
        return other, one

    def _comparable(self, a: Linear) -> tuple[tuple[int, float | Fraction], ...]:
        """The combination with factors that are equal where they differ by rounding alone."""
        return tuple((atom, self.factor(c)) for atom, c in a)

    def factor(self, c: Fraction) -> float | Fraction:
        """What stands for a factor and all those near it; one that no float has stands for itself.

        >>> forms = Forms()
        >>> forms.factor(Fraction(1, 3)) == forms.factor(Fraction(1.0) / Fraction(3.0000000000001))
        True
        >>> forms.factor(Fraction(1, 3)) == forms.factor(Fraction(1, 3) + Fraction(1, 10**11))
        False
        """
        try:
            value = float(c)
        except OverflowError:
            return c
        at = bisect_left(self._factors, value)
        for known in self._factors[max(at - 1, 0) : at + 1]:
            if abs(known - value) <= ROUNDING * abs(known):
                return known
        insort(self._factors, value)
        return value


def within(factor: Fraction) -> bool:
    """Whether fp32 has room for what has such a factor.

    >>> within(Fraction(10) ** 19), within(Fraction(10) ** 20), within(Fraction(0))
    (True, False, False)
    """
    return Fraction(1, LARGEST_FACTOR) <= abs(factor) <= LARGEST_FACTOR


def constant(a: Linear) -> Fraction | None:
    """The number that a combination is, if it is one and not 0."""
    return a[0][1] if len(a) == 1 and a[0][0] == ONE else None
