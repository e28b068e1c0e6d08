"""What operations of phases, boxes and warpgroups say of themselves, beside what the instructions move."""

from __future__ import annotations

import numpy as np
import pytest

from polyvolta.cuda.ir.accesses import Access
from polyvolta.cuda.ir.engines import boxes, grids, phases, warpgroups
from polyvolta.cuda.ir.kernel_ir import (
    Arrive,
    Await,
    AwaitGrids,
    BoxCopy,
    BoxMap,
    BoxStore,
    CommitStores,
    Element,
    GlobalTensor,
    InitBarriers,
    Op,
    Phase,
    PhaseBarriers,
    ProxyFence,
    RegisterArray,
    ReleaseGrids,
    SharedOperand,
    SharedTile,
    WaitStores,
    Wgmma,
    WgmmaCommit,
    WgmmaFence,
    WgmmaWait,
)
from polyvolta.cuda.ir.memories import Arrays
from polyvolta.cuda.layouts.boxes import plan_boxes
from polyvolta.cuda.target.boxes import Box, Swizzle
from polyvolta.cuda.target.warpgroup import WGMMA
from polyvolta.sets import aff, var

T, K, Z = var("t"), var("k"), aff(0)
PLANS = {
    "A": plan_boxes("a", ("row", "k"), (128, 64), (0, 1), 64),
    "B": plan_boxes("b", ("k", "col"), (64, 48), (1, 0), 48),
}
IR = Arrays(
    (GlobalTensor("A", ("M", "K"), (0, 1)), GlobalTensor("B", ("K", "N"), (1, 0)),
     GlobalTensor("C", ("M", "N"), (1, 0), True, whole=True)),
    tuple(SharedTile(f"shared_{n}", 0, p.chunks, p.layout, p.order, 2) for n, p in PLANS.items()),
    (RegisterArray("acc", "float", (2,), 24),),
    (PhaseBarriers("full", 4096, 3, 1),),
    (BoxMap("map_A", "A", Box(16, 64, Swizzle(128))), BoxMap("map_B", "B", Box(32, 64, Swizzle(128)))),
)  # fmt: skip
FULL, ACC = Phase("full", T % 3, T // 3), Element("acc", (T % 2,))
COPY = BoxCopy("map_A", (T, K), "shared_A", (aff(16), Z), FULL, T % 2, "box_A")
MACRO = WGMMA.of(48).of("row", "col")
PRODUCT = Wgmma(
    (ACC,),
    SharedOperand("shared_A", (64 + Z, aff(16)), aff(514), PLANS["A"].descriptor, T % 2),
    SharedOperand("shared_B", (aff(16), Z), aff(2), PLANS["B"].descriptor, T % 2),
    MACRO,
)
SILENT = {
    AwaitGrids(): "waits until the grids before are over",
    ReleaseGrids(): "lets the grid behind start",
    InitBarriers(): "the barriers begin with phase 0",
    Arrive(FULL): "arrives in full[t mod 3]",
    Arrive(FULL, 512): "arrives in full[t mod 3], which waits for 512 bytes, too",
    Await(FULL): "waits for full[t mod 3]",
    CommitStores(): "its stored boxes since the last commit become a group",
    WaitStores(0): "waits until its stored boxes have been read",
    WaitStores(2): "waits until its stored boxes but of the newest 2 groups have been read",
    ProxyFence(): "its writes to shared memory come before the copy engine's reads",
    WgmmaFence(): "its registers are ready for the products to come",
    WgmmaCommit(): "its products since the last commit become a group",
    WgmmaWait(0): "waits for all its products",
    WgmmaWait(1): "waits for all its products but the newest 1 groups",
}


def elements(a: Access, **names: int) -> np.ndarray:
    """The elements of an access, [lane, value, dimension]."""
    values = np.arange(a.values)
    lane = np.arange(32)[:, None]
    own = a.own.evaluate({"lane": lane, "i": values})
    index = [np.broadcast_to(x, (32, a.values)) + e.evaluate(names) for x, e in zip(own, a.index, strict=True)]
    return np.stack(index, -1)


def test_every_operation_is_here():
    here = {type(op) for op in (*SILENT, COPY, PRODUCT)} | {BoxStore}
    assert here == {*grids.OPERATIONS, *phases.OPERATIONS, *boxes.OPERATIONS, *warpgroups.OPERATIONS}


@pytest.mark.parametrize("op", SILENT, ids=[type(op).__name__ for op in SILENT])
def test_what_orders_touches_nothing(op: Op):
    assert op.accesses(IR) == () and op.sentence((), ()) == SILENT[op]
    assert op.together == ("warpgroup" if isinstance(op, WgmmaFence | WgmmaCommit | WgmmaWait) else "thread")
    assert op.orders is None and not op.commits and op.awaits is None and op.product is None


@pytest.mark.parametrize(("name", "lines", "order"), [("A", 16, (0, 1)), ("B", 32, (1, 0))])
def test_a_box_is_lines_of_values_whoever_asks(name, lines, order):
    place = (aff(16), Z) if order == (0, 1) else (Z, aff(16))
    copy = BoxCopy(f"map_{name}", (T, K), f"shared_{name}", place, FULL, T % 2)
    store = BoxStore(f"map_{name}", (T, K), f"shared_{name}", place, T % 2)
    read, write = copy.accesses(IR)
    assert [(a.space, a.kind, a.array) for a in (read, write)] == [
        ("global", "read", name), ("shared", "write", f"shared_{name}")]  # fmt: skip
    assert [(a.space, a.kind, a.array) for a in store.accesses(IR)] == [
        ("shared", "read", f"shared_{name}"), ("global", "write", name)]  # fmt: skip
    for a, corner in ((read, (5, 7)), (write, [16, 0] if order == (0, 1) else [0, 16])):
        assert (a.proxy, a.when, a.values, a.item) == ("async", "completion", 64 * lines, 2)
        found = elements(a, t=5, k=7) - corner
        wanted = [[i // 64, i % 64] if order == (0, 1) else [i % 64, i // 64] for i in range(64 * lines)]
        assert (found == np.array(wanted)).all()
    assert read.guarded and not write.guarded and write.slot == T % 2
    assert copy.together == "thread"


def test_a_warp_of_a_product_reads_its_rows_and_all_columns_once():
    before, a, b, after = PRODUCT.accesses(IR)
    assert [(x.kind, x.array, x.values) for x in (before, after)] == [("read", "acc", 24), ("write", "acc", 24)]
    for warp in range(4):
        rows = elements(a, warp=warp).reshape(-1, 2).tolist()
        assert sorted(rows) == [[64 + 16 * warp + r, 16 + k] for r in range(16) for k in range(16)]
        columns = elements(b, warp=warp).reshape(-1, 2).tolist()
        assert sorted(columns) == [[16 + k, n] for k in range(16) for n in range(48)]
    assert {(x.proxy, x.when) for x in (a, b)} == {("async", "completion")}
    assert PRODUCT.together == "warpgroup" and PRODUCT.product is MACRO
    assert PRODUCT.sentence(("d", "a", "b"), ("d",)) == "d += a @ b"


def test_the_work_of_a_warp():
    """A quarter of a warpgroup's: 2 x 64 x 48 x 16 operations of four warps."""
    assert PRODUCT.work(IR).flops == 2 * 64 * 48 * 16 // 4
    assert PRODUCT.work(IR).instructions == {"HGMMA.64x48x16.F32": 1}
    assert COPY.work(IR).instructions == {"UTMALDG": 1}
