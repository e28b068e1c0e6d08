"""`polyvolta verify`: the proofs about one kernel on the console, of a sound kernel or of one broken on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyvolta.cli import terminal

if TYPE_CHECKING:
    from rich.console import Console

    from polyvolta.compiler.kernel import Kernel


def broken(kernel: Kernel, mutant: str | None, out: Console) -> Kernel:
    """The kernel, or the kernel with a defect put in, which is said first."""
    if mutant is None:
        return kernel
    from polyvolta.cuda.mutants import MUTANTS, broken

    changed = broken(kernel, mutant)
    out.print(f"broken on purpose, {mutant}: {MUTANTS[mutant].about}", style="yellow", soft_wrap=not out.is_terminal)
    return changed


def print_report(out: Console, kernel: Kernel, only: str | None) -> bool:
    """Prove what is asked for and print the report; whether all of it is proved."""
    with out.status("proving"):
        report = kernel.verify(only)
    terminal.print_title(out, kernel)
    out.print(report if out.is_terminal else str(report), soft_wrap=not out.is_terminal)
    return report.ok
