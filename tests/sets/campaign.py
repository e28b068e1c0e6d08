"""Long random campaigns: `python -m tests.sets.campaign --cases 1000000 --jobs 2 --seed 1 --keep sets.jsonl`.

Every input is decoded from bytes that the seed, the family and a number decide, so a run repeats exactly with any
number of jobs. A case is one operation on one random input, compared with its truth table. It ends well, or it is a
mismatch (a wrong answer or an unexpected error), or it is declined (`BudgetExceeded`, `NotSupported`), or it is slow
and stopped by the clock. Few cases take most of the time: a case that spends more than `--steps` of the package's own
steps is put aside, and one in `--whole` of these is run to its end all the same; so is one whose table is `Undecided`,
and that is told. Mismatches are shrunk, printed with
what repeats them, and decide the exit code. With `--keep`, what is done is kept in a file, and the same command goes on
with what is not.
"""

import argparse
import faulthandler
import os
import sys
import time
import traceback
from collections import Counter
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from math import ceil
from multiprocessing import TimeoutError, get_context

from polyvolta.sets import BudgetExceeded, NotSupported, budget
from tests.campaigns import RENEWED, Kept, Progress, Slow, clock, drawn_bytes, one_of, shrink, sources
from tests.sets.draw import Source
from tests.sets.existentials import Undecided
from tests.sets.laws import FAMILIES, LENGTH, load

CHUNK = 25  # inputs that a worker takes at a time
REPORTS = 3  # printed of a law and outcome
HANGS = 40  # so many times the clock of a case, and nothing at all has been heard: it hangs; others may use the machine
STEPS = 4000  # some 80 ms
FOR_DRAWING = 10  # times as many steps: all laws of a family need the input
WHOLE = 8
DRAW = "drawing and parsing"
UNDECIDED = "a table would take too long"
COUNTS = ("cases", "mismatches", "declined", "aside", "slow", "seconds")


@dataclass
class Tally:
    """What happened, by (family, law)."""

    cases: Counter = field(default_factory=Counter)
    mismatches: Counter = field(default_factory=Counter)
    declined: Counter = field(default_factory=Counter)
    aside: Counter = field(default_factory=Counter)
    slow: Counter = field(default_factory=Counter)
    seconds: Counter = field(default_factory=Counter)
    reports: list = field(default_factory=list)

    def add(self, other):
        for name in COUNTS:
            getattr(self, name).update(getattr(other, name))
        self.reports += other.reports

    @property
    def compared(self):
        """How many cases came to an answer that was compared with a table."""
        return self.cases.total() - self.declined.total() - self.aside.total() - self.slow.total()

    def to_json(self):
        """The tally as rows (family, law, each count), and reports."""
        rows = [[*key, *(round(getattr(self, name)[key], 6) for name in COUNTS)] for key in self.cases]
        return {"rows": rows, "reports": self.reports}

    @classmethod
    def of_json(cls, found):
        tally = cls(reports=[(tuple(key), text) for key, text in found["reports"]])
        for family, law, *counts in found["rows"]:
            for name, n in zip(COUNTS, counts, strict=True):
                if n:
                    getattr(tally, name)[family, law] += n
        return tally


@dataclass(frozen=True)
class Limits:
    """What a case may take: processor time, steps at first (None: as many as the package allows), and which of those
    that need more are run to the end."""

    seconds: float = 20
    steps: int | None = None
    whole: int = WHOLE


def data_of(seed, family, number):
    """The bytes of an input."""
    return drawn_bytes(LENGTH, seed, family, number)


def within(f, steps):
    """Call f with so many steps in all."""
    with budget(steps):
        return f()


def attempt(f, seconds, steps=None):
    """ "good", "declined", "aside", "slow" or "mismatch", with what came out or the message."""
    try:
        with clock(seconds):  # it may strike where a budget is about to be closed: hence a context of its own
            return "good", copy_context().run(f) if steps is None else copy_context().run(within, f, steps)
    except (BudgetExceeded, NotSupported) as error:
        return "aside" if steps is not None and isinstance(error, BudgetExceeded) else "declined", str(error)
    except Slow:
        return "slow", f"no answer in {seconds} s"
    except Undecided:
        return "aside", UNDECIDED
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return "mismatch", f"{type(error).__name__}: {error} ({os.path.basename(frame.filename)}:{frame.lineno})"


