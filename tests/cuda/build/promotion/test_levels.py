"""Levels by name: whatever loops stand between two levels, promotion finds block, tile, warp, strip and point."""

from functools import cache

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler import making
from polyvolta.cuda.build.promotion.model import CannotPromote
from polyvolta.sched.passes import insert_mark, set_level, tile
from polyvolta.sched.tree import Band, Mark, Schedule

M, N, K = pv.sizes("M N K")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
P, Q, bias = pv.tensor("P", (M, K), layout="col"), pv.tensor("Q", (K, N)), pv.tensor("bias", (N,))
GRAPHS = {"product": A @ B, "epilogue": pv.relu(A @ B + bias), "sum": A @ B + P @ Q}
OPTIONS = pv.Options(block_tile=(64, 64, 32), warp_tile=(16, 32, 32), buffers=2)
LEVELS = ["block", "tile", "warp", "strip", "point"]


def tiled(level, sizes):
    """The tree with the bands of a level tiled once more; the new loops are of no level."""

    def change(tree):
        for at in tree.find(level=level):
            tree = tile(tree, at, sizes)
        return tree

    return change


def marked(tree):
    """A mark above every band that can have one."""
    for at in reversed(tree.find(Band)):
        tree = insert_mark(tree, at, "here")
    return tree


def compiled(monkeypatch, graph, at_stage, change, options=OPTIONS):
    """A kernel whose tree is changed at a stage, on the way to promotion."""
    decompose = making.decompose

    def changing(graph, tiling, shape, context, reach, *more):
        changed = lambda name, t: reach(name, change(t) if name == at_stage else t)  # noqa: E731
        return decompose(graph, tiling, shape, context, changed, *more)

    monkeypatch.setattr(making, "decompose", changing)
    return pv.compile(graph, options=options)


@cache
def unchanged(name):
    return pv.compile(GRAPHS[name], options=OPTIONS)


def check(kernel, graph, sizes):
    rng = np.random.default_rng(1)
    for m, n, k in sizes:
        shapes = {"A": (m, k), "B": (k, n), "P": (m, k), "Q": (k, n), "bias": (n,)}
        arrays = {t.name: rng.integers(-3, 4, shapes[t.name]).astype(np.float16) for t in kernel.graph.inputs}
        arrays = {name: np.asfortranarray(x) if name in "BP" else x for name, x in arrays.items()}
        np.testing.assert_array_equal(kernel.interpret(**arrays), pv.reference(graph, **arrays).astype(np.float16))


FURTHER = {
    "k between tile and warp": ("block_tiled", "point", (64, 64, 16)),
    "rows between tile and warp": ("block_tiled", "point", (32, 64, 32)),
    "all three between tile and warp": ("block_tiled", "point", (32, 32, 16)),
    "columns between warp and strip": ("warp_tiled", "point", (16, 16, 32)),
    "k between warp and strip": ("warp_tiled", "point", (16, 32, 16)),
    "points of macro-MMAs": ("strip_mined", "point", (16, 16, 8)),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("further", FURTHER)
def test_a_further_tiling_makes_another_kernel_that_is_right(name, further, monkeypatch):
    stage, level, sizes = FURTHER[further]
    kernel = compiled(monkeypatch, GRAPHS[name], stage, tiled(level, sizes))
    assert kernel.verify().ok
    check(kernel, GRAPHS[name], [(70, 65, 0), (33, 129, 31), (64, 64, 96)])


def test_a_further_tiling_of_rows_leaves_fewer_warps_with_more_accumulators(monkeypatch):
    plain = unchanged("product")
    kernel = compiled(monkeypatch, A @ B, "block_tiled", tiled("point", (32, 64, 32)))
    assert (plain.ir.threads, kernel.ir.threads) == (256, 128)
    assert (plain.ir.register("hmma_C").shape, kernel.ir.register("hmma_C").shape) == ((1, 2), (2, 2))


@pytest.mark.parametrize("stage", ["block_tiled", "warp_tiled", "strip_mined", "contracted"])
@pytest.mark.parametrize("name", GRAPHS)
def test_marks_change_nothing(name, stage, monkeypatch):
    plain = unchanged(name)
    kernel = compiled(monkeypatch, GRAPHS[name], stage, marked)
    assert kernel.stages[stage].find(Mark)
    assert kernel.source == plain.source


@pytest.mark.parametrize("name", GRAPHS)
def test_every_stage_keeps_its_levels_in_isl_s_notation(name):
    kernel = unchanged(name)
    for stage, tree in kernel.stages.items():
        read = Schedule.parse(tree.to_isl())
        levels = [[m.level for m in t.band(at).members] for t in (tree, read) for at in t.bands()]
        assert levels[: len(levels) // 2] == levels[len(levels) // 2 :]
        if stage in ("strip_mined", "contracted", "prefetched"):
            assert {level for its in levels for level in its} - {None} == {*LEVELS}
            assert [len(tree.find(level=level)) > 0 for level in LEVELS] == [True] * 5
    assert "MARK" not in str(kernel.stages["prefetched"])


def test_a_loop_around_the_k_tiles_is_refused_by_name(monkeypatch):
    """The copies of a k tile are one loop's; two that take turns at it would need slots of both."""

    def change(tree):
        (at,) = tree.find(level="block")
        tree = set_level(tile(tree, at, (1, 1, 4)), at, {0: "block", 1: "block"})
        return set_level(tree, (*at, 0), {0: None, 1: None})

    with pytest.raises(CannotPromote, match="a further loop around its blocks or its k tiles"):
        compiled(monkeypatch, A @ B, "block_tiled", change)


def test_a_level_that_nobody_said_is_refused_by_name(monkeypatch):
    def change(tree):
        for at in tree.find(level="strip"):
            tree = set_level(tree, at, dict.fromkeys(range(3)))
        return tree

    with pytest.raises(CannotPromote, match="no loop of S is of the level 'strip'"):
        compiled(monkeypatch, A @ B, "strip_mined", change)
