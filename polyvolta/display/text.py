"""Text that fits a terminal.

What shows itself by lines made for it, such as a report, is written for `columns()`: those of the terminal, at most 80.
What has lines of its own length, a tree or an error, goes through `for_terminal`: folded where a terminal is printed
to, and whole elsewhere, so that a pipe or a file gets the same text on any machine. An exported COLUMNS stands for a
terminal: it folds what a pipe or a file gets, too.

Where stdout's encoding lacks a sign, as ASCII lacks ≤, a text is written without: `printable`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from html import unescape
from itertools import accumulate
from shutil import get_terminal_size
from textwrap import wrap

from polyvolta.display.fragment import Html

WIDEST = 80
LONGEST = 400  # letters of a value
LEAST = 34  # columns that the rest of a folded line has, however deep its beginning is
HANG = 4  # columns by which it is indented
HEAD = re.compile(r"[^\w([{]*(?:[A-Z]+: )?")  # of a line: signs in its margin, a tree's kind of node
POINTED = re.compile(r" *\^[ ^~]*")
PLAIN = {
    "≤": "<=", "≥": ">=", "≠": "!=", "∧": "and", "∨": "or", "¬": "not ", "→": "->", "⌊": "floor(", "⌋": ")",
    "⌈": "ceil(", "⌉": ")", "×": "x", "·": "*", "−": "-", "–": "-", "…": "...", "⋯": "...", "✓": "+", "✗": "-",
    "┃": "|", "▌": "|", "µ": "u",
}  # fmt: skip
"""Signs as ASCII has them."""


def columns(most: int = WIDEST) -> int:
    """Columns that a text may take: the terminal's, at least 40 and at most so many; as many where there is none."""
    return min(max(get_terminal_size((most, 24)).columns, 40), most)


def terminal() -> int | None:
    """Columns of the terminal that is printed to, by COLUMNS or by itself; None in a pipe, a file or a notebook."""
    said = os.environ.get("COLUMNS", "")
    try:
        there = int(said) if said.isdigit() else 0
        if not there and sys.stdout.isatty():
            there = os.get_terminal_size(sys.stdout.fileno()).columns
    except (AttributeError, ValueError, OSError):  # stdout is closed, or another object
        there = 0
    return max(there, 40) if there else None


def plain(text: str) -> str:
    """A text in ASCII: signs by `PLAIN`, others as question marks; in a line with a caret below each is one letter.

    >>> print(plain("S[i] → [2⌊i/4⌋] : 0 ≤ i < N ∧ i ≠ 3"))
    S[i] -> [2*floor(i/4)] : 0 <= i < N and i != 3
    """
    lines = text.split("\n")
    for k, line in enumerate(lines):
        if not POINTED.fullmatch(lines[k + 1] if k + 1 < len(lines) else ""):
            line = re.sub(r"(?<=[\w)])(?=[⌊⌈])", "*", line)
            line = "".join(PLAIN.get(c, c) for c in line)
        lines[k] = line.encode("ascii", "replace").decode()
    return "\n".join(lines)


