"""How well the cost model orders tilings, on times that were measured: `results/tilings_h200.json`.

    python benchmarks/model.py             a table: what the first choice takes beside the best that was timed
    python benchmarks/model.py --fit       first fits the figures anew, to every other size, and prints them
    python benchmarks/model.py --residuals where the model's errors are: means by kinds of tilings

Sizes with even numbers are those that figures are fitted to; the others are held out. One short timing of each tiling
is off by some percent, so that the best of hundreds is a lucky one: a choice as good as the best has 1.02 or so.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import polyvolta as pv
from polyvolta.compiler.model.columns import Columns, columns_of
from polyvolta.compiler.model.fitting import Measured, fit, geomean, measured, quality
from polyvolta.compiler.needs import needs_of
from polyvolta.compiler.tiling import Tiling
from polyvolta.cuda.target.chips import Chip, Fitted, chips
from polyvolta.cuda.target.hopper import SM_90A
from polyvolta.graph.dag import Graph
from polyvolta.graph.plans.idioms import plan

TIMES = Path(__file__).parent / "results" / "tilings_h200.json"
TARGET = SM_90A
M, N, K = pv.sizes("M N K")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
P, Q = pv.tensor("P", (M, K)), pv.tensor("Q", (K, N), layout="col")
GRAPHS = {
    "A @ B": A @ B,
    "relu(A @ B + bias)": pv.relu(A @ B + pv.tensor("bias", (M, N))),
    "A @ B + P @ Q": A @ B + P @ Q,
    "relu(A) @ B": pv.relu(A) @ B,
}
FITTED = [n for n in Fitted.__slots__ if n not in ("function", "trip")]
"""What the times say something about."""


@dataclass(frozen=True, slots=True)
class Table:
    """A graph's times.

    Parameters
    ----------
    sizes : (M, N, K).
    data : the times.
    library : of torch.mm at each size, the lesser of two, in seconds.
    """

    sizes: list[tuple[int, int, int]]
    data: Measured
    library: np.ndarray

    def half(self, odd: int) -> Measured:
        """Every other size."""
        return self.data.of(range(odd, len(self.sizes), 2))


OPTIONS_OF_ROW = ("block_tile", "warp_tile", "buffers", "occupancy", "group", "split_k", "cluster", "persistent",
                  "swap", "fragments", "pingpong")  # fmt: skip
"""What a row of the file says of a tiling, in this order; rows of older runs end before the last."""


def row_of(options: pv.Options) -> list:
    """A tiling as a row of the file."""
    values = (getattr(options, name) for name in OPTIONS_OF_ROW)
    return [int(v) if isinstance(v, bool) else list(v) if isinstance(v, tuple) else v for v in values]


def tiling_of(row: list) -> Tiling:
    """A tiling of the file."""
    block, warp, buffers, occupancy, group, split, cluster, persistent, swap, fragments, in_turn = (*row, 0)[:11]
    n = warp[0] if swap else warp[1]
    return Tiling(tuple(block), tuple(warp), f"m64n{n}k16", split, buffers, "guard", "auto", buffers - 1, fragments,
                  group, occupancy, True, bool(persistent), bool(in_turn), bool(swap), tuple(cluster))  # fmt: skip


def read(path: Path = TIMES) -> dict[str, Table]:
    """The file's times by graph."""
    out = {}
    for name, table in json.loads(path.read_text())["graphs"].items():
        needs = needs_of(plan(Graph.of(GRAPHS[name.partition(",")[0]])))
        (columns,) = columns_of([tiling_of(row) for row in table["tilings"]], needs, TARGET)
        times = [(t, s, us * 1e-6) for s, row in enumerate(table["us"]) for t, us in enumerate(row) if us]
        sizes = [tuple(size) for size in table["sizes"]]
        work = [(m, n, (k,) * len(needs.extents)) for m, n, k in sizes]
        out[name] = Table(sizes, measured(needs, columns, work, times), 1e-6 * np.min(table["library"], axis=1))
    return out


def report(tables: dict[str, Table], chip: Chip) -> None:
    """A line for each graph and half of the sizes."""
    print("| what | sizes | first choice / best | at most | one of the first 16 within 2 % | torch.mm / first choice |")
    print("|---|---|---|---|---|---|")
    for name, table in tables.items():
        for odd, half in enumerate(("fitted to", "held out")):
            found = quality(table.half(odd), chip)
            own = table.half(odd)
            ratio = geomean(table.library[odd::2] / (found.first * own.best)) if name == "A @ B" else None
            print(f"| {name}, {half} | {len(found.first)} | {geomean(found.first):.3f} | {found.first.max():.2f} | "
                  f"{np.sum(found.among <= 1.02)} | {'' if ratio is None else f'{ratio:.3f}'} |")  # fmt: skip


KINDS: dict[str, Callable[[Columns], np.ndarray]] = {
    "rows of a block": lambda c: c.rows, "columns": lambda c: c.cols, "warpgroups": lambda c: c.makers,
    "persistent": lambda c: c.persistent, "swap": lambda c: c.swap, "blocks beside": lambda c: c.beside,
    "parts of K": lambda c: c.parts, "cluster": lambda c: 10 * c.high + c.wide, "buffers": lambda c: c.buffers,
}  # fmt: skip


def residuals(table: Table, chip: Chip) -> Iterator[str]:
    """Mean errors of tilings within 1.6 of the best of their size, beside their size's own mean."""
    data = table.data
    error = np.log(data.predicted(chip) / data.seconds)
    near = data.seconds < 1.6 * data.best[data.size]
    mean = np.bincount(data.size, near * error) / np.bincount(data.size, near)
    for name, value in KINDS.items():
        found = defaultdict(list)
        for v, e in zip(value(data.columns)[near], (error - mean[data.size])[near], strict=True):
            found[int(v)].append(e)
        yield f"{name}: " + ", ".join(f"{v}: {np.mean(e):+.3f} ({len(e)})" for v, e in sorted(found.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", action="store_true", help="fit anew")
    parser.add_argument("--residuals", action="store_true", help="errors by kinds of tilings")
    args = parser.parse_args()
    tables, chip = read(), chips["H200"]
    if args.fit:
        chip = fit(chip, [table.half(0) for table in tables.values()], FITTED)
        print(", ".join(f"{n}={getattr(chip.warpgroups, n):.3g}" for n in Fitted.__slots__))
    report(tables, chip)
    if args.residuals:
        print(*residuals(tables["A @ B"], chip), sep="\n")


if __name__ == "__main__":
    main()
