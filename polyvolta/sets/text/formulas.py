"""Parsing formulas: `0 <= i < N and (exists e : j = 2e) or not (i = 3)`.

A formula is read into a tree, whose leaves are comparisons. The tree is then spread out to a disjunction of
clauses, each a conjunction of `e = 0` and `e >= 0` under existentials, negations pushed to the leaves on the way;
each clause becomes a conjunct whose existentials are projected out. A negated `exists` is a set difference.
`implies` binds weakest, then `or`, `and`, `not`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import product
from math import lcm
from typing import NamedTuple

from ..conjuncts import conjunct as cj
from ..conjuncts import project as pj
from ..conjuncts.conjunct import Conjunct
from ..conjuncts.implies import subtract
from ..values.aff import Aff, named
from ..values.alternatives import Clause, Formula, multiplied
from ..values.build import Constraint, RowBuilder
from .expressions import Expressions, scaled
from .tokens import COMPARISONS, CONNECTIVES, LEXICOGRAPHIC

SINGLE = frozenset(("<=", "<", ">=", ">", "="))  # comparisons of one alternative
NEGATED = {
    "<=": ">", ">": "<=", ">=": "<", "<": ">=", "=": "!=", "!=": "=",
    "<<": ">>=", ">>=": "<<", ">>": "<<=", "<<=": ">>",
}  # fmt: skip


# ---- trees


class Leaf(NamedTuple):
    """A chain of comparisons `value op 0`, of one value or, for a lexicographic one, of several; in each case of
    min, max and abs the values are others."""

    operators: tuple[str, ...]
    cases: tuple[tuple[tuple[Constraint, ...], tuple[tuple[Aff, ...], ...]], ...]


class Node(NamedTuple):
    """`all` or `any` of some trees; `not` or `exists` of one."""

    kind: str
    trees: tuple[Tree, ...]
    bound: tuple[str, ...] = ()  # by an `exists`
    free: tuple[str, ...] = ()  # the names around it


Tree = Leaf | Node
YES, NO = Node("all", ()), Node("any", ())


class Formulas(Expressions):
    """A parser of formulas over the names in `scope`."""

    scope: dict[str, Aff]  # type: ignore[assignment]
    bracketed = False  # whether the present comparison has tuples in brackets

    def formula(self) -> Tree:
        left = self.disjunction()
        if self.eat("implies"):
            return Node("any", (Node("not", (left,)), self.formula()))
        return left

    def disjunction(self) -> Tree:
        trees = [self.conjunction()]
        while self.eat("or"):
            trees.append(self.conjunction())
        return trees[0] if len(trees) == 1 else Node("any", tuple(trees))

    def conjunction(self) -> Tree:
        trees = [self.literal()]
        while self.eat("and"):
            trees.append(self.literal())
        return trees[0] if len(trees) == 1 else Node("all", tuple(trees))

    def literal(self) -> Tree:
        negative = False
        while self.eat("not"):
            negative = not negative
        t = self.toks[self.k]
        if t == "true" or t == "false":
            self.k += 1
            tree: Tree = YES if t == "true" else NO
        elif t == "exists":
            self.k += 1
            tree = self.existential()
        elif t == "(" and self.holds_formula():
            self.k += 1
            self.deeper()
            tree = self.formula()
            self.depth -= 1
            self.expect(")")
        else:
            tree = self.comparison()
        return Node("not", (tree,)) if negative else tree

    def holds_formula(self) -> bool:
        """Whether the parenthesis at this token holds a formula, not an expression, as a choice is one."""
        inside: list[list[bool]] = []  # of each parenthesis that is open: whether it compares, whether it chooses
        for k in range(self.k, len(self.toks)):
            t = self.toks[k]
            if t == "(":
                inside.append([False, False])
            elif t == ")":
                compares, chooses = inside.pop()
                if not inside:
                    return compares and not chooses
                inside[-1][0] |= compares and not chooses
            elif t == "?":
                inside[-1][1] = True
            elif t in COMPARISONS or t in CONNECTIVES:
                if not self.asks:
                    return True
                inside[-1][0] = True
        return inside[0][0] and not inside[0][1]  # it is not closed

    def choice(self) -> Aff:
        """An expression, or one of two: `i > 0 ? i : -i`, where the last may be a choice again."""
        if not self.asks or not self.chooses():
            return self.expression()
        mark, self.splits, outer = self.k, [], self.splits
        condition = self.formula()
        self.splits = outer
        self.expect("?")
        values = [self.choice()]
        self.expect(":")
        values.append(self.choice())
        pairs = [self.cleared(v) for v in values]
        den = lcm(*(d for _, d in pairs))
        options = []
        for (value, own), holds in zip(pairs, (True, False), strict=True):
            options += [(atoms, value * (den // own)) for atoms in self.conditions(condition, holds, mark)]
        return scaled(self.one_of(options), Fraction(1, den) if den > 1 else 1)

    def conditions(self, tree: Tree, holds: bool, mark: int) -> list[tuple[Constraint, ...]]:
        """The alternatives of a condition at token `mark` that holds, or doesn't."""
        found = clauses(tree, holds)
        if any(c.exists or c.solid for c in found):
            raise self.error("a choice by a condition with 'exists'", "write floors, or a piece for each", mark)
        return [c.atoms for c in found]

    def chooses(self) -> bool:
        """Whether a `?` comes before the expression at this token ends."""
        depth = 0
        for t in self.toks[self.k :]:
            if t in ("(", "["):
                depth += 1
            elif t in (")", "]"):
                depth -= 1
            if depth < 0 or not depth and t in (":", ";", "}"):
                return False
            if not depth and t == "?":
                return True
        return False

    def existential(self) -> Node:
        bracket = self.eat("(")
        self.deeper()
        free = tuple(str(v) for v in self.scope.values())
        names: list[str] = []
        trees: list[Tree] = []
        while True:
            if self.toks[self.k] in self.scope:
                raise self.wrong("expected a name that is not in use")
            name = self.name("the name of an existential")
            self.made += 1
            self.scope[name] = named(f"{name}#{self.made}")
            names.append(name)
            if self.eat("="):
                trees.append(self.pinned(self.scope[name], self.expression()))
            if not self.eat(","):
                break
        self.expect(":")
        trees.append(self.formula())
        if bracket:
            self.expect(")")
        self.depth -= 1
        bound = tuple(str(self.scope.pop(n)) for n in names)
        return Node("exists", tuple(trees), bound, free)

    def pinned(self, name: Aff, value: Aff) -> Leaf:
        """The formula `name = value`."""
        return self.leaf(["="], [(value - name,)])

    def comparison(self) -> Leaf:
        """A chain of comparisons of expressions, or of lists: `0 <= i, j < N` bounds both."""
        self.bracketed = False
        left, operators, values = self.expressions(), [], []
        while True:
            op = self.toks[self.k]
            if op not in COMPARISONS:
                break
            self.k += 1
            right = self.expressions()
            if self.bracketed and op not in LEXICOGRAPHIC:
                raise self.error(f"tuples have no {op!r}", "compare them with << <<= >> or >>=, or entry by entry")
            if op in LEXICOGRAPHIC:
                if len(left) != len(right):
                    raise self.error(f"{op!r} compares {len(left)} expressions with {len(right)}")
                operators.append(op)
                values.append(tuple([a - b for a, b in zip(left, right)]))
            else:
                for a, b in product(left, right):
                    operators.append(op)
                    values.append((a - b,))
            left = right
        if not operators:
            raise self.wrong("expected a comparison such as '<=' or '='")
        return self.leaf(operators, values)

    def leaf(self, operators: list[str], values: list[tuple[Aff, ...]]) -> Leaf:
        if self.fractional:
            values = [tuple(self.cleared(v)[0] for v in vs) for vs in values]
        if not self.splits:
            return Leaf(tuple(operators), (((), tuple(values)),))
        flat = self.cases([v for vs in values for v in vs])
        shapes = [len(vs) for vs in values]
        return Leaf(tuple(operators), tuple((when, _regrouped(vs, shapes)) for when, vs in flat))

    def expressions(self) -> list[Aff]:
        """Expressions in a list, in brackets if they are compared as a tuple: `[i, j] << [k, l]`."""
        brackets = self.toks[self.k] == "[" and self.is_tuple()
        self.k += brackets
        self.bracketed |= brackets
        out = [self.expression()]
        while self.toks[self.k] == ",":
            self.k += 1
            out.append(self.expression())
        if brackets:
            self.expect("]")
        return out

    def is_tuple(self) -> bool:
        """Whether the bracket at this token holds a tuple, not the inside of a floor."""
        close = self.closing(self.k)
        return self.toks[min(close + 1, len(self.toks) - 1)] in LEXICOGRAPHIC or any(
            self.toks[k] == "," and self.depth_between(self.k, k) == 1 for k in range(self.k, close)
        )

    def depth_between(self, first: int, last: int) -> int:
        """How many brackets are open at `last` of those from `first` on."""
        return sum((t in ("(", "[")) - (t in (")", "]")) for t in self.toks[first:last])


