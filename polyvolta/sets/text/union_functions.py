"""isl's texts of functions of several tuples, each value by itself: they say relations.

    [N] -> L[{ S[i, j] -> [(i)]; T[i] -> [(N)] }, { S[i, j] -> [(j)]; T[i] -> [(0)] }]

is the relation of `S[i, j]` to `L[i, j]` and of `T[i]` to `L[N, 0]`, where all values are there. A domain may follow,
`(L[{ S[i] -> [(i)] }] : { S[i] : i > 0 })`, and has to without a value, `(L[] : { S[i] : i > 0 })`: `L[]` is known
everywhere, which no relation says. A tuple may wrap two others, `[A[{ S[i] -> [(i)] }] -> B[{ S[i] -> [(0)] }]]`.

isl's functions of several tuples have values that are expressions, `{ S[i] -> [i + 1]; T[i] -> [0] }`, and may be of
parameters alone, `[N] -> { [N] }`; `parse_functions` reads these.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any

from ..errors import SetSyntaxError
from ..values.space import PARAMS, Space, Tuple
from .tokens import NAME, syntax_error

if TYPE_CHECKING:
    from ..values.map import Map
    from ..values.set import Set

CONTEXT = re.compile(r"\s*(\[[^\[\]{}()]*\]\s*->\s*)?")
HEAD = re.compile(rf"\s*(?:\(|({NAME.pattern})?\s*\[)")
SPACE = re.compile(r"\s*")


def is_tuple_of_functions(text: str) -> bool:
    """Whether a text begins like one of these, and like no other.

    >>> is_tuple_of_functions("[{ S[i] -> [(i)] }]"), is_tuple_of_functions("[N] -> { S[i] -> [(i)] }")
    (True, False)
    """
    params = CONTEXT.match(text)
    return params is not None and HEAD.match(text, params.end()) is not None


def parse_tuple(text: str) -> Map:
    """The relation that such a text says.

    Raises
    ------
    SetSyntaxError : it is none, with the place; `[]` has no domain, and says nothing here.

    >>> print(parse_tuple("L[{ S[i] -> [(i)]; T[i, j] -> [(j)] }, { S[i] -> [(0)]; T[i, j] -> [(i)] }]"))
    { S[i] -> L[i, 0]; T[i, j] -> L[j, i] }
    >>> print(parse_tuple("(L[] : { S[i] : i > 0 })"))
    { S[i] -> L[] : i >= 1 }
    """
    return Reader(text).whole()


def parse_functions(text: str) -> Map:
    """The relation that a text says of functions of several tuples, or of a tuple of them; values are expressions.

    What has no input is one of parameters: `L[]`, known everywhere, or `A[{ [4] }]`.

    Raises
    ------
    SetSyntaxError : it says none, with the place.
    NotAFunction : two pieces give different values at one point.

    >>> print(parse_functions("{ S[i] -> [i + 1]; T[] -> A[0] }"))
    { S[i] -> [i + 1]; T[] -> A[0] }
    """
    if is_tuple_of_functions(text):
        return Reader(text, True).whole()
    from ..functions.multi_pwaff import MultiPwAff
    from ..functions.pwparse import parse_pieces
    from ..values.map import Map

    params, found = parse_pieces(text)
    graphs = [MultiPwAff._of(params, space, cells).as_map() for space, cells in found]
    return reduce(lambda a, b: a | b, graphs, Map._of(params, []))


class Reader:
    """A text, and how far it was read; with `everywhere`, functions may be without inputs."""

    def __init__(self, text: str, everywhere: bool = False) -> None:
        self.everywhere = everywhere
        params = CONTEXT.match(text)
        assert params is not None
        self.text, self.at = text, params.end()
        self.params = params[1] or ""
        self.members: list[Any] = []

    def whole(self) -> Any:  # noqa: ANN401
        """The relation."""
        start = self.at
        enclosed = self.eat("(")
        out = self.tuple()
        domain = self.domain() if enclosed and self.eat(":") else None
        if enclosed and not self.eat(")"):
            raise self.wrong("expected ')'")
        if self.here() or self.at < len(self.text):
            raise self.wrong("expected the end of the text")
        return self.joined(out, domain, start)

    def joined(self, out: Tuple, domain: Set | None, start: int) -> Map:
        """The members side by side, on the domain."""
        from ..values.map import Map
        from ..values.set import Set

        members = self.members
        of_params = domain is not None and [s.out.key for s, _ in domain.parts] == [domain.params().space.out.key]
        if not members and self.everywhere and (domain is None or of_params):
            known = Set(f"{self.params}{{ : }}") if domain is None else domain
            return Map._of(known.param_names, [(Space(PARAMS, out), cs) for _, cs in known.parts])
        if not members:
            if domain is None or of_params:
                hint = "write ([] : { S[i] }), or Map('{ S[i] -> [] }')"
                raise syntax_error(self.text, start, "a tuple of no functions has no domain", hint)
            return Map._of(domain.param_names, [(Space(s.out, out), cs) for s, cs in domain.parts])
        shared = set.intersection(*[{space.source.key for space, _ in m.parts} for m in members])  # others lack a value
        common = [Map._of(m.param_names, [p for p in m.parts if p[0].source.key in shared]) for m in members]
        whole = reduce(lambda a, b: a.flat_range_product(b), common)
        parts = [(Space(space.inp, named(out, space.out.dims)), cs) for space, cs in whole.parts]
        found = Map._of(whole.param_names, parts)
        if domain is None:
            return found
        return found.intersect_params(domain) if of_params else found.intersect_domain(domain)

    def here(self) -> str:
        """The next character but spaces."""
        found = SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.text[self.at : self.at + 1]

    def eat(self, what: str) -> bool:
        """Step over some characters if they are next."""
        self.here()
        found = self.text.startswith(what, self.at)
        self.at += len(what) * found
        return found

    def wrong(self, message: str, hint: str = "") -> SetSyntaxError:
        return syntax_error(self.text, self.at, message, hint)

    def tuple(self) -> Tuple:
        """A tuple whose members are noted; its dimensions have no names yet."""
        self.here()
        name = NAME.match(self.text, self.at)
        self.at = name.end() if name else self.at
        if not self.eat("["):
            raise self.wrong("expected a tuple of functions, '[{ S[i] -> [(i)]; ... }]'")
        label = name[0] if name else None
        if (start := self.here()) == "[" or start.isalpha() or start == "_":
            first = self.tuple()
            if not self.eat("->"):
                raise self.wrong("expected '->'")
            second = self.tuple()
            if not self.eat("]"):
                raise self.wrong("expected ']'")
            return Tuple(label, (*first.dims, *second.dims), Space(first, second))
        before = len(self.members)
        closed = self.eat("]")
        while not closed:
            if self.here() != "{":
                raise self.wrong("expected '{ S[i] -> [(i)]; ... }'")
            self.members.append(self.member(*self.set()))
            closed = self.eat("]")
            if not closed and not self.eat(","):
                raise self.wrong("expected ',' or ']'")
        return Tuple(label, ("",) * (len(self.members) - before))

    def set(self) -> tuple[int, int]:
        """Where a text from `{` to behind its `}` stands, which is stepped over."""
        start, close = self.at, self.text.find("}", self.at)
        self.at = len(self.text) if close < 0 else close + 1
        return start, self.at

    def member(self, start: int, end: int) -> Any:  # noqa: ANN401
        """One of the functions, whose text stands from a place to another, as a relation."""
        from ..values.map import Map

        m: Map = self.read(parse_functions if self.everywhere else Map, start, end)
        if any(s.n_out != 1 or s.out.name or s.out.inner for s, _ in m.parts) or not m.is_single_valued():
            raise self.no_number(start)
        return m

    def read(self, of: Callable[[str], Any], start: int, end: int) -> Any:  # noqa: ANN401
        """What a function makes of a part of the text; a mistake is shown where it stands."""
        try:
            return of(self.params + self.text[start:end])
        except SetSyntaxError as wrong:
            params = len(self.params)
            by = start - params if wrong.at >= params else -len(self.text)
            raise _shifted(self.text, wrong, by) from None

    def no_number(self, start: int) -> SetSyntaxError:
        """The error of a member that is no function of one value."""
        hint = "such as { S[i] -> [(i)] }"
        return syntax_error(self.text, start, "a member gives one number for each point", hint)

    def domain(self) -> Set:
        """The set behind a colon, which may list parameters of its own."""
        from ..values.set import Set

        self.here()
        own = CONTEXT.match(self.text, self.at)
        params, start = self.params, self.at
        if own is not None and own[1]:
            params, self.at = "", own.end()
        if self.here() != "{":
            raise self.wrong("expected a domain, '{ S[i] : i > 0; ... }'")
        first, end = self.set()
        first = start if not params else first
        try:
            return Set(params + self.text[first:end])
        except SetSyntaxError as wrong:
            raise _shifted(self.text, wrong, first - len(params)) from None


def named(out: Tuple, names: tuple[str, ...]) -> Tuple:
    """A tuple with these names of its dimensions."""
    if out.inner is None:
        return Tuple(out.name, names)
    first = len(out.inner.source.dims)
    return Tuple(out.name, names, Space(named(out.inner.source, names[:first]), named(out.inner.out, names[first:])))


def _shifted(text: str, wrong: SetSyntaxError, by: int) -> SetSyntaxError:
    """A mistake in a part of a text, where it stands in the whole."""
    at = wrong.at + by
    return syntax_error(text, max(at, 0), wrong.message, wrong.hint)
