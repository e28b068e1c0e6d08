"""Operands that warpgroups compute on the way: left ones in registers, right ones in their stage."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.rule.values import BadOption
from polyvolta.cuda.ir.kernel_ir import Element, LoadMatrix, Pointwise, SharedLoad, Wgmma, WgmmaWait
from polyvolta.cuda.ir.walk import operations, walk
from polyvolta.cuda.ir.well_formed import IllFormed, check
from polyvolta.cuda.mutants import MUTANTS, broken
from polyvolta.cuda.mutants.engines import prologues
from polyvolta.cuda.mutants.model import edited
from polyvolta.cuda.run.nvrtc import compile_cubin
from polyvolta.cuda.target.hopper import SM_90A

COMPUTING = SM_90A
M, N, K = pv.sizes("M N K")
LAYOUTS = tuple(product(("row", "col"), repeat=2))
SMALL = {"block_tile": (64, 64, 32), "warp_tile": (64, 64, 32), "macro_mma": "m64n64k16", "buffers": 3, "group": 1}
WIDE = {"block_tile": (128, 256, 64), "warp_tile": (64, 256, 64), "macro_mma": "m64n256k16", "buffers": 4}
SIZES = {"M": 70, "N": 72, "K": 88}  # two tiles of rows and of columns, the third one of k in part


def tensors(a="row", b="col", dtype="float16"):
    return pv.tensor("A", (M, K), layout=a, dtype=dtype), pv.tensor("B", (K, N), layout=b, dtype=dtype)


A, B = tensors()
P, Q = pv.tensor("P", (M, K)), pv.tensor("Q", (K, N), layout="col")
AL = pv.scalar("al")
BOTH = pv.relu(A) @ pv.relu(B)
NOT_ZERO = pv.sigmoid(A) @ pv.sigmoid(B)


@cache
def compiled(outputs, **given):
    return pv.compile(outputs, target=COMPUTING, options=pv.Options(**(SMALL | given)))


def given(kernel, sizes=None, seed=0):
    """Small integers, so that sums are exact."""
    rng, sizes = np.random.default_rng(seed), SIZES | (sizes or {})
    out = {}
    for t in kernel.ir.tensors:
        if not t.written:
            x = rng.integers(-4, 5, [sizes[str(d)] for d in t.dims]).astype(np.float16)
            out[t.name] = np.asfortranarray(x) if t.order == (1, 0) else x
    return out


def right(kernel, outputs, copies=("lazy", 5), sizes=None, **scalars):
    arrays = given(kernel, sizes)
    wanted = pv.reference(outputs, **arrays, **scalars)
    return all(np.array_equal(kernel.interpret(**arrays, **scalars, copies=c), wanted) for c in copies)


# ---- what is computed


@pytest.mark.parametrize(("a", "b"), LAYOUTS)
def test_both_operands_in_all_layouts(a, b):
    left, right_ = tensors(a, b)
    outputs = pv.relu(left) @ pv.relu(right_)
    assert right(compiled(outputs), outputs)


WAYS = {
    "left": (pv.relu(A) @ B, {}),
    "right": (A @ pv.relu(B), {}),
    "one set of registers": (pv.relu(A) @ B, {"fragments": 1}),
    "one strip": (pv.relu(A) @ B, {"block_tile": (64, 64, 16), "warp_tile": (64, 64, 16)}),
    "two fragments, two warpgroups": (BOTH, {"block_tile": (128, 128, 32), "warp_tile": (128, 64, 32)}),
    "swapped": (BOTH, {"block_tile": (64, 64, 32), "swap": True}),
    "persistent": (BOTH, {"persistent": True}),
    "cluster": (BOTH, {"cluster": (2, 1)}),
    "split": (BOTH, {"split_k": 2, "block_tile": (64, 64, 32)}),
    "sum": (pv.relu(A) @ B + P @ pv.relu(Q), {}),
    "chunks for some threads": (
        BOTH, {"block_tile": (64, 16, 32), "warp_tile": (64, 16, 32), "macro_mma": "m64n16k16"}
    ),
    "chunks for some warps": (BOTH, {"block_tile": (64, 48, 32), "warp_tile": (64, 48, 32), "macro_mma": "m64n48k16"}),
    "chunks for some warpgroups": (A @ pv.relu(B), {"block_tile": (192, 64, 64), "warp_tile": (64, 64, 64)}),
}


@pytest.mark.parametrize("way", WAYS)
def test_with_what_other_kernels_have(way):
    outputs, options = WAYS[way]
    assert right(compiled(outputs, **options), outputs)


@pytest.mark.parametrize("outputs", [(A * AL + 0.5) @ B, A @ (B * AL + 0.5), (A + 1) @ (B * AL - 1)],
                         ids=["left", "right", "both"])  # fmt: skip
def test_formulas_that_make_no_zeros_of_zeros(outputs):
    """Also where a scalar is infinite, K is none, and a tile of k is whole."""
    kernel = compiled(outputs)
    for k in (0, 8, 64):
        assert right(kernel, outputs, ("lazy",), {"K": k}, al=2.0)
    arrays = {name: np.abs(x) + 1 for name, x in given(kernel).items()}
    assert np.array_equal(kernel.interpret(**arrays, al=np.inf), pv.reference(outputs, **arrays, al=np.inf))


def test_a_formula_is_computed_as_warps_do():
    """In fp32, and rounded: what sm_80's kernel makes of the same operands."""
    kernel, other = compiled(NOT_ZERO), pv.compile(NOT_ZERO, target="sm_80")
    arrays = given(kernel)
    assert np.array_equal(kernel.interpret(**arrays), other.interpret(**arrays))


