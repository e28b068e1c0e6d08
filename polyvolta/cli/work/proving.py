"""`polyvolta verify`: the proofs about one kernel on the console, of a sound kernel or of one broken on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyvolta.cli import names, terminal, values
from polyvolta.cli.progress import Bar
from polyvolta.cuda.errors import unknown_mutant
from polyvolta.cuda.verify.report.asked import asked

if TYPE_CHECKING:
    from rich.console import Console

    from polyvolta.compiler.kernel import Kernel


def broken(kernel: Kernel, mutant: str | None, out: Console) -> Kernel:
    """The kernel, or the kernel with a defect put in, which is said first."""
    if mutant is None:
        return kernel
    from polyvolta.cuda.mutants import MUTANTS, broken

    changed = broken(kernel, mutant)
    terminal.put(out, f"broken on purpose, {mutant}: {MUTANTS[mutant].about}", style="yellow")
    return changed


def check(only: str | None, mutant: str | None) -> None:
    """Refuse names of no proof and of no defect, before a kernel is made.

    Raises
    ------
    UnknownProof, UnknownMutant : suggest the nearest.
    """
    asked(only)
    if mutant is not None and mutant not in names.MUTANTS:
        raise unknown_mutant(mutant, names.MUTANTS)


def print_report(out: Console, kernel: Kernel, only: str | None, json: bool = False) -> bool:
    """Prove what is asked for and print the report; whether all of it is proved."""
    with Bar("proving") as bar:
        report = kernel.verify(only, progress=lambda name, done, of: bar.reach("proving", done, of, name))
    if json:
        values.write({**values.kernel(kernel), **values.report(report)})
        return report.ok
    terminal.print_title(out, kernel)
    out.print(report if out.is_terminal else str(report), soft_wrap=not out.is_terminal)
    return report.ok
