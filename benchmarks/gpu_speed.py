"""Speed beside what a user would run instead, on the GPU at hand: ratios, both sides interleaved in one run.

    python benchmarks/gpu_speed.py --large               squares of 4096 and 8192: TFLOP/s, as a share of what the
                                                         instruction reaches on registers alone in the same run
    python benchmarks/gpu_speed.py --sizes 100           random sizes: torch.mm's time over ours, the best of the
                                                         options below and the default rule's
    python benchmarks/gpu_speed.py --chains 30           fused kernels beside the chains of kernels that they replace
    python benchmarks/gpu_speed.py ... --csv FILE        a line for each size and option

Data is random, times are medians of CUDA graphs' replays that take turns (`gpu_baselines.py`), on one stream. For each
size every option is timed shortly, the best three again beside torch.mm. Every kernel's result is compared with
float64's of torch once, at a size of its own. Needs torch and a GPU from sm_80 on.

A GPU at its power limit runs the slower the harder its last milliseconds were, so that a kernel's time depends on what
ran before it. Large squares are therefore timed twice: taking turns without a pause, the order of a round rotated, and
rested, in a random order, each replay after 12 ms of nothing.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from typing import Any

import gpu_baselines as baselines
import matrix
import torch

import polyvolta as pv
from polyvolta.cuda.run import launch, nvrtc
from polyvolta.cuda.target.target import Target

Tile = tuple[int, int, int]

WAYS = """\
128x256x64/64x64 3, 256x128x64/64x64 3, 224x128x64/112x32 4, 192x192x64/48x96 3, 96x256x64/48x64 4,
128x192x64/32x96 4, 192x128x64/48x64 4, 160x128x64/80x32 4, 128x128x64/64x64 3 o2, 96x128x64/48x64 3 o2,
128x96x64/32x96 3 o2, 128x64x64/64x32 3 o3, 64x64x64/32x32 3 o4, 96x128x64/48x64 k2 4, 96x128x128/48x64 k2 3,
128x64x64/64x64 k2 6, 64x96x64/32x96 k2 4 o2, 64x64x64/32x32 k2 4 o2, 32x64x64/32x32 k2 4 o2, 128x64x128/64x64 k4 4,
96x64x128/48x64 k4 4, 64x96x128/32x96 k4 4, 64x64x128/32x64 k4 6, 32x64x128/32x32 k4 4 o2
"""
"""At most 24 ways to tile, what the tables' best is taken of: what a block computes in a step and the sides of a warp's
tile, kN a split of K over N warps, buffers, oN blocks that share a multiprocessor.
"""


def read_way(way: str) -> dict[str, Any]:
    """Options of a way to tile.

    >>> read_way("96x128x64/48x64 k2 4")
    {'block_tile': (96, 128, 32), 'warp_tile': (48, 64, 32), 'split_k': 2, 'buffers': 4, 'occupancy': 1}
    """
    pattern = r"(\d+)x(\d+)x(\d+)/(\d+)x(\d+)(?: k(\d))? (\d)(?: o(\d))?"
    m, n, k, y, x, split, buffers, blocks = map(int, re.fullmatch(pattern, way).groups("1"))
    return {"block_tile": (m, n, k // split), "warp_tile": (y, x, k // split), "split_k": split, "buffers": buffers,
            "occupancy": blocks}  # fmt: skip


OPTIONS = tuple(map(read_way, re.split(r",\s+", WAYS.strip())))


PEAK = """
extern "C" __global__ void __launch_bounds__(256) peak(float *out, int trips) {
  float d[16][4];
  unsigned a[4], b[2];
  for (int i = 0; i < 16; i += 1)
    for (int j = 0; j < 4; j += 1)
      d[i][j] = 0;
  for (int i = 0; i < 4; i += 1)
    a[i] = 0x3c003800u ^ (threadIdx.x * 2654435761u & 0x83ff83ffu);
  for (int i = 0; i < 2; i += 1)
    b[i] = 0x38003c00u ^ (threadIdx.x * 2246822519u & 0x83ff83ffu);
  for (int n = 0; n < trips; n += 1) {
    #pragma unroll
    for (int i = 0; i < 16; i += 1)
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                   "{%0, %1, %2, %3};" : "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
  float sum = 0;
  for (int i = 0; i < 16; i += 1)
    for (int j = 0; j < 4; j += 1)
      sum += d[i][j];
  if (sum == 12345.678f)
    out[threadIdx.x] = sum;
}
"""
"""m16n8k16 on registers alone: sixteen accumulators a warp, eight warps a block."""


def peak_launch() -> tuple[Callable[[], None], float]:
    """A launch of m16n8k16 alone, and its operations."""
    blocks, trips = 2 * torch.cuda.get_device_properties(0).multi_processor_count, 4096
    found = nvrtc.compile_cubin(PEAK, launch.device_arch(), name="peak")
    kernel = launch.load(found.image, "peak")
    out = launch.DevicePtr(torch.empty(256, device="cuda").data_ptr())

    def run() -> None:
        kernel.launch((blocks, 1, 1), (256, 1, 1), 0, (out, trips), torch.cuda.current_stream())

    return run, 2.0 * 16 * 8 * 16 * 16 * 8 * trips * blocks


@cache
def here() -> Target:
    """sm_80 with the multiprocessors and the shared memory of the GPU at hand."""
    props = torch.cuda.get_device_properties(0)
    shared = props.shared_memory_per_block_optin
    return replace(pv.targets["sm_80"], shared_bytes=shared, multiprocessors=props.multi_processor_count)


def short(options: dict[str, Any]) -> str:
    """Options in a few words."""
    block, warp = ("x".join(map(str, options[t])) for t in ("block_tile", "warp_tile"))
    more = {"b": options["buffers"], "k": options["split_k"], "o": options["occupancy"]}
    return " ".join((f"{block}-{warp}", *(f"{letter}{n}" for letter, n in more.items())))


def launcher(kernel: pv.Kernel, *arrays: Any, out: Any) -> Callable[[], None]:
    """A launch on torch's current stream, bound once for each stream."""
    bound: dict[int, Any] = {}

    def run() -> None:
        stream = torch.cuda.current_stream()
        if stream.cuda_stream not in bound:
            bound[stream.cuda_stream] = kernel.bind(*arrays, out=out, stream=stream)
        bound[stream.cuda_stream]()

    return run


def expression(name: str, dtype: str = "float16") -> Any:
    """One of the benchmarks of the paper as a graph; the bias is a matrix, as the chains have it."""
    M, N, K = pv.sizes("M N K")
    kind = {} if dtype == "float16" else {"dtype": dtype}
    A, B = pv.tensor("A", (M, K), **kind), pv.tensor("B", (K, N), layout="col", **kind)
    bias, P = pv.tensor("bias", (M, N), **kind), pv.tensor("P", (M, K), **kind)
    Q = pv.tensor("Q", (K, N), layout="col", **kind)
    return {
        "gemm": A @ B,
        "relu_gemm": pv.relu(A) @ B,
        "gemm_bias_relu": pv.relu(A @ B + bias),
        "add": A @ B + P @ Q,
    }[name]


def compiled(name: str, options: Sequence[dict[str, Any]], jobs: int) -> list[tuple[str, pv.Kernel]]:
    """Kernels of those options that are legal, their machine code made side by side."""
    found = []
    for o in options:
        try:
            found.append((short(o), pv.compile(expression(name), here(), pv.Options(**o))))
        except pv.PolyvoltaError as refused:
            print(f"  {name} {o}: {refused.message}", file=sys.stderr)
    arch = launch.device_arch()
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda nk: nk[1].compiled(arch), found))
    return found


