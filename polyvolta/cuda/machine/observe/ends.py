"""Runs that end before their blocks have: phases that mean nothing, roles that wait for ever, what is left behind.

The machine can't go on with such blocks; what other observers have seen until then stands beside the reason. Without
this observer, and where no race was seen, the run ends with an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polyvolta.cuda.ir.engines.clusters import blocks
from polyvolta.cuda.ir.kernel_ir import KernelIR
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.machine.machine import Machine, Step
from polyvolta.cuda.machine.observe.observer import Finding, Observer, short, times, warp_of
from polyvolta.cuda.machine.observe.tables import Shown, Table
from polyvolta.cuda.machine.observe.warpwide import Accesses
from polyvolta.cuda.text.places import Place, Places
from polyvolta.sets import PolyvoltaError


@dataclass(frozen=True, slots=True)
class End:
    """Blocks that can't go on.

    Parameters
    ----------
    place : the operation at which the first of them stands.
    what : why, in words: phases, who waits for what.
    block : the first of them.
    blocks : how many, with those that run beside them.
    """

    place: Place
    what: str
    block: tuple[int, int, int]
    blocks: int


@dataclass(frozen=True, slots=True, repr=False)
class Ends(Shown):
    """Blocks that ended before their time, by the place and the reason."""

    rows: tuple[End, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(
            Finding("phases", f"{r.what}; {times(r.blocks, 'block')}, the first {r.block}", (r.place,), r.blocks)
            for r in self.rows
        )

    @property
    def tables(self) -> tuple[Table, ...]:
        rows = tuple((short(r.place), r.what, str(r.block), f"{r.blocks:,}") for r in self.rows)
        note = "" if rows else "Every phase comes in its turn, and all blocks reach their ends."
        return (Table("phases: blocks that can't go on", ("line", "why", "first block", ">blocks"), rows, note),)


@dataclass
class _Tally:
    what: str
    block: tuple[int, int, int]
    blocks: int = 0


class EndObserver(Observer):
    """Takes note of why blocks can't go on."""

    name = "phases"

    @classmethod
    def no_meaning(cls, ir: KernelIR) -> str:
        return "" if ir.barriers else "it has no barriers with phases"

    def __init__(self, ir: KernelIR) -> None:
        super().__init__(ir)
        self.tallies: dict[tuple[IrPath, type], _Tally] = {}
        self.last: IrPath = (0,)  # the operation that was taken last: of what is left behind there is no other place

    def step(self, m: Machine, step: Step, accesses: Sequence[Accesses]) -> None:
        self.last = step.path

    def ended(self, m: Machine, wrong: PolyvoltaError) -> bool:
        where = f"; {wrong.where}" if wrong.where else ""
        key = m.unfolded.path(m.path) or self.last, type(wrong)
        mask = None if m.strand is None else m.strand.mask
        block, warp = (0, 0) if mask is None else np.argwhere(mask.any(2))[0]
        tally = self.tallies.setdefault(key, _Tally(f"{wrong.message}{where}", warp_of(m, block, warp)[0]))
        tally.blocks += m.shape[0] * blocks(m.unfolded.of.cluster)
        return True

    def seen(self, places: Places) -> Ends:
        rows = (End(places[path], t.what, t.block, t.blocks) for (path, _), t in sorted(
            self.tallies.items(), key=lambda x: x[0][0]))  # fmt: skip
        return Ends(tuple(rows))
