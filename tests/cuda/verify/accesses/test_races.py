"""Proofs of no race, against every pair of accesses of a concrete run, with each barrier taken away."""

from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import (
    Barrier,
    Element,
    ExchangeLoad,
    ExchangeStore,
    FragmentLoad,
    KernelIR,
    Loop,
    RegisterArray,
    SharedStore,
    SharedTile,
)
from polyvolta.cuda.machine.access import instructions
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.verify.accesses.races import BETWEEN, OVERWRITTEN, RaceWatch
from polyvolta.cuda.verify.engine.machine import run
from polyvolta.sets import aff, var
from tests.cuda.build.promotion.kernels import build
from tests.cuda.verify.edited import KERNELS, changed, concrete, found, kernel, paths, without

M, N, K = pv.sizes("M N K")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
SIZES = {"M": 32, "N": 32, "K": 128, "L": 48}


def racing(ir, sizes):
    """Every pair of places with accesses that nothing orders, by kind: all pairs of a concrete block's accesses.

    An access is known by how many block barriers, and barriers of its warp, came before it: two are ordered where one
    of these differs that both wait at.
    """
    at = defaultdict(set)  # 4 bytes of memory -> (order, block barriers, warp barriers, thread, writes, path)
    block, warps = 0, np.zeros(ir.warps, int)
    machine = concrete(ir, sizes)
    for order, step in enumerate(machine.steps()):
        if isinstance(step.op, Barrier):
            if step.op.scope == "block":
                block += 1
            else:
                warps += 1 if step.mask is None else step.mask[0].all(1)
            continue
        for access in instructions(machine, step.reach):
            if access.space != "shared":
                continue
            active = np.ones((ir.warps, 32), bool) if access.active is None else access.active[0]
            for w, lane in np.argwhere(active):
                first = int(access.address[0, w, lane])
                for word in range(first // 4, (first + access.width) // 4):
                    event = order, block, int(warps[w]), int(32 * w + lane), access.kind == "write", step.path
                    at[word].add(event)
    out = {BETWEEN: set(), OVERWRITTEN: set()}
    for events in at.values():
        by_block = defaultdict(list)
        for e in events:
            by_block[e[1]].append(e)
        for together in by_block.values():
            if not any(e[4] for e in together):
                continue
            for one, other in combinations(sorted(together), 2):
                apart = one[3] != other[3] and (one[3] // 32 != other[3] // 32 or one[2] == other[2])
                if apart and (one[4] or other[4]):
                    out[OVERWRITTEN if other[4] else BETWEEN].add((other[5], one[5]))
    return out


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_is_free_of_races(name):
    ir = kernel(name).ir
    assert found(RaceWatch, ir) == {}


def barriers():
    for name in ("plain", "two buffers", "split K, two buffers", "sum"):
        for n, path in enumerate(paths(kernel(name).ir, Barrier)):
            yield pytest.param(name, path, id=f"{name}-{n}")


@pytest.mark.parametrize(("name", "path"), list(barriers()))
def test_without_a_barrier(name, path):
    """Refuted exactly where a concrete run has a pair that nothing orders; and the two places are such a pair's."""
    ir = without(kernel(name).ir, path)
    findings = found(RaceWatch, ir)
    inside = racing(ir, {n: SIZES[n] for n in ir.sizes})
    outside = racing(ir, {n: SIZES[n] - 1 for n in ir.sizes})
    for proof in (BETWEEN, OVERWRITTEN):
        pairs = inside[proof] | outside[proof]
        assert (proof in findings) == bool(pairs)
        if proof in findings:
            assert (findings[proof].path, findings[proof].other) in pairs
            assert findings[proof].lane is not None and "chunk" in findings[proof].address


def test_an_exchange_in_another_warps_slot():
    """Warps that share a slot race, whatever their own barriers do."""
    ir = kernel("plain").ir
    for kind, proof in ((ExchangeStore, OVERWRITTEN), (ExchangeLoad, BETWEEN)):
        path = paths(ir, kind)[0]
        finding = found(RaceWatch, changed(ir, path, slot=var("warp") // 2))[proof]
        assert path in (finding.path, finding.other)
        assert finding.warp in (0, 1, 2, 3) and "exchange" in finding.address


def test_a_load_from_the_buffer_that_is_stored():
    """Prefetching with two buffers is a race where the loads take the one that is written in the same trip."""
    ir = kernel("two buffers").ir
    path = paths(ir, FragmentLoad, operand="a")[0]
    buffer = (var("c2") + 1) % 2
    finding = found(RaceWatch, changed(ir, path, buffer=buffer))[OVERWRITTEN]
    assert finding.other == path
    assert finding.point["K"] > 16  # a second tile, for which there is a store while the first is worked on


def test_an_exchange_where_the_tiles_lie_races_with_the_last_loads_but_for_the_barrier():
    """What the k loop has left is known behind it wherever something touches the same places."""
    built = build(A @ B, limit=8 * 1024, block_tile=(32, 32, 16), warp_tile=(16, 16, 16), buffers=4)
    assert built.ir.tile("exchange").start == built.ir.tile("shared_A").start
    (path,) = paths(built.ir, Barrier, statement="sync_tiles")
    assert found(RaceWatch, built.ir) == {}
    finding = found(RaceWatch, without(built.ir, path))[OVERWRITTEN]
    assert "exchange chunk" in finding.address and finding.point["K"] >= 1


def in_two_loops(*, between=True, behind=True) -> KernelIR:
    """Trips of an outer loop: read the rows of the other warp, wait, store in a loop over k, wait."""
    thread, zero = var("linearId"), aff(0)
    layout = IndexMap((("row", 64), ("k", 8)), (("chunk", var("row")),))
    own = IndexMap((("lane", 32), ("i", 8)), (("row", var("lane")), ("k", var("i"))))
    other = FragmentLoad(Element("c", (zero,)), "there", (32 - 32 * var("warp"), zero), "a", own, statement="fetch")
    store = SharedStore(Element("a", (zero,)), "there", (thread, zero))
    stores = Loop("c1", (zero,), (var("K") - 1,), 1, False, (store,))
    body = (other, *[Barrier()] * between, stores, *[Barrier()] * behind)
    return KernelIR(
        "loops", ("K", "N"), (), (SharedTile("there", 0, 64, layout, (0, 1)),),
        (RegisterArray("a", "half", (1,)), RegisterArray("c", "half", (1,))), 64,
        (("lane", thread % 32), ("warp", thread // 32)), {"linearId": (0, 63), "K": (0, None), "N": (0, None)},
        (aff(1),) * 3, body=(Loop("c0", (zero,), (var("N") - 1,), 1, False, body),),
    )  # fmt: skip


def test_what_a_k_loop_did_is_known_in_the_next_trip_of_the_loop_around_it():
    """Nothing behind the k loop touches the tile but the next trip's read, which stands before it."""
    assert found(RaceWatch, in_two_loops()) == {}
    (finding,) = (findings := found(RaceWatch, in_two_loops(behind=False))).values()
    assert list(findings) == [BETWEEN] and (finding.path, finding.other) == ((0, 0), (0, 2, 0))
    assert finding.point["c0"] >= 1 and finding.point["K"] >= 1
    (finding,) = (findings := found(RaceWatch, in_two_loops(between=False))).values()
    assert list(findings) == [OVERWRITTEN] and (finding.path, finding.other) == ((0, 1, 0), (0, 0))


def test_what_is_told():
    """The numbers of the relation: 2 loads of 128 threads for each operand and trip, of tiles of 1 KiB."""
    ir = kernel("plain").ir
    client = RaceWatch(ir)
    run(ir, [client])
    assert "shared_A: 2 x 128 threads to 1024 bytes" in client.shown(BETWEEN).relation
    assert "shared_A: 1 x 64 threads to 1024 bytes" in client.shown(OVERWRITTEN).relation


def test_tiles_that_overlap_are_the_same_places():
    """Two products' tiles lie in one place: the second's stores race with the first's loads but for the barrier."""
    ir = kernel("sum, two buffers").ir
    (path,) = paths(ir, Barrier, statement="sync_start_S2")
    finding = found(RaceWatch, without(ir, path))[OVERWRITTEN]
    assert "shared_A chunk" in finding.address and "shared_P chunk" in finding.address
    assert finding.point["K"] >= 1  # without a first k tile nothing was loaded
