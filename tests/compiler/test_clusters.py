"""Kernels whose blocks form clusters: who shares boxes, what runs, what is proved, what ptxas makes of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import prod

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.compiled import NotAMultiple
from polyvolta.compiler.rule.values import BadOption
from polyvolta.cuda.build.promotion.boxes.sharing import ranks
from polyvolta.cuda.ir.engines.clusters import members, own, placed, ranked
from polyvolta.cuda.ir.engines.unfolded import unfolded
from polyvolta.cuda.ir.kernel_ir import Arrive, Barrier, BoxCopy, KernelIR, Op
from polyvolta.cuda.ir.walk import operations, walk
from polyvolta.cuda.ir.well_formed import IllFormed, check
from polyvolta.cuda.machine.errors import Deadlock, EarlyAccess
from polyvolta.cuda.machine.interpreter import interpret
from polyvolta.cuda.mutants import broken
from polyvolta.cuda.mutants.engines import clusters
from polyvolta.cuda.mutants.model import edited, places
from polyvolta.cuda.run.nvrtc import compile_cubin
from polyvolta.cuda.target.hopper import SM_90A
from polyvolta.sets import var

M, N, K, L = pv.sizes("M N K L")
TILES = {"block_tile": (128, 64, 64), "warp_tile": (64, 64, 64), "macro_mma": "m64n64k16", "buffers": 3, "group": 4}
LAYOUTS = [("row", "col"), ("row", "row"), ("col", "col"), ("col", "row")]
RUNS = ("eager", "lazy", 1)
MUTANTS = {m.name: m for m in clusters.MUTANTS if "K" not in m.about.split() and "columns" not in m.name}


def operands(layouts=("row", "col"), m=M, n=N, k=K, names="AB"):
    (left, right), (a, b) = layouts, names
    return pv.tensor(a, (m, k), layout=left), pv.tensor(b, (k, n), layout=right)


@cache
def kernel(cluster, layouts=("row", "col"), **given):
    a, b = operands(layouts)
    return pv.compile(a @ b, target=SM_90A, options=pv.Options(**{**TILES, **given}, cluster=cluster))


def arrays(m, n, k, layouts=("row", "col"), seed=0):
    rng = np.random.default_rng(seed)
    drawn = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((m, k), (k, n)))
    return [np.asfortranarray(x) if layout == "col" else x for x, layout in zip(drawn, layouts)]


def drawn(t, sizes, rng):
    """An array for a tensor, in its layout."""
    x = rng.integers(-3, 4, [sizes[str(d)] for d in t.dims]).astype(np.float16)
    return np.asfortranarray(x) if t.layout == "col" else x


# ---- ranks, and who shares


@pytest.mark.parametrize("cluster", [(2, 1, 1), (2, 4, 1), (2, 2, 2)])
def test_ranks_are_places_counted_x_first(cluster):
    e = ranked(own(cluster), cluster)
    for rank, (x, y, z) in enumerate(members(cluster)):
        for number in range(3):
            at = {f"blockIdx.{a}": n * c + p for a, n, c, p in zip("xyz", (number,) * 3, cluster, (x, y, z))}
            assert e.evaluate(at) == rank
            of_cluster = {f"blockIdx.{a}": number for a in "xyz"}
            found = {name: f.evaluate(of_cluster) for name, f in placed((x, y, z), cluster).items()}
            assert found.items() <= at.items()


def test_ranks_of_moves_are_the_places_so_much_further():
    y, x = var("y") % 2, var("x") % 4
    every = {(n, m) for n in (0, 1) for m in range(4)}
    for moves in [{(0, 0)}, {(0, n) for n in range(4)}, {(0, 0), (1, 0), (0, 3)}, every]:
        found = ranks((2, 4), (y, x), frozenset(moves))
        for at in [{"y": r, "x": c} for r in range(2) for c in range(4)]:
            wanted = {4 * ((at["y"] + b) % 2) + (at["x"] + a) % 4 for b, a in moves}
            assert {e.evaluate(at) for e in found} == wanted and len(found) == len(moves)


@pytest.mark.parametrize("cluster", [(2, 1), (1, 2), (2, 2), (4, 2)])
def test_boxes_go_to_the_blocks_that_read_them_and_slots_are_released_to_those_that_send(cluster):
    """By brute force: which blocks of a cluster touch elements of the boxes that each has copied."""
    ir, (rows, cols) = kernel(cluster).ir, cluster
    assert ir.cluster == (cols, rows, 1)
    places_ = [dict(zip(("blockIdx.y", "blockIdx.x"), (y, x))) for y in range(rows) for x in range(cols)]
    copies = [op for op in operations(ir.body) if isinstance(op, BoxCopy)]
    sent: dict[int, set[int]] = {}
    for rank, at in enumerate(places_):
        for op in copies:
            side = {"map_A": ("blockIdx.y",), "map_B": ("blockIdx.x",)}[op.map]
            wanted = {r for r, p in enumerate(places_) if all(p[n] == at[n] for n in side)}
            assert {e.evaluate(at) for e in op.to or (ranked(own(ir.cluster), ir.cluster),)} == wanted
            sent.setdefault(rank, set()).update(wanted)
    for rank, at in enumerate(places_):
        for op in (op for op in operations(ir.body) if isinstance(op, Arrive) and op.to is not None):
            assert rank in sent[op.to.evaluate(at)]
        told = {op.to.evaluate(at) for op in operations(ir.body) if isinstance(op, Arrive) and op.to is not None}
        assert told == {r for r in sent if rank in sent[r]}
    empty = ir.phases("empty")
    assert all(empty.arrivals == 2 * len(s) for s in sent.values())


@pytest.mark.parametrize("layouts", LAYOUTS)
def test_every_chunk_of_a_tile_is_brought_once(layouts):
    ir = kernel((2, 2), layouts).ir
    for rank, at in enumerate({"blockIdx.y": y, "blockIdx.x": x} for y in (0, 1) for x in (0, 1)):
        for tile, extents in (("shared_A", (128, 64)), ("shared_B", (64, 64))):
            got = np.zeros(extents, int)
            for other in ({"blockIdx.y": y, "blockIdx.x": x} for y in (0, 1) for x in (0, 1)):
                for op in (op for op in operations(ir.body) if isinstance(op, BoxCopy) and op.tile == tile):
                    if rank in {e.evaluate(other) for e in op.to}:
                        i, j = (e.evaluate(other) for e in op.place)
                        m, tensor = ir.box_map(op.map), ir.tensor(ir.box_map(op.map).tensor)
                        sides = dict(zip(tensor.order, (m.box.lines, m.box.run)))
                        got[i : i + sides[0], j : j + sides[1]] += 1
            assert (got == 1).all(), (tile, at)


def test_each_block_brings_as_many_boxes_of_tiles_that_are_higher_than_one():
    """Three panels of two boxes, for four blocks: cut further, so that each has three."""
    made = kernel((1, 4), block_tile=(384, 16, 96), warp_tile=(128, 16, 96), macro_mma="m64n16k16", buffers=2)
    box = made.ir.box_map("map_A").box
    assert 4 * 3 * box.lines * box.run == 384 * 96
    a, b = arrays(390, 16, 100)
    a, b = (np.pad(a, ((0, 0), (0, 4))), np.asfortranarray(np.pad(b, ((0, 4), (0, 0)))))
    assert np.array_equal(made.interpret(a, b), pv.reference(made.graph, a, b)[0])


# ---- options


def test_clusters_are_two_numbers_of_blocks():
    for wrong in (2, (3, 1), (2,), (2, 2, 2), (0, 1), (True, 1)):
        with pytest.raises(BadOption, match=r"cluster is two of 1, 2, 4, 8 \(rows, columns\)"):
            pv.Options(cluster=wrong)
    a, b = operands()
    with pytest.raises(BadOption, match="a cluster of sm_90a has at most 8 blocks, not 4 x 4"):
        pv.compile(a @ b, target=SM_90A, options=pv.Options(cluster=(4, 4), macro_mma="m64n128k16"))
    for target in ("sm_70", "sm_80"):
        with pytest.raises(BadOption, match="cluster=") as wrong:
            pv.compile(a @ b, target=target, options=pv.Options(cluster=(2, 1)))
        assert "cluster=(1, 1)" in str(wrong.value)
    assert pv.compile(a @ b, target=SM_90A).options.cluster == (1, 1)
    for given in ({"cluster": (2, 1), "split_k": 2}, {"split_k": 2}):
        with pytest.raises(BadOption, match="compute one tile each: .*, and persistent=True"):
            pv.compile(a @ b, target=SM_90A, options=pv.Options(**given, persistent=True))


def test_the_grid_is_whole_clusters_and_the_tree_says_which():
    k = kernel((2, 2))
    assert k.launch_config(M=129, N=65, K=8).grid == (2, 2, 1)
    assert k.launch_config(M=257, N=129, K=8).grid == (4, 4, 1)
    text = str(k.schedule)
    assert "MARK: clusters of 2 x 2 blocks" in text and "MARK: clusters in groups of 2 rows" in text
    assert "__cluster_dims__(2, 2, 1)" in k.source and "clusters of (2, 2, 1)" in k.source


def test_without_clusters_nothing_of_them_is_there():
    k = kernel((1, 1))
    assert unfolded(k.ir).ir is k.ir
    assert not [s for _, s in walk(k.ir.body) if isinstance(s, Barrier) and s.scope == "cluster"]
    assert "cluster_dims" not in k.source and "multicast" not in k.source and "mapa" not in k.source


# ---- runs


@pytest.mark.parametrize("cluster,sizes", [
    ((2, 1), (150, 40, 304)), ((1, 2), (100, 136, 64)), ((2, 2), (136, 136, 200)),
])  # fmt: skip
@pytest.mark.parametrize("layouts", LAYOUTS)
@pytest.mark.parametrize("copies", RUNS)
def test_runs_are_right_however_quick_boxes_and_roles_are(cluster, layouts, sizes, copies):
    k, (a, b) = kernel(cluster, layouts), arrays(*sizes, layouts)
    assert np.array_equal(k.interpret(a, b, copies=copies), pv.reference(k.graph.roots[0], a, b))


@pytest.mark.parametrize("what", ["sum", "matrix", "vector"])
def test_sums_and_epilogues(what):
    a, b = operands()
    p, q = operands(k=L, names="PQ")
    r, v = pv.tensor("R", (M, N)), pv.tensor("v", (N,))
    outputs = {"sum": a @ b + p @ q, "matrix": pv.relu(a @ b + r), "vector": pv.relu(a @ b + v)}[what]
    k = pv.compile(outputs, target=SM_90A, options=pv.Options(**TILES, cluster=(2, 1)))
    rng = np.random.default_rng(3)
    sizes = {"M": 200, "N": 72, "K": 136, "L": 40}
    given = {t.name: drawn(t, sizes, rng) for t in k.graph.inputs}
    assert np.array_equal(k.interpret(**given, copies=1), pv.reference(outputs, **given))


def test_empty_sums():
    k = kernel((2, 2))
    a, b = np.zeros((150, 8), np.float16)[:, :0], np.zeros((8, 72), np.float16)[:0]
    empty = {"A": a, "B": np.asfortranarray(b), "C": np.full((150, 72), np.nan, np.float16)}
    interpret(k.ir, empty, {"M": 150, "N": 72, "K": 0})
    assert (empty["C"] == 0).all()


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("cluster", [(2, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize("copies", RUNS)
def test_swapped_and_early_launches_run_right(cluster, early, copies):
    """The tree's rows are the result's columns, and so are the cluster's; the grids before are waited for behind the
    barrier of the cluster."""
    (rows, cols), tiles = cluster, {"block_tile": (64, 128, 64), "dependent_launch": early}
    k, (a, b) = kernel(cluster, swap=True, **tiles), arrays(66, 136, 136)
    assert k.options.cluster == cluster and k.ir.cluster == (rows, cols, 1)
    exact = (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16)
    assert np.array_equal(k.interpret(a, b, copies=copies), exact)
    top = [s.statement for s in k.ir.body if isinstance(s, Op)]
    assert top == ["sync_init", *(["await_grids", "release_grids"] if early else []), "sync_end"]


@pytest.mark.parametrize("swap", [False, True])
def test_padded_arrays_are_whole_clusters(swap):
    tiles = {"block_tile": (64, 128, 64)} if swap else {}
    made = kernel((2, 1), partial="pad", swap=swap, **tiles)
    assert dict(made.ir.context) == ({"M": 128, "N": 128, "K": 64} if swap else {"M": 256, "N": 64, "K": 64})
    a, b = arrays(130, 70, 100)
    assert np.array_equal(made.interpret(a, b), pv.reference(made.graph, a, b)[0])
    with pytest.raises(NotAMultiple, match="the size 128 is no multiple of the cluster's 256"):
        a, b = operands(m=128)
        pv.compile(a @ b, target=SM_90A, options=pv.Options(**TILES, cluster=(2, 1), partial="pad"))


def test_results_that_threads_store_keep_within_the_tensor():
    """An odd number of columns: the last cluster's further blocks store nothing."""
    k, (a, b) = kernel((2, 2)), arrays(130, 67, 72)
    out = np.full((140, 80), -7, np.float16)
    k.interpret(a, b, out=out[:130, :67])
    assert np.array_equal(out[:130, :67], pv.reference(k.graph.roots[0], a, b))
    assert (out[130:] == -7).all() and (out[:, 67:] == -7).all()


