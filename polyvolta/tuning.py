"""Which options a kernel gets: what a graph needs, every combination that is legal, and the one chosen by default.

The default follows four rules:

1. *Macro-MMA*: m32n32k8 where a left operand is column-major or a right one row-major, as its fragment loads are 128
   bits wide for those layouts too; else m16n16k8.
2. *Block tile*: 128x128x32, what one multiprocessor computes from few loads. A known size that a side exceeds twofold
   halves that side, down to the macro-MMA's; then the longer side is halved, down to 64, while there would be fewer
   blocks than multiprocessors. A size that is not known counts as large.
3. *Split K*: by 4 or 2 where blocks are so few that even one for each part would not outnumber the multiprocessors,
   as long as K is known to have at least four steps for each part and the block at most 8 warps.
4. *Warp tile*: the largest of at most 64x64 with which accumulators, fragments, and what a step of the main loop or of
   the epilogue holds beside them leave the compiler 60 registers. Several accumulators or operands of a prologue so
   make it smaller; where no warp tile does, the block tile's longer side is halved.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from polyvolta.cuda.target import Target, target_of
from polyvolta.graph.dag import Graph
from polyvolta.graph.idioms import Operand, Plan, plan
from polyvolta.options import SHAPES, Needs, Options, fitting_warp_tile

TILES = (16, 32, 64, 128, 256)
SPLITS = (1, 2, 4, 8)
BUFFERS = (1, 2)
Block = tuple[int, int, int]


def needs_of(idiom: Plan) -> Needs:
    """What a plan asks of a block."""
    accumulators = {c.accumulator for c in idiom.contractions}
    made = accumulators | {s.statement.write.tensor for s in idiom.steps}
    loaded = {(a.tensor, a.index) for s in idiom.steps for a in s.accesses if a.tensor not in made}
    return Needs(
        len(accumulators),
        tuple((_loads(c.left), _loads(c.right)) for c in idiom.contractions),
        4 if idiom.computes else 2,
        len(loaded),
    )


def _loads(operand: Operand) -> int:
    """How many arrays of registers hold what is loaded for it."""
    return max(1, len(operand.accesses))


def space(graph: Graph, target: Target) -> Iterator[Options]:
    """See `Options.space`."""
    idiom = plan(graph)
    needs = needs_of(idiom)
    names = [n for n in SHAPES if n in target.macro_mmas]
    for name, m, n, k, y, x in product(names, TILES, TILES, TILES, TILES, TILES):
        if y > m or x > n:
            continue
        for p, b in product(SPLITS, BUFFERS):
            options = Options((m, n, k), (y, x, k), name, p, b)
            if next(options.problems(target, needs), None) is None:
                yield options


def default_options(graph: Graph, target: Target | str = "sm_70", accumulators: str = "auto") -> Options:
    """The options that `compile` chooses; the module says how.

    >>> import polyvolta as pv
    >>> M, N, K = pv.sizes("M N K")
    >>> A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
    >>> default_options(Graph.of(A @ B)).warp_tile
    (64, 64, 32)
    >>> small = pv.tensor("A", (64, 4096)) @ pv.tensor("B", (4096, 512), layout="col")
    >>> chosen = default_options(Graph.of(small))
    >>> chosen.block_tile, chosen.warp_tile, chosen.split_k
    ((64, 64, 32), (64, 32, 32), 4)
    """
    target = target_of(target)
    idiom = plan(graph, accumulators)
    needs = needs_of(idiom)
    skew = any((c.left.layout, c.right.layout) != ("row", "col") for c in idiom.contractions)
    macro = "m32n32k8" if skew and "m32n32k8" in target.macro_mmas else "m16n16k8"
    sizes = [tuple(d if isinstance(d, int) else None for d in c.statement.extents) for c in idiom.contractions]
    rows, cols, _ = sizes[0]
    depths = [k for *_, k in sizes if k is not None]
    limits = target.registers, target.block_registers
    options = Options(SHAPES[macro], SHAPES[macro], macro, accumulators=accumulators)
    depth = min(depths) if len(depths) == len(sizes) else 0
    for block in _blocks(rows, cols, SHAPES[macro], target.multiprocessors):
        for split in _splits(block, rows, cols, depth, target.multiprocessors):
            warp = fitting_warp_tile(block, macro, split, needs, limits)
            if warp is not None:
                options = Options(block, warp, macro, split, accumulators=accumulators)
                fits = split == 1 or options.threads <= 256
                if fits and next(options.problems(target, needs), None) is None:
                    return options
    return options


def _blocks(rows: int | None, cols: int | None, least: Block, wanted: int) -> Iterator[Block]:
    """The block tiles to try for a result of known (or unknown) sizes, largest first.

    Parameters
    ----------
    least : the macro-MMA's shape.
    wanted : how many blocks there should be, if that takes no tiles below 64.
    """
    sides = [128, 128]
    for d, size in enumerate((rows, cols)):
        while size is not None and sides[d] >= 2 * size and sides[d] > least[d]:
            sides[d] //= 2
    if rows is not None and cols is not None:
        while _count((sides[0], sides[1], 32), rows, cols) < wanted and max(sides) > 64:
            sides[sides.index(max(sides))] //= 2
    while True:
        yield (sides[0], sides[1], 32)
        if sides == list(least[:2]):
            return
        d = sides.index(max(sides))
        sides[d] = max(sides[d] // 2, least[d])


def _splits(block: Block, rows: int | None, cols: int | None, depth: int, most: int) -> Iterator[int]:
    """The splits of K to try, largest first; 1 at last.

    Parameters
    ----------
    depth : the least K that is known; 0 where one is not.
    most : how many parts all blocks together may have.
    """
    if rows is not None and cols is not None:
        for p in (4, 2):
            if _count(block, rows, cols) * p <= most and depth >= 4 * p * block[2]:
                yield p
    yield 1


def _count(block: Block, rows: int, cols: int) -> int:
    """Blocks of a grid."""
    return -(-rows // block[0]) * -(-cols // block[1])
