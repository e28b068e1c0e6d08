"""What `polyvolta draw` is asked for, and what of that makes no sense, before a kernel is made or anything is drawn."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from polyvolta.cli.names import PICTURES, checked
from polyvolta.cli.options import unwritable
from polyvolta.sets.errors import PolyvoltaError

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


def check(what: str, wanted: Wanted, to: Path | None) -> None:
    """Refuse what there is no such picture of, and a place that nothing can be written to, before a kernel is made.

    Raises
    ------
    UnknownName : no such picture; UnusedOption : an option that the picture has no use for.
    CannotSave : no such folder, or no right to write there.
    """
    checked(what, PICTURES, "picture")
    if what != "all" and (unused := wanted.unused(what)):
        theirs = [p for p in READS if not wanted.unused(p)]
        hint = f"the picture that has is {' or '.join(theirs)}" if theirs else ""
        raise UnusedOption(f"the picture {what!r} has no use for {', '.join(unused)}", hint=hint)
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
