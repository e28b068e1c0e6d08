"""No false alarm of the proofs that need no run, over a sample of the matrix of combinations."""

import pytest
from combinations import combinations

from polyvolta.cuda.verify import accesses, ownership, schedule

PROVERS = {**schedule.PROVERS, **ownership.PROVERS, **accesses.PROVERS}


@pytest.mark.parametrize("combination", combinations()[7::100], ids=lambda c: c.name)
def test_every_proof_holds(combination):
    kernel = combination.compile()
    for proof, prove in PROVERS.items():
        verdict = prove(kernel.ir, kernel.graph, kernel.stages)
        assert verdict.counter_example is None, proof
        assert verdict.statement and verdict.relation