def test_who_waits_for_another_block_is_told_with_its_block():
    with pytest.raises(Deadlock, match=r"(consumer \d|producer) of block 1 at Await"):
        broken(kernel((2, 1)), "released to itself alone").interpret(*arrays(150, 72, 304))


def test_traces_step_through_all_blocks_of_a_cluster():
    steps = list(kernel((2, 1)).trace(*arrays(150, 72, 72), block=(0, 1)))
    assert {s.role.split()[-1] for s in steps if s.role} >= {"0", "1"}
    assert {s.block for s in steps if s.role} == {(0, 0, 0), (0, 1, 0)}
    assert all(s.active.shape == (9, 32) and s.active.any() for s in steps if s.role)
    assert all(max(max(warps) for warps, _ in s.does) < 9 for s in steps if s.role)
    ends = [s for s in steps if s.statement == "sync_end"]
    assert all("all warps of the cluster" in str(s) for s in ends) and len(ends) == 6  # each comes there by itself
    text = next(str(s) for s in steps if s.statement == "box_B" and s.role == "producer of block 0")
    assert "copy_box_to(3, shared_B" in text and "shared_B.0[0:64, 0:32]" in text


# ---- proofs


@pytest.mark.parametrize("cluster", [(2, 1), (1, 2)])
def test_everything_is_proved(cluster):
    report = kernel(cluster).verify()
    assert report.ok, [p for p in report.proofs if not p.proved]


