"""Rings: shared tiles in any number of buffers, copies any number of k tiles ahead that these allow."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.passes.decompose import decompose
from polyvolta.compiler.rule.values import BUFFERS, BadOption
from polyvolta.compiler.signature import context_of, tensors_of
from polyvolta.compiler.tiling import farthest
from polyvolta.cuda.build.promotion.assemble import prefetched, promote
from polyvolta.cuda.ir.kernel_ir import Barrier, FragmentLoad, SharedStore
from polyvolta.cuda.ir.walk import replaced, walk
from polyvolta.cuda.mutants import MUTANTS, broken
from polyvolta.cuda.pictures.k_tiles import course, k_loops, unordered
from polyvolta.cuda.target.registry import target_of
from polyvolta.cuda.verify.verify import verify
from polyvolta.graph.dag import Graph
from polyvolta.graph.plans.idioms import plan
from polyvolta.sched.errors import IllegalTransformation

M, N, K = pv.sizes("M N K")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
P, Q = pv.tensor("P", (M, K), layout="col"), pv.tensor("Q", (K, N))
SMALL = {"block_tile": (32, 32, 16), "warp_tile": (16, 16, 16)}
RINGS = [(s, d) for s in BUFFERS for d in range(farthest(s) + 1)]
NAMES = [f"{s} buffers, {d} ahead" for s, d in RINGS]
OBSERVERS = ("bank_conflicts", "races", "coalescing", "bounds", "uninitialised")


@cache
def kernel_of(buffers, ahead):
    return pv.compile(A @ B, options=pv.Options(**SMALL, buffers=buffers, prefetch=ahead))


def assert_right(kernel, expr, sizes):
    """The kernel's interpretation is the product, exact for small integers."""
    rng = np.random.default_rng(2)
    for m, n, k in sizes:
        shapes = {"A": (m, k), "B": (k, n), "P": (m, k), "Q": (k, n)}
        arrays = {t.name: rng.integers(-3, 4, shapes[t.name]).astype(np.float16) for t in kernel.graph.inputs}
        arrays = {name: np.asfortranarray(x) if name in "BP" else x for name, x in arrays.items()}
        found = kernel.interpret(**arrays)
        np.testing.assert_array_equal(found, pv.reference(expr, **arrays).astype(np.float16))


@pytest.mark.parametrize(("buffers", "ahead"), RINGS, ids=NAMES)
def test_every_legal_ring_computes_the_product(buffers, ahead):
    sizes = [(1, 1, 1), (40, 33, 0), (33, 40, 17), (16, 16, 16 * buffers), (32, 32, 16 * buffers + 1), (48, 20, 300)]
    assert_right(kernel_of(buffers, ahead), A @ B, sizes)


@pytest.mark.parametrize(("buffers", "ahead"), [r for r in RINGS if r[0] <= 6], ids=lambda x: str(x))
def test_every_legal_ring_is_proved(buffers, ahead):
    report = kernel_of(buffers, ahead).verify()
    assert report.ok, report


SEVERAL = [{"buffers": 3, "split_k": 2}, {"buffers": 4, "prefetch": 2, "partial": "pad"}]


@pytest.mark.parametrize("options", SEVERAL, ids=str)
def test_a_ring_of_two_products_with_a_split_k_or_padding(options):
    kernel = pv.compile(A @ B + P @ Q, options=pv.Options(**SMALL, **options))
    assert kernel.verify().ok
    assert_right(kernel, A @ B + P @ Q, [(32, 32, 96), (32, 64, 0)] + [(33, 40, 77)] * ("partial" not in options))


@pytest.mark.parametrize(("buffers", "ahead"), RINGS, ids=NAMES)
def test_a_step_has_one_barrier_and_with_one_buffer_two(buffers, ahead):
    ir = kernel_of(buffers, ahead).ir
    in_loop = [op for _, loop in k_loops(ir) for _, op in walk(loop.body) if isinstance(op, Barrier)]
    assert len(in_loop) == (2 if buffers == 1 else 1)


@pytest.mark.parametrize(("buffers", "ahead"), [(1, 0), (1, 1), (2, 0), (2, 1), (3, 1), (3, 2), (5, 2)], ids=str)
def test_no_barrier_can_be_left_out(buffers, ahead):
    kernel = kernel_of(buffers, ahead)
    barriers = [at for at, op in walk(kernel.ir.body) if isinstance(op, Barrier) and op.scope == "block"]
    assert barriers
    for at in barriers:
        without = replace(kernel.ir, body=replaced(kernel.ir.body, at, ()))
        report = verify(without, kernel.graph, kernel.stages, ("barriers_between", "not_overwritten"))
        assert not report.ok and all(p.counter_example for p in report.proofs if not p.proved)


@pytest.mark.parametrize(("buffers", "ahead"), [(3, 1), (3, 2), (4, 2), (5, 4)], ids=str)
@pytest.mark.parametrize("kind", [SharedStore, FragmentLoad])
def test_a_wrong_slot_is_refuted(buffers, ahead, kind):
    kernel = kernel_of(buffers, ahead)
    body = kernel.ir.body
    for at, op in walk(body):
        if isinstance(op, kind):
            wrong = (op.buffer + 1) % buffers if kind is FragmentLoad else buffers - 1 - op.buffer
            body = replaced(body, at, (replace(op, buffer=wrong),))
    report = verify(replace(kernel.ir, body=body), kernel.graph, kernel.stages, ("fresh", "not_overwritten"))
    assert report["fresh"].counter_example is not None


