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

Products that read the same, as `relu(A @ B) * (A @ Q)` does, have one loop: its tree has both below one band, a tile of
A is brought once for both, and they are one group.

        FILTER: box_A[by, bx, kt, p]; box_B[by, bx, kt, p]; box_Q[by, bx, kt, p]
        ...
        FILTER: S1[i, j, k]
        FILTER: S2[i, j, k]
        FILTER: close_S1[by, bx, kt]

What boxes bring beside a tensor is 0, and counts. So there are no full and partial tiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from polyvolta.cuda.build.promotion.boxes.fragments import Fragments
from polyvolta.cuda.build.promotion.boxes.product import EMPTY, FULL, BoxedProduct
from polyvolta.cuda.build.promotion.boxes.rewriting import Rewriting, Step
from polyvolta.cuda.build.promotion.boxes.sharing import senders
from polyvolta.cuda.build.promotion.boxes.sides import BoxedSide, sides_of
from polyvolta.cuda.build.promotion.footprints import instances
from polyvolta.cuda.build.promotion.makers import Makers
from polyvolta.cuda.build.promotion.model import BLOCK, STRIP, TILE, Movement, Nest, Operands, Piece, Tiling
from polyvolta.cuda.build.promotion.nests import beside, conjunction
from polyvolta.cuda.build.promotion.strips import grouped
from polyvolta.cuda.ir.kernel_ir import (
    Arrive,
    Await,
    GlobalTensor,
    PhaseBarriers,
    RegisterArray,
    SharedTile,
    WgmmaCommit,
    WgmmaFence,
    WgmmaWait,
)
from polyvolta.cuda.ir.memories import ZERO
from polyvolta.cuda.target.warpgroup import WarpgroupMma
from polyvolta.graph.plans.loops import is_computed
from polyvolta.graph.plans.plans import Plan
from polyvolta.sched.nodes import Band, Filter, Member, Node
from polyvolta.sched.nodes import Sequence as InOrder
from polyvolta.sets import Aff, Map, Set, Tuple, aff, var
from polyvolta.sets.values.simplify import simplify
from polyvolta.sets.values.space import Space, distinct

LAG = 1
"""Groups of products that run on while the next tile's are issued: with one, these follow without a gap."""
ONE_THREAD, ONE_OF_WARPGROUP = "lane", "rank"
"""Names of which a statement's one thread has the value 0: in a warp, and in a warpgroup."""


