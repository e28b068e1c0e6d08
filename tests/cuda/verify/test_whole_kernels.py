"""Kernels of the matrix, of every group of idioms: nothing is found against them, and not much time goes by."""

import pytest
from combinations import chosen

from polyvolta.cuda.verify.accesses import barriers, bounds, races
from polyvolta.cuda.verify.coverage import copies, written_once
from polyvolta.cuda.verify.engine.machine import run

NAMES = (
    "plain/row.col,m16n16k8/k1/",
    "one tensor twice,m32n32k8/k2",
    "prologue A and B,col.row,k4",
    "column bias,row.col,m32n32k8/k1/,/b2",
    "two results,col.row,k8,/pad",
    "sum, prologues,row.row,k2,/b2",
    "gated, one A,col.col,k1/",
)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_found(name):
    ir = chosen(name)[0].compile().ir
    clients = [c(ir, None) for m in (races, bounds, barriers, copies, written_once) for c in m.CLIENTS]
    assert run(ir, clients).findings == {}
    shown = [c.shown(proof) for c in clients for proof in c.proofs]
    assert len(shown) == 6 and all(v.statement and v.relation and not v.sizes for v in shown)
