"""`polyvolta draw`: pictures of a kernel in files.

One picture goes to one file; "all" fills a folder with every picture that shows something of the kernel, the accesses
to each shared tile among them.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyvolta.cli import terminal
from polyvolta.cli.names import PICTURES, checked
from polyvolta.cli.options import unwritable
from polyvolta.cli.progress import Bar
from polyvolta.cuda.ir.kernel_ir import Roles
from polyvolta.cuda.ir.walk import arrays_of, operations
from polyvolta.cuda.pictures import Svg, instruction, output_tiles, ownership, pipeline, shared_tile
from polyvolta.cuda.pictures.errors import NothingToDraw
from polyvolta.cuda.pictures.k_tiles import k_loops
from polyvolta.sets import PolyvoltaError

if TYPE_CHECKING:
    from rich.console import Console

    from polyvolta.compiler.kernel import Kernel

READS = {
    "ownership": (),
    "instruction": (),
    "tile": ("sizes", "tile", "access", "warp", "swizzled"),
    "output": ("sizes", "block"),
    "pipeline": ("sizes", "tiles"),
}
"""Which fields of `Wanted` a picture by itself has a use for, beside the layouts."""


class UnusedOption(PolyvoltaError, ValueError):
    """An option that the picture at hand has no use for."""

    id = "PV607"


class CannotSave(PolyvoltaError):
    """A file or folder for pictures that can't be written."""

    id = "PV605"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a picture is to show, of those things that not every picture has.

    Parameters
    ----------
    sizes : of the matrices; empty: the picture's own.
    layouts : of A and B, for the instruction.
    tile, access, warp, swizzled : see `shared_tile`.
    block : see `output_tiles`.
    tiles : see `pipeline`.
    """

    sizes: Mapping[str, int]
    layouts: tuple[str, str]
    tile: str
    access: str | None
    warp: int
    swizzled: bool
    block: tuple[int, ...]
    tiles: int

    def unused(self, what: str) -> list[str]:
        """The options that are given, and that a picture has no use for."""
        usual = Wanted({}, self.layouts, "shared_A", None, 0, True, (0, 0), 4)
        names = [f.name for f in fields(self) if f.name not in ("layouts", *READS[what])]
        option = {"sizes": "size", "swizzled": "unswizzled"}
        return [f"--{option.get(n, n)}" for n in names if getattr(self, n) != getattr(usual, n)]


def check_place(what: str, to: Path | None) -> None:
    """Refuse a place for `draw` to write to, before a kernel is made.

    Raises
    ------
    CannotSave : no such folder, or no right to write there.
    """
    if what != "all":
        path = to or Path(f"{what}.svg")
        if why := unwritable(path):
            raise CannotSave(f"{path} can't be written: {why}")
        return
    folder = to or Path("pictures")
    there = next(p for p in (folder, *folder.absolute().parents) if p.exists())
    if not there.is_dir():
        why = os.strerror(errno.EEXIST if there == folder else errno.ENOTDIR)
        raise CannotSave(f"{folder} is no folder for pictures: {why}")
    if not os.access(there, os.W_OK | os.X_OK):
        raise CannotSave(f"{folder} is no folder for pictures: {os.strerror(errno.EACCES)}")


def draw(out: Console, kernel: Kernel, what: str, wanted: Wanted, to: Path | None) -> None:
    """Draw, write and say what has been written.

    Parameters
    ----------
    what : one of `PICTURES`.
    to : a file, or for "all" a folder; by default named after the picture, in the folder one works in.

    Raises
    ------
    UnknownName : no such picture; UnusedOption : an option that the picture has no use for.
    CannotSave : no such folder, or no right to write there.
    """
    checked(what, PICTURES, "picture")
    if what != "all":
        if unused := wanted.unused(what):
            theirs = [p for p in READS if not wanted.unused(p)]
            hint = f"the picture that has is {' or '.join(theirs)}" if theirs else ""
            raise UnusedOption(f"the picture {what!r} has no use for {', '.join(unused)}", hint=hint)
        _write(out, to or Path(f"{what}.svg"), one(kernel, what, wanted))
        return
    folder = to or Path("pictures")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as wrong:
        raise CannotSave(f"{folder} is no folder for pictures: {wrong.strerror}") from wrong
    pictures = list(every(kernel, wanted))
    made: list[tuple[str, Svg]] = []
    with Bar("drawing") as bar:
        for n, (name, picture) in enumerate(pictures):
            bar.reach("drawing", n, len(pictures), name)
            with suppress(NothingToDraw):  # a box's access to a tile has no lanes, for one
                made.append((name, picture()))
    for name, svg in made:
        _write(out, folder / f"{name}.svg", svg)


def one(kernel: Kernel, what: str, wanted: Wanted) -> Svg:
    """One picture."""
    sizes: dict[str, Any] = {n: v for n, v in wanted.sizes.items() if n in kernel.ir.sizes}
    match what:
        case "ownership":
            return ownership(kernel)
        case "instruction":
            return instruction(*wanted.layouts)
        case "tile":
            w = wanted
            return shared_tile(kernel, w.tile, w.access, warp=w.warp, swizzled=w.swizzled, **sizes)
        case "output":
            return output_tiles(kernel, block=wanted.block, **sizes)
    return pipeline(kernel, wanted.tiles, **sizes)


def every(kernel: Kernel, wanted: Wanted) -> Iterator[tuple[str, Callable[[], Svg]]]:
    """All pictures that a kernel may have, with names for files; each is drawn when it is called.

    Those that show nothing of this one raise `NothingToDraw`.
    """
    ir = kernel.ir
    sizes: dict[str, Any] = {n: v for n, v in wanted.sizes.items() if n in ir.sizes}
    yield "instruction", partial(instruction, *wanted.layouts)
    yield "ownership", partial(ownership, kernel)
    for tile in ir.tiles:
        yield tile.name, partial(shared_tile, kernel, tile.name, **sizes)
        statements = dict.fromkeys(
            op.statement for op in operations(ir.body) if tile.name in frozenset().union(*arrays_of(op, ir))
        )
        for s in statements:
            access = partial(shared_tile, kernel, tile.name, s, warp=wanted.warp, **sizes)
            yield f"{tile.name}-{s}", access
            if tile.layout is not None:
                yield f"{tile.name}-{s}-unswizzled", partial(access, swizzled=False)
    for tensor in ir.tensors:
        if tensor.written:
            yield f"output-{tensor.name}", partial(output_tiles, kernel, tensor.name, block=wanted.block, **sizes)
    of_roles = any(isinstance(s, Roles) for s in ir.body)  # which are all in one picture
    for number in range(1 if of_roles else len(k_loops(ir))):
        name = f"pipeline-{number}" if number else "pipeline"
        yield name, partial(pipeline, kernel, wanted.tiles, loop=number, **sizes)


def _write(out: Console, path: Path, picture: Svg) -> None:
    try:
        picture.save(path)
    except OSError as wrong:
        raise CannotSave(f"{path} can't be written: {wrong.strerror}") from wrong
    width, height = picture.size
    terminal.put(out, f"wrote {path}, {width} x {height} pixels")
