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
from dataclasses import replace
from functools import cache
from math import prod
from typing import Any

import numpy as np
import workers
from changes import Change, change
from combinations import Combination, expected, idiom_called
from matrix import write_csv

from polyvolta.compiler.kernel import Kernel
from polyvolta.cuda.ir.kernel_ir import GlobalTensor, KernelIR
from polyvolta.cuda.machine.interpreter import interpret
from polyvolta.cuda.machine.observe.watch import Watch, names_of
from polyvolta.cuda.machine.reach import EngineReach, GlobalReach
from polyvolta.cuda.run.views import narrowed
from polyvolta.cuda.text.places import Places
from polyvolta.cuda.verify.report.records import PROOFS, Proof
from polyvolta.cuda.verify.report.report import Report
from polyvolta.cuda.verify.verify import verify
from polyvolta.sets import PolyvoltaError

S, L = ((32, 32, 16), (16, 16, 16)), ((32, 32, 16), (32, 32, 16))
KERNELS: dict[str, tuple[str, str, str, int, tuple, int, str, Mapping[str, int]]] = {
    # idiom, layouts of A, B and the result, macro-MMA, split K, tiles, buffers, partial, narrower accesses
    "plain": ("plain", "row.col-row", "m16n16k8", 1, S, 1, "guard", {}),
    "plain, two buffers": ("plain", "col.row-col", "m16n16k8", 1, S, 2, "guard", {}),
    "plain, padded": ("plain", "row.row-row", "m16n16k8", 1, S, 1, "pad", {}),
    "plain, split": ("plain", "col.col-row", "m32n32k8", 2, L, 2, "guard", {}),
    "plain, narrow": ("plain", "row.col-row", "m32n32k8", 1, L, 1, "guard", {"A": 4, "B": 1, "C": 2}),
    "bias relu": ("bias relu", "row.row-row", "m16n16k8", 2, ((32, 32, 16), (32, 16, 16)), 1, "guard", {}),
    "leaky": ("column bias, leaky relu", "row.col-col", "m16n16k8", 1, ((16, 32, 16), (16, 16, 16)), 2, "guard", {}),
    "scalars": ("scalars at launch", "col.col-col", "m16n16k8", 1, S, 1, "guard", {}),
    "prologue A": ("prologue A", "row.row-row", "m16n16k8", 1, S, 2, "guard", {}),
    "prologue, other": ("prologue A, other layout", "col.col-row", "m32n32k8", 1, L, 1, "guard", {}),
    "prologues": ("prologue A and B", "row.col-row", "m16n16k8", 2, ((32, 16, 16), (16, 16, 16)), 1, "guard", {}),
    "idle threads": ("prologue B", "row.row-row", "m16n16k8", 1, ((64, 16, 16), (16, 16, 16)), 1, "guard", {}),
    "two outputs": ("product and bias relu", "row.col-col", "m16n16k8", 1, S, 1, "guard", {}),
    "sum": ("sum of two", "row.col-row", "m16n16k8", 1, S, 2, "guard", {}),
    "scaled": ("scaled difference", "col.row-row", "m32n32k8", 1, L, 1, "guard", {}),
    "apart": ("sum of two, apart", "row.col-row", "m16n16k8", 2, ((32, 16, 16), (16, 16, 16)), 1, "guard", {}),
    "gated": ("gated, one A", "row.col-row", "m16n16k8", 1, S, 2, "guard", {}),
}  # fmt: skip
BOXED: dict[str, tuple[str, str, str, tuple, int, bool]] = {
    # idiom, layouts, macro-MMA, tiles, buffers, swap: kernels of sm_90a, one tile a block
    "boxes": ("plain", "row.col-row", "m64n16k16", ((64, 16, 16), (64, 16, 16)), 2, False),
    "boxes, two warpgroups": ("bias relu", "col.row-row", "m64n32k16", ((128, 32, 32), (64, 32, 32)), 2, False),
    "boxes, residual": ("scalars at launch", "row.row-col", "m64n16k16", ((64, 32, 16), (64, 32, 16)), 3, False),
    "boxes, sum": ("sum of two", "row.col-row", "m64n32k16", ((64, 32, 32), (64, 32, 32)), 3, False),
    "boxes, swap": ("bias relu", "row.col-row", "m64n16k16", ((16, 64, 16), (16, 64, 16)), 2, True),
}
"""Whose products warpgroups make."""
SCALARS = {"alpha": 2.0, "beta": -1.0}
SIZES = (
    (40, 40, 40), (32, 32, 16), (33, 31, 0), (64, 32, 48), (8, 72, 33), (31, 33, 81), (1, 1, 1), (96, 16, 32),
)  # fmt: skip
"""M, N and K; other sums' lengths are these in another order."""
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
CHUNK_VALUES = 8  # of 16 bits in 16 bytes


