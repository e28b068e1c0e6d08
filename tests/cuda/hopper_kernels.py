"""Kernels written by hand for Hopper: C = A @ B by warpgroups, out of a ring that a producer warp fills.

The warps of each of W warpgroups multiply, the last warp's lane 0 has boxes of A and B copied to a ring of S slots. Two
rows of barriers go between them: phase p of `full[s]` is complete when the boxes of the p-th tile in slot s have come,
phase p of `empty[s]` when all warpgroups have read that tile. A warpgroup releases a tile when the products of the next
one are issued and its own are done; with a single slot it waits for them first.

The result goes to memory by an exchange in each warp: the accumulators' rows of a warp are a fragment of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

from polyvolta.cuda.ir.kernel_ir import (
    CHUNK,
    CHUNK_BYTES,
    Arrive,
    Await,
    Barrier,
    BoxCopy,
    BoxMap,
    Element,
    ExchangeLoad,
    ExchangeStore,
    GlobalStore,
    GlobalTensor,
    InitBarriers,
    KernelIR,
    Loop,
    Phase,
    PhaseBarriers,
    RegisterArray,
    Role,
    Roles,
    SharedOperand,
    SharedTile,
    Stmt,
    Wgmma,
    WgmmaCommit,
    WgmmaFence,
    WgmmaWait,
    When,
    Zero,
)
from polyvolta.cuda.layouts.boxes import OperandBoxes, plan_boxes
from polyvolta.cuda.layouts.exchange import plan_exchange
from polyvolta.cuda.target.boxes import Swizzle
from polyvolta.cuda.target.instruction import LANE, I, owned
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.cuda.target.warpgroup import WGMMA
from polyvolta.sets import Aff, aff, var

WARPS = 4  # of a warpgroup
ROWS, DEPTH = 64, 16  # of its product, m64nNk16
T, WARP, LINEAR, ROUND, PART = (var(n) for n in ("t", "warp", "linearId", "round", "part"))
ORDERS = {"row": (0, 1), "col": (1, 0)}


def of_warp(macro: MacroMma) -> MacroMma:
    """The rows of a product that a warp has, as a fragment: its accumulators, whatever A and B are."""
    _, n, k = macro.shape
    row, col = macro.d.at(LANE, I)  # of the first warp
    d = owned(macro.values[2], row=row, col=col)
    a, b = owned(k // 2, row=LANE // 2, k=k // 2 * (LANE % 2) + I), owned(n // 2, k=LANE // 2, col=I)
    return MacroMma(f"m{ROWS // WARPS}n{n}k{k}", (ROWS // WARPS, n, k), macro.instruction, a, b, d, ())


@dataclass(frozen=True, slots=True)
class Operand:
    """A or B: its plan, and where it is in the block's shared memory and in the grid."""

    name: str
    boxes: OperandBoxes
    axis: str
    start: int

    @property
    def size(self) -> int:
        """Rows or columns of the tile."""
        return self.boxes.size[self.own]

    @property
    def own(self) -> int:
        """The dimension that isn't k."""
        return "AB".index(self.name)

    def tile(self, stages: int) -> SharedTile:
        b = self.boxes
        return SharedTile(f"shared_{self.name}", self.start, b.chunks, b.layout, b.order, stages)

    def copies(self, depth: int, tile: Aff, slot: Aff, phase: Phase) -> tuple[Stmt, ...]:
        """All boxes of a k tile."""
        base = [depth * tile, depth * tile]
        base[self.own] = self.size * var(self.axis)
        return tuple(
            BoxCopy(f"map_{self.name}", tuple(x + at for x, at in zip(base, box.at, strict=True)),
                    f"shared_{self.name}", tuple(map(aff, box.at)), phase, slot, f"box_{self.name}")
            for box in self.boxes.boxes
        )  # fmt: skip

    def read(self, part: Aff, step: int, slot: Aff) -> SharedOperand:
        """What a product reads: its rows or columns are the part-th of the tile, its k the step-th."""
        origin = [aff(DEPTH * step), aff(DEPTH * step)]
        origin[self.own] = self.boxes.extent * part
        (start,) = self.boxes.start.at(part, step)
        return SharedOperand(f"shared_{self.name}", tuple(origin), start, self.boxes.descriptor, slot)


