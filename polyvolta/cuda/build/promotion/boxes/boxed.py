"""The k loops of products whose operands the copy engine brings and tensor cores read from shared memory themselves.

    BAND: empty[by, bx, kt] → [kt]; ...; S[i, j, k] → [⌊k/64⌋]; close[by, bx, kt] → [kt]; ...
      SEQUENCE
        FILTER: empty[by, bx, kt]            until the slot's last tile has been read
        FILTER: expect[by, bx, kt]           bytes of the boxes to come
        FILTER: box_A[by, bx, kt, p]; box_B[by, bx, kt, p]
        FILTER: full[by, bx, kt]             until all bytes have come
        FILTER: ready[by, bx, kt]
        FILTER: S[i, j, k]
          BAND: S[i, j, k] → [warpgroupIdx_y, warpgroupIdx_x, 0]
            BAND: S[i, j, k] → [0, 0, ⌊k/16⌋ - 4⌊k/64⌋]
        FILTER: close[by, bx, kt]            the tile's products become a group
        FILTER: done[by, bx, kt]             until they have been computed
        FILTER: release[by, bx, kt]          the slot is free

So the tree reads as one thread's program, tile after tile. Two passes make of it what runs: `ring` lets a tile's
products run on during the next tile's, and `roles` gives the copies to a warp of their own, which is ahead of the
others as far as the ring's slots allow.

A ring has S slots, and tile n of a block, counted over all products of a sum, is in slot n mod S: phase ⌊n/S⌋ of the
slot's barriers `full` and `empty` is about it. Products of one sum share the ring, so that the first tiles of one are
copied while the last ones of the other are multiplied. So do the results that a persistent block computes one after the
other: a counter says how many tiles the ring has had before.

What boxes bring beside a tensor is 0, and counts. So there are no full and partial tiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from polyvolta.cuda.build.promotion.boxes.edges import is_computed
from polyvolta.cuda.build.promotion.boxes.fragments import Fragments
from polyvolta.cuda.build.promotion.boxes.rewriting import Rewriting, Step
from polyvolta.cuda.build.promotion.boxes.sharing import Senders, Sharing, senders, sharing_of
from polyvolta.cuda.build.promotion.footprints import data_tile, instances, numbered, places
from polyvolta.cuda.build.promotion.makers import Makers
from polyvolta.cuda.build.promotion.model import (
    BLOCK,
    PART_OF_CLUSTER,
    STRIP,
    TILE,
    WARP,
    Movement,
    Nest,
    Operands,
    Piece,
    Tiling,
    accumulator_name,
    shared_name,
)
from polyvolta.cuda.build.promotion.nests import beside, conjunction, level
from polyvolta.cuda.build.promotion.strips import grouped
from polyvolta.cuda.ir.kernel_ir import (
    Arrive,
    Await,
    BoxCopy,
    BoxMap,
    Element,
    GlobalTensor,
    Phase,
    PhaseBarriers,
    RegisterArray,
    SharedOperand,
    SharedTile,
    Wgmma,
    WgmmaCommit,
    WgmmaFence,
    WgmmaWait,
)
from polyvolta.cuda.ir.memories import ZERO
from polyvolta.cuda.layouts.boxes import K_STEP, OperandBoxes, plan_boxes
from polyvolta.cuda.target.descriptors import InShared
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.cuda.target.warpgroup import WarpgroupMma
from polyvolta.graph.plans.plans import Contraction, Operand, Plan
from polyvolta.sched.nodes import Band, Filter, Member, Node
from polyvolta.sched.nodes import Sequence as InOrder
from polyvolta.sets import Aff, Map, Set, Tuple, aff, var
from polyvolta.sets.hulls.box import Box as Hull
from polyvolta.sets.values.simplify import simplify
from polyvolta.sets.values.space import Space, distinct

FULL, EMPTY = "full", "empty"
LAG = 1
"""Groups of products that run on while the next tile's are issued: with one, these follow without a gap."""
ONE_THREAD, ONE_OF_WARPGROUP = "lane", "rank"
"""Names of which a statement's one thread has the value 0: in a warp, and in a warpgroup."""


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

    def operand_at(self, origin: tuple[Aff, ...], slot: Aff) -> SharedOperand:
        """The operand of an instruction that starts at an element of the tile."""
        extent, k = self.plan.extent, 1 - "ab".index(self.letter)
        start = self.plan.start.at(origin[1 - k] // extent, origin[k] // K_STEP)[0]
        return SharedOperand(shared_name(self.operand.name), origin, start, self.plan.descriptor, slot)


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
                     (index[0], index[1]), sharing)  # fmt: skip


