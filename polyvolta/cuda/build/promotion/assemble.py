"""The assembly of a promoted tree: accumulators, the k loops of the products, the epilogue, one after the other.

    DOMAIN: S[i, j, k] ...
      BAND: S[i, j, k] → [blockIdx.y, blockIdx.x]
        EXTENSION: [by, bx] → zero_C[i, j] ...; load_A[by, bx, kt, c, t] ...; write_C[i, j] ...
          SEQUENCE
            FILTER: zero_C[i, j]                              the accumulators start at 0
            FILTER: load_A[...]; ...; S[i, j, k]              the k loop of a product
            FILTER: exchange_C[i, j]; ...; write_C[i, j]      the epilogue

Sizes need not be multiples of tiles: the domain is widened to all instances of every started block tile, so that
nothing but accesses of global memory needs a guard.

The tiles of one product lie where those of the others lie, since they are not alive together. The exchange buffer
has a place of its own, as long as the target has that much shared memory; else it lies there, too, and a barrier stands
before the epilogue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

from polyvolta.cuda.build.promotion import pipeline
from polyvolta.cuda.build.promotion.boxes import ring
from polyvolta.cuda.build.promotion.boxes.boxed import ONE_OF_WARPGROUP, boxed_pieces
from polyvolta.cuda.build.promotion.boxes.epilogue import OPERANDS, Epilogue, boxed_epilogue
from polyvolta.cuda.build.promotion.boxes.parts import gathered
from polyvolta.cuda.build.promotion.boxes.pieces import pieces_of
from polyvolta.cuda.build.promotion.boxes.sharing import grid_of
from polyvolta.cuda.build.promotion.epilogue import epilogue
from polyvolta.cuda.build.promotion.footprints import together
from polyvolta.cuda.build.promotion.loops import operand_pieces
from polyvolta.cuda.build.promotion.makers import Makers, makers_of
from polyvolta.cuda.build.promotion.model import (
    BLOCK,
    TILE,
    CannotPromote,
    Nest,
    Operands,
    Piece,
    Promotion,
    Tiling,
    Turns,
    free_name,
)
from polyvolta.cuda.build.promotion.nests import conjunction, nest_of, warps_of, widened
from polyvolta.cuda.build.promotion.result import Fragments, accumulators, fragments_of, once, scale, twins_of, zero
from polyvolta.cuda.ir.kernel_ir import (
    CHUNK_BYTES,
    LANES,
    Arrive,
    Await,
    Barrier,
    GlobalTensor,
    Phase,
    PhaseBarriers,
    SharedTile,
    WgmmaWait,
)
from polyvolta.cuda.ir.memories import ZERO, Arrays
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.target.boxes import SWIZZLES
from polyvolta.cuda.target.macro_mma import Composition, MacroMma
from polyvolta.cuda.target.warpgroup import WarpgroupMma
from polyvolta.graph.plans.plans import Plan
from polyvolta.sched.nodes import Band, Domain, Extension, Filter, Member
from polyvolta.sched.nodes import Sequence as InOrder
from polyvolta.sched.tree import Schedule
from polyvolta.sets import Aff, Set, Tuple, aff, var
from polyvolta.sets.values.space import Space


def promote(
    fine: Schedule,
    contracted: Schedule,
    plan: Plan,
    tensors: Mapping[str, GlobalTensor],
    options: Tiling,
    macro_mma: Composition | WarpgroupMma,
    context: Set,
    shared_limit: int,
    asynchronous: bool = False,
) -> Promotion:
    """Insert the copies that a plan's products and pointwise steps need.

    Parameters
    ----------
    fine : the tree before domain contraction, whose instances are the scalar ones.
    contracted : the tree to insert into.
    plan : what the statements compute.
    tensors : the kernel's tensors by name.
    options : buffers, how many tiles ahead copies run, sets of fragments; the tiles are those of the trees.
    macro_mma : for all pairs of layouts that there are.
    context : what may be assumed of the sizes.
    shared_limit : bytes of shared memory that a block can have.
    asynchronous : whether the target copies from global to shared memory so.

    Raises
    ------
    CannotPromote : a tile that cannot be copied as asked.
    NoSwizzle, NoExchange : no conflict-free layout of a tile, or of the accumulator exchange.

    Cost: some tens of milliseconds for each product, for the most part set operations.
    """
    makers = makers_of(macro_mma)
    statements = [*(c.statement for c in plan.contractions), *(s.statement for s in plan.steps)]
    nests = {s.name: nest_of(fine, s.name, context, tensors, options.cluster) for s in statements}
    products = {c.statement.name: nests[c.statement.name] for c in plan.contractions}
    units = warps_of(nests.values(), makers.names)
    turn, counter = _counters(plan, tensors) if options.persistent else ("", "")
    takers = IN_TURN if options.pingpong else 1
    first = var(counter) if counter else ZERO
    shared = [[s for s in fine.band(at).statements if s in products] for at in fine.find(level=TILE)]
    loops, macro = _loops(products, list(filter(None, shared)), plan, options, macro_mma, makers, units, tensors,
                          context, asynchronous, first)  # fmt: skip
    last = (plan.steps[0] if plan.steps else plan.contractions[0]).statement
    extents = [aff(str(e)) for e in last.extents[:2]]
    fragments = fragments_of(nests[last.name], extents, makers.result(macro_mma.shape), context)
    name_of = _names([*nests, *(m.statement for p in loops.pieces for m in p.movements)])
    room = shared_limit - _bytes(loops.barriers)
    if loops.producing and options.split_k > 1:
        laid, rest = gathered(plan, fragments, nests, tensors, macro, units, name_of, makers, options.split_k,
                              options.cluster, context)  # fmt: skip
        end = Epilogue((), rest, (), fragments)
    else:
        laid = []
        end = _epilogue(plan, fragments, nests, tensors, loops, macro, units, name_of, makers, context, room, turn,
                        takers)  # fmt: skip
    pieces = list[Piece](loops.pieces if loops.producing else ())  # of warpgroups, which begin sums with a product
    for c, loop in () if loops.producing else zip(plan.contractions, loops.pieces, strict=True):
        if c.factor is None:
            pieces.append(zero(fragments, c.accumulator, name_of(f"zero_{c.accumulator}")))
        elif c.factor != 1:
            pieces.append(scale(fragments, c.accumulator, c.factor, name_of(f"scale_{c.accumulator}")))
        pieces.append(loop)
    if takers > 1:
        order = PhaseBarriers(ORDER, 0, takers, prod(units))
        pieces = [*_in_turn(fragments, var(turn), order, name_of, context, pieces)]
    tiles, overlap = shared_places([*pieces, end.whole], room)
    pieces += end.before
    if loops.producing:
        pieces.append(once(fragments, WgmmaWait(0, name_of("finish")), context))
        pieces += _empty_sums(fragments, plan, name_of)
    if overlap and turn:
        raise CannotPromote("there is no room to store a result while the next one's tiles come",
                            hint="fewer buffers, or persistent=False")  # fmt: skip
    if overlap:
        pieces.append(once(fragments, Barrier(makers.everyone, name_of("sync_tiles")), context))
    pieces += [*laid, end.whole, *end.end]
    movements = {m.statement: m for p in pieces for m in p.movements}
    registers = {r.name: r for p in pieces for r in p.registers}
    registers |= {r.name: r for r in accumulators(fragments, plan, macro)}
    maps = sorted((*loops.maps, *end.whole.maps), key=lambda m: list(tensors).index(m.tensor))
    barriers = behind(tiles, (*loops.barriers, *(b for p in pieces for b in p.barriers)))
    arrays = Arrays(tuple(tensors.values()), tiles, tuple(registers.values()), barriers, tuple(maps))
    tree = widened(contracted, nests.values(), _shapes(plan, macro_mma.shape, makers))
    if not plan.steps:
        tree, whole = with_result(tree, end.stored, end.whole, arrays)
        pieces[pieces.index(end.whole)] = whole
    turns = Turns(turn, ((counter, loops.count),), end.closing, takers) if turn else None
    return Promotion(
        assembled(tree, pieces), movements, arrays, units, makers, loops.producing | end.producing, turns,
        cluster=options.cluster, grid=grid_of(contracted, options.cluster, context),
        parts=options.split_k if loops.producing else 1,
    )  # fmt: skip


def _in_turn(
    fragments: Fragments, turn: Aff, order: PhaseBarriers, name_of: Callable[[str], str], context: Set,
    loops: Sequence[Piece],
) -> Iterator[Piece]:  # fmt: skip
    """The k loops between the wait for those who have the tile before, to be through with theirs, and the word to those
    who have the next one: so no two multiply at a time, and all go through the ring in the order of its tiles.

    A barrier stands before that word: without products, K = 0, a warp might still wait for its turn when the phase that
    it waits for is two behind.
    """
    takers = order.slots
    last = turn + (takers - 1)  # the phase before, without a negative number
    before = Phase(ORDER, last % takers, last // takers - 1)
    yield replace(once(fragments, Await(before, name_of("my_turn")), context), barriers=(order,))
    yield from loops
    over = Arrive(Phase(ORDER, turn % takers, turn // takers), 0, name_of("your_turn"))
    yield once(fragments, Barrier("warpgroup", name_of("through")), context)
    yield once(fragments, over, context, ONE_OF_WARPGROUP)


def _counters(plan: Plan, tensors: Mapping[str, GlobalTensor]) -> tuple[str, str]:
    """Names of the number of a persistent block's tile, and of the k tiles of those before it."""
    taken = {*tensors, *(n for s in plan.steps for n in s.scalars)}
    taken |= {str(n) for t in tensors.values() for n in (*t.dims, t.ld)}
    return free_name("turn", taken), free_name("tiles", taken)


