"""Options as a short text, and back: what tables and files call a tiling.

`128x256x64/64x256x64 m64n256k16 buffers=4 group=8 persistent`: the block's tile, the warp's or warpgroup's, the
macro-MMA, then what is unlike the plainest kernel. The text says all options, so that a kernel can be made again.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from polyvolta.compiler.options import Options
from polyvolta.compiler.tiling import Tiling
from polyvolta.evaluation.errors import BadRecords

_TILES = ("block_tile", "warp_tile", "macro_mma")
_PLAIN: dict[str, Any] = {
    "split_k": 1, "partial": "guard", "accumulators": "auto", "fragments": 1, "group": 1, "occupancy": 1,
    "dependent_launch": False, "persistent": False, "pingpong": False, "swap": False, "cluster": (1, 1),
}  # fmt: skip


def spelled(options: Tiling) -> str:
    """Options as a text.

    >>> made = Options(block_tile=(64, 64, 32), warp_tile=(32, 32, 32), macro_mma="m16n16k8", buffers=2, split_k=2)
    >>> spelled(made)
    '64x64x32/32x32x32 m16n16k8 split_k=2 buffers=2'
    """
    block, warp = ("x".join(map(str, tile)) for tile in (options.block_tile, options.warp_tile))
    words = [f"{block}/{warp}", options.macro_mma]
    for f in fields(Tiling):
        value = getattr(options, f.name)
        usual = options.buffers - 1 if f.name == "prefetch" and options.buffers > 1 else 1
        if f.name in _TILES or value == _PLAIN.get(f.name, usual if f.name == "prefetch" else None):
            continue
        text = "x".join(map(str, value)) if isinstance(value, tuple) else str(value)
        words.append(f.name if value is True else f"{f.name}={text}")
    return " ".join(words)


def read_options(text: str) -> Options:
    """The options that a text says; no others are chosen.

    Raises
    ------
    BadRecords : a text that says none.

    >>> read_options("128x256x64/64x256x64 m64n256k16 buffers=4 group=8 persistent cluster=2x1").cluster
    (2, 1)
    """
    try:
        tiles, macro, *words = text.split()
        block, warp = (tuple(map(int, tile.split("x"))) for tile in tiles.split("/"))
        given: dict[str, Any] = dict(_PLAIN)
        for word in words:
            name, _, value = word.partition("=")
            given[name] = _value(name, value)
        given.setdefault("prefetch", max(1, given["buffers"] - 1))
        return Options(block, warp, macro, **given)  # type: ignore[arg-type]
    except (ValueError, KeyError) as wrong:
        raise BadRecords(f"{text!r} says no options: {wrong}") from wrong


def _value(name: str, text: str) -> Any:
    if not text:
        return True
    if name == "cluster":
        return tuple(map(int, text.split("x")))
    return int(text) if text.lstrip("-").isdigit() else text


def short(options: Tiling) -> str:
    """In a few words, for a table: tiles, buffers, and marks.

    >>> short(read_options("128x256x64/64x256x64 m64n256k16 buffers=4 group=8 persistent"))
    '128x256, 2 x 1, 4 buffers, persistent'
    """
    (m, n, _), (rows, cols, parts) = options.block_tile, options.warps
    marks = [word for word, is_so in (("persistent", options.persistent and not options.pingpong),
             ("in turn", options.pingpong), ("swap", options.swap)) if is_so]  # fmt: skip
    marks += [f"K in {parts}"] * (parts > 1) + [f"{options.occupancy} at once"] * (options.occupancy > 1)
    marks += ["cluster " + "x".join(map(str, options.cluster))] * (options.cluster != (1, 1))
    return ", ".join([f"{m}x{n}", f"{rows} x {cols}", f"{options.buffers} buffers", *marks])
