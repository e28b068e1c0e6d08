"""Proofs that barriers are reached by all who wait at them."""

from dataclasses import replace

import pytest

from polyvolta.cuda.ir.kernel_ir import Barrier, ExchangeLoad, GlobalStore, Mma, When
from polyvolta.cuda.ir.walk import replaced, walk
from polyvolta.cuda.machine.errors import Diverged
from polyvolta.cuda.verify.accesses.barriers import PROOF, Barriers
from polyvolta.sets import var
from tests.cuda.verify.edited import KERNELS, changed, concrete, found, kernel, paths


def under(ir, path, *conditions, uniform=False):
    """The kernel with a statement put under a condition."""
    stmt = dict(walk(ir.body))[path]
    return replace(ir, body=replaced(ir.body, path, (When(tuple(conditions), (stmt,), uniform),)))


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel(name):
    assert found(Barriers, kernel(name).ir) == {}


@pytest.mark.parametrize("name", ["plain", "split K"])
def test_a_barrier_that_some_threads_skip(name):
    ir = kernel(name).ir
    at = paths(ir, Barrier, scope="block")
    assert at
    for path in at:
        finding = found(Barriers, under(ir, path, ir.threads - 2 - var("linearId")))[PROOF]
        assert finding.path == (*path, 0)
        assert (finding.warp, finding.lane) == (ir.warps - 1, 31)
        assert f"{ir.threads - 1} of the block's {ir.threads} threads" in finding.what


def test_uniform_conditions_are_no_divergence():
    """A condition on sizes, blocks and k tiles holds for all threads of a block."""
    ir = kernel("plain").ir
    (path, *_) = paths(ir, Barrier, scope="block")
    assert found(Barriers, under(ir, path, var("M") - 128 * var("blockIdx.y") - 40, var("c2") - 1)) == {}


def test_a_warps_barrier_and_what_warps_do_together():
    """Whole warps may stay away; half a warp may not."""
    ir = kernel("plain").ir
    for kind, what in ((Mma, "tensor-core"), (ExchangeLoad, "exchange")):
        path = paths(ir, kind)[0]
        assert found(Barriers, under(ir, path, var("warp") - 1)) == {}
        finding = found(Barriers, under(ir, path, var("lane") - 16))[PROOF]
        assert (finding.warp, finding.lane) == (0, 0) and what in finding.what
    path = paths(ir, Barrier, scope="warp")[0]
    assert found(Barriers, under(ir, path, var("warp") - 1)) == {}
    assert found(Barriers, changed(under(ir, path, var("warp") - 1), (*path, 0), scope="block"))[PROOF].lane == 0
    assert found(Barriers, under(ir, path, var("linearId") - 40))[PROOF].warp == 1


@pytest.mark.parametrize("name", ["plain", "sum"])
def test_a_condition_that_claims_to_be_uniform(name):
    """All threads must agree on it, whatever stands below; where sizes decide, they do."""
    ir = kernel(name).ir
    path = paths(ir, GlobalStore)[0]
    wrong = under(ir, path, var("K") - 1, 7 - var("lane"), uniform=True)
    finding = found(Barriers, wrong)[PROOF]
    assert finding.path == path and (finding.warp, finding.lane) == (0, 8) and finding.point["K"] >= 1
    assert f"holds for {8 * ir.warps} of {ir.threads}" in finding.what
    assert found(Barriers, under(ir, path, var("K") - 1, 40 - var("lane"), uniform=True)) == {}
    with pytest.raises(Diverged, match="uniform"):
        concrete(wrong, dict.fromkeys(ir.sizes, 40)).run()
