"""The options of the command line: how each is written, what it means, and the kernel that they choose together."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from polyvolta.cli import names
from polyvolta.cli.progress import Bar
from polyvolta.compiler.rule.values import checked
from polyvolta.sets.errors import PolyvoltaError

if TYPE_CHECKING:
    from polyvolta.compiler.kernel import Kernel

BLOCK, LAYOUTS = "128x128x32", "row,col"
SIZE, DEMO_SIZE = "512x512x256", (256, 256, 128)
TRACE_SIZE, FIRST_BLOCK = "256x256x64", "0,0"


class BadText(PolyvoltaError, ValueError):
    """An argument of the command line that doesn't read as what it should be."""

    id = "PV601"


def _of_kernel(
    *flags: str, metavar: str, help: str, completed: names.Complete | None = None
) -> typer.models.OptionInfo:
    """An option that says which kernel is made."""
    return typer.Option(*flags, metavar=metavar, help=help, rich_help_panel="The kernel", autocompletion=completed)


def _flag(*names: str, help: str) -> typer.models.OptionInfo:
    return typer.Option(*names, metavar="", help=help)


Idiom = Annotated[
    str,
    _of_kernel(metavar="NAME", help="matmul, epilogue, prologue or sum.", completed=names.one_of(names.IDIOMS)),
]
Layouts = Annotated[str, _of_kernel(metavar="A,B", help="Of A and B: row or col each.", completed=names.pairs)]
Dtype = Annotated[
    str,
    _of_kernel(
        "--dtype",
        metavar="NAME",
        help="Element type of all tensors: float16, or bfloat16 from sm_80 on.",
        completed=names.one_of(names.DTYPES),
    ),
]
OutputLayout = Annotated[
    str,
    _of_kernel(metavar="LAYOUT", help="Of the result: row or col.", completed=names.one_of(names.LAYOUTS)),
]
BlockTile = Annotated[
    str | None, _of_kernel(metavar="MxNxK", help="Result tile of a block, and its step along K; if missing, chosen.")
]
WarpTile = Annotated[
    str | None, _of_kernel(metavar="MxNxK", help="Result tile of a warp, as deep as the block's; if missing, chosen.")
]
Macro = Annotated[
    str | None,
    _of_kernel(
        "--macro-mma",
        metavar="NAME",
        help="One of the target's, a warp's step; if missing, chosen.",
        completed=names.macro_mmas,
    ),
]
SplitK = Annotated[
    int | None,
    _of_kernel("--split-k", metavar="P", help="Parts of a tile's sum over K, of warps or blocks; 1 if missing."),
]
Buffers = Annotated[
    int | None, _of_kernel(metavar="N", help="Buffers of each shared tile, 1 to 8; if missing, what the target wants.")
]
Prefetch = Annotated[
    int | None, _of_kernel(metavar="N", help="Steps that copies run ahead; if missing, as far as buffers allow.")
]
Partial = Annotated[
    str | None,
    _of_kernel(
        metavar="HOW",
        help="guard accesses of tiles that reach outside, or pad arrays; guard if missing.",
        completed=names.one_of(names.PARTIAL),
    ),
]
Accumulators = Annotated[
    str | None,
    _of_kernel(
        metavar="WHICH",
        help="auto, or of several products one, or separate; auto if missing.",
        completed=names.one_of(names.ACCUMULATORS),
    ),
]
Fragments = Annotated[
    int | None, _of_kernel(metavar="N", help="Sets of registers for fragments, 1 or 2; the target's if missing.")
]
Group = Annotated[
    int | None, _of_kernel(metavar="ROWS", help="Rows of blocks that start together; the target's if missing.")
]
Occupancy = Annotated[
    int | None, _of_kernel(metavar="N", help="Blocks that share a multiprocessor at least, 1 to 8; 1 if missing.")
]
DependentLaunch = Annotated[
    bool | None,
    _of_kernel(
        "--dependent-launch/--no-dependent-launch",
        metavar="",
        help="Launches start while the kernel before runs, and wait for its end; if missing, where the target can.",
    ),
]
Persistent = Annotated[
    bool | None,
    _of_kernel(
        "--persistent/--one-tile",
        metavar="",
        help="Whether a block computes tile after tile; one tile if missing.",
    ),
]
Pingpong = Annotated[
    bool | None,
    _of_kernel(
        "--pingpong/--together",
        metavar="",
        help="Whether two warpgroups of a block take turns at its tiles; together if missing.",
    ),
]
Swap = Annotated[
    bool | None,
    _of_kernel("--swap/--no-swap", metavar="", help="Rows of macro-MMAs along the result's columns; not if missing."),
]
Cluster = Annotated[
    str | None, _of_kernel(metavar="RxC", help="Rows and columns of blocks that share what they read; 1x1 if missing.")
]
Arch = Annotated[
    str | None,
    _of_kernel(
        metavar="ARCH",
        help="GPU architecture, or auto: of the GPU here, sm_70 without one; auto if missing.",
        completed=names.one_of(names.TARGETS),
    ),
]
Stage = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="One stage alone, such as warp_tiled.", autocompletion=names.one_of(names.STAGES)
    ),
]
Json = Annotated[bool, _flag("--json", help="Write the same for programs: JSON on stdout, errors as JSON on stderr.")]
Keep = Annotated[bool, _flag("--keep", help="Keep the figures in the cache's folder, where compile finds them.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="For the CUDA text; - is stdout.")]
CubinFile = Annotated[
    Path | None, typer.Option("--cubin", metavar="FILE", help="For machine code; needs NVRTC, no GPU.")
]
SizeText = Annotated[
    str, typer.Option(metavar="MxNxK", help="Rows of A, columns of B, and what they share, each 0 or more.")
]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Of the random data.")]
Ascii = Annotated[bool, _flag("--ascii", help="Write floor(i/128), <= and -> in trees.")]
Only = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Of proofs, such as bounds,fresh; all if missing.",
        autocompletion=names.some_of(names.PROOFS),
    ),
]
Break = Annotated[
    str | None,
    typer.Option(
        "--break",
        metavar="NAME",
        help="Put a defect in first, such as 'swizzle dropped'.",
        autocompletion=names.one_of(names.MUTANTS),
    ),
]
Interpret = Annotated[bool, _flag("--interpret", help="Interpret even where there is a GPU.")]


