"""Kernels compiled before anything is timed, on all cores: each is made in another process and comes back whole.

Nothing here needs a GPU. A tiling that a target refuses is left out, with the reason; a process that dies takes what
it was at along, and the others begin again without it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING

from polyvolta.sets.errors import PolyvoltaError

if TYPE_CHECKING:
    from polyvolta.compiler.kernel import Kernel
    from polyvolta.compiler.options import Options
    from polyvolta.cuda.target.target import Target


@dataclass(frozen=True, slots=True)
class Task:
    """A kernel to be made: of a benchmark, by its name, for a target; its machine code for an architecture."""

    benchmark: str
    options: Options
    target: Target
    arch: str | None


def made(task: Task) -> Kernel | str:
    """The kernel, its machine code in the cache; or why there is none."""
    from polyvolta.compiler.driver import compile
    from polyvolta.evaluation.benchmarks import benchmark

    try:
        kernel = compile(benchmark(task.benchmark).expression, task.target, task.options)
        kernel.compiled(task.arch)
    except PolyvoltaError as refused:
        return refused.message
    return kernel


def kernels(
    tasks: Sequence[Task],
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Iterator[tuple[Task, Kernel | str]]:
    """Each task with its kernel, or why there is none, as they are done.

    Parameters
    ----------
    jobs : processes; as many as there are cores if missing. One: in this process.
    executor : makes them instead.
    progress : called with how many are done, and of how many.
    """
    jobs = min(jobs or os.cpu_count() or 1, len(tasks))
    if executor is None and jobs <= 1:
        for n, task in enumerate(tasks, 1):
            yield task, made(task)
            progress(n, len(tasks))
        return
    done = 0
    for task, found in _by(executor, tasks) if executor else _by_processes(tasks, jobs):
        done += 1
        progress(done, len(tasks))
        yield task, found


def _by(executor: Executor, tasks: Sequence[Task]) -> Iterator[tuple[Task, Kernel | str]]:
    at = {executor.submit(made, task): task for task in tasks}
    for future in as_completed(at):
        yield at[future], future.result()


def _by_processes(tasks: Sequence[Task], jobs: int) -> Iterator[tuple[Task, Kernel | str]]:
    """In processes of our own. Where one dies nobody knows at which task: those left go again, one process each."""
    left = dict.fromkeys(tasks)
    try:
        with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
            for task, found in _by(pool, tasks):
                del left[task]
                yield task, found
    except BrokenProcessPool:
        for task in left:
            yield task, _alone(task)


def _alone(task: Task) -> Kernel | str:
    try:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            return pool.submit(made, task).result()
    except BrokenProcessPool:
        return "the process that compiled it died"
