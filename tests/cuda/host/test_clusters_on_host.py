"""Texts of kernels whose blocks form clusters, run on the host: bit for bit the interpreter's; defects are seen."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.mutants import broken
from polyvolta.cuda.target.hopper import SM_90A
from tests.cuda.host import needs_compiler
from tests.cuda.host.launch import WrongText, run

pytestmark = needs_compiler

M, N, K = pv.sizes("M N K")
C = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
WITH_R = pv.relu(C + pv.tensor("R", (M, N)))
SHAPE = 130, 72, 304  # the last clusters have blocks beyond the result; lines are whole units of 16 bytes


@cache
def kernel(outputs=C, cluster=(2, 1), parts=1):
    tiles = {"block_tile": (64, 64, 64), "macro_mma": "m64n64k16", "buffers": 3}
    return pv.compile(outputs, target=SM_90A, options=pv.Options(**tiles, cluster=cluster, split_k=parts))


@cache
def arrays(shape=SHAPE):
    rng, (m, n, k) = np.random.default_rng(sum(shape)), shape
    a, b, r = (rng.integers(-4, 5, s).astype(np.float16) for s in ((m, k), (n, k), (m, n)))
    return {"A": a, "B": b.T, "R": r}


def both(made, seed, shape=SHAPE, instead=None):
    """What the interpreter and the text on the host compute."""
    given = {t.name: arrays(shape)[t.name] for t in made.graph.arguments}
    out = np.full(shape[:2], np.nan, np.float16)
    run(instead or made, given, {}, out, seed)
    return made.interpret(**given), out


@pytest.mark.parametrize(("outputs", "cluster", "parts"), [(WITH_R, (2, 2), 1), (C, (1, 1), 2), (C, (2, 1), 2)])
def test_blocks_of_a_cluster_compute_what_the_interpreter_does(outputs, cluster, parts):
    made = kernel(outputs, cluster, parts)
    assert made.boxed >= {"A", "B"}
    for seed, shape in ((1, SHAPE), (6, (1, 8, 8))):
        interpreted, out = both(made, seed, shape)
        assert np.array_equal(interpreted, out)


MUTANTS = {
    "barriers begin for their block": "a barrier .* that thread 0 begins, no barrier of threads between",
    "released to itself alone": "deadlock",
    "no barrier at the end of a cluster": "a block that has ended|may end before thread 0 of another block arrives",
    "parts of other blocks not waited for": "read before it was written|no barrier after thread",
    "the first part of K again and again": "",
}


@pytest.mark.parametrize("name", MUTANTS)
def test_defects_of_clusters_are_seen(name):
    made = kernel(C, (1, 1), 2) if "part" in name else kernel()
    for seed in range(12):  # some of these are about who is quicker
        try:
            interpreted, out = both(made, seed, instead=broken(made, name))
        except WrongText as wrong:
            assert MUTANTS[name] and re.search(MUTANTS[name], str(wrong)), wrong
            return
        if not np.array_equal(interpreted, out):
            assert not MUTANTS[name], "other values, and nobody has seen why"
            return
    raise AssertionError(f"{name}: not seen")


def test_blocks_that_meet_at_the_end_know_of_one_anothers_arrivals():
    # an arrival on its way to a block that has ended finds no barrier: blocks end behind what they order, not beside it
    made = kernel()
    given = {name: value for name, value in arrays().items() if name != "R"}

    def unordered(text):
        *before, behind = text.rsplit("sync_cluster();", 1)
        assert before
        return "meet_cluster();".join((*before, behind))

    with pytest.raises(WrongText, match="may end before thread 0 of another block arrives"):
        run(made, given, {}, np.full(SHAPE[:2], np.nan, np.float16), 1, change=unordered)
