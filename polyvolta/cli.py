"""The command line: what `polyvolta` shows of a kernel, and runs.

    polyvolta demo      the whole way for one computation: trees, CUDA text, resources, a run
    polyvolta show      the schedule trees alone
    polyvolta emit      the CUDA text, or machine code
    polyvolta run       a run on random data, with its error and time
    polyvolta verify    proofs that the kernel is right, or a counter-example

Errors go to stderr. The exit code is 2 for bad input, 1 for a result that is wrong or a statement that is refuted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
import typer.core

from polyvolta import terminal
from polyvolta.sets.errors import PolyvoltaError
from polyvolta.trial import check_memory, run_random

if TYPE_CHECKING:
    from rich.console import Console

    from polyvolta.kernel import Kernel

BLOCK, LAYOUTS = "128x128x32", "row,col"
SIZE, DEMO_SIZE = "512x512x256", (256, 256, 128)


class BadText(PolyvoltaError, ValueError):
    """An argument of the command line that doesn't read as what it should be."""

    id = "PV601"


class CannotWrite(PolyvoltaError):
    """A file that the command line was to write, and can't."""

    id = "PV602"


class _Plain:
    """Help in which `--help` shows no type; flags of our own have an empty `metavar`."""

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)  # type: ignore[misc]  # of the command that this is mixed into
        if option is not None:
            option.metavar = ""
        return option


class _Command(_Plain, typer.core.TyperCommand):
    pass


class _Group(_Plain, typer.core.TyperGroup):
    pass


app = typer.Typer(
    name="polyvolta",
    cls=_Group,
    help="Tensor-core kernels from a graph of matrix products, by integer sets alone.",
    epilog="Start with: polyvolta demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _of_kernel(*names: str, metavar: str, help: str) -> typer.models.OptionInfo:
    """An option that says which kernel is made."""
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel="The kernel")


def _flag(*names: str, help: str) -> typer.models.OptionInfo:
    return typer.Option(*names, metavar="", help=help)


