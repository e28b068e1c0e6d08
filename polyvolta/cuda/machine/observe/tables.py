"""Tables of what was observed: as plain text, on a terminal, and in a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING

from polyvolta.display.shown import Shown as Displayed
from polyvolta.display.text import filled, fitting, terminal

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.console import Console, ConsoleOptions, Group, RenderResult
    from rich.text import Text

WIDE = 1000  # columns, where no terminal is printed to
GAP = 2  # columns between two
SHORT = 16  # columns of a cell that isn't broken


@dataclass(frozen=True, slots=True)
class Table(Displayed):
    """A table of texts.

    Parameters
    ----------
    title : what it shows.
    columns : their headings; one that starts with ">" is of numbers, which end below one another.
    rows : a text for each column.
    note : a sentence below.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def to_pandas(self) -> DataFrame:
        """The table as a data frame of pandas; its cells stay texts.

        Raises
        ------
        NoPandas : it isn't installed.
        """
        from polyvolta.graph.arrays.frames import frame

        heads = [c.removeprefix(">") for c in self.columns]
        return frame(heads, (dict(zip(heads, row, strict=True)) for row in self.rows))

    def __str__(self) -> str:
        heads = tuple(c.removeprefix(">") for c in self.columns)
        most = (terminal() or WIDE) - 2
        lines = [self.title]
        if self.rows:
            cells = [heads, *self.rows]
            widths = _widths(cells, most)
            parts = ([*_lines(self.columns, row, widths, part)] for part in _parts(widths, most) for row in cells)
            lines += [f"  {line}" for part in parts for line in part]
        if self.note:
            lines.append(f"  {self.note}")
        return fitting("\n".join(lines))

    def _html(self) -> str:
        return self.html()

    def rich(self) -> Group | Text:
        """The table for a terminal, between its title and its note; of one without rows these alone."""
        from rich.box import SIMPLE_HEAD
        from rich.console import Group
        from rich.table import Table as Rich
        from rich.text import Text

        if not self.rows:
            return Text.assemble((self.title, "bold"), f"\n{self.note}\n")
        table = Rich(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        for c in self.columns:
            table.add_column(c.removeprefix(">"), justify="right" if c.startswith(">") else "left", overflow="fold")
        for row in self.rows:
            table.add_row(*map(Text, row))
        return Group(Text(self.title, style="bold"), table, Text(f"{self.note}\n" if self.note else ""))

    def html(self) -> str:
        """The table for a notebook, a fragment."""
        from polyvolta.display.page import table

        return table(self.columns, self.rows, self.title, self.note)


class Shown(Displayed):
    """What an observer saw, by itself: `tables` as plain text, on a terminal, and in a notebook."""

    __slots__ = ()

    @property
    def tables(self) -> tuple[Table, ...]:
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.tables))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in self.tables:
            yield table.rich()

    def __repr__(self) -> str:
        first = self.tables[0].title if self.tables else "nothing"
        return filled(f"<{type(self).__name__}: {first}; print it>")

    def _html(self) -> str:
        return "".join(t.html() for t in self.tables)


def _widths(rows: Sequence[tuple[str, ...]], most: int) -> list[int]:
    """Columns of each column; where a row is to be shorter, cells that are long break at blanks, the longest first."""
    columns = list(zip(*rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    words = [max((len(word) for cell in column for word in cell.split()), default=0) for column in columns]
    least = [min(max(word, SHORT), width) for word, width in zip(words, widths, strict=True)]
    while sum(widths) + GAP * (len(widths) - 1) > most and widths != least:
        widths[max((k for k, w in enumerate(widths) if w > least[k]), key=widths.__getitem__)] -= 1
    return widths


def _parts(widths: Sequence[int], most: int) -> list[list[int]]:
    """The columns that fit beside one another, the first in every part, for it says which row it is."""
    parts: list[list[int]] = [[0]]
    for k in range(1, len(widths)):
        if sum(widths[i] + GAP for i in parts[-1]) + widths[k] > most and len(parts[-1]) > 1:
            parts.append([0])
        parts[-1].append(k)
    return parts


def _lines(columns: Sequence[str], row: Sequence[str], widths: Sequence[int], part: Sequence[int]) -> Iterator[str]:
    """A part of a row: one line, or as many as its highest cell has."""
    cells = [wrap(row[k], widths[k], break_long_words=False, break_on_hyphens=False) or [""] for k in part]
    for line in zip_longest(*cells, fillvalue=""):
        texts = (x.rjust(widths[k]) if columns[k].startswith(">") else x.ljust(widths[k])
                 for k, x in zip(part, line, strict=True))  # fmt: skip
        yield (" " * GAP).join(texts).rstrip()
