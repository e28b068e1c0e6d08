"""What `compile` asks: whether somebody has tuned this computation, at these sizes, on the GPU at hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from polyvolta.compiler.needs import needs_of
from polyvolta.compiler.options import Options, complete
from polyvolta.compiler.remembered.entries import best_of
from polyvolta.compiler.remembered.key import called, key_of
from polyvolta.cuda.devices import gpu_here
from polyvolta.graph.plans.idioms import plan
from polyvolta.sets import PolyvoltaError

if TYPE_CHECKING:
    from polyvolta.cuda.target.target import Target
    from polyvolta.graph.dag import Graph


def remembered(graph: Graph, target: Target, sizes: Mapping[str, int]) -> Options | None:
    """The options that were the fastest when this was tuned; None where it wasn't, or where sizes are not known.

    Of a run that was stopped it is the fastest so far.

    Cost: a look at a folder; where there is a file, some ms, and the start of the GPU's driver.
    """
    if sizes.keys() != set(graph.params) or not all(hasattr(v, "__index__") for v in sizes.values()):
        return None
    from polyvolta.compiler.remembered.store import Store  # which brings in a database

    store = Store.here()
    if not store.exists or (gpu := gpu_here()) is None:
        return None
    key = key_of(graph, called(target), sizes, gpu.name)
    ended = store.finished(key)
    best = ended.winner if ended else best_of(store.entries(key))
    return best and _legal(best.options, graph, target)


def _legal(options: Options, graph: Graph, target: Target) -> Options | None:
    """The options, if a kernel can be made with them: a target of the same name may have had more."""
    try:
        return complete(options, needs_of(plan(graph, options.accumulators)), target)
    except PolyvoltaError:
        return None
