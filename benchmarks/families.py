"""What differs between the targets' matrices of kernels: macro-MMAs, tiles, rings, element types, limits; as data.

Everything else, layouts, splits of K and how they take turns, is in `combinations.py`, the same for all, and idioms
are in `idioms.py`.
Where warpgroups multiply (`Warpgroups`) there is no split of K among warps; what takes turns there are the ways in
which blocks go through the result.
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


@dataclass(frozen=True)
class Warpgroups(Family):
    """What the kernels of a target whose warpgroups multiply are drawn from: those whose tiles come by boxes.

    Parameters
    ----------
    plans : block tile, a warpgroup's tile, and the macro-MMA.
    occupancies : blocks that share a multiprocessor, in turn, where that many fit.
    each : kernels of an idiom in each layout of A, B and the result.
    together : (rows, columns) of the blocks of a cluster, the parts of K that are a block's each, and whether two
        warpgroups take turns; of an idiom there is a kernel for each.
    """

    plans: tuple[tuple[Tile, Tile, str], ...] = ()
    occupancies: tuple[int, ...] = (1,)
    each: int = 3
    together: tuple[tuple[tuple[int, int], int, bool], ...] = ()

    def goes(self, plan: tuple[Tile, Tile, str], cluster: tuple[int, int], parts: int, turns: bool) -> bool:
        """Whether each of a cluster's blocks has whole lines of swizzles to bring, each of those that split K whole
        fragments of columns to add up, and whether warpgroups that take turns have a block's tile each."""
        block, warp, _ = plan
        shared = all(side % (8 * max(cluster)) == 0 for side in block)
        return shared and warp[1] % (16 * parts) == 0 and (not turns or block == warp)

    def plans_of(self, results: int, stage: tuple[int, int]) -> tuple[tuple[Tile, Tile, str], ...]:
        """The plans of which a block has room; parameters as of `shared_by`."""
        return tuple(p for p in self.plans if self.shared_by(p, min(self.buffers), 1, results, stage))

    def shared_by(
        self, plan: tuple[Tile, Tile, str], buffers: int, occupancy: int, results: int = 1,
        stage: tuple[int, int] = (1, 1),
    ) -> bool:  # fmt: skip
        """Whether so many blocks fit in a multiprocessor; a rough estimate, on the safe side.

        Parameters
        ----------
        results : accumulators that a thread holds at the same time.
        stage : tiles of left and of right operands that a k tile has.
        """
        block, warp, macro = plan
        groups = (block[0] // warp[0]) * (block[1] // warp[1])
        pieces = 16 * KB * groups  # of the result, two of 64 x 64 values for each warpgroup
        shared = 2 * buffers * block[2] * (stage[0] * block[0] + stage[1] * block[1]) + pieces + KB
        registers = results * warp[0] * warp[1] // 128 + 32
        lanes = 128 * (groups + 1)  # roles have whole warpgroups of registers
        return (
            occupancy * shared <= self.shared
            and registers <= self.registers
            and occupancy * lanes * registers <= self.block_registers
        )


_WIDTHS = (16, 32, 48, 64, 80, 96, 112, 128, 176, 192, 256)
HOPPER = Warpgroups(
    target="sm_90a",
    macros={f"m64n{n}k16": (64, n, 16) for n in _WIDTHS},
    tiles=(),
    plans=(
        ((128, 128, 64), (64, 128, 64), "m64n128k16"),
        ((64, 64, 64), (64, 64, 64), "m64n64k16"),
        ((128, 256, 64), (64, 256, 64), "m64n256k16"),
        ((64, 48, 32), (64, 48, 32), "m64n48k16"),
        ((192, 64, 64), (64, 64, 64), "m64n64k16"),
        ((128, 80, 64), (64, 80, 64), "m64n80k16"),
        ((64, 16, 64), (64, 16, 64), "m64n16k16"),
        ((128, 64, 128), (128, 64, 128), "m64n64k16"),
        ((64, 96, 16), (64, 96, 16), "m64n96k16"),
        ((128, 192, 64), (64, 192, 64), "m64n192k16"),
        ((64, 128, 64), (64, 64, 64), "m64n64k16"),
        ((192, 128, 32), (64, 128, 32), "m64n128k16"),
        ((64, 128, 128), (64, 128, 128), "m64n64k16"),
        ((128, 32, 64), (64, 32, 64), "m64n32k16"),
        ((128, 128, 32), (64, 64, 32), "m64n64k16"),
        ((64, 256, 64), (64, 256, 64), "m64n256k16"),
        ((64, 176, 32), (64, 176, 32), "m64n176k16"),
        ((256, 128, 64), (128, 128, 64), "m64n128k16"),
        ((64, 112, 64), (64, 112, 64), "m64n112k16"),
    ),
    buffers=(3, 2, 4, 5, 7),
    shared=227 * KB,
    dtypes=("float16", "bfloat16"),
    groups=(None, 1, 3),
    occupancies=(1, 1, 2),
    together=(((2, 1), 1, False), ((1, 1), 2, False), ((1, 2), 1, False), ((1, 1), 1, True), ((2, 2), 1, False),
              ((2, 1), 2, False), ((1, 1), 4, False), ((1, 1), 1, True), ((4, 1), 1, False)),
)
"""All swizzles, by depths of 16, 32 and 64, and boxes side by side where a tile is deeper; one to four warpgroups, in a
row, in a column and in a square; instructions one above the other and side by side; widths that are powers of 2 and
others. The number of plans has no factor in common with that of other things that take turns."""
FAMILIES = {f.target: f for f in (VOLTA, TURING, AMPERE, HOPPER)}
