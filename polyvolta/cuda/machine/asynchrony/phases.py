"""Barriers with phases, as a batch of blocks has them: what each phase still waits for, and who may say so.

Of each barrier three numbers tell all: how many of its phases are complete, how many arrivals the current one wants,
and how many bytes more than have come. When no arrival and no byte is missing, the phase is complete, and the next
begins.

The hardware knows the parity of the current phase, and nothing else; here phases have numbers, so that what would be a
lie is seen. Who waits for phase p waits while p is the current one, and goes on when p + 1 is. With any other phase
current the parity answers another question: a wait for what is further ahead goes on at once, one for what is further
behind waits for something else. And who arrives, or has bytes sent, must mean the phase that is current when it
happens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from polyvolta.cuda.ir.engines.phases import Phase
from polyvolta.cuda.ir.kernel_ir import LANES, PhaseBarriers
from polyvolta.cuda.machine.errors import BadPhase, OutOfBounds
from polyvolta.cuda.machine.memories import Blocks
from polyvolta.cuda.machine.reach import Mask
from polyvolta.cuda.machine.strands import Wait


@dataclass(frozen=True, slots=True)
class PhaseAt:
    """A phase of a row's barriers in some threads: [thread] each.

    Parameters
    ----------
    row : the barriers, by name.
    block : of each thread, its number in the batch.
    thread : linearId.
    slot, number : which barrier, and which of its phases.
    """

    row: str
    block: np.ndarray
    thread: np.ndarray
    slot: np.ndarray
    number: np.ndarray

    def text(self, n: int = 0) -> str:
        """That of one of the threads in words."""
        return f"phase {self.number[n]} of {self.row}[{self.slot[n]}]"


@dataclass(slots=True)
class _Row:
    """The barriers of a row in all blocks, [block, slot] each: see the module."""

    arrivals: int
    complete: np.ndarray
    missing: np.ndarray
    bytes: np.ndarray


class Phases:
    """The barriers of a batch of blocks.

    Parameters
    ----------
    blocks, threads : how many blocks there are, and of each.
    rows : the kernel's.
    """

    def __init__(self, blocks: int, threads: int, rows: tuple[PhaseBarriers, ...]) -> None:
        self.rows = {
            r.name: _Row(r.arrivals, *(np.zeros((blocks, r.slots), np.int64) for _ in range(3))) for r in rows
        }
        self.begun = {r.name: np.zeros(blocks, bool) for r in rows}
        self.seen = {r.name: np.zeros((blocks, threads), bool) for r in rows}  # who knows that
        self.gone = {r.name: np.zeros((blocks, threads), bool) for r in rows}  # who has left the block
        self.left = {r.name: np.zeros(blocks, bool) for r in rows}  # whether all have

    def begin(self, m: Blocks, mask: Mask, names: tuple[str, ...]) -> None:
        """A thread of each block begins all of its barriers, or those of some rows."""
        names = names or tuple(self.rows)
        block, thread = threads_of(m, mask)
        if len(np.unique(block)) < len(block):
            first = int(block[np.flatnonzero(np.bincount(block)[block] > 1)[0]])
            count = int(np.count_nonzero(block == first))
            raise BadPhase(f"{count} threads of {_block(m, first, thread[block == first][0])} begin its barriers",
                           hint="one thread does, before a barrier of the block")  # fmt: skip
        if any(self.begun[name][block].any() for name in names):
            raise BadPhase(f"the barriers of {_block(m, block[0], thread[0])} begin once more, and may be in use")
        for name in names:
            self.begun[name][block] = True
            self.seen[name][block, thread] = True
            self.rows[name].missing[block] = self.rows[name].arrivals

    def met(self, mask: Mask) -> None:
        """The threads of some blocks, or of parts of them, have met: all see what one of them has begun."""
        for seen in self.seen.values():
            there = np.ones(seen.shape, bool) if mask is None else mask.reshape(seen.shape)
            seen |= there & (seen & there).any(1, keepdims=True)

    def leave(self, m: Blocks, mask: Mask, names: tuple[str, ...], threads: int) -> None:
        """Some threads of a block of a cluster end; its barriers are gone behind the last one."""
        block, thread = threads_of(m, mask)
        for name in names:
            self.gone[name][block, thread] = True
            self.left[name] = self.gone[name].sum(1) >= threads

    def at(self, m: Blocks, phase: Phase, mask: Mask) -> PhaseAt:
        """A phase in the threads that take part.

        Raises
        ------
        OutOfBounds : there is no such slot.
        BadPhase : the thread doesn't know that the barriers have begun.
        """
        block, thread = threads_of(m, mask)
        slot, number = (values_at(m, e, block, thread) for e in (phase.slot, phase.number))
        slots = self.rows[phase.barriers].complete.shape[1]
        found = PhaseAt(phase.barriers, block, thread, slot, number)
        for n in np.flatnonzero((slot < 0) | (slot >= slots))[:1]:
            raise OutOfBounds(f"{phase.barriers} has {slots} slots, not {slot[n]}", where=_who(m, found, n))
        for n in np.flatnonzero(self.left[phase.barriers][block])[:1]:
            raise BadPhase(f"{phase.barriers}[{slot[n]}] is of a block that has ended", where=_who(m, found, n),
                           hint="a barrier of the cluster at the end of its blocks")  # fmt: skip
        for n in np.flatnonzero(~self.seen[phase.barriers][block, thread])[:1]:
            begun = self.begun[phase.barriers][block[n]]
            why = "has begun with no barrier of the block since" if begun else "hasn't begun"
            raise BadPhase(f"{phase.barriers}[{slot[n]}] {why}", where=_who(m, found, n),
                           hint="one thread begins all barriers, then the block meets")  # fmt: skip
        return found

    def arrive(self, m: Blocks, at: PhaseAt, expected: int) -> None:
        """Each thread arrives, and has its phase expect so many bytes.

        Raises
        ------
        BadPhase : another phase is current, or it needs no more arrivals.
        """
        row = self.rows[at.row]
        self.current(m, at, "arrives in")
        np.add.at(row.bytes, (at.block, at.slot), expected)
        np.subtract.at(row.missing, (at.block, at.slot), 1)
        for n in np.flatnonzero(row.missing[at.block, at.slot] < 0)[:1]:
            raise BadPhase(f"{at.text(n)} has more arrivals than the {row.arrivals} that it waits for",
                           where=_who(m, at, n))  # fmt: skip
        self._settle(m, at)

    def bring(self, m: Blocks, at: PhaseAt, count: int) -> None:
        """So many bytes have come, for each of some threads that had asked for them.

        Raises
        ------
        BadPhase : another phase is current, or it expects fewer.
        """
        self.current(m, at, f"has {count} bytes sent for")
        np.subtract.at(self.rows[at.row].bytes, (at.block, at.slot), count)
        self._settle(m, at)

    def current(self, m: Blocks, at: PhaseAt, does: str) -> None:
        """Refuse what names another phase than the current one."""
        complete = self.rows[at.row].complete[at.block, at.slot]
        for n in np.flatnonzero(complete != at.number)[:1]:
            raise BadPhase(f"it {does} {at.text(n)}, but phase {complete[n]} is current", where=_who(m, at, n))

    def _settle(self, m: Blocks, at: PhaseAt) -> None:
        """Phases that miss nothing are complete."""
        row = self.rows[at.row]
        here = np.unique(np.stack([at.block, at.slot]), axis=1)
        left, owed = row.missing[*here], row.bytes[*here]
        for n in np.flatnonzero((left == 0) & (owed < 0))[:1]:
            block, slot = here[:, n]
            raise BadPhase(
                f"phase {row.complete[block, slot]} of {at.row}[{slot}] has {-owed[n]} bytes more than it expects",
                where=_of_row(m, block, at.row), hint="an arrival says how many bytes there will be",
            )  # fmt: skip
        block, slot = here[:, (left == 0) & (owed == 0)]
        row.complete[block, slot] += 1
        row.missing[block, slot] = row.arrivals

    def over(self, m: Blocks, at: PhaseAt) -> bool:
        """Whether the phases that threads wait for are complete, in all of them.

        Raises
        ------
        BadPhase : parities would say something else, now or soon.
        """
        complete = self.rows[at.row].complete[at.block, at.slot]
        for n in np.flatnonzero((at.number > complete) | (at.number < complete - 1))[:1]:
            ahead = at.number[n] > complete[n]
            so = "its parity is that of one that is complete" if ahead else "its parity is that of one to come"
            raise BadPhase(f"it waits for {at.text(n)} while phase {complete[n]} is current: {so}",
                           where=_who(m, at, n))  # fmt: skip
        return bool((at.number < complete).all())

    def state(self, at: PhaseAt) -> str:
        """What a phase that somebody waits for still misses, in words."""
        row = self.rows[at.row]
        n = int(np.argmax(at.number >= row.complete[at.block, at.slot]))
        left, owed = (int(x[at.block[n], at.slot[n]]) for x in (row.missing, row.bytes))
        wants = [f"{left} of {row.arrivals} arrivals"] * (left > 0) + [f"{owed} bytes"] * (owed > 0)
        return f"{at.text(n)}, which misses {' and '.join(wants)}"


@dataclass(frozen=True, slots=True)
class PhaseWait(Wait):
    """A wait of some threads for a phase."""

    phases: Phases
    at: PhaseAt

    def over(self, m: Blocks) -> bool:
        return self.phases.over(m, self.at)

    def __str__(self) -> str:
        return self.phases.state(self.at)


# ---- threads that take part, one by one


def threads_of(m: Blocks, mask: Mask) -> tuple[np.ndarray, np.ndarray]:
    """The threads that take part, in order: which block of the batch, and linearId."""
    block, warp, lane = np.nonzero(np.ones(m.shape, bool) if mask is None else mask)
    return block, warp * LANES + lane


def values_at(m: Blocks, e: Any, block: np.ndarray, thread: np.ndarray) -> np.ndarray:
    """An expression at the names' present values in some threads."""
    value = e.evaluate(m.values)
    if np.ndim(value) == 0:
        return np.full(len(block), value)
    return np.broadcast_to(value, m.shape)[block, thread // LANES, thread % LANES]


def _block(m: Blocks, number: int, thread: int) -> str:
    """The block of a thread, by its number in the batch."""
    return f"block {m.who(number, thread)[0]}"


def _of_row(m: Blocks, number: int, row: str) -> str:
    """The block that has a row of barriers, likewise."""
    x, y, z = (int(n) for n in m.blocks[:, number])
    return f"block {m.unfolded.place((x, y, z), m.unfolded.array(row)[1])}"


def _who(m: Blocks, at: PhaseAt, n: int) -> str:
    place, thread = m.who(at.block[n], at.thread[n])
    return f"thread {thread} of block {place}"
