"""What a kernel can be given, and given to, on a GPU: a table of checks, each in a process of its own.

    python benchmarks/gpu_features.py [--jobs 4] [--only views,bind] [--seconds 120]

Views and misaligned arrays with everything around them poisoned; arrays of torch, cupy, numba and numpy; several
results, scalars, empty dimensions, padding; refusals; second calls; bound launches on streams, in threads and in CUDA
graphs; tensor maps; kernels with boxes; device functions and tensor-core helpers in `@cuda.jit` kernels; the cache of
cubins. A check that fails, crashes or hangs doesn't stop the others; tracebacks follow the table. The exit status is 1
when any check failed. A library that isn't installed makes a check "skipped".
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import features_arrays
import features_boxes
import features_launches
import features_numba
import features_warpgroups
from features_common import CHECKS, SKIPPED, environment

from polyvolta import PolyvoltaError
from polyvolta.cuda.run import launch

GROUPS = (features_arrays, features_boxes, features_launches, features_numba, features_warpgroups)
"""Importing them registers their checks."""


def alone(name: str) -> int:
    """One check, in this process."""
    try:
        print(CHECKS[name]() or "")
    except SystemExit as e:
        return int(e.code or 0)
    except BaseException:  # noqa: BLE001
        traceback.print_exc(file=sys.stdout)
        return 1
    return 0


def apart(name: str, seconds: float) -> tuple[str, str, str, float]:
    """One check, in a process of its own: (name, result, what it said, seconds)."""
    start = time.perf_counter()
    try:
        command = [sys.executable, __file__, "--alone", name]
        done = subprocess.run(
            command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds,
            check=False,
        )  # fmt: skip
        result = {0: "pass", SKIPPED: "skipped"}.get(done.returncode, "FAIL")
        said = done.stdout.strip()
    except subprocess.TimeoutExpired as late:
        output = late.stdout or b""
        said = (output.decode(errors="replace") if isinstance(output, bytes) else output) + "\ntimed out"
        result = "FAIL"
    return name, result, said, time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=4, help="checks at a time")
    parser.add_argument("--only", default="", help="checks whose names contain one of these, separated by commas")
    parser.add_argument("--seconds", type=float, default=180, help="after which a check has failed")
    parser.add_argument("--alone", choices=[*CHECKS], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        return alone(options.alone)
    try:
        launch.require_gpu()
    except PolyvoltaError as missing:
        print(missing, file=sys.stderr)
        return 2
    names = [n for n in CHECKS if any(part in n for part in options.only.split(","))]
    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda n: apart(n, options.seconds), names))
    print("| check | result | seconds | |\n| --- | --- | ---: | --- |")
    for name, result, said, seconds in results:
        last = said.splitlines()[-1] if said else ""
        print(f"| {name.replace('_', ' ')} | {result} | {seconds:.1f} | {last[:150].replace('|', '/')} |")
    for name, result, said, _ in results:
        if result == "FAIL":
            print(f"\n---- {name}\n{said}")
    counts = {r: sum(x[1] == r for x in results) for r in ("pass", "FAIL", "skipped")}
    print("\n" + ", ".join(f"{n} {r}" for r, n in counts.items()))
    return 1 if counts["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
