"""The children of a sequence in another order.

SEQUENCE            =>      SEQUENCE
  FILTER: S[i]                FILTER: T[i]
  FILTER: T[i]                FILTER: S[i]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polyvolta.sched.errors import BadPath
from polyvolta.sched.passes.common.arguments import items, whole
from polyvolta.sched.passes.common.legal import checked
from polyvolta.sched.passes.common.places import sequence_at
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.tree import Path, Schedule


@of_a_tree
def reorder(schedule: Schedule, at: Path, order: Sequence[int]) -> Schedule:
    """Put the children of the sequence at a path in another order.

        SEQUENCE            =>      SEQUENCE
          FILTER: S[i]                FILTER: T[i]
          FILTER: T[i]                FILTER: S[i]        reorder(tree, at, (1, 0))

    Parameters
    ----------
    order : the present positions of the children in their new order.

    Raises
    ------
    BadPath, BadArgument : no sequence there, or `order` is no permutation of its children.
    IllegalTransformation : a dependence forbids it. (Without dependences nothing is known, and nothing is refused.)

    Cost: a check of the new tree.

    Source: D. Padua and M. Wolfe, "Advanced compiler optimizations for supercomputers" (1986), on reordering
    statements.

    >>> from polyvolta.sched import Domain, Filter, Schedule, Sequence
    >>> from polyvolta.sets import Set
    >>> print(reorder(Schedule(Domain(Set("{ S[]; T[] }"), Sequence((Filter(("S",)), Filter(("T",)))))), (0,), (1, 0)))
    DOMAIN: S[];
            T[]
      SEQUENCE
        FILTER: T[]
        FILTER: S[]
    """
    sequence = sequence_at(schedule, at)
    order = permutation(schedule, at, order, len(sequence.children))
    if order == tuple(range(len(order))):
        return schedule
    new = schedule.replace(at, replace(sequence, children=tuple(sequence.children[k] for k in order)))
    return checked(schedule, new, "reordering the children", at)


def permutation(schedule: Schedule, at: Path, order: Sequence[int], n: int) -> tuple[int, ...]:
    """An order of n children, each named once by its position.

    Raises
    ------
    BadPath : it is none.
    BadArgument : it is no list.
    """
    given = items(order, "positions", "(1, 0)")
    found = tuple(k for k in map(whole, given) if k is not None)
    if len(found) < len(given) or sorted(found) != list(range(n)):
        raise BadPath(f"{list(given)} is no order of {n} children", where=schedule.marked(at))
    return found
