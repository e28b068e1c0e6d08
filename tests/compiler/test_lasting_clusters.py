"""Clusters whose blocks compute several tiles, one after the other: who computes what, what runs, what is proved."""

from __future__ import annotations

import types
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from polyvolta.cuda.errors import LaunchFailed
from polyvolta.cuda.ir.engines.clusters import members
from polyvolta.cuda.ir.engines.unfolded import unfolded
from polyvolta.cuda.ir.kernel_ir import Barrier, BlockOrder, BoxStore, Tiles
from polyvolta.cuda.ir.walk import operations, walk
from polyvolta.cuda.ir.well_formed import IllFormed, check
from polyvolta.cuda.machine.turns.tiles import batch, launched, turns
from polyvolta.cuda.mutants import broken
from polyvolta.cuda.run import gpu
from polyvolta.cuda.run.nvrtc import compile_cubin
from tests.cuda.host import needs_compiler
from tests.cuda.host.launch import WrongText, run
from tests.cuda.machine.test_persistent import seen
from tests.cuda.persistent import IN_TURN, TILES, agrees, arrays, compiled, expected

PLAIN = ("row", "col", "row")
SIZES = (300, 72, 200)  # 3 x 2 tiles, of 4 x 2 or 3 x 2 in whole clusters; more k tiles than the ring has slots
SHORT = (300, 72, 64)
DOWN, ACROSS, SQUARE = (replace(TILES, cluster=c) for c in ((2, 1), (1, 2), (2, 2)))
SWAPPED = replace(DOWN, block_tile=(64, 128, 64), swap=True)
WIDE = replace(TILES, block_tile=(128, 256, 64), warp_tile=(64, 256, 64), macro_mma="m64n256k16", group=8)


def text(kernel):
    return kernel.source[kernel.source.index('extern "C"') :]


# ---- which blocks there are, and what they compute


