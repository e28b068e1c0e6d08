"""A split K whose parts are blocks of a cluster: who sums what, what runs, what is proved and refuted."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.rule.values import BadOption
from polyvolta.cuda.ir.engines.unfolded import unfolded
from polyvolta.cuda.ir.kernel_ir import Barrier, BoxCopy, ExchangeLoad, ExchangeStore
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.ir.well_formed import IllFormed, check
from polyvolta.cuda.machine.interpreter import interpret
from polyvolta.cuda.mutants import MUTANTS, broken
from polyvolta.cuda.mutants.model import edited, places, without
from polyvolta.cuda.run.nvrtc import compile_cubin
from polyvolta.cuda.target.hopper import SM_90A
from polyvolta.graph.dag import Graph
from tests.compiler.test_clusters import LAYOUTS, RUNS, arrays, drawn, operands

M, N, K, L = pv.sizes("M N K L")
TILES = {"block_tile": (128, 64, 64), "warp_tile": (64, 64, 64), "macro_mma": "m64n64k16", "buffers": 3, "group": 4}


@cache
def kernel(parts, cluster=(1, 1), layouts=("row", "col"), **given):
    a, b = operands(layouts)
    options = pv.Options(**{**TILES, **given}, split_k=parts, cluster=cluster)
    return pv.compile(a @ b, target=SM_90A, options=options)


def test_each_k_tile_is_one_block_s():
    """By brute force: of a cluster's blocks each has its own k tiles copied, all of them together."""
    ir = kernel(4).ir
    assert ir.cluster == (1, 1, 4)
    for op in (op for op in operations(ir.body) if isinstance(op, BoxCopy)):
        k = {"map_A": 1, "map_B": 0}[op.map]
        starts = [op.index[k].evaluate({"blockIdx.z": z, "c2": t, "blockIdx.x": 0, "blockIdx.y": 0})
                  for t in range(5) for z in range(4)]  # fmt: skip
        assert starts == list(range(0, 64 * 20, 64))


@pytest.mark.parametrize("swap", [False, True])
def test_a_result_that_one_block_is_wide(swap):
    """Two warpgroups side by side, and no more: sizes that are known, so that there is one column of blocks."""
    wide, (a, b) = ((100, 1) if swap else (1, 100)), arrays(100, 1, 96)
    tiles = {"block_tile": (64, 256, 64), "warp_tile": (64, 128, 64), "buffers": 2}
    if swap:
        tiles |= {"block_tile": (256, 64, 64), "warp_tile": (128, 64, 64)}
    a, b = (a, b) if swap else (np.ascontiguousarray(b.T), np.asfortranarray(a.T))
    product = pv.tensor("A", (wide[0], K)) @ pv.tensor("B", (K, wide[1]), layout="col")
    made = pv.compile(product, target=SM_90A, options=pv.Options(**tiles, split_k=2, swap=swap))
    assert np.array_equal(made.interpret(a, b), pv.reference(product, a, b))


def test_the_tree_says_which_block_sums_and_which_columns_it_adds_up():
    tree = str(kernel(2).schedule)
    assert "FILTER: exchange_C[i, j]" in tree and "FILTER: sync_parts[by, bx]" in tree
    assert "gather_C[i, j] → [blockIdx.z]" in tree and "MARK: clusters of 1 x 1 blocks for each of 2 parts of K" in tree


@pytest.mark.parametrize("parts,cluster,sizes", [
    (2, (1, 1), (100, 72, 456)), (4, (1, 1), (100, 64, 600)), (8, (1, 1), (64, 64, 65)), (2, (2, 1), (200, 72, 200)),
    (4, (1, 2), (100, 136, 72)),
])  # fmt: skip
@pytest.mark.parametrize("copies", RUNS)
def test_runs_are_right_however_quick_boxes_and_roles_are(parts, cluster, sizes, copies):
    wide = {"block_tile": (64, 128, 64), "warp_tile": (64, 128, 64), "macro_mma": "m64n128k16"} if parts == 8 else {}
    k, (a, b) = kernel(parts, cluster, **wide), arrays(*sizes)
    assert np.array_equal(k.interpret(a, b, copies=copies), pv.reference(k.graph.roots[0], a, b))


@pytest.mark.parametrize("parts,sizes,swap", [
    (4, (64, 64, 128), False), (8, (100, 100, 70), False), (2, (100, 300, 77), True), (4, (64, 128, 64), False),
])  # fmt: skip
def test_of_sizes_that_one_tile_covers_the_shares_are_the_same(parts, sizes, swap):
    """Numbers, of which one block's columns are all: each of the cluster loops over its own of them, without a test."""
    m, n, k = sizes
    product = pv.tensor("A", (m, k)) @ pv.tensor("B", (k, n), layout="col")
    made = pv.compile(product, target=SM_90A, options=pv.Options(split_k=parts, swap=swap))
    a, b = arrays(*sizes)
    assert np.array_equal(made.interpret(a, b), pv.reference(product, a, b))
    behind = made.source[made.source.rindex("// consumer") :]
    assert "gather_parts" in behind and not re.search(r"if \(.*c\d", behind)


@pytest.mark.parametrize("layouts", LAYOUTS)
def test_layouts_and_views(layouts):
    k, (a, b) = kernel(2, (1, 1), layouts), arrays(130, 67, 136, layouts)
    out = np.full((140, 80), -7, np.float16)
    k.interpret(a, b, out=out[:130, :67])
    assert np.array_equal(out[:130, :67], pv.reference(k.graph.roots[0], a, b))
    assert (out[130:] == -7).all() and (out[:, 67:] == -7).all()


