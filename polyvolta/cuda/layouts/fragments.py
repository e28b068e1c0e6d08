"""How operands lie in shared memory and come into fragments: interleave, swizzle and access width, chosen together.

A macro-MMA's ownership maps say which elements each lane wants; the interleave decides which rows these are, the
swizzle in which banks they lie, and neither is good or bad without the other. So for every candidate interleave, the
preferred one first, a swizzle is searched for each operand, under all accesses that the kernel will make to its tile:
the shared stores, and the fragment loads at every position of the tile. The first pair for which all of them are
free of bank conflicts wins. The proof is an enumeration over all lanes of all accesses, so it is exact.

The rows of A and of the accumulator interleave alike, and so do the columns of B and of the accumulator; several
contractions into one kernel share them, whatever their layouts.

Where an instruction such as `ldmatrix` loads fragments, a lane names whole lines of eight values and gets values of
others' lines. Which lines follows from the ownership map; that what then is delivered is what the map says, the *law*
of such a load, holds for some interleaves only: transposed matrices want eight neighbours of the result in a line. So
an interleave for which it fails is no candidate, and the law is checked for the one that is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import gcd

import numpy as np

from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.ir.kernel_ir import CHUNK, LANES
from polyvolta.cuda.layouts.swizzle import Accesses, NoSwizzle, Swizzle, choose
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.macro_mma import Composition, MacroMma
from polyvolta.cuda.target.matrix_load import MatrixLoad, delivered, lines_of


class NotDelivered(CudaError):
    """No interleave of a macro-MMA lets its load instruction bring what the ownership map says."""

    id = "PV531"


@dataclass(frozen=True, slots=True, eq=False)
class OperandTile:
    """An operand's tile in shared memory, and the stores that fill it.

    Parameters
    ----------
    dims : names of its dimensions: (row, k) of A, (k, column) of B.
    size : their extents in elements.
    order : the dimensions as they lie in memory, outermost first.
    stores : [access, lane, dimension], the first element of the chunk that each lane stores in each warp-wide 128-bit
        store; negative where it stores none.
    """

    dims: tuple[str, str]
    size: tuple[int, int]
    order: tuple[int, int]
    stores: np.ndarray

    @property
    def layout(self) -> str:
        """ "row" or "col"."""
        return "row" if self.order == (0, 1) else "col"

    @property
    def key(self) -> tuple:
        """What identifies it."""
        stores = np.ascontiguousarray(self.stores, dtype=np.int64)
        return self.dims, self.size, self.order, stores.shape, stores.tobytes()


@dataclass(frozen=True, slots=True)
class MatrixAccess:
    """How an instruction such as `ldmatrix` brings a fragment.

    Parameters
    ----------
    lines : { [lane, n] -> [+d0, +d1] }, where the line of eight values starts that each lane names in instruction n.
    count : matrices of an instruction.
    transposed : whether the two values of a register lie in two lines.
    """

    lines: IndexMap
    count: int
    transposed: bool


@dataclass(frozen=True, slots=True)
class OperandLayout:
    """Where an operand's tile lies, and how a fragment is loaded.

    Parameters
    ----------
    layout : { [element] -> [chunk] } in the tile's dimensions.
    access : values per access of a fragment load: 8 (128-bit), 4, 2 or 1.
    swizzle : the one in `layout`.
    matrix : how a matrix instruction loads it, which reaches 8 values at a time; None: lanes load their own values.
    """

    layout: IndexMap
    access: int
    swizzle: Swizzle
    matrix: MatrixAccess | None = None


@dataclass(frozen=True, slots=True)
class OperandPlan:
    """A contraction's macro-MMA, and the layouts of its operands."""

    macro: MacroMma
    a: OperandLayout
    b: OperandLayout


def plan_operands(made: Composition, tiles: Sequence[tuple[OperandTile, OperandTile]]) -> tuple[OperandPlan, ...]:
    """The plans of a kernel's contractions, whose accumulators have one ownership map.

    Parameters
    ----------
    made : the macro-MMA, for all pairs of layouts that there are.
    tiles : for each contraction those of A and B.

    Raises
    ------
    NoInstruction : it does not take operands that lie so.
    NoSwizzle : no candidate interleave has conflict-free swizzles for all operands.
    NotDelivered : for none the instruction that loads fragments brings what lanes own.

    Cost: remembered; a few milliseconds for new tiles.
    """
    keys = tuple((a.key, b.key) for a, b in tiles)
    return _planned(made, keys)


