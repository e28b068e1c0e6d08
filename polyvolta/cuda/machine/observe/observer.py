"""What an observer is, and what it finds.

An observer watches the interpreter: it sees every operation of every batch of blocks right after it was taken, with the
accesses that it made, and what the machine would refuse. At the end it says what it saw: a table, and findings, each a
thing that is wrong with the kernel and the places where.

Blocks of a cluster run as one (`ir.engines.unfolded`). Observers speak of the kernel as it is: of its statements, its
tiles, its blocks and their warps, a block's own bytes; where something is in another block's memory they say whose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import ClassVar, Protocol

import numpy as np

from polyvolta.cuda.ir.kernel_ir import CHUNK_BYTES, LANES, KernelIR
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.machine.machine import Machine, Step
from polyvolta.cuda.machine.observe.tables import Table
from polyvolta.cuda.machine.observe.warpwide import Accesses
from polyvolta.cuda.text.places import Place, Places
from polyvolta.display.shown import Record
from polyvolta.sets import PolyvoltaError


@dataclass(frozen=True, slots=True)
class Finding(Record):
    """Something that is wrong with a kernel.

    Parameters
    ----------
    observer : who saw it, such as "races".
    what : what happens, in words, with one example.
    places : where in the kernel: CUDA line and tree node; of two accesses that collide both.
    count : how often it happens.
    """

    observer: str
    what: str
    places: tuple[Place, ...]
    count: int

    def __str__(self) -> str:
        return "\n".join([f"{self.observer}: {self.what}", *(f"  {where(p)}" for p in self.places)])

    def _title(self) -> str:
        return self.observer


class Seen(Protocol):
    """What an observer saw: dataclasses of rows, that become tables and findings."""

    @property
    def tables(self) -> tuple[Table, ...]: ...

    @property
    def findings(self) -> tuple[Finding, ...]: ...


class Observer:
    """Watches one run; each kind is a class.

    Attributes
    ----------
    name : by which `observe=` asks for it.
    takes : the kinds of errors that it takes note of, instead of an end of the run.
    """

    name: ClassVar[str] = ""
    takes: ClassVar[tuple[type[PolyvoltaError], ...]] = ()

    def __init__(self, ir: KernelIR) -> None:
        self.ir = ir

    @classmethod
    def no_meaning(cls, ir: KernelIR) -> str:
        """Why a kernel has nothing for it to observe, "" if it has."""
        return ""

    def start(self, m: Machine) -> None:
        """A batch of blocks starts."""

    def step(self, m: Machine, step: Step, accesses: Sequence[Accesses]) -> None:
        """An operation was taken."""

    def end(self, m: Machine) -> None:
        """The batch of blocks has ended."""

    def fault(self, m: Machine, wrong: PolyvoltaError, threads: np.ndarray | None) -> None:
        """The machine would have refused something; see `machine.Faults`."""

    def ended(self, m: Machine, wrong: PolyvoltaError) -> bool:
        """The batch of blocks can't go on; whether what was seen says so, and no error need to."""
        return False

    def seen(self, places: Places) -> Seen:
        """All that it saw."""
        raise NotImplementedError


def slot_bytes(ir: KernelIR) -> int:
    """The widest pieces of shared memory that every access of a kernel takes whole; engines take chunks."""
    shared = (a for op in operations(ir.body) for a in op.accesses(ir) if a.space == "shared")
    return gcd(CHUNK_BYTES, *(a.bytes for a in shared if a.proxy == "generic"))


# ---- words


def where(place: Place) -> str:
    """A place in words: CUDA line, and the tree's node."""
    node = f"  (tree: {place.statement})" if place.statement else ""
    return f"line {place.line}: {cuda(place)}{node}"


def cuda(place: Place) -> str:
    """The first line of a statement of the CUDA text, with a sign where there are more."""
    return f"{place.text} …" if place.text.endswith(",") else place.text


def short(place: Place) -> str:
    """A place in a table's cell."""
    return f"{place.line} {place.statement}".rstrip()


def warp_of(m: Machine, block: int, warp: int) -> tuple[tuple[int, int, int], int]:
    """blockIdx and the own number of a warp, by those of its block and of itself in the batch."""
    place, thread = m.who(int(block), int(warp) * LANES)
    return place, thread // LANES


def byte_text(m: Machine, block: int, warp: int, byte: int, of: str) -> tuple[int, str]:
    """A byte of the shared memory of a batch's block that a warp reaches: which one of its own block that is, and that
    in words; other blocks of a cluster are named."""
    rank, own = m.unfolded.byte(int(byte))
    (x, y, z), (mine, _) = (int(n) for n in m.blocks[:, block]), warp_of(m, block, warp)
    place = m.unfolded.place((x, y, z), rank)
    return own, f"byte {own} of {of}" + (f" of block {place}" if place != mine else "")


def spans(numbers: Sequence[int]) -> str:
    """Numbers in ascending order, runs of them shortened.

    >>> spans([0, 1, 2, 5, 7, 8])
    '0-2, 5, 7-8'
    """
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][-1] + 1:
            runs[-1][1:] = [n]
        else:
            runs.append([n])
    return ", ".join("-".join(map(str, r)) for r in runs)


def times(count: int, what: str) -> str:
    """A number of things.

    >>> times(1, "access"), times(2000, "thread")
    ('1 access', '2,000 threads')
    """
    plural = what if count == 1 else f"{what}es" if what.endswith("s") else f"{what}s"
    return f"{count:,} {plural}"
