"""Tokens of isl's notation, and a cursor over them that knows how to complain.

Every symbol has one spelling from here on: `&&` and `∧` are `and`, `≤` is `<=`, `→` is `->`. A token is just its
text; where it stands is worked out again when there is something to complain about, so that a text without a
mistake is cut in one pass of the regular expression.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from ..errors import SetSyntaxError, alike, nearest
from ..values.named import Named

TOKEN = re.compile(r"\d+|[A-Za-z_][A-Za-z0-9_.']*|<<=|>>=|<<|>>|->|<=|>=|!=|<>|==|//|/\\|\\/|&&|\|\||=>|\S")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.']*")
_NAMES = re.compile(rf"{NAME.pattern}(?: {NAME.pattern})*")
COMMENT = re.compile(r"#[^\n]*")
SPELLINGS = {
    "∧": "and", "&&": "and", "&": "and", "/\\": "and", "¬": "not",
    "∨": "or", "||": "or", "|": "or", "\\/": "or", "!": "not", "∃": "exists",
    "→": "->", "≤": "<=", "≥": ">=", "≠": "!=", "<>": "!=", "==": "=", "%": "mod", "=>": "implies", "⇒": "implies",
    "True": "true", "False": "false", "AND": "and", "OR": "or", "NOT": "not", "EXISTS": "exists",
    "TRUE": "true", "FALSE": "false", "And": "and", "Or": "or", "Not": "not", "Exists": "exists",
}  # fmt: skip
ABS = "abs("  # the function, which is no name: the word alone is one, as in isl, which knows no such function
FUNCTIONS = frozenset({"floor", "ceil", "floord", "ceild", "min", "max", ABS})
CONNECTIVES = frozenset({"and", "or", "not", "exists", "implies", "true", "false"})
_SPELT = SPELLINGS.keys()
KEYWORDS = (CONNECTIVES | FUNCTIONS | {"mod"}) - {ABS}
IN_ANY_CASE = FUNCTIONS | {"abs", "mod", "implies", "rat"}  # what may be a name in another case: `_spelt` decides
LEXICOGRAPHIC = frozenset({"<<", "<<=", ">>", ">>="})
COMPARISONS = frozenset({"<=", ">=", "<", ">", "=", "!="}) | LEXICOGRAPHIC
NO_INTEGERS = frozenset({"nan", "infty", "infinity"})  # isl's words, in any case, for values that are none here
SYMBOLS = KEYWORDS | COMPARISONS | {ABS} | frozenset("+-*/^()[]{}:;,?⌊⌋") | {"//", "->"}
END = ""
HINTS = {  # for characters of other languages
    "~": "write 'not'", ".": "numbers are integers: write 5/2 for 2.5", "..": "a range is written 1:5",
    '"': "names have no quotes",
}  # fmt: skip
DEEPEST = 120  # how many parentheses, floors and `not exists` may stand inside one another


def tokens(text: str) -> list[str]:
    """The tokens of a text in their one spelling; an empty one closes the list. Linear."""
    found: list[str] = TOKEN.findall(COMMENT.sub(_blank, text) if "#" in text else text)
    if "|" in found:
        found = _with_colons(found)
    out = [SPELLINGS.get(t, t) for t in found]
    odd = False
    for t in set(out):
        if t not in SYMBOLS:
            if not (t.isascii() and (t[0].isalnum() or t[0] == "_")):
                at = places(text)[out.index(t)]
                hint = HINTS.get(2 * t if text.startswith(2 * t, at) else t, "")
                raise syntax_error(text, at, f"{t!r} has no meaning here", hint)
            odd = odd or t.lower() in IN_ANY_CASE
    out.append(END)
    return _spelt(out) if odd else out


def _with_colons(toks: list[str]) -> list[str]:
    """The tokens, a colon before conditions where isl also takes a bar: behind a tuple, none being there.

    >>> _with_colons("{ [ i ] | i > 0 | i < 5 }".split())[4:]
    [':', 'i', '>', '0', '|', 'i', '<', '5', '}']
    """
    out, depth, said = list(toks), 0, True
    for k, t in enumerate(toks):
        if t in ("{", ";") and not depth:
            said = False
        elif not depth and (t == ":" or (t == "|" and not said and k and toks[k - 1] == "]")):
            said, out[k] = True, ":"
        depth += (t in ("(", "[")) - (t in (")", "]"))
    return out


def _spelt(toks: list[str]) -> list[str]:
    """The tokens with words of the notation in one spelling where they can be no names.

    isl reads its words in any case. Here `Max` may be a name, of a parameter say, but `Max(` begins no term with it.

    >>> tokens("Max(i, Max) Mod 3")[:-1]
    ['max', '(', 'i', ',', 'Max', ')', 'mod', '3']
    """
    out = list(toks)
    for k, t in enumerate(toks[:-1]):
        word, before, after = t.lower(), out[k - 1] if k else END, toks[k + 1]
        if (word == t and t != "abs") or word not in IN_ANY_CASE:
            continue
        if word == "abs":
            is_word, word = after == "(", ABS
        elif word in FUNCTIONS:
            is_word = after == "("
        elif word == "rat":
            is_word = after == ":" and before in ("{", ";")
        else:  # between two operands
            ends = before[:1].isdigit() or before in (")", "]", "true", "false") or is_name(before)
            is_word = ends and (after[:1].isalnum() or after[:1] in ("(", "[", "_"))
        if is_word:
            out[k] = word
    return out


def _blank(found: re.Match[str]) -> str:
    return " " * len(found.group())


def places(text: str) -> list[int]:
    """Where each token of the text starts; the end of the text comes last."""
    return [m.start() for m in TOKEN.finditer(COMMENT.sub(_blank, text))] + [len(text.rstrip())]


def says_rational(text: str) -> bool:
    """Whether a piece of a text begins with `rat:`, which makes its points rational ones. Linear.

    >>> says_rational("{ [i] : i > 0; rat: [i] : 2i = 1 }"), says_rational("[rat] -> { [1 : rat > 0; rat : rat < 0] }")
    (True, False)
    """
    depth, before = 0, ""
    found = tokens(text)
    for k, t in enumerate(found):
        if t == "rat" and not depth and before in ("{", ";") and found[k + 1] == ":":
            return True
        depth += (t in ("(", "[")) - (t in (")", "]"))
        before = t
    return False


def is_name(token: str) -> bool:
    return token not in SYMBOLS and token != END and not token[0].isdigit()


def is_spelt(name: str) -> bool:
    """Whether a text says this name by writing it: one word, none of the notation's own."""
    return NAME.fullmatch(name) is not None and name not in KEYWORDS and name not in SPELLINGS


