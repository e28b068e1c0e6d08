"""The texts of bands in isl's notation, cut into their parts.

    [M] -> L_0[{ S[i, j] -> [(i)]; T[i] -> [(i)] }, { S[i, j] -> [(j)]; T[i] -> [(M)] }]

is a tuple of one map for each member: the name L_0, the parameter M and, for each member, a text for each statement.
Cutting keeps the places of the parts, so that a mistake in one is shown where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from polyvolta.sched.errors import TreeSyntaxError
from polyvolta.sched.views.outline import Text
from polyvolta.sets.text.tokens import NAME


def entries(
    value: Text, mistake: Callable[..., TreeSyntaxError]
) -> tuple[str | None, tuple[str, ...], list[list[Text]]]:
    """`[M] -> L[{ piece; piece }, { ... }]` as the name, the parameters and the pieces of each dimension."""
    left, arrow, right = cut(value, "->")
    params: tuple[str, ...] = ()
    inner = value.strip()
    if arrow and left.text.strip()[:1] == "[":
        params, inner = tuple(re.findall(r"[A-Za-z_][\w.]*'*", left.text)), right.strip()
    if inner.text[:1] == "(":  # ([...] : condition) limits the domain of a band of no dimensions
        if re.fullmatch(rf"\(\s*({NAME.pattern})?\s*\[\s*\].*\)", inner.text, re.DOTALL):
            return None, params, []
        raise mistake(inner.at, "expected '[{ S[i] -> [(i)] }, ...]'")
    name = NAME.match(inner.text)
    if name:
        inner = Text(inner.text[name.end() :], inner.at + name.end()).strip()
    if inner.text[:1] != "[" or inner.text[-1:] != "]":
        raise mistake(inner.at, "expected '[{ S[i] -> [(i)] }, ...]'", "a list with one map for each member")
    found = []
    for part in split(Text(inner.text[1:-1], inner.at + 1), ","):
        one = part.strip()
        if one.text[:1] != "{" or one.text[-1:] != "}":
            raise mistake(one.at, "expected '{ S[i] -> [(i)]; ... }', one map for each member")
        found.append([p.strip() for p in split(Text(one.text[1:-1], one.at + 1), ";")])
    return name and name.group(), params, found


def split(value: Text, mark: str) -> list[Text]:
    """The text cut at every `mark` outside brackets; nothing but space between two is left out."""
    out: list[Text] = []
    while True:
        first, found, value = cut(value, mark)
        if first.text.strip():
            out.append(first)
        if not found:
            return out


def cut(value: Text, mark: str) -> tuple[Text, str, Text]:
    """The text before and after the first `mark` outside brackets."""
    depth = 0
    for k, c in enumerate(value.text):
        if not depth and value.text.startswith(mark, k):
            return Text(value.text[:k], value.at), mark, Text(value.text[k + len(mark) :], value.at + k + len(mark))
        depth += (c in "([{") - (c in ")]}")
    return value, "", Text("", value.at + len(value.text))