Idiom = Annotated[str, _of_kernel(metavar="NAME", help="matmul, epilogue, prologue or sum.")]
Layouts = Annotated[str, _of_kernel(metavar="A,B", help="Of A and B: row or col each.")]
OutputLayout = Annotated[str, _of_kernel(metavar="LAYOUT", help="Of the result: row or col.")]
BlockTile = Annotated[
    str | None, _of_kernel(metavar="MxNxK", help="Result tile of a block, and its step along K; if missing, chosen.")
]
WarpTile = Annotated[
    str | None, _of_kernel(metavar="MxNxK", help="Result tile of a warp, as deep as the block's; if missing, chosen.")
]
Macro = Annotated[
    str | None,
    _of_kernel("--macro-mma", metavar="NAME", help="m16n16k8 or m32n32k8, a warp's step; if missing, chosen."),
]
SplitK = Annotated[
    int | None, _of_kernel("--split-k", metavar="P", help="Warps that share a tile's sum over K; 1 if missing.")
]
Buffers = Annotated[int | None, _of_kernel(metavar="N", help="Buffers of each shared tile, 1 or 2; 1 if missing.")]
Partial = Annotated[
    str | None,
    _of_kernel(metavar="HOW", help="guard accesses of tiles that reach outside, or pad arrays; guard if missing."),
]
Accumulators = Annotated[
    str | None, _of_kernel(metavar="WHICH", help="auto, or of several products one, or separate; auto if missing.")
]
Arch = Annotated[str, _of_kernel(metavar="ARCH", help="GPU architecture.")]
Stage = Annotated[str | None, typer.Option(metavar="NAME", help="One stage alone, such as warp_tiled.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="For the CUDA text.")]
CubinFile = Annotated[
    Path | None, typer.Option("--cubin", metavar="FILE", help="For machine code; needs NVRTC, no GPU.")
]
SizeText = Annotated[
    str, typer.Option(metavar="MxNxK", help="Rows of A, columns of B, and what they share, each 0 or more.")
]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Of the random data.")]
Ascii = Annotated[bool, _flag("--ascii", help="Write floor(i/128), <= and -> in trees.")]
Only = Annotated[str | None, typer.Option(metavar="NAMES", help="Of proofs, such as bounds,fresh; all if missing.")]
Break = Annotated[
    str | None, typer.Option("--break", metavar="NAME", help="Put a defect in first, such as barrier_removed.")
]
Interpret = Annotated[bool, _flag("--interpret", help="Interpret even where there is a GPU.")]


@dataclass(frozen=True, slots=True)
class Choice:
    """The kernel that a command's options ask for; what is None is left to the rule."""

    idiom: Idiom = "matmul"
    layouts: Layouts = LAYOUTS
    output_layout: OutputLayout = "row"
    block_tile: BlockTile = None
    warp_tile: WarpTile = None
    macro_mma: Macro = None
    split_k: SplitK = None
    buffers: Buffers = None
    partial: Partial = None
    accumulators: Accumulators = None
    target: Arch = "sm_70"

    def compiled(self, out: Console) -> Kernel:
        """The idiom compiled so; a terminal shows each stage's name while it is made."""
        layouts = tuple(self.layouts.split(","))
        if len(layouts) != 2:
            raise BadText(
                f"{self.layouts!r} is not two layouts, of A and of B", hint=f"row or col each, such as {LAYOUTS}"
            )
        given: dict[str, Any] = {
            name: value
            for name in ("macro_mma", "split_k", "buffers", "partial", "accumulators")
            if (value := getattr(self, name)) is not None
        }
        if self.block_tile is not None:
            given["block_tile"] = numbers(self.block_tile, "block tile", BLOCK)
        if self.warp_tile is not None:
            given["warp_tile"] = numbers(self.warp_tile, "warp tile", "64x64x32")
        with out.status("loading") as status:
            from polyvolta.compiler import compile
            from polyvolta.gallery import idiom
            from polyvolta.graph.binding import output
            from polyvolta.options import Options

            graph: Any = output(idiom(self.idiom, layouts), layout=self.output_layout)
            options = Options(**given) if given else None
            return compile(graph, self.target, options, progress=lambda s: status.update(f"making {s}"))


def _with_choice(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose last parameter is a `Choice`, with an option for each of its fields instead."""
    options = get_type_hints(Choice, include_extras=True)
    hints = get_type_hints(command, include_extras=True)
    own = [p.replace(annotation=hints[n]) for n, p in signature(command).parameters.items() if n != "choice"]
    chosen = [Parameter(f.name, Parameter.KEYWORD_ONLY, default=f.default, annotation=options[f.name])
              for f in fields(Choice)]  # fmt: skip

    @wraps(command)
    def called(**given: Any) -> None:
        command(choice=Choice(**{n: given.pop(n) for n in options}), **given)

    called.__signature__ = Signature([p.replace(kind=Parameter.KEYWORD_ONLY) for p in own] + chosen)  # type: ignore[attr-defined]
    called.__annotations__ = {p.name: p.annotation for p in (*own, *chosen)}
    return called


# ---- the commands ------------------------------------------------------------------------------------------


def _version(wanted: bool) -> None:
    if wanted:
        from polyvolta import __version__

        typer.echo(f"polyvolta {__version__}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option("--version", metavar="", callback=_version, is_eager=True, help="Print the version and exit."),
]


@app.callback()
def _top(version: Version = False) -> None:
    pass


@app.command(cls=_Command)
@_with_choice
def demo(
    ascii: Ascii = False,
    interpret: Interpret = False,
    *,
    choice: Choice,
) -> None:
    """The whole way for one computation: every schedule tree, the CUDA text, its resources, a run."""
    out = terminal.console()
    kernel = choice.compiled(out)
    terminal.print_title(out, kernel)
    terminal.print_stages(out, kernel, ascii or terminal.is_ascii(out))
    terminal.heading(out, "CUDA", "The loops are the last tree's; every index is printed from a relation.")
    terminal.print_source(out, kernel)
    sizes = dict(zip("MNK", DEMO_SIZE, strict=True))
    terminal.print_launch(out, kernel, sizes)
    terminal.print_resources(out, kernel)
    run_random(out, kernel, sizes, 0, interpret)


@app.command(cls=_Command)
@_with_choice
def show(
    stage: Stage = None,
    ascii: Ascii = False,
    *,
    choice: Choice,
) -> None:
    """The schedule trees, stage by stage, with what each pass changed."""
    out = terminal.console()
    ascii = ascii or terminal.is_ascii(out)
    kernel = choice.compiled(out)
    if stage is None:
        terminal.print_title(out, kernel)
        terminal.print_stages(out, kernel, ascii)
    else:
        terminal.print_tree(out, kernel.stages[stage].show(ascii))


@app.command(cls=_Command)
@_with_choice
def emit(
    output: Output = None,
    cubin: CubinFile = None,
    *,
    choice: Choice,
) -> None:
    """The CUDA text on stdout; or files of it, of its machine code, or of both."""
    err = terminal.console(stderr=True)
    kernel = choice.compiled(err)
    if output is not None and output == cubin:
        raise CannotWrite(f"{output} can't hold both the text and the machine code")
    files = {} if output is None else {output: kernel.source.encode()}
    if cubin is not None:
        files[cubin] = kernel.cubin()
    for path, content in files.items():
        try:
            path.write_bytes(content)
        except OSError as wrong:
            raise CannotWrite(f"{path} can't be written: {wrong.strerror}") from wrong
        err.print(f"wrote {path}, {len(content):,} bytes")
    if not files:
        typer.echo(kernel.source, nl=False)


@app.command(cls=_Command)
@_with_choice
def run(
    size: SizeText = SIZE,
    interpret: Interpret = False,
    seed: Seed = 0,
    *,
    choice: Choice,
) -> None:
    """Run on random data, on the GPU if there is one, else interpreted: error and time."""
    out = terminal.console()
    sizes = dict(zip("MNK", numbers(size, "size", SIZE, least=0), strict=True))
    kernel = choice.compiled(out)
    kernel.check_sizes(sizes)
    check_memory(kernel, sizes)
    terminal.print_title(out, kernel)
    run_random(out, kernel, sizes, seed, interpret)


@app.command(cls=_Command)
@_with_choice
def verify(
    only: Only = None,
    mutant: Break = None,
    *,
    choice: Choice,
) -> None:
    """Prove for all sizes that the kernel is right; exit code 1 if it isn't, with a counter-example."""
    from polyvolta import proving

    out = terminal.console()
    kernel = proving.broken(choice.compiled(out), mutant, out)
    if not proving.print_report(out, kernel, proving.names(only)):
        raise typer.Exit(1)


# ---- what they share ---------------------------------------------------------------------------------------


def numbers(text: str, what: str, example: str, least: int = 1) -> tuple[int, int, int]:
    """Three ints written with an x between them, each at least `least`.

    Raises
    ------
    BadText : anything else.

    >>> numbers("512x512x256", "size", SIZE)
    (512, 512, 256)
    """
    parts = text.lower().replace("×", "x").split("x")
    if len(parts) != 3 or not all(p.isascii() and p.isdigit() and len(p) < 20 and int(p) >= least for p in parts):
        raise BadText(f"{text!r} is no {what}", hint=f"three whole numbers, each at least {least}, such as {example}")
    m, n, k = map(int, parts)
    return m, n, k


def print_error(error: PolyvoltaError) -> None:
    """An error on stderr: its id, what, where and a hint."""
    err = terminal.console(stderr=True)
    err.print(f"error {error.id}", style="bold red", end="")
    err.print(f": {error.message}")
    for line in error.where.splitlines():
        err.print(f"  {line}")
    if error.hint:
        err.print("hint", style="green", end="")
        err.print(f": {error.hint}")


def main(argv: Sequence[str] | None = None) -> None:
    """The entry point: run the command line `argv`, or the process's own, and exit with its code."""
    try:
        app(argv, prog_name="polyvolta")
    except PolyvoltaError as error:
        print_error(error)
        sys.exit(2)


if __name__ == "__main__":
    main()
