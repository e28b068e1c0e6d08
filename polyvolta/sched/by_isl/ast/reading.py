"""Expressions of loops, `AstExpr`, from the quasi-affine expressions and conditions of `polyvolta.sched.loops`.

What knows which division C may write (`CSpeller`) writes them here with a name for each: `pdiv_q(n, 32)` where `n`
is not negative, `fdiv_q` where it may be, `div` where nothing is rounded. The text is read by operator precedence.

>>> from polyvolta.sets import var
>>> speller = Spelled({"n": (0, None)})
>>> e = read(speller.text(2 * (var("n") // 32) + var("m") // 4 - 1))
>>> print(e.to_C_str())
floord(m, 4) + 2 * (n / 32) - 1
>>> e.get_op_type().name, e.get_op_arg(0).get_op_arg(0).get_op_type().name
('sub', 'fdiv_q')
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from polyvolta.sched.by_isl.ast.expressions import AstExpr, Op
from polyvolta.sched.loops.notation.expressions import CSpeller, Term
from polyvolta.sets import Aff, BudgetExceeded, Set
from polyvolta.sets.values.aff import linear
from polyvolta.sets.values.digits import mod_parts
from polyvolta.sets.values.simplify import Range

_WORD = re.compile(r"\s*(\d+|[^\W\d][\w.']*|&&|\|\||[<>=]=|[-+*/%<>?:^(),])")
_BINARY = (
    {"||": Op.or_}, {"&&": Op.and_}, {"==": Op.eq}, {"<=": Op.le, "<": Op.lt, ">=": Op.ge, ">": Op.gt},
    {"+": Op.add, "-": Op.sub}, {"*": Op.mul},
)  # fmt: skip
_NAMED = {op.name: op for op in (Op.pdiv_q, Op.pdiv_r, Op.zdiv_r, Op.fdiv_q, Op.div, Op.min, Op.max)}


class AsIsl(CSpeller):
    """C whose comparisons are isl's, `n >= c0 + 1`."""

    def ordered(self, more: Sequence[Term], less: Sequence[Term], const: int) -> str:
        return f"{self.sum(more, max(const, 0))} >= {self.sum(less, max(-const, 0))}"


class Spelled(AsIsl):
    """The same whose divisions have names, as isl writes them where a set of what is known tells signs.

    Parameters
    ----------
    ranges : what is known of the values of names, bounds inclusive.
    names : how names are spelled that C cannot say.
    known : the set that loop variables and parameters are in, as parameters, once it is asked for; None for all.
    """

    def __init__(
        self,
        ranges: Mapping[str, Range],
        names: Mapping[str, str] | None = None,
        known: Callable[[], Set | None] = lambda: None,
    ) -> None:
        super().__init__(ranges, names)
        self._known, self._told = known, dict[Aff, bool]()

    def unsigned(self, num: Aff) -> bool:
        """An emptiness test for each sum of which ranges don't tell it; once each."""
        if super().unsigned(num):
            return True
        if num not in self._told:
            self._told[num] = self._never_below(num)
        return self._told[num]

    def _never_below(self, num: Aff) -> bool:
        known = self._known()
        if known is None:
            return False
        below = Set(f"[{', '.join(num.names())}] -> {{ : {num} <= -1 }}")
        try:
            return (known & below).is_empty()
        except BudgetExceeded:
            return False

    def quotient(self, num: Aff, den: int) -> tuple[str, bool]:
        if self.unsigned(num):
            return f"pdiv_q({self.text(num)}, {den})", True
        rest = self.remains(num, den) if self.scope else None
        if rest is not None:
            return f"div({self.text(num - rest)}, {den})", True
        return f"fdiv_q({self.text(num)}, {den})", True

    def remainder(self, num: Aff, den: int) -> str:
        if self.unsigned(num):
            return f"pdiv_r({self.text(num)}, {den})"
        rest = self.remains(num, den) if self.scope else None
        if rest is not None:
            return str(rest)
        if self.unsigned(den - 1 - num):
            return f"(-pdiv_r({self.text(den - 1 - num)}, {den}) + {den - 1})"
        text = self.text(num)
        return f"({text} - {den} * fdiv_q({text}, {den}))"

    def divisible(self, e: Aff) -> str | None:
        """That a remainder has a value, as that of a difference is 0, its numbers the least: `(n - 1) % 3 == 0`."""
        parts = mod_parts(e)
        digits = [part for part in parts if part[2] is not None]
        rest = sum([part[3] for part in parts if part[2] is None], Aff(()))
        if len(digits) != 1 or rest.terms:
            return super().divisible(e)
        ((c, num, den, _),) = digits
        if den is None or rest.const % c or not 0 <= -rest.const // c < den:
            return super().divisible(e)
        num = _least(num + rest.const // c, den)
        return self.multiple(num if any(k > 0 for _, k in num.terms) else _least(-num, den), den)

    def multiple(self, num: Aff, den: int) -> str:
        return f"zdiv_r({self.text(num)}, {den}) == 0"

    def extreme(self, kind: str, texts: Sequence[str]) -> str:
        return f"{kind}({', '.join(texts)})"


def _least(e: Aff, den: int) -> Aff:
    """An expression with the same remainders, its numbers the least, -den/2 < c <= den/2."""

    def least(c: int) -> int:
        return den // 2 - (den // 2 - c) % den

    return linear({a: least(c) for a, c in e.terms}, least(e.const))


@lru_cache(maxsize=4096)
def read(text: str) -> AstExpr:
    """The expression of a text by `Spelled`; linear."""
    if "^" in text:  # of swizzles, for which isl has no operation
        return AstExpr(text)
    words = [*_WORD.findall(text), ""]
    found, end = _choice(words, 0)
    assert end == len(words) - 1, text
    return found


def _choice(words: list[str], at: int) -> tuple[AstExpr, int]:
    """`a ? b : c`, or what binds closer."""
    e, at = _binary(words, at, 0)
    if words[at] != "?":
        return e, at
    then, at = _choice(words, at + 1)
    other, at = _choice(words, at + 1)  # behind the colon
    return e.of(Op.select, then, other), at


def _binary(words: list[str], at: int, level: int) -> tuple[AstExpr, int]:
    """Operands with signs of a level or closer ones between them, from the left to the right."""
    if level == len(_BINARY):
        return _operand(words, at)
    e, at = _binary(words, at, level + 1)
    while words[at] in _BINARY[level]:
        op = _BINARY[level][words[at]]
        other, at = _binary(words, at + 1, level + 1)
        e = e.of(op, other)
    return e, at


def _operand(words: list[str], at: int) -> tuple[AstExpr, int]:
    """A number, a name, an operation with a name, the negative of one, or anything in parentheses."""
    word = words[at]
    if word == "-":
        if words[at + 1].isdecimal():
            return AstExpr(-int(words[at + 1])), at + 2
        e, at = _operand(words, at + 1)
        return e.neg(), at
    if word == "(":
        e, at = _choice(words, at + 1)
        return e, at + 1
    if word.isdecimal():
        return AstExpr(int(word)), at + 1
    if words[at + 1] != "(":
        return AstExpr(word), at + 1
    args, at = [], at + 1
    while words[at] != ")":
        e, at = _choice(words, at + 1)
        args.append(e)
    return AstExpr(None, _NAMED[word], _flat(_NAMED[word], args)), at + 1


def _flat(op: Op, args: Sequence[AstExpr]) -> tuple[AstExpr, ...]:
    """The operands, those of a least or greatest value among values instead of it."""
    if op not in (Op.min, Op.max):
        return tuple(args)
    return tuple(inner for e in args for inner in (e.args if e.op is op else (e,)))
