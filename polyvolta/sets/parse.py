"""isl's notation for sets and maps.

    [N] -> { S[i, j] -> [floor(i/32), j mod 8] : 0 <= i < N and exists (e : j = 2e) or i = 3; T[k] -> [k] }

A recursive descent over tokens. Expressions become `Aff`s with a condition each (min, max, abs and ?: have
several), formulas become disjunctions of conjunctions of `e = 0` and `e >= 0`, and each conjunction becomes a
conjunct whose existentials are projected out. Negations are pushed to the atoms; a negated `exists` is a set
difference. Where isl and Python would read an operator differently, `mod`, `%`, `/` and `*` bind alike, from
the left, and tighter than `+`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from . import conjunct as cj
from . import project as pj
from .aff import Aff, aff, var
from .build import Constraint, RowBuilder
from .conjunct import Conjunct
from .errors import SetSyntaxError, nearest
from .space import Space, Tuple, fresh

TOKEN = re.compile(
    r"\s*(?:(?P<num>\d+)|(?P<name>[A-Za-z_][A-Za-z0-9_.]*'*)|(?P<op>->|<=|>=|!=|<>|==|//|&&|\|\||=>|[-+*/%<>=()\[\]{}:;,?!∧∨¬≤≥≠∃⌊⌋]))"
)
KEYWORDS = {"and", "or", "not", "exists", "implies", "mod", "floor", "ceil", "floord", "min", "max", "abs", "true", "false", "True", "False"}
COMPARE = {"<=", ">=", "<", ">", "=", "==", "!=", "<>", "≤", "≥", "≠"}


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    kind: str  # "num", "name", "op" or "end"
    at: int


@dataclass(frozen=True, slots=True)
class Clause:
    """One conjunction: atoms, the names of its existentials, and finished conjuncts over `over`."""

    atoms: tuple[Constraint, ...] = ()
    exists: tuple[str, ...] = ()
    solid: tuple[tuple[tuple[str, ...], Conjunct], ...] = ()

    def both(self, other: Clause) -> Clause:
        return Clause(self.atoms + other.atoms, self.exists + other.exists, self.solid + other.solid)


Case = tuple[tuple[Constraint, ...], Aff]  # (when, value)
Formula = tuple[Clause, ...]  # a disjunction
TRUE: Formula = (Clause(),)
FALSE: Formula = ()


def conj(a: Formula, b: Formula) -> Formula:
    return tuple(x.both(y) for x in a for y in b)


def tokens(text: str) -> list[Token]:
    """The tokens of a text; an `end` token closes the list."""
    out, at = [], 0
    text_end = len(text.rstrip())
    while at < text_end:
        m = TOKEN.match(text, at)
        if m is None:
            at += len(text[at:]) - len(text[at:].lstrip())
            raise _error(text, at, f"{text[at]!r} has no meaning here")
        kind = m.lastgroup or "op"
        out.append(Token(m.group(kind), kind, m.start(kind)))
        at = m.end()
    out.append(Token("the end of the text", "end", text_end))
    return out


def _error(text: str, at: int, message: str, hint: str = "") -> SetSyntaxError:
    """A syntax error that shows the line with a caret."""
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    line = text[start : len(text) if end < 0 else end]
    number = text.count("\n", 0, at) + 1
    place = f"line {number}: " if "\n" in text else ""
    return SetSyntaxError(message, where=f"{place}{line}\n{' ' * (len(place) + at - start)}^", hint=hint)


def parse(text: str, is_map: bool) -> tuple[tuple[str, ...], list[tuple[Space, tuple[Conjunct, ...]]]]:
    """Parameters and parts of a set or map.

    Raises
    ------
    SetSyntaxError : with the line, a caret and what was expected.
    """
    if not isinstance(text, str):
        raise SetSyntaxError(f"expected a text in isl's notation, not {type(text).__name__}")
    return _Parser(text).relation(is_map)


def parse_aff(text: str, names: Sequence[str] | None = None) -> Aff:
    """One quasi-affine expression; with `names`, only those may appear."""
    p = _Parser(text)
    p.any_name = names is None
    p.scope = list(names or ())
    cases = p.expr()
    p.expect_end()
    if len(cases) != 1 or cases[0][0]:
        raise _error(text, 0, "an expression of several cases (min, max) stands where a single one is needed")
    return cases[0][1]


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.toks, self.k = text, tokens(text), 0
        self.params: list[str] = []
        self.scope: list[str] = []  # names that may be used: parameters, dimensions, existentials
        self.any_name = False
        self.counter = 0

    # ---- tokens

    @property
    def tok(self) -> Token:
        return self.toks[self.k]

    def at(self, *texts: str) -> bool:
        return self.tok.kind != "end" and self.tok.text in texts

    def eat(self, *texts: str) -> bool:
        if self.at(*texts):
            self.k += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.eat(text):
            raise self.wrong(f"expected {text!r}")

    def expect_end(self) -> None:
        if self.tok.kind != "end":
            raise self.wrong("expected the end of the text")

    def wrong(self, expected: str, hint: str = "") -> SetSyntaxError:
        found = self.tok.text if self.tok.kind == "end" else repr(self.tok.text)
        return _error(self.text, self.tok.at, f"{expected}, found {found}", hint)

    # ---- spaces

    def relation(self, is_map: bool):  # noqa: ANN201
        if self.at("["):
            mark = self.k
            self.expect("[")
            while not self.eat("]"):
                if self.tok.kind != "name" or self.tok.text in KEYWORDS:
                    raise self.wrong("expected the name of a parameter")
                if self.tok.text in self.params:
                    raise self.wrong("expected a parameter that is not listed twice")
                self.params.append(self.tok.text)
                self.k += 1
                if not self.at("]"):
                    self.expect(",")
            if not self.eat("->"):
                self.k = mark
                raise self.wrong("expected '[parameters] -> {' or '{'")
        self.expect("{")
        parts: list[tuple[Space, tuple[Conjunct, ...]]] = []
        while not self.at("}"):
            parts.append(self.part(is_map))
            if not self.eat(";"):
                break
        self.expect("}")
        self.expect_end()
        return tuple(self.params), parts

    def part(self, is_map: bool) -> tuple[Space, tuple[Conjunct, ...]]:
        self.scope = list(self.params)
        pins: Formula = TRUE
        start = self.k
        if self.at(":"):
            inp, out = None, Tuple(None, ())
        else:
            first, pins = self.tuple_(pins)
            inp, out = (None, first)
            if self.at("->"):
                if not is_map:
                    raise self.wrong("expected a set", "a relation with '->' is a Map")
                self.k += 1
                inp = first
                out, pins = self.tuple_(pins)
        if is_map and inp is None:
            self.k = start
            raise self.wrong("expected a map 'A[..] -> B[..]'", "a set of points is a Set")
        space = Space(inp, out)
        body = conj(pins, self.formula()) if self.eat(":") else pins
        return space, self.conjuncts(body, (*self.params, *space.dims))

    def tuple_(self, pins: Formula) -> tuple[Tuple, Formula]:
        name = None
        if self.tok.kind == "name" and self.tok.text not in KEYWORDS:
            name = self.tok.text
            self.k += 1
        self.expect("[")
        mark = self.k
        if self.nested():
            inp, pins = self.tuple_(pins)
            self.expect("->")
            out, pins = self.tuple_(pins)
            self.expect("]")
            return Tuple(name, inp.dims + out.dims, Space(inp, out)), pins
        self.k = mark
        dims: list[str] = []
        while not self.eat("]"):
            dim, pins = self.dimension(len(dims), pins)
            dims.append(dim)
            if not self.at("]"):
                if not self.eat(","):
                    raise self.wrong("expected ',' or ']'")
        return Tuple(name, tuple(dims)), pins

    def nested(self) -> bool:
        """Whether the bracket just opened holds `tuple -> tuple`."""
        k, depth = self.k, 0
        if not (self.at("[") or (self.tok.kind == "name" and self.toks[self.k + 1].text == "[")):
            return False
        while self.toks[k].kind != "end":
            t = self.toks[k].text
            depth += (t == "[") - (t == "]")
            if depth < 0:
                return False
            if depth == 0 and t == "->":
                return True
            k += 1
        return False

    def dimension(self, number: int, pins: Formula) -> tuple[str, Formula]:
        """A new name, or an expression in the names so far (`pins` then says so)."""
        t = self.tok
        after = self.toks[self.k + 1].text if t.kind != "end" else ""
        if t.kind == "name" and t.text not in KEYWORDS and t.text not in self.scope and after in (",", "]", "="):
            self.k += 1
            self.scope.append(t.text)
            if self.eat("="):
                return t.text, conj(pins, self.pinned(t.text, self.expr()))
            return t.text, pins
        if self.eat("*"):
            name = fresh(f"i{number}", self.scope)
            self.scope.append(name)
            return name, pins
        cases = self.expr()
        plain = t.text if t.kind == "name" and after in (",", "]") else f"i{number}"
        name = fresh(plain, self.scope)
        self.scope.append(name)
        return name, conj(pins, self.pinned(name, cases))

    @staticmethod
    def pinned(name: str, cases: list[Case]) -> Formula:
        return tuple(Clause((*when, ("eq", value - var(name)))) for when, value in cases)

    # ---- formulas: or < and < not < comparison

    def formula(self, positive: bool = True) -> Formula:
        left = self.conjunction(positive)
        while True:
            if self.eat("or", "||", "∨"):
                right = self.conjunction(positive)
                left = left + right if positive else conj(left, right)
            elif self.at("implies", "=>"):
                raise self.wrong("expected 'and' or 'or'", "write 'a implies b' as '(not a) or b'")
            else:
                return left

    def conjunction(self, positive: bool) -> Formula:
        left = self.literal(positive)
        while self.eat("and", "&&", "∧"):
            right = self.literal(positive)
            left = conj(left, right) if positive else left + right
        return left

    def literal(self, positive: bool) -> Formula:
        if self.eat("not", "!", "¬"):
            return self.literal(not positive)
        if self.eat("true", "True"):
            return TRUE if positive else FALSE
        if self.eat("false", "False"):
            return FALSE if positive else TRUE
        if self.eat("exists", "∃"):
            return self.existential(positive)
        if self.at("("):
            mark = self.k
            try:  # a parenthesis may hold a formula or an expression: try the formula first
                self.k += 1
                inner = self.formula(positive)
                self.expect(")")
                if not self.at(*COMPARE, "+", "-", "*", "/", "//", "%", "mod", ","):
                    return inner
            except SetSyntaxError:
                pass
            self.k = mark
        return self.comparison(positive)

    def existential(self, positive: bool) -> Formula:
        bracket = self.eat("(")
        outer, names = list(self.scope), []
        renames = []
        while True:
            if self.tok.kind != "name" or self.tok.text in KEYWORDS:
                raise self.wrong("expected the name of an existential")
            name = self.tok.text
            if name in self.scope:
                raise self.wrong(f"expected a name that is not in use ({name!r} is)")
            self.k += 1
            self.scope.append(name)
            names.append(name)
            if self.eat("="):
                renames.append((name, self.expr()))
            if not self.eat(","):
                break
        self.expect(":")
        body = self.formula()
        for name, cases in renames:
            body = conj(self.pinned(name, cases), body)
        if bracket:
            self.expect(")")
        self.scope = outer
        self.counter += 1
        table = {n: f"{n}#{self.counter}" for n in names}
        body = tuple(_rename(c, table) for c in body)
        body = tuple(replace(c, exists=(*c.exists, *table.values())) for c in body)
        if positive:
            return body
        over = tuple(outer)
        left = [cj.universe(len(over))]
        for c in self.conjuncts(body, over):
            for knife in pj.with_known_divs(c):
                left = [piece for part in left for piece in cj.subtract(part, knife)]
        return tuple(Clause(solid=((over, c),)) for c in left)

    def comparison(self, positive: bool) -> Formula:
        lists = [self.expr_list()]
        operators = []
        while self.tok.kind == "op" and self.tok.text in COMPARE:
            operators.append(self.tok.text)
            self.k += 1
            lists.append(self.expr_list())
        if not operators:
            raise self.wrong("expected a comparison such as '<=' or '='")
        out = TRUE if positive else FALSE
        for left, op, right in zip(lists, operators, lists[1:]):
            for a, b in product(left, right):
                atom = _compare(a, op, b, positive)
                out = conj(out, atom) if positive else out + atom
        return out

    def expr_list(self) -> list[list[Case]]:
        out = [self.expr()]
        while self.eat(","):
            out.append(self.expr())
        return out

    # ---- expressions

    def expr(self) -> list[Case]:
        negative = False
        while self.at("-", "+"):
            negative ^= self.tok.text == "-"
            self.k += 1
        left = self.term()
        if negative:
            left = [(w, -v) for w, v in left]
        while self.at("+", "-"):
            sign = 1 if self.tok.text == "+" else -1
            self.k += 1
            left = [(w + x, v + y * sign) for (w, v), (x, y) in product(left, self.term())]
        return left

    def term(self) -> list[Case]:
        left = self.factor()
        while True:
            at = self.k
            if self.eat("*"):
                left = self.times(left, self.factor(), at)
            elif self.eat("mod", "%"):
                d = self.divisor()
                left = [(w, v % d) for w, v in left]
            elif self.eat("//"):
                d = self.divisor()
                left = [(w, v // d) for w, v in left]
            elif self.eat("/"):
                self.k = at
                raise self.wrong("expected an integer expression", "a quotient needs floor(e/d) or ceil(e/d), or e // d")
            elif self.tok.kind == "name" and self.tok.text not in (KEYWORDS - {"floor", "ceil", "min", "max", "abs", "floord"}) or self.at("("):
                if not all(not w and v.is_constant for w, v in left):  # juxtaposition needs a number: 3i, 2(i + j)
                    return left
                left = self.times(left, self.factor(), at)
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
        if self.eat("-"):
            return [(w, -v) for w, v in self.factor()]
        if self.eat("("):
            inner = self.expr()
            self.expect(")")
            return inner
        if self.eat("⌊"):
            return self.quotient("⌋", False)
        if t.kind == "name" and t.text in ("floor", "ceil"):
            self.k += 1
            self.expect("(")
            return self.quotient(")", t.text == "ceil")
        if self.eat("floord"):
            self.expect("(")
            inner = self.expr()
            self.expect(",")
            d = self.divisor()
            self.expect(")")
            return [(w, v // d) for w, v in inner]
        if t.kind == "name" and t.text in ("min", "max", "abs"):
            return self.extremum()
        if t.kind == "name" and t.text not in KEYWORDS:
            if not self.any_name and t.text not in self.scope:
                raise _error(self.text, t.at, f"unknown name {t.text!r}", nearest(t.text, self.scope))
            self.k += 1
            return [((), var(t.text))]
        raise self.wrong("expected an expression")

    def quotient(self, close: str, up: bool) -> list[Case]:
        """The inside of floor( ) or ceil( ): an expression over a number; sums may mix quotients."""
        inner, den = self.rational()
        self.expect(close)
        return [(w, -((-v) // den) if up else v // den) for w, v in inner]

    def rational(self) -> tuple[list[Case], int]:
        """A sum of terms, some divided by numbers, over one common denominator."""
        total, den, sign = [((), aff(0))], 1, 1
        while True:
            while self.at("-", "+"):
                sign = -sign if self.tok.text == "-" else sign
                self.k += 1
            part, d = self.rational_term()
            common = den * d
            total = [(w + x, v * d + y * (sign * den)) for (w, v), (x, y) in product(total, part)]
            den = common
            if not self.at("+", "-"):
                return total, den
            sign = 1

    def rational_term(self) -> tuple[list[Case], int]:
        if self.at("("):
            mark = self.k
            self.k += 1
            try:
                part, den = self.rational()
                self.expect(")")
            except SetSyntaxError:
                self.k = mark
                part, den = self.term(), 1
        else:
            part, den = self.term_before_slash(), 1
        while self.eat("/"):
            den *= self.divisor()
        if self.at("*", "mod", "%", "//"):
            raise self.wrong("expected '+', '-' or the end of the quotient", "put the quotient in floor() of its own")
        return part, den

    def term_before_slash(self) -> list[Case]:
        left = self.factor()
        while not self.at("/"):
            at = self.k
            if self.eat("*"):
                left = self.times(left, self.factor(), at)
            elif self.eat("mod", "%"):
                d = self.divisor()
                left = [(w, v % d) for w, v in left]
            elif (self.tok.kind == "name" and self.tok.text not in KEYWORDS or self.at("(", "floor", "ceil")) and all(
                v.is_constant for _, v in left
            ):
                left = self.times(left, self.factor(), at)
            else:
                break
        return left

    def extremum(self) -> list[Case]:
        kind = self.tok.text
        self.k += 1
        self.expect("(")
        options = [self.expr()]
        while self.eat(","):
            options.append(self.expr())
        self.expect(")")
        if kind == "abs":
            return [
                case
                for w, v in options[0]
                for case in (((*w, ("ge", v)), v), ((*w, ("ge", -v - 1)), -v))
            ]
        sign = 1 if kind == "max" else -1
        best = options[0]
        for other in options[1:]:
            merged = []
            for (w, v), (x, y) in product(best, other):
                merged.append(((*w, *x, ("ge", (v - y) * sign)), v))
                merged.append(((*w, *x, ("ge", (y - v) * sign - 1)), y))
            best = merged
        return best

    # ---- to conjuncts

    def conjuncts(self, body: Formula, names: Sequence[str]) -> tuple[Conjunct, ...]:
        out = []
        for clause in body:
            builder = RowBuilder(names, clause.exists)
            c = builder.conjunct(clause.atoms)
            for over, solid in clause.solid:
                if c is None:
                    break
                c = self.with_solid(c, names, clause.exists, over, solid)
            c = pj.eliminate(c)
            if c is not None:
                out.append(c)
        return tuple(dict.fromkeys(out))

    def with_solid(self, c: Conjunct, names, exists, over, solid: Conjunct) -> Conjunct | None:  # noqa: ANN001
        inner = [n for n in over if n not in names]
        if inner:  # the conjunct speaks of existentials of this clause, whose columns are divs here
            raise _error(self.text, 0, "a negated 'exists' inside another 'exists' must not use the outer one's names")
        place = {n: k for k, n in enumerate(names)}
        return cj.conjoin(c, cj.reindex(solid, len(names), tuple(place[n] for n in over)))


def _rename(clause: Clause, table: dict[str, str]) -> Clause:
    def leaf(name: str) -> Aff:
        return var(table.get(name, name))

    atoms = tuple((kind, e.rewrite(leaf)) for kind, e in clause.atoms)
    solid = tuple((tuple(table.get(n, n) for n in over), c) for over, c in clause.solid)
    return Clause(atoms, clause.exists, solid)


def _compare(left: list[Case], op: str, right: list[Case], positive: bool) -> Formula:
    """The formula `left op right` (or its negation); cases are exhaustive and exclusive."""
    if not positive:
        op = {"<=": ">", ">=": "<", "<": ">=", ">": "<=", "=": "!=", "==": "!=", "!=": "=", "<>": "=", "≤": ">", "≥": "<", "≠": "="}[op]
    out: list[Clause] = []
    for (w, a), (x, b) in product(left, right):
        d = a - b
        atoms: list[list[Constraint]] = {
            "<=": [[("ge", -d)]], "≤": [[("ge", -d)]], ">=": [[("ge", d)]], "≥": [[("ge", d)]],
            "<": [[("ge", -d - 1)]], ">": [[("ge", d - 1)]], "=": [[("eq", d)]], "==": [[("eq", d)]],
        }.get(op, [[("ge", d - 1)], [("ge", -d - 1)]])  # fmt: skip
        out += [Clause((*w, *x, *atom)) for atom in atoms]
    return tuple(out)

