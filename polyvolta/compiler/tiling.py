"""How a kernel is tiled, and launched: sixteen values, and what they take of a target.

What a user gives is an `Options` (`options`), in which some values may be missing; the rule of `rule.defaults` compares
whole tilings, and `rule.problems` says what of one doesn't fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from math import prod
from typing import TYPE_CHECKING, Any, Self

from polyvolta.compiler.needs import Needs
from polyvolta.cuda.arch import runs_on
from polyvolta.cuda.build.promotion.makers import makers_of
from polyvolta.cuda.ir.memories import PhaseBarriers
from polyvolta.cuda.target.instruction import LANES
from polyvolta.cuda.target.warpgroup import WarpgroupMma

if TYPE_CHECKING:
    from polyvolta.cuda.target.macro_mma import Composition
    from polyvolta.cuda.target.target import Target

RESERVED = 1024
"""Bytes of a multiprocessor's shared memory that every block on it takes beside its own, from sm_80 on."""
PARTS = 4
"""Of a multiprocessor, each with as many warps and as many registers: nine warps leave each as much as twelve would."""
IN_TURN = 2
"""Warpgroups that take turns at a block's tiles."""
FEWEST_BUFFERS = 2
"""That boxes come to: products read one of them."""
Tile = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Tiling:
    """Values of all options; `Options` says what each means."""

    block_tile: Tile
    warp_tile: Tile
    macro_mma: str
    split_k: int
    buffers: int
    partial: str
    accumulators: str
    prefetch: int
    fragments: int = 1
    group: int = 1
    occupancy: int = 1
    dependent_launch: bool = False
    persistent: bool = False
    pingpong: bool = False
    swap: bool = False
    cluster: tuple[int, int] = (1, 1)

    @property
    def turned(self) -> Self:
        """The tiling of the transposed product, rows and columns the other way round: with `swap` it has the
        macro-MMA's rows along its own, and none.

        >>> made = Tiling((256, 128, 64), (256, 64, 64), "m64n256k16", 1, 4, "guard", "auto", 3, swap=True).turned
        >>> made.block_tile, made.warp_tile, made.swap
        ((128, 256, 64), (64, 256, 64), False)
        """
        block, warp = turned_tile(self.block_tile), turned_tile(self.warp_tile)
        rows, cols = self.cluster
        return replace(self, block_tile=block, warp_tile=warp, swap=not self.swap, cluster=(cols, rows))

    @property
    def mapped(self) -> Self:
        """The tiling by the macro-MMA's rows and columns."""
        return self.turned if self.swap else self

    def extents(self, macro: Composition | WarpgroupMma) -> Tile:
        """Rows, columns and depth of the result that a macro-MMA computes.

        `macro` is one for given layouts; shapes are in elements.

        >>> import polyvolta as pv
        >>> options, target = pv.Options(block_tile=(128, 128, 32), split_k=2), pv.targets["sm_80"]
        >>> options.extents(target.macro_mma(options.macro_mma))
        (16, 16, 8)
        """
        return turned_tile(macro.shape) if self.swap else macro.shape

    @property
    def warps(self) -> tuple[int, int, int]:
        """Parts of a block's tile along its rows, columns and depth, each a warp's: warpIdx_y, warpIdx_x and warpIdx_z
        count them. Of warpgroups, likewise, the parts of the depth are each a block's.

        With `swap` warpIdx_x counts those along the rows.
        """
        return self.block_tile[0] // self.warp_tile[0], self.block_tile[1] // self.warp_tile[1], self.split_k

    def by_blocks(self, target: Target) -> bool:
        """Whether the parts of a split K are blocks of a cluster: those of warpgroups, else warps of a block.

        `target` is whose macro-MMA it is; `UnknownTarget` is raised where it has none of that name.

        >>> import polyvolta as pv
        >>> options, target = pv.Options(block_tile=(128, 128, 32), split_k=2), pv.targets["sm_80"]
        >>> options.by_blocks(target)
        False
        """
        return isinstance(target.macro_mma(self.macro_mma), WarpgroupMma)

    def makers_on(self, target: Target) -> int:
        """Warps of a block that multiply, or warpgroups: in turn, where each has tiles of its own.

        `target` is whose macro-MMA it is.

        >>> import polyvolta as pv
        >>> options, target = pv.Options(block_tile=(128, 128, 32), split_k=2), pv.targets["sm_80"]
        >>> options.makers_on(target)
        8
        """
        if not self.by_blocks(target):
            return prod(self.warps)
        return prod(self.warps[:2]) * (IN_TURN if self.pingpong else 1)

    def threads_on(self, target: Target) -> int:
        """Threads of a block: a warp for each warp tile, or a warpgroup, and then a warp that has tiles brought.

        `target` is whose macro-MMA it is.

        >>> import polyvolta as pv
        >>> options, target = pv.Options(block_tile=(128, 128, 32), split_k=2), pv.targets["sm_80"]
        >>> options.threads_on(target)
        256
        """
        macro = target.macro_mma(self.macro_mma)
        makers = self.makers_on(target)
        return macro.instructions[0].scope.threads * makers + LANES if self.by_blocks(target) else LANES * makers

    @property
    def step(self) -> tuple[int, int, int]:
        """(rows, columns, depth) of what a block computes in one step along K: the block tile, p times as deep."""
        return (*self.block_tile[:2], self.block_tile[2] * self.split_k)

    def tile_bytes(self, target: Target, needs: Needs | None = None) -> int:
        """Shared memory of the operands' tiles, which one loop of products after the other uses.

        Parameters
        ----------
        needs : of the graph; by default a product's.

        In bytes, on `target`.

        >>> import polyvolta as pv
        >>> options, target = pv.Options(block_tile=(128, 128, 32), split_k=2), pv.targets["sm_80"]
        >>> options.tile_bytes(target)
        32768
        """
        needs = needs or A_PRODUCT
        m, n, k = self.block_tile if self.by_blocks(target) else self.step
        lefts = rights = 1
        if self.by_blocks(target):  # products that share tiles have one loop
            loops = needs.turned_loops if self.swap else needs.loops
            lefts, rights = max(x.lefts for x in loops), max(x.rights for x in loops)
            lefts, rights = (rights, lefts) if self.swap else (lefts, rights)
        return 2 * (lefts * m + rights * n) * k * self.buffers

    def exchange_bytes(self, needs: Needs, target: Target) -> int:
        """Shared memory in which warps exchange accumulators: a fragment for each, of 16 bits if only stored.

        In bytes; `needs` are the graph's, on `target`.

        >>> from polyvolta.compiler.tiling import A_PRODUCT
        >>> import polyvolta as pv
        >>> options, target = pv.Options(block_tile=(128, 128, 32), split_k=2), pv.targets["sm_80"]
        >>> options.exchange_bytes(A_PRODUCT, target)
        8192
        """
        if self.by_blocks(target) and self.split_k > 1:
            return 4 * prod(self.block_tile[:2])
        m, n, _ = makers_of(macro := target.macro_mma(self.macro_mma)).result(macro.shape)
        return m * n * (4 if self.split_k > 1 else needs.exchange) * self.makers_on(target)

    def operand_bytes(self, needs: Needs) -> int:
        """Shared memory of a warpgroups' result on its way, if each matrix that its epilogue reads has a place, too,
        and comes in boxes while products are computed: one that lies as an output has that one's; see `pieces_of`.

        In bytes; `needs` are the graph's.

        >>> from polyvolta.compiler.tiling import A_PRODUCT
        >>> import polyvolta as pv
        >>> options = pv.Options(block_tile=(128, 256, 64), warp_tile=(64, 256, 64), macro_mma="m64n256k16")
        >>> options.operand_bytes(A_PRODUCT)
        65536
        """
        across = min(needs.across, needs.matrices)
        places = max(needs.outputs, needs.matrices - across) + across
        return 2 * prod(self.block_tile[:2]) * places * (IN_TURN if self.pingpong else 1)

    def boxes_operands(self, needs: Needs, target: Target) -> bool:
        """Whether there is room for that beside a warpgroups' tiles, and so no thread loads these matrices.

        `needs` are the graph's, on `target`. Parts of a split K leave no room.

        >>> from polyvolta.compiler.tiling import A_PRODUCT
        >>> import polyvolta as pv
        >>> tiles = {"block_tile": (128, 128, 64), "warp_tile": (64, 128, 64), "macro_mma": "m64n128k16"}
        >>> [pv.Options(**tiles, buffers=n).boxes_operands(A_PRODUCT, pv.targets["sm_90a"]) for n in (6, 7)]
        [True, False]
        """
        ring = self.tile_bytes(target, needs) + 3 * PhaseBarriers("", 0, self.buffers, 1).bytes
        return self.split_k == 1 and ring + self.operand_bytes(needs) <= self.shared_limit(target)

    def shared_bytes(self, needs: Needs, target: Target) -> int:
        """Shared memory of a block: tiles and exchange buffer, in one place if both don't fit in what it may have, and
        the next result's tiles don't come while this one's is exchanged.

        In bytes; `needs` are the graph's, on `target`.

        >>> from polyvolta.compiler.tiling import A_PRODUCT
        >>> import polyvolta as pv
        >>> options, target = pv.Options(block_tile=(128, 128, 32), split_k=2), pv.targets["sm_80"]
        >>> options.shared_bytes(A_PRODUCT, target)
        40960
        """
        tiles, exchange = self.tile_bytes(target, needs), self.exchange_bytes(needs, target)
        row = PhaseBarriers("", 0, self.buffers, 1).bytes
        barriers = 2 * row if self.by_blocks(target) else 0  # full ones and empty ones
        both = tiles + exchange + barriers
        return both if both <= self.shared_limit(target) or self.persistent else max(tiles, exchange) + barriers

    def shared_limit(self, target: Target) -> int:
        """Shared memory that a block may have: the target's, or its part of a multiprocessor's that several share.

        In bytes, on `target`.

        >>> import polyvolta as pv
        >>> options, target = pv.Options(block_tile=(128, 128, 32), split_k=2), pv.targets["sm_80"]
        >>> options.shared_limit(target)
        166912
        """
        own = reserved(target)
        part = (target.shared_bytes + own) // self.occupancy - own
        return min(part, target.shared_bytes)

    def registers(self, needs: Needs, target: Target) -> int:
        """32-bit registers that hold values in the main loop: accumulators, sets of fragments of one strip, staged
        copies.

        Of a thread; `needs` are the graph's, on `target`.

        >>> from polyvolta.compiler.tiling import A_PRODUCT
        >>> import polyvolta as pv
        >>> options, target = pv.Options(block_tile=(128, 128, 32), split_k=2), pv.targets["sm_80"]
        >>> options.registers(A_PRODUCT, target)
        144
        """
        if self.swap:
            return self.turned.registers(needs.turned, target)
        macro = target.macro_mma(self.macro_mma)
        if isinstance(macro, WarpgroupMma):
            lanes = macro.instructions[0].scope.threads
            rows, cols = self.warp_tile[:2]
            return needs.accumulators * rows * cols // lanes + self._computed(macro, needs)
        return registers(
            self.block_tile, self.warp_tile, macro, self.split_k, needs, self.fragments, bool(target.copies)
        )

    def _computed(self, macro: WarpgroupMma, needs: Needs) -> int:
        """Registers of operands that warpgroups compute on the way: fragments of the left one, chunks of the right
        one's stage."""
        lanes = macro.instructions[0].scope.threads
        fragments = self.warp_tile[0] * self.block_tile[2] // lanes // 2  # of all strips
        chunks = -(-self.block_tile[1] * self.block_tile[2] // (8 * lanes * prod(self.warps[:2])))
        return max(fragments * x.computed + 4 * chunks * x.rewritten for x in needs.loops)


OPTIONS = tuple(f.name for f in fields(Tiling))
A_PRODUCT = Needs()
"""What a product alone asks for."""


def turned_tile(tile: Tile) -> Tile:
    """A tile with rows and columns the other way round."""
    m, n, k = tile
    return n, m, k


def turned_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options given for a product as those of the transposed one.

    >>> turned_options({"block_tile": (256, 128, 64), "buffers": 3, "swap": True})
    {'block_tile': (128, 256, 64), 'buffers': 3, 'swap': False}
    """
    tiles: dict[str, tuple[int, ...]] = {}
    tiles |= {name: turned_tile(given[name]) for name in ("block_tile", "warp_tile") if name in given}
    if "cluster" in given:
        rows, cols = given["cluster"]
        tiles["cluster"] = cols, rows
    return {**given, **tiles, "swap": not given.get("swap", False)}


def reserved(target: Target) -> int:
    """Bytes of a multiprocessor's shared memory that a block takes beside its own."""
    return RESERVED if runs_on("sm_80", target.name) else 0


def farthest(buffers: int, asynchronous: bool = False) -> int:
    """How many k tiles ahead copies may run at most: a tile's buffer is free when all have read what is in it.

    One buffer is free between two barriers of the block, so that at least the loads to registers run ahead; copies that
    are asynchronous write when they will.

    >>> [farthest(n) for n in (1, 2, 3, 8)], [farthest(n, asynchronous=True) for n in (1, 2, 3, 8)]
    ([1, 1, 2, 7], [0, 1, 2, 7])
    """
    return max(buffers - 1, 0 if asynchronous else 1)


def chunks_of(block: Tile, warp: Tile, split_k: int) -> tuple[int, int]:
    """Chunks of 8 values of a left and of a right operand that a thread brings for a step along K.

    >>> chunks_of((128, 128, 64), (64, 64, 64), 1), chunks_of((64, 64, 64), (64, 64, 64), 4)
    ((8, 8), (16, 16))
    """
    threads = LANES * max(1, block[0] // warp[0]) * max(1, block[1] // warp[1]) * split_k
    rows, cols = (-(-side * block[2] * split_k // 8 // threads) for side in block[:2])
    return rows, cols


def registers(
    block: Tile,
    warp: Tile,
    macro: Composition,
    split_k: int = 1,
    needs: Needs = A_PRODUCT,
    fragments: int = 1,
    asynchronous: bool = False,
) -> int:
    """32-bit registers of a thread: fp32 accumulators, 16-bit fragments of a strip, chunks of these on their way.

    Parameters
    ----------
    fragments : sets of fragments.
    asynchronous : whether tensors that are an operand as they are need no registers on their way.

    >>> from polyvolta.cuda.target.registry import targets
    >>> macro = targets["sm_70"].macro_mma("m16n16k8")
    >>> registers((128, 128, 32), (64, 64, 32), macro)  # 128 of accumulators, 32 of fragments, 32 on their way
    192
    """
    chunks = chunks_of(block, warp, split_k)
    loads = needs.prologues if asynchronous else needs.loads
    copies = max(a * chunks[0] + b * chunks[1] for a, b in loads)
    (m, n, _), (a, b, _) = macro.shape, macro.values
    strip = warp[0] * a // m // 2 + warp[1] * b // n // 2
    return needs.accumulators * warp[0] * warp[1] // LANES + fragments * strip + 4 * copies
