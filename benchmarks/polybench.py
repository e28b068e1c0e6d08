"""PolyBench through the compiler: what the scheduler finds, how long each step takes, and how fast the code runs.

    python benchmarks/polybench.py [--only gemm,lu] [--tile 32] [--no-runs] [--small]

For each kernel: its statements and dependences; the bands of the tree that the scheduler finds, `4 (3)` for a band of 4
members of which 3 are coincident (parallel), `*` for a skewed one and `-` for one that is not permutable; processor
time in milliseconds of the dependences, the schedule, tiling every permutable band and generating C, each on a fresh
program with every memo empty; lines of that C.

Then, where there is a C compiler, processor seconds of compiled loops at large sizes: the original ones; those tiled
as the scheduler found them; and those that are arranged for running (`arranged` in examples/polybench/tiling.py):
nests tiled, the loop with the shortest strides innermost, full tiles apart. The arrays that all three leave behind must
be equal bit by bit, or the program ends with an error. Prints Markdown tables.
"""

from __future__ import annotations

import argparse
import gc
import shutil
import statistics
import sys
import time
from dataclasses import dataclass
from functools import _lru_cache_wrapper
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from examples.polybench import KERNELS, Kernel  # noqa: E402
from examples.polybench.tiling import arranged, shape, tiled  # noqa: E402
from polyvolta.sched import Schedule, dependences, execute, scan, schedule, to_c  # noqa: E402


@dataclass(frozen=True)
class Steps:
    """What one trip from the program to C found, and the seconds of its steps."""

    dependences: int
    tree: Schedule
    lines: int
    seconds: tuple[float, float, float, float]


def forget() -> None:
    """Empty every memo of the package."""
    for memo in gc.get_objects():
        if isinstance(memo, _lru_cache_wrapper) and (memo.__module__ or "").startswith("polyvolta"):
            memo.cache_clear()


def compiled(kernel: Kernel, size: int) -> Steps:
    """From the program to C, each step timed."""
    forget()
    marks = [time.thread_time()]

    def done(result):
        marks.append(time.thread_time())
        return result

    program = kernel.program
    known = done(dependences(program))
    tree = done(schedule(program, dependences=known))
    tiles = done(tiled(tree, size))
    text = done(to_c(scan(tiles, context=program.context)))
    seconds = tuple(b - a for a, b in zip(marks, marks[1:]))
    return Steps(len(known), tree, len(text.splitlines()), seconds)  # type: ignore[arg-type]


def run_seconds(kernel: Kernel, trees: list[Schedule], sizes: dict[str, int], repeat: int) -> list[float]:
    """Median processor seconds of the compiled loops of some trees, turn by turn.

    Ends the program if the arrays that one leaves behind are not those of the first.
    """
    times: list[list[float]] = [[] for _ in trees]
    for tree in trees:
        execute(kernel.program, tree, **kernel.arguments(), using="c")  # compiles
    for _ in range(repeat):
        expected: dict | None = None
        for tree, found in zip(trees, times):
            arguments = kernel.arguments(sizes)
            start = time.thread_time()
            execute(kernel.program, tree, **arguments, using="c")
            found.append(time.thread_time() - start)
            expected = expected or arguments
            different = [a for a in kernel.data if not np.array_equal(arguments[a], expected[a])]
            if different:
                sys.exit(f"{kernel.name}: {', '.join(different)} differ from what the original loops compute")
    return [statistics.median(t) for t in times]


def progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[2K{text}", end="", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="kernels, separated by commas")
    parser.add_argument("--tile", type=int, default=32)
    parser.add_argument("--no-runs", action="store_true", help="leave out the compiled runs")
    parser.add_argument("--small", action="store_true", help="compiled runs at the tests' sizes")
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    chosen = [KERNELS[n] for n in (args.only.split(",") if args.only else KERNELS)]
    found: dict[str, Schedule] = {}
    print("| kernel | statements | dependences | bands | dependences, ms | schedule | tiling | C | lines of C |")
    print("|---|---|---|---|---|---|---|---|---|")
    for k, kernel in enumerate(chosen):
        progress(f"{k + 1}/{len(chosen)} {kernel.name}")
        steps = compiled(kernel, args.tile)
        found[kernel.name] = steps.tree
        times = " | ".join(f"{s * 1e3:.0f}" for s in steps.seconds)
        progress("")
        print(
            f"| {kernel.name} | {len(kernel.program.statements)} | {steps.dependences} "
            f"| {shape(kernel.program, steps.tree)} | {times} | {steps.lines} |",
            flush=True,
        )
    if args.no_runs or shutil.which("cc") is None:
        return
    print("\n| kernel | sizes | original, s | tiled | arranged | times as fast |\n|---|---|---|---|---|---|")
    for k, kernel in enumerate(chosen):
        sizes = kernel.sizes if args.small else kernel.large
        progress(f"{k + 1}/{len(chosen)} {kernel.name}: running")
        trees = [
            kernel.program.schedule,
            tiled(found[kernel.name], args.tile),
            arranged(kernel.program, found[kernel.name], args.tile),
        ]
        before, after, best = run_seconds(kernel, trees, sizes, args.repeat)
        said = ", ".join(f"{p}={v}" for p, v in sizes.items())
        progress("")
        print(
            f"| {kernel.name} | {said} | {before:.3f} | {after:.3f} | {best:.3f} | {before / best:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
