"""Tables as text: columns below their headings, in lines that fit a terminal.

A table that is too wide has its long cells broken at blanks; where that isn't enough it goes on below itself, each part
with the first column, which says what a row is of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from textwrap import TextWrapper

from polyvolta.display.text import terminal

GAP = 2  # columns between two
SHORT = 18  # columns of a cell that isn't broken


def tabulated(heads: Sequence[str], rows: Sequence[Sequence[str]], margin: str = "") -> list[str]:
    """The lines of a table: whole, or as wide as the terminal that is printed to.

    Parameters
    ----------
    heads : what stands above the columns; one that starts with ">" is of numbers, which end below one another.
    rows : a text for each column.
    margin : in front of each line.

    >>> for line in tabulated(("load", ">bytes"), [("A", "512"), ("B", "16")], "  "):
    ...     print(line)
      load  bytes
      A       512
      B        16
    """
    cells = [[head.removeprefix(">") for head in heads], *rows]
    width = terminal()
    most = width - len(margin) if width else None
    widths = _widths(cells, most)
    right = [head.startswith(">") for head in heads]
    parts = _parts(widths, most)
    made = [[margin + line for row in cells for line in _lines(right, row, widths, part)] for part in parts]
    return [line for k, lines in enumerate(made) for line in ([""] * bool(k) + lines)]


def _widths(rows: Sequence[Sequence[str]], most: int | None) -> list[int]:
    """Columns of each column; where a row is to be shorter, cells that are long break at blanks, the longest first."""
    columns = list(zip(*rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    words = [max((len(word) for cell in column for word in cell.split()), default=0) for column in columns]
    least = [min(max(word, SHORT), width) for word, width in zip(words, widths, strict=True)]
    while most and sum(widths) + GAP * (len(widths) - 1) > most and widths != least:
        widths[max((k for k, w in enumerate(widths) if w > least[k]), key=widths.__getitem__)] -= 1
    return widths


def _parts(widths: Sequence[int], most: int | None) -> list[list[int]]:
    """The columns that fit beside one another, the first of all in every part."""
    parts: list[list[int]] = [[0]] if widths else []
    for k in range(1, len(widths)):
        if most and sum(widths[i] + GAP for i in parts[-1]) + widths[k] > most and len(parts[-1]) > 1:
            parts.append([0])
        parts[-1].append(k)
    return parts


def _lines(right: Sequence[bool], row: Sequence[str], widths: Sequence[int], part: Sequence[int]) -> Iterator[str]:
    """A part of a row: one line, or as many as its highest cell has."""
    wraps = [TextWrapper(widths[k], break_long_words=False, break_on_hyphens=False) for k in part]
    cells = [[row[k]] if len(row[k]) <= widths[k] else w.wrap(row[k]) for k, w in zip(part, wraps, strict=True)]
    for line in zip_longest(*cells, fillvalue=""):
        texts = (x.rjust(widths[k]) if right[k] else x.ljust(widths[k]) for k, x in zip(part, line, strict=True))
        yield (" " * GAP).join(texts).rstrip()