def run_input(family, data, tally, limits, origin):
    """All laws of a family on one input."""

    def run(name, f):
        more = FOR_DRAWING if name == DRAW else 1
        outcome, found = attempt(f, limits.seconds, limits.steps and more * limits.steps)
        if outcome == "aside" and one_of(limits.whole, family.name, name, data.hex()):
            outcome, found = attempt(f, limits.seconds)
        return outcome, found

    outcome, inputs = run(DRAW, lambda: family.draw(Source(data)))
    laws = family.laws if outcome == "good" else {DRAW: None}
    for name, law in laws.items():
        began = time.process_time()
        if law is not None:
            outcome, message = run(name, partial(law, *inputs))
        else:
            message = inputs
        key = (family.name, name)
        tally.cases[key] += 1
        tally.seconds[key] += time.process_time() - began
        if outcome == "good":
            continue
        counter = {"mismatch": tally.mismatches, "declined": tally.declined, "slow": tally.slow, "aside": tally.aside}
        counter[outcome][key] += 1
        first = counter[outcome][key] == 1  # one a chunk: shrinking takes time
        if message == UNDECIDED or (first and outcome != "aside"):
            text = report(family, name, law, data, outcome, message, limits.seconds, origin)
            tally.reports.append(((*key, outcome), text))


def report(family, name, law, data, outcome, message, seconds, origin):
    """What a person needs to see and repeat a case that did not end well."""
    if outcome == "mismatch":
        data = shrink(data, partial(fails, family, law, seconds), seconds)
    found, inputs = attempt(lambda: family.draw(Source(data)), seconds)
    if outcome == "mismatch" and law is not None and found == "good":
        _, message = attempt(partial(law, *inputs), seconds)
    texts = "\n".join(f"    {x!r}" for x in inputs) if isinstance(inputs, tuple) else f"    {inputs}"
    replay = f"--replay '{family.name}' {data.hex() or '00'}"
    return f"{outcome}: {family.name} / {name} ({origin})\n{texts}\n    {message}\n    {replay}"


def fails(family, law, seconds, data):
    """Whether a law, or the drawing, does not hold of some bytes."""
    outcome, inputs = attempt(lambda: family.draw(Source(data)), seconds)
    if law is not None and outcome == "good":
        outcome, _ = attempt(partial(law, *inputs), seconds)
    return outcome == "mismatch"


def chunk(job):
    """Run some inputs of one family: the job, how many were run before the end of time, and the tally; the result
    crosses processes."""
    name, first, count, seed, limits, ends = job
    tally, done = Tally(), 0
    # a long call into C sees no signal: tell at least where; every law of an input may take its time
    faulthandler.dump_traceback_later(HANGS * limits.seconds, file=sys.__stderr__)
    for number in range(first, first + count):
        if time.time() > ends:
            break
        run_input(load()[name], data_of(seed, name, number), tally, limits, f"seed {seed}, input {number}")
        done += 1
    faulthandler.cancel_dump_traceback_later()
    return job, done, tally


def plan(cases):
    """Inputs per family: all laws get as many."""
    laws = sum(len(f.laws) for f in FAMILIES.values())
    return dict.fromkeys(FAMILIES, ceil(cases / laws))


def jobs_of(cases, seed, limits, ends, done):
    """Chunks of all families in turns, so that a run cut short has seen all of them; less what is done already, a
    number of inputs by (family, first)."""
    columns = []
    for name, n in plan(cases).items():
        column = []
        for at in range(0, n, CHUNK):
            skip = min(done.get((name, at), 0), n - at)
            if skip < min(CHUNK, n - at):
                column.append((name, at + skip, min(CHUNK, n - at) - skip, seed, limits, ends))
        columns.append(column)
    return [job for turn in zip_longest(*columns) for job in turn if job]


def answers(todo, jobs, patience):
    """What chunks return, as they end; None for those under way when none has ended for so many seconds, the last."""
    with get_context("fork").Pool(jobs, maxtasksperchild=RENEWED) as pool:
        results, waiting = pool.imap_unordered(chunk, todo), dict.fromkeys(todo)
        while waiting:
            try:
                job, done, tally = results.next(timeout=patience)
            except TimeoutError:
                yield from [(job, 0, None) for job in list(waiting)[:jobs]]
                return
            waiting.pop(job)
            yield job, done, tally