def _epilogue(
    plan: Plan,
    fragments: Fragments,
    nests: Mapping[str, Nest],
    tensors: Mapping[str, GlobalTensor],
    loops: Operands,
    macro: MacroMma,
    units: tuple[int, int, int],
    name_of: Callable[[str], str],
    makers: Makers,
    context: Set,
    room: int,
    turn: str = "",
    takers: int = 1,
) -> Epilogue:
    """What is behind the last product: results go by boxes where they can, else threads store them.

    Parameters
    ----------
    room : bytes of shared memory, for the tiles of products, too.
    turn : as of `boxed_epilogue`.
    takers : sets of consumers that take turns at the tiles.
    """
    taken = {m.name for m in loops.maps} | {t.name for p in loops.pieces for t in p.tiles}
    rows = replace(OPERANDS, slots=takers).bytes * (3 if takers > 1 else 2 if turn else 1)
    left = room - CHUNK_BYTES * _taken(loops.pieces, BOX_ALIGN) - rows
    pieces = pieces_of(plan, tensors, loops.macros[0], makers, units, fragments.counts, left, taken, takers)
    if pieces is None:
        stored = epilogue(plan, fragments, nests, tensors, macro, units, name_of, makers, takers)
        return Epilogue((), stored, (), fragments)
    return boxed_epilogue(plan, fragments, nests, tensors, pieces, macro.d, name_of, makers, context, turn)


