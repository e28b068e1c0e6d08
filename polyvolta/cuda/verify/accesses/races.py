"""No races: between accesses of two threads to one place, one of them a write, there is a barrier.

A `Shadow` follows the kernel on symbols and says at each access whether some order of the threads is left open; what a
race is, and which orders there are, is told there. The symbolic machine brings it to every state that a block of any
size can be in: full and partial tiles, and every trip of a loop over k tiles. Barriers forget what was ordered, so
after the first trips the shadow at the loop's head is one that was there before, and the run ends.

Two statements come out. A read that finds another thread's write lacks a barrier *between* the two: it may see the old
value. A write that finds another thread's read, or write, *overwrites* too early: the reader may see the new value. In
a loop over k tiles with one buffer the first barrier is there for the second statement and the second for the first.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from polyvolta.cuda.ir.kernel_ir import LANES, Barrier, KernelIR
from polyvolta.cuda.ir.walk import IrPath, walk
from polyvolta.cuda.machine.shadow import READ_AFTER_WRITE, WRITE_AFTER_READ, Conflicts, Shadow
from polyvolta.cuda.verify.accesses.slots import Reach, Reaches
from polyvolta.cuda.verify.engine.symbolic import Here
from polyvolta.cuda.verify.engine.watching import Watching, listed
from polyvolta.cuda.verify.report.records import Verdict
from polyvolta.graph.dag import Graph

BETWEEN, OVERWRITTEN = "barriers_between", "not_overwritten"


class Races(Watching):
    """Follows who wrote and who read each slot of a block's shared memory since the last barrier."""

    proofs = (BETWEEN, OVERWRITTEN)

    def __init__(self, ir: KernelIR, graph: Graph | None = None) -> None:
        self.ir, self.reaches = ir, Reaches(ir)
        self.paths: list[IrPath] = [path for path, _ in walk(ir.body)]
        self.place = {path: n for n, path in enumerate(self.paths)}
        self.thread = np.arange(ir.threads).reshape(1, ir.warps, LANES, 1)
        self.seen: dict[tuple, tuple[Reach, np.ndarray | None]] = {}
        self.refuted: set[str] = set()

    def start(self, ir: KernelIR) -> Shadow:
        """Nobody has been there."""
        return Shadow(1, self.reaches.slots, ir.threads)

    def step(self, state: Shadow, here: Here) -> None:
        """An access or a barrier."""
        if isinstance(here.op, Barrier):
            state.barrier(here.op.scope, here.mask)
            return
        reach = self.reaches.at(here)
        if reach is None:
            return
        mask = here.mask
        self.seen[self.reaches.instances.at(here)] = reach, mask
        if reach.outside is not None:
            mask = ~reach.outside if mask is None else mask & ~reach.outside
        access = state.write if reach.writes else state.read
        for conflicts in access(reach.slots[None], self.thread, mask, self.place[here.path]):
            self.refute(conflicts, here)

    def refute(self, conflicts: Conflicts, here: Here) -> None:
        """Report the first of some conflicts, by the later access's thread."""
        proof = BETWEEN if conflicts.kind == READ_AFTER_WRITE else OVERWRITTEN
        if proof in self.refuted:
            return
        self.refuted.add(proof)
        c = min(conflicts, key=lambda c: (c.thread, c.slot))
        later = "reads" if conflicts.kind == READ_AFTER_WRITE else "overwrites"
        earlier = "reads" if conflicts.kind == WRITE_AFTER_READ else "writes"
        (warp, lane), (its, other) = divmod(c.thread, LANES), divmod(c.other_thread, LANES)
        barrier = "barrier of the block" if warp != its else "barrier of the warp, or of the block,"
        what = (
            f"warp {warp}, lane {lane} {later} what warp {its}, lane {other} {earlier}, and no {barrier} is between: "
            f"{len(conflicts)} such pairs in this access"
        )
        address = self.reaches.name(c.slot)
        here.refute(proof, what, warp=warp, lane=lane, address=address, other=self.paths[c.other_place])

    def shown(self, proof: str) -> Verdict:
        """What is shown, with the accesses that were looked at."""
        kind = "read" if proof == BETWEEN else "write"
        pairs = {
            BETWEEN: "a write and a later read of one place by two threads",
            OVERWRITTEN: "an access and a later write of one place by two threads",
        }[proof]
        barriers = Counter(op.scope for _, op in walk(self.ir.body) if isinstance(op, Barrier))
        which = " and ".join(f"{n} of the {scope}" for scope, n in barriers.items()) or "none"
        between = f"have a barrier between (in the text: {which})"
        statement = {
            BETWEEN: "between a write to shared memory and its reads by other threads there is a barrier",
            OVERWRITTEN: "between an access to shared memory and a later write by another thread there is a barrier",
        }[proof]
        return Verdict(statement, f"{pairs} {between}; {kind}s: {listed(self.counts(kind == 'write'))}")

    def counts(self, writes: bool) -> dict[str, str]:
        """For each tile how many accesses were seen, of one trip of a loop over k tiles, and to how many bytes."""
        out: dict[str, str] = {}
        for tile in self.ir.tiles:
            mine = [(r, mask) for r, mask in self.seen.values() if r.tile == tile.name and r.writes == writes]
            if mine:
                reached = [(r.slots if mask is None else r.slots[mask]).ravel() for r, mask in mine]
                threads = max(self.ir.threads if mask is None else np.count_nonzero(mask) for _, mask in mine)
                size = len(np.unique(np.concatenate(reached))) * self.reaches.slot_bytes
                out[tile.name] = f"{len(mine)} x {threads} threads to {size} bytes"
        return out


CLIENTS = (Races,)
