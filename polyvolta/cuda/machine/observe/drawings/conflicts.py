"""The access to shared memory with the worst bank conflict: its tile, its lanes and its banks.

Where nothing conflicts it is the access that is made most often.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polyvolta.cuda.ir.kernel_ir import CHUNK_BYTES, KernelIR, Op
from polyvolta.cuda.machine.observe.bank_conflicts import BankRow
from polyvolta.cuda.machine.observe.observer import cuda
from polyvolta.cuda.machine.reach import WarpAccess
from polyvolta.cuda.pictures.banks import tile_access
from polyvolta.cuda.pictures.svg import Svg
from polyvolta.cuda.pictures.warp_access import Taken


def draw_conflicts(ir: KernelIR, rows: Sequence[BankRow], run: str) -> Svg:
    """See the module.

    Parameters
    ----------
    ir : the kernel that ran.
    rows : at least one.
    run : the sizes, in words.
    """
    row = max(rows, key=lambda r: (r.worst, r.extra, r.accesses))
    tile, example, op = ir.tile(row.array), row.example, row.place.stmt
    assert isinstance(op, Op)
    reached = np.array(example.reached)
    active = reached >= 0
    size = tile.chunks * CHUNK_BYTES
    inside = reached - tile.start * CHUNK_BYTES  # counted from the start of all buffers
    buffer = int(inside[active][0]) // size
    access = WarpAccess("shared", row.kind, row.array, reached.reshape(1, 1, -1), row.width, active.reshape(1, 1, -1))
    taken = Taken(
        op, access, example.warp, example.access, example.accesses, example.loops,
        np.where(active, inside - buffer * size, -row.width), buffer,
    )  # fmt: skip
    instead = f" instead of {row.ideal:,}" if row.extra else ""
    here = f"Block {example.block}; line {row.place.line}: {cuda(row.place)}"
    whole = f"{run}: {row.accesses:,} such accesses, {row.served:,} phases served{instead}"
    return tile_access(ir, tile, taken, True, here, whole)
