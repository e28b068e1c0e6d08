"""Integer values of a nest: quasi-affine expressions, minima and maxima of them, and comparisons.

`range(max(0, i - 3), min(i, N))` bounds a loop by a maximum from below and a minimum from above, which is one
conjunction: i' >= 0, i' >= i - 3, i' < i, i' < N. The other way round it is a union. So a minimum or maximum is kept as
such as long as it can be (sums with expressions, multiples, divisions), and only else by cases:

    max(i, j) mod 4   is   i mod 4 where i >= j,   j mod 4 where i < j

A condition is a tree of comparisons, as in the formulas of sets, which become unions of conjunctions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

from polyvolta.sets import Aff, aff
from polyvolta.sets.text.formulas import NO, YES, Leaf, Node, Tree
from polyvolta.sets.values.build import Constraint

Case = tuple[tuple[Constraint, ...], Aff]

OPPOSITE = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Value:
    """An integer: the largest (`sign` 1) or smallest (-1) of `options`, one of them alone, or by cases (`sign` 0).

    Parameters
    ----------
    cases : (when, expression) pairs of which exactly one holds; without them, the options say it.
    """

    options: tuple[Aff, ...]
    sign: int = 1
    cases: tuple[Case, ...] = ()

    @staticmethod
    def of(e: Aff | int | str) -> Value:
        return Value((aff(e),))

    @property
    def constant(self) -> int | None:
        """The number that it is, if it is one."""
        e = self.alone
        return e.const if e is not None and e.is_constant else None

    @property
    def alone(self) -> Aff | None:
        """The one expression that it is, if it is one."""
        return self.options[0] if len(self.options) == 1 and not self.cases else None

    def by_cases(self) -> tuple[Case, ...]:
        """(when, expression) pairs of which exactly one holds."""
        if self.cases:
            return self.cases
        out = []
        for k, v in enumerate(self.options):
            others = [(v - w) * self.sign - (j < k) for j, w in enumerate(self.options) if j != k]
            out.append((tuple(("ge", d) for d in others), v))
        return tuple(out)

    def map(self, f: Callable[[Aff], Aff], falling: bool | None = None) -> Value:
        """A function of the value: `falling` says whether it turns the order round, None that it does neither."""
        if self.cases or (falling is None and len(self.options) > 1):
            return _by_cases([(when, f(e)) for when, e in self.by_cases()])
        return Value(tuple(dict.fromkeys(map(f, self.options))), -self.sign if falling else self.sign)

    def __add__(self, other: Value) -> Value:
        for a, b in ((self, other), (other, self)):
            e = b.alone
            if e is not None:
                return a.map(e.__add__, falling=False)
        if not self.cases and not other.cases and self.sign == other.sign:
            sums = [a + b for a, b in product(self.options, other.options)]
            return Value(tuple(dict.fromkeys(sums)), self.sign)
        return _by_cases([((*w, *v), a + b) for (w, a), (v, b) in product(self.by_cases(), other.by_cases())])

    def __sub__(self, other: Value) -> Value:
        return self + other * -1

    def __mul__(self, factor: int) -> Value:
        return self.map(lambda x: x * factor, falling=factor < 0) if factor else Value.of(0)

    def floordiv(self, den: int) -> Value:
        """Python's `//` by a number that is not 0."""
        if den < 0:
            return (self * -1).floordiv(-den)
        return self.map(lambda x: x.floordiv(den), falling=False)

    def mod(self, den: int) -> Value:
        """Python's `%` by a number that is not 0: the sign is the divisor's."""
        if den < 0:
            return (self * -1).mod(-den) * -1
        return self.map(lambda x: x % den)


def extreme(values: Sequence[Value], sign: int) -> Value:
    """The largest (1) or smallest (-1) of some values."""
    if all(not v.cases and (v.sign == sign or len(v.options) == 1) for v in values):
        options = list(dict.fromkeys(e for v in values for e in v.options))
        if all(e.is_constant for e in options):
            options = [(max if sign > 0 else min)(options, key=lambda e: e.const)]
        return Value(tuple(options), sign)
    out: list[Case] = []
    for chosen in product(*(v.by_cases() for v in values)):
        given = tuple(c for when, _ in chosen for c in when)
        best = Value(tuple(dict.fromkeys(e for _, e in chosen)), sign)
        out += [((*given, *when), e) for when, e in best.by_cases()]
    return _by_cases(out)


def _by_cases(cases: Sequence[Case]) -> Value:
    if len({e for _, e in cases}) == 1:
        return Value((cases[0][1],))
    return Value((), 0, tuple(cases))


# ---- conditions


def compare(a: Value, op: str, b: Value) -> Tree:
    """`a op b` with one of < <= > >= = != as a formula."""
    d = a - b
    if d.cases or len(d.options) == 1 or op not in OPPOSITE:
        return Leaf((op,), tuple((when, ((e,),)) for when, e in d.by_cases()))
    every = d.sign > 0 if op in ("<", "<=") else d.sign < 0
    return Node("all" if every else "any", tuple(Leaf((op,), (((), ((e,),)),)) for e in d.options))


def equals(a: Value, name: Aff) -> Tree:
    """`name = a` as a formula."""
    return Leaf(("=",), tuple((when, ((e - name,),)) for when, e in a.by_cases()))


def both(trees: Sequence[Tree]) -> Tree:
    """Their conjunction."""
    return trees[0] if len(trees) == 1 else Node("all", tuple(trees)) if trees else YES


def negated(tree: Tree) -> Tree:
    """Its negation."""
    return NO if tree == YES else YES if tree == NO else Node("not", (tree,))
