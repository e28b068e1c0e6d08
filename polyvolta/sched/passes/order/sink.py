"""Sinking a band: it moves below all that stands under it.

    BAND: S[i, j] → [i]             =>      BAND: S[i, j] → [j]
      BAND: S[i, j] → [j]                     BAND: S[i, j] → [i]

At each leaf of the subtree stands the part of the band for the statements that arrive there.
"""

from __future__ import annotations

from dataclasses import replace

from polyvolta.sched.errors import IllegalTransformation
from polyvolta.sched.passes.common.legal import settled
from polyvolta.sched.passes.common.subtree import not_anchored
from polyvolta.sched.passes.order.distribute import over
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.tree import Band, Filter, Leaf, Node, Path, Schedule, with_children


@of_a_tree
def sink(schedule: Schedule, at: Path) -> Schedule:
    """Move the band at a path to the leaves below it.

        BAND: S[i] → [i]; T[i] → [i]      =>      SEQUENCE
          SEQUENCE                                  FILTER: S[i]
            FILTER: S[i]                              BAND: S[i] → [i]
            FILTER: T[i]                            FILTER: T[i]
                                                      BAND: T[i] → [i]

    `split` first, to sink some members of a band: the loop over k, say, below the loops over i and j.

    Raises
    ------
    BadPath : no band there.
    IllegalTransformation : a dependence forbids it; without dependences: the band is not all coincident. Or a node
        below speaks of the members above it.

    Cost: a check of the new tree and the flags of the bands that changed.

    Source: isl's `isl_schedule_node_band_sink`.

    >>> from polyvolta.sched import Band, Domain, Member, Schedule
    >>> from polyvolta.sets import Set, var
    >>> inner = Band((Member((("S", var("j")),)),))
    >>> outer = Band((Member((("S", var("i")),), coincident=True),), inner)
    >>> print(sink(Schedule(Domain(Set("{ S[i, j] : 0 <= i < 9 and 0 <= j < 9 }"), outer)), (0,)))
    DOMAIN: S[i, j] : 0 ≤ i ≤ 8 ∧ 0 ≤ j ≤ 8
      BAND: S[i, j] → [j]
        BAND: S[i, j] → [i]
    """
    band = schedule.band(at)
    if isinstance(band.child, Leaf):
        return schedule
    if schedule.dependences is None and not all(m.coincident for m in band.members):
        raise IllegalTransformation(
            "sinking a band runs all that is below it first, and a member is not coincident", where=schedule.marked(at)
        )
    return settled(schedule, sunk(schedule, at), "sinking the band", at)


def sunk(schedule: Schedule, at: Path) -> Schedule:
    """The same, whatever dependences and flags say, as isl's function does it.

    Raises
    ------
    BadPath : no band there.
    IllegalTransformation : a node below speaks of the members above it.
    """
    band = schedule.band(at)
    not_anchored(schedule, at, "sinking a band")
    arrived = frozenset(schedule.statements_at(at))
    return schedule.replace(at, _sunk(replace(band, child=Leaf()), band.child, arrived))


def _sunk(band: Band, node: Node, statements: frozenset[str]) -> Node:
    """A subtree with the band at its leaves."""
    if isinstance(node, Leaf):
        return over([band], node, statements)
    if isinstance(node, Filter):
        statements = statements.intersection(node.statements)
    return with_children(node, tuple(_sunk(band, c, statements) for c in node.children))
