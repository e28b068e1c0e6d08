"""The printed texts of the matrix of kernels, compiled for the host and run there: no GPU, every access watched.

    python benchmarks/host_campaign.py                          every kernel of sm_70's matrix, some cases, some seeds
    python benchmarks/host_campaign.py --target sm_80 --jobs 8 --cases 5 --seeds 12
    python benchmarks/host_campaign.py --target sm_90a --part 1/16          some of Hopper's: boxes, warpgroups, roles
    python benchmarks/host_campaign.py --only "gated, one A" --part 1/4 --minutes 10

Each kernel's text, with the instructions as the PTX manual defines them and a fiber a thread, is compared to the
interpreter bit for bit, and to float64, on sizes and arrays at random; the threads' order, and when asynchronous copies
arrive, are another with each seed. `tests/cuda/host` tells how it works.

Prints a Markdown table; a failure with what runs it again. The exit status is 1 when anything failed, 2 without a C++
compiler.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from typing import Any

import cases
import combinations
import matrix
import workers
from arrays import Library
from combinations import Combination
from workers import Failure

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.cuda.host import COMPILER
from tests.cuda.host.compare import Both
from tests.cuda.host.launch import Counts

ORDERS = 12  # seeds after which arrivals and strategies repeat
Task = tuple[Combination, int, int, int, int]  # combination, seed, cases, seeds of a case, multiply-adds


def work(task: Task) -> dict[str, Any]:
    """All cases of one combination."""
    c, seed, count, seeds, most = task
    start = time.perf_counter()
    kernel = c.compile()
    compiled, bad, both = time.perf_counter() - start, [], Both(())
    kinds = cases.kinds_of(c)
    for n in range(count):
        text = f"{seed} {n} {c.name}"
        case = cases.draw(c, text, kinds[n % len(kinds)], most)
        pick = random.Random(text)
        both.seeds = [ORDERS * pick.randrange(2**20) + s for s in pick.sample(range(ORDERS), min(seeds, ORDERS))]
        try:
            verdict = cases.run(kernel, c, case, Library(), both, lambda a: a)
        except Exception as wrong:
            bad.append(f"{case}: {type(wrong).__name__}: {wrong}")
            continue
        if not verdict.good:
            bad.append(f"{case}: {verdict}")
    texts = len(both.texts)
    both.close()
    seconds = time.perf_counter() - start - compiled
    return {"cases": count, "texts": texts, "bad": bad, "counts": both.counts, "seconds": seconds}


def main() -> int:
    parser = matrix.arguments(__doc__)
    parser.add_argument("--cases", type=int, default=2, help="cases of a combination")
    parser.add_argument("--seeds", type=int, default=3, help=f"orders of threads for each case, at most {ORDERS}")
    parser.add_argument("--most", type=int, default=2**19, help="multiply-adds of a case, at most")
    parser.add_argument("--minutes", type=float, default=600, help="begin no combination after that")
    args = parser.parse_args()
    if COMPILER is None:
        print("there is no C++ compiler", file=sys.stderr)
        return 2
    chosen = combinations.chosen(args.only, args.part, args.limit, args.target)
    tasks = [(c, args.seed, args.cases, args.seeds, args.most) for c in chosen]
    begun = time.monotonic()
    done, failures = [], []
    for n, (task, answer, seconds) in enumerate(
        workers.run(work, tasks, args.jobs, args.seconds, begun + 60 * args.minutes), 1
    ):
        matrix.progress(n, len(tasks), task[0].name, answer, seconds)
        again = matrix.again("host_campaign.py", task[0], args)
        if isinstance(answer, Failure):
            failures.append((again, answer.line + "\n" + answer.trace))
            continue
        done.append((task[0], answer))
        for bad in answer["bad"]:
            print(f"  {bad}", file=sys.stderr, flush=True)
            failures.append((again, bad))
    report(args, done, len(tasks), len(failures), time.monotonic() - begun)
    workers.report(failures)
    return 1 if failures else 0


def report(args: Any, done: list[tuple[Combination, dict[str, Any]]], wanted: int, failed: int, seconds: float) -> None:
    """The table, and the sums."""
    print(f"{args.target}, seed {args.seed}, part {args.part}, {args.cases} cases, {args.seeds} orders of each\n")
    print("| idiom | kernels | texts | cases | products | boxes | accesses | seconds | failed |")
    print("|---|---|---|---|---|---|---|---|---|")
    for idiom in [*dict.fromkeys(c.idiom for c, _ in done), None]:
        mine = [r for c, r in done if idiom in (None, c.idiom)]
        counts = sum((r["counts"] for r in mine), Counts())
        texts, tried, bad = (sum(x) for x in zip(*((r["texts"], r["cases"], len(r["bad"])) for r in mine), (0, 0, 0)))
        took = sum(r["seconds"] for r in mine)
        name = "all" if idiom is None else idiom.name
        numbers = f"{counts.products} | {counts.boxes} | {counts.accesses} | {took:.1f} | {bad}"
        print(f"| {name} | {len(mine)} | {texts} | {tried} | {numbers} |")
    print(f"\n{len(done)} of {wanted} combinations, {failed} failures, {seconds:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
