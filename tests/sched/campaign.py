"""Long random campaigns of loops from trees: `python -m tests.sched.campaign --cases 10000 --jobs 4 --seed 1`.

Every tree is decoded from bytes that the seed and a number decide, so that a run repeats exactly with any number of
jobs. A case is good when its loops, run at several values of the parameters, are the instances of the tree in an order
that it allows; wrong when they are not, or an error is raised that is none of ours; declined when loops are refused
(`NotScannable`, `BudgetExceeded`); slow when the clock stops it. A table counts outcomes by what trees and loops
contain. Cases that fail are made smaller, printed with what repeats them, and decide the exit code.
"""

import argparse
import builtins
import os
import random
import re
import signal
import sys
import time
from collections import Counter
from contextlib import contextmanager
from multiprocessing import get_context

from polyvolta.sched.emit.python.text import to_python
from polyvolta.sched.emit.run import run
from polyvolta.sched.errors import NotScannable
from polyvolta.sched.loops.ast import AnyOf, Block, Call, Choice, Extreme, For, If
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Band, Context, Extension, Filter, Guard, Leaf, Mark, Sequence, SetNode
from polyvolta.sets import BudgetExceeded
from polyvolta.sets.values.aff import Floor
from tests.sched.loops.draw import LENGTH, tree
from tests.sched.loops.oracle import deviation

CHUNK = 20
REFUSALS = ("does not run from 0 to one bound", "cannot be unrolled")  # all drawn trees are bounded
OUTCOMES = ("good", "wrong", "declined", "slow")
NODES = {Sequence: "sequence", SetNode: "set", Mark: "mark", Guard: "guard", Context: "context", Extension: "extension"}


class Slow(BaseException):
    """The clock stopped a case."""


@contextmanager
def clock(seconds):
    """Raises Slow inside when so much processor time is spent."""

    def stop(*_):
        raise Slow

    old = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, old)


def data_of(seed, number):
    """The bytes of a case."""
    return random.Random(f"{seed} {number}").randbytes(LENGTH)


def attempt(data, rich=True, seconds=20):
    """The outcome of a case, what there is to say about it, the drawn tree, and what it contains."""
    drawn, features = None, set()
    try:
        with clock(seconds):
            drawn = tree(data, rich)
            features |= of_tree(drawn)
            found = scan(drawn.schedule, drawn.context)
            features |= of_loops(found.body)
            for values in drawn.values:
                reason = deviation(drawn.schedule, found, values)
                if reason:
                    return "wrong", f"at {values} {reason}", drawn, features
            if called(to_python(found), values) != run(found, values):
                return "wrong", f"at {values} the Python text calls otherwise", drawn, features
    except BudgetExceeded as error:
        return "declined", f"BudgetExceeded: {error.message}", drawn, features
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
            case If(conditions, inner):
                found |= {"a condition"} | of_loops(inner)
                if any(isinstance(c, AnyOf) for c in conditions):
                    found.add("a condition with or")
            case Block(_, inner):
                found |= of_loops(inner)
    return found


def kind_of(outcome, message):
    """What makes two failures alike: the outcome, and the kind of an error."""
    return outcome, "" if message.startswith("at ") else message.split(":")[0]


def shrink(data, kind, rich, seconds):
    """Shorter bytes, more of them zero, that fail alike."""

    def fails(candidate):
        return kind_of(*attempt(candidate, rich, seconds)[:2]) == kind

    ends = time.monotonic() + 15
    size = len(data)
    while size and time.monotonic() < ends:
        for at in range(0, len(data), size):
            shorter = data[:at] + data[at + size :]
            zeroed = data[:at] + bytes(len(data[at : at + size])) + data[at + size :]
            for candidate in (shorter, zeroed):
                if candidate != data and fails(candidate):
                    data = candidate
                    break
            if time.monotonic() > ends:
                break
        size //= 2
    return data


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
    """Some cases; the result crosses processes."""
    first, count, seed, rich, seconds, ends, shrinks = job
    table, reasons, reports = Counter(), Counter(), []
    for number in range(first, first + count):
        if time.time() > ends:
            break
        data = data_of(seed, number)
        outcome, message, drawn, features = attempt(data, rich, seconds)
        for f in (*features, "all"):
            table[f, outcome] += 1
        if drawn is not None:
            table["runs at parameters", outcome] += len(drawn.values)
        if outcome != "good":
            reasons[
                outcome, kind_of(outcome, message)[1] or "other instances or order" if outcome == "wrong" else message
            ] += 1
        if outcome in ("wrong", "slow"):
            small = shrink(data, kind_of(outcome, message), rich, seconds) if shrinks and outcome == "wrong" else data
            reports.append((outcome, report(small, f"seed {seed}, number {number}", rich, seconds)))
    return table, reasons, reports


def campaign(cases, jobs, seed, rich=True, limit=float("inf"), seconds=20, shown=5, shrinks=True):
    """Run the cases; returns (feature, outcome) -> cases, and prints progress and reports."""
    began = last = time.time()
    todo = [(at, min(CHUNK, cases - at), seed, rich, seconds, began + limit, shrinks) for at in range(0, cases, CHUNK)]
    table, reasons, printed = Counter(), Counter(), Counter()
    with get_context("fork").Pool(jobs) as pool:
        for found, why, reports in pool.imap_unordered(chunk, todo):
            table += found
            reasons += why
            for outcome, text in reports:
                printed[outcome] += 1
                if printed[outcome] <= shown:
                    print(text, flush=True)
            if time.time() - last > 5:
                last = time.time()
                n, bad = sum(table["all", o] for o in OUTCOMES), table["all", "wrong"]
                print(f"{last - began:5.0f} s: {n} of {cases} cases, {bad} wrong", file=sys.stderr, flush=True)
    return table, reasons


def summary(table, reasons, elapsed):
    """The counts as Markdown."""
    names = sorted({f for f, _ in table}, key=lambda f: (f == "all", f))
    lines = [f"| with | {' | '.join(OUTCOMES)} |", "|---|" + "--:|" * len(OUTCOMES)]
    lines += [f"| {f} | {' | '.join(str(table[f, o]) for o in OUTCOMES)} |" for f in names]
    lines += [""] + [f"{n} {outcome}: {why}" for (outcome, why), n in reasons.most_common(12)]
    return "\n".join(lines) + f"\n\n{elapsed:.0f} s in all."


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    parser.add_argument("--case-seconds", type=float, default=20, help="a case that takes longer is slow, and stopped")
    parser.add_argument("--plain", action="store_true", help="no marks, guards, contexts and extensions")
    parser.add_argument("--show", type=int, default=5, help="how many reports of an outcome are printed")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--replay", metavar="HEX", help="run one reported case")
    options = parser.parse_args(arguments)
    if options.replay:
        data = bytes.fromhex(options.replay)
        outcome, message, drawn, features = attempt(data, not options.plain, options.case_seconds)
        print(text_of(drawn), outcome, message, ", ".join(sorted(features)), sep="\n")
        return outcome != "good"
    began = time.time()
    table, reasons = campaign(
        options.cases, options.jobs, options.seed, not options.plain, options.seconds, options.case_seconds,
        options.show, not options.no_shrink,
    )  # fmt: skip
    print(summary(table, reasons, time.time() - began), f"Seed {options.seed}, {options.jobs} processes.")
    return 1 if table["all", "wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
