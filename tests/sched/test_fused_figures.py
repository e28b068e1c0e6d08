"""The paper's figures for split-K and for fused kernels, typed from the paper, against what `pv.compile` prints.

Figures sched2-warp-tile and sched2-parametric (split-K), sched3-initial, sched3-block-tile, sched3-separation and
sched3-warp-tile-strip-mined (matmul + bias + ReLU), sched:mm-mm-add (a sum of matmuls), at a block tile of 128x128x32
and a warp tile of 64x64x32. What the paper says of the last one in words, "a similar tree with three filters", is typed
in `test_kernel_fusion`, and the texts there are shared.
"""

import pytest

import polyvolta as pv
from tests.sched.passes.test_kernel_fusion import (
    BLOCK_TILE,
    INITIAL,
    SEPARATION,
    SPLIT_K_PARAMETRIC,
    SPLIT_K_TILED,
    THREE,
    WARP_TILE_STRIP_MINED,
)

M, N, K, L = pv.sizes("M N K L")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
P, Q = pv.tensor("P", (M, K)), pv.tensor("Q", (K, N), layout="col")
bias = pv.tensor("bias", (M, N))
TILES = {"block_tile": (128, 128, 32), "warp_tile": (64, 64, 32)}

MM_MM_ADD = """\
DOMAIN: S1[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K;
        S2[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K;
        S3[i, j] : 0 ≤ i < M ∧ 0 ≤ j < N
  BAND: S1[i, j, k] → [i, j, k];
        S2[i, j, k] → [i, j, k];
        S3[i, j] → [i, j, K]
    SEQUENCE
      FILTER: S1[i, j, k]
      FILTER: S2[i, j, k]
      FILTER: S3[i, j]"""


def stages(outputs, **options):
    kernel = pv.compile(outputs, options=pv.Options(**{**TILES, **options}))
    return {name: str(tree) for name, tree in kernel.stages.items()}


@pytest.fixture(scope="module")
def epilogue():
    return stages(pv.relu(A @ B + bias))


def test_a_matmul_with_bias_and_relu(epilogue):
    assert epilogue["initial"] == INITIAL
    assert epilogue["block_tiled"] == BLOCK_TILE
    assert epilogue["hoisted"] == SEPARATION
    assert epilogue["contracted"] == WARP_TILE_STRIP_MINED


def test_stages_of_several_statements_come_in_order(epilogue):
    assert list(epilogue) == [
        "initial", "block_tiled", "hoisted", "warp_tiled", "mapped", "strip_mined", "contracted", "promoted",
        "prefetched",
    ]  # fmt: skip


def test_split_k():
    """Block tiles are p times as deep, warps split them along z."""
    found = stages(A @ B, split_k=2)
    assert found["warp_tiled"] == SPLIT_K_TILED
    assert found["mapped"] == SPLIT_K_PARAMETRIC


def test_a_sum_of_matmuls():
    found = stages(A @ B + P @ Q)
    assert found["initial"] == MM_MM_ADD
    assert found["contracted"] == THREE


def test_matmuls_of_different_depths_start_together():
    """The scheduler lets them end together; a product's own k is what tiles are cut from."""
    deep = pv.tensor("P", (M, L)) @ pv.tensor("Q", (L, N), layout="col")
    assert stages(A @ B + deep)["initial"] == MM_MM_ADD.replace(
        "S2[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K", "S2[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < L"
    ).replace("S3[i, j] → [i, j, K]", "S3[i, j] → [i, j, K + L]")
    numbers = pv.tensor("A", (M, 48)) @ pv.tensor("B", (48, N)) + pv.tensor("P", (M, 33)) @ pv.tensor("Q", (33, N))
    assert stages(numbers)["initial"].splitlines()[3:5] == [
        "  BAND: S1[i, j, k] → [i, j, k];",
        "        S2[i, j, k] → [i, j, k];",
    ]


def test_products_that_nothing_joins_share_a_band_all_the_same():
    assert (
        stages([A @ B, P @ Q], warp_tile=(64, 32, 32))["initial"]
        == """\
DOMAIN: S1[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K;
        S2[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K
  BAND: S1[i, j, k] → [i, j, k];
        S2[i, j, k] → [i, j, k]
    SEQUENCE
      FILTER: S1[i, j, k]
      FILTER: S2[i, j, k]"""
    )


def test_a_prologue_has_the_trees_of_a_plain_matmul():
    plain, prologue = stages(A @ B), stages(pv.relu(A) @ B)
    for stage in ("initial", "block_tiled", "warp_tiled", "mapped", "strip_mined", "contracted"):
        assert prologue[stage] == plain[stage]
