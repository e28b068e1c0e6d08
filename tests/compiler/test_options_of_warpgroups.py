"""Options where a target has products of warpgroups: what the rule takes, what it leaves to warps, what is refused."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from functools import cache

import combinations
import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.model.candidates import candidates
from polyvolta.compiler.needs import needs_of
from polyvolta.compiler.options import complete, default_options
from polyvolta.compiler.rule.values import BadOption
from polyvolta.compiler.rule.warpgroups import lacks, shares
from polyvolta.compiler.tiling import OPTIONS
from polyvolta.cuda.ir.kernel_ir import GlobalLoad
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.target.ampere import K16, LDMATRIX, M16N8K16
from polyvolta.cuda.target.hopper import SM_90A
from polyvolta.cuda.target.macro_mma import Composition, Interleave
from polyvolta.graph.dag import Graph
from polyvolta.graph.plans.idioms import plan

M, N, K, L = pv.sizes("M N K L")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
P, Q = pv.tensor("P", (M, L)), pv.tensor("Q", (L, N), layout="col")
BIAS, R = pv.tensor("bias", (N,)), pv.tensor("R", (M, N))
TWO = (A + pv.tensor("S", (M, K))) @ B  # an operand of two tensors
FOUR = pv.relu(A @ B) * (P @ Q) * pv.relu(pv.tensor("S", (M, K)) @ B) * (pv.tensor("T", (M, L)) @ Q)
WIDE = {"macro_mma": "m64n256k16"}


def chosen(outputs, **given):
    return default_options(Graph.of(outputs), SM_90A, pv.Options(**given))


def sized(m, n, k):
    return pv.tensor("A", (m, k)) @ pv.tensor("B", (k, n), layout="col")


def tiles(o):
    return o.block_tile, o.warp_tile, o.macro_mma, o.buffers


LARGE = (128, 256, 64), (64, 256, 64), "m64n256k16", 4
SQUARE = (128, 128, 64), (64, 128, 64), "m64n128k16", 6


@pytest.mark.parametrize("outputs", [A @ B, pv.relu(A @ B + BIAS), A @ B + P @ Q, (A @ B, pv.relu(A @ B))],
                         ids=["plain", "bias", "sum", "two results"])  # fmt: skip
def test_large_products_have_two_warpgroups_and_four_buffers(outputs):
    o = chosen(outputs)
    assert tiles(o) == LARGE and (o.split_k, o.fragments, o.prefetch, o.group) == (1, 1, 3, 8)
    assert o.threads_on(SM_90A) == 2 * 128 + 32


@pytest.mark.parametrize(("sizes", "expected"), [
    ((4096, 4096, 4096), LARGE),
    ((2048, 2048, 2048), SQUARE),
    ((512, 512, 512), SQUARE),
    ((64, 512, 4096), ((64, 128, 64), (64, 128, 64), "m64n128k16", 6)),
    ((4096, 4096, 100), (*LARGE[:3], 2)),
    ((16, 16, 16), ((64, 16, 64), (64, 16, 64), "m64n16k16", 2)),
])  # fmt: skip
def test_tiles_follow_sizes_that_are_known(sizes, expected):
    assert tiles(chosen(sized(*sizes))) == expected


@pytest.mark.parametrize(("given", "expected"), [
    ({"block_tile": (128, 128, 64)}, SQUARE),
    ({"block_tile": (256, 128, 64)}, ((256, 128, 64), (128, 128, 64), "m64n128k16", 4)),
    ({"block_tile": (192, 128, 64)}, ((192, 128, 64), (64, 128, 64), "m64n128k16", 5)),
    ({"block_tile": (64, 96, 32)}, ((64, 96, 32), (64, 96, 32), "m64n96k16", 6)),
    ({"warp_tile": (64, 128, 64)}, ((128, 256, 64), (64, 128, 64), "m64n128k16", 4)),
    ({"macro_mma": "m64n128k16"}, SQUARE),
    ({"macro_mma": "m64n192k16"}, ((128, 192, 64), (64, 192, 64), "m64n192k16", 5)),
    ({"buffers": 3}, (*LARGE[:3], 3)),
    ({"partial": "pad"}, LARGE),
])  # fmt: skip
def test_what_is_given_binds_the_rule(given, expected):
    o = chosen(A @ B, **given)
    assert tiles(o) == expected and all(getattr(o, name) == value for name, value in given.items())
    assert o.threads_on(SM_90A) == 128 * np.prod(o.warps) + 32


@pytest.mark.parametrize(("outputs", "given"), [
    (TWO, {}),
    (2 * (A @ B) + P @ Q, {}),
    (TWO, {"fragments": 2, "buffers": 4, "prefetch": 1}),
    (TWO, {"split_k": 2}),
    (A @ B, {"macro_mma": "m16n32k16"}),
    (A @ B, {"macro_mma": "m16n32k16", "fragments": 2, "split_k": 2, "buffers": 1}),
], ids=str)  # fmt: skip
def test_what_warpgroups_do_not_do_is_left_to_warps(outputs, given):
    o = chosen(outputs, **given)
    assert o.macro_mma in SM_90A.macro_names and o.threads_on(SM_90A) == 32 * np.prod(o.warps)
    assert all(getattr(o, name) == value for name, value in given.items())
    kernel = pv.compile(outputs, target=SM_90A, options=pv.Options(**given))
    assert not kernel.boxed and kernel.without_boxes is None and kernel.ir.threads == o.threads_on(SM_90A)


@pytest.mark.parametrize(("outputs", "given", "message", "way_out"), [
    (A @ B, {"macro_mma": "m64n24k16"}, "stored by 16 columns, 24 is no multiple", "macro_mma='m64n256k16'"),
    (A @ B, {"macro_mma": "m64n250k16"}, "no macro-MMA called 'm64n250k16'", "'m64n256k16'"),
    (A @ B, {"warp_tile": (32, 256, 64), **WIDE}, "warp_tile is no multiple of .* along M: 32 and 64", "(64, 256, 64)"),
    (A @ B, {"block_tile": (128, 128, 64), **WIDE}, "along N: 128 and 256", "'m64n128k16'"),
    (A @ B, {"block_tile": (128, 256, 24), **WIDE}, "along K: 24 and 16", "(128, 256, 64)"),
    (A @ B, {"block_tile": (128, 256, 64), "buffers": 6, **WIDE},
     "need at least 295008 bytes of shared memory, sm_90a has 232448", "buffers=4"),
    (A @ B, {"block_tile": (512, 256, 16), "warp_tile": (64, 256, 16), **WIDE}, "1056 threads, sm_90a has 1024", "try"),
    (A @ B, {"block_tile": (256, 256, 64), "warp_tile": (256, 256, 64), **WIDE}, "512 registers a thread", "together"),
    (A @ B, {"buffers": 1, **WIDE}, "buffers=1", "buffers=4"),
    (A @ B, {"buffers": 2, "prefetch": 2, **WIDE}, "prefetch=2 needs 3 buffers", "prefetch=1"),
    (A @ B, {"buffers": 4, "prefetch": 1}, "as far ahead as there are buffers: prefetch=1 .*buffers=4", "prefetch=3"),
    (A @ B, {"prefetch": 0}, "prefetch=0", "prefetch=3"),
    (A @ B, {"fragments": 2, **WIDE}, "no fragments of operands in registers", "fragments=1"),
    (A @ B, {"split_k": 8, "warp_tile": (64, 64, 64), "block_tile": (128, 64, 64), "macro_mma": "m64n64k16"},
     "each of the 8 blocks that split K", "split_k=1"),
    (A @ B, {"split_k": 4, "cluster": (2, 2), **WIDE}, "at most 8 blocks, not 2 x 2 for each of 4 parts", "split_k=1"),
    (A @ B - P @ Q, {"persistent": True}, "takes no boxes; warpgroups add products as they are", "persistent=False"),
    (A @ B, {"macro_mma": "m32n32k8"}, "no macro-MMA called", "with N = 16, 32, ..., 256; sm_70 has m32n32k8"),
    (A @ B, {"macro_mma": "wgmma"}, "no macro-MMA called", "m64nNk16 with N = 16, 32, ..., 256"),
    (A @ B, {"split_k": 2, "persistent": True}, "compute one tile each: split_k=2, and persistent=True", "split_k=1"),
    (A @ B, {"split_k": 2, "fragments": 2}, "fragments=2", "fragments=1"),
    (A @ B, {"block_tile": (48, 48, 32)}, "block_tile .* warpgroups multiply along M: 48 and 64", "(128, 256, 64)"),
    (A @ B, {"warp_tile": (64, 24, 64)}, "warp_tile .* warpgroups multiply along N: 24 and 16", "(64, 256, 64)"),
    (A @ B, {"block_tile": (256, 256, 64)}, "256x256x64 need at least 1056 threads", "(128, 256, 64)"),
    (TWO, WIDE, "one matrix that lies as it does", "macro_mma='m16n32k16'"),
    (TWO, {"fragments": 2, **WIDE}, "one matrix that lies as it does", "target='sm_80'"),
    (TWO, {"warp_tile": (64, 24, 64)}, "what warps multiply along N: 24 and 32", "(64, 32, 64)"),
    (TWO, {"persistent": True}, "takes no boxes; .* one matrix that lies as it does", "persistent=False"),
    (FOUR, {"cluster": (2, 1)}, "takes no boxes: .*; .* the products add to 4", "cluster=(1, 1)"),
    (A @ B, {"pingpong": True, "persistent": False}, "take turns at tiles of persistent blocks", "persistent=True, or"),
    (A @ B, {"block_tile": (192, 16, 32), "cluster": (8, 1)},
     "8 blocks of a cluster share a tile of 32 x 16, .* 16 lines are not cut into 8 equal parts", "cluster=(1, 1)"),
    (A @ B, {"block_tile": (16, 128, 32), "warp_tile": (16, 64, 32), "cluster": (1, 8), "swap": True},
     "8 blocks of a cluster share a tile of 32 x 16", "cluster=(1, 1)"),
    (2 * (A @ B) + P @ Q, WIDE, "a sum is multiplied by something between", "macro_mma='m16n32k16'"),
    (FOUR, {**WIDE, "block_tile": (64, 256, 64)}, "at most 3 accumulators, and the products add to 4", ""),
], ids=lambda x: str(x)[:30])  # fmt: skip
def test_what_does_not_work_is_refused_with_a_way_out(outputs, given, message, way_out):
    with pytest.raises(BadOption, match=message) as found:
        pv.compile(outputs, target=SM_90A, options=pv.Options(**given))
    assert way_out in found.value.hint


@pytest.mark.parametrize("given", [
    {"persistent": True}, {"pingpong": True}, {"cluster": (2, 1)}, {"dependent_launch": True},
], ids=str)  # fmt: skip
def test_what_only_a_later_target_does_is_refused_with_its_name(given):
    with pytest.raises(BadOption) as found:
        pv.compile(A @ B, target="sm_80", options=pv.Options(**given))
    assert found.value.hint.endswith(", or target='sm_90a', which does that")
    with pytest.raises(BadOption) as found:
        pv.compile(TWO, target="sm_80", options=pv.Options(**given))
    assert ("sm_90a" in found.value.hint) == ("dependent_launch" in given)


def test_warpgroups_that_take_turns_have_persistent_blocks():
    o = chosen(A @ B, pingpong=True)
    assert (o.persistent, o.block_tile, o.warp_tile) == (True, (64, 256, 64), (64, 256, 64))


def test_a_product_of_warps_may_have_the_name_of_one_of_warpgroups():
    """Whose a product is, is not in its name."""
    rows, cols = ("r0", "r1", "r2", "r3", "s0", "s1"), ("r0", "r1", "r2", "s0")
    large = Composition(M16N8K16, Interleave(rows, cols, K16), LDMATRIX)
    assert large.name in SM_90A.families[0].names
    target = replace(pv.targets["sm_80"], macro_mmas=(large, *pv.targets["sm_80"].macro_mmas))
    tiles = {"block_tile": (64, 32, 32), "warp_tile": (64, 16, 32), "macro_mma": large.name, "split_k": 2}
    kernel = pv.compile(A @ B, target=target, options=pv.Options(**tiles))
    assert kernel.ir.threads == 4 * 32 and not kernel.boxed
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((70, 100), (40, 100)))
    assert np.array_equal(kernel.interpret(a, b.T), pv.reference(A @ B, a, b.T))


OF_WARPS = [
    {"fragments": 2}, {"buffers": 1}, {"warp_tile": (32, 64, 64)}, {"prefetch": 0},
    {"buffers": 4, "prefetch": 2}, {"block_tile": (64, 64, 32), "fragments": 2},
]  # fmt: skip


@pytest.mark.parametrize("given", OF_WARPS, ids=str)
@pytest.mark.parametrize("outputs", [A @ B, A @ B + P @ Q, pv.relu(A @ B + BIAS)], ids=["plain", "sum", "bias"])
def test_what_only_warps_do_is_refused_by_what_was_given_and_says_whose_warps(outputs, given):
    with pytest.raises(BadOption) as found:
        pv.compile(outputs, target=SM_90A, options=pv.Options(**given))
    problem, where, hint = str(found.value).splitlines()
    assert any(name in problem for name in given) and not re.search(r"m\d+n\d+k\d+|\d+x\d+", problem)
    assert where.strip() == f"Options({', '.join(f'{n}={given[n]!r}' for n in OPTIONS if n in given)})"
    assert hint.endswith("or target='sm_80', whose warps do that") and "m16n" not in hint
    kernel = pv.compile(outputs, target="sm_80", options=pv.Options(**given))
    assert all(getattr(kernel.options, name) == value for name, value in given.items())


@pytest.mark.parametrize(("given", "buffers"), [({"prefetch": 2}, 3), ({"prefetch": 1}, 2), ({"buffers": 5}, 5)])
def test_boxes_are_as_far_ahead_as_there_are_buffers(given, buffers):
    kernel = pv.compile(A @ B, target=SM_90A, options=pv.Options(**given))
    assert (kernel.options.buffers, kernel.options.prefetch) == (buffers, buffers - 1)
    assert {b.slots for b in kernel.ir.barriers} == {buffers} and kernel.boxed


def test_options_say_how_many_threads_warpgroups_have():
    o = pv.Options(block_tile=(192, 256, 64), warp_tile=(64, 256, 64), macro_mma="m64n256k16")
    assert o.warps == (3, 1, 1) and o.threads_on(SM_90A) == 3 * 128 + 32


# ---- the space


@cache
def space():
    """Of a target with one macro-MMA of warps, whose tilings are most of it."""
    return list(pv.Options.space(A @ B, replace(SM_90A, macro_mmas=SM_90A.macro_mmas[:1], fragments=1)))


def test_the_space_has_warps_and_warpgroups():
    found = [o for o in space() if o.macro_mma not in SM_90A.macro_names]
    assert 0 < len(found) < len(space())
    assert {o.macro_mma for o in found} == {f"m64n{n}k16" for n in range(16, 257, 16)}
    assert {o.buffers for o in found} == {2, 3, 4, 5, 6, 7, 8} and all(o.prefetch == o.buffers - 1 for o in found)
    assert all(o in space() for o in (chosen(A @ B), chosen(A @ B, block_tile=(128, 128, 64))))
    needs = needs_of(plan(Graph.of(A @ B)))
    assert all(o.threads_on(SM_90A) <= 1024 and o.shared_bytes(needs, SM_90A) <= 232448 for o in found)


def test_of_a_graph_that_warpgroups_do_not_do_the_space_has_warps_alone():
    graph = TWO
    assert all(o.macro_mma in SM_90A.macro_names for o, _ in zip(pv.Options.space(graph, SM_90A), range(500)))


@pytest.mark.parametrize("seed", range(6))
def test_what_is_in_the_space_compiles_fits_and_is_right(seed):
    options = random.Random(seed).choice([o for o in space() if o.macro_mma not in SM_90A.macro_names])
    kernel = pv.compile(A @ B, target=SM_90A, options=options)
    assert kernel.ir.threads == options.threads_on(SM_90A)
    assert options.tile_bytes(SM_90A) < kernel.ir.shared_bytes <= SM_90A.shared_bytes
    rng = np.random.default_rng(seed)
    m, n, k = (int(x) for x in rng.integers(1, 200, 3))
    a = rng.standard_normal((m, k)).astype(np.float16)
    b = np.asfortranarray(rng.standard_normal((k, n)).astype(np.float16))
    exact = a.astype(np.float64) @ b
    assert np.linalg.norm(kernel.interpret(a, b) - exact) <= 5e-4 * np.linalg.norm(exact)


@pytest.mark.parametrize(("outputs", "given"), [
    (A @ B, {}),
    (A @ B, {"block_tile": (192, 128, 64)}),
    (A @ B, {"block_tile": (256, 128, 64)}),
    (A @ B + P @ Q, {}),
    (pv.relu(A @ B + BIAS), {}),
    (pv.relu(A @ B + R), {}),
    (pv.gelu(A @ B + BIAS), {}),
    (pv.gelu(A @ B + BIAS), {"block_tile": (128, 128, 64)}),
    (pv.relu(A @ B + pv.tensor("R", (M, N), layout="col")), {}),
    ((A @ B + R) * pv.tensor("S", (M, N)), {}),
], ids=str)  # fmt: skip
def test_what_the_rule_takes_spills_nothing_and_keeps_products_in_flight(outputs, given):
    kernel = pv.compile(outputs, target=SM_90A, options=pv.Options(**given))
    made = kernel.compiled()
    assert kernel.boxed and kernel.resources().spill_stores == 0
    assert "serialized" not in made.log


RC, FACTOR = pv.tensor("R", (M, N), layout="col"), pv.scalar("s")
C = A @ B


def column(e, name="C"):
    return pv.output(e, name, layout="col")


SPILLED = {
    "column-major, matrix": column(pv.relu(C + RC)),
    "column-major, vector": column(pv.relu(C + BIAS)),
    "column-major": column(C),
    "two of a vector": (pv.output(C + BIAS, "C"), pv.relu(C + BIAS)),
    "two of a vector, column-major": (column(C + BIAS), column(pv.relu(C + BIAS), "D")),
    "two of a matrix": (pv.output(C + R, "C"), pv.relu(C + R)),
    "two of a matrix, column-major": (column(C), column(pv.relu(C + RC), "D")),
    "two": (C, pv.relu(C)),
    "scalar and matrix": FACTOR * C + R,
    "scalars and matrix": FACTOR * C + pv.scalar("t") * R,
    "scalar and vector": pv.relu(FACTOR * C + BIAS),
    "scalar, matrix and sum": FACTOR * (C + P @ Q) + R,
    "numbers and matrix": 2 * C + 3 * R,
    "matrix": pv.relu(C + R),
    "matrix and sum": pv.relu(C + P @ Q + R),
    "maximum": pv.maximum(C, R),
    "exp": pv.exp(C),
    "exp and vector": pv.exp(C) * BIAS,
    "gelu": pv.gelu(C),
    "gelu_tanh": pv.gelu_tanh(C),
    "sigmoid of a column-major matrix": column(pv.sigmoid(C + RC)),
    "softplus": pv.softplus(C),
}


@pytest.mark.parametrize("name", SPILLED)
def test_no_epilogue_makes_a_default_kernel_spill(name):
    """By ptxas' own log, of what 256 columns of accumulators leave no registers for, and what is next to that."""
    kernel = pv.compile(SPILLED[name], target=SM_90A)
    made = kernel.compiled()
    assert kernel.boxed and kernel.resources().spill_stores == kernel.resources().spill_loads == 0
    assert "serialized" not in made.log


