"""Tiling whatever the scheduler found to be tilable, the same for all kernels; and a short word for what it found."""

import numpy as np

from polyvolta.sched import Band, Program, Schedule, interchange, isolate_full_tiles, tile


def tiled(tree: Schedule, size: int, members: int = 1) -> Schedule:
    """Every permutable band of at least so many members, tiled by one size in each.

    The innermost come first: tiling a band moves what is below it, and nothing else.
    """
    for at in reversed(tree.bands()):
        band = tree.band(at)
        if band.permutable and len(band.members) >= members:
            tree = tile(tree, at, [size] * len(band.members))
    return tree


def arranged(program: Program, tree: Schedule, size: int) -> Schedule:
    """Tiled for running: nests of loops only, memory walked along inside, full tiles apart from partial ones."""
    tree = with_short_strides(program, tree)
    nests = [at for at in tree.bands() if tree.band(at).permutable and len(tree.band(at).members) > 1]
    for at in reversed(nests):
        tree = isolate_full_tiles(tile(tree, at, [size] * len(tree.band(at).members)), at)
    return tree


def with_short_strides(program: Program, tree: Schedule) -> Schedule:
    """The member along which most accesses stay or move to the next element, innermost in each permutable band.

    The scheduler looks for parallel loops outside and for short dependences. What lies side by side in memory is
    another question, and a permutable band leaves the choice.
    """
    for at in tree.bands():
        band = tree.band(at)
        if band.permutable:
            members = range(len(band.members))
            best = max(members, key=lambda m: (sum(_short(program, band, s, m) for s in band.statements), m))
            tree = interchange(tree, at, [*(m for m in members if m != best), best])
    return tree


def _short(program: Program, band: Band, name: str, member: int) -> int:
    """How many accesses of a statement stay, or move along their last dimension alone, when a member counts up."""
    s = program.statement(name)
    start = dict.fromkeys((*program.params, *s.iterators), 0)

    def slopes(e) -> list[int]:  # noqa: ANN001
        return [e.evaluate({**start, i: 1}) - e.evaluate(start) for i in s.iterators]

    rows = np.array([slopes(m.of(name)) for m in band.members])
    step = np.linalg.pinv(rows)[:, member]  # of the iterators, the other members unchanged
    if not np.allclose(rows @ step, np.eye(len(rows))[member]):
        return 0  # the statement has no loop of its own there
    moves = [np.array([slopes(e) for e in a.relation.as_affs()]) @ step for a in s.accesses if a.relation.space.n_out]
    return sum(not np.any(np.round(move[:-1], 9)) and abs(move[-1]) <= 1 for move in moves)


def shape(program: Program, tree: Schedule) -> str:
    """The bands of a tree in reading order: `3 (2)` has 3 members, 2 of them parallel.

    `*` behind it says that a member is skewed, `-` that the members may not be interchanged.
    """
    iterators = {s.name: set(s.iterators) for s in program.statements}

    def skewed(band: Band) -> bool:
        return any(len(e.names() & iterators[s]) > 1 for m in band.members for s, e in m.exprs)

    bands = [tree.band(at) for at in tree.bands()]
    return ", ".join(
        f"{len(b.members)} ({sum(m.coincident for m in b.members)})" + "*" * skewed(b) + "-" * (not b.permutable)
        for b in bands
    )
