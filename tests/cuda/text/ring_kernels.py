"""Kernels written by hand for chips with `ldmatrix` and asynchronous copies: C = A @ B through a ring of tiles.

Tile number t of A and B lies in slot t mod `stages` of the ring; copies are `stages - 1` tiles ahead of the products,
and fragments one strip, in one of two registers. All pairs of layouts, any alignment; for whole tiles or any size.
"""

from __future__ import annotations

from itertools import product

from polyvolta.cuda.ir.kernel_ir import Barrier, CommitCopies, KernelIR, Loop, WaitCopies, When
from polyvolta.sets import aff
from tests.cuda.ring_parts import C2, C8, Blocked, unrolled


def ring_kernel(
    layouts: tuple[str, str] = ("row", "col"),
    *,
    block: tuple[int, int, int] = (128, 128, 32),
    warp: tuple[int, int] = (64, 64),
    stages: int = 3,
    guarded: bool = False,
    macro: str = "m16n32k16",
    **more: object,
) -> KernelIR:
    """The kernel for layouts of A and B, block tile (m, n, k), warp tile (m, n); the exchange lies over the tiles."""
    made = Blocked(block, warp, stages, layouts, macro, guarded=guarded, **more)
    strips, ahead = made.strips, C2 + stages - 1
    strip, tile = 1 + C8 - strips * ((C8 + 1) // strips), C2 + (C8 + 1) // strips
    pipeline = unrolled(
        "c8", strips,
        When((C8 - (strips - 1),), (WaitCopies(stages - 2, "wait"), Barrier(statement="sync"))),
        When((-C8,), (When((made.tiles - ahead - 1,), (made.copy("A", ahead), made.copy("B", ahead))),
                      CommitCopies("commit"))),
        When((tile,), made.fragments(tile, strip, (C8 + 1) % 2)),
        When((C2,), (made.products(C8 % 2),)),
    )  # fmt: skip
    return made.kernel(
        made.zeros(),
        Loop("c2", (aff(1 - stages),), (made.tiles - 1,), 1, False, (pipeline,)),
        WaitCopies(0, "arrived"),
        Barrier(statement="free"),
        made.stores(),
        sets=2, first=1 - stages, overlaid=True,
    )  # fmt: skip


RINGS = [
    *({"layouts": pair, "guarded": guarded} for pair in product(("row", "col"), repeat=2) for guarded in (False, True)),
    *({"align": align, "guarded": True} for align in (4, 2)),
    {"align": 1, "guarded": True, "warp": (32, 64)},
    {"macro": "m16n16k16", "stages": 4, "block": (128, 128, 64)},
    {"macro": "m16n16k8", "stages": 2, "warp": (32, 64)},
]
"""Arguments of `ring_kernel`: all layouts, guarded and not, alignments, macro-MMAs, stages."""
