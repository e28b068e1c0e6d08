"""The initial schedule: one permutable band over the iterators, parallel members found from the dependences.

Each statement keeps its own loop order. Whether the members may be permuted (every dependence points forward
in every member) and which are coincident (every dependence has distance zero there) is decided exactly on the
dependence relations, not assumed.
"""

from __future__ import annotations

from collections.abc import Sequence

from polyvolta.sched.dependences import Accessing, dependences, distances, negative_at, nonzero_at
from polyvolta.sched.errors import IllegalTransformation
from polyvolta.sched.tree import Band, Domain, Member, Schedule
from polyvolta.sets import var


def initial(statements: Sequence[Accessing]) -> Schedule:
    """The outer-parallel schedule of one statement in schedule-tree form (the paper's Figure sched1-initial).

        DOMAIN: S[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K
          BAND: S[i, j, k] → [i, j, k]

    Raises
    ------
    IllegalTransformation : there are several statements, whose fusion is the scheduler's to find.
    """
    if len(statements) != 1:
        names = ", ".join(s.name for s in statements)
        raise IllegalTransformation(
            f"only one statement can be scheduled, the graph has {len(statements)}: {names}",
            hint="compile a single matrix product",
        )
    (statement,) = statements
    exprs = tuple(var(i) for i in statement.iterators)
    deltas = [distances(d, exprs, exprs) for d in dependences(statements)]
    coincident = [all(nonzero_at(d, m).is_empty() for d in deltas) for m in range(len(exprs))]
    permutable = all(negative_at(d, m).is_empty() for d in deltas for m in range(len(exprs)))
    members = tuple(Member(((statement.name, e),), c) for e, c in zip(exprs, coincident))
    return Schedule(Domain(statement.domain, Band(members, permutable=permutable)))
