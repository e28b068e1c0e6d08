"""How long the interpreter takes, alone and with observers, for kernels of the default rule.

    python benchmarks/interpret.py [--size 256] [--repeat 3] [--only gated]

Every idiom of the matrix (`combinations.py`) with what the default rule chooses, all sizes the same. Times are seconds
of one core in one process after all imports, the best of several runs; the kernel is compiled beforehand. What is
promised for a product of 256 x 256 x 256 is 2 s alone and 10 s with all observers; the exit status says whether every
idiom of one product keeps to it, and whether no observer finds anything.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np
from idioms import IDIOMS, graph

import polyvolta as pv
from polyvolta.cuda.machine.observe.watch import OBSERVERS

ALONE, OBSERVED = 2.0, 10.0
SHOWN = {"races": ("races",), "uninitialised": ("uninitialised",), "banks": ("bank_conflicts",),
         "sectors": ("coalescing",), "values": ("values",), "counts": ("counts",), "all": ("all",)}  # fmt: skip


def arrays(kernel: pv.Kernel, size: int) -> dict[str, Any]:
    """Random operands, and numbers for scalars."""
    rng = np.random.default_rng(0)
    out: dict[str, Any] = dict.fromkeys(kernel.ir.scalars, 0.5)
    for t in kernel.graph.inputs:
        shape = [d if isinstance(d, int) else size for d in t.dims]
        out[t.name] = np.array(rng.standard_normal(shape), np.float16, order="F" if t.layout == "col" else "C")
    return out


def seconds(kernel: pv.Kernel, given: dict[str, Any], observe: tuple[str, ...], repeat: int) -> tuple[float, bool]:
    """The best time of several runs, and whether nothing was found."""
    best, ok = float("inf"), True
    for _ in range(repeat):
        start = time.perf_counter()
        seen = kernel.interpret(**given, observe=observe)
        best = min(best, time.perf_counter() - start)
        ok &= not observe or seen.ok
    return best, ok


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=256, help="of every dimension")
    parser.add_argument("--repeat", type=int, default=3, help="runs of which the best counts")
    parser.add_argument("--only", default="", help="idioms with this in their names")
    args = parser.parse_args()
    print(f"| idiom | tiles | alone | {' | '.join(SHOWN)} | times alone |\n|---|---|{'---|' * (len(SHOWN) + 2)}")
    fine = True
    for idiom in (i for i in IDIOMS if args.only in i.name):
        options = pv.Options(accumulators=idiom.accumulators)
        kernel = pv.compile(graph(idiom, "row", "row", "row"), options=options)
        given = arrays(kernel, args.size)
        alone, _ = seconds(kernel, given, (), args.repeat)
        times = []
        for observe in SHOWN.values():
            best, ok = seconds(kernel, given, observe, args.repeat)
            times.append(best)
            fine &= ok
        one_product = sum(s.is_matmul for s in kernel.graph.statements) == 1
        fine &= not one_product or args.size > 256 or (alone <= ALONE and times[-1] <= OBSERVED)
        tiles = "-".join("x".join(map(str, t)) for t in (kernel.options.block_tile, kernel.options.warp_tile))
        cells = " | ".join(f"{t:.2f}" for t in (alone, *times))
        print(f"| {idiom.name} | {tiles} | {cells} | {times[-1] / alone:.1f} |", flush=True)
    print(f"\n{len(OBSERVERS)} observers; {'all as promised' if fine else 'NOT as promised'}.")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
