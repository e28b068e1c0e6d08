"""The kernel's arguments are the graph's: another order, layout, shape, size or scalar is refuted."""

from dataclasses import replace

import pytest

import polyvolta as pv
from polyvolta.compiler.signature import tensors_of
from polyvolta.cuda.ir.kernel_ir import GlobalStore
from polyvolta.cuda.ir.walk import walk
from polyvolta.cuda.mutants.model import edited, places, without
from polyvolta.cuda.text.printer import print_cuda
from polyvolta.cuda.verify.coverage.arguments import asked

M, N, K = pv.sizes("M N K")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
S, BIAS = pv.tensor("S", (M, N)), pv.tensor("bias", (N,))
ALPHA, BETA = pv.scalar("alpha"), pv.scalar("beta")
TINY = pv.Options(block_tile=(32, 32, 16), warp_tile=(16, 16, 16))


@pytest.fixture(scope="module")
def two():
    return pv.compile([A @ B, ALPHA * (A @ B) + BETA * S + BIAS], options=TINY)


def verified(kernel, only=None, **fields):
    ir = replace(kernel.ir, **fields)
    return replace(kernel, ir=ir, source=print_cuda(ir), _variants={}, _loaded={}, _configs={}).verify(only)


def test_the_arguments_of_a_compiled_kernel_are_the_graphs(two):
    report = two.verify()
    assert report.ok, report
    said = report["arguments"].relation
    assert said.startswith("sizes (M, N, K); scalars (alpha, beta); A[M, K], row-major; B[K, N], column-major; ")
    assert said.endswith("bias[N]; C[M, N], row-major, written; D[M, N], row-major, written")
    assert asked(two.graph) == tuple(tensors_of(two.graph).values())  # read twice, alike
    assert two.variant(A=1, D=2).verify("arguments").ok


def test_other_arguments_are_refuted(two):
    a, b, s, bias, c, d = two.ir.tensors
    wrong = {
        "tensor 5 of the kernel is D[M, N], row-major, written, and that of the graph C": {
            "tensors": (a, b, s, bias, d, c)
        },
        "tensor 1 of the kernel is A[M, K], column-major, and": {
            "tensors": (replace(a, order=(1, 0)), b, s, bias, c, d)
        },
        "tensor 1 of the kernel is A[K, M], row-major, and": {
            "tensors": (replace(a, dims=("K", "M")), b, s, bias, c, d)
        },
        "tensor 7 of the kernel is E[M, N], row-major, written; the graph has 6": {
            "tensors": (*two.ir.tensors, replace(d, name="E"))
        },
        "the kernel's scalars are (beta, alpha), the graph's (alpha, beta)": {"scalars": ("beta", "alpha")},
        "the kernel's sizes are (N, M, K), the graph's (M, N, K)": {"sizes": ("N", "M", "K")},
        "the text counts on M being 64 or more; a call may have any from 1 on": {
            "ranges": {**two.ir.ranges, "M": (64, None)}
        },
        "the text counts on K being 0 .. 512; a call may have any from 0 on": {
            "ranges": {**two.ir.ranges, "K": (0, 512)}
        },
    }
    for said, fields in wrong.items():
        found = verified(two, "arguments", **fields)["arguments"]
        assert not found.proved and found.counter_example.what.startswith(said), found


@pytest.mark.parametrize("kept", ["an argument", "no output", "gone"])
def test_an_output_that_the_kernel_has_no_store_to_is_missed(two, kept):
    """The statements range over the graph's outputs, not over what the kernel says of itself."""
    stores = places(two.ir, GlobalStore, where=lambda op: op.tensor == "D")
    ir = edited(two.ir, stores, without)
    *others, d = ir.tensors
    tensors = {"an argument": (*others, d), "no output": (*others, replace(d, written=False)), "gone": tuple(others)}
    report = verified(two, body=ir.body, tensors=tensors[kept])
    refuted = {p.id: p.counter_example for p in report.refuted}
    assert set(refuted) == {"written_once", "result", *(["arguments"] if kept != "an argument" else [])}
    assert refuted["written_once"].what == "D[0, 0] is written by nobody"
    assert refuted["written_once"].block is None  # no block has to do with it
    assert refuted["result"].what == "nothing is ever stored to D, which the graph has as an output"


def test_a_counter_example_is_where_the_tensor_is_used(two):
    b = replace(two.ir.tensors[1], order=(0, 1))
    tensors = two.ir.tensors[0], b, *two.ir.tensors[2:]
    found = verified(two, "arguments", tensors=tensors)["arguments"].counter_example
    assert dict(walk(two.ir.body))[found.place.path].tensor == "B" and found.address == "B"
