"""Accesses outside of all of a tile's buffers are refuted, by the proofs that follow places, too."""

from dataclasses import replace

import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import BoxStore, LoadMatrix
from polyvolta.cuda.ir.walk import replaced, walk
from polyvolta.cuda.verify.verify import verify
from polyvolta.sets import aff, var

M, N, K = pv.sizes("M N K")
TILES = {"block_tile": (64, 32, 16), "warp_tile": (64, 32, 16), "macro_mma": "m64n16k16", "buffers": 3}


@pytest.fixture(scope="module")
def kernel():
    product = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N)) + pv.tensor("R", (M, N))
    return pv.compile(product, target="sm_90a", options=pv.Options(**TILES))


def refuted_with(kernel, kind, **change):
    """The proofs that a kernel fails, of whose operations of a kind the first one is another one."""
    path, op = next((p, s) for p, s in walk(kernel.ir.body) if isinstance(s, kind))
    ir = replace(kernel.ir, body=replaced(kernel.ir.body, path, (replace(op, **change),)))
    return {p.id for p in verify(ir, kernel.graph, kernel.stages).refuted}


@pytest.mark.parametrize("buffer", [4, -4])
def test_a_box_that_is_stored_from_no_buffer(kernel, buffer):
    assert "bounds" in refuted_with(kernel, BoxStore, buffer=aff(buffer))


def test_a_fragment_of_rows_that_a_tile_does_not_have(kernel):
    origin = 16 * (var("warp") % 4) + 16, aff(0)
    assert {"bounds", "copies"} <= refuted_with(kernel, LoadMatrix, origin=origin)
