"""Kernels with rings of asynchronous copies, written by hand: any number of stages, any distance, any order of a trip.

C = A @ B, A by rows, B by columns; by default two warps make a block tile of 32 x 16, with k tiles of 32 in two
strips. What a trip of the k loop does is a row of words, so that kernels which no compiler would make can be asked
about, too.
"""

from dataclasses import dataclass, replace

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import (
    CHUNK,
    AsyncCopy,
    Barrier,
    CommitCopies,
    Element,
    ExchangeLoad,
    ExchangeStore,
    GlobalStore,
    GlobalTensor,
    KernelIR,
    LoadMatrix,
    Loop,
    Mma,
    RegisterArray,
    SharedTile,
    Stmt,
    WaitCopies,
    When,
    Zero,
)
from polyvolta.cuda.layouts.exchange import plan_exchange
from polyvolta.cuda.target.ampere import SM_80
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.matrix_load import LDMATRIX, lines_of
from polyvolta.sets import aff, var, xor

BK, STEP = 32, 16
MACRO = next(m for m in SM_80.macro_mmas if m.name == "m16n16k16").of("row", "col")
EXCHANGE = plan_exchange(MACRO, "half")
USUAL = ("wait", "sync", "copy", "commit", "compute")
ACC = Element("hmma_C", (var("c9"), var("c10")))
C2, C5, C8, C9, C10, LINEAR = (var(n) for n in ("c2", "c5", "c8", "c9", "c10", "linearId"))


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

    @property
    def tiles(self):
        """How many k tiles there are."""
        return (var("K") + self.depth - 1) // self.depth

    @property
    def strips(self) -> int:
        return self.depth // STEP

    @property
    def threads(self) -> int:
        return 32 * self.block[0] // self.warp[0] * self.block[1] // self.warp[1]