@lru_cache(maxsize=1024)
def _planned(composition: Composition, keys: tuple) -> tuple[OperandPlan, ...]:
    sides = [_side(composition, side, keys) for side in (0, 1)]
    interleave = replace(composition.interleave, rows=sides[0][0], cols=sides[1][0])
    plans = []
    for k, (a, b) in enumerate(keys):
        macro = composition.of(_layout_of(a), _layout_of(b), interleave)
        plans.append(OperandPlan(macro, sides[0][1][k], sides[1][1][k]))
    return tuple(plans)


def _side(composition: Composition, side: int, keys: tuple) -> tuple[tuple[str, ...], tuple[OperandLayout, ...]]:
    """The interleave of the rows (side 0) or columns (1), and the layouts of all contractions' A or B with it."""
    failed: list[NoSwizzle | NotDelivered] = []
    for bits in composition.orders(side):
        interleave = replace(composition.interleave, **{("rows", "cols")[side]: bits})
        try:
            macros = [composition.of(_layout_of(a), _layout_of(b), interleave) for a, b in keys]
            owned = [(m.a, m.b)[side] for m in macros]
            return bits, tuple(_operand(m.shape, side, own, pair[side], m.loads)
                               for m, own, pair in zip(macros, owned, keys))  # fmt: skip
        except (NoSwizzle, NotDelivered) as error:
            failed.append(error)
    raise next((e for e in failed if isinstance(e, NoSwizzle)), failed[0])


@lru_cache(maxsize=1024)
def _operand(
    shape: tuple[int, int, int], side: int, own: IndexMap, key: tuple, load: MatrixLoad | None
) -> OperandLayout:
    """An operand's layout for its ownership map in a macro-MMA of that shape."""
    dims, size, order, stored, stores = key
    m, n, k = shape
    extents = ((m, k), (k, n))[side]
    matrix = matrix_access(own, order, load) if load else None
    access = CHUNK if matrix else access_width(own, order)
    loads = line_loads(matrix.lines, extents, size) if matrix else fragment_loads(own, extents, size, access)
    accesses = (
        Accesses(np.frombuffer(stores, dtype=np.int64).reshape(stored), CHUNK),
        Accesses(loads, access),
    )
    swizzle, found = choose(dims, size, order, accesses, CHUNK)
    return OperandLayout(found, access, swizzle, matrix)


@lru_cache(maxsize=256)
def matrix_access(own: IndexMap, order: tuple[int, int], load: MatrixLoad) -> MatrixAccess:
    """How an instruction brings a fragment that lanes own so: as many matrices at once as divide it.

    They are transposed where the two values of a register do not lie side by side in the tile.

    Parameters
    ----------
    order : the tile's dimensions as they lie in memory, outermost first.

    Raises
    ------
    NotDelivered : it would bring something else.

    >>> from polyvolta.cuda.target.ampere import SM_80
    >>> from polyvolta.cuda.target.matrix_load import LDMATRIX
    >>> macro = SM_80.macro_mma("m16n16k16").of("row", "row")
    >>> [(m.count, m.transposed) for m in (matrix_access(own, (0, 1), LDMATRIX) for own in (macro.a, macro.b))]
    [(4, False), (4, True)]
    """
    (_, lanes), (_, values) = own.inputs
    count = max((c for c in load.counts if values % (2 * c) == 0), default=None)
    if count is None:
        raise NotDelivered(f"{load.title} brings pairs of values, and a lane has {values}", where=str(own))
    run = order[1]
    lane, i = np.arange(lanes)[:, None], np.arange(values)[None, :]
    place = _grid(own, lane, i)
    transposed = not (place[run, :, 1] == place[run, :, 0] + 1).all()
    lines = lines_of(own, load, count, transposed)
    brought = _grid(delivered(lines, load, count, transposed, run), lane, i)
    starts = _grid(lines, lane, np.arange(lines.inputs[1][1])[None, :])[run]
    if (brought != place).any() or (starts % CHUNK).any():
        raise NotDelivered(
            f"{load.name(count, transposed)} does not bring what lanes own of a tile that lies so",
            where=str(own),
            hint="an interleave whose lowest bits are the instruction's own rows, or columns",
        )
    return MatrixAccess(lines, count, transposed)