def test_a_cluster_of_two_by_two_keeps_its_order():
    assert kernel((2, 2), buffers=2).verify(("phases", "deadlock")).ok


def test_everything_is_proved_of_a_swapped_one():
    report = kernel((2, 1), block_tile=(64, 128, 64), swap=True).verify()
    assert report.ok and report["grids"].proved, [p for p in report.proofs if not p.proved]


@pytest.mark.parametrize("name", ["other grids are not waited for", "other grids are waited for late"])
def test_early_reads_are_refuted_and_refused(name):
    late = broken(kernel((2, 1)), name)
    assert late.verify("grids")["grids"].counter_example is not None
    with pytest.raises(EarlyAccess):
        late.interpret(*arrays(150, 72, 72))


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_refuted(name):
    report = broken(kernel((2, 1)), name).verify(MUTANTS[name].proofs)
    for proof in MUTANTS[name].proofs:
        assert report[proof].counter_example is not None, report[proof]


def test_cases_name_the_block_and_its_own_warp():
    case = broken(kernel((2, 1)), "a box for a block less").verify("phases")["phases"].counter_example
    assert case.block == (0, 1, 0) and case.warp == 8
    assert case.place.text.startswith("arrive_expecting(full")


# ---- what means nothing


def wrong(change) -> str:
    with pytest.raises(IllFormed) as found:
        check(change(kernel((2, 1)).ir))
    return str(found.value)


