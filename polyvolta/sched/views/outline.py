"""The outline of isl's textual trees: nested mappings and lists, with the place of everything.

isl writes a tree in a corner of YAML, in two forms that may be mixed:

    { domain: "...", child: { sequence: [ { filter: "..." }, { filter: "..." } ] } }      the flow form

    domain: "..."                                                                         the block form
    child:
      sequence:
      - filter: "..."
      - filter: "..."

The keys decide what a value is: `child` has a node, `sequence` and `set` a list of nodes, `coincident` a list of
numbers, all others a text. A text stands in quotes or, up to the end of the line (in the flow form: the next comma or
brace outside brackets), without.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from polyvolta.sched.errors import TreeSyntaxError
from polyvolta.sets import nearest
from polyvolta.sets.text.tokens import syntax_error

TEXT_KEYS = (
    "domain", "context", "schedule", "permutable", "options", "filter", "mark", "guard", "extension", "leaf",
    "expansion", "contraction",
)  # fmt: skip
CHILD_KEYS = ("sequence", "set")
KEYS = (*TEXT_KEYS, *CHILD_KEYS, "child", "coincident")
KEY = re.compile(r"[\"']?([A-Za-z_]\w*)[\"']?[ \t]*:")
LEAF = re.compile(r"[\"']?leaf[\"']?(?=\s*([,}\n]|$))")
CONTINUED = re.compile(r"\\\n")  # in double quotes the text goes on in the next line
DEEPEST = 200


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of the text and where it starts."""

    text: str
    at: int

    def strip(self) -> Text:
        return Text(self.text.strip(), self.at + len(self.text) - len(self.text.lstrip()))


@dataclass(frozen=True, slots=True)
class Entry:
    """`key: value`; the key decides which of the fields has the value.

    Parameters
    ----------
    at : where the key stands.
    text : of most keys; of others just the place where the value stands.
    child : of `child`; None for a leaf.
    nodes : of `sequence` and `set`.
    flags : of `coincident`.
    """

    key: str
    at: int
    text: Text
    child: Mapping | None = None
    nodes: tuple[Mapping, ...] = ()
    flags: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True)
class Mapping:
    """The entries of one node, in the order of the text."""

    entries: tuple[Entry, ...]
    at: int


def mistake(text: str, at: int, message: str, hint: str = "") -> TreeSyntaxError:
    """An error that shows the line with a caret."""
    wrong = syntax_error(text, min(at, len(text)), message, hint)
    return TreeSyntaxError(wrong.message, where=wrong.where, hint=wrong.hint)


def outline(text: str) -> Mapping:
    """The mapping that a text says.

    Raises
    ------
    TreeSyntaxError : it is no mapping of isl's keys; shows the line with a caret.
    """
    return _Outline(text).whole()


