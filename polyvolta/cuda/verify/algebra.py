"""Formulas as linear combinations: whether two of them compute the same, over the real numbers.

Sums that share an accumulator are computed in another order than the graph writes them, with factors that scale what
is there before more is added: 2*(A @ B) - P @ Q is made as -2*(A @ B) + P @ Q, and its sign is turned in the end. Such
formulas are equal as linear combinations. So a formula is read as one: additions, differences, negatives, multiples and
quotients by numbers are combined, every other call is an atom, known by its function and its arguments' combinations.
Equal combinations are equal formulas, exactly but for the rounding of factors: they count as equal to 12 digits.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from math import isfinite

from polyvolta.graph.formula import Formula, fold

Linear = tuple[tuple[int, Fraction], ...]
"""Factors by atom, ascending; atom -1 is the number 1."""

ONE = -1
COMMUTE = frozenset({"mul", "equal", "not_equal", "logical_and", "logical_or"})


class Forms:
    """Linear combinations over numbered atoms, each once.

    >>> from polyvolta.graph.formula import Call, Input, Number
    >>> forms = Forms()
    >>> x, y = forms.atom("x"), forms.atom("y")
    >>> doubled = Call("sub", (Call("mul", (Number(2), Input(0))), Input(1)))
    >>> turned = Call("neg", (Call("add", (Call("mul", (Input(0), Number(-2))), Input(1))),))
    >>> forms.of(doubled, (x, y)) == forms.of(turned, (x, y))
    True
    >>> forms.of(Call("relu", (doubled,)), (x, y)) == forms.of(Call("relu", (turned,)), (y, x))
    False
    """

    def __init__(self) -> None:
        self._number: dict[Hashable, int] = {}

    def atom(self, name: Hashable) -> Linear:
        """What stands for itself."""
        return ((self._number.setdefault(name, len(self._number)), Fraction(1)),)

    def of(self, formula: Formula, operands: Sequence[Linear]) -> tuple[tuple[int, float], ...]:
        """The combination of a formula over combinations, comparable."""
        return rounded(fold(formula, operands, self._constant, self._call))

    def _constant(self, value: float) -> Linear:
        if not isfinite(value):
            return self.atom(("number", value))
        return ((ONE, Fraction(value)),) if value else ()

    def _call(self, function: str, arguments: tuple[Linear, ...]) -> Linear:
        match function, arguments:
            case "add", (a, b):
                return combined(a, b, Fraction(1))
            case "sub", (a, b):
                return combined(a, b, Fraction(-1))
            case "neg", (a,):
                return scaled(a, Fraction(-1))
            case "mul", (a, b) if (factor := constant(b)) is not None:
                return scaled(a, factor)
            case "mul", (a, b) if (factor := constant(a)) is not None:
                return scaled(b, factor)
            case "div", (a, b) if factor := constant(b):
                return scaled(a, 1 / factor)
        values = tuple(rounded(x) for x in arguments)
        return self.atom((function, tuple(sorted(values)) if function in COMMUTE else values))


def combined(a: Linear, b: Linear, factor: Fraction) -> Linear:
    """a + factor * b."""
    total = dict(a)
    for atom, c in b:
        total[atom] = total.get(atom, Fraction(0)) + factor * c
    return tuple(sorted((atom, c) for atom, c in total.items() if c))


def scaled(a: Linear, factor: Fraction) -> Linear:
    """factor * a."""
    return tuple((atom, factor * c) for atom, c in a) if factor else ()


def constant(a: Linear) -> Fraction | None:
    """The number that a combination is, if it is one."""
    if not a:
        return Fraction(0)
    return a[0][1] if len(a) == 1 and a[0][0] == ONE else None


def rounded(a: Linear) -> tuple[tuple[int, float], ...]:
    """The combination with factors of 12 digits."""
    return tuple((atom, float(f"{float(c):.12g}")) for atom, c in a)
