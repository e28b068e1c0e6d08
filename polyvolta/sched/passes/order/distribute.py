"""Distribution: each child of a sequence gets the loops above it for itself.

    BAND: S[i] → [i]; T[i] → [i]      =>      SEQUENCE
      SEQUENCE                                  FILTER: S[i]
        FILTER: S[i]                              BAND: S[i] → [i]
        FILTER: T[i]                            FILTER: T[i]
                                                  BAND: T[i] → [i]

All iterations of the first child run before those of the second. That is loop distribution (or fission), the opposite
of `fuse`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polyvolta.sched.errors import BadPath, IllegalTransformation
from polyvolta.sched.passes.common.arguments import items
from polyvolta.sched.passes.common.legal import settled
from polyvolta.sched.passes.common.subtree import restricted_members
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.tree import Band, Filter, Leaf, Mark, Node, Path, Schedule, SetNode, with_children
from polyvolta.sched.tree import Sequence as InOrder
from polyvolta.sets.errors import kind_of


@of_a_tree
def distribute(schedule: Schedule, at: Path, order: Sequence[str] | None = None) -> Schedule:
    """Push the band at a path into the children of the sequence below it.

        BAND: S[i] → [i]; T[i] → [i]      =>      SEQUENCE
                                                    FILTER: S[i]
                                                      BAND: S[i] → [i]
                                                    FILTER: T[i]
                                                      BAND: T[i] → [i]

    Several statements at a leaf are put in a sequence of one filter each. A band of one statement stays as it is.

    Parameters
    ----------
    order : of the statements at a leaf; the order in which the band names them by default.

    Raises
    ------
    BadPath : below the band is neither a sequence nor a leaf; or `order` does not name its statements.
    IllegalTransformation : a dependence forbids it; without dependences: the band has a member that is not coincident.

    Cost: a check of the new tree and the flags of its bands.

    Source: K. Kennedy and K. McKinley, "Loop distribution with arbitrary control flow" (1990).

    >>> from polyvolta.sched import Band, Domain, Member, Schedule
    >>> from polyvolta.sets import Set, var
    >>> i = Member((("S", var("i")), ("T", var("i"))), coincident=True)
    >>> print(distribute(Schedule(Domain(Set("{ S[i] : 0 <= i < 9; T[i] : 0 <= i < 9 }"), Band((i,)))), (0,)))
    DOMAIN: S[i] : 0 ≤ i ≤ 8;
            T[i] : 0 ≤ i ≤ 8
      SEQUENCE
        FILTER: S[i]
          BAND: S[i] → [i]
        FILTER: T[i]
          BAND: T[i] → [i]
    """
    band = schedule.band(at)
    chain, below = chain_below(band)
    if any(isinstance(node, Band) for node in chain[1:]):
        raise BadPath(
            "below the band is another band, no sequence to distribute it over",
            where=schedule.marked(at),
            hint="hoist(schedule, at, 0) goes through several bands",
        )
    if not isinstance(below, (InOrder, SetNode, Leaf)):
        raise BadPath(
            f"below the band is {kind_of(below)}, no sequence to distribute it over", where=schedule.marked(at)
        )
    if order is not None:
        order = items(order, "statements", '("S", "T")')
    if order is not None and not (isinstance(below, Leaf) and sorted(map(str, order)) == sorted(band.statements)):
        raise BadPath(f"{list(order)} does not order the statements of a leaf", where=schedule.marked(at))
    if isinstance(below, Leaf):
        if len(band.statements) < 2:
            return schedule
        below = InOrder(tuple(Filter((s,)) for s in order or band.statements))
    flags_allow(schedule, at, [band], "distributing")
    new = schedule.replace(at, pushed(chain, below))
    return settled(schedule, new, "distributing", at)


def chain_below(node: Node) -> tuple[list[Band | Mark], Node]:
    """The bands and marks that follow one another from a node on, and what comes below them."""
    chain: list[Band | Mark] = []
    while isinstance(node, (Band, Mark)):
        chain.append(node)
        node = node.child
    return chain, node


def flags_allow(schedule: Schedule, at: Path, bands: Sequence[Band], doing: str) -> None:
    """Without dependences, only bands whose members are all coincident go into a sequence.

    Raises
    ------
    IllegalTransformation : there is another member, and nothing else is known.
    """
    if schedule.dependences is None and not all(m.coincident for b in bands for m in b.members):
        raise IllegalTransformation(
            f"{doing} runs all iterations for one statement before those for the next, and a member is not coincident",
            where=schedule.marked(at),
            hint="a schedule that carries its dependences is checked by those: replace(schedule, dependences=...)",
        )


def pushed(chain: Sequence[Band | Mark], sequence: InOrder | SetNode) -> Node:
    """The sequence with bands and marks over what each of its children holds, outermost first."""

    def entered(child: Node) -> Node:
        if isinstance(child, Mark):
            return with_children(child, (entered(child.child),))
        if isinstance(child, Filter):
            return replace(child, child=over(chain, child.child, frozenset(child.statements)))
        raise TypeError(type(child).__name__)

    return replace(sequence, children=tuple(entered(c) for c in sequence.children))


def over(chain: Sequence[Band | Mark], child: Node, statements: frozenset[str]) -> Node:
    """A subtree below what bands and marks say of its statements."""
    for node in reversed(chain):
        if isinstance(node, Mark):
            child = replace(node, child=child)
        elif not statements.isdisjoint(node.statements):
            child = replace(node, members=restricted_members(node.members, statements), child=child)
    return child
