"""Mutants of clusters, of persistent blocks and of early launches: each is seen by the observers that it names."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.kernel import Kernel
from polyvolta.cuda.machine.errors import EarlyAccess
from polyvolta.cuda.mutants import MUTANTS, broken
from polyvolta.cuda.mutants.engines import clusters, grids, tiles
from polyvolta.cuda.target.hopper import SM_90A
from polyvolta.cuda.text.printer import print_cuda
from tests.cuda.mutants.coarse import arrays

M, N, K = pv.sizes("M N K")
A, B, R = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col"), pv.tensor("R", (M, N))
TILES = {"block_tile": (128, 64, 64), "warp_tile": (64, 64, 64), "macro_mma": "m64n64k16", "buffers": 3, "group": 1}
WAYS = {
    "cluster": (A @ B, {"cluster": (2, 1)}, (150, 72, 304)),
    "split": (A @ B, {"split_k": 2}, (150, 72, 200)),
    "lasting": (A @ B, {"persistent": True}, (264, 72, 136)),
    "operands": (pv.relu(A @ B + R), {"persistent": True}, (264, 72, 128)),
    "turns": (A @ B, {"persistent": True, "pingpong": True, "block_tile": (64, 64, 64)}, (200, 72, 200)),
}
RUNS = ("lazy", "eager", 0, 1)
SPLIT = ("parts of other blocks not waited for", "a part of K left out", "the first part of K again and again",
         "columns of the first block for all")  # fmt: skip
OPERANDS = ("vacant places are not waited for", "vacant places a tile later", "operands of the first tile again")
OF = {m.name: "cluster" for m in clusters.MUTANTS} | dict.fromkeys(SPLIT, "split")
OF |= {m.name: "lasting" for m in tiles.MUTANTS} | dict.fromkeys(OPERANDS, "operands")
OF |= {m.name: "turns" for m in tiles.OF_TURNS}


@cache
def kernel_of(way: str) -> Kernel:
    outputs, options, _ = WAYS[way]
    made = pv.compile(outputs, target=SM_90A, options=pv.Options(**TILES | options))
    if not made.ir.resident:
        return made
    ir = replace(made.ir, resident=2)  # blocks that have several tiles of a small matrix
    return replace(made, ir=ir, source=print_cuda(ir), _variants={}, _loaded={}, _configs={})


@pytest.mark.parametrize("name", OF)
def test_the_observers_see_a_mutant_under_some_order(name):
    kernel, saw = broken(kernel_of(OF[name]), name), set()
    wanted, given = set(MUTANTS[name].observers), arrays(kernel_of(OF[name]), WAYS[OF[name]][2])
    assert wanted
    for copies in RUNS:
        saw |= {f.observer for f in kernel.interpret(**given, observe="all", copies=copies).findings}
        if wanted <= saw:
            return
    raise AssertionError(f"seen by {saw} alone")


def test_parts_that_are_not_waited_for_are_read_before_they_are_there():
    """Blocks go on at paces of their own behind the roles: the first to come adds up what others haven't written."""
    kernel = broken(kernel_of("split"), SPLIT[0])
    given = arrays(kernel, (150, 72, 200))
    exact = pv.reference(kernel.graph.roots[0], **given)
    right = {copies: np.array_equal(kernel.interpret(**given, copies=copies), exact) for copies in ("lazy", "eager", 1)}
    assert right == {"lazy": False, "eager": True, 1: False}


@pytest.mark.parametrize("name", [m.name for m in grids.MUTANTS])
def test_a_run_that_does_not_wait_for_other_grids_ends(name):
    with pytest.raises(EarlyAccess):
        broken(kernel_of("cluster"), name).interpret(**arrays(kernel_of("cluster"), (150, 72, 72)), observe="all")
