"""isl's notation for sets and maps.

    [N] -> { S[i, j] -> [floor(i/32), j mod 8] : 0 <= i < N and exists (e : j = 2e) or i = 3; T[k] -> [k] }

A recursive descent in three storeys, one module each: `expressions`, `formulas`, and here tuples and spaces. What
it reads, in short (`*` repeats, `?` may be missing, `|` chooses):

    relation   [ parameter (= number)?, ... ] -> ?  { part ; ... }
    part       tuple (-> tuple)? (: formula?)?  |  : formula?
    tuple      name? [ dimension, ... ]  |  name? [ tuple -> tuple ]; the name may be a word such as mod
    dimension  new name (= value)?  |  value  |  *
    value      case ; ...  |  from : to, where each may be missing; all of it may stand in parentheses
    case       choice (: formula)?
    choice     expression  |  formula ? choice : choice
    formula    comparisons under and, or, not, implies, exists (name (= expression)?, ... : formula)
    comparison list op list op ...; op is <= < >= > = !=, or << <<= >> >>= for lexicographic order
    expression + - * / mod // floor ceil floord min max abs, over names and numbers

A name that was used before in the tuples means the same dimension again: `[i] -> [i, i + 1]`. `0:9` stands for all
numbers from 0 to 9. A case has its value where its formula holds; where several do, theirs are added up, as in isl. `#`
begins a comment.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from ..conjuncts.conjunct import Conjunct
from ..values.aff import Aff, named
from ..values.build import Constraint
from ..values.space import PARAMS, Space, Tuple, mark
from . import polylib
from .expressions import parse_aff, parse_cases
from .formulas import YES, Formulas, Leaf, Node, Tree, clauses, conjuncts
from .tokens import COMPARISONS, CONNECTIVES, KEYWORDS, NO_INTEGERS, is_name

__all__ = ["parse", "parse_aff", "parse_cases"]

P = TypeVar("P")  # what a text is made of: conjuncts, or others
Option = tuple[Tree, Aff, int]  # (when, numerator, denominator) of a value
OPERATORS = {"eq": "=", "ge": ">=", "gt": ">"}  # of constraints
INFINITE = "the value would be no integer"  # what a text with one of them is refused for
CONTINUES = frozenset({"+", "-", "*", "/", "//", "mod", "(", "^"})  # after a name, these make it an expression


def parse(text: str, is_map: bool) -> tuple[tuple[str, ...], list[tuple[Space, tuple[Conjunct, ...]]]]:
    """Parameters and parts of a set or map.

    Cost: linear in the text, times what projecting the existentials takes.

    Raises
    ------
    SetSyntaxError : with the line, a caret and what was expected.
    BudgetExceeded : the formula has thousands of alternatives.
    """
    if is_map and text.rstrip()[-1:] in ("]", ")"):  # other texts end with a brace
        from .union_functions import is_tuple_of_functions, parse_tuple

        if is_tuple_of_functions(text):
            m = parse_tuple(text)
            return m.param_names, list(m.parts)
    if polylib.BEGINS.match(text):
        text = polylib.in_isls_notation(text)
    return ConjunctParser(text).relation(is_map)


class Parser(Formulas, Generic[P]):
    """A parser of sets and maps, which says what the pieces of a formula are."""

    params: tuple[str, ...] = ()
    pins: list[Tree]  # what the present part's tuples say
    words: frozenset[str] | None = None  # of the text, once asked for
    no_map = ("this is a map, not a set", "use Map(...)")

    def pieces(self, tree: Tree, names: tuple[str, ...]) -> tuple[P, ...]:
        """What a formula over the parameters and dimensions says."""
        raise NotImplementedError

    def relation(self, is_map: bool) -> tuple[tuple[str, ...], list[tuple[Space, tuple[P, ...]]]]:
        """Parameters and parts of a text."""
        try:
            return self.read(is_map)
        except RecursionError:
            raise self.error("the text is nested too deeply") from None

    def read(self, is_map: bool) -> tuple[tuple[str, ...], list[tuple[Space, tuple[P, ...]]]]:
        context: list[Tree] = []
        if self.toks[self.k] == "[":
            context = self.parameters()
        self.expect("{")
        if self.toks[self.k : self.k + 3] == ["Sym", "=", "["]:  # parameters as Omega lists them
            self.k += 2
            context += self.parameters(False)
        parts: list[tuple[Space, tuple[P, ...]]] = []
        while not self.at("}"):
            parts.append(self.part(is_map, context))
            if not self.eat(";"):
                break
        if not self.eat("}"):
            raise self.wrong("expected 'and', 'or', ';' or '}'" if parts else "expected '}'")
        self.expect_end()
        return self.params, parts

    def parameters(self, arrow: bool = True) -> list[Tree]:
        """Step over `[N, M = 5] ->`, or without the arrow; what it says of the parameters."""
        mark, context = self.k, []
        self.k += 1
        while not self.eat("]"):
            if self.toks[self.k] in self.scope:
                raise self.wrong("expected a parameter that is not listed twice")
            name = self.name("the name of a parameter")
            self.scope[name] = named(name)
            if self.eat("="):
                context.append(self.value(self.scope[name]))
            if not self.at("]") and not self.eat(","):
                raise self.wrong("expected ',' or ']'")
        if arrow and self.at("{"):
            raise self.wrong("expected '->' after the parameters")
        if arrow and not self.eat("->"):
            self.k = mark
            raise self.wrong("expected '[parameters] -> {' or '{'")
        self.params = tuple(self.scope)
        return context

    def part(self, is_map: bool, context: list[Tree]) -> tuple[Space, tuple[P, ...]]:
        self.scope = {p: self.scope[p] for p in self.params}
        pins = self.pins = list(context)
        start, inp, out = self.k, None, PARAMS
        if not self.at(":"):
            out = self.tuple()
            if self.at("->"):
                if not is_map:
                    raise self.error(*self.no_map)
                self.k += 1
                inp, out = out, self.tuple()
        if is_map and inp is None:
            raise self.error("this is a set, not a map 'A[..] -> B[..]'", "use Set(...)", start)
        if self.eat(":"):
            if not self.at(";", "}"):
                pins.append(self.formula())
        elif not self.at(";", "}"):
            raise self.wrong("expected ':', ';' or '}'" if inp else "expected ':', '->', ';' or '}'")
        space = Space(inp, out)
        return space, self.pieces(Node("all", tuple(pins)), (*self.params, *space.dims))

    # ---- tuples

    def tuple(self) -> Tuple:
        name = self.tuple_name()
        if self.toks[self.k] != "[":
            hint = "a tuple is written S[i, j] or [i, j]"
            raise self.wrong("expected a tuple such as 'S[i, j]'" if name is None else "expected '['", hint)
        nested = self.nested()
        self.k += 1
        if nested:
            self.deeper()
            inp = self.tuple()
            self.expect("->")
            out = self.tuple()
            self.depth -= 1
            self.expect("]")
            return Tuple(name, inp.dims + out.dims, Space(inp, out))
        dims: list[str] = []
        while not self.eat("]"):
            dims.append(self.dimension(len(dims)))
            if not self.at("]") and not self.eat(","):
                raise self.wrong("expected ',' or ']'")
        return Tuple(name, tuple(dims))

    def nested(self) -> bool:
        """Whether the bracket at this token holds `tuple -> tuple`."""
        first = self.k + 1
        first += self.names_tuple(first)
        return self.toks[first] == "[" and self.toks[self.closing(first) + 1 : self.closing(first) + 2] == ["->"]

    def dimension(self, number: int) -> str:
        """A new name, or an expression in the names so far, which a pin then says."""
        t = self.toks[self.k]
        after = self.toks[self.k + 1] if t else t
        if t in KEYWORDS and after in (",", "]", "="):
            raise self.wrong("expected a dimension", f"{self.written()!r} is a word of the notation")
        if self.eat("*"):
            return self.anonymous(f"i{number}")
        if t not in self.scope and is_name(t) and after not in CONTINUES:
            if t.lower() in NO_INTEGERS:
                raise self.error(INFINITE, f"{t!r} is no integer: leave out the points without a value")
            self.k += 1
            self.scope[t] = named(t)
            if self.eat("="):
                self.pins.append(self.value(self.scope[t]))
            return t
        name = self.unused(t if t in self.scope and after in (",", "]") else f"i{number}")
        self.pins.append(self.value(named(name)))
        self.scope[name] = named(name)
        self.unsaid.add(name)
        return name

    # ---- values of dimensions

    def value(self, name: Aff) -> Tree:
        """What an entry of a tuple says of its dimension: its cases, or a range."""
        if self.eat(":"):
            return YES if self.ends() else self.leaf(["<="], [(name - self.choice(),)])
        cases = [self.case(name)]
        while self.toks[self.k] == ";":
            self.k += 1
            cases.append(self.case(name))
        options = [option for options, _ in cases for option in options or ()]
        if len(cases) == len(options) == 1:
            return _is(name, options[0])
        if len(cases) > 1 and all(options for options, _ in cases):
            options = []
            for more, _ in cases:
                options = _added(options, more or [])
        trees = [_is(name, option) for option in options]
        return Node("any", (*trees, *(tree for _, tree in cases if tree is not None)))

    def case(self, name: Aff) -> tuple[list[Option] | None, Tree | None]:
        """One case: as (when, value), or, a range, as what it says of the dimension."""
        options: list[Option] | None = None
        tree: Tree | None = None
        if self.at("(") and self.holds_cases():
            self.k += 1
            self.deeper()
            tree = self.value(name)
            self.depth -= 1
            self.expect(")")
        else:
            first = self.choice()
            if self.at(":") and not self.formula_ahead():
                self.k += 1
                tree = self.leaf([">="], [(name - first,)])
                return None, tree if self.ends() else Node("all", (tree, self.leaf(["<="], [(name - self.choice(),)])))
            first, den = self.cleared(first)
            options = [(all_of(atoms), v, den) for atoms, (v,) in self.cases([first])]
        if self.eat(":"):
            condition = self.formula()
            options = options and [(Node("all", (when, condition)), v, den) for when, v, den in options]
            tree = tree and Node("all", (tree, condition))
        return options, tree

    def ends(self) -> bool:
        """Whether an entry, or a case of it, ends here."""
        return self.at(",", "]", ")", ";")

    def formula_ahead(self) -> bool:
        """Whether a formula, not an expression, follows the colon at this token."""
        depth = 0
        for t in self.toks[self.k + 1 : -1]:
            depth += (t in ("(", "[")) - (t in (")", "]"))
            if depth < 0 or not depth and t in (",", ";"):
                return False
            if t in COMPARISONS or t in CONNECTIVES:
                return True
        return False

    def holds_cases(self) -> bool:
        """Whether the parenthesis at this token holds cases or a range, and not a part of an expression."""
        first, close = self.k, self.closing(self.k)
        while self.toks[first + 1] == "(" and self.closing(first + 1) == close - 1:
            first, close = first + 1, close - 1
        inside = [self.toks[k] for k in range(first, close) if self.depth_between(first, k) == 1]
        return ";" in inside or inside.count(":") > inside.count("?")

    def anonymous(self, name: str) -> str:
        """A dimension that the text does not name; it must not hide a name in use."""
        name = self.unused(name)
        self.scope[name] = named(name)
        self.unsaid.add(name)
        return name

    def unused(self, name: str) -> str:
        """`name`, primed until it is none in use, nor any that the text writes: in `[i, i, i']` the last one is new."""
        if self.words is None:
            self.words = frozenset(self.toks)
        while name in self.scope or name in self.words:
            name += mark()
        return name


class ConjunctParser(Parser[Conjunct]):
    """A parser whose pieces are conjuncts; those of functions and polynomials start from it."""

    def pieces(self, tree: Tree, names: tuple[str, ...]) -> tuple[Conjunct, ...]:
        return conjuncts(clauses(tree), names)


def all_of(atoms: tuple[Constraint, ...]) -> Tree:
    """Some atoms as a tree."""
    if not atoms:
        return YES
    return Leaf(tuple(OPERATORS[kind] for kind, _ in atoms), (((), tuple((e,) for _, e in atoms)),))


def _is(name: Aff, option: Option) -> Tree:
    """That a dimension has a value where its condition holds."""
    when, value, den = option
    equal = all_of((("eq", value - name * den),))
    return equal if when is YES else Node("all", (when, equal))


def _added(some: list[Option], more: list[Option]) -> list[Option]:
    """Cases with more cases: the sum where both have a value, elsewhere the one that has one."""
    if not some:
        return more
    neither = [Node("not", (when,)) for when, _, _ in more]
    out: list[Option] = [(Node("all", (when, *neither)), value, den) for when, value, den in some]
    for when, value, den in more:
        out.append((Node("all", (when, *(Node("not", (w,)) for w, _, _ in some))), value, den))
        for also, other, d in some:
            out.append((Node("all", (also, when)), other * den + value * d, d * den))
    return out
