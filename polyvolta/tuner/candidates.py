"""Which options are worth timing: the one place that asks for a ranking."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from polyvolta.compiler.options import Options
from polyvolta.cuda.target.target import Target
from polyvolta.graph.dag import Graph


def guesses(graph: Graph, target: Target, sizes: Mapping[str, int], count: int) -> tuple[Options, ...]:
    """The first of `Options.space`, of which the first is what `compile` chooses for these sizes by itself.

    Parameters
    ----------
    count : how many, at most.
    """
    return tuple(islice(Options.space(graph, target, **sizes), count))
