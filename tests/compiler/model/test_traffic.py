"""Blocks, waves and bytes, against counts of block by block that share no code with the model."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.model.columns import Columns, columns_of
from polyvolta.compiler.model.traffic import fetched, from_memory, outside, strips, tiles
from polyvolta.compiler.needs import Needs
from polyvolta.compiler.tiling import Tiling
from polyvolta.cuda.ir.block_order import BlockOrder
from polyvolta.cuda.ir.kernel_ir import BoxStore
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.target.registry import targets

SM_90A = targets["sm_90a"]
PLAIN = Tiling((128, 192, 64), (64, 192, 64), "m64n192k16", 1, 4, "guard", "auto", 3, group=8)
SWAPPED = Tiling((192, 128, 64), (192, 64, 64), "m64n192k16", 1, 4, "guard", "auto", 3, group=8, swap=True)
DOWN = Tiling((128, 192, 64), (64, 192, 64), "m64n192k16", 1, 4, "guard", "auto", 3, group=8, cluster=(2, 1))
ACROSS = Tiling((192, 128, 64), (192, 64, 64), "m64n192k16", 1, 4, "guard", "auto", 3, swap=True, cluster=(2, 1))
SPLIT = Tiling((64, 64, 64), (64, 64, 64), "m64n64k16", 4, 8, "guard", "auto", 7)
ALL = (PLAIN, SWAPPED, DOWN, ACROSS, SPLIT)
SIZES = [(1, 1), (128, 192), (129, 193), (1000, 2000), (640, 512), (4096, 72)]


def columns(*tilings: Tiling) -> Columns:
    (found,) = columns_of(tilings, Needs(), SM_90A)
    return found


def boxes(tiling: Tiling, rows: int, cols: int):
    """Each block's first row and column of the result, blocks of clusters that have nothing to do among them."""
    m, n, _ = tiling.block_tile
    high, wide = tiling.cluster
    down, across = -(-rows // (m * high)) * high, -(-cols // (n * wide)) * wide
    return [(m * y, n * x) for y, x in product(range(down), range(across))]


@pytest.mark.parametrize("tiling", ALL)
@pytest.mark.parametrize(("rows", "cols"), SIZES)
def test_tiles_are_those_of_a_grid(tiling, rows, cols):
    down, across = tiles(columns(tiling), rows, cols)
    assert down[0] * across[0] == len(boxes(tiling, rows, cols))


@pytest.mark.parametrize("group", [1, 2, 3, 8])
def test_strips_are_those_of_the_first_blocks_in_a_kernels_order(group):
    for down, across in product((1, 2, 5, 8, 9), (1, 3, 6)):
        for blocks in range(1, down * across + 1):
            places = [BlockOrder(group).place(n, across, down) for n in range(blocks)]
            counted = len({row for _, row in places}), len({col for col, _ in places})
            found = strips(*(np.array([float(x)]) for x in (blocks, down, across, group)))
            assert (found[0][0], found[1][0]) == counted, (blocks, down, across)


@pytest.mark.parametrize("tiling", ALL)
@pytest.mark.parametrize(("rows", "cols"), SIZES)
def test_bytes_outside_are_lines_that_no_tensor_has(tiling, rows, cols):
    m, n, k = tiling.block_tile
    high, wide = tiling.cluster
    count = blocks = 0
    for y, x in boxes(tiling, rows, cols):
        beyond_rows = sum(row >= rows for row in range(y, y + m))
        beyond_cols = sum(col >= cols for col in range(x, x + n))
        count += 2 * k * (beyond_rows / wide + beyond_cols / high)
        blocks += bool(beyond_rows or beyond_cols)
    c = columns(tiling)
    found, having = outside(c, rows, cols, *tiles(c, rows, cols))
    assert found[0] == pytest.approx(count * tiling.split_k)
    if high * wide == 1:  # of a cluster whole blocks may lie outside
        assert having[0] == blocks * tiling.split_k


@pytest.mark.parametrize("tiling", ALL)
def test_a_cluster_brings_each_line_once(tiling):
    (m, n, k), (high, wide) = tiling.block_tile, tiling.cluster
    rows = {("row", y, r) for y in range(high) for r in range(m)}
    cols = {("col", x, r) for x in range(wide) for r in range(n)}
    assert fetched(columns(tiling))[0] == pytest.approx(2 * k * (len(rows) + len(cols)) / (high * wide))


def test_a_step_reads_what_its_products_need():
    """Of wgmma 64 rows of A and all columns of B for each instruction; of mma.sync fragments of a warp's rows and
    columns once a strip."""
    (c,) = columns_of([PLAIN], Needs(), SM_90A)
    assert c.read[0] == 2 * (64 // 16) * 2 * (64 + 192) * 16
    warps = Tiling((128, 128, 64), (64, 32, 64), "m16n32k16", 1, 3, "guard", "auto", 2)
    (c,) = columns_of([warps], Needs(), targets["sm_80"])
    assert c.read[0] == 2 * 4 * 64 * (64 + 32) * 2
    assert c.makers[0] == 8 and c.pieces[0] == 0


def test_memory_is_read_once_where_l2_keeps_it_and_each_wave_else():
    c = columns(PLAIN)
    down, across, together, length = (np.array([float(x)]) for x in (40, 40, 64, 4096))
    once = 2 * 4096 * (40 * 128 + 40 * 192)
    assert from_memory(c, down, across, together, length, 10.0 * once)[0] == once
    nothing_kept = from_memory(c, down, across, together, length, 0.0)[0]
    counted = 0
    places = [BlockOrder(8).place(n, 40, 40) for n in range(1600)]
    for start in range(0, 1600, 64):  # 8 rows by 8 columns each
        wave = places[start : start + 64]
        counted += 2 * 4096 * (128 * len({y for _, y in wave}) + 192 * len({x for x, _ in wave}))
    assert nothing_kept == pytest.approx(counted)


def test_pieces_are_those_of_the_kernels():
    M, N, K = pv.sizes("M N K")
    C = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
    for columns_ in (64, 96, 112):
        made = pv.Options(block_tile=(128, columns_, 64), warp_tile=(64, columns_, 64))
        kernel = pv.compile(C, target="sm_90a", options=made)
        (width,) = {kernel.ir.box_map(s.map).box.run for s in operations(kernel.ir.body) if isinstance(s, BoxStore)}
        (c,) = columns_of([kernel.options], Needs(), SM_90A)
        assert c.pieces[0] == columns_ // width
