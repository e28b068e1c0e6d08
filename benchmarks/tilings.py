"""Times of many tilings at many sizes, which the cost model's figures are fitted to: `results/tilings_h200.json`.

    python benchmarks/tilings.py --only gemm_bias_relu --sizes 100 --most 250 --minutes 3 --out tilings.json

The tilings are those that the model takes for the fastest at any of the sizes, those first that it ranks first at most
of them, and some that are spread evenly over all others. A time is the lesser of two replays of a CUDA graph of a few
launches, on random data; torch.mm is timed before and after those of a size. With its options each tiling has the
registers that the compiler reports, and the bytes that it spills. A kernel whose result is wrong isn't timed.

`model.py` reads the file; `--into FILE` replaces a graph's table in it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from model import GRAPHS, OPTIONS_OF_ROW, row_of

import polyvolta as pv
from polyvolta.compiler.options import Options
from polyvolta.evaluation import ahead
from polyvolta.evaluation.benchmarks import Benchmark, Sizes, benchmark, draw
from polyvolta.evaluation.choices import spread
from polyvolta.evaluation.course import MOST_ERROR, ODD
from polyvolta.evaluation.library import Gpu

FIRST = 24
"""Of each size so many first ones count."""
SHARE = 0.75
"""Of the tilings that are timed, those that the model ranks first somewhere."""
SLOW = 1 << 22
"""Results with so many values aren't computed by tiles of less than 80 x 80."""
NAMES = dict(zip(("gemm", "gemm_bias_relu", "add", "relu_gemm"), GRAPHS, strict=True))


def chosen(b: Benchmark, target: Any, sizes: Sequence[Sizes], most: int) -> list[Options]:
    """The tilings that are timed."""
    often: Counter[Options] = Counter()
    for s in sizes:
        ranked = list(Options.space(b.expression, target, **dict(zip("MNK", s, strict=True))))
        for n, options in enumerate(ranked[:FIRST]):
            often[options] += FIRST - n
    front = [o for o, _ in often.most_common(int(most * SHARE))]
    others = [o for o in sorted(ranked, key=astuple) if o not in often]
    return front + spread(others, most - len(front), key=astuple)[-(most - len(front)) :]


def timed(b: Benchmark, target: Any, sizes: Sequence[Sizes], most: int, jobs: int | None, until: float) -> dict:
    """A graph's table, as the file has it."""
    gpu, kernels, spilt = Gpu(), {}, {}
    tasks = [ahead.Task(b.name, options, target) for options in chosen(b, target, sizes, most)]
    arrays = gpu.arrays(ODD)
    right = gpu.exact(b, arrays)
    for n, (task, made) in enumerate(ahead.kernels(tasks, gpu.arch, jobs), 1):
        print(f"\r[{n} of {len(tasks)}] kernels", end="", file=sys.stderr)
        if isinstance(made, str):
            print(f"\n{made}", file=sys.stderr)
            continue
        gpu.load(made.kernel, made.code)
        error = gpu.error(made.kernel, b, arrays, right)
        if error > MOST_ERROR:
            print(f"\n{task.options}: relative error {error:.1e}", file=sys.stderr)
            continue
        used = made.code.resources(made.kernel.name)
        kernels[task.options] = made.kernel
        spilt[task.options] = [used.registers, (used.spill_stores or 0) + (used.spill_loads or 0)]
    out: dict[str, Any] = {"tilings": [row_of(o) for o in kernels], "registers": list(spilt.values()), "sizes": [],
                           "library": [], "us": []}  # fmt: skip
    for n, s in enumerate(sizes, 1):
        if time.monotonic() > until:
            print(f"\nout of time: {n - 1} of {len(sizes)} sizes", file=sys.stderr)
            break
        rows = at_a_size(gpu, b, s, kernels)
        for key, value in zip(("sizes", "library", "us"), (list(s), *rows), strict=True):
            out[key].append(value)
        print(f"\r[{n} of {len(sizes)}] sizes", end="", file=sys.stderr)
    return out


def at_a_size(gpu: Gpu, b: Benchmark, s: Sizes, kernels: dict[Options, Any]) -> tuple[list[float], list[float]]:
    """Microseconds of torch.mm, before and after, and of each kernel; 0 where it isn't timed."""
    import torch

    arrays = gpu.arrays(s)
    count = max(3, min(10, int(6e11 / b.operations(s))))
    mm = gpu.graph(lambda: torch.mm(arrays["A"], arrays["B"], out=arrays["C"]), count)
    library, us = [min(gpu.microseconds(mm, count))], []
    for options, kernel in kernels.items():
        if s[0] * s[1] > SLOW and options.block_tile[0] * options.block_tile[1] < 80 * 80:
            us.append(0)
            continue
        graph = gpu.graph(gpu.bound(kernel, b, arrays), count)
        us.append(round(min(gpu.microseconds(graph, count)), 2))
    library.append(min(gpu.microseconds(mm, count)))
    return [round(t, 2) for t in library], us


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="gemm_bias_relu", choices=tuple(NAMES), help="the computation")
    parser.add_argument("--sizes", type=int, default=100, help="how many random sizes")
    parser.add_argument("--seed", type=int, default=7, help="of the sizes")
    parser.add_argument("--most", type=int, default=250, help="tilings at most")
    parser.add_argument("--minutes", type=float, default=10, help="after which no size is begun")
    parser.add_argument("--jobs", type=int, help="kernels that are compiled side by side")
    parser.add_argument("--out", type=Path, default=Path("tilings.json"), help="where this graph's table goes")
    parser.add_argument("--into", type=Path, help="a file whose table of this graph is replaced by that of --out")
    args = parser.parse_args()
    if args.into is not None:
        whole = json.loads(args.into.read_text())
        whole["options"] = list(OPTIONS_OF_ROW)
        whole["graphs"][NAMES[args.only]] = json.loads(args.out.read_text())
        args.into.write_text(json.dumps(whole, separators=(",", ":")) + "\n")
        return
    until = time.monotonic() + 60 * args.minutes
    target = pv.targets["sm_90a"]
    found = timed(benchmark(args.only), target, draw(args.sizes, args.seed), args.most, args.jobs, until)
    args.out.write_text(json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
