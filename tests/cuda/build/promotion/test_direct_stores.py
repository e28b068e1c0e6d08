"""Epilogues whose accumulators are runs already: no exchange, no barrier; the same results, and all of it proved."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import Barrier, ExchangeStore, TakeRun
from polyvolta.cuda.ir.walk import operations, walk
from polyvolta.cuda.ir.well_formed import IllFormed, check
from polyvolta.cuda.machine.errors import OutOfBounds
from polyvolta.cuda.mutants.model import edited, places
from polyvolta.cuda.target.macro_mma import Composition, Interleave
from polyvolta.cuda.verify.verify import verify
from polyvolta.sets import aff, var
from tests.cuda import ampere

KS = ("r0", "r3", "r1", "r2")
TARGET = ampere.target(Composition((ampere.M16N8K16,), Interleave(ampere.R4, ("r0", "s0", "s1", "r1", "r2"), KS)))
SMALL = pv.Options(block_tile=(32, 64, 32), warp_tile=(16, 64, 32))
M, N, K = pv.sizes("M N K")


def graph(name, layout="row"):
    a, b = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
    p, bias, alpha = pv.tensor("P", (M, N), layout=layout), pv.tensor("bias", (N,)), pv.scalar("alpha")
    match name:
        case "plain":
            return pv.output(a @ b, "C", layout=layout)
        case "fused":
            return pv.output(pv.relu(a @ b + bias) + alpha * p, "C", layout=layout)
        case "two outputs":
            c = a @ b
            return [pv.output(c, "C", layout=layout), pv.output(pv.tanh(c) * p, "D", layout=layout)]
        case "a sum":
            return pv.output(a @ b + 2.0 * (pv.tensor("P", (M, K)) @ pv.tensor("Q", (K, N), layout="col")), "C")


@cache
def kernel(name, options=SMALL, layout="row"):
    return pv.compile(graph(name, layout), target=TARGET, options=options)


def operands(k, sizes):
    rng = np.random.default_rng(7)
    given = {}
    for t in k.graph.inputs:
        shape = tuple(sizes[str(d)] for d in t.dims)
        given[t.name] = np.asarray(rng.standard_normal(shape), np.float16, order="C" if t.layout == "row" else "F")
    return given | dict.fromkeys(k.graph.scalars, 0.5)


def wanted(name, g):
    g = {n: np.asarray(x, np.float64) for n, x in g.items()}
    c = g["A"] @ g["B"]
    match name:
        case "fused":
            c = np.maximum(c + g["bias"], 0) + g["alpha"] * g["P"]
        case "two outputs":
            return [c, np.tanh(c) * g["P"]]
        case "a sum":
            c = c + 2 * (g["P"] @ g["Q"])
    return [c]


@pytest.mark.parametrize("sizes", [(64, 128, 48), (37, 75, 21), (5, 3, 0)])
@pytest.mark.parametrize("name", ["plain", "fused", "two outputs", "a sum"])
def test_results_are_right_without_an_exchange(name, sizes):
    k = kernel(name)
    assert not any(isinstance(op, ExchangeStore) for op in operations(k.ir.body))
    assert [t.name for t in k.ir.tiles if t.layout is None] == []
    given = operands(k, dict(zip("MNK", sizes)))
    results = k.interpret(**given)
    for got, want in zip(results if name == "two outputs" else [results], wanted(name, given), strict=True):
        assert np.allclose(got, want, rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize("name", ["plain", "fused", "two outputs", "a sum"])
def test_everything_is_proved(name):
    report = kernel(name).verify()
    assert report.ok, report
    assert "the runs that the lane takes out of its accumulators" in report["exchange"].statement


def test_no_barrier_stands_behind_the_last_product():
    ir = kernel("fused").ir
    taken = min(at for at, s in walk(ir.body) if isinstance(s, TakeRun))
    assert not [at for at, s in walk(ir.body) if isinstance(s, Barrier) and at > taken[:1]]
    assert ir.shared_bytes == 2 * (32 + 64) * 32


@pytest.mark.parametrize(("options", "layout"), [
    (pv.Options(block_tile=(32, 64, 32), warp_tile=(32, 64, 32), split_k=2), "row"),
    (SMALL, "col"),
])  # fmt: skip
def test_what_has_to_meet_goes_through_shared_memory(options, layout):
    """The parts of a split K, and results that lie along the other dimension."""
    k = kernel("plain", options, layout)
    assert any(isinstance(op, ExchangeStore) for op in operations(k.ir.body))
    given = operands(k, {"M": 37, "N": 75, "K": 40})
    assert np.allclose(k.interpret(**given), *wanted("plain", given), rtol=2e-3, atol=2e-2)
    assert k.verify("exchange").ok


def with_runs(ir, change):
    return edited(ir, places(ir, TakeRun), lambda s: (change(s),))


def of_runs(**new):
    return lambda s: replace(s, runs=replace(s.runs, **new))


def swapped(s):
    (value,) = s.runs.picks.exprs
    return of_runs(picks=replace(s.runs.picks, outputs=(("value", value + 1 - 2 * (var("v") % 2)),)))(s)


def shifted(s):
    (row, own_row), (col, own_col) = s.runs.owns.outputs
    return of_runs(owns=replace(s.runs.owns, outputs=((row, own_row), (col, (own_col + 8) % 32))))(s)


@pytest.mark.parametrize(("change", "proofs"), [
    (swapped, {"exchange", "result"}),
    (shifted, {"exchange"}),
    (lambda s: replace(s, round=1 - s.round), {"result"}),
])  # fmt: skip
def test_wrong_runs_are_refuted_with_a_case(change, proofs):
    k = kernel("plain")
    report = verify(with_runs(k.ir, change), k.graph, k.stages)
    refuted = {p.id for p in report.proofs if p.counter_example is not None}
    assert refuted == proofs


def test_a_run_that_no_lane_has_is_refused_and_refuted():
    k = kernel("plain")
    ir = with_runs(k.ir, lambda s: replace(s, round=s.round + 1))
    given = operands(k, {"M": 32, "N": 64, "K": 16})
    with pytest.raises(OutOfBounds, match="whose lanes have 2 each"):
        replace(k, ir=ir).interpret(**given)
    assert not verify(ir, k.graph, k.stages, "result").ok


@pytest.mark.parametrize(("change", "words"), [
    (of_runs(rounds=3), "3 runs"),
    (lambda s: of_runs(picks=replace(s.runs.picks, outputs=(("value", var("v") + 16),)))(s), "takes value 16"),
    (lambda s: of_runs(picks=replace(s.runs.picks, inputs=(("round", 2), ("w", 8)), outputs=(("value", aff(0)),)))(s),
     "are of"),
])  # fmt: skip
def test_runs_that_mean_nothing_are_ill_formed(change, words):
    with pytest.raises(IllFormed, match=words):
        check(with_runs(kernel("plain").ir, change))
