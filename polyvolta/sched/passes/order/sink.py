"""Sinking a band: it moves below all that stands under it.

    BAND: S[i, j] → [i]             =>      BAND: S[i, j] → [j]
      BAND: S[i, j] → [j]                     BAND: S[i, j] → [i]

At each leaf of the subtree stands the part of the band for the statements that arrive there. Below an expansion it
says of what a group stands for what it says of the group, by the contraction.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polyvolta.sched.errors import IllegalTransformation
from polyvolta.sched.passes.common.legal import settled
from polyvolta.sched.passes.common.subtree import not_anchored
from polyvolta.sched.passes.order.distribute import over
from polyvolta.sched.structure.expansion import contracted
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.structure.reach import expansion_of, names_of, passed
from polyvolta.sched.tree import Band, Expansion, Filter, Leaf, Node, Path, Schedule, with_children
from polyvolta.sets import Set


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
    expands = any(isinstance(node, Expansion) for _, node in schedule.walk(at))
    here = schedule.instances_at(at) if expands else None  # they are asked for at expansions alone
    below = _sunk(replace(band, child=Leaf()), band.child, frozenset(schedule.statements_at(at)), here)
    return schedule.replace(at, below)


def _sunk(band: Band, node: Node, statements: frozenset[str], here: Set | None) -> Node:
    """A subtree to which instances of some statements come, with the band at its leaves."""
    if isinstance(node, Leaf):
        return over([band], node, statements)
    if isinstance(node, Filter):
        statements = statements.intersection(node.statements)
        here = None if here is None else passed(here, node)
    if isinstance(node, Expansion) and here is not None:
        led = expansion_of(here, node.expansion)
        band, statements, here = _below(band, node, here, led), frozenset(names_of(led)), led
    return with_children(node, tuple(_sunk(band, c, statements, here) for c in node.children))


def _below(band: Band, node: Expansion, groups: Set, led: Set) -> Band:
    """The band for what the groups that come to an expansion stand for; each instance has the values of its group."""
    found: dict[str, Any] = {s: tuple([dict(m.exprs)[s] for m in band.members]) for s in band.statements}
    own = contracted(found, node.contraction, groups, led)
    members = [
        replace(m, exprs=tuple([(s, own[s][k]) for s in names_of(led) if s in own and len(own[s]) > k]))
        for k, m in enumerate(band.members)
    ]
    return replace(band, members=tuple(members))
