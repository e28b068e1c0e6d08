"""The command line: what `polyvolta` shows of a kernel, and runs.

    polyvolta demo      the whole way for one computation: trees, CUDA text, resources, a run
    polyvolta show      the schedule trees alone
    polyvolta emit      the CUDA text, or machine code
    polyvolta run       a run on random data, with its error and time

Errors go to stderr. The exit code is 2 for bad input, 1 for a result that is wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyvolta import terminal
from polyvolta.sets.errors import PolyvoltaError

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from polyvolta.kernel import Kernel

TOLERANCE = 5e-4  # relative L2 error against float64
BLOCK, ARCH = "128x128x32", "sm_70"
IDIOM, LAYOUTS = "matmul", "row,col"
SIZE, DEMO_SIZE = "512x512x256", (256, 256, 128)


class BadText(PolyvoltaError, ValueError):
    """An argument of the command line that doesn't read as what it should be."""

    id = "PV601"


class CannotWrite(PolyvoltaError):
    """A file that the command line was to write, and can't."""

    id = "PV602"


app = typer.Typer(
    name="polyvolta",
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


Idiom = Annotated[str, _of_kernel(metavar="NAME", help="matmul, epilogue, prologue or sum.")]
Layouts = Annotated[str, _of_kernel(metavar="A,B", help="Of A and B: row or col each.")]
BlockTile = Annotated[
    str | None, _of_kernel(metavar="MxNxK", help="Result tile of a block, and its step in K; if missing, chosen.")
]
SplitK = Annotated[int, _of_kernel("--split-k", metavar="P", help="Parts into which a block splits K.")]
Buffers = Annotated[int, _of_kernel(metavar="N", help="Buffers of each shared tile, 1 or 2.")]
WarpTile = Annotated[
    str | None, _of_kernel(metavar="MxNxK", help="Result tile of a warp; if missing the block's, to 64x64.")
]
Macro = Annotated[
    str | None, _of_kernel("--macro-mma", metavar="NAME", help="What a warp multiplies at once; if missing, chosen.")
]
Arch = Annotated[str, _of_kernel("--target", metavar="ARCH", help="GPU architecture.")]
Stage = Annotated[str | None, typer.Option(metavar="NAME", help="One stage alone, such as warp_tiled.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="For the CUDA text.")]
CubinFile = Annotated[
    Path | None, typer.Option("--cubin", metavar="FILE", help="For machine code; needs NVRTC, no GPU.")
]
SizeText = Annotated[str, typer.Option(metavar="MxNxK", help="Rows of A, columns of B, and what they share.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the random data.")]
Ascii = Annotated[bool, typer.Option("--ascii", help="Write floor(i/128), <= and -> in trees.")]
Interpret = Annotated[bool, typer.Option("--interpret", help="Interpret even where there is a GPU.")]


# ---- the commands ------------------------------------------------------------------------------------------


def _version(wanted: bool) -> None:
    if wanted:
        from polyvolta import __version__

        typer.echo(f"polyvolta {__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
]


@app.callback()
def _top(version: Version = False) -> None:
    pass


@app.command()
def demo(
    ascii: Ascii = False,
    interpret: Interpret = False,
    idiom: Idiom = IDIOM,
    layouts: Layouts = LAYOUTS,
    block_tile: BlockTile = None,
    warp_tile: WarpTile = None,
    macro_mma: Macro = None,
    split_k: SplitK = 1,
    buffers: Buffers = 1,
    target: Arch = ARCH,
) -> None:
    """The whole way for one computation: every schedule tree, the CUDA text, its resources, a run."""
    out = terminal.console()
    kernel = Choice(idiom, layouts, block_tile, warp_tile, macro_mma, split_k, buffers, target).compiled(out)
    terminal.print_title(out, kernel)
    terminal.print_stages(out, kernel, ascii or terminal.is_ascii(out))
    terminal.heading(out, "CUDA", "The loops are the last tree's; every index is printed from a relation.")
    terminal.print_source(out, kernel)
    sizes = dict(zip("MNK", DEMO_SIZE, strict=True))
    terminal.print_launch(out, kernel, sizes)
    terminal.print_resources(out, kernel)
    run_random(out, kernel, sizes, 0, interpret)


@app.command()
def show(
    stage: Stage = None,
    ascii: Ascii = False,
    idiom: Idiom = IDIOM,
    layouts: Layouts = LAYOUTS,
    block_tile: BlockTile = None,
    warp_tile: WarpTile = None,
    macro_mma: Macro = None,
    split_k: SplitK = 1,
    buffers: Buffers = 1,
    target: Arch = ARCH,
) -> None:
    """The schedule trees, stage by stage, with what each pass changed."""
    out = terminal.console()
    ascii = ascii or terminal.is_ascii(out)
    kernel = Choice(idiom, layouts, block_tile, warp_tile, macro_mma, split_k, buffers, target).compiled(out)
    if stage is None:
        terminal.print_title(out, kernel)
        terminal.print_stages(out, kernel, ascii)
    else:
        terminal.print_tree(out, kernel.stages[stage].show(ascii))


@app.command()
def emit(
    output: Output = None,
    cubin: CubinFile = None,
    idiom: Idiom = IDIOM,
    layouts: Layouts = LAYOUTS,
    block_tile: BlockTile = None,
    warp_tile: WarpTile = None,
    macro_mma: Macro = None,
    split_k: SplitK = 1,
    buffers: Buffers = 1,
    target: Arch = ARCH,
) -> None:
    """The CUDA text on stdout; or files of it, of its machine code, or of both."""
    err = terminal.console(stderr=True)
    kernel = Choice(idiom, layouts, block_tile, warp_tile, macro_mma, split_k, buffers, target).compiled(err)
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


@app.command()
def run(
    size: SizeText = SIZE,
    interpret: Interpret = False,
    seed: Seed = 0,
    idiom: Idiom = IDIOM,
    layouts: Layouts = LAYOUTS,
    block_tile: BlockTile = None,
    warp_tile: WarpTile = None,
    macro_mma: Macro = None,
    split_k: SplitK = 1,
    buffers: Buffers = 1,
    target: Arch = ARCH,
) -> None:
    """Run on random data, on the GPU if there is one, else interpreted: error and time."""
    out = terminal.console()
    sizes = dict(zip("MNK", numbers(size, "size", SIZE), strict=True))
    kernel = Choice(idiom, layouts, block_tile, warp_tile, macro_mma, split_k, buffers, target).compiled(out)
    kernel.check_sizes(sizes)
    terminal.print_title(out, kernel)
    run_random(out, kernel, sizes, seed, interpret)


# ---- what they share ---------------------------------------------------------------------------------------


def numbers(text: str, what: str, example: str) -> tuple[int, int, int]:
    """Three positive ints written with an x between them.

    Raises
    ------
    BadText : anything else.

    >>> numbers("512x512x256", "size", SIZE)
    (512, 512, 256)
    """
    parts = text.lower().replace("×", "x").split("x")
    if len(parts) != 3 or not all(p.isascii() and p.isdigit() and p.strip("0") for p in parts):
        raise BadText(f"{text!r} is no {what}", hint=f"three positive numbers, such as {example}")
    m, n, k = map(int, parts)
    return m, n, k


@dataclass(frozen=True, slots=True)
class Choice:
    """The kernel that a command's options ask for."""

    idiom: str
    layouts: str
    block_tile: str | None
    warp_tile: str | None
    macro_mma: str | None
    split_k: int
    buffers: int
    target: str

    def compiled(self, out: Console) -> Kernel:
        """The idiom compiled so; a terminal shows each stage's name while it is made."""
        layouts = tuple(self.layouts.split(","))
        if len(layouts) != 2:
            raise BadText(f"{self.layouts!r} are no layouts of A and B", hint=f"two of row and col, such as {LAYOUTS}")
        given: dict[str, Any] = {}
        if self.block_tile is not None:
            given["block_tile"] = numbers(self.block_tile, "block tile", BLOCK)
        if self.warp_tile is not None:
            given["warp_tile"] = numbers(self.warp_tile, "warp tile", "64x64x32")
        for name, value, usual in (
            ("macro_mma", self.macro_mma, None),
            ("split_k", self.split_k, 1),
            ("buffers", self.buffers, 1),
        ):
            if value != usual:
                given[name] = value
        with out.status("loading") as status:
            from polyvolta.compiler import compile
            from polyvolta.gallery import idiom
            from polyvolta.options import Options

            graph = idiom(self.idiom, layouts)
            options = Options(**given) if given else None
            return compile(graph, self.target, options, progress=lambda s: status.update(f"making {s}"))


def random_arrays(kernel: Kernel, sizes: dict[str, int], seed: int) -> list[np.ndarray]:
    """Standard normal fp16 data for each input of a kernel, in its layout."""
    import numpy as np

    rng = np.random.default_rng(seed)
    arrays = []
    for t in kernel.graph.inputs:
        shape = [d if isinstance(d, int) else sizes[d.name] for d in t.dims]
        data = rng.standard_normal(shape, np.float32).astype(np.float16)
        arrays.append(np.asfortranarray(data) if t.layout == "col" else data)
    return arrays


def run_random(out: Console, kernel: Kernel, sizes: dict[str, int], seed: int, interpret: bool) -> None:
    """Run on standard normal fp16 data; print where, the error against float64 and the time.

    Raises
    ------
    typer.Exit : with 1, if the error exceeds `TOLERANCE`.
    """
    from time import perf_counter

    import numpy as np

    from polyvolta.cuda import launch
    from polyvolta.graph.reference import reference

    arrays = random_arrays(kernel, sizes, seed)
    gpu = launch.gpu_available()
    on_gpu = gpu and not interpret
    where = f"GPU, {launch.device_arch()}" if on_gpu else "interpreter" if gpu else "interpreter (no GPU)"
    names = ", ".join(t.name for t in kernel.graph.inputs)
    line = f"{names}: standard normal fp16 data, seed {seed}."
    terminal.heading(out, f"run {' x '.join(str(sizes[n]) for n in 'MNK')}", line)
    with out.status(f"running on the {where}"):
        call = kernel if on_gpu else kernel.interpret
        if on_gpu:
            call(*arrays)  # compiles and loads
        start = perf_counter()
        c = call(*arrays)
        seconds = perf_counter() - start
        (exact,) = reference(kernel.graph, *arrays)
    error = float(np.linalg.norm(c - exact) / np.linalg.norm(exact))
    time = f"{seconds:.2f} s" if seconds >= 0.1 else f"{seconds * 1e3:.2f} ms"
    terminal.fact(out, "ran on", where)
    terminal.fact(out, "relative error", f"{error:.1e} (L2, against float64; at most {TOLERANCE:.0e})")
    terminal.fact(out, "time", time + ", with copies to the GPU and back" * on_gpu)
    if not error <= TOLERANCE:
        message = f"the result is wrong: relative error {error:.1e}, at most {TOLERANCE:.0e}"
        terminal.console(stderr=True).print(message, style="bold red")
        raise typer.Exit(1)


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
