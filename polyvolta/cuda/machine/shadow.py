"""Races in shared memory: who touched each place since the last barrier.

Two accesses to one place *race* if two threads make them, at least one writes, and nothing orders the one before the
other. What the kernel then computes is a matter of luck: it may pass every test and fail on the next driver. Lockstep,
with all threads taking each operation together, hides races: it runs one order out of many, and a good one. So the
order in which accesses happen to arrive here counts for nothing. What counts is which of them are *ordered*:

- those of one thread, as its program says;
- those before and after a block barrier, whoever makes them;
- within a warp, those before and after a warp barrier.

Nothing else. In particular the lanes of a warp aren't ordered by being lanes of a warp: since Volta each thread has a
program counter of its own, and the machine may run half of a warp through ten instructions before the other half takes
the first. Code that a Pascal GPU ran in lockstep needs `__syncwarp()` now.

A shadow of the memory is enough to find races. For each slot of 2 bytes it says who wrote it last and who has read it
since. The last writer stands for all before it: they are ordered before it, else that was the race, so what is ordered
after the last writer is ordered after all. Readers are many, but a write only asks whether all of them are ordered
before it, and of a set of readers three things decide that: their warp, or that they are of several; whether a warp
barrier came after all of them; if not, the one thread that came after it, or that there are several.

General race detectors count *epochs*, a clock for each thread, and compare clocks. Barriers of a whole block or a whole
warp make that simpler: a block barrier orders everything before it, so the records go; a warp barrier turns "thread 5
of warp 0" into "warp 0, ordered for its lanes". There are no numbers that grow. Two moments at which the same is still
unordered have equal shadows, however many barriers came before: that is why a proof about the trips of a loop, whose
number isn't known, comes to an end.

An asynchronous copy writes at a time of its own: any time from when a thread issues it until that thread has waited
for it. No barrier in between changes that. So from issue to wait a slot is *taken*, and whoever reaches it then,
whichever thread, races; at the wait the copy becomes a write of the thread that issued it, made that moment.

Control flow and addresses of a kernel don't depend on what shared memory holds. So a run that finds no race shows that
no order of the threads has one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from polyvolta.cuda.ir.kernel_ir import LANES

NONE = -1  # a warp: nobody since the last barrier
ORDERED = -1  # a thread: whoever it was, a warp barrier came after
MANY = -2  # several warps or threads
READ_AFTER_WRITE, WRITE_AFTER_READ, WRITE_AFTER_WRITE = "read after write", "write after read", "write after write"
READ_BEFORE_ARRIVAL, WRITE_BEFORE_ARRIVAL = "read before arrival", "write before arrival"
NO_WAIT = "copy without a wait"


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two accesses to one slot that nothing orders.

    Parameters
    ----------
    kind : "read after write", "write after read" or "write after write", in the order in which they arrived; "read
        before arrival" or "write before arrival" of an asynchronous copy that nobody has waited for; "copy without a
        wait", which collides with itself alone.
    block, slot : where.
    thread, place : of the later access: linearId, and the number that it was given as its place.
    other_thread, other_place : of the earlier one; of several readers one.
    """

    kind: str
    block: int
    slot: int
    thread: int
    place: int
    other_thread: int
    other_place: int


@dataclass(frozen=True, slots=True)
class Conflicts:
    """The conflicts of one kind that one access makes, as arrays of one length; iterated, each a `Conflict`.

    Parameters
    ----------
    kind, place : as of a `Conflict`.
    block, slot, thread, other_thread, other_place : one number for each conflict.
    """

    kind: str
    place: int
    block: np.ndarray
    slot: np.ndarray
    thread: np.ndarray
    other_thread: np.ndarray
    other_place: np.ndarray

    def __len__(self) -> int:
        return len(self.slot)

    def __iter__(self) -> Iterator[Conflict]:
        for block, slot, thread, other, at in zip(
            self.block, self.slot, self.thread, self.other_thread, self.other_place, strict=True
        ):
            yield Conflict(self.kind, int(block), int(slot), int(thread), self.place, int(other), int(at))