def right(kernel: pv.Kernel, name: str) -> float:
    """The relative error at a size with partial tiles, poison everywhere."""
    m, n, k = 1000, 1048, 520
    inputs = arrays_of(m, n, k)
    out = torch.full((m, n), float("nan"), **baselines.HALF)
    kernel(*inputs[name], out=out)
    a, b, *more = (x.double() for x in inputs[name])
    product = {
        "gemm": lambda: a @ b,
        "relu_gemm": lambda: a.clamp(min=0) @ b,
        "gemm_bias_relu": lambda: (a @ b + more[0]).clamp(min=0),
        "add": lambda: a @ b + more[0] @ more[1],
    }[name]()
    return float((out.double() - product).norm() / product.norm())


def arrays_of(m: int, n: int, k: int) -> dict[str, tuple[Any, ...]]:
    """Random arguments of each benchmark."""
    a, p = (torch.randn(m, k, **baselines.HALF) for _ in range(2))
    b, q = (torch.randn(n, k, **baselines.HALF).T for _ in range(2))
    bias = torch.randn(m, n, **baselines.HALF)
    return {"gemm": (a, b), "relu_gemm": (a, b), "gemm_bias_relu": (a, b, bias), "add": (a, b, p, q)}


def best_of(
    kernels: Sequence[tuple[str, pv.Kernel]], arrays: tuple, out: Any, count: int, keep: int = 3
) -> dict[str, Any]:
    """The graphs of the fastest few, by a first timing."""
    timed = []
    for name, kernel in kernels:
        g = baselines.graph(launcher(kernel, *arrays, out=out), count)
        timed.append((min(baselines.replay_us(g, count)), name, g))
    return {name: g for _, name, g in sorted(timed, key=lambda t: t[0])[:keep]}


