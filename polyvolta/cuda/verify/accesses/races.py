"""No races: between accesses of two threads to one place, one of them a write, there is a barrier.

A `Shadow` follows the kernel on symbols and says at each access whether some order of the threads is left open; what a
race is, and which orders there are, is told there. The symbolic machine brings it to every state that a block of any
size can be in: full and partial tiles, and every trip of a loop over k tiles. Barriers forget what was ordered, so
after the first trips the shadow at the loop's head is one that was there before, and the run ends.

Two statements come out. A read that finds another thread's write lacks a barrier *between* the two: it may see the old
value. A write that finds another thread's read, or write, *overwrites* too early: the reader may see the new value. In
a loop over k tiles with one buffer the first barrier is there for the second statement and the second for the first.

What asynchronous copies write is done in the hardware's time, not where the machine stands. Of each pair of accesses
one of which is such a copy the same two statements are shown by happens-before, as relations
(`order.happens_before`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from polyvolta.cuda.ir.kernel_ir import CHUNK_BYTES, LANES, KernelIR, Loop, Op
from polyvolta.cuda.ir.walk import IrPath, operations, walk
from polyvolta.cuda.machine.shadow import READ_AFTER_WRITE, WRITE_AFTER_READ, Conflicts, Shadow
from polyvolta.cuda.verify.engine.addresses import Addresses, byte_text, narrowest
from polyvolta.cuda.verify.engine.rings import Turn, places
from polyvolta.cuda.verify.engine.symbolic import Here
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.engine.watching import Watching, listed
from polyvolta.cuda.verify.order.happens_before import HappensBefore, asynchronous
from polyvolta.cuda.verify.report.records import Verdict
from polyvolta.graph.dag import Graph
from polyvolta.sets import Aff

BETWEEN, OVERWRITTEN = "barriers_between", "not_overwritten"


@dataclass(frozen=True, slots=True, eq=False)
class Touched:
    """What an operation reads, or writes, of one tile.

    Parameters
    ----------
    slots : [warp, 32, n], which each thread takes: shared memory in units of the kernel's narrowest access.
    outside : bool [warp, 32], the threads for which `slots` means nothing; None: there are none.
    """

    tile: str
    writes: bool
    slots: np.ndarray
    outside: np.ndarray | None


class RaceWatch(Watching):
    """Follows who wrote and who read each slot of a block's shared memory since the last barrier."""

    proofs = (BETWEEN, OVERWRITTEN)

    def __init__(self, ir: KernelIR, graph: Graph | None = None) -> None:
        self.ir, self.slot_bytes = ir, narrowest(ir)
        self.paths: list[IrPath] = [path for path, _ in walk(ir.body)]
        self.place = {path: n for n, path in enumerate(self.paths)}
        self.thread = np.arange(ir.threads).reshape(1, ir.warps, LANES, 1)
        self.touched: dict[tuple, tuple[Touched, ...]] = {}
        self.seen: dict[tuple, np.ndarray | None] = {}  # instance -> who took part
        self.rings: dict[str, int] = {}  # tile -> slots, where one stands for all
        self.refuted: set[str] = set()
        self.alone = not asynchronous(ir)
        self.order: HappensBefore | None = None
        self.behind: dict[IrPath, np.ndarray] = {}

    def start(self, ir: KernelIR) -> Shadow:
        """Nobody has been there."""
        return Shadow(1, ir.shared_bytes // self.slot_bytes, ir.threads)

    def step(self, state: Shadow, here: Here) -> None:
        """Accesses, or a barrier."""
        for a in here.accesses:
            if a.proxy != "generic":
                raise Undecided(f"{a.kind} of {a.array}, {a.proxy}: what orders it, is not known here")
        addresses = here.addresses
        if not self.alone:
            addresses = tuple(x for x in addresses if x.access.when == "issue")
        if addresses:
            if here.instance not in self.touched:
                self.touched[here.instance] = touched(addresses, self.slot_bytes)
            self.seen[here.instance] = here.mask
            self.rings |= here.machine.rings
            for t in self.touched[here.instance]:
                self.access(state, here, t)
        if (scope := here.op.orders) is not None:  # type: ignore[union-attr]
            state.barrier(scope, here.mask)

    def turn(self, state: Shadow, by: Turn) -> None:
        """Slots of rings are numbered anew."""
        state.turn(places(self.ir, by, self.slot_bytes))

    def leave(self, state: Shadow, loop: Loop, last: Aff | None, here: Here) -> None:
        """What nothing behind the loop touches is forgotten: whatever the last trips did there, it is one state.

        Slots of rings have numbers relative to the trip here, so a piece of one is kept if it is touched in any slot.
        """
        kept = self.touched_behind(here.path)
        for name, count in here.machine.rings.items():
            kept = np.any([kept[places(self.ir, {name: n}, self.slot_bytes)] for n in range(count)], 0)
        state.forget(~kept)

    def touched_behind(self, loop: IrPath) -> np.ndarray:
        """Which slots lie in a tile that is touched behind a loop, or in another trip of one around it; bool [slot]."""
        if loop not in self.behind:
            around = next((at for at, s in walk(self.ir.body) if isinstance(s, Loop) and at == loop[: len(at)]), loop)
            names = {a.array for at, s in walk(self.ir.body) if isinstance(s, Op)
                     and (at[: len(around)] > around or around != loop and at[: len(around)] == around)
                     for a in s.accesses(self.ir) if a.space == "shared"}  # fmt: skip
            found = self.behind[loop] = np.zeros(self.ir.shared_bytes // self.slot_bytes, bool)
            for tile in (t for t in self.ir.tiles if t.name in names):
                first = tile.start * CHUNK_BYTES // self.slot_bytes
                found[first : first + tile.bytes // self.slot_bytes] = True
        return self.behind[loop]

    def access(self, state: Shadow, here: Here, t: Touched) -> None:
        """What the threads that take part do with one tile."""
        mask = here.mask
        if t.outside is not None:
            mask = ~t.outside if mask is None else mask & ~t.outside
        access = state.write if t.writes else state.read
        for conflicts in access(t.slots[None], self.thread, mask, self.place[here.path]):
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
        address = byte_text(self.ir, c.slot * self.slot_bytes)
        here.refute(proof, what, warp=warp, lane=lane, address=address, other=self.paths[c.other_place])

    def shown(self, proof: str) -> Verdict:
        """What is shown, with the accesses that were looked at."""
        kind = "read" if proof == BETWEEN else "write"
        pairs = {
            BETWEEN: "a write and a later read of one place by two threads",
            OVERWRITTEN: "an access and a later write of one place by two threads",
        }[proof]
        barriers = Counter(scope for op in operations(self.ir.body) if (scope := op.orders) is not None)
        which = " and ".join(f"{n} of the {scope}" for scope, n in barriers.items()) or "none"
        between = f"have a barrier between (in the text: {which})"
        statement = {
            BETWEEN: "between a write to shared memory and its reads by other threads there is a barrier",
            OVERWRITTEN: "between an access to shared memory and a later write by another thread there is a barrier",
        }[proof]
        relation = f"{pairs} {between}; {kind}s: {listed(self.counts(kind == 'write'))}"
        return Verdict(statement, relation) if self.alone else self.with_copies(proof, statement, relation)

    def with_copies(self, proof: str, statement: str, relation: str) -> Verdict:
        """What is shown of a kernel with asynchronous copies, and a case against it.

        Raises
        ------
        Undecided : their order has no exact answer.
        """
        of = self.order = self.order or HappensBefore(self.ir)
        found = of.late if proof == BETWEEN else of.early
        more = {
            BETWEEN: "; what is copied asynchronously is read after a wait of the copying thread that covers it, by "
            "other threads after a barrier behind that wait",
            OVERWRITTEN: "; a copy is issued after a barrier behind all accesses to what it overwrites, and after "
            "copies to the same place have arrived",
        }[proof]
        if found is None:
            return Verdict(statement + more, f"{of.relation}; {relation}")
        return Verdict(statement + more, f"{of.relation}; {relation}", found.case, found.at, found.other)

    def counts(self, writes: bool) -> dict[str, str]:
        """For each tile how many accesses were seen, of one trip of a loop over k tiles, and to how many bytes."""
        out: dict[str, str] = {}
        for tile in self.ir.tiles:
            mine = [
                (t, mask)
                for instance, mask in self.seen.items()
                for t in self.touched[instance]
                if t.tile == tile.name and t.writes == writes
            ]
            if mine:
                reached = [(t.slots if mask is None else t.slots[mask]).ravel() for t, mask in mine]
                threads = max(self.ir.threads if mask is None else np.count_nonzero(mask) for _, mask in mine)
                slots = self.rings.get(tile.name, 1)
                size = len(np.unique(np.concatenate(reached))) * self.slot_bytes * slots
                out[tile.name] = f"{len(mine) * slots} x {threads} threads to {size} bytes"
        return out


def touched(addresses: tuple[Addresses, ...], size: int) -> tuple[Touched, ...]:
    """What an operation's accesses reach, those of one kind to one tile together."""
    out = []
    for tile, writes in dict.fromkeys((x.access.array, x.access.writes) for x in addresses):
        mine = [x for x in addresses if (x.access.array, x.access.writes) == (tile, writes)]
        slots = [x.pieces(size) for x in mine]
        outside = [x.outside for x in mine if x.outside is not None]
        out.append(
            Touched(
                tile,
                writes,
                slots[0] if len(mine) == 1 else np.concatenate(slots, -1),
                np.any(outside, 0) if outside else None,
            )
        )
    return tuple(out)


CLIENTS = (RaceWatch,)