def printable(text: str) -> str:
    """A text as it is if stdout's encoding has its letters, else in ASCII, where printing it would raise."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return plain(text)
    except (LookupError, TypeError):  # no encoding that Python knows, as of what stands for stdout in a test
        pass
    return text


def for_terminal(text: str) -> str:
    """A text with lines of its own length: folded where a terminal is printed to, elsewhere as it is, if it can be
    printed there."""
    text, width = printable(text), terminal()
    return text if width is None else folded(text, width)


def brief(text: str) -> str:
    """A text, or the beginning of one that is longer than `LONGEST`.

    >>> brief("a + b"), len(brief("a" * 1000)), brief("a + " * 1000)[-9:]
    ('a + b', 400, '+ a + ...')
    """
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 4].rstrip()} ..."


def labelled(rows: Sequence[tuple[str, str]]) -> str:
    """A label and a text in each line, as `for_terminal`; the rest of a folded text stands below its beginning."""
    width, room = terminal(), max((len(label) for label, _ in rows), default=0)
    lines = [f"  {label:<{room}}  {text}" for label, text in rows]
    return "\n".join(lines if width is None else (x for line in lines for x in hanging(line, width, room + 4 + HANG)))


def filled(text: str, indent: str = "  ", first: str = "", width: int | None = None) -> str:
    """A text in lines that fit, broken at blanks, all but the first indented.

    >>> print(filled("<Stages initial, tiled, mapped>", width=24))
    <Stages initial, tiled,
      mapped>
    """
    width = columns() if width is None else width
    lines = wrap(text, width, initial_indent=first, subsequent_indent=indent, break_long_words=False,
                 break_on_hyphens=False)  # fmt: skip
    return "\n".join(lines)


def called(name: str, fields: Iterable[tuple[str, object]], width: int | None = None) -> str:
    """`name(field=value, ...)` as Python reads it, in lines that fit.

    >>> print(called("Options", [("block_tile", (64, 64, 32)), ("split_k", 2)], width=36))
    Options(block_tile=(64, 64, 32),
            split_k=2)
    """
    width = columns() if width is None else width
    lines, indent = [f"{name}("], " " * (len(name) + 1)
    texts = [f"{n}={v!r}" for n, v in fields]
    for k, text in enumerate(texts):
        text += "," if k < len(texts) - 1 else ")"
        room = width - len(lines[-1]) - (not lines[-1].endswith("("))
        if len(text) > room and lines[-1].strip() != f"{name}(":
            lines.append(indent + text)
        else:
            lines[-1] += ("" if lines[-1].endswith("(") or not lines[-1].strip() else " ") + text
    return "\n".join(lines) if texts else f"{name}()"


def hanging(line: str, width: int, indent: int) -> list[str]:
    """A line in parts that fit, those behind the first indented.

    It breaks at blanks: where it can before a sign such as ∧ or behind a comma, in as few brackets as possible.

    >>> hanging("DOMAIN: S[i, j] : 0 ≤ i < M ∧ 0 ≤ j < N", 30, 8)
    ['DOMAIN: S[i, j] : 0 ≤ i < M', '        ∧ 0 ≤ j < N']
    """
    out: list[str] = []
    while len(line) > width:
        start = len(line) - len(line.lstrip())
        deep = _depths(line)
        near = [(-deep[k], k) for k in _breaks(line, start, width) if k > start + (width - start) // 3]
        at = max(near)[1] if near else max(_blanks(line, start, width), default=line.find(" ", max(start, width)))
        if at <= start or not line[at:].strip():
            break
        out.append(line[:at].rstrip())
        line = " " * indent + line[at:].lstrip()
    return [*out, line]


def _depths(line: str) -> list[int]:
    """In how many brackets each letter stands."""
    return list(accumulate((c in "([{") - (c in ")]}") for c in line))


def _breaks(line: str, start: int, width: int) -> list[int]:
    """The blanks before signs between formulas, and behind what ends a part."""
    signs = ("∧", "∨", ":", "→", "->", "and", "or")
    return [k for k in _blanks(line, start, width) if line[k + 1 :].split(" ", 1)[0] in signs or line[k - 1] in ";,"]


def _blanks(line: str, start: int, width: int) -> list[int]:
    """Where a line can be broken so that its first part has at most so many columns."""
    return [k for k in range(start + 1, min(width + 1, len(line))) if line[k] == " "]


def folded(text: str, width: int | None = None) -> str:
    """A text whose lines are too long for a terminal in more of them, the rest of each below its beginning.

    A line with a caret below it isn't folded but cut at both ends.

    >>> print(folded("  FILTER: load_A[c, t]; load_B[c, t]; sync_write[kt]", 50))
      FILTER: load_A[c, t]; load_B[c, t];
                  sync_write[kt]
    >>> print(folded("{ [row] : 0 <= rwo < 4 and row mod 2 = 0 }\\n" + " " * 15 + "^", 30))
    { [row] : 0 <= rwo < 4 and ...
                   ^
    """
    width = columns() if width is None else width
    lines, out = text.split("\n"), []
    while lines:
        line = lines.pop(0)
        if lines and POINTED.fullmatch(lines[0]):
            out += _around(line, lines.pop(0), width)
        else:
            out += hanging(line, width, hung(line, width))
    return "\n".join(out)


def _around(line: str, marks: str, width: int) -> list[str]:
    """A line with marks below it: what fits around these, of a line that is too long."""
    first, last = marks.index("^"), len(marks)
    start = max(min((first + last - width) // 2, len(line) - width), 0)
    cut, more = 4 * (start > 0), 4 * (len(line) > start + width)
    if len(line) <= width or first < start + cut or last > start + width - more:
        return [line, marks]
    shown = "... "[:cut] + line[start + cut : start + width - more] + " ..."[4 - more :] * bool(more)
    return [shown.rstrip(), marks[start:]]


def hung(line: str, width: int) -> int:
    """By how much the rest of a line that is folded is indented, which leaves it some room however deep the line is."""
    head = HEAD.match(line)
    return max(min((head.end() if head else 0) + HANG, width - min(LEAST, width // 2)), 0)


def listed(title: str, facts: Iterable[tuple[str, object]], width: int | None = None) -> str:
    """Names with values, one below the other, as lines that fit.

    >>> print(listed("a launch", [("grid", (4, 4, 1)), ("threads", 128), ("note", "")]))
    a launch
      grid     4 x 4 x 1
      threads  128
    """
    width = columns() if width is None else width
    pairs = [(name, _plain(value)) for name, value in facts if value not in (None, "", ())]
    wide = max((len(name) for name, _ in pairs), default=0)
    lines = (filled(value, " " * (wide + 4), f"  {name:{wide}}  ", width) for name, value in pairs)
    return "\n".join([*[title] * bool(title), *lines])


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple) and value and all(isinstance(x, int) for x in value):
        return " x ".join(map(str, value))
    if isinstance(value, tuple) and all(isinstance(x, str | int) for x in value):
        return ", ".join(map(str, value))
    text = unescape(re.sub("<[^>]*>", "", value)) if isinstance(value, Html) else str(value)
    return brief(text)
