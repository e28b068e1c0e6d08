"""Kernels with rings of asynchronous copies, written by hand: any number of stages, any distance, any order of a trip.

C = A @ B, A by rows, B by columns; by default two warps make a block tile of 32 x 16, with k tiles of 32 in two
strips. What a trip of the k loop does is a row of words, so that kernels which no compiler would make can be asked
about, too.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import Barrier, CommitCopies, KernelIR, Loop, Stmt, WaitCopies, When
from polyvolta.sets import aff
from tests.cuda.ring_parts import C2, C8, Blocked, unrolled

BK = 32
USUAL = ("wait", "sync", "copy", "commit", "compute")


@dataclass(frozen=True)
class Ring:
    """A k loop with a ring.

    Parameters
    ----------
    stages : slots of the ring.
    distance : how many tiles ahead copies are issued.
    pending : how many groups a wait leaves.
    trip : what a trip does, in order: "copy", "copy A", "copy B", "commit", "wait", "sync", "compute", and with
        fragments one strip ahead "strips", see `strips`.
    early : whether waits and barriers stand in trips before the first tile, too.
    groups : whether trips without a copy commit an (empty) group.
    overlaid : whether the exchange lies where the ring does.
    peeled : whether the trips before the first tile are a loop of their own.
    block, warp : their tiles (m, n), and
    depth : that of the block's in k, a multiple of 16.
    """

    stages: int = 3
    distance: int = 2
    pending: int = 1
    trip: tuple[str, ...] = USUAL
    early: bool = False
    groups: bool = True
    overlaid: bool = False
    peeled: bool = False
    block: tuple[int, int] = (32, 16)
    warp: tuple[int, int] = (16, 16)
    depth: int = BK

    @cached_property
    def made(self) -> Blocked:
        """Its tiles, copies and products."""
        return Blocked((*self.block, self.depth), self.warp, self.stages)

    @property
    def tiles(self):
        """How many k tiles there are."""
        return self.made.tiles

    @property
    def strips(self) -> int:
        return self.made.strips

    @property
    def threads(self) -> int:
        return self.made.threads


def graph():
    """What the kernels compute."""
    M, N, K = pv.sizes("M N K")
    return pv.output(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"), name="C")


def copies(r: Ring, which: str = "AB") -> list[Stmt]:
    """The copies of tile c2 + distance."""
    tile = C2 + r.distance
    return [When((r.tiles - 1 - tile, tile), tuple(r.made.copy(side, tile) for side in which))]


def word(r: Ring, what: str) -> list[Stmt]:
    """What a word of a trip stands for."""
    first = C2 if not r.early else C2 + r.distance
    match what:
        case "copy":
            return copies(r)
        case "copy A" | "copy B":
            return copies(r, what[-1])
        case "commit":
            commit = CommitCopies("commit")
            return [commit if r.groups else When((r.tiles - 1 - C2 - r.distance,), (commit,))]
        case "wait":
            return [When((first,), (WaitCopies(r.pending, "wait"),))]
        case "sync":
            return [When((first,), (Barrier(statement="sync"),))]
        case "compute":
            body = unrolled("c8", r.strips, *r.made.fragments(C2, C8, aff(0)), r.made.products(aff(0)))
            return [When((C2,), (body,))]
        case "strips":
            return strips(r)
    raise ValueError(what)


def strips(r: Ring) -> list[Stmt]:
    """A trip whose fragments are loaded one strip ahead: the wait and the barrier for the next tile in its last one."""
    made, early = r.made, replace(r, early=True)
    last = made.strips - 1
    same = made.fragments(C2, C8 + 1, (C8 + 1) % 2)
    following = made.fragments(C2 + 1, aff(0), (C8 + 1) % 2)
    return [
        unrolled(
            "c8", made.strips,
            When((C8 - last,), (*word(early, "wait"), *word(early, "sync"))),
            When((-C8,), (*copies(r), CommitCopies("commit"))),
            When((last - 1 - C8, C2), same),
            When((C8 - last, C2 + 1, r.tiles - 2 - C2), following),
            When((C2,), (made.products(C8 % 2),)),
        )
    ]  # fmt: skip


def loops(r: Ring, trip: tuple[Stmt, ...]) -> list[Loop]:
    """The loop over k tiles, or, peeled, one that fills the ring and that over the tiles."""
    whole = Loop("c2", (aff(-r.distance),), (r.tiles - 1,), 1, False, trip)
    if not r.peeled or not r.distance:
        return [whole]
    return [replace(whole, upper=(aff(-1),), body=started(trip)), replace(whole, lower=(aff(0),))]


def started(trip: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """What is left of a trip where no tile is there: no condition that c2 >= 0 holds."""
    kept = (s for s in trip if not (isinstance(s, When) and C2 in s.conditions))
    return tuple(replace(s, body=started(s.body)) if isinstance(s, Loop) else s for s in kept)


def ring(r: Ring, **changes) -> KernelIR:
    """The kernel."""
    trip = tuple(s for w in r.trip for s in word(r, w))
    end = [Barrier(statement="over")] if r.overlaid else []
    made = r.made.kernel(
        r.made.zeros(), *loops(r, trip), *end, r.made.stores(), sets=2, first=-r.distance, overlaid=r.overlaid
    )
    return replace(made, **changes)