def is_word(name: str) -> bool:
    """Whether a text that has this for a name of a dimension can't be read, for the notation takes it for its own.

    >>> [is_word(n) for n in ("max", "NaN", "abs", "x")]
    [True, True, False, False]
    """
    return name in KEYWORDS or name in SPELLINGS or name.lower() in NO_INTEGERS


def are_spelt(names: Collection[str]) -> bool:
    """Whether a text says each of these names by writing it; in the time of one or two, where it does.

    >>> are_spelt({"i", "j'"}), are_spelt({"i", "mod"}), are_spelt({"a b"})
    (True, False, False)
    """
    text = " ".join(names)
    if text.count(" ") >= max(1, len(names)) or not (KEYWORDS.isdisjoint(names) and _SPELT.isdisjoint(names)):
        return False
    return not names or _NAMES.fullmatch(text) is not None


def syntax_error(text: str, at: int, message: str, hint: str = "") -> SetSyntaxError:
    """A syntax error that shows the line with a caret; its `at` is the position."""
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    line = text[start : len(text) if end < 0 else end]
    number = text.count("\n", 0, at) + 1
    place = f"line {number}: " if "\n" in text else ""
    if len(line) > 160:  # a long line is shown around the mistake
        cut = max(at - start - 80, 0)
        line, start = f"...{line[cut : cut + 160]}...", start + cut - 3
    error = SetSyntaxError(message, where=f"{place}{line}\n{' ' * (len(place) + at - start)}^", hint=hint)
    error.at = at
    return error


