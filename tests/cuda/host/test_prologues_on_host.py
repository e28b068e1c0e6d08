"""Printed kernels whose warpgroups compute operands on the way, compiled for the host and run: bit for bit what the
interpreter computes; registers that running products have are watched."""

from __future__ import annotations

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.mutants import broken
from tests.compiler.test_prologues_of_warpgroups import AL, BOTH, GATED, A, B, Q, compiled, given, tensors
from tests.cuda.host import needs_compiler
from tests.cuda.host.launch import WrongText, run

pytestmark = needs_compiler
TURNED = tensors("col", "row")
KERNELS = {
    "both": (BOTH, {}),
    "both, the other layouts": (pv.sigmoid(TURNED[0]) @ pv.relu(TURNED[1]), {"fragments": 1}),
    "scalars": ((A * AL + 0.5) @ B, {"al": 2.0}),
    "one loop of two products": (GATED["one left operand"], {"persistent": True}),
    "one loop, computed for one of two": (pv.relu(pv.relu(A) @ B) * (A @ Q), {}),
    "one loop, rewritten for both": (pv.relu(A @ pv.relu(B)) * (pv.relu(A) @ pv.relu(B)), {}),
}


def run_on_host(kernel, arrays, scalars, seed):
    out = np.full((70, 72), np.nan, np.float16)
    run(kernel, arrays, scalars, out, seed)
    return out


@pytest.mark.parametrize("name", KERNELS)
def test_the_text_computes_what_the_interpreter_does(name):
    outputs, more = KERNELS[name]
    scalars = {n: v for n, v in more.items() if n == "al"}
    kernel = compiled(outputs, **{n: v for n, v in more.items() if n not in scalars})
    arrays = {n: np.clip(x, -2, 2) for n, x in given(kernel).items()}  # products of sums are numbers then
    wanted = kernel.interpret(**arrays, **scalars)
    assert np.isfinite(wanted).all()
    for seed in (0, 1, 2, 3):
        assert np.array_equal(run_on_host(kernel, arrays, scalars, seed), wanted)


@pytest.mark.parametrize(("name", "message"), [
    ("fragments unfenced", "an operand that the thread has written since|before any wgmma.fence"),
    ("one set of fragments", "an operand is written, and products that may read it were not waited for"),
    ("a stage rewritten unfenced", "no proxy fence after"),
    ("a stage is not waited for", "no barrier after thread"),
])  # fmt: skip
def test_defects_are_seen(name, message):
    wrong = broken(compiled(BOTH), name)
    with pytest.raises(WrongText, match=message):
        run_on_host(wrong, given(wrong), {}, 1)
