"""What several tilings in one kernel are worth, on times that were measured: `results/tilings_h200.json`.

    python benchmarks/variants.py

For each number of variants a list of decisions is made for every other size, once with the costs that the model
predicts there, and once with the times themselves; and both are looked at with the times of the other sizes. The
figures are geometric means of what the list's choice takes beside the best of all tilings timed; one short timing of
each is off by some percent, so that the best of hundreds is a lucky one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from model import GRAPHS, TARGET, Table, read

from polyvolta.compiler.needs import needs_of
from polyvolta.compiler.tiling import Tiling
from polyvolta.compiler.variants.chosen import predicted
from polyvolta.compiler.variants.search import Box, boxes_of, losses_of
from polyvolta.cuda.target.chips import chips
from polyvolta.graph.dag import Graph
from polyvolta.graph.plans.idioms import plan

FEW = (1, 2, 3, 5)
Array = np.ndarray[Any, Any]


def times_of(table: Table) -> tuple[list[Tiling], Array]:
    """The tilings, and their seconds, (sizes, tilings); infinite where one wasn't timed."""
    data = table.data
    known = {tiling: at for at, tiling in enumerate(dict.fromkeys(data.columns.tilings))}
    out = np.full((len(table.sizes), len(known)), np.inf)
    out[data.size, [known[tiling] for tiling in data.columns.tilings]] = data.seconds
    return list(known), out


def taken(boxes: Sequence[Box], points: Array) -> Array:
    """The tiling that a list takes at each point."""
    out = np.full(len(points), -1)
    for box in boxes:
        held = np.ones(len(points), bool)
        for along, (low, high) in zip(points.T, box.bounds, strict=True):
            held &= (low is None or along >= low) & (high is None or along <= high)
        out[held] = box.choice
    return out


def rows(name: str, table: Table) -> list[str]:
    """A line of the table for each number of variants."""
    (tilings, times), needs = times_of(table), needs_of(plan(Graph.of(GRAPHS[name])))
    whole = np.isfinite(times).all(axis=0)  # a list may take any of them anywhere
    tilings = [t for t, kept in zip(tilings, whole, strict=True) if kept]
    sizes = [dict(zip("MNK", size, strict=True)) for size in table.sizes]
    costs = predicted(needs, TARGET, chips["H200"])(tilings, sizes)
    points = np.array([(m, n, k, m * n) for m, n, k in table.sizes])
    best, times = times.min(axis=1), times[:, whole]
    out = []
    for few in FEW:
        found = []
        for weighed in (costs, times):
            boxes = boxes_of(points[::2], losses_of(weighed[::2]), few)
            seconds = times[np.arange(len(points)), taken(boxes, points)]
            found += [len(boxes), *(np.exp(np.log(seconds / best)[half::2].mean()) for half in (0, 1))]
            if weighed is costs and name == "A @ B":
                ratio = np.exp(np.log(table.library / seconds)[1::2].mean())
        library = f"{ratio:.3f}" if name == "A @ B" else ""
        rules, own, other, of_times, own_of_times, other_of_times = found
        out.append(f"| {name} | {few} | {rules} | {own:.3f} | {other:.3f} | {of_times} | {own_of_times:.3f} | "
                   f"{other_of_times:.3f} | {library} |")  # fmt: skip
    return out


def main() -> None:
    print("| what | variants | rules, by the model | own sizes | others | rules, by times | own sizes | others "
          "| torch.mm / by the model, others |")  # fmt: skip
    print("|" + "---|" * 9)
    for name, table in read().items():
        print(*rows(name, table), sep="\n")


if __name__ == "__main__":
    main()
