"""What differs between the targets' matrices of kernels: macro-MMAs, tiles, rings, element types, limits; as data.

Everything else, idioms, layouts, splits of K and how they take turns, is in `combinations.py`, the same for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Tile = tuple[int, int, int]
KB = 1024


@dataclass(frozen=True)
class Family:
    """What the kernels of a target's matrix are drawn from.

    Parameters
    ----------
    target : its name.
    macros : macro-MMA -> its shape.
    tiles : block tile and warp tile.
    buffers : how many buffers of shared memory an operand has.
    dtypes : element types, in turn.
    groups : heights of groups of blocks, in turn; None: the target's default.
    skipped : of every so many pairs of macro-MMA and split of K one is left out; 0: none.
    shared, threads, registers, block_registers : the limits, for a rough estimate of what fits.
    ahead : registers of fragments that are held at once.
    copies : whether copies go past the registers, but for those of prologues.
    """

    target: str
    macros: Mapping[str, Tile] = field(hash=False)
    tiles: tuple[tuple[Tile, Tile], ...]
    buffers: tuple[int, ...]
    shared: int
    dtypes: tuple[str, ...] = ("float16",)
    groups: tuple[int | None, ...] = (None,)
    skipped: int = 0
    threads: int = 1024
    registers: int = 255
    block_registers: int = 65536
    ahead: int = 1
    copies: bool = False

    def fits(
        self, block: Tile, warp: Tile, macro: str, split_k: int, buffers: int = 1, results: int = 1, loads: int = 1
    ) -> bool:
        """Whether threads, shared memory and registers suffice; a rough estimate, on the safe side.

        Parameters
        ----------
        results : accumulators that a thread holds at the same time.
        loads : matrices that are on their way in registers for one operand, at most.
        """
        shape = self.macros[macro]
        if any(w % s for w, s in zip(warp, shape)):
            return False
        warps = split_k * (block[0] // warp[0]) * (block[1] // warp[1])
        exchange = warps * shape[0] * shape[1] * 4
        shared = 2 * buffers * split_k * block[2] * (block[0] + block[1]) + exchange
        staged = 4 * sum(-(-side * block[2] * split_k // 8 // (32 * warps)) for side in block[:2])
        fragments = self.ahead * (warp[0] + warp[1]) // 4
        registers = results * warp[0] * warp[1] // 32 + fragments + loads * staged + 32
        return (
            32 * warps <= self.threads
            and shared <= self.shared
            and registers <= self.registers
            and 32 * warps * registers <= self.block_registers
        )


VOLTA = Family(
    target="sm_70",
    macros={"m16n16k8": (16, 16, 8), "m32n32k8": (32, 32, 8)},
    tiles=(
        ((128, 128, 32), (64, 64, 32)),
        ((64, 64, 32), (32, 32, 32)),
        ((64, 128, 32), (32, 64, 32)),
        ((128, 64, 16), (64, 32, 16)),
        ((32, 32, 64), (32, 32, 64)),
        ((256, 64, 32), (64, 64, 32)),
        ((64, 64, 64), (32, 32, 64)),
        ((32, 64, 16), (32, 32, 16)),
        ((128, 32, 32), (32, 32, 32)),
        ((64, 256, 16), (32, 64, 16)),
        ((32, 32, 16), (32, 32, 16)),
        ((32, 32, 128), (32, 32, 128)),
        ((16, 64, 32), (16, 32, 32)),
        ((16, 16, 64), (16, 16, 64)),
        ((64, 16, 16), (16, 16, 16)),
        ((96, 48, 24), (48, 48, 24)),
    ),
    buffers=(1, 2),
    shared=96 * KB,
)
LATER_TILES = (
    ((128, 128, 64), (64, 64, 64)),
    ((64, 64, 32), (32, 32, 32)),
    ((128, 128, 32), (64, 64, 32)),
    ((64, 128, 32), (32, 64, 32)),
    ((64, 64, 64), (32, 32, 64)),
    ((256, 128, 32), (64, 64, 32)),
    ((128, 64, 16), (64, 32, 16)),
    ((32, 32, 64), (32, 32, 64)),
    ((128, 256, 64), (64, 64, 64)),
    ((32, 64, 16), (16, 32, 16)),
    ((128, 32, 32), (32, 32, 32)),
    ((64, 256, 32), (32, 64, 32)),
    ((32, 32, 128), (16, 32, 128)),
    ((16, 64, 32), (16, 32, 32)),
    ((96, 64, 48), (48, 32, 48)),
    ((16, 32, 16), (16, 32, 16)),
    ((16, 16, 64), (16, 16, 64)),
    ((64, 16, 16), (16, 16, 16)),
    ((32, 48, 32), (16, 16, 32)),
)
"""The last three for macro-MMAs of 16 columns alone; a depth of 48 has three strips, one of 16 one or two."""
TURING = Family(
    target="sm_75",
    macros={"m16n32k16": (16, 32, 16), "m16n16k16": (16, 16, 16)},
    tiles=LATER_TILES,
    buffers=(1, 2),
    shared=64 * KB,
    ahead=2,
)
AMPERE = Family(
    target="sm_80",
    macros={"m16n32k16": (16, 32, 16), "m16n16k16": (16, 16, 16), "m16n16k8": (16, 16, 8)},
    tiles=LATER_TILES,
    buffers=(3, 2, 4, 1, 5, 8),
    shared=163 * KB,
    dtypes=("float16", "bfloat16"),
    groups=(None, 1, 3),
    skipped=3,
    ahead=2,
    copies=True,
)
FAMILIES = {f.target: f for f in (VOLTA, TURING, AMPERE)}
