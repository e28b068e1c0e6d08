"""compute-sanitizer's four tools on one kernel of each idiom and layout: a table, and the logs of what is not silent.

    python benchmarks/sanitizer.py --jobs 16 [--tools memcheck,racecheck] [--only "gated"] [--logs FOLDER]

memcheck finds accesses outside of allocations, racecheck unordered accesses to shared memory, initcheck reads of global
memory that nothing wrote, synccheck barriers that not all threads reach. Every kernel runs once under each tool, in a
process of its own, on a small odd size; macro-MMAs, splits, tiles and buffers take turns over the kernels. Arrays are
allocations of their own without anything around them, so that nothing outside is anybody's. The result is compared,
too. A log that is kept is named after tool and kernel. The exit status is 1 when a tool found something.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import combinations
import idioms
import matrix
import numpy as np
from arrays import PRECISIONS, Library, outliers, random_values, relative_error
from combinations import Combination
from families import FAMILIES, Warpgroups
from idioms import idioms_of

from polyvolta.cuda.target.registry import target_of

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (.*)")
CLEAN = re.compile(r"0 (errors|hazards displayed \(0 errors, 0 warnings\))")


def one_of_each(target: str) -> tuple[Combination, ...]:
    """A combination for each idiom and each pair of layouts."""
    found = []
    for idiom in idioms_of(FAMILIES[target]):
        mine = [c for c in combinations.combinations(target) if c.idiom == idiom]
        pairs = sorted({(c.a, c.b) for c in mine})
        for n, pair in enumerate(pairs):
            choices = [c for c in mine if (c.a, c.b) == pair]
            choices = [c for c in choices if c.block[0] * c.block[1] <= 128 * 64] or choices
            found.append(choices[(3 * n + len(found) // 4) % len(choices)])
    return tuple(found)


def sizes_of(c: Combination) -> dict[str, int]:
    """A full tile and a bit of one along each dimension, two trips and a bit along K; all odd.

    Of kernels that reach arrays by boxes lines are whole units of 16 bytes, and persistent blocks compute some tiles
    each: there are more than twice as many as multiprocessors.
    """
    m, n, k = c.step
    if isinstance(FAMILIES[c.target], Warpgroups):
        times = math.isqrt(2 * target_of(c.target).multiprocessors) if c.persistent else 1
        most = {"M": times * m + 8, "N": times * n + 8, "K": 2 * k + 8, "L": k + 8, "H": 8}
    else:
        most = {"M": m + 3, "N": n + 5, "K": 2 * k + 7, "L": k + 9, "H": 5}
    return {s: most[s] for s in c.idiom.sizes}


def run_one(name: str) -> int:
    """In a process under a tool: run a kernel on arrays in allocations of their own."""
    (c,) = combinations.chosen(name)
    sizes, rng, precision = sizes_of(c), np.random.default_rng(1), PRECISIONS[c.dtype]
    inputs = {
        n: np.asarray(
            random_values([1 if d == "1" else sizes[d] for d in text.split()[0]], "coarse", rng, precision),
            order="F" if c.layout_of(n) == "col" else "C",
        )
        for n, text in c.idiom.tensors.items()
    }
    scalars = dict.fromkeys(c.idiom.scalars, 0.5)
    doubles = {n: a.astype(np.float64) for n, a in inputs.items()}
    results = idioms.expected(c.idiom, doubles | scalars, np)
    out = tuple(np.zeros(r.shape, precision.numpy, order="F" if c.c == "col" else "C") for r in results)
    c.compile()(**inputs, **scalars, out=out if len(out) > 1 else out[0])
    library = Library(precision=precision)
    error = max(relative_error(library, o, r) for o, r in zip(out, results))
    wrong = sum(outliers(library, o, r) for o, r in zip(out, results))
    print(f"relative L2 error {error:.2e}, {wrong} values far off")
    return 0 if error <= 4 * precision.limit and not wrong else 3


@dataclass(frozen=True)
class Finding:
    """What a tool said of a kernel: "silent", or its summary."""

    tool: str
    name: str
    text: str
    log: str

    @property
    def silent(self) -> bool:
        return self.text == "silent"


def check(tool: str, name: str, seconds: float) -> Finding:
    """Run a kernel under a tool."""
    inside = [sys.executable, os.path.abspath(__file__), "--one", name]
    command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "99", *inside]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired as late:
        return Finding(tool, name, f"no end after {seconds:.0f} s", str(late.stdout) + str(late.stderr))
    log = done.stdout + done.stderr
    summaries = SUMMARY.findall(log)
    clean = bool(summaries) and all(
        re.match(r"0 (errors|hazards displayed \(0 errors, 0 warnings\))", s) for s in summaries
    )
    if done.returncode == 0 and clean:
        return Finding(tool, name, "silent", log)
    what = "; ".join(summaries) or (log.strip().splitlines() or ["no output"])[-1][:120]
    return Finding(tool, name, f"exit {done.returncode}: {what}", log)


def main() -> int:
    parser = matrix.arguments(__doc__)
    parser.add_argument("--one", help="run the kernel of that name, nothing else (what the tools watch)")
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--logs", default="sanitizer-logs", help="folder for logs of what is not silent")
    parser.add_argument("--minutes", type=float, default=9, help="begin no run after that")
    args = parser.parse_args()
    if args.one:
        return run_one(args.one)
    words = [w.strip() for w in args.only.split(",") if w.strip()]
    i, n = map(int, args.part.split("/"))
    kernels = [c for c in one_of_each(args.target) if all(w in c.name for w in words)][i - 1 :: n][: args.limit]
    tools = args.tools.split(",")
    until = time.monotonic() + 60 * args.minutes
    late = Finding("", "", "not run", "")

    def work(task: tuple[Combination, str]) -> Finding:
        if time.monotonic() > until:
            return late
        found = check(task[1], task[0].name, args.seconds)
        print(f"{found.tool:10} {found.name}  {found.text}", file=sys.stderr, flush=True)
        return found

    with ThreadPoolExecutor(args.jobs) as pool:
        findings = list(pool.map(work, [(c, tool) for c in kernels for tool in tools]))
    print(f"| kernel | {' | '.join(tools)} |")
    print("|---|" + "---|" * len(tools))
    for at, c in enumerate(kernels):
        cells = [f.text if f.silent else f"**{f.text}**" for f in findings[at * len(tools) : (at + 1) * len(tools)]]
        print(f"| {c.name} | {' | '.join(cells)} |")
    loud = [f for f in findings if not f.silent and f is not late]
    for f in loud:
        os.makedirs(args.logs, exist_ok=True)
        path = os.path.join(args.logs, re.sub(r"[^\w.-]+", "-", f"{f.tool}-{f.name}") + ".log")
        with open(path, "w") as file:
            file.write(f.log)
        print(f"\n--- {f.tool} {f.name}: {f.text}, log {path}\n" + "\n".join(f.log.splitlines()[:40]))
    unrun = sum(f is late for f in findings)
    print(f"\n{len(kernels)} kernels, {len(findings) - unrun} runs, {len(loud)} not silent, {unrun} not run")
    return 1 if loud or unrun else 0


if __name__ == "__main__":
    sys.exit(main())
