"""The paper's schedule-tree figures, typed from the paper, against what the compiler's stages print.

The texts below were typed from the figures of "Automatic Kernel Generation for Volta Tensor Cores", not printed
by the program: figures sched1-initial, sched1-warp-tile, sched1-parametric, sched1-strip-mined and
sched1-constrained-domain, at a block tile of 128x128x32 and a warp tile of 64x64x32.
"""

import pytest

import polyvolta as pv

FIGURES = {
    "initial": """\
DOMAIN: S[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K
  BAND: S[i, j, k] → [i, j, k]""",
    "warp_tiled": """\
DOMAIN: S[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K
  BAND: S[i, j, k] → [⌊i/128⌋, ⌊j/128⌋, ⌊k/32⌋]
    BAND: S[i, j, k] → [⌊i/64⌋ - 2⌊i/128⌋, ⌊j/64⌋ - 2⌊j/128⌋, 0]
      BAND: S[i, j, k] → [i - 64⌊i/64⌋, j - 64⌊j/64⌋, k - 32⌊k/32⌋]""",
    "mapped": """\
DOMAIN: S[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K
  BAND: S[i, j, k] → [blockIdx.y, blockIdx.x, ⌊k/32⌋]
    BAND: S[i, j, k] → [warpIdx_y, warpIdx_x, 0]
      BAND: S[i, j, k] → [i - 64⌊i/64⌋, j - 64⌊j/64⌋, k - 32⌊k/32⌋]""",
    "strip_mined": """\
DOMAIN: S[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K
  BAND: S[i, j, k] → [blockIdx.y, blockIdx.x, ⌊k/32⌋]
    BAND: S[i, j, k] → [warpIdx_y, warpIdx_x, 0]
      BAND: S[i, j, k] → [0, 0, ⌊k/8⌋ - 4⌊k/32⌋]
        BAND: S[i, j, k] → [i - 64⌊i/64⌋, j - 64⌊j/64⌋, k - 8⌊k/8⌋]""",
    "contracted": """\
DOMAIN: S[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K ∧ 16⌊i/16⌋ = i ∧ 16⌊j/16⌋ = j ∧ 8⌊k/8⌋ = k
  BAND: S[i, j, k] → [blockIdx.y, blockIdx.x, ⌊k/32⌋]
    BAND: S[i, j, k] → [warpIdx_y, warpIdx_x, 0]
      BAND: S[i, j, k] → [0, 0, ⌊k/8⌋ - 4⌊k/32⌋]
        BAND: S[i, j, k] → [i - 64⌊i/64⌋, j - 64⌊j/64⌋, k - 8⌊k/8⌋]""",
}

ASCII = {"⌊": "floor(", "⌋": ")", "≤": "<=", "∧": "and", "→": "->"}


@pytest.fixture(scope="module")
def kernel():
    M, N, K = pv.sizes("M N K")
    A = pv.tensor("A", (M, K))
    B = pv.tensor("B", (K, N), layout="col")
    return pv.compile(A @ B, options=pv.Options(block_tile=(128, 128, 32), warp_tile=(64, 64, 32)))


@pytest.mark.parametrize("stage", FIGURES)
def test_each_stage_prints_the_papers_figure(kernel, stage):
    assert str(kernel.stages[stage]) == FIGURES[stage]


@pytest.mark.parametrize("stage", FIGURES)
def test_the_ascii_form_says_the_same(kernel, stage):
    text = kernel.stages[stage].show(ascii=True)
    assert text.isascii()
    expected = FIGURES[stage]
    for digits in ("2", "4", "16", "8", "64", "32"):
        expected = expected.replace(f" {digits}⌊", f" {digits}*⌊")
    for sign, plain in ASCII.items():
        expected = expected.replace(sign, plain)
    assert text == expected


def test_stages_come_in_the_papers_order(kernel):
    assert list(kernel.stages) == [
        "initial", "block_tiled", "warp_tiled", "mapped", "strip_mined", "contracted", "promoted", "prefetched",
    ]  # fmt: skip
    assert kernel.schedule == kernel.stages["prefetched"]


def test_only_the_innermost_dimension_is_sequential(kernel):
    band = kernel.stages["initial"].band((0,))
    assert band.permutable
    assert [m.coincident for m in band.members] == [True, True, False]


def test_prefetching_shifts_the_copies_by_one_tile(kernel):
    before, after = str(kernel.stages["promoted"]), str(kernel.stages["prefetched"])
    for copy in ("load_A", "load_B", "store_A", "store_B"):
        assert f"{copy}[by, bx, kt, c, t] → [kt]" in before
        assert f"{copy}[by, bx, kt, c, t] → [kt - 1]" in after
    assert "S[i, j, k] → [⌊k/32⌋]" in after
