"""Kernels compiled before anything is timed, on all cores: each is made in another process and comes back whole.

Nothing here needs a GPU. A tiling that a target refuses is left out, with the reason; so is one whose process dies
twice, or takes minutes.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polyvolta.compiler.driver import compile
from polyvolta.compiler.remembered.entries import Timed
from polyvolta.evaluation.benchmarks import benchmark
from polyvolta.sets.errors import PolyvoltaError
from polyvolta.tuner.processes.build import Builds

if TYPE_CHECKING:
    from polyvolta.compiler.kernel import Kernel
    from polyvolta.compiler.options import Options
    from polyvolta.cuda.run.nvrtc import Cubin
    from polyvolta.cuda.target.target import Target


@dataclass(frozen=True, slots=True)
class Task:
    """A kernel to be made, of a benchmark by its name."""

    benchmark: str
    options: Options
    target: Target


@dataclass(frozen=True, slots=True)
class Made:
    """A kernel, and its machine code for arrays that lie as well as its text wants them to."""

    kernel: Kernel
    code: Cubin


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes kernels, their machine code for an architecture."""

    arch: str

    def build(self, task: Task) -> bytes:
        """The kernel with its machine code, which goes with it: of thousands the cache on disk doesn't keep all.

        Raises
        ------
        BadOption, CompileFailed and others of `compile`, and of machine code.
        """
        kernel = compile(benchmark(task.benchmark).expression, task.target, task.options)
        return pickle.dumps(Made(kernel, kernel.compiled(self.arch)))


def kernels(
    tasks: Sequence[Task], arch: str, jobs: int | None = None, progress: Callable[[int, int], None] = lambda n, of: None
) -> Iterator[tuple[Task, Made | str]]:
    """Each task with its kernel, or why there is none, as they are done.

    Parameters
    ----------
    arch : that machine code is for.
    jobs : processes; None: as many as there are cores. 0: this one.
    progress : called with how many are done, and of how many.
    """
    for n, (task, found) in enumerate(_here(tasks, arch) if jobs == 0 else _beside(tasks, arch, jobs), 1):
        yield task, found
        progress(n, len(tasks))


def _here(tasks: Sequence[Task], arch: str) -> Iterator[tuple[Task, Made | str]]:
    maker = Maker(arch)
    for task in tasks:
        try:
            yield task, pickle.loads(maker.build(task))
        except PolyvoltaError as refused:
            yield task, refused.message


def _beside(tasks: Sequence[Any], arch: Any, jobs: int | None) -> Iterator[tuple[Task, Made | str]]:
    """By the tuner's processes, whose candidates may be anything that is sent there."""
    maker: Any = Maker
    with Builds(arch, tasks, maker, jobs) as builds:
        for built in builds:
            task: Any = built.options
            yield task, (built.note if isinstance(built, Timed) else pickle.loads(built.content))
