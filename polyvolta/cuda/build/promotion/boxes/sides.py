"""One operand of a product whose tiles are boxes: where these lie in memory, who has them copied, who reads them.

Products of one loop may read the same tile, as those of `relu(A @ B) * (A @ Q)` do: then one has it brought, and the
others' sides name that tile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from polyvolta.cuda.build.promotion.boxes.edges import masked
from polyvolta.cuda.build.promotion.boxes.sharing import Sharing, sharing_of
from polyvolta.cuda.build.promotion.footprints import data_tile, places
from polyvolta.cuda.build.promotion.model import PART_OF_CLUSTER, STRIP, TILE, Nest, Tiling, shared_name
from polyvolta.cuda.ir.kernel_ir import BoxMap, GlobalTensor, SharedOperand
from polyvolta.cuda.layouts.boxes import K_STEP, OperandBoxes, plan_boxes
from polyvolta.cuda.target.descriptors import InShared
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.cuda.target.warpgroup import WarpgroupMma
from polyvolta.graph.plans.plans import Contraction, Operand
from polyvolta.sets import Aff, Set, aff, var
from polyvolta.sets.hulls.box import Box as Hull
from polyvolta.sets.values.simplify import simplify


@dataclass(frozen=True, slots=True)
class BoxedSide:
    """One operand of a product, and the boxes that bring its tiles.

    Parameters
    ----------
    operand, letter : what it is, "a" or "b" of the product.
    order : its dimensions as they lie in memory, outermost first.
    block, part : boxes of what a block touches in a step of the k loop, and of what a warpgroup does in a strip.
    tiles : the (by, bx, k tile) that there are.
    plan : how its tile lies in shared memory, its boxes, its descriptor.
    map : the tensor map.
    index : the tensor's dimensions as dimensions of the operand.
    sharing : which blocks of a cluster need its tile, each of which has a part of its boxes copied to all.
    tile : the name of its tile in shared memory.
    masked : whether values beyond the product's k range are set to 0 where it is computed.
    """

    operand: Operand
    letter: str
    order: tuple[int, int]
    block: Hull
    part: Hull
    tiles: Set
    plan: OperandBoxes
    map: BoxMap
    index: tuple[int, int]
    sharing: Sharing
    tile: str
    masked: bool = False

    @property
    def own_boxes(self) -> int:
        """How many of the tile's boxes a block has copied."""
        return len(self.plan.boxes) // self.sharing.count

    @property
    def parts(self) -> int:
        """Boxes of a panel."""
        return self.block.size[self.order[0]] // self.plan.box.lines

    def local(self, p: Aff) -> tuple[Aff, Aff]:
        """The first element in the tile of box number p; those of a panel have neighbouring numbers."""
        line, run = self.order
        number = self.own_boxes * self.sharing.number + p
        at = {line: self.plan.box.lines * (number % self.parts), run: self.plan.box.run * (number // self.parts)}
        ranges = dict.fromkeys(p.names(), (0, self.own_boxes - 1))
        return simplify(at[0], ranges), simplify(at[1], ranges)

    def lies_as(self, other: BoxedSide) -> bool:
        """Whether both have the same boxes brought to every tile, of which one will do: threads that compute a left
        operand leave its tile as it is, and of a right one they must make the same."""
        mine, its = ((s.letter, s.map.tensor, s.index, s.block, s.tiles, s.plan, s.sharing) for s in (self, other))
        return mine == its and (self.letter == "a" or self.computes_as(other))

    def computes_as(self, other: BoxedSide) -> bool:
        """Whether the same is made of equal tiles."""
        return (self.operand.formula, self.operand.scalars) == (other.operand.formula, other.operand.scalars)

    def of(self, other: BoxedSide) -> BoxedSide:
        """This side with what it has in common with another one, whose tile it has, too."""
        name = other.operand.name if self.computes_as(other) else self.operand.name
        return replace(self, operand=replace(self.operand, name=name), tile=other.tile, map=other.map)

    def operand_at(self, origin: tuple[Aff, ...], slot: Aff) -> SharedOperand:
        """The operand of an instruction that starts at an element of the tile."""
        extent, k = self.plan.extent, 1 - "ab".index(self.letter)
        start = self.plan.start.at(origin[1 - k] // extent, origin[k] // K_STEP)[0]
        return SharedOperand(self.tile, origin, start, self.plan.descriptor, slot)


def boxed_side(
    nest: Nest,
    operand: Operand,
    letter: str,
    macro: MacroMma,
    tensors: Mapping[str, GlobalTensor],
    options: Tiling,
) -> BoxedSide:
    """An operand's tiles and boxes.

    Raises
    ------
    CannotPromote : an operand that is no tensor as it is.
    """
    order = (0, 1) if operand.layout == "row" else (1, 0)
    own = of_part(nest)
    block, part = (data_tile(n, level, operand.index, operand.name) for n, level in ((own, TILE), (nest, STRIP)))
    which = aff(0) if options.split_k == 1 else var(PART_OF_CLUSTER) % options.split_k
    ((access,),) = (operand.accesses,)
    extent, held = (macro.shape[0], macro.a) if letter == "a" else (macro.shape[1], macro.b)
    assert isinstance(held, InShared)
    sharing = sharing_of(nest, block, operand.name, options.cluster, which)
    plan = plan_boxes(letter, operand.index, block.size, order, extent, sharing.count, swizzles=held.swizzles)
    box_map = BoxMap(f"map_{operand.name}", access.tensor, plan.box)
    index = tuple(operand.index.index(i) for i in access.index)
    return BoxedSide(operand, letter, order, block, part, places(nest, TILE), plan, box_map,
                     (index[0], index[1]), sharing, shared_name(operand.name))  # fmt: skip


def sides_of(
    loop: Sequence[Contraction], nests: Mapping[str, Nest], macro_mma: WarpgroupMma,
    tensors: Mapping[str, GlobalTensor], options: Tiling, context: Set,
) -> list[tuple[BoxedSide, BoxedSide]]:  # fmt: skip
    """Both operands of each product of a loop; those that lie alike have one tile.

    Parameters
    ----------
    context : what may be assumed of the sizes.
    """
    found, known = [], list[BoxedSide]()
    for c in loop:
        nest, pair = nests[c.statement.name], []
        macro = macro_mma.of(c.left.layout, c.right.layout)
        for operand, letter, zero in zip((c.left, c.right), "ab", masked(c, nest, context), strict=True):
            side = replace(boxed_side(nest, operand, letter, macro, tensors, options), masked=zero)
            alike = [s for s in known if side.lies_as(s)]
            if twin := next((s for s in alike if side.computes_as(s)), next(iter(alike), None)):
                side = side.of(twin)
            known.append(side)
            pair.append(side)
        found.append((pair[0], pair[1]))
    zeros = {s.operand.name for s in known if s.masked}
    return [(replace(a, masked=a.operand.name in zeros), replace(b, masked=b.operand.name in zeros)) for a, b in found]


def parts_of(nest: Nest) -> tuple[tuple[str, Aff], ...]:
    """The member that says which part of K an instance is in, and so which block's: its name, and what it is; () where
    a block has all of K."""
    found = zip(nest.names, nest.members)
    return tuple((n, m.of(nest.statement)) for n, m in found if n is not None and m.name == PART_OF_CLUSTER)


def of_part(nest: Nest) -> Nest:
    """The nest with the part of K among the members of a block: a k tile is what one block has then."""
    at = next((k for k, m in enumerate(nest.members) if m.name == PART_OF_CLUSTER), None)
    if at is None:
        return nest
    first = nest.depth(TILE) - 1

    def moved(row: tuple) -> tuple:
        return (*row[:first], row[at], *row[first:at], *row[at + 1 :])

    member = replace(nest.members[at], level=TILE)
    members = (*nest.members[:at], member, *nest.members[at + 1 :])
    return replace(nest, members=moved(members), names=moved(nest.names))
