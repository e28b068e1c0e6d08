"""Long random campaigns: `python -m tests.sets.campaign --cases 1000000 --jobs 16 --seed 1`.

Every input is decoded from bytes that the seed, the family and a number decide, so a run repeats exactly with any
number of jobs. A case is one operation on one random input, compared with its truth table. It ends well, or it is a
mismatch (a wrong answer or an unexpected error), or it is declined (`BudgetExceeded`, `NotSupported`), or it is slow
and stopped by the clock. Mismatches are shrunk, printed with what repeats them, and decide the exit code.
"""

import argparse
import faulthandler
import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from math import ceil
from multiprocessing import TimeoutError, get_context

from polyvolta.sets import BudgetExceeded, NotSupported
from tests.sets.draw import Source
from tests.sets.laws import FAMILIES, LENGTH, load

CHUNK = 25  # inputs that a worker takes at a time
REPORTS = 3  # printed of a law and outcome
HANGS = 40  # so many times the clock of a case, and nothing at all has been heard: it hangs; others may use the machine
DRAW = "drawing and parsing"


class Slow(BaseException):
    """The clock stopped a case."""


@dataclass
class Tally:
    """What happened, by (family, law)."""

    cases: Counter = field(default_factory=Counter)
    mismatches: Counter = field(default_factory=Counter)
    declined: Counter = field(default_factory=Counter)
    slow: Counter = field(default_factory=Counter)
    seconds: Counter = field(default_factory=Counter)
    reports: list = field(default_factory=list)

    def add(self, other):
        for name in ("cases", "mismatches", "declined", "slow", "seconds"):
            getattr(self, name).update(getattr(other, name))
        self.reports += other.reports


def data_of(seed, family, number):
    """The bytes of an input."""
    return random.Random(f"{seed} {family} {number}").randbytes(LENGTH)


@contextmanager
def clock(seconds):
    """Raises Slow inside when so much processor time is spent."""

    def stop(*_):
        raise Slow

    old = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 1)  # and again, should the exception be lost in a callback
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, old)


def attempt(f, seconds):
    """ "good", "declined", "slow" or "mismatch", with what came out or the message."""
    try:
        with clock(seconds):
            return "good", copy_context().run(f)  # the clock may strike where a budget is about to be closed
    except (BudgetExceeded, NotSupported) as error:
        return "declined", str(error)
    except Slow:
        return "slow", f"no answer in {seconds} s"
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return "mismatch", f"{type(error).__name__}: {error} ({os.path.basename(frame.filename)}:{frame.lineno})"


def run_input(family, data, tally, seconds, origin):
    """All laws of a family on one input."""
    outcome, inputs = attempt(lambda: family.draw(Source(data)), seconds)
    laws = family.laws if outcome == "good" else {DRAW: None}
    for name, law in laws.items():
        began = time.process_time()
        if law is not None:
            outcome, message = attempt(partial(law, *inputs), seconds)
        else:
            message = inputs
        key = (family.name, name)
        tally.cases[key] += 1
        tally.seconds[key] += time.process_time() - began
        if outcome != "good":
            counter = {"mismatch": tally.mismatches, "declined": tally.declined, "slow": tally.slow}[outcome]
            counter[key] += 1
            if counter[key] == 1:  # one a chunk: shrinking takes time
                text = report(family, name, law, data, outcome, message, seconds, origin)
                tally.reports.append(((*key, outcome), text))


def report(family, name, law, data, outcome, message, seconds, origin):
    """What a person needs to see and repeat a case that did not end well."""
    if outcome == "mismatch":
        data = shrink(family, law, data, seconds)
    found, inputs = attempt(lambda: family.draw(Source(data)), seconds)
    if outcome == "mismatch" and law is not None and found == "good":
        _, message = attempt(partial(law, *inputs), seconds)
    texts = "\n".join(f"    {x!r}" for x in inputs) if isinstance(inputs, tuple) else f"    {inputs}"
    replay = f"--replay '{family.name}' {data.hex() or '00'}"
    return f"{outcome}: {family.name} / {name} ({origin})\n{texts}\n    {message}\n    {replay}"


def shrink(family, law, data, seconds):
    """Shorter bytes, more of them zero, that fail still; at most a few hundred attempts."""

    def fails(candidate):
        outcome, inputs = attempt(lambda: family.draw(Source(candidate)), seconds)
        if law is not None and outcome == "good":
            outcome, _ = attempt(partial(law, *inputs), seconds)
        return outcome == "mismatch"

    ends = time.monotonic() + seconds
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


