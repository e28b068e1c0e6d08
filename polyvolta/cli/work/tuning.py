"""`polyvolta tune` and `polyvolta calibrate`: what is found out by timing on the GPU at hand, as tables and as data."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from time import perf_counter
from typing import TYPE_CHECKING, Any

import typer

from polyvolta.cli import terminal, values
from polyvolta.cli.progress import Bar
from polyvolta.cuda.arch import AUTO

if TYPE_CHECKING:
    from rich.console import Console

INTERRUPTED = 130  # what shells say of a command that Ctrl-C ended


def tune_and_print(
    out: Console, outputs: Any, target: str | None, sizes: dict[str, int], budget: int, gpus: int,
    limit: float | None, as_json: bool = False,
) -> None:  # fmt: skip
    """Tune, with a bar on a terminal's stderr, and print the table, or all of it as data.

    Raises
    ------
    typer.Exit : with 130, after Ctrl-C; what was timed is kept.
    """
    from polyvolta.tuner.tune import tune

    start = perf_counter()
    try:
        with ThreadPoolExecutor(gpus) if gpus > 1 else nullcontext() as pool:
            tuned = tune(outputs, target, budget, pool, limit=limit, sizes=sizes)
    except KeyboardInterrupt:
        terminal.console(stderr=True).print("stopped: what was timed is kept, the same command goes on", style="yellow")
        raise typer.Exit(INTERRUPTED) from None
    seconds = perf_counter() - start
    if as_json:
        values.write(values.tuned(tuned, sizes, seconds))
        return
    for line in str(tuned.table).splitlines():
        out.print(line)
    text = ", ".join(f'"{n}": {v}' for n, v in sizes.items())
    call = f"pv.compile(E, {tuned.kernel.target.name!r}, sizes={{{text}}})"
    out.print(f"{seconds:.1f} s; {call} finds the first of these")


def calibrate_and_print(target: str | None, keep: bool) -> None:
    """Measure, fit, print the chip's data as JSON on stdout, and keep it if asked.

    Raises
    ------
    NoGpu, NothingTimed, and what `target_of` raises; NotKept : they are to be kept, and can't be.
    """
    from polyvolta.cuda.target.chips import known
    from polyvolta.tuner.calibrate import calibrate

    notes = terminal.console(stderr=True)
    if keep:
        known.keepable()  # before a minute's work
    with Bar("choosing tilings", notes) as bar:
        found = calibrate(
            target or AUTO, lambda line: notes.print(line, style="dim"), lambda what, n, of: bar.reach(what, n, of)
        )
    notes.print(f"before: {found.before}")
    notes.print(f"after:  {found.after}")
    terminal.write(json.dumps(found.chip.as_data(), indent=1) + "\n")
    if not found.chip.measured:
        notes.print("the figures are as they were: fitted ones order the sizes held out no better", style="yellow")
    elif keep:
        notes.print(f"kept in {known.keep(found.chip)}")
