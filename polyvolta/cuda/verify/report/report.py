"""The report that `kernel.verify()` gives: proofs, as text, in colours, in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyvolta.cuda.verify.report.html import html
from polyvolta.cuda.verify.report.records import WIDTH, Proofs
from polyvolta.cuda.verify.report.show import plain, rich_report, summary
from polyvolta.display.shown import Shown
from polyvolta.display.text import columns, filled, printable

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True, slots=True, repr=False)
class Report(Shown, Proofs):
    """What `kernel.verify()` gives: proofs in the order of `PROOFS`.

    It prints as a table, and shows as one in a notebook; `report["bounds"].relation` is a relation in full length.
    It is true if all is proved, as `ok` is, and a proof if that is.
    """

    def __repr__(self) -> str:
        return filled(f"<Report of {self.kernel}; {summary(self)}>")

    def __str__(self) -> str:
        return printable(plain(self, columns(WIDTH)))

    def __rich__(self) -> RenderableType:
        """In colours, for `rich.print`."""
        return rich_report(self)

    def _html(self) -> str:
        """For notebooks."""
        return html(self)
