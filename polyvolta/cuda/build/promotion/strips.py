"""The strips of a product's k tile: fragments from shared memory, and the macro-MMAs on them.

A strip is as deep as a macro-MMA. Its fragments are in registers of their own; with two sets of these strips take
turns, and `pipeline` has the next strip's loaded during the computation on this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from polyvolta.cuda.build.promotion.footprints import instances, numbered
from polyvolta.cuda.build.promotion.model import (
    STRIP,
    TILE,
    WARP,
    Movement,
    Nest,
    accumulator_name,
    fragment_name,
    shared_name,
)
from polyvolta.cuda.build.promotion.nests import level
from polyvolta.cuda.build.promotion.operands import Side, buffer_of, fragment_counts
from polyvolta.cuda.ir.kernel_ir import Element, FragmentLoad, LoadMatrix, Mma, Op, RegisterArray
from polyvolta.cuda.layouts.fragments import OperandPlan
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.sched.nodes import Band, Extension, Filter, Leaf, Member, Node
from polyvolta.sched.nodes import Sequence as InOrder
from polyvolta.sets import Aff, Map, Set, aff, var
from polyvolta.sets.values.simplify import interval, simplify
from polyvolta.sets.values.space import distinct


def strip_of(nest: Nest) -> int | None:
    """The position of the loop over strips where fragments can take turns by it: an even number of strips, so that a
    strip's number in its tile says which turn it is, and no further loop around or beside them.
    """
    name = nest.statement
    around = [m for m in (nest.members[k] for k in nest.between(TILE, WARP)) if not m.name]
    strips = [k for k in nest.between(WARP, STRIP) if not nest.members[k].of(name).is_constant]
    if len(strips) != 1 or not all(m.of(name).is_constant for m in around):
        return None
    low, high = interval(nest.members[strips[0]].of(name), {})
    return strips[0] if low == 0 and high is not None and high % 2 else None


@dataclass(frozen=True, slots=True)
class Strips:
    """What a warp does in a tile.

    Parameters
    ----------
    nest : of the product.
    sides, plan : its operands, and how fragments are loaded.
    accumulator : the array that it adds to.
    buffers : of shared memory.
    sets : of registers for fragments.
    turn : the position of the loop by which strips take turns in them; None: there is one set.
    context : what may be assumed of the sizes.
    """

    nest: Nest
    sides: tuple[Side, Side]
    plan: OperandPlan
    accumulator: str
    buffers: int
    sets: int
    turn: int | None
    context: Set

    @property
    def macro(self) -> MacroMma:
        return self.plan.macro

    @property
    def f(self) -> str:
        """The name of a fragment's number."""
        nest = self.nest
        return distinct(("f",), (*(n for n in nest.names if n), *nest.iterators, *nest.real.param_names))[0]

    def counts(self) -> list[int]:
        """How many fragments a warp has of A and of B."""
        return [c[0] * c[1] for c in (fragment_counts(s, self.macro.shape)[0] for s in self.sides)]

    def registers(self) -> list[RegisterArray]:
        """The arrays of fragments."""
        out = []
        for side, count, values in zip(self.sides, self.counts(), self.macro.values):
            shape = (count,) if self.turn is None else (self.sets, count)
            out.append(RegisterArray(fragment_name(side.operand.name), self.macro.kind, shape, values))
        return out

    # ---- movements

    def loads(self) -> list[Movement]:
        """The statements that load fragments, of A and of B."""
        return [self.fragment_load(s) for s in self.sides]

    def fragment_load(self, side: Side) -> Movement:
        """Shared memory -> fragments; a warp's fragments of an operand are numbered row by row."""
        operand = side.operand.name
        name, dims = f"frag_{operand}", (*(n for n in self.nest.names if n), self.f)
        counts, extent = fragment_counts(side, self.macro.shape)
        ranges = {self.f: (0, counts[0] * counts[1] - 1)}
        origin = (simplify(var(self.f) // counts[1], ranges), simplify(var(self.f) % counts[1], ranges))
        local = tuple(w + o * e - b for w, o, e, b in zip(side.warp.offset, origin, extent, side.block.offset))
        own = self.macro.a if side.letter == "a" else self.macro.b
        assert isinstance(own, IndexMap)
        layout = (self.plan.a, self.plan.b)["ab".index(side.letter)]
        strip = None if self.turn is None else var(str(self.nest.names[self.turn]))
        what = self.fragment(operand, strip, var(self.f)), shared_name(operand), local, side.letter, own
        buffer = buffer_of(self.nest, self.buffers)
        if (m := layout.matrix) is not None:
            assert self.macro.loads is not None
            op: Op = LoadMatrix(*what, m.lines, m.count, m.transposed, buffer, self.macro.loads, name)
        else:
            op = FragmentLoad(*what, layout.access, buffer, name)
        return Movement(name, dims, (op,), (), "shared memory -> fragments")

    def fragment(self, operand: str, strip: Aff | None, number: Aff) -> Element:
        """A fragment of an operand; in one of the sets of registers that strips take turns in."""
        turn = () if strip is None else (strip % self.sets,)
        return Element(fragment_name(operand), (*turn, number))

    def mma(self) -> Movement:
        """What an instance of the contracted statement does: which fragments its macro-MMA works on."""
        nest = self.nest
        of_member = dict(level(nest, STRIP))
        place = []
        for side in self.sides:
            _, extent = fragment_counts(side, self.macro.shape)
            place.append([(var(i) - o.subs(of_member)) // e
                          for i, o, e in zip(side.operand.index, side.warp.offset, extent)])  # fmt: skip
        strip = None if self.turn is None else nest.members[self.turn].of(nest.statement)
        a, b = (self.fragment(s.operand.name, strip, x[0] * fragment_counts(s, self.macro.shape)[0][1] + x[1])
                for s, x in zip(self.sides, place))  # fmt: skip
        rows, cols = (fragment_counts(s, self.macro.shape)[0][n] for n, s in enumerate(self.sides))
        m, _ = numbered(nest, nest.iterators[0], place[0][0], rows)
        n, _ = numbered(nest, nest.iterators[1], place[1][1], cols)
        d = Element(accumulator_name(self.accumulator), (m, n))
        return Movement(nest.statement, nest.iterators, (Mma(d, a, b, self.macro, nest.statement),), (), "macro-MMAs")

    # ---- instances and trees

    def entering(self, fragments: Sequence[Movement], prefix: Sequence[str | None]) -> list[Map]:
        """The extensions { [outer members] -> fragment loads } below members of some names."""
        return [instances(m.statement, m.dims, prefix, s.strips, ((var(self.f), n),), self.context)
                for m, s, n in zip(fragments, self.sides, self.counts())]  # fmt: skip

    def filled(self, fragments: Sequence[Movement]) -> Node:
        """Loops over a strip's fragments."""
        return grouped([(m, n, self.f) for m, n in zip(fragments, self.counts())])

    def compute(self, fragments: Sequence[Movement]) -> Node:
        """The warps' strips of fragment loads and macro-MMAs."""
        nest, name = self.nest, self.nest.statement
        tile, warp, strip = map(nest.depth, (TILE, WARP, STRIP))
        # a loop that somebody put around the warps' tiles runs over other accumulators: registers, which need numbers
        warps = [self.own(k, not (nest.members[k].name or nest.members[k].of(name).is_constant))
                 for k in range(tile, warp)]  # fmt: skip
        strips, points = ([self.own(k, True) for k in r] for r in (range(warp, strip), nest.below(STRIP)))
        found = self.entering(fragments, nest.names)
        fill = Filter(tuple(m.statement for m in fragments), self.filled(fragments))
        inner = InOrder((fill, Filter((name,), Band(tuple(points)))))
        return Band(tuple(warps), Band(tuple(strips), Extension(found[0] | found[1], inner)))

    def by_strips(self, parts: Sequence[Filter], added: Sequence[Movement], fragments: Sequence[Movement]) -> Node:
        """The strips of a tile around all that a trip does: what is there once for a tile is so in its first strip."""
        nest, name = self.nest, self.nest.statement
        assert self.turn is not None
        tile, warp = nest.depth(TILE), nest.depth(WARP)
        mapped = [k for k in range(tile, warp) if nest.members[k].name and nest.names[k]]
        same = [(k, tuple((m.statement, var(str(nest.names[k]))) for m in fragments)) for k in mapped]
        filled = self.filled(fragments)
        if same:
            filled = Band(tuple(Member(exprs, True, nest.members[k].name, level=WARP) for k, exprs in same), filled)
        points = Band(tuple(self.own(k, True) for k in nest.below(STRIP)))
        multiply = Band(tuple(self.own(k, False) for k in range(tile, warp)), points)
        own = self.own(self.turn, True)
        strip = var(str(nest.names[self.turn]))
        exprs = (*((m.statement, aff(0)) for m in added), *((m.statement, strip) for m in fragments), *own.exprs)
        whole = InOrder((*parts, Filter(tuple(m.statement for m in fragments), filled), Filter((name,), multiply)))
        return Band((replace(own, exprs=exprs),), whole)

    def own(self, k: int, unroll: bool) -> Member:
        """A member of the product's nest, for the product alone."""
        m, name = self.nest.members[k], self.nest.statement
        return Member(((name, m.of(name)),), m.coincident, m.name, unroll or m.unroll, level=m.level)


def grouped(moved: Sequence[tuple[Movement, int, str]], thread: bool = False) -> Node:
    """Unrolled loops over a dimension of each movement; those of one extent in a row share one."""
    kids = []
    for _, group in groupby(moved, key=lambda x: x[1]):
        mine = [(m, d) for m, _, d in group]
        names = [m.statement for m, _ in mine]
        below: Node = InOrder(tuple(Filter((n,)) for n in names)) if len(names) > 1 else Leaf()
        if thread:
            below = _band([(m.statement, var(m.dims[-1])) for m, _ in mine], "linearId", False, below)
        kids.append((names, _band([(m.statement, var(d)) for m, d in mine], None, True, below)))
    if len(kids) == 1:
        return kids[0][1]
    return InOrder(tuple(Filter(tuple(names), node) for names, node in kids))


def _band(exprs: Sequence[tuple[str, Aff]], name: str | None, unroll: bool, child: Node) -> Band:
    """A one-member band over several statements."""
    return Band((Member(tuple(exprs), True, name, unroll),), child)