def boxed_pieces(
    nests: Mapping[str, Nest],
    together: Sequence[Sequence[str]],
    plan: Plan,
    options: Tiling,
    macro_mma: WarpgroupMma,
    makers: Makers,
    warpgroups: int,
    tensors: Mapping[str, GlobalTensor],
    context: Set,
    first: Aff = ZERO,
) -> Operands:
    """The k loops of all products, some of which have one together.

    Parameters
    ----------
    nests : of the products, by statement.
    together : the products of each loop, by statement.
    warpgroups : of consumers.
    context : what may be assumed of the sizes.
    makers : who makes products together.
    first : how many tiles the block's ring has had before.

    Raises
    ------
    CannotPromote : loops around strips whose left operand is computed.
    """
    by_name = {c.statement.name: c for c in plan.contractions}
    loops = [[by_name[s] for s in loop] for loop in together]
    sides = [sides_of(loop, nests, macro_mma, tensors, options, context) for loop in loops]
    sending = senders([s.sharing for pairs in sides for pair in pairs for s in pair], options.cluster)
    lefts = max(len({s.tile for s, _ in pairs}) for pairs in sides)
    pieces, macros, maps, producing, before = [], [], {}, [], first
    depths: dict[str, Aff] = {}
    for loop, pairs in zip(loops, sides, strict=True):
        suffix = f"_{loop[0].statement.name}" if len(loops) > 1 else ""
        made = []
        for c, pair in zip(loop, pairs, strict=True):
            held = macro_mma.from_registers if is_computed(c.left) else macro_mma
            macro, nest = held.of(c.left.layout, c.right.layout), nests[c.statement.name]
            macros.append(macro)
            summed = depths.get(c.accumulator, aff(0))
            made.append(BoxedProduct(c, nest, pair, macro, options.buffers, before, summed, suffix, context,
                                     makers.columns, sending, options.split_k, options.fragments,
                                     makers.offset))  # fmt: skip
            depths[c.accumulator] = summed + aff(str(c.statement.extents[2]))
            maps |= {s.map.name: s.map for s in pair}
        whole = KLoop(tuple(made), lefts)
        pieces.append(whole.piece())
        producing += whole.producing()
        before = before + made[0].count()
    arrivals = warpgroups * sending.count
    barriers = PhaseBarriers(FULL, 0, options.buffers, 1), PhaseBarriers(EMPTY, 0, options.buffers, arrivals)
    return Operands(tuple(pieces), tuple(macros), barriers, tuple(maps.values()), frozenset(producing), before - first)


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
class KLoop:
    """A loop over k tiles, of one product or of several that share tiles.

    Parameters
    ----------
    products : in order; all say the same of the ring.
    lefts : most left operands that any of the kernel's loops has a tile of: behind theirs are those of right ones, so
        that a slot lies where the same slot of other loops lies.
    """

    products: tuple[BoxedProduct, ...]
    lefts: int

    @property
    def first(self) -> BoxedProduct:
        """The product whose names the loop's own statements have."""
        return self.products[0]

    @property
    def sides(self) -> tuple[tuple[BoxedProduct, BoxedSide], ...]:
        """Whose tiles are brought, left ones first: of those that have one the first."""
        found: dict[str, tuple[BoxedProduct, BoxedSide]] = {}
        for n in (0, 1):
            for p in self.products:
                found.setdefault(p.sides[n].tile, (p, p.sides[n]))
        return tuple(found.values())

    def boxes(self) -> list[Movement]:
        """The statements that have boxes copied."""
        return [p.copy(side) for p, side in self.sides]

    def producing(self) -> list[str]:
        """The statements of the role that has tiles brought."""
        return [self.first.name(EMPTY), self.first.name("expect"), *(m.statement for m in self.boxes())]

    def computed(self, letter: str) -> list[BoxedProduct]:
        """The products by which left or right operands are computed on the way, each once."""
        found: dict[str, BoxedProduct] = {}
        for p in self.products:
            side = p.sides["ab".index(letter)]
            if is_computed(side.operand):
                found.setdefault(side.operand.name, p)
        return list(found.values())

    # ---- the piece

    def piece(self) -> Piece:
        """The loop as one thread would run it."""
        first, boxes = self.first, self.boxes()
        size = sum(s.plan.bytes for _, s in self.sides)
        empty = first.single(EMPTY, Await(first.phase(EMPTY, 1)))
        expect = first.single("expect", Arrive(first.phase(FULL), size))
        full = first.single(FULL, Await(first.phase(FULL)), "until a tile has come")
        ready, close = first.single("ready", WgmmaFence()), first.single("close", WgmmaCommit())
        done = first.single("done", WgmmaWait(0), "until its products are done")
        release = first.single("release", Arrive(first.phase(EMPTY)), "a slot is free")
        said = [op for op in release.ops if isinstance(op, Arrive)]
        arrivals = (replace(op, to=rank) for op in said for rank in first.sending.ranks)
        release = replace(release, ops=tuple(arrivals))
        copies = {m.statement: ((var(p.p), s.own_boxes),) for m, (p, s) in zip(boxes, self.sides)}
        before = [Step((m,), by(m, ONE_THREAD)) for m in (empty, expect)]
        before += [Step(tuple(boxes), self.by_boxes(boxes), copies), Step((full,)), *self.rewritten()]
        last = Step((release,), by(release, ONE_OF_WARPGROUP))
        if self.computed("a"):
            return self.by_strips(before, (ready, close, done), last)
        return self.by_tiles([*before, Step((ready,))], (close, done), last)

    def by_tiles(self, before: Sequence[Step], behind: Sequence[Movement], release: Step) -> Piece:
        """The loop with its products waited for tile by tile.

        Parameters
        ----------
        before : what a tile has before its products.
        behind : what makes these a group and what waits for it.
        release : of the tile's slots.
        """
        first, (close, done) = self.first, behind
        nest, kt = first.nest, first.nest.k_tile
        steps = [*before, *self.products, *(Step((m,)) for m in behind), release]
        kids = [s.filter if isinstance(s, Step) else Filter((s.nest.statement,), s.compute()) for s in steps]
        index = aff(0) if kt is None else var(kt)
        at = nest.depth(TILE) - 1
        times = {m.statement: index for s in steps if isinstance(s, Step) for m in s.movements}
        times |= {p.nest.statement: p.nest.members[at].of(p.nest.statement) for p in self.products}
        order = self.order(steps)
        exprs = tuple((s, times[s]) for s in order)
        node = Band((Member(exprs, nest.members[at].coincident, level=TILE),), InOrder(tuple(kids)))
        extensions = [first.entering(m, s) for s in (*before, release) for m in s.movements]
        for m, early, late in ((close, 0, LAG), (done, -LAG, 0)):
            there = stretched(first.sides[0].tiles, kt, early, late)
            extensions.append(instances(m.statement, m.dims, nest.above(BLOCK), there, (), first.context))
        added = [m for s in steps if isinstance(s, Step) for m in s.movements]
        movements = (*added, *(p.multiply() for p in self.products))
        return Piece(order, node, tuple(extensions), movements, self.tiles(), self.staging())

    def by_strips(self, before: Sequence[Step], behind: Sequence[Movement], release: Step) -> Piece:
        """The loop with its products waited for strip by strip, as registers of left operands take turns.

        Parameters
        ----------
        before : what a tile has before its first strip.
        behind : what each strip has: the registers are ready, its products are a group and are waited for.
        release : of the tile's slots.
        """
        own = {p.nest.statement: Fragments(p, p.sets) for p in self.products}
        held = [own[p.nest.statement] for p in self.computed("a")]
        lead, first, nest = held[0], self.first, self.first.nest
        strip = () if lead.strip is None else (lead.strip,)
        ready, close, done = each = tuple(replace(m, dims=(*m.dims, *strip)) for m in behind)
        loads = [(f, f.load()) for f in held]
        fetched = [Step((m,), f.loads(m)) for f, m in loads]
        steps = [*before, *fetched, Step((ready,)), *self.products, Step((close,)), Step((done,)), release]
        kids = [s.filter if isinstance(s, Step) else Filter((s.nest.statement,), own[s.nest.statement].products())
                for s in steps]  # fmt: skip
        order = self.order(steps)
        times = dict.fromkeys(order, aff(0)) | {m.statement: lead.number for m in each}
        times |= {m.statement: f.number for f, m in loads}
        times |= {s: simplify(f.step // f.deep, {}) for s, f in own.items()}
        times |= dict.fromkeys((m.statement for m in release.movements), aff(lead.strips - 1))
        turn, at = nest.members[lead.turn], nest.depth(TILE) - 1
        strips = Member(tuple((s, times[s]) for s in order), turn.coincident, None, True, level=STRIP)
        index = aff(0) if nest.k_tile is None else var(nest.k_tile)
        of_products = {p.nest.statement: p.nest.members[at].of(p.nest.statement) for p in self.products}
        tiles = tuple((s, of_products.get(s, index)) for s in order)
        node = Band((Member(tiles, nest.members[at].coincident, level=TILE),), Band((strips,), InOrder(tuple(kids))))
        extensions = [first.entering(m, s) for s in (*before, release) for m in s.movements]
        extensions += [f.entering(m) for f, m in loads]
        extensions += [lead.each_strip(m, m is done, m is close) for m in each]
        added = [m for s in steps if isinstance(s, Step) for m in s.movements]
        movements = (*added, *(own[p.nest.statement].multiply(p.multiply()) for p in self.products))
        registers = (*(f.registers() for f in held), *self.staging())
        return Piece(order, node, tuple(extensions), movements, self.tiles(), registers)

    def order(self, steps: Sequence[Step | BoxedProduct]) -> tuple[str, ...]:
        """The statements of a tile."""
        return tuple(n for s in steps
                     for n in ((m.statement for m in s.movements) if isinstance(s, Step) else (s.nest.statement,)))

    def rewritings(self) -> list[Rewriting]:
        """What computes right operands in their stages."""
        return [Rewriting(p, p.macro.instruction.scope.threads) for p in self.computed("b")]

    def rewritten(self) -> tuple[Step, ...]:
        """The same as steps: all of them are seen past the threads, and waited for, at once."""
        found = [r.steps() for r in self.rewritings()]
        return (*(made for made, *_ in found), *found[0][1:]) if found else ()

    def staging(self) -> tuple[RegisterArray, ...]:
        """The registers of that."""
        return tuple(r.registers for r in self.rewritings())

    def by_boxes(self, boxes: Sequence[Movement]) -> Node:
        """Unrolled loops over an operand's boxes, by one thread."""
        loops = grouped([(m, s.own_boxes, p.p) for m, (p, s) in zip(boxes, self.sides)])
        names = tuple((m.statement, aff(0)) for m in boxes)
        return Band((Member(names, True, ONE_THREAD),), loops)

    def tiles(self) -> tuple[SharedTile, ...]:
        """Each side's slots, one behind the other, left sides' before right ones'."""
        slots, (left, _) = self.first.slots, (s.plan.chunks for s in self.first.sides)
        out, start = list[SharedTile](), {"a": 0, "b": self.lefts * left * slots}
        for _, side in self.sides:
            at, chunks = start[side.letter], side.plan.chunks
            out.append(SharedTile(side.tile, at, chunks, side.plan.layout, side.order, slots))
            start[side.letter] += chunks * slots
        return tuple(out)


def by(m: Movement, name: str) -> Node:
    """BAND: ... -> the thread whose number of that name is 0."""
    return Band((Member(((m.statement, aff(0)),), True, name),))
