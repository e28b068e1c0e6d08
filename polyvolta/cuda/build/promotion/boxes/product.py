"""One product of a k loop whose tiles are boxes: its boxes, where an instance reads them, its nest.

What of the loop is everybody's, such as a tile's number in the block's ring and the phases that are about it, is said
here, too, as each product's operations say it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polyvolta.cuda.build.promotion.boxes.rewriting import Step
from polyvolta.cuda.build.promotion.boxes.sharing import Senders
from polyvolta.cuda.build.promotion.boxes.sides import BoxedSide, of_part, parts_of
from polyvolta.cuda.build.promotion.footprints import instances, numbered
from polyvolta.cuda.build.promotion.model import (
    BLOCK,
    PART_OF_CLUSTER,
    STRIP,
    TILE,
    WARP,
    Movement,
    Nest,
    accumulator_name,
)
from polyvolta.cuda.build.promotion.nests import level
from polyvolta.cuda.ir.kernel_ir import BoxCopy, Element, Phase, Wgmma
from polyvolta.cuda.ir.memories import ZERO
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.graph.plans.plans import Contraction
from polyvolta.sched.nodes import Band, Member, Node
from polyvolta.sets import Aff, Map, Set, aff, var
from polyvolta.sets.values.space import distinct

FULL, EMPTY = "full", "empty"


@dataclass(frozen=True, slots=True)
class BoxedProduct:
    """The part of one product in a k loop.

    Parameters
    ----------
    before : how many tiles of the ring the products before have, with those of the block's results before.
    summed : the depths of those before that have the same accumulators.
    columns : of a fragment of the result.
    sending : the blocks of a cluster whose boxes come to a block's tiles.
    split : into how many parts K is split, each for a block of the cluster.
    sets : of registers for a left operand that is computed on the way.
    offset : where the rows and columns of a thread's warp start among a warpgroup's.
    """

    contraction: Contraction
    nest: Nest
    sides: tuple[BoxedSide, ...]
    macro: MacroMma
    slots: int
    before: Aff
    summed: Aff
    suffix: str
    context: Set
    columns: int
    sending: Senders
    split: int
    sets: int = 1
    offset: tuple[Aff, Aff] = (ZERO, ZERO)

    @property
    def outer(self) -> tuple[str, ...]:
        return tuple(n for n in self.nest.above(TILE) if n)

    @property
    def number(self) -> Aff:
        """The number of a tile in the block's ring."""
        kt = self.nest.k_tile
        return self.before + (aff(0) if kt is None else var(kt))

    @property
    def slot(self) -> Aff:
        return self.number % self.slots

    def phase(self, barriers: str, behind: int = 0) -> Phase:
        return Phase(barriers, self.slot, self.number // self.slots - behind)

    def count(self) -> Aff:
        """How many k tiles there are."""
        depth, extent = self.sides[0].block.size[1] * self.split, aff(str(self.contraction.statement.extents[2]))
        return (extent + depth - 1) // depth

    @property
    def mapped(self) -> list[int]:
        """The positions of the members that say which warpgroup's an instance is."""
        members, names = self.nest.members, self.nest.names
        return [k for k in self.nest.between(TILE, WARP)
                if members[k].name and names[k] and members[k].name != PART_OF_CLUSTER]  # fmt: skip

    # ---- statements

    def name(self, wish: str) -> str:
        return wish + self.suffix

    def single(self, wish: str, op: object, phrase: str = "") -> Movement:
        """A statement of one instance for each k tile."""
        name = self.name(wish)
        return Movement(name, self.outer, (replace(op, statement=name),), (), phrase)  # type: ignore[type-var]

    @property
    def here(self) -> dict[str, Aff]:
        """What the member that says which part of K it is is called outside of products."""
        return {n: var(PART_OF_CLUSTER) for n, _ in parts_of(self.nest)}

    @property
    def p(self) -> str:
        """The name of a box's number in its tile."""
        return distinct(("p",), (*self.outer, *self.nest.iterators, *self.nest.real.param_names))[0]

    def copy(self, side: BoxedSide) -> Movement:
        """The statement that has an operand's boxes copied."""
        name = f"box_{side.operand.name}"
        local = side.local(var(self.p))
        at = tuple(o.subs(self.here) + x for o, x in zip(side.block.offset, local, strict=True))
        index = tuple(at[d] for d in side.index)
        op = BoxCopy(side.map.name, index, side.tile, local, self.phase(FULL), self.slot, name,
                     side.sharing.ranks)  # fmt: skip
        return Movement(name, (*self.outer, self.p), (op,), (), "boxes of tiles -> shared memory")

    def multiply(self) -> Movement:
        """What an instance of the contracted statement does."""
        nest = self.nest
        of_member = dict(level(nest, STRIP))
        to_tile = dict(level(of_part(nest), TILE))
        place = []
        operands = []
        for side in self.sides:
            shape = (self.macro.shape[0], self.macro.shape[2]) if side.letter == "a" else (
                self.macro.shape[2], self.macro.shape[1])  # fmt: skip
            place.append([(var(i) - o.subs(of_member)) // e
                          for i, o, e in zip(side.operand.index, side.part.offset, shape)])  # fmt: skip
            origin = tuple(var(i) - o.subs(to_tile) for i, o in zip(side.operand.index, side.block.offset))
            operands.append(side.operand_at(origin, self.slot.subs(to_tile)))
        rows = self.sides[0].part.size[0] // self.macro.shape[0]
        cols = self.sides[1].part.size[1] // self.macro.shape[1]
        m, _ = numbered(nest, nest.iterators[0], place[0][0], rows)
        n, _ = numbered(nest, nest.iterators[1], place[1][1], cols)
        each = self.macro.shape[1] // self.columns
        array = accumulator_name(self.contraction.accumulator)
        d = tuple(Element(array, (m, each * n + f)) for f in range(each))
        # a block's first step of all products of a sum needs no accumulators before
        before = sum((self.sides[0].block.size[1] * e for _, e in parts_of(nest)), aff(0))
        adds = (var(nest.iterators[2]) - before + self.summed - 1,)
        op = Wgmma(d, operands[0], operands[1], self.macro, nest.statement, adds)
        return Movement(nest.statement, nest.iterators, (op,), (), "products of warpgroups")

    def entering(self, m: Movement, step: Step) -> Map:
        """The instances of a movement of each k tile."""
        bounds = step.bounds.get(m.statement, ())
        return instances(m.statement, m.dims, self.nest.above(BLOCK), self.sides[0].tiles, bounds, self.context)

    # ---- the tree

    def own(self, k: int, unroll: bool) -> Member:
        """A member of the product's nest, for the product alone."""
        m, name = self.nest.members[k], self.nest.statement
        return Member(((name, m.of(name)),), m.coincident, m.name, unroll or m.unroll, level=m.level)

    def compute(self) -> Node:
        """The warpgroups' strips of products."""
        nest, name, own = self.nest, self.nest.statement, self.own
        tile, warp, strip = map(nest.depth, (TILE, WARP, STRIP))
        warps = [own(k, not (nest.members[k].name or nest.members[k].of(name).is_constant)) for k in range(tile, warp)]
        strips, points = ([own(k, True) for k in r] for r in (range(warp, strip), nest.below(STRIP)))
        return Band(tuple(warps), Band(tuple(strips), Band(tuple(points))))
