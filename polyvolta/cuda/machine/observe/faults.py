"""What the machine would refuse, taken note of: accesses out of bounds or misaligned, and threads that diverge.

The threads that are wrong then take no part in the operation, and the run goes on. Without these observers the first
such thing ends it with an error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polyvolta.cuda.ir.kernel_ir import KernelIR
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.machine.errors import Diverged, NotAChunk, OutOfBounds
from polyvolta.cuda.machine.machine import Machine
from polyvolta.cuda.machine.observe.observer import Finding, Observer, short, spans, times, warp_of
from polyvolta.cuda.machine.observe.tables import Shown, Table
from polyvolta.cuda.text.places import Place, Places
from polyvolta.sets import PolyvoltaError


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong at one place.

    Parameters
    ----------
    place : the operation, or the loop or condition.
    what : the first time, in words: with index and extents where something is out of bounds.
    times : how often the place was wrong: operations of a batch of blocks.
    threads : how many threads it was in all, each time counted; of a barrier, those that are missing.
    block, warp, lanes : the first of them: block, warp and lanes of the first warp.
    warps : all warps of that block that have such threads.
    """

    place: Place
    what: str
    times: int
    threads: int
    block: tuple[int, int, int]
    warp: int
    lanes: tuple[int, ...]
    warps: tuple[int, ...]

    @property
    def who(self) -> str:
        """The first threads in words."""
        lanes = "all lanes" if len(self.lanes) == 32 else f"lanes {spans(self.lanes)}"
        others = f"; warps {spans(self.warps)} alike" if len(self.warps) > 1 else ""
        return f"block {self.block}, warp {self.warp}, {lanes}{others}"


@dataclass(frozen=True, slots=True, repr=False)
class Bounds(Shown):
    """Accesses that would have left their tensor, tile or register array, or started between two boundaries.

    They were not made. Names that leave their range count too.
    """

    rows: tuple[Fault, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(
            Finding(
                "bounds",
                f"{f.what}; {f.who}; {times(f.threads, 'time')} in all, each thread counted",
                (f.place,),
                f.threads,
            )
            for f in self.rows
        )

    @property
    def tables(self) -> tuple[Table, ...]:
        note = "" if self.rows else "Every access is within bounds and aligned."
        return (_table("bounds: accesses that were not made", self.rows, note),)


@dataclass(frozen=True, slots=True, repr=False)
class Divergence(Shown):
    """Barriers and warp-wide operations that part of the threads miss, and conditions on which threads disagree."""

    rows: tuple[Fault, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(
            Finding("divergence", f"{f.what}; missing or in disagreement: {f.who}", (f.place,), f.threads)
            for f in self.rows
        )

    @property
    def tables(self) -> tuple[Table, ...]:
        note = "" if self.rows else "All threads reach every barrier and every warp-wide operation."
        return (_table("divergence: who is missing", self.rows, note),)


def _table(title: str, rows: tuple[Fault, ...], note: str) -> Table:
    columns = ("line", "what", "first threads", ">times", ">threads")
    cells = tuple((short(f.place), f.what, f.who, f"{f.times:,}", f"{f.threads:,}") for f in rows)
    return Table(title, columns, cells, note)


@dataclass
class _Tally:
    what: str
    block: tuple[int, int, int]
    warp: int
    lanes: tuple[int, ...]
    warps: tuple[int, ...]
    times: int = 0
    threads: int = 0


class _FaultObserver(Observer):
    def __init__(self, ir: KernelIR) -> None:
        super().__init__(ir)
        self.tallies: dict[tuple[IrPath, type], _Tally] = {}

    def fault(self, m: Machine, wrong: PolyvoltaError, threads: np.ndarray | None) -> None:
        threads = np.ones(m.shape, bool) if threads is None else np.broadcast_to(threads, m.shape)
        # a name that leaves its range does so before the first statement
        key = m.unfolded.path(m.path) or (0,), type(wrong)
        if key not in self.tallies:
            block, warp, _ = (int(n) for n in np.argwhere(threads)[0])
            lanes = tuple(int(n) for n in np.flatnonzero(threads[block, warp]))
            owners = [warp_of(m, block, int(n)) for n in np.flatnonzero(threads[block].any(-1))]
            place, own = warp_of(m, block, warp)
            warps = tuple(n for of, n in owners if of == place)
            self.tallies[key] = _Tally(wrong.message, place, own, lanes, warps)
        self.tallies[key].times += 1
        self.tallies[key].threads += int(np.count_nonzero(threads))

    def _faults(self, places: Places) -> tuple[Fault, ...]:
        tallies = sorted(self.tallies.items(), key=lambda x: x[0][0])
        return tuple(
            Fault(places[path], t.what, t.times, t.threads, t.block, t.warp, t.lanes, t.warps)
            for (path, _), t in tallies
        )


class BoundsObserver(_FaultObserver):
    """Takes note of accesses out of bounds and misaligned ones."""

    name = "bounds"
    takes = (OutOfBounds, NotAChunk)

    def seen(self, places: Places) -> Bounds:
        return Bounds(self._faults(places))


class DivergenceObserver(_FaultObserver):
    """Takes note of threads that miss a barrier or a warp-wide operation."""

    name = "divergence"
    takes = (Diverged,)

    def seen(self, places: Places) -> Divergence:
        return Divergence(self._faults(places))