@pytest.mark.parametrize("name", ["stores into the buffer that is read", "fragments from the other buffer",
                                  "one buffer where two are meant", "prefetch two tiles ahead"])  # fmt: skip
def test_mutants_of_a_ring_of_three_are_refuted(name):
    kernel = kernel_of(3, 2)
    report = broken(kernel, name).verify(MUTANTS[name].proofs)
    assert all(p.counter_example is not None for p in report.proofs)


# ---- what is refused


@pytest.mark.parametrize(("buffers", "ahead"), [(1, 2), (2, 2), (3, 3), (3, 5), (7, 7)], ids=str)
def test_copies_as_far_ahead_as_there_are_buffers_are_refused(buffers, ahead):
    with pytest.raises(BadOption, match=rf"prefetch={ahead} needs {ahead + 1} buffers: {buffers} buffers? allows? "):
        pv.compile(A @ B, options=pv.Options(**SMALL, buffers=buffers, prefetch=ahead))


@pytest.mark.parametrize("buffers", BUFFERS)
def test_the_pass_itself_refuses_what_the_options_do_not_let_through(buffers):
    """With a slot's reads and its next stores told apart by no barrier, or in the wrong order."""
    graph, options = Graph.of(A @ B), pv.Options(**SMALL, buffers=buffers)
    idiom = plan(graph)
    context = context_of(graph, idiom, {})
    macro = target_of().macro_mma(options.macro_mma)
    trees = decompose(graph, options, macro.shape, context)
    promotion = promote(*trees, idiom, tensors_of(graph), options, macro, context, target_of().shared_bytes)
    for ahead in range(farthest(buffers) + 1):
        prefetched(promotion, context, ahead)
    slot = rf"both touch shared_A\[[0-{buffers - 1}]\]"
    if buffers > 1:
        with pytest.raises(IllegalTransformation, match=f"sync_read must run between .* in iteration .*: {slot}"):
            prefetched(promotion, context, buffers)
    with pytest.raises(IllegalTransformation, match=f"(must run before|must run between) .* in iteration .*: {slot}"):
        prefetched(promotion, context, buffers + 1)


def test_more_buffers_than_shared_memory_holds_are_refused_with_both_numbers():
    tiles = {"block_tile": (128, 128, 32), "warp_tile": (64, 64, 32)}
    with pytest.raises(BadOption, match="(?s)buffers=7 need at least 114688 bytes of shared memory, sm_70 has 98304"):
        pv.compile(A @ B, options=pv.Options(**tiles, buffers=7))


def test_what_is_not_given_follows_from_what_is():
    chosen = [pv.Options(**given) for given in ({}, {"buffers": 2}, {"buffers": 4}, {"prefetch": 3}, {"prefetch": 0})]
    assert [(o.buffers, o.prefetch) for o in chosen] == [(1, 1), (2, 1), (4, 3), (4, 3), (1, 0)]


# ---- trees and pictures


def test_the_tree_says_how_far_ahead_copies_run():
    tree = str(kernel_of(3, 2).stages["prefetched"])
    assert "store_A[by, bx, kt, c, t] → [kt - 2]" in tree and "sync_read[by, bx, kt] → [kt - 2]" in tree
    assert "prefetched" not in kernel_of(3, 0).stages


@pytest.mark.parametrize(("buffers", "ahead"), [(1, 1), (2, 1), (3, 1), (3, 2), (5, 4)], ids=str)
def test_a_pipeline_s_course_has_each_tile_in_its_slot_and_time(buffers, ahead):
    ir = kernel_of(buffers, ahead).ir
    ((at, loop),) = k_loops(ir)
    found = course(ir, at, loop, {"M": 64, "N": 64, "K": 16 * 7})
    assert not found.wrong() and not found.left_out() and not unordered(found.events)
    for e in found.events:
        (tile,) = e.tiles or (None,)
        assert e.kind == "barrier" or tile == e.trip + (0 if e.kind in ("fetch", "mma") else ahead)
        assert e.buffer is None or e.buffer == tile % buffers
    assert all(x.trip <= y.trip for x, y in pairwise(found.events))


def test_a_pipeline_is_drawn_with_a_row_for_each_buffer():
    text = str(pv.pictures.pipeline(kernel_of(3, 2), tiles=6))
    assert [f"buffer {n}" in text for n in range(4)] == [True, True, True, False]
    assert "c2 = -2" in text and "run while a later one of 6 k tiles is on its way" in text
    assert "run while the next of 6 k tiles" in str(pv.pictures.pipeline(kernel_of(3, 1), tiles=6))


def test_a_ring_is_stepped_through():
    rng = np.random.default_rng(3)
    a, b = rng.random((32, 64)).astype(np.float16), np.asfortranarray(rng.random((64, 32)).astype(np.float16))
    steps = [s for s in kernel_of(3, 2).trace(a, b, block=(0, 0)) if isinstance(s.op, SharedStore)]
    assert len({str(s) for s in steps}) == len(steps) > 0
