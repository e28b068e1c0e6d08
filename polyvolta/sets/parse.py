"""isl's notation for sets and maps.

    [N] -> { S[i, j] -> [floor(i/32), j mod 8] : 0 <= i < N and exists (e : j = 2e) or i = 3; T[k] -> [k] }

A recursive descent in three storeys, one module each: `expressions`, `formulas`, and here tuples and spaces.
"""

from __future__ import annotations

from .conjunct import Conjunct
from .errors import SetSyntaxError
from .expressions import parse_aff
from .formulas import TRUE, Formula, Formulas, conj, pinned
from .space import Space, Tuple, fresh

__all__ = ["parse", "parse_aff"]


def parse(text: str, is_map: bool) -> tuple[tuple[str, ...], list[tuple[Space, tuple[Conjunct, ...]]]]:
    """Parameters and parts of a set or map.

    Cost: linear in the text, times what projecting the existentials takes.

    Raises
    ------
    SetSyntaxError : with the line, a caret and what was expected.
    BudgetExceeded : the formula has thousands of alternatives.
    """
    if not isinstance(text, str):
        raise SetSyntaxError(f"expected a text in isl's notation, not {type(text).__name__}")
    try:
        return _Parser(text).relation(is_map)
    except RecursionError:
        raise SetSyntaxError("the text is nested too deeply", where=text[:60] + " ...") from None


class _Parser(Formulas):
    params: tuple[str, ...] = ()

    def relation(self, is_map: bool) -> tuple[tuple[str, ...], list[tuple[Space, tuple[Conjunct, ...]]]]:
        if self.at("["):
            self.params = self.parameters()
        self.expect("{")
        parts: list[tuple[Space, tuple[Conjunct, ...]]] = []
        while not self.at("}"):
            parts.append(self.part(is_map))
            if not self.eat(";"):
                break
        if not self.at("}"):
            raise self.wrong("expected ';' or '}'" if parts else "expected '}'")
        self.k += 1
        self.expect_end()
        return self.params, parts

    def parameters(self) -> tuple[str, ...]:
        mark = self.k
        self.expect("[")
        names: list[str] = []
        while not self.eat("]"):
            if self.tok.text in names:
                raise self.wrong("expected a parameter that is not listed twice")
            names.append(self.name("the name of a parameter"))
            if not self.at("]"):
                self.expect(",")
        if not self.eat("->"):
            self.k = mark
            raise self.wrong("expected '[parameters] -> {' or '{'")
        return tuple(names)

    def part(self, is_map: bool) -> tuple[Space, tuple[Conjunct, ...]]:
        self.scope = list(self.params)
        start, inp, out, pins = self.k, None, Tuple(None, ()), TRUE
        if not self.at(":"):
            out, pins = self.tuple(pins)
            if self.at("->"):
                if not is_map:
                    raise self.wrong("expected a set", "a relation with '->' is a Map")
                self.k += 1
                inp = out
                out, pins = self.tuple(pins)
        if is_map and inp is None:
            self.k = start
            raise self.wrong("expected a map 'A[..] -> B[..]'", "a set of points is a Set")
        space = Space(inp, out)
        if self.eat(":") and not self.at(";", "}"):
            pins = conj(pins, self.formula())
        elif not self.at(";", "}"):
            raise self.wrong("expected ':', ';' or '}'" if is_map and inp else "expected ':', '->', ';' or '}'")
        return space, self.conjuncts(pins, (*self.params, *space.dims))

    def tuple(self, pins: Formula) -> tuple[Tuple, Formula]:
        name = self.name("a name") if self.tok.kind == "name" else None
        if not self.at("["):
            raise self.wrong("expected a tuple such as 'S[i, j]'" if name is None else "expected '['")
        self.k += 1
        if self.nested():
            inp, pins = self.tuple(pins)
            self.expect("->")
            out, pins = self.tuple(pins)
            self.expect("]")
            return Tuple(name, inp.dims + out.dims, Space(inp, out)), pins
        dims: list[str] = []
        while not self.eat("]"):
            dim, pins = self.dimension(len(dims), pins)
            dims.append(dim)
            if not self.at("]") and not self.eat(","):
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
        if self.eat("*"):
            return self.anonymous(f"i{number}"), pins
        if t.kind == "name" and t.text not in self.scope and after not in ("+", "-", "*", "/", "//", "mod"):
            self.k += 1
            self.scope.append(t.text)
            return t.text, conj(pins, pinned(t.text, self.expression())) if self.eat("=") else pins
        cases = self.expression()
        name = self.anonymous(t.text if t.kind == "name" and after in (",", "]") else f"i{number}")
        return name, conj(pins, pinned(name, cases))

    def anonymous(self, name: str) -> str:
        """A dimension that the text does not name; it must not hide a name in use."""
        name = fresh(name, self.scope)
        self.scope.append(name)
        return name
