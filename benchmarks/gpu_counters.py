"""What limits a kernel: counters of the hardware, of a kernel of ours beside torch.mm's, under Nsight Compute.

    python benchmarks/gpu_counters.py [--side 4096,8192] [--way "128x256x64/64x64 3"] [--way ...]

Each kernel runs once under `ncu` on random data, at the clocks that the GPU has. A row for each says how busy, in per
cent of what the chip can do at most, its tensor cores, its issue slots, the wavefronts of shared memory, L2 and DRAM
are, and which share of L2's requests hit. Whatever is near 100 is the limit.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterable

PROFILED = "POLYVOLTA_PROFILED"
"""Says to a program that ncu runs it."""
COUNTERS = {
    "tensor cores": "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active",
    "tensor pipe": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "issue slots": "sm__inst_issued.avg.pct_of_peak_sustained_active",
    "shared memory": "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_active",
    "conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.avg.pct_of_peak_sustained_active",
    "L2": "lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
    "L2 hits": "lts__t_sector_hit_rate.pct",
    "DRAM": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "SM active": "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
    "us": "gpu__time_duration.sum",
}


def launches(sides: list[int], ways: list[str]) -> None:
    """Under ncu: every kernel once, compiled and warmed up before the profiled range."""
    import gpu_speed
    import torch
    from ways import read_way

    import polyvolta as pv

    product = gpu_speed.expression("gemm")
    kernels = [pv.compile(product, gpu_speed.here("sm_80" if "/" in w else "sm_90a"), pv.Options(**read_way(w)))
               for w in ways]  # fmt: skip
    for side in sides:
        a, b = gpu_speed.arrays_of(side, side, side)["gemm"]
        c = torch.empty(side, side, device="cuda", dtype=torch.float16)
        for run in (
            *(gpu_speed.launcher(k, a, b, out=c) for k in kernels),
            lambda a=a, b=b, c=c: torch.mm(a, b, out=c),
        ):
            run()
            counted(run)


def counted(run: Callable[[], object]) -> None:
    """Run it once more with the profiler looking."""
    import torch

    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStart()
    run()
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStop()


def profiled(counters: Iterable[str], *more: str) -> list[dict[str, str]] | None:
    """This very command again, under ncu: a row for each kernel; None where that failed, which stderr says then.

    Parameters
    ----------
    more : options of ncu.
    """
    how = ["--csv", "--page", "raw", "--print-units", "base", "--profile-from-start", "off", "--clock-control", "none"]
    command = ["ncu", *how, *more, "--metrics", ",".join(counters), sys.executable, *sys.argv]
    done = subprocess.run(command, env=os.environ | {PROFILED: "1"}, capture_output=True, text=True)
    start = done.stdout.find('"ID"')
    if done.returncode or start < 0:
        print(done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)
        return None
    return [r for r in csv.DictReader(io.StringIO(done.stdout[start:])) if r["ID"]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", default="4096,8192", help="sides of squares, separated by commas")
    parser.add_argument("--way", action="append", help="a way to tile, as in gpu_speed.py")
    args = parser.parse_args()
    ways = args.way or ["128x256x64/64x64 3", "256x128x64/64x64 3"]
    if os.environ.get(PROFILED):
        launches([int(s) for s in args.side.split(",")], ways)
        return 0
    rows = profiled(COUNTERS.values())
    if rows is None:
        return 1
    print(f"| size | kernel | {' | '.join(COUNTERS)} |\n|{'---|' * (len(COUNTERS) + 2)}")
    for n, row in enumerate(rows):
        side = args.side.split(",")[n // (len(ways) + 1)]
        at = n % (len(ways) + 1)
        name = ways[at] if at < len(ways) else f"torch.mm: {row['Kernel Name'][:48]}"
        cells = [f"{float(row[c].replace(',', '')) / (1000 if what == 'us' else 1):.1f}" if row.get(c) else "?"
                 for what, c in COUNTERS.items()]  # fmt: skip
        print(f"| {side}^3 | {name} | {' | '.join(cells)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
