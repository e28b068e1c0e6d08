"""Kernels written by hand for chips with `ldmatrix` and asynchronous copies: C = A @ B through a ring of tiles.

Tile number t of A and B lies in slot t mod `stages` of the ring; copies are `stages - 1` tiles ahead of the products,
and fragments one strip, in one of two registers. All pairs of layouts, any alignment; for whole tiles or any size.
"""

from __future__ import annotations

from itertools import product

from polyvolta.cuda.ir.kernel_ir import (
    CHUNK,
    AsyncCopy,
    Barrier,
    CommitCopies,
    Element,
    Exchange,
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
from polyvolta.cuda.layouts.fragments import matrix_access
from polyvolta.cuda.target import targets
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.cuda.target.matrix_load import LDMATRIX
from polyvolta.sets import Aff, aff, var, xor

LINEAR, C2, STRIP = var("linearId"), var("c2"), var("c8")
NAMES = {"A": ("i", "k"), "B": ("k", "j")}


def order(layout: str) -> tuple[int, int]:
    """The dimensions of an operand, outermost first."""
    return (0, 1) if layout == "row" else (1, 0)


def tile(side: str, layout: str, extents: tuple[int, int], start: int, stages: int) -> SharedTile:
    """Lines of chunks; in blocks of 8 chunks (of a line's 4, if there are no more) chunk c of line l is at c ^ l."""
    names = NAMES[side]
    line, run = order(layout)
    chunks = extents[run] // CHUNK
    wide = min(chunks, 8)
    x = var(names[run]) // CHUNK
    turned = var(names[line]) // (8 // wide) % wide
    place = chunks * var(names[line]) + x // wide * wide + xor(x % wide, turned, wide.bit_length() - 1)
    layout_ = IndexMap(tuple(zip(names, extents)), (("chunk", place),))
    return SharedTile(f"shared_{side}", start, extents[0] * extents[1] // CHUNK, layout_, (line, run), stages)


def unrolled(name: str, count: int, *body: Stmt) -> Loop:
    return Loop(name, (aff(0),), (aff(count - 1),), 1, True, body)


def ring_kernel(
    layouts: tuple[str, str] = ("row", "col"),
    *,
    target: str = "sm_80",
    macro: str | None = None,
    block: tuple[int, int, int] = (128, 128, 32),
    warp: tuple[int, int] = (64, 64),
    stages: int = 3,
    guarded: bool = False,
    align: int = 8,
) -> KernelIR:
    """The kernel for a pair of layouts of A and B, block tile (m, n, k) and warp tile (m, n)."""
    chosen = targets[target]
    mma = chosen.macro_mma(macro or chosen.macro_names[0]).of(*layouts)
    ex = plan_exchange(mma)
    (bm, bn, bk), (wm, wn), (mm, mn, mk) = block, warp, mma.shape
    threads, across, strips = bm // wm * (bn // wn) * 32, bn // wn, bk // mk
    extents = {"A": (bm, bk), "B": (bk, bn)}
    tiles = (tile("A", layouts[0], extents["A"], 0, stages),)
    tiles += (tile("B", layouts[1], extents["B"], stages * tiles[0].chunks, stages),)
    tensors = tuple(
        GlobalTensor(side, dims, order(layout), align=align, whole=True)
        for side, dims, layout in zip("AB", (("M", "K"), ("K", "N")), layouts)
    )
    steps = (var("K") + bk - 1) // bk
    ahead = C2 + stages - 1
    copies = tuple(
        unrolled("c5", t.chunks // threads, copy(side, t, guarded, ahead, block, threads, stages))
        for side, t in zip("AB", tiles)
    )
    more = (steps - ahead - 1,)
    strip = 1 + STRIP - strips * ((STRIP + 1) // strips)
    slot = (C2 + (STRIP + 1) // strips) % stages
    register = (STRIP + 1) % 2
    a = Element("hmma_A", (register, var("c11")))
    b = Element("hmma_B", (register, var("c11")))
    warp_row, warp_col = wm * var("warpIdx_y"), wn * var("warpIdx_x")

    def fragment(e: Element, side: str, t: SharedTile, origin: tuple[Aff, Aff], count: int) -> Loop:
        own = mma.a if side == "A" else mma.b
        by = matrix_access(own, t.order, LDMATRIX)
        load = LoadMatrix(e, t.name, origin, side.lower(), own, by.lines, by.count, by.transposed, slot,
                          statement=f"frag_{side}")  # fmt: skip
        return unrolled("c11", count, load)

    fragments = (
        fragment(a, "A", tiles[0], (warp_row + mm * var("c11"), mk * strip), wm // mm),
        fragment(b, "B", tiles[1], (mk * strip, warp_col + mn * var("c11")), wn // mn),
    )
    acc = Element("hmma_C", (var("c9"), var("c10")))
    mine = STRIP % 2
    product = Mma(acc, Element("hmma_A", (mine, var("c9"))), Element("hmma_B", (mine, var("c10"))), mma, "S")

    def each(*body: Stmt) -> Loop:
        return unrolled("c9", wm // mm, unrolled("c10", wn // mn, *body))

    last = (STRIP - (strips - 1),)
    first = (-STRIP,)
    pipeline = unrolled(
        "c8", strips,
        When(last, (WaitCopies(stages - 2, "wait"), Barrier(statement="sync"))),
        When(first, (When(more, copies), CommitCopies("commit"))),
        When((C2 + (STRIP + 1) // strips,), fragments),
        When((C2,), (each(product),)),
    )  # fmt: skip
    return KernelIR(
        name="ring",
        sizes=("M", "N", "K"),
        tensors=(*tensors, GlobalTensor("C", ("M", "N"), (0, 1), written=True)),
        tiles=(*tiles, SharedTile("exchange", 0, threads // 32 * ex.chunks)),
        registers=(
            RegisterArray("run_C", "half", (ex.rounds,)),
            RegisterArray("hmma_A", "half", (2, wm // mm), mma.values[0]),
            RegisterArray("hmma_B", "half", (2, wn // mn), mma.values[1]),
            RegisterArray("hmma_C", "float", (wm // mm, wn // mn), mma.values[2]),
        ),
        threads=threads,
        derived=(("lane", LINEAR % 32), ("warp", LINEAR // 32), ("warpIdx_x", var("warp") % across),
                 ("warpIdx_y", var("warp") // across)),
        ranges={"linearId": (0, threads - 1), "lane": (0, 31), "warp": (0, threads // 32 - 1),
                "warpIdx_x": (0, across - 1), "warpIdx_y": (0, bm // wm - 1)},
        grid=((var("N") + bn - 1) // bn, (var("M") + bm - 1) // bm, aff(1)),
        context=() if guarded else (("M", bm), ("N", bn), ("K", bk)),
        body=(
            each(Zero(acc, "zero")),
            Loop("c2", (aff(1 - stages),), (steps - 1,), 1, False, (pipeline,)),
            WaitCopies(0, "arrived"),
            Barrier(statement="free"),
            each(*stores(mma, ex, warp, block, guarded)),
        ),
    )  # fmt: skip


def copy(
    side: str, t: SharedTile, guarded: bool, ahead: Aff, block: tuple[int, int, int], threads: int, stages: int
) -> AsyncCopy:
    """The copies of the tile `ahead`, cyclic over the threads."""
    bm, bn, bk = block
    line, run = t.order
    per_line = t.layout.inputs[run][1] // CHUNK
    number = LINEAR + threads * var("c5")
    local = {line: number // per_line, run: CHUNK * (number % per_line)}
    if threads % per_line == 0:
        local = {line: LINEAR // per_line + threads // per_line * var("c5"), run: CHUNK * (LINEAR % per_line)}
    place = (local[0], local[1])
    origin = (bm * var("blockIdx.y"), bk * ahead) if side == "A" else (bk * ahead, bn * var("blockIdx.x"))
    index = tuple(o + p for o, p in zip(origin, place))
    return AsyncCopy(side, index, run, t.name, place, ahead % stages, guarded, statement=f"copy_{side}")


def stores(mma: MacroMma, ex: Exchange, warp: tuple[int, int], block: tuple[int, int, int], guarded: bool):
    """A fragment goes through the warp's buffer, which lies over the tiles, and out."""
    (wm, wn), (mm, mn, _) = warp, mma.shape
    run = Element("run_C", (var("round"),))
    row, col = ex.owns.at(var("lane"), var("round"))
    index = (block[0] * var("blockIdx.y") + wm * var("warpIdx_y") + mm * var("c9") + row,
             block[1] * var("blockIdx.x") + wn * var("warpIdx_x") + mn * var("c10") + col)  # fmt: skip
    return (
        ExchangeStore(Element("hmma_C", (var("c9"), var("c10"))), "exchange", var("warp"), ex, "exchange_C"),
        Barrier("warp", "wait_C"),
        unrolled("round", ex.rounds, ExchangeLoad(run, "exchange", var("warp"), ex, var("round"), statement="run_C")),
        unrolled("round", ex.rounds, GlobalStore(run, "C", index, 1, guarded, "write_C")),
        Barrier("warp", "done_C"),
    )


RINGS = [
    *({"layouts": pair, "guarded": guarded} for pair in product(("row", "col"), repeat=2) for guarded in (False, True)),
    *({"align": align, "guarded": True} for align in (4, 2)),
    {"align": 1, "guarded": True, "warp": (32, 64)},
    {"macro": "m16n16k16", "stages": 4, "block": (128, 128, 64)},
    {"macro": "m16n16k8", "stages": 2, "warp": (32, 64)},
]
"""Arguments of `ring_kernel`: all layouts, guarded and not, alignments, macro-MMAs, stages."""
