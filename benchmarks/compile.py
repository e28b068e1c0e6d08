"""From graph to CUDA text: seconds by stage, in a cold and in a warm process.

    python benchmarks/compile.py [--repeat 7]

Cold is a fresh interpreter, imports included. In the warm process every repetition first forgets everything that
the set core has memoised, so that it compiles as if for the first time; `again` is the same kernel once more
with the memory kept. Prints Markdown tables; medians.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import subprocess
import sys
import time

import polyvolta as pv

TILES = [
    ((128, 128, 32), (64, 64, 32)),
    ((64, 64, 32), (32, 32, 32)),
    ((64, 128, 64), (32, 64, 64)),
    ((128, 64, 16), (64, 32, 16)),
    ((32, 32, 32), (16, 16, 32)),
]
COLD = """
import time; start = time.perf_counter()
import polyvolta as pv
M, N, K = pv.sizes("M N K")
pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")).source
print(time.perf_counter() - start)
"""


def forget() -> None:
    """Empty every memo of the package."""
    import functools

    for found in gc.get_objects():
        if isinstance(found, functools._lru_cache_wrapper) and (found.__module__ or "").startswith("polyvolta"):
            found.cache_clear()


def stages(block: tuple, warp: tuple) -> dict[str, float]:
    """Seconds of each stage of one compilation, and `text` for what follows the last tree."""
    M, N, K = pv.sizes("M N K")
    marks: list[tuple[str, float]] = []
    start = time.perf_counter()
    product = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
    options = pv.Options(block_tile=block, warp_tile=warp)
    pv.compile(product, options=options, progress=lambda s: marks.append((s, time.perf_counter())))
    marks.append(("text", time.perf_counter()))
    out, last = {}, start
    for name, at in marks:
        out[name] = at - last
        last = at
    out["total"] = last - start
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=7)
    args = parser.parse_args()
    cold = [float(subprocess.run([sys.executable, "-c", COLD], capture_output=True, text=True, check=True).stdout)
            for _ in range(min(args.repeat, 5))]  # fmt: skip
    print(f"cold process, imports included: median {statistics.median(cold):.2f} s\n")
    print("| block tile / warp tile | trees | promoted | prefetched, scanned, text | total | again |")
    print("|---|---|---|---|---|---|")
    for block, warp in TILES:
        runs = []
        for _ in range(args.repeat):
            forget()
            runs.append(stages(block, warp))
        again = statistics.median(stages(block, warp)["total"] for _ in range(args.repeat))
        median = {k: statistics.median(r[k] for r in runs) for k in runs[0]}
        trees = sum(median[k] for k in ("initial", "block_tiled", "warp_tiled", "mapped", "strip_mined", "contracted"))
        rest = median["prefetched"] + median["text"]
        print(
            f"| {block} / {warp} | {trees:.3f} | {median['promoted']:.3f} | {rest:.3f} "
            f"| {median['total']:.3f} | {again:.3f} |"
        )


if __name__ == "__main__":
    main()