class Cursor:
    """A place in the tokens of a text."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise SetSyntaxError(f"expected a text in isl's notation, not {type(text).__name__}")
        self.text, self.toks, self.k, self.depth = text, tokens(text), 0, 0
        self.asks = "?" in self.toks

    def at(self, *texts: str) -> bool:
        """Whether the token is one of these symbols or keywords."""
        return self.toks[self.k] in texts

    def eat(self, text: str) -> bool:
        """Step over the token if it is this one."""
        if self.toks[self.k] == text:
            self.k += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if self.toks[self.k] != text:
            raise self.wrong(f"expected {text!r}")
        self.k += 1

    def expect_end(self) -> None:
        """That nothing is left; after the last brace isl reads nothing more, as we where we stand in for islpy."""
        if self.toks[self.k] != END and not (Named.as_islpy and self.toks[self.k - 1] == "}"):
            raise self.wrong("expected the end of the text")

    def name(self, what: str) -> str:
        """Step over a name and return it."""
        if not is_name(self.toks[self.k]):
            hint = f"{self.written()!r} is a word of the notation" if self.toks[self.k] in KEYWORDS else ""
            raise self.wrong(f"expected {what}", hint)
        self.k += 1
        return self.toks[self.k - 1]

    def names_tuple(self, k: int) -> bool:
        """Whether token k can be the name of a tuple: any name, or a word of the notation in front of a bracket."""
        if is_name(self.toks[k]):
            return True
        return self.toks[k] in KEYWORDS and self.toks[k + 1] == "[" and NAME.fullmatch(self.written(k)) is not None

    def tuple_name(self) -> str | None:
        """Step over the name of a tuple, if there is one, and return it as it is written."""
        if not self.names_tuple(self.k):
            return None
        self.k += 1
        word = self.toks[self.k - 1]
        return self.written(self.k - 1) if word in KEYWORDS else word

    def written(self, k: int | None = None) -> str:
        """Token k, by default the present one, as the text has it."""
        found = TOKEN.match(self.text, places(self.text)[self.k if k is None else k])
        return found.group() if found else END

    def deeper(self) -> None:
        """One level of nesting more; the caller takes it off again."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.error("the text is nested too deeply", f"at most {DEEPEST} levels")

    def closing(self, opening: int) -> int:
        """The index of the bracket that closes the one at index `opening`, or of the end of the text."""
        depth = 0
        for k in range(opening, len(self.toks) - 1):
            t = self.toks[k]
            if t in ("(", "["):
                depth += 1
            elif t in (")", "]"):
                depth -= 1
                if not depth:
                    return k
        return len(self.toks) - 1

    # ---- complaints

    def error(self, message: str, hint: str = "", k: int | None = None) -> SetSyntaxError:
        """An error at token k, by default the present one."""
        return syntax_error(self.text, places(self.text)[self.k if k is None else k], message, hint)

    def wrong(self, expected: str, hint: str = "") -> SetSyntaxError:
        """The error that something else was expected at this token."""
        t = self.toks[self.k]
        at = places(self.text)[self.k]
        found = "the end of the text" if t == END else repr(self.written())
        if not hint and is_name(t) and alike(t, CONNECTIVES):
            hint = nearest(t, CONNECTIVES)
        if not hint and found == "'=>'":
            hint = "'=>' is 'implies'; did you mean '>='?"
        if not hint and t in KEYWORDS - CONNECTIVES:
            hint = f"{t!r} is a word of the notation"
        return syntax_error(self.text, at, f"{expected}, found {found}", hint)
