"""The tuner: time the best guesses on the GPU at hand, keep what was found out, make a kernel of the winner.

1. What the store knows of this computation, at these sizes, on this GPU, isn't timed again. If a run as large as this
   one came to its end, that is all.
2. Kernels of the other candidates are made on all cores (`build`), and each is checked and timed shortly when it is
   ready (`bench`, in a process that may hang: `timer`). Every outcome goes to the store at once: a run that is stopped
   goes on where it was.
3. The fastest take turns, in fewer and fewer and more and more often (`rounds`). The first of these is the winner.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
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


def _listed(candidates: Iterable[Options]) -> tuple[Options, ...]:
    """Candidates as they were given.

    Raises
    ------
    NothingToTime : none, or something else than options.
    """
    hint = "candidates=[pv.Options(...), ...]"
    if isinstance(candidates, Options) or not isinstance(candidates, Iterable):
        raise NothingToTime(f"candidates is {kind_of(candidates)}", hint=hint)
    made = tuple(candidates)
    for options in made:
        if not isinstance(options, Options):
            raise NothingToTime(f"a candidate is {kind_of(options)}", hint=hint)
    if not made:
        raise NothingToTime("there are no candidates", hint="without candidates= the best guesses are timed")
    return made


def _check(graph: Graph, target: Target | None, candidates: Sequence[Options] | None) -> None:
    """Refuse what no kernel can be made of, whichever GPU there is: of "auto", what only the GPU tells stays open."""
    needs = needs_of(plan(graph))
    if target is not None:
        require(target, needs.layouts, needs.kind)
        _whole(candidates or (), graph, target)


def _whole(candidates: Iterable[Options], graph: Graph, target: Target) -> tuple[Options, ...]:
    """Candidates with all of their options, each once."""
    made = (complete(o, needs_of(plan(graph, o.accumulators)), target) for o in candidates)
    return tuple(dict.fromkeys(made))


def _gpu(pool: Executor | None) -> Gpu:
    """The GPU at hand, or the first one that an executor's worker sees."""
    if pool is None:
        if (found := gpu_here()) is not None:
            return found
        raise no_gpu(WITHOUT)
    try:
        there = pool.submit(seen).result()
    except Exception as wrong:  # of workers that die, and pools that are broken: this process may go on alone
        here = gpu_here()
        if here is None:
            what = f"nothing can be timed: the executor fails ({wrong}), and no GPU is here"
            raise NoGpu(what, hint=WITHOUT) from wrong
        return here
    if not there:
        raise NoGpu("nothing can be timed: the executor's worker sees no NVIDIA GPU", hint=WITHOUT)
    return there[0]


def _target(made: Target | None, gpu: Gpu) -> Target:
    """The target, by default the newest that the GPU runs."""
    if made is None:
        name = newest_for(gpu.arch, targets)
        if name is None:
            raise WrongGpu(f"no target's kernels run on {gpu.name}, {gpu.arch}", hint=f"known: {', '.join(targets)}")
        return target_of(name)
    if not runs_on(made.name, gpu.arch):
        raise WrongGpu(f"{gpu.name} is {gpu.arch}, which doesn't run kernels for {made.name}", hint='target="auto"')
    return made


