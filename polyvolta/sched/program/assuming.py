"""What a program assumes of its parameters, said in a tree: a context node right below the domain.

    DOMAIN: S[i] : 0 ≤ i < N      =>      DOMAIN: S[i] : 0 ≤ i < N
      BAND: S[i] → [i]                      CONTEXT: [] : N ≥ 1
                                              BAND: S[i] → [i]

There whoever walks the tree finds it: the generation of code, the check of an order, a reader. isl's scheduler puts it
at the same place.
"""

from __future__ import annotations

from polyvolta.sched.errors import BadArgument
from polyvolta.sched.nodes import Context, Domain, Node
from polyvolta.sched.tree import Schedule
from polyvolta.sets import Set
from polyvolta.sets.errors import kind_of


def context_of(given: object) -> Set | None:
    """What is assumed of parameters, a set without dimensions or its text, as a set; None, for nothing, is itself.

    Raises
    ------
    BadArgument : it is neither, or speaks of something else than parameters.
    SetSyntaxError : the text is no set.

    >>> context_of("[N] -> { : N >= 1 }")
    Set('[N] -> { : N >= 1 }')
    """
    if isinstance(given, str):
        given = Set(given)
    hint = 'such as "[N] -> { : N >= 1 }"'
    if given is not None and not isinstance(given, Set):
        raise BadArgument(f"a context is a Set or its text, not {kind_of(given)}", where=repr(given), hint=hint)
    if given is not None and any(space.out.dims or space.out.name for space, _ in given.parts):
        raise BadArgument("a context speaks of the parameters, of no tuple", where=str(given), hint=hint)
    return given


def assuming(domain: Set, context: Set | None, child: Node) -> Domain:
    """The root of a tree over some instances, with what is assumed, if that is anything and not said there already.

    Cost: none, but a comparison where a context stands there.

    >>> from polyvolta.sched.nodes import Leaf
    >>> instances = Set("[N] -> { S[i] : 0 <= i < N }")
    >>> type(assuming(instances, Set("[N] -> { : N >= 1 }"), Leaf()).child).__name__
    'Context'
    >>> type(assuming(instances, Set("[N] -> { : }"), Leaf()).child).__name__
    'Leaf'
    """
    if context is None:
        return Domain(domain, child)
    says = all(c.eqs or c.ineqs for _, cs in context.parts for c in cs)
    there = isinstance(child, Context) and not child.context.space.n_out and child.context.is_equal(context)
    return Domain(domain, Context(context, child) if says and not there else child)


def without_assumptions(schedule: Schedule, context: Set) -> Schedule:
    """A tree without the node that says a context, where it begins with that."""
    root = schedule.root
    if isinstance(root, Domain) and isinstance(root.child, Context) and root.child.context == context:
        return schedule.replace((0,), root.child.child)
    return schedule
