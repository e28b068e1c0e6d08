"""What kernels written by hand for Ampere are made of: C = A @ B through rings of k tiles in shared memory.

A `Blocked` product has the tiles, copies, fragments, products and stores of a kernel, each as one statement or a loop
of them; what a trip of the k loop does with these, and in which order, is each kernel's own. A and B in any layout and
of any alignment, C row-major; tiles are swizzled, and go to slot t mod S of a ring of S.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from polyvolta.cuda.ir.kernel_ir import (
    CHUNK,
    AsyncCopy,
    Barrier,
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
    Zero,
)
from polyvolta.cuda.layouts.exchange import plan_exchange
from polyvolta.cuda.layouts.fragments import matrix_access
from polyvolta.cuda.target import targets
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.cuda.target.matrix_load import LDMATRIX
from polyvolta.sets import Aff, aff, var, xor

LINEAR, C2, C5, C8, C9, C10, C11 = (var(n) for n in ("linearId", "c2", "c5", "c8", "c9", "c10", "c11"))
NAMES = {"A": ("row", "k"), "B": ("k", "col")}
DIMS = {"A": ("M", "K"), "B": ("K", "N")}
ACC = Element("hmma_C", (C9, C10))


def unrolled(name: str, count: int, *body: Stmt) -> Loop:
    return Loop(name, (aff(0),), (aff(count - 1),), 1, True, body)


def lines_first(layout: str) -> tuple[int, int]:
    """A matrix's dimensions in memory order."""
    return (0, 1) if layout == "row" else (1, 0)