Timed = dict[str, tuple[Any, int]]
"""Graphs, and how many launches each has."""


def in_turn(graphs: Timed, rounds: int) -> dict[str, float]:
    """Median microseconds a launch, two replays of each graph in a round, each round beginning with another one."""
    times: dict[str, list[float]] = {name: [] for name in graphs}
    names = list(graphs)
    for n in range(rounds):
        for name in names[n % len(names) :] + names[: n % len(names)]:
            times[name] += baselines.replay_us(*graphs[name])
    return {name: statistics.median(t) for name, t in times.items()}


def rested(graphs: Timed, rounds: int, pause: float = 0.012) -> dict[str, float]:
    """Likewise, but each replay after so many seconds of nothing, in a random order."""
    times: dict[str, list[float]] = {name: [] for name in graphs}
    order = random.Random(1)
    for _ in range(rounds):
        for name in order.sample(list(graphs), len(graphs)):
            torch.cuda.synchronize()
            time.sleep(pause)
            times[name] += baselines.replay_us(*graphs[name], 1)
    return {name: statistics.median(t) for name, t in times.items()}


def large(args: argparse.Namespace) -> None:
    """TFLOP/s of large squares."""
    kernels = compiled("gemm", OPTIONS, args.jobs)
    run, flops = peak_launch()
    alone = baselines.graph(run, 3)
    print("| size | measured | m16n8k16 alone | torch.mm | ours | of the instruction | of torch.mm | options |")
    print("|---|---|---|---|---|---|---|---|")
    for side in (4096, 8192):
        a, b = arrays_of(side, side, side)["gemm"]
        c, count = torch.empty(side, side, **baselines.HALF), 8 if side == 4096 else 5
        ours = best_of(kernels, (a, b), c, count, 2)
        graphs = ours | {"mm": baselines.graph(lambda a=a, b=b, c=c: torch.mm(a, b, out=c), count)}
        timed = {name: (g, count) for name, g in graphs.items()} | {"alone": (alone, 3)}
        for how, us in (("in turn", in_turn(timed, args.rounds)), ("rested", rested(timed, args.rounds))):
            rate = {name: 2e-6 * side**3 / t for name, t in us.items()} | {"alone": 1e-6 * flops / us["alone"]}
            best = max(ours, key=rate.__getitem__)
            peak, mm, mine = rate["alone"], rate["mm"], rate[best]
            numbers = [*(f"{x:.0f}" for x in (peak, mm, mine)), f"{mine / peak:.3f}", f"{mine / mm:.3f}"]
            print(f"| {' | '.join([f'{side}^3', how, *numbers, best])} |", flush=True)


