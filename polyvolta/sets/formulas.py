"""Parsing formulas: `0 <= i < N and (exists e : j = 2e) or not (i = 3)`.

A formula becomes a disjunction of clauses, each a conjunction of `e = 0` and `e >= 0` under existentials, and
each clause a conjunct whose existentials are projected out. Negations are pushed to the atoms; a negated
`exists` is a set difference. `or` binds weaker than `and`, that weaker than `not`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from . import conjunct as cj
from . import project as pj
from .aff import Aff, var
from .build import Constraint, RowBuilder
from .conjunct import Conjunct
from .errors import BudgetExceeded, SetSyntaxError
from .expressions import Case, Expressions
from .tokens import COMPARISONS

MOST_CLAUSES = 4096  # a formula of more alternatives is refused: each is a conjunct
NEGATED = {"<=": ">", ">": "<=", ">=": "<", "<": ">=", "=": "!=", "!=": "="}


@dataclass(frozen=True, slots=True)
class Clause:
    """One conjunction: atoms, the names of its existentials, and finished conjuncts over names."""

    atoms: tuple[Constraint, ...] = ()
    exists: tuple[str, ...] = ()
    solid: tuple[tuple[tuple[str, ...], Conjunct], ...] = ()

    def both(self, other: Clause) -> Clause:
        return Clause(self.atoms + other.atoms, self.exists + other.exists, self.solid + other.solid)

    def renamed(self, table: dict[str, str]) -> Clause:
        """With other names for some of its names."""
        atoms = tuple((kind, e.rewrite(lambda name: var(table.get(name, name)))) for kind, e in self.atoms)
        solid = tuple((tuple(table.get(n, n) for n in over), c) for over, c in self.solid)
        return Clause(atoms, self.exists, solid)


Formula = tuple[Clause, ...]  # a disjunction
TRUE: Formula = (Clause(),)
FALSE: Formula = ()


def conj(a: Formula, b: Formula) -> Formula:
    """Both formulas, in disjunctive normal form."""
    if len(a) * len(b) > MOST_CLAUSES:
        raise BudgetExceeded(
            f"the formula has more than {MOST_CLAUSES} alternatives",
            hint="split it, or intersect with one part at a time",
        )
    return tuple(x.both(y) for x in a for y in b)


def pinned(name: str, cases: list[Case]) -> Formula:
    """The formula `name = expression`."""
    return tuple(Clause((*when, ("eq", value - var(name)))) for when, value in cases)


class Formulas(Expressions):
    """A parser of formulas over the names in `scope`."""

    existentials = 0  # how many `exists` there were, to keep their names apart

    def formula(self, positive: bool = True) -> Formula:
        """Read a formula; its negation when not `positive`."""
        left = self.conjunction(positive)
        while self.eat("or"):
            right = self.conjunction(positive)
            left = left + right if positive else conj(left, right)
        if self.at("implies"):
            raise self.wrong("expected 'and' or 'or'", "write 'a implies b' as '(not a) or b'")
        return left

    def conjunction(self, positive: bool) -> Formula:
        left = self.literal(positive)
        while self.eat("and"):
            right = self.literal(positive)
            left = conj(left, right) if positive else left + right
        return left

    def literal(self, positive: bool) -> Formula:
        if self.eat("not"):
            return self.literal(not positive)
        if self.eat("true"):
            return TRUE if positive else FALSE
        if self.eat("false"):
            return FALSE if positive else TRUE
        if self.eat("exists"):
            return self.existential(positive)
        if not self.at("("):
            return self.comparison(positive)
        mark = self.k
        try:  # a parenthesis may hold a formula or an expression: try the formula first
            self.k += 1
            inner = self.formula(positive)
            self.expect(")")
            if not self.at(*COMPARISONS, "+", "-", "*", "/", "//", "mod", ","):
                return inner
            failure = None
        except SetSyntaxError as error:
            failure = error
        self.k = mark
        try:
            return self.comparison(positive)
        except SetSyntaxError as error:  # the reading that got further says more
            raise failure if failure is not None and failure.at > error.at else error from None

    def existential(self, positive: bool) -> Formula:
        bracket = self.eat("(")
        outer = tuple(self.scope)
        names, body = [], TRUE
        while True:
            if self.tok.text in self.scope:
                raise self.wrong("expected a name that is not in use")
            name = self.name("the name of an existential")
            self.scope.append(name)
            names.append(name)
            if self.eat("="):
                body = conj(body, pinned(name, self.expression()))
            if not self.eat(","):
                break
        self.expect(":")
        body = conj(body, self.formula())
        if bracket:
            self.expect(")")
        self.scope = list(outer)
        self.existentials += 1
        table = {n: f"{n}#{self.existentials}" for n in names}
        body = tuple(replace(r, exists=(*r.exists, *table.values())) for r in (c.renamed(table) for c in body))
        return body if positive else self.complement(body, outer)

    def complement(self, body: Formula, over: tuple[str, ...]) -> Formula:
        """The points, of the names `over`, that satisfy no clause."""
        left = [cj.universe(len(over))]
        for c in self.conjuncts(body, over):
            for knife in pj.with_known_divs(c):
                left = [piece for part in left for piece in cj.subtract(part, knife)]
        return tuple(Clause(solid=((over, c),)) for c in left)

    def comparison(self, positive: bool) -> Formula:
        lists, operators = [self.expressions()], []
        while self.at(*COMPARISONS):
            operators.append(self.tok.text)
            self.k += 1
            lists.append(self.expressions())
        if not operators:
            raise self.wrong("expected a comparison such as '<=' or '='")
        out = TRUE if positive else FALSE
        for left, op, right in zip(lists, operators, lists[1:], strict=False):
            for a, b in product(left, right):
                atom = _compare(a, op if positive else NEGATED[op], b)
                out = conj(out, atom) if positive else out + atom
        return out

    def expressions(self) -> list[list[Case]]:
        """Expressions in a list: `0 <= i, j < N` bounds both."""
        out = [self.expression()]
        while self.eat(","):
            out.append(self.expression())
        return out

    def conjuncts(self, body: Formula, names: Sequence[str]) -> tuple[Conjunct, ...]:
        """The conjuncts of a formula over dimensions, its existentials eliminated as far as that is cheap."""
        out: dict[Conjunct, None] = {}
        for clause in body:
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


def _compare(left: list[Case], op: str, right: list[Case]) -> Formula:
    """The formula `left op right`; cases are exhaustive and exclusive."""
    out: list[Clause] = []
    for (w, a), (x, b) in product(left, right):
        d: Aff = a - b
        atoms: dict[str, list[Constraint]] = {
            "<=": [("ge", -d)], ">=": [("ge", d)], "<": [("ge", -d - 1)], ">": [("ge", d - 1)],
            "=": [("eq", d)], "!=": [("ge", d - 1), ("ge", -d - 1)],
        }  # fmt: skip
        out += [Clause((*w, *x, atom)) for atom in atoms[op]]
    return tuple(out)