def _regrouped(values: Sequence[Aff], shapes: Iterable[int]) -> tuple[tuple[Aff, ...], ...]:
    rest = iter(values)
    return tuple(tuple(next(rest) for _ in range(n)) for n in shapes)


# ---- from trees to clauses


def clauses(tree: Tree, positive: bool = True) -> Formula:
    """The tree, or its negation, in disjunctive normal form.

    Raises
    ------
    BudgetExceeded : there are thousands of alternatives.
    """
    if isinstance(tree, Leaf):
        splits = positive and sum([op not in SINGLE for op in tree.operators])
        if splits > 1:  # each comparison by itself
            return tuple([c for when, values in tree.cases for c in _chain(when, tree.operators, values)])
        return tuple(
            Clause((*when, *atoms))
            for when, values in tree.cases
            for atoms in alternatives(tree.operators, values, positive)
        )
    if tree.kind == "not":
        return clauses(tree.trees[0], not positive)
    if tree.kind == "exists":
        body = multiplied(clauses(t) for t in tree.trees)
        if positive:
            return tuple(Clause(c.atoms, c.exists + tree.bound, c.solid) for c in body)
        return _complement(body, tree.free, tree.bound)
    parts = (clauses(t, positive) for t in tree.trees)
    return multiplied(parts) if (tree.kind == "all") is positive else tuple(c for f in parts for c in f)