def sizes(args: argparse.Namespace) -> None:
    """Random sizes beside torch.mm."""
    kernels = compiled("gemm", OPTIONS, args.jobs)
    default = pv.compile(expression("gemm"), here())
    for name, kernel in [*kernels, ("default", default)]:
        error = right(kernel, "gemm")
        assert error < 1e-3, (name, error)
    rows, won = [], {}
    for m, n, k in baselines.sizes(args.sizes):
        a, b = arrays_of(m, n, k)["gemm"]
        c, count = torch.empty(m, n, **baselines.HALF), baselines.repeats(m, n, k)
        graphs = best_of(kernels, (a, b), c, count)
        graphs["default"] = baselines.graph(launcher(default, a, b, out=c), count)
        graphs["mm"] = baselines.graph(lambda a=a, b=b, c=c: torch.mm(a, b, out=c), count)
        us = baselines.interleaved_us(graphs, count)
        mm, plain = us.pop("mm"), us.pop("default")
        best = min(us, key=us.__getitem__)
        won[best] = won.get(best, 0) + 1
        rows.append({"m": m, "n": n, "k": k, "torch_us": round(mm, 2), "best": mm / us[best], "default": mm / plain,
                     "options": best})  # fmt: skip
        print(f"{m:5} {n:5} {k:5}  torch.mm {mm:8.2f} us  best {mm / us[best]:.3f}  default {mm / plain:.3f}  {best}",
              file=sys.stderr, flush=True)  # fmt: skip
    matrix.write_csv(args.csv, rows)
    print("| torch.mm's time over ours | geomean | least | most |\n|---|---|---|---|")
    for name, words in (("best", f"best of {len(kernels)} options"), ("default", "the default rule")):
        ratios = [r[name] for r in rows]
        print(
            f"| {words}, {len(rows)} sizes | {baselines.geomean(ratios):.3f} | {min(ratios):.3f} | {max(ratios):.3f} |"
        )
    print("\n| options | sizes at which they are the best |\n|---|---|")
    for name, count in sorted(won.items(), key=lambda x: -x[1]):
        print(f"| {name} | {count} |")


def chains(args: argparse.Namespace) -> None:
    """Fused kernels beside the unfused chains."""
    names = ("relu_gemm", "gemm_bias_relu", "add")
    kernels = {name: compiled(name, OPTIONS, args.jobs) for name in names}
    for name in names:
        for options, kernel in kernels[name]:
            error = right(kernel, name)
            assert error < 1e-3, (name, options, error)
    ratios: dict[tuple[str, str], list[float]] = {}
    for m, n, k in baselines.sizes(args.chains):
        inputs, count = arrays_of(m, n, k), baselines.repeats(m, n, k)
        c, r = (torch.empty(m, n, **baselines.HALF) for _ in range(2))
        (a, b, bias), (_, _, p, q) = inputs["gemm_bias_relu"], inputs["add"]
        others = baselines.chains(a, b.T, bias, torch.randn(n, **baselines.HALF), p, q.T, c, r)
        for name in names:
            ours = best_of(kernels[name], inputs[name], c, count)
            theirs = {what: baselines.graph(f, count) for what, f in others[name].items()}
            us = baselines.interleaved_us(ours | theirs, count)
            best = min(us[o] for o in ours)
            for what in theirs:
                ratios.setdefault((name, what), []).append(us[what] / best)
        print(
            m, n, k, *(f"{name}: {what} {x[-1]:.2f}" for (name, what), x in ratios.items()), file=sys.stderr, flush=True
        )
    print("| fused kernel | their time over ours: | geomean | least | most |\n|---|---|---|---|---|")
    for (name, what), x in ratios.items():
        print(f"| {name} | {what} | {baselines.geomean(x):.3f} | {min(x):.3f} | {max(x):.3f} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true", help="squares of 4096 and 8192")
    parser.add_argument("--sizes", type=int, default=0, help="how many random sizes")
    parser.add_argument("--chains", type=int, default=0, help="how many random sizes of fused kernels")
    parser.add_argument("--rounds", type=int, default=7, help="of interleaved replays")
    parser.add_argument("--jobs", type=int, default=16, help="kernels that are compiled side by side")
    parser.add_argument("--csv", help="write one line for each size to this file")
    args = parser.parse_args()
    start = time.perf_counter()
    for asked, part in ((args.large, large), (args.sizes, sizes), (args.chains, chains)):
        if asked:
            part(args)
            print(f"\n{torch.cuda.get_device_name()}, {time.perf_counter() - start:.0f} s\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
