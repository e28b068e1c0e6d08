"""Tokens of isl's notation, and a cursor over them that knows how to complain.

Every symbol has one spelling from here on: `&&` and `∧` are `and`, `≤` is `<=`, `→` is `->`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .errors import SetSyntaxError

TOKEN = re.compile(
    r"\s*(?:(?P<num>\d+)|(?P<name>[A-Za-z_][A-Za-z0-9_.]*'*)"
    r"|(?P<op>->|<=|>=|!=|<>|==|//|&&|\|\||=>|[-+*/%<>=()\[\]{}:;,?!∧∨¬≤≥≠∃⌊⌋→]))"
)
SPELLINGS = {
    "∧": "and", "&&": "and", "∨": "or", "||": "or", "¬": "not", "!": "not", "∃": "exists", "→": "->",
    "≤": "<=", "≥": ">=", "≠": "!=", "<>": "!=", "==": "=", "%": "mod", "=>": "implies", "True": "true",
    "False": "false",
}  # fmt: skip
FUNCTIONS = {"floor", "ceil", "floord", "min", "max", "abs"}
KEYWORDS = {"and", "or", "not", "exists", "implies", "mod", "true", "false", *FUNCTIONS}
COMPARISONS = {"<=", ">=", "<", ">", "=", "!="}


@dataclass(frozen=True, slots=True)
class Token:
    """A token: its text in the one spelling, its kind ("num", "name", "op" or "end") and where it stands."""

    text: str
    kind: str
    at: int


def tokens(text: str) -> list[Token]:
    """The tokens of a text; an `end` token closes the list. Linear."""
    out, at = [], 0
    text_end = len(text.rstrip())
    while at < text_end:
        m = TOKEN.match(text, at)
        if m is None:
            at += len(text[at:]) - len(text[at:].lstrip())
            raise syntax_error(text, at, f"{text[at]!r} has no meaning here")
        kind = m.lastgroup or "op"
        word = SPELLINGS.get(m.group(kind), m.group(kind))
        out.append(Token(word, "op" if word in KEYWORDS else kind, m.start(kind)))
        at = m.end()
    out.append(Token("the end of the text", "end", text_end))
    return out


def syntax_error(text: str, at: int, message: str, hint: str = "") -> SetSyntaxError:
    """A syntax error that shows the line with a caret; its `at` is the position."""
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    line = text[start : len(text) if end < 0 else end]
    number = text.count("\n", 0, at) + 1
    place = f"line {number}: " if "\n" in text else ""
    error = SetSyntaxError(message, where=f"{place}{line}\n{' ' * (len(place) + at - start)}^", hint=hint)
    error.at = at
    return error


class Cursor:
    """A place in a list of tokens."""

    def __init__(self, text: str) -> None:
        self.text, self.toks, self.k = text, tokens(text), 0

    @property
    def tok(self) -> Token:
        return self.toks[self.k]

    def at(self, *texts: str) -> bool:
        """Whether the token is one of these symbols or keywords."""
        return self.tok.kind == "op" and self.tok.text in texts

    def eat(self, *texts: str) -> bool:
        """Step over the token if it is one of these."""
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

    def name(self, what: str) -> str:
        """Step over a name and return it."""
        if self.tok.kind != "name":
            raise self.wrong(f"expected {what}")
        self.k += 1
        return self.toks[self.k - 1].text

    def wrong(self, expected: str, hint: str = "") -> SetSyntaxError:
        """The error that something else was expected at this token."""
        found = self.tok.text if self.tok.kind == "end" else repr(self.tok.text)
        return syntax_error(self.text, self.tok.at, f"{expected}, found {found}", hint)
