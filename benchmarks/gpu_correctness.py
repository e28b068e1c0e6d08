"""The matrix of kernels on the GPU: random sizes, everything around the arrays poisoned, against float64.

    python benchmarks/gpu_correctness.py --jobs 16 [--part 1/2] [--only "bias relu,m32n32k8"] [--csv FILE]
    python benchmarks/gpu_correctness.py --jobs 16 --target sm_90a --persistent --launches 2000

Each of several processes takes a combination, makes its cubin for the GPU at hand and runs some cases: sizes that are
odd or just beside a tile (1, 7, 17, 129, 1000, 4095, ...), or multiples of the tile. Arrays lie inside larger
allocations at random offsets with random leading dimensions, multiples of 8, 4, 2 or 1 values; of Hopper's kernels
(--target sm_90a) half of the cases are such that copy engines take all arrays. Outputs, all padding and
a guard band around every array hold NaN of a pattern that no computation makes; afterwards every value of an output
must be written, and every word elsewhere, inputs included, must be what it was. The expected result is computed in
float64 by torch, or by numpy for arrays in host memory; arrays are torch's, cupy's, numba's and numpy's in turn.

With --launches each kernel is then launched so often in a row at one size, more tiles than the GPU has multiprocessors,
and every eighth result, and the last one, must be that of the first launch, bit for bit: what goes wrong once in
thousands of launches, because of an order of lanes or warps that is rare, shows there, if not the first time.

Prints Markdown tables; the worst cases stand there with the command that runs them again. The exit status is 1 when
anything failed. On chips after Volta `mma.m8n8k4` is emulated: right, and slow.
"""

from __future__ import annotations

import random
import sys
import time
from typing import Any

import arrays
import cases
import combinations
import matrix
import workers
from combinations import Combination
from workers import Failure

import polyvolta as pv
from polyvolta.cuda.run import launch

# combination, seed, cases, multiply-adds, libraries, launches in a row
Task = tuple[Combination, int, int, int, tuple[str, ...], int]
TILES = 19  # in each direction, of a kernel that is launched many times


def libraries() -> tuple[str, ...]:
    """The array libraries that can be tried here; torch is needed."""
    found = ["torch", "numpy", "numba"]
    try:
        __import__("cupy")
        found.append("cupy")
    except ImportError:
        pass
    return tuple(found)


def as_array(library: str) -> Any:
    """What makes an array of that library of a torch tensor, in the same memory."""
    if library == "cupy":
        import cupy

        return cupy.asarray
    if library == "numba":
        from numba import cuda

        return cuda.as_cuda_array
    return lambda a: a


def call(kernel: Any, inputs: dict[str, Any], scalars: dict[str, float], out: Any) -> None:
    """Run a kernel and wait for it."""
    kernel(**inputs, **scalars, out=out)
    launch.synchronize()


def work(task: Task) -> list[tuple[str, str, arrays.Verdict, float]]:
    """All cases of one combination: (case, library, verdict, seconds)."""
    c, seed, count, most, names, launches = task
    kernel, kinds = c.compile(), cases.kinds_of(c)
    found = []
    for n in range(count):
        text = f"{seed} {n} {c.name}"
        case = cases.draw(c, text, kinds[n % len(kinds)], most)
        library = random.Random(text).choice(names)
        start = time.perf_counter()
        try:
            library = "torch" if c.dtype == "bfloat16" and library in ("cupy", "numba") else library
            where = arrays.Library(gpu=library != "numpy")
            verdict = cases.run(kernel, c, case, where, call, as_array(library))
        except Exception as wrong:
            if not healthy():
                raise workers.Broken(f"{case}, {library}: {wrong}") from wrong
            raise RuntimeError(f"{case}, {library}: {wrong}") from wrong
        found.append((str(case), library, verdict, time.perf_counter() - start))
    if launches:
        start = time.perf_counter()
        try:
            case, verdict = repeated(kernel, c, seed, launches)
        except Exception as wrong:
            raise workers.Broken(f"{launches} launches: {wrong}") from wrong
        found.append((f"{case}, {launches} launches", "torch", verdict, time.perf_counter() - start))
    return found