@dataclass(frozen=True)
class Blocked:
    """The product, by blocks and warps.

    Parameters
    ----------
    block : rows, columns and depth of its tile.
    warp : rows and columns of its tile.
    stages : slots of the ring.
    layouts : of A and B, "row" or "col" each.
    macro : the macro-MMA's name; the target's first one by default.
    align : of A and B.
    guarded : for any sizes; else for multiples of the block tile.
    turn : the piece that a lane's copies begin with; None: the first.
    """

    block: tuple[int, int, int]
    warp: tuple[int, int]
    stages: int = 3
    layouts: tuple[str, str] = ("row", "col")
    macro: str = "m16n16k16"
    align: int = CHUNK
    guarded: bool = True
    target: str = "sm_80"
    turn: IndexMap | None = None
    made: MacroMma = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "made", targets[self.target].macro_mma(self.macro).of(*self.layouts))

    # ---- numbers

    @property
    def across(self) -> int:
        """Warps side by side."""
        return self.block[1] // self.warp[1]

    @property
    def threads(self) -> int:
        return self.block[0] // self.warp[0] * self.across * 32

    @property
    def strips(self) -> int:
        """Steps of the macro-MMA along a k tile."""
        return self.block[2] // self.made.shape[2]

    @property
    def tiles(self) -> Aff:
        """How many k tiles there are."""
        return (var("K") + self.block[2] - 1) // self.block[2]

    def order(self, side: str) -> tuple[int, int]:
        return lines_first(self.layouts["AB".index(side)])

    def extents(self, side: str) -> tuple[int, int]:
        m, n, k = self.block
        return (m, k) if side == "A" else (k, n)

    # ---- shared memory

    def tile(self, side: str) -> SharedTile:
        """Lines of chunks; of 8 side by side (of a line's 4, or 2, if there are no more) chunk c of line l is at c ^ l,
        lines counted by those that have other banks."""
        names, extents, (line, run) = NAMES[side], self.extents(side), self.order(side)
        chunks = extents[run] // CHUNK
        wide = min(chunks, 8)
        number, turned = var(names[run]) // CHUNK, var(names[line]) // (8 // wide) % wide
        bits = wide.bit_length() - 1
        place = xor(number, turned, bits) if chunks <= 8 else number // 8 * 8 + xor(number % 8, turned, bits)
        layout = IndexMap(tuple(zip(names, extents, strict=True)), (("chunk", chunks * var(names[line]) + place),))
        count = extents[0] * extents[1] // CHUNK
        start = 0 if side == "A" else self.stages * self.tile("A").chunks
        return SharedTile(f"shared_{side}", start, count, layout, (line, run), self.stages)

    def copy(self, side: str, ahead: Aff) -> Loop:
        """The copies of k tile number `ahead`, cyclic over the threads."""
        t, (line, run), threads = self.tile(side), self.order(side), self.threads
        per_line = self.extents(side)[run] // CHUNK
        number = LINEAR + threads * C5
        local = {line: number // per_line, run: CHUNK * (number % per_line)}
        if threads % per_line == 0:
            local = {line: LINEAR // per_line + threads // per_line * C5, run: CHUNK * (LINEAR % per_line)}
        m, n, k = self.block
        origin = (m * var("blockIdx.y"), k * ahead) if side == "A" else (k * ahead, n * var("blockIdx.x"))
        place = (local[0], local[1])
        index = (origin[0] + place[0], origin[1] + place[1])
        copy = AsyncCopy(side, index, run, t.name, place, ahead % self.stages, self.guarded, f"copy_{side}", self.turn)
        return unrolled("c5", t.chunks // threads, copy)

    # ---- registers

    def fragments(self, tile: Aff, strip: Aff, turn: Aff) -> tuple[Loop, Loop]:
        """The loads of a strip of a k tile into set number `turn`."""
        (wm, wn), (mm, mn, mk) = self.warp, self.made.shape
        own = {"A": self.made.a, "B": self.made.b}
        origins = {
            "A": (wm * var("warpIdx_y") + mm * C11, mk * strip),
            "B": (mk * strip, wn * var("warpIdx_x") + mn * C11),
        }
        loops = []
        for side, count in (("A", wm // mm), ("B", wn // mn)):
            by = matrix_access(own[side], self.order(side), LDMATRIX)
            to, tile_name = Element(f"hmma_{side}", (turn, C11)), f"shared_{side}"
            load = LoadMatrix(to, tile_name, origins[side], side.lower(), own[side], by.lines, by.count, by.transposed,
                              tile % self.stages, statement=f"frag_{side}")  # fmt: skip
            loops.append(unrolled("c11", count, load))
        return loops[0], loops[1]

    def each(self, *body: Stmt) -> Loop:
        """For every fragment of a warp's result."""
        (wm, wn), (mm, mn, _) = self.warp, self.made.shape
        return unrolled("c9", wm // mm, unrolled("c10", wn // mn, *body))

    def zeros(self) -> Loop:
        return self.each(Zero(ACC, "zero"))

    def products(self, turn: Aff) -> Loop:
        """A strip's, of the fragments in set number `turn`."""
        a, b = Element("hmma_A", (turn, C9)), Element("hmma_B", (turn, C10))
        return self.each(Mma(ACC, a, b, self.made, "mma"))

    # ---- the result

    def stores(self) -> Loop:
        """Each fragment through the warp's buffer, and out."""
        (bm, bn, _), (wm, wn), (mm, mn, _) = self.block, self.warp, self.made.shape
        ex, run = plan_exchange(self.made), Element("run_C", (var("round"),))
        row, col = ex.owns.at(var("lane"), var("round"))
        index = (bm * var("blockIdx.y") + wm * var("warpIdx_y") + mm * C9 + row,
                 bn * var("blockIdx.x") + wn * var("warpIdx_x") + mn * C10 + col)  # fmt: skip
        load = ExchangeLoad(run, "exchange", var("warp"), ex, var("round"), statement="run_C")
        return self.each(
            ExchangeStore(ACC, "exchange", var("warp"), ex, "exchange_C"),
            Barrier("warp", "wait_C"),
            unrolled("round", ex.rounds, load),
            unrolled("round", ex.rounds, GlobalStore(run, "C", index, 1, self.guarded, "write_C")),
            Barrier("warp", "done_C"),
        )

    # ---- the kernel

    def kernel(self, *body: Stmt, sets: int, first: int, overlaid: bool = False) -> KernelIR:
        """A kernel of that body.

        Parameters
        ----------
        sets : of fragments.
        first : the k loop's first trip.
        overlaid : whether the exchange lies where the ring does.
        """
        (bm, bn, bk), (wm, wn), (mm, mn, _) = self.block, self.warp, self.made.shape
        tiles, ex, warps = (self.tile("A"), self.tile("B")), plan_exchange(self.made), self.threads // 32
        behind = self.stages * sum(t.chunks for t in tiles)
        values = self.made.values
        warp = var("warp")
        return KernelIR(
            name="ring",
            sizes=("M", "N", "K"),
            tensors=(
                *(GlobalTensor(n, DIMS[n], self.order(n), align=self.align, whole=True) for n in "AB"),
                GlobalTensor("C", ("M", "N"), (0, 1), written=True),
            ),
            tiles=(*tiles, SharedTile("exchange", 0 if overlaid else behind, warps * ex.chunks)),
            registers=(
                RegisterArray("run_C", "half", (ex.rounds,)),
                RegisterArray("hmma_A", "half", (sets, wm // mm), values[0]),
                RegisterArray("hmma_B", "half", (sets, wn // mn), values[1]),
                RegisterArray("hmma_C", "float", (wm // mm, wn // mn), values[2]),
            ),
            threads=self.threads,
            derived=(
                ("lane", LINEAR % 32), ("warp", LINEAR // 32), ("warpIdx_x", warp % self.across),
                ("warpIdx_y", warp // self.across),
            ),
            ranges={
                "linearId": (0, self.threads - 1), "lane": (0, 31), "warp": (0, warps - 1),
                "warpIdx_x": (0, self.across - 1), "warpIdx_y": (0, bm // wm - 1), "c2": (first, None),
                **dict.fromkeys(("c5", "c8", "c9", "c10", "c11", "round", "blockIdx.x", "blockIdx.y"), (0, None)),
                "blockIdx.z": (0, 0), "M": (1, None), "N": (1, None), "K": (0, None),
            },
            grid=((var("N") + bn - 1) // bn, (var("M") + bm - 1) // bm, aff(1)),
            context=() if self.guarded else (("M", bm), ("N", bn), ("K", bk)),
            body=body,
            about="C = A @ B",
        )  # fmt: skip
