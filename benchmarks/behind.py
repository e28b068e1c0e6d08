"""Where the tuned kernels of an evaluation are most behind: counters of the hardware, beside those of the library's.

    python benchmarks/behind.py FOLDER [--count 10] [--target sm_90a]

Of the rows of FOLDER/evaluation.csv those with the least ratios are run once more under Nsight Compute (`ncu`), on
random data at the clocks that the GPU has, caches warm: our kernel, then what it is behind, kernel by kernel. Two lines
of a table, or more, for each: how long, how many blocks and waves of them, and how busy each part is, in per cent of
what it can do at most. Whatever is near 100 is the limit; where nothing is, it is latency, or multiprocessors without
work. FOLDER/behind.csv has all that ncu says; the tables of docs/evaluation.md are made from it.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import gpu_counters

from polyvolta.evaluation import records, tables
from polyvolta.evaluation.benchmarks import benchmark
from polyvolta.evaluation.report import CSV
from polyvolta.evaluation.spelling import read_options, short

COUNTERS = {
    "us": "gpu__time_duration.sum",
    "blocks": "launch__grid_size",
    "waves": "launch__waves_per_multiprocessor",
    "registers": "launch__registers_per_thread",
    "SM active": "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
    "tensor pipe": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "while active": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "issue slots": "sm__inst_issued.avg.pct_of_peak_sustained_active",
    "L2": "lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
    "L2 hits": "lts__t_sector_hit_rate.pct",
    "L2 MB": "lts__t_bytes.sum",
    "DRAM": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "DRAM MB": "dram__bytes.sum",
}
SCALES = {"us": 1e-3, "L2 MB": 1e-6, "DRAM MB": 1e-6}
OURS = "kern0"
CSV_OF_COUNTERS = "behind.csv"
CASE = ("target", "benchmark", "sizes", "tuned", "side")
"""Columns that say in the file whose counters these are."""

Case = tuple[records.Row, str, float]


def launches(cases: list[Case]) -> None:
    """Under ncu: both sides of every case, each warmed up before the range that is profiled."""
    import torch
    from searched_library import Given

    import polyvolta as pv
    from polyvolta.evaluation.library import Gpu

    library, gpu = Given(), Gpu()
    for row, side, _ in cases:
        b, arrays = benchmark(row.benchmark), gpu.arrays(row.sizes)
        target = gpu.like_this(pv.targets[row.target])
        kernel = pv.compile(b.expression, target, read_options(row.tuned))
        ours = gpu.bound(kernel, b, arrays)
        theirs = library.chain(b, arrays) if side == "chain" else library.called(row.best, b, arrays)
        with torch.cuda.stream(gpu.stream):
            for run in (ours, theirs):
                for _ in range(3):
                    run()
                gpu_counters.counted(run)


def by_case(profiled: Sequence[dict[str, str]]) -> list[list[dict[str, str]]]:
    """Kernels of each case: ours begins one.

    >>> by_case([{"Kernel Name": name} for name in ("kern0", "x", "y", "kern0", "z")])[1]
    [{'Kernel Name': 'kern0'}, {'Kernel Name': 'z'}]
    """
    out: list[list[dict[str, str]]] = []
    for kernel in profiled:
        if kernel["Kernel Name"].startswith(OURS):
            out.append([])
        out[-1].append(kernel)
    return out


def table(cases: Sequence[Case], profiled: Sequence[dict[str, str]]) -> str:
    """Of all kernels of all cases, Markdown."""
    lines: list[list[str]] = []
    for (row, side, ratio), kernels in zip(cases, by_case(profiled), strict=True):
        b = benchmark(row.benchmark)
        what = f"{b.title}, {' x '.join(map(str, row.sizes))}"
        beside = row.best if side == "best" else b.chain
        for n, kernel in enumerate(kernels):
            name = short(read_options(row.tuned)) if n == 0 else f"{beside}: {kernel['Kernel Name'][:60]}"
            lines.append(["" if n else what, "" if n else f"{ratio:.3f}", name, *cells(kernel)])
    return tables.markdown(["computation", "ratio", "kernel", *COUNTERS], lines)


def named(case: Case) -> dict[str, str]:
    """Whose counters, as the file says it."""
    row, side, _ = case
    values = row.target, row.benchmark, "x".join(map(str, row.sizes)), row.tuned, side
    return dict(zip(CASE, values, strict=True))


def of_rows(rows: Sequence[records.Row], target: str, profiled: Sequence[dict[str, str]]) -> str:
    """The table again, of what was kept: those cases that are still among the rows, with the same kernel."""
    mine = [r for r in rows if r.target == target]
    known = {tuple(named(case).values()): case for case in tables.behind(mine, 2 * len(mine))}
    pairs = [(known.get(tuple(kernels[0].get(c, "") for c in CASE)), kernels) for kernels in by_case(profiled)]
    there = [(case, kernels) for case, kernels in pairs if case is not None]
    return table([case for case, _ in there], [k for _, kernels in there for k in kernels])


def kept(path: Path) -> list[dict[str, str]]:
    """What ncu said, from a file; nothing where there is none."""
    if not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def cells(kernel: dict[str, str]) -> Iterator[str]:
    """Of the counters; a question mark for what the chip hasn't."""
    for what, counter in COUNTERS.items():
        try:
            value = float(kernel[counter].replace(",", "")) * SCALES.get(what, 1)
        except (KeyError, ValueError):
            yield "?"
            continue
        yield f"{value:.0f}" if what in ("blocks", "registers") else f"{value:.1f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of an evaluation")
    parser.add_argument("--count", type=int, default=10, help="how many cases")
    parser.add_argument("--target", default="sm_90a", help="whose kernels")
    args = parser.parse_args()
    rows = [r for r in records.read(args.folder / CSV) if r.target == args.target]
    cases: Any = tables.behind(rows, args.count)
    if os.environ.get(gpu_counters.PROFILED):
        launches(cases)
        return 0
    profiled = gpu_counters.profiled(COUNTERS.values(), "--cache-control", "none")
    if profiled is None:
        return 1
    with open(args.folder / CSV_OF_COUNTERS, "w", newline="", encoding="utf-8") as file:
        wanted = [*CASE, "Kernel Name", *COUNTERS.values()]
        lines = csv.DictWriter(file, wanted, extrasaction="ignore", lineterminator="\n")
        lines.writeheader()
        for case, kernels in zip(cases, by_case(profiled), strict=True):
            lines.writerows(named(case) | kernel for kernel in kernels)
    print(table(cases, profiled))
    return 0


if __name__ == "__main__":
    sys.exit(main())
