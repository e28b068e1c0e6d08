"""What the model says of times: sums, symmetry, and what more work or a slower chip must bring."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from polyvolta.compiler.model import columns_of, predict, predict_all
from polyvolta.compiler.model.sizes import BadSizes
from polyvolta.compiler.needs import Needs, Work
from polyvolta.compiler.tiling import Tiling
from polyvolta.cuda.target.chips import chips
from polyvolta.cuda.target.registry import targets

SM_90A, H200 = targets["sm_90a"], chips["H200"]
NEEDS = Needs(extents=(("M", "N", "K"),))
TILES = [
    Tiling((128, 256, 64), (64, 256, 64), "m64n256k16", 1, 4, "guard", "auto", 3, 1, 8, 1, True, persistent=True),
    Tiling((128, 128, 64), (64, 128, 64), "m64n128k16", 1, 6, "guard", "auto", 5, 1, 8, 1, True),
    Tiling((128, 96, 64), (64, 96, 64), "m64n96k16", 1, 3, "guard", "auto", 2, 1, 8, 2, True),
    Tiling((64, 128, 64), (64, 128, 64), "m64n128k16", 1, 4, "guard", "auto", 3, 1, 8, 1, True, True, True),
    Tiling((64, 64, 64), (64, 64, 64), "m64n64k16", 4, 8, "guard", "auto", 7, 1, 8, 1, True),
    Tiling((128, 160, 64), (64, 160, 64), "m64n160k16", 1, 5, "guard", "auto", 4, 1, 8, 1, True, cluster=(2, 1)),
    Tiling((64, 64, 64), (32, 32, 64), "m16n32k16", 1, 3, "guard", "auto", 2, 2, 8),
]


def seconds(tiling, m, n, k, chip=H200, needs=NEEDS):
    return predict(tiling, needs, SM_90A, chip, {"M": m, "N": n, "K": k}).seconds


@pytest.mark.parametrize("tiling", TILES)
def test_parts_sum_up_and_none_is_negative(tiling):
    for m, n, k in [(64, 64, 64), (1000, 520, 300), (4096, 4096, 4096), (128, 8192, 512), (1, 1, 0), (0, 5, 64)]:
        cost = predict(tiling, NEEDS, SM_90A, H200, {"M": m, "N": n, "K": k})
        parts = [getattr(cost, f.name) for f in fields(cost) if f.name != "waves"]
        assert cost.seconds == pytest.approx(sum(parts)) and min(parts) > -1e-9
        assert str(cost).startswith(f"{1e6 * cost.seconds:.1f} us")


@pytest.mark.parametrize("tiling", TILES)
def test_waves_are_tiles_of_the_busiest_multiprocessor(tiling):
    m, n, _ = tiling.block_tile
    for rows, cols in [(m, n), (m * 11, n * 12), (m * 133, n), (m * 40, n * 40)]:
        down, across = rows // m, cols // n
        high, wide = tiling.cluster
        parts = tiling.split_k if tiling.by_blocks(SM_90A) else 1
        blocks = -(-down // high) * high * -(-across // wide) * wide * parts
        held = H200.reachable(high * wide * parts)
        counted = np.bincount(np.arange(blocks) % held).max()  # dealt out one by one
        assert predict(tiling, NEEDS, SM_90A, H200, {"M": rows, "N": cols, "K": 64}).waves == counted


@pytest.mark.parametrize("tiling", TILES)
def test_more_work_takes_longer(tiling):
    m, n, _ = tiling.block_tile
    high, wide = tiling.cluster
    for sizes in [(m * high, n * wide, 256), (8 * m, 16 * n, 1024), (32 * m, 32 * n, 4096)]:
        one = seconds(tiling, *sizes)
        assert seconds(tiling, *sizes[:2], 2 * sizes[2]) > one
        assert seconds(tiling, 1024 * sizes[0], *sizes[1:]) > 1.5 * one
        assert seconds(tiling, sizes[0], 1024 * sizes[1], sizes[2]) > 1.5 * one


@pytest.mark.parametrize("figure", ["clock", "l2_bandwidth", "dram_bandwidth", "shared_width", "l2_width"])
def test_a_slower_chip_takes_no_less(figure):
    slow = replace(H200, **{figure: getattr(H200, figure) / 3})
    for tiling in TILES:
        for sizes in [(256, 256, 256), (1024, 2048, 512), (8192, 8192, 8192)]:
            assert seconds(tiling, *sizes, chip=slow) >= seconds(tiling, *sizes) * (1 - 1e-9)
    large, slow = (8192, 8192, 8192), replace(H200, clock=H200.clock / 3)
    assert seconds(TILES[0], *large, chip=slow) > 1.5 * seconds(TILES[0], *large)


def test_each_fitted_figure_of_time_adds_to_some_tiling():
    for name in ("launch", "block", "latency", "finish", "piece", "meet", "together", "power", "crowd"):
        five = 1e-7 + 5 * getattr(H200.warpgroups, name)
        more = H200.with_fitted("warpgroup", replace(H200.warpgroups, **{name: five}))
        assert any(seconds(t, 2048, 2048, 512, more) > 1.001 * seconds(t, 2048, 2048, 512) for t in TILES[:-1]), name


def test_the_transposed_product_swapped_takes_the_same():
    other = {"row": "col", "col": "row"}
    for tiling in TILES[:-1]:
        turned = replace(NEEDS, layouts=tuple((other[b], other[a]) for a, b in NEEDS.layouts))
        for m, n, k in [(1000, 520, 300), (4096, 1024, 2048)]:
            assert seconds(tiling.turned, n, m, k, needs=turned) == pytest.approx(seconds(tiling, m, n, k))


def test_a_product_of_a_sum_counts_as_much_depth():
    two = Needs(extents=(("M", "N", "K"), ("M", "N", "L")), loads=((1, 1),) * 2, prologues=((0, 0),) * 2)
    for tiling in TILES[:4]:
        both = predict(tiling, two, SM_90A, H200, {"M": 1024, "N": 1024, "K": 512, "L": 256})
        assert both.main == pytest.approx(predict(tiling, NEEDS, SM_90A, H200, {"M": 1024, "N": 1024, "K": 768}).main)


def test_columns_say_what_single_predictions_say():
    sizes = [(512, 640, 896), (4096, 128, 2048), (8192, 8192, 512)]
    (columns,) = columns_of(TILES[:-1], NEEDS, SM_90A)
    where = [i for i in range(len(columns)) for _ in sizes]
    m, n, k = (np.array(x, float) for x in zip(*sizes * len(columns)))
    found = predict_all(columns.take(where), NEEDS, H200, Work(m, n, (k,)))
    for i, cost in enumerate(found.seconds):
        assert cost == pytest.approx(seconds(TILES[where[i]], *sizes[i % len(sizes)]))
        assert found[i].seconds == pytest.approx(cost)


def test_columns_are_by_scope():
    assert [(c.scope, len(c)) for c in columns_of(TILES, NEEDS, SM_90A)] == [("warpgroup", 6), ("warp", 1)]


@pytest.mark.parametrize(
    ("sizes", "words"),
    [({"M": 1, "N": 2}, "K is missing"), ({"M": 1, "N": 2, "K": 3, "L": 4}, "no size 'L'"),
     ({"M": 1, "N": 2, "K": -3}, "int, at least 0"), ({"M": 1, "N": True, "K": 3}, "int, at least 0"),
     ({"M": 1, "N": 2.5, "K": 3}, "int, at least 0")],
)  # fmt: skip
def test_sizes_that_are_wrong_are_refused(sizes, words):
    with pytest.raises(BadSizes, match=words):
        predict(TILES[0], NEEDS, SM_90A, H200, sizes)
