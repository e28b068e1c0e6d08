"""Long random campaigns of loops from trees: `python -m tests.sched.campaign --cases 100000 --jobs 2 --keep F.jsonl`.

Every tree is decoded from bytes that the seed and a number decide, so that a run repeats exactly with any number of
jobs. A case is good when its loops, run at several values of the parameters, are the instances of the tree in an order
that it allows; wrong when they are not, or an error is raised that is none of ours; declined when loops are refused
(`NotScannable`, `BudgetExceeded`); slow when the clock stops it. Few trees take most of the time: a tree whose loops
need more than `--steps` of the package's own steps is put aside, and one in `--whole` of these is run to its end all
the same. A table counts outcomes by what trees and loops contain. Cases that fail are made smaller, printed with what
repeats them, and decide the exit code. With `--keep`, what is done is kept in a file, and the same command goes on with
what is not.
"""

import argparse
import builtins
import os
import re
import sys
import time
from collections import Counter
from functools import partial
from multiprocessing import get_context

from polyvolta.sched.emit.python.text import to_python
from polyvolta.sched.emit.run import run
from polyvolta.sched.errors import NotScannable
from polyvolta.sched.loops.ast import AnyOf, Block, Call, Choice, Extreme, For, If, within
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Band, Context, Extension, Filter, Guard, Leaf, Mark, Sequence, SetNode
from polyvolta.sets import BudgetExceeded, budget
from polyvolta.sets.values.aff import Floor
from tests.campaigns import RENEWED, Kept, Progress, Slow, clock, drawn_bytes, one_of, shrink, sources
from tests.sched.loops.draw import LENGTH, tree
from tests.sched.loops.oracle import deviation

CHUNK = 20
STEPS = 10_000  # some 0.2 s
WHOLE = 8
# all drawn trees are bounded
REFUSALS = ("does not run from 0 to one bound", "cannot be unrolled", "has no value, and instances run there")
OUTCOMES = ("good", "wrong", "declined", "aside", "slow")
NODES = {Sequence: "sequence", SetNode: "set", Mark: "mark", Guard: "guard", Context: "context", Extension: "extension"}


def data_of(seed, number):
    """The bytes of a case."""
    return drawn_bytes(LENGTH, seed, number)


def attempt(data, rich=True, seconds=20, steps=None):
    """The outcome of a case, what there is to say about it, the drawn tree, and what it contains."""
    drawn, features = None, set()
    try:
        with clock(seconds):
            drawn = tree(data, rich)
            features |= of_tree(drawn)
            found = scanned(drawn, steps)
            features |= of_loops(found.body)
            for values, meaning in zip(drawn.values, drawn.meanings, strict=True):
                reason = deviation(drawn.schedule, found, values, meaning)
                if reason:
                    return "wrong", f"at {values} {reason}", drawn, features
            if called(to_python(found), values) != run(found, values):
                return "wrong", f"at {values} the Python text calls otherwise", drawn, features
    except BudgetExceeded as error:
        return "declined" if steps is None else "aside", f"BudgetExceeded: {error.message}", drawn, features
    except NotScannable as error:
        fair = any(reason in error.message for reason in REFUSALS)
        return "declined" if fair else "wrong", f"NotScannable: {error.message}", drawn, features
    except Slow:
        return "slow", f"no answer in {seconds} s", drawn, features
    except Exception as error:
        at = error.__traceback__
        while at.tb_next:
            at = at.tb_next
        place = f"{os.path.basename(at.tb_frame.f_code.co_filename)}:{at.tb_lineno}"
        return (
            "wrong",
            f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''} ({place})",
            drawn,
            features,
        )
    return "good", "", drawn, features


def scanned(drawn, steps):
    """The loops of a tree, within so many steps."""
    if steps is None:
        return scan(drawn.schedule, drawn.context)
    with budget(steps):
        return scan(drawn.schedule, drawn.context)


def called(text, values):
    """The calls that a Python text makes."""
    calls = []
    say = {s: (lambda *args, s=s: calls.append((s, args))) for s in re.findall(r"(\w+)\(", text)}
    space = {**say, **{name: getattr(builtins, name) for name in ("range", "min", "max")}, **values}
    exec(text, space)  # noqa: S102
    return calls