class Shadow:
    """Who wrote and read the slots of some blocks' shared memory since the last barrier.

    Parameters
    ----------
    blocks : how many blocks there are.
    slots : of each block's shared memory, 2 bytes each.
    threads : of a block.

    Attributes
    ----------
    writer_warp : [block, slot]; NONE: not written since the last block barrier.
    writer_thread : ORDERED: a barrier of the writer's warp came after.
    reader_warp : NONE, or MANY where several warps have read the slot.
    reader_thread : of the readers that no warp barrier came after; ORDERED: there are none; MANY: there are several.
    writer, writer_place : for messages, the thread and the place of the last write.
    readers, reader_places : [block, slot, 2], for messages: a reader, and another where there are several.
    copier, copier_place : the thread whose asynchronous copy to the slot is on its way, NONE: no one's; its place.

    Notes
    -----
    A slot takes 26 bytes. An access costs a few gathers and scatters of its size, a barrier a pass over the memory.

    >>> shadow = Shadow(blocks=1, slots=64, threads=64)
    >>> thread = np.arange(64).reshape(1, 2, 32, 1)
    >>> shadow.write(thread, thread, None, place=0)
    ()
    >>> shadow.barrier("warp", None)
    >>> shadow.read(thread ^ 1, thread, None, place=1)  # of the same warp
    ()
    >>> (found,) = shadow.read(thread ^ 32, thread, None, place=2)
    >>> len(found), next(iter(found))  # doctest: +NORMALIZE_WHITESPACE
    (64, Conflict(kind='read after write', block=0, slot=32, thread=0, place=2, other_thread=32, other_place=0))
    """

    def __init__(self, blocks: int, slots: int, threads: int) -> None:
        assert threads <= np.iinfo(np.int16).max
        shape = blocks, slots
        self.shape, self.warps = shape, threads // LANES
        self.writer_warp, self.writer_thread, self.reader_warp, self.reader_thread = (
            np.full(shape, NONE, np.int16) for _ in range(4)
        )
        self.writer, self.writer_place = (np.zeros(shape, np.int16) for _ in range(2))
        self.readers, self.reader_places = (np.zeros((*shape, 2), np.int16) for _ in range(2))
        self.copier, self.copier_place = np.full(shape, NONE, np.int16), np.zeros(shape, np.int16)
        self.taken = False  # whether any slot is
        self._last = np.zeros(shape, np.int16)  # the thread that reached a slot last in the access at hand

    def copy(self) -> Shadow:
        """A shadow of its own with the same records."""
        new = object.__new__(Shadow)
        new.shape, new.warps, new._last, new.taken = self.shape, self.warps, self._last, self.taken
        for name in (*_RECORDS, "copier", "copier_place", "writer", "writer_place", "readers", "reader_places"):
            setattr(new, name, getattr(self, name).copy())
        return new

    def key(self) -> bytes:
        """Equal for two shadows that will find the same conflicts; what is for messages is left out."""
        return b"".join(getattr(self, name).tobytes() for name in (*_RECORDS, "copier"))

    def forget(self, slots: np.ndarray) -> None:
        """Nobody has been at some slots, bool [slot]: for those that are not accessed any more."""
        for name in (*_RECORDS, "copier"):
            getattr(self, name)[:, slots] = NONE

    def turn(self, slots: np.ndarray) -> None:
        """Slot n gets the records of slot `slots[n]`, which are numbered anew."""
        for name in (*_RECORDS, "copier", "copier_place", "writer", "writer_place", "readers", "reader_places"):
            setattr(self, name, getattr(self, name)[:, slots])

    def read(
        self, slots: np.ndarray, threads: np.ndarray, mask: np.ndarray | None, place: int
    ) -> tuple[Conflicts, ...]:
        """Each thread reads some slots; returns what conflicts with earlier writes, () if nothing does.

        Parameters
        ----------
        slots : [block, warp, lane, n], or what broadcasts to it.
        threads : linearId of each, in an array that broadcasts likewise.
        mask : [block, warp, lane] or [warp, lane], which threads take part; None: all.
        place : the number of the access's place, for messages.
        """
        at, thread = self._flat(slots, threads, mask)
        warp = thread // LANES
        found = self._taken(READ_BEFORE_ARRIVAL, at, thread, place)
        found += self._after_write(READ_AFTER_WRITE, at, thread, warp, place)

        readers_warp, readers_thread = self.reader_warp.ravel(), self.reader_thread.ravel()  # views
        before, who = readers_warp[at], readers_thread[at]
        same_warp = before == warp
        first = (before == NONE) | same_warp & (who == ORDERED)
        alone = first | same_warp & (who == thread)
        one_warp = same_warp | (before == NONE)
        readers_warp[at] = np.where(one_warp, warp, MANY)
        readers_thread[at] = np.where(alone, thread, MANY)
        last = self._last.ravel()  # where several threads read a slot now, all but one find another's number there
        last[at] = thread
        met = last[at]
        readers_thread[at[met != thread]] = MANY
        apart = met // LANES != warp
        readers_warp[at[apart]], readers_thread[at[apart]] = MANY, MANY
        self._remember_readers(at, thread, first, met != thread, place)
        return found

    def write(
        self, slots: np.ndarray, threads: np.ndarray, mask: np.ndarray | None, place: int
    ) -> tuple[Conflicts, ...]:
        """Each thread writes some slots; returns what conflicts with earlier accesses, and with one another.

        Parameters as of `read`.
        """
        at, thread = self._flat(slots, threads, mask)
        warp = thread // LANES
        found = self._taken(WRITE_BEFORE_ARRIVAL, at, thread, place)
        found += self._after_write(WRITE_AFTER_WRITE, at, thread, warp, place)

        before, who = self.reader_warp.ravel()[at], self.reader_thread.ravel()[at]
        bad = (before != NONE) & ~((before == warp) & ((who == ORDERED) | (who == thread)))
        if bad.any():
            where, mine = at[bad], thread[bad]
            some, another = self.readers.reshape(-1, 2)[where].T
            # of several warps one that isn't the writer's, else one that isn't the writer
            own = np.where(before[bad] == MANY, some // LANES == mine // LANES, some == mine)
            number = own & ((before[bad] == MANY) | (who[bad] == MANY))
            places = self.reader_places.reshape(-1, 2)[where, number.astype(np.intp)]
            found += (self._conflicts(WRITE_AFTER_READ, where, mine, place, np.where(number, another, some), places),)

        last = self._last.ravel()
        last[at] = thread
        met = last[at]
        if (bad := met != thread).any():
            here = np.full(np.count_nonzero(bad), place)
            found += (self._conflicts(WRITE_AFTER_WRITE, at[bad], thread[bad], place, met[bad], here),)
        self.writer_thread.ravel()[at], self.writer_warp.ravel()[at] = met, met // LANES
        self.writer.ravel()[at], self.writer_place.ravel()[at] = met, place
        self.reader_warp.ravel()[at], self.reader_thread.ravel()[at] = NONE, ORDERED
        return found

    def issue(
        self, slots: np.ndarray, threads: np.ndarray, mask: np.ndarray | None, place: int
    ) -> tuple[Conflicts, ...]:
        """Each thread issues an asynchronous copy to some slots; returns what conflicts with earlier accesses.

        Parameters as of `read`.
        """
        found = self.write(slots, threads, mask, place)
        at, thread = self._flat(slots, threads, mask)
        self.writer_warp.ravel()[at], self.writer_thread.ravel()[at] = NONE, ORDERED  # until it is complete
        self.copier.ravel()[at], self.copier_place.ravel()[at] = thread, place
        self.taken = True
        return found

    def complete(self, slots: np.ndarray, threads: np.ndarray, mask: np.ndarray | None) -> None:
        """These threads have waited for what they have copied to some slots: each has written it now.

        Parameters as of `read`.
        """
        at, thread = self._flat(slots, threads, mask)
        mine = self.copier.ravel()[at] == thread
        at, thread = at[mine], thread[mine]
        self.writer.ravel()[at], self.writer_place.ravel()[at] = thread, self.copier_place.ravel()[at]
        self.writer_warp.ravel()[at], self.writer_thread.ravel()[at] = thread // LANES, thread
        self.reader_warp.ravel()[at], self.reader_thread.ravel()[at] = NONE, ORDERED
        self.copier.ravel()[at] = NONE
        self.taken = bool((self.copier != NONE).any())

    def unfinished(self) -> tuple[Conflicts, ...]:
        """The copies that are on their way, by their places."""
        at = np.flatnonzero(self.copier.ravel() != NONE)
        places, threads = self.copier_place.ravel()[at], self.copier.ravel()[at]
        return tuple(
            self._conflicts(NO_WAIT, at[some], threads[some], int(place), threads[some], places[some])
            for place in np.unique(places)
            for some in [places == place]
        )

    def barrier(self, scope: str, mask: np.ndarray | None) -> None:
        """A barrier: everything before it is ordered before everything after it, in a block or in a warp.

        Parameters
        ----------
        scope : "block" or "warp".
        mask : the threads that reach it, as of `read`. A block or a warp that reaches it in part isn't ordered by it.
        """
        whole = None
        if mask is not None:
            mask = np.broadcast_to(mask, (self.shape[0], self.warps, LANES))
            whole = mask.all((1, 2)) if scope == "block" else mask.all(2)
            whole = None if whole.all() else whole
        if scope == "block":
            here = ... if whole is None else whole
            for name in _RECORDS:
                getattr(self, name)[here] = NONE
        else:
            for warps, threads in ((self.writer_warp, self.writer_thread), (self.reader_warp, self.reader_thread)):
                if whole is None:
                    now = warps >= 0
                else:
                    now = (warps >= 0) & np.take_along_axis(whole, warps.clip(0).astype(np.intp), 1)
                threads[now] = ORDERED

    # ---- parts

    def _flat(self, slots: np.ndarray, threads: np.ndarray, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The slots of threads that take part, numbered through all blocks, and these threads; one axis each."""
        blocks, size = self.shape
        at = np.asarray(slots) + size * np.arange(blocks)[:, None, None, None]
        at, thread = np.broadcast_arrays(at, np.asarray(threads).astype(np.int16))
        if mask is None:
            return at.ravel(), thread.ravel()
        active = np.broadcast_to(np.asarray(mask)[..., None], at.shape)
        return at[active], thread[active]

    def _taken(self, kind: str, at: np.ndarray, thread: np.ndarray, place: int) -> tuple[Conflicts, ...]:
        """Accesses to slots to which copies are on their way."""
        if not self.taken:
            return ()
        bad = self.copier.ravel()[at] != NONE
        if not bad.any():
            return ()
        where = at[bad]
        other, places = self.copier.ravel()[where], self.copier_place.ravel()[where]
        return (self._conflicts(kind, where, thread[bad], place, other, places),)

    def _after_write(
        self, kind: str, at: np.ndarray, thread: np.ndarray, warp: np.ndarray, place: int
    ) -> tuple[Conflicts, ...]:
        """Accesses to slots that another thread wrote, with no barrier between."""
        before, who = self.writer_warp.ravel()[at], self.writer_thread.ravel()[at]
        bad = (before != NONE) & ~((before == warp) & ((who == ORDERED) | (who == thread)))
        if not bad.any():
            return ()
        where = at[bad]
        other, places = self.writer.ravel()[where], self.writer_place.ravel()[where]
        return (self._conflicts(kind, where, thread[bad], place, other, places),)

    def _remember_readers(
        self, at: np.ndarray, thread: np.ndarray, first: np.ndarray, apart: np.ndarray, place: int
    ) -> None:
        """Keep two readers of each slot, of two warps if there are: the first one, and one apart from it."""
        readers, places = self.readers.reshape(-1, 2), self.reader_places.reshape(-1, 2)
        if first.any():
            readers[at[first], 0], places[at[first], 0] = thread[first], place
            readers[at[first], 1] = thread[first]
        if apart.any() or not first.all():
            some, another = readers[at].T
            for new in (some == another) & (some != thread), (some // LANES != thread // LANES):
                readers[at[new], 1], places[at[new], 1] = thread[new], place

    def _conflicts(
        self, kind: str, at: np.ndarray, thread: np.ndarray, place: int, other: np.ndarray, places: np.ndarray
    ) -> Conflicts:
        return Conflicts(kind, place, *np.divmod(at, self.shape[1]), thread, other, places)


_RECORDS = ("writer_warp", "writer_thread", "reader_warp", "reader_thread")
