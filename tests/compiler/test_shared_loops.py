"""Products of warpgroups that read the same have one loop over k tiles."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.rule.values import BadOption
from polyvolta.cuda.ir.kernel_ir import Arrive, BoxCopy, LoadMatrix, SharedLoad, Wgmma, WgmmaCommit
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.run.nvrtc import compile_cubin
from polyvolta.cuda.target.hopper import SM_90A
from polyvolta.graph.dag import Graph
from polyvolta.graph.plans.idioms import plan
from polyvolta.graph.plans.loops import Shared, shared, shared_loops

M, N, K, L = pv.sizes("M N K L")
A, P = pv.tensor("A", (M, K)), pv.tensor("P", (M, K), layout="col")
B, Q = pv.tensor("B", (K, N), layout="col"), pv.tensor("Q", (K, N))
R, S = pv.tensor("R", (M, L)), pv.tensor("S", (L, N))
SMALL = {"block_tile": (64, 64, 32), "warp_tile": (64, 64, 32), "macro_mma": "m64n64k16", "buffers": 3, "group": 1}
SIZES = {"M": 70, "N": 72, "K": 88, "L": 40}
relu, sigmoid = pv.relu, pv.sigmoid
ONE_A = (A @ B) * relu(A @ Q)
FORMS = {
    "one left operand": (ONE_A, 3, 3),
    "one right operand": ((A @ B) * relu(P @ B), 3, 3),
    "three in a row": (relu(A @ B) * (A @ Q) + relu(P @ Q), 4, 4),
    "one accumulator": (A @ B + A @ Q, 3, 3),
    "two results": ((A @ B, relu(A @ Q)), 3, 3),
    "computed once for both": (relu(relu(A) @ B) * (relu(A) @ Q), 3, 3),
    "computed for one": (relu(relu(A) @ B) * (A @ Q), 3, 4),  # swapped it is rewritten, and no tile of both
    "rewritten for both": (relu(A @ relu(B)) * (P @ relu(B)), 3, 3),
    "behind another one": (relu(R @ S) * (A @ B) + relu(A @ Q), 5, 5),
}
"""What is computed, and boxes that are brought; the same of the transposed product."""


@cache
def compiled(outputs, **given):
    return pv.compile(outputs, target=SM_90A, options=pv.Options(**(SMALL | given)))


def ops_of(kernel, kind):
    return [op for op in operations(kernel.ir.body) if isinstance(op, kind)]


def right(kernel, outputs, copies):
    rng = np.random.default_rng(1)
    arrays = {t.name: np.asarray(rng.integers(-1, 2, [SIZES[str(d)] for d in t.dims]), np.float16,
                                 order="F" if t.order == (1, 0) else "C")
              for t in kernel.ir.tensors if not t.written}  # fmt: skip
    got, wanted = kernel.interpret(**arrays, copies=copies), pv.reference(outputs, **arrays)
    pairs = zip(got, wanted, strict=True) if isinstance(wanted, tuple) else [(got, wanted)]
    return all(np.array_equal(x, y.astype(np.float16)) for x, y in pairs)


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("name", FORMS)
def test_a_tile_that_products_share_is_brought_once(name, swap):
    outputs, *boxes = FORMS[name]
    kernel = compiled(outputs, swap=swap)
    assert len(ops_of(kernel, BoxCopy)) == boxes[swap]
    for copies in ("lazy", 3):
        assert right(kernel, outputs, copies)


@pytest.mark.parametrize("name", ["one left operand", "one accumulator", "computed for one", "behind another one"])
def test_all_is_proved(name):
    assert compiled(FORMS[name][0]).verify().ok


def test_observers_see_nothing_wrong():
    kernel = compiled(FORMS["computed once for both"][0], persistent=True)
    arrays = {t.name: np.asarray(np.ones([SIZES[str(d)] for d in t.dims], np.float16),
                                 order="F" if t.order == (1, 0) else "C")
              for t in kernel.ir.tensors if not t.written}  # fmt: skip
    assert kernel.interpret(**arrays, observe="all", copies=2).verdict == "Nothing is wrong."


def test_the_tree_has_one_loop_with_a_sequence_of_products():
    hoisted = str(compiled(ONE_A).stages["hoisted"])
    assert "FILTER: S1[i, j, k]; S2[i, j, k]\n        BAND: S1[i, j, k] → [⌊k/32⌋];\n" in hoisted
    (commit,) = {op.statement for op in ops_of(compiled(ONE_A), WgmmaCommit)}
    assert commit.startswith("close")


def test_what_is_computed_is_computed_once():
    both = compiled(FORMS["computed once for both"][0])
    assert len({op.target.array for op in ops_of(both, LoadMatrix) if op.operand == "x"}) == 1
    assert {op.a.array for op in ops_of(both, Wgmma)} == {"hmma_A"}
    assert len(ops_of(compiled(FORMS["rewritten for both"][0]), SharedLoad)) == 1


def test_bytes_are_those_of_all_tiles():
    kernel = compiled(ONE_A)
    (expected,) = {op.bytes for op in ops_of(kernel, Arrive) if op.bytes}
    assert expected == 3 * 64 * 32 * 2


def test_products_of_other_depths_or_operands_have_loops_of_their_own():
    for outputs in ((A @ B) * (R @ S), (A @ B) * (P @ Q)):
        found = shared_loops(plan(Graph.of(outputs)).contractions)
        assert [len(loop) for loop in found] == [1, 1]


def test_what_a_tile_consists_of():
    whole = plan(Graph.of(relu(relu(A) @ B) * (A @ relu(Q)))).contractions
    assert shared(whole) == Shared(1, 2, 1, True)
    assert [len(loop) for loop in shared_loops(whole)] == [2]
    assert [len(loop) for loop in shared_loops(whole, turned=True)] == [1, 1]


def test_shared_memory_is_that_of_the_loop_s_tiles():
    assert compiled(ONE_A, buffers=4).ir.shared_bytes >= 4 * 3 * 64 * 32 * 2
    deep = {"block_tile": (128, 128, 64), "warp_tile": (64, 128, 64), "macro_mma": "m64n128k16", "buffers": 6}
    compiled((A @ B) * relu(R @ S), **deep)
    with pytest.raises(BadOption, match="bytes of shared memory"):
        compiled(ONE_A, **deep)


@pytest.mark.parametrize("outputs", [ONE_A, FORMS["computed once for both"][0]], ids=["as it is", "computed"])
def test_what_the_rule_takes_is_neither_serialized_nor_spilled(outputs):
    made = pv.compile(outputs, target=SM_90A)
    assert made.options.macro_mma == "m64n128k16" and made.boxed
    cubin = compile_cubin(made.source, "sm_90a", name="shared")
    assert "serialized" not in cubin.log and cubin.resources("kern0").spill_stores == 0