class _Outline:
    def __init__(self, text: str) -> None:
        self.text, self.k, self.depth = text, 0, 0

    def whole(self) -> Mapping:
        self.space()
        if self.text.startswith("---", self.k):
            self.k += 3
            self.space()
        if self.done():
            raise self.error("expected a tree", "{ domain: ..., child: ... }")
        found = self.mapping(self.column())
        self.space()
        if self.text.startswith("...", self.k):
            self.k += 3
            self.space()
        if not self.done():
            raise self.error("expected the end of the tree")
        return found

    # ---- places

    def done(self) -> bool:
        return self.k >= len(self.text)

    def column(self, at: int | None = None) -> int:
        at = self.k if at is None else at
        return at - (self.text.rfind("\n", 0, at) + 1)

    def space(self) -> None:
        """Step over blanks, ends of lines and comments."""
        while not self.done():
            if self.text[self.k].isspace():
                self.k += 1
            elif self.text[self.k] == "#":
                end = self.text.find("\n", self.k)
                self.k = len(self.text) if end < 0 else end
            else:
                return

    def eat(self, mark: str) -> bool:
        self.space()
        if self.text.startswith(mark, self.k):
            self.k += len(mark)
            return True
        return False

    def error(self, message: str, hint: str = "", at: int | None = None) -> TreeSyntaxError:
        return mistake(self.text, self.k if at is None else at, message, hint)

    # ---- mappings

    def mapping(self, column: int) -> Mapping:
        """A mapping in braces, or one whose keys stand in a column."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.error("the tree is nested too deeply", f"at most {DEEPEST} levels")
        start = self.k
        found = self.flow_mapping() if self.eat("{") else self.block_mapping(column)
        self.depth -= 1
        return Mapping(found, start)

    def flow_mapping(self) -> tuple[Entry, ...]:
        entries: list[Entry] = []
        while not self.eat("}"):
            self.space()
            if self.done():
                raise self.error("expected '}'")
            entries.append(self.entry(entries, None))
            if not self.eat(","):
                if self.eat("}"):
                    break
                raise self.error("expected ',' or '}'")
        return tuple(entries)

    def block_mapping(self, column: int) -> tuple[Entry, ...]:
        entries: list[Entry] = []
        while True:
            self.space()
            here = self.column()
            if self.done() or here < column or self.text[self.k] in "}],":
                return tuple(entries)
            if here > column:
                raise self.error("this key is indented deeper than those before it")
            if self.text.startswith(("- ", "-\n", "...", "---"), self.k):
                return tuple(entries)
            entries.append(self.entry(entries, column))

    def entry(self, before: list[Entry], column: int | None) -> Entry:
        start = self.k
        found = KEY.match(self.text, start)
        if not found and (leaf := LEAF.match(self.text, start)):  # isl writes { leaf }
            self.k = leaf.end()
            return Entry("leaf", start, Text("", start))
        if not found:
            raise self.error("expected a key such as 'child:'")
        key = found[1]
        if key.isupper() and key.lower() in KEYS:
            hint = "that is how trees are printed for readers; to_isl() writes what is read here"
            raise self.error(f"unknown key {key!r}", hint)
        if key not in KEYS:
            raise self.error(f"unknown key {key!r}", nearest(key, KEYS))
        if any(e.key == key for e in before):
            raise self.error(f"{key!r} is given twice")
        self.k = found.end()
        return self.valued(key, start, column)

    # ---- values

    def valued(self, key: str, start: int, column: int | None) -> Entry:
        """The entry of a key, from its value on."""
        if key not in (*CHILD_KEYS, "coincident", "child"):
            return Entry(key, start, self.scalar(key, column))
        self.space()
        here = Text("", self.k)
        if key in CHILD_KEYS:
            return Entry(key, start, here, nodes=tuple(self.nodes(key, column)))
        if key == "coincident":
            return Entry(key, start, here, flags=tuple(self.flags()))
        if word := LEAF.match(self.text, self.k):
            self.k = word.end()
            return Entry(key, start, here)
        self.below(key, column)
        return Entry(key, start, here, child=self.mapping(self.column()))

    def below(self, key: str, column: int | None, same: bool = False) -> None:
        """Check that what comes next belongs to the key in `column`."""
        here = self.column()
        missing = self.done() or self.text[self.k] in "}],"
        if missing or (column is not None and (here < column or here == column and not same)):
            raise self.error(f"{key!r} has no value", "it stands below its key, indented deeper")

    def nodes(self, key: str, column: int | None) -> list[Mapping]:
        """`[ node, node ]`, or items behind dashes."""
        out: list[Mapping] = []
        if self.eat("["):
            while not self.eat("]"):
                self.space()
                if not self.text.startswith("{", self.k):
                    raise self.error("expected '{' and a filter")
                out.append(self.mapping(0))
                if not self.eat(","):
                    if self.eat("]"):
                        break
                    raise self.error("expected ',' or ']'")
            return out
        self.below(key, column, same=True)
        dashes = self.column()
        while not self.done() and self.column() == dashes and self.text.startswith(("- ", "-\n", "-\t"), self.k):
            self.k += 1
            self.space()
            out.append(self.mapping(self.column()))
            self.space()
        if not out:
            raise self.error(
                f"expected the children of the {key}", "[ { filter: ... }, ... ], or a line '- filter: ...' each"
            )
        return out

    def flags(self) -> list[Text]:
        """`[ 1, 0 ]`, or items behind dashes."""
        out: list[Text] = []
        if self.eat("["):
            while not self.eat("]"):
                self.space()
                out.append(self.digit())
                if not self.eat(","):
                    if self.eat("]"):
                        break
                    raise self.error("expected ',' or ']'")
            return out
        while self.text.startswith("- ", self.k):
            self.k += 2
            out.append(self.digit())
            self.space()
        if not out:
            raise self.error("expected a list of flags", "coincident: [ 1, 0 ]")
        return out

    def digit(self) -> Text:
        found = re.compile(r"\d+").match(self.text, self.k)
        if not found:
            raise self.error("expected 0 or 1")
        self.k = found.end()
        return Text(found[0], found.start())

    def scalar(self, key: str, column: int | None) -> Text:
        while not self.done() and self.text[self.k] in " \t":
            self.k += 1
        if self.text[self.k : self.k + 1] == "\n":  # the value stands on a line of its own
            self.space()
            if key == "leaf":
                return Text("", self.k)
            self.below(key, column)
        quote = self.text[self.k : self.k + 1]
        if quote and quote in "\"'":
            end = self.text.find(quote, self.k + 1)
            if end < 0:
                raise self.error("this quote is never closed")
            found = Text(self.text[self.k + 1 : end], self.k + 1)
            self.k = end + 1
            return Text(CONTINUED.sub("  ", found.text), found.at) if quote == '"' else found
        return self.bare(key, column)

    def bare(self, key: str, column: int | None) -> Text:
        """A text without quotes."""
        start, depth = self.k, 0
        while not self.done():
            c = self.text[self.k]
            if not depth and (c in ",}]" if column is None else c in "\n#"):
                break
            depth += (c in "([{") - (c in ")]}")
            self.k += 1
        found = Text(self.text[start : self.k].rstrip(), start)
        if not found.text and key != "leaf":
            raise self.error(f"{key!r} has no value", at=start)
        return found
