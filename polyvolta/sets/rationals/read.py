"""Reading sets and relations of rational points: `{ rat: [i] : 0 <= 2i <= 9 }`.

The notation is that of integer ones, each piece with `rat:` in front. What differs is the meaning: `i < 3` is just
that, where it is `i <= 2` of integers, and `exists` is over rational numbers. isl itself reads `i < 3` as `i <= 2`
there, too. Floors and remainders make integers of what is none, and are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..budgets import spend
from ..errors import BudgetExceeded
from ..text.formulas import Leaf, Tree, alternatives
from ..text.parse import Parser
from ..values.aff import Aff, named, var
from ..values.alternatives import MOST_CLAUSES
from ..values.build import Constraint, expression
from ..values.space import Space
from .polyhedron import Polyhedron, Row, conjoin, polyhedron, project, subtract_all, universe


def parse(text: str, is_map: bool = False) -> tuple[tuple[str, ...], list[tuple[Space, tuple[Polyhedron, ...]]]]:
    """Parameters and parts of a set or relation of rational points.

    Raises
    ------
    SetSyntaxError : with the line, a caret and what was expected.
    BudgetExceeded : the formula has thousands of alternatives.
    """
    return _Parser(text).relation(is_map)


def bound(text: str, names: Sequence[str]) -> tuple[Aff, int]:
    """An affine expression in some names, as an integer one over a number.

    >>> value, den = bound("(N - 1)/2 + i", ["N", "i"])
    >>> str(value), den
    ('N + 2*i - 1', 2)
    """
    parser = _Parser(text)
    parser.scope = {name: var(name) for name in names}
    value = parser.expression()
    parser.expect_end()
    if parser.splits:
        raise parser.error("expected a single expression", "min, max and abs have several cases", 0)
    return parser.cleared(value)


class _Parser(Parser[Polyhedron]):
    integral = False

    def part(self, is_map: bool, context: list[Tree]) -> tuple[Space, tuple[Polyhedron, ...]]:
        if self.toks[self.k] != "rat" or self.toks[self.k + 1] != ":":
            raise self.wrong("expected 'rat:'", "every piece has it, or none; Set(...) reads a text without")
        self.k += 2
        if self.at(";", "}"):
            hint = "{ rat: : } has the one point without dimensions, { } has none"
            raise self.wrong("expected a tuple such as 'S[i, j]', or ':'", hint)
        return super().part(is_map, context)

    def pieces(self, tree: Tree, names: tuple[str, ...]) -> tuple[Polyhedron, ...]:
        return tuple(dict.fromkeys(polyhedra(tree, names)))

    def conditions(self, tree: Tree, holds: bool, mark: int) -> list[tuple[Constraint, ...]]:
        names = tuple(str(v) for v in self.scope.values())
        table = {k: named(name) for k, name in enumerate(names, 1)}
        return [
            tuple((kind, expression(row, table)) for kind, rows in _kinds(p) for row in rows)
            for p in polyhedra(tree, names, holds)
        ]

    def floored(self, value: Aff, divisor: int = 1) -> Aff:
        if value.terms:
            raise self.error("a floor of rational points", "exists (e : ...) is over rational numbers here, too")
        return super().floored(value, divisor)

    def whole(self, value: Aff) -> Aff:
        if value.terms:
            raise self.error("a remainder of rational points", "Set(...) without 'rat:' says integer points")
        return super().whole(value)


def _kinds(p: Polyhedron) -> tuple[tuple[str, tuple[Row, ...]], ...]:
    return ("eq", p.eqs), ("ge", p.ineqs), ("gt", p.strict)


def polyhedra(tree: Tree, names: tuple[str, ...], positive: bool = True) -> list[Polyhedron]:
    """The points over some names at which a formula holds, or does not.

    Raises
    ------
    BudgetExceeded : there are thousands of pieces.
    """
    if isinstance(tree, Leaf):
        found = (
            of_constraints((*when, *atoms), names)
            for when, values in tree.cases
            for atoms in alternatives(tree.operators, values, positive, lambda e: ("gt", e))
        )
        return [p for p in found if p is not None]
    if tree.kind == "not":
        return polyhedra(tree.trees[0], names, not positive)
    if tree.kind == "exists":
        wide = _all((polyhedra(t, (*names, *tree.bound)) for t in tree.trees), len(names) + len(tree.bound))
        drop = tuple(range(len(names), len(names) + len(tree.bound)))
        out = [project(p, drop) for p in wide]
        return out if positive else subtract_all([universe(len(names))], out)
    parts = (polyhedra(t, names, positive) for t in tree.trees)
    return _all(parts, len(names)) if (tree.kind == "all") is positive else [p for found in parts for p in found]


def _all(several: Iterable[list[Polyhedron]], n: int) -> list[Polyhedron]:
    """The points in one polyhedron of each list."""
    out = [universe(n)]
    for found in several:
        spend(len(out) * len(found))
        out = [both for p in out for q in found if (both := conjoin(p, q)) is not None]
        if len(out) > MOST_CLAUSES:
            hint = "split it, or intersect with one part at a time"
            raise BudgetExceeded(f"the formula has more than {MOST_CLAUSES} alternatives", hint=hint)
    return out


def of_constraints(constraints: Iterable[Constraint], names: Sequence[str]) -> Polyhedron | None:
    """The polyhedron of constraints on names, affine ones; None if it has no point."""
    column = {name: k for k, name in enumerate(names, 1)}
    rows: dict[str, list[Row]] = {"eq": [], "ge": [], "gt": []}
    for kind, e in constraints:
        row = [e.const, *[0] * len(names)]
        for atom, c in e.terms:
            assert isinstance(atom, str), "floors are refused before"
            row[column[atom]] = c
        rows[kind].append(tuple(row))
    return polyhedron(len(names), rows["eq"], rows["ge"], rows["gt"])