GATED = {
    "gate": pv.relu(A @ B) * (P @ Q),
    "one left operand": (A @ B) * pv.relu(A @ Q),
    "with prologues": pv.relu(pv.relu(A) @ B) * (A @ pv.relu(Q)),
    "a sum beside": pv.relu(A @ B + P @ Q) * (A @ Q),
}


@pytest.mark.parametrize("name", GATED)
def test_products_that_add_to_several_accumulators(name):
    outputs = GATED[name]
    kernel = compiled(outputs)
    assert len({op.d[0].array for op in operations(kernel.ir.body) if isinstance(op, Wgmma)}) == 2
    for k in (0, 40):
        arrays = {n: np.clip(x, -1, 1) for n, x in given(kernel, {"K": k}).items()}
        assert np.array_equal(kernel.interpret(**arrays, copies=2), pv.reference(outputs, **arrays))


def test_several_accumulators_are_proved_and_not_serialized():
    kernel = compiled(GATED["one left operand"])
    assert kernel.verify().ok
    made = pv.compile(GATED["one left operand"], target=COMPUTING)
    assert made.options.block_tile == (128, 128, 64)
    cubin = compile_cubin(made.source, "sm_90a", name="gated")
    assert "serialized" not in cubin.log and cubin.resources("kern0").spill_stores == 0


# ---- what is made


def test_strips_take_turns_in_two_sets_of_registers():
    kernel = compiled(pv.relu(A) @ B)
    loads = [op for op in operations(kernel.ir.body) if isinstance(op, LoadMatrix) and op.operand == "x"]
    products = [op for op in operations(kernel.ir.body) if isinstance(op, Wgmma)]
    assert [op.target.index[0].const for op in loads] == [op.a.index[0].const for op in products] == [0, 1]
    assert {op.pending for op in operations(kernel.ir.body) if isinstance(op, WgmmaWait)} == {0, 1}
    assert "done[by, bx, kt, ks] → [kt + ⌊(ks + 1)/2⌋]" in str(kernel.stages["prefetched"])


def test_boxes_bring_operands_as_they_are():
    kernel = compiled(BOTH)
    assert [m.tensor for m in kernel.ir.maps] == ["A", "B", "C"]
    assert not any(op.inside for op in operations(kernel.ir.body) if isinstance(op, Pointwise))
    assert sum(isinstance(op, SharedLoad) for op in operations(kernel.ir.body)) == 1


@pytest.mark.parametrize(("outputs", "expected"), [
    (BOTH, (False, False)),
    (pv.sigmoid(A) @ B, (False, False)),  # finite, and B vanishes
    (NOT_ZERO, (False, True)),
    ((A * AL) @ B, (True, False)),
    ((A * AL) @ (B * AL), (True, True)),
])  # fmt: skip
def test_what_must_be_set_to_zero_beyond_k(outputs, expected):
    kernel = compiled(outputs)
    by = {op.target.array: op.inside is not None for op in operations(kernel.ir.body) if isinstance(op, Pointwise)}
    assert (by.get("hmma_A", False), by.get("private_B", False)) == expected


@pytest.mark.parametrize("outputs", [BOTH, pv.sigmoid(A) @ B], ids=["both", "sigmoid"])
def test_products_are_not_serialized_and_nothing_is_spilled(outputs):
    source = compiled(outputs, **WIDE).source
    cubin = compile_cubin(source, "sm_90a", name="prologue")
    assert "serialized" not in cubin.log, cubin.log
    assert cubin.resources("kern0").spill_stores == 0


