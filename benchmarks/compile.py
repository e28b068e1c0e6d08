"""From graph to CUDA text: seconds by stage over the matrix of kernels, in a warm process and in a cold one.

    python benchmarks/compile.py [--every 3] [--forget]

Warm is a process that has compiled one kernel before; then every kernel of the matrix (`combinations.py`) is compiled
once, in a random order, so each is new to the process. With `--forget` everything that the package has memoised is
dropped before each kernel. Cold is a fresh interpreter, imports included. Memory is the most that the process ever had.
Prints Markdown tables; medians over the kernels of a group, in milliseconds.
"""

from __future__ import annotations

import argparse
import functools
import gc
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable

from combinations import Combination, chosen

import polyvolta as pv

COLUMNS = {
    "trees": ("initial", "block_tiled", "hoisted", "warp_tiled", "mapped", "strip_mined", "contracted"),
    "promoted": ("promoted",),
    "prefetched": ("prefetched",),
    "loops, text": ("text",),
    "total": ("initial", "block_tiled", "hoisted", "warp_tiled", "mapped", "strip_mined", "contracted",
              "promoted", "prefetched", "text"),
}  # fmt: skip
COLD = """
import time; start = time.perf_counter()
import polyvolta as pv
M, N, K, L = pv.sizes("M N K L")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
P, Q = pv.tensor("P", (M, L)), pv.tensor("Q", (L, N), layout="col")
pv.compile({graph}).source
import resource
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
COLD_GRAPHS = {
    "A @ B": "A @ B",
    "relu(A @ B + bias)": 'pv.relu(A @ B + pv.tensor("bias", (N,)))',
    "A @ B + P @ Q, different depths": "A @ B + P @ Q",
}


def forget() -> None:
    """Empty every memo of the package."""
    for found in gc.get_objects():
        if isinstance(found, functools._lru_cache_wrapper) and (found.__module__ or "").startswith("polyvolta"):
            found.cache_clear()


def stages(kernel: Combination) -> dict[str, float]:
    """Seconds of each stage of one compilation; the graph counts with the first tree, `text` follows the last."""
    marks: list[tuple[str, float]] = []
    start = time.perf_counter()
    pv.compile(kernel.outputs(), options=kernel.options, progress=lambda s: marks.append((s, time.perf_counter())))
    marks.append(("text", time.perf_counter()))
    ends = [start, *(at for _, at in marks)]
    return {name: end - begin for (name, _), begin, end in zip(marks, ends, ends[1:], strict=False)}


def row(name: str, runs: Iterable[dict[str, float]]) -> str:
    """A line of the table: medians in milliseconds, and the largest total."""
    runs = list(runs)
    sums = {c: [1000 * sum(r.get(s, 0) for s in stages) for r in runs] for c, stages in COLUMNS.items()}
    cells = [f"{statistics.median(sums[c]):.0f}" for c in COLUMNS]
    return f"| {name} | {len(runs)} | {' | '.join(cells)} | {max(sums['total']):.0f} |"


def memory() -> float:
    """The most memory that the process ever had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="take every n-th kernel of the matrix")
    parser.add_argument("--forget", action="store_true", help="drop all memos before each kernel")
    parser.add_argument("--cold", type=int, default=5, help="fresh processes per graph")
    args = parser.parse_args()
    kernels = list(chosen("", f"1/{args.every}"))
    random.Random(0).shuffle(kernels)
    stages(kernels[0])
    runs: dict[str, list[dict[str, float]]] = {}
    for kernel in kernels[1:]:
        if args.forget:
            forget()
        runs.setdefault(kernel.idiom.group, []).append(stages(kernel))
    print(f"warm process{', nothing memoised' if args.forget else ''}: milliseconds, medians\n")
    print(f"| idioms | kernels | {' | '.join(COLUMNS)} | largest total |")
    print("|---" * (len(COLUMNS) + 3) + "|")
    for group, found in sorted(runs.items()):
        print(row(group, found))
    print(row("all", (r for found in runs.values() for r in found)))
    print(f"\nmost memory: {memory():.0f} MB\n")
    print("| cold process, imports included | seconds, median | most memory, MB |")
    print("|---|---|---|")
    for name, graph in COLD_GRAPHS.items():
        command = [sys.executable, "-c", COLD.format(graph=graph)]
        out = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(args.cold)]
        seconds, megabytes = zip(*(map(float, o.split()) for o in out), strict=True)
        print(f"| `{name}` | {statistics.median(seconds):.2f} | {max(megabytes):.0f} |")


if __name__ == "__main__":
    main()
