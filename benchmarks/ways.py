"""Short lists of options that the tables of `gpu_speed.py` take the best of, at most 24 for a size, as data.

A way to tile is a text: what a block computes in a step, `MxNxK/RxC` with the sides of a warp's tile for products of
warps, `MxN wN` with the number of warpgroups that share the block's tile for those of warpgroups; then buffers; kN a
split of K over N warps, oN blocks that share a multiprocessor, gN rows of blocks that are done together, cRxC clusters
of so many blocks, p blocks that compute tile after tile, x the macro-MMA's rows along the result's columns.
"""

from __future__ import annotations

import re
from typing import Any

OF_WARPS = """\
128x256x64/64x64 3, 256x128x64/64x64 3, 224x128x64/112x32 4, 192x192x64/48x96 3, 96x256x64/48x64 4,
128x192x64/32x96 4, 192x128x64/48x64 4, 160x128x64/80x32 4, 128x128x64/64x64 3 o2, 96x128x64/48x64 3 o2,
128x96x64/32x96 3 o2, 128x64x64/64x32 3 o3, 64x64x64/32x32 3 o4, 96x128x64/48x64 k2 4, 96x128x128/48x64 k2 3,
128x64x64/64x64 k2 6, 64x96x64/32x96 k2 4 o2, 64x64x64/32x32 k2 4 o2, 32x64x64/32x32 k2 4 o2, 128x64x128/64x64 k4 4,
96x64x128/48x64 k4 4, 64x96x128/32x96 k4 4, 64x64x128/32x64 k4 6, 32x64x128/32x32 k4 4 o2
"""
OF_WARPGROUPS = """\
128x256 w2 4 p, 128x192 w2 4 p, 192x160 w3 4 p, 128x192 w3 4 p x, 112x192 w3 4 p x, 128x128 w2 6 p x, 160x128 w2 5 p x,
208x128 w2 4 p x, 224x128 w2 4 p x, 192x192 w3 3 x, 192x128 w2 4 x, 240x128 w2 4 x, 144x128 w2 5 x, 96x128 w2 6 x,
80x192 w3 5 x, 160x64 w1 7 x, 208x64 w1 6 x, 128x64 w1 8 x, 96x64 w1 8 x, 64x64 w1 8 x, 48x64 w1 8 x, 32x64 w1 8 x,
128x80 w2 7, 64x80 w1 8
"""
FUSED = """\
128x256 w2 4 p x, 256x128 w2 4 p, 256x128 w2 3 x, 192x192 w3 3 p, 192x128 w3 4 p, 128x192 w2 4, 160x128 w2 4 p x,
160x128 w2 5 x, 128x160 w2 5 p, 128x160 w2 4, 128x128 w2 6, 128x128 w2 6 p, 128x128 w2 6 p x, 128x96 w2 6,
96x128 w2 6 x, 96x128 w2 6 p x, 192x64 w3 5, 128x64 w2 8, 64x160 w1 7, 64x128 w1 8 p, 64x64 w1 8, 64x64 w1 8 x,
64x64 w1 6 o2 p, 64x32 w1 8 o2 p
"""
"""Of kernels with an epilogue, or of sums."""


def read_way(way: str) -> dict[str, Any]:
    """Options of a way to tile.

    >>> read_way("96x128x64/48x64 k2 4")
    {'block_tile': (96, 128, 32), 'warp_tile': (48, 64, 32), 'split_k': 2, 'buffers': 4, 'occupancy': 1}
    >>> list(read_way("160x128 w2 5 p x").values())
    [(160, 128, 64), (160, 64, 64), 'm64n160k16', 5, 1, True, True]
    >>> list(read_way("128x256 w2 4 g16 c2x1 p").items())[-4:]
    [('persistent', True), ('swap', False), ('group', 16), ('cluster', (2, 1))]
    """
    if "/" not in way:
        return _of_warpgroups(way)
    pattern = r"(\d+)x(\d+)x(\d+)/(\d+)x(\d+)(?: k(\d))? (\d)(?: o(\d))?"
    m, n, k, y, x, split, buffers, blocks = map(int, re.fullmatch(pattern, way).groups("1"))
    return {"block_tile": (m, n, k // split), "warp_tile": (y, x, k // split), "split_k": split, "buffers": buffers,
            "occupancy": blocks}  # fmt: skip


def _of_warpgroups(way: str) -> dict[str, Any]:
    pattern = r"(\d+)x(\d+) w(\d) (\d)(?: o(\d))?(?: g(\d+))?(?: c(\d)x(\d))?( p)?( x)?"
    *numbers, persistent, swap = re.fullmatch(pattern, way).groups("")
    m, n, groups, buffers, blocks, group, *cluster = (int(x or 1) for x in numbers)
    more = ({"group": group} if group > 1 else {}) | ({"cluster": tuple(cluster)} if cluster != [1, 1] else {})
    warp = (m, n // groups, 64) if swap else (m // groups, n, 64)
    wide = warp[0] if swap else warp[1]
    return {"block_tile": (m, n, 64), "warp_tile": warp, "macro_mma": f"m64n{wide}k16", "buffers": buffers,
            "occupancy": blocks, "persistent": bool(persistent), "swap": bool(swap), **more}  # fmt: skip


def ways(text: str) -> tuple[dict[str, Any], ...]:
    """All ways of a list."""
    return tuple(map(read_way, re.split(r",\s+", text.strip())))
