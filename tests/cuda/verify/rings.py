"""Kernels with rings of asynchronous copies, written by hand: any number of stages, any distance, any order of a trip.

C = A @ B, A by rows, B by columns; two warps make a block tile of 32 x 16, with k tiles of 32 in two strips. What a
trip of the k loop does is a row of words, so that kernels which no compiler would make can be asked about, too.
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

BM, BN, BK, STEP = 32, 16, 32, 16
THREADS = 64
MACRO = next(m for m in SM_80.macro_mmas if m.name == "m16n16k16").of("row", "col")
EXCHANGE = plan_exchange(MACRO, "half")
USUAL = ("wait", "sync", "copy", "commit", "compute")
TILES = (var("K") + BK - 1) // BK
C2, C5, C8, C9, LINEAR = var("c2"), var("c5"), var("c8"), var("c9"), var("linearId")


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
    after : what stands between the loop and the exchange, of these words.
    """

    stages: int = 3
    distance: int = 2
    pending: int = 1
    trip: tuple[str, ...] = USUAL
    early: bool = False
    groups: bool = True
    overlaid: bool = False
    after: tuple[str, ...] = ()


def graph():
    """What the kernels compute."""
    M, N, K = pv.sizes("M N K")
    return pv.output(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"), name="C")


def tile_layout(dims: tuple[str, str], lines: int, line: int) -> IndexMap:
    """Lines of four chunks, a column of which lies in eight banks."""
    names = dict.fromkeys(dims)
    extents = [BK if d != line else lines for d in range(2)]
    at, run = var(dims[line]), var(dims[1 - line])
    chunk = 4 * at + xor(run // CHUNK, at // 2 % 4, 2)
    return IndexMap(tuple(zip(names, extents)), (("chunk", chunk),))


def unrolled(name: str, count: int, *body: Stmt) -> Loop:
    return Loop(name, (aff(0),), (aff(count - 1),), 1, True, body)


def copies(r: Ring, which: str = "AB") -> list[Stmt]:
    """The copies of tile c2 + distance."""
    tile, out = C2 + r.distance, []
    for name, lines, block in (("A", BM, var("blockIdx.y")), ("B", BN, var("blockIdx.x"))):
        chunk = LINEAR + THREADS * C5
        line, k = chunk // (BK // CHUNK), CHUNK * (chunk % (BK // CHUNK))
        to = 1 if name == "A" else -1
        copy = AsyncCopy(
            name, (lines * block + line, BK * tile + k)[::to], 1 if name == "A" else 0, f"shared_{name}",
            (line, k)[::to], tile % r.stages, True, f"copy_{name}",
        )  # fmt: skip
        if name in which:
            out.append(unrolled("c5", lines * BK // CHUNK // THREADS, copy))
    return [When((TILES - 1 - tile, tile), tuple(out))]


def fragments(r: Ring, tile, strip, at) -> tuple[Stmt, ...]:
    """Loads of the fragments of a strip of a tile."""
    def load(name, origin, own):
        return LoadMatrix(
            Element(f"hmma_{name}", (at,)), f"shared_{name}", origin, name.lower(), own,
            lines_of(own, LDMATRIX, 4, False), 4, False, tile % r.stages, statement=f"frag_{name}",
        )  # fmt: skip
    return (load("A", (16 * var("warp"), STEP * strip), MACRO.a), load("B", (STEP * strip, aff(0)), MACRO.b))


def product(at) -> Mma:
    return Mma(Element("hmma_C", ()), Element("hmma_A", (at,)), Element("hmma_B", (at,)), MACRO, "mma")


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
            return [commit if r.groups else When((TILES - 1 - C2 - r.distance,), (commit,))]
        case "wait":
            return [When((first,), (WaitCopies(r.pending, "wait"),))]
        case "sync":
            return [When((first,), (Barrier(statement="sync"),))]
        case "compute":
            body = unrolled("c8", BK // STEP, *fragments(r, C2, C8, aff(0)), product(aff(0)))
            return [When((C2,), (body,))]
        case "strips":
            return strips(r)
    raise ValueError(what)


def strips(r: Ring) -> list[Stmt]:
    """A trip whose fragments are loaded one strip ahead: the wait and the barrier for the next tile in its last one."""
    count = BK // STEP
    same = fragments(r, C2, C8 + 1, (C8 + 1) % 2)
    following = fragments(r, C2 + 1, aff(0), (C8 + 1) % 2)
    return [
        unrolled(
            "c8", count,
            When((C8 - count + 1,), tuple(s for w in ("wait", "sync") if w in r.after or not r.after
                                          for s in word(replace(r, early=True), w))),
            When((-C8,), (*copies(r), CommitCopies("commit"))),
            When((count - 2 - C8, C2), same),
            When((C8 - count + 1, C2 + 1, TILES - 2 - C2), following),
            When((C2,), (product(C8 % 2),)),
        )
    ]  # fmt: skip


def ring(r: Ring, **changes) -> KernelIR:
    """The kernel."""
    a_chunks, b_chunks = BM * BK // CHUNK, BN * BK // CHUNK
    behind = r.stages * (a_chunks + b_chunks)
    acc, out = Element("hmma_C", ()), Element("output", ())
    row, col = EXCHANGE.owns.at(var("lane"), aff(0))
    place = (BM * var("blockIdx.y") + 16 * var("warp") + row, BN * var("blockIdx.x") + col)
    end: list[Stmt] = [Barrier(statement="over")] if r.overlaid else []
    trip = [s for w in r.trip for s in word(r, w)]
    made = KernelIR(
        name="ring",
        sizes=("M", "N", "K"),
        tensors=(
            GlobalTensor("A", ("M", "K"), (0, 1)),
            GlobalTensor("B", ("K", "N"), (1, 0)),
            GlobalTensor("C", ("M", "N"), (0, 1), written=True),
        ),
        tiles=(
            SharedTile("shared_A", 0, a_chunks, tile_layout(("row", "k"), BM, 0), (0, 1), r.stages),
            SharedTile("shared_B", r.stages * a_chunks, b_chunks, tile_layout(("k", "col"), BN, 1), (1, 0), r.stages),
            SharedTile("exchange", 0 if r.overlaid else behind, 2 * EXCHANGE.chunks),
        ),
        registers=(
            RegisterArray("hmma_A", "half", (2,), MACRO.values[0]),
            RegisterArray("hmma_B", "half", (2,), MACRO.values[1]),
            RegisterArray("hmma_C", "float", (), MACRO.values[2]),
            RegisterArray("output", "half", ()),
        ),
        threads=THREADS,
        derived=(("lane", LINEAR % 32), ("warp", LINEAR // 32)),
        ranges={
            "linearId": (0, THREADS - 1), "lane": (0, 31), "warp": (0, 1), "c2": (-r.distance, None), "c5": (0, 1),
            "c8": (0, 1), "blockIdx.x": (0, None), "blockIdx.y": (0, None), "blockIdx.z": (0, 0),
            "M": (1, None), "N": (1, None), "K": (0, None),
        },
        grid=((var("N") + BN - 1) // BN, (var("M") + BM - 1) // BM, aff(1)),
        body=(
            Zero(acc, "zero"),
            Loop("c2", (aff(-r.distance),), (TILES - 1,), 1, False, tuple(trip)),
            *end,
            ExchangeStore(acc, "exchange", var("warp"), EXCHANGE, "exchange_C"),
            Barrier("warp", "wait_C"),
            ExchangeLoad(out, "exchange", var("warp"), EXCHANGE, aff(0), statement="gather_C"),
            GlobalStore(out, "C", place, 1, True, "write_C"),
        ),
        about="C = A @ B",
    )  # fmt: skip
    return replace(made, **changes)
