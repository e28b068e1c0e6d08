"""Calling a kernel with arrays, without a GPU: every size, views, widths of access, padding, refusals.

The kernels are written by hand in the kernel IR, so that what is tested here is the call alone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polyvolta as pv
from polyvolta.compiler import arguments
from polyvolta.compiler.arguments import TooLarge
from polyvolta.compiler.compiled import MissingSize
from polyvolta.compiler.kernel import Kernel
from polyvolta.compiler.rule.values import BadOption
from polyvolta.compiler.stages import Stages
from polyvolta.cuda.errors import NoGpu
from polyvolta.cuda.ir.kernel_ir import Element, GlobalStore, GlobalTensor
from polyvolta.cuda.machine.interpreter import BadHook
from polyvolta.cuda.run import gpu
from polyvolta.cuda.run.views import BadArray, widest
from polyvolta.cuda.target.registry import target_of
from polyvolta.graph.dag import Graph
from polyvolta.sets import UnknownName, aff
from tests.cuda.ir.ir_example import matmul_ir, rewritten
from tests.cuda.machine.test_interpreter_sizes import view

M, N, K = pv.sizes("M N K")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")


@pytest.fixture(autouse=True)
def on_the_interpreter(monkeypatch):
    monkeypatch.setattr(gpu, "_missing", lambda: ("there is no GPU", "buy one"))


def made(ir, *, outputs=None) -> Kernel:
    return Kernel(
        Graph.of(A @ B if outputs is None else outputs), target_of("sm_70"), pv.Options(), Stages({}), ir, "text"
    )


KERNEL = made(matmul_ir(guarded=True))
PADDING = made(matmul_ir())  # for multiples of (32, 32, 16)


def two_results() -> Kernel:
    """The product twice: C row-major, D column-major."""

    def twice(op):
        if not isinstance(op, GlobalStore):
            return op
        from tests.cuda.ir.ir_example import unrolled

        return unrolled("both", 1, op, replace(op, tensor="D", source=Element("output", (aff(0),))))

    ir = rewritten(matmul_ir(guarded=True), twice)
    return made(replace(ir, tensors=(*ir.tensors, GlobalTensor("D", ("M", "N"), (1, 0), written=True))))


def operands(m, n, k, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((m, k)).astype(np.float16), rng.standard_normal((k, n)).astype(np.float16)
    return a, np.asfortranarray(b)


def error(c, a, b) -> float:
    exact = a.astype(np.float64) @ b.astype(np.float64)
    return float(np.linalg.norm(c - exact) / np.linalg.norm(exact))


# ---- sizes


@settings(max_examples=40, deadline=None)
@given(m=st.integers(1, 70), n=st.integers(1, 70), k=st.integers(1, 40), padded=st.booleans())
def test_any_size_guarded_or_padded(m, n, k, padded):
    a, b = operands(m, n, k)
    c = (PADDING if padded else KERNEL)(a, b)
    assert c.shape == (m, n) and c.dtype == np.float16
    assert error(c, a, b) <= 5e-4


@pytest.mark.parametrize("kernel", [KERNEL, PADDING], ids=["guarded", "padded"])
@pytest.mark.parametrize("shape", [(0, 5, 3), (5, 0, 3), (5, 3, 0), (0, 0, 0), (0, 5, 0)])
def test_empty_dimensions_give_what_numpy_gives(kernel, shape):
    m, n, k = shape
    a, b = np.ones((m, k), np.float16), np.asfortranarray(np.ones((k, n), np.float16))
    c = kernel(a, b)
    assert c.shape == (m, n) and np.array_equal(c, a @ b)


def test_a_launch_has_a_block_for_every_started_tile():
    assert KERNEL.launch_config(M=33, N=96, K=1).grid == (3, 2, 1)
    assert PADDING.launch_config(M=33, N=96, K=1).grid == (3, 2, 1)
    assert KERNEL.launch_config(M=1, N=1, K=0).grid == (1, 1, 1)
    assert KERNEL.launch_config(M=0, N=5, K=5).grid == PADDING.launch_config(M=0, N=5, K=5).grid == (1, 0, 1)
    with pytest.raises(TooLarge, match="65536 blocks along y, sm_70 has at most 65535"):
        KERNEL.launch_config(M=65535 * 32 + 1, N=1, K=1)
    with pytest.raises(TooLarge, match="int of 32 bits"):
        KERNEL.launch_config(M=1, N=2**31, K=1)
    for wrong in ({"M": 1, "N": 1}, {"M": 1, "N": -1, "K": 1}, {"M": 1, "N": 1, "K": 1, "L": 1}, {"M": True}):
        with pytest.raises(MissingSize):
            KERNEL.launch_config(**wrong)


# ---- views and widths


def test_views_into_larger_arrays_are_read_and_written_in_place():
    a, b = operands(37, 41, 29)
    va, vb, out = view(a.shape, "C", 50, 3), view(b.shape, "F", 31, 1), view((37, 41), "C", 64, 8)
    va[...], vb[...] = a, b
    assert KERNEL(va, vb, out=out) is out
    assert error(out, a, b) <= 5e-4


@settings(max_examples=60, deadline=None)
@given(ld=st.integers(1, 70), offset=st.integers(0, 9))
def test_accesses_are_as_wide_as_address_and_leading_dimension_allow(ld, offset):
    array = view((5, 1), "C", ld, offset)
    fits = [w for w in (8, 4, 2, 1) if array.ctypes.data % (2 * w) == 0 and ld % w == 0]
    got = arguments.on_host(array, GlobalTensor("A", ("M", "K"), (0, 1)), "A")
    assert (got.ld, got.align) == (ld, fits[0])
    assert widest(array.ctypes.data, ld) == fits[0]


def test_a_single_line_has_no_step_that_could_hinder():
    tensor = GlobalTensor("A", ("M", "K"), (0, 1))
    row = arguments.on_host(view((1, 7), "C", 8, 0), tensor, "A")
    assert (row.ld, row.align) == (8, 8)
    column = arguments.on_host(view((7, 1), "C", 5, 0), tensor, "A")  # lines of one value have a step
    assert (column.ld, column.align) == (5, 1)


@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        (
            lambda a: np.zeros((16, 32), a.dtype)[:, ::2],
            "the step between neighbours along dimension 1 is 2 values",
            "ascontiguousarray",
        ),
        (lambda a: a[:, ::-1], "is -1 values", "ascontiguousarray"),
        (lambda a: a[::-1], "run backwards", "ascontiguousarray"),
        (lambda a: np.broadcast_to(a[:1], a.shape), "same line again", "ascontiguousarray"),
        (np.asfortranarray, "the step between neighbours along dimension 1 is 16 values", 'layout="col"'),
        (lambda a: a.astype(np.float32), "dtype float32", "astype"),
        (lambda a: np.ma.masked_array(a), "masked", "filled"),
        (lambda a: a[:, 0], None, None),
        (lambda a: [[1.0]], None, None),
    ],
)
def test_arrays_that_do_not_fit_are_refused_with_a_way_out(change, message, hint):
    a, b = operands(16, 16, 16)
    with pytest.raises(pv.PolyvoltaError) as caught:
        KERNEL(change(a), b)
    if message:
        assert isinstance(caught.value, BadArray) and caught.value.id == "PV515"
        assert message in str(caught.value) and hint in caught.value.hint


def test_variants_differ_in_the_widths_alone_and_are_made_once(monkeypatch):
    printed = []
    monkeypatch.setattr(
        "polyvolta.cuda.text.printer.print_cuda", lambda ir: printed.append(ir) or f"text {len(printed)}"
    )
    kernel = made(matmul_ir(guarded=True))
    narrow = kernel.variant(A=2, C=1)
    assert [t.align for t in narrow.ir.tensors] == [2, 8, 1]
    assert replace(narrow.ir, tensors=kernel.ir.tensors) == kernel.ir
    assert kernel.variant(C=1, A=2) is narrow and kernel.variant(A=8) is kernel and len(printed) == 1
    assert kernel.variant(A=4).source != narrow.source
    with pytest.raises(UnknownName, match="no tensor 'AA'"):
        kernel.variant(AA=4)
    with pytest.raises(BadOption, match="8, 4, 2 or 1"):
        kernel.variant(A=3)


# ---- outputs


def test_several_results_come_as_a_tuple_and_go_where_asked():
    kernel, (a, b) = two_results(), operands(40, 33, 20)
    c, d = kernel(a, b)
    assert np.array_equal(c, d) and error(c, a, b) <= 5e-4
    assert c.flags.c_contiguous and d.flags.f_contiguous
    mine = np.zeros_like(c)
    first, second = kernel(a, b, out=(mine, None))
    assert first is mine and np.array_equal(mine, second)
    for wrong, message in ((mine, "one array, the kernel has 2 results"), ((mine,), "1 array, the kernel 2 results")):
        with pytest.raises(BadArray, match=message):
            kernel(a, b, out=wrong)
    same = np.lib.stride_tricks.as_strided(mine, d.shape, (2, 80))
    with pytest.raises(BadArray, match=r"out\[1\] overlaps out\[0\]"):
        kernel(a, b, out=(mine, same))


def test_outputs_that_share_memory_with_inputs_are_refused():
    large = np.zeros((64, 96), np.float16)
    a, b = large[:, :32], np.asfortranarray(np.zeros((32, 32), np.float16))
    for out in (large[:, :32], large[:, 31:63], large[:, 16:48]):
        with pytest.raises(BadArray, match="out overlaps the input A"):
            KERNEL(a, b, out=out)
    a[...], b[...] = 1, 1
    KERNEL(a, b, out=large[:, 32:64])  # interleaved with A's lines, not overlapping
    assert (large[:, 32:64] == 32).all() and (large[:, 64:] == 0).all()


def test_outputs_that_do_not_fit_are_refused():
    a, b = operands(16, 16, 16)
    read_only = np.zeros((16, 16), np.float16)
    read_only.flags.writeable = False
    for out, message in (
        (np.zeros((16, 17), np.float16), r"out has shape \(16, 17\)"),
        (np.zeros(16, np.float16), "out has 1 dimensions"),
        (read_only, "read-only"),
        (np.zeros((16, 16), np.float16, order="F"), "out: the step between neighbours"),
        (np.zeros((16, 16)), "out has dtype float64"),
    ):
        with pytest.raises(BadArray, match=message) as caught:
            KERNEL(a, b, out=out)
        assert "numpy.empty((16, 16), numpy.float16)" in caught.value.hint
        assert ('pv.output(..., layout="col")' in caught.value.hint) == out.flags.f_contiguous * (out.ndim == 2) * (
            out.dtype == np.float16
        )


def test_hints_for_an_output_in_columns():
    kernel = pv.compile(pv.output(A @ B, layout="col"))
    for out in (np.zeros((16, 16), np.float16), np.zeros((16, 16), order="F")):
        with pytest.raises(BadArray) as caught:
            kernel(*operands(16, 16, 16), out=out)
        assert 'numpy.empty((16, 16), numpy.float16, order="F")' in caught.value.hint
        assert ('layout="row"' in caught.value.hint) == (out.dtype == np.float16)


def test_a_product_with_its_own_transpose():
    kernel = pv.compile(A @ pv.tensor("A_t", (K, M), layout="col"))
    a, _ = operands(20, 1, 30)
    assert np.allclose(kernel.interpret(a, a.T), a.astype(float) @ a.T.astype(float), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("hook", [3, "print", [print]])
def test_a_hook_that_is_no_function(hook):
    with pytest.raises(BadHook, match="which can't be called"):
        KERNEL.interpret(*operands(16, 16, 16), hook=hook)


def test_masks_of_infinity():
    mask = pv.tensor("mask", (M, N))
    e = pv.pointwise(lambda x, m: np.minimum(np.exp(pv.where(m > 0, x, -np.inf)), np.inf), A @ B, mask)
    a, b = operands(16, 16, 16)
    allowed = np.tril(np.ones((16, 16), np.float16))
    expected = np.where(allowed > 0, np.exp(a.astype(float) @ b.astype(float)), 0)
    kernel = pv.compile([e, pv.where(mask > 0, A @ B, -np.inf)])
    weights, scores = kernel.interpret(A=a, B=b, mask=allowed)
    assert (np.isneginf(scores) == (allowed == 0)).all() and (np.isposinf(scores) == 0).all()
    assert (weights[allowed == 0] == 0).all()
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(weights, expected.astype(np.float16), rtol=0.05)
    np.testing.assert_array_equal(pv.reference(e, A=a, B=b, mask=allowed)[allowed == 0], 0)


@settings(max_examples=100, deadline=None)
@given(
    one=st.tuples(*[st.integers(1, 4)] * 2, st.integers(0, 12), st.integers(4, 6)),
    other=st.tuples(*[st.integers(1, 4)] * 2, st.integers(0, 12), st.integers(4, 6)),
)
def test_overlap_is_having_a_value_in_common(one, other):
    memory = np.zeros(64, np.float16)
    tensor, made_of, values = GlobalTensor("A", ("M", "N"), (0, 1)), [], []
    for lines, length, start, ld in (one, other):
        array = np.lib.stride_tricks.as_strided(memory[start:], (lines, length), (2 * ld, 2))
        made_of.append(arguments.on_host(array, tensor, "A"))
        values.append({start + i * ld + j for i in range(lines) for j in range(length)})
    assert arguments.overlap(*made_of) == bool(values[0] & values[1])


# ---- padding


ROW, COLUMN, ALPHA = pv.tensor("row", (N,)), pv.tensor("column", (M, 1)), pv.scalar("alpha")
PROLOGUES = [
    (pv.sigmoid(A) @ pv.sigmoid(B), "0.25"),
    ((A + COLUMN) @ (B + ROW), "something unknown"),  # what doesn't depend on k is not padded
    ((A + ALPHA) @ (B - 2), "-6"),
    ((1 / A) @ B, "nan"),
    ((A + COLUMN) @ B, None),
    (pv.relu(A * COLUMN) @ pv.sigmoid(B / ROW), None),
    ((A + (ALPHA - 3)) @ pv.sigmoid(B), None),
]


@pytest.mark.parametrize(("product", "adds"), PROLOGUES, ids=lambda x: str(x)[:40])
def test_padding_is_refused_where_prologues_make_more_of_zeros(product, adds):
    a, b = operands(5, 16, 5)
    given = {"A": a, "B": b, "row": np.ones(16, np.float16), "column": np.ones((5, 1), np.float16), "alpha": 3.0}
    graph = Graph.of(product)
    padding = made(replace(matmul_ir(), scalars=graph.scalars), outputs=product)
    given = {t.name: given[t.name] for t in graph.arguments}
    if adds is None:
        assert padding(**given).shape == (5, 16)
        return
    with pytest.raises(BadArray, match=f"padded with zeros, the operands .* add {adds} to every sum over k") as caught:
        padding(**given)
    assert 'partial="guard"' in caught.value.hint and "K: 16" in caught.value.hint


def test_only_padding_along_k_can_be_refused():
    a, b = operands(5, 7, 16)
    assert error(made(matmul_ir(), outputs=pv.sigmoid(A) @ pv.sigmoid(B))(a, b), a, b) <= 5e-4


# ---- without a GPU


def test_what_needs_a_gpu_says_so():
    a, b = operands(16, 16, 16)
    with pytest.raises(NoGpu, match="there is no GPU"):
        KERNEL.bind(a, b, out=a)
    with pytest.raises(NoGpu):
        KERNEL.loaded()
