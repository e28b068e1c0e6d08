"""Tiling whatever the scheduler found to be tilable, the same for all kernels; and a short word for what it found."""

from polyvolta.sched import Band, Program, Schedule, tile


def tiled(tree: Schedule, size: int, members: int = 1) -> Schedule:
    """Every permutable band of at least so many members, tiled by one size in each.

    The innermost come first: tiling a band moves what is below it, and nothing else.
    """
    for at in reversed(tree.bands()):
        band = tree.band(at)
        if band.permutable and len(band.members) >= members:
            tree = tile(tree, at, [size] * len(band.members))
    return tree


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
