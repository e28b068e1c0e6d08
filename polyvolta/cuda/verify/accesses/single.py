"""Proofs about single accesses: bank conflicts, sectors, alignment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from polyvolta.cuda.ir.kernel_ir import KernelIR
from polyvolta.cuda.verify.accesses.alignment import alignment
from polyvolta.cuda.verify.accesses.banks import bank_conflicts
from polyvolta.cuda.verify.accesses.sectors import sectors
from polyvolta.cuda.verify.report.records import Verdict
from polyvolta.graph.dag import Graph
from polyvolta.sched.tree import Schedule


def _of_ir(prove: Callable[[KernelIR], Verdict], ir: KernelIR, graph: Graph, stages: Mapping[str, Schedule]) -> Verdict:
    return prove(ir)


PROVERS = {
    "bank_conflicts": partial(_of_ir, bank_conflicts),
    "sectors": partial(_of_ir, sectors),
    "alignment": partial(_of_ir, alignment),
}
"""Proof -> the function that decides it, called with (ir, graph, stages)."""