def kept_so_far(kept):
    """What a file says: the tally, and how many inputs of each chunk are done."""
    total, done = Tally(), Counter()
    for line in kept.lines:
        name, first, n = line["job"]
        done[name, first - first % CHUNK] += n
        total.add(Tally.of_json(line))
    return total, done


def hung(job):
    """The tally of a chunk that hangs."""
    name, first, count, seed, *_ = job
    print(f"hangs: {name} (seed {seed}, inputs {first} to {first + count - 1})", flush=True)
    return Tally(cases=Counter({(name, DRAW): 1}), slow=Counter({(name, DRAW): 1}))


def campaign(cases, jobs, seed, limit, limits, kept):
    """Run the cases and return their tally; prints progress."""
    total, done = kept_so_far(kept)
    ends = time.time() + limit
    todo = jobs_of(cases, seed, limits, ends, done) if limit > 0 else []
    progress, shown = Progress(len(todo), total.cases.total()), Counter()
    waiting = dict.fromkeys(todo)
    while waiting and time.time() < ends:
        for job, inputs, tally in answers(list(waiting), jobs, HANGS * (1 + limits.seconds)):
            waiting.pop(job)
            if tally is None:
                inputs, tally = job[2], hung(job)
            total.add(tally)
            if inputs:
                kept.add({"job": [job[0], job[1], inputs], **tally.to_json()})
            for key, text in tally.reports:
                shown[key] += 1
                if shown[key] <= REPORTS:
                    print(text, flush=True)
            progress.tell(total.cases.total(), total.mismatches.total())
            if time.time() > ends:
                break
    return total


def _place(key):
    """Families and laws as they are registered."""
    family, law = key
    laws = [DRAW, *FAMILIES[family].laws]
    return list(FAMILIES).index(family), laws.index(law)


def summary(tally, elapsed):
    """The tally as Markdown."""
    lines = [
        "| inputs | operation | cases | mismatches | declined | aside | slow | ms a case |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    counted = (tally.cases, tally.mismatches, tally.declined, tally.aside, tally.slow)
    for key in sorted(tally.cases, key=_place):
        mean = 1000 * tally.seconds[key] / tally.cases[key]
        lines.append(f"| {' | '.join([*key, *(str(c[key]) for c in counted)])} | {mean:.2f} |")
    mean = 1000 * tally.seconds.total() / max(1, tally.cases.total())
    lines.append(f"| all | {len(tally.cases)} laws | {' | '.join(str(c.total()) for c in counted)} | {mean:.2f} |")
    return "\n".join(lines) + f"\n\n{tally.compared:,} cases were compared. {elapsed:.0f} s in all."


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000, help="how many cases, over all laws")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--keep", metavar="FILE", help="keep what is done there, and go on with what is not")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after this time; 0: tell what is kept")
    parser.add_argument("--case-seconds", type=float, default=20, help="a case that takes longer is slow, and stopped")
    parser.add_argument("--steps", type=int, default=STEPS, help="a case that spends more is put aside; 0: none is")
    parser.add_argument("--whole", type=int, default=WHOLE, help="one in so many of these is run to its end; 0: none")
    parser.add_argument("--family", action="append", help="only this family of inputs (may be repeated)")
    parser.add_argument("--replay", nargs=2, metavar=("FAMILY", "HEX"), help="run the laws on one reported input")
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parsed(arguments)
    load()
    began = time.time()
    if options.replay:
        name, data = options.replay
        tally = Tally()
        run_input(FAMILIES[name], bytes.fromhex(data), tally, Limits(options.case_seconds), "replay")
        print("\n".join(text for _, text in tally.reports))
        print(summary(tally, time.time() - began))
        return 1 if tally.mismatches else 0
    for name in set(FAMILIES) - set(options.family or FAMILIES):
        del FAMILIES[name]
    limits = Limits(options.case_seconds, options.steps or None, options.whole)
    state = sources("polyvolta/sets", "tests/sets")
    kept = Kept(
        options.keep, campaign="sets", seed=options.seed, sources=state, families=[*FAMILIES],
        limits=[limits.seconds, limits.steps, limits.whole],
    )  # fmt: skip
    tally = campaign(options.cases, options.jobs, options.seed, options.seconds, limits, kept)
    print(summary(tally, time.time() - began), f"Seed {options.seed}, {options.jobs} processes, commit {kept.commit}.")
    return 1 if tally.mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
