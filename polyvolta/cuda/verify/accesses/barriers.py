"""Barriers are reached by all who wait at them.

`__syncthreads()` waits for every thread of the block. Where some threads skip it, the others wait without end, or,
worse, go on when those arrive at another one: the block hangs, or isn't ordered where the text says that it is. So a
block barrier stands where all threads of a block go, or none: under conditions on sizes, block indices and k tiles,
never on the thread. The same is true of a warp and what its 32 lanes do together: `__syncwarp()`, the tensor-core
instruction, and an exchange, whose warp waits for itself; and of a warpgroup's products, and the barriers of a role.

The machine gives the threads that arrive at every operation, for all blocks and sizes; here they are counted. A
condition that is marked as one on which all threads agree must be one.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from polyvolta.cuda.ir.accesses import Operation
from polyvolta.cuda.ir.kernel_ir import LANES, KernelIR, Roles, When
from polyvolta.cuda.ir.walk import operations, walk
from polyvolta.cuda.ir.warpgroups import WARPS
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
        groups = self.groups(op.together)
        comes = np.isin(groups, groups[here.mask.any(1)])
        missing = comes[:, None] & ~here.mask
        if not missing.any():
            return
        what = together(op)
        warp, lane = thread_of(missing)
        mine = groups == groups[warp]
        arrive = f"{np.count_nonzero(here.mask[mine])} of the {self.of_all(op.together, warp, mine)} arrive"
        here.refute(PROOF, f"{arrive} at {what}; warp {warp}, lane {lane} doesn't", warp=warp, lane=lane)

    def groups(self, scope: str) -> np.ndarray:
        """The number of each warp's block, role, warpgroup, or its own: those that come together; int [warp].

        Warps without a role are each alone where a role comes together.
        """
        warp = np.arange(self.ir.warps)
        match scope:
            case "block":
                return 0 * warp
            case "warpgroup":
                return warp // WARPS
            case "role":
                groups = -1 - warp
                for n, role in enumerate(r for _, s in walk(self.ir.body) if isinstance(s, Roles) for r in s.roles):
                    groups[role.first : role.first + role.warps] = n
                return groups
        return warp

    def of_all(self, scope: str, warp: int, mine: np.ndarray) -> str:
        """All threads that come together with those of a warp, in words."""
        threads = LANES * np.count_nonzero(mine)
        if scope == "block":
            return f"block's {threads} threads"
        if scope == "warp":
            return f"{threads} lanes of warp {warp}"
        return f"{threads} threads of warp {warp}'s {scope}"

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
        scopes = {op.together for op in operations(self.ir.body)}
        more = "".join(f", or all of its {scope}" for scope in ("warpgroup", "role") if scope in scopes)
        all_of = f"all {self.ir.threads} threads of its block, or 32 of its warp{more}"
        return Verdict(f"every barrier is reached by {all_of}, or by none", relation)


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