def test_the_rule_takes_two_sets_where_strips_are_even():
    made = pv.compile(pv.relu(A) @ B, target=COMPUTING).options
    assert (made.macro_mma, made.fragments) == ("m64n256k16", 2)
    assert pv.compile(A @ pv.relu(B), target=COMPUTING).options.fragments == 1
    assert compiled(pv.relu(A) @ B, block_tile=(64, 64, 48), warp_tile=(64, 64, 48)).options.fragments == 1


@pytest.mark.parametrize(("outputs", "options", "message"), [
    ((A + P) @ B, {}, "one matrix that lies as it does, and scalars"),
    ((A * pv.tensor("v", (K,))) @ B, {}, "one matrix that lies as it does, and scalars"),
    (GATED["gate"], {"split_k": 2}, "add up one accumulator"),
    (A @ B, {"fragments": 2}, "no fragments of operands in registers"),
    (A @ pv.relu(B), {"fragments": 2}, "no fragments of operands in registers"),
    (pv.relu(A) @ B, {"fragments": 2, "block_tile": (64, 64, 48), "warp_tile": (64, 64, 48)}, "an odd number"),
])  # fmt: skip
def test_what_is_refused(outputs, options, message):
    with pytest.raises(BadOption, match=message):
        compiled(outputs, **options)


# ---- proofs, mutants, observers


@pytest.mark.parametrize("columns", [16, 48])
def test_chunks_that_threads_do_not_share_out_evenly_are_proved_too(columns):
    """Of a row-major B, whose panels of boxes are one behind the other: without bank conflicts."""
    outputs = A @ pv.sigmoid(tensors(b="row")[1])
    kernel = compiled(outputs, block_tile=(64, columns, 32), warp_tile=(64, columns, 32), macro_mma=f"m64n{columns}k16")
    assert kernel.verify().ok
    assert kernel.interpret(**given(kernel), observe="all").verdict == "Nothing is wrong."


@pytest.mark.parametrize("outputs", [BOTH, NOT_ZERO], ids=["both", "not zero"])
def test_all_is_proved(outputs):
    report = compiled(outputs).verify()
    assert report.ok, report


def kernel_of(name):
    by_name = {"values beyond k": NOT_ZERO, "one right operand for a loop's products": GATED["one left operand"]}
    return compiled(by_name.get(name, BOTH))


@pytest.mark.parametrize("name", [m.name for m in prologues.MUTANTS])
def test_mutants_are_refuted(name):
    report = broken(kernel_of(name), name).verify(MUTANTS[name].proofs)
    for proof in MUTANTS[name].proofs:
        assert report[proof].counter_example is not None, report[proof]


@pytest.mark.parametrize("name", [m.name for m in prologues.MUTANTS])
def test_mutants_are_seen_in_some_run(name):
    kernel = kernel_of(name)
    arrays = given(kernel)
    wanted, wrong = kernel.interpret(**arrays), broken(kernel, name)
    found = set()
    for copies in ("lazy", 3):
        seen = wrong.interpret(**arrays, observe=("races",), copies=copies)
        found |= {"races"} if seen.races.findings else set()
        found |= {"values"} if not np.array_equal(seen.result, wanted) else set()
    assert set(MUTANTS[name].observers) <= found


def test_a_kernel_that_is_right_has_no_races():
    assert compiled(BOTH).interpret(**given(compiled(BOTH)), observe="all", copies=4).verdict == "Nothing is wrong."


def test_an_operand_of_other_registers_is_ill_formed():
    ir = compiled(pv.relu(A) @ B).ir
    at = [path for path, s in walk(ir.body) if isinstance(s, Wgmma)]
    wrong = edited(ir, at, lambda op: (replace(op, a=Element("hmma_C", op.d[0].index)),))
    with pytest.raises(IllFormed):
        check(wrong)


def test_a_zero_whose_formula_16_bits_do_not_have_is_kept_out():
    # beyond K boxes bring zeros; exp(12) is infinite in fp16, and 0 times that is no number
    kernel = compiled(A @ pv.exp(B + 12.0))
    a, b = np.ones((64, 40), np.float16), np.full((40, 64), -10, np.float16)
    (value,) = np.unique(kernel.interpret(a, np.asfortranarray(b)))
    assert abs(float(value) - 40 * np.exp(2)) < 0.5 and kernel.verify(["result"]).ok