def _loops(
    products: Mapping[str, Nest],
    shared: Sequence[Sequence[str]],
    plan: Plan,
    options: Tiling,
    macro_mma: Composition | WarpgroupMma,
    makers: Makers,
    units: tuple[int, int, int],
    tensors: Mapping[str, GlobalTensor],
    context: Set,
    asynchronous: bool,
    first: Aff,
) -> tuple[Operands, MacroMma]:
    """The k loops, and a macro-MMA with the accumulators' map that all of them have.

    Parameters
    ----------
    shared : the products of each loop, by statement.
    first : how many tiles a ring of boxes has had before.
    """
    if isinstance(macro_mma, WarpgroupMma):
        loops = boxed_pieces(
            products, shared, plan, options, macro_mma, makers, prod(units), tensors, context, first
        )
        return loops, makers.of_warp(loops.macros[0])
    copied = tensors if asynchronous else {}
    loops = operand_pieces(products, plan, options, macro_mma, LANES * prod(units), context, copied)
    return loops, loops.macros[0]


def _empty_sums(fragments: Fragments, plan: Plan, name_of: Callable[[str], str]) -> Iterator[Piece]:
    """Zeros for accumulators to which nothing is added, for the sizes for which that is so: else the first step of the
    first product that has one gives them their values."""
    for array in dict.fromkeys(c.accumulator for c in plan.contractions):
        depth = sum((aff(str(c.statement.extents[2])) for c in plan.contractions if c.accumulator == array), aff(0))
        params = tuple(sorted(depth.names()))
        pieces = conjunction(params, [("ge", -depth)])
        if pieces:
            where = Set._of(params, [(Space(None, Tuple(None, ())), pieces)])
            yield zero(fragments, array, name_of(f"zero_{array}"), where)


def _shapes(plan: Plan, shape: tuple[int, int, int], makers: Makers) -> dict[str, tuple[int, ...]]:
    """By how much each statement's iterators are contracted."""
    of_products = dict.fromkeys((c.statement.name for c in plan.contractions), shape)
    return of_products | dict.fromkeys((s.statement.name for s in plan.steps), makers.result(shape))


def prefetched(promotion: Promotion, context: Set, ahead: int = 1) -> Schedule:
    """The promoted tree with the copies of every k loop so many iterations ahead, see `pipeline`; of loops of boxes,
    with the waits for products an iteration later, see `ring`."""
    schedule, movements, arrays = promotion.schedule, promotion.movements, promotion.arrays
    if promotion.producing:
        return ring.lagging(schedule, movements, arrays, context)
    return pipeline.prefetched(schedule, movements, arrays, context, ahead)


def awaited(promotion: Promotion, tree: Schedule) -> Promotion:
    """What the statements do in a tree that `prefetched` made: waits let pending the groups that come later there."""
    counted = ring.awaited if promotion.producing else pipeline.awaited
    return replace(promotion, movements=counted(tree, promotion.movements, promotion.arrays))


