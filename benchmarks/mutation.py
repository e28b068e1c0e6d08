"""Kernels broken at random: what the proofs say of each, against what it does on concrete arrays.

    python benchmarks/mutation.py [--cases 3000] [--seed 1] [--jobs 1] [--minutes 30] [--csv FILE]
    python benchmarks/mutation.py --target sm_90a              kernels whose products warpgroups make
    python benchmarks/mutation.py --show "sum 17:204"          one case, with its whole report

Each case takes a small kernel and changes its IR at random (`changes`). Then `verify` decides about it, for all sizes;
and the interpreter runs it, observers watching, for a few sizes, ragged ones and K = 0 among them, and for the sizes of
each counter-example. Arrays hold small integers, so that results are exact, and lie among NaNs. How often each element
of an output was stored is counted. The two judges share no more than the bank model and the sectors' arithmetic.

What may not be: a kernel with every statement proved that does something wrong for any arrays (`missed`), or a single
statement proved that a run contradicts (`contradicted`); an error that isn't one of the package's (`crashed`); a
counter-example whose place, block, warp or lane doesn't exist (`nowhere`). These are listed, and the exit status is 1.
A kernel is `idle` if all is proved and right, and a register that nobody wrote is copied to where nobody looks: a read
of nothing, about which there is no statement, as it can't be seen in a result.
A refutation that no run bears out (`unseen`) is to be looked at: the statement may be wrong and harmless, such as one
about a chunk that is stored twice.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import Any

import workers
from changes import Change, change
from concrete import BOXED, CHUNK_VALUES, KERNELS, SIZES, sizes_of, whole, whole_lines, wrong
from matrix import write_csv

from polyvolta.cuda.ir.kernel_ir import KernelIR
from polyvolta.cuda.verify.report.asked import PROOFS
from polyvolta.cuda.verify.report.records import Proof
from polyvolta.cuda.verify.report.report import Report
from polyvolta.cuda.verify.verify import verify
from polyvolta.sets import PolyvoltaError

MEANS = {
    "races": ("barriers_between", "not_overwritten", "written_once", "in_flight", "proxies", "layouts"),
    "phases": ("phases", "deadlock", "in_flight", "barriers_reached"),
    "uninitialised": ("fresh", "sums", "result", "written_once"),  # of shared memory, and elements of results
    "bounds": ("bounds", "alignment", "phases"),
    "divergence": ("barriers_reached", "bounds"),
    "bank_conflicts": ("bank_conflicts",),
    "coalescing": ("sectors",),
    "stored": ("written_once", "result"),
    "result": ("sums", "result", "fresh", "written_once", "copies", "barriers_between", "not_overwritten", "layouts",
               "in_flight", "proxies", "ownership"),
    "around": ("bounds",),
}
"""What a run shows, and the statements of which at least one is wrong then."""
BEARS = {
    "written_once": {"stored"},
    "fresh": {"result", "uninitialised"},
    "sums": {"result", "uninitialised"},
    "result": {"result", "uninitialised"},
    "barriers_between": {"races"},
    "not_overwritten": {"races"},
    "bank_conflicts": {"bank_conflicts"},
    "sectors": {"coalescing"},
    "alignment": {"bounds"},
    "bounds": {"bounds"},
    "barriers_reached": {"divergence"},
}
"""What a run for a counter-example's own sizes shows, if it is a real one. The other statements are about maps and
copies, which may be wrong and do no harm."""
LIMIT_S, MOST_WORK = 60, 3e6


# ---- one case


def case(task: str) -> dict[str, Any]:
    """What became of one case, named by its kernel, seed and number."""
    name, text = task.rsplit(" ", 1)
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(LIMIT_S)
    try:
        return judged(name, change(whole(name)[1].ir, random.Random(f"{name} {text}")))
    finally:
        signal.alarm(0)


def _late(*_: Any) -> None:
    raise TimeoutError(f"more than {LIMIT_S} s")


def blank(kind: str, what: str) -> dict[str, Any]:
    """What is written of a case."""
    return {"kind": kind, "what": what, "verdict": "", "refuted": "", "unborne": "", "seen": "", "story": ""}


def judged(name: str, made: Change) -> dict[str, Any]:
    """Both judges' verdicts of a changed kernel, and what they have against one another."""
    _, kernel = whole(name)
    record = blank(made.kind, made.what)
    try:
        report: Report | None = verify(made.ir, kernel.graph, kernel.stages)
    except PolyvoltaError as error:
        report = None
        record |= {"verdict": "no kernel", "story": f"{type(error).__name__}: {error}"}
    except TimeoutError:
        raise
    except Exception:
        return record | {"verdict": "crashed", "story": "verify: " + workers.Failure.now().trace}
    refuted = () if report is None else report.refuted
    record["refuted"] = " ".join(p.id for p in refuted)
    seen: dict[str, str] = {}
    try:
        examples = dict(_examples(made.ir, refuted))
        shown = {sizes: wrong(name, made.ir, dict(sizes)) for sizes in dict.fromkeys(examples.values())}
        record["unborne"] = " ".join(i for i, sizes in examples.items() if not _borne(i, shown[sizes]))
        for found in shown.values():
            seen = found | seen
        for three in SIZES:
            if seen and refuted and not _contradicted(seen, report):
                break
            seen = wrong(name, made.ir, sizes_of(made.ir, three)) | seen
    except TimeoutError:
        raise
    except Exception:
        return record | {"verdict": "crashed", "story": "interpreter: " + workers.Failure.now().trace}
    record["seen"] = " ".join(seen)
    stories = [f"{k}: {v}" for k, v in seen.items()]
    if report is None:
        return record | {"story": "\n".join([record["story"], *stories])}
    record["verdict"] = _verdict(report, seen)
    if lost := list(_nowhere(made.ir, report)):
        record["verdict"], stories = "nowhere", [*lost, *stories]
    stories += [f"{p.id} refuted: {p.counter_example.what if p.counter_example else ''}" for p in refuted]
    return record | {"story": "\n".join([*stories, *(f"{p.id} undecided: {p.reason}" for p in report.undecided)])}


