"""PolyBench on a processor: gcc -O3 of the loops as written, our schedules, and C that was tiled by hand.

    python benchmarks/processor.py [--only gemm,lu] [--repeat 5] [--small]

Three programs of each kernel are compiled by one compiler with the same flags (`-O3 -march=native`, no contraction, one
thread) and run turn by turn in one process, so that what else the machine does meets all three alike:

- `plain`: the loops as written, arrays `restrict`;
- `ours`: the scheduler's tree as `examples/polybench/processor.py` arranges it, by `compile_c`;
- `by hand`: `examples/polybench/hand_tiled.c`.

All three must leave the same bits in all arrays, or the program ends with an error. The times are medians of processor
seconds; what counts are their ratios. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from examples.polybench import KERNELS, Kernel  # noqa: E402
from examples.polybench.by_hand import by_hand  # noqa: E402
from examples.polybench.processor import RECIPES  # noqa: E402
from polyvolta.sched import Compiled, compile_c, schedule  # noqa: E402


def programs(kernel: Kernel) -> dict[str, Compiled]:
    """The three programs of a kernel by name; without the one by hand where nobody wrote it."""
    program = kernel.program
    tree = RECIPES[kernel.name](program, schedule(program))
    found = {"plain": compile_c(program), "ours": compile_c(tree, program)}
    if (hand := by_hand(program)) is not None:
        found["by hand"] = hand
    return found


def seconds(kernel: Kernel, sizes: dict[str, int], repeat: int) -> dict[str, float]:
    """Median processor seconds of each program, turn by turn; ends the program where results differ."""
    found = programs(kernel)
    times: dict[str, list[float]] = {name: [] for name in found}
    for _ in range(repeat):
        expected: dict | None = None
        for name, run in found.items():
            arguments = kernel.arguments(sizes)
            start = time.thread_time()
            run(**arguments)
            times[name].append(time.thread_time() - start)
            expected = expected or arguments
            different = [a for a in kernel.data if not np.array_equal(arguments[a], expected[a])]
            if different:
                sys.exit(f"{kernel.name}, {name}: {', '.join(different)} differ from what the loops as written compute")
    return {name: statistics.median(t) for name, t in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="kernels, separated by commas")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="at the tests' sizes")
    args = parser.parse_args()
    print("| kernel | sizes | plain, s | ours, times as fast | by hand | ours beside by hand |")
    print("|---|---|---|---|---|---|")
    for name in args.only.split(",") if args.only else RECIPES:
        kernel = KERNELS[name]
        sizes = kernel.sizes if args.small else kernel.large
        found = seconds(kernel, sizes, args.repeat)
        said = ", ".join(f"{p}={v}" for p, v in sizes.items())
        plain, ours, hand = found["plain"], found["ours"], found.get("by hand")
        beside = ("–", "–") if hand is None else (f"{plain / hand:.2f}", f"{hand / ours:.2f}")
        print(f"| {name} | {said} | {plain:.3f} | {plain / ours:.2f} | {' | '.join(beside)} |", flush=True)


if __name__ == "__main__":
    main()
