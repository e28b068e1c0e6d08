"""isl's texts of functions of several tuples, each value by itself: they say relations.

    [N] -> L[{ S[i, j] -> [(i)]; T[i] -> [(N)] }, { S[i, j] -> [(j)]; T[i] -> [(0)] }]

is the relation of `S[i, j]` to `L[i, j]` and of `T[i]` to `L[N, 0]`, where all values are there. Without a value there
is but a domain, `([] : { S[i] : i > 0 })`.
"""

from __future__ import annotations

import re
from functools import reduce
from typing import TYPE_CHECKING

from ..errors import SetSyntaxError
from ..values.space import Space, Tuple
from .tokens import NAME, syntax_error

if TYPE_CHECKING:
    from ..values.map import Map

HEAD = re.compile(rf"\s*(\[[^\[\]{{}}()]*\]\s*->\s*)?({NAME.pattern})?\s*(?=\[\s*\{{|\[\s*\]\s*$|\()")
NOTHING = re.compile(r"\(\s*\[\s*\]\s*:\s*(\{.*\})\s*\)\s*", re.DOTALL)


def is_tuple_of_functions(text: str) -> bool:
    """Whether a text begins like one of these, and like no other.

    >>> is_tuple_of_functions("[{ S[i] -> [(i)] }]"), is_tuple_of_functions("[N] -> { S[i] -> [(i)] }")
    (True, False)
    """
    return HEAD.match(text) is not None


def parse_tuple(text: str) -> Map:
    """The relation that such a text says.

    Raises
    ------
    SetSyntaxError : it is none, with the place; `[]` has no domain, and says nothing here.

    >>> print(parse_tuple("L[{ S[i] -> [(i)]; T[i, j] -> [(j)] }, { S[i] -> [(0)]; T[i, j] -> [(i)] }]"))
    { S[i] -> L[i, 0]; T[i, j] -> L[j, i] }
    >>> print(parse_tuple("([] : { S[i] : i > 0 })"))
    { S[i] -> [] : i >= 1 }
    """
    from ..values.map import Map
    from ..values.set import Set

    head = HEAD.match(text)
    assert head is not None
    params, name = head[1] or "", head[2]
    found = NOTHING.fullmatch(text, head.end())
    if found:
        s = Set(params + found[1])
        return Map._of(s.param_names, [(Space(x.out, Tuple(name, ())), cs) for x, cs in s.parts])
    members = [_member(text, params, start, end) for start, end in _members(text, head.end())]
    if not members:
        hint = "write ([] : { S[i] }), or Map('{ S[i] -> [] }')"
        raise syntax_error(text, head.end(), "a tuple of no functions has no domain", hint)
    shared = set.intersection(*[{space.source.key for space, _ in m.parts} for m in members])  # others lack a value
    common = [Map._of(m.param_names, [p for p in m.parts if p[0].source.key in shared]) for m in members]
    whole = reduce(lambda a, b: a.flat_range_product(b), common)
    parts = [(Space(space.inp, Tuple(name, space.out.dims)), cs) for space, cs in whole.parts]
    return Map._of(whole.param_names, parts)


def _members(text: str, start: int) -> list[tuple[int, int]]:
    """Where the members of a list in brackets stand, from each `{` to behind its `}`."""
    found: list[tuple[int, int]] = []
    at, wanted = start + 1, True  # whether a member or the end may follow
    while True:
        at += len(text[at:]) - len(text[at:].lstrip())
        here = text[at : at + 1]
        if here == "]" and (not found or not wanted):
            if rest := text[at + 1 :].lstrip():
                raise syntax_error(text, len(text) - len(rest), "expected the end of the text")
            return found
        if here == "{" and wanted:
            close = text.find("}", at)
            end = len(text) if close < 0 else close + 1
            found.append((at, end))
            at, wanted = end, False
        elif here == "," and not wanted:
            at, wanted = at + 1, True
        else:
            raise syntax_error(text, at, "expected '{ S[i] -> [(i)]; ... }'" if wanted else "expected ',' or ']'")


def _member(text: str, params: str, start: int, end: int) -> Map:
    """One of the functions as a relation; a mistake in it is shown where it stands."""
    from ..values.map import Map

    try:
        m = Map(params + text[start:end])
    except SetSyntaxError as wrong:
        at = wrong.at - len(params)
        raise syntax_error(text, start + at if at >= 0 else 0, wrong.message, wrong.hint) from None
    if any(space.n_out != 1 or space.out.name or space.out.inner for space, _ in m.parts) or not m.is_single_valued():
        raise syntax_error(text, start, "a member gives one number for each point", "such as { S[i] -> [(i)] }")
    return m
