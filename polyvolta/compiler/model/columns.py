"""Tilings as columns of numbers, so that thousands of them are weighed at once.

All that the model asks of a tiling, whatever the sizes: by rows and columns of the macro-MMA, so that `swap` is seen
no more, but for which of the result's sides is which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from polyvolta.compiler.tiling import PARTS, reserved
from polyvolta.cuda.target.boxes import SWIZZLES
from polyvolta.cuda.target.descriptors import InShared
from polyvolta.cuda.target.instruction import LANES
from polyvolta.cuda.target.warpgroup import WarpgroupMma

if TYPE_CHECKING:
    from polyvolta.compiler.needs import Needs
    from polyvolta.compiler.tiling import Tiling
    from polyvolta.cuda.target.macro_mma import Composition
    from polyvolta.cuda.target.target import Target

Array = np.ndarray[Any, Any]
MOST_THREADS = 2048
"""Of a multiprocessor."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Tilings whose macro-MMAs are of one scope: a value for each in every column.

    Parameters
    ----------
    tilings : what the columns are of.
    scope : who makes a product together: "warp", "warpgroup", "quad-pair".
    rows, cols, depth : of what a block computes in one step, by the macro-MMA's rows and columns.
    read : bytes of shared memory that products of one step read.
    makers : warps, or warpgroups, that multiply at one tile.
    pieces : of a maker's result, that are stored one by one; of warps none are.
    turns : 2 where two of them take turns at tiles, else 1.
    parts : blocks that split K.
    group : rows of blocks, or of clusters, that go together.
    high, wide : blocks of a cluster along the rows, and along the columns.
    buffers, ahead : of the ring, and how many tiles copies run ahead.
    beside : blocks that share a multiprocessor.
    strips : of a k tile, where an operand is computed in registers: one for each set of these.
    persistent, swap : 1 or 0.
    boxed : 1 where matrices that an epilogue reads come in boxes, 0 where threads load them.
    """

    tilings: tuple[Tiling, ...]
    scope: str
    rows: Array
    cols: Array
    depth: Array
    read: Array
    makers: Array
    pieces: Array
    turns: Array
    parts: Array
    group: Array
    high: Array
    wide: Array
    buffers: Array
    ahead: Array
    beside: Array
    strips: Array
    persistent: Array
    swap: Array
    boxed: Array

    def __len__(self) -> int:
        return len(self.tilings)

    def take(self, which: Sequence[int] | Array) -> Columns:
        """Some of them, in that order; any of them may come several times."""
        where = np.asarray(which, int)
        columns = (getattr(self, f.name)[where] for f in fields(self)[2:])
        return Columns(tuple(self.tilings[i] for i in where), self.scope, *columns)


def columns_of(tilings: Sequence[Tiling], needs: Needs, target: Target) -> list[Columns]:
    """Legal tilings as columns, those of each scope apart.

    Cost: some 10 µs for each.
    """
    found: dict[str, list[tuple[Tiling, tuple[int, ...]]]] = {}
    for tiling in tilings:
        macro = target.macro_mma(tiling.macro_mma)
        scope = macro.instructions[0].scope.name
        found.setdefault(scope, []).append((tiling, _row(tiling, macro, needs, target)))
    return [Columns(tuple(t for t, _ in rows), scope, *np.array([row for _, row in rows], float).T)
            for scope, rows in found.items()]  # fmt: skip


def _row(tiling: Tiling, macro: Composition | WarpgroupMma, needs: Needs, target: Target) -> tuple[int, ...]:
    """The values of a tiling, in the order of `Columns`."""
    own = tiling.mapped
    m, n, k = own.block_tile
    of_blocks = isinstance(macro, WarpgroupMma)
    parts = tiling.split_k if of_blocks else 1
    depth = k if of_blocks else own.step[2]
    makers = prod(own.warps[:2]) * (1 if of_blocks else tiling.split_k)
    high, wide = own.cluster
    return (
        m, n, depth, _read(own, macro) * makers, makers, _pieces(own, macro), 2 if tiling.pingpong else 1, parts,
        -(-tiling.group // high), high, wide, tiling.buffers, tiling.prefetch,
        _beside(tiling, needs, target), tiling.fragments, tiling.persistent, tiling.swap,
        of_blocks and tiling.boxes_operands(needs, target),
    )  # fmt: skip


def _read(tiling: Tiling, macro: Composition | WarpgroupMma) -> int:
    """Bytes of shared memory that one maker's products read in a step.

    A warp loads its fragments, once for all products of a strip that have them; a warpgroup's instructions read both
    operands, or one, where they lie.
    """
    (m, n, depth), (mm, mn, mk) = tiling.warp_tile, macro.shape
    strips = depth // mk
    if isinstance(macro, WarpgroupMma):
        instruction = macro.instructions[0]
        sides = (mm if isinstance(instruction.a, InShared) else 0) + (mn if isinstance(instruction.b, InShared) else 0)
        return 2 * strips * (m // mm) * (n // mn) * sides * mk
    a, b, _ = macro.values
    return 2 * strips * LANES * (m // mm * a + n // mn * b)


def _pieces(tiling: Tiling, macro: Composition | WarpgroupMma) -> int:
    """Boxes in which a warpgroup's result is stored: of the widest swizzle's span that divides its columns."""
    if not isinstance(macro, WarpgroupMma):
        return 0
    (rows, _, _), (m, n, _) = macro.shape, tiling.warp_tile
    width = next((s.values for s in SWIZZLES if macro.shape[1] % s.values == 0), n)
    return m // rows * (n // width)


def _beside(tiling: Tiling, needs: Needs, target: Target) -> int:
    """Blocks that a multiprocessor has room for: of persistent ones as many as are launched."""
    if tiling.persistent:
        return tiling.occupancy
    own = reserved(target)
    shared = (target.shared_bytes + own) // (tiling.shared_bytes(needs, target) + own)
    threads = -(-tiling.threads_on(target) // (PARTS * LANES)) * PARTS * LANES
    each = min(target.registers, tiling.registers(needs, target) + _spare(needs, target))
    registers = target.block_registers // (threads * (-(-each // 8) * 8))
    return max(tiling.occupancy, min(shared, registers, MOST_THREADS // threads))


def _spare(needs: Needs, target: Target) -> int:
    """Registers that the compiler needs beside those of values, about."""
    return target.spare_registers(len(needs.loads), max(map(sum, needs.prologues)), needs.functions, needs.across)
