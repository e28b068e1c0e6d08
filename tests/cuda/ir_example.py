"""A kernel written by hand in the kernel IR: C = A @ B, software-pipelined over k.

A (M, K) row-major, B (K, N) column-major, C (M, N) row-major; m16n16k8 fragments. Tiles are swizzled:
a chunk's number within its row is combined, by exclusive-or, with bits of the row (A) or column (B).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from polyvolta.cuda.index_map import IndexMap
from polyvolta.cuda.kernel_ir import (
    CHUNK,
    Barrier,
    Element,
    Exchange,
    FragmentLoad,
    GlobalLoad,
    GlobalTensor,
    KernelIR,
    Loop,
    Mma,
    Op,
    RegisterArray,
    SharedStore,
    SharedTile,
    Stmt,
    StoreAccumulator,
    When,
    Zero,
)
from polyvolta.cuda.macro_mma import m16n16k8
from polyvolta.sets import Aff, aff, var
from polyvolta.sets.aff import xor

LANE, P, ROW, COL, K = (var(n) for n in ("lane", "p", "row", "col", "k"))
BLOCK_X, BLOCK_Y, LINEAR, C2 = (var(n) for n in ("blockIdx.x", "blockIdx.y", "linearId", "c2"))


def swizzle(row: Aff, depth: int) -> Aff:
    """What a tile of `depth` values a row adds, by exclusive-or, to the number of a chunk in its row."""
    chunks = depth // CHUNK
    return row // (8 // chunks) % chunks


def tile_layout(names: tuple[str, str], rows: int, depth: int) -> IndexMap:
    """The swizzled layout of a tile; its chunks run along dimension "k"."""
    row = var(next(n for n in names if n != "k"))
    extents = {str(row): rows, "k": depth}
    chunks = depth // CHUNK
    chunk = chunks * row + xor(K // CHUNK, swizzle(row, depth), (chunks - 1).bit_length())
    return IndexMap(tuple((n, extents[n]) for n in names), (("chunk", chunk),))


def exchange() -> Exchange:
    """Of a 16 x 16 accumulator fragment: lane l gets row l / 2, columns 8 (l mod 2) and on."""

    def slot(chunk: Aff) -> Aff:
        return chunk // 8 * 8 + xor(chunk % 8, chunk // 8 % 2 * 4, 3)

    def word(piece: int) -> Aff:
        row = LANE % 2 + LANE // 4 % 2 * 4 + LANE // 16 * 8 + 2 * piece
        return 2 * slot(2 * row + LANE // 8 % 2) + LANE // 2 % 2

    return Exchange(
        registers=((0, 1, 4, 5), (2, 3, 6, 7)),
        store=IndexMap((("lane", 32),), (("word0", word(0)), ("word1", word(1)))),
        load=IndexMap((("lane", 32),), (("chunk", slot(LANE)),)),
        words=(0, 2, 1, 3),
        owns=IndexMap((("lane", 32),), (("row", LANE // 2), ("col", 8 * (LANE % 2)))),
        chunks=32,
    )


def unrolled(name: str, count: int, *body: Stmt) -> Loop:
    return Loop(name, (aff(0),), (aff(count - 1),), 1, True, body)


def copies(block: tuple[int, int, int], threads: int) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...]]:
    """The copies of the next k tile, cyclic over the threads: global memory to registers, those to tiles."""
    bm, bn, bk = block
    loads, stores = [], []
    for name, rows, origin in (("A", bm, bm * BLOCK_Y), ("B", bn, bn * BLOCK_X)):
        chunk = LINEAR + threads * var("c5")
        row, k = chunk // (bk // CHUNK), CHUNK * (chunk % (bk // CHUNK))
        to = 1 if name == "A" else -1  # dimension order: (row, k) or (k, column)
        there = (origin + row, bk * C2 + bk + k)[::to]
        part = Element(f"private_{name}", (var("c5"),))
        count = rows * bk // CHUNK // threads
        loads.append(unrolled("c5", count, GlobalLoad(part, name, there, f"load_{name}")))
        stores.append(unrolled("c5", count, SharedStore(part, f"shared_{name}", (row, k)[::to], f"store_{name}")))
    return tuple(loads), tuple(stores)


def matmul_ir(block: tuple[int, int, int] = (32, 32, 16), warp: tuple[int, int] = (32, 32)) -> KernelIR:
    """The kernel for a block tile (m, n, k) and a warp tile (m, n)."""
    (bm, bn, bk), (wm, wn) = block, warp
    across, macro = bn // wn, m16n16k8()
    threads = bm // wm * across * 32
    a, b = (Element(f"hmma_{n}", (var("c11"),)) for n in "AB")
    acc = Element("hmma_C", (var("c9"), var("c10")))
    warp_row, warp_col = wm * var("warpIdx_y"), wn * var("warpIdx_x")
    strip = 8 * var("c8")
    fragments = (
        unrolled("c11", wm // 16, FragmentLoad(
            a, "shared_A", (warp_row + 16 * var("c11"), strip), "a", macro.a, "fragment_A")),
        unrolled("c11", wn // 16, FragmentLoad(
            b, "shared_B", (strip, warp_col + 16 * var("c11")), "b", macro.b, "fragment_B")),
    )  # fmt: skip
    mma = Mma(acc, replace(a, index=(var("c9"),)), replace(b, index=(var("c10"),)), macro, "mma")

    def each(*body: Stmt) -> Loop:
        return unrolled("c9", wm // 16, unrolled("c10", wn // 16, *body))

    at = (bm * BLOCK_Y + warp_row + 16 * var("c9"), bn * BLOCK_X + warp_col + 16 * var("c10"))
    load, store = copies(block, threads)
    more = (var("K") - bk * C2 - 2 * bk,)
    pipeline = (
        When(more, load),
        When((C2,), (unrolled("c8", bk // 8, *fragments, each(mma)),)),
        When(more, (Barrier("before"), *store, Barrier("after"))),
    )
    return KernelIR(
        name="kern0",
        sizes=("M", "N", "K"),
        tensors=(
            GlobalTensor("A", ("M", "K"), (0, 1)),
            GlobalTensor("B", ("K", "N"), (1, 0)),
            GlobalTensor("C", ("M", "N"), (0, 1), written=True),
        ),
        tiles=(
            SharedTile("shared_A", bm * bk // CHUNK, tile_layout(("row", "k"), bm, bk), "A"),
            SharedTile("shared_B", bn * bk // CHUNK, tile_layout(("k", "col"), bn, bk), "B"),
            SharedTile("exchange", threads, None, "C"),
        ),
        registers=(
            RegisterArray("private_A", "half8", (bm * bk // CHUNK // threads,)),
            RegisterArray("private_B", "half8", (bn * bk // CHUNK // threads,)),
            RegisterArray("hmma_A", "half8", (wm // 16,)),
            RegisterArray("hmma_B", "half8", (wn // 16,)),
            RegisterArray("hmma_C", "float8", (wm // 16, wn // 16)),
        ),
        threads=threads,
        derived=(
            ("lane", LINEAR % 32),
            ("warp", LINEAR // 32),
            ("warpIdx_x", var("warp") % across),
            ("warpIdx_y", var("warp") // across),
        ),
        ranges={"linearId": (0, threads - 1), "lane": (0, 31), "warp": (0, threads // 32 - 1)},
        grid=(var("N") // bn, var("M") // bm, aff(1)),
        context=(("M", bm), ("N", bn), ("K", bk)),
        body=(
            each(Zero(acc, "zero")),
            Loop("c2", (aff(-1),), (var("K") // bk - 1,), 1, False, pipeline),
            each(StoreAccumulator(acc, "C", at, "exchange", exchange(), "store_C")),
        ),
    )


def rewritten(ir: KernelIR, change: Callable[[Op], Stmt | None]) -> KernelIR:
    """The kernel with every operation replaced by `change` of it; None drops it."""

    def visit(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        new = [replace(s, body=visit(s.body)) if isinstance(s, Loop | When) else change(s) for s in body]
        return tuple(s for s in new if s is not None)

    return replace(ir, body=visit(ir.body))


def problem(sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    """Fresh random operands (row-major A, column-major B) and an output full of NaNs."""
    rng = np.random.default_rng(seed)
    m, n, k = (sizes[s] for s in "MNK")
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))
    return {"A": a, "B": np.asfortranarray(b), "C": np.full((m, n), np.nan, np.float16)}


def relative_error(tensors: dict[str, np.ndarray]) -> float:
    """The relative L2 error of C against A @ B in float64; NaN if any element of C is."""
    exact = tensors["A"].astype(np.float64) @ tensors["B"].astype(np.float64)
    return float(np.linalg.norm(tensors["C"].astype(np.float64) - exact) / np.linalg.norm(exact))
