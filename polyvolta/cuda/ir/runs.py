"""Accumulators that are runs already: a lane's values in another order, from registers to registers.

Where a macro-MMA's interleave gives each lane eight consecutive values of the result, these need no exchange: a lane
takes its runs of eight out of its own fragment, in as many rounds as there are runs in it. Which value of the fragment
is which value of a run is a map of two small numbers, the same for all lanes; which elements a run has is `owns`, as in
an `Exchange`. Unrolled, taking a run is no instruction at all.
"""

from __future__ import annotations

from dataclasses import dataclass

from polyvolta.cuda.ir.accesses import Access, Operation, of_element
from polyvolta.cuda.ir.memories import Element, Memories
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.sets import Aff


@dataclass(frozen=True, slots=True)
class Runs:
    """How the runs of 8 consecutive values lie in each lane's accumulator fragment.

    In round r value v of a lane's run is value `picks(r, v)` of its own, and of the warp's fragment the element
    `owns(lane, r)`, v further along dimension `along`.

    Parameters
    ----------
    picks : { [round, v] -> [value] }.
    owns : { [lane, round] -> [row, col] }.
    along : the dimension along which a run's values are consecutive: 1 for a row-major result, 0 for a column-major.
    rounds : how many runs of 8 a lane has: its fragment's values / 8.
    """

    picks: IndexMap
    owns: IndexMap
    along: int
    rounds: int


@dataclass(frozen=True, slots=True)
class TakeRun(Operation):
    """Each lane takes its run of round `round` out of its accumulator fragment: 8 values, in fp32."""

    target: Element
    source: Element
    runs: Runs
    round: Aff
    statement: str = ""

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        return of_element(ir, "read", self.source), of_element(ir, "write", self.target)
