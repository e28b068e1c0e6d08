"""Schedules for a processor, written as a person would tile by hand: caches, registers, vectors.

    from examples.polybench.processor import RECIPES

    tree = RECIPES["gemm"](program, schedule(program))
    run = compile_c(tree, program)

Each starts from the scheduler's tree and takes a few of the library's transformations, all of which check themselves.
None of them changes a result, not by one bit: sums keep their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polyvolta.sched import (
    Program,
    Schedule,
    distribute,
    insert_sequence,
    interchange,
    reorder,
    skew,
    split,
    tile,
    unroll_and_jam,
    vectorise,
)  # fmt: skip
from polyvolta.sched.tree import Path
from polyvolta.sets import Set

Recipe = Callable[[Program, Schedule], Schedule]


def nest_of(tree: Schedule, *statements: str) -> Path:
    """The innermost band of exactly these statements."""
    return [at for at in tree.bands() if set(tree.band(at).statements) == set(statements)][-1]


def blocked(
    tree: Schedule, at: Path, order: Sequence[int], sizes: Sequence[int], times: Sequence[int]
) -> Schedule:
    """A band in a good order of its members, the last in vectors: tiles for the cache, blocks for registers.

    Parameters
    ----------
    order : of the points' members, the one for vectors last.
    sizes : of the tiles, by member as the band has them; none for a band of points.
    times : how many iterations of the points' members but the last are written out inside.
    """
    if sizes:
        tree, at = tile(tree, at, sizes), (*at, 0)
    tree = interchange(tree, at, order)
    tree = unroll_and_jam(tree, at, dict(enumerate(times)))
    return vectorise(tree, at, len(order) - 1)


def product(update: str, *before: str) -> Callable[[Schedule], Schedule]:
    """A matrix product with what makes its result ready: apart; then rows and depth by blocks of 4 around vectors."""

    def arranged(tree: Schedule) -> Schedule:
        if before:
            tree = distribute(tree, nest_of(tree, update, *before))
        return blocked(tree, nest_of(tree, update), (0, 2, 1), (96, 256, 64), (4, 4))

    return arranged


def gemm(program: Program, tree: Schedule) -> Schedule:
    """The result scaled first, then the product."""
    return product("S2", "S1")(tree)


def two_mm(program: Program, tree: Schedule) -> Schedule:
    """Two products."""
    return product("S4", "S3")(product("S2", "S1")(tree))


def three_mm(program: Program, tree: Schedule) -> Schedule:
    """Three products."""
    return product("S6", "S5")(two_mm(program, tree))


def trmm(program: Program, tree: Schedule) -> Schedule:
    """The triangular product in place: columns j, which are parallel, in vectors."""
    return blocked(tree, nest_of(tree, "S1"), (1, 2, 0), (256, 64, 64), (4, 4))


def mvt(program: Program, tree: Schedule) -> Schedule:
    """Two products with a vector: eight sums at a time, as one alone waits for itself; columns in vectors."""
    first = nest_of(tree, "S1")
    tree = unroll_and_jam(tree, first, {0: 8})
    return blocked(tree, nest_of(tree, "S2"), (1, 0), (1024, 64), (8,))


def lu(program: Program, tree: Schedule) -> Schedule:
    """Tiles; those that only update, right of and below their pivots, as the products that they are."""
    at = nest_of(tree, "S1", "S2", "S3")
    tree = tile(tree, at, [32, 64, 256])
    points = (*at, 0)
    inside = "32*floor(k/32) + 32 <= 64*floor(i/64) and 32*floor(k/32) + 32 <= 256*floor(j/256)"
    bulk = program.domain & Set(f"[N] -> {{ S1[i, j, k] : {inside}; S3[i, j, k] : {inside} }}")
    tree = insert_sequence(tree, points, [program.domain - bulk, bulk])
    pivots, updates = (*points, 0, 0), (*points, 1, 0)
    tree = distribute(tree, updates)  # each tile has one of the two
    for branch in (1, 0):
        tree = blocked(tree, (*updates, branch, 0), (1, 0, 2), (), (4, 8))
    tree = reorder(tree, (*pivots, 0), [1, 0, 2])
    tree = split(tree, pivots, 1)
    tree = distribute(tree, (*pivots, 0))
    for branch in (2, 1):
        tree = vectorise(tree, (*pivots, 0, branch, 0))
    return tree


def cholesky(program: Program, tree: Schedule) -> Schedule:
    """Tiles; those that only update by blocks of 4 by 4 sums, each along a row of both operands."""
    at = nest_of(tree, "S1", "S2", "S3", "S4")
    tree = tile(tree, at, [64, 64, 64])
    points = (*at, 0)
    inside = "floor(k/64) < floor(j/64) and floor(j/64) < floor(i/64)"
    bulk = program.domain & Set(f"[N] -> {{ S1[i, j, k] : {inside} }}")
    tree = insert_sequence(tree, points, [program.domain - bulk, bulk])
    updates = (*points, 1, 0)
    return unroll_and_jam(interchange(tree, updates, [1, 2, 0]), updates, {0: 4, 1: 4})


def jacobi(sizes: Sequence[int]) -> Recipe:
    """A stencil from one array to another and back: in a tile, one time step of one array after the other."""

    def arranged(program: Program, tree: Schedule) -> Schedule:
        (at,) = tree.bands()
        points = (*at, 0)
        tree = split(tile(tree, at, sizes), points, 1)
        tree = distribute(tree, (*points, 0))
        for branch in (1, 0):
            tree = vectorise(tree, (*points, 0, branch, 0))
        return tree

    return arranged


def seidel_2d(program: Program, tree: Schedule) -> Schedule:
    """A stencil in place: points along 2i + j do not wait for one another, so four rows go side by side."""
    (at,) = tree.bands()
    tree = tile(skew(tree, at, 2, 1), at, [16, 64, 256])
    return unroll_and_jam(tree, (*at, 0), {1: 4})


def floyd_warshall(program: Program, tree: Schedule) -> Schedule:
    """Left and right of column k the paths of a row do not wait for one another."""
    at = nest_of(tree, "S")
    tree = split(tree, at, 1)
    row = (*at, 0)
    domain = program.domain
    parts = [domain & Set(f"[N] -> {{ S[k, i, j] : j {sign} k }}") for sign in "<=>"]
    tree = insert_sequence(tree, row, parts)
    for branch in (2, 0):
        tree = vectorise(tree, (*row, branch, 0))
    return tree


RECIPES: dict[str, Recipe] = {
    "gemm": gemm,
    "2mm": two_mm,
    "3mm": three_mm,
    "trmm": trmm,
    "mvt": mvt,
    "lu": lu,
    "cholesky": cholesky,
    "jacobi-1d": jacobi([16, 1024]),
    "jacobi-2d": jacobi([16, 64, 1024]),
    "heat-3d": jacobi([4, 16, 16, 256]),
    "seidel-2d": seidel_2d,
    "floyd-warshall": floyd_warshall,
}
