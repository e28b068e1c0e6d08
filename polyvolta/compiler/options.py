"""Options of a compilation, checked on their own and against what a graph needs and a target has.

Options may be given in part. `Options` remembers which were; `tuning.complete` chooses the others for a graph and a
target. Until then they have the values that a plain product of large matrices gets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from polyvolta.cuda.target.instruction import LANES
from polyvolta.sets import PolyvoltaError, nearest

if TYPE_CHECKING:
    from polyvolta.cuda.target.macro_mma import Composition
    from polyvolta.cuda.target.target import Target
    from polyvolta.graph.dag import Graph
    from polyvolta.graph.expr import Expr

PARTIAL = ("guard", "pad")
ACCUMULATORS = ("auto", "one", "separate")
SPLITS = (1, 2, 4, 8)
BUFFERS = tuple(range(1, 9))
AHEAD = tuple(range(8))  # k tiles that copies may run ahead
Tile = tuple[int, int, int]


class BadOption(PolyvoltaError, ValueError):
    """An option that does not exist, has no meaning, or that the target cannot serve."""

    id = "PV401"


@dataclass(frozen=True, slots=True, init=False)
class Options:
    """How a kernel is tiled. What isn't given is chosen by the rule of `polyvolta.compiler.tuning`.

    Parameters
    ----------
    block_tile : (rows, columns, depth) of the result tile of a thread block, and of one step of a warp along K, in
        elements. A split K makes the block's own step `split_k` times as deep.
    warp_tile : likewise for a warp; its depth equals the block's.
    macro_mma : name of one of the target's macro-MMAs.
    split_k : parts into which a block splits K, each for warps of its own: 1, 2, 4 or 8.
    buffers : buffers of shared memory for each operand, 1 to 8. One takes two barriers a step; more take turns, tile k
        being in buffer k mod `buffers`, and take one.
    partial : what happens at the edges of tensors that tiles don't divide: "guard" tests indices in the tiles at the
        edges alone; "pad" leaves the tests out and wants sizes that are multiples of the tiles, to which the arrays of
        a call are padded.
    accumulators : "one" accumulator for the products of a sum, "separate" ones, or "auto": one where it is possible.
    prefetch : how many k tiles ahead of the computation the copies to shared memory run: 0 (load, wait, compute), or up
        to `buffers` - 1, with one buffer up to 1. A copy's registers hold its tile during one step, whatever the
        distance: what it has loaded at the step's start it stores at its end. If missing, as far as the buffers allow.

    Attributes
    ----------
    given : names of the options that were given. `compile` chooses the others for its graph and target, and the
        kernel's options say how; here they are those of a plain product of large matrices. Equality, hash and repr
        look at the values alone, and `dataclasses.replace` gives all of them.

    Raises
    ------
    BadOption : an unknown option (suggests the nearest), or a value that makes no sense on its own.

    >>> from polyvolta import Options
    >>> options = Options(block_tile=(64, 64, 32), split_k=2)
    >>> options.warp_tile, options.warps, options.threads
    ((64, 32, 32), (1, 2, 2), 128)
    >>> sorted(options.given)
    ['block_tile', 'split_k']
    """

    block_tile: tuple[int, int, int]
    warp_tile: tuple[int, int, int]
    macro_mma: str
    split_k: int
    buffers: int
    partial: str
    accumulators: str
    prefetch: int
    given: frozenset[str] = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        block_tile: tuple[int, int, int] | None = None,
        warp_tile: tuple[int, int, int] | None = None,
        macro_mma: str | None = None,
        split_k: int | None = None,
        buffers: int | None = None,
        partial: str | None = None,
        accumulators: str | None = None,
        prefetch: int | None = None,
        **unknown: object,
    ) -> None:
        values = (block_tile, warp_tile, macro_mma, split_k, buffers, partial, accumulators, prefetch)
        given = {n: v for n, v in zip(OPTIONS, values, strict=True) if v is not None}
        if unknown:
            name = next(iter(unknown))
            raise BadOption(f"no option is called {name!r}", hint=nearest(name, OPTIONS))
        given |= {name: _checked(name, value) for name, value in given.items()}
        object.__setattr__(self, "given", frozenset(given))
        if len(given) < len(OPTIONS):
            from polyvolta.compiler.tuning import choose
            from polyvolta.cuda.target.registry import target_of

            chosen = choose(given, Needs(), target_of())
            given = {name: getattr(chosen, name) for name in OPTIONS}
        for name, value in given.items():
            object.__setattr__(self, name, value)

    @property
    def warps(self) -> tuple[int, int, int]:
        """Warps along the rows, columns and depth of a block's tile: warpIdx_y, warpIdx_x and warpIdx_z count them."""
        return self.block_tile[0] // self.warp_tile[0], self.block_tile[1] // self.warp_tile[1], self.split_k

    @property
    def threads(self) -> int:
        """Threads of a block."""
        y, x, z = self.warps
        return LANES * y * x * z

    @property
    def step(self) -> tuple[int, int, int]:
        """(rows, columns, depth) of what a block computes in one step along K: the block tile, p times as deep."""
        return (*self.block_tile[:2], self.block_tile[2] * self.split_k)

    @classmethod
    def space(cls, graph: Expr | Sequence[Expr] | Graph, target: str | Target | None = None) -> Iterator[Options]:
        """Every legal combination: tile sizes that are powers of 2 from 16 to 256, the target's macro-MMAs, split K by
        1, 2, 4 and 8, one and two buffers. In order: by macro-MMA, block tile, warp tile, split K, buffers, smaller
        ones first.

        Longer rings are legal and not listed: what is on its way from global memory is one tile in registers, however
        far ahead it is stored, so that they take shared memory and hide no more latency.

        Parameters
        ----------
        graph : outputs, as `compile` takes them, or their graph.
        target : as `compile` takes it.

        Raises
        ------
        Unsupported, UnknownTarget, NoInstruction : as in `compile`.

        Cost: some 15 µs for each of 18,000 combinations.

        >>> import polyvolta as pv
        >>> M, N, K = pv.sizes("M N K")
        >>> C = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
        >>> all_of_them = list(Options.space(C))
        >>> len(all_of_them), all_of_them[0].block_tile
        (3493, (16, 16, 16))
        """
        from polyvolta.compiler.tuning import space
        from polyvolta.cuda.target.registry import target_of
        from polyvolta.graph.dag import Graph

        return space(Graph.of(graph), target_of(target))

    def tile_bytes(self) -> int:
        """Shared memory of the operands' tiles, which one product after the other uses."""
        m, n, k = self.step
        return 2 * (m + n) * k * self.buffers

    def exchange_bytes(self, needs: Needs, target: Target) -> int:
        """Shared memory in which warps exchange accumulators: a fragment for each, in fp16 where it is only stored."""
        m, n, _ = target.macro_mma(self.macro_mma).shape
        return m * n * (4 if self.split_k > 1 else needs.exchange) * (self.threads // LANES)

    def shared_bytes(self, needs: Needs, target: Target) -> int:
        """Shared memory of a block: tiles and exchange buffer, in one place if both don't fit in the target's."""
        tiles, exchange = self.tile_bytes(), self.exchange_bytes(needs, target)
        return tiles + exchange if tiles + exchange <= target.shared_bytes else max(tiles, exchange)

    def registers(self, needs: Needs, target: Target) -> int:
        """32-bit registers that hold values in the main loop: accumulators, fragments of one strip, staged copies."""
        return registers(self.block_tile, self.warp_tile, target.macro_mma(self.macro_mma), self.split_k, needs)

    def problems(self, target: Target, needs: Needs) -> Iterator[str]:
        """Everything that the macro-MMA or the target rules out."""
        if self.macro_mma not in target.macro_names:
            yield f"{target.name} has no macro-MMA called {self.macro_mma!r}"
            return
        macro = target.macro_mma(self.macro_mma)
        for pair in needs.layouts:
            if pair not in macro.layouts:
                yield f"{macro.name} of {target.name} doesn't multiply operands that lie {'.'.join(pair)}"
                return
        found = tuple(self.misfits(macro.shape))
        yield from found
        if found:
            return
        block, warp = ("x".join(map(str, tile)) for tile in (self.block_tile, self.warp_tile))
        split = f" and split_k={self.split_k}" if self.split_k > 1 else ""
        for what, need, limit in self.demands(target, needs):
            if need > limit:
                buffers = f" and buffers={self.buffers}" if self.buffers > 1 else ""
                more = buffers if "memory" in what else f" in warp tiles of {warp}"
                where = f"block tiles of {block}{more}{split}"
                yield f"{where} need at least {need} {what}, {target.name} has {limit}"

    def misfits(self, shape: Tile) -> Iterator[str]:
        """What of the tiles and the macro-MMA, which has that shape, does not fit what."""
        pairs = (
            ("block_tile", self.block_tile, f"the macro-MMA {self.macro_mma}", shape),
            ("warp_tile", self.warp_tile, f"the macro-MMA {self.macro_mma}", shape),
            ("block_tile", self.block_tile[:2], "warp_tile", self.warp_tile[:2]),
        )
        for what, big, name, small in pairs:
            for axis, b, s in zip("MNK", big, small):
                if name == "warp_tile" and s > b:
                    yield f"warp_tile is larger than block_tile along {axis}: {s} and {b}"
                elif b % s:
                    yield f"{what} is no multiple of {name} along {axis}: {b} and {s}"
        if self.warp_tile[2] != self.block_tile[2]:
            depths = f"{self.block_tile[2]} and {self.warp_tile[2]}"
            yield f"block_tile and warp_tile have different depths, {depths}; split_k makes a block's step deeper"
        if self.prefetch > (most := farthest(self.buffers)):
            words = "1 buffer allows" if self.buffers == 1 else f"{self.buffers} buffers allow"
            yield f"prefetch={self.prefetch} needs {self.prefetch + 1} buffers: {words} {most}, or the copies would " \
                  "overwrite a tile that is still read"

    def demands(self, target: Target, needs: Needs) -> tuple[tuple[str, int, int], ...]:
        """(what, how much tiles that fit each other need of it at least, how much the target has)."""
        registers = self.registers(needs, target)
        return (
            ("threads", self.threads, target.threads),
            ("bytes of shared memory", self.shared_bytes(needs, target), target.shared_bytes),
            ("registers a thread", registers, target.registers),
            ("registers a block", registers * self.threads, target.block_registers),
        )


OPTIONS = tuple(f.name for f in fields(Options) if f.init)


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
    layouts : the different pairs of layouts of products' left and right operands.
    sizes : rows and columns of the result, None where they aren't known, and the least sum's length, 0 likewise.
    """

    accumulators: int = 1
    loads: tuple[tuple[int, int], ...] = ((1, 1),)
    exchange: int = 2
    operands: int = 0
    layouts: tuple[tuple[str, str], ...] = (("row", "col"),)
    sizes: tuple[int | None, int | None, int] = (None, None, 0)


def farthest(buffers: int) -> int:
    """How many k tiles ahead copies may run at most: a tile's buffer is free when all have read what is in it.

    One buffer is free between two barriers of the block, so that at least the loads to registers run ahead.

    >>> [farthest(n) for n in (1, 2, 3, 8)]
    [1, 1, 2, 7]
    """
    return max(buffers - 1, 1)


def registers(block: Tile, warp: Tile, macro: Composition, split_k: int = 1, needs: Needs = Needs()) -> int:
    """32-bit registers of a thread: fp32 accumulators, fp16 fragments of a strip, chunks of 8 fp16 values on their way.

    >>> from polyvolta.cuda.target.registry import targets
    >>> macro = targets["sm_70"].macro_mma("m16n16k8")
    >>> registers((128, 128, 32), (64, 64, 32), macro)  # 128 of accumulators, 32 of fragments, 32 on their way
    192
    """
    threads = LANES * max(1, block[0] // warp[0]) * max(1, block[1] // warp[1]) * split_k
    chunks = [-(-side * block[2] * split_k // 8 // threads) for side in block[:2]]
    copies = max(a * chunks[0] + b * chunks[1] for a, b in needs.loads)
    (m, n, _), (a, b, _) = macro.shape, macro.values
    fragments = warp[0] * a // m // 2 + warp[1] * b // n // 2
    return needs.accumulators * warp[0] * warp[1] // LANES + fragments + 4 * copies


def _checked(name: str, value: object) -> object:
    """An option's value, tiles as tuples, if it makes sense on its own."""
    match name:
        case "block_tile" | "warp_tile":
            given = tuple(value) if isinstance(value, tuple | list) else ()
            if len(given) != 3 or any(isinstance(v, bool) or not isinstance(v, int) or v <= 0 for v in given):
                tile = (128, 128, 32) if name == "block_tile" else (64, 64, 32)
                raise BadOption(
                    f"{name} is three positive ints (rows, columns, depth), not {value!r}", hint=f"try {name}={tile}"
                )
            return given
        case "macro_mma":
            if not isinstance(value, str):
                from polyvolta.cuda.target.registry import target_of

                known = target_of().macro_names[0]
                raise BadOption(f"macro_mma is a name, not {value!r}", hint=f"try macro_mma={known!r}")
        case "split_k" | "buffers" | "prefetch":
            numbers = {"split_k": SPLITS, "buffers": BUFFERS, "prefetch": AHEAD}[name]
            whole = value if isinstance(value, int) and not isinstance(value, bool) else -1
            if whole not in numbers:
                near = max((n for n in numbers if n <= whole), default=1)
                words = f"{', '.join(map(str, numbers[:-1]))} or {numbers[-1]}"
                raise BadOption(f"{name} is {words}, not {value!r}", hint=f"try {name}={near}")
        case _:
            words = PARTIAL if name == "partial" else ACCUMULATORS
            if not isinstance(value, str) or value not in words:
                hint = nearest(value, words) if isinstance(value, str) else f"try {name}={words[0]!r}"
                raise BadOption(f"{name} is {' or '.join(map(repr, words))}, not {value!r}", hint=hint)
    return value