def chunk(job):
    """Run some inputs of one family; the result crosses processes."""
    name, first, count, seed, seconds, ends = job
    tally = Tally()
    for number in range(first, first + count):
        if time.time() > ends:
            break
        # a long call into C sees no signal: tell at least where
        faulthandler.dump_traceback_later(HANGS * seconds, file=sys.__stderr__)
        run_input(load()[name], data_of(seed, name, number), tally, seconds, f"seed {seed}, input {number}")
    faulthandler.cancel_dump_traceback_later()
    return job, tally


def plan(cases):
    """Inputs per family: all laws get as many."""
    laws = sum(len(f.laws) for f in FAMILIES.values())
    return dict.fromkeys(FAMILIES, ceil(cases / laws))


def jobs_of(cases, seed, seconds, ends):
    """Chunks of all families in turns, so that a run cut short has seen all of them."""
    columns = [
        [(name, at, min(CHUNK, n - at), seed, seconds, ends) for at in range(0, n, CHUNK)]
        for name, n in plan(cases).items()
    ]
    return [job for turn in zip_longest(*columns) for job in turn if job]


def answers(todo, jobs, patience):
    """What chunks return, as they end; None for those under way when none has ended for so many seconds, the last."""
    with get_context("fork").Pool(jobs) as pool:
        results, waiting = pool.imap_unordered(chunk, todo), dict.fromkeys(todo)
        while waiting:
            try:
                job, tally = results.next(timeout=patience)
            except TimeoutError:
                yield from [(job, None) for job in list(waiting)[:jobs]]
                return
            waiting.pop(job)
            yield job, tally


def campaign(cases, jobs, seed, limit, seconds):
    """Run the cases and return their tally; prints progress."""
    began = time.time()
    todo = jobs_of(cases, seed, seconds, began + limit)
    total, shown, last = Tally(), Counter(), began
    waiting = dict.fromkeys(todo)
    while waiting:
        for job, tally in answers(list(waiting), jobs, HANGS * (1 + seconds)):
            waiting.pop(job)
            if tally is None:
                name, first, count, *_ = job
                total.cases[name, DRAW] += 1
                total.slow[name, DRAW] += 1
                print(f"hangs: {name} (seed {seed}, inputs {first} to {first + count - 1})", flush=True)
                continue
            total.add(tally)
            for key, text in tally.reports:
                shown[key] += 1
                if shown[key] <= REPORTS:
                    print(text, flush=True)
            if time.time() - last > 10:
                last = time.time()
                n, bad, done = total.cases.total(), total.mismatches.total(), len(todo) - len(waiting)
                line = f"{last - began:5.0f} s: {n} cases, {bad} mismatches, {done} of {len(todo)} chunks"
                print(line, file=sys.stderr, flush=True)
    return total


def _place(key):
    """Families and laws as they are registered."""
    family, law = key
    laws = [DRAW, *FAMILIES[family].laws]
    return list(FAMILIES).index(family), laws.index(law)


def summary(tally, elapsed):
    """The tally as Markdown."""
    lines = [
        "| inputs | operation | cases | mismatches | declined | slow | ms a case |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for key in sorted(tally.cases, key=_place):
        n = tally.cases[key]
        bad, declined, slow = tally.mismatches[key], tally.declined[key], tally.slow[key]
        lines.append(
            f"| {key[0]} | {key[1]} | {n} | {bad} | {declined} | {slow} | {1000 * tally.seconds[key] / n:.2f} |"
        )
    total = tally.cases.total(), tally.mismatches.total(), tally.declined.total(), tally.slow.total()
    mean = 1000 * tally.seconds.total() / max(1, total[0])
    lines.append(f"| all | {len(tally.cases)} laws | {' | '.join(map(str, total))} | {mean:.2f} |")
    return "\n".join(lines) + f"\n\n{elapsed:.0f} s in all."


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000, help="how many cases, over all laws")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    parser.add_argument("--case-seconds", type=float, default=20, help="a case that takes longer is slow, and stopped")
    parser.add_argument("--family", action="append", help="only this family of inputs (may be repeated)")
    parser.add_argument("--replay", nargs=2, metavar=("FAMILY", "HEX"), help="run the laws on one reported input")
    options = parser.parse_args(arguments)
    load()
    began = time.time()
    if options.replay:
        name, data = options.replay
        tally = Tally()
        run_input(FAMILIES[name], bytes.fromhex(data), tally, options.case_seconds, "replay")
        print("\n".join(text for _, text in tally.reports))
    else:
        for name in set(FAMILIES) - set(options.family or FAMILIES):
            del FAMILIES[name]
        tally = campaign(options.cases, options.jobs, options.seed, options.seconds, options.case_seconds)
    print(summary(tally, time.time() - began), f"Seed {options.seed}, {options.jobs} processes.")
    return 1 if tally.mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
