"""Tiles that the blocks of a cluster share: each block has as many of a tile's boxes copied as the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyvolta.cuda.layouts.boxes import NoBoxes, plan_boxes
from polyvolta.cuda.target.descriptors import InShared
from polyvolta.cuda.target.macro_mma import Composition
from polyvolta.cuda.target.warpgroup import WarpgroupMma


def undivided(
    cluster: tuple[int, int],
    block_tile: tuple[int, int, int],
    macro: Composition | WarpgroupMma,
    layouts: Sequence[tuple[str, str]],
) -> Iterator[str]:
    """What tiles there are of which blocks can't have equal parts.

    Those along the rows need the same tile of the right operand, those along the columns the same of the left one.

    Parameters
    ----------
    cluster, block_tile : by the macro-MMA's rows and columns.
    layouts : of the products' left and right operands, as the macro-MMA has them.
    """
    if cluster == (1, 1) or not isinstance(macro, WarpgroupMma):
        return
    (rows, cols), (m, n, k) = cluster, block_tile
    for pair in layouts:
        held = macro.of(*pair)
        sides = ("a", cols, (m, k), held.a, held.shape[0]), ("b", rows, (k, n), held.b, held.shape[1])
        for (letter, count, size, own, extent), layout in zip(sides, pair, strict=True):
            assert isinstance(own, InShared)
            order = (0, 1) if layout == "row" else (1, 0)
            try:
                plan_boxes(letter, ("row", "col"), size, order, extent, count, swizzles=own.swizzles)
            except NoBoxes as wrong:
                yield f"{count} blocks of a cluster share a tile of {size[0]} x {size[1]}, of which each brings as " \
                      f"much, and {wrong.message}"  # fmt: skip
