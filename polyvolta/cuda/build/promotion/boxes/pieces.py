"""Pieces of a warpgroup's result: how many columns each has, where in shared memory it is on its way, and how many are
there at once.

A warpgroup's result, 64 rows of it, goes to global memory in *pieces* of as many columns as one box takes, and so do
the other operands of the epilogue come that are matrices of the result's shape. An operand that lies in memory as an
output does shares its place: each warp takes the operand's values from where it puts the result's, no value is anybody
else's. Others have a place of their own.

Operands are brought while products are computed, all pieces of them, so each piece has a place of its own then. Where
nothing is brought, or there isn't so much room, two places of a warpgroup take turns: the engine reads one while the
other is filled. With room for one piece there is one.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from math import gcd, prod

from polyvolta.cuda.build.promotion.makers import Makers
from polyvolta.cuda.build.promotion.model import free_name, shared_name
from polyvolta.cuda.ir.kernel_ir import CHUNK_BYTES, BoxMap, GlobalTensor, SharedTile
from polyvolta.cuda.layouts.result_boxes import ResultBoxes, plan_result
from polyvolta.cuda.target.boxes import CHUNK
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.graph.plans.plans import Plan, Step

BUFFERS = 2
"""Of a warpgroup for each output, where pieces take turns."""


@dataclass(frozen=True, slots=True)
class Boxed:
    """A matrix of the result's shape that goes, or comes, in pieces.

    Parameters
    ----------
    map : the tensor and its boxes.
    boxes : how a piece lies in shared memory, who has which of its values.
    tile : where.
    """

    map: BoxMap
    boxes: ResultBoxes
    tile: str


@dataclass(frozen=True, slots=True)
class Pieces:
    """How the outputs of a plan are stored, and operands of its steps brought.

    Parameters
    ----------
    outputs, operands : by tensor.
    shape : of a piece.
    count : pieces of a warpgroup.
    buffers : places of a warpgroup in each tile.
    warpgroups : of a tile.
    takers : sets of them that take turns at a block's tiles, each with places of its own.
    """

    outputs: Mapping[str, Boxed]
    operands: Mapping[str, Boxed]
    shape: tuple[int, int]
    count: int
    buffers: int
    warpgroups: int
    takers: int = 1

    @property
    def take_turns(self) -> bool:
        """Whether a piece's place is that of a piece before."""
        return self.buffers < self.count

    @property
    def tiles(self) -> tuple[SharedTile, ...]:
        """All places, those of each matrix behind those of the one before."""
        out: dict[str, SharedTile] = {}
        start = 0
        for m in (*self.outputs.values(), *self.operands.values()):
            if m.tile not in out:
                chunks, count = chunks_of(m.boxes), self.buffers * self.warpgroups * self.takers
                out[m.tile] = SharedTile(m.tile, start, chunks, m.boxes.layout, m.boxes.order, count)
                start += chunks * count
        return tuple(out.values())

    @property
    def maps(self) -> tuple[BoxMap, ...]:
        return tuple(m.map for m in (*self.operands.values(), *self.outputs.values()))

    @property
    def bytes(self) -> int:
        """Of shared memory."""
        return sum(t.bytes for t in self.tiles)

    @property
    def brought(self) -> int:
        """Bytes of operands that a block gets."""
        return self.warpgroups * self.count * sum(CHUNK_BYTES * chunks_of(m.boxes) for m in self.operands.values())


def chunks_of(boxes: ResultBoxes) -> int:
    """Of a piece in shared memory; the next one starts where a swizzle's pattern does.

    >>> from polyvolta.cuda.target.warpgroup import wgmma
    >>> chunks_of(plan_result(wgmma(128)))
    512
    """
    return -(-boxes.shape[0] * boxes.shape[1] // CHUNK // boxes.align) * boxes.align


def pieces_of(
    plan: Plan,
    tensors: Mapping[str, GlobalTensor],
    macro: MacroMma,
    makers: Makers,
    units: tuple[int, int, int],
    counts: Sequence[int],
    room: int,
    taken: Container[str],
    takers: int = 1,
) -> Pieces | None:
    """How a plan's outputs are stored by boxes; None where threads store them.

    That is where no warpgroup has all of a sum, where an output's lines don't start at multiples of 16 bytes, and where
    there isn't room.

    Parameters
    ----------
    macro : of the products; all have its accumulators' map.
    units : warpgroups of a tile, along y, x and z.
    counts : fragments of a warpgroup, by rows and columns.
    room : bytes of shared memory that are left.
    taken : names of tiles and maps that there are.
    takers : sets of warpgroups that take turns at a block's tiles.
    """
    if not makers.columns or units[2] > 1 or any(tensors[name].align < CHUNK for name in plan.outputs):
        return None
    orders = {name: plan.of_result(tensors[name].order) for name in (*plan.outputs, *brought(plan))}
    columns = gcd(*(plan_result(macro.instruction, orders[name]).shape[1] for name in plan.outputs))
    if columns % makers.columns:
        return None
    whole = [name for name in dict.fromkeys(brought(plan)) if tensors[name].align >= CHUNK]
    boxes = {name: plan_result(macro.instruction, orders[name], columns) for name in (*plan.outputs, *whole)}
    maps = {name: BoxMap(free_name(f"map_{name}", taken), name, b.box) for name, b in boxes.items()}
    tiles = {name: free_name(shared_name(name), taken) for name in boxes}
    outputs = {name: Boxed(maps[name], boxes[name], tiles[name]) for name in plan.outputs}
    shape, count = (macro.shape[0], columns), prod(counts) * makers.columns // columns
    for some in range(len(whole), -1, -1):
        operands: dict[str, Boxed] = {}
        for name in whole[:some]:
            used = {m.tile for m in operands.values()}
            alike = (m.tile for m in outputs.values() if m.tile not in used and m.boxes.order == boxes[name].order)
            operands[name] = Boxed(maps[name], boxes[name], next(alike, tiles[name]))
        for buffers in (count,) if some else range(min(BUFFERS, count), 0, -1):
            found = Pieces(outputs, operands, shape, count, buffers, prod(units), takers)
            if found.bytes <= room:
                return found
    return None


def brought(plan: Plan) -> list[str]:
    """The matrices of the result's shape that steps read as they are."""
    made = {c.accumulator for c in plan.contractions} | {s.statement.write.tensor for s in plan.steps}
    read = [(a.tensor, positions(s, a.index)) for s in plan.steps for a in s.accesses]
    return [tensor for tensor, at in read if tensor not in made and at == plan.whole]


def positions(step: Step, index: Sequence[str]) -> tuple[int, ...]:
    """Which coordinates of the result an access's are: 0, 1, or 2 for the number 0."""
    iterators = step.statement.iterators
    return tuple(iterators.index(i) if i in iterators else 2 for i in index)
