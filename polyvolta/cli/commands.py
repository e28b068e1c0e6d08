"""The command line: what `polyvolta` shows of a kernel, and runs.

    polyvolta demo      the whole way for one computation: trees, CUDA text, resources, a run
    polyvolta show      the schedule trees alone
    polyvolta emit      the CUDA text, or machine code
    polyvolta run       a run on random data, with its error and time
    polyvolta tune      the fastest options for some sizes, by timing on the GPU at hand
    polyvolta calibrate the figures of the GPU at hand by which options are chosen for known sizes, by timing
    polyvolta trace     one block step by step: what each warp reads and writes
    polyvolta draw      pictures of its maps, tiles and pipeline, as SVG
    polyvolta verify    proofs that the kernel is right, or a counter-example
    polyvolta bench     the paper's evaluation on the GPU here: a table, a CSV file, figures
    polyvolta targets   the architectures that kernels are made for

With `--json` programs read what most of them print. `polyvolta --install-completion` has the shell complete commands,
options and names.

Errors go to stderr. The exit code is 2 for bad input, 1 for a result that is wrong or a statement that isn't proved,
whether or not somebody reads all that is printed; 130 after Ctrl-C; and 1 where stdout can't be written, as on a full
disk.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from polyvolta.cli import names, terminal, values
from polyvolta.cli.errors import CannotWrite, print_error
from polyvolta.cli.options import (
    DEMO_SIZE,
    FIRST_BLOCK,
    SIZE,
    TRACE_SIZE,
    AccessName,
    Arch,
    Ascii,
    BenchFolder,
    Benchmarks,
    BenchTarget,
    BlockText,
    Break,
    Budget,
    Choice,
    Computation,
    CubinFile,
    First,
    Gpus,
    Interpret,
    Jobs,
    Json,
    Keep,
    Limit,
    Minutes,
    Only,
    Output,
    Picture,
    PictureFile,
    PictureSize,
    ReportOnly,
    Seed,
    SizeCount,
    SizeSeed,
    SizeText,
    Spaced,
    SpaceMost,
    Stage,
    Statement,
    Steps,
    TileName,
    Tiles,
    Unswizzled,
    Warp,
    block_numbers,
    numbers,
    unwritable,
    with_choice,
)
from polyvolta.cli.progress import Bar
from polyvolta.cli.usage import Command, Group, with_hyphens
from polyvolta.cli.work.trial import check_memory, check_time, print_resources, run_random
from polyvolta.sets.errors import PolyvoltaError, UnknownName

STDOUT = Path("-")

app = typer.Typer(
    name="polyvolta",
    cls=Group,
    help="Tensor-core kernels from a graph of matrix products, by integer sets alone.",
    epilog="Start with: polyvolta demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "token_normalize_func": with_hyphens},
)


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


@app.command(cls=Command)
@with_choice
def demo(
    ascii: Ascii = False,
    interpret: Interpret = False,
    *,
    choice: Choice,
) -> None:
    """The whole way for one computation: every schedule tree, the CUDA text, its resources, a run."""
    kernel = choice.compiled()
    out = terminal.console()
    terminal.print_title(out, kernel)
    terminal.print_stages(out, kernel, ascii or terminal.is_ascii(out))
    terminal.heading(out, "CUDA", "The loops are the last tree's; every index is printed from a relation.")
    terminal.print_source(out, kernel)
    sizes = dict(zip("MNK", DEMO_SIZE, strict=True))
    terminal.print_launch(out, kernel, sizes)
    print_resources(out, kernel)
    run_random(out, kernel, sizes, 0, interpret)


@app.command(cls=Command)
@with_choice
def show(
    stage: Stage = None,
    ascii: Ascii = False,
    json: Json = False,
    *,
    choice: Choice,
) -> None:
    """The schedule trees, stage by stage, with what each pass changed."""
    if stage is not None:
        names.checked(stage, names.STAGES, "stage")
    kernel = choice.compiled()
    if stage is not None and stage not in kernel.stages:  # another kernel's
        raise UnknownName(f"this kernel has no stage {stage!r}", hint=f"it has {', '.join(kernel.stages)}")
    out = terminal.console()
    if json:
        found = [s for s in values.stages(kernel, ascii) if stage in (None, s["stage"])]
        values.write({**values.kernel(kernel), "stages": found})
        return
    ascii = ascii or terminal.is_ascii(out)
    if stage is None:
        terminal.print_title(out, kernel)
        terminal.print_stages(out, kernel, ascii)
    else:
        terminal.print_tree(out, kernel.stages[stage].show(ascii))


@app.command(cls=Command)
@with_choice
def emit(
    output: Output = None,
    cubin: CubinFile = None,
    json: Json = False,
    *,
    choice: Choice,
) -> None:
    """The CUDA text on stdout; or files of it, of its machine code, or of both."""
    if output is not None and output == cubin:
        raise CannotWrite(f"{output} can't hold both the text and the machine code")
    to_stdout = output == STDOUT or (output is None and cubin is None)
    for path in (output, cubin):
        if path not in (None, STDOUT) and (why := unwritable(path)):
            raise CannotWrite(f"{path} can't be written: {why}")
    if cubin == STDOUT:
        raise CannotWrite("machine code is written to files alone", hint="--cubin kernel.cubin")
    err = terminal.console(stderr=True)
    kernel = choice.compiled()
    files = {} if output is None or to_stdout else {output: kernel.source.encode()}
    if cubin is not None:
        files[cubin] = kernel.cubin()
    for path, content in files.items():
        try:
            path.write_bytes(content)
        except OSError as wrong:
            raise CannotWrite(f"{path} can't be written: {wrong.strerror}") from wrong
        if not json:
            terminal.put(err, f"wrote {path}, {len(content):,} bytes")
    if json:
        text = {"source": kernel.source} if to_stdout else {}
        values.write({**values.kernel(kernel), **text, "files": [str(path) for path in files]})
    elif to_stdout:
        terminal.print_text(terminal.console(), kernel.source)


@app.command(cls=Command)
@with_choice
def run(
    size: SizeText = SIZE,
    interpret: Interpret = False,
    seed: Seed = 0,
    json: Json = False,
    *,
    choice: Choice,
) -> None:
    """Run on random data, on the GPU if there is one, else interpreted: error and time."""
    sizes = dict(zip("MNK", numbers(size, "size", SIZE, least=0), strict=True))
    kernel = choice.compiled()
    out = terminal.console()
    kernel.check_sizes(sizes)
    check_memory(kernel, sizes)
    check_time(kernel, sizes, interpret)
    if not json:
        terminal.print_title(out, kernel)
    run_random(out, kernel, sizes, seed, interpret, json)


@app.command(cls=Command)
@with_choice
def tune(
    size: SizeText = SIZE,
    budget: Budget = 16,
    gpus: Gpus = 1,
    limit: Limit = None,
    json: Json = False,
    *,
    choice: Computation,
) -> None:
    """Time the best guesses on the GPU at hand and remember the winner; a run that was stopped goes on where it was."""
    sizes = dict(zip("MNK", numbers(size, "size", SIZE), strict=True))
    from polyvolta.cli.work.tuning import tune_and_print

    tune_and_print(terminal.console(), choice.graph(), choice.target, sizes, budget, gpus, limit, json)


@app.command(cls=Command)
def calibrate(target: Arch = None, keep: Keep = False) -> None:
    """Fit the cost model's figures to the GPU at hand, in a minute; with --keep this computer's kernels are chosen by
    them."""
    names.check_target(target)
    from polyvolta.cli.work.tuning import calibrate_and_print

    calibrate_and_print(target, keep)


@app.command(cls=Command)
@with_choice
def verify(
    only: Only = None,
    mutant: Break = None,
    json: Json = False,
    *,
    choice: Choice,
) -> None:
    """Prove for all sizes that the kernel is right; exit code 1 if it isn't, with a counter-example, or not decided."""
    from polyvolta.cli.work import proving

    proving.check(only, mutant)
    out = terminal.console()
    kernel = proving.broken(choice.compiled(), mutant, terminal.console(stderr=True) if json else out)
    if not proving.print_report(out, kernel, only, json):
        raise typer.Exit(1)


