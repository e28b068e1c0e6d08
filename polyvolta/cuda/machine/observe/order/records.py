"""Who touched each place of shared memory last, and whether whoever comes next knows that it is over.

Of each slot there is a record of its last write, and of the reads since: the party that each belongs to, and from which
of the party's numbers on it is over (see `clocks`). A write of a box belongs to the barrier that counts its bytes, a
read of a product to its warpgroup's products; such an access is over when somebody has waited for it, and no sooner.
The last write stands for all before it, as these are ordered before it, else that was a race.

What threads write is a write of theirs for other threads at once, and for engines once the thread has fenced it: from
another number of the thread on, and never where it doesn't.

Reads of a slot stand in layers, one behind another: a read takes the place of one that its reader knows to be over,
else a place of its own. So there are as many layers as a slot ever has readers beside one another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from polyvolta.cuda.machine.observe.order.clocks import Clocks
from polyvolta.cuda.machine.shadow import (
    NO_WAIT,
    READ_AFTER_WRITE,
    READ_BEFORE_ARRIVAL,
    WRITE_AFTER_READ,
    WRITE_AFTER_WRITE,
    WRITE_BEFORE_ARRIVAL,
    Conflicts,
)

UNFENCED = "unfenced"
NEVER = np.iinfo(np.int32).max


@dataclass(frozen=True, slots=True)
class Touching:
    """Accesses of one kind to some slots: one number for each slot of each access.

    Parameters
    ----------
    at : slots, numbered through all blocks.
    row : of the clocks, whose knowledge counts: the thread's, or the warpgroup's.
    party, number : the access is over from this number of this party on.
    thread : linearId of who makes it, or has asked for it.
    place : the number of the operation.
    engine : whether it is made past the threads.
    """

    at: np.ndarray
    row: np.ndarray
    party: np.ndarray
    number: np.ndarray
    thread: np.ndarray
    place: int
    engine: bool

    def some(self, which: np.ndarray) -> Touching:
        """Those of some of the slots."""
        at, row, party, number, thread = (x[which] for x in (self.at, self.row, self.party, self.number, self.thread))
        return Touching(at, row, party, number, thread, self.place, self.engine)


class _Layer:
    """Accesses to all slots, [block * slot] each: see `Touching`; number 0: there is none."""

    def __init__(self, count: int) -> None:
        self.party, self.number = np.zeros(count, np.int32), np.zeros(count, np.int32)
        self.thread, self.place = np.zeros(count, np.int16), np.zeros(count, np.int16)

    def put(self, t: Touching) -> None:
        at = t.at
        self.party[at], self.number[at], self.thread[at], self.place[at] = t.party, t.number, t.thread, t.place


class Records:
    """The records of some blocks' shared memory.

    Parameters
    ----------
    clocks : what threads know.
    blocks, slots : how many there are, slots of each block.
    """

    def __init__(self, clocks: Clocks, blocks: int, slots: int) -> None:
        self.clocks, self.slots, self.count = clocks, slots, blocks * slots
        self.writes = _Layer(self.count)
        self.fenced = np.zeros(self.count, np.int32)  # from which number of the writing thread on engines see it
        self.flying = np.zeros(self.count, bool)  # whether the write is asynchronous
        self.reads: list[_Layer] = []

    def read(self, t: Touching) -> Iterator[Conflicts]:
        """What conflicts with earlier writes."""
        yield from self._after_write(t, READ_AFTER_WRITE, READ_BEFORE_ARRIVAL)
        for layer in range(len(self.reads) + len(t.at) + 1):
            if not len(t.at):
                return
            if layer == len(self.reads):
                self.reads.append(_Layer(self.count))
            here = self.reads[layer]
            free = (here.party[t.at] == t.party) | self._over(here, t)
            here.put(t.some(free))
            t = t.some(~free | (here.party[t.at] != t.party))  # of several readers of a slot now, all but one are left

    def write(self, t: Touching, flying: bool = False) -> Iterator[Conflicts]:
        """What conflicts with earlier accesses, and with one another.

        Parameters
        ----------
        flying : whether they are asynchronous, and over some time later.
        """
        yield from self._after_write(t, WRITE_AFTER_WRITE, WRITE_BEFORE_ARRIVAL)
        for layer in self.reads:
            bad = ~self._over(layer, t)
            if bad.any():
                yield self._conflicts(WRITE_AFTER_READ, t.some(bad), layer)
            layer.number[t.at] = 0
        self.writes.put(t)
        self.fenced[t.at], self.flying[t.at] = 0 if t.engine else NEVER, flying
        if (apart := self.writes.party[t.at] != t.party).any():
            yield self._conflicts(WRITE_AFTER_WRITE, t.some(apart), self.writes)

    def fence(self, block: np.ndarray, thread: np.ndarray) -> None:
        """Threads make what they have written seen past the threads."""
        if not len(block):
            return
        now = np.zeros((len(self.clocks.know), self.clocks.threads), np.int32)
        now[block, thread] = self.clocks.fenced(block, thread)
        at = np.flatnonzero(self.fenced == NEVER)
        of, owner = at // self.slots, self.clocks.owner[self.writes.party[at]]
        over = self.clocks.know[of, owner, self.writes.party[at]] >= self.writes.number[at]  # its copies have come
        done = over & (now[of, owner] > 0)
        self.fenced[at[done]] = now[of, owner][done]

    def unawaited(self) -> Iterator[Conflicts]:
        """Asynchronous accesses that no thread has waited for."""
        seen = self.clocks.know[:, : self.clocks.threads].max(1)
        for layer in (self.writes, *self.reads):
            at = np.flatnonzero(layer.party >= self.clocks.threads)
            at = at[seen[at // self.slots, layer.party[at]] < layer.number[at]]
            for place in np.unique(layer.place[at]):
                some = at[layer.place[at] == place]
                thread = layer.thread[some]
                yield Conflicts(NO_WAIT, int(place), *np.divmod(some, self.slots), thread, thread, layer.place[some])

    # ---- parts

    def _over(self, layer: _Layer, t: Touching) -> np.ndarray:
        """Whether who accesses knows that what is in a layer is over."""
        return self.clocks.know[t.at // self.slots, t.row, layer.party[t.at]] >= layer.number[t.at]

    def _after_write(self, t: Touching, kind: str, flying: str) -> Iterator[Conflicts]:
        bad = ~self._over(self.writes, t)
        if bad.any():
            asynchronous = self.flying[t.at]
            for some, name in ((bad & ~asynchronous, kind), (bad & asynchronous, flying)):
                if some.any():
                    yield self._conflicts(name, t.some(some), self.writes)
        if t.engine:
            owner = self.clocks.owner[self.writes.party[t.at]]
            unseen = ~bad & (self.writes.number[t.at] > 0) & (self.fenced[t.at] > 0)
            unseen &= self.clocks.know[t.at // self.slots, t.row, owner] < self.fenced[t.at]
            if unseen.any():
                yield self._conflicts(UNFENCED, t.some(unseen), self.writes)

    def _conflicts(self, kind: str, t: Touching, layer: _Layer) -> Conflicts:
        where = np.divmod(t.at, self.slots)
        return Conflicts(kind, t.place, *where, t.thread, layer.thread[t.at], layer.place[t.at])
