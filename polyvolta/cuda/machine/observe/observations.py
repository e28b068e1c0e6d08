"""What the observers of a run saw, as one object: the result beside tables and findings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polyvolta.cuda.ir.kernel_ir import KernelIR
from polyvolta.cuda.machine.observe.bank_conflicts import BankConflicts
from polyvolta.cuda.machine.observe.coalescing import Coalescing
from polyvolta.cuda.machine.observe.counts import Counts
from polyvolta.cuda.machine.observe.drawings.picture import DRAWN, drawn
from polyvolta.cuda.machine.observe.ends import Ends
from polyvolta.cuda.machine.observe.faults import Bounds, Divergence
from polyvolta.cuda.machine.observe.observer import Finding, Seen, where
from polyvolta.cuda.machine.observe.races import Races
from polyvolta.cuda.machine.observe.tables import Table
from polyvolta.cuda.machine.observe.uninitialised import Uninitialised
from polyvolta.cuda.machine.observe.values import Values
from polyvolta.cuda.pictures.errors import NothingToDraw
from polyvolta.cuda.pictures.svg import Svg
from polyvolta.display.shown import Shown
from polyvolta.display.text import filled, for_terminal

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.console import Console, ConsoleOptions, RenderResult


@dataclass(frozen=True, slots=True, eq=False)
class Observations(Shown):
    """What `kernel.interpret(..., observe=...)` gives.

    Parameters
    ----------
    kernel : its name, and what it computes.
    sizes : in words, such as "M = 256, N = 256, K = 256"; and for narrower arrays the variant that lines are of.
    result : what the kernel computed; for several outputs a tuple.
    ir : of the variant that ran.
    bank_conflicts, races, coalescing, bounds, uninitialised, divergence, values, counts, phases : what each observer
        saw; None for one that wasn't asked for.
    """

    kernel: str
    sizes: str
    result: Any
    ir: KernelIR
    bank_conflicts: BankConflicts | None = None
    races: Races | None = None
    coalescing: Coalescing | None = None
    bounds: Bounds | None = None
    uninitialised: Uninitialised | None = None
    divergence: Divergence | None = None
    values: Values | None = None
    counts: Counts | None = None
    phases: Ends | None = None

    @property
    def seen(self) -> tuple[Seen, ...]:
        """What each observer that was asked for saw; what may be wrong first."""
        return tuple(s for s in self._by_name.values() if s is not None)

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

    def to_pandas(self) -> DataFrame:
        """The findings as a data frame of pandas: observer, what happens, how often, and the CUDA line or lines.

        What observers counted is in `tables`, each of which has this method, too.

        Raises
        ------
        NoPandas : it isn't installed.
        """
        from polyvolta.graph.arrays.frames import frame

        rows = ({"observer": f.observer, "what": f.what, "count": f.count, "places": "\n".join(map(where, f.places))}
                for f in self.findings)  # fmt: skip
        return frame(("observer", "what", "count", "places"), rows)

    @property
    def verdict(self) -> str:
        """How many findings there are, in words."""
        if count := len(self.findings):
            return f"{count} finding{'s' if count > 1 else ''}:"
        return "Nothing is wrong."

    def picture(self, observer: str, statement: str | None = None) -> Svg:
        """What an observer saw, as a picture.

            bank_conflicts   the access with the worst conflict: its tile, its lanes, its banks
            coalescing       bytes asked for beside bytes moved, and the worst request sector by sector
            races            two threads at one place, and what happens between
            counts           instructions by kind, and bytes by level of memory

        Parameters
        ----------
        observer : one of these four.
        statement : the operation that is meant, such as "frag_A", instead of the worst one.

        Raises
        ------
        UnknownName : nothing is called so.
        NotObserved : the observer wasn't asked for.
        NothingToDraw : it saw nothing that could be drawn, such as no race.
        """
        return drawn(self._by_name, observer, statement, self.ir, self.sizes)

    @property
    def _by_name(self) -> dict[str, Seen | None]:
        return {
            "phases": self.phases, "races": self.races, "uninitialised": self.uninitialised, "bounds": self.bounds,
            "divergence": self.divergence, "values": self.values, "bank_conflicts": self.bank_conflicts,
            "coalescing": self.coalescing, "counts": self.counts,
        }  # fmt: skip

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = np.asarray(self.result, dtype)
        return array.copy() if copy else array

    def __str__(self) -> str:
        head = f"{self.kernel}; {self.sizes}" if self.sizes else self.kernel
        findings = "\n".join([self.verdict, *(str(f) for f in self.findings)])
        return "\n\n".join([for_terminal(head), for_terminal(findings), *map(str, self.tables)])

    def __repr__(self) -> str:
        return filled(f"<Observations of {self.kernel}: {len(self.findings)} findings; print it>")

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

    def _html(self) -> str:
        from polyvolta.display.page import code, heading, said, words

        findings = "".join(
            f"<li><b>{words(f.observer, '')}</b>: {words(f.what, '')}"
            + "".join(f"<br>{code(where(p))}" for p in f.places) + "</li>" for f in self.findings
        )  # fmt: skip
        return "".join([heading(self.kernel, self.sizes), said(self.verdict, "good" if self.ok else "bad"),
                        f"<ul>{findings}</ul>" if findings else "", *(t.html() for t in self.tables),
                        *self._folded()])  # fmt: skip

    def _folded(self) -> Iterator[str]:
        """The pictures that there are, each folded away."""
        from polyvolta.display.page import fold

        for name in DRAWN:
            if self._by_name[name] is not None:
                with suppress(NothingToDraw):
                    yield fold(f"picture of {name}", self.picture(name)._html())
