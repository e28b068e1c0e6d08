"""How long compiling, proving and interpreting take here and in another checkout, turn by turn in one run.

    git worktree add ../before COMMIT
    python benchmarks/beside.py ../before [--part 1/60] [--repeat 3] [--only gated]

Each checkout has a process of its own, which imports its own package and its own matrix (`combinations.py`). For every
kernel both compile, verify and interpret it in turn; the order of the two alternates. `start` is a fresh process that
imports the package and compiles a product. Times are processor time, medians of the repetitions, so that what else the
machine does changes little. Ratios are this checkout's time over the other's; below 1 this one is faster.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
START = """
import polyvolta as pv
M, N, K = pv.sizes("M N K")
pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"))
"""
STEPS = ("compile", "verify", "interpret", "all observers")
SIZE = 128  # of every dimension of an interpreted kernel


def serve() -> None:
    """A process of one checkout: names of kernels in, seconds of each step out."""
    import combinations
    import numpy as np

    by_name = {c.name: c for c in combinations.combinations()}
    for line in sys.stdin:
        c = by_name[line.rstrip("\n")]
        c.compile()  # what a session learns of the graph and its sets
        seconds = []

        def timed(work, *given, seconds=seconds, **named):
            before = time.process_time()
            result = work(*given, **named)
            seconds.append(time.process_time() - before)
            return result

        kernel = timed(c.compile)
        timed(kernel.verify)
        rng = np.random.default_rng(0)
        arrays = dict.fromkeys(kernel.ir.scalars, 0.5)
        for t in kernel.graph.inputs:
            shape = [d if isinstance(d, int) else SIZE for d in t.dims]
            arrays[t.name] = np.array(rng.standard_normal(shape), np.float16, order="F" if t.layout == "col" else "C")
        with np.errstate(all="ignore"):
            timed(kernel.interpret, **arrays)
            timed(kernel.interpret, **arrays, observe="all")
        print(*seconds, flush=True)


class Checkout:
    """A checkout and its process."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.environment = os.environ | {"PYTHONPATH": f"{self.root}{os.pathsep}{self.root / 'benchmarks'}"}
        command = [sys.executable, "-P", str(HERE / "beside.py"), "--serve"]
        self.process = subprocess.Popen(
            command, cwd=self.root, env=self.environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def measure(self, name: str) -> tuple[float, ...]:
        """Seconds of each step for one kernel."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        return tuple(map(float, self.process.stdout.readline().split()))

    def start(self) -> float:
        """Seconds of a fresh process that compiles one kernel."""
        before = os.times()
        subprocess.run([sys.executable, "-P", "-c", START], cwd=self.root, env=self.environment, check=True)
        after = os.times()
        return (after.children_user - before.children_user) + (after.children_system - before.children_system)


def turns(count: int) -> Iterator[tuple[int, int]]:
    """In which order the two go."""
    for n in range(count):
        yield (0, 1) if n % 2 == 0 else (1, 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, nargs="?", help="the other checkout")
    parser.add_argument("--part", default="1/60")
    parser.add_argument("--only", default="")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve()
        return
    if args.other is None or not (args.other / "polyvolta").is_dir():
        parser.error("name a checkout of polyvolta to compare with")
    sys.path[:0] = [str(HERE.parent)]
    import combinations

    sides = Checkout(HERE.parent), Checkout(args.other)
    starts: tuple[list[float], list[float]] = ([], [])
    for order in turns(2 * args.repeat + 1):
        for k in order:
            starts[k].append(sides[k].start())
    mine, others = map(statistics.median, starts)
    print("| kernel | step | here, s | other, s | ratio |\n|---|---|---|---|---|")
    print(f"| a product | fresh process | {mine:.3f} | {others:.3f} | {mine / others:.2f} |")
    ratios: dict[str, list[float]] = {step: [] for step in STEPS}
    for c in combinations.chosen(args.only, args.part):
        found: tuple[list, list] = ([], [])
        for order in turns(args.repeat):
            for k in order:
                found[k].append(sides[k].measure(c.name))
        for n, step in enumerate(STEPS):
            a, b = (statistics.median(times[n] for times in side) for side in found)
            ratios[step].append(a / b)
            print(f"| {c.name} | {step} | {a:.3f} | {b:.3f} | {a / b:.2f} |", flush=True)
    for step, values in ratios.items():
        if values:
            mean = math.exp(statistics.fmean(map(math.log, values)))
            print(f"{step}: geometric mean {mean:.2f}, largest {max(values):.2f}, {len(values)} kernels")


if __name__ == "__main__":
    main()
