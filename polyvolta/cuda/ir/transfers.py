"""Operations of Turing and later: matrices between shared memory and fragments, asynchronous copies to shared memory.

A copy is *issued* by a thread and *complete* some time later: between the two its 16 bytes in shared memory are
anything. The thread's copies since its last `CommitCopies` are a group; `WaitCopies(pending)` returns when all its
groups but the newest `pending` are complete. What a thread has waited for it sees itself, others after a barrier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

from polyvolta.cuda.ir.accesses import CONVERT, Access, Operation, Work, of_element
from polyvolta.cuda.ir.memories import CHUNK, TENSOR_ITEM, ZERO, Element, Memories
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.matrix_load import LDMATRIX, LINES, STMATRIX, MatrixLoad, MatrixStore
from polyvolta.sets import Aff, var, xor


@dataclass(frozen=True, slots=True)
class LoadMatrix(Operation):
    """The lanes of a warp load one operand fragment together: value i becomes the tile's element
    `origin + ownership(lane, i)`.

    In instruction n each lane names one chunk of the tile, at `origin + lines(lane, n)`, and gets 2 * `count` values,
    by the distribution of `load`; the two together are the ownership map. `operand` is "a" or "b", "c" of what is where
    accumulators are, or "x" of what is computed on before a product takes it.

    Parameters
    ----------
    ownership : { [lane, i] -> [+d0, +d1] }.
    lines : { [lane, n] -> [+d0, +d1] }, the first of eight values along the tile's contiguous dimension; lanes from
        8 * count on name what lanes before name.
    count : matrices of an instruction, 1, 2 or 4.
    transposed : whether a lane's two values of a register lie in two lines.
    """

    target: Element
    tile: str
    origin: tuple[Aff, ...]
    operand: str
    ownership: IndexMap
    lines: IndexMap
    count: int = 4
    transposed: bool = False
    buffer: Aff = ZERO
    load: MatrixLoad = LDMATRIX
    statement: str = ""

    @property
    def instructions(self) -> int:
        """How many a fragment takes."""
        return self.lines.inputs[1][1]

    def named(self, run: int) -> IndexMap:
        """{ [lane, i] -> [+d0, +d1] }: the elements of the chunks that each lane names, eight for each instruction.

        Parameters
        ----------
        run : the tile's contiguous dimension.
        """
        return _named(self.lines, run)

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        order = ir.tile(self.tile).order
        run = order[-1] if order else 0  # of a tile without a layout, where nobody may load so
        place = Access(
            "shared", "read", self.tile, self.origin, CHUNK * self.instructions, CHUNK, TENSOR_ITEM,
            own=self.named(run), slot=self.buffer, opcode=self.load.opcode(self.count, self.transposed),
            lanes=LINES * self.count,
        )  # fmt: skip
        return place, of_element(ir, "write", self.target)

    @property
    def together(self) -> str:
        return "warp"


@dataclass(frozen=True, slots=True)
class StoreMatrix(Operation):
    """The lanes of a warp store one fragment of a result together: the tile's element `origin + ownership(lane, i)`
    becomes value i, of a kernel's 16-bit kind. Of fp32 values it is rounded to nearest even.

    It is `LoadMatrix` turned around: in instruction n each lane names one chunk of the tile, at `origin +
    lines(lane, n)`, and gives 2 * `count` values, which `store` distributes over the chunks; the two together are the
    ownership map.

    Parameters
    ----------
    ownership : { [lane, i] -> [+d0, +d1] }.
    lines : { [lane, n] -> [+d0, +d1] }, the first of eight values along the tile's contiguous dimension; what lanes
        from 8 * count on name doesn't count.
    count : matrices of an instruction, 1, 2 or 4.
    transposed : whether a lane's two values of a register go to two lines.
    """

    source: Element
    tile: str
    origin: tuple[Aff, ...]
    ownership: IndexMap
    lines: IndexMap
    count: int = 4
    transposed: bool = False
    buffer: Aff = ZERO
    store: MatrixStore = STMATRIX
    statement: str = ""

    @property
    def instructions(self) -> int:
        """How many a fragment takes."""
        return self.lines.inputs[1][1]

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        order = ir.tile(self.tile).order
        run = order[-1] if order else 0  # of a tile without a layout, where nobody may store so
        place = Access(
            "shared", "write", self.tile, self.origin, CHUNK * self.instructions, CHUNK, TENSOR_ITEM,
            own=_named(self.lines, run), slot=self.buffer, opcode=self.store.opcode(self.count, self.transposed),
            lanes=LINES * self.count,
        )  # fmt: skip
        return of_element(ir, "read", self.source), place

    @property
    def together(self) -> str:
        return "warp"

    def work(self, ir: Memories) -> Work:
        source = ir.register(self.source.array)
        return Work({CONVERT: source.width} if source.kind == "float" else {})


@lru_cache(maxsize=256)
def _named(lines: IndexMap, run: int) -> IndexMap:
    (lane, lanes), (_, instructions) = lines.inputs
    i = var("i")
    first = lines.at(var(lane), i // CHUNK)
    outputs = tuple((name, e + i % CHUNK if d == run else e)
                    for d, ((name, _), e) in enumerate(zip(lines.outputs, first, strict=True)))  # fmt: skip
    return IndexMap(((lane, lanes), ("i", CHUNK * instructions)), outputs).simplified()


@dataclass(frozen=True, slots=True)
class AsyncCopy(Operation):
    """Each thread issues the copy of 8 values of a tensor, at `index` and the next seven along dimension `along`, the
    contiguous one, to the chunk of a tile at tile-local `place`.

    They are moved in pieces of the tensor's alignment; single values are loaded and stored as a chunk. With `guarded`,
    values outside of the tensor are not read and arrive as 0; without it there are none.

    Neighbouring lanes' chunks are 16 bytes apart, and so are the pieces that they move with one instruction if all
    begin with the first one. The banks between are free for lanes that begin with another, by `turn`.

    Parameters
    ----------
    turn : { [lane] -> [first] }: the piece that a lane begins with, modulo how many there are; its n-th one is the
        exclusive-or of n and the first. None: all lanes begin with piece 0.
    """

    tensor: str
    index: tuple[Aff, ...]
    along: int
    tile: str
    place: tuple[Aff, ...]
    buffer: Aff = ZERO
    guarded: bool = False
    statement: str = ""
    turn: IndexMap | None = None

    def pieces(self, width: int) -> IndexMap | None:
        """{ [lane, n] -> [value] }: which value of the chunk a lane's n-th piece begins with; None: value n * width.

        Parameters
        ----------
        width : values of a piece; one that is no piece of `cp.async`, 1, is none here.
        """
        return None if self.turn is None or width in (1, CHUNK) else _turned(self.turn, width)

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        tensor, tile = ir.tensor(self.tensor), ir.tile(self.tile)
        width = tensor.align if self.along == tensor.order[-1] else 1
        run = tile.order[-1] if tile.order else None
        pieces = self.pieces(width)
        opcode = f"LDGSTS.{8 * TENSOR_ITEM * width}" if width > 1 else ""  # single values are loaded and stored
        read = Access(
            "global", "read", self.tensor, self.index, CHUNK, width, TENSOR_ITEM, self.along,
            own=_along(pieces, width, len(self.index), self.along), guarded=self.guarded, when="completion",
            opcode=opcode,
        )  # fmt: skip
        write = Access(
            "shared", "write", self.tile, self.place, CHUNK, width if width > 1 else CHUNK, TENSOR_ITEM, run,
            own=_along(pieces, width, len(self.place), run), slot=self.buffer, when="completion", opcode=opcode,
        )  # fmt: skip
        return read, write

    def unguarded(self) -> Self:
        return replace(self, guarded=False)


@lru_cache(maxsize=64)
def _turned(turn: IndexMap, width: int) -> IndexMap:
    ((lane, lanes),), (first,), count = turn.inputs, turn.exprs, CHUNK // width
    piece = xor(var("n"), first % count, count.bit_length() - 1)
    return IndexMap(((lane, lanes), ("n", count)), (("value", width * piece),)).simplified()


@lru_cache(maxsize=64)
def _along(pieces: IndexMap | None, width: int, rank: int, along: int | None) -> IndexMap | None:
    """{ [lane, i] -> [+d0, +d1] }: the values of a chunk piece by piece; None without an order of pieces."""
    if pieces is None or along is None:
        return None
    (lane, lanes), _ = pieces.inputs
    i = var("i")
    (value,) = pieces.at(var(lane), i // width)
    outputs = tuple((f"d{d}", value + i % width if d == along else ZERO) for d in range(rank))
    return IndexMap(((lane, lanes), ("i", CHUNK)), outputs).simplified()


@dataclass(frozen=True, slots=True)
class CommitCopies(Operation):
    """The copies that the thread has issued since its last commit are a group; without any it is an empty one."""

    statement: str = ""

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        return ()

    @property
    def commits(self) -> bool:
        return True

    def work(self, ir: Memories) -> Work:
        return Work({"LDGDEPBAR": 1})

    def sentence(self, reads: Sequence[str], writes: Sequence[str]) -> str:
        return "its copies since the last commit become a group"


@dataclass(frozen=True, slots=True)
class WaitCopies(Operation):
    """The thread waits until at most `pending` of its newest groups of copies are on their way."""

    pending: int
    statement: str = ""

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        return ()

    @property
    def awaits(self) -> int:
        return self.pending

    def work(self, ir: Memories) -> Work:
        return Work({"DEPBAR": 1})

    def sentence(self, reads: Sequence[str], writes: Sequence[str]) -> str:
        newest = f"all groups of its copies but the newest {self.pending}" if self.pending else "all its copies"
        return f"waits for {newest}"


OPERATIONS = (LoadMatrix, StoreMatrix, AsyncCopy, CommitCopies, WaitCopies)
"""Those of this module."""
