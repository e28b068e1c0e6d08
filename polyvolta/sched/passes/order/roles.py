"""Roles: some of a sequence's statements run apart from the others, at the same time.

    SEQUENCE                                           SET
      FILTER: copy[k]; full[k]; use[k]                   FILTER: copy[k]
        BAND: copy[k] → [k]; full[k] → [k]; ...            MARK: producer
          SEQUENCE                                           BAND: copy[k] → [k]
            FILTER: copy[k]                    =>        FILTER: full[k]; use[k]; out[]
            FILTER: full[k]                                MARK: consumer
            FILTER: use[k]                                   SEQUENCE
      FILTER: out[]                                            FILTER: full[k]; use[k]
                                                                 BAND: full[k] → [k]; use[k] → [k]
                                                                   SEQUENCE
                                                                     FILTER: full[k]
                                                                     FILTER: use[k]
                                                               FILTER: out[]

Within a role the order stays what it was. Between roles there is none but the one that statements bring about which
wait for others, as of barriers. The pass doesn't judge whether that is enough; of kernels it is proved, for any number
of iterations (`polyvolta.cuda.verify.order`).

A filter for each role, each with a mark that names it; loops are distributed over them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polyvolta.sched.errors import BadArgument, BadPath
from polyvolta.sched.passes.common.arguments import table
from polyvolta.sched.passes.common.subtree import restricted
from polyvolta.sched.tree import Filter, Mark, Path, Schedule, SetNode
from polyvolta.sched.tree import Sequence as InOrder


def roles(schedule: Schedule, at: Path, named: Mapping[str, Sequence[str]]) -> Schedule:
    """Split the sequence at a path among roles.

    Parameters
    ----------
    named : for each role the statements that it runs, all of the sequence's together.

    Raises
    ------
    BadPath : there is no sequence of filters at the path.
    BadArgument : a statement has no role, or two.

    Cost: linear in the subtree.

    >>> from polyvolta.sched import Band, Domain, Filter, Member, Schedule, Sequence
    >>> from polyvolta.sets import Set, var
    >>> k = Member((("copy", var("k")), ("use", var("k"))))
    >>> loop = Band((k,), Sequence((Filter(("copy",)), Filter(("use",)))))
    >>> both = Filter(("copy", "use"), loop), Filter(("out",))
    >>> tree = Schedule(Domain(Set("{ copy[k] : 0 <= k < 9; use[k] : 0 <= k < 9; out[] }"), Sequence(both)))
    >>> print(roles(tree, (0,), {"producer": ("copy",), "consumer": ("use", "out")}))
    DOMAIN: copy[k] : 0 ≤ k ≤ 8;
            use[k] : 0 ≤ k ≤ 8;
            out[]
      SET
        FILTER: copy[k]
          MARK: producer
            BAND: copy[k] → [k]
        FILTER: use[k]; out[]
          MARK: consumer
            SEQUENCE
              FILTER: use[k]
                BAND: use[k] → [k]
              FILTER: out[]
    """
    node = schedule.node(at)
    if not isinstance(node, InOrder) or not all(isinstance(c, Filter) for c in node.children):
        raise BadPath("roles split a sequence of filters", where=schedule.marked(at))
    named = table(named, "statements by role", '{"producer": ("copy",)}')
    there = [s for c in node.children if isinstance(c, Filter) for s in c.statements]
    given = [s for statements in named.values() for s in statements]
    for s in there:
        if given.count(s) != 1:
            raise BadArgument(f"{s} has {given.count(s)} roles, one belongs to each statement",
                              where=schedule.marked(at))  # fmt: skip
    parts = []
    for role, statements in named.items():
        mine = frozenset(statements)
        order = tuple(s for s in there if s in mine)
        parts.append(Filter(order, Mark(role, restricted(node, mine))))
    return schedule.replace(at, SetNode(tuple(parts)))
