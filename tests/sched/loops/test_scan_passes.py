"""Trees of the scheduler and of the passes as loops: golden texts, and nothing in them that does nothing.

A condition must fail somewhere, a loop run twice, a bound be the one that counts: at sizes on both sides of the tiles.
"""

from itertools import product

import pytest

import polyvolta as pv
from examples.polybench import KERNELS
from examples.polybench.tiling import tiled
from polyvolta.graph.dag import Graph
from polyvolta.sched.emit.c.text import to_c
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.passes import contract, hoist, isolate_full_tiles, map_members, strip_mine, tile
from polyvolta.sched.program import Program
from polyvolta.sched.scheduler import schedule
from polyvolta.sets import Set
from tests.sched.loops.oracle import assert_scans
from tests.sched.loops.useful import useless

BLOCKS = {0: "blockIdx.y", 1: "blockIdx.x"}
WARPS = {0: "warpIdx_y", 1: "warpIdx_x"}
POSITIVE = Set("[M, N, K] -> { : M >= 1 and N >= 1 and K >= 1 }")
WHOLE = POSITIVE & Set("[M, N, K] -> { : M mod 4 = 0 and N mod 4 = 0 and K mod 8 = 0 }")
PAPER = POSITIVE & Set("[M, N, K] -> { : M mod 128 = 0 and N mod 128 = 0 and K mod 32 = 0 }")
CONTEXTS = {"none": None, "positive": POSITIVE, "whole": WHOLE}


def sizes(*ranges):
    return [dict(zip("MNK", v, strict=True)) for v in product(*ranges)]


SOME = sizes((1, 3, 6, 8), (1, 2, 4, 10), (1, 4, 8, 11, 17))
VALUES = {
    "none": [*SOME, *sizes((0, -3, 4, 6), (0, -2, 5), (0, -5, 7, 12))],
    "positive": SOME,
    "whole": sizes((4, 8), (4, 8), (8, 16)),
}


