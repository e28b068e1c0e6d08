"""Grids of one stream that run into one another: programmatic dependent launch.

A stream's kernels run one after the other: the next one's blocks start when the last one's have all ended, and what is
written is there. A kernel that is launched as a *dependent* may start before: as soon as all blocks of the grid before
have said that they let it, or have ended. Its blocks then begin wherever a multiprocessor has room, set up their
barriers, and wait, `AwaitGrids`, until the grids before are over and their writes seen. So the launch, and the start of
blocks, cost nothing while the last blocks of the grid before still run. Before that wait a thread reaches no global
memory.

`ReleaseGrids` lets the grid behind start so. That grid waits for the end of this one in its turn, so that it matters
for nothing but time where it stands.

Source: PTX ISA, "griddepcontrol"; CUDA C++ Programming Guide, "Programmatic Dependent Launch".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyvolta.cuda.ir.accesses import Access, Operation
from polyvolta.cuda.ir.memories import Memories


class _OfGrids(Operation):
    """Touches no array."""

    __slots__ = ()

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class AwaitGrids(_OfGrids):
    """The thread waits until the grids before are over; what they wrote it sees."""

    statement: str = ""

    def sentence(self, reads: Sequence[str], writes: Sequence[str]) -> str:
        return "waits until the grids before are over"


@dataclass(frozen=True, slots=True)
class ReleaseGrids(_OfGrids):
    """The thread lets the grid behind start, which waits for this one's end before it reaches global memory."""

    statement: str = ""

    def sentence(self, reads: Sequence[str], writes: Sequence[str]) -> str:
        return "lets the grid behind start"


OPERATIONS = (AwaitGrids, ReleaseGrids)
"""Those of this module."""
