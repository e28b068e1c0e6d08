"""Boxes: what one instruction of the tensor memory accelerator moves, and where in shared memory it lies.

A box is `lines` times `run` values of a tensor, `run` of them side by side. In shared memory its lines follow one
another, in *chunks* of eight 16-bit values (16 bytes), and a swizzle may permute the chunks. The hardware swizzles
addresses, not lines: of the 16-byte units of a 128-, 64- or 32-byte span it flips the number by bits 7, 8 and 9 of the
address. As a relation on chunk numbers, of a width w = 8, 4 or 2 chunks,

    { [c] -> [w floor(c/w) + (c mod w ^ floor(c/8) mod w)] }

So eight lines, wherever they start in the pattern, have their chunks of one position in different banks; and a box lies
in the same way wherever it starts at a multiple of the pattern, `align` chunks.

Source: CUDA driver API, "cuTensorMapEncodeTiled"; PTX ISA, "Tensor swizzling modes".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.target.checks import Rule, of, settle, whole
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.display.shown import Record
from polyvolta.sets import Aff, var, xor

CHUNK = 8  # 16-bit values of a chunk
CHUNK_BYTES = 16
LANES = 32  # of a warp
MOST_LINES = 256  # extent of a box in any dimension
_NUMBERS = {0: 0, 32: 1, 64: 2, 128: 3}  # CU_TENSOR_MAP_SWIZZLE_NONE, _32B, _64B, _128B
_MODES = {0: 0, 128: 1, 64: 2, 32: 3}  # bits 62 and 63 of a matrix descriptor


class BadBox(CudaError, ValueError):
    """No box, swizzle or descriptor that the hardware has."""

    id = "PV580"


_SWIZZLE_RULES = {"bytes": Rule("width of a swizzle, 128, 64, 32 or 0", "128", lambda v: whole(0)(v) and v in _MODES)}


@dataclass(frozen=True, slots=True)
class Swizzle(Record):
    """A permutation of the chunks of shared memory, by their absolute numbers.

    Parameters
    ----------
    bytes : of the spans within which it permutes: 128, 64, 32, or 0 for none.

    Raises
    ------
    BadBox : another number.

    >>> print(Swizzle(64)(var("c")))
    4*floor(c/4) + (c mod 4 ^ floor(c/8) mod 4)
    >>> Swizzle(128).values, Swizzle(128).align, Swizzle(0).values
    (64, 64, 8)
    """

    bytes: int = 0

    def __post_init__(self) -> None:
        settle(self, _SWIZZLE_RULES, BadBox)

    @property
    def width(self) -> int:
        """Chunks of a span; one without a swizzle."""
        return max(1, self.bytes // CHUNK_BYTES)

    @property
    def values(self) -> int:
        """16-bit values of a span."""
        return CHUNK * self.width

    @property
    def align(self) -> int:
        """Chunks that a box starts at a multiple of: the pattern repeats after so many, and copies want 128 bytes."""
        return 8 * self.width

    @property
    def number(self) -> int:
        """What `cuTensorMapEncodeTiled` calls it."""
        return _NUMBERS[self.bytes]

    @property
    def mode(self) -> int:
        """What a matrix descriptor calls it."""
        return _MODES[self.bytes]

    def __call__(self, chunk: Aff) -> Aff:
        """Where a chunk goes."""
        if not self.bytes:
            return chunk
        w = self.width
        return chunk // w * w + xor(chunk % w, chunk // 8 % w, w.bit_length() - 1)

    def over(self, chunks: int) -> IndexMap:
        """{ [chunk] -> [place] } for the first so many chunks.

        >>> [Swizzle(128).over(64).evaluate({"chunk": c})[0] for c in (0, 8, 9, 63)]
        [0, 9, 8, 56]
        """
        return IndexMap((("chunk", chunks),), (("place", self(var("chunk"))),))

    def __str__(self) -> str:
        return f"{self.bytes}-byte swizzle" if self.bytes else "no swizzle"


SWIZZLES = Swizzle(128), Swizzle(64), Swizzle(32), Swizzle(0)
"""All that there are, the widest first."""


@dataclass(frozen=True, slots=True)
class Box(Record):
    """What one copy between a tensor and shared memory moves.

    Parameters
    ----------
    lines : of the box, at most 256.
    run : values of a line, a multiple of 8: a span of the swizzle, or without one at most 256.
    swizzle : how they lie in shared memory.

    Raises
    ------
    BadBox : the hardware has no such box.

    >>> box = Box(16, 64, Swizzle(128))
    >>> print(box.layout["chunk"], box.extents, box.bytes)
    8*line + (line mod 8 ^ floor(run/8)) (64, 16) 2048
    """

    lines: int
    run: int
    swizzle: Swizzle = SWIZZLES[-1]

    def __post_init__(self) -> None:
        settle(self, _BOX_RULES, BadBox)
        if self.swizzle.bytes and self.run != self.swizzle.values:
            raise BadBox(
                f"a line of {self.run} values is no span of {self.swizzle}", where=str(self.extents),
                hint=f"boxes of {self.swizzle.values} values side by side",
            )  # fmt: skip

    @property
    def extents(self) -> tuple[int, int]:
        """What `cuTensorMapEncodeTiled` wants, in values, the contiguous dimension first."""
        return self.run, self.lines

    @property
    def pitch(self) -> int:
        """Chunks of a line."""
        return self.run // CHUNK

    @property
    def chunks(self) -> int:
        return self.lines * self.pitch

    @property
    def bytes(self) -> int:
        """That a barrier counts, clipped by the tensor or not."""
        return self.chunks * CHUNK_BYTES

    @property
    def plain(self) -> IndexMap:
        """{ [line, run] -> [chunk] } before the swizzle."""
        return self._made(self.pitch * var("line") + var("run") // CHUNK)

    @property
    def layout(self) -> IndexMap:
        """{ [line, run] -> [chunk] } from the box's first chunk on, a multiple of `swizzle.align`."""
        return self._made(self.swizzle(self.plain["chunk"])).simplified()

    def elements(self, order: tuple[int, ...]) -> IndexMap:
        """{ [lane, i] -> [+d0, +d1] }: value i of the box, as elements of a matrix whose dimensions lie so in memory.

        No lane moves it: whichever one asks, it is the same.

        Parameters
        ----------
        order : the matrix's dimensions, outermost first.

        Raises
        ------
        BadBox : the order isn't one of two dimensions.

        >>> print(Box(4, 8).elements((1, 0)))
        { [lane, i] -> [d0 = i mod 8, d1 = floor(i/8)] : 0 <= lane < 32 and 0 <= i < 32 }
        """
        if sorted(order) != [0, 1]:
            raise BadBox(f"a box is of a matrix with two dimensions, and {tuple(order)} is no order of these",
                         where=f"a box of {self.lines} lines of {self.run} values",
                         hint="outermost first: (0, 1), lines along the first dimension, or (1, 0)")  # fmt: skip
        return _elements(self.lines, self.run, tuple(order))

    def _made(self, chunk: Aff) -> IndexMap:
        return IndexMap((("line", self.lines), ("run", self.run)), (("chunk", chunk),))


@lru_cache(maxsize=256)
def _elements(lines: int, run: int, order: tuple[int, ...]) -> IndexMap:
    place = dict(zip(order, (var("i") // run, var("i") % run), strict=True))
    outputs = ("d0", place[0]), ("d1", place[1])
    return IndexMap((("lane", LANES), ("i", lines * run)), outputs).simplified()


_BOX_RULES = {
    "lines": Rule("number of lines, 1 to 256", "128", lambda v: whole(1)(v) and v <= MOST_LINES),
    "run": Rule("number of values, a multiple of 8 up to 256", "64",
                lambda v: whole(CHUNK)(v) and v % CHUNK == 0 and v <= MOST_LINES),
    "swizzle": of(Swizzle, "swizzle", "Swizzle(128)"),
}  # fmt: skip
