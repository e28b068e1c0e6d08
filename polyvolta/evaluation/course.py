"""An evaluation: what is compiled beforehand, then size after size the times of both sides, a row for each benchmark.

At a size all benchmarks have the same random arrays. Each tiling that is tried has one short timing; the fastest few of
every kind then take turns with the first choice and with all that the library does, and the medians of that go into
the row. So both sides are chosen in the same way, and no time is the least of many.

A kernel whose result is wrong, at a size with partial tiles and poison in the result, is never timed; that of the
tuned one is checked at every size.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from polyvolta.evaluation import ahead
from polyvolta.evaluation.benchmarks import Benchmark, Sizes
from polyvolta.evaluation.choices import Choices
from polyvolta.evaluation.library import Arrays, Gpu, Library, in_turn, launches
from polyvolta.evaluation.records import NOT_TIMED, Key, Row
from polyvolta.evaluation.spelling import spelled
from polyvolta.sets.errors import PolyvoltaError
from polyvolta.tuner.errors import WrongResult

if TYPE_CHECKING:
    from polyvolta.compiler.kernel import Kernel
    from polyvolta.compiler.options import Options
    from polyvolta.cuda.run.nvrtc import Cubin
    from polyvolta.cuda.target.target import Target

ODD = (1000, 1048, 520)
"""A size with partial tiles along every dimension, for checking."""
MOST_ERROR = 1e-3
KEPT = 3
"""Of each kind of candidates the fastest so many take turns."""

Case = tuple[Benchmark, Sizes]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Tried:
    """The tilings of a case: without timing, a tuner's, and all."""

    first: Options
    guesses: tuple[Options, ...]
    space: tuple[Options, ...] = ()

    @property
    def all(self) -> list[Options]:
        """Each once."""
        return list(dict.fromkeys((self.first, *self.guesses, *self.space)))