def _examples(ir: KernelIR, refuted: Iterable[Proof]) -> Iterator[tuple[str, tuple[tuple[str, int], ...]]]:
    """The sizes of counter-examples by proof, those that are not too much work for the interpreter."""
    for p in refuted:
        assert p.counter_example is not None
        sizes = p.counter_example.sizes
        if any(sizes.get(s, 0) % CHUNK_VALUES for s in whole_lines(ir)):
            continue
        if set(sizes) == set(ir.sizes) and prod(max(s, 16) for s in sizes.values()) <= MOST_WORK:
            if all(s >= (ir.ranges.get(n, (0, None))[0] or 0) for n, s in sizes.items()):
                yield p.id, tuple((n, sizes[n]) for n in ir.sizes)


def _borne(proof: str, seen: Mapping[str, str]) -> bool:
    """Whether a run bears out a counter-example; one in which threads were refused says nothing of what follows."""
    return proof not in BEARS or bool((BEARS[proof] | {"bounds", "divergence", "phases", "refused"}) & seen.keys())


def _contradicted(seen: Mapping[str, str], report: Report | None) -> list[str]:
    """What was seen though every statement about it is proved."""
    if report is None:
        return []
    unproved = {p.id for p in report.refuted} | {p.id for p in report.undecided}
    first = {"bounds", "divergence"} & seen.keys() or {"phases"} & seen.keys()
    # who is refused, or can't go on, takes no part, and what follows is no wonder
    return [k for k in first or seen if k in MEANS and not unproved & set(MEANS[k])]


def _verdict(report: Report, seen: Mapping[str, str]) -> str:
    if report.ok:
        return "missed" if seen.keys() - {"register"} else "idle" if seen else "proved"
    if not report.refuted and not _contradicted(seen, report):
        return "undecided"
    if not seen:
        return "unseen"
    return "contradicted" if _contradicted(seen, report) else "refuted"


def _nowhere(ir: KernelIR, report: Report) -> Iterator[str]:
    """What of counter-examples lies nowhere."""
    lines = report.source.count("\n") + 1
    for p in report.refuted:
        c = p.counter_example
        assert c is not None
        if not c.what:
            yield f"{p.id}: a counter-example without words"
        for place in (c.place, c.other):
            if place is not None and not 1 <= place.line <= lines:
                yield f"{p.id}: line {place.line} of {lines}"
        if c.warp is not None and not 0 <= c.warp < ir.warps or c.lane is not None and not 0 <= c.lane < 32:
            yield f"{p.id}: warp {c.warp} of {ir.warps}, lane {c.lane}"
        if c.block is not None and set(ir.sizes) <= set(c.sizes):
            grid = [g.evaluate(c.sizes) for g in ir.grid]
            if not all(0 <= b < g for b, g in zip(c.block, grid)):
                yield f"{p.id}: block {c.block} of a grid {grid} for {dict(c.sizes)}"
        for n, v in c.sizes.items():
            low, high = ir.ranges.get(n, (None, None))
            if (low is not None and v < low) or (high is not None and v > high) or v % dict(ir.context).get(n, 1):
                yield f"{p.id}: {n} = {v}"


