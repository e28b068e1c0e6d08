"""Parsing piecewise functions.

    [N] -> { S[i] -> A[(floor(i/32)), (max(i, N))] : 0 <= i < N; S[i] -> A[0, i] : i < 0 }

The notation is that of maps, but every output is an expression; a function of parameters alone has no arrow:
`[N] -> { [(N - 1)] : N > 0 }`. An expression with min, max or abs gives a cell for each of its cases. A component may
also be piecewise by itself, as isl prints it: `{ [i] -> [((i) : i >= 0; (-i) : i < 0)] }`. No piece at all, `{ }`, is
the function of parameters to the integers that has no value anywhere.
"""

from __future__ import annotations

from functools import reduce
from itertools import product
from typing import Any

from ..conjuncts.conjunct import Conjunct
from ..errors import SpaceMismatch
from ..text.formulas import Node, Tree, clauses, conjuncts
from ..text.parse import ConjunctParser, all_of
from ..text.tokens import is_name
from ..values.aff import Aff
from ..values.space import PARAMS, Space, Tuple, distinct, renamed
from .cells import Cell, disjoint

Option = tuple[Tree, tuple[Aff, ...]]  # (when, values)


FRACTION = "the value would be a fraction"  # what a text is refused for


def parse_piecewise(text: str) -> tuple[tuple[str, ...], Space, list[Cell]]:
    """Parameters, space and disjoint cells of a piecewise function.

    Raises
    ------
    SetSyntaxError : with the line, a caret and what was expected.
    SpaceMismatch : the pieces are in several spaces.
    NotAFunction : two pieces give different values at one point.
    """
    params, found = parse_pieces(text)
    if len(found) > 1:
        (first, _), (second, _), *_ = found
        raise SpaceMismatch("a function has pieces in one space", where=f"{first}\n{second}")
    space, cells = found[0] if found else (Space(PARAMS, Tuple(None, ("o0",))), [])
    return params, space, cells


def parse_pieces(text: str) -> tuple[tuple[str, ...], list[tuple[Space, list[Cell]]]]:
    """Parameters, and of each space the disjoint cells of a function; see `parse_piecewise`."""
    parser = FunctionParser(text)
    return parser.joined(*parser.everything())


class FunctionParser(ConjunctParser):
    """A parser of functions, whose outputs are expressions by cases."""

    conditional = False  # whether an output has a condition of its own

    def everything(self) -> tuple[tuple[str, ...], list[Any]]:
        """Parameters, and what is found of each piece of the text."""
        try:
            return self.whole_text()
        except RecursionError:
            raise self.error("the text is nested too deeply") from None

    def joined(
        self, params: tuple[str, ...], parts: list[tuple[Space, list[Cell]]]
    ) -> tuple[tuple[str, ...], list[tuple[Space, list[Cell]]]]:
        """The pieces of each space together, disjoint."""
        spaces: dict[tuple, tuple[Space, list[Cell]]] = {}
        for other, found in parts:
            space, cells = spaces.setdefault(other.key, (other, []))
            table = dict(zip(other.dims[: other.n_in], space.dims[: space.n_in], strict=True))
            cells += [(c, tuple(e.subs(table) for e in values)) for c, values in found]
        return params, [
            (space, disjoint((*params, *space.dims[: space.n_in]), cells, self.text.strip()))
            for space, cells in spaces.values()
        ]

    def whole_text(self) -> tuple[tuple[str, ...], list[tuple[Space, list[Cell]]]]:
        context = self.parameters() if self.at("[") else []
        self.expect("{")
        parts = [] if self.at("}") else [self.piece(context)]
        while parts and self.eat(";"):
            parts.append(self.piece(context))
        if not self.eat("}"):
            raise self.wrong("expected 'and', 'or', ';' or '}'")
        self.expect_end()
        return self.params, parts

    def piece(self, context: list[Tree]) -> tuple[Space, list[Cell]]:
        self.scope = {p: self.scope[p] for p in self.params}
        self.pins = list(context)
        inp = PARAMS
        if self.arrow():
            inp = self.tuple()
            self.expect("->")
        out, members = self.outputs()
        when = list(self.pins)
        if self.eat(":") and not self.at(";", "}"):
            when.append(self.formula())
        return self.found(Space(inp, out), when, members)

    def found(self, space: Space, when: list[Tree], members: list[list[Option]]) -> tuple[Space, list[Cell]]:
        """The cells in which all outputs have a value."""
        names = (*self.params, *space.source.dims)
        cells: list[Cell] = []
        for more, values in reduce(_both, members, [(Node("all", ()), ())]):
            pieces: tuple[Conjunct, ...] = conjuncts(clauses(Node("all", (*when, more))), names)
            cells += [(c, values) for c in pieces]
        return space, disjoint(names, cells, self.text.strip())

    def arrow(self) -> bool:
        """Whether the tuple at this token is followed by an arrow."""
        first = self.k + self.names_tuple(self.k)
        return self.toks[first] == "[" and self.toks[self.closing(first) + 1 : self.closing(first) + 2] == ["->"]

    def outputs(self) -> tuple[Tuple, list[list[Option]]]:
        """A tuple of expressions: its space, and what each is in each case."""
        name = self.tuple_name()
        if not self.at("["):
            raise self.wrong("expected a tuple of expressions such as 'A[(i), (0)]'")
        nested = self.nested()
        self.k += 1
        if nested:
            left, first = self.outputs()
            self.expect("->")
            right, second = self.outputs()
            self.expect("]")
            n = len(left.dims)
            dims = distinct((*left.dims, *right.dims))
            inner = Space(renamed(left, dims[:n]), renamed(right, dims[n:]))
            return Tuple(name, dims, inner), [*first, *second]
        members: list[list[Option]] = []
        names: list[str] = []
        while not self.eat("]"):
            names.append(f"o{len(names)}")
            if is_name(self.toks[self.k]) and self.toks[self.k + 1] == "=" and self.toks[self.k] not in self.scope:
                names[-1] = self.toks[self.k]  # the name of an output, which isl allows, too
                self.k += 2
            found = self.alternative()
            while self.eat(";"):
                found += self.alternative()
            members.append(found)
            if not self.at("]") and not self.eat(","):
                raise self.wrong("expected ',' or ']'")
        return Tuple(name, distinct(names)), members

    def component(self) -> list[Option]:
        """An expression, or a piecewise one in parentheses."""
        mark = self.k
        if self.at("(") and self.holds_cases():
            self.k += 1
            found = self.alternative()
            while self.eat(";"):
                found += self.alternative()
            self.expect(")")
            return found
        value = self.choice()
        value, den = self.cleared(value)
        return [(all_of(atoms), (self.ratio(v, den, mark),)) for atoms, (v,) in self.cases([value])]

    def ratio(self, value: Aff, den: int, mark: int) -> Aff:
        """What an output is whose value is an expression by a number."""
        if den != 1:
            hint = f"values are integers: write floor(e/{den}) or e // {den}"
            raise self.error(FRACTION, hint, mark)
        return value

    def alternative(self) -> list[Option]:
        found = self.component()
        if not self.eat(":"):
            return found
        self.conditional = True
        condition = self.formula()
        return [(Node("all", (when, condition)), values) for when, values in found]


def _both(first: list[Option], second: list[Option]) -> list[Option]:
    return [(Node("all", (a, b)), (*v, *w)) for (a, v), (b, w) in product(first, second)]