@dataclass(slots=True)
class Course:
    """What is measured, on the GPU at hand.

    Parameters
    ----------
    benchmarks, target, sizes : each benchmark at each of the sizes.
    choices, library : our side, whose options are complete, and theirs.
    gpu : the GPU, or what behaves like one.
    spaced : at how many sizes, the first ones, the whole space is gone through.
    jobs : processes that compile; as `ahead.kernels` takes them.
    progress : called with what is being done, how many times it was, and of how many.
    """

    benchmarks: Sequence[Benchmark]
    target: Target
    sizes: Sequence[Sizes]
    choices: Choices
    library: Library
    gpu: Gpu
    spaced: int = 20
    jobs: int | None = None
    progress: Progress = lambda what, done, of: None
    refused: dict[str, str] = field(default_factory=dict)
    _plain: dict[str, Kernel] = field(default_factory=dict)

    def rows(self, done: frozenset[Key] | set[Key] = frozenset(), until: float = math.inf) -> Iterator[Row]:
        """The rows that are not done, as they are measured.

        Parameters
        ----------
        done : keys of rows that are there.
        until : `time.monotonic()` after which no case is begun.

        Raises
        ------
        WrongResult, DoesNotFit : see there; NoGpu, and whatever launches may raise.
        """
        here = self.gpu.name, self.target.name
        left = [(b, s) for s in self.sizes for b in self.benchmarks if (*here, b.name, s) not in done]
        tried = self._tried(left)
        kernels = self._kernels(tried)
        others = gc.get_freeze_count()
        gc.collect()
        gc.freeze()  # whoever collects while graphs are captured needn't go through all these kernels
        try:
            yield from self._timed(left, tried, kernels, until)
        finally:
            if not others:  # what somebody else had frozen stays so
                gc.unfreeze()

    def _tried(self, cases: Sequence[Case]) -> dict[tuple[str, Sizes], Tried]:
        spaced, out = set(self.sizes[: self.spaced]), {}
        for n, (b, s) in enumerate(cases):
            asked = b, self.target, s
            everything = tuple(self.choices.space(*asked)) if s in spaced else ()
            out[b.name, s] = Tried(self.choices.first(*asked), tuple(self.choices.guesses(*asked)), everything)
            self.progress("choosing", n + 1, len(cases))
        return out

    def _kernels(self, tried: dict[tuple[str, Sizes], Tried]) -> dict[tuple[str, Options], Kernel]:
        """All kernels that are tried anywhere and right: compiled by other processes, loaded here."""
        wanted = dict.fromkeys((name, options) for (name, _), t in tried.items() for options in t.all)
        tasks = [ahead.Task(name, options, self.target) for name, options in wanted]
        found: dict[tuple[str, Options], Kernel] = {}
        known = {b.name: b for b in self.benchmarks}
        arrays = self.gpu.arrays(ODD) if tasks else {}
        right = {name: self.gpu.exact(known[name], arrays) for name in dict.fromkeys(t.benchmark for t in tasks)}
        compiling: Callable[[int, int], None] = lambda n, of: self.progress("compiling", n, of)  # noqa: E731
        for task, made in ahead.kernels(tasks, self.gpu.arch, self.jobs, compiling):
            what = f"{task.benchmark}, {spelled(task.options)}"
            if isinstance(made, str):
                self.refused[what] = made
                continue
            error = self._error(made.kernel, known[task.benchmark], arrays, right[task.benchmark], made.code)
            if error > MOST_ERROR:
                self.refused[what] = f"wrong: relative error {error:.1e}"
            else:
                found[task.benchmark, task.options] = made.kernel
        return found

    def _error(
        self, kernel: Kernel, benchmark: Benchmark, arrays: Arrays, right: Any, code: Cubin | None = None
    ) -> float:
        """Infinite also where the launch is refused, which says nothing about other kernels.

        Parameters
        ----------
        code : the kernel's machine code, where it isn't loaded yet.
        """
        try:
            if code is not None:
                self.gpu.load(kernel, code)
            return self.gpu.error(kernel, benchmark, arrays, right)
        except PolyvoltaError as refused:
            self.refused[f"{benchmark.name}, {spelled(kernel.options)}, its launch"] = refused.message
            return math.inf

    def _timed(
        self, cases: Sequence[Case], tried: dict[tuple[str, Sizes], Tried],
        kernels: dict[tuple[str, Options], Kernel], until: float,
    ) -> Iterator[Row]:  # fmt: skip
        at, arrays = None, {}
        for n, (b, s) in enumerate(cases):
            if time.monotonic() > until:
                return
            if s != at:
                arrays, at = {}, s  # the others' memory is free before these take theirs
                arrays = self.gpu.arrays(s)
            row = self._row(b, s, arrays, tried[b.name, s], kernels)
            self.progress("timing", n + 1, len(cases))
            yield row

    def _row(
        self, b: Benchmark, s: Sizes, arrays: Arrays, tried: Tried, kernels: dict[tuple[str, Options], Kernel]
    ) -> Row:
        count = launches(b, s)
        ours = self._shortly(b, arrays, {o: kernels[b.name, o] for o in tried.all if (b.name, o) in kernels}, count)
        among = (tried.first, *tried.guesses)
        best, whole = fastest(ours, among, KEPT), fastest(ours, (*among, *tried.space), KEPT)
        if not best:
            raise WrongResult(f"no kernel of {b.title} is right, or none could be made", where=str(s))
        turns: dict[tuple[str, Any], Any] = {("ours", o): ours[o][1] for o in (*best, *whole)}
        if tried.first in ours:
            turns["ours", tried.first] = ours[tried.first][1]
        for o in best:
            plain = self._at_last(kernels[b.name, o])
            turns["plain", o] = self.gpu.graph(self.gpu.bound(plain, b, arrays), count)
        turns["theirs", ""] = self.gpu.graph(self.library.chain(b, arrays), count)
        more = self.library.more(b, arrays, self.gpu, count)
        us = in_turn(self.gpu, turns | {("theirs", name): graph for name, graph in more.items()}, count)
        tuned = min(best, key=lambda o: us["ours", o])
        space = min(whole, key=lambda o: us["ours", o]) if tried.space else None
        other = min(more, key=lambda name: us["theirs", name], default="")
        return Row(
            self.gpu.name, self.library.name, self.target.name, b.name, *s,
            us.get(("ours", tried.first), NOT_TIMED), spelled(tried.first),
            us["ours", tuned], spelled(tuned), len(ours.keys() & {*among}), min(us["plain", o] for o in best),
            us["ours", space] if space else NOT_TIMED, spelled(space) if space else "", len(ours) if space else 0,
            us["theirs", ""], us["theirs", other] if other else NOT_TIMED, other,
            self._checked(kernels[b.name, tuned], b, s, arrays),
        )  # fmt: skip

    def _shortly(
        self, b: Benchmark, arrays: Arrays, kernels: dict[Options, Kernel], count: int
    ) -> dict[Options, tuple[float, Any]]:
        """A first timing of each kernel, and its graph; without those whose launch is refused at this size."""
        timed = {}
        for options, kernel in kernels.items():
            try:
                graph = self.gpu.graph(self.gpu.bound(kernel, b, arrays), count)
            except PolyvoltaError as refused:
                self.refused[f"{b.name}, {spelled(options)}, a launch"] = refused.message
                continue
            timed[options] = min(self.gpu.microseconds(graph, count)), graph
        return timed

    def _checked(self, kernel: Kernel, b: Benchmark, s: Sizes, arrays: Arrays) -> float:
        """The error at the size itself.

        Raises
        ------
        WrongResult
        """
        error = self._error(kernel, b, arrays, self.gpu.exact(b, arrays))
        if error > MOST_ERROR:
            raise WrongResult(f"{b.title} at {s} is wrong: relative error {error:.1e}", where=spelled(kernel.options))
        return error

    def _at_last(self, kernel: Kernel) -> Kernel:
        """A kernel that is launched when the one before it has ended; its text is the same, and waits for nothing."""
        if (found := self._plain.get(kernel.source)) is None:
            ir = replace(kernel.ir, dependent=False)
            found = self._plain[kernel.source] = replace(kernel, ir=ir, _variants={}, _loaded={}, without_boxes=None)
        return found


def fastest(timed: dict[Options, tuple[float, Any]], among: Sequence[Options], count: int) -> list[Options]:
    """The few of some options with the least times."""
    return sorted((o for o in dict.fromkeys(among) if o in timed), key=lambda o: timed[o][0])[:count]