def without_cluster(ir: KernelIR) -> KernelIR:
    return replace(ir, cluster=(1, 1, 1))


def test_ill_formed_clusters():
    assert "there is none" in wrong(without_cluster)
    assert "no multiple of the cluster's 2" in wrong(lambda ir: replace(ir, cluster=(2, 2, 1)))
    assert "no whole number of clusters of 2" in wrong(lambda ir: replace(ir, resident=5))
    assert "blocks go from tile to tile 0 times" in wrong(lambda ir: replace(ir, resident=4))
    assert "a cluster has 1 to 16 blocks" in wrong(lambda ir: replace(ir, cluster=(1, 32, 1)))
    at = lambda ir: places(ir, BoxCopy, where=lambda op: op.to)  # noqa: E731
    assert "has no rank 2" in wrong(lambda ir: edited(ir, at(ir), lambda op: (replace(op, to=(op.to[0] + 2,)),)))
    assert "twice" in wrong(lambda ir: edited(ir, at(ir), lambda op: (replace(op, to=(op.to[0],) * 2),)))
    inside = lambda ir: [x for x in places(ir, Barrier) if len(x) > 1][:1]  # noqa: E731
    assert "outside of roles" in wrong(
        lambda ir: edited(ir, inside(ir), lambda op: (replace(op, scope="cluster"),))
    )


# ---- what ptxas makes of it


@pytest.mark.parametrize("cluster", [(2, 1), (2, 2)])
def test_cubins_have_no_spills(cluster):
    wide = {"block_tile": (128, 256, 64), "warp_tile": (64, 256, 64), "macro_mma": "m64n256k16", "buffers": 4}
    k = kernel(cluster, **wide)
    cubin = compile_cubin(k.source, "sm_90a", name=k.name)
    assert cubin.resources(k.name).spill_stores == 0
    assert "serialized" not in cubin.log
    assert prod(k.ir.cluster) > 1