def repeated(kernel: Any, c: Combination, seed: int, launches: int) -> tuple[cases.Case, arrays.Verdict]:
    """Many launches in a row, of several tiles a block, compared with the first one; the last result is judged."""

    def often(kernel: Any, inputs: dict[str, Any], scalars: dict[str, float], out: Any) -> None:
        run, outputs = kernel.bind(**inputs, **scalars, out=out), out if isinstance(out, tuple) else (out,)
        run()
        first = [o.clone() for o in outputs]
        differ = first[0].new_zeros((), dtype=int)
        for n in range(1, launches):
            looked_at = n % 8 == 0 or n == launches - 1
            if looked_at:
                for o in outputs:
                    o.fill_(float("nan"))
            run()
            if looked_at:
                for o, f in zip(outputs, first):
                    differ += (bits(o) != bits(f)).sum()
        if int(differ):
            raise RuntimeError(f"{int(differ)} values differ from those of the first launch")

    m, n, k = c.step
    sizes = {"M": m * TILES, "N": n * TILES} | dict.fromkeys("KLH", 4 * k)
    case = cases.Case({s: sizes[s] for s in c.idiom.sizes}, (0,) * (len(c.idiom.tensors) + 2), "normal", seed)
    return case, cases.run(kernel, c, case, arrays.Library(gpu=True), often, lambda a: a)


def bits(array: Any) -> Any:
    """The words of an array of torch, whose NaNs are equal where their bits are."""
    import torch

    return array.view(torch.int16)


def healthy() -> bool:
    """Whether the GPU still works for this process."""
    import torch

    try:
        torch.zeros(1, device="cuda").item()
        return True
    except Exception:
        return False


def main() -> int:
    parser = matrix.arguments(__doc__)
    parser.add_argument("--cases", type=int, default=4, help="cases of a combination")
    parser.add_argument("--most", type=int, default=2**34, help="multiply-adds of a case, at most")
    parser.add_argument("--minutes", type=float, default=8, help="begin no combination after that")
    parser.add_argument("--launches", type=int, default=0, help="launches in a row of each kernel, besides")
    parser.add_argument("--persistent", action="store_true", help="kernels of persistent blocks alone")
    parser.add_argument("--csv", help="write one line for each case to this file")
    parser.add_argument("--worst", type=int, default=8, help="how many of the worst cases to list")
    args = parser.parse_args()
    try:
        launch.require_gpu()
    except pv.PolyvoltaError as missing:
        print(missing, file=sys.stderr)
        return 2
    names = libraries()
    chosen = combinations.chosen(args.only, args.part, args.limit, args.target)
    chosen = tuple(c for c in chosen if c.persistent) if args.persistent else chosen
    tasks = [(c, args.seed, args.cases, args.most, names, args.launches) for c in chosen]
    begun, until = time.monotonic(), time.monotonic() + 60 * args.minutes
    rows, failures, done = [], [], []
    for n, (task, answer, seconds) in enumerate(workers.run(work, tasks, args.jobs, args.seconds, until), 1):
        matrix.progress(n, len(tasks), task[0].name, answer, seconds)
        done.append(task[0])
        if isinstance(answer, Failure):
            failures.append((task[0], answer.line, answer.trace))
            continue
        for case, library, verdict, took in answer:
            rows.append((task[0], case, library, verdict, took))
            if not verdict.good:
                failures.append((task[0], f"{case}, {library}: {verdict}", ""))
    report(args, rows, failures, len(chosen), len(done), time.monotonic() - begun)
    return 1 if failures else 0


def report(args: Any, rows: list, failures: list, wanted: int, done: int, seconds: float) -> None:
    """Tables and failures."""
    again = lambda c: matrix.again("gpu_correctness.py", c, args)
    write = [
        matrix.columns(c) | {"case": case, "arrays": library, "error": v.error, "verdict": "" if v.good else str(v)}
        for c, case, library, v, _ in rows
    ]
    matrix.write_csv(args.csv, write)
    print(f"{launch.device_arch()}, seed {args.seed}, part {args.part}, {args.cases} cases of each combination\n")
    print("| idiom | kernels | cases | largest error | failed |")
    print("|---|---|---|---|---|")
    for idiom in dict.fromkeys(c.idiom for c, *_ in rows):
        mine = [r for r in rows if r[0].idiom == idiom]
        bad = sum(c.idiom == idiom for c, *_ in failures)
        kernels = len({c.name for c, *_ in mine})
        print(f"| {idiom.name} | {kernels} | {len(mine)} | {max(r[3].error for r in mine):.2e} | {bad} |")
    print("\nThe largest errors (a result of few values may have more where a prologue's result is rounded, too):\n")
    print("| error | limit | case | arrays | again |")
    print("|---|---|---|---|---|")
    for c, case, library, v, _ in sorted(rows, key=lambda r: -r[3].error / r[3].limit)[: args.worst]:
        print(f"| {v.error:.2e} | {v.limit:.0e} | {case} | {library} | `{again(c)}` |")
    print(f"\n{done} of {wanted} combinations, {len(rows)} cases, {len(failures)} failures, {seconds:.0f} s")
    workers.report([(again(c), line + ("\n" + trace if trace.count("\n") else "")) for c, line, trace in failures])


if __name__ == "__main__":
    sys.exit(main())
