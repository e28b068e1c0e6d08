"""Options of a compilation, checked on their own, against the macro-MMA and against the target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from polyvolta.sets import PolyvoltaError, nearest

if TYPE_CHECKING:
    from polyvolta.cuda.macro_mma import MacroMma
    from polyvolta.cuda.target import Target


class BadOption(PolyvoltaError, ValueError):
    """An option that does not exist, has no meaning, or that the target cannot serve."""

    id = "PV401"


@dataclass(frozen=True, slots=True, init=False)
class Options:
    """How a kernel is tiled.

    Parameters
    ----------
    block_tile : (rows, columns, depth) of the result tile of a thread block and of one step along K, in elements.
    warp_tile : likewise for a warp; its depth equals the block's. By default see `default_warp_tile`.
    macro_mma : name of the macro-MMA.
    split_k : parts into which a block splits K; 1 is supported.

    Raises
    ------
    BadOption : an unknown option (suggests the nearest), or a value that makes no sense on its own.

    >>> from polyvolta import Options
    >>> Options(block_tile=(64, 64, 32))
    Options(block_tile=(64, 64, 32), warp_tile=(64, 32, 32), macro_mma='m16n16k8', split_k=1)
    """

    block_tile: tuple[int, int, int]
    warp_tile: tuple[int, int, int]
    macro_mma: str
    split_k: int

    def __init__(
        self,
        block_tile: tuple[int, int, int] = (128, 128, 32),
        warp_tile: tuple[int, int, int] | None = None,
        macro_mma: str = "m16n16k8",
        split_k: int = 1,
        **unknown: object,
    ) -> None:
        if unknown:
            name = next(iter(unknown))
            raise BadOption(f"no option is called {name!r}", hint=nearest(name, [f.name for f in fields(type(self))]))
        block = _triple("block_tile", block_tile)
        if warp_tile is None:
            warp_tile = default_warp_tile(block)
        warp = _triple("warp_tile", warp_tile)
        if not isinstance(macro_mma, str):
            raise BadOption(f"macro_mma is a name, not {macro_mma!r}")
        if isinstance(split_k, bool) or not isinstance(split_k, int) or split_k < 1:
            raise BadOption(f"split_k is a positive int, not {split_k!r}")
        for name, value in zip(("block_tile", "warp_tile", "macro_mma", "split_k"), (block, warp, macro_mma, split_k)):
            object.__setattr__(self, name, value)

    @property
    def warps(self) -> tuple[int, int]:
        """Warps along the rows and columns of a block's tile."""
        return self.block_tile[0] // self.warp_tile[0], self.block_tile[1] // self.warp_tile[1]

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps[0] * self.warps[1]

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block: the tiles of A and B, and 512 bytes a warp to exchange accumulators in."""
        m, n, k = self.block_tile
        return 2 * (m + n) * k + 512 * (self.threads // 32)

    def registers(self, macro: MacroMma) -> int:
        """32-bit registers that a thread needs at least: accumulators, operand fragments, staged copies."""
        return registers(self.block_tile, self.warp_tile, macro.shape)

    def check(self, target: Target, macro: MacroMma) -> None:
        """Whether the target can serve these options.

        Raises
        ------
        BadOption : the first problem, with both numbers.
        """
        for problem, hint in self.problems(target, macro):
            raise BadOption(problem, where=repr(self), hint=hint)

    def problems(self, target: Target, macro: MacroMma) -> Iterator[tuple[str, str]]:
        """(problem, hint) for everything that the target or the macro-MMA rules out."""
        if self.split_k != 1:
            yield f"split_k={self.split_k} is not supported, only 1", "leave split_k out"
        for what, big, small, name in (
            ("block_tile", self.block_tile, self.warp_tile, "warp_tile"),
            ("warp_tile", self.warp_tile, macro.shape, f"the macro-MMA {macro.name}"),
        ):
            for axis, b, s in zip("MNK", big, small):
                if b % s:
                    near = max(s, b // s * s)
                    yield (
                        f"{what} is no multiple of {name} along {axis}: {b} and {s}",
                        f"try {near} along {axis}",
                    )
        if self.warp_tile[2] != self.block_tile[2]:
            yield (
                f"block_tile and warp_tile have different depths, {self.block_tile[2]} and {self.warp_tile[2]}",
                "warps share the depth of the block tile",
            )
        limits = (
            ("threads", self.threads, target.threads, "fewer warps: a larger warp_tile"),
            ("bytes of shared memory", self.shared_bytes, target.shared_bytes, "a smaller block_tile"),
            ("registers a thread", self.registers(macro), target.registers, "a smaller warp_tile"),
            (
                "registers a block",
                self.registers(macro) * self.threads,
                target.block_registers,
                "a smaller block_tile",
            ),
        )
        for what, need, limit, hint in limits:
            if need > limit:
                yield f"these tiles need at least {need} {what}, {target.name} has {limit}", f"try {hint}"


def registers(block: tuple[int, int, int], warp: tuple[int, int, int], mma: tuple[int, int, int]) -> int:
    """32-bit registers of a thread: fp32 accumulators, fp16 operand fragments, and chunks on their way."""
    m, n, k = mma
    threads = 32 * (block[0] // warp[0]) * (block[1] // warp[1])
    copies = sum(-(-side * block[2] // 8 // threads) for side in block[:2])
    fragments = (warp[0] // m + warp[1] // n) * (16 * k // 64)
    return warp[0] * warp[1] // 32 + 2 * fragments + 4 * copies


def default_warp_tile(block: tuple[int, int, int]) -> tuple[int, int, int]:
    """The largest warp tile of at most 64x64 that divides the block tile and needs at most 192 registers.

    Ties go to the squarer one. Without any, a 16x16 tile, for `check` to judge.

    >>> default_warp_tile((128, 128, 32)), default_warp_tile((96, 64, 32))
    ((64, 64, 32), (48, 64, 32))
    """
    sides = [[d for d in (64, 48, 32, 16) if side % d == 0] for side in block[:2]]
    tiles = [(m, n, block[2]) for m in sides[0] for n in sides[1]]
    fitting = [t for t in tiles if registers(block, t, (16, 16, 8)) <= 192]
    return max(fitting, key=lambda t: (t[0] * t[1], -abs(t[0] - t[1])), default=(16, 16, block[2]))


def _triple(name: str, value: object) -> tuple[int, int, int]:
    ok = isinstance(value, tuple | list) and len(value) == 3
    if not ok or any(isinstance(v, bool) or not isinstance(v, int) or v <= 0 for v in value):
        raise BadOption(f"{name} is three positive ints (rows, columns, depth), not {value!r}")
    return tuple(value)