@pytest.mark.parametrize(("options", "blocks"), [(DOWN, (66, 2, 1)), (ACROSS, (132, 1, 1)), (SQUARE, (66, 2, 1))])
def test_as_many_clusters_are_launched_as_there_is_room_for(options, blocks):
    rows, cols = options.cluster
    kernel = compiled("product", options=options, blocks=132 // (rows * cols))
    assert kernel.launch_config(M=8192, N=8192, K=64).grid == blocks
    sizes = {"M": 512, "N": 256, "K": 64}
    assert kernel.launch_config(**sizes).grid == (16 // rows, rows, 1)
    assert kernel.launch_config(M=0, N=256, K=64).grid[0] == 0
    large = {"M": 8192, "N": 8192, "K": 64}
    assert kernel.grid_on(132, large, 30) == (30 * cols, rows, 1)
    assert kernel.grid_on(66, large) == (66 // (rows * cols) * cols, rows, 1)
    assert kernel.grid_on(1, large) == (cols, rows, 1) == kernel.grid_on(132, large, 0)


@pytest.mark.parametrize("group", [1, 3])
@pytest.mark.parametrize("options", [DOWN, ACROSS, SQUARE])
def test_each_tile_is_one_block_s_whatever_the_number_of_clusters(options, group):
    """Places of clusters by the machine, and of their blocks by the text's own arithmetic."""
    kernel = compiled("product", options=options, blocks=1)
    ir, (rows, cols) = replace(kernel.ir, block_order=BlockOrder(group)), options.cluster
    whole, values = unfolded(ir).ir, {"M": 700, "N": 250, "K": 64}
    (s, *_) = (s for _, s in walk(whole.body) if isinstance(s, Tiles))
    for clusters in (1, 2, 5, 40):
        found = Counter()
        many = replace(whole, resident=clusters)
        for at, has in turns(s, many, values, batch(many, (4, 6, 1), 0, clusters), clusters):
            places = np.stack([at[f"blockIdx.{axis}"][:, 0, 0] for axis in "xyz"])[:, has[:, 0, 0]]
            found.update((cols * int(x) + dx, rows * int(y) + dy)
                         for x, y, _ in places.T for dx, dy, _ in members(ir.cluster))  # fmt: skip
        grid = [int(e.evaluate(values)) for e in ir.grid]
        assert found == Counter({(x, y): 1 for x in range(grid[0]) for y in range(grid[1])})
        gx, gy, _ = launched(replace(ir, resident=clusters * rows * cols), grid)
        own = Counter(place for bx in range(gx) for by in range(gy) for place in places_of(bx, by, gx, grid, ir))
        assert own == found


def places_of(bx, by, gx, grid, ir):
    """The places of a block of hardware numbers (bx, by), as the text computes them, in Python's words."""
    cols, rows, _ = ir.cluster
    columns, high, group = grid[0] // cols, grid[1] // rows, ir.block_order.group
    for number in range(bx // cols, columns * high, gx // cols):
        part, place = divmod(number, group * columns)
        column, row = divmod(place, min(group, high - group * part))
        yield cols * column + bx % cols, rows * (group * part + row) + by % rows


def test_the_text_numbers_clusters():
    down, across = text(compiled("product", options=replace(DOWN, group=4))), text(compiled("product", options=ACROSS))
    assert "  const unsigned columns = (N + 63) / 64;  // of clusters\n" in down
    assert "  const unsigned rows = (M + 255) / 256;  // of clusters\n" in down
    loop = "for (unsigned number = blockIdx.x; number < columns * rows; number += gridDim.x) {"
    assert down.count(loop) == 2
    assert down.count("const int blockIdx_y = 2 * (2 * group + place % height) + blockIdx.y % 2;\n") == 2
    loop = "for (unsigned number = blockIdx.x / 2; number < columns * rows; number += gridDim.x / 2) {"
    assert across.count(loop) == 2
    assert across.count("const int blockIdx_x = 2 * (place / height) + blockIdx.x % 2;\n") == 2
    turning = text(compiled("product", options=replace(IN_TURN, cluster=(1, 2))))
    assert "number = blockIdx.x / 2 + gridDim.x / 2; number < columns * rows; number += 2 * (gridDim.x / 2)" in turning


def test_the_tree_says_whose_tiles_are_whose():
    kernel = compiled("product", options=replace(DOWN, group=4))
    marks = [line.strip() for line in str(kernel.schedule).splitlines() if "cluster" in line]
    assert marks == [
        "MARK: cluster n of tiles by cluster n mod 66 of blocks", "MARK: clusters in groups of 2 rows",
        "MARK: clusters of 2 x 1 blocks",
    ]  # fmt: skip


def test_blocks_meet_before_their_first_tile_and_behind_their_last_one_alone():
    ir = compiled("residual", options=DOWN).ir
    meetings = [at for at, s in walk(ir.body) if isinstance(s, Barrier) and s.scope == "cluster"]
    assert all(len(at) == 1 for at in meetings) and len(meetings) == 2
    assert {r.name: r.arrivals for r in ir.barriers} == {"full": 1, "empty": 4, "operands": 1, "vacant": 2}
    with pytest.raises(IllFormed, match="at most 5 blocks are launched, no whole number of clusters of 2"):
        check(replace(ir, resident=5))


# ---- the driver is asked


def test_the_driver_says_how_many_clusters_there_is_room_for(monkeypatch):
    driver = types.SimpleNamespace(CUlaunchConfig=types.SimpleNamespace, CUfunction=lambda number: ("function", number))
    modules = {"cuda": types.SimpleNamespace(bindings=None), "cuda.bindings": types.SimpleNamespace(driver=driver)}
    for name, module in modules.items():
        monkeypatch.setitem(__import__("sys").modules, name, module)
    monkeypatch.setattr(gpu, "_missing", lambda: None)
    asked = []

    def call(name, function, config):
        asked.append((name, function, config.gridDimX, config.gridDimY, config.blockDimX, config.sharedMemBytes))
        if function[1] == 8:
            raise LaunchFailed("it doesn't know")
        return 64

    monkeypatch.setattr(gpu, "driver_call", call)
    ask = gpu.clusters_at_once.__wrapped__
    assert ask(7, 0, (1, 2, 1), 288, 229440) == 64 and ask(8, 0, (1, 2, 1), 288, 229440) is None
    assert asked[0] == ("cuOccupancyMaxActiveClusters", ("function", 7), 1, 2, 288, 229440)


# ---- runs


RUNS = [
    ("product", DOWN, PLAIN, 1, SIZES, "lazy"), ("residual", ACROSS, ("col", "col", "row"), 2, (400, 8, 24), "eager"),
    ("two", SWAPPED, ("row", "row", "row"), 3, SHORT, 5),
    ("product", SQUARE, ("col", "row", "col"), 1, (129, 72, 0), 1),
    ("residual", replace(IN_TURN, cluster=(2, 1)), PLAIN, 1, (1, 8, 1), "lazy"),
    ("residual", DOWN, PLAIN, 2, SHORT, 3), ("product", DOWN, ("row", "row", "row"), 3, SHORT, "eager"),
    ("product", ACROSS, PLAIN, 1, SHORT, "lazy"), ("two", SWAPPED, PLAIN, 1, SHORT, "eager"),
    ("product", SQUARE, PLAIN, 1, SHORT, 4), ("residual", replace(IN_TURN, cluster=(2, 1)), PLAIN, 1, SHORT, 2),
    ("residual", DOWN, PLAIN, 1, (1, 8, 1), "lazy"),
]  # fmt: skip
"""The first five have each kind of kernel, cluster, layout and size."""


@pytest.mark.parametrize(("name", "options", "layouts", "blocks", "sizes", "copies"), RUNS)
def test_clusters_go_from_tile_to_tile_under_any_order_of_events(name, options, layouts, blocks, sizes, copies):
    kernel = compiled(name, layouts, options, blocks)
    given = arrays(kernel, *sizes)
    assert agrees(kernel, given, expected(name, layouts, given), copies)


def test_a_trace_goes_from_tile_to_tile_of_all_blocks():
    kernel = compiled("product", options=DOWN, blocks=1)
    stores = [s for s in kernel.trace(**arrays(kernel, *SHORT), block=(0, 1)) if s.statement == "write_C"]
    assert {(s.role.split()[-1], s.loops["turn"]) for s in stores} == {(b, t) for b in "01" for t in range(4)}


@needs_compiler
@pytest.mark.parametrize(("name", "options"), [("product", DOWN), ("residual", ACROSS)])
def test_the_text_on_the_host_computes_what_the_interpreter_does(name, options):
    kernel, texts = compiled(name, options=options, blocks=2), {}
    assert any(isinstance(op, BoxStore) for op in operations(kernel.ir.body))
    given = arrays(kernel, *SIZES)
    exact = kernel.interpret(**given)
    for seed in (1, 6):
        out = np.full(SIZES[:2], np.nan, np.float16)
        run(kernel, given, {}, out, seed, texts=texts)
        assert np.array_equal(out, exact)


@needs_compiler
@pytest.mark.parametrize(("old", "new"), [("+= gridDim.x / 2", "+= gridDim.x"), ("blockIdx.x / 2;", "blockIdx.x;")])
def test_a_text_that_numbers_blocks_instead_is_seen(old, new):
    kernel = compiled("product", options=ACROSS, blocks=2)
    given, out = arrays(kernel, *SHORT), np.full(SHORT[:2], np.nan, np.float16)
    assert old in text(kernel)
    try:
        run(kernel, given, {}, out, 1, change=lambda source: source.replace(old, new))
    except WrongText:
        return
    assert not np.array_equal(out, kernel.interpret(**given))


# ---- proofs, mutants


def test_the_order_of_any_two_tiles_is_proved():
    report = compiled("product", options=DOWN, blocks=66).verify(("phases", "deadlock", "written_once"))
    assert report.ok, [p for p in report.proofs if not p.proved]


MUTANTS = {
    "counters of tiles stand still": "deadlock",
    "the producer leaves tiles out": "deadlock",
    "a block's first tile left out": "written_once",
    "released to itself alone": "deadlock",
    "bytes of the own boxes alone": "phases",
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_refuted_and_seen(name):
    kernel = broken(compiled("product", options=DOWN, blocks=1), name)
    assert kernel.verify(MUTANTS[name])[MUTANTS[name]].counter_example is not None
    given = arrays(kernel, *SIZES)
    assert seen(kernel, given, expected("product", PLAIN, given), "lazy")


def test_a_tile_that_is_left_out_is_told_with_its_cluster():
    report = broken(compiled("product", options=DOWN, blocks=66), "tiles left out").verify("written_once")
    case = report["written_once"].counter_example
    assert "tile 1 of cluster 0: 66 clusters are launched" in case.what and case.block is not None


# ---- what ptxas makes of it


@pytest.mark.parametrize(("name", "cluster"), [("product", (2, 1)), ("residual", (1, 2))])
def test_nothing_is_spilled_nor_serialized(name, cluster):
    kernel = compiled(name, options=replace(WIDE, cluster=cluster, buffers=4, prefetch=3), blocks=66)
    cubin = compile_cubin(kernel.source, "sm_90a", name=kernel.name)
    used = cubin.resources(kernel.name)
    assert used.spill_stores == used.spill_loads == used.local_bytes == 0
    assert not any(code in cubin.log for code in ("C7510", "C7513", "C7514", "serializ", "setmaxnreg"))
    assert used.registers * kernel.ir.threads <= 65536
