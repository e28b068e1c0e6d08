"""Flattening two loops of a band to one that counts their iterations: the inverse of strip-mining in place.

BAND: S → [a, b]          =>      BAND: S → [4a + b]          where 0 <= b < 4
"""

from __future__ import annotations

from dataclasses import replace

from polyvolta.sched.errors import BadPath, BadTile
from polyvolta.sched.passes.bands.levels import Levels, of_level
from polyvolta.sched.passes.common.arguments import whole
from polyvolta.sched.passes.common.legal import reflagged
from polyvolta.sched.passes.common.subtree import rebased
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.tree import Band, Path, Schedule
from polyvolta.sets import Aff, Set, Tuple, var
from polyvolta.sets.values.build import RowBuilder
from polyvolta.sets.values.simplify import interval
from polyvolta.sets.values.space import Space


@of_a_tree
def flatten(schedule: Schedule, at: Path, length: int, level: Levels = None) -> Schedule:
    """The two members of the band at a path as one, the inner one running from 0 to `length` - 1; no order changes.

        BAND: S[i, j] → [i, j]      =>      BAND: S[i, j] → [4i + j]

    What follows along both loops can be moved by single iterations of the inner one then, beyond the end of the outer
    one's: `strip_mine(..., nested=False)` makes two loops of it again.

    Parameters
    ----------
    length : of the inner loop, for every value of the outer one.
    level : of the new loop. If missing, it has none.

    Raises
    ------
    BadPath : there is no band of two members that are mapped to nothing.
    BadTile : `length` is no positive integer, or an instance of a statement has a value outside of it.

    Cost: for each statement whose member no interval bounds an emptiness test of its instances.

    Source: "coalescing", C. Polychronopoulos, "Loop coalescing" (ICPP 1987).

    >>> from polyvolta.sched import Band, Domain, Member, Schedule
    >>> i, j = (Member((("S", var(n)),)) for n in "ij")
    >>> print(flatten(Schedule(Domain(Set("{ S[i, j] : 0 <= i < 9 and 0 <= j < 4 }"), Band((i, j)))), (0,), 4))
    DOMAIN: S[i, j] : 0 ≤ i ≤ 8 ∧ 0 ≤ j ≤ 3
      BAND: S[i, j] → [4i + j]
    """
    band = schedule.band(at)
    if len(band.members) != 2 or any(m.name for m in band.members):
        raise BadPath("flattening takes a band of two loops", where=schedule.marked(at), hint="split, or join, first")
    n = whole(length)
    if n is None or n < 1:
        raise BadTile(f"the length of a loop is a positive integer, not {length!r}", where=schedule.marked(at))
    outer, inner = band.members
    reach: Set | None = None
    for s in band.statements:
        low, high = interval(inner.of(s), {})
        if low is not None and high is not None and low >= 0 and high < n:
            continue
        reach = schedule.instances_at(at) if reach is None else reach
        if not _beyond(reach.only(s), inner.of(s), n).is_empty():
            raise BadTile(
                f"the inner loop of {s} does not stay between 0 and {n - 1}: {inner.of(s)}", where=schedule.marked(at)
            )
    members = of_level((outer.map(lambda s, e: n * e + inner.of(s)),), level)
    members = tuple(replace(m, coincident=outer.coincident and inner.coincident, unroll=False) for m in members)
    moved = rebased(schedule, at, {None: (2, (n * var("x0") + var("x1"),))})
    return reflagged(schedule.replace(at, Band(members, moved.child, True)), at)


def _beyond(instances: Set, e: Aff, n: int) -> Set:
    """The instances of one statement at which an expression is less than 0, or n or more."""
    params, dims = instances.param_names, instances.space.out.dims
    pieces = []
    for row in (-1 - e, e - n):
        found = RowBuilder((*params, *dims)).conjunct([("ge", row)])
        pieces += [] if found is None else [found]
    return instances & Set._of(params, [(Space(None, Tuple(instances.space.out.name, dims)), tuple(pieces))])