# ---- the program

VERDICTS = (
    "proved", "idle", "refuted", "unseen", "undecided", "no kernel",
    "missed", "contradicted", "nowhere", "crashed", "late",
)  # fmt: skip
BAD = ("missed", "contradicted", "nowhere", "crashed")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--target", default="sm_70", choices=("sm_70", "sm_90a"), help="whose kernels")
    parser.add_argument("--only", default="", help="kernels with these words")
    parser.add_argument("--minutes", type=float, default=600, help="no case is begun after these")
    parser.add_argument("--list", default=",".join(BAD), help="verdicts whose cases are listed")
    parser.add_argument("--show", help="one case, with its report")
    parser.add_argument("--csv", help="write one line for each case to this file")
    args = parser.parse_args()
    if args.show:
        return show(args.show)
    names = [n for n in (BOXED if args.target == "sm_90a" else KERNELS) if args.only in n]
    tasks = [f"{names[n % len(names)]} {args.seed}:{n}" for n in range(args.cases)]
    records, until = [], time.monotonic() + 60 * args.minutes
    for task, answer, seconds in workers.run(case, tasks, args.jobs, 2 * LIMIT_S, until):
        if isinstance(answer, workers.Failure):
            late = "TimeoutError" in answer.line or "no result" in answer.line
            answer = blank("", "") | {"verdict": "late" if late else "crashed", "story": answer.trace}
        records.append({"case": task, **answer, "seconds": round(seconds, 2)})
        r = records[-1]
        if r["verdict"] in args.list.split(",") or (r.get("unborne") and "unborne" in args.list):
            line = f"[{len(records)}] {task} {r['verdict']}: {r['what'][:300]}\n    " + r["story"].strip().replace(
                "\n", "\n    "
            )
            print(line, file=sys.stderr, flush=True)
    table(records)
    by_proof(records)
    write_csv(args.csv, [{k: v for k, v in r.items() if k != "story"} for r in records])
    workers.report([(f"{r['case']} {r['verdict']}: {r['what']}", r["story"]) for r in records if r["verdict"] in BAD])
    return 1 if any(r["verdict"] in BAD for r in records) else 0


def table(records: list[dict[str, Any]]) -> None:
    """Verdicts by kinds of changes."""
    print(f"| change | kernels | {' | '.join(VERDICTS)} |")
    print("|---" * (len(VERDICTS) + 2) + "|")
    for kind in [*sorted({r["kind"] for r in records}), "all"]:
        rs = [r for r in records if kind in (r["kind"], "all")]
        counts = Counter(r["verdict"] for r in rs)
        print(f"| {kind} | {len(rs)} | {' | '.join(str(counts[v] or '') for v in VERDICTS)} |")


def by_proof(records: list[dict[str, Any]]) -> None:
    """How many refutations of each kind there are, and how many a run for their sizes doesn't bear out."""
    print("\n| proof | refuted | alone | not borne out |\n|---|---|---|---|")
    for proof in PROOFS:
        rs = [r for r in records if proof in r["refuted"].split()]
        unborne = sum(proof in r.get("unborne", "").split() for r in rs)
        shown = f"{unborne}" if proof in BEARS else "-"
        print(f"| {proof} | {len(rs)} | {sum(r['refuted'] == proof for r in rs)} | {shown} |")


def show(task: str) -> int:
    """One case with its report."""
    name, text = task.rsplit(" ", 1)
    _, kernel = whole(name)
    made = change(kernel.ir, random.Random(f"{name} {text}"))
    print(made.kind, "--", made.what)
    try:
        print(verify(made.ir, kernel.graph, kernel.stages))
    except PolyvoltaError as error:
        print(error)
    found = judged(name, made)
    print(found["verdict"], found["seen"], found["story"], sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
