"""Vector clocks: what each thread of a run knows to be over.

Two accesses are *ordered* if whoever makes the later one knows that the earlier one is over. A run is followed for that
alone: each thread has a row of numbers, for each *party* how much of it the thread knows to be over. Parties are

- the threads: number n of thread t is what t did up to its n-th release, an arrival or a barrier;
- each barrier with phases: number n are its first n phases, and with them the boxes whose bytes they count;
- each warpgroup's products: number n are its first n groups;
- each thread's stored boxes, and its asynchronous copies: number n are its first n groups.

A thread knows what it did itself. At a barrier all who meet there know what any of them knew. Who arrives in a phase
leaves what it knows with that phase, and who waits for it takes that along; so who waits for products, for stored boxes
or for copies knows that these groups are over. Nothing else is known: not what happened to be earlier in this run. So
one run stands for all runs in which the same threads meet in the same phases.

Rows are of threads, and one more for each warpgroup: what all of its threads know, as a product begins when all of its
threads have come to it.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from polyvolta.cuda.ir.engines.unfolded import PART
from polyvolta.cuda.ir.engines.warpgroups import WARPS
from polyvolta.cuda.ir.kernel_ir import LANES, KernelIR
from polyvolta.cuda.machine.asynchrony.phases import PhaseAt
from polyvolta.cuda.machine.reach import Mask

GROUP = WARPS * LANES  # threads of a warpgroup
SPARE = 8  # columns for parties that appear on the way


class Clocks:
    """What the threads of a batch of blocks know.

    Parameters
    ----------
    ir : the kernel.
    blocks : how many blocks there are.

    Attributes
    ----------
    know : [block, row, party]; the rows are those of the threads, then those of the warpgroups.
    columns : party -> its column: a linearId; ("phase", row, slot), ("products", warpgroup), ("stores", thread),
        ("copies", thread).
    """

    def __init__(self, ir: KernelIR, blocks: int) -> None:
        self.threads, self.groups = ir.threads, ir.warps // WARPS
        self.columns: dict[Hashable, int] = {t: t for t in range(ir.threads)}
        self.know = np.zeros((blocks, ir.threads + self.groups, ir.threads + SPARE), np.int32)
        own = np.arange(ir.threads)
        self.know[:, own, own] = 1
        self.owner = np.arange(ir.threads + SPARE)  # of a thread's column, and that of its copies: the thread
        self.stale = True  # whether the rows of warpgroups are behind
        self.left: dict[tuple[int, int], np.ndarray] = {}  # column of a barrier, parity: [block, party]
        self.of: dict[tuple[int, int], np.ndarray] = {}  # likewise: the phase that it is of, [block]
        self.met: dict[tuple[str, str, int], np.ndarray] = {}  # a barrier of several strands: what they knew together

    def column(self, party: Hashable) -> int:
        """Where a party's numbers stand."""
        if party not in self.columns:
            number = self.columns[party] = len(self.columns)
            if number >= self.know.shape[2]:
                self.know = _wider(self.know)
                self.left = {k: _wider(x) for k, x in self.left.items()}
                self.met = {k: _wider(x) for k, x in self.met.items()}
                self.owner = np.pad(self.owner, (0, number))
            if isinstance(party, tuple) and party[0] == "copies":
                self.owner[number] = party[1]
        return self.columns[party]

    def groups_know(self) -> None:
        """Bring the rows of warpgroups up to date."""
        if self.stale and self.groups:
            rows = self.know[:, : self.groups * GROUP]
            self.know[:, self.threads :] = rows.reshape(len(rows), self.groups, GROUP, -1).min(2)
        self.stale = False

    # ---- what orders

    def meet(self, scope: str, mask: Mask) -> None:
        """Warps, warpgroups or blocks that are whole here meet at a barrier; others aren't ordered by it."""
        size = {"warp": LANES, "warpgroup": GROUP}.get(scope, self.threads)
        count = self.threads // size
        taking = np.ones((len(self.know), self.threads), bool) if mask is None else mask.reshape(len(self.know), -1)
        if scope == PART:  # all of a block that is one of several, or the machine has refused it
            for n in np.flatnonzero(taking.any(1)):
                thread = np.flatnonzero(taking[n])
                self._take(np.array([n]), thread, self.know[n, thread].max(0, keepdims=True))
            return
        block, group = np.nonzero(taking[:, : count * size].reshape(-1, count, size).all(-1))
        if len(block):
            threads = group[:, None] * size + np.arange(size)
            self._take(block[:, None], threads, self.know[block[:, None], threads].max(1, keepdims=True))

    def meet_others(self, scope: str, name: str, times: int, mask: np.ndarray, others: np.ndarray) -> None:
        """Some threads pass a barrier at which they meet others, who may pass it later.

        Parameters
        ----------
        scope, name, times : which barrier, and how often they have come there.
        mask : who passes, [block, warp, lane].
        others : all who meet, themselves included, likewise; all of them have come.
        """
        key, taking = (scope, name, times), others.reshape(len(self.know), -1)
        if key not in self.met:
            rows = np.where(taking[..., None], self.know[:, : self.threads], 0)
            self.met = {k: x for k, x in self.met.items() if k[:2] != key[:2] or k[2] + 1 >= times}
            self.met[key] = rows.max(1)
        block, thread = np.nonzero(mask.reshape(len(self.know), -1))
        self._take(block, thread, self.met[key][block])

    def _take(self, block: np.ndarray, thread: np.ndarray, known: np.ndarray) -> None:
        """Threads know something more, and have released what they knew."""
        self.know[block, thread] = np.maximum(self.know[block, thread], known)
        self._released(block, thread)

    def _released(self, block: np.ndarray, thread: np.ndarray) -> None:
        self.know[block, thread, thread] += 1
        self.stale = True

    def fenced(self, block: np.ndarray, thread: np.ndarray) -> np.ndarray:
        """Threads make what they wrote seen past the threads; the number from which on others know of it."""
        now = self.know[block, thread, thread].copy()
        self._released(block, thread)
        return now

    def arrive(self, at: PhaseAt) -> None:
        """Threads leave what they know with a phase."""
        for slot in np.unique(at.slot):
            column = self.column(("phase", at.row, int(slot)))
            some = at.slot == slot
            block, thread, number = at.block[some], at.thread[some], at.number[some]
            for parity in np.unique(number % 2):
                now = number % 2 == parity
                left, of = self._left(column, int(parity))
                newer = block[now][of[block[now]] != number[now]]
                left[newer], of[block[now]] = 0, number[now]
                np.maximum.at(left, block[now], self.know[block[now], thread[now]])
            self._released(block, thread)

    def wait(self, at: PhaseAt) -> None:
        """Threads have waited for a phase: they know what was left with it, and that it is over."""
        for slot in np.unique(at.slot):
            column = self.column(("phase", at.row, int(slot)))
            some = at.slot == slot
            block, thread, number = at.block[some], at.thread[some], at.number[some]
            for parity in np.unique(number % 2):
                left, of = self._left(column, int(parity))
                now = (number % 2 == parity) & (of[block] == number)
                here = block[now], thread[now]
                self.know[here] = np.maximum(self.know[here], left[block[now]])
            here = block, thread, np.full(len(block), column)
            self.know[here] = np.maximum(self.know[here], number + 1)
        self.stale = True

    def over(self, block: np.ndarray, row: np.ndarray, column: np.ndarray | int, count: np.ndarray) -> None:
        """Threads know that so much of a party is over."""
        here = np.broadcast_arrays(block, row, column)
        self.know[*here] = np.maximum(self.know[*here], count)
        self.stale = True

    def _left(self, column: int, parity: int) -> tuple[np.ndarray, np.ndarray]:
        """What was left with a barrier's current phase, or the one before: [block, party]; and which one that is."""
        key, blocks = (column, parity), len(self.know)
        if key not in self.left:
            self.left[key] = np.zeros((blocks, self.know.shape[2]), np.int32)
            self.of[key] = np.full(blocks, -1)
        return self.left[key], self.of[key]


def _wider(numbers: np.ndarray) -> np.ndarray:
    """Room for as many parties again."""
    return np.concatenate([numbers, np.zeros_like(numbers)], -1)
