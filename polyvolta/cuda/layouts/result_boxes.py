"""How a warpgroup's result goes back: values stored by `stmatrix` into a box that a copy brings to the tensor.

The result of a `wgmma`, 64 rows by N columns, goes in *pieces* of as many columns as one box takes. Row-major, a line
of the box is a row of the piece, and the widest swizzle whose span divides N is taken; column-major, a line is a column
of 64 rows, one span of the widest swizzle, and the matrices are stored transposed.

Every warp stores its rows. Which lines its lanes name follows from the ownership map of the accumulator, as it does for
`ldmatrix`; then two relations { [warp, lane, i] -> [chunk, place] } are compared: where the instruction puts a value,
and where the box has the element that the value is. Only equal ones are handed out.

Eight lanes' lines are stored at once; they are free of bank conflicts if they lie in eight different chunks modulo 8.
`conflicts` counts how many of one matrix meet at worst.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from polyvolta.cuda.layouts.boxes import LayoutsDiffer, NoBoxes, difference
from polyvolta.cuda.target.boxes import CHUNK, SWIZZLES, Box, Swizzle
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.instruction import LANE, LANES, I, Instruction, owned
from polyvolta.cuda.target.matrix_load import LDMATRIX, STMATRIX, MatrixStore, lines_of
from polyvolta.sets import var

WARP, N = var("warp"), var("n")
BANKS = 8  # chunks that span the banks of shared memory


@dataclass(frozen=True, slots=True)
class ResultBoxes:
    """How one warpgroup's product is stored, piece by piece.

    Parameters
    ----------
    order : of the result's dimensions (row, column) in memory, outermost first.
    shape : (rows, columns) of a piece.
    pieces : how many there are, side by side in the columns.
    box : what a copy moves from shared memory to the tensor: a piece.
    layout : { [row, col] -> [chunk] } of a piece.
    own : { [lane, i] -> [row, col] }, what the first warp's lanes have of the first piece. Value i of piece p is value
        `values` * p + i of the accumulator.
    lines : { [warp, lane, n] -> [chunk] }, the line that a lane names in instruction n: where it starts in the piece.
    count, transposed : of the instruction; it takes values 2 * count * n and the next ones, in pairs.
    store : the instruction.
    """

    order: tuple[int, int]
    shape: tuple[int, int]
    pieces: int
    box: Box
    layout: IndexMap
    own: IndexMap
    lines: IndexMap
    count: int
    transposed: bool
    store: MatrixStore = STMATRIX

    @property
    def values(self) -> int:
        """Of a lane in a piece."""
        return self.own.inputs[1][1]

    @property
    def instructions(self) -> int:
        """That each warp executes for a piece."""
        return self.lines.inputs[2][1]

    @property
    def warps(self) -> int:
        return self.lines.inputs[0][1]

    @property
    def align(self) -> int:
        """Chunks that a piece must start at a multiple of in shared memory."""
        return self.box.swizzle.align

    @property
    def name(self) -> str:
        """The PTX instruction."""
        return self.store.name(self.count, self.transposed)


@lru_cache(maxsize=256)
def plan_result(
    instruction: Instruction,
    order: tuple[int, int] = (0, 1),
    columns: int | None = None,
    swizzle: Swizzle | None = None,
    store: MatrixStore = STMATRIX,
) -> ResultBoxes:
    """How the result of a warpgroup's instruction is stored, proved to be what the box's copy reads.

    Parameters
    ----------
    order : of the result's dimensions in memory, outermost first.
    columns : of a piece, a multiple of 8; None: as many as a span of the widest swizzle has that divides N.
    swizzle : of the box; None: the one whose span is a line.

    Raises
    ------
    NoBoxes : the product is no whole number of pieces, or pieces are not alike.
    LayoutsDiffer : what is stored and what is copied differ.

    Cost: remembered; some 20 ms.

    >>> from polyvolta.cuda.target.warpgroup import wgmma
    >>> made = plan_result(wgmma(96), (0, 1))
    >>> print(made.shape, made.pieces, made.box.swizzle, made.name, conflicts(made))
    (64, 32) 3 64-byte swizzle stmatrix.sync.aligned.m8n8.x4.shared.b16 1
    >>> made = plan_result(wgmma(24), (1, 0))
    >>> print(made.shape, made.pieces, made.box.extents, made.name)
    (64, 8) 3 (64, 8) stmatrix.sync.aligned.m8n8.x2.trans.shared.b16
    """
    rows, total, _ = instruction.shape
    width = columns or next(s.values for s in SWIZZLES if total % s.values == 0)
    if width % CHUNK or total % width:
        raise NoBoxes(f"{total} columns are no pieces of {width}", where=instruction.name,
                      hint=f"a multiple of {CHUNK} that divides {total}")  # fmt: skip
    shape = rows, width
    line, run = (shape[d] for d in order)
    made = swizzle or next((s for s in SWIZZLES if s.values == run), None)
    if made is None:
        raise NoBoxes(f"a line of {run} values is no span of a swizzle", where=instruction.name,
                      hint=f"pieces of {', '.join(str(s.values) for s in SWIZZLES)} columns")  # fmt: skip
    box = Box(line, run, made)
    (place,) = box.layout.at(*(var(("row", "col")[d]) for d in order))
    layout = IndexMap((("row", rows), ("col", width)), (("chunk", place),)).simplified()
    own = _of_piece(instruction, width)
    transposed = order[1] == 0
    count = max(c for c in store.counts if own.inputs[1][1] % (2 * c) == 0)
    lines = _lines(instruction, own, layout, count, transposed)
    pieces = total // width
    plan = ResultBoxes(order, shape, pieces, box, layout, own, lines, count, transposed, store)
    if found := misstored(plan, instruction.warp_rows):
        raise LayoutsDiffer(found, where=f"{plan.name}, {rows}x{width}",
                            hint="the lines that lanes name, or the box's layout, are off")  # fmt: skip
    return plan


def _of_piece(instruction: Instruction, width: int) -> IndexMap:
    """{ [lane, i] -> [row, col] }: what a warp has of the first piece; all others are the same, further right."""
    own, total = instruction.of_warp("d"), instruction.shape[1]
    values = own.inputs[1][1] * width // total
    first, piece = owned(values, row=own["row"], col=own["col"]), var("piece")
    inputs = (("piece", total // width), *first.inputs)
    given = own.at(LANE, values * piece + I)
    wanted = first["row"], first["col"] + width * piece
    if difference(*(IndexMap(inputs, tuple(zip(("row", "col"), e))) for e in (given, wanted))) is not None:
        raise NoBoxes(f"lanes have other values of each piece of {width} columns", where=str(own),
                      hint="pieces of another width")  # fmt: skip
    return first


def _lines(instruction: Instruction, own: IndexMap, layout: IndexMap, count: int, transposed: bool) -> IndexMap:
    """{ [warp, lane, n] -> [chunk] }: where the line starts that a lane names."""
    named = lines_of(own, LDMATRIX, count, transposed)
    (chunk,) = layout.at(named["row"] + instruction.warp_rows * WARP, named["col"])
    inputs = (("warp", instruction.scope.threads // LANES), *named.inputs)
    return IndexMap(inputs, (("chunk", chunk),)).simplified()


def misstored(plan: ResultBoxes, warp_rows: int) -> str | None:
    """A value that the instruction puts elsewhere than where the box has its element, in words; None: a proof.

    Cost: some milliseconds.
    """
    each, run = 2 * plan.count, ("row", "col")[plan.order[1]]
    inputs = (("warp", plan.warps), *plan.own.inputs)
    source, place = plan.store.distribution(plan.count, plan.transposed).at(LANE, I % each)
    put = (*plan.lines.at(WARP, source, I // each), place)
    element = {"row": plan.own["row"] + warp_rows * WARP, "col": plan.own["col"]}
    wanted = (*plan.layout.at(element["row"], element["col"]), element[run] % CHUNK)
    found = difference(*(IndexMap(inputs, tuple(zip(("chunk", "place"), e))) for e in (wanted, put)))
    if found is None:
        return None
    at, (chunk, value), (other, stored) = found
    what = f"value {at['i']} of lane {at['lane']} of warp {at['warp']}"
    return f"{what} is put at value {stored} of chunk {other}, and the box has its element at value {value} of {chunk}"


@dataclass(frozen=True, slots=True)
class StoredFragment:
    """How a warp stores some columns of a piece at a time.

    Parameters
    ----------
    own : { [lane, i] -> [row, col] }, what the first warp's lanes have of the first of them.
    lines : { [lane, n] -> [row, col] }, the first element of the line that a lane names in instruction n. Fragment f
        of warp w is the same, 16 w rows further down and f times the columns further right.
    count : matrices of an instruction.
    """

    own: IndexMap
    lines: IndexMap
    count: int


@lru_cache(maxsize=256)
def stored_fragment(plan: ResultBoxes, columns: int) -> StoredFragment:
    """A piece's stores cut into those of fragments, proved to be the same as the whole piece's.

    Parameters
    ----------
    columns : of a fragment, a multiple of 8 that divides those of a piece.

    Raises
    ------
    NoBoxes : a piece is no whole number of such fragments.
    LayoutsDiffer : fragments name other lines.

    >>> from polyvolta.cuda.target.warpgroup import wgmma
    >>> print(stored_fragment(plan_result(wgmma(128), (0, 1)), 16).lines)
    { [lane, n] -> [row = lane mod 16, col = 8*floor(lane/16)] : 0 <= lane < 32 and 0 <= n < 1 }
    """
    rows, width = plan.shape
    if columns % CHUNK or width % columns:
        raise NoBoxes(f"pieces of {width} columns are no fragments of {columns}", where=plan.name,
                      hint=f"a multiple of {CHUNK} that divides {width}")  # fmt: skip
    values = plan.values * columns // width
    count = max(c for c in plan.store.counts if values % (2 * c) == 0 and c <= plan.count)
    own = owned(values, row=plan.own["row"], col=plan.own["col"])
    lines = lines_of(own, LDMATRIX, count, plan.transposed)
    each, fragment = values // (2 * count), var("fragment")
    inputs = (("warp", plan.warps), ("fragment", width // columns), ("lane", LANES), ("n", each))
    warp_rows = rows // plan.warps
    row, col = lines.at(LANE, N)
    (mine,) = plan.layout.at(row + warp_rows * WARP, col + columns * fragment)
    (whole,) = plan.lines.at(WARP, LANE, each * fragment + N)
    if count != plan.count or difference(IndexMap(inputs, (("chunk", mine),)), IndexMap(inputs, (("chunk", whole),))):
        raise LayoutsDiffer(f"fragments of {columns} columns name other lines than a piece of {width}", where=plan.name,
                            hint="fragments of whole instructions")  # fmt: skip
    return StoredFragment(own.simplified(), lines, count)


def conflicts(plan: ResultBoxes) -> int:
    """How many lines of one matrix meet in the same banks at worst; 1: none do. By enumeration, so exact."""
    grid = np.meshgrid(*(np.arange(n) for _, n in plan.lines.inputs), indexing="ij")
    (chunks,) = plan.lines.evaluate(dict(zip(("warp", "lane", "n"), grid)))
    matrices = np.moveaxis(chunks, 1, -1).reshape(-1, LANES // 8, 8)[:, : plan.count]
    return max(int(np.bincount(m % BANKS).max()) for m in matrices.reshape(-1, 8))
