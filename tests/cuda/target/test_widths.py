"""Kernels whose fragments are loaded 16, 32, 64 and 128 bits at a time: they compute, and compile for two targets."""

from itertools import cycle

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import FragmentLoad
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.layouts.fragments import narrowest_access
from tests.cuda import ampere

M, N, K = pv.sizes("M N K")
A, B, bias = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col"), pv.tensor("bias", (N,))


def options(composition):
    m, n, k = composition.shape
    return pv.Options(block_tile=(64, 64, max(k, 32)), warp_tile=(32, 32, max(k, 32)))


@pytest.mark.parametrize("name", ampere.COMPOSITIONS)
def test_the_access_is_what_the_order_of_k_allows(name):
    assert narrowest_access(ampere.COMPOSITIONS[name], "row", "col") == ampere.ACCESSES[name]


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize(("name", "layout"), [*zip(ampere.COMPOSITIONS, cycle(["row", "col"]))])
def test_kernels_of_every_width(name, layout, arch):
    """Interpreted, with bank conflicts, races and bounds observed, against float64; and as machine code."""
    made = ampere.COMPOSITIONS[name]
    expression = pv.output(pv.relu(A @ B + bias), layout=layout)
    kernel = pv.compile(expression, ampere.target(made), options(made))
    loads = [op for op in operations(kernel.ir.body) if isinstance(op, FragmentLoad)]
    assert {op.access for op in loads} <= {8, 4, 2, 1} and min(op.access for op in loads) == ampere.ACCESSES[name]
    rng = np.random.default_rng(0)
    m, n, k = 70, 72, 45
    a = rng.standard_normal((m, k)).astype(np.float16)
    b = np.asfortranarray(rng.standard_normal((k, n)).astype(np.float16))
    c = rng.standard_normal(n).astype(np.float16)
    seen = kernel.interpret(a, b, c, observe=("bank_conflicts", "races", "bounds", "uninitialised"))
    assert not seen.findings
    wanted = pv.reference(expression, A=a, B=b, bias=c)
    assert np.abs(seen.result - wanted).max() <= 1e-3 * np.abs(wanted).max()
    assert kernel.compiled(arch).resources(kernel.name).spill_stores == 0
