"""Which tilings are weighed, in which order they come, and who takes the first one."""

from __future__ import annotations

import random
from dataclasses import astuple

import numpy as np
import pytest
import ways

import polyvolta as pv
from polyvolta.compiler.model import candidates, rank
from polyvolta.compiler.model.sizes import BadSizes
from polyvolta.compiler.needs import needs_of
from polyvolta.compiler.options import Options, default_options, informed
from polyvolta.compiler.rule.problems import fits
from polyvolta.compiler.rule.warpgroups import lacks
from polyvolta.cuda.target.chips import chips
from polyvolta.cuda.target.registry import targets
from polyvolta.graph.dag import Graph
from polyvolta.graph.plans.idioms import plan

M, N, K = pv.sizes("M N K")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
PRODUCT = A @ B
GRAPHS = {
    "product": PRODUCT,
    "epilogue": pv.relu(PRODUCT + pv.tensor("bias", (M, N))),
    "gelu": pv.gelu(PRODUCT + pv.tensor("v", (N,))),
    "sum": PRODUCT + pv.tensor("P", (M, K)) @ pv.tensor("Q", (K, N), layout="col"),
    "turned": pv.output(pv.tensor("A", (M, K), layout="col") @ pv.tensor("B", (K, N)), layout="col"),
}
SIZES = {"M": 1024, "N": 1536, "K": 2048}
SM_90A = targets["sm_90a"]


def needs(graph):
    return needs_of(plan(Graph.of(graph)))


def product_of(m, n, k):
    return pv.tensor("A", (m, k)) @ pv.tensor("B", (k, n), layout="col")


@pytest.mark.parametrize(
    ("name", "target"),
    [("product", "sm_70"), ("sum", "sm_75"), ("gelu", "sm_80"), *((name, "sm_90a") for name in GRAPHS)],
)
def test_candidates_are_legal_many_and_none_twice(name, target):
    asked = needs(GRAPHS[name])
    found = candidates(asked, targets[target])
    assert 200 < len(found) == len(set(found)) < 5000
    for tiling in random.Random(1).sample(found, 40):
        assert fits(tiling, targets[target], asked)


@pytest.mark.parametrize("name", GRAPHS)
def test_no_candidate_lacks_registers(name):
    asked = needs(GRAPHS[name])
    for tiling in candidates(asked, SM_90A):
        assert not lacks(tiling.mapped, asked.turned if tiling.swap else asked, SM_90A)


def test_registers_that_spill_are_lacked():
    """256x256 tiles of two warpgroups have 256 accumulators a thread."""
    wide = pv.Options(block_tile=(128, 256, 64), warp_tile=(128, 256, 64), macro_mma="m64n256k16")
    assert lacks(wide, needs(PRODUCT), SM_90A) > 0
    narrow = pv.Options(block_tile=(128, 256, 64), warp_tile=(64, 256, 64), macro_mma="m64n256k16")
    assert lacks(narrow, needs(PRODUCT), SM_90A) == 0


def test_candidates_have_what_was_found_fast_by_hand():
    """All lists that were chosen by timing: their tiles, but for the number of buffers, which is the most that fits."""
    def key(o):
        return o.block_tile, o.warp_tile, o.occupancy, o.persistent, o.swap

    found = {key(t) for t in candidates(needs(PRODUCT), SM_90A)}
    for way in (*ways.ways(ways.OF_WARPGROUPS), *ways.ways(ways.FUSED)):
        assert key(pv.Options(**way)) in found, way


@pytest.mark.parametrize("seed", range(2))
def test_candidates_compile(seed):
    name = random.Random(seed).choice(list(GRAPHS))
    tiling = random.Random(seed).choice(candidates(needs(GRAPHS[name]), SM_90A))
    kernel = pv.compile(GRAPHS[name], target="sm_90a", options=Options(*astuple(tiling)))
    assert kernel.ir.shared_bytes <= SM_90A.shared_bytes
    assert kernel.ir.threads >= tiling.threads_on(SM_90A)


