"""Speed beside what a user would run instead, on the GPU at hand: ratios, both sides interleaved in one run.

    python benchmarks/gpu_speed.py --large               squares of 4096 and 8192: TFLOP/s, as a share of what the
                                                         instruction reaches on registers alone in the same run
    python benchmarks/gpu_speed.py --sizes 100           random sizes: torch.mm's time over ours, the best of the
                                                         options below and the default rule's
    python benchmarks/gpu_speed.py --chains 30           fused kernels beside the chains of kernels that they replace
    python benchmarks/gpu_speed.py --layouts 30          the other three pairs of layouts of A and B, beside torch.mm
    python benchmarks/gpu_speed.py ... --target sm_90a   wgmma and TMA; by default sm_80's instructions, on any GPU
    python benchmarks/gpu_speed.py ... --plain           launches that wait for the kernel before, as the library's do
    python benchmarks/gpu_speed.py ... --csv FILE        a line for each size and option

Data is random, times are medians of CUDA graphs' replays that take turns (`gpu_baselines.py`), on one stream. For each
size every option of a short list (`ways.py`) is timed shortly, the best three again beside torch.mm, and with --lt
beside the best three of cublasLt's 100 heuristics. Every kernel's result is compared with float64's of torch once, at a
size of its own. Needs torch and a GPU from sm_80 on.

Kernels for sm_90a start while the one before them on the stream still runs, and wait for its end themselves, which the
library's don't: within a graph of launches one after the other, as everywhere else. --plain leaves that out.

A GPU at its power limit runs the slower the harder its last milliseconds were, so that a kernel's time depends on what
ran before it. Large squares are therefore timed twice: taking turns without a pause, the order of a round rotated, and
rested, in a random order, each replay after 12 ms of nothing.
"""

from __future__ import annotations

import argparse
import random
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
import ways

import polyvolta as pv
from polyvolta.cuda.run import launch, nvrtc
from polyvolta.cuda.target.target import Target

Tile = tuple[int, int, int]

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
def here(name: str) -> Target:
    """A target with the multiprocessors and the shared memory of the GPU at hand."""
    props = torch.cuda.get_device_properties(0)
    shared = props.shared_memory_per_block_optin
    return replace(pv.targets[name], shared_bytes=shared, multiprocessors=props.multi_processor_count)


def options_of(args: argparse.Namespace, fused: bool = False) -> tuple[dict[str, Any], ...]:
    """The short list for a target."""
    if args.target != "sm_90a":
        return ways.ways(ways.OF_WARPS)
    early, listed = {"dependent_launch": not args.plain}, ways.FUSED if fused else ways.OF_WARPGROUPS
    return tuple(o | early for o in ways.ways(args.ways or listed))


def short(options: dict[str, Any]) -> str:
    """Options in a few words."""
    block, warp = ("x".join(map(str, options[t])) for t in ("block_tile", "warp_tile"))
    more = {"b": options["buffers"], "k": options.get("split_k", 1), "o": options["occupancy"]}
    marks = [f"g{options['group']}"] if "group" in options else []
    marks += ["c" + "x".join(map(str, options["cluster"]))] if "cluster" in options else []
    marks += [letter for letter, name in (("p", "persistent"), ("x", "swap")) if options.get(name)]
    return " ".join((f"{block}-{warp}", *(f"{letter}{n}" for letter, n in more.items()), *marks))


def launcher(kernel: pv.Kernel, *arrays: Any, out: Any) -> Callable[[], None]:
    """A launch on torch's current stream, bound once for each stream."""
    bound: dict[int, Any] = {}

    def run() -> None:
        stream = torch.cuda.current_stream()
        if stream.cuda_stream not in bound:
            bound[stream.cuda_stream] = kernel.bind(*arrays, out=out, stream=stream)
        bound[stream.cuda_stream]()

    return run


def expression(name: str, dtype: str = "float16", layouts: tuple[str, str] = ("row", "col")) -> Any:
    """One of the benchmarks of the paper as a graph; the bias is a matrix, as the chains have it, or a vector."""
    M, N, K = pv.sizes("M N K")
    kind = {} if dtype == "float16" else {"dtype": dtype}
    A, B = pv.tensor("A", (M, K), layout=layouts[0], **kind), pv.tensor("B", (K, N), layout=layouts[1], **kind)
    bias, P = pv.tensor("bias", (M, N), **kind), pv.tensor("P", (M, K), **kind)
    Q = pv.tensor("Q", (K, N), layout="col", **kind)
    return {
        "gemm": A @ B,
        "relu_gemm": pv.relu(A) @ B,
        "gemm_bias_relu": pv.relu(A @ B + bias),
        "gemm_vector_relu": pv.relu(A @ B + pv.tensor("vector", (N,), **kind)),
        "add": A @ B + P @ Q,
    }[name]


