"""`polyvolta calibrate`: what the figures of a chip were and are, and how well each orders tilings."""

from __future__ import annotations

import json

from polyvolta.cli import terminal
from polyvolta.cuda.arch import AUTO


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
    found = calibrate(target or AUTO, lambda line: notes.print(line, style="dim", highlight=False))
    notes.print(f"before: {found.before}", highlight=False)
    notes.print(f"after:  {found.after}", highlight=False)
    terminal.write(json.dumps(found.chip.as_data(), indent=1) + "\n")
    if not found.chip.measured:
        notes.print("the figures are as they were: fitted ones order the sizes held out no better", style="yellow")
    elif keep:
        notes.print(f"kept in {known.keep(found.chip)}", highlight=False)