@app.command(cls=Command)
@with_choice
def trace(
    size: SizeText = TRACE_SIZE,
    block: BlockText = FIRST_BLOCK,
    first: First = 0,
    steps: Steps = 40,
    statement: Statement = None,
    seed: Seed = 0,
    json: Json = False,
    *,
    choice: Choice,
) -> None:
    """One block step by step, interpreted: tree node, CUDA line, what each warp reads and writes."""
    sizes = dict(zip("MNK", numbers(size, "size", TRACE_SIZE, least=0), strict=True))
    at = block_numbers(block)
    out = terminal.console()
    kernel = choice.compiled()
    check_memory(kernel, kernel.check_sizes(sizes))
    from polyvolta.cli.work.tracing import trace_random

    if not json:
        terminal.print_title(out, kernel)
    trace_random(out, kernel, sizes, at, first, steps, statement, seed, json)


@app.command(cls=Command)
@with_choice
def draw(
    picture: Picture = "all",
    output: PictureFile = None,
    size: PictureSize = None,
    tile: TileName = "shared_A",
    access: AccessName = None,
    warp: Warp = 0,
    unswizzled: Unswizzled = False,
    block: BlockText = FIRST_BLOCK,
    tiles: Tiles = 4,
    mutant: Break = None,
    *,
    choice: Choice,
) -> None:
    """Pictures as SVG: who owns what, shared memory and its banks, the output's tiles, the k loop in time."""
    names.checked(picture, names.PICTURES, "picture")
    sizes = {} if size is None else dict(zip("MNK", numbers(size, "size", SIZE, least=0), strict=True))
    at = block_numbers(block)
    from polyvolta.cli.work import pictures, proving

    proving.check(None, mutant)
    a, b = choice.layouts.split(",")
    wanted = pictures.Wanted(sizes, (a, b), tile, access, warp, not unswizzled, at, tiles)
    pictures.check(picture, wanted, output)
    out = terminal.console()
    kernel = proving.broken(choice.compiled(), mutant, out)
    from polyvolta.cli.work import drawing

    drawing.draw(out, kernel, picture, wanted, output)


