"""Kernels written by hand in the kernel IR: C = A @ B, software-pipelined over k, for full tiles or any size.

A (M, K) row-major, B (K, N) column-major, C (M, N) row-major; m16n16k8 fragments. Tiles are swizzled:
a chunk's number within its row is combined, by exclusive-or, with bits of the row (A) or column (B).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from polyvolta.cuda.ir.kernel_ir import (
    CHUNK,
    Barrier,
    Element,
    Exchange,
    ExchangeLoad,
    ExchangeStore,
    FragmentLoad,
    GlobalLoad,
    GlobalStore,
    GlobalTensor,
    KernelIR,
    Loop,
    Mma,
    Op,
    RegisterArray,
    Roles,
    SharedStore,
    SharedTile,
    Stmt,
    When,
    Zero,
)
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.sets import Aff, aff, var
from polyvolta.sets.values.aff import xor
from tests.cuda.macros import m16n16k8

LANE, ROUND, ROW, COL, K = (var(n) for n in ("lane", "round", "row", "col", "k"))
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


def exchange(kind: str = "half") -> Exchange:
    """Of a 16 x 16 accumulator fragment: lane l gets row l / 2, columns 8 (l mod 2) and on."""
    inputs = (("lane", 32), ("round", 1))
    owns = IndexMap(inputs, (("row", LANE // 2), ("col", 8 * (LANE % 2))))
    row = LANE % 2 + LANE // 4 % 2 * 4 + LANE // 16 * 8  # of a lane's first values
    if kind == "float":  # row by row, pairs of columns in their places
        pairs = [8 * (row + 2 * down) + 4 * (LANE // 8 % 2) + LANE // 2 % 2 + 2 * right
                 for right in (0, 1) for down in (0, 1)]  # fmt: skip
        return Exchange(
            kind="float",
            pieces=((0, 1), (2, 3), (4, 5), (6, 7)),
            store=IndexMap((("lane", 32),), tuple((f"piece{n}", place) for n, place in enumerate(pairs))),
            load=IndexMap(inputs, (("vector0", 2 * LANE), ("vector1", 2 * LANE + 1))),
            words=tuple(range(8)),
            owns=owns,
            along=1,
            rounds=1,
            chunks=64,
        )

    def slot(chunk: Aff) -> Aff:
        return chunk // 8 * 8 + xor(chunk % 8, chunk // 8 % 2 * 4, 3)

    def place(piece: int) -> Aff:
        return 2 * slot(2 * (row + 2 * piece) + LANE // 8 % 2) + LANE // 2 % 2

    return Exchange(
        kind="half",
        pieces=((0, 1, 4, 5), (2, 3, 6, 7)),
        store=IndexMap((("lane", 32),), (("piece0", place(0)), ("piece1", place(1)))),
        load=IndexMap(inputs, (("vector0", slot(LANE)),)),
        words=(0, 1, 4, 5, 2, 3, 6, 7),
        owns=owns,
        along=1,
        rounds=1,
        chunks=32,
    )


def unrolled(name: str, count: int, *body: Stmt) -> Loop:
    return Loop(name, (aff(0),), (aff(count - 1),), 1, True, body)


def copies(block: tuple[int, int, int], threads: int, guarded: bool) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...]]:
    """The copies of the next k tile, cyclic over the threads: global memory to registers, those to tiles."""
    bm, bn, bk = block
    loads, stores = [], []
    for name, size, rows, origin in (("A", "M", bm, bm * BLOCK_Y), ("B", "N", bn, bn * BLOCK_X)):
        chunk = LINEAR + threads * var("c5")
        row, k = chunk // (bk // CHUNK), CHUNK * (chunk % (bk // CHUNK))
        to = 1 if name == "A" else -1  # dimension order: (row, k) or (k, column)
        there = (origin + row, bk * C2 + bk + k)[::to]
        part = Element(f"private_{name}", (var("c5"),))
        count = rows * bk // CHUNK // threads
        load = GlobalLoad(part, name, there, 1 if name == "A" else 0, statement=f"load_{name}")
        full = unrolled("c5", count, load)
        if guarded:
            inside = (var(size) - origin - rows, var("K") - bk * C2 - 2 * bk)
            full = When(inside, (full,), orelse=(unrolled("c5", count, replace(load, guarded=True)),))
        loads.append(full)
        stores.append(
            unrolled("c5", count, SharedStore(part, f"shared_{name}", (row, k)[::to], statement=f"store_{name}"))
        )
    return tuple(loads), tuple(stores)


def matmul_ir(
    block: tuple[int, int, int] = (32, 32, 16),
    warp: tuple[int, int] = (32, 32),
    *,
    guarded: bool = False,
    kind: str = "half",
    epilogue: tuple[Stmt, ...] = (),
    more_tensors: tuple[GlobalTensor, ...] = (),
    more_registers: tuple[RegisterArray, ...] = (),
    scalars: tuple[str, ...] = (),
) -> KernelIR:
    """The kernel for a block tile (m, n, k) and a warp tile (m, n).

    Parameters
    ----------
    guarded : for any sizes; else for multiples of the block tile.
    kind : of the values in the exchange buffer and in `output`, the registers that are stored.
    epilogue : between the exchange and the store of `output`; names C_ROW and C_COL of a lane's run are `c_index`.
    """
    (bm, bn, bk), (wm, wn) = block, warp
    across, macro = bn // wn, m16n16k8()
    threads = bm // wm * across * 32
    a, b = (Element(f"hmma_{n}", (var("c11"),)) for n in "AB")
    acc, out = Element("hmma_C", (var("c9"), var("c10"))), Element("output", (aff(0),))
    warp_row, warp_col = wm * var("warpIdx_y"), wn * var("warpIdx_x")
    strip = 8 * var("c8")
    fragments = (
        unrolled("c11", wm // 16, FragmentLoad(
            a, "shared_A", (warp_row + 16 * var("c11"), strip), "a", macro.a, statement="fragment_A")),
        unrolled("c11", wn // 16, FragmentLoad(
            b, "shared_B", (strip, warp_col + 16 * var("c11")), "b", macro.b, statement="fragment_B")),
    )  # fmt: skip
    mma = Mma(acc, replace(a, index=(var("c9"),)), replace(b, index=(var("c10"),)), macro, "mma")

    def each(*body: Stmt) -> Loop:
        return unrolled("c9", wm // 16, unrolled("c10", wn // 16, *body))

    ex = exchange(kind)
    full_store = GlobalStore(out, "C", c_index(block, warp), 1, statement="store_C")
    store: Stmt = full_store
    if guarded:
        inside = (var("M") - bm * BLOCK_Y - bm, var("N") - bn * BLOCK_X - bn)
        store = When(inside, (store,), orelse=(replace(full_store, guarded=True),))
    load, to_tiles = copies(block, threads, guarded)
    steps = (var("K") + bk - 1) // bk
    more = (steps - C2 - 2,)
    pipeline = (
        When(more, load),
        When((C2,), (unrolled("c8", bk // 8, *fragments, each(mma)),)),
        When(more, (Barrier(statement="before"), *to_tiles, Barrier(statement="after"))),
    )
    chunks = (bm * bk // CHUNK, bn * bk // CHUNK)
    return KernelIR(
        name="kern0",
        sizes=("M", "N", "K"),
        scalars=scalars,
        tensors=(
            GlobalTensor("A", ("M", "K"), (0, 1)),
            GlobalTensor("B", ("K", "N"), (1, 0)),
            *more_tensors,
            GlobalTensor("C", ("M", "N"), (0, 1), written=True),
        ),
        tiles=(
            SharedTile("shared_A", 0, chunks[0], tile_layout(("row", "k"), bm, bk), (0, 1)),
            SharedTile("shared_B", chunks[0], chunks[1], tile_layout(("k", "col"), bn, bk), (1, 0)),
            SharedTile("exchange", sum(chunks), threads // 32 * ex.chunks),
        ),
        registers=(
            RegisterArray("private_A", "half", (bm * bk // CHUNK // threads,)),
            RegisterArray("private_B", "half", (bn * bk // CHUNK // threads,)),
            RegisterArray("hmma_A", "half", (wm // 16,)),
            RegisterArray("hmma_B", "half", (wn // 16,)),
            RegisterArray("hmma_C", "float", (wm // 16, wn // 16)),
            RegisterArray("output", kind, (1,)),
            *more_registers,
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
            "c2": (-1, None),
        },  # fmt: skip
        grid=((var("N") + bn - 1) // bn, (var("M") + bm - 1) // bm, aff(1)),
        context=() if guarded else (("M", bm), ("N", bn), ("K", bk)),
        body=(
            each(Zero(acc, "zero")),
            Loop("c2", (aff(-1),), (steps - 1,), 1, False, pipeline),
            each(
                ExchangeStore(acc, "exchange", var("warp"), ex, "exchange_C"),
                Barrier("warp", "wait_C"),
                ExchangeLoad(out, "exchange", var("warp"), ex, aff(0), statement="run_C"),
                *epilogue,
                store,
                Barrier("warp", "done_C"),
            ),
        ),
    )


def c_index(block: tuple[int, int, int] = (32, 32, 16), warp: tuple[int, int] = (32, 32)) -> tuple[Aff, Aff]:
    """Row and first column of the run of 8 values that a lane takes of fragment (c9, c10)."""
    row, col = exchange().owns.at(LANE, aff(0))
    return (
        block[0] * BLOCK_Y + warp[0] * var("warpIdx_y") + 16 * var("c9") + row,
        block[1] * BLOCK_X + warp[1] * var("warpIdx_x") + 16 * var("c10") + col,
    )


def rewritten(ir: KernelIR, change: Callable[[Op], Stmt | None]) -> KernelIR:
    """The kernel with every operation replaced by `change` of it; None drops it."""

    def visit(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        new = []
        for s in body:
            if isinstance(s, Loop):
                new.append(replace(s, body=visit(s.body)))
            elif isinstance(s, When):
                new.append(replace(s, body=visit(s.body), orelse=visit(s.orelse)))
            elif isinstance(s, Roles):
                new.append(replace(s, roles=tuple(replace(r, body=visit(r.body)) for r in s.roles)))
            else:
                new.append(change(s))
        return tuple(s for s in new if s is not None)

    return replace(ir, body=visit(ir.body))


def problem(sizes: Mapping[str, int], seed: int) -> dict[str, np.ndarray]:
    """Fresh random operands (row-major A, column-major B) and an output full of NaNs."""
    rng = np.random.default_rng(seed)
    m, n, k = (sizes[s] for s in "MNK")
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))
    return {"A": a, "B": np.asfortranarray(b), "C": np.full((m, n), np.nan, np.float16)}


def relative_error(tensors: Mapping[str, np.ndarray]) -> float:
    """The relative L2 error of C against A @ B in float64; NaN if any element of C is."""
    exact = tensors["A"].astype(np.float64) @ tensors["B"].astype(np.float64)
    return float(np.linalg.norm(tensors["C"].astype(np.float64) - exact) / np.linalg.norm(exact))
