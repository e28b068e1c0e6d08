"""Kernels of bf16, printed, compiled for the host and run: conversions, macro-MMAs and copies, bit for bit."""

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.graph.functions.formats import narrowed
from tests.compiler.test_bfloat16 import OPTIONS, SIZES, WIDE, graph, patterns, plain
from tests.cuda.host import needs_compiler
from tests.cuda.host.compare import Both

pytestmark = needs_compiler


def assert_same(kernel, arrays, seeds):
    """What the text makes of arrays, for each seed bit for bit what the interpreter does."""
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    scalars = {n: a for n, a in arrays.items() if not isinstance(a, np.ndarray)}
    inputs = {n: a.view(bfloat16) for n, a in arrays.items() if n not in scalars}
    out = np.zeros((arrays["A"].shape[0], arrays["B"].shape[1]), bfloat16)
    both = Both(seeds)
    try:
        both(kernel, inputs, scalars, out)
    finally:
        both.close()
    return out


@pytest.mark.parametrize("sizes", [SIZES, WIDE], ids=["odd", "wide"])
@pytest.mark.parametrize("idiom", ["epilogue", "rounded prologue", "scaled"])
def test_the_text_computes_what_the_interpreter_does(idiom, sizes):
    expr = graph(idiom)
    assert_same(pv.compile(expr, target="sm_80", options=OPTIONS), patterns(expr, 0, sizes), (1, 2))


def test_plain_loads():
    assert_same(plain("epilogue"), patterns(graph("epilogue"), 0, WIDE), (3,))


def test_every_pattern_goes_through_a_prologue_and_back():
    """A row of A times 1: each finite bf16 comes back; infinite and NaN ones make the row what fp32 says."""
    one = 0x3F80
    kernel = pv.compile(graph("prologue", "row", "col"), target="sm_80", options=OPTIONS)
    numbers = np.arange(0x7F80, dtype=np.uint16)[::17]  # at least 0, as the prologue is relu
    a = np.zeros((len(numbers), 8), np.uint16)
    a[:, 3] = numbers
    b = np.zeros((8, 8), np.uint16, order="F")
    b[3, :] = one
    found = assert_same(kernel, {"A": a, "B": b}, (4,)).view(np.uint16)
    assert (found == numbers[:, None]).all()
    b[3, 0] = narrowed(np.array([np.nan], np.float32))[0]
    assert (assert_same(kernel, {"A": a[:40], "B": b}, (5,)).view(np.uint16)[:, 0] == 0x7FFF).all()
