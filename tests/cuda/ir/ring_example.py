"""Kernels written by hand for Ampere: C = A @ B through a ring of k tiles in shared memory, for any sizes.

Asynchronous copies fill slot t mod S with k tile t, S - 1 tiles ahead; `ldmatrix` brings fragments of m16n16k16. One
barrier a tile: it comes after the wait, so that all threads' copies of the tile have arrived, and before the copies
of the next tile, whose slot everybody has read by then. A and B in any layout, C row-major; tiles are swizzled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from polyvolta.cuda.ir.kernel_ir import Barrier, CommitCopies, KernelIR, Loop, Stmt, WaitCopies, When
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.sets import aff, var
from tests.cuda.ring_parts import C2, C8, Blocked, unrolled

ORIGINS = {"A": ("M", "blockIdx.y", 0), "B": ("N", "blockIdx.x", 1)}

TURN = IndexMap((("lane", 32),), (("first", var("lane") // 8),))
"""The piece that a lane's copies begin with."""


def ring_ir(
    block: tuple[int, int, int] = (32, 32, 32),
    warp: tuple[int, int] = (16, 32),
    *,
    versions: bool = False,
    sets: int = 1,
    turn: IndexMap | None = TURN,
    **more: object,
) -> KernelIR:
    """The kernel for a block tile (m, n, k) and a warp tile (m, n).

    Parameters
    ----------
    versions : copies of full tiles are told apart from those of partial ones.
    sets : of fragments; with two of them they are loaded a strip ahead of their products.
    turn, more : of a `Blocked`.
    """
    made = Blocked(block, warp, turn=turn, **more)
    stages, steps, strips = made.stages, made.tiles, made.strips
    copies = tuple(stmt for side in "AB" for stmt in _copies(made, side, versions))
    waits = (WaitCopies(stages - 2, "wait"), Barrier(statement="sync"))
    next_tile = When((steps - C2 - stages,), copies), CommitCopies("commit")
    now = unrolled("c8", strips, *made.fragments(C2, C8, aff(0)), made.products(aff(0)))
    trip: tuple[Stmt, ...] = (When((C2,), waits), *next_tile, When((C2,), (now,)))
    if sets == 2:
        first = C8 - strips + 1  # of the next tile, in the last strip's trip
        ahead = unrolled(
            "c8", strips,
            When((first, C2 + 1), waits),
            When((-C8,), next_tile),
            When((strips - 2 - C8, C2), made.fragments(C2, C8 + 1, (C8 + 1) % 2)),
            When((first, C2 + 1, steps - C2 - 2), made.fragments(C2 + 1, first, first % 2)),
            When((C2,), (made.products(C8 % 2),)),
        )  # fmt: skip
        trip = (ahead,)
    loop = Loop("c2", (aff(1 - stages),), (steps - 1,), 1, False, trip)
    return made.kernel(made.zeros(), loop, made.stores(), sets=sets, first=1 - stages)


def _copies(made: Blocked, side: str, versions: bool) -> tuple[Stmt, ...]:
    """The copies of a side's next tile."""
    part = made.copy(side, C2 + made.stages - 1)
    if not versions:
        return (part,)
    size, axis, own = ORIGINS[side]
    full = replace(part, body=tuple(op.unguarded() for op in part.body))
    inside = (
        var(size) - made.extents(side)[own] * (var(axis) + 1),
        var("K") - made.block[2] * (C2 + made.stages),
    )
    return (When(inside, (full,), orelse=(part,)),)


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