# ---- concrete runs


@cache
def whole(name: str) -> tuple[Combination, Kernel]:
    """One of the small kernels."""
    if name in BOXED:
        idiom, layouts, macro, (block, warp), buffers, swap = BOXED[name]
        ways = {"group": 1, "occupancy": 1, "persistent": False, "dependent": False, "swap": swap}
        a, b, c = layouts.replace("-", ".").split(".")
        combination = Combination(
            idiom_called(idiom), a, b, c, macro, 1, block, warp, buffers, target="sm_90a", **ways
        )  # fmt: skip
        return combination, combination.compile()
    idiom, layouts, macro, split_k, (block, warp), buffers, partial, align = KERNELS[name]
    a, b, c = layouts.replace("-", ".").split(".")
    combination = Combination(idiom_called(idiom), a, b, c, macro, split_k, block, warp, buffers, partial)
    kernel = combination.compile()
    return combination, replace(
        kernel, ir=narrowed(kernel.ir, {t.name: align.get(t.name, 8) for t in kernel.ir.tensors})
    )


def sizes_of(ir: KernelIR, three: tuple[int, int, int]) -> dict[str, int]:
    """Values for a kernel's sizes, multiples of what it requires."""
    m, n, k = three
    values = {"M": m, "N": n, "K": k, "L": (k * 3 + 8) % 49, "H": (k + 16) % 40}
    multiples = dict(ir.context) | dict.fromkeys(whole_lines(ir), CHUNK_VALUES)
    return {s: -(-values[s] // multiples.get(s, 1)) * multiples.get(s, 1) for s in ir.sizes}


def whole_lines(ir: KernelIR) -> set[str]:
    """The sizes of lines that copies, or boxes, move in whole units of 16 bytes."""
    return {d for t in ir.tensors if t.whole and isinstance(d := t.dims[t.order[-1]], str)}


def array_of(t: GlobalTensor, values: np.ndarray | None, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """(memory, array): values, or poison, in a memory with poison around, at a place and with lines as aligned as `t`
    requires."""
    lines, run = (1, shape[0]) if len(shape) == 1 else (shape[t.order[0]], shape[t.order[1]])
    ld = -(-run // t.align) * t.align + t.align
    memory = np.full(16 + lines * ld, np.nan, np.float16)
    assert memory.ctypes.data % 16 == 0
    inner = memory[8 : 8 + lines * ld].reshape(lines, ld)[:, :run]
    array = inner[0] if len(shape) == 1 else inner if t.order == (0, 1) else inner.T
    if values is not None:
        array[...] = values
    return memory, array


class Counting(Watch):
    """The observers, and how often each value of an output was stored."""

    def __init__(self, ir: KernelIR) -> None:
        super().__init__(ir, [n for n in names_of("all", ir) if n in MEANS])
        self.counts: dict[str, np.ndarray] = {}

    def step(self, m: Any, step: Any) -> None:
        super().step(m, step)
        for at in step.reach:
            if isinstance(at, GlobalReach | EngineReach) and at.access.writes and at.access.space == "global":
                name, elements = at.access.array, at.places if isinstance(at, EngineReach) else at.elements
                count = self.counts.setdefault(name, np.zeros(m.tensors[name].values.size, int))
                np.add.at(count, (elements if at.inside is None else elements[at.inside]).ravel(), 1)


@cache
def given(name: str, sizes: tuple[tuple[str, int], ...]) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """(inputs, outputs) of a whole kernel: the inputs at random, the outputs by float64 arithmetic.

    What the kernel computes is compared with them first, for sizes that it takes: equal, as all numbers are integers.
    """
    combination, kernel = whole(name)
    rng = np.random.default_rng(len(sizes) + 17)
    table = dict(sizes)
    shapes = {t.name: tuple(table[d] if isinstance(d, str) else d for d in t.dims) for t in kernel.ir.tensors}
    values = {t.name: rng.integers(-3, 4, shapes[t.name]) for t in kernel.ir.tensors if not t.written}
    scalars = {s: SCALARS[s] for s in combination.idiom.scalars}
    doubles = {n: v.astype(np.float64) for n, v in values.items()}
    results = expected(combination.idiom, doubles | scalars, np)
    written = [t.name for t in kernel.ir.tensors if t.written]
    want = {n: np.broadcast_to(r, shapes[n]).astype(np.float16) for n, r in zip(written, results, strict=True)}
    if not any(table[n] % multiple for n, multiple in kernel.ir.context):
        outputs, seen = run(kernel.ir, kernel, values, table)
        assert not seen, f"{name} {table}: {seen}"
        assert all(np.array_equal(outputs[n], want[n]) for n in written), f"{name} {table}"
    return values, want


def run(
    ir: KernelIR, kernel: Kernel, values: Mapping[str, np.ndarray], sizes: Mapping[str, int]
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """(outputs, what was seen that is wrong: observer -> words) of one run."""
    memories, arrays = {}, {}
    for t in ir.tensors:
        shape = tuple(sizes[d] if isinstance(d, str) else d for d in t.dims)
        memories[t.name], arrays[t.name] = array_of(t, values.get(t.name), shape)
    watch = Counting(ir)
    interpret(ir, arrays, sizes, {s: SCALARS[s] for s in ir.scalars}, watch=watch, patience=30)
    seen: dict[str, str] = {}
    for observer in watch.seen(Places(ir, kernel.schedule)).values():
        for f in observer.findings:
            register = (
                f.observer == "uninitialised" and " of shared memory" not in f.what and "nobody writes" not in f.what
            )
            seen.setdefault("register" if register else f.observer, str(f))
    outputs = {}
    for t in ir.tensors:
        if t.written:
            outputs[t.name] = arrays[t.name].copy()
            arrays[t.name][...] = 0
            if around := int((~np.isnan(memories[t.name])).sum()) - arrays[t.name].size:
                seen["around"] = f"{around} values around {t.name} were written"
            stored = _of(arrays[t.name], watch.counts.get(t.name))
            if (stored != 1).any():
                at = np.argwhere(stored != 1)[0]
                seen["stored"] = f"{t.name}{at.tolist()} is stored {stored[tuple(at)]} times"
    return outputs, seen


def _of(array: np.ndarray, counts: np.ndarray | None) -> np.ndarray:
    """Counts of memory places as counts of an array's elements."""
    if counts is None or not array.size:
        return np.zeros(array.shape, int)
    strides = tuple(s // 2 * counts.itemsize for s in array.strides)
    return np.lib.stride_tricks.as_strided(counts, array.shape, strides)


def wrong(name: str, ir: KernelIR, sizes: Mapping[str, int]) -> dict[str, str]:
    """What a changed kernel does wrong for some sizes: by observer, `stored`, `around` or `result`."""
    _, kernel = whole(name)
    values, want = given(name, tuple(sizes.items()))
    try:
        got, seen = run(ir, kernel, values, sizes)
    except PolyvoltaError as refused:
        return {"refused": f"{type(refused).__name__}: {refused.message}"}
    for n, w in want.items():
        if not np.array_equal(got[n], w):
            at = np.argwhere(got[n] != w)[0]
            seen["result"] = f"{n}{at.tolist()} = {got[n][tuple(at)]}, not {w[tuple(at)]}"
    return {k: f"{dict(sizes)}: {v}" for k, v in seen.items()}


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
