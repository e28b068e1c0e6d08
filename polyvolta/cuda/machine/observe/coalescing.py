"""Sectors of every access to global memory: how much is moved for what is asked.

The first value of a tensor is taken to start a sector, as allocated memory does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polyvolta.cuda.ir.kernel_ir import KernelIR
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.machine.machine import Machine, Step
from polyvolta.cuda.machine.observe.observer import Finding, Observer, short, warp_of
from polyvolta.cuda.machine.observe.tables import Shown, Table
from polyvolta.cuda.machine.observe.warpwide import SECTOR, Accesses
from polyvolta.cuda.machine.reach import EngineReach
from polyvolta.cuda.text.places import Place, Places


@dataclass(frozen=True, slots=True)
class RequestExample:
    """The access of a warp with the most sectors beyond the ideal.

    Parameters
    ----------
    block, warp : which warp.
    loops : the variables of the loops around, outermost first.
    lanes : those that take part.
    addresses : the byte that each of them reaches first, from the tensor's first value.
    sectors, ideal : how many sectors these are, and how many would hold as many bytes.
    """

    block: tuple[int, int, int]
    warp: int
    loops: Mapping[str, int]
    lanes: tuple[int, ...]
    addresses: tuple[int, ...]
    sectors: int
    ideal: int


@dataclass(frozen=True, slots=True)
class RequestRow:
    """What the accesses of one place and width moved.

    Parameters
    ----------
    place : the operation.
    array, kind, width : the tensor, "read" or "write", bytes that a lane moves.
    requests : how many warps made an access.
    sectors, ideal : how many sectors of 32 bytes they touched, and how many would hold as many bytes.
    asked : bytes that lanes asked for, one that several lanes want counted for each.
    example : the worst access; None of boxes, which no lanes move: `width` are the bytes of a line then, `requests` the
        boxes, and `asked` what isn't outside of the tensor.
    """

    place: Place
    array: str
    kind: str
    width: int
    requests: int
    sectors: int
    ideal: int
    asked: int
    example: RequestExample | None

    @property
    def moved(self) -> int:
        """Bytes of all sectors."""
        return SECTOR * self.sectors


@dataclass(frozen=True, slots=True, repr=False)
class Coalescing(Shown):
    """What was moved between global memory and the warps; rows in the order of the program.

    Sectors beyond the ideal are no findings: at a tensor's edge they can't be avoided.
    """

    rows: tuple[RequestRow, ...]

    @property
    def requests(self) -> int:
        """How many warp-wide accesses there were."""
        return sum(r.requests for r in self.rows)

    @property
    def sectors(self) -> int:
        """How many sectors they touched."""
        return sum(r.sectors for r in self.rows)

    @property
    def ideal(self) -> int:
        """How many sectors would hold as many bytes."""
        return sum(r.ideal for r in self.rows)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return ()

    @property
    def tables(self) -> tuple[Table, ...]:
        columns = ("line", "access", ">bytes", ">warps", ">sectors", ">ideal", ">asked", ">moved")
        rows = tuple(
            (short(r.place), f"{r.kind} {r.array}", str(r.width), f"{r.requests:,}", f"{r.sectors:,}", f"{r.ideal:,}",
             amount(r.asked), amount(r.moved))
            for r in self.rows
        )  # fmt: skip
        note = f"{self.sectors / self.requests:.1f} sectors a request." if self.requests else ""
        return (Table("coalescing: sectors of 32 bytes of global memory", columns, rows, note),)


def amount(count: float) -> str:
    """Bytes, with three digits.

    >>> amount(512), amount(131072), amount(3 * 2**20)
    ('512 B', '128 KiB', '3 MiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1000 or unit == "GiB":
            return f"{count:.3g} {unit}"
        count /= 1024
    raise AssertionError


@dataclass
class _Tally:
    array: str
    kind: str
    requests: int = 0
    sectors: int = 0
    ideal: int = 0
    asked: int = 0
    extra: int = -1
    example: RequestExample | None = None


class CoalescingObserver(Observer):
    """Counts the sectors of each access to global memory."""

    name = "coalescing"

    def __init__(self, ir: KernelIR) -> None:
        super().__init__(ir)
        self.tallies: dict[tuple[IrPath, str, str, int], _Tally] = {}  # by path, kind, array, width: the widest first

    def step(self, m: Machine, step: Step, accesses: Sequence[Accesses]) -> None:
        for a in accesses:
            if a.space != "global" or not a.requests:
                continue
            key = step.path, a.kind, a.array, -a.width
            if key not in self.tallies:
                self.tallies[key] = _Tally(a.array, a.kind)
            tally = self.tallies[key]
            tally.requests += a.requests
            tally.sectors += int(a.sectors.sum())
            tally.ideal += int(a.ideal_sectors.sum())
            tally.asked += a.width * a.lanes
            extra = a.sectors - a.ideal_sectors
            if (worst := int(extra[a.sectors > 0].max())) > tally.extra:
                tally.extra, tally.example = worst, _example(m, a, (extra == worst) & (a.sectors > 0))

        for at in () if m.unfolded.again(m.path) else step.reach:
            if isinstance(at, EngineReach) and at.access.space == "global" and len(at.block):
                key = step.path, at.access.kind, at.access.array, -at.access.bytes
                tally = self.tallies.setdefault(key, _Tally(at.access.array, at.access.kind))
                tally.requests += len(at.block)
                tally.sectors += at.sectors
                tally.ideal += -(-at.bytes // SECTOR)
                tally.asked += at.bytes

    def seen(self, places: Places) -> Coalescing:
        rows = []
        for (path, *_, width), t in sorted(self.tallies.items(), key=lambda x: x[0]):
            rows.append(
                RequestRow(places[path], t.array, t.kind, -width, t.requests, t.sectors, t.ideal, t.asked, t.example)
            )
        return Coalescing(tuple(rows))


def _example(m: Machine, a: Accesses, at: np.ndarray) -> RequestExample:
    access, number, warp = (int(x) for x in np.argwhere(at)[0])
    taken = a.taken[access, number, warp]
    lanes = tuple(int(n) for n in np.flatnonzero(taken >= 0))
    block, own = warp_of(m, number, warp)
    return RequestExample(
        block,
        own,
        m.loops(number, warp),
        lanes,
        tuple(int(taken[n]) for n in lanes),
        int(a.sectors[access, number, warp]),
        int(a.ideal_sectors[access, number, warp]),
    )
