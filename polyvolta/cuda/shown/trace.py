"""A trace as a whole: its steps as lines of text; in a notebook to choose from, by a slider where there are widgets."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from polyvolta.cuda.errors import CudaError
from polyvolta.display.page import Html, code, fold, framed, heading, said, steps, table
from polyvolta.display.text import columns
from polyvolta.sets import PolyvoltaError

if TYPE_CHECKING:
    from polyvolta.cuda.machine.stepping import Trace, TraceStep


class NoWidgets(CudaError, ImportError):
    """A slider was asked for where there are no ipywidgets."""

    id = "PV579"


BLANK = "\N{NO-BREAK SPACE}"
LINES, PANELS, ROWS = 24, 40, 400
"""Steps of the text, those to choose from, and those of the whole table: as many are made to be shown."""


def taken(trace: Trace, most: int) -> tuple[list[TraceStep], PolyvoltaError | None, bool]:
    """The first steps, what went wrong if something did, and whether there are more."""
    found: list[TraceStep] = []
    try:
        found.extend(islice(trace, most + 1))
    except PolyvoltaError as wrong:
        return trace._made[:most], wrong, False
    return found[:most], None, len(found) > most


def as_text(trace: Trace) -> str:
    """A line for each of the first steps: number, role, statement, loop variables, and of the CUDA line what fits."""
    found, wrong, more = taken(trace, LINES)
    rows = [(str(s.number), s.role, s.statement, _loops(s)) for s in found]
    widths = [max(map(len, column), default=0) for column in zip(*rows, strict=True)]
    lines = [f"block {trace.block} of {trace._machine.ir.name}, step by step"]
    for step, row in zip(found, rows, strict=True):
        cells = [row[0].rjust(widths[0]), *(x.ljust(w) for x, w in zip(row[1:], widths[1:], strict=True) if w)]
        line = f"  {'  '.join(cells)}  line {step.place.line}: {step.cuda}"
        lines.append(line if len(line) <= columns() else f"{line[: columns() - 4].rstrip()} ...")
    lines += ["  ... and more: trace[n] is any, len(trace) counts them"] * more
    return "\n".join(lines + ([str(wrong)] if wrong else []))


def as_html(trace: Trace) -> str:
    """The first steps to choose from, and a table of more."""
    found, wrong, more = taken(trace, ROWS)
    panels = [(str(s.number), s._html()) for s in found[:PANELS]]
    beyond = f" The first {PANELS} of them are here; trace[n] is any." if len(found) > PANELS else ""
    count = f"{'more than ' * more}{len(found)} steps.{beyond}"
    whole = fold("all of them" if not more else f"the first {len(found)}", listed(found))
    return heading(_title(trace)) + said(count, "faint") + steps(panels) + whole + (wrong._html() if wrong else "")


def listed(found: list[TraceStep]) -> str:
    """A table of steps."""
    roles = any(s.role for s in found)
    heads = (">step", *["role"] * roles, "statement", "loops", "CUDA")
    words = ((s, (s.statement, _loops(s, BLANK), s.cuda)) for s in found)
    rows = ((s.number, *[s.role] * roles, *(Html(code(x)) for x in texts)) for s, texts in words)
    return table(heads, rows, most=120)


def slider(trace: Trace) -> Any:
    """A slider of ipywidgets over the first steps.

    Raises
    ------
    NoWidgets : ipywidgets isn't there.
    """
    from polyvolta.display import widgets

    found, wrong, more = taken(trace, ROWS)
    after = (wrong._html() if wrong else "") + said(f"the first {len(found)} steps" if more else "", "faint")
    try:
        return widgets.slider(_title(trace), len(found), lambda k: framed(found[k]._html() + after))
    except ImportError as missing:
        hint = "pip install 'polyvolta[notebook]'; the trace itself shows without it"
        raise NoWidgets(f"there is no slider without ipywidgets: {missing}", hint=hint) from missing


def bundle(trace: Trace) -> dict[str, Any]:
    """What a notebook shows: a slider where it has widgets, with the rest for whoever hasn't."""
    from polyvolta.display import widgets

    page = {"text/plain": str(trace), "text/html": framed(as_html(trace))}
    live = widgets.are_shown() and bool(taken(trace, 1)[0])
    return {**dict(slider(trace)._repr_mimebundle_() or {}), **page} if live else page


def _title(trace: Trace) -> str:
    x, y, z = trace.block
    return f"block ({x}, {y}{f', {z}' if z else ''}) of {trace._machine.ir.name}, step by step"


def _loops(step: TraceStep, blank: str = " ") -> str:
    return ", ".join(f"{n}{blank}={blank}{v}" for n, v in step.loops.items())