def ring_of(row: str, stages: int, tile: Aff, behind: int = 0) -> Phase:
    """The phase of a tile's slot in a row of barriers; `behind` phases before."""
    return Phase(row, tile % stages, tile // stages - behind)


def unrolled(name: str, count: int, *body: Stmt) -> Loop:
    return Loop(name, (aff(0),), (aff(count - 1),), 1, True, body)


def product(
    stages: int = 3,
    warpgroups: int = 1,
    block: tuple[int, int, int] = (64, 64, 64),
    layouts: tuple[str, str, str] = ("row", "col", "row"),
    swizzles: tuple[Swizzle | None, Swizzle | None] = (None, None),
    align: int = CHUNK,
    reuse: bool = False,
) -> KernelIR:
    """The kernel for a block tile (m, n, k), m a multiple of 64 times the warpgroups, n one of 16, k one of 16.

    Parameters
    ----------
    stages : slots of the ring.
    layouts : of A, B and C.
    swizzles : of A and B; None: the widest that fits.
    align : of C, whose values are stored in accesses of so many.
    reuse : the exchange is where the ring was; a barrier of the role stands between.
    """
    bm, bn, bk = block
    parts = bm // (ROWS * warpgroups)
    orders = tuple(ORDERS[x] for x in layouts)
    macro, depth = WGMMA.of(bn).of(*layouts[:2]), bk // DEPTH
    plan_a = plan_boxes("a", ("row", "k"), (bm, bk), orders[0], ROWS, swizzle=swizzles[0])
    plan_b = plan_boxes("b", ("k", "col"), (bk, bn), orders[1], bn, swizzle=swizzles[1])
    pattern = max(plan_a.align, plan_b.align)
    a = Operand("A", plan_a, "blockIdx.y", 0)
    b = Operand("B", plan_b, "blockIdx.x", -(-stages * plan_a.chunks // pattern) * pattern)
    ring = b.start + stages * plan_b.chunks
    exchange = plan_exchange(of_warp(macro), "half", orders[2])
    buffer = SharedTile("exchange", 0 if reuse else ring, WARPS * warpgroups * exchange.chunks)
    start = max(ring, buffer.start + buffer.chunks)
    full = PhaseBarriers("full", start, stages, 1)
    empty = PhaseBarriers("empty", start + full.bytes // CHUNK_BYTES, stages, warpgroups)

    tiles = (var("K") + bk - 1) // bk
    slot, arrived = T % stages, ring_of("full", stages, T)
    fill = (
        Await(ring_of("empty", stages, T, 1), "free"),
        Arrive(arrived, plan_a.bytes + plan_b.bytes, "expect"),
        *a.copies(bk, T, slot, arrived),
        *b.copies(bk, T, slot, arrived),
    )
    every_tile = Loop("t", (aff(0),), (tiles - 1,), 1, False, fill)
    produce = (When((-var("lane"),), (every_tile,), uniform=False),)

    late = min(stages - 1, 1)  # tiles that are released behind the one whose products are issued
    accumulators = Element("acc", (PART,))
    group = LINEAR // (32 * WARPS)
    products = tuple(
        Wgmma((accumulators,), a.read(parts * group + PART, step, slot), b.read(aff(0), step, slot), macro, "product")
        for step in range(depth)
    )
    one_thread = -(LINEAR % (32 * WARPS))
    trip = (
        Await(arrived, "full"),
        WgmmaFence("fence"),
        unrolled("part", parts, *products),
        WgmmaCommit("commit"),
        WgmmaWait(late, "done"),
        When((T - late,), (When((one_thread,), (Arrive(ring_of("empty", stages, T - late), 0, "release"),),
                                uniform=False),)),
    )  # fmt: skip
    run = Element("output", (aff(0),))
    row, col = exchange.owns.at(var("lane"), ROUND)
    place = (
        bm * var("blockIdx.y") + ROWS * (parts * group + PART) + DEPTH * (WARP % WARPS) + row,
        bn * var("blockIdx.x") + col,
    )
    store = (
        ExchangeStore(accumulators, "exchange", WARP, exchange, "exchange_C"),
        Barrier("warp", "wait_C"),
        unrolled(
            "round",
            exchange.rounds,
            ExchangeLoad(run, "exchange", WARP, exchange, ROUND, statement="run_C"),
            GlobalStore(run, "C", place, exchange.along, True, "store_C"),
        ),
        Barrier("warp", "done_C"),
    )
    consume = (
        unrolled("part", parts, Zero(accumulators, "zero")),
        Loop("t", (aff(0),), (tiles - 1,), 1, False, trip),
        WgmmaWait(0, "all_done"),
        *((Barrier("role", "ring_read"),) if reuse else ()),
        unrolled("part", parts, *store),
    )
    warps = WARPS * warpgroups
    roles = Roles((Role("consumer", 0, warps, consume), Role("producer", warps, 1, produce)))
    threads = 32 * (warps + 1)
    return KernelIR(
        name="product",
        sizes=("M", "N", "K"),
        tensors=(
            GlobalTensor("A", ("M", "K"), orders[0]),
            GlobalTensor("B", ("K", "N"), orders[1]),
            GlobalTensor("C", ("M", "N"), orders[2], written=True, align=align),
        ),
        tiles=(a.tile(stages), b.tile(stages), buffer),
        registers=(RegisterArray("acc", "float", (parts,), macro.values[2]), RegisterArray("output", "half", (1,))),
        threads=threads,
        derived=(("lane", LINEAR % 32), ("warp", LINEAR // 32)),
        ranges={
            "linearId": (0, threads - 1), "lane": (0, 31), "warp": (0, warps), "t": (0, None), "part": (0, parts - 1),
            "round": (0, exchange.rounds - 1), "blockIdx.x": (0, None), "blockIdx.y": (0, None), "blockIdx.z": (0, 0),
            "M": (1, None), "N": (1, None), "K": (0, None),
        },
        grid=((var("N") + bn - 1) // bn, (var("M") + bm - 1) // bm, aff(1)),
        body=(
            When((-LINEAR,), (InitBarriers("init"),), uniform=False),
            Barrier(statement="begun"),
            roles,
        ),
        about="C = A @ B",
        barriers=(full, empty),
        maps=(BoxMap("map_A", "A", plan_a.box), BoxMap("map_B", "B", plan_b.box)),
    )  # fmt: skip
