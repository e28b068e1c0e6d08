"""Marks: names for places in a tree, for transformations and code generators to find them by.

BAND: S[i] → [i]      =>      MARK: tiles
                                BAND: S[i] → [i]
"""

from __future__ import annotations

from polyvolta.sched.errors import BadPath
from polyvolta.sched.passes.common.places import inserted_at
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.tree import Mark, Path, Schedule
from polyvolta.sets.errors import kind_of


@of_a_tree
def insert_mark(schedule: Schedule, at: Path, name: str) -> Schedule:
    """Put a mark above the node at a path; the path is the mark's then.

        BAND: S[i] → [i]      =>      MARK: tiles
                                        BAND: S[i] → [i]

    Raises
    ------
    BadPath : no such node, or the root or a child of a sequence, above which nothing can stand; a name that is no text.

    Cost: none.

    Source: isl's `isl_schedule_node_insert_mark`.

    >>> from polyvolta.sched import Domain, Schedule
    >>> from polyvolta.sets import Set
    >>> print(insert_mark(Schedule(Domain(Set("{ S[] }"))), (0,), "here"))
    DOMAIN: S[]
      MARK: here
    """
    inserted_at(schedule, at)
    if not isinstance(name, str) or not name:
        raise BadPath(f"a mark has a name, not {name!r}", where=schedule.marked(at))
    return schedule.replace(at, Mark(name, schedule.node(at)))


@of_a_tree
def remove_mark(schedule: Schedule, at: Path) -> Schedule:
    """Take out the mark at a path.

        MARK: tiles                =>      BAND: S[i] → [i]
          BAND: S[i] → [i]

    Raises
    ------
    BadPath : there is no mark.

    Cost: none.

    Source: isl's `isl_schedule_node_delete`.

    >>> from polyvolta.sched import Domain, Schedule
    >>> from polyvolta.sets import Set
    >>> print(remove_mark(insert_mark(Schedule(Domain(Set("{ S[] }"))), (0,), "here"), (0,)))
    DOMAIN: S[]
    """
    node = schedule.node(at)
    if not isinstance(node, Mark):
        raise BadPath(f"the node at {list(at)} is {kind_of(node)}, no Mark", where=schedule.marked(at))
    return schedule.replace(at, node.child)
