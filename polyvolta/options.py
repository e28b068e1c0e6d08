"""Options of a compilation, checked on their own and against what a graph needs and a target has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import product
from typing import TYPE_CHECKING

from polyvolta.sets import PolyvoltaError, nearest

if TYPE_CHECKING:
    from polyvolta.cuda.target import Target
    from polyvolta.graph.dag import Graph
    from polyvolta.graph.expr import Expr

PARTIAL = ("guard", "pad")
ACCUMULATORS = ("auto", "one", "separate")
SPARE = 60  # registers of a thread that are left for addresses and indices
SHAPES = {"m16n16k8": (16, 16, 8), "m32n32k8": (32, 32, 8)}  # of the macro-MMAs: rows, columns, depth


class BadOption(PolyvoltaError, ValueError):
    """An option that does not exist, has no meaning, or that the target cannot serve."""

    id = "PV401"


@dataclass(frozen=True, slots=True, init=False)
class Options:
    """How a kernel is tiled.

    Parameters
    ----------
    block_tile : (rows, columns, depth) of the result tile of a thread block, and of one step of a warp along K, in
        elements. A split K makes the block's own step `split_k` times as deep.
    warp_tile : likewise for a warp; its depth equals the block's. By default `fitting_warp_tile`'s.
    macro_mma : name of the macro-MMA.
    split_k : parts into which a block splits K, each for warps of its own (a power of 2).
    buffers : 1 shared-memory buffer for each operand and two barriers a step, or 2 and one barrier.
    partial : what happens at the edges of tensors that tiles don't divide: "guard" tests indices in the tiles at the
        edges alone; "pad" leaves the tests out and wants sizes that are multiples of the tiles, to which the arrays of
        a call are padded.
    accumulators : "one" accumulator for the products of a sum, "separate" ones, or "auto": one where it is possible.

    Raises
    ------
    BadOption : an unknown option (suggests the nearest), or a value that makes no sense on its own.

    >>> from polyvolta import Options
    >>> options = Options(block_tile=(64, 64, 32), split_k=2)
    >>> options.warp_tile, options.warps, options.threads
    ((64, 32, 32), (1, 2, 2), 128)
    """

    block_tile: tuple[int, int, int]
    warp_tile: tuple[int, int, int]
    macro_mma: str
    split_k: int
    buffers: int
    partial: str
    accumulators: str

    def __init__(
        self,
        block_tile: tuple[int, int, int] = (128, 128, 32),
        warp_tile: tuple[int, int, int] | None = None,
        macro_mma: str = "m16n16k8",
        split_k: int = 1,
        buffers: int = 1,
        partial: str = "guard",
        accumulators: str = "auto",
        **unknown: object,
    ) -> None:
        if unknown:
            name = next(iter(unknown))
            raise BadOption(f"no option is called {name!r}", hint=nearest(name, [f.name for f in fields(type(self))]))
        block = _triple("block_tile", block_tile)
        if not isinstance(macro_mma, str):
            raise BadOption(f"macro_mma is a name, not {macro_mma!r}", hint=f"one of {', '.join(SHAPES)}")
        if warp_tile is None:
            name = macro_mma if macro_mma in SHAPES else "m16n16k8"
            warp_tile = fitting_warp_tile(block, name) or (*SHAPES[name][:2], block[2])
        warp = _triple("warp_tile", warp_tile)
        _whole("split_k", split_k)
        if split_k & (split_k - 1):
            raise BadOption(f"split_k is a power of 2, not {split_k}", hint="try 1, 2, 4 or 8")
        _whole("buffers", buffers)
        if buffers > 2:
            raise BadOption(f"buffers is 1 or 2, not {buffers}")
        _word("partial", partial, PARTIAL)
        _word("accumulators", accumulators, ACCUMULATORS)
        values = (block, warp, macro_mma, split_k, buffers, partial, accumulators)
        for f, value in zip(fields(type(self)), values, strict=True):
            object.__setattr__(self, f.name, value)

    @property
    def warps(self) -> tuple[int, int, int]:
        """Warps along the rows, columns and depth of a block's tile: warpIdx_y, warpIdx_x and warpIdx_z count them."""
        return self.block_tile[0] // self.warp_tile[0], self.block_tile[1] // self.warp_tile[1], self.split_k

    @property
    def threads(self) -> int:
        """Threads of a block."""
        y, x, z = self.warps
        return 32 * y * x * z

    @property
    def step(self) -> tuple[int, int, int]:
        """(rows, columns, depth) of what a block computes in one step along K: the block tile, p times as deep."""
        return (*self.block_tile[:2], self.block_tile[2] * self.split_k)

    @classmethod
    def space(cls, graph: Expr | Sequence[Expr] | Graph, target: str | Target = "sm_70") -> Iterator[Options]:
        """Every legal combination: tile sizes that are powers of 2 from 16 to 256, both macro-MMAs, split K by 1, 2, 4
        and 8, one and two buffers. In order: by macro-MMA, block tile, warp tile, split K, buffers, smaller ones first.

        Parameters
        ----------
        graph : outputs, as `compile` takes them, or their graph.

        Raises
        ------
        Unsupported, UnknownTarget : as in `compile`.

        Cost: some 15 µs for each of 18,000 combinations.

        >>> import polyvolta as pv
        >>> M, N, K = pv.sizes("M N K")
        >>> C = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
        >>> all_of_them = list(Options.space(C))
        >>> len(all_of_them), all_of_them[0].block_tile
        (3493, (16, 16, 16))
        """
        from polyvolta.cuda.target import target_of
        from polyvolta.graph.dag import Graph
        from polyvolta.tuning import space

        return space(Graph.of(graph), target_of(target))

    def tile_bytes(self) -> int:
        """Shared memory of the operands' tiles, which one product after the other uses."""
        m, n, k = self.step
        return 2 * (m + n) * k * self.buffers

    def exchange_bytes(self, needs: Needs) -> int:
        """Shared memory in which warps exchange accumulators: a fragment for each, in fp16 where it is only stored."""
        m, n, _ = SHAPES[self.macro_mma]
        return m * n * (4 if self.split_k > 1 else needs.exchange) * (self.threads // 32)

    def shared_bytes(self, needs: Needs, most: int) -> int:
        """Shared memory of a block: tiles and exchange buffer, in one place if both don't fit in `most` bytes."""
        tiles, exchange = self.tile_bytes(), self.exchange_bytes(needs)
        return tiles + exchange if tiles + exchange <= most else max(tiles, exchange)

    def registers(self, needs: Needs) -> int:
        """32-bit registers that hold values in the main loop: accumulators, fragments of one strip, staged copies."""
        return registers(self.block_tile, self.warp_tile, self.split_k, needs)

    def check(self, target: Target, needs: Needs) -> None:
        """Whether the target can serve these options.

        Raises
        ------
        BadOption : the first problem, with both numbers.
        """
        for problem, hint in self.problems(target, needs):
            raise BadOption(problem, where=repr(self), hint=hint)

    def problems(self, target: Target, needs: Needs) -> Iterator[tuple[str, str]]:
        """(problem, hint) for everything that the macro-MMA or the target rules out."""
        if self.macro_mma not in target.macro_mmas or self.macro_mma not in SHAPES:
            known = [n for n in target.macro_mmas if n in SHAPES]
            yield f"{target.name} has no macro-MMA called {self.macro_mma!r}", nearest(self.macro_mma, known)
            return
        shape = SHAPES[self.macro_mma]
        fits = True
        for what, big, small, name in (
            ("block_tile", self.block_tile, self.warp_tile, "warp_tile"),
            ("warp_tile", self.warp_tile, shape, f"the macro-MMA {self.macro_mma}"),
        ):
            for axis, b, s in zip("MNK", big, small):
                if b % s and not (what == "block_tile" and axis == "K"):
                    fits = False
                    yield f"{what} is no multiple of {name} along {axis}: {b} and {s}", f"try {max(s, b // s * s)}"
        if self.warp_tile[2] != self.block_tile[2]:
            fits = False
            yield (
                f"block_tile and warp_tile have different depths, {self.block_tile[2]} and {self.warp_tile[2]}",
                "warps share the depth of the block tile; split_k makes the block's step deeper",
            )
        if not fits:
            return
        limits = (
            ("threads", self.threads, target.threads, "fewer warps: a larger warp_tile, a smaller split_k"),
            (
                "bytes of shared memory",
                self.shared_bytes(needs, target.shared_bytes),
                target.shared_bytes,
                "a smaller block_tile"
                + (", or a smaller split_k" if self.split_k > 1 else "")
                + (", or buffers=1" if self.buffers > 1 else ""),
            ),
            ("registers a thread", self.registers(needs), target.registers, "a smaller warp_tile"),
            ("registers a block", self.registers(needs) * self.threads, target.block_registers, "a smaller block_tile"),
        )
        for what, need, limit, hint in limits:
            if need > limit:
                yield f"these tiles need at least {need} {what}, {target.name} has {limit}", f"try {hint}"


@dataclass(frozen=True, slots=True)
class Needs:
    """What a graph asks of a block, beside its tiles.

    Parameters
    ----------
    accumulators : arrays that products accumulate in.
    loads : for each product how many tensors are loaded for its left and for its right operand.
    exchange : bytes of a value on its way through the exchange buffer: 2 where results are only stored, else 4, as
        with a split K.
    operands : matrices and vectors that the epilogue loads.
    """

    accumulators: int = 1
    loads: tuple[tuple[int, int], ...] = ((1, 1),)
    exchange: int = 2
    operands: int = 0


def registers(block: tuple[int, int, int], warp: tuple[int, int, int], split_k: int = 1, needs: Needs = Needs()) -> int:
    """32-bit registers of a thread: fp32 accumulators, fp16 fragments of a strip, chunks of 8 fp16 values on their way.

    >>> registers((128, 128, 32), (64, 64, 32))  # 128 of accumulators, 32 of fragments, 32 on their way
    192
    """
    threads = 32 * (block[0] // warp[0]) * (block[1] // warp[1]) * split_k
    chunks = [-(-side * block[2] * split_k // 8 // threads) for side in block[:2]]
    copies = max(a * chunks[0] + b * chunks[1] for a, b in needs.loads)
    return needs.accumulators * warp[0] * warp[1] // 32 + (warp[0] + warp[1]) // 4 + 4 * copies


def used_registers(
    block: tuple[int, int, int], warp: tuple[int, int, int], macro_mma: str, split_k: int, needs: Needs
) -> int:
    """32-bit registers that hold values of a thread, in the main loop or, if that takes more, in the epilogue; there
    each run of 8 values of a fragment comes out of the exchange in fp32.

    Beside these a compiler needs some for addresses and indices: about 50, and some 16 more for each further product,
    whose tensors it keeps at hand.

    >>> used_registers((128, 128, 32), (64, 64, 32), "m32n32k8", 1, Needs(exchange=4))
    192
    """
    m, n, _ = SHAPES[macro_mma]
    runs = m * n // 256
    epilogue = needs.accumulators * (warp[0] * warp[1] // 32 + 8 * runs)
    return max(registers(block, warp, split_k, needs), epilogue) + 16 * (len(needs.loads) - 1)


def fitting_warp_tile(
    block: tuple[int, int, int],
    macro_mma: str,
    split_k: int = 1,
    needs: Needs = Needs(),
    limits: tuple[int, int] = (255, 65536),
) -> tuple[int, int, int] | None:
    """The largest warp tile of at most 64x64 that divides the block tile and leaves `SPARE` registers; the squarer one
    of two, None where there is none.

    Parameters
    ----------
    limits : registers that a thread and that a block can have.

    >>> fitting_warp_tile((128, 128, 32), "m16n16k8"), fitting_warp_tile((96, 64, 32), "m16n16k8")
    ((64, 64, 32), (48, 64, 32))
    >>> fitting_warp_tile((128, 128, 32), "m16n16k8", needs=Needs(accumulators=2, loads=((1, 1), (1, 1))))
    (64, 32, 32)
    """
    shape = SHAPES[macro_mma]
    sides = [[d for d in (64, 48, 32, 16) if side % d == 0 and d % least == 0] for side, least in zip(block[:2], shape)]
    fitting = []
    for m, n in product(*sides):
        threads = 32 * (block[0] // m) * (block[1] // n) * split_k
        warp = (m, n, block[2])
        if used_registers(block, warp, macro_mma, split_k, needs) + SPARE <= min(limits[0], limits[1] // threads):
            fitting.append(warp)
    return max(fitting, key=lambda t: (t[0] * t[1], -abs(t[0] - t[1]), t[0]), default=None)


def _triple(name: str, value: object) -> tuple[int, int, int]:
    given = tuple(value) if isinstance(value, tuple | list) else ()
    if len(given) != 3 or any(isinstance(v, bool) or not isinstance(v, int) or v <= 0 for v in given):
        raise BadOption(f"{name} is three positive ints (rows, columns, depth), not {value!r}")
    return given


def _whole(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadOption(f"{name} is a positive int, not {value!r}")


def _word(name: str, value: object, words: tuple[str, ...]) -> None:
    if value not in words:
        hint = nearest(value, words) if isinstance(value, str) else ""
        raise BadOption(f"{name} is {' or '.join(map(repr, words))}, not {value!r}", hint=hint)
