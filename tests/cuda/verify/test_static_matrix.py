"""No false alarm of the proofs that need no run, over a sample of the matrix of combinations."""

import pytest
from combinations import combinations

from polyvolta.cuda.verify.accesses import single as accesses
from polyvolta.cuda.verify.coverage import schedule
from polyvolta.cuda.verify.values import ownership

PROVERS = {**schedule.PROVERS, **ownership.PROVERS, **accesses.PROVERS}


@pytest.mark.parametrize("combination", combinations()[7::100], ids=lambda c: c.name)
def test_every_proof_holds(combination):
    kernel = combination.compile()
    for proof, prove in PROVERS.items():
        verdict = prove(kernel.ir, kernel.graph, kernel.stages)
        assert verdict.counter_example is None, proof
        assert verdict.statement and verdict.relation