def boxed_pieces(
    nests: Mapping[str, Nest],
    plan: Plan,
    options: Tiling,
    macro_mma: WarpgroupMma,
    makers: Makers,
    warpgroups: int,
    tensors: Mapping[str, GlobalTensor],
    context: Set,
    first: Aff = ZERO,
) -> Operands:
    """The k loops of all products.

    Parameters
    ----------
    nests : of the products, by statement.
    warpgroups : of consumers.
    context : what may be assumed of the sizes.
    makers : who makes products together.
    first : how many tiles the block's ring has had before.

    Raises
    ------
    CannotPromote : an operand that is computed on the way.
    """
    pieces, macros, maps, producing, before = [], [], {}, [], first
    both_sides = {c.statement.name: _sides(nests[c.statement.name], c, macro_mma, tensors, options)
                  for c in plan.contractions}  # fmt: skip
    sending = senders([s.sharing for sides in both_sides.values() for s in sides], options.cluster)
    depths: dict[str, Aff] = {}
    for c in plan.contractions:
        nest = nests[c.statement.name]
        suffix = f"_{nest.statement}" if len(plan.contractions) > 1 else ""
        held = macro_mma.from_registers if is_computed(c.left) else macro_mma
        macro = held.of(c.left.layout, c.right.layout)
        sides = both_sides[c.statement.name]
        summed = depths.get(c.accumulator, aff(0))
        loop = BoxedLoop(c, nest, sides, macro, options.buffers, before, summed, suffix, context, makers.columns,
                         sending, options.split_k, options.fragments, makers.offset)  # fmt: skip
        macros.append(macro)
        pieces.append(loop.piece())
        producing += loop.producing()
        maps |= {s.map.name: s.map for s in sides}
        before = before + loop.count()
        depths[c.accumulator] = summed + aff(str(c.statement.extents[2]))
    arrivals = warpgroups * sending.count
    barriers = PhaseBarriers(FULL, 0, options.buffers, 1), PhaseBarriers(EMPTY, 0, options.buffers, arrivals)
    return Operands(tuple(pieces), tuple(macros), barriers, tuple(maps.values()), frozenset(producing), before - first)


def _sides(
    nest: Nest, c: Contraction, macro_mma: WarpgroupMma, tensors: Mapping[str, GlobalTensor], options: Tiling
) -> tuple[BoxedSide, BoxedSide]:
    """Both operands of a product."""
    macro = macro_mma.of(c.left.layout, c.right.layout)
    left, right = (boxed_side(nest, o, n, macro, tensors, options) for o, n in ((c.left, "a"), (c.right, "b")))
    return left, right


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


def stretched(tiles: Set, kt: str | None, first: int, last: int) -> Set:
    """The (by, bx, k tile) from `first` tiles before those there are to `last` behind them, where there are none at
    all, too: groups that are closed and waited for there are empty ones, and so nothing need be tested in the loop."""
    if kt is None or not (first or last):
        return tiles
    dims = tiles.space.out.dims
    new = distinct((f"{n}'" for n in dims), (*dims, *tiles.param_names))
    rows = []
    for after, before in zip(new, dims, strict=True):
        e = var(after) - var(before)
        rows += [("ge", e - first), ("ge", last - e)] if before == kt else [("eq", e)]
    moved = Map._of((), [(Space(Tuple(None, dims), Tuple(None, new)), conjunction((*dims, *new), rows))])
    found = beside(tiles.apply(moved), tiles.project_out(*dims))
    return Set._of(found.param_names, [(Space(None, Tuple(None, dims)), c) for _, c in found.parts])


