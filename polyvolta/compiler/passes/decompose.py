"""Compute decomposition: from a graph's first schedule tree to one in which an instance is a macro-MMA.

    initial       one permutable band, outer dimensions parallel
    block_tiled   tiles of a thread block
    hoisted       with several statements: their sequence, up below the dimensions that become blocks
    warp_tiled    tiles of a warp in those of a block
    mapped        blockIdx and warpIdx in place of the parallel tile loops
    strip_mined   the warp's tile in strips of the macro-MMA's depth
    contracted    one instance stands for a macro-MMA, or for its fragment of a pointwise statement

Each is a figure of the paper, sections "Tiling for Blocks and Warps", "Split-K" and "Kernel Fusion". Whatever the
graph, a statement's bands have members of five levels from the root down: block (y, x), tile (k), warp (y, x, z), strip
and point (y, x, k each). Passes find them by these names, which travel with the tree: further loops between two levels,
as from another tiling at a stage (`reach`), are none of their business.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as PySequence
from dataclasses import replace

from polyvolta.compiler.tiling import Tile, Tiling
from polyvolta.cuda.build.promotion.makers import WARPGROUPS, WARPS
from polyvolta.cuda.build.promotion.model import BLOCK, PART_OF_CLUSTER, POINT, STRIP, TILE, WARP
from polyvolta.graph.dag import Graph
from polyvolta.graph.statements import Statement
from polyvolta.sched import Schedule, initial
from polyvolta.sched.passes import fuse, hoist, map_members, shift, strip_mine, tile
from polyvolta.sched.passes.bands.split import split
from polyvolta.sched.passes.common.legal import checked
from polyvolta.sched.passes.common.places import MemberRef
from polyvolta.sched.passes.mapping.contract import contract_each
from polyvolta.sched.passes.order.distribute import chain_below
from polyvolta.sched.passes.order.sequences import insert_sequence
from polyvolta.sched.tree import Filter, Node, Path, Sequence, SetNode
from polyvolta.sets import Set, aff, var

OnStage = Callable[[str, Schedule], Schedule]
ROOT: Path = (0,)
BLOCKS = ("blockIdx.y", "blockIdx.x")


def decompose(
    graph: Graph,
    options: Tiling,
    shape: Tile,
    context: Set,
    reach: OnStage = lambda _, tree: tree,
    result: Tile | None = None,
    names: tuple[str, str, str] = WARPS,
    together: PySequence[PySequence[str]] = (),
) -> tuple[Schedule, Schedule]:
    """The tree before contraction, in which instances are scalar, and the contracted one.

    Parameters
    ----------
    options : tiles and split K.
    shape : rows, columns and depth of the macro-MMA.
    context : what is known of the sizes.
    reach : called with each stage's name and tree; gives the tree with which to go on, which may have other loops.
    result : rows and columns (and depth) of a fragment of the result, what an instance of a pointwise statement stands
        for; by default those of the macro-MMA.
    names : what the loops over the tiles of those who make a product together are mapped to.
    together : the products of each loop over k tiles, by statement; by default each has one of its own.

    Cost: about 60 ms for one product, 40 more for each further statement.
    """
    products = {s.name: s for s in graph.statements if s.is_matmul}
    tree = reach("initial", aligned(joined(initial(graph.statements), products, context), products, context))
    tree = reach("block_tiled", tile(tree, ROOT, options.step, levels=((BLOCK, BLOCK, TILE), POINT)))
    at = tree.find(level=BLOCK)[0]
    if isinstance(chain_below(tree.band(at))[1], Sequence):
        tree = reach("hoisted", hoisted(tree, at, together))
    for at in tree.find(level=POINT):
        tree = tile(tree, at, options.warp_tile, levels=(WARP, None))
    tree = reach("mapped", mapped(reach("warp_tiled", tree), products, options, names))
    m, n, k = shape
    for at in tree.find(level=POINT):
        tree = strip_mine(tree, at, {2: k}, level=STRIP)
    fine = reach("strip_mined", tree)
    of_result = result or shape
    factors = {s.name: dict(zip(s.iterators, shape if s.is_matmul else of_result)) for s in graph.statements}
    return fine, reach("contracted", contract_each(tree, factors, context, partial=options.partial == "guard"))


def hoisted(tree: Schedule, at: Path, together: PySequence[PySequence[str]] = ()) -> Schedule:
    """The sequence of the statements below the members that become blocks; products that have a loop together have
    their own sequence below its member.

    BAND: S1 → [⌊i/64⌋, ⌊j/64⌋, ⌊k/32⌋]; S2 → ...    =>    BAND: S1 → [⌊i/64⌋, ⌊j/64⌋]; S2 → ...; S3 → ...
      BAND: S1 → [i - 64⌊i/64⌋, ...]; ...                    SEQUENCE
        SEQUENCE                                               FILTER: S1; S2
          FILTER: S1                                             BAND: S1 → [⌊k/32⌋]; S2 → [⌊k/32⌋]
          FILTER: S2                                               SEQUENCE
          FILTER: S3                                                 FILTER: S1
                                                                       BAND: S1 → [i - 64⌊i/64⌋, ...]
                                                                     FILTER: S2
                                                                       BAND: S2 → [i - 64⌊i/64⌋, ...]
                                                               FILTER: S3
    """
    outer = len(members_of(tree, at, BLOCK))
    loops = {loop[0]: tuple(loop) for loop in together if len(loop) > 1}
    if not loops:
        return hoist(tree, at, outer)
    inside = {s for loop in loops.values() for s in loop[1:]}
    below = (*at, 0)
    tree = split(tree, at, outer)
    names = [s for c in chain_below(tree.band(at))[1].children if isinstance(c, Filter) for s in c.statements]
    parts = [loops.get(s, (s,)) for s in names if s not in inside]
    tree = insert_sequence(tree, below, parts) if len(parts) > 1 else tree
    for n, part in enumerate(parts):
        if len(part) > 1:
            tree = hoist(tree, (*below, n, 0) if len(parts) > 1 else below, 1)
    return tree


def joined(tree: Schedule, products: dict[str, Statement], context: Set) -> Schedule:
    """One band for all statements, also where some have nothing to do with others and have trees of their own.

    SET                                            =>      BAND: S1[i, j, k] → [i, j, k]; S2[i, j, k] → [i, j, k]
      FILTER: S1[i, j, k]                                    SEQUENCE
        BAND: S1[i, j, k] → [i, j, k]                          FILTER: S1[i, j, k]
      FILTER: S2[i, j, k]                                      FILTER: S2[i, j, k]
        BAND: S2[i, j, k] → [i, j, k]

    So does a sum of one term, whose order along k nothing asks for and which stands in a SEQUENCE: see `staggered`.
    """
    if not isinstance(tree.node(ROOT), SetNode | Sequence):
        return tree
    if isinstance(tree.node(ROOT), Sequence):
        tree = staggered(tree, products, context)
    new = fuse(tree, ROOT)
    below = (*ROOT, 0)
    parts: list[Node] = []
    for part in new.node(below).children:
        parts += part.children[0].children or (part,)
    return checked(tree, new.replace(below, Sequence(tuple(parts))), "joining", below)


def staggered(tree: Schedule, products: dict[str, Statement], context: Set) -> Schedule:
    """The parts of a sequence, each with its last members behind the sums of the parts before.

    Depths are not negative in the context, and the dependences from here on are those within it.
    """
    within = (replace(d, relation=d.relation.intersect_params(context)) for d in tree.dependences or ())
    tree = replace(tree, dependences=tuple(d for d in within if not d.relation.is_empty()))
    behind = aff(0)
    for n, part in enumerate(tree.node(ROOT).children):
        assert isinstance(part, Filter)
        if behind != aff(0):
            tree = shift(tree, (*ROOT, n, 0), 2, dict.fromkeys(part.statements, behind))
        ends = (products[s].extents[2] for s in part.statements if s in products)
        behind = sum((aff(str(e)) for e in ends), behind)
    return tree


def aligned(tree: Schedule, products: dict[str, Statement], context: Set) -> Schedule:
    """Every product's last member is its own iterator: block tiles of k start at 0 then, whatever the others' sizes.

    Products of different depths end together in the scheduler's tree, [i, j, L + k]; nothing asks for that. That a
    pointwise statement, at [i, j, K + L], still comes after them takes sizes that are not negative: from here on the
    dependences between statements that are shifted differently are those within the context.
    """
    last = tree.band(ROOT).members[-1]
    by = {name: var(s.iterators[-1]) - last.of(name) for name, s in products.items()}
    by = {name: e for name, e in by.items() if e != aff(0)}
    if not by:
        return tree
    apart = [replace(d, relation=d.relation.intersect_params(context)) if by.get(d.source) != by.get(d.sink) else d
             for d in tree.dependences or ()]  # fmt: skip
    tree = replace(tree, dependences=tuple(d for d in apart if not d.relation.is_empty()))
    return shift(tree, ROOT, len(tree.band(ROOT).members) - 1, by)


def members_of(tree: Schedule, at: Path, level: str) -> list[int]:
    """The positions of a level's members in the band at a path."""
    return [k for k, m in enumerate(tree.band(at).members) if m.level == level]


def mapped(
    tree: Schedule, products: dict[str, Statement], options: Tiling, named: tuple[str, str, str] = WARPS
) -> Schedule:
    """The parallel tile loops become indices: of the block at the root, of the warp in each statement's tile.

    A split K gives each part of a product's k tile to warps of its own, which sum for themselves. A loop of one
    iteration stays.
    """
    for at in tree.find(level=BLOCK):
        tree = map_members(tree, at, dict(zip(members_of(tree, at, BLOCK), BLOCKS)))
    for at in tree.find(level=WARP):
        band = tree.band(at)
        (statement,) = band.statements
        product = products.get(statement)
        *rows_and_columns, depth = members_of(tree, at, WARP)
        names: dict[MemberRef, str] = {
            k: n for k, n in zip(rows_and_columns, named) if not band.members[k].of(statement).is_constant
        }
        if product is not None and options.split_k > 1:
            names[depth] = PART_OF_CLUSTER if named == WARPGROUPS else named[2]
        sums = {d.array for d in tree.dependences or ()}  # of one term, nothing depends on it
        arrays = [product.write.tensor] if depth in names and product and product.write.tensor in sums else []
        tree = map_members(tree, at, names, reduction=arrays)
    return tree