def of_tree(drawn):
    """What a tree contains."""
    found = {f"{len(drawn.schedule.domain.tuple_names)} statements", f"{len(drawn.values[0])} parameters"}
    if any(len(cs) > 1 for _, cs in drawn.schedule.domain.parts):
        found.add("domain in pieces")
    if any(c.divs for _, cs in drawn.schedule.domain.parts for c in cs):
        found.add("domain with strides or floors")
    for _, node in drawn.schedule.walk():
        if type(node) in NODES:
            found.add(NODES[type(node)])
        if isinstance(node, Filter) and node.instances is not None:
            found.add("filter of instances")
        if isinstance(node, Leaf):
            continue
        if isinstance(node, Band):
            found |= {m.loop_type for m in node.members} - {"default"}
            if any(m.name for m in node.members):
                found.add("mapped member")
            if node.isolate is not None:
                found.add("isolate")
            if any(isinstance(a, Floor) for m in node.members for _, e in m.exprs for a, _ in e.terms):
                found.add("band with floors")
            if len(node.statements) > 1:
                found.add("band of several statements")
    return found


def of_loops(body):
    """What loops contain."""
    found = set()
    for node in body:
        match node:
            case Call():
                found.add("a call")
            case For(_, lower, upper, step, _, inner):
                found |= {"a loop"} | of_loops(inner)
                if step > 1:
                    found.add("a step")
                if len(lower) > 1 or len(upper) > 1:
                    found.add("max of lower or min of upper bounds")
                if any(isinstance(b, Extreme) for b in (*lower, *upper)):
                    found.add("min of lower or max of upper bounds")
                if any(isinstance(t, Choice) for b in (*lower, *upper) for t in (b, *getattr(b, "terms", ()))):
                    found.add("a bound that counts at some places")
            case If(conditions):
                found |= {"a condition"} | of_loops(within(node))
                if node.other:
                    found.add("a condition with another branch")
                if any(isinstance(c, AnyOf) for c in conditions):
                    found.add("a condition with or")
            case Block(_, inner):
                found |= of_loops(inner)
    return found


def kind_of(outcome, message):
    """What makes two failures alike: the outcome, and the kind of an error."""
    return outcome, "" if message.startswith("at ") else message.split(":")[0]


def fails(kind, rich, seconds, data):
    """Whether a case fails in a way."""
    return kind_of(*attempt(data, rich, seconds)[:2]) == kind


def report(data, origin, rich, seconds):
    """What a person needs to see and repeat a case."""
    outcome, message, drawn, _ = attempt(data, rich, seconds)
    return f"{outcome} ({origin})\n{text_of(drawn)}\n    {message}\n    --replay {data.hex() or '00'}"


def text_of(drawn):
    """A case as text: the tree in isl's notation."""
    if drawn is None:
        return "    no tree"
    schedule = drawn.schedule
    return f"{schedule.to_isl()}\ncontext {drawn.context}\nat {list(drawn.values)}"


def chunk(job):
    """Some cases: the job, how many were run before the end of time, and the counts; the result crosses processes."""
    first, count, seed, (rich, seconds, steps, whole), ends, shrinks = job
    table, reasons, reports, done = Counter(), Counter(), [], 0
    for number in range(first, first + count):
        if time.time() > ends:
            break
        data = data_of(seed, number)
        outcome, message, drawn, features = attempt(data, rich, seconds, steps)
        if outcome == "aside" and one_of(whole, seed, number):
            outcome, message, drawn, features = attempt(data, rich, seconds)
        done += 1
        for f in (*features, "all"):
            table[f, outcome] += 1
        if drawn is not None:
            table["runs at parameters", outcome] += len(drawn.values)
        if outcome not in ("good", "aside"):
            kind = kind_of(outcome, message)
            reasons[outcome, kind[1] or "other instances or order" if outcome == "wrong" else message] += 1
        if outcome in ("wrong", "slow"):
            if shrinks and outcome == "wrong" and table["all", "wrong"] == 1:  # one a chunk: it takes time
                data = shrink(data, partial(fails, kind, rich, seconds), 15)
            reports.append((outcome, report(data, f"seed {seed}, number {number}", rich, seconds)))
    return job, done, (table, reasons, reports)


