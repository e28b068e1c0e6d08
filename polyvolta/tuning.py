"""Which options a kernel gets: what a graph needs, every combination that is legal, and the one chosen by default."""

from __future__ import annotations

from polyvolta.cuda.target import Target
from polyvolta.graph.dag import Graph
from polyvolta.graph.idioms import Plan
from polyvolta.options import Needs, Options


def needs_of(idiom: Plan) -> Needs:
    """What a plan asks of a block."""
    accumulators = {c.accumulator for c in idiom.contractions}

    def matrices(operand) -> int:  # noqa: ANN001
        return max(1, sum(len(a.index) == 2 for a in operand.accesses))

    made = accumulators | {s.statement.write.tensor for s in idiom.steps}
    loaded = {(a.tensor, a.index) for s in idiom.steps for a in s.accesses if a.tensor not in made}
    return Needs(
        len(accumulators),
        tuple((matrices(c.left), matrices(c.right)) for c in idiom.contractions),
        4 if idiom.steps else 2,
        len(loaded),
    )


def default_options(graph: Graph, target: Target) -> Options:
    return Options()
