"""What tuning found out, as a table for people and as values for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

from polyvolta.compiler.kernel import Kernel
from polyvolta.compiler.options import Options
from polyvolta.compiler.remembered.entries import Timed
from polyvolta.compiler.tiling import OPTIONS
from polyvolta.display.shown import Shown
from polyvolta.display.tables import tabulated
from polyvolta.display.text import filled, for_terminal

if TYPE_CHECKING:
    from pandas import DataFrame

NOTE = 60  # letters of a note


@dataclass(frozen=True, slots=True, repr=False)
class Table(Shown, Sequence[Timed]):
    """How every candidate fared, the fastest first; prints as a table.

    Those marked with a * were in the last rounds, in which the best took turns: their times are to be compared with one
    another, and stand beside the fastest one's. The others' are from earlier and shorter rounds; clocks change
    meanwhile, so that they may be less than the winner's.
    """

    rows: tuple[Timed, ...]
    title: str = ""

    @overload
    def __getitem__(self, at: int) -> Timed: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Timed]: ...
    def __getitem__(self, at: int | slice) -> Timed | Sequence[Timed]:
        return self.rows[at]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Timed]:
        return iter(self.rows)

    def to_pandas(self) -> DataFrame:
        """The table as a data frame of pandas, a row for each candidate: seconds of a launch (NaN without), final,
        outcome, note, and all options.

        Raises
        ------
        NoPandas : it isn't installed.
        """
        from polyvolta.graph.arrays.frames import frame

        heads = ("seconds", "final", "outcome", "note")
        rows = ({**{n: getattr(e, n) for n in heads}, **{n: getattr(e.options, n) for n in OPTIONS}} for e in self.rows)
        return frame((*heads, *OPTIONS), rows)

    @property
    def varied(self) -> tuple[str, ...]:
        """The options in which candidates differ."""
        return tuple(n for n in OPTIONS if len({getattr(e.options, n) for e in self.rows}) > 1)

    def cells(self) -> list[list[str]]:
        """A heading and a line for each candidate."""
        lines = [["time", "", *self.varied, ""]]
        fastest, raced = next((e.seconds for e in self.rows if e.seconds), 1.0), any(e.final for e in self.rows)
        for e in self.rows:
            time = f"{1e6 * e.seconds:.2f} us{'*' * e.final}" if e.seconds else e.outcome
            behind = f"{e.seconds / fastest:.3f}" if e.seconds and (e.final or not raced) else ""
            note = e.note if len(e.note) <= NOTE else f"{e.note[: NOTE - 3]}..."
            lines.append([time, behind, *(_text(getattr(e.options, n)) for n in self.varied), note])
        return lines

    @property
    def common(self) -> str:
        """What all candidates have in common."""
        if not self.rows:
            return ""
        same = [n for n in OPTIONS if n not in self.varied]
        return ", ".join(f"{n}={_text(getattr(self.rows[0].options, n))}" for n in same)

    def __str__(self) -> str:
        heads, *rows = self.cells()
        body = tabulated(heads, rows)
        common = filled(f"all with {self.common}", " " * len("all with "))
        return "\n".join([*([for_terminal(self.title)] if self.title else []), *body, common])

    __repr__ = __str__

    def _html(self) -> str:
        from polyvolta.display.page import table

        heads, *rows = self.cells()
        return table(("time", ">behind", *heads[2:-1], "note"), rows, self.title, f"all with {self.common}", most=40)


def _text(value: object) -> str:
    """An option's value in short: 128x256x64, yes."""
    if isinstance(value, tuple):
        return "x".join(map(str, value))
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class Tuned(Shown):
    """The result of `tune`.

    Attributes
    ----------
    kernel : made with the options that were the fastest: a kernel as `compile` gives it, whose calls cost what theirs
        do.
    options : these.
    table : how every candidate fared, the fastest first.
    """

    kernel: Kernel
    options: Options
    table: Table

    def __str__(self) -> str:
        return str(self.table)

    def __repr__(self) -> str:
        return filled(f"<Tuned: the fastest of {len(self.table)} is {self.options!r}; print it>")

    def _html(self) -> str:
        from polyvolta.display.page import fold

        return self.table._html() + fold(f"the fastest: {self.kernel.name}", self.kernel._html())
