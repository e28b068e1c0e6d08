"""`polyvolta draw`: pictures of a kernel in files.

One picture goes to one file; "all" fills a folder with every picture that shows something of the kernel, the accesses
to each shared tile among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyvolta.cli import terminal
from polyvolta.cli.progress import Bar
from polyvolta.cli.work.pictures import CannotSave, Wanted
from polyvolta.cuda.ir.kernel_ir import Roles
from polyvolta.cuda.ir.walk import arrays_of, operations
from polyvolta.cuda.pictures import Svg, instruction, output_tiles, ownership, pipeline, shared_tile
from polyvolta.cuda.pictures.errors import NothingToDraw
from polyvolta.cuda.pictures.k_tiles import k_loops

if TYPE_CHECKING:
    from rich.console import Console

    from polyvolta.compiler.kernel import Kernel


def draw(out: Console, kernel: Kernel, what: str, wanted: Wanted, to: Path | None) -> None:
    """Draw, write and say what has been written.

    Parameters
    ----------
    what, wanted : what `pictures.check` found no fault with.
    to : a file, or for "all" a folder; by default named after the picture, in the folder one works in.

    Raises
    ------
    CannotSave : no such folder, or no right to write there.
    """
    if what != "all":
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