def kept_so_far(kept):
    """What a file says: counts, reasons, and how many trees of each chunk are done."""
    table, reasons, done = Counter(), Counter(), Counter()
    for line in kept.lines:
        first, n = line["job"]
        done[first - first % CHUNK] += n
        for counter, rows in ((table, line["table"]), (reasons, line["reasons"])):
            for a, b, count in rows:
                counter[a, b] += count
    return table, reasons, done


def campaign(cases, jobs, seed, limits, kept, limit=float("inf"), shown=5, shrinks=True):
    """Run the cases; returns (feature, outcome) -> cases, and prints progress and reports.

    `limits` are (rich, seconds of a case, steps or None, whole).
    """
    ends = time.time() + limit
    table, reasons, done = kept_so_far(kept)
    printed, todo = Counter(), []
    for at in range(0, cases if limit > 0 else 0, CHUNK):
        n = min(CHUNK, cases - at)
        if done[at] < n:
            todo.append((at + done[at], n - done[at], seed, limits, ends, shrinks))
    progress = Progress(len(todo), of_all(table))
    with get_context("fork").Pool(jobs, maxtasksperchild=RENEWED) as pool:
        for (first, *_), n, (found, why, reports) in pool.imap_unordered(chunk, todo):
            table += found
            reasons += why
            if n:
                rows = ([[*key, count] for key, count in counter.items()] for counter in (found, why))
                kept.add(dict(zip(("job", "table", "reasons", "reports"), ([first, n], *rows, reports), strict=True)))
            for outcome, text in reports:
                printed[outcome] += 1
                if printed[outcome] <= shown:
                    print(text, flush=True)
            progress.tell(of_all(table), table["all", "wrong"])
            if time.time() > ends:
                break
    return table, reasons


def of_all(table):
    """How many cases there were."""
    return sum(table["all", o] for o in OUTCOMES)


def summary(table, reasons, elapsed):
    """The counts as Markdown."""
    names = sorted({f for f, _ in table}, key=lambda f: (f == "all", f))
    lines = [f"| with | {' | '.join(OUTCOMES)} |", "|---|" + "--:|" * len(OUTCOMES)]
    lines += [f"| {f} | {' | '.join(str(table[f, o]) for o in OUTCOMES)} |" for f in names]
    lines += [""] + [f"{n} {outcome}: {why}" for (outcome, why), n in reasons.most_common(12)]
    compared = table["all", "good"] + table["all", "wrong"]
    return "\n".join(lines) + f"\n\n{compared:,} trees were compared. {elapsed:.0f} s in all."


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--keep", metavar="FILE", help="keep what is done there, and go on with what is not")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after this time; 0: tell what is kept")
    parser.add_argument("--case-seconds", type=float, default=20, help="a case that takes longer is slow, and stopped")
    parser.add_argument("--steps", type=int, default=STEPS, help="a tree that spends more is put aside; 0: none is")
    parser.add_argument("--whole", type=int, default=WHOLE, help="one in so many of these is run to its end; 0: none")
    parser.add_argument("--plain", action="store_true", help="no marks, guards, contexts and extensions")
    parser.add_argument("--show", type=int, default=5, help="how many reports of an outcome are printed")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--replay", metavar="HEX", help="run one reported case")
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parsed(arguments)
    if options.replay:
        data = bytes.fromhex(options.replay)
        outcome, message, drawn, features = attempt(data, not options.plain, options.case_seconds)
        print(text_of(drawn), outcome, message, ", ".join(sorted(features)), sep="\n")
        return outcome != "good"
    began = time.time()
    limits = (not options.plain, options.case_seconds, options.steps or None, options.whole)
    state = sources("polyvolta/sets", "polyvolta/sched", "tests/sched", "tests/sets")
    kept = Kept(options.keep, campaign="loops", seed=options.seed, sources=state, limits=list(limits))
    table, reasons = campaign(
        options.cases, options.jobs, options.seed, limits, kept, options.seconds, options.show, not options.no_shrink
    )
    told = f"Seed {options.seed}, {options.jobs} processes, commit {kept.commit}."
    print(summary(table, reasons, time.time() - began), told)
    return 1 if table["all", "wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
