"""Text that fits a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import unescape
from shutil import get_terminal_size
from textwrap import wrap

from polyvolta.display.fragment import Html

WIDEST = 80
LONGEST = 400  # letters of a value


def columns(most: int = WIDEST) -> int:
    """Columns that a text may take: the terminal's, at least 40 and at most so many; as many where there is none."""
    return min(max(get_terminal_size((most, 24)).columns, 40), most)


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
    """A line in parts that fit, those behind the first indented; it breaks at blanks, best before a sign such as ∧.

    >>> hanging("DOMAIN: S[i, j] : 0 ≤ i < M ∧ 0 ≤ j < N", 30, 8)
    ['DOMAIN: S[i, j] : 0 ≤ i < M', '        ∧ 0 ≤ j < N']
    """
    out: list[str] = []
    while len(line) > width:
        start = len(line) - len(line.lstrip())
        near = [k for k in _breaks(line, start, width) if k > start + (width - start) // 3]
        at = max(near, default=max(_blanks(line, start, width), default=-1))
        if at <= start:
            break
        out.append(line[:at].rstrip())
        line = " " * indent + line[at:].lstrip()
    return [*out, line]


def _breaks(line: str, start: int, width: int) -> list[int]:
    """The blanks before signs between formulas, and behind what ends a part."""
    signs = ("∧", "∨", ":", "→", "->", "and", "or")
    return [k for k in _blanks(line, start, width) if line[k + 1 :].split(" ", 1)[0] in signs or line[k - 1] in ";,"]


def _blanks(line: str, start: int, width: int) -> list[int]:
    """Where a line can be broken so that its first part has at most so many columns."""
    return [k for k in range(start + 1, min(width + 1, len(line))) if line[k] == " "]


def folded(text: str, width: int | None = None) -> str:
    """A text whose lines are too long for a terminal in more of them, the rest of each below its beginning.

    >>> print(folded("  FILTER: load_A[c, t]; load_B[c, t]", 26))
      FILTER: load_A[c, t];
          load_B[c, t]
    """
    width = columns() if width is None else width
    lines = ((line, len(line) - len(line.lstrip()) + 4) for line in text.split("\n"))
    return "\n".join(part for line, indent in lines for part in hanging(line, width, indent))


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
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 4]} ..."
