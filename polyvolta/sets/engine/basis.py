"""Generalised basis reduction: a direction along which a polytope is thin.

The width of a polytope along an integer form is the largest value of the form over differences of two of its points.
Lovasz and Scarf (1992) reduce a basis of integer forms as Lovasz reduces one of vectors, with widths, which are linear
programs, in the place of norms. The first form of the result is thin: a polytope without integer points has a width
along it that is bounded by a function of the dimension alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ..budgets import spend
from .rows import Row
from .simplex import Tableau


class Widths:
    """The norms of generalised basis reduction: F_i(v) = max v.d over differences d of two points of the
    polytope with b_1.d = ... = b_(i-1).d = 0, all on one warm tableau over (x, d)."""

    def __init__(self, n: int, ineqs: Sequence[Row]) -> None:
        self.n, self.tab = n, Tableau(2 * n)
        for row in ineqs:
            self.tab.add_ineq((*row, *[0] * n))
            self.tab.add_ineq((*row, *row[1:]))
        self.marks = [self.tab.mark()]  # marks[i]: the first i forms fixed

    def fix(self, forms: Sequence[Sequence[int]]) -> None:
        """Fix exactly these forms on the differences; the caller changes only the last ones between calls."""
        for form in forms[len(self.marks) - 1 :]:
            self.tab.add_eq((0, *[0] * self.n, *form))
            self.marks.append(self.tab.mark())

    def forget(self, count: int) -> None:
        """Keep the first `count` fixed forms only."""
        del self.marks[count + 1 :]
        self.tab.rollback(self.marks[count])

    def __call__(self, form: Sequence[int]) -> tuple[Fraction, list[Fraction]]:
        """(the width along the form, a difference of two points that attains it)."""
        most = self.tab.maximum((0, *[0] * self.n, *form))
        assert most is not None
        return Fraction(*most), [Fraction(*c) for c in self.tab.sample()[self.n :]]


def thin_direction(n: int, ineqs: Sequence[Row]) -> tuple[list[int], list[list[int]]]:
    """The first form of a reduced basis of the dual lattice, and the columns dual to the basis."""
    forms = [[int(i == j) for i in range(n)] for j in range(n)]
    columns = [f[:] for f in forms]
    width = Widths(n, ineqs)
    i = 0
    while i < n - 1:
        spend()
        width.forget(min(i, len(width.marks) - 1))
        width.fix(forms[:i])
        here, d = width(forms[i])
        if i == 0 and here < 2:
            break
        mu, there = _best_step(width, forms[i], forms[i + 1], here, d)
        if mu:
            forms[i + 1] = [a + mu * b for a, b in zip(forms[i + 1], forms[i], strict=True)]
            columns[i] = [a - mu * b for a, b in zip(columns[i], columns[i + 1], strict=True)]
        if 4 * there < 3 * here:
            forms[i], forms[i + 1] = forms[i + 1], forms[i]
            columns[i], columns[i + 1] = columns[i + 1], columns[i]
            i = max(i - 1, 0)
        else:
            i += 1
    return forms[0], columns


def _best_step(
    width: Widths, a: Sequence[int], b: Sequence[int], norm: Fraction, d: Sequence[Fraction]
) -> tuple[int, Fraction]:
    """The integer mu that minimises the width of b + mu*a, and that width.

    The width is convex and piecewise linear in mu and every LP gives a supporting line: (intercept, slope).
    The two lines of `d`, where a attains its own width, meet at 0 and start the bracket.
    """
    start = sum(x * y for x, y in zip(b, d, strict=True))
    left, right = (-start, -norm), (start, norm)
    low = high = None
    best: tuple[Fraction, int] | None = None
    turn = 0
    while low is None or high is None or high - low > 1:
        guess = round((left[0] - right[0]) / (right[1] - left[1]))
        turn += 1
        if low is not None and high is not None and turn % 3 == 0:
            guess = (low + high) // 2
        if low is not None:
            guess = max(guess, low + 1)
        if high is not None:
            guess = min(guess, high - 1)
        value, d = width([x + guess * y for x, y in zip(b, a, strict=True)])
        slope = sum(x * y for x, y in zip(a, d, strict=True))
        if best is None or value < best[0]:
            best = (value, guess)
        if slope == 0:
            break
        line = (value - guess * slope, slope)
        if slope < 0:
            low, left = guess, line
        else:
            high, right = guess, line
    assert best is not None
    return best[1], best[0]
