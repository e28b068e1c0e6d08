"""Which blocks a run has, and which tiles each of them computes.

A kernel whose blocks have one tile each has as many as its grid has places, in its order of blocks. Blocks of a
persistent one are a line of at most `KernelIR.resident`; block b of g computes the places of numbers b, b + g, b + 2 g
and so on. A batch of them goes from tile to tile in lockstep, without those that have no tile left. Of clusters, which
run unfolded, the line is one of clusters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from polyvolta.cuda.ir.engines.clusters import blocks as of_cluster
from polyvolta.cuda.ir.kernel_ir import KernelIR, Tiles

AXES = ("blockIdx.x", "blockIdx.y", "blockIdx.z")


def launched(ir: KernelIR, grid: Sequence[int]) -> tuple[int, int, int]:
    """The blocks that are launched along x, y and z for a grid of so many places.

    >>> from dataclasses import replace
    >>> from polyvolta.cuda.ir.kernel_ir import KernelIR
    >>> from polyvolta.sets import aff
    >>> ir = KernelIR("k", (), (), (), (), 32, (), {}, (aff(1), aff(1), aff(1)), (), ())
    >>> launched(ir, (4, 3, 1)), *(launched(replace(ir, resident=5), (n, 2, 1)) for n in (4, 2))
    ((4, 3, 1), (5, 1, 1), (4, 1, 1))
    >>> launched(replace(ir, resident=6, cluster=(1, 2, 1)), (4, 2, 1))
    (3, 2, 1)
    """
    x, y, z = map(int, grid)
    if not ir.resident:
        return x, y, z
    columns, rows, layers = ir.cluster
    clusters = min(ir.resident, x * y * z) // of_cluster(ir.cluster)
    return columns * clusters, rows if clusters else 0, layers


def batch(ir: KernelIR, grid: Sequence[int], first: int, end: int) -> np.ndarray:
    """[3, end - first]: blockIdx.x, .y, .z of some of the blocks launched, in the order in which they start."""
    if not ir.resident:
        return ir.block_order.blocks(grid, first, end)
    numbers = np.arange(first, end)
    return np.stack([numbers, np.zeros_like(numbers), np.zeros_like(numbers)])


def turns(
    s: Tiles, ir: KernelIR, values: Mapping[str, Any], blocks: np.ndarray, count: int
) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
    """For each of the tiles of a batch of blocks the names' values, and which blocks have it, [block, 1, 1].

    Parameters
    ----------
    values : of sizes.
    blocks : [3, block], of those launched; of places, where `count` is 0.
    count : how many blocks are launched; 0: each block has its place alone.
    """
    grid: list[Any] = [g.evaluate(values) for g in ir.grid]
    most, turn = prod(grid), s.first
    while True:
        if count:
            numbers = blocks[0] + turn * count
            has = numbers < most
            places = ir.block_order.places(grid, np.minimum(numbers, most - 1))
        else:
            has, places = np.full(blocks.shape[1], turn == 0), blocks
        if not has.any():
            return
        counted = {name: turn * e.evaluate(values) for name, e in s.counters}
        at = {axis: numbers[:, None, None] for axis, numbers in zip(AXES, places, strict=True)}
        yield {**at, s.turn: turn, **counted}, has[:, None, None]
        turn += s.step
