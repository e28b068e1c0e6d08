"""Runs that lanes take out of their own accumulators: each is what it says, and together they are the fragment.

Two maps meet: the accumulator map says which element each of a lane's values is, the runs' map which value is value v
of the run of a round. For every lane, round and v the one after the other is to be `owns`, v further along.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from polyvolta.cuda.ir.kernel_ir import CHUNK, LANES, KernelIR, Runs, TakeRun
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.cuda.verify.values.declared import statements
from polyvolta.sets import Aff


@dataclass(frozen=True, slots=True)
class Taken:
    """An operation that takes runs out of accumulators.

    Parameters
    ----------
    plan : what runs the lanes have.
    source, registers : the arrays of the accumulators and of the runs.
    round : which run it takes.
    """

    path: IrPath
    plan: Runs
    source: str
    registers: str
    round: Aff


def taken(ir: KernelIR) -> list[Taken]:
    """What takes runs out of accumulators in a kernel."""
    found = ((at, op) for at, op in statements(ir) if isinstance(op, TakeRun))
    return [Taken(at, op.runs, op.source.array, op.target.array, op.round) for at, op in found]


@lru_cache(maxsize=256)
def wrong_runs(runs: Runs, macro: MacroMma) -> tuple[str, int | None, dict[str, int], str] | None:
    """What is wrong with the runs of a macro-MMA's accumulators, if something is: what, the lane, the round, where.

    Cost: 32 lanes by the values of a fragment, once for each plan.
    """
    (lane, lanes), (value, count) = macro.d.inputs
    shape = (LANES, runs.rounds, CHUNK)
    at, r, v = np.indices(shape)
    (picked,) = runs.picks.evaluate({"round": r, "v": v})
    picked = np.broadcast_to(picked, shape)
    for number in range(count):
        if (times := int((picked[0] == number).sum())) != 1:
            return f"value {number} of a lane's fragment is in {times} places of runs", 0, {}, ""
    given = np.stack([np.broadcast_to(x, shape) for x in macro.d.evaluate({lane: at, value: picked})], -1)
    first = np.stack([np.broadcast_to(x, shape) for x in runs.owns.evaluate({"lane": at, "round": r})], -1)
    wanted = first + v[..., None] * (np.arange(2) == runs.along)
    if (wrong := (given != wanted).any(-1)).any():
        spot = tuple(int(x) for x in np.argwhere(wrong)[0])
        has, says = (f"[{', '.join(map(str, x[spot]))}]" for x in (given, wanted))
        what = f"value {spot[2]} of lane {spot[0]}'s run is {has}, not {says} as it says"
        return what, spot[0], {"round": spot[1]}, f"value {picked[spot]} of the fragment"
    return None
