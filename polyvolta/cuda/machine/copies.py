"""Asynchronous copies: on their way from when a thread issues them until it has waited for them, and no sooner there.

Between the two the GPU promises nothing: a copy may have arrived at once, or arrive in the very last moment, and
until then the bytes that it goes to are anything. A run shows one moment out of many, so here it can be chosen:

    "lazy"      what is copied arrives when the thread waits for it, and what nobody waits for never does
    "eager"     it arrives as soon as it is issued
    a seed      each thread's copy arrives some number of operations later, drawn at random

From issue to arrival its place holds `POISON`: a read in between can't pass for a number. "lazy" is the default. It
shows every wait that is missing, or waits for too little; a copy to where somebody still reads poisons what is read.
What is the worst order differs from mistake to mistake all the same, and observers (`observe.races`) go by none: to
them a copy is at its place at any time between issue and wait.

A thread's copies since its last commit are a group, and it waits for all its groups but the newest few. So each copy
has a number, how many groups its thread had closed before, and a wait is a comparison of numbers (`Pending`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from polyvolta.cuda.ir.memories import TENSOR_ITEM
from polyvolta.cuda.machine.errors import BadCopies
from polyvolta.cuda.machine.memories import Memories, Memory
from polyvolta.cuda.machine.reach import GlobalReach, Mask, SharedReach
from polyvolta.sets.errors import kind_of

LONGEST = 10  # a delay at random is up to 2 ** LONGEST operations
T = TypeVar("T")
Seen = Callable[[SharedReach, Mask], None]
Arrival = str | int
"""When copies arrive: "lazy", "eager", "random" (by seed 0), or a seed."""


def checked_arrival(copies: object) -> Arrival:
    """When copies arrive, as somebody asked for it.

    Raises
    ------
    BadCopies

    >>> checked_arrival("random"), checked_arrival(7), checked_arrival("lazy")
    (0, 7, 'lazy')
    """
    if copies == "random":
        return 0
    if copies in ("lazy", "eager") or isinstance(copies, int) and not isinstance(copies, bool) and copies >= 0:
        return copies  # type: ignore[return-value]
    raise BadCopies(
        f"copies={copies!r} says nothing of when asynchronous copies arrive"[:200],
        where=kind_of(copies),
        hint='"lazy" (when they are waited for), "eager" (at once), "random", or an int, the seed of random times',
    )


@dataclass(eq=False, slots=True)
class Issued(Generic[T]):
    """What threads have issued, and not waited for.

    Parameters
    ----------
    what : whatever is to be known of it.
    group : how many groups each thread had closed before: a number, or [block, warp, lane].
    left : of which threads [block, warp, lane] it is still on its way; None: of all.
    """

    what: T
    group: Any
    left: Mask


class Pending(Generic[T]):
    """What the threads of a batch have issued and not waited for, by groups.

    Parameters
    ----------
    shape : (blocks, warps, 32).

    Attributes
    ----------
    closed : how many groups each thread has closed: a number, or [block, warp, lane].
    issued : what is on its way, in the order in which it was issued.

    Cost: numbers, as long as all threads do the same; else arrays of a number a thread.

    >>> pending = Pending((1, 1, 32))
    >>> for name in "abc":
    ...     pending.issue(name, None)
    ...     pending.commit(None)
    >>> pending.issue("d", None)
    >>> [what for what, _ in pending.wait(1, None)], [x.what for x in pending.issued]
    (['a', 'b'], ['c', 'd'])
    """

    def __init__(self, shape: tuple[int, int, int]) -> None:
        self.shape = shape
        self.closed: Any = 0
        self.issued: list[Issued[T]] = []

    def issue(self, what: T, mask: Mask) -> None:
        """Something by some threads [block, warp, lane], None: by all."""
        self.issued.append(Issued(what, self.closed, mask))

    def commit(self, mask: Mask) -> None:
        """These threads close a group."""
        self.closed = self.closed + (1 if mask is None else mask.astype(np.int64))

    def wait(self, newest: int, mask: Mask) -> Iterator[tuple[T, Mask]]:
        """These threads wait for all their groups but the newest: what that is, and of which threads; None: of all."""
        for one in tuple(self.issued):
            ready: Any = one.group < self.closed - newest  # copies of no group yet have the number of the next one
            if not np.any(ready):
                continue
            if np.all(ready) and mask is None:
                arrived = one.left
            else:
                arrived = np.broadcast_to(ready, self.shape)
                for some in (mask, one.left):
                    arrived = arrived if some is None else arrived & some
                if not arrived.any():
                    continue
            self.take(one, arrived)
            yield one.what, arrived

    def take(self, one: Issued[T], arrived: Mask) -> None:
        """Something is on its way no longer, of some of the threads of which it was."""
        if arrived is not None and arrived is not one.left:
            left = ~arrived if one.left is None else one.left & ~arrived
            if left.any():
                one.left = left
                return
        self.issued.remove(one)


@dataclass(eq=False, slots=True)
class _Copy:
    """Where a copy comes from and goes to, and at random, when: the operation [block, warp, lane] before which."""

    read: GlobalReach
    write: SharedReach
    due: Any = None
    first: int = 0


class Copies:
    """The asynchronous copies of a batch of blocks.

    Parameters
    ----------
    shape : (blocks, warps, 32).
    arrival : when copies arrive, see the module; a checked one.
    start : any numbers: with a seed they make each batch's delays its own.
    seen : is told of all that has arrived, and of which threads.
    """

    def __init__(
        self, shape: tuple[int, int, int], arrival: Arrival, start: tuple[int, ...] = (), seen: Seen | None = None
    ) -> None:
        self.shape, self.arrival, self.seen = shape, arrival, seen
        self.pending: Pending[_Copy] = Pending(shape)
        self.clock = 0  # operations taken, while delays are drawn
        self.random = None if isinstance(arrival, str) else np.random.default_rng((arrival, *start))

    def issue(self, m: Memories, read: GlobalReach, write: SharedReach) -> None:
        """Values from a tensor to a tile, by the threads of `write`."""
        if self.arrival == "eager":
            self._arrive(m, read, write, write.mask)
            return
        for instruction in range(len(write.units)):
            _put(m, write, instruction, m.poison, write.mask)
        copy = _Copy(read, write)
        if self.random is not None:
            copy.due = self.clock + 2 ** self.random.integers(0, LONGEST, self.shape, endpoint=True)
            copy.first = int(copy.due.min())
        self.pending.issue(copy, write.mask)

    def commit(self, mask: Mask) -> None:
        """Some threads close a group."""
        if self.arrival != "eager":
            self.pending.commit(mask)

    def wait(self, m: Memories, newest: int, mask: Mask) -> None:
        """Some threads wait for all their groups but the newest."""
        for copy, arrived in self.pending.wait(newest, mask):
            self._arrive(m, copy.read, copy.write, arrived)

    def tick(self, m: Memories) -> None:
        """An operation is about to be taken: what has come so far arrives."""
        if self.random is None:
            return
        self.clock += 1
        for one in tuple(self.pending.issued):
            copy = one.what
            if copy.first > self.clock:
                continue
            arrived = copy.due <= self.clock
            arrived = arrived if one.left is None else arrived & one.left
            if arrived.any():
                self._arrive(m, copy.read, copy.write, arrived)
                self.pending.take(one, arrived)
            later = copy.due[copy.due > self.clock]
            copy.first = int(later.min()) if later.size else self.clock + 2**LONGEST

    def _arrive(self, m: Memories, read: GlobalReach, write: SharedReach, mask: Mask) -> None:
        """The values of some threads arrive, zeros for what is outside of the tensor."""
        values = _taken(m.tensors[read.access.array], read)
        pieces = values.reshape(*values.shape[:-1], len(write.units), -1)
        for instruction in range(len(write.units)):
            _put(m, write, instruction, pieces[..., instruction, :], mask)
        if self.seen is not None:
            self.seen(write, mask)


def _taken(memory: Memory, at: GlobalReach) -> np.ndarray:
    """The bits of the values that an access reaches, [block, warp, lane, value]; zeros for what is outside."""
    if at.in_order:
        return memory.runs[at.first].view(np.uint16)
    bits = memory.values.view(np.uint16)
    if at.inside is None:
        return bits[at.elements]
    values = np.zeros(at.inside.shape, np.uint16)
    values[at.inside] = bits[at.elements[at.inside]]
    return values


def _put(m: Memories, write: SharedReach, instruction: int, values: Any, mask: Mask) -> None:
    """Bits [block, warp, lane, value], or what broadcasts to it, to where an instruction of some threads goes."""
    rows = m.memory.view(np.uint16).reshape(-1, write.width // TENSOR_ITEM)
    place = write.rows(m.shape, m.memory.shape[1], instruction)
    active: Any = ... if mask is None else mask
    rows[place[active]] = values[active] if np.ndim(values) else values
