"""The steps of one block as a listing: below each tree node its CUDA lines, below each line its steps.

FILTER: frag_A[by, bx, kt, wy, wx, ks, f]
  line 253  hmma_load_a_row_swizzled(hmma_A[c9], shared_A, 16 * c9 + 64 * warpIdx_y, 8 * c8, lane);
     42  c2 = 0, c8 = 0, c9 = 0   warps 0-1  hmma_A[0] = shared_A[0:16, 0:8]
                                  warps 2-3  hmma_A[0] = shared_A[64:80, 0:8]
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING

from polyvolta.cli import terminal, values
from polyvolta.cli.work.trial import random_arrays
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.machine.stepping import TraceStep, checked_block, warps_text
from polyvolta.graph.functions.formats import FORMATS
from polyvolta.sets import PolyvoltaError, UnknownName, nearest

if TYPE_CHECKING:
    from rich.console import Console

    from polyvolta.compiler.kernel import Kernel


class NoSuchStep(PolyvoltaError, LookupError):
    """A block's run ends before the first step that was to be shown."""

    id = "PV606"


def trace_random(
    out: Console,
    kernel: Kernel,
    sizes: dict[str, int],
    block: tuple[int, ...],
    first: int,
    steps: int,
    statement: str | None,
    seed: int,
    json: bool = False,
) -> None:
    """Print steps of one block on standard normal data.

    Parameters
    ----------
    first, steps : the number of the first step that is shown, and how many are.
    statement : the tree's name of the only operation that is shown; None for all. Steps keep their numbers.

    Raises
    ------
    BadBlock : the grid has no such block.
    UnknownName : no operation has that statement.
    NoSuchStep : the block has fewer steps.
    """
    grid = kernel.launch_config(**sizes).grid
    checked_block(block, grid, sizes)
    known = list(dict.fromkeys(op.statement for op in operations(kernel.ir.body) if op.statement))
    if statement is not None and statement not in known:
        message = f"no operation is called {statement!r}"
        raise UnknownName(message, hint=nearest(statement, known))
    form = FORMATS[kernel.graph.dtype]
    line = f"Block {block} of {' x '.join(map(str, grid))}; standard normal {form.short} data, seed {seed}."
    if not json:
        terminal.heading(out, f"trace {' x '.join(str(sizes[n]) for n in 'MNK')}", line)
    found = (s for s in kernel.trace(*random_arrays(kernel, sizes, seed), block=block)
             if statement in (None, s.statement))  # fmt: skip
    wanted, last = starting(found, first)
    if wanted is None:
        of = "" if statement is None else f" of {statement}"
        there = "there is none" if last is None else f"the last is number {last}"
        raise NoSuchStep(f"block {block} takes no step{of} from number {first} on", hint=there)
    if json:
        values.write({**values.kernel(kernel), "sizes": sizes, "block": block,
                      "steps": [values.step(s) for s in islice(wanted, steps)]})  # fmt: skip
        return
    print_steps(out, islice(wanted, steps))
    if rest := next(wanted, None):
        out.print(f"\nand so on; --first {rest.number} goes on", style="dim")


def starting(found: Iterator[TraceStep], first: int) -> tuple[Iterator[TraceStep] | None, int | None]:
    """The steps from a number on, None if there are none; and the number of the last step looked at."""
    last = None
    for step in found:
        last = step.number
        if last >= first:
            return chain((step,), found), last
    return None, last


def print_steps(out: Console, steps: Iterator[TraceStep]) -> None:
    """The listing."""
    from rich.text import Text

    node = place = None
    for step in steps:
        if step.node != node:
            terminal.put(out, Text(step.node or "(not in the tree)", style="bold blue"))
        if step.node != node or step.place != place:
            line = f"line {step.place.line}"
            terminal.put(out, Text.assemble("  ", (line, "dim"), "  ", (step.cuda, "green")), len(line) + 8)
        node, place = step.node, step.place
        loops = ", ".join(f"{n} = {v}" for n, v in step.loops.items())
        head = f"    {step.number:>5}  {loops}{'  ' * bool(loops)}"
        does = [(warps_text(warps, len(step.active)), text) for warps, text in step.does]
        room = max((len(label) for label, _ in does), default=0)
        own = out.is_terminal and any(len(head) + room + 2 + len(text) > out.width for _, text in does)
        if own:  # the step has a line of its own, and its warps' are not as far to the right
            terminal.put(out, head.rstrip(), len("    12345  "))
        for k, (label, text) in enumerate(does):
            before = " " * len("    12345  ") if own else " " * len(head) if k else head
            line = Text.assemble(before, (f"{label:<{room}}", "magenta"), "  ", text)
            terminal.put(out, line, min(len(before) + room + 6, out.width // 2))
