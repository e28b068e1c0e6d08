"""The whole matrix of kernels: compiled to machine code, interpreted against float64, or as the default rule has it.

    python benchmarks/matrix.py                    every combination to a cubin: registers, spills, shared memory
    python benchmarks/matrix.py --interpret        every combination in the interpreter, small and odd sizes, everything
                                                   around the arrays poisoned, against float64; with --observe all
                                                   observers watch and must find nothing
    python benchmarks/matrix.py --defaults         what the default rule chooses, for many sizes: no spills
    python benchmarks/matrix.py --accumulators     sums of products in one accumulator and in separate ones

All of them take --target (by default sm_70), whose matrix it is. Prints Markdown tables; with --csv also writes one
line for each combination. A combination that fails does not stop the others; all failures are listed at the end with
their tracebacks, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import cases
import combinations
import idioms
import workers
from combinations import Combination
from families import FAMILIES
from idioms import IDIOMS, LAYOUTS
from workers import Failure

from polyvolta.cuda.target.registry import target_of

Record = dict[str, Any]


# ---- work, done in any process -----------------------------------------------------------------------------


def resources(kernel: Any, seconds: float) -> Record:
    """What a kernel's text and machine code take."""
    start = time.perf_counter()
    made = kernel.compiled()
    found = made.resources(kernel.name)
    return {
        "registers": found.registers,
        "spills": (found.spill_stores or 0) + (found.spill_loads or 0),
        "local": found.local_bytes,
        "shared": found.shared_bytes + kernel.ir.shared_bytes,
        "threads": kernel.ir.threads,
        "serialized": "serialized" in made.log,
        "text_s": round(seconds, 4),
        "cubin_s": round(time.perf_counter() - start, 4),
        "text_bytes": len(kernel.source),
    }


def compile_one(c: Combination) -> Record:
    """Graph to text to cubin."""
    start = time.perf_counter()
    kernel = c.compile()
    return resources(kernel, time.perf_counter() - start)


ARRIVALS = ("lazy", "eager", 1, 2)
"""When asynchronous copies arrive, in turn."""


def interpret_one(task: tuple[Combination, int, int, int, bool]) -> Record:
    """Some random cases of one combination in the interpreter."""
    c, seed, count, most, observe = task
    start = time.perf_counter()
    kernel = c.compile()
    text_s, worst, bad = time.perf_counter() - start, 0.0, []
    kinds = cases.kinds_of(c)
    for n in range(count):
        case = cases.draw(c, f"{seed} {n} {c.name}", kinds[n % len(kinds)], most)
        verdict = cases.interpret(kernel, c, case, observe, ARRIVALS[(n + seed + len(c.name)) % len(ARRIVALS)])
        worst = max(worst, verdict.error)
        if not verdict.good:
            bad.append(f"{case}: {verdict}")
    return {
        "cases": count,
        "error": worst,
        "bad": bad,
        "text_s": text_s,
        "run_s": time.perf_counter() - start - text_s,
    }


# ---- the programs ------------------------------------------------------------------------------------------


def progress(at: int, count: int, name: str, answer: Any, seconds: float) -> None:
    """One line on the terminal a task."""
    flag = f"  {answer.line}" if isinstance(answer, Failure) else ""
    print(f"[{at:4}/{count}] {name}  {seconds:.2f} s{flag}", file=sys.stderr, flush=True)


def go(
    work: Callable, tasks: Sequence[Any], name: Callable[[Any], str], args: argparse.Namespace
) -> tuple[list[tuple[Any, Record]], list[tuple[str, str]]]:
    """Do all tasks; those with results in the tasks' order, and the failures."""
    done: dict[str, tuple[Any, Record]] = {}
    failures = []
    for n, (task, answer, seconds) in enumerate(workers.run(work, tasks, args.jobs, args.seconds), 1):
        progress(n, len(tasks), name(task), answer, seconds)
        if isinstance(answer, Failure):
            failures.append((name(task), answer.trace if answer.trace.count("\n") else answer.line))
        else:
            done[name(task)] = task, answer
    return [done[name(t)] for t in tasks if name(t) in done], failures