Budget = Annotated[int, typer.Option("--budget", min=1, metavar="N", help="How many candidates to time.")]
Gpus = Annotated[int, typer.Option("--gpus", min=1, metavar="N", help="GPUs of this machine to time on, side by side.")]
Limit = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="For one candidate on the GPU; if missing, plenty.")
]
BlockText = Annotated[str, typer.Option("--block", metavar="X,Y", help="blockIdx of the block: x goes with columns.")]
First = Annotated[int, typer.Option("--first", min=0, metavar="N", help="The first step to show.")]
Steps = Annotated[int, typer.Option("--steps", min=1, metavar="N", help="How many steps to show.")]
Statement = Annotated[str | None, typer.Option("--statement", metavar="NAME", help="One alone, such as load_A.")]
Picture = Annotated[
    str,
    typer.Argument(
        metavar="PICTURE",
        help="ownership, instruction, tile, output or pipeline; all if missing.",
        autocompletion=names.one_of(names.PICTURES),
    ),
]
PictureFile = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="For the picture, SVG; of all pictures the folder."),
]
PictureSize = Annotated[
    str | None, typer.Option("--size", metavar="MxNxK", help="If missing, one that shows something.")
]
TileName = Annotated[str, typer.Option("--tile", metavar="NAME", help="The shared tile, such as shared_A or exchange.")]
AccessName = Annotated[
    str | None, typer.Option("--access", metavar="NAME", help="A statement that touches the tile, or load or store.")
]
Warp = Annotated[int, typer.Option("--warp", min=0, metavar="N", help="Whose access.")]
Unswizzled = Annotated[bool, _flag("--unswizzled", help="The tile without its swizzle.")]
Tiles = Annotated[int, typer.Option("--tiles", metavar="N", help="How many k tiles the pipeline shows.")]
Benchmarks = Annotated[
    str | None,
    typer.Option(
        "--only",
        metavar="NAMES",
        help="Benchmarks, such as gemm,add, of tables, too; all if missing.",
        autocompletion=names.some_of(names.BENCHMARKS),
    ),
]
SizeCount = Annotated[int, typer.Option("--sizes", min=1, metavar="N", help="How many random sizes.")]
SizeSeed = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Of the sizes.")]
Spaced = Annotated[
    int, typer.Option("--space", min=0, metavar="N", help="At how many sizes the whole space is gone through.")
]
SpaceMost = Annotated[
    int, typer.Option(min=0, metavar="N", help="Tilings of the space at most; 0: all, which are thousands.")
]
Minutes = Annotated[
    float | None, typer.Option(min=0, metavar="N", help="After which no size is begun; as long as it takes if missing.")
]
Jobs = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Processes that compile; as many as cores if missing.")
]
BenchFolder = Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="For the CSV file and all else.")]
ReportOnly = Annotated[bool, _flag("--report", help="Measure nothing: tables and figures of what the folder has.")]
BenchTarget = Annotated[
    str,
    typer.Option(
        "--target",
        metavar="ARCH",
        help="Whose kernels, or auto: the GPU's here.",
        autocompletion=names.one_of(names.TARGETS),
    ),
]


