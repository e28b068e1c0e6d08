"""The tilings of a graph, those first that the model takes for the fastest at given sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from polyvolta.compiler.model.candidates import candidates
from polyvolta.compiler.model.columns import Columns, columns_of
from polyvolta.compiler.model.cost import Cost, predict_all
from polyvolta.compiler.model.sizes import work_of
from polyvolta.compiler.needs import Needs, needs_of
from polyvolta.cuda.target.chips import Chip, chip_of
from polyvolta.cuda.target.registry import require, target_of
from polyvolta.graph.dag import Graph
from polyvolta.graph.plans.idioms import plan

if TYPE_CHECKING:
    from polyvolta.compiler.tiling import Tiling
    from polyvolta.cuda.target.target import Target
    from polyvolta.graph.dag import Outputs


def rank(
    graph: Outputs | Graph,
    target: str | Target,
    sizes: Mapping[str, int],
    chip: Chip | None = None,
    limit: int | None = None,
    given: Mapping[str, Any] | None = None,
) -> list[tuple[Tiling, Cost]]:
    """Tilings worth trying and what each is predicted to take, the fastest first.

    Parameters
    ----------
    sizes : of products, by name; those that are numbers in the graph are known.
    chip : the GPU; None: the one at hand if it is known, else the one that the target's kernels are made for.
    limit : how many of them; None: all.
    given : options that all of them have, by name.

    Raises
    ------
    BadSizes : a size is missing, unknown or no number.
    Unsupported, UnknownTarget, NoInstruction : as in `compile`.

    Cost: some 10 ms; for the first graph of its kind that of `candidates`, some tenths of a second.

    >>> import polyvolta as pv
    >>> M, N, K = pv.sizes("M N K")
    >>> product = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
    >>> best, cost = rank(product, "sm_90a", {"M": 8192, "N": 8192, "K": 8192}, limit=1)[0]
    >>> best.block_tile[0] * best.block_tile[1] >= 128 * 128, best.persistent
    (True, True)
    """
    graph, target, given = Graph.of(graph), target_of(target), given or {}
    needs = needs_of(plan(graph, given.get("accumulators", "auto")))
    require(target, (needs.turned if given.get("swap") else needs).layouts, needs.kind)
    work = work_of(needs, sizes)
    chip = chip or chip_of(target)
    found: list[tuple[Columns, int]] = []
    seconds: list[float] = []
    weighed = []
    for columns in weighable(needs, target, chip, given):
        settled = [i for i, t in enumerate(columns.tilings) if not undecided(t, needs)]
        if len(settled) < len(columns):
            columns = columns.take(settled)
        costs = predict_all(columns, needs, chip, work)
        found += [(columns, i) for i in range(len(columns))]
        seconds += costs.seconds.tolist()
        weighed += [costs] * len(columns)
    first = np.argsort(np.array(seconds), kind="stable")[:limit]
    return [(found[i][0].tilings[found[i][1]], weighed[i][found[i][1]]) for i in first]


def undecided(tiling: Tiling, needs: Needs) -> bool:
    """Whether not everything can be proved of a kernel, for the numbers among the graph's sizes.

    Blocks that compute tile after tile go through rings by loops over k tiles: a sum that is known to be one tile long
    has none, and behind one whose length is a symbol nobody knows which slot it is in.
    """
    depths = [k for *_, k in needs.extents]
    short = any(isinstance(k, int) and k <= tiling.block_tile[2] for k in depths)
    return tiling.persistent and (short or len({isinstance(k, int) for k in depths}) > 1)


def weighable(needs: Needs, target: Target, chip: Chip, given: Mapping[str, Any] | None = None) -> list[Columns]:
    """The columns of all candidates that a chip has shared memory for; made once."""
    known = replace(needs, sizes=(None, None, 0), longest=None, extents=())
    return _weighable(known, target, chip.shared_bytes, frozenset((given or {}).items()))


@lru_cache(maxsize=64)
def _weighable(needs: Needs, target: Target, shared: int, fixed: frozenset[tuple[str, Any]]) -> list[Columns]:
    fitting = [t for t in candidates(needs, target, dict(fixed)) if t.shared_bytes(needs, target) <= shared]
    return columns_of(fitting, needs, target.of_kind(needs.kind)) if fitting else []
