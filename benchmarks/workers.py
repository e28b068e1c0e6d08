"""Many tasks on several processes, each task with a time limit; whatever happens to one, the others go on.

A worker that dies, hangs or says that it is `Broken` (a GPU context after a fault) is replaced by a new one. With one
job everything runs in this process, for debuggers.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any


class Broken(Exception):
    """The task failed so that its process can't be used any more."""


@dataclass(frozen=True)
class Failure:
    """A task that came to no result: the last line, and the whole traceback."""

    line: str
    trace: str

    @staticmethod
    def now() -> Failure:
        """That of the exception that is being handled."""
        kind, value, _ = sys.exc_info()
        first = str(value).strip().split("\n")[0][:300]
        return Failure(f"{kind.__name__ if kind else ''}: {first}", traceback.format_exc())


def _serve(pipe: Any, work: Callable[[Any], Any]) -> None:
    """A worker: tasks in, results or failures out."""
    while (task := pipe.recv()) is not None:
        broken = False
        try:
            answer = work(task)
        except Exception as wrong:
            answer, broken = Failure.now(), isinstance(wrong, Broken)
        pipe.send(answer)
        if broken:
            return


class _Worker:
    """A process with a pipe, and the task that it is at."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, work), daemon=True)
        self.process.start()
        theirs.close()
        self.task: Any = None
        self.since = 0.0

    def give(self, task: Any) -> None:
        self.task, self.since = task, time.monotonic()
        self.pipe.send(task)

    def end(self) -> None:
        self.process.kill()
        self.process.join()


def run(
    work: Callable[[Any], Any], tasks: Sequence[Any], jobs: int, limit_s: float = 120, until: float | None = None
) -> Iterator[tuple[Any, Any, float]]:
    """(task, result or `Failure`, seconds) for every task, as they finish.

    Parameters
    ----------
    work : a function of a module; with several jobs tasks and results are pickled.
    limit_s : seconds a task may take; only several jobs can hold one to it.
    until : `time.monotonic()` after which no task is begun; those left over are not among the results.
    """
    if jobs <= 1:
        for task in tasks:
            if until is not None and time.monotonic() > until:
                return
            start = time.monotonic()
            try:
                answer = work(task)
            except Exception:
                answer = Failure.now()
            yield task, answer, time.monotonic() - start
        return
    left = list(reversed(tasks))
    workers = [_Worker(work) for _ in range(min(jobs, len(tasks)))]
    try:
        while left or any(w.task is not None for w in workers):
            for n, w in enumerate(workers):
                if w.task is not None or not left or (until is not None and time.monotonic() > until):
                    continue
                if not w.process.is_alive():
                    w = workers[n] = _Worker(work)
                w.give(left.pop())
            busy = [w for w in workers if w.task is not None]
            if not busy:
                return
            ready = set(wait([w.pipe for w in busy], timeout=1.0))
            for w in busy:
                seconds = time.monotonic() - w.since
                if w.pipe in ready:
                    yield w.task, _answer(w), seconds
                elif seconds > limit_s:
                    w.end()
                    yield w.task, Failure(f"no result after {limit_s:.0f} s", "killed"), seconds
                else:
                    continue
                w.task = None
    finally:
        for w in workers:
            w.end()


def _answer(w: _Worker) -> Any:
    try:
        answer = w.pipe.recv()
    except (EOFError, OSError):
        w.process.join()
        return Failure(f"the process died, exit code {w.process.exitcode}", "died")
    if isinstance(answer, Failure) and answer.line.startswith("Broken"):
        w.end()
    return answer


def report(failures: Sequence[tuple[str, str]], out: Any = sys.stdout) -> None:
    """The failures, each with its whole story."""
    for name, text in failures:
        print(f"\n--- {name}\n{text.rstrip()}", file=out)