_GIVEN = """
    macro_mma split_k buffers partial accumulators prefetch fragments group occupancy
    dependent_launch persistent pingpong swap""".split()
"""Options that are given as they are."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The kernel that a command's options ask for; what is None is left to the rule."""

    idiom: Idiom = "matmul"
    layouts: Layouts = LAYOUTS
    dtype: Dtype = "float16"
    output_layout: OutputLayout = "row"
    block_tile: BlockTile = None
    warp_tile: WarpTile = None
    macro_mma: Macro = None
    split_k: SplitK = None
    buffers: Buffers = None
    partial: Partial = None
    accumulators: Accumulators = None
    prefetch: Prefetch = None
    fragments: Fragments = None
    group: Group = None
    occupancy: Occupancy = None
    dependent_launch: DependentLaunch = None
    persistent: Persistent = None
    pingpong: Pingpong = None
    swap: Swap = None
    cluster: Cluster = None
    target: Arch = None

    def __post_init__(self) -> None:
        """Refuse what is wrong by itself, whatever the rest is, at no cost of the compiler.

        Raises
        ------
        PolyvoltaError : of an idiom, a layout, an element type, a target, or an option's value.
        """
        self.graph()
        names.check_target(self.target)
        for name, value in self.given().items():
            checked(name, value)
        names.check_macro_mma(self.macro_mma, self.target)

    def graph(self) -> Any:
        """The output to be computed."""
        return _computation(self.idiom, self.layouts, self.dtype, self.output_layout)

    def given(self) -> dict[str, Any]:
        """The options of the compiler that are given, as it takes them.

        Raises
        ------
        BadText : a tile or a cluster doesn't read as one.
        """
        given: dict[str, Any] = {name: value for name in _GIVEN if (value := getattr(self, name)) is not None}
        if self.block_tile is not None:
            given["block_tile"] = numbers(self.block_tile, "block tile", BLOCK)
        if self.warp_tile is not None:
            given["warp_tile"] = numbers(self.warp_tile, "warp tile", "64x64x32")
        if self.cluster is not None:
            given["cluster"] = numbers(self.cluster, "cluster", "2x1", count=2)
        return given

    def compiled(self) -> Kernel:
        """The idiom compiled so; a terminal shows each stage's name while it is made."""
        graph, given = self.graph(), self.given()
        with Bar() as bar:
            from polyvolta.cuda.arch import AUTO
            from polyvolta.cuda.target.registry import target_of

            target = target_of(self.target or AUTO)
            from polyvolta.compiler.options import Options

            options = Options(**given) if given else None
            from polyvolta.compiler.driver import compile

            def reach(stage: str) -> None:
                bar.reach("making", (1 + names.STAGES.index(stage)) / len(names.STAGES), 1.0, stage)

            return compile(graph, target, options, progress=reach)


