"""Bank conflicts of every access to shared memory, phase by phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from polyvolta.cuda.ir.kernel_ir import LANES, KernelIR
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.layouts.bank_model import BANKS, WORD
from polyvolta.cuda.machine.machine import Machine, Step
from polyvolta.cuda.machine.observe.observer import Finding, Observer, short, warp_of
from polyvolta.cuda.machine.observe.tables import Shown, Table
from polyvolta.cuda.machine.observe.warpwide import Accesses
from polyvolta.cuda.text.places import Place, Places


@dataclass(frozen=True, slots=True)
class ConflictExample:
    """The worst phase of a place, once.

    Parameters
    ----------
    block, warp : which warp.
    loops : the variables of the loops around, outermost first.
    access, accesses : which of the operation's accesses, and how many it makes.
    reached : of the whole access, the byte of the block's shared memory that each of the 32 lanes reaches first; -1 of
        one that takes no part.
    phase : which phase of it.
    lanes : the lanes that are served in it.
    addresses : the byte of the block's shared memory that each of them reaches first.
    banks : and its bank.
    degree : how many times the phase is served.
    """

    block: tuple[int, int, int]
    warp: int
    loops: Mapping[str, int]
    access: int
    accesses: int
    reached: tuple[int, ...]
    phase: int
    lanes: tuple[int, ...]
    addresses: tuple[int, ...]
    banks: tuple[int, ...]
    degree: int


@dataclass(frozen=True, slots=True)
class BankRow:
    """What the accesses of one place cost.

    Parameters
    ----------
    place : the operation.
    array, kind, width : the tile, "read" or "write", bytes that a lane moves.
    accesses : how many warps made one.
    phases : how many times each phase was served, over all accesses.
    ideal : how many times all of them would be without conflicts.
    worst : of any phase.
    example : of the worst phase.
    """

    place: Place
    array: str
    kind: str
    width: int
    accesses: int
    phases: tuple[int, ...]
    ideal: int
    worst: int
    example: ConflictExample

    @property
    def served(self) -> int:
        """How many times shared memory served, over all accesses and phases."""
        return sum(self.phases)

    @property
    def extra(self) -> int:
        """How many of these times are due to conflicts."""
        return self.served - self.ideal


@dataclass(frozen=True, slots=True, repr=False)
class BankConflicts(Shown):
    """What the banks of shared memory had to do; rows in the order of the program."""

    rows: tuple[BankRow, ...]

    @property
    def accesses(self) -> int:
        """How many warp-wide accesses there were."""
        return sum(r.accesses for r in self.rows)

    @property
    def ideal(self) -> int:
        """How many times they would be served without conflicts."""
        return sum(r.ideal for r in self.rows)

    @property
    def served(self) -> int:
        """How many times they were served."""
        return sum(r.served for r in self.rows)

    @property
    def extra(self) -> int:
        """How many of these times are due to conflicts."""
        return self.served - self.ideal

    @property
    def worst(self) -> int:
        """The degree of the worst phase; 1 is conflict-free."""
        return max((r.worst for r in self.rows), default=1)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(Finding("bank_conflicts", _words(r), (r.place,), r.extra) for r in self.rows if r.extra)

    @property
    def tables(self) -> tuple[Table, ...]:
        columns = ("line", "access", ">bytes", ">warps", ">phases", ">ideal", ">extra", ">worst")
        rows = tuple(
            (short(r.place), f"{r.kind} {r.array}", str(r.width), f"{r.accesses:,}", f"{r.served:,}", f"{r.ideal:,}",
             f"{r.extra:,}", f"{r.worst}-way" if r.worst > 1 else "-")
            for r in self.rows
        )  # fmt: skip
        note = "" if self.extra else "No phase has a conflict."
        return (Table("bank conflicts: how often shared memory serves", columns, rows, note),)


def _words(r: BankRow) -> str:
    e = r.example
    lanes = ", ".join(str(x) for x in e.lanes)
    addresses = ", ".join(str(x) for x in e.addresses)
    banks = ", ".join(str(x) for x in e.banks)
    return (
        f"up to {r.worst}-way conflicts where warps {r.kind} {r.array}, {r.width} bytes a lane: {r.served:,} phases "
        f"served instead of {r.ideal:,}; in block {e.block}, warp {e.warp}, lanes {lanes} reach bytes {addresses} in "
        f"banks {banks} at once"
    )


@dataclass
class _Tally:
    array: str
    kind: str
    width: int
    accesses: int = 0
    ideal: int = 0
    worst: int = 0
    phases: np.ndarray = field(default_factory=lambda: np.zeros(4, np.int64))
    example: ConflictExample | None = None


class BankConflictObserver(Observer):
    """Counts how often each phase of each access to shared memory is served."""

    name = "bank_conflicts"

    def __init__(self, ir: KernelIR) -> None:
        super().__init__(ir)
        self.tallies: dict[tuple[IrPath, str, str, int], _Tally] = {}  # by path, kind, array, width

    @classmethod
    def no_meaning(cls, ir: KernelIR) -> str:
        return "" if ir.tiles else "it uses no shared memory"

    def step(self, m: Machine, step: Step, accesses: Sequence[Accesses]) -> None:
        for a in accesses:
            if a.space != "shared" or not a.requests:
                continue
            key = step.path, a.kind, a.array, a.width
            tally = self.tallies.get(key)
            if tally is None:
                tally = self.tallies[key] = _Tally(a.array, a.kind, a.width)
            degrees = a.degrees
            tally.accesses += a.requests
            tally.ideal += a.times * int(np.count_nonzero(degrees))
            tally.phases[: degrees.shape[-1]] += a.times * degrees.sum((0, 1, 2))
            worst = int(degrees.max())
            if worst > tally.worst:
                tally.worst, tally.example = worst, _example(m, a, worst)

    def seen(self, places: Places) -> BankConflicts:
        rows = []
        for (path, *_), t in sorted(self.tallies.items(), key=lambda x: x[0]):
            assert t.example is not None
            phases = tuple(int(x) for x in t.phases[: max(LANES * t.width // 128, 1)])
            rows.append(
                BankRow(places[path], t.array, t.kind, t.width, t.accesses, phases, t.ideal, t.worst, t.example)
            )
        return BankConflicts(tuple(rows))


def _example(m: Machine, a: Accesses, degree: int) -> ConflictExample:
    access, number, warp, phase = (int(x) for x in np.argwhere(a.degrees == degree)[0])
    group = LANES // a.degrees.shape[-1]
    taken = a.taken[access, number, warp]
    taken = np.where(taken < 0, taken, m.unfolded.byte(int(taken.max()))[1] - taken.max() + taken)
    lanes = tuple(n for n in range(phase * group, (phase + 1) * group) if taken[n] >= 0)
    addresses = tuple(int(taken[n]) for n in lanes)
    banks = tuple(x // WORD % BANKS for x in addresses)
    block, own = warp_of(m, number, warp)
    return ConflictExample(
        block,
        own,
        m.loops(number, warp),
        access,
        len(a.address),
        tuple(int(x) for x in taken),
        phase,
        lanes,
        addresses,
        banks,
        degree,
    )
