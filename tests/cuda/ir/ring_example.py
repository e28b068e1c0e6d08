"""Kernels written by hand for Ampere: C = A @ B through a ring of k tiles in shared memory, for any sizes.

Asynchronous copies fill slot t mod S with k tile t, S - 1 tiles ahead; `ldmatrix` brings fragments of m16n16k16. One
barrier a tile: it comes after the wait, so that all threads' copies of the tile have arrived, and before the copies
of the next tile, whose slot everybody has read by then. A and B in any layout, C row-major; tiles are swizzled.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

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
from polyvolta.cuda.ir.walk import put
from polyvolta.cuda.target.ampere import SM_80
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.matrix_load import LDMATRIX, lines_of
from polyvolta.sets import Aff, aff, var
from polyvolta.sets.values.aff import xor

LANE, ROUND, C2, LINEAR = (var(n) for n in ("lane", "round", "c2", "linearId"))
ORIGINS = {"A": ("M", "blockIdx.y"), "B": ("N", "blockIdx.x")}


def layout_of(names: tuple[str, str], extents: tuple[int, int], order: tuple[int, int]) -> IndexMap:
    """A swizzled tile: a chunk's number in its line is combined, by exclusive-or, with bits of the line."""
    line, run = (var(names[d]) for d in order)
    chunks = extents[order[1]] // CHUNK
    bits = min(chunks, 8)
    number = xor(run // CHUNK, line // max(8 // chunks, 1) % bits, (chunks - 1).bit_length())
    return IndexMap(tuple(zip(names, extents, strict=True)), (("chunk", chunks * line + number),))


def exchange() -> Exchange:
    """Of a 16 x 16 accumulator fragment of m16n8k16: lane l gets row l / 2, columns 8 (l mod 2) and on."""
    inputs = (("lane", 32), ("round", 1))

    def chunk(row: Aff, half: Aff) -> Aff:
        return 2 * row + xor(half, row // 4 % 2, 1)

    pieces = [4 * chunk(LANE // 4 + 8 * down, aff(half)) + LANE % 4 for half in (0, 1) for down in (0, 1)]
    return Exchange(
        kind="half",
        pieces=((0, 1), (2, 3), (4, 5), (6, 7)),
        store=IndexMap((("lane", 32),), tuple((f"piece{n}", e) for n, e in enumerate(pieces))),
        load=IndexMap(inputs, (("vector0", chunk(LANE // 2, LANE % 2)),)),
        words=tuple(range(8)),
        owns=IndexMap(inputs, (("row", LANE // 2), ("col", 8 * (LANE % 2)))),
        along=1,
        rounds=1,
        chunks=32,
    )


TURN = IndexMap((("lane", 32),), (("first", LANE // 8),))
"""The piece that a lane's copies begin with."""


def unrolled(name: str, count: int, *body: Stmt) -> Loop:
    return Loop(name, (aff(0),), (aff(count - 1),), 1, True, body)


def ring_ir(
    block: tuple[int, int, int] = (32, 32, 32),
    warp: tuple[int, int] = (16, 32),
    *,
    stages: int = 3,
    layouts: tuple[str, str] = ("row", "col"),
    macro: str = "m16n16k16",
    align: int = CHUNK,
    guarded: bool = True,
    versions: bool = False,
    sets: int = 1,
) -> KernelIR:
    """The kernel for a block tile (m, n, k) and a warp tile (m, n), with S = `stages` slots.

    Parameters
    ----------
    layouts : of A and B, "row" or "col" each.
    macro : m16n16k16, or m16n16k8, whose fragments take ldmatrix.x2.
    align : of A and B.
    guarded : for any sizes; else for multiples of the block tile.
    versions : copies of full tiles are told apart from those of partial ones.
    sets : of fragments; with two of them they are loaded a strip ahead of their products.
    """
    (bm, bn, bk), (wm, wn) = block, warp
    across = bn // wn
    threads = bm // wm * across * 32
    made = next(m for m in SM_80.macro_mmas if m.name == macro).of(*layouts)
    depth = made.shape[2]
    tiles = {"A": (("row", "k"), (bm, bk)), "B": (("k", "col"), (bk, bn))}
    orders = {n: (0, 1) if layout == "row" else (1, 0) for n, layout in zip("AB", layouts, strict=True)}
    steps = (var("K") + bk - 1) // bk
    copies: list[Stmt] = []
    loads: list[LoadMatrix] = []
    for name, (_, extents) in tiles.items():
        size, axis = ORIGINS[name]
        line, run = orders[name]
        count = bm * bk // CHUNK // threads if name == "A" else bn * bk // CHUNK // threads
        chunk = LINEAR + threads * var("c5")
        chunks = extents[run] // CHUNK
        place = [aff(0), aff(0)]
        place[line], place[run] = chunk // chunks, CHUNK * (chunk % chunks)
        k, own = (1, 0) if name == "A" else (0, 1)
        index = list(place)
        index[k] = index[k] + bk * (C2 + stages - 1)
        index[own] = index[own] + extents[own] * var(axis)
        slot = (C2 + stages - 1) % stages
        copy = AsyncCopy(name, tuple(index), run, f"shared_{name}", tuple(place), slot, guarded, f"copy_{name}", TURN)
        full = unrolled("c5", count, copy.unguarded())
        inside = (var(size) - extents[own] * (var(axis) + 1), var("K") - bk * (C2 + stages))
        part = unrolled("c5", count, copy)
        copies.append(When(inside, (full,), orelse=(part,)) if versions else part)

        ownership = made.a if name == "A" else made.b
        values = ownership.inputs[1][1]
        each = min(values // 2, 4)
        transposed = layouts["AB".index(name)] != ("row" if name == "A" else "col")
        origin = [aff(0), aff(0)]
        origin[k] = depth * var("c8")
        origin[own] = (wm * var("warpIdx_y") if name == "A" else wn * var("warpIdx_x")) + 16 * var("c11")
        load = LoadMatrix(
            Element(f"hmma_{name}", (var("c8") % sets, var("c11"))), f"shared_{name}", tuple(origin), name.lower(),
            ownership, lines_of(ownership, LDMATRIX, each, transposed), each, transposed, C2 % stages, LDMATRIX,
            f"frag_{name}",
        )  # fmt: skip
        loads.append(load)
    acc, out, ex = Element("hmma_C", (var("c9"), var("c10"))), Element("output", (aff(0),)), exchange()
    a, b = (Element(f"hmma_{name}", (var("c8") % sets, var(at))) for name, at in (("A", "c9"), ("B", "c10")))
    mma = Mma(acc, a, b, made, "mma")

    def fragments(tile: Aff, strip: Aff) -> tuple[Stmt, ...]:
        moved = (put(load, lambda e: e.subs({"c2": tile, "c8": strip})) for load in loads)
        return tuple(unrolled("c11", n // 16, op) for n, op in zip((wm, wn), moved, strict=True))

    def every(*body: Stmt) -> Loop:
        return unrolled("c9", wm // 16, unrolled("c10", wn // 16, *body))

    strips, strip = bk // depth, var("c8")
    waits = (WaitCopies(stages - 2, "wait"), Barrier(statement="sync"))
    next_tile = When((steps - C2 - stages,), tuple(copies)), CommitCopies("commit")
    trip: tuple[Stmt, ...] = (
        When((C2,), waits),
        *next_tile,
        When((C2,), (unrolled("c8", strips, *fragments(C2, strip), every(mma)),)),
    )
    if sets == 2:
        ahead = unrolled(
            "c8", strips,
            When((strip - strips + 1, C2 + 1), waits),
            When((-strip,), next_tile),
            When((strips - 2 - strip, C2), fragments(C2, strip + 1)),
            When((strip - strips + 1, C2 + 1, steps - C2 - 2), fragments(C2 + 1, strip - strips + 1)),
            When((C2,), (every(mma),)),
        )  # fmt: skip
        trip = (ahead,)
    store = (
        bm * var("blockIdx.y") + wm * var("warpIdx_y") + 16 * var("c9") + LANE // 2,
        bn * var("blockIdx.x") + wn * var("warpIdx_x") + 16 * var("c10") + 8 * (LANE % 2),
    )
    chunks = {"A": bm * bk // CHUNK, "B": bn * bk // CHUNK}
    return KernelIR(
        name="ring",
        sizes=("M", "N", "K"),
        tensors=(
            GlobalTensor("A", ("M", "K"), orders["A"], align=align, whole=True),
            GlobalTensor("B", ("K", "N"), orders["B"], align=align, whole=True),
            GlobalTensor("C", ("M", "N"), (0, 1), written=True),
        ),
        tiles=(
            SharedTile("shared_A", 0, chunks["A"], layout_of(*tiles["A"], orders["A"]), orders["A"], stages),
            SharedTile("shared_B", stages * chunks["A"], chunks["B"], layout_of(*tiles["B"], orders["B"]), orders["B"],
                       stages),
            SharedTile("exchange", stages * (chunks["A"] + chunks["B"]), threads // 32 * ex.chunks),
        ),
        registers=(
            RegisterArray("hmma_A", "half", (sets, wm // 16), made.values[0]),
            RegisterArray("hmma_B", "half", (sets, wn // 16), made.values[1]),
            RegisterArray("hmma_C", "float", (wm // 16, wn // 16), made.values[2]),
            RegisterArray("output", "half", (1,)),
        ),
        threads=threads,
        derived=(
            ("lane", LINEAR % 32),
            ("warp", LINEAR // 32),
            ("warpIdx_x", var("warp") % across),
            ("warpIdx_y", var("warp") // across),
        ),
        ranges={
            "linearId": (0, threads - 1),
            "lane": (0, 31),
            "warp": (0, threads // 32 - 1),
            "warpIdx_x": (0, across - 1),
            "warpIdx_y": (0, bm // wm - 1),
            "c2": (1 - stages, None), "c5": (0, None), "c8": (0, None), "c9": (0, None), "c10": (0, None),
            "c11": (0, None), "blockIdx.x": (0, None), "blockIdx.y": (0, None), "blockIdx.z": (0, 0),
            "M": (1, None), "N": (1, None), "K": (0, None),
        },
        grid=((var("N") + bn - 1) // bn, (var("M") + bm - 1) // bm, aff(1)),
        context=() if guarded else (("M", bm), ("N", bn), ("K", bk)),
        body=(
            every(Zero(acc, "zero")),
            Loop("c2", (aff(1 - stages),), (steps - 1,), 1, False, trip),
            every(
                ExchangeStore(acc, "exchange", var("warp"), ex, "exchange_C"),
                Barrier("warp", "wait_C"),
                ExchangeLoad(out, "exchange", var("warp"), ex, aff(0), statement="run_C"),
                GlobalStore(out, "C", store, 1, True, "store_C"),
                Barrier("warp", "done_C"),
            ),
        ),
        about="C = A @ B",
    )  # fmt: skip


def padded(values: np.ndarray, order: tuple[int, int], align: int) -> np.ndarray:
    """The values in memory of their own: next to one another along order[1], lines at multiples of `align` values."""
    line, run = order
    length = -(-values.shape[run] // align) * align
    memory = np.full((values.shape[line], length + align), np.nan, values.dtype)  # what lies between lines is no number
    lines = memory[:, : values.shape[run]]
    lines[...] = values if order == (0, 1) else values.T
    return lines if order == (0, 1) else lines.T


def problem(ir: KernelIR, sizes: Mapping[str, int], seed: int = 0) -> dict[str, np.ndarray]:
    """Operands on a coarse grid, so that sums are exact, and an output full of NaNs."""
    rng = np.random.default_rng(seed)
    made = {}
    for t in ir.tensors:
        shape = tuple(d if isinstance(d, int) else sizes[d] for d in t.dims)
        values = np.full(shape, np.nan) if t.written else rng.integers(-8, 9, shape) / 8
        made[t.name] = padded(values.astype(np.float16), t.order, t.align)
    return made


def exact(tensors: Mapping[str, np.ndarray]) -> np.ndarray:
    """A @ B in float64, rounded to fp16."""
    return (tensors["A"].astype(np.float64) @ tensors["B"].astype(np.float64)).astype(np.float16)