def compiled(
    name: str, args: argparse.Namespace, layouts: tuple[str, str] = ("row", "col")
) -> list[tuple[str, pv.Kernel]]:
    """Kernels of those options that are legal, their machine code made side by side."""
    found, target = [], here(args.target)
    for o in options_of(args, fused=name != "gemm"):
        try:
            found.append((short(o), pv.compile(expression(name, layouts=layouts), target, pv.Options(**o))))
        except pv.PolyvoltaError as refused:
            print(f"  {name} {o}: {refused.message}", file=sys.stderr)
    arch = launch.device_arch()
    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(lambda nk: nk[1].compiled(arch), found))
    return found


def default_kernel(args: argparse.Namespace) -> pv.Kernel:
    """What the rule makes of A @ B."""
    early = pv.Options(dependent_launch=False) if args.target == "sm_90a" and args.plain else None
    return pv.compile(expression("gemm"), here(args.target), early)


def right(kernel: pv.Kernel, name: str, layouts: tuple[str, str] = ("row", "col")) -> float:
    """The relative error at a size with partial tiles, poison everywhere."""
    m, n, k = 1000, 1048, 520
    inputs = arrays_of(m, n, k, layouts)
    out = torch.full((m, n), float("nan"), **baselines.HALF)
    kernel(*inputs[name], out=out)
    a, b, *more = (x.double() for x in inputs[name])
    product = {
        "gemm": lambda: a @ b,
        "relu_gemm": lambda: a.clamp(min=0) @ b,
        "gemm_bias_relu": lambda: (a @ b + more[0]).clamp(min=0),
        "gemm_vector_relu": lambda: (a @ b + more[0]).clamp(min=0),
        "add": lambda: a @ b + more[0] @ more[1],
    }[name]()
    return float((out.double() - product).norm() / product.norm())


def arrays_of(m: int, n: int, k: int, layouts: tuple[str, str] = ("row", "col")) -> dict[str, tuple[Any, ...]]:
    """Random arguments of each benchmark."""
    a, p = (stored(m, k, layouts[0]) for _ in range(2))
    b, q = (stored(k, n, layouts[1]) for _ in range(2))
    bias, vector = torch.randn(m, n, **baselines.HALF), torch.randn(n, **baselines.HALF)
    return {"gemm": (a, b), "relu_gemm": (a, b), "gemm_bias_relu": (a, b, bias), "gemm_vector_relu": (a, b, vector),
            "add": (a, b, p, q)}  # fmt: skip


def stored(rows: int, cols: int, layout: str) -> Any:
    """A random matrix that lies row by row, or column by column."""
    return torch.randn(rows, cols, **baselines.HALF) if layout == "row" else torch.randn(cols, rows, **baselines.HALF).T


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
    kernels = compiled("gemm", args)
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
    kernels, default = compiled("gemm", args), default_kernel(args)
    lt = baselines.Lt() if args.lt else None
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
        others = dict(enumerate(lt.best(a, b.T, c))) if lt else {}
        us = baselines.interleaved_us(graphs | others, count)
        theirs = min((us.pop(n) for n in others), default=float("nan"))
        mm, plain = us.pop("mm"), us.pop("default")
        best = min(us, key=us.__getitem__)
        won[best] = won.get(best, 0) + 1
        rows.append({"m": m, "n": n, "k": k, "torch_us": round(mm, 2), "best": mm / us[best], "default": mm / plain,
                     "cublaslt": theirs / us[best], "options": best})  # fmt: skip
        print(f"{m:5} {n:5} {k:5}  torch.mm {mm:8.2f} us  best {mm / us[best]:.3f}  default {mm / plain:.3f}  "
              f"of cublasLt {theirs / us[best]:.3f}  {best}",
              file=sys.stderr, flush=True)  # fmt: skip
    matrix.write_csv(args.csv, rows)
    print("| their time over ours | geomean | least | most | ahead |\n|---|---|---|---|---|")
    words = {"best": f"torch.mm, best of {len(kernels)} options", "default": "torch.mm, the default rule"}
    words |= {"cublaslt": "best of cublasLt's 100, best of ours"} if args.lt else {}
    for name, text in words.items():
        print(f"| {text}, {len(rows)} sizes | {summary([r[name] for r in rows])} |")
    print("\n| options | sizes at which they are the best |\n|---|---|")
    for name, count in sorted(won.items(), key=lambda x: -x[1]):
        print(f"| {name} | {count} |")