@dataclass(slots=True)
class Run:
    """A run of the tuner.

    Attributes
    ----------
    spec : what is tuned.
    crew : who times.
    store : what is known, and where it goes.
    builder : makes kernels; see `build.Builds`.
    wanted : how progress is shown; see `Progress`.
    jobs : processes that make kernels; None: one for each core.
    """

    spec: Spec
    crew: Crew
    store: Store
    builder: Callable[[Spec], Any]
    wanted: bool | Reported = False
    jobs: int | None = None
    _built: dict[Options, Built] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        """What results are kept under."""
        return key_of(self.spec.graph, called(self.spec.target), self.spec.sizes, self.spec.gpu.name)

    def tuned(self, given: Sequence[Options] | None, budget: int) -> Tuned:
        """Time what isn't known; see `tune`."""
        known = {e.options: e for e in self.store.entries(self.key)}
        ended = self.store.finished(self.key)
        if ended is not None and _is_enough(ended, known, given, budget):
            return self._result(known, ended.winner, given)
        candidates = tuple(given or guesses(self.spec.graph, self.spec.target, self.spec.sizes, budget))
        todo = [o for o in candidates if o not in known or not known[o].settled]
        with Progress(self.wanted, len(candidates), len(candidates) - len(todo)) as shown:
            try:
                with closing(self._timed(todo)) as outcomes:  # whatever happens here, processes end
                    for entry in outcomes:
                        known[entry.options] = entry
                        self.store.add(self.key, [entry])
                        shown.one(entry)
                        if entry not in finalists(known.values()):
                            self._built.pop(entry.options, None)
                best = finalists(known.values())
                shown.racing(len(best))
                known |= {e.options: e for e in self._raced(best, known)}
            except KeyboardInterrupt:
                done = sum(known[o].settled for o in candidates if o in known)
                shown.say(f"stopped: what is known of {done} of {len(candidates)} is kept; the same call goes on")
                raise
            finally:
                self.crew.close()
        winner = best_of(tuple(known.values()))
        if winner is None:
            raise self._nothing(known, candidates)
        before = ended.budget if ended else 0  # candidates that were given are no guesses
        self.store.finish(self.key, before if given else max(budget, before), winner)
        return self._result(known, winner, given)

    def _timed(self, todo: Sequence[Options]) -> Generator[Timed]:
        """Each candidate's outcome, as it is there."""
        if not todo:
            return
        with Builds(self.spec, todo, self.builder, self.jobs) as builds:
            yield from self.crew.times(self._kept(builds), len(todo))

    def _kept(self, builds: Iterable[Built | Timed]) -> Iterator[Built | Timed]:
        for b in builds:
            if isinstance(b, Built):
                self._built[b.options] = b
            yield b

    def _raced(self, best: Sequence[Timed], known: dict[Options, Timed]) -> tuple[Timed, ...]:
        """The last times of the best, which go to the store; those of an earlier race are no longer of the last."""
        missing = [e.options for e in best if e.options not in self._built]
        with Builds(self.spec, missing, self.builder, self.jobs) as builds:
            failed = [b for b in self._kept(builds) if isinstance(b, Timed) and b.settled]
        raced = self.crew.final([self._built[e.options] for e in best if e.options in self._built])
        fresh = {e.options for e in raced}
        earlier = [e.timed(e.seconds) for e in known.values() if e.final and e.seconds and e.options not in fresh]
        found = (*raced, *failed, *earlier) if any(e.outcome == TIMED for e in raced) else ()
        self.store.add(self.key, found)
        return found

    def _result(self, known: dict[Options, Timed], winner: Timed, given: Sequence[Options] | None) -> Tuned:
        rows = [e for e in known.values() if given is None or e.options in given or e.options == winner.options]
        rows.sort(key=lambda e: (e.seconds is None, not e.final, e.seconds or 0.0))
        if given is not None:
            found = best_of(tuple(e for e in rows if e.options in given))
            if found is None:
                raise self._nothing(known, given)
            winner = found
        sizes = ", ".join(f"{n}={v}" for n, v in self.spec.sizes.items())
        title = f"{', '.join(map(str, self.spec.graph.roots))} on {self.spec.gpu.name}{f', {sizes}' if sizes else ''}"
        kernel = compile(self.spec.graph, self.spec.target, winner.options)
        return Tuned(kernel, winner.options, Table(tuple(rows), title))

    def _nothing(self, known: dict[Options, Timed], candidates: Sequence[Options]) -> NothingTimed:
        reasons = dict.fromkeys(f"{known[o].outcome}: {known[o].note}" for o in candidates if o in known)
        return NothingTimed(
            f"none of {len(candidates)} candidates could be timed", where="\n".join(list(reasons)[:5]),
            hint="a larger budget, other candidates=, or a longer limit=",
        )  # fmt: skip


def _is_enough(ended: Finished, known: dict[Options, Timed], given: Sequence[Options] | None, budget: int) -> bool:
    """Whether a run that came to its end answers this one."""
    if given is None:
        return ended.budget >= budget
    return all(o in known and known[o].settled for o in given)