@dataclass(frozen=True, slots=True)
class BoxedLoop:
    """The parts of one product's k loop.

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

    # ---- statements

    def name(self, wish: str) -> str:
        return wish + self.suffix

    def producing(self) -> list[str]:
        return [self.name(EMPTY), self.name("expect"), *(m.statement for m in self.boxes())]

    def single(self, wish: str, op: object, phrase: str = "") -> Movement:
        """A statement of one instance for each k tile."""
        name = self.name(wish)
        return Movement(name, self.outer, (replace(op, statement=name),), (), phrase)  # type: ignore[type-var]

    def boxes(self) -> list[Movement]:
        """The statements that have boxes copied, of A and of B."""
        return [self.copy(s) for s in self.sides]

    @property
    def here(self) -> dict[str, Aff]:
        """What the member that says which part of K it is is called outside of products."""
        return {n: var(PART_OF_CLUSTER) for n, _ in parts_of(self.nest)}

    @property
    def p(self) -> str:
        """The name of a box's number in its tile."""
        return distinct(("p",), (*self.outer, *self.nest.iterators, *self.nest.real.param_names))[0]

    def copy(self, side: BoxedSide) -> Movement:
        name = f"box_{side.operand.name}"
        local = side.local(var(self.p))
        at = tuple(o.subs(self.here) + x for o, x in zip(side.block.offset, local, strict=True))
        index = tuple(at[d] for d in side.index)
        op = BoxCopy(side.map.name, index, shared_name(side.operand.name), local, self.phase(FULL), self.slot, name,
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

    # ---- the piece

    def piece(self) -> Piece:
        """The loop as one thread would run it."""
        nest, name = self.nest, self.nest.statement
        boxes = self.boxes()
        size = sum(s.plan.bytes for s in self.sides)
        empty = self.single(EMPTY, Await(self.phase(EMPTY, 1)))
        expect = self.single("expect", Arrive(self.phase(FULL), size))
        full = self.single(FULL, Await(self.phase(FULL)), "until a tile has come")
        ready, close = self.single("ready", WgmmaFence()), self.single("close", WgmmaCommit())
        done = self.single("done", WgmmaWait(0), "until its products are done")
        release = self.single("release", Arrive(self.phase(EMPTY)), "a slot is free")
        arrivals = (replace(op, to=rank) for op in release.ops for rank in self.sending.ranks)
        release = replace(release, ops=tuple(arrivals))
        copies = {m.statement: ((var(self.p), side.own_boxes),) for m, side in zip(boxes, self.sides)}
        before = [Step((m,), self.by(m, ONE_THREAD)) for m in (empty, expect)]
        before += [Step(tuple(boxes), self.by_boxes(boxes), copies), Step((full,)), *self.rewritten()]
        last = Step((release,), self.by(release, ONE_OF_WARPGROUP))
        if (left := self.computed_left) is not None:
            return left.piece(before, (ready, close, done), last)
        behind = [Step((close,)), Step((done,)), last]
        kids = [s.filter for s in (*before, Step((ready,)))]
        kids += [Filter((name,), self.compute()), *(s.filter for s in behind)]
        front, back = ([m for s in steps for m in s.movements] for steps in ((*before, Step((ready,))), behind))
        kt = nest.k_tile
        index = aff(0) if kt is None else var(kt)
        member = nest.members[nest.depth(TILE) - 1]
        order = [*front, None, *back]
        exprs = tuple((name, member.of(name)) if m is None else (m.statement, index) for m in order)
        node = Band((Member(exprs, member.coincident, level=TILE),), InOrder(tuple(kids)))
        extensions = [self.entering(m, s) for s in (*before, Step((ready,)), *behind) for m in s.movements
                      if m not in (close, done)]  # fmt: skip
        for m, first, behind_last in ((close, 0, LAG), (done, -LAG, 0)):
            there = stretched(self.sides[0].tiles, kt, first, behind_last)
            extensions.append(instances(m.statement, m.dims, nest.above(BLOCK), there, (), self.context))
        movements = (*front, *back, self.multiply())
        return Piece(tuple(s for s, _ in exprs), node, tuple(extensions), movements, self.tiles(), self.staging())

    def entering(self, m: Movement, step: Step) -> Map:
        """The instances of a movement of each k tile."""
        bounds = step.bounds.get(m.statement, ())
        return instances(m.statement, m.dims, self.nest.above(BLOCK), self.sides[0].tiles, bounds, self.context)

    @property
    def computed_left(self) -> Fragments | None:
        """The left operand, if it is computed in registers."""
        return Fragments(self, self.sets) if is_computed(self.contraction.left) else None

    @property
    def computed_right(self) -> Rewriting | None:
        """The right operand, if it is computed in its stage."""
        threads = self.macro.instruction.scope.threads
        return Rewriting(self, threads) if is_computed(self.contraction.right) else None

    def rewritten(self) -> tuple[Step, ...]:
        """What computes the right operand."""
        return () if self.computed_right is None else self.computed_right.steps()

    def staging(self) -> tuple[RegisterArray, ...]:
        """The registers of that."""
        return () if self.computed_right is None else (self.computed_right.registers,)

    def by(self, m: Movement, name: str) -> Node:
        """BAND: ... -> the thread whose number of that name is 0."""
        return Band((Member(((m.statement, aff(0)),), True, name),))

    def by_boxes(self, boxes: Sequence[Movement]) -> Node:
        """Unrolled loops over an operand's boxes, by one thread."""
        loops = grouped([(m, s.own_boxes, self.p) for m, s in zip(boxes, self.sides)])
        names = tuple((m.statement, aff(0)) for m in boxes)
        return Band((Member(names, True, ONE_THREAD),), loops)

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

    def tiles(self) -> tuple[SharedTile, ...]:
        out, start = [], 0
        for side in self.sides:
            name, chunks = shared_name(side.operand.name), side.plan.chunks
            out.append(SharedTile(name, start, chunks, side.plan.layout, side.order, self.slots))
            start += chunks * self.slots
        return tuple(out)
