"""isl's texts of piecewise quasi-polynomials: `[n] -> { S[i] -> (1/2 * n^2 + floor(i/2) * n) : 0 <= i < n; T[] -> 3 }`.

A polynomial is sums and products of numbers, names, powers and parentheses, where isl prints it, and of floors and
remainders of affine expressions. The other notation is that of functions (`functions.pwparse`).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ..by_isl.objects.numbers import Number
from ..conjuncts.conjunct import Conjunct
from ..functions.pwparse import FunctionParser
from ..text.formulas import Node, clauses, conjuncts
from ..text.tokens import is_name
from ..values.space import PARAMS, Space
from .overlay import Piece, added, merged, over_both
from .quasipoly import PwQPolynomial, QPolynomial

MOST_POWER = 64  # of a polynomial


def parse_polynomial(text: str) -> PwQPolynomial:
    """The function that a text says.

    Where several pieces have a value it is their sum.

    Raises
    ------
    SetSyntaxError : with the line, a caret and what was expected.

    >>> print(parse_polynomial("[n] -> { (n + 1)^2 * 1/2 : n > 0; n : n < -3 }"))
    [n] -> { (1/2 + n + 1/2 * n^2) : n >= 1; n : n <= -4 }
    >>> print(parse_polynomial("{ S[i, j] -> i * floor(j/2) + 3i }"))
    { S[i, j] -> (3 * i + i * floor(j/2)) }
    """
    return Polynomials(text).function_of_text()


class Polynomials(FunctionParser):
    """The text of a polynomial by pieces."""

    def function_of_text(self) -> PwQPolynomial:
        """The function."""
        params, pieces, home = self.all_pieces()
        return PwQPolynomial(params, merged(added(pieces)), home)

    def all_pieces(self) -> tuple[tuple[str, ...], list[Piece], Space | None]:
        """The parameters, the pieces as they stand, and the space if there is one."""
        try:
            context = self.parameters() if self.at("[") else []
            self.expect("{")
            pieces = [] if self.at("}") else [self.valued(context)]
            while pieces and self.eat(";"):
                pieces.append(self.valued(context))
            if not self.eat("}"):
                raise self.wrong("expected an operator, ':', ';' or '}'")
            self.expect_end()
        except RecursionError:
            raise self.error("the text is nested too deeply") from None
        params, (alike,) = over_both(self.params, pieces)
        return params, alike, pieces[0][0].space if len({s.space.key for s, _ in pieces}) == 1 else None

    def valued(self, context: list) -> Piece:
        """A polynomial, or what else is a value, and the set on which it is that."""
        from ..values.set import Set

        self.scope = {p: self.scope[p] for p in self.params}
        self.pins = list(context)
        tup = PARAMS
        if self.arrow():
            tup = self.tuple()
            self.expect("->")
        value = self.piece_value()
        when = list(self.pins)
        if self.eat(":") and not self.at(";", "}"):
            when.append(self.formula())
        found: tuple[Conjunct, ...] = conjuncts(clauses(Node("all", tuple(when))), (*self.params, *tup.dims))
        return Set._of(self.params, [(Space(None, tup), found)]), value

    def piece_value(self) -> Any:  # noqa: ANN401
        """What a piece has for a value."""
        return self.polynomial()

    def polynomial(self) -> QPolynomial:
        """A sum."""
        value = self.product()
        while self.at("+", "-"):
            sign = 1 if self.eat("+") else -1
            self.k += sign < 0
            value = value + self.product() * sign
        return value

    def product(self) -> QPolynomial:
        """Factors, with signs before them; a number may stand before a factor without `*`."""
        sign = 1
        while self.at("+", "-"):
            sign = -sign if self.at("-") else sign
            self.k += 1
        number = self.toks[self.k][:1].isdigit()
        value = self.power() * sign
        while True:
            if self.at("/"):
                value = value * Fraction(1, int(self.divisor()))
                continue
            if not self.eat("*") and not (number and (self.at("(") or is_name(self.toks[self.k]))):
                return value
            value, number = value * self.power(), False

    def power(self) -> QPolynomial:
        """A factor, with its exponent."""
        value = self.single()
        if not self.eat("^"):
            return value
        exponent = self.toks[self.k]
        if not exponent.isdigit() or int(exponent) > MOST_POWER:
            raise self.wrong(f"expected an exponent of at most {MOST_POWER}")
        self.k += 1
        out = QPolynomial.of(1)
        for _ in range(int(exponent)):
            out = out * value
        return out

    def single(self) -> QPolynomial:
        """A number, a name, a floor, a remainder, or a sum in parentheses."""
        mark = self.k
        if self.eat("("):
            self.deeper()
            inner = self.polynomial()
            self.expect(")")
            self.depth -= 1
            if not self.at("mod", "//"):
                return inner
            self.k = mark  # of an affine expression, then
        if self.at("infty", "NaN") and self.toks[self.k] not in self.scope:
            self.k += 1
            return QPolynomial.of(Number(1 if self.toks[self.k - 1] == "infty" else 0, 0))
        value = self.factor()
        while self.at("mod", "//"):
            value = self.divided(value, 1)
        if self.splits:
            raise self.error("a polynomial has no cases", "give each case its piece: { n : n > 0; 0 : n <= 0 }", mark)
        return QPolynomial.of(value)
