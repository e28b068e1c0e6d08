"""Software pipelining: statements of a loop run one iteration ahead of the others.

    BAND: S → [⌊k/32⌋]; load → [kt]; store → [kt]      =>      BAND: S → [⌊k/32⌋]; load → [kt - 1]; store → [kt - 1]
      SEQUENCE                                                   SEQUENCE
        FILTER: load                                               FILTER: load
        FILTER: store                                              FILTER: S
        FILTER: S                                                  FILTER: store

The copy bands are shifted, so that the data of the next tile is on its way while this tile is computed on, and
the sequence is put in the order that hides the latency (the paper's "Prefetching and Hiding Latency"). The loop
then starts at -1. Legality is checked on the arrays that the statements of the loop touch, since the dependences of a
schedule do not know the copies; a statement that they know is checked against them as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import permutations

from polyvolta.sched.errors import BadPath, BadTile, IllegalTransformation
from polyvolta.sched.passes.bands.shift import shift
from polyvolta.sched.passes.common.arguments import table, whole
from polyvolta.sched.passes.common.legal import settled
from polyvolta.sched.passes.order.reorder import permutation
from polyvolta.sched.tree import Filter, Node, Path, Schedule
from polyvolta.sched.tree import Sequence as InOrder
from polyvolta.sets import Set, UnknownName, nearest

Touches = Mapping[str, tuple[frozenset[str], frozenset[str]]]
"""For each statement the arrays that its instances read and those that they write."""


def prefetch(schedule: Schedule, at: Path, by: Mapping[str, int], order: Sequence[int], touches: Touches) -> Schedule:
    """Shift statements along the one member of the band at a path and reorder the sequence below it.

        BAND: load[k] → [k]; use[k] → [k]      =>      BAND: load[k] → [k - 1]; use[k] → [k]
          SEQUENCE                                       SEQUENCE
            FILTER: load[k]                                FILTER: use[k]
            FILTER: use[k]                                 FILTER: load[k]

    Parameters
    ----------
    by : iterations to shift by, per statement; -1 runs one iteration early.
    order : the present positions of the sequence's children in their new order.
    touches : what each statement reads and writes.

    Raises
    ------
    BadPath : there is no one-member band with a sequence of filters there, or `order` is no permutation.
    BadTile, BadArgument : iterations that are no integers; what is no list or mapping where one is.
    UnknownName : `touches` does not have a statement of the sequence.
    IllegalTransformation : two iterations that touch the same array would change their order.

    Cost: one small emptiness test per pair of conflicting statements.

    Source: M. Lam, "Software pipelining" (PLDI 1988); the paper, section "Prefetching and Hiding Latency".

    >>> from polyvolta.sched import Band, Domain, Filter, Member, Schedule, Sequence
    >>> from polyvolta.sets import var
    >>> loop = Band((Member((("load", var("k")), ("use", var("k")))),), Sequence((Filter(("load",)), Filter(("use",)))))
    >>> tree = Schedule(Domain(Set("{ load[k] : 0 <= k < 9; use[k] : 0 <= k < 9 }"), loop))
    >>> tile = frozenset(["tile 0", "tile 1"])
    >>> touches = {"load": (frozenset(), tile), "use": (tile, frozenset())}
    >>> print(prefetch(tree, (0,), {"load": -1, "use": -1}, (0, 1), touches))
    DOMAIN: load[k] : 0 ≤ k ≤ 8;
            use[k] : 0 ≤ k ≤ 8
      BAND: load[k] → [k - 1];
            use[k] → [k - 1]
        SEQUENCE
          FILTER: load[k]
          FILTER: use[k]
    """
    band = schedule.band(at)
    by = table(by, "the shifts by statement", '{"load": -1}')
    touches = table(touches, "reads and writes by statement", '{"load": (frozenset(), frozenset({"tile"}))}')
    if len(band.members) != 1 or not isinstance(band.child, InOrder):
        raise BadPath("prefetching needs a band of one member above a sequence", where=schedule.marked(at))
    children = band.child.children
    order = permutation(schedule, (*at, 0), order, len(children))
    place = {s: k for k, child in enumerate(children) if isinstance(child, Filter) for s in child.statements}
    for s, n in by.items():
        if whole(n) is None:
            raise BadTile(f"{s} is shifted by a number of iterations, not by {n!r}", where=schedule.marked(at))
    for s in place:
        if s not in touches:
            raise UnknownName(
                f"what {s} reads and writes is not told", where=schedule.marked(at), hint=nearest(s, touches)
            )
    _check(schedule, at, place, {s: order.index(k) for s, k in place.items()}, by, touches)
    ordered = schedule.replace((*at, 0), replace(band.child, children=tuple(children[k] for k in order)))
    unknown = {s for d in schedule.dependences or () for s in (d.source, d.sink)}.isdisjoint
    moved = shift(replace(ordered, dependences=None), at, 0, by)
    moved = replace(moved, dependences=schedule.dependences)
    still = unknown(s for s in by if by[s]) and sum(not unknown(_statements(c)) for c in children) < 2
    return moved if still else settled(schedule, moved, "prefetching", at)


def _statements(child: Node) -> tuple[str, ...]:
    return child.statements if isinstance(child, Filter) else ()


def _check(schedule: Schedule, at: Path, old: dict, new: dict, by: Mapping[str, int], touches: Touches) -> None:
    """Every pair of conflicting iterations keeps its order: exact in the iterations, per array as a whole.

    Statements of one child of the sequence keep the order that the child gives them, which does not change.
    """
    for s, t in permutations(old, 2):
        (reads, writes), (other_reads, other_writes) = touches[s], touches[t]
        shared = writes & (other_reads | other_writes) | reads & other_writes
        if not shared:
            continue
        # x of s ran before y of t: x < y, or x = y and s stood first
        before = "x < y" if old[s] >= old[t] else "x <= y"
        dx, dy = by.get(s, 0), by.get(t, 0)
        after = f"x + {dx} < y + {dy}" if new[s] >= new[t] else f"x + {dx} <= y + {dy}"
        if old[s] == old[t]:  # the child orders them within an iteration, so they must stay in one
            after = f"{dx} = {dy}"
        if (broken := _broken(before, after)) is not None:
            x, y = broken
            raise IllegalTransformation(
                f"{s} in iteration {x} must run before {t} in iteration {y}: both touch {', '.join(sorted(shared))}",
                where=schedule.marked(at),
                hint="shift both by the same number of iterations, or keep their order",
            )


@cache
def _broken(before: str, after: str) -> tuple[int, int] | None:
    """The first two iterations x, y of which one condition holds and another does not."""
    broken = Set(f"{{ [x, y] : 0 <= x and 0 <= y and {before} and not ({after}) }}")
    return None if broken.is_empty() else next(iter(broken.lexmin().points()))
