"""Kernels of random formulas: whatever `compile` makes, `verify` proves.

    python benchmarks/provable.py [--cases 300] [--seed 1] [--jobs 1] [--minutes 30] [--csv FILE]
    python benchmarks/provable.py --target sm_90a     for another target, whose names of cases end in "@sm_90a"
    python benchmarks/provable.py --show 1:17         one case, with its whole report
    python benchmarks/provable.py --plans 20000       formulas alone: plans against float64, and both as combinations

A case draws pointwise formulas over the results of up to three products, with biases, residuals, scalars and numbers
(0, -0, 1, -1, large and small ones among them), prologues of the products' operands, layouts, tiles and options; on
sm_90a, of tensors as they are, tiles of warpgroups and the ways in which blocks go through the result. It is
compiled, and every statement about the kernel must be proved. What isn't is shrunk, to the smallest formula and the
plainest options that are not proved either, and listed; the exit status is 1 then. A graph that `compile` refuses is
`refused`, with a named error; any other exception is `crashed`.

A formula is a tree of texts, and its text is read three times: with polyvolta's functions it builds a graph, with
numpy's it is the expected result in float64 (`idioms.Arrays`, which shares no code with the package). With
`--plans` no kernel is made: the graph's plan, which decides what shares an accumulator, is computed in float64 and
compared with the expected result, and the verifier's combinations (`algebra`) of both are held against one another.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import workers
from formula_plans import plan_differs
from formulas import Case, Drawing, Tree
from matrix import write_csv

from polyvolta.sets import PolyvoltaError


def judged(case: Case) -> tuple[str, str]:
    """(verdict, story): proved, or "refuted: result, ..." and "undecided: ..." of all statements; refused, crashed."""
    try:
        kernel = case.kernel()
    except PolyvoltaError as error:
        return "refused", f"{type(error).__name__}: {error}"
    except Exception:
        return "crashed", "compile: " + workers.Failure.now().trace
    try:
        report = kernel.verify()
    except Exception:
        return "crashed", "verify: " + workers.Failure.now().trace
    words = []
    for name, proofs in (("refuted", report.refuted), ("undecided", report.undecided)):
        if proofs:
            words.append(f"{name}: {', '.join(p.id for p in proofs)}")
    return "; ".join(words) or "proved", "" if report.ok else str(report)


def shrunk(case: Case, verdict: str, until: float) -> Case:
    """The smallest case found that has the same verdict."""
    best, found = case, True
    while found and time.monotonic() < until:
        found = False
        for smaller in sorted(smaller_than(best), key=lambda c: c.size):
            if time.monotonic() > until:
                break
            if smaller.size < best.size and judged(smaller)[0] == verdict:
                best, found = smaller, True
                break
    return best


def smaller_than(case: Case) -> Iterator[Case]:
    """Cases with something less."""
    for n, tree in enumerate(case.outputs):
        rest = (*case.outputs[:n], *case.outputs[n + 1 :])
        if rest:
            yield replace(case, outputs=rest)
        for one in smaller_trees(tree):
            yield replace(case, outputs=(*case.outputs[:n], one, *case.outputs[n + 1 :]))
    for n in case.columns:
        yield replace(case, columns=case.columns - {n})
    for n in case.options:
        if n in ("split_k", "buffers", "partial", "accumulators", "persistent", "dependent_launch", "group"):
            yield replace(case, options={k: v for k, v in case.options.items() if k != n})
    for n in case.numbers:
        yield replace(case, numbers={k: v for k, v in case.numbers.items() if k != n})


def smaller_trees(tree: Tree) -> Iterator[Tree]:
    """The parts of a tree, and the tree with a smaller part."""
    if "@" not in tree.text:
        yield from tree.parts
    for n, part in enumerate(tree.parts):
        for one in smaller_trees(part):
            yield Tree(tree.text, (*tree.parts[:n], one, *tree.parts[n + 1 :]))


# ---- the program

BAD = ("refuted", "undecided", "crashed", "late")


def case_called(task: str) -> Case:
    """The case of a name, "seed:number", or "seed:number@target"."""
    seed, _, target = task.partition("@")
    return Drawing(seed, target or "sm_70").case()


def one(task: str) -> dict[str, str]:
    """What became of a case."""
    case = case_called(task)
    verdict, story = judged(case)
    least = ""
    if verdict not in ("proved", "refused"):
        least = str(shrunk(case, verdict, time.monotonic() + 60))
    return {"verdict": verdict, "what": str(case), "least": least, "story": story}


def plans(seed: int, count: int) -> int:
    """Formulas without kernels; how many are wrong."""
    counts, wrong = Counter(), 0
    for n in range(count):
        case = case_called(f"{seed}:{n}")
        try:
            differs = plan_differs(case)
        except PolyvoltaError as refused:
            counts[f"refused, {refused.id}"] += 1
            continue
        counts["differs" if differs else "agrees"] += 1
        if differs:
            wrong += 1
            print(f"{seed}:{n} {case}\n    {differs}", file=sys.stderr)
    print("".join(f"{name}: {number}\n" for name, number in counts.most_common()), end="")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", default="sm_70", choices=("sm_70", "sm_90a"), help="what kernels are made for")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--minutes", type=float, default=600, help="no case is begun after these")
    parser.add_argument("--plans", type=int, help="so many formulas without kernels")
    parser.add_argument("--show", help="one case, with its report")
    parser.add_argument("--csv", help="write one line for each case to this file")
    args = parser.parse_args()
    if args.plans:
        return 1 if plans(args.seed, args.plans) else 0
    if args.show:
        case = case_called(args.show)
        print(case, *judged(case), sep="\n")
        return 0
    target = f"@{args.target}" if args.target != "sm_70" else ""
    tasks = [f"{args.seed}:{n}{target}" for n in range(args.cases)]
    records, until = [], time.monotonic() + 60 * args.minutes
    for task, answer, seconds in workers.run(one, tasks, args.jobs, 300, until):
        if isinstance(answer, workers.Failure):
            answer = {"verdict": "late", "what": answer.line, "least": "", "story": answer.trace}
        records.append({"case": task, **answer, "seconds": round(seconds, 2)})
        if answer["verdict"].startswith(BAD):
            print(f"[{len(records)}] {task} {answer['verdict']}: {answer['what']}\n    least: {answer['least']}",
                  file=sys.stderr, flush=True)  # fmt: skip
    print("| verdict | cases |\n|---|---|")
    for verdict, number in Counter(r["verdict"] for r in records).most_common():
        print(f"| {verdict} | {number} |")
    refusals = Counter(r["story"].split(":")[0] for r in records if r["verdict"] == "refused")
    print("refused with", ", ".join(f"{number} {name}" for name, number in refusals.most_common()) or "nothing")
    write_csv(args.csv, [{k: v for k, v in r.items() if k != "story"} for r in records])
    workers.report([(f"{r['case']} {r['verdict']}: {r['least']}", r["story"]) for r in records
                    if r["verdict"].startswith(BAD)])  # fmt: skip
    return 1 if any(r["verdict"].startswith(BAD) for r in records) else 0


if __name__ == "__main__":
    sys.exit(main())
