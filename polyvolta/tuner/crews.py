"""Who times: this process with one GPU, or the workers of an executor, each with whatever GPU is free where it is.

Workers are asked for a few candidates at a time. One that dies, or sees no GPU of the kind, is not asked again for
those: others are, and if all fail, or the executor is broken, this process goes on alone, where it has such a GPU.
Where the executor's workers are on one machine they share its GPUs by themselves (`locks`): a task takes one that is
free, and waits for one otherwise. So a pool of two threads is enough for two GPUs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from polyvolta.compiler.options import Options
from polyvolta.compiler.remembered.entries import DIED, Timed
from polyvolta.cuda.devices import Gpu, gpus
from polyvolta.cuda.errors import NoGpu
from polyvolta.tuner.errors import Died, DoesNotFit, NoGpuThere
from polyvolta.tuner.processes.build import Built
from polyvolta.tuner.processes.children import Child
from polyvolta.tuner.processes.kept import ready, time_all
from polyvolta.tuner.processes.timer import Factory, Timer
from polyvolta.tuner.spec import Spec

WORKERS = 4  # where an executor doesn't say how many it has
PARTS, LEAST = 3, 8  # tasks that a worker gets, and candidates of one
TRIES = 3  # of candidates whose workers fail
LOOK_SECONDS = 60.0


class Crew(Protocol):
    """Who times."""

    def times(self, builds: Iterable[Built | Timed], count: int) -> Iterator[Timed]:
        """Each candidate's outcome, as it is there."""
        ...

    def final(self, best: Sequence[Built]) -> tuple[Timed, ...]:
        """The times of the best, taking turns on one GPU."""
        ...

    def close(self) -> None:
        """Let go of GPUs."""
        ...


@dataclass(slots=True)
class Alone:
    """One GPU, through one process after the other."""

    spec: Spec
    factory: Factory
    _timer: Timer | None = None

    @property
    def timer(self) -> Timer:
        if self._timer is None:
            self._timer = Timer(self.spec, self.factory).start()
        return self._timer

    def times(self, builds: Iterable[Built | Timed], count: int) -> Iterator[Timed]:
        timer = self.timer
        for b in builds:
            yield b if isinstance(b, Timed) else timer.time(b)

    def final(self, best: Sequence[Built]) -> tuple[Timed, ...]:
        return self.timer.final(best)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.close()


@dataclass(slots=True)
class Crowd:
    """The workers of an executor.

    Parameters
    ----------
    executor : has `submit`, which gives futures of `concurrent.futures`.
    alone : who goes on when the executor doesn't.
    workers : about how many there are.
    """

    spec: Spec
    factory: Factory
    executor: Executor
    alone: Alone
    workers: int = WORKERS
    _running: dict[Future, tuple[Built, ...]] = field(default_factory=dict)
    _failed: dict[Options, int] = field(default_factory=dict)
    _left: list[Built] = field(default_factory=list)

    def times(self, builds: Iterable[Built | Timed], count: int) -> Iterator[Timed]:
        size, batch = max(LEAST, -(-count // (PARTS * self.workers))), []
        with suppress(Exception):  # a pool that takes nothing is found out by the first candidates
            for _ in range(min(self.workers, -(-count // size))):
                self.executor.submit(ready, self.factory, self.spec)
        for b in builds:
            if isinstance(b, Timed):
                yield b
                continue
            batch.append(b)
            if len(batch) >= size:
                self._submit(batch)
                batch = []
            yield from self._done(0)
        self._submit(batch)
        while self._running:
            yield from self._done(None)
        for b in self._left:
            try:
                yield self.alone.timer.time(b)
            except (NoGpu, NoGpuThere) as wrong:
                yield Timed(b.options, DIED, note=f"no worker is left, and here {wrong.message}")

    def _submit(self, batch: Sequence[Built]) -> None:
        """Give a worker some candidates; keep them for this process where there are none any more."""
        if not batch:
            return
        try:
            future = self.executor.submit(time_all, self.factory, self.spec, tuple(batch), False)
        except Exception:  # a broken or closed pool raises what it likes
            self._left += batch
        else:
            self._running[future] = tuple(batch)

    def _done(self, seconds: float | None) -> Iterator[Timed]:
        """What workers have found out, waiting so long for the next one."""
        if not self._running:
            return
        for future in wait(self._running, seconds, FIRST_COMPLETED).done:
            batch = self._running.pop(future)
            try:
                yield from future.result()
            except DoesNotFit:
                raise
            except Exception as wrong:
                yield from self._again(batch, wrong)

    def _again(self, batch: tuple[Built, ...], wrong: Exception) -> Iterator[Timed]:
        """After a worker failed: each of its candidates goes to a worker by itself, so that the one to blame is
        found."""
        for b in batch:
            tries = self._failed[b.options] = self._failed.get(b.options, 0) + 1
            if tries < TRIES:
                self._submit([b])
            elif isinstance(wrong, NoGpu | NoGpuThere):
                raise wrong
            else:
                yield Timed(b.options, DIED, note=f"{type(wrong).__name__}: {wrong}")

    def final(self, best: Sequence[Built]) -> tuple[Timed, ...]:
        for _ in range(TRIES):
            try:
                return self.executor.submit(time_all, self.factory, self.spec, tuple(best), True).result()
            except DoesNotFit:
                raise
            except Exception:
                continue
        with suppress(NoGpu, NoGpuThere, Died):
            return self.alone.final(best)
        return ()

    def close(self) -> None:
        for future in self._running:
            future.cancel()
        self.alone.close()


class Looker:
    """Says which GPUs a process sees."""

    def gpus(self) -> tuple[Gpu, ...]:
        return gpus()


def seen() -> tuple[Gpu, ...]:
    """The GPUs of a machine, asked in a process of its own: in one that was forked the driver doesn't start."""
    with Child(Looker) as child:
        return child.ask("gpus", limit=LOOK_SECONDS)


def executor_of(given: Any) -> tuple[Executor, int]:
    """An executor, and about how many workers it has; a `dask.distributed.Client` is made one."""
    if hasattr(given, "get_executor"):
        return given.get_executor(pure=False), max(1, len(given.nthreads()))
    return given, getattr(given, "_max_workers", None) or WORKERS
