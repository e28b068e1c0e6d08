"""The parts of a split K, one of each block of a cluster: laid in shared memory, added up by all, each for its columns.

    SEQUENCE
      FILTER: finish[by, bx]
      FILTER: exchange_C[i, j]                 a block's accumulators to its shared memory
      FILTER: sync_parts[by, bx]               until all blocks of the cluster have come so far
      FILTER: gather_C[i, j]; write_C[i, j]
        BAND: gather_C[i, j] → [blockIdx.z]; write_C[i, j] → [blockIdx.z]

The blocks of a cluster have the same tile of the result and each a part of the sum over k. Every warp lays all of its
fragments in an exchange of the block's, conflict-free, as the exchange does that turns accumulators into runs
(`promotion.epilogue`). Behind a barrier of the cluster the fragments of a warp are shared out among the blocks: a block
adds up, for its columns, the runs of all parts, its own and those that it reads from the others' shared memory, and
does the rest of the epilogue with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

from polyvolta.cuda.build.promotion.epilogue import EXCHANGE, _Builder
from polyvolta.cuda.build.promotion.makers import Makers
from polyvolta.cuda.build.promotion.model import PART_OF_CLUSTER, CannotPromote, Movement, Nest, Piece, accumulator_name
from polyvolta.cuda.build.promotion.result import Fragments, enters, once, over_fragments
from polyvolta.cuda.ir.engines.clusters import ranked
from polyvolta.cuda.ir.kernel_ir import (
    Barrier,
    Element,
    Exchange,
    ExchangeLoad,
    ExchangeStore,
    GlobalTensor,
    Op,
    SharedTile,
)
from polyvolta.cuda.layouts.exchange import plan_exchange
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.graph.plans.plans import Plan
from polyvolta.sched.nodes import Leaf, Member
from polyvolta.sets import Aff, Set, var
from polyvolta.sets.values.simplify import simplify


@dataclass(slots=True)
class _Gathering(_Builder):
    """The epilogue behind the barrier: runs come from the exchanges of all parts."""

    parts: int = 1
    cluster: tuple[int, int] = (1, 1)

    def exchanged(self, array: str, exchange: Exchange) -> None:
        """The runs of one accumulator, those of all parts added up; stored if it is an output."""
        load = self.name_of(f"gather_{array}")
        target = self.held[array, self.whole] = self.run_of(array)
        self.array(target, exchange.kind, exchange.rounds)
        rows, cols = self.cluster
        here = var("blockIdx.x") % cols, var("blockIdx.y") % rows, 0
        first, slot = ranked(here, (cols, rows, self.parts)), slot_of(self.fragments)

        def one(r: Aff) -> Op:
            runs = self.element(target, r)
            return ExchangeLoad(runs, EXCHANGE, slot, exchange, r, self.parts, rows * cols, load, first)

        self.add(load, self.rounds(one), "the parts of a split K added up")
        if array in self.plan.outputs:
            self.store(array, target, self.name_of(f"write_{array}"))

    def barrier(self, wish: str) -> None:
        """None: what is gathered is written once."""


def slot_of(fragments: Fragments) -> Aff:
    """Where a warp's fragment is in the block's exchange."""
    (m, n), counts = fragments.place, fragments.counts
    return prod(counts) * var("warp") + counts[1] * m + n


def gathered(
    plan: Plan,
    fragments: Fragments,
    nests: Mapping[str, Nest],
    tensors: Mapping[str, GlobalTensor],
    macro: MacroMma,
    warps: tuple[int, int, int],
    name_of: Callable[[str], str],
    makers: Makers,
    parts: int,
    cluster: tuple[int, int],
    context: Set,
) -> tuple[list[Piece], Piece]:
    """What is behind the last product: what lays the parts out and waits for the others', and what adds them up.

    Parameters
    ----------
    parts : blocks of a cluster that have parts of K.
    cluster : rows and columns of blocks that have the same part.

    Raises
    ------
    CannotPromote : a warp has no whole number of fragments for each block.
    """
    if fragments.counts[1] % parts:
        raise CannotPromote(f"{fragments.counts[1]} columns of fragments are no multiple of {parts} parts of K",
                            hint="a wider warp_tile, or a smaller split_k")  # fmt: skip
    (array,) = dict.fromkeys(c.accumulator for c in plan.contractions)
    exchange = plan_exchange(macro, "float", plan.of_result(tensors[plan.outputs[0]].order))
    b = _Gathering(plan, fragments, tensors, exchange, warps, name_of, makers, parts=parts, cluster=cluster)
    b.run()
    store = name_of(f"exchange_{array}")
    op = ExchangeStore(Element(accumulator_name(array), fragments.place), EXCHANGE, slot_of(fragments), exchange, store)
    lay = Movement(store, fragments.nest.iterators, (op,), (), "accumulators -> exchange")
    count = prod(fragments.counts) * prod(warps) * makers.warps
    tile = SharedTile(EXCHANGE, 0, count * exchange.chunks)
    node = over_fragments(fragments, (store,), Leaf())
    laid = Piece((store,), node, (enters(fragments, store),), (lay,))
    sync = once(fragments, Barrier("cluster", name_of("sync_parts")), context)
    statements = tuple(m.statement for m in b.movements)
    twins = [s for s in statements if s not in nests]
    own = _share(fragments, statements, nests, parts)
    node = over_fragments(fragments, statements, b.sequence(), nests, own)
    extensions = tuple(enters(fragments, s) for s in twins)
    rest = Piece(statements, node, extensions, tuple(b.movements), (tile,), tuple(b.registers.values()))
    return [laid, sync], rest


def _share(fragments: Fragments, statements: tuple[str, ...], nests: Mapping[str, Nest], parts: int) -> Member:
    """The member that says which block of the cluster a fragment is added up by: neighbours in one.

    A warp's fragments are numbered below their count, which an expression doesn't say where there is one block along
    a side: there it has multiples of the count in it, of what is beyond that block.
    """
    count = fragments.counts[1]
    number = simplify(fragments.place[1] % count // (count // parts), {})
    exprs = []
    for s in statements:
        names = nests[s].iterators if s in nests else fragments.nest.iterators
        exprs.append((s, number.subs({i: var(n) for i, n in zip(fragments.nest.iterators, names)})))
    return Member(tuple(exprs), True, PART_OF_CLUSTER)