def matmul():
    M, N, K = pv.sizes("M N K")
    return schedule(Program.of(Graph.of(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"))))


def epilogue():
    M, N, K = pv.sizes("M N K")
    A, B, bias = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col"), pv.tensor("bias", (M, N))
    return schedule(Program.of(Graph.of(pv.relu(A @ B + bias))))


def fused(block):
    return hoist(tile(epilogue(), (0,), block), (0,))


def warps(block, warp):
    """The matmul in the warps' tiles of the blocks' tiles."""
    return tile(tile(matmul(), (0,), block), (0, 0), warp)


def split(block, warp):
    """Split-K: each warp sums up its part of every tile of k."""
    blocks = map_members(tile(tile(matmul(), (0,), block), (0, 0), warp), (0,), BLOCKS)
    return map_members(blocks, (0, 0), {**WARPS, 2: "warpIdx_z"}, reduction="C")


def kernel(block, warp, strip, macro, context):
    """Matmul, bias and activation in the paper's steps: a macro-MMA is one instance."""
    done = map_members(fused(block), (0,), BLOCKS)
    for part in range(2):
        points = (0, 0, part, 0, 0)
        done = map_members(tile(done, points, warp), points, WARPS)
        done = strip_mine(done, (*points, 0), {2: strip})
    for space, _ in done.domain.parts:
        done = contract(done, space.out.name, dict(zip(space.out.dims, macro, strict=False)), context)
    return done


TREES = {
    "initial": epilogue,
    "block tiles": lambda: tile(matmul(), (0,), (4, 4, 8)),
    "warp tiles": lambda: warps((4, 4, 8), (2, 2, 4)),
    "strips": lambda: strip_mine(tile(matmul(), (0,), (4, 4, 8)), (0, 0), {2: 2}),
    "fused tiles": lambda: tile(epilogue(), (0,), (4, 4, 8)),
    "hoisted": lambda: fused((4, 4, 8)),
    "mapped": lambda: map_members(fused((4, 4, 8)), (0,), BLOCKS),
    "isolated": lambda: isolate_full_tiles(tile(epilogue(), (0,), (4, 4, 8)), (0,)),
    "split": lambda: split((4, 4, 8), (2, 2, 4)),
}


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("name", TREES)
def test_everything_in_the_loops_of_a_product_does_something(name, context):
    tree = TREES[name]()
    found = scan(tree, CONTEXTS[context])
    assert useless(found, VALUES[context]) == []
    assert_scans(tree, VALUES[context][::29], CONTEXTS[context])


def test_everything_in_the_loops_of_a_kernel_does_something():
    tree = kernel((4, 4, 8), (2, 2, 4), 2, (1, 1, 2), WHOLE)
    assert useless(scan(tree, WHOLE), VALUES["whole"]) == []


@pytest.mark.parametrize("name", KERNELS)
def test_everything_in_the_loops_of_polybench_does_something(name):
    program = KERNELS[name].program
    names = program.params
    context = Set(f"[{', '.join(names)}] -> {{ : {' and '.join(f'{n} >= 3' for n in names)} }}")
    found = scan(tiled(schedule(program), 3), context)
    each = range(3, 9) if len(names) <= 2 else (3, 4, 7) if len(names) == 3 else (3, 5)
    if len(names) == 2 and name.endswith("3d"):
        each = (3, 4, 6)
    assert useless(found, [dict(zip(names, v, strict=True)) for v in product(each, repeat=len(names))]) == []


def lines(tree, context=None):
    return to_c(scan(tree, context), macros=False).split("\n")


def test_the_papers_block_and_warp_tiles():
    assert lines(warps((128, 128, 32), (64, 64, 32)), POSITIVE) == [
        "for (int c0 = 0; c0 < (M + 127) / 128; c0 += 1)",
        "  for (int c1 = 0; c1 < (N + 127) / 128; c1 += 1)",
        "    for (int c2 = 0; c2 < (K + 31) / 32; c2 += 1)",
        "      for (int c3 = 0; c3 < min(2, (M + 63) / 64 - 2 * c0); c3 += 1)",
        "        for (int c4 = 0; c4 < min(2, (N + 63) / 64 - 2 * c1); c4 += 1)",
        "          for (int c6 = 0; c6 < min(64, M - 128 * c0 - 64 * c3); c6 += 1)",
        "            for (int c7 = 0; c7 < min(64, N - 128 * c1 - 64 * c4); c7 += 1)",
        "              for (int c8 = 0; c8 < min(32, K - 32 * c2); c8 += 1)",
        "                S(128 * c0 + 64 * c3 + c6, 128 * c1 + 64 * c4 + c7, 32 * c2 + c8);",
    ]


def test_fused_tiles_with_their_epilogue():
    assert lines(fused((128, 128, 32)), POSITIVE) == [
        "for (int c0 = 0; c0 < (M + 127) / 128; c0 += 1)",
        "  for (int c1 = 0; c1 < (N + 127) / 128; c1 += 1) {",
        "    for (int c2 = 0; c2 < (K + 31) / 32; c2 += 1)",
        "      for (int c3 = 0; c3 < min(128, M - 128 * c0); c3 += 1)",
        "        for (int c4 = 0; c4 < min(128, N - 128 * c1); c4 += 1)",
        "          for (int c5 = 0; c5 < min(32, K - 32 * c2); c5 += 1)",
        "            S1(128 * c0 + c3, 128 * c1 + c4, 32 * c2 + c5);",
        "    for (int c3 = 0; c3 < min(128, M - 128 * c0); c3 += 1)",
        "      for (int c4 = 0; c4 < min(128, N - 128 * c1); c4 += 1)",
        "        S2(128 * c0 + c3, 128 * c1 + c4);",
        "  }",
    ]


def test_fused_tiles_without_a_context():
    assert lines(tile(epilogue(), (0,), (128, 128, 32))) == [
        "for (int c0 = 0; c0 < floord(M + 127, 128); c0 += 1)",
        "  for (int c1 = 0; c1 < floord(N + 127, 128); c1 += 1)",
        "    for (int c2 = min(0, floord(K, 32)); c2 <= floord(K, 32); c2 += 1)",
        "      for (int c3 = 0; c3 < min(128, M - 128 * c0); c3 += 1)",
        "        for (int c4 = 0; c4 < min(128, N - 128 * c1); c4 += 1) {",
        "          if (c2 >= 0 && 32 * c2 < K)",
        "            for (int c5 = 0; c5 < min(32, K - 32 * c2); c5 += 1)",
        "              S1(128 * c0 + c3, 128 * c1 + c4, 32 * c2 + c5);",
        "          if (c2 == floord(K, 32))",
        "            S2(128 * c0 + c3, 128 * c1 + c4);",
        "        }",
    ]


def test_split_k_in_warps():
    assert lines(split((128, 128, 64), (64, 64, 32)), POSITIVE) == [
        "for (int c2 = 0; c2 < (K + 63) / 64; c2 += 1)",
        "  for (int c6 = 0; c6 < min(64, M - 128 * blockIdx.y - 64 * warpIdx_y); c6 += 1)",
        "    for (int c7 = 0; c7 < min(64, N - 128 * blockIdx.x - 64 * warpIdx_x); c7 += 1)",
        "      for (int c8 = 0; c8 < min(32, K - 64 * c2 - 32 * warpIdx_z); c8 += 1)",
        "        S(128 * blockIdx.y + c6 + 64 * warpIdx_y, 128 * blockIdx.x + c7 + 64 * warpIdx_x, "
        "64 * c2 + c8 + 32 * warpIdx_z);",
    ]


def test_the_papers_kernel():
    assert lines(kernel((128, 128, 32), (64, 64, 32), 8, (16, 16, 8), PAPER), PAPER) == [
        "for (int c2 = 0; c2 < K / 32; c2 += 1)",
        "  for (int c8 = 0; c8 < 4; c8 += 1)",
        "    for (int c9 = 0; c9 <= 48; c9 += 16)",
        "      for (int c10 = 0; c10 <= 48; c10 += 16)",
        "        S1(128 * blockIdx.y + c9 + 64 * warpIdx_y, 128 * blockIdx.x + c10 + 64 * warpIdx_x, "
        "32 * c2 + 8 * c8);",
        "for (int c9 = 0; c9 <= 48; c9 += 16)",
        "  for (int c10 = 0; c10 <= 48; c10 += 16)",
        "    S2(128 * blockIdx.y + c9 + 64 * warpIdx_y, 128 * blockIdx.x + c10 + 64 * warpIdx_x);",
    ]
