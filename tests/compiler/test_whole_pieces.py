"""Asynchronous copies bring a piece as a whole or not at all: lines of a tensor that are no whole pieces."""

from __future__ import annotations

from functools import cache
from math import gcd

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.arguments import on_host
from polyvolta.cuda.ir.kernel_ir import AsyncCopy
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.machine.errors import BadTensor
from polyvolta.cuda.machine.interpreter import interpret
from polyvolta.cuda.text.c_expr import NotPrintable

M, N, K = pv.sizes("M N K")
SMALL = {"block_tile": (32, 64, 32), "warp_tile": (16, 32, 32)}
LAYOUTS = [("row", "col"), ("col", "row"), ("row", "row"), ("col", "col")]
OBSERVERS = ("bounds", "races", "uninitialised")


@cache
def kernel_of(target="sm_80", layouts=("row", "col"), partial="guard", dims=(M, N, K)):
    m, n, k = dims
    a, b = pv.tensor("A", (m, k), layout=layouts[0]), pv.tensor("B", (k, n), layout=layouts[1])
    return pv.compile(a @ b, target=target, options=pv.Options(**SMALL, partial=partial))


def wide(shape, layout, rng):
    """A view whose lines start at multiples of 16 bytes, with values beside it that are none of it."""
    rows, cols = shape if layout == "row" else shape[::-1]
    memory = np.full((rows, -(-cols // 8) * 8 + 8), np.nan, np.float16)
    memory[:, :cols] = rng.integers(-3, 4, (rows, cols))
    view = memory[:, :cols]
    return view if layout == "row" else view.T


@pytest.mark.parametrize("layouts", LAYOUTS, ids=".".join)
@pytest.mark.parametrize("sizes", [(40, 72, 64), (44, 68, 68), (42, 66, 70), (41, 65, 97), (40, 72, 33)], ids=str)
@pytest.mark.parametrize("copies", ["lazy", "eager", 3])
def test_a_call_takes_the_pieces_that_lines_are_whole_numbers_of(layouts, sizes, copies):
    """Beside the tensors there are NaNs, which one value too many would bring into the sum."""
    m, n, k = sizes
    kernel, rng = kernel_of(layouts=layouts), np.random.default_rng(5)
    arrays = {"A": wide((m, k), layouts[0], rng), "B": wide((k, n), layouts[1], rng)}
    for name, line in (("A", k if layouts[0] == "row" else m), ("B", n if layouts[1] == "row" else k)):
        assert on_host(arrays[name], kernel.ir.tensor(name), name).align == gcd(8, line)
    found = kernel.interpret(**arrays, copies=copies)
    np.testing.assert_array_equal(found, (arrays["A"].astype(float) @ arrays["B"]).astype(np.float16))


def test_where_nothing_is_copied_asynchronously_lines_may_end_anywhere():
    kernel, rng = kernel_of("sm_75"), np.random.default_rng(5)
    a = wide((40, 33), "row", rng)
    assert not any(t.whole for t in kernel.ir.tensors)
    assert on_host(a, kernel.ir.tensor("A"), "A").align == 8
    found = pv.compile(pv.relu(pv.tensor("A", (M, K))) @ pv.tensor("B", (K, N)), target="sm_80").ir.tensors
    assert {t.name: t.whole for t in found} == {"A": False, "B": True, "C": False}


@pytest.mark.parametrize(("length", "align"), [(64, 8), (68, 4), (70, 2), (97, 1)])
def test_of_a_known_length_the_kernel_itself_has_such_pieces(length, align):
    kernel = kernel_of(dims=(40, 72, length))
    assert [t.align for t in kernel.ir.tensors[:2]] == [align, align]
    if align < 8:
        with pytest.raises(NotPrintable, match=f"brings all of 8 values or none.*A may end among them(?s:.)*{length}"):
            kernel.variant(A=8)


@pytest.mark.parametrize("partial", ["guard", "pad"])
def test_the_text_says_what_it_wants_of_lines(partial):
    kernel = kernel_of(partial=partial)
    assert "// A, B, C are aligned to 16 bytes; ldA, ldB, ldC, K are multiples of 8." in kernel.source
    narrow = kernel.variant(A=2, B=4, C=1).source
    assert "// A is aligned to 4 bytes; ldA, K are multiples of 2." in narrow
    assert "// B is aligned to 8 bytes; ldB, K are multiples of 4." in narrow


def test_the_machine_refuses_lines_of_no_whole_pieces():
    """And what the broken promise would bring is there to be seen: the text's copies would read the NaNs beside."""
    kernel, rng = kernel_of(), np.random.default_rng(5)
    sizes = {"M": 40, "N": 72, "K": 68}
    arrays = {"A": wide((40, 68), "row", rng), "B": wide((68, 72), "col", rng), "C": np.zeros((40, 72), np.float16)}
    with pytest.raises(BadTensor, match=r"A: copies bring 8 values or none, so that its extent along dimension 1 .* 8"):
        interpret(kernel.ir, arrays, sizes)
    narrow = kernel.variant(A=4, B=4)
    interpret(narrow.ir, arrays, sizes)
    np.testing.assert_array_equal(arrays["C"], (arrays["A"].astype(float) @ arrays["B"]).astype(np.float16))
    with pytest.raises(BadTensor, match="B: copies bring 8 values or none"):
        interpret(kernel.variant(A=4).ir, arrays, sizes)


@pytest.mark.parametrize("widths", [{}, {"A": 4, "B": 2}, {"A": 1, "B": 8}], ids=str)
def test_the_verifier_says_what_whole_pieces_it_takes_for_granted(widths):
    kernel = kernel_of().variant(**widths)
    report = kernel.verify(("alignment", "bounds"))
    assert report.ok
    said, whole = report["alignment"].statement, [t for t in kernel.ir.tensors if t.whole and t.align > 1]
    assert whole and all(f"{t.name} and ld{t.name} and K of {t.align}" in said for t in whole)
    assert any(isinstance(op, AsyncCopy) for op in operations(kernel.ir.body))
    assert "lengths of lines" not in kernel_of("sm_75").verify("alignment")["alignment"].statement