def compile_all(args: argparse.Namespace) -> int:
    """Resources of every combination."""
    chosen = combinations.chosen(args.only, args.part, args.limit, args.target)
    results, failures = go(compile_one, chosen, lambda c: c.name, args)
    failures += [(c.name, "ptxas serializes products of warpgroups") for c, r in results if r["serialized"]]
    kept = ("registers", "spills", "local", "shared", "threads", "text_bytes")  # what doesn't hang on the machine
    write_csv(args.csv, [{"combination": c.name} | {k: r[k] for k in kept} for c, r in results])
    if len(results) <= args.rows:
        print("| combination | registers | spills | shared bytes | text s | cubin s | text bytes |")
        print("|---|---|---|---|---|---|---|")
        for c, r in results:
            spills = f"**{r['spills']}**" if r["spills"] else "0"
            print(
                f"| {c.name} | {r['registers']} | {spills} | {r['shared']} | {r['text_s']:.2f} | {r['cubin_s']:.2f} "
                f"| {r['text_bytes']} |"
            )
        print()
    print("| idiom | kernels | registers | with spills | shared bytes | text s, median (largest) | text bytes |")
    print("|---|---|---|---|---|---|---|")
    groups = dict.fromkeys(c.idiom for c, _ in results)
    for idiom in groups:
        summary(idiom.name, [r for c, r in results if c.idiom == idiom])
    for macro in FAMILIES[args.target].macros:
        summary(f"all, {macro}", [r for c, r in results if c.macro == macro])
    summary("all", [r for _, r in results])
    print(f"\n{len(chosen)} combinations, {len(results)} compiled, {len(failures)} failed or serialized")
    workers.report(failures)
    return 1 if failures else 0


def summary(name: str, rs: Sequence[Record]) -> None:
    """A row for several kernels."""
    if not rs:
        return
    spilled = [r for r in rs if r["spills"] or r["local"]]
    worst = f" (at most {max(r['spills'] for r in spilled)} bytes)" if spilled else ""
    print(
        f"| {name} | {len(rs)} | {span(r['registers'] for r in rs)} | {len(spilled)}{worst} "
        f"| {span(r['shared'] for r in rs)} | {statistics.median(r['text_s'] for r in rs):.2f} "
        f"({max(r['text_s'] for r in rs):.2f}) | {span(r['text_bytes'] for r in rs)} |"
    )


def span(values: Any) -> str:
    """Smallest to largest."""
    found = sorted(values)
    return str(found[0]) if found[0] == found[-1] else f"{found[0]} to {found[-1]}"


def interpret_all(args: argparse.Namespace) -> int:
    """Every combination against float64."""
    chosen = combinations.chosen(args.only, args.part, args.limit, args.target)
    tasks = [(c, args.seed, args.cases, args.most, args.observe) for c in chosen]
    results, failures = go(interpret_one, tasks, lambda t: t[0].name, args)
    for (c, *_), r in results:
        failures += [(again("matrix.py --interpret", c, args), line) for line in r["bad"]]
    print(f"seed {args.seed}, {args.cases} cases each\n")
    print("| idiom | kernels | cases | largest error | failed |")
    print("|---|---|---|---|---|")
    for idiom in dict.fromkeys(t[0].idiom for t in tasks):
        rs = [r for t, r in results if t[0].idiom == idiom]
        bad = sum(len(r["bad"]) for r in rs) + sum(name.startswith(f"{idiom.name}/") for name, _ in failures)
        worst = max((r["error"] for r in rs), default=float("nan"))
        print(f"| {idiom.name} | {len(rs)} | {sum(r['cases'] for r in rs)} | {worst:.2e} | {bad or 0} |")
    total = sum(r["cases"] for _, r in results)
    print(f"\n{len(chosen)} combinations, {total} cases, {len(failures)} failures")
    workers.report(failures)
    return 1 if failures else 0


def again(program: str, c: Combination, args: argparse.Namespace) -> str:
    """The command that does one combination once more."""
    target = f"--target {args.target} " if args.target != "sm_70" else ""
    which = f'{target}--only "{c.name}" --seed {args.seed} --cases {args.cases} --most {args.most}'
    return f"python benchmarks/{program} {which}"


