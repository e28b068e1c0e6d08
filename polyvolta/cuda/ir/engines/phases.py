"""Barriers in shared memory whose phases count: what a producer and its consumers say to one another.

An `mbarrier` waits, in each of its *phases*, for so many arrivals and so many bytes; when all have come, the phase is
complete and the next one begins. A ring of S slots has a barrier for each slot, phase p of which belongs to the p-th
tile in that slot: tile k to phase floor(k/S). Phases are integers here, from 0 on, and phase -1 counts as complete from
the start, so that who waits for a slot to be free passes the first time. The hardware knows a phase's parity alone;
that a waiting thread is never two phases behind, so that parities tell them apart, is for the proofs to show.

Source: PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyvolta.cuda.ir.accesses import Access, Operation, Work
from polyvolta.cuda.ir.memories import Memories, Part
from polyvolta.sets import Aff


@dataclass(frozen=True, slots=True)
class Phase(Part):
    """A phase of one of a row's barriers.

    Parameters
    ----------
    barriers : the row, by name.
    slot : which of its barriers.
    number : which of its phases, from 0 on; -1 is complete from the start.
    """

    barriers: str
    slot: Aff
    number: Aff

    def __str__(self) -> str:
        return f"phase {self.number} of {self.barriers}[{self.slot}]"


class _Silent(Operation):
    """An operation that touches no array: what it does is to order others."""

    __slots__ = ()

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class InitBarriers(_Silent):
    """All of the block's mbarriers, or some rows, begin with phase 0; by one thread, before a barrier of the block, or
    of the cluster."""

    statement: str = ""
    rows: tuple[str, ...] = ()

    def sentence(self, reads: Sequence[str], writes: Sequence[str]) -> str:
        return "the barriers begin with phase 0"


@dataclass(frozen=True, slots=True)
class Arrive(_Silent):
    """The thread arrives in a phase. What it did before is seen by who waits for that phase.

    With `bytes` the phase is also to wait for so many bytes of copies.

    Parameters
    ----------
    to : the rank in the cluster of the block whose barrier it is; None: the thread's own.
    """

    phase: Phase
    bytes: int = 0
    statement: str = ""
    to: Aff | None = None

    def work(self, ir: Memories) -> Work:
        return Work({"SYNCS": 1})

    def sentence(self, reads: Sequence[str], writes: Sequence[str]) -> str:
        expects = f", which waits for {self.bytes} bytes, too" if self.bytes else ""
        whose = "" if self.to is None else f" of block {self.to} of its cluster"
        return f"arrives in {self.phase.barriers}[{self.phase.slot}]{whose}{expects}"


@dataclass(frozen=True, slots=True)
class Await(_Silent):
    """The thread waits until a phase is complete."""

    phase: Phase
    statement: str = ""

    def work(self, ir: Memories) -> Work:
        return Work({"SYNCS": 1})

    def sentence(self, reads: Sequence[str], writes: Sequence[str]) -> str:
        return f"waits for {self.phase.barriers}[{self.phase.slot}]"


OPERATIONS = (InitBarriers, Arrive, Await)
"""Those of this module."""
