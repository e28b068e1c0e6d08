"""Which options are worth timing: the one place that asks for a ranking."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from polyvolta.compiler.options import Options, default_options
from polyvolta.cuda.target.target import Target
from polyvolta.graph.dag import Graph


def guesses(graph: Graph, target: Target, sizes: Mapping[str, int], count: int) -> tuple[Options, ...]:
    """The best guesses, the best first: what `compile` chooses by itself, then those of `Options.space`, in its order.

    Parameters
    ----------
    count : how many, at most.
    """
    first = default_options(graph, target)
    others = islice(Options.space(graph, target), count)
    return tuple(dict.fromkeys((first, *others)))[:count]
