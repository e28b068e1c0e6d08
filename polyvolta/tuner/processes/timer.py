"""This side of a GPU: candidates are timed in a process of their own, which is ended when one takes too long.

A kernel that hangs, or writes where it must not, takes its process's GPU context along: nothing runs there any more. So
the process is ended and another one started, and the next candidate is timed in that one. What is needed again, those
that are to be raced, is sent again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from polyvolta.compiler.remembered.entries import DIED, FAILED, HANGS, TIMED, WRONG, Timed, text_of
from polyvolta.sets import PolyvoltaError
from polyvolta.tuner.errors import Died, Hangs, WrongResult
from polyvolta.tuner.processes.bench import Bench
from polyvolta.tuner.processes.build import Built
from polyvolta.tuner.processes.children import Child
from polyvolta.tuner.rounds import halving
from polyvolta.tuner.spec import Spec

WAIT_SECONDS = 3600.0  # for a GPU that others are timing on
TRIES = 2  # of a candidate whose process ended, and of a GPU's process that doesn't start
Factory = Callable[[Spec], Any]


@dataclass(slots=True)
class Timer:
    """Times candidates on one GPU; use it in a `with` block.

    Parameters
    ----------
    spec : what is tuned.
    factory : of what has the methods `take`, `add` and `race`, in a process of its own: `Bench`.

    Attributes
    ----------
    ended : how many processes were ended, or ended themselves, amid a candidate.
    """

    spec: Spec
    factory: Factory = Bench
    ended: int = 0
    _child: Child | None = None
    _there: set[str] = field(default_factory=set)

    def start(self) -> Self:
        """Start the process, without waiting for it: imports take a second."""
        if self._child is None:
            self._child, self._there = Child(self.factory, self.spec), set()
        return self

    def _ready(self) -> Child:
        """The process, with a GPU taken and the arrays made.

        Raises
        ------
        NoGpu, NoGpuThere, DoesNotFit : nothing can be timed here.
        Died, Hangs : it doesn't start, more than once.
        """
        for last in (False, True):
            fresh = self._child is None or not self._there
            child = self.start()._child
            assert child is not None
            if not fresh:
                return child
            try:
                child.ask("take", limit=WAIT_SECONDS)
                self._there.add("")
                return child
            except (Died, Hangs):
                self.close()
                if last:
                    raise
        raise AssertionError

    @property
    def holds(self) -> bool:
        """Whether a GPU is taken."""
        return bool(self._there)

    def time(self, built: Built, keep: bool = False) -> Timed:
        """A candidate's time, or what was wrong with it.

        Parameters
        ----------
        keep : whether it is to be raced.

        Raises
        ------
        NoGpu, NoGpuThere, DoesNotFit : nothing can be timed here.
        Died, Hangs : the process doesn't start, more than once.
        """
        for last in (False, True):
            child = self._ready()
            name = text_of(built.options)
            try:
                seconds = float(child.ask("add", name, built.content, keep, limit=self.spec.limit))
            except Died as died:
                self._over()
                if last:
                    return Timed(built.options, DIED, note=str(died))
            except Hangs:
                self._over()
                return Timed(built.options, HANGS, note=f"not done after {self.spec.limit:g} s")
            except WrongResult as wrong:
                return Timed(built.options, WRONG, note=wrong.message)
            except PolyvoltaError as wrong:
                self._over()  # of a context in which something failed nobody knows what else does
                return Timed(built.options, FAILED, note=wrong.message)
            else:
                self._there |= {name} if keep else set()
                return Timed(built.options, TIMED, seconds)
        raise AssertionError

    def final(self, candidates: Sequence[Built]) -> tuple[Timed, ...]:
        """The times of the best, taking turns in more and more rounds; see `rounds`."""
        named = {text_of(b.options): b for b in candidates}
        found: dict[str, Timed] = {}
        for _ in range(TRIES):
            self._there_again(named, found)
            fine = [n for n in named if n in self._there]
            try:
                times, last = halving(self._race, fine) if fine else ({}, ())
            except (Died, Hangs):  # a process that was kept may have ended since
                self._over()
                continue
            for name, seconds in times.items():
                found[name] = Timed(named[name].options, TIMED, seconds, final=name in last)
            break
        return tuple(found.values())

    def _there_again(self, named: dict[str, Built], found: dict[str, Timed]) -> None:
        """Bring to the process what isn't there; where one candidate ends it, all others are brought again."""
        for _ in range(TRIES):
            for name, built in named.items():
                if name not in self._there and (name not in found or found[name].outcome == TIMED):
                    found[name] = self.time(built, keep=True)

    def _race(self, names: Sequence[str], rounds: int) -> dict[str, float]:
        limit = self.spec.limit * len(names)
        times = self._ready().ask("race", tuple(names), rounds, limit=limit)
        return {name: float(of[0]) for name, of in times.items()}

    def _over(self) -> None:
        self.ended += 1
        self.close()

    def close(self) -> None:
        """End the process; the GPU is others' then."""
        if self._child is not None:
            self._child.close()
        self._child, self._there = None, set()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()
