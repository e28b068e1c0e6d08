"""Observers of kernels of clusters: silent where they are right; what they see is of blocks, tiles and own bytes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.kernel import Kernel
from polyvolta.cuda.ir.engines.unfolded import unfolded
from polyvolta.cuda.ir.kernel_ir import Barrier, BoxCopy, ExchangeLoad, When
from polyvolta.cuda.ir.walk import walk
from polyvolta.cuda.machine.errors import Deadlock
from polyvolta.cuda.machine.observe.watch import OBSERVERS
from polyvolta.cuda.mutants import broken
from polyvolta.cuda.mutants.model import edited, places
from polyvolta.cuda.target.hopper import SM_90A
from polyvolta.cuda.text.printer import print_cuda
from polyvolta.sets import var

M, N, K = pv.sizes("M N K")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
TILES = {"block_tile": (128, 64, 64), "warp_tile": (64, 64, 64), "macro_mma": "m64n64k16", "buffers": 3, "group": 1}
SIZES = (150, 72, 264)
PLACES = {(0, y, z) for y in (0, 1) for z in (0, 1)} | {(1, y, z) for y in (0, 1) for z in (0, 1)}


@cache
def kernel(cluster: tuple[int, int] = (1, 1), parts: int = 1) -> Kernel:
    return pv.compile(A @ B, target=SM_90A, options=pv.Options(**TILES, cluster=cluster, split_k=parts))


def arrays(m: int, n: int, k: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    a, b = ((rng.integers(-8, 9, shape) / 8).astype(np.float16) for shape in ((m, k), (k, n)))
    return [a, np.asfortranarray(b)]


def with_ir(kernel: Kernel, ir) -> Kernel:
    return replace(kernel, ir=ir, source=print_cuda(ir), _variants={}, _loaded={}, _configs={})


@pytest.mark.parametrize(("cluster", "parts", "copies"), [
    ((2, 1), 1, "lazy"), ((1, 2), 1, "eager"), ((1, 1), 2, 3),
])  # fmt: skip
def test_nothing_is_wrong_with_a_whole_kernel_and_costs_are_those_of_its_blocks(cluster, parts, copies):
    """Beside the same blocks alone: products, k tiles and stored bytes are the same; shared boxes are read once."""
    given = arrays(150, 72, 136)
    seen, alone = (k.interpret(*given, observe="all", copies=copies) for k in (kernel(cluster, parts), kernel()))
    assert seen.ok and set(OBSERVERS) == {name for name, s in seen._by_name.items() if s is not None}
    assert np.array_equal(seen.result, alone.result)
    (x, y, _), blocks = (kernel(cluster, parts).launch_config(M=150, N=72, K=136).grid), 4 * parts
    assert x * y == 4
    k_tiles = {1: 3, 2: 2}[parts]
    assert seen.counts.k_tiles == blocks * k_tiles and seen.counts.instructions["UTMALDG"] == 2 * blocks * k_tiles
    assert seen.counts.flops == alone.counts.flops * blocks * k_tiles // (4 * 3)
    assert seen.counts.global_memory.written == alone.counts.global_memory.written
    asked = {r.array: r.asked for r in seen.coalescing.rows}
    rows, cols = cluster
    own = {r.array: r.asked for r in alone.coalescing.rows}
    assert (asked["A"], asked["B"]) == (own["A"] // cols, own["B"] // rows)
    assert {r.place.statement for r in seen.bank_conflicts.rows} == (
        {"exchange_C", "gather_C"} if parts > 1 else {"put_C"})  # fmt: skip


def test_a_race_in_another_block_s_memory_names_both_blocks():
    k = broken(kernel((2, 1)), "released to itself")
    seen = k.interpret(*arrays(*SIZES), observe="races", copies="lazy")
    race = next(r for r in seen.races.rows if r.kind == "write after read" and r.array == "shared_B")
    assert race.place.statement == "box_B" and race.other.statement == "S"
    assert {race.block, race.other_block} <= PLACES and race.thread // 32 == 8 and race.other_thread // 128 in (0, 1)
    assert (race.role, race.other_role) in {("producer", "consumer 0"), ("producer", "consumer 1")}
    of_other = f" of block {race.other_block}"
    assert race.block != race.other_block and f"of shared_B{of_other}, and nothing says" in race.what
    assert race.other_role + of_other in race.what and race.byte < k.ir.shared_bytes
    assert {p.statement for p in race.between} >= {"box_B", "S"}
    drawn = seen.picture("races")
    assert f"block {race.block}" in drawn and f"block {race.other_block}" in drawn


def test_parts_of_other_blocks_are_read_in_their_memory():
    k = broken(kernel(parts=2), "parts of other blocks not waited for")
    seen = k.interpret(*arrays(150, 64, 136), observe=("races", "uninitialised", "values"), copies="lazy")
    reads = [r for r in seen.uninitialised.rows if r.array == "exchange"]
    assert reads and all(r.where.endswith(f" of block {(*r.block[:2], 1 - r.block[2])}") for r in reads)
    for race in seen.races.rows:
        assert race.array == "exchange" and race.byte < k.ir.shared_bytes
        assert race.block[:2] == race.other_block[:2] and max(race.thread, race.other_thread) < k.ir.threads
    assert {w.place.statement for w in seen.values.rows} == {"write_C"}
    assert all(w.block in PLACES and w.warp < 8 for w in seen.values.rows)


def test_who_leaves_a_tile_is_told_with_its_block_and_its_own_warp():
    def further(op):
        return (replace(op, place=(op.place[0] + 64 * (var("blockIdx.y") % 2), *op.place[1:])),)

    k = kernel((2, 1))
    ir = edited(k.ir, places(k.ir, BoxCopy, where=lambda op: not op.to), further)
    seen = with_ir(k, ir).interpret(*arrays(150, 72, 64), observe=("bounds", "phases"))
    (fault,) = seen.bounds.rows
    assert fault.place.statement == "box_A" and (fault.block, fault.warp, fault.lanes) == ((0, 1, 0), 8, (0,))
    assert "box of 128 x 64 leaves shared_A" in fault.what


def test_a_barrier_of_a_block_that_a_warp_of_it_misses_is_refused():
    k = kernel(parts=2)
    at = [path for path, s in walk(k.ir.body) if isinstance(s, Barrier) and len(path) == 1][-1:]
    ir = edited(k.ir, at, lambda s: (When((7 - var("warp"),), (replace(s, scope="block"),), uniform=False), s))
    with pytest.raises(Deadlock, match="consumer 0 of block 0 .* a barrier of the block, to which producer of block 0"):
        with_ir(k, ir).interpret(*arrays(150, 72, 64))


def test_unfolded_names_and_bytes_are_told_by_rank():
    whole, alone = unfolded(kernel((2, 1)).ir), unfolded(kernel().ir)
    per = 16 * whole.memory
    assert whole.array("shared_A.1") == ("shared_A", 1) and alone.array("shared_A") == ("shared_A", 0)
    assert whole.byte(per + 5) == (1, 5) and whole.byte(per - 1) == (0, per - 1) and alone.byte(per + 5) == (0, per + 5)
    assert [whole.place((3, 1, 0), r) for r in (0, 1)] == [(3, 2, 0), (3, 3, 0)]
    assert alone.place((3, 1, 0), 0) == (3, 1, 0)
    boxes = [(path, s) for path, s in walk(whole.ir.body) if isinstance(s, BoxCopy)]
    assert [whole.again(path) for path, s in boxes if s.map == "map_B"] == [False, True] * 2
    assert not any(whole.again(path) for path, s in boxes if s.map == "map_A")
    assert not any(isinstance(s, ExchangeLoad) for _, s in walk(whole.ir.body))
