"""Parsing quasi-affine expressions: `2i + floor((j - 1)/4) - max(i, j mod 8)`.

The value of an expression is one `Aff`, with two things that an `Aff` proper can't say:

- Quotients. `i/2` is a rational number, as in isl: `i/2 <= 3` says i <= 6, and a dimension that equals `i/2` is an
  integer, so that i is even. Coefficients may therefore be fractions until `cleared` multiplies them away.
- Cases. `max(a, b)`, and among formulas `a > b ? a : b`, becomes a name of its own, and `splits` remembers what it
  stands for: of the options' conditions one holds, or several whose values agree. `cases` puts the options in where the
  whole formula is known.

A leading number multiplies a factor that is divided already, as in isl: `2i mod 4` is 2*(i mod 4). What follows is
taken from the left: `i*2 mod 4` is (2i) mod 4, `2i mod 4 mod 3` the remainder by 3 of 2*(i mod 4). A sign belongs to
a number that follows it and begins a term: `-3 mod 5` is 2, but `-i mod 5` is -(i mod 5) and `2*-3 mod 5` -2*(3 mod 5).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import lcm
from typing import cast

from ..errors import BudgetExceeded, SetSyntaxError, alike, nearest
from ..values.aff import Aff, named, var
from ..values.build import Constraint
from .tokens import ABS, CONNECTIVES, END, FUNCTIONS, Cursor, is_name

_NOTHING = Aff(())

Case = tuple[tuple[Constraint, ...], Aff]  # (when, value)
Split = tuple[str, list[Case]]  # a name and its options, exactly one of which holds

MOST_CASES = 4096  # of the min, max and abs of one comparison together
MOST_DIGITS = 4000  # of a number: Python itself refuses to read longer ones
QUOTED = frozenset({"(", "⌊", *FUNCTIONS})  # what may follow a number without a `*`, apart from names


class Expressions(Cursor):
    """A parser of expressions; `scope` says what each name stands for, None that any name may be used."""

    integral = True  # whether names stand for integers, so that v > w is v >= w + 1

    def __init__(self, text: str, names: Iterable[str] | None = ()) -> None:
        super().__init__(text)
        self.unsaid: set[str] = set()  # of the names in scope those that the text does not say
        self.scope: dict[str, Aff] | None = None if names is None else {n: var(n) for n in names}
        self.splits: list[Split] = []
        self.made = 0  # how many names were made for splits and existentials
        self.fractional = False  # whether a quotient was read
        self.last: tuple[Aff, Aff, int] = (_NOTHING, _NOTHING, 1)  # the last one: ratio, numerator, denominator

    def expression(self) -> Aff:
        value = self.term()
        while True:
            t = self.toks[self.k]
            if t == "+":
                self.k += 1
                value = value + self.term()
            elif t == "-":
                self.k += 1
                value = value - self.term()
            else:
                return value

    def choice(self) -> Aff:
        """An expression in parentheses, which may depend on a condition where formulas can be read."""
        return self.expression()

    def term(self) -> Aff:
        value = self.divided(self.multiple())
        while self.toks[self.k] == "*":
            self.k += 1
            at = self.k
            value = self.divided(self.times(value, self.factor(), at - 1))
        return value

    def multiple(self, first: bool = True) -> Aff:
        """A factor, divided once, with the signs and numbers before it."""
        toks, sign = self.toks, 1
        while toks[self.k] == "-" or toks[self.k] == "+":
            sign = -sign if toks[self.k] == "-" else sign
            self.k += 1
        t = toks[self.k]
        if not t[:1].isdigit():
            return self.divided(self.factor(), 1) * sign
        number = self.divided(self.number(sign), 1) if first else self.divided(self.number(), 1) * sign
        t = toks[self.k]
        if t == "*" or t in QUOTED or is_name(t):
            self.k += t == "*"
            return self.times(number, self.multiple(False), self.k - 1)
        return number

    def divided(self, value: Aff, most: int = -1) -> Aff:
        """Apply `/`, `mod` and `//` from the left, at most so many; of a negative number of them all."""
        while most:
            t = self.toks[self.k]
            if t == "mod":
                value = self.whole(value) % self.divisor()
            elif t == "//":
                value = self.floored(value, self.divisor())
            elif t == "/":
                value = self.quotient(value, self.divisor())
            else:
                break
            most -= 1
        return value

    def times(self, left: Aff, right: Aff, at: int) -> Aff:
        if not left.terms:
            return scaled(right, left.const)
        if not right.terms:
            return scaled(left, right.const)
        what = "" if self.splits else f" of {left} and {right}"
        raise self.error(f"not affine: a product{_plain(what)}", "one factor must be a number", at)

    def divisor(self) -> int:
        """Step over `/`, `//` or `mod` and the positive number after it."""
        self.k += 1
        mark = self.k
        negative = self.eat("-")
        value = self.factor()
        if value.terms:
            what = "" if self.splits else f" by {value}"
            raise self.error(f"not affine: a division{_plain(what)}", "divide by a positive number", mark)
        number = -value.const if negative else value.const
        if number <= 0 or number.denominator != 1:
            what = "zero" if not number else "a negative number" if number < 0 else "a fraction"
            raise self.error(f"division by {what}", "divide by a positive number", mark)
        return int(number)

    def number(self, sign: int = 1) -> Aff:
        t = self.toks[self.k]
        if len(t) > MOST_DIGITS:
            raise self.error(f"a number of {len(t)} digits", f"at most {MOST_DIGITS}")
        self.k += 1
        value = int(t)
        if self.toks[self.k] == "^":
            self.k += 1
            power = self.toks[self.k]
            if not power.isdigit() or int(power) > MOST_DIGITS:
                raise self.wrong(f"expected an exponent up to {MOST_DIGITS}")
            self.k += 1
            value **= int(power)
        return Aff((), sign * value)

    def factor(self) -> Aff:
        t = self.toks[self.k]
        if self.scope is not None and t in self.scope:
            self.k += 1
            return self.scope[t]
        if t[:1].isdigit():
            return self.number()
        if is_name(t):
            return self.unknown(t)
        if t == "-":
            self.k += 1
            return -self.factor()
        if t not in QUOTED and t != "[":
            power = t == "*" == self.toks[self.k - 1]
            raise self.wrong("expected an expression", "a power of a number is written 10^2" if power else "")
        self.k += 1
        self.deeper()
        if t == "(":
            value = self.choice()
            self.expect(")")
        elif t == "[":
            value = self.floored(self.expression())
            self.expect("]")
        elif t == "⌊":
            value = self.floored(self.expression())
            self.expect("⌋")
        else:
            self.expect("(")
            value = self.function(t)
            self.expect(")")
        self.depth -= 1
        return value

    def unknown(self, name: str) -> Aff:
        """A name that is not in scope."""
        called = self.toks[self.k + 1] == "("
        if self.scope is None and not called:
            self.k += 1
            return var(name)
        known = {f.rstrip("(") for f in FUNCTIONS} if called else [n for n in self.scope or () if n not in self.unsaid]
        if not called and not alike(name, known) and alike(name, CONNECTIVES):
            known = CONNECTIVES
        raise self.error(f"unknown {'function' if called else 'name'} {name!r}", nearest(name, known))

    def function(self, name: str) -> Aff:
        value = self.expression()
        if name == "floor":
            return self.floored(value)
        if name == "ceil":
            return -self.floored(-value)
        if name == "floord" or name == "ceild":
            if self.toks[self.k] != ",":
                raise self.wrong("expected ',' and a divisor")
            sign = 1 if name == "floord" else -1
            return self.floored(value * sign, self.divisor()) * sign
        if name == ABS:
            return self.greatest([value, -value])
        options = [value]
        while self.eat(","):
            options.append(self.expression())
        sign = 1 if name == "max" else -1
        return self.greatest([v * sign for v in options]) * sign

    # ---- quotients

    def quotient(self, value: Aff, divisor: int) -> Aff:
        """The value divided; what it was is kept for a floor that closes right here."""
        self.fractional = True
        terms = tuple([(a, cast(int, Fraction(c, divisor))) for a, c in value.terms])
        ratio = Aff(terms, value.const and cast(int, Fraction(value.const, divisor)))
        self.last = (ratio, value, divisor)
        return ratio

    def cleared(self, value: Aff) -> tuple[Aff, int]:
        """The value as an integer combination over one denominator."""
        if not self.fractional:
            return value, 1
        if type(value.const) is int:
            for _, c in value.terms:
                if type(c) is not int:
                    break
            else:
                return value, 1
        if value is self.last[0]:
            numerator, den = self.cleared(self.last[1])
            return numerator, den * self.last[2]
        den = lcm(value.const.denominator, *(c.denominator for _, c in value.terms))
        return Aff(tuple((a, int(c * den)) for a, c in value.terms), int(value.const * den)), den

    def floored(self, value: Aff, divisor: int = 1) -> Aff:
        value, den = self.cleared(value)
        return value.floordiv(den * divisor)

    def whole(self, value: Aff) -> Aff:
        value, den = self.cleared(value)
        if den != 1:
            raise self.error("a remainder of a quotient", "put the quotient in floor( )")
        return value

    # ---- cases

    def greatest(self, options: list[Aff]) -> Aff:
        """The maximum, as a name that stands for one of the options; the first of equal ones."""
        pairs = [self.cleared(v) for v in options]
        den = lcm(*(d for _, d in pairs))
        values = [v * (den // d) for v, d in pairs]
        scale = Fraction(1, den) if den > 1 else 1
        if all(v.is_constant for v in values):
            return scaled(Aff((), max(v.const for v in values)), scale)
        split: list[Case] = []
        for k, v in enumerate(values):
            split.append((tuple(("ge", v - w - (j < k and self.integral)) for j, w in enumerate(values) if j != k), v))
        return scaled(self.one_of(split), scale)

    def one_of(self, options: list[Case]) -> Aff:
        """A name that stands for the option whose condition holds."""
        self.made += 1
        name = f"#{self.made}"
        self.splits.append((name, options))
        return named(name)

    def cases(self, values: list[Aff]) -> list[tuple[tuple[Constraint, ...], list[Aff]]]:
        """What the values are in each case of the min, max and abs that were read since the last call."""
        out: list[tuple[tuple[Constraint, ...], list[Aff]]] = [((), values)]
        for name, options in reversed(self.splits):
            if len(out) * len(options) > MOST_CASES:
                raise BudgetExceeded(f"an expression has more than {MOST_CASES} cases", hint="split it")
            tables = [(when, {name: value}) for when, value in options]
            out = [
                ((*((kind, e.subs(table)) for kind, e in before), *when), [v.subs(table) for v in vs])
                for before, vs in out
                for when, table in tables
            ]
        self.splits = []
        return out


def _plain(text: str) -> str:
    """Names of existentials as they were written."""
    return re.sub(r"#\d+", "", text)


def scaled(value: Aff, factor: int | Fraction) -> Aff:
    """The value times a number; its coefficients may be fractions from here on, whatever the type says."""
    if type(factor) is int:
        return value * factor
    terms = tuple([(a, cast(int, factor * c)) for a, c in value.terms])
    return Aff(terms, value.const and cast(int, factor * value.const))


def parse_cases(text: str, names: Sequence[str] | None = None) -> list[Case]:
    """An expression as (when, value) pairs of which exactly one holds at each point; with `names`, only those may
    appear. Cost: linear in the text, times the number of cases.

    >>> [(len(when), str(value)) for when, value in parse_cases("max(i, 3) + 1")]
    [(1, 'i + 1'), (1, '4')]

    Raises
    ------
    SetSyntaxError : the text is no expression, or one that isn't an integer everywhere.
    """
    p = Expressions(text, names)
    value = p.expression()
    if p.toks[p.k] != END:
        raise p.wrong("expected the end of the text")
    value, den = p.cleared(value)
    if den != 1:
        raise p.error("expected an integer expression", "a quotient needs floor(e/d) or ceil(e/d), or e // d", 0)
    return [(when, v) for when, (v,) in p.cases([value])]


def parse_aff(text: str, names: Sequence[str] | None = None) -> Aff:
    """One quasi-affine expression; with `names`, only those may appear.

    >>> print(parse_aff("2i + floor((j + 1)/4)"))
    2*i + floor((j + 1)/4)

    Raises
    ------
    SetSyntaxError : the text is no expression, or one of several cases.
    """
    found = parse_cases(text, names)
    if len(found) != 1:
        raise SetSyntaxError("expected a single expression", where=text, hint="min, max and abs have several cases")
    return found[0][1]