def _computation(idiom: str, layouts: str, dtype: str, output_layout: str) -> Any:
    """An idiom's output, with these layouts and this element type."""
    pair = _pair(layouts)
    from polyvolta.cli.gallery import idiom as made
    from polyvolta.graph.outputs import output

    layout: Any = output_layout  # a text, which `output` checks
    return output(made(idiom, pair, dtype), layout=layout)


def _pair(layouts: str) -> tuple[str, str]:
    pair = layouts.split(",")
    if len(pair) != 2:
        raise BadText(f"{layouts!r} is not two layouts, of A and of B", hint=f"row or col each, such as {LAYOUTS}")
    return pair[0], pair[1]


@dataclass(frozen=True, slots=True)
class Computation:
    """What a command is about that makes options itself."""

    idiom: Idiom = "matmul"
    layouts: Layouts = LAYOUTS
    dtype: Dtype = "float16"
    output_layout: OutputLayout = "row"
    target: Arch = None

    def __post_init__(self) -> None:
        """Refuse an idiom, a layout, an element type or a target that there is none of, at no cost of the compiler."""
        self.graph()
        names.check_target(self.target)

    def graph(self) -> Any:
        """The output to be computed."""
        return _computation(self.idiom, self.layouts, self.dtype, self.output_layout)


def with_choice(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose last parameter, `choice`, is a `Choice` or a `Computation`, with an option for each of its fields
    instead."""
    hints = get_type_hints(command, include_extras=True)
    kind = hints["choice"]
    options = get_type_hints(kind, include_extras=True)
    own = [p.replace(annotation=hints[n]) for n, p in signature(command).parameters.items() if n != "choice"]
    chosen = [Parameter(f.name, Parameter.KEYWORD_ONLY, default=f.default, annotation=options[f.name])
              for f in fields(kind)]  # fmt: skip

    @wraps(command)
    def called(**given: Any) -> None:
        command(choice=kind(**{n: given.pop(n) for n in options}), **given)

    called.__signature__ = Signature([p.replace(kind=Parameter.KEYWORD_ONLY) for p in own] + chosen)  # type: ignore[attr-defined]
    called.__annotations__ = {p.name: p.annotation for p in (*own, *chosen)}
    return called


# ---- texts that are read --------------------------------------------------------------------------------------


def numbers(text: str, what: str, example: str, least: int = 1, count: int = 3) -> tuple[int, ...]:
    """Three ints, or so many, written with an x between them, or as the API's tuples, each at least `least`.

    Raises
    ------
    BadText : anything else.

    >>> numbers("512x512x256", "size", SIZE), numbers("(512, 512, 256)", "size", SIZE)
    ((512, 512, 256), (512, 512, 256))
    """
    parts = [part.strip() for part in text.lower().replace("×", "x").replace(",", "x").strip("()").split("x")]
    if len(parts) != count or not all(p.isascii() and p.isdigit() and len(p) < 20 and int(p) >= least for p in parts):
        many = {2: "two", 3: "three"}[count]
        raise BadText(f"{text!r} is no {what}", hint=f"{many} whole numbers, each at least {least}, such as {example}")
    return tuple(map(int, parts))


def unwritable(path: Path) -> str:
    """Why a file can't be written, as the system says it; "" where nothing speaks against it yet.

    >>> unwritable(Path("no such folder/kernel.cu"))
    'No such file or directory'
    """
    if os.path.isdir(path):
        return os.strerror(errno.EISDIR)
    if not os.path.isdir(path.parent):
        return os.strerror(errno.ENOTDIR if os.path.exists(path.parent) else errno.ENOENT)
    allowed = os.access(path if os.path.exists(path) else path.parent, os.W_OK)
    return "" if allowed else os.strerror(errno.EACCES)


def block_numbers(text: str) -> tuple[int, ...]:
    """A block's numbers along x, y and perhaps z.

    Raises
    ------
    BadText : anything but two or three ints, a comma between.

    >>> block_numbers("1,0")
    (1, 0)
    """
    parts = text.split(",")
    if len(parts) not in (2, 3) or not all(p.strip().isascii() and p.strip().isdigit() for p in parts):
        raise BadText(f"{text!r} is no block", hint=f"whole numbers blockIdx.x,blockIdx.y, such as {FIRST_BLOCK}")
    return tuple(map(int, parts))
