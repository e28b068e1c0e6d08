"""How long `kernel.verify()` takes: the default kernels of the idioms, and the largest fused ones.

    python benchmarks/verify.py [--only gated] [--repeat 3]
    python benchmarks/verify.py --matrix [--jobs 2] [--only split] [--part 1/8] [--csv FILE]

Times are processor seconds of one process after all imports: `first` with everything that the package has memoised
dropped after compiling, `best` of several. The columns before are the best run's, by groups of proofs, by the clock.
What is promised is 3 s for a default kernel and 10 s for the largest fused one.

With `--matrix` every kernel of the matrix (`combinations.py`) is verified instead, with `--defaults` what the default
rule chooses for every idiom in all layouts; what is refuted or not decided is listed, and the exit status is then 1.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from typing import Any

import combinations
import idioms
import matrix
import workers
from combinations import Combination
from compile import forget

import polyvolta as pv

GROUPS = {
    "schedule": ("arguments", "dependences", "partition"),
    "copies, stores": ("copies", "written_once"),
    "shared memory": ("fresh", "barriers_between", "not_overwritten", "barriers_reached"),
    "values": ("sums", "result"),
    "maps": ("ownership", "exchange"),
    "accesses": ("bank_conflicts", "sectors", "alignment", "bounds"),
}
LIMIT, LARGEST_LIMIT = 3.0, 10.0
LARGEST = (
    Combination(
        idioms.idiom_called("gated, prologues, residual"), "row", "col", "row", "m16n16k8", 1,
        (128, 64, 32), (64, 32, 32), 2,
    ),
    Combination(
        idioms.idiom_called("sum, prologues, residual"), "col", "row", "col", "m32n32k8", 2,
        (128, 64, 32), (64, 32, 32), 1,
    ),
    Combination(
        idioms.idiom_called("three, mixed"), "col", "row", "row", "m16n16k8", 2,
        (64, 64, 32), (32, 32, 32), 2,
    ),
)  # fmt: skip
"""Kernels of the most statements, tensors and accumulators."""


def one(name: str, kernel: Any, limit: float, repeat: int) -> bool:
    """A row for a kernel; whether all is proved in time."""
    forget()
    start = time.process_time()
    reports = [kernel.verify()]
    first = time.process_time() - start
    times = []
    for _ in range(repeat):
        start = time.process_time()
        reports.append(kernel.verify())
        times.append(time.process_time() - start)
    best = min(times, default=first)
    fastest = reports[1 + times.index(best)] if times else reports[0]
    seconds = {p.id: p.seconds for p in fastest.proofs}
    groups = [f"{sum(seconds.get(n, 0) for n in names):.2f}" for names in GROUPS.values()]
    others = {"refuted": fastest.refuted, "not decided": fastest.undecided}
    proved = (
        "all" if fastest.ok else "; ".join(f"**{', '.join(p.id for p in ps)} {w}**" for w, ps in others.items() if ps)
    )
    late = "" if first <= limit else " **late**"
    cells = [name, f"{len(fastest.proofs)}", proved, *groups, f"{best:.2f}", f"{first:.2f}", f"{limit:.0f}{late}"]
    print(f"| {' | '.join(cells)} |", flush=True)
    return fastest.ok and first <= limit


def defaults(args: argparse.Namespace) -> int:
    """The table of times."""
    import polyvolta.cuda.verify.verify  # noqa: F401  # not part of the first time

    words = [w.strip() for w in args.only.split(",") if w.strip()]
    rows = [
        (i.name, lambda i=i: pv.compile(idioms.graph(i, "row", "col", "row"), target=args.target), LIMIT)
        for i in idioms.known_of(args.target)
        if i.accumulators == "auto"
    ]
    rows += [(c.name, c.compile, LARGEST_LIMIT) for c in LARGEST if c.target == args.target]
    print(f"| kernel | proofs | proved | {' | '.join(GROUPS)} | best s | first s | promised s |")
    print("|---" * (len(GROUPS) + 6) + "|")
    good = [one(name, make(), limit, args.repeat) for name, make, limit in rows if all(w in name for w in words)]
    print(f"\n{sum(good)} of {len(good)} proved in the time promised")
    return 0 if all(good) else 1


# ---- the matrix, done in any process


def verify_one(c: Combination) -> matrix.Record:
    """All proofs of one kernel."""
    start = time.perf_counter()
    kernel = c.compile()
    text_s = time.perf_counter() - start
    report = kernel.verify()
    return {
        "proofs": len(report.proofs),
        "refuted": " ".join(p.id for p in report.refuted),
        "undecided": " ".join(p.id for p in report.undecided),
        "text_s": round(text_s, 3),
        "verify_s": round(time.perf_counter() - start - text_s, 3),
        "story": "" if report.ok else str(report),
    }


def verify_default(task: matrix.Default) -> matrix.Record:
    """The same of a kernel that the default rule chooses."""
    name, a, b, c, at, target = task
    graph = idioms.graph(idioms.idiom_called(name), a, b, c, matrix.SIZES[at])
    kernel = pv.compile(graph, target=target)
    start = time.perf_counter()
    report = kernel.verify()
    return {
        "proofs": len(report.proofs),
        "refuted": " ".join(p.id for p in report.refuted),
        "undecided": " ".join(p.id for p in report.undecided),
        "verify_s": round(time.perf_counter() - start, 3),
        "story": "" if report.ok else str(report),
    }


def verify_all(args: argparse.Namespace) -> int:
    """Every kernel of the matrix, or of the default rule."""
    if args.defaults:
        tasks: Any = matrix.default_tasks(args)
        results, failures = matrix.go(verify_default, tasks, matrix.default_name, args)
        named = [(matrix.default_name(t), t[0], r) for t, r in results]
    else:
        tasks = combinations.chosen(args.only, args.part, args.limit, args.target)
        results, failures = matrix.go(verify_one, tasks, lambda c: c.name, args)
        named = [(c.name, c.idiom.name, r) for c, r in results]
    failed, wrong = len(failures), [(n, r) for n, _, r in named if r["refuted"]]
    unknown = [(n, r) for n, _, r in named if r["undecided"] and not r["refuted"]]
    failures += [(n, r["story"]) for n, r in wrong + unknown]
    matrix.write_csv(args.csv, [{"kernel": n} | {k: v for k, v in r.items() if k != "story"} for n, _, r in named])
    print("| idiom | kernels | proofs | refuted | not decided | seconds, median | largest | of |")
    print("|---|---|---|---|---|---|---|---|")
    for idiom in [*dict.fromkeys(i for _, i, _ in named), "all"]:
        rs = [(n, r) for n, i, r in named if idiom in (i, "all")]
        if rs:
            slowest = max(rs, key=lambda x: x[1]["verify_s"])
            bad = [sum(bool(r[word]) for _, r in rs) for word in ("refuted", "undecided")]
            median = statistics.median(r["verify_s"] for _, r in rs)
            cells = [idiom, len(rs), sum(r["proofs"] for _, r in rs), *bad, f"{median:.2f}"]
            print(f"| {' | '.join(map(str, cells))} | {slowest[1]['verify_s']:.2f} | {slowest[0]} |")
    print(f"\n{len(tasks)} kernels, {len(wrong)} refuted, {len(unknown)} not decided, {failed} failed")
    workers.report(failures)
    return 1 if failures else 0


def main() -> int:
    parser = matrix.arguments(__doc__)
    parser.add_argument("--matrix", action="store_true", help="every kernel of the matrix")
    parser.add_argument("--defaults", action="store_true", help="every kernel of the default rule")
    parser.add_argument("--repeat", type=int, default=3, help="runs for the best time")
    parser.add_argument("--csv", help="write one line for each kernel to this file")
    args = parser.parse_args()
    return verify_all(args) if args.matrix or args.defaults else defaults(args)


if __name__ == "__main__":
    sys.exit(main())