SIZES = ({},) + tuple(
    dict(zip("MNKLH", sizes))
    for sizes in (
        (4096, 4096, 4096, 4096, 4096),
        (1024, 1024, 1024, 512, 256),
        (512, 512, 8192, 8192, 4096),
        (64, 64, 16384, 16384, 64),
        (32, 32, 65536, 65536, 32),
        (1, 4096, 4096, 4096, 4096),
        (4096, 17, 1000, 1000, 129),
        (1000, 129, 7, 7, 1),
        (7, 7, 7, 7, 7),
    )
)
"""Sizes for which the default rule is asked: known when the kernel is compiled, or all unknown."""

Default = tuple[str, str, str, str, int, str]  # idiom, layouts, number in SIZES, target


def default_one(task: Default) -> Record:
    """A kernel with the default options."""
    import polyvolta as pv

    name, a, b, c, at, target = task
    idiom = idioms.idiom_called(name)
    start = time.perf_counter()
    kernel = pv.compile(idioms.graph(idiom, a, b, c, SIZES[at]), target=target)
    return resources(kernel, time.perf_counter() - start) | {"options": short(kernel.options)}


def short(o: Any) -> str:
    """Options in a few words."""
    block, warp = ("x".join(map(str, t)) for t in (o.block_tile, o.warp_tile))
    ways = "".join(f" {name}" for name in ("persistent", "pingpong", "swap") if getattr(o, name))
    cluster = "" if o.cluster in (None, (1, 1)) else f" c{o.cluster[0]}x{o.cluster[1]}"
    return f"{o.macro_mma} k{o.split_k} {block}-{warp} b{o.buffers}{ways}{cluster}"


def default_tasks(args: argparse.Namespace) -> list[Default]:
    """The kernels of the default rule that a command line asks for."""
    tasks = [
        (idiom.name, a, b, c, n, args.target)
        for idiom in idioms.known_of(args.target)
        for a, b, c in product(LAYOUTS, LAYOUTS, LAYOUTS)
        for n in range(len(SIZES))
        if idiom.accumulators == "auto" and not (idiom.name == "one tensor twice" and a != b)
    ]
    words = [w.strip() for w in args.only.split(",") if w.strip()]
    i, n = map(int, args.part.split("/"))
    return [t for t in tasks if all(w in default_name(t) for w in words)][i - 1 :: n][: args.limit]


def defaults(args: argparse.Namespace) -> int:
    """What the default rule can choose must not spill."""
    tasks = default_tasks(args)
    results, failures = go(default_one, tasks, default_name, args)
    failures += [(default_name(t), f"spills {r['spills']} bytes, {r['options']}") for t, r in results if r["spills"]]
    failures += [(default_name(t), f"serialized, {r['options']}") for t, r in results if r["serialized"]]
    write_csv(args.csv, [{"combination": default_name(t)} | r for t, r in results])
    print("| options | kernels | registers | with spills | shared bytes | text s, median (largest) | text bytes |")
    print("|---|---|---|---|---|---|---|")
    for options in sorted({r["options"] for _, r in results}):
        summary(options, [r for _, r in results if r["options"] == options])
    summary("all", [r for _, r in results])
    print(f"\n{len(tasks)} kernels, {len(failures)} spill, are serialized or failed")
    workers.report(failures)
    return 1 if failures else 0


def default_name(t: Default) -> str:
    """Such as `bias relu/row.col-row/M=64 N=64 K=16384`."""
    idiom = idioms.idiom_called(t[0])
    sizes = " ".join(f"{n}={SIZES[t[4]][n]}" for n in idiom.sizes if n in SIZES[t[4]]) or "any size"
    return f"{t[0]}/{t[1]}.{t[2]}-{t[3]}/{sizes}"


