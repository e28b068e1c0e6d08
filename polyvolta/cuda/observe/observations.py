"""What the observers of a run saw, as one object: the result beside tables and findings."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from polyvolta.cuda.observe.bank_conflicts import BankConflicts
from polyvolta.cuda.observe.coalescing import Coalescing
from polyvolta.cuda.observe.counts import Counts
from polyvolta.cuda.observe.faults import Bounds, Divergence
from polyvolta.cuda.observe.observer import Finding, Seen, where
from polyvolta.cuda.observe.races import Races
from polyvolta.cuda.observe.tables import Table
from polyvolta.cuda.observe.uninitialised import Uninitialised

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult


@dataclass(frozen=True, slots=True, eq=False)
class Observations:
    """What `kernel.interpret(..., observe=...)` gives.

    Parameters
    ----------
    kernel : its name, and what it computes.
    sizes : in words, such as "M = 256, N = 256, K = 256"; and for narrower arrays the variant that lines are of.
    result : what the kernel computed; for several outputs a tuple.
    bank_conflicts, races, coalescing, bounds, uninitialised, divergence, counts : what each observer saw; None for one
        that wasn't asked for.
    """

    kernel: str
    sizes: str
    result: Any
    bank_conflicts: BankConflicts | None = None
    races: Races | None = None
    coalescing: Coalescing | None = None
    bounds: Bounds | None = None
    uninitialised: Uninitialised | None = None
    divergence: Divergence | None = None
    counts: Counts | None = None

    @property
    def seen(self) -> tuple[Seen, ...]:
        """What each observer that was asked for saw; what may be wrong first."""
        every = (
            self.races, self.uninitialised, self.bounds, self.divergence, self.bank_conflicts, self.coalescing,
            self.counts,
        )  # fmt: skip
        return tuple(s for s in every if s is not None)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All that is wrong, each with its places."""
        return tuple(f for s in self.seen for f in s.findings)

    @property
    def ok(self) -> bool:
        """Whether nothing that was looked for is wrong."""
        return not self.findings

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables, in the order of `seen`."""
        return tuple(t for s in self.seen for t in s.tables)

    @property
    def verdict(self) -> str:
        """How many findings there are, in words."""
        count = len(self.findings)
        return f"{count} finding{'s' if count > 1 else ''}:" if count else "Nothing is wrong."

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = np.asarray(self.result, dtype)
        return array.copy() if copy else array

    def __str__(self) -> str:
        head = f"{self.kernel}; {self.sizes}" if self.sizes else self.kernel
        findings = "\n".join([self.verdict, *(str(f) for f in self.findings)])
        return "\n\n".join([head, findings, *map(str, self.tables)])

    def __repr__(self) -> str:
        return f"<Observations of {self.kernel}: {len(self.findings)} findings>"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.padding import Padding
        from rich.text import Text

        yield Text(self.kernel, style="bold")
        if self.sizes:
            yield Text(self.sizes)
        yield Text(self.verdict, style="green" if self.ok else "bold red")
        for f in self.findings:
            yield Padding(Text.assemble((f.observer, "bold red"), f": {f.what}"), (0, 0, 0, 2))
            for place in f.places:
                yield Padding(Text(where(place), style="cyan"), (0, 0, 0, 4))
        yield Text("")
        for table in self.tables:
            yield table.rich()

    def _repr_html_(self) -> str:
        colour = "#1a7f37" if self.ok else "#cf222e"
        findings = "".join(
            f"<li><b>{escape(f.observer)}</b>: {escape(f.what)}"
            + "".join(f"<br><code>{escape(where(p))}</code>" for p in f.places)
            + "</li>"
            for f in self.findings
        )
        return (
            f"<div><p><b>{escape(self.kernel)}</b><br>{escape(self.sizes)}</p>"
            f'<p style="color: {colour}"><b>{escape(self.verdict)}</b></p>'
            + (f"<ul>{findings}</ul>" if findings else "")
            + "".join(t.html() for t in self.tables)
            + "</div>"
        )
