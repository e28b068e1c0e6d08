"""Runs out of accumulator fragments: eight assignments, which vanish where the round is a constant."""

from __future__ import annotations

from functools import lru_cache

from polyvolta.cuda.ir.kernel_ir import CHUNK
from polyvolta.cuda.ir.runs import Runs
from polyvolta.cuda.text.c_expr import c_expr
from polyvolta.cuda.text.helpers.device_function import DeviceFunction
from polyvolta.sets import aff, var
from polyvolta.sets.values.simplify import simplify


@lru_cache(maxsize=64)
def take(runs: Runs, width: int) -> DeviceFunction:
    """The lane's run of a round out of its fragment of so many values."""
    several = runs.rounds > 1
    round_ = var("round") if several else aff(0)
    ranges = {"round": (0, runs.rounds - 1)}
    taken = [simplify(runs.picks.at(round_, v)[0], ranges) for v in range(CHUNK)]
    words = [f"v[{v}] = acc[{c_expr(e, ranges)}]" for v, e in enumerate(taken)]
    about = f"eight consecutive values of the fragment, which the lane has itself:\n{runs.owns}"
    return DeviceFunction(
        "take_run",
        "void",
        ("float (&v)[8]", f"const float (&acc)[{width}]", *(["int round"] if several else [])),
        tuple(", ".join(words[k : k + 4]) + ";" for k in (0, 4)),
        about,
    )
