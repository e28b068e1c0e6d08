"""Tables of what was observed: as plain text, on a terminal, and in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyvolta.display.shown import Shown as Displayed
from polyvolta.display.tables import tabulated
from polyvolta.display.text import filled, for_terminal

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.console import Console, ConsoleOptions, Group, RenderResult
    from rich.text import Text


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
        lines = [self.title]
        if self.rows:
            lines += tabulated(self.columns, self.rows, "  ")
        if self.note:
            lines.append(f"  {self.note}")
        return for_terminal("\n".join(lines))

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
