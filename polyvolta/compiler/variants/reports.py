"""What `verify` says of a kernel of several variants: a report of each, and that one of them is taken for each size."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from polyvolta.cuda.verify.report.records import COLUMNS, SIGNS, CounterExample, Proof, cells_of, outcome
from polyvolta.display.shown import Shown

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.console import Group

    from polyvolta.compiler.variants.decisions import Decisions
    from polyvolta.cuda.verify.report.report import Report


@dataclass(frozen=True, slots=True, repr=False)
class VariedReport(Shown):
    """The reports of all variants, in their order; it prints as these, one below the other.

    Attributes
    ----------
    decisions : of the kernel.
    taken : the proof that each size is in the box of one rule.
    reports : of the variants.
    """

    decisions: Decisions
    taken: Proof
    reports: tuple[Report, ...]

    @property
    def proofs(self) -> tuple[Proof, ...]:
        """All of them."""
        return self.taken, *(proof for report in self.reports for proof in report.proofs)

    @property
    def ok(self) -> bool:
        """Whether every statement is proved, of each variant."""
        return self.taken.proved and all(report.ok for report in self.reports)

    @property
    def refuted(self) -> tuple[Proof, ...]:
        """The statements that are wrong."""
        return tuple(p for p in self.proofs if not p.proved and not p.reason)

    @property
    def undecided(self) -> tuple[Proof, ...]:
        """The statements that are neither proved nor refuted."""
        return tuple(p for p in self.proofs if p.reason)

    @property
    def seconds(self) -> float:
        """The time of all proofs."""
        return sum(p.seconds for p in self.proofs)

    def to_pandas(self) -> DataFrame:
        """The proofs as a data frame of pandas, see `Report.to_pandas`; its column `variant` is -1 for that of the
        decisions.

        Raises
        ------
        NoPandas : it isn't installed.
        """
        from polyvolta.graph.arrays.frames import frame

        rows = [{"variant": -1, **cells_of(self.taken)}]
        rows += [{"variant": n, **cells_of(p)} for n, report in enumerate(self.reports) for p in report.proofs]
        return frame(("variant", *COLUMNS), rows)

    def __bool__(self) -> bool:
        """As `ok`."""
        return self.ok

    def __len__(self) -> int:
        return len(self.reports)

    def __getitem__(self, variant: int) -> Report:
        """The report of a variant."""
        return self.reports[variant]

    def __repr__(self) -> str:
        words = f"{sum(p.proved for p in self.proofs)} of {len(self.proofs)} statements proved"
        return f"<VariedReport of {len(self.reports)} variants; {words}>"

    def __str__(self) -> str:
        parts = [f"variant {n}: {report}" for n, report in enumerate(self.reports)]
        return "\n\n".join((str(self.decisions), str(self.taken), *parts))

    def __rich__(self) -> Group:
        """In colours, for `rich.print`."""
        from rich.console import Group
        from rich.text import Text

        parts = [part for n, report in enumerate(self.reports) for part in (f"variant {n}:", report)]
        return Group(self.decisions, Text(str(self.taken)), *parts)  # a relation's brackets are no markup

    def _html(self) -> str:
        from polyvolta.display.page import fold, said

        sign, kind = SIGNS[outcome(self.taken)][0], "good" if self.taken.proved else "bad"
        parts = (fold(f"variant {n}: {report!r}", report._html()) for n, report in enumerate(self.reports))
        return self.decisions._html() + said(f"{sign} {self.taken.statement}", kind) + "".join(parts)


def proved(decisions: Decisions) -> Proof:
    """That for each size from 0 on one variant is taken: the rules' boxes share out all sizes."""
    start = perf_counter()
    lemmas = decisions.proof()
    failed = next((lemma for lemma in lemmas if not lemma.holds), None)
    boxes = "; ".join(str(rule) for rule in decisions.rules)
    natural = ", ".join(f"{name} >= 0" for name in decisions.names)
    case = None if failed is None else CounterExample(failed.relation)
    return Proof("decisions", "each size is in the box of one rule, and of one alone", boxes, failed is None,
                 perf_counter() - start, f"all {natural}", case)  # fmt: skip
