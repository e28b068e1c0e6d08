"""Timers that stay for a while between the tasks of an executor's worker: starting one takes seconds.

A task gets the one that a task before it left, if that was of the same computation; one of another computation is
closed first, since it holds a GPU. One that nobody asks for is closed by itself: soon, if it holds a GPU, for which
other workers may wait.
"""

from __future__ import annotations

import atexit
import pickle
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from polyvolta.compiler.remembered.entries import Timed
from polyvolta.tuner.processes.build import Built
from polyvolta.tuner.processes.timer import Factory, Timer
from polyvolta.tuner.spec import Spec

HOLDING, WAITING = 0.5, 30.0
"""Seconds that a timer stays which holds a GPU: about what it takes to send the next task; and one that doesn't."""


@dataclass(slots=True)
class Kept:
    """The timers of a process that no task has at the moment.

    Parameters
    ----------
    holding, waiting : seconds after which one is closed that holds a GPU, and one that doesn't.
    make : a new one, of a spec and a factory.
    """

    holding: float = HOLDING
    waiting: float = WAITING
    make: Callable[[Spec, Factory], Any] = Timer
    _idle: list[tuple[bytes, Any, threading.Timer]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def timer(self, spec: Spec, factory: Factory) -> Iterator[Any]:
        """One for a computation, which is kept afterwards unless the task fails."""
        key = pickle.dumps((factory, spec))
        timer = self._left(key) or self.make(spec, factory).start()
        try:
            yield timer
        except BaseException:
            timer.close()
            raise
        self._keep(key, timer)

    def close(self) -> None:
        """All of them."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, timer, clock in idle:
            clock.cancel()
            timer.close()

    def _left(self, key: bytes) -> Any:
        """One of a computation, if there is any; those of others are closed."""
        with self._lock:
            same = [x for x in self._idle if x[0] == key]
            others = [x for x in self._idle if x[0] != key]
            self._idle = same[1:]
        for _, timer, clock in others:
            clock.cancel()
            timer.close()
        if not same:
            return None
        _, timer, clock = same[0]
        clock.cancel()
        return timer

    def _keep(self, key: bytes, timer: Any) -> None:
        clock = threading.Timer(self.holding if timer.holds else self.waiting, self._forget, [timer])
        clock.daemon = True
        with self._lock:
            self._idle.append((key, timer, clock))
        clock.start()

    def _forget(self, timer: Any) -> None:
        """Close one, if no task has it by now."""
        with self._lock:
            mine = [x for x in self._idle if x[1] is timer]
            self._idle = [x for x in self._idle if x[1] is not timer]
        for _, found, _ in mine:
            found.close()


HERE = Kept()
atexit.register(HERE.close)


def time_all(factory: Factory, spec: Spec, candidates: Iterable[Built], final: bool) -> tuple[Timed, ...]:
    """Time candidates, or race those that are the best: what an executor's worker runs.

    Raises
    ------
    NoGpu, NoGpuThere, DoesNotFit : nothing can be timed here.
    Died, Hangs : the process doesn't start, more than once.
    """
    candidates = tuple(candidates)
    with HERE.timer(spec, factory) as timer:
        return timer.final(candidates) if final else tuple(timer.time(b) for b in candidates)


def ready(factory: Factory, spec: Spec) -> None:
    """Start a worker's process while the first kernels are still made: imports take a second. No GPU is taken yet."""
    with HERE.timer(spec, factory):
        pass