def _chain(when: tuple[Constraint, ...], operators: Sequence[str], values: Sequence[tuple[Aff, ...]]) -> Formula:
    """A chain of comparisons, of which several are disjunctions."""
    each = zip(operators, values, strict=True)
    return multiplied(
        [(Clause(when),), *(tuple([Clause(tuple(a)) for a in _compared(op, v, _above)]) for op, v in each)]
    )


def _above(value: Aff) -> Constraint:
    """That an integer is above 0."""
    return ("ge", value - 1)


def alternatives(
    operators: Sequence[str],
    values: Sequence[tuple[Aff, ...]],
    positive: bool,
    above: Callable[[Aff], Constraint] = _above,
) -> list[list[Constraint]]:
    """The chain of comparisons with 0, or its negation, as a disjunction; `above` says that a value is above 0."""
    if not positive:
        return [a for op, vs in zip(operators, values, strict=True) for a in _compared(NEGATED[op], vs, above)]
    out: list[list[Constraint]] = [[]]
    for op, vs in zip(operators, values, strict=True):
        found = _compared(op, vs, above)
        out = [a + b for a in out for b in found] if len(found) > 1 else [a + found[0] for a in out]
    return out


def _compared(op: str, values: tuple[Aff, ...], above: Callable[[Aff], Constraint]) -> list[list[Constraint]]:
    """`values op 0` as a disjunction; the first value that is not 0 decides a lexicographic comparison."""
    d = values[0]
    match op:
        case "<=":
            return [[("ge", -d)]]
        case ">=":
            return [[("ge", d)]]
        case "<":
            return [[above(-d)]]
        case ">":
            return [[above(d)]]
        case "=":
            return [[("eq", d)]]
        case "!=":
            return [[above(d)], [above(-d)]]
    strict = "<" if op[0] == "<" else ">"
    out = []
    for k, v in enumerate(values):
        before: list[Constraint] = [("eq", w) for w in values[:k]]
        last = strict if k < len(values) - 1 or len(op) == 2 else strict + "="
        out += [before + a for a in _compared(last, (v,), above)]
    return out


# ---- from clauses to conjuncts


def conjuncts(formula: Formula, names: Sequence[str]) -> tuple[Conjunct, ...]:
    """The conjuncts of a formula over dimensions, its existentials eliminated as far as that is cheap."""
    out: dict[Conjunct, None] = {}
    for clause in formula:
        if clause.solid:  # these may speak of the clause's existentials, which stand among the dimensions then
            every = [*names, *clause.exists]
            c = RowBuilder(every).conjunct(clause.atoms)
            for over, solid in clause.solid:
                moved = cj.reindex(solid, len(every), tuple([every.index(n) for n in over]))
                c = None if c is None else cj.conjoin(c, moved)
            c = None if c is None else pj.project(c, tuple(range(len(names), len(every))))
        else:
            c = pj.eliminate(RowBuilder(names, clause.exists).conjunct(clause.atoms))
        if c is not None:
            out[c] = None
    return tuple(out)


def _complement(body: Formula, free: tuple[str, ...], bound: tuple[str, ...]) -> Formula:
    """The points, of the names `free`, for which no value of `bound` satisfies the body."""
    left = [cj.universe(len(free))]
    for c in conjuncts(tuple(Clause(k.atoms, k.exists + bound, k.solid) for k in body), free):
        for knife in pj.with_known_divs(c):
            left = [piece for part in left for piece in subtract(part, knife)]
    return tuple(Clause(solid=((free, c),)) for c in left)