def split(promotion: Promotion, tree: Schedule) -> Schedule:
    """The tree with its statements split among roles, if the promotion has any."""
    return ring.split(tree, promotion.producing) if promotion.producing else tree


def with_result(tree: Schedule, fragments: Fragments, end: Piece, arrays: Arrays) -> tuple[Schedule, Piece]:
    """The tree whose domain has the first statement that stores the result, which so needs no extension.

    There is a result where no instance of a product is: with a sum over nothing, K = 0. A pointwise statement is there,
    too, so this is for products that nothing follows.

    Parameters
    ----------
    fragments : of the result, those of which that statement has an instance each.
    """
    touched = ((m.statement, a) for m in end.movements for op in operations(m.ops) for a in op.accesses(arrays))
    name = next(statement for statement, a in touched if a.space == "global" and a.writes)
    nest = fragments.nest
    params = tree.domain.param_names
    domain = Set._of(params, [*tree.domain.parts, *twins_of(fragments, name).align_params(params).parts])
    at = tree.find(level=BLOCK)[0]
    band = tree.band(at)
    found = [replace(m, exprs=(*m.exprs, (name, own.of(nest.statement)))) for m, own in zip(band.members, nest.members)]
    tree = tree.replace(at, replace(band, members=tuple(found)))
    tree = tree.replace((), Domain(domain, tree.root.children[0]))
    return tree, replace(end, extensions=tuple(e for e in end.extensions if e.space.out.name != name))


def assembled(tree: Schedule, pieces: Sequence[Piece]) -> Schedule:
    """The tree with the pieces in a sequence below the band of the blocks."""
    at = tree.find(level=BLOCK)[0]
    outer = tree.band(at)
    members = tuple(Member(m.exprs, m.coincident, m.name, level=BLOCK) for m in outer.members if m.level == BLOCK)
    whole = InOrder(tuple(Filter(p.statements, p.node) for p in pieces))
    added = together([e for p in pieces for e in p.extensions])
    return tree.replace(at, Band(members, Extension(added, whole), outer.permutable))


def shared_places(pieces: Sequence[Piece], limit: int) -> tuple[tuple[SharedTile, ...], bool]:
    """Where the tiles lie in shared memory, and whether the last piece's lie where others do.

    The tiles of a piece stay as it placed them. The last piece's come behind all others', or at the start if that
    would be more than `limit` bytes.

    >>> from polyvolta.sched.nodes import Leaf
    >>> pieces = [Piece((), Leaf(), (), (), (SharedTile(name, 0, 64),)) for name in ("shared_A", "exchange")]
    >>> for limit in (2048, 1024):
    ...     tiles, overlap = shared_places(pieces, limit)
    ...     print(*(f"{t.name} at {t.start}" for t in tiles), overlap)
    shared_A at 0 exchange at 64 False
    shared_A at 0 exchange at 0 True
    """
    *loops, end = pieces
    size = _taken(loops, BOX_ALIGN if end.maps else 1)
    own = max((t.start + t.bytes // CHUNK_BYTES for t in end.tiles), default=0)
    overlap = own > 0 and (size + own) * CHUNK_BYTES > limit
    moved = tuple(replace(t, start=t.start + (0 if overlap else size)) for t in end.tiles)
    return (*(t for p in loops for t in p.tiles), *moved), overlap


ORDER, IN_TURN = "order", 2
"""The row of barriers whose phases say that a tile's products have been computed, and who takes turns at tiles."""
BOX_ALIGN = max(s.align for s in SWIZZLES)
"""Chunks that a tile of boxes starts at a multiple of."""


def _taken(pieces: Sequence[Piece], align: int) -> int:
    """Chunks of shared memory that tiles take from the beginning on, up to a multiple."""
    chunks = max((t.start + t.bytes // CHUNK_BYTES for p in pieces for t in p.tiles), default=0)
    return -(-chunks // align) * align


def _bytes(barriers: Sequence[PhaseBarriers]) -> int:
    return sum(b.bytes for b in barriers)


def behind(tiles: Sequence[SharedTile], barriers: Sequence[PhaseBarriers]) -> tuple[PhaseBarriers, ...]:
    """The barriers one after the other behind all tiles."""
    start = max(t.start + t.bytes // CHUNK_BYTES for t in tiles)
    out = []
    for row in barriers:
        out.append(replace(row, start=start))
        start += row.bytes // CHUNK_BYTES
    return tuple(out)


def _names(taken: Sequence[str]) -> Callable[[str], str]:
    """Makes names that nothing else has, nor one another."""
    used = set(taken)

    def name_of(wish: str) -> str:
        name = free_name(wish, used)
        used.add(name)
        return name

    return name_of