def graph():
    """What the kernels compute."""
    M, N, K = pv.sizes("M N K")
    return pv.output(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"), name="C")


def tile_layout(dims: tuple[str, str], lines: int, depth: int, line: int) -> IndexMap:
    """Lines of four chunks, or of a multiple of eight, a column of which lies in eight banks."""
    extents = [depth if d != line else lines for d in range(2)]
    at, run = var(dims[line]), var(dims[1 - line])
    width, place = depth // CHUNK, run // CHUNK
    flipped = xor(place, at // 2 % 4, 2) if width == 4 else place // 8 * 8 + xor(place % 8, at % 8, 3)
    return IndexMap(tuple(zip(dims, extents)), (("chunk", width * at + flipped),))


def unrolled(name: str, count: int, *body: Stmt) -> Loop:
    return Loop(name, (aff(0),), (aff(count - 1),), 1, True, body)


def copies(r: Ring, which: str = "AB") -> list[Stmt]:
    """The copies of tile c2 + distance."""
    tile, out = C2 + r.distance, []
    width = r.depth // CHUNK
    for name, lines, block in zip("AB", r.block, (var("blockIdx.y"), var("blockIdx.x"))):
        chunk = LINEAR + r.threads * C5
        line, k = chunk // width, CHUNK * (chunk % width)
        to = 1 if name == "A" else -1
        copy = AsyncCopy(
            name, (lines * block + line, r.depth * tile + k)[::to], 1 if name == "A" else 0, f"shared_{name}",
            (line, k)[::to], tile % r.stages, True, f"copy_{name}",
        )  # fmt: skip
        if name in which:
            out.append(unrolled("c5", lines * width // r.threads, copy))
    return [When((r.tiles - 1 - tile, tile), tuple(out))]


def fragments(r: Ring, tile, strip, at) -> tuple[Stmt, ...]:
    """Loads of the fragments of a strip of a tile."""
    (m, n), k = r.warp, STEP * strip
    places = {"A": (m, (m * var("warpIdx_y") + 16 * C9, k)), "B": (n, (k, n * var("warpIdx_x") + 16 * C9))}
    loads = []
    for (name, (extent, origin)), own in zip(places.items(), (MACRO.a, MACRO.b)):
        target = Element(f"hmma_{name}", (at, C9))
        load = LoadMatrix(target, f"shared_{name}", origin, name.lower(), own, lines_of(own, LDMATRIX, 4, False), 4,
                          False, tile % r.stages, statement=f"frag_{name}")  # fmt: skip
        loads.append(unrolled("c9", extent // 16, load))
    return tuple(loads)


def each(r: Ring, *body: Stmt) -> Stmt:
    """For every fragment of a warp's result."""
    return unrolled("c9", r.warp[0] // 16, unrolled("c10", r.warp[1] // 16, *body))


def product(r: Ring, at) -> Stmt:
    return each(r, Mma(ACC, Element("hmma_A", (at, C9)), Element("hmma_B", (at, C10)), MACRO, "mma"))


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
            body = unrolled("c8", r.strips, *fragments(r, C2, C8, aff(0)), product(r, aff(0)))
            return [When((C2,), (body,))]
        case "strips":
            return strips(r)
    raise ValueError(what)


def strips(r: Ring) -> list[Stmt]:
    """A trip whose fragments are loaded one strip ahead: the wait and the barrier for the next tile in its last one."""
    last, early = r.strips - 1, replace(r, early=True)
    same = fragments(r, C2, C8 + 1, (C8 + 1) % 2)
    following = fragments(r, C2 + 1, aff(0), (C8 + 1) % 2)
    return [
        unrolled(
            "c8", r.strips,
            When((C8 - last,), (*word(early, "wait"), *word(early, "sync"))),
            When((-C8,), (*copies(r), CommitCopies("commit"))),
            When((last - 1 - C8, C2), same),
            When((C8 - last, C2 + 1, r.tiles - 2 - C2), following),
            When((C2,), (product(r, C8 % 2),)),
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
    (bm, bn), (wm, wn) = r.block, r.warp
    a_chunks, b_chunks = bm * r.depth // CHUNK, bn * r.depth // CHUNK
    behind, across = r.stages * (a_chunks + b_chunks), bn // wn
    out = Element("output", ())
    row, col = EXCHANGE.owns.at(var("lane"), aff(0))
    place = (
        bm * var("blockIdx.y") + wm * var("warpIdx_y") + 16 * C9 + row,
        bn * var("blockIdx.x") + wn * var("warpIdx_x") + 16 * C10 + col,
    )
    end: list[Stmt] = [Barrier(statement="over")] if r.overlaid else []
    made = KernelIR(
        name="ring",
        sizes=("M", "N", "K"),
        tensors=(
            GlobalTensor("A", ("M", "K"), (0, 1), whole=True),
            GlobalTensor("B", ("K", "N"), (1, 0), whole=True),
            GlobalTensor("C", ("M", "N"), (0, 1), written=True),
        ),
        tiles=(
            SharedTile("shared_A", 0, a_chunks, tile_layout(("row", "k"), bm, r.depth, 0), (0, 1), r.stages),
            SharedTile("shared_B", r.stages * a_chunks, b_chunks, tile_layout(("k", "col"), bn, r.depth, 1), (1, 0),
                       r.stages),
            SharedTile("exchange", 0 if r.overlaid else behind, r.threads // 32 * EXCHANGE.chunks),
        ),
        registers=(
            RegisterArray("hmma_A", "half", (2, wm // 16), MACRO.values[0]),
            RegisterArray("hmma_B", "half", (2, wn // 16), MACRO.values[1]),
            RegisterArray("hmma_C", "float", (wm // 16, wn // 16), MACRO.values[2]),
            RegisterArray("output", "half", ()),
        ),
        threads=r.threads,
        derived=(
            ("lane", LINEAR % 32), ("warp", LINEAR // 32), ("warpIdx_x", var("warp") % across),
            ("warpIdx_y", var("warp") // across),
        ),
        ranges={
            "linearId": (0, r.threads - 1), "lane": (0, 31), "warp": (0, r.threads // 32 - 1),
            "warpIdx_x": (0, across - 1), "warpIdx_y": (0, bm // wm - 1), "c2": (-r.distance, None), "c5": (0, None),
            "c8": (0, r.strips - 1), "c9": (0, None), "c10": (0, None),
            "blockIdx.x": (0, None), "blockIdx.y": (0, None), "blockIdx.z": (0, 0),
            "M": (1, None), "N": (1, None), "K": (0, None),
        },
        grid=((var("N") + bn - 1) // bn, (var("M") + bm - 1) // bm, aff(1)),
        body=(
            each(r, Zero(ACC, "zero")),
            *loops(r, tuple(s for w in r.trip for s in word(r, w))),
            *end,
            each(
                r,
                ExchangeStore(ACC, "exchange", var("warp"), EXCHANGE, "exchange_C"),
                Barrier("warp", "wait_C"),
                ExchangeLoad(out, "exchange", var("warp"), EXCHANGE, aff(0), statement="gather_C"),
                GlobalStore(out, "C", place, 1, True, "write_C"),
                Barrier("warp", "free_C"),
            ),
        ),
        about="C = A @ B",
    )  # fmt: skip
    return replace(made, **changes)
