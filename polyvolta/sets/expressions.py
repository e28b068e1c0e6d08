"""Parsing quasi-affine expressions: `2i + floor((j - 1)/4) - max(i, j mod 8)`.

An expression with min, max or abs has several *cases*: (conditions, value) pairs of which exactly one
holds. Where isl and Python would read an operator differently, `mod`, `%`, `//` and `*` bind alike, from
the left, and tighter than `+`; a plain quotient `e/d` must stand in floor() or ceil().
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from .aff import Aff, aff, var
from .build import Constraint
from .errors import SetSyntaxError, nearest
from .tokens import FUNCTIONS, Cursor, syntax_error

Case = tuple[tuple[Constraint, ...], Aff]  # (when, value)


class Expressions(Cursor):
    """A parser of expressions; `scope` lists the names that may be used, None for any."""

    def __init__(self, text: str, scope: Sequence[str] | None = ()) -> None:
        super().__init__(text)
        self.scope = None if scope is None else list(scope)

    def expression(self) -> list[Case]:
        negative = False
        while self.at("-", "+"):
            negative ^= self.at("-")
            self.k += 1
        left = _scaled(self.term(), -1 if negative else 1)
        while self.at("+", "-"):
            sign = 1 if self.at("+") else -1
            self.k += 1
            left = _sum(left, _scaled(self.term(), sign))
        return left

    def term(self, quotients: bool = False) -> list[Case]:
        """Factors under `*`, `mod` and `//`; stops at `/` where the caller reads `quotients`."""
        left = self.factor()
        while True:
            at = self.k
            if self.eat("*"):
                left = self.times(left, self.factor(), at)
            elif self.eat("mod"):
                d = self.divisor()
                left = [(w, v % d) for w, v in left]
            elif self.eat("//"):
                d = self.divisor()
                left = [(w, v // d) for w, v in left]
            elif self.at("/") and not quotients:
                raise self.wrong(
                    "expected an integer expression", "a quotient needs floor(e/d) or ceil(e/d), or e // d"
                )
            elif (self.tok.kind == "name" or self.at("(", "⌊", *FUNCTIONS)) and all(
                not w and v.is_constant for w, v in left
            ):
                left = self.times(left, self.factor(), at)  # juxtaposition needs a number: 3i, 2(i + j)
            else:
                return left

    def times(self, left: list[Case], right: list[Case], at: int) -> list[Case]:
        for a, b in ((left, right), (right, left)):
            if len(a) == 1 and a[0][1].is_constant:
                return [(w + a[0][0], v * a[0][1].const) for w, v in b]
        self.k = at
        raise self.wrong("expected an affine expression", "a product of two dimensions is not affine")

    def divisor(self) -> int:
        at = self.k
        cases = self.factor()
        if len(cases) != 1 or not cases[0][1].is_constant or cases[0][1].const <= 0:
            self.k = at
            raise self.wrong("expected a positive number to divide by")
        return cases[0][1].const

    def factor(self) -> list[Case]:
        t = self.tok
        if t.kind == "num":
            self.k += 1
            return [((), aff(int(t.text)))]
        if t.kind == "name":
            if self.scope is not None and t.text not in self.scope:
                raise syntax_error(self.text, t.at, f"unknown name {t.text!r}", nearest(t.text, self.scope))
            self.k += 1
            return [((), var(t.text))]
        if self.eat("-"):
            return _scaled(self.factor(), -1)
        if self.eat("("):
            inner = self.expression()
            self.expect(")")
            return inner
        if self.eat("⌊"):
            return self.quotient("⌋", up=False)
        if self.eat("floor", "ceil"):
            self.expect("(")
            return self.quotient(")", up=t.text == "ceil")
        if self.eat("floord"):
            self.expect("(")
            inner = self.expression()
            self.expect(",")
            d = self.divisor()
            self.expect(")")
            return [(w, v // d) for w, v in inner]
        if self.eat("min", "max", "abs"):
            return self.extremum(t.text)
        raise self.wrong("expected an expression")

    # ---- quotients, which are rational inside a floor

    def quotient(self, close: str, up: bool) -> list[Case]:
        """The inside of floor( ) or ceil( ): an expression over a number; sums may mix quotients."""
        inner, den = self.rational()
        self.expect(close)
        return [(w, -((-v) // den) if up else v // den) for w, v in inner]

    def rational(self) -> tuple[list[Case], int]:
        """A sum of terms, some divided by numbers, over one common denominator."""
        total: list[Case] = [((), aff(0))]
        den = sign = 1
        while True:
            while self.at("-", "+"):
                sign = -sign if self.at("-") else sign
                self.k += 1
            part, d = self.rational_term()
            total, den = _sum(_scaled(total, d), _scaled(part, sign * den)), den * d
            if not self.at("+", "-"):
                return total, den
            sign = 1

    def rational_term(self) -> tuple[list[Case], int]:
        mark = self.k
        part, den = None, 1
        if self.eat("("):
            try:
                part, den = self.rational()
                self.expect(")")
            except SetSyntaxError:
                part = None
            if part is None or self.at("*", "mod", "//") or (den == 1 and not self.at("/")):
                self.k, part, den = mark, None, 1  # the parenthesis begins an ordinary term
        if part is None:
            part = self.term(quotients=True)
        while self.eat("/"):
            den *= self.divisor()
        if self.at("*", "mod", "//"):
            raise self.wrong("expected '+', '-' or the end of the quotient", "put the quotient in floor() of its own")
        return part, den

    def extremum(self, kind: str) -> list[Case]:
        self.expect("(")
        options = [self.expression()]
        while kind != "abs" and self.eat(","):
            options.append(self.expression())
        self.expect(")")
        if kind == "abs":
            return [c for w, v in options[0] for c in (((*w, ("ge", v)), v), ((*w, ("ge", -v - 1)), -v))]
        sign = 1 if kind == "max" else -1
        best = options[0]
        for other in options[1:]:
            merged: list[Case] = []
            for (w, v), (x, y) in product(best, other):
                merged.append(((*w, *x, ("ge", (v - y) * sign)), v))
                merged.append(((*w, *x, ("ge", (y - v) * sign - 1)), y))
            best = merged
        return best


def _scaled(cases: list[Case], factor: int) -> list[Case]:
    return cases if factor == 1 else [(w, v * factor) for w, v in cases]


def _sum(left: list[Case], right: list[Case]) -> list[Case]:
    return [(w + x, v + y) for (w, v), (x, y) in product(left, right)]


def parse_aff(text: str, names: Sequence[str] | None = None) -> Aff:
    """One quasi-affine expression; with `names`, only those may appear.

    >>> print(parse_aff("2i + floor((j + 1)/4)"))
    2*i + floor((j + 1)/4)
    """
    p = Expressions(text, names)
    cases = p.expression()
    p.expect_end()
    if len(cases) != 1:
        raise syntax_error(text, 0, "expected a single expression", "min, max and abs have several cases")
    return cases[0][1]
