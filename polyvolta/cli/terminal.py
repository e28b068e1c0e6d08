"""What the command line prints: trees, CUDA text, resources.

On a terminal the kinds of a tree's nodes are coloured, long lines fold below themselves, and the lines that a
pass changed are shaded as in the paper's figures. In a pipe the same lines come plain and whole. A bar in the
margin says either way what changed.
"""

from __future__ import annotations

import codecs
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import groupby
from math import prod
from typing import TYPE_CHECKING, TextIO

from polyvolta.display.tables import tabulated
from polyvolta.display.text import HANG, hanging, hung, plain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from polyvolta.compiler.kernel import Kernel
    from polyvolta.cuda.target.target import Target

SHADE = "grey11 on #dcdcdc"  # the paper's shade, readable on light and dark terminals alike
KINDS = r"^ *(?:DOMAIN|CONTEXT|BAND|FILTER|SEQUENCE|SET|MARK|GUARD|EXTENSION|EXPANSION)\b:?"
IN_ASCII = "polyvolta.ascii"
MAPPED = r"\b(?:blockIdx\.[xyz]|warpIdx_[xyz]|linearId)\b"


def console(stderr: bool = False) -> Console:
    """A console of stdout or stderr that guesses and highlights nothing on its own, and wraps on a terminal alone.

    When nobody reads on, as after `| head -2`, the command goes on in silence: its exit code is about what it found.
    """
    from rich.console import Console

    class Quiet(Console):
        def on_broken_pipe(self) -> None:
            self.quiet = True
            discard_stdout()

    made = Quiet(stderr=stderr, highlight=False, markup=False, emoji=False)
    made.soft_wrap = not made.is_terminal
    return made


def may_be_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal, or taken for one; rich's to say where the environment has a word in it."""
    return any(map(os.environ.get, ("FORCE_COLOR", "TTY_COMPATIBLE"))) or (stream is not None and stream.isatty())


def printable_anyway() -> None:
    """Have stdout and stderr write in ASCII what their encodings lack, as that of the C locale lacks the paper's signs;
    else a file's name could end a command."""
    codecs.register_error(IN_ASCII, lambda wrong: (plain(wrong.object[wrong.start : wrong.end]), wrong.end))  # type: ignore[attr-defined]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors != IN_ASCII:
            stream.reconfigure(errors=IN_ASCII)


def put(out: Console, line: Text | str, indent: int = HANG, style: str = "") -> None:
    """A line; what is too long for a terminal goes on below itself, indented by so many columns."""
    from rich.text import Text

    text, at = Text(line) if isinstance(line, str) else line, 0
    parts = hanging(text.plain, out.width, indent) if out.is_terminal else [text.plain]
    for k, part in enumerate(parts):
        words = part[indent:] if k else part
        at = text.plain.index(words, at)
        out.print(Text(" " * indent * bool(k)) + text[at : at + len(words)], style=style)
        at += len(words)


