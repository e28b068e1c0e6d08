"""The k loop of a product: copies, barriers, strips of fragment loads and macro-MMAs, as a subtree.

    BAND: load_A[by, bx, kt, c, t] → [kt]; ...; sync_read[by, bx, kt] → [kt]; S[i, j, k] → [⌊k/32⌋]
      SEQUENCE
        FILTER: load_A[by, bx, kt, c, t]; load_B[by, bx, kt, c, t]
          BAND: load_A → [c]; load_B → [c]
            BAND: load_A → [linearId]; load_B → [linearId]
        FILTER: sync_write[by, bx, kt]
        FILTER: store_A[by, bx, kt, c, t]; store_B[by, bx, kt, c, t]
        FILTER: sync_read[by, bx, kt]
        FILTER: S[i, j, k]
          BAND: S[i, j, k] → [warpIdx_y, warpIdx_x, 0]
            BAND: S[i, j, k] → [0, 0, ⌊k/8⌋ - 4⌊k/32⌋]
              EXTENSION: [...] → frag_A[by, bx, kt, wy, wx, ks, f]
                SEQUENCE
                  FILTER: frag_A; frag_B
                  FILTER: S

Where copies are asynchronous, the loads and stores of an operand that is a tensor as it is are one statement, and two
more follow all copies of an iteration:

        FILTER: copy_A[by, bx, kt, c, t]; copy_B[by, bx, kt, c, t]
        FILTER: commit[by, bx, kt]           what was issued becomes a group
        FILTER: wait[by, bx, kt]             for group kt

Commits go on for as many iterations as copies will run ahead: empty groups, so that a wait always counts the same.
Fragments that are to be loaded a strip ahead are no part of a warp's strip but stand beside the others, below a band of
tiles and one of strips; `pipeline` moves them from there:

    BAND: copy_A[by, bx, kt, c, t] → [kt]; ...; frag_A[by, bx, kt, wy, wx, ks, f] → [kt]; S[i, j, k] → [⌊k/64⌋]
      BAND: copy_A[by, bx, kt, c, t] → [0]; ...; frag_A[by, bx, kt, wy, wx, ks, f] → [ks]; S[i, j, k] → [⌊k/16⌋ mod 4]
        SEQUENCE
          ...
          FILTER: frag_A; frag_B
            BAND: frag_A → [warpIdx_y, warpIdx_x]; ...
          FILTER: S[i, j, k]
            BAND: S[i, j, k] → [warpIdx_y, warpIdx_x, 0]

One buffer of shared memory needs two barriers: all have read the last tile before it is overwritten, and all have
written this one before it is read. Two buffers that take turns need the second one alone: who stores tile kt + 2 has
passed the barrier of tile kt + 1, which all others reach after their reads of tile kt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from polyvolta.cuda.build.promotion.footprints import instances
from polyvolta.cuda.build.promotion.model import (
    BLOCK,
    TILE,
    Movement,
    Nest,
    Operands,
    Piece,
    Tiling,
    free_name,
    shared_name,
)
from polyvolta.cuda.build.promotion.nests import beside, conjunction
from polyvolta.cuda.build.promotion.operands import Side, copy, is_plain, loads, side_of, staged, store
from polyvolta.cuda.build.promotion.strips import Strips, grouped, strip_of
from polyvolta.cuda.ir.kernel_ir import Barrier, CommitCopies, GlobalTensor, RegisterArray, SharedTile, WaitCopies
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.layouts.fragments import OperandPlan, plan_operands
from polyvolta.cuda.target.macro_mma import Composition
from polyvolta.graph.plans.plans import Contraction, Plan
from polyvolta.sched.nodes import Band, Filter, Leaf, Member, Node
from polyvolta.sched.nodes import Sequence as InOrder
from polyvolta.sets import Aff, Map, Set, Tuple, aff, var
from polyvolta.sets.values.space import Space, distinct


def operand_pieces(
    nests: Mapping[str, Nest],
    plan: Plan,
    options: Tiling,
    macro_mma: Composition,
    threads: int,
    context: Set,
    copied: Mapping[str, GlobalTensor] = MappingProxyType({}),
) -> Operands:
    """The k loops of all products.

    Parameters
    ----------
    nests : of the products, by statement.
    macro_mma : for all pairs of layouts that there are.
    threads : of a block.
    context : what may be assumed of the sizes.
    copied : the tensors that the target can copy asynchronously.

    Raises
    ------
    CannotPromote : a tile that cannot be copied.
    NoSwizzle : no conflict-free layout of the operands in shared memory.
    """
    labels = labels_of(plan)
    sides = []
    for c in plan.contractions:
        nest = nests[c.statement.name]
        sides.append(tuple(side_of(nest, o, letter, threads, labels[o.name])
                           for o, letter in ((c.left, "a"), (c.right, "b"))))  # fmt: skip
    plans = plan_operands(macro_mma, [(a.tile(), b.tile()) for a, b in sides])
    pieces, shared = [], False
    for c, pair, chosen in zip(plan.contractions, sides, plans, strict=True):
        suffix = f"_{c.statement.name}" if len(plan.contractions) > 1 else ""
        plain = [s for s in pair if copied and is_plain(s, copied)]
        loop = _Loop(c, nests[c.statement.name], pair, chosen, options, context, suffix, plain)
        pieces.append(loop.piece(shared))
        shared = not loop.drained
    return Operands(tuple(pieces), tuple(p.macro for p in plans))


def labels_of(plan: Plan) -> dict[str, tuple[str, ...]]:
    """For every operand, what the registers of its tensors are called after, distinct in the kernel.

    A tensor's own name where that is free, as it is for an operand that is just a tensor.
    """
    operands = [o for c in plan.contractions for o in (c.left, c.right)]
    taken = {o.name for o in operands}
    out: dict[str, tuple[str, ...]] = {}
    for o in operands:
        mine: list[str] = []
        for a in o.accesses:
            wanted = o.name if len(o.accesses) == 1 else a.tensor
            free = wanted == o.name or wanted not in taken
            mine.append(wanted if free else free_name(f"{o.name}_{wanted}", taken))
            taken.add(mine[-1])
        out[o.name] = tuple(mine)
    return out


Step = list[tuple[Movement, Side | None]]
"""Movements that run together, each with the operand that it copies; None with a barrier."""


class _Loop:
    """The parts of one product's k loop."""

    def __init__(
        self,
        contraction: Contraction,
        nest: Nest,
        sides: tuple[Side, Side],
        plan: OperandPlan,
        options: Tiling,
        context: Set,
        suffix: str,
        plain: Sequence[Side],
    ) -> None:
        self.contraction, self.nest, self.sides, self.plan = contraction, nest, sides, plan
        self.context, self.suffix, self.buffers, self.ahead = context, suffix, options.buffers, options.prefetch
        self.plain = plain
        self.through = [s for s in sides if s not in plain]  # registers
        turn = strip_of(nest) if options.fragments > 1 else None
        sets = 1 if turn is None else options.fragments
        self.strips = Strips(nest, sides, plan, contraction.accumulator, self.buffers, sets, turn, context)
        self.outer = tuple(n for n in nest.above(TILE) if n)

    def piece(self, after_another: bool) -> Piece:
        """The loop, behind a barrier of its own where one is needed.

        Parameters
        ----------
        after_another : whether there is a loop before, which used the same shared memory and may not be done with it.
        """
        nest, name = self.nest, self.nest.statement
        groups = self.steps()
        strips = self.strips
        fragments = strips.loads()
        extensions = [self.copies_of(m, s) if s else self.added(m, self.outer, self.tiles_of(m))
                      for group in groups for m, s in group]  # fmt: skip
        added = [m for group in groups for m, _ in group]
        parts = [Filter(tuple(m.statement for m, _ in group), self.copies(group)) for group in groups]
        kt = nest.k_tile
        movements = [*added, *fragments, strips.mma()]
        if strips.turn is None:
            below: Node = InOrder((*parts, Filter((name,), strips.compute(fragments))))
        else:
            extensions += strips.entering(fragments, nest.above(BLOCK))
            below = strips.by_strips(parts, added, fragments)
            added += fragments
        index = aff(0) if kt is None else var(kt)
        member = nest.members[nest.depth(TILE) - 1]
        exprs = (*((m.statement, index) for m in added), (name, member.of(name)))
        node: Node = Band((Member(exprs, member.coincident, level=TILE),), below)
        statements = (*(m.statement for m in added), name)
        if after_another and self.buffers > 1:  # the buffers may be those that others still read
            first = self.barrier("sync_start", tuple(n for n in nest.above(BLOCK) if n))
            where = self.tiles_of(first)  # asynchronous copies may run, and bring zeros, where there is no tile
            blocks = where.project_out(kt) if kt else where
            extensions.append(self.added(first, first.dims, blocks))
            node = InOrder((Filter((first.statement,)), Filter(statements, node)))
            statements, movements = (first.statement, *statements), [first, *movements]
        return Piece(statements, node, tuple(extensions), tuple(movements), self.tiles(), self.registers())

    @property
    def drained(self) -> bool:
        """Whether a barrier ends the loop, behind the last tile's reads and the last copy's arrival: that of the last
        tile beyond the end for which asynchronous copies bring zeros."""
        return bool(self.plain) and self.ahead > 0 and self.nest.k_tile is not None

    def steps(self) -> list[Step]:
        """What an iteration does before it computes: loads and stores, each of one side, and barriers."""
        nest, depth = self.nest, aff(str(self.contraction.statement.extents[2]))
        out: list[Step] = []
        if self.through:
            out.append([(m, s) for s in self.through for m in loads(s, nest, self.context)])
        if self.buffers == 1:
            out.append([(self.barrier("sync_write", self.outer), None)])
        if self.through:
            out.append([(store(s, nest, depth, self.context, self.buffers), s) for s in self.through])
        if self.plain:
            out.append([(copy(s, nest, self.context, self.buffers), s) for s in self.plain])
            commit, wait = f"commit{self.suffix}", f"wait{self.suffix}"
            out.append([(Movement(commit, self.outer, (CommitCopies(commit),)), None)])
            out.append([(Movement(wait, self.outer, (WaitCopies(0, wait),)), None)])
        out.append([(self.barrier("sync_read", self.outer), None)])
        return out

    def tiles_of(self, m: Movement) -> Set:
        """The (by, bx, k tile) at which a barrier, a commit, a wait or an asynchronous copy runs.

        These go on for the tiles that copies are ahead at the end, from kt to kt + prefetch: what is beside the tensors
        they bring as zeros, and when the last has been waited for, no copy is on its way. So nothing need be tested in
        the loop. They may be left in where there is no tile at all. Commits go on twice as long, so that every wait has
        as many groups behind its own.
        """
        tiles, kt = self.sides[0].tiles, self.nest.k_tile
        if kt is None or not self.ahead or not self.plain:
            return tiles
        most = self.ahead * (2 if any(op.commits for op in operations(m.ops)) else 1)
        new = distinct((f"{n}'" for n in self.outer), (*self.outer, *tiles.param_names))
        steps = [(var(a) - var(b), n == kt) for a, b, n in zip(new, self.outer, self.outer)]
        rows = [row for e, ahead in steps
                for row in ([("ge", e), ("ge", most - e)] if ahead else [("eq", e)])]  # fmt: skip
        space = Space(Tuple(None, self.outer), Tuple(None, new))
        found = tiles.apply(Map._of((), [(space, conjunction((*self.outer, *new), rows))]))
        found = beside(found, tiles.project_out(*self.outer))
        return Set._of(found.param_names, [(Space(None, Tuple(None, self.outer)), c) for _, c in found.parts])

    # ---- arrays

    def tiles(self) -> tuple[SharedTile, ...]:
        out, start = [], 0
        for side, layout in zip(self.sides, (self.plan.a, self.plan.b)):
            chunks = side.chunks
            out.append(
                SharedTile(shared_name(side.operand.name), start, chunks, layout.layout, side.order, self.buffers)
            )
            start += chunks * self.buffers
        return tuple(out)

    def registers(self) -> tuple[RegisterArray, ...]:
        staging = (RegisterArray(n, self.plan.macro.kind, (s.copies,)) for s in self.through for n in staged(s))
        return *staging, *self.strips.registers()

    # ---- movements

    def barrier(self, name: str, dims: tuple[str, ...]) -> Movement:
        name += self.suffix
        return Movement(name, dims, (Barrier("block", name),))

    # ---- instances

    def copies_of(self, m: Movement, side: Side) -> Map:
        *_, c, t = side.dims
        bounds = ((var(t), side.threads), (var(c), side.copies), (side.chunk, side.chunks))
        return self.added(m, m.dims, self.tiles_of(m) if side in self.plain else side.tiles, bounds)

    def added(self, m: Movement, dims: Sequence[str], of: Set, bounds: Sequence[tuple[Aff, int]] = ()) -> Map:
        return instances(m.statement, dims, self.nest.above(BLOCK), of, bounds, self.context)

    # ---- the tree

    def copies(self, moved: Step) -> Node:
        """Loops over the copies of several movements, over the threads inside; none around a barrier."""
        copies = [(m, s.copies, m.dims[-2]) for m, s in moved if s is not None]
        return grouped(copies, thread=True) if copies else Leaf()
