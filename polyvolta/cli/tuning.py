"""`polyvolta tune`: the table of what was timed, and what finds the winner."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from time import perf_counter
from typing import TYPE_CHECKING, Any

import typer

from polyvolta.cli import terminal

if TYPE_CHECKING:
    from rich.console import Console

INTERRUPTED = 130  # what shells say of a command that Ctrl-C ended


def tune_and_print(
    out: Console, outputs: Any, target: str | None, sizes: dict[str, int], budget: int, gpus: int, limit: float | None
) -> None:
    """Tune, with a bar on a terminal's stderr, and print the table.

    Raises
    ------
    typer.Exit : with 130, after Ctrl-C; what was timed is kept.
    """
    from polyvolta.tuner.tune import tune

    start = perf_counter()
    try:
        with ThreadPoolExecutor(gpus) if gpus > 1 else nullcontext() as pool:
            tuned = tune(outputs, target, budget, pool, True, candidates=None, limit=limit, **sizes)
    except KeyboardInterrupt:
        terminal.console(stderr=True).print("stopped: what was timed is kept, the same command goes on", style="yellow")
        raise typer.Exit(INTERRUPTED) from None
    for line in str(tuned.table).splitlines():
        out.print(line)
    seconds = perf_counter() - start
    text = ", ".join(f'"{n}": {v}' for n, v in sizes.items())
    call = f"pv.compile(E, {tuned.kernel.target.name!r}, sizes={{{text}}})"
    out.print(f"{seconds:.1f} s; {call} finds the first of these")