def _grid(function: IndexMap, lane: np.ndarray, second: np.ndarray) -> np.ndarray:
    """[output, lane, second]: the outputs at all lanes and values of the second input."""
    (name, _), (other, _) = function.inputs
    found = function.evaluate({name: lane, other: second})
    return np.stack([np.broadcast_to(x, np.broadcast_shapes(lane.shape, second.shape)) for x in found])


def _layout_of(key: tuple) -> str:
    return "row" if key[2] == (0, 1) else "col"


def access_width(own: IndexMap, order: Sequence[int]) -> int:
    """How many consecutive values of a lane lie side by side within a chunk: 8, 4, 2 or 1.

    >>> from polyvolta.cuda.target.volta import M16N16K8
    >>> access_width(M16N16K8.of("row").a, (0, 1)), access_width(M16N16K8.of("col").a, (1, 0))
    (8, 4)
    """
    (_, lanes), (_, count) = own.inputs
    place = own.evaluate({"lane": np.arange(lanes)[:, None], "i": np.arange(count)[None, :]})
    place = [np.broadcast_to(x, (lanes, count)) for x in place]
    line, run = place[order[0]], place[order[1]]
    width = gcd(CHUNK, count)
    while width > 1:
        lines, runs = line.reshape(lanes, -1, width), run.reshape(lanes, -1, width)
        first = runs[..., :1]
        if (lines == lines[..., :1]).all() and (runs == first + np.arange(width)).all() and not (first % width).any():
            break
        width //= 2
    return width


@lru_cache(maxsize=256)
def narrowest_access(composition: Composition, a_layout: str, b_layout: str) -> int:
    """How many values an access of a fragment load brings, of A or of B, whichever is fewer.

    >>> from polyvolta.cuda.target.volta import M16N16K8
    >>> narrowest_access(M16N16K8, "row", "row")
    4
    """
    macro = composition.of(a_layout, b_layout)
    orders = {"row": (0, 1), "col": (1, 0)}
    if load := macro.loads:  # by the preferred interleave, which works for all layouts
        return min(2 * matrix_access(own, orders[layout], load).count
                   for own, layout in ((macro.a, a_layout), (macro.b, b_layout)))  # fmt: skip
    assert isinstance(macro.a, IndexMap) and isinstance(macro.b, IndexMap)
    return min(access_width(macro.a, orders[a_layout]), access_width(macro.b, orders[b_layout]))


def fragment_loads(own: IndexMap, extents: Sequence[int], size: Sequence[int], access: int) -> np.ndarray:
    """[access, lane, dimension]: the first element of every access of every fragment load of a tile."""
    lane, first = np.arange(LANES), np.arange(0, own.inputs[1][1], access)
    return _everywhere(_grid(own, lane[None, :], first[:, None]), extents, size)


def line_loads(lines: IndexMap, extents: Sequence[int], size: Sequence[int]) -> np.ndarray:
    """[access, lane, dimension]: the line that each lane names in every matrix instruction of a tile."""
    return _everywhere(_grid(lines, np.arange(LANES)[None, :], np.arange(lines.inputs[1][1])[:, None]), extents, size)


def _everywhere(places: np.ndarray, extents: Sequence[int], size: Sequence[int]) -> np.ndarray:
    """[access, lane, dimension]: places [dimension, access, lane] of a fragment, for all fragments of a tile."""
    origins = np.stack(np.meshgrid(*(np.arange(0, s, e) for s, e in zip(size, extents)), indexing="ij"), axis=-1)
    return (origins.reshape(-1, 1, 1, 2) + np.moveaxis(places, 0, -1)).reshape(-1, LANES, 2)


def cyclic_stores(size: Sequence[int], order: Sequence[int], threads: int) -> np.ndarray:
    """[access, lane, dimension]: chunks dealt out to the threads of a block in turn, line by line.

    >>> cyclic_stores((16, 16), (0, 1), 32)[0, 1].tolist()  # lane 1 stores the second chunk of the first row
    [0, 8]
    """
    width = size[order[1]] // CHUNK
    total = width * size[order[0]]
    q = np.arange(-(-total // threads) * threads)
    points = np.empty((len(q), 2), np.int64)
    points[:, order[0]], points[:, order[1]] = q // width, q % width * CHUNK
    points[q >= total] = -1
    return points.reshape(-1, LANES, 2)
