"""Random products on the GPU, each on fresh random data into a poisoned output, against float64.

    python benchmarks/gpu_correctness.py [--cases 30] [--largest 2048] [--seed N]

Each case draws tile options and a size that is a multiple of the block tile, and one of the array libraries that
are installed (numpy, numba, torch, cupy). The output and a guard band around it are filled with NaN beforehand;
afterwards every element must be written, none of the band touched, and the relative L2 error small. Every CUDA
call is checked by the library; the program exits with 1 if a case fails. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import random
import sys
import time

import numpy as np

import polyvolta as pv
from polyvolta.cuda import launch

TILES = [
    ((128, 128, 32), (64, 64, 32)),
    ((64, 64, 32), (32, 32, 32)),
    ((64, 128, 64), (32, 64, 64)),
    ((128, 64, 16), (64, 32, 16)),
    ((32, 32, 32), (16, 16, 32)),
    ((256, 64, 32), (64, 64, 32)),
    ((48, 48, 24), (16, 48, 24)),
    ((64, 64, 96), (32, 32, 96)),
    ((80, 48, 48), (16, 48, 48)),
]
LIMIT = 5e-4


def libraries() -> list[str]:
    """The array libraries that can be tried here."""
    found = ["numpy", "numba"]
    for name in ("torch", "cupy"):
        try:
            __import__(name)
            found.append(name)
        except ImportError:
            pass
    return found


def on_gpu(library: str, array: np.ndarray):
    """The array in a library's own kind of GPU array, in the same memory order."""
    if library == "numba":
        from numba import cuda

        return cuda.to_device(array)
    column_major = not array.flags.c_contiguous
    plain = np.ascontiguousarray(array.T if column_major else array)
    if library == "torch":
        import torch

        moved = torch.from_numpy(plain).cuda()
    else:
        import cupy

        moved = cupy.asarray(plain)
    return moved.T if column_major else moved


def on_host(array) -> np.ndarray:
    if isinstance(array, np.ndarray):
        return array
    if hasattr(array, "copy_to_host"):
        return array.copy_to_host()
    return array.get() if hasattr(array, "get") else array.cpu().numpy()


def run_case(rng: np.random.Generator, pick: random.Random, library: str, largest: int) -> tuple:
    """One random case: (tiles, size, library, error, written, band untouched, seconds)."""
    block, warp = pick.choice(TILES)
    M, N, K = pv.sizes("M N K")
    product = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
    kernel = pv.compile(product, options=pv.Options(block_tile=block, warp_tile=warp))
    m, n, k = (t * pick.randint(1, largest // t) for t in block)
    a = rng.standard_normal((m, k)).astype(np.float16)
    b = np.asfortranarray(rng.standard_normal((k, n)).astype(np.float16))
    start = time.perf_counter()
    if library == "numpy":
        out = np.full((m, n), np.nan, np.float16)
        kernel(a, b, out=out)
        got, band = out, True
    else:  # the output is the middle of a larger poisoned array
        pad = 8
        large = on_gpu(library, np.full((m + 2 * pad, n), np.nan, np.float16))
        kernel(on_gpu(library, a), on_gpu(library, b), out=large[pad : pad + m])
        launch.synchronize()
        whole = on_host(large)
        got = whole[pad : pad + m]
        band = bool(np.isnan(whole[:pad]).all() and np.isnan(whole[pad + m :]).all())
    seconds = time.perf_counter() - start
    expected = a.astype(np.float64) @ b.astype(np.float64)
    error = float(np.linalg.norm(got.astype(np.float64) - expected) / np.linalg.norm(expected))
    return f"{block} / {warp}", f"{m} x {n} x {k}", library, error, not np.isnan(got).any(), band, seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=30)
    parser.add_argument("--largest", type=int, default=2048)
    parser.add_argument("--seed", type=int, default=None)
    args = parser.parse_args()
    seed = random.SystemRandom().randrange(2**31) if args.seed is None else args.seed
    try:
        launch.require_gpu()
    except pv.PolyvoltaError as missing:
        print(missing, file=sys.stderr)
        return 2
    rng, pick = np.random.default_rng(seed), random.Random(seed)
    kinds = libraries()
    print(f"{launch.device_arch()}, seed {seed}, libraries {', '.join(kinds)}\n")
    print("| block tile / warp tile | M x N x K | arrays | relative L2 error | all written | guard band untouched |")
    print("|---|---|---|---|---|---|")
    failed, worst = 0, 0.0
    for case in range(args.cases):
        tiles, size, library, error, written, band, _ = run_case(rng, pick, kinds[case % len(kinds)], args.largest)
        ok = written and band and error <= LIMIT
        failed += not ok
        worst = max(worst, error)
        flags = " | ".join("yes" if flag else "**NO**" for flag in (written, band))
        print(f"| {tiles} | {size} | {library} | {error:.2e} | {flags} |", flush=True)
    print(f"\n{args.cases} cases, {failed} failed, largest error {worst:.2e} (limit {LIMIT:.0e})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
