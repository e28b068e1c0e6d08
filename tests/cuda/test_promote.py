"""Promotion: footprints decide the copies, and what they would leave out is refused."""

import pytest

import polyvolta as pv
from polyvolta.cuda import promote as promotion
from polyvolta.cuda.macro_mma import m16n16k8
from polyvolta.graph.dag import Graph
from polyvolta.sched import initial
from polyvolta.sched.passes import map_members, tile
from polyvolta.sets import Set

ORDERS = {"A": (0, 1), "B": (1, 0), "C": (0, 1)}
FULL = Set("[M, N, K] -> { : M >= 1 and N >= 1 and K >= 1 and M mod 32 = 0 and N mod 32 = 0 and K mod 16 = 0 }")


@pytest.fixture(scope="module")
def case():
    M, N, K = pv.sizes("M N K")
    (statement,) = Graph.of(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")).statements
    tree = tile(tile(initial([statement]), (0,), (32, 32, 16)), (0, 0), (16, 16, 16))
    tree = map_members(tree, (0,), {0: "blockIdx.y", 1: "blockIdx.x"})
    tree = map_members(tree, (0, 0), {0: "warpIdx_y", 1: "warpIdx_x"})
    return statement, tile(tree, (0, 0, 0), (16, 16, 8))


def promoted(case, context=FULL, threads=128):
    statement, tree = case
    return promotion.promote(tree, tree, statement, ORDERS, m16n16k8(), threads, context)


def test_tiles_are_the_footprints(case):
    tiles = promoted(case).tiles
    assert {k: (t.block.size, t.warp.size, t.fragments) for k, t in tiles.items()} == {
        "a": ((32, 16), (16, 8), (1, 1)),
        "b": ((16, 32), (8, 16), (1, 1)),
        "d": ((32, 32), (16, 16), (1, 1)),
    }
    assert [str(e) for e in tiles["a"].block.offset] == ["32*by", "16*kt"]
    assert [str(e) for e in tiles["b"].warp.offset] == ["8*ks + 16*kt", "32*bx + 16*wx"]


@pytest.mark.parametrize("threads", [32, 64, 96, 128, 256])
def test_copies_cover_the_tile_whatever_the_number_of_threads(case, threads):
    load = promoted(case, threads=threads).movements["load_A"]
    *_, c, t = load.dims
    seen = []
    for copy in range(-(-64 // threads)):
        for thread in range(min(threads, 64 - threads * copy)):
            at = {**dict.fromkeys(load.dims, 0), c: copy, t: thread}
            row, col = (e.evaluate(at) for e in load.index)
            seen += [(row, col + x) for x in range(8)]
    assert sorted(seen) == [(row, col) for row in range(32) for col in range(16)]


def test_a_movement_is_a_relation(case):
    load = promoted(case).movements["load_B"]
    point = dict(zip(load.dims, (2, 3, 1, 0, 5)))
    ((*_, k, j),) = load.relation.fix(**point).points()
    assert (k, j) == tuple(e.evaluate(point) for e in load.index)


def test_a_tile_that_is_not_full_is_refused(case):
    with pytest.raises(promotion.CannotPromote, match="the tile of A is not full"):
        promoted(case, Set("[M, N, K] -> { : M >= 1 and N >= 1 and K >= 1 }"))


def test_copies_that_miss_an_element_are_refused(case, monkeypatch):
    honest = promotion._Promoter.copy_index

    def one_row_short(self, tile_):
        local, q, total = honest(self, tile_)
        return local, q, total - 2

    monkeypatch.setattr(promotion._Promoter, "copy_index", one_row_short)
    with pytest.raises(promotion.CannotPromote, match="do not cover"):
        promoted(case)
