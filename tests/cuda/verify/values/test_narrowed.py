"""Values rounded to fp16 in the middle of a kernel: stored or multiplied they are right, computed with they aren't."""

from dataclasses import replace

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import ExchangeLoad, ExchangeStore, Mma
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.layouts.exchange import plan_exchange
from polyvolta.cuda.mutants.model import rewritten
from polyvolta.cuda.text.printer import print_cuda

M, N, K = pv.sizes("M N K")
A, B, P, Q = (pv.tensor(n, s) for n, s in zip("ABPQ", [(M, K), (K, N)] * 2))
BIAS = pv.tensor("bias", (N,))
TINY = pv.Options(block_tile=(32, 32, 16), warp_tile=(16, 16, 16))
SPLIT = replace(TINY, split_k=2)


def in_kind(kernel, kind, arrays=(), exchange=True):
    """A kernel with some register arrays, and the exchange, of fp16 ("half") or fp32 ("float")."""
    macro = next(op.macro for op in operations(kernel.ir.body) if isinstance(op, Mma))
    other = plan_exchange(macro, kind)

    def change(op):
        return (replace(op, exchange=other),) if exchange and isinstance(op, ExchangeStore | ExchangeLoad) else (op,)

    registers = tuple(replace(r, kind=kind) if r.name in arrays else r for r in kernel.ir.registers)
    assert sum(r.name in arrays for r in registers) == len(arrays)
    tiles = kernel.ir.tiles
    if exchange and kind == "float":  # which takes more room
        chunks = kernel.ir.warps * other.chunks
        tiles = tuple(replace(t, chunks=max(t.chunks, chunks)) if t.layout is None else t for t in tiles)
    ir = replace(kernel.ir, body=rewritten(kernel.ir.body, change), registers=registers, tiles=tiles)
    assert ir != kernel.ir
    return replace(kernel, ir=ir, source=print_cuda(ir), _variants={}, _loaded={}, _configs={})


WRONG = {
    "a product": (0.001 * (A @ B), TINY, ("run_C",), True),
    "a sum": (A @ B + BIAS, TINY, ("run_C",), True),
    "products that share an accumulator": (pv.relu(A @ B - P @ Q) * 0.5, TINY, ("run_C",), True),
    "parts of a split K": (A @ B, SPLIT, ("run_C",), True),
    "one of two outputs": ([A @ B, 0.001 * (A @ B)], TINY, ("run_C",), True),
    "an output that another one reads": ([pv.relu(A @ B), pv.relu(A @ B) + BIAS], TINY, ("run_D",), False),
    "after a prologue": (0.001 * ((A + 1) @ B), TINY, ("run_C",), True),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_was_rounded_to_fp16_is_not_computed_with(name):
    expression, options, arrays, exchange = WRONG[name]
    kernel = pv.compile(expression, options=options)
    report = in_kind(kernel, "half", arrays, exchange).verify(("fresh", "sums", "result"))
    assert [p.id for p in report.refuted] == ["result"], report
    assert "was rounded to fp16, and is computed with" in report["result"].counter_example.what
    assert kernel.verify(("fresh", "sums", "result")).ok


def test_it_differs_when_it_runs():
    kernel = pv.compile(0.001 * (A @ B), options=TINY)
    given = np.full((3, 64), 50, np.float16), np.full((64, 8), 50, np.float16)
    assert (kernel.interpret(*given) == 160).all()
    assert (in_kind(kernel, "half", ("run_C",)).interpret(*given) == np.inf).all()


RIGHT = {
    "a result in an fp16 register": (0.001 * (A @ B), TINY, "half", ("run_D",), False),
    "an output that nothing reads": ([pv.relu(A @ B), pv.relu(A @ B) + BIAS], TINY, "half", ("run_E",), False),
    "a product in fp32 until it is stored": (A @ B, TINY, "float", ("run_C",), True),
    "one behind a prologue": ((A * 2 + 1) @ B, TINY, "float", ("run_C",), True),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_rounded_to_fp16_may_be_stored(name):
    expression, options, kind, arrays, exchange = RIGHT[name]
    report = in_kind(pv.compile(expression, options=options), kind, arrays, exchange).verify()
    assert report.ok, report