def discard(stream: TextIO | None) -> None:
    """Have what is still printed to stdout or stderr go nowhere, for Python flushes both when it ends."""
    if stream is not None:  # which it is where it was closed before
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def discard_stdout() -> None:
    """Have what is still printed go nowhere."""
    discard(sys.stdout)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Python's warnings as lines on stderr, each once, without the place in this package at which it was issued."""
    said: set[str] = set()

    def note(message: Warning | str, *_: object) -> None:
        if str(message) not in said:
            said.add(str(message))
            try:
                console(stderr=True).print(f"note: {message}", style="yellow")
            except OSError:
                discard(sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = note
        yield


def write(text: str) -> None:
    """A text to stdout as it is, as far as somebody reads it."""
    try:
        if text:  # a device that is full has no room for an empty one either
            sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()


def folded(text: str, indent: str, width: int = 100) -> str:
    """A text in lines; names with commas between stay whole.

    >>> print("hint: " + folded("known: a barrier moved, a tile lost, a sum cut short", "      ", 44))
    hint: known: a barrier moved, a tile lost,
          a sum cut short
    """
    from textwrap import wrap

    whole = ", ".join(part.replace(" ", "\0") for part in text.split(", ")) if text.startswith("known: ") else text
    return f"\n{indent}".join(wrap(whole, width - len(indent), break_on_hyphens=False)).replace("\0", " ")


def write_error(text: str) -> None:
    """A text in lines to stderr as it is; nothing, where stderr was closed before."""
    if sys.stderr is not None:
        print(text, file=sys.stderr, flush=True)


def is_ascii(out: Console) -> bool:
    """Whether the console's encoding lacks the paper's signs."""
    try:
        "⌊≤→▌".encode(out.encoding)
    except (UnicodeEncodeError, LookupError):
        return True
    return False


def heading(out: Console, title: str, line: str = "") -> None:
    """A rule with a title, and a line below it."""
    from rich.rule import Rule
    from rich.text import Text

    rule = Rule(Text(title, style="bold"), align="left", style="green")
    out.print()
    out.print(rule, width=out.width if out.is_terminal else 80, soft_wrap=False)
    if line:
        put(out, line, 0, "italic")
        out.print()


def fact(out: Console, name: str, value: str) -> None:
    """One aligned line: what, and its value."""
    from rich.text import Text

    put(out, Text.assemble((f"{name:<16}", "dim"), value), 16)


def print_title(out: Console, kernel: Kernel) -> None:
    """One line: what is computed, by which kernel."""
    from polyvolta.compiler.shown.stages import tile

    o = kernel.options
    graph = kernel.graph
    made = ", ".join(f"{t.name} = {e}" for t, e in zip(graph.outputs, graph.roots, strict=True))
    tiles = f"block tile {tile(o.block_tile)}, warp tile {tile(o.warp_tile)}"
    more = f", K split in {o.split_k}" if o.split_k > 1 else ""
    more += f", {o.buffers} buffers" if o.buffers > 1 else ""
    more += f", copies {o.prefetch} steps ahead" if o.prefetch != 1 else ""
    more += f", blocks in groups of {o.group} rows" if o.group > 1 else ""
    more += ", swapped" if o.swap else ""
    more += f", clusters of {tile(o.cluster)} blocks" if prod(o.cluster) > 1 else ""
    more += ", persistent" if o.persistent else ""
    more += ", warpgroups in turn" if o.pingpong else ""
    more += ", arrays padded" if o.partial == "pad" else ""
    from rich.text import Text

    line = Text.assemble((made, "bold"), f"  {tiles}, {o.macro_mma}{more}, {kernel.target.name}")
    put(out, line)


# ---- trees -------------------------------------------------------------------------------------------------


def changed(before: str, after: str) -> list[bool]:
    """For each line of `after`, whether it is new against `before`.

    >>> changed("a\\nb", "a\\nc\\nb")
    [False, True, False]
    """
    from difflib import SequenceMatcher

    old, new = before.splitlines(), after.splitlines()
    out = [bool(old)] * len(new)
    for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        out[block.b : block.b + block.size] = [False] * block.size
    return out


def print_tree(out: Console, tree: str, marks: Sequence[bool] | None = None, bar: str = "▌") -> None:
    """A tree, line by line; with `marks`, those lines behind a bar and shaded."""
    for k, line in enumerate(tree.splitlines()):
        for text in _line(out, line, marks is not None and marks[k], "" if marks is None else bar):
            out.print(text)


def _line(out: Console, line: str, mark: bool, bar: str) -> Iterator[Text]:
    """A tree's line as it is, or folded to the terminal's width below itself."""
    from rich.text import Text

    gutter = (bar if mark else " " * len(bar)) + " " * len(bar)
    room = out.width - len(gutter) if out.is_terminal else 0
    parts = hanging(line, room, hung(line, room)) if room else [line]
    for part in parts:
        text = Text(part)
        text.highlight_regex(KINDS, "bold blue")
        text.highlight_regex(MAPPED, "bold magenta")
        if mark:
            text.pad_right(max(room - len(part), 0))
            text.stylize_before(SHADE)
        yield Text.assemble((gutter, "bold green"), text)


def print_stages(out: Console, kernel: Kernel, ascii: bool) -> None:
    """Every stage under its name, with what the pass did and which lines it changed."""
    before = ""
    for stage, schedule in kernel.stages.items():
        heading(out, stage, kernel.stages.notes.get(stage, ""))
        tree = schedule.show(ascii)
        print_tree(out, tree, changed(before, tree), "|" if ascii else "▌")
        before = tree


# ---- text and resources ------------------------------------------------------------------------------------


def print_text(out: Console, source: str) -> None:
    """A CUDA text to be copied: highlighted on a terminal, each line as it is; in a pipe byte for byte."""
    if not out.is_terminal:
        write(source)
        return
    from rich.syntax import Syntax

    text = Syntax("", "cuda", theme="ansi_dark", background_color="default").highlight(source)
    text.rstrip()
    out.print(text, no_wrap=True, overflow="ignore", crop=False)


def print_page(out: Console, page: str) -> None:
    """A page of headings, sentences and tables in Markdown: on a terminal in columns that fit, in a pipe as it is."""
    if not out.is_terminal:
        write(page)
        return
    for is_table, lines in groupby(page.splitlines(), lambda line: line.startswith("|")):
        if is_table:
            heads, _, *rows = ([cell.strip() for cell in line.strip("|").split(" | ")] for line in lines)
            for line in tabulated(heads, rows):
                out.print(line)
            continue
        for line in lines:
            put(out, line.lstrip("# "), 0, "bold" if line.startswith("#") else "")


def print_source(out: Console, kernel: Kernel) -> None:
    """The CUDA text: highlighted and numbered on a terminal, as it is in a pipe."""
    source = kernel.source.rstrip("\n")
    if not out.is_terminal:
        out.print(source)
        return
    from rich.syntax import Syntax

    text = Syntax(
        source,
        "cuda",
        theme="ansi_dark",  # the terminal's own colours, on its own background
        background_color="default",
        line_numbers=True,
        word_wrap=True,
    )
    out.print(text, soft_wrap=False)


def print_launch(out: Console, kernel: Kernel, sizes: dict[str, int]) -> None:
    """Grid, block and shared memory for given sizes."""
    config = kernel.launch_config(**sizes)
    heading(out, f"launch for {', '.join(f'{n} = {v}' for n, v in sizes.items())}")
    fact(out, "grid", " x ".join(map(str, config.grid)) + " blocks")
    fact(out, "block", f"{config.block[0]} threads, {_makers(kernel)}")
    fact(out, "shared memory", f"{config.shared_bytes:,} bytes a block")


def _makers(kernel: Kernel) -> str:
    """Who computes a block's tile."""
    options, (rows, columns, parts) = kernel.options, kernel.options.warps
    if not options.by_blocks(kernel.target):
        return f"{rows} x {columns} x {parts} warps along rows, columns and k"
    groups = f"{rows} x {columns} warpgroups along rows and columns"
    if options.pingpong:
        groups = f"{options.makers_on(kernel.target)} warpgroups in turn"
    return groups + (f" for one of {parts} parts of k" if parts > 1 else "") + " and a warp that copies"


def print_targets(out: Console, known: Mapping[str, Target]) -> None:
    """Targets, a line each: what their kernels multiply with, and what a block may have."""
    for target in known.values():
        out.print(f"{target.name:<8}", style="bold", end="")
        out.print(f"{target.shared_bytes // 1024} KiB shared memory and {target.threads} threads a block")
        mmas = [*target.macro_names, *(f"{f.title} with N = 16, 32, ..., 256" for f in target.families)]
        for line in folded(", ".join(mmas), "", out.width - 8 if out.is_terminal else 92).splitlines():
            out.print(f"{'':8}{line}")
        out.print(f"{'':8}elements: {', '.join(ELEMENTS[kind] for kind in target.kinds)}")


ELEMENTS = {"half": "float16", "bfloat16": "bfloat16"}
"""What the API calls the kinds of elements."""
