"""What long random campaigns share: a clock, shrinking, chunks on several processes, and what is kept of them.

A campaign is a list of *jobs*, a few inputs each, whose bytes a seed and a number decide. `Kept` writes what came of
each job to a file as it ends, so that a campaign that was stopped, or killed, goes on where it was: the file says
which seed and which sources it is about, and no other campaign goes on with it. `Progress` tells how far it is.
"""

import hashlib
import json
import random
import signal
import subprocess
import sys
import time
import zlib
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RENEWED = 400  # jobs after which a process is replaced, and its memos with it: a campaign takes no more memory in time


class Slow(BaseException):
    """The clock stopped a case."""


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


def drawn_bytes(length, *key):
    """The bytes of an input."""
    return random.Random(" ".join(map(str, key))).randbytes(length)


def one_of(n, *key):
    """Whether this is one of n cases, the same in every run; never for 0."""
    return n > 0 and zlib.crc32(" ".join(map(str, key)).encode()) % n == 0


def shrink(data, fails, seconds):
    """Shorter bytes, more of them zero, that fail still: halves, quarters, ... are left out or zeroed."""
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


# ---- what is kept


def commit():
    """The commit that is checked out, or "unknown" where there is no git."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def sources(*folders):
    """A name for the state of the Python files of some folders; it changes when any of them does."""
    found = hashlib.sha256()
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            found.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return found.hexdigest()[:12]


class Kept:
    """Jobs that are done, in a file of JSON lines; the first line says what campaign it is.

    `lines` are those that were there. Without a path nothing is kept. A file of another campaign is refused.
    """

    def __init__(self, path, **about):
        self.path, self.lines, self.commit = path, [], commit()
        if path is None:
            return
        text = Path(path).read_text() if Path(path).exists() else ""
        whole = text[: text.rfind("\n") + 1]  # a line that was being written is not counted
        header, *lines = map(json.loads, whole.splitlines()) if whole else (None,)
        if header is None:
            whole = json.dumps({**about, "commit": self.commit}) + "\n"
        else:
            other = {k: (header.get(k), v) for k, v in about.items() if header.get(k) != v}
            if other:
                told = "; ".join(f"{k} is {old} there and {new} here" for k, (old, new) in other.items())
                raise SystemExit(f"{path} is of another campaign: {told}. Take another file.")
            self.lines = lines
        if whole != text:
            Path(path).write_text(whole)

    def add(self, line):
        if self.path is not None:
            with open(self.path, "a") as file:
                file.write(json.dumps(line) + "\n")


class Progress:
    """A line on the standard error now and then: what is done, how fast, how long it will take."""

    def __init__(self, jobs, before=0, every=10):
        self.began = self.last = time.time()
        self.jobs, self.done, self.before, self.every = jobs, 0, before, every

    def tell(self, cases, bad):
        """One more job is done; `cases` are all so far, those before this run among them."""
        self.done += 1
        now = time.time()
        if now - self.last > self.every or self.done == self.jobs:
            self.last, spent = now, max(now - self.began, 1e-3)
            left = spent * (self.jobs - self.done) / self.done
            rate = (cases - self.before) / spent
            line = f"{spent:6.0f} s: {cases:,} cases, {rate:.0f} a second, {bad} wrong; {_span(left)} left"
            print(line, file=sys.stderr, flush=True)


def _span(seconds):
    """A time for a person.

    >>> _span(50), _span(200), _span(8000)
    ('50 s', '3 min', '2 h 13 min')
    """
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