def summary(ratios: Sequence[float]) -> str:
    """Geomean, least, most, and how many are above 1, as cells of a table."""
    ahead = sum(r > 1 for r in ratios)
    return f"{baselines.geomean(ratios):.3f} | {min(ratios):.3f} | {max(ratios):.3f} | {ahead} of {len(ratios)}"


def layouts(args: argparse.Namespace) -> None:
    """The other pairs of layouts, beside torch.mm of arrays that lie so."""
    print("| A, B | torch.mm's time over ours: geomean | least | most | ahead |\n|---|---|---|---|---|")
    for pair in (("row", "row"), ("col", "col"), ("col", "row")):
        kernels, ratios = compiled("gemm", args, pair), []
        for options, kernel in kernels:
            assert (error := right(kernel, "gemm", pair)) < 1e-3, (options, pair, error)
        for m, n, k in baselines.sizes(args.layouts):
            a, b = arrays_of(m, n, k, pair)["gemm"]
            c, count = torch.empty(m, n, **baselines.HALF), baselines.repeats(m, n, k)
            graphs = best_of(kernels, (a, b), c, count)
            graphs["mm"] = baselines.graph(lambda a=a, b=b, c=c: torch.mm(a, b, out=c), count)
            us = baselines.interleaved_us(graphs, count)
            ratios.append(us.pop("mm") / min(us.values()))
            print(*pair, m, n, k, f"{ratios[-1]:.3f}", file=sys.stderr, flush=True)
        print(f"| {', '.join(pair)} | {summary(ratios)} |", flush=True)


def chains(args: argparse.Namespace) -> None:
    """Fused kernels beside the unfused chains, and what the library fuses."""
    names = ("relu_gemm", "gemm_bias_relu", "gemm_vector_relu", "add")
    names = names[1:] if args.target == "sm_90a" else names  # which multiplies tensors as they are
    kernels = {name: compiled(name, args) for name in names}
    for name in names:
        for options, kernel in kernels[name]:
            error = right(kernel, name)
            assert error < 1e-3, (name, options, error)
    ratios: dict[tuple[str, str], list[float]] = {}
    for m, n, k in baselines.sizes(args.chains):
        inputs, count = arrays_of(m, n, k), baselines.repeats(m, n, k)
        c, r = (torch.empty(m, n, **baselines.HALF) for _ in range(2))
        (a, b, bias), (_, _, p, q) = inputs["gemm_bias_relu"], inputs["add"]
        (vector,) = inputs["gemm_vector_relu"][2:]
        inputs["gemm_vector_relu"] = (a, b, vector)
        others = baselines.chains(a, b.T, bias, vector, p, q.T, c, r)
        fused = "cublasLt, vector bias"
        others["gemm_vector_relu"] = {fused: others["gemm_bias_relu"].pop(fused)}
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
    print("| fused kernel | their time over ours: | geomean | least | most | ahead |\n|---|---|---|---|---|---|")
    for (name, what), x in ratios.items():
        print(f"| {name} | {what} | {summary(x)} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true", help="squares of 4096 and 8192")
    parser.add_argument("--sizes", type=int, default=0, help="how many random sizes")
    parser.add_argument("--chains", type=int, default=0, help="how many random sizes of fused kernels")
    parser.add_argument("--layouts", type=int, default=0, help="how many random sizes of the other pairs of layouts")
    parser.add_argument("--target", default="sm_80", choices=("sm_80", "sm_90a"), help="whose instructions")
    parser.add_argument("--ways", help="of sm_90a, in place of the short lists: see `ways.py`")
    parser.add_argument("--plain", action="store_true", help="no launch before the end of the kernel before")
    parser.add_argument("--lt", action="store_true", help="of random sizes also the best of cublasLt's 100")
    parser.add_argument("--rounds", type=int, default=7, help="of interleaved replays")
    parser.add_argument("--jobs", type=int, default=16, help="kernels that are compiled side by side")
    parser.add_argument("--csv", help="write one line for each size to this file")
    args = parser.parse_args()
    start = time.perf_counter()
    for asked, part in ((args.large, large), (args.sizes, sizes), (args.layouts, layouts), (args.chains, chains)):
        if asked:
            part(args)
            print(f"\n{torch.cuda.get_device_name()}, {time.perf_counter() - start:.0f} s\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