FORMS = (("sum of two", "sum of two, apart"), ("sum of three", "sum of three, apart"))
FORM_TILES = (
    ((128, 128, 32), (64, 64, 32)),
    ((256, 64, 32), (64, 64, 32)),
    ((128, 128, 32), (64, 32, 32)),
    ((128, 64, 32), (64, 32, 32)),
    ((64, 64, 32), (32, 32, 32)),
    ((128, 128, 32), (32, 32, 32)),
)


def compile_anyhow(c: Combination) -> Record:
    """As `compile_one`, whatever registers it needs: the compiler then spills."""
    from dataclasses import replace

    import polyvolta as pv

    lenient = replace(target_of(c.target), registers=10**4, block_registers=10**7)
    start = time.perf_counter()
    kernel = pv.compile(c.outputs(), target=lenient, options=c.options)
    return resources(kernel, time.perf_counter() - start)


def accumulators(args: argparse.Namespace) -> int:
    """Registers and spills of sums in one accumulator and in separate ones, tiles that the options refuse included.

    Of warps' macro-MMAs, which have both.
    """
    by_name = {i.name: i for i in IDIOMS}
    macros = [m.name for m in target_of(args.target).macro_mmas]
    tasks = [
        Combination(by_name[form], "row", "col", "row", macro, 1, block, warp, target=args.target)
        for forms in FORMS
        for (block, warp), macro in product(FORM_TILES, macros)
        for form in forms
    ]
    results, failures = go(compile_anyhow, tasks, lambda c: c.name, args)
    found = {c.name: r for c, r in results}
    print(
        "| products | block tile / warp tile | macro-MMA | one: registers | spilled | separate: registers | spilled |"
    )
    print("|---|---|---|---|---|---|---|")
    for one, apart in zip(tasks[::2], tasks[1::2]):
        cells = []
        for c in (one, apart):
            r = found.get(c.name)
            cells += [str(r["registers"]), f"{r['spills']} bytes" if r["spills"] else "0"] if r else ["failed", ""]
        print(f"| {one.idiom.name} | {one.block} / {one.warp} | {one.macro} | {' | '.join(cells)} |")
    workers.report(failures)
    return 1 if failures else 0


def columns(c: Combination) -> Record:
    """A combination as columns of a table."""
    return {
        "combination": c.name,
        "idiom": c.idiom.name,
        "a": c.a,
        "b": c.b,
        "c": c.c,
        "macro": c.macro,
        "split_k": c.split_k,
        "block": "x".join(map(str, c.block)),
        "warp": "x".join(map(str, c.warp)),
        "buffers": c.buffers,
        "partial": c.partial,
    }


def write_csv(path: str | None, rows: Sequence[Record]) -> None:
    """A table as a file."""
    if not path or not rows:
        return
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def arguments(doc: str | None) -> argparse.ArgumentParser:
    """What all programs over the matrix take."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="sm_70", choices=tuple(FAMILIES), help="whose matrix of kernels")
    parser.add_argument("--only", default="", help="words that the names must have, separated by commas")
    parser.add_argument("--part", default="1/1", help="i/n: every n-th combination, starting with the i-th")
    parser.add_argument("--limit", type=int, default=None, help="at most so many combinations")
    parser.add_argument("--seed", type=int, default=1, help="of sizes and data")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seconds", type=float, default=300, help="a combination may take so long (with --jobs > 1)")
    return parser


def main() -> int:
    parser = arguments(__doc__)
    mode = parser.add_mutually_exclusive_group()
    for name in ("interpret", "defaults", "accumulators"):
        mode.add_argument(f"--{name}", action="store_true", help="see above")
    parser.add_argument("--observe", action="store_true", help="interpreted, all observers watching: no findings")
    parser.add_argument("--cases", type=int, default=2, help="random cases of a combination, interpreted")
    parser.add_argument("--most", type=int, default=2**21, help="multiply-adds of a case, interpreted")
    parser.add_argument("--csv", help="write one line for each combination to this file")
    parser.add_argument("--rows", type=int, default=60, help="print a row for each of up to so many combinations")
    args = parser.parse_args()
    if args.interpret:
        return interpret_all(args)
    if args.defaults:
        return defaults(args)
    return accumulators(args) if args.accumulators else compile_all(args)


if __name__ == "__main__":
    sys.exit(main())
