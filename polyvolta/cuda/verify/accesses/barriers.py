"""Barriers are reached by all who wait at them.

`__syncthreads()` waits for every thread of the block. Where some threads skip it, the others wait without end, or,
worse, go on when those arrive at another one: the block hangs, or isn't ordered where the text says that it is. So a
block barrier stands where all threads of a block go, or none: under conditions on sizes, block indices and k tiles,
never on the thread. The same is true of a warp and what its 32 lanes do together: `__syncwarp()`, the tensor-core
instruction, and an exchange, whose warp waits for itself; of the four warps of a warpgroup and its products; and of
the warps of a role.

The machine gives the threads that arrive at every operation, for all blocks and sizes; here they are counted. A
condition that is marked as one on which all threads agree must be one.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from polyvolta.cuda.ir.accesses import Operation
from polyvolta.cuda.ir.engines.warpgroups import WARPS
from polyvolta.cuda.ir.kernel_ir import LANES, KernelIR, When
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.verify.engine.strands import role_of
from polyvolta.cuda.verify.engine.symbolic import Here
from polyvolta.cuda.verify.engine.watching import Nothing, Stateless, listed, thread_of
from polyvolta.cuda.verify.report.records import Verdict
from polyvolta.graph.dag import Graph

PROOF = "barriers_reached"


class Barriers(Stateless):
    """Looks at who takes part in what a block or a warp does together."""

    proofs = (PROOF,)

    def __init__(self, ir: KernelIR, graph: Graph | None = None) -> None:
        self.ir = ir

    def step(self, state: Nothing, here: Here) -> None:
        """An operation with the threads that arrive at it."""
        op = here.op
        if here.mask is None or not isinstance(op, Operation) or op.together == "thread":
            return
        whole = self.whole(here, op.together)
        missing = whole & ~here.mask
        if not missing.any():
            return
        what = together(op)
        warp, lane = thread_of(missing)
        there = np.count_nonzero(here.mask & whole)
        arrive = {
            "block": f"{there} of the block's {self.ir.threads} threads arrive",
            "warpgroup": f"{there} of the threads of its warpgroups arrive",
            "role": f"{there} of the {np.count_nonzero(whole)} threads of the role arrive",
            "warp": f"{np.count_nonzero(here.mask[warp])} of the {LANES} lanes of warp {warp} arrive",
        }[op.together]
        here.refute(PROOF, f"{arrive} at {what}; warp {warp}, lane {lane} doesn't", warp=warp, lane=lane)

    def whole(self, here: Here, scope: str) -> np.ndarray:
        """Who is to arrive if these threads do, bool [warp, 32]."""
        assert here.mask is not None
        some = here.mask.any(1)
        match scope:
            case "block":
                some = np.ones(self.ir.warps, bool)
            case "warpgroup":
                group = np.arange(self.ir.warps) // WARPS
                some = np.isin(group, group[some])
            case "role":
                role = role_of(self.ir, here.path)
                first, count = (role.first, role.warps) if role is not None else (0, self.ir.warps)
                some = np.isin(np.arange(self.ir.warps), range(first, first + count))
        return np.broadcast_to(np.asarray(some)[:, None], here.mask.shape)

    def choose(self, holds: np.ndarray, here: Here) -> None:
        """A condition: all threads agree if it says so."""
        if not isinstance(here.op, When) or not here.op.uniform or holds.all() or not holds.any():
            return
        warp, lane = thread_of(~holds)
        words = " and ".join(f"{e} >= 0" for e in here.op.conditions)
        what = (
            f"{words} is marked as the same for all threads, and holds for {np.count_nonzero(holds)} of "
            f"{self.ir.threads}; not for warp {warp}, lane {lane}"
        )
        here.refute(PROOF, what, warp=warp, lane=lane)

    def shown(self, proof: str) -> Verdict:
        """What is shown, with how many places of each kind there are."""
        kinds = [what for op in operations(self.ir.body) if (what := together(op)) is not None]
        counts = {what: f"{n} in the text" for what, n in Counter(kinds).items()}
        relation = f"{listed(counts)}; each is reached by all of its threads or by none of them"
        text = "every barrier is reached by all {} threads of its block, or 32 of its warp, or by none"
        if any(op.together in ("warpgroup", "role") for op in operations(self.ir.body)):
            text = text.replace("32 of its warp,", "32 of its warp, or all of its warpgroup or role,")
        return Verdict(text.format(self.ir.threads), relation)


def together(op: Operation) -> str | None:
    """What an operation is that a block, or a warp, does together; None for others."""
    if op.together == "thread":
        return None
    if op.orders is not None:
        return f"a barrier of the {op.together}"
    if op.product is not None:
        return "a tensor-core instruction"
    return "an exchange" if op.plan is not None else f"what a {op.together} does together"


CLIENTS = (Barriers,)