@app.command(cls=Command)
def bench(
    only: Benchmarks = None,
    count: SizeCount = 100,
    seed: SizeSeed = 7,
    target: BenchTarget = "auto",
    budget: Budget = 16,
    space: Spaced = 20,
    space_most: SpaceMost = 200,
    minutes: Minutes = None,
    jobs: Jobs = None,
    output: BenchFolder = Path("polyvolta-bench"),
    report: ReportOnly = False,
    json: Json = False,
) -> None:
    """The paper's benchmarks at random sizes, beside torch: a table, a CSV file that a later run goes on with, figures.

    Needs a GPU and torch; `--report` needs neither. The exit code is 1 if sizes are left, after --minutes.
    """
    from polyvolta.cli.work import benching

    some = tuple(filter(None, (name.strip() for name in (only or "").split(","))))
    benching.check(some)
    names.check_target(target)
    out, err = terminal.console(), terminal.console(stderr=True)
    whole = True
    if not report:
        with Bar("loading", err):
            from polyvolta.cuda.target.registry import target_of
            from polyvolta.evaluation.choices import Ranked

            wanted = benching.Wanted(target_of(target), output, some, count, seed, space, minutes, jobs)
        whole = benching.measure(err, wanted, Ranked(budget, space_most or None))
    benching.report(out, err, output, some, json)
    if not whole:
        raise typer.Exit(1)


@app.command(cls=Command)
def targets(json: Json = False) -> None:
    """The architectures that kernels are made for, and what they have."""
    with Bar():
        from polyvolta.cuda.target.registry import targets as known
    if json:
        values.write([values.target(t) for t in known.values()])
    else:
        terminal.print_targets(terminal.console(), known)


def main(argv: Sequence[str] | None = None) -> None:
    """The entry point: run the command line `argv`, or the process's own, and exit with its code."""
    arguments = [*(sys.argv[1:] if argv is None else argv)]
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "it is closed")
        terminal.printable_anyway()
        try:
            with terminal.warnings_as_notes():
                app(arguments, prog_name="polyvolta")
        finally:
            terminal.write("")  # what is still in the buffer
    except KeyboardInterrupt:
        sys.exit(130)
    except PolyvoltaError as error:
        print_error(error, "--json" in arguments)
        sys.exit(2)
    except OSError as wrong:
        if wrong.filename is not None:
            raise  # of a file that nobody knows to be stdout
        terminal.discard_stdout()
        wrote = CannotWrite(f"stdout can't be written: {wrong.strerror or wrong}")
        print_error(wrote, "--json" in arguments)
        sys.exit(1)


if __name__ == "__main__":
    main()