@pytest.mark.parametrize(("outputs", "wide"), [
    (C, True), (C + P @ Q, True), (pv.relu(C + BIAS), True), (pv.relu(C + R), True), (column(C), True),
    ((C, pv.relu(C)), True), (pv.tanh(C), True), (FACTOR * C + BIAS, True),
    (column(C + RC), False), (FACTOR * C + R, False), (pv.gelu(C), False),
    ((pv.output(C + R, "C"), pv.relu(C + R)), False),
], ids=str)  # fmt: skip
def test_what_leaves_room_has_the_wide_tiles(outputs, wide):
    assert chosen(outputs).block_tile == ((128, 256, 64) if wide else (128, 128, 64))


@pytest.mark.parametrize("given", [
    {"persistent": True}, {"persistent": True, "pingpong": True}, {"cluster": (2, 1)}, {"dependent_launch": True},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("target", ["sm_70", "sm_75", "sm_80"])
def test_what_only_warpgroups_have_says_whose(target, given):
    with pytest.raises(BadOption) as found:
        pv.compile(A @ B, target=target, options=pv.Options(**given))
    assert found.value.hint.endswith("or target='sm_90a', which does that")
    with pytest.raises(BadOption) as found:
        pv.compile(A @ B, target=target, options=pv.Options(macro_mma="m64n128k16"))
    assert found.value.hint.endswith(" sm_90a has m64n128k16")


@pytest.mark.parametrize("cluster,sizes", [((2, 1), (512, N)), ((1, 2), (M, 256))])
def test_clusters_along_a_size_that_is_known_take_padded_arrays(cluster, sizes):
    m, n = sizes
    product = pv.tensor("A", (m, K)) @ pv.tensor("B", (K, n), layout="col")
    tile = (128, 128, 64)
    kernel = pv.compile(product, target=SM_90A, options=pv.Options(block_tile=tile, cluster=cluster, partial="pad"))
    assert (kernel.options.cluster, kernel.options.partial) == (cluster, "pad")


# ---- matrices of an epilogue: room for their boxes, and registers


BIASES = {
    "as the result": pv.relu(A @ B + pv.tensor("r", (M, N))),
    "the other way": pv.relu(A @ B + pv.tensor("r", (M, N), layout="col")),
    "two": A @ B + pv.tensor("r", (M, N)) * pv.tensor("s", (M, N)),
}


@pytest.mark.parametrize("name", BIASES)
@pytest.mark.parametrize("buffers, swap", [(3, False), (5, False), (5, True), (6, True)])
def test_whether_boxes_have_room_is_known_before_a_kernel_is_made(name, buffers, swap):
    graph = Graph.of(BIASES[name])
    needs, block, warp = needs_of(plan(graph)), (128, 128, 64), (64, 128, 64)
    warp = warp if not swap else (128, 64, 64)
    given = pv.Options(block_tile=block, warp_tile=warp, macro_mma="m64n128k16", buffers=buffers, swap=swap, group=8)
    tiling = complete(given, needs, SM_90A)
    ir = pv.compile(graph, SM_90A, given).ir
    by_threads = any(isinstance(op, GlobalLoad) for op in operations(ir.body))
    assert tiling.boxes_operands(needs, SM_90A) != by_threads


def test_among_the_candidates_are_rings_that_leave_room_for_a_matrix():
    needs = needs_of(plan(Graph.of(BIASES["as the result"])))
    given = {"block_tile": (128, 256, 64), "warp_tile": (64, 256, 64), "cluster": (1, 1), "split_k": 1, "swap": False}
    found = {(t.buffers, t.boxes_operands(needs, SM_90A)) for t in candidates(needs, SM_90A, given)}
    assert found == {(4, False), (3, True)}
    without = {t.buffers for t in candidates(needs_of(plan(Graph.of(A @ B))), SM_90A, given)}
    assert without == {4}


def test_registers_of_a_transposed_result_are_counted_as_it_lies():
    graph = Graph.of(BIASES["as the result"])
    needs = needs_of(plan(graph))
    assert needs.layout == "row" and needs.turned.layout == needs_of(plan(graph.turned())).layout == "col"
    given = pv.Options(block_tile=(256, 128, 64), warp_tile=(256, 64, 64), macro_mma="m64n256k16", buffers=4, swap=True)
    tiling = complete(given, needs, SM_90A).mapped
    assert shares(tiling, needs, SM_90A) == {}
    assert shares(tiling, needs.turned, SM_90A) == {"consumer": 240, "producer": 24}
    wide = {"block_tile": (128, 192, 64), "warp_tile": (128, 192, 64), "macro_mma": "m64n192k16"}
    in_turn = replace(tiling, **wide, persistent=True, pingpong=True)
    assert lacks(in_turn, needs, SM_90A) > 0 == lacks(in_turn, needs_of(plan(Graph.of(A @ B))), SM_90A)


def test_a_single_consumer_has_the_most_that_a_thread_can_have():
    """All registers of a block shared evenly are 255 for each thread: no more can be had from the producer."""
    name = "sm_90a/bfloat16/gated, prologues/col.col-row/m64n64k16/k1/128x64x128-128x64x128/b2/g1"
    (chosen,) = combinations.chosen(name)
    kernel = chosen.compile()
    assert "setmaxnreg" not in kernel.source