@pytest.mark.parametrize(("name", "target"), [("product", "sm_70"), ("gelu", "sm_80"), ("sum", "sm_90a")])
def test_the_order_is_that_of_costs_and_the_spaces(name, target):
    found = rank(GRAPHS[name], target, SIZES)
    costs = [cost.seconds for _, cost in found]
    assert costs == sorted(costs) and 0 < costs[0] and np.isfinite(costs).all()
    space = [astuple(o)[:16] for o, _ in zip(Options.space(GRAPHS[name], target, **SIZES), range(50))]
    assert [astuple(t) for t, _ in found][:50] == space
    assert rank(GRAPHS[name], target, SIZES, limit=3) == found[:3]


@pytest.mark.parametrize("target", ["sm_70", "sm_90a"])
def test_compile_takes_the_first_choice_for_known_sizes(target):
    best = next(Options.space(PRODUCT, target, **SIZES))
    assert pv.compile(PRODUCT, target=target, sizes=SIZES).options == best


def test_sizes_that_are_numbers_are_known_where_there_are_warpgroups():
    small, large = (pv.compile(product_of(*s), target="sm_90a").options for s in [(256, 640, 1792), (4096, 4096, 4096)])
    assert small == next(Options.space(PRODUCT, "sm_90a", M=256, N=640, K=1792))
    assert small.block_tile[0] * small.block_tile[1] < 64 * 128 < large.block_tile[0] * large.block_tile[1]


def test_elsewhere_and_without_sizes_the_rule_decides():
    for graph, target in [(product_of(256, 640, 1792), "sm_70"), (product_of(256, 640, 1792), "sm_80"),
                          (PRODUCT, "sm_70"), (PRODUCT, "sm_80")]:  # fmt: skip
        assert pv.compile(graph, target=target).options == default_options(Graph.of(graph), target)


def test_what_is_given_binds():
    given = {"swap": True, "buffers": 4, "group": 16, "persistent": True, "dependent_launch": False}
    options = pv.compile(PRODUCT, target="sm_90a", options=pv.Options(**given), sizes=SIZES).options
    assert {name: getattr(options, name) for name in given} == given
    for target, asked in [
        ("sm_80", pv.Options(block_tile=(96, 48, 64))),
        ("sm_90a", pv.Options(macro_mma="m16n32k16", block_tile=(128, 128, 64))),
        ("sm_90a", Options(*astuple(default_options(Graph.of(PRODUCT), "sm_90a"))[:16])),
    ]:
        options = informed(Graph.of(PRODUCT), targets[target], asked, SIZES)
        assert all(getattr(options, name) == getattr(asked, name) for name in asked.given)


def test_tiles_that_are_given_for_a_graph_of_numbers_are_completed_by_the_rule():
    graph, tiles = product_of(512, 512, 512), pv.Options(block_tile=(128, 128, 64))
    expected = default_options(Graph.of(graph), "sm_90a", tiles)
    assert pv.compile(graph, target="sm_90a", options=tiles).options == expected


def test_what_could_not_be_proved_is_not_chosen():
    """A persistent block's one k tile, known to be the only one, is in a slot that nobody knows."""
    assert rank(PRODUCT, "sm_90a", {"M": 4096, "N": 8192, "K": 48}, limit=1)[0][0].persistent
    kernel = pv.compile(product_of(4096, 8192, 48), target="sm_90a")
    assert not kernel.options.persistent and kernel.verify("phases").ok


def test_a_chip_with_less_shared_memory_has_fewer_candidates():
    a40, asked = rank(PRODUCT, "sm_80", SIZES, chips["A40"]), needs(PRODUCT)
    assert 0 < len(a40) < len(candidates(asked, targets["sm_80"]))
    assert all(t.shared_bytes(asked, targets["sm_80"]) <= 99 * 1024 for t, _ in a40)


def test_bad_sizes_are_refused():
    for call in (lambda s: rank(PRODUCT, "sm_90a", s), lambda s: Options.space(PRODUCT, "sm_90a", **s),
                 lambda s: pv.compile(PRODUCT, target="sm_90a", sizes=s)):  # fmt: skip
        with pytest.raises(BadSizes, match="K is missing"):
            call({"M": 8, "N": 8})
        with pytest.raises(BadSizes, match="no size 'Z'"):
            call({"M": 8, "N": 8, "K": 8, "Z": 1})