@pytest.mark.parametrize("what", ["sum", "matrix", "two results"])
def test_sums_and_epilogues(what):
    a, b = operands()
    p, q = operands(k=L, names="PQ")
    r, v = pv.tensor("R", (M, N)), pv.tensor("v", (N,))
    total = a @ b
    outputs = {"sum": a @ b + p @ q, "matrix": pv.relu(total + r), "two results": (total, pv.relu(total + v))}[what]
    k = pv.compile(outputs, target=SM_90A, options=pv.Options(**TILES, split_k=2))
    rng = np.random.default_rng(3)
    sizes = {"M": 200, "N": 72, "K": 136, "L": 40}
    given = {t.name: drawn(t, sizes, rng) for t in k.graph.inputs}
    found, wanted = k.interpret(**given, copies=1), pv.reference(outputs, **given)
    assert isinstance(found, tuple) == isinstance(outputs, tuple)
    pairs = zip(found, wanted) if isinstance(found, tuple) else [(found, wanted)]
    assert all(np.array_equal(x, y) for x, y in pairs)


def test_empty_sums():
    empty = {"A": np.zeros((150, 0), np.float16), "B": np.zeros((0, 72), np.float16, order="F"),
             "C": np.full((150, 72), np.nan, np.float16)}  # fmt: skip
    interpret(kernel(2).ir, empty, {"M": 150, "N": 72, "K": 0})
    assert (empty["C"] == 0).all()


def test_what_is_refused():
    a, b = operands()
    with pytest.raises(BadOption, match="at most 8 blocks, not 2 x 2 for each of 4 parts of K"):
        pv.compile(a @ b, target=SM_90A, options=pv.Options(**TILES, split_k=4, cluster=(2, 2)))
    with pytest.raises(BadOption, match="each of the 8 blocks that split K adds up a part of a warpgroup's columns"):
        pv.compile(a @ b, target=SM_90A, options=pv.Options(**TILES, split_k=8))
    ir = kernel(2).ir
    last = [at for at in places(ir, Barrier) if at == (len(ir.body) - 1,)]
    with pytest.raises(IllFormed, match="none waits for the others at the end"):
        check(edited(ir, last, without))
    gathers = places(ir, ExchangeLoad)
    with pytest.raises(IllFormed, match="a cluster of 2 blocks has no ranks"):
        check(edited(ir, gathers, lambda op: (replace(op, parts=3),)))


def test_unfolded_exchanges_are_those_of_all_blocks():
    whole = unfolded(kernel(2).ir)
    (tile,) = (t for t in whole.ir.tiles if t.name == "exchange")
    stores = [op for op in operations(whole.ir.body) if isinstance(op, ExchangeStore)]
    (step,) = {op.stride for op in operations(whole.ir.body) if isinstance(op, ExchangeLoad)}
    assert {op.slot.const for op in stores} == {0, step}
    assert step * stores[0].exchange.chunks * 16 >= kernel(2).ir.shared_bytes
    assert tile.chunks > step * stores[0].exchange.chunks


def test_everything_is_proved():
    report = kernel(2).verify()
    assert report.ok, [p for p in report.proofs if not p.proved]


OWN = ("parts of other blocks not waited for", "a part of K left out", "the first part of K again and again",
       "columns of the first block for all")  # fmt: skip


@pytest.mark.parametrize("layout", ["row", "col"])
@pytest.mark.parametrize("parts", [2, 4])
def test_swapped_ones_run_right_with_an_epilogue(parts, layout):
    a, b = operands()
    outputs = pv.output(pv.relu(a @ b + pv.tensor("R", (M, N))) * pv.tensor("v", (N,)), "D", layout=layout)
    tiles = {"block_tile": (64, 128, 64), "warp_tile": (64, 64, 64), "split_k": parts, "swap": True}
    k = pv.compile(outputs, target=SM_90A, options=pv.Options(**{**TILES, **tiles}))
    rng = np.random.default_rng(parts)
    inputs = {t.name: t for t in Graph.of(outputs).inputs}
    given = {n: drawn(t, {"M": 70, "N": 136, "K": 304}, rng) for n, t in inputs.items()}
    assert np.array_equal(k.interpret(**given, copies=1), pv.reference(outputs, **given))


def test_everything_is_proved_of_a_swapped_one():
    report = kernel(2, block_tile=(64, 128, 64), swap=True).verify()
    assert report.ok, [p for p in report.proofs if not p.proved]


@pytest.mark.parametrize("name", OWN)
def test_mutants_are_refuted(name):
    report = broken(kernel(2), name).verify(MUTANTS[name].proofs)
    assert all(report[proof].counter_example is not None for proof in MUTANTS[name].proofs)


@pytest.mark.parametrize("parts", [2, 4])
def test_cubins_have_no_spills(parts):
    wide = {"block_tile": (128, 128, 64), "warp_tile": (64, 128, 64), "macro_mma": "m64n128k16", "buffers": 6}
    k = kernel(parts, **wide)
    cubin = compile_cubin(k.source, "sm_90a", name=k.name)
    assert cubin.resources(k.name).spill_stores == 0 and "serialized" not in cubin.log
