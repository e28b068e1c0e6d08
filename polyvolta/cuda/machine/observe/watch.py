"""Watching a run of the interpreter: which observers there are, and how they are told what happens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from polyvolta.cuda.ir.kernel_ir import KernelIR
from polyvolta.cuda.ir.well_formed import check
from polyvolta.cuda.machine.machine import Machine, Step
from polyvolta.cuda.machine.observe.bank_conflicts import BankConflictObserver
from polyvolta.cuda.machine.observe.coalescing import CoalescingObserver
from polyvolta.cuda.machine.observe.counts import CountObserver
from polyvolta.cuda.machine.observe.ends import EndObserver
from polyvolta.cuda.machine.observe.errors import BadObserve
from polyvolta.cuda.machine.observe.errors import NothingToObserve as NothingToObserve
from polyvolta.cuda.machine.observe.faults import BoundsObserver, DivergenceObserver
from polyvolta.cuda.machine.observe.observer import Observer, Seen
from polyvolta.cuda.machine.observe.races import RaceObserver
from polyvolta.cuda.machine.observe.uninitialised import UninitialisedObserver
from polyvolta.cuda.machine.observe.values import ValueObserver
from polyvolta.cuda.machine.observe.warpwide import accesses_of
from polyvolta.cuda.text.places import Places
from polyvolta.sets import PolyvoltaError, UnknownName, nearest
from polyvolta.sets.errors import kind_of

OBSERVERS: dict[str, type[Observer]] = {
    kind.name: kind
    for kind in (
        EndObserver, RaceObserver, UninitialisedObserver, BoundsObserver, DivergenceObserver, BankConflictObserver,
        CoalescingObserver, CountObserver, ValueObserver,
    )
}  # fmt: skip


def names_of(observe: str | Iterable[str], ir: KernelIR) -> tuple[str, ...]:
    """The observers that are asked for, by name; "all" are those that the kernel has a meaning for.

    Raises
    ------
    UnknownName : no observer is called so.
    NothingToObserve : the kernel has nothing of the kind.
    BadObserve : neither a name nor some names.
    """
    if isinstance(observe, bytes) or not isinstance(observe, Iterable):
        several = ", ".join(map(repr, list(OBSERVERS)[:2]))
        raise BadObserve(
            f"observe is {kind_of(observe)}, not a name or several names",
            where=f"{', '.join(OBSERVERS)}, or all",
            hint=f'observe="all", or some: observe=({several}); () watches nothing',
        )
    asked = (observe,) if isinstance(observe, str) else tuple(observe)
    names: list[str] = []
    for name in asked:
        if name == "all":
            names += [n for n, kind in OBSERVERS.items() if not kind.no_meaning(ir)]
        elif not isinstance(name, str) or name not in OBSERVERS:
            raise UnknownName(
                f"no observer is called {name!r}",
                hint=_nearest(name),
            )
        elif why := OBSERVERS[name].no_meaning(ir):
            raise NothingToObserve(f"the kernel {ir.name} has nothing for {name!r} to observe: {why}")
        else:
            names.append(name)
    return tuple(dict.fromkeys(names))


def _nearest(name: object) -> str:
    """What may be meant by a name that no observer has."""
    parts = tuple(str(name).replace(",", " ").split())
    if len(parts) > 1 and all(p in (*OBSERVERS, "all") for p in parts):
        return f"several names are a tuple: observe={parts}"
    return nearest(str(name), (*OBSERVERS, "all"))


class Watch:
    """The observers of one run.

    Parameters
    ----------
    ir : the kernel that runs.
    names : of the observers.

    Raises
    ------
    IllFormed : the IR means nothing.
    """

    def __init__(self, ir: KernelIR, names: Iterable[str]) -> None:
        check(ir)
        self.ir = ir
        self.observers = {name: OBSERVERS[name](ir) for name in names}
        self.takes = tuple(kind for o in self.observers.values() for kind in o.takes)

    def start(self, m: Machine) -> None:
        """A batch of blocks starts."""
        for o in self.observers.values():
            o.start(m)

    def step(self, m: Machine, step: Step) -> None:
        """An operation was taken."""
        accesses = tuple(replace(a, array=m.unfolded.array(a.array)[0]) for a in accesses_of(m, step))
        step = replace(step, path=m.unfolded.path(step.path))
        for o in self.observers.values():
            o.step(m, step, accesses)

    def end(self, m: Machine) -> None:
        """The batch of blocks has ended."""
        for o in self.observers.values():
            o.end(m)

    def fault(self, m: Machine, wrong: PolyvoltaError, threads: np.ndarray | None) -> bool:
        """Something that the machine refuses; whether an observer took note of it."""
        if not isinstance(wrong, self.takes):
            return False
        for o in self.observers.values():
            if isinstance(wrong, o.takes):
                o.fault(m, wrong, threads)
        return True

    def ended(self, m: Machine, wrong: PolyvoltaError) -> bool:
        """The batch of blocks can't go on; whether an observer took note of it."""
        said = [o.ended(m, wrong) for o in self.observers.values()]  # all are told
        return any(said)

    def seen(self, places: Places) -> dict[str, Seen]:
        """What each observer saw, by name."""
        return {name: o.seen(places) for name, o in self.observers.items()}
