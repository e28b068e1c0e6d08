"""Errors of the command line itself, and how any error looks there: on stderr, in colours, as plain text or as JSON."""

from __future__ import annotations

import sys
from typing import Any

from polyvolta.cli import terminal, values
from polyvolta.display.text import folded
from polyvolta.sets.errors import PolyvoltaError


class CannotWrite(PolyvoltaError):
    """A file that the command line was to write, and can't."""

    id = "PV602"


class WrongUsage(PolyvoltaError):
    """A command line that asks for nothing that there is, where an error is to be JSON."""

    id = "PV608"


def print_error(error: PolyvoltaError, as_json: bool = False) -> None:
    """An error on stderr: its id, what, where and a hint; nothing, if stderr can't be written."""
    where = "\n".join(f"  {line}" for line in error.where.splitlines())
    try:
        if as_json:
            terminal.write_error(values.text_of(values.error(error)))
        elif terminal.may_be_terminal(sys.stderr) and (err := terminal.console(stderr=True)).is_terminal:
            _print_in_colours(err, error, where)
        else:  # which needs no rich
            hint = f"hint: {terminal.folded(error.hint, ' ' * 6)}" if error.hint else ""
            terminal.write_error("\n".join(filter(None, (f"error {error.id}: {error.message}", where, hint))))
    except OSError:
        terminal.discard(sys.stderr)


def _print_in_colours(err: Any, error: PolyvoltaError, where: str) -> None:
    from rich.text import Text

    width = min(err.width, 100)
    terminal.put(err, Text.assemble((f"error {error.id}", "bold red"), f": {error.message}"))
    if where:
        err.print(folded(where, width))
    if error.hint:
        err.print("hint", style="green", end="")
        err.print(f": {terminal.folded(error.hint, ' ' * 6, width)}")
