"""A left operand that is computed on the way: from its stage to registers, computed there, and multiplied.

    BAND: empty[by, bx, kt] → [kt]; ...; frag_A[by, bx, kt, wy, ks, f] → [kt]; S[i, j, k] → [⌊k/64⌋]; ...
      BAND: empty[by, bx, kt] → [0]; ...; frag_A[by, bx, kt, wy, ks, f] → [ks]; S[i, j, k] → [⌊k/16⌋ mod 4]; ...
        SEQUENCE
          ...
          FILTER: full[by, bx, kt]             until all bytes have come
          FILTER: frag_A[by, bx, kt, wy, ks, f]
            BAND: frag_A → [warpgroupIdx_y]
              BAND: frag_A → [f]
          FILTER: ready[by, bx, kt, ks]        the registers are ready for the tensor cores
          FILTER: S[i, j, k]
          FILTER: close[by, bx, kt, ks]        the strip's products become a group
          FILTER: done[by, bx, kt, ks]         until they have been computed
          FILTER: release[by, bx, kt]          the slot is free, behind the last strip

Each warp loads the fragments of its rows with `ldmatrix`, which from a box with a swizzle is the composition that it is
from any tile: the lines that lanes name, then the tile's layout. The formula is applied in the registers, and the
product takes them as its left operand.

Registers of a running product nobody may write. So strips take turns in sets of them, and `ring` lets the wait for a
strip's products come as many strips later as there are further sets: while those run, the next strip's fragments are
loaded and computed. It is the pass that lets a tile's products run on during the next tile's, on strips instead of
tiles.

A tile has as many strips as there are sets, each some of an instruction's steps deep, so that all of a tile is in
registers: a strip's loads follow one another, its products do, and each is waited for once. Strips of one step would
need the fewest registers, and pay a load's and a product's latency at each: with 64 x 64 tiles on an H200 that was most
of the time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd

from polyvolta.cuda.build.promotion.boxes.loop import BoxedLoop
from polyvolta.cuda.build.promotion.footprints import instances
from polyvolta.cuda.build.promotion.model import (
    BLOCK,
    STRIP,
    TILE,
    WARP,
    CannotPromote,
    Movement,
    fragment_name,
    operation_name,
)
from polyvolta.cuda.build.promotion.nests import conjunction, level
from polyvolta.cuda.build.promotion.strips import grouped
from polyvolta.cuda.ir.kernel_ir import Element, Inside, LoadMatrix, Op, Pointwise, RegisterArray, Wgmma
from polyvolta.cuda.layouts.fragments import matrix_access
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.matrix_load import LDMATRIX
from polyvolta.graph.plans.loops import is_computed
from polyvolta.sched.nodes import Band, Member, Node
from polyvolta.sets import Aff, Map, Set, Tuple, aff, var
from polyvolta.sets.values.build import affs_of, expression
from polyvolta.sets.values.simplify import interval, simplify
from polyvolta.sets.values.space import Space, distinct


@dataclass(frozen=True, slots=True)
class Fragments:
    """The left operand of a product in registers.

    Parameters
    ----------
    loop : the k loop.
    sets : of registers, in which strips take turns.
    """

    loop: BoxedLoop
    sets: int

    @property
    def turn(self) -> int:
        """The position of the loop over strips.

        Raises
        ------
        CannotPromote : there are several, or loops around the warpgroups' tiles.
        """
        nest = self.loop.nest
        name, mine = nest.statement, nest.between(WARP, STRIP)
        loops = [k for k in mine if not nest.members[k].of(name).is_constant]
        around = [m for m in (nest.members[k] for k in nest.between(TILE, WARP)) if not m.name]
        if len(loops) > 1 or not all(m.of(name).is_constant for m in around):
            raise CannotPromote(f"{name} has further loops around its strips, whose fragments take turns",
                                hint="one loop over the strips of a tile")  # fmt: skip
        return loops[0] if loops else mine[-1]

    @property
    def steps(self) -> int:
        """How many steps as deep as an instruction a tile has."""
        nest = self.loop.nest
        _, high = interval(nest.members[self.turn].of(nest.statement), {})
        return 1 + (high or 0)

    @property
    def deep(self) -> int:
        """Steps of a strip: a tile's are shared out among the sets, where that is possible."""
        return self.steps // gcd(self.steps, self.sets)

    @property
    def strips(self) -> int:
        """How many a tile has."""
        return self.steps // self.deep

    @property
    def strip(self) -> str | None:
        """The name of a strip's number; None where there is one."""
        return self.loop.nest.names[self.turn] if self.strips > 1 else None

    @property
    def number(self) -> Aff:
        """A strip's number in its tile."""
        return aff(0) if self.strip is None else var(self.strip)

    @property
    def f(self) -> str:
        """The name of a fragment's number."""
        nest = self.loop.nest
        return distinct(("f",), (*(n for n in nest.names if n), *nest.iterators, *nest.real.param_names))[0]

    @property
    def held(self) -> int:
        """Fragments of a warp in a strip: of each of its steps one below the other."""
        return self.deep * (self.loop.sides[0].part.size[0] // self.loop.macro.shape[0])

    @property
    def array(self) -> str:
        return fragment_name(self.loop.sides[0].operand.name)

    def registers(self) -> RegisterArray:
        """The arrays of fragments."""
        _, values = self.own.inputs[1]
        return RegisterArray(self.array, self.loop.macro.kind, (self.sets, self.held), values)

    @property
    def own(self) -> IndexMap:
        """{ [lane, i] -> [row, k] }: what the lanes of the first warp hold of an operand."""
        return self.loop.macro.instruction.of_warp("a")

    def fragment(self, strip: Aff, number: Aff) -> Element:
        return Element(self.array, (strip % self.sets, number))

    # ---- movements

    def load(self) -> Movement:
        """Shared memory -> fragments, and the formula."""
        loop, nest = self.loop, self.loop.nest
        side = loop.sides[0]
        operand = side.operand
        name = f"frag_{operand.name}"
        of_warps = tuple(str(nest.names[k]) for k in self.loop.mapped)
        strip = () if self.strip is None else (self.strip,)
        dims = (*loop.outer, *of_warps, *strip, self.f)
        step = nest.names[self.turn]
        here = loop.here | ({} if step is None else {step: self.deep * self.number + var(self.f) % self.deep})
        ranges = {self.f: (0, self.held - 1)} | dict.fromkeys(strip, (0, self.strips - 1))
        rows, depth = (simplify((p - b).subs(here), ranges) for p, b in zip(side.part.offset, side.block.offset))
        row, _ = loop.offset
        origin = (simplify(rows + loop.macro.shape[0] * (var(self.f) // self.deep) + row, ranges), depth)
        lines = matrix_access(self.own, side.order, LDMATRIX)
        target = self.fragment(self.number, var(self.f))
        ops: list[Op] = [LoadMatrix(target, side.tile, origin, "x", self.own, lines.lines, lines.count,
                                    lines.transposed, loop.slot, LDMATRIX, name)]  # fmt: skip
        called = operation_name(operand.formula, f"prologue_{operand.name}")
        read = (target, *operand.scalars)
        ops.append(Pointwise(target, called, operand.formula, read, self.inside(depth), name))
        return Movement(name, dims, tuple(ops), (), f"shared memory -> fragments, the prologue of {operand.name}")

    def inside(self, depth: Aff) -> Inside | None:
        """Which values of a fragment lie in the product's k range; None where nothing need be said.

        Parameters
        ----------
        depth : of the fragment's first value in its tile.
        """
        loop = self.loop
        if not loop.sides[0].masked:
            return None
        k = loop.sides[0].block.offset[1].subs(loop.here) + depth
        own = IndexMap(self.own.inputs, self.own.outputs[1:])
        return Inside((k,), (aff(str(loop.contraction.statement.extents[2])),), None, own)

    def multiply(self, m: Movement) -> Movement:
        """A product's movement with its left operand from registers, if that is computed."""
        loop, nest = self.loop, self.loop.nest
        side = loop.sides[0]
        if not is_computed(side.operand):
            return m
        row = var(side.operand.index[0]) - side.part.offset[0].subs(dict(level(nest, STRIP)))
        (op,) = m.ops
        assert isinstance(op, Wgmma)
        number = self.deep * (row // loop.macro.shape[0]) + self.step % self.deep
        return replace(m, ops=(replace(op, a=self.fragment(self.step // self.deep, number)),))

    # ---- the tree

    @property
    def step(self) -> Aff:
        """Which of a tile's steps an instance of the products is in."""
        return self.loop.nest.members[self.turn].of(self.loop.nest.statement)

    def loads(self, load: Movement) -> Node:
        """Loops over a strip's fragments, by those whose rows they are."""
        node = grouped([(load, self.held, self.f)])
        nest = self.loop.nest
        members = [Member(((load.statement, var(str(nest.names[k]))),), True, nest.members[k].name, level=WARP)
                   for k in self.loop.mapped]  # fmt: skip
        return Band(tuple(members), node) if members else node

    def products(self) -> Node:
        """The warpgroups' products of a strip."""
        loop, nest = self.loop, self.loop.nest
        warps = tuple(loop.own(k, False) for k in nest.between(TILE, WARP))
        points = tuple(loop.own(k, True) for k in nest.below(STRIP))
        if self.deep > 1:
            step = simplify(self.step % self.deep, {})
            points = (Member(((nest.statement, step),), nest.members[self.turn].coincident, unroll=True), *points)
        return Band(warps, Band(points)) if warps else Band(points)

    # ---- instances

    def entering(self, load: Movement) -> Map:
        """The instances of the loads, below the block's band."""
        loop, nest = self.loop, self.loop.nest
        extents = [1 + (interval(nest.members[k].of(nest.statement), {})[1] or 0) for k in self.loop.mapped]
        bounds = [(var(str(nest.names[k])), n) for k, n in zip(self.loop.mapped, extents)]
        bounds += [(self.number, self.strips)] if self.strip else []
        bounds += [(var(self.f), self.held)]
        return instances(load.statement, load.dims, nest.above(BLOCK), loop.sides[0].tiles, bounds, loop.context)

    def each_strip(self, m: Movement, early: bool, late: bool) -> Map:
        """The instances of what is there once for a strip.

        Parameters
        ----------
        early, late : also for as many strips before the first one, or behind the last one, as waits come later, where
            there are no strips at all, too: empty groups, so that nothing need be tested in the loop.
        """
        loop, nest, lag = self.loop, self.loop.nest, self.sets - 1
        first, last = -lag * early, lag * late
        tiles, bounds = loop.sides[0].tiles, [(self.number, self.strips)] if self.strip else []
        if nest.k_tile is not None and self.strip is not None and (first or last):
            tiles = _stretched(tiles, nest.k_tile, self.strip, self.strips, first, last)
        return instances(m.statement, m.dims, nest.above(BLOCK), tiles, bounds, loop.context)


def _stretched(tiles: Set, kt: str, ks: str, strips: int, first: int, last: int) -> Set:
    """The (by, bx, k tile, strip) from some strips before those of tiles to some behind them."""
    ((_, (piece,)),) = tiles.parts
    dims = tiles.space.out.dims
    table = affs_of(piece, (*tiles.param_names, *dims))
    rows = []
    for kind, found in (("eq", piece.eqs), ("ge", piece.ineqs)):
        for row in found:
            e = expression(row, table)
            slope = e.subs({kt: aff(1)}) - e.subs({kt: aff(0)})
            moved = first if slope.const > 0 else last
            rows.append((kind, e.subs({kt: var(kt) + (var(ks) - moved) // strips})))
    rows += [("ge", var(ks)), ("ge", strips - 1 - var(ks))]
    names = (*tiles.param_names, *dims, ks)
    return Set._of(tiles.param_names, [(Space(None, Tuple(None, (*dims, ks))), conjunction(names, rows))])
