"""The tuner: time the best guesses on the GPU at hand, keep what was found out, make a kernel of the winner.

1. What the store knows of this computation, at these sizes, on this GPU, isn't timed again. If a run as large as this
   one came to its end, that is all.
2. Kernels of the other candidates are made on all cores (`build`), and each is checked and timed shortly when it is
   ready (`bench`, in a process that may hang: `timer`). Every outcome goes to the store at once: a run that is stopped
   goes on where it was.
3. The fastest take turns, in fewer and fewer and more and more often (`rounds`). The first of these is the winner.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from operator import index
from typing import TYPE_CHECKING, Any

from polyvolta.compiler.driver import compile
from polyvolta.compiler.needs import needs_of
from polyvolta.compiler.options import Options, complete
from polyvolta.compiler.remembered.entries import TIMED, Timed, best_of
from polyvolta.compiler.remembered.key import Key, called, key_of
from polyvolta.compiler.remembered.store import Finished, Store
from polyvolta.cuda.arch import AUTO, newest_for, runs_on
from polyvolta.cuda.devices import Gpu, gpu_here
from polyvolta.cuda.errors import NoGpu, WrongGpu
from polyvolta.cuda.run.gpu import no_gpu
from polyvolta.cuda.target.registry import require, target_of, targets
from polyvolta.cuda.target.target import Target
from polyvolta.graph.dag import Graph
from polyvolta.graph.dims import Given, joined
from polyvolta.graph.plans.idioms import plan
from polyvolta.sets.errors import kind_of
from polyvolta.tuner.candidates import guesses
from polyvolta.tuner.crews import Alone, Crew, Crowd, executor_of, seen
from polyvolta.tuner.errors import NothingTimed, NothingToTime
from polyvolta.tuner.processes.bench import Bench
from polyvolta.tuner.processes.build import Builder, Builds, Built
from polyvolta.tuner.progress import Progress, Reported
from polyvolta.tuner.rounds import finalists
from polyvolta.tuner.spec import Spec, checked_sizes, limit_of
from polyvolta.tuner.table import Table, Tuned

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from polyvolta.graph.dag import Outputs

WITHOUT = (
    "without a GPU: pv.compile(E, sizes=...) chooses by the cost model, pv.Options.space(E, target, M=..., ...) lists "
    "tilings, best first, kernel.interpret(...) runs a kernel; executor=... times on machines that have one"
)


def tune(
    outputs: Outputs | Graph,
    target: str | Target | None = AUTO,
    budget: int = 16,
    executor: Executor | None = None,
    progress: bool | Reported = True,
    *,
    candidates: Iterable[Options] | None = None,
    limit: float | None = None,
    sizes: Given[int] | None = None,
    **named: int,
) -> Tuned:
    """The fastest kernel for an expression at some sizes: times the best guesses on the GPU at hand, and remembers what
    came out.

    A second call finds it, and so does `pv.compile(outputs, sizes={...})`. A run that was stopped, by Ctrl-C or
    otherwise, goes on where it was.

    Parameters
    ----------
    outputs, target : as `compile` takes them.
    budget : how many candidates are to be timed, those of earlier runs among them.
    executor : of `concurrent.futures`, or a client of `dask.distributed`: candidates are timed by its workers, each
        with a GPU of the same kind that is free where it runs. A pool of two threads is enough for two GPUs of this
        machine. If missing, on the GPU at hand. Kernels are made here in any case.
    progress : whether a terminal shows a bar; or a function that is called as progress(done, total, last), with a
        `Timed`.
    candidates : options to be timed instead of the best guesses, given in whole or in part; the budget then is their
        number.
    limit : seconds that one candidate may take on the GPU; if missing, 20 and one for each 10^11 operations.
    sizes, named : of every symbolic size, as `compile` takes them, or each by its name: `sizes={"M": 512}`, or
        `M=512`. A size with the name of another argument, such as "budget", goes into `sizes`.

    Returns
    -------
    `Tuned`: `.kernel`, `.options`, and `.table` with every candidate's time, or why it has none.

    Raises
    ------
    NoGpu : there is none, and no executor; says what works without.
    WrongGpu : it can't run the target's kernels.
    NothingToTime : a size that is missing, unknown, given twice or no positive int; no budget, no candidates.
    TooLarge, DoesNotFit : sizes that kernels, or the GPU's memory, can't hold.
    NothingTimed : no candidate could be timed; says why.
    BadOption and others of `compile`. What is wrong with an argument is said whether there is a GPU or not.

    Notes
    -----
    Times are medians of CUDA graphs' replays that take turns, on nearly normal random data, all launches on the same
    arrays: operands that the second-level cache holds are in it. Every candidate's results are compared: the first
    one's with float64 in 48 rows and columns, the others' with these everywhere, and where they differ with float64
    there. Nobody else times on the GPU meanwhile, as far as this package is concerned.
    """
    graph = Graph.of(outputs)
    values = checked_sizes(graph, joined(sizes, named, NothingToTime))
    number = _budget(budget)
    seconds = limit_of(graph, values) if limit is None else _seconds(limit)
    chosen = None if target is None or target == AUTO else target_of(target)
    listed = None if candidates is None else _listed(candidates)
    _check(graph, chosen, listed)
    pool, workers = executor_of(executor) if executor is not None else (None, 1)
    gpu = _gpu(pool)
    made = _target(chosen, gpu)
    given = None if listed is None else _whole(listed, graph, made)
    spec = Spec(graph, made, values, gpu, alone=pool is None, limit=seconds)
    alone = Alone(spec, Bench)
    crew = alone if pool is None else Crowd(spec, Bench, pool, alone, workers)
    return Run(spec, crew, Store.here(), Builder, progress).tuned(given, number)


def _budget(budget: Any) -> int:
    try:
        number = 0 if isinstance(budget, bool) else index(budget)
    except TypeError:
        number = 0
    if number < 1:
        raise NothingToTime(f"the budget is a number of candidates, at least 1, not {budget!r}", hint="budget=16")
    return number


def _seconds(limit: Any) -> float:
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 < limit < float("inf"):
        raise NothingToTime(f"the limit is a number of seconds, more than 0, not {limit!r}", hint="limit=20.0")
    return float(limit)
