"""From a schedule tree to loops.

The tree is walked from the root (`walk`) with the instances that come each way, as pieces (`instances`, `pieces`):
conjunctions in which every band member above is a column, solved for as soon as it is met. The loops of a band come
from the projections of its pieces (`lanes`), which are grouped and ordered along each member (`groups`), bounded
(`bounds`) and written (`members`). What loops and conditions ensure is known below (`known`), so that nothing is tested
twice, and a condition is written where the columns in it are all outside.

A leaf calls its statements. Iterators that no member determines get loops of their own there, in any order.

Where a projection is not exact the loop runs too far, never too short, and the condition that it lost is tested
inside: what is called is exact whatever the loops are.

Quilleré, Rajopadhye and Wilde (Int. J. of Parallel Programming 28, 2000) and Bastoul (PACT 2004) scan unions of
polyhedra by separation; the types of loops, isolation and schedule trees as the input are those of Grosser,
Verdoolaege and Cohen, "Polyhedral AST generation is more than scanning polyhedra" (TOPLAS 37, 2015). Here the default
shares a loop between statements whose values interleave and tests inside; `separate` asks for loops without tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polyvolta.sched.codegen.ast import Ast
from polyvolta.sched.codegen.instances import instances
from polyvolta.sched.codegen.names import mapped_names
from polyvolta.sched.codegen.state import State
from polyvolta.sched.codegen.tidy import tidied
from polyvolta.sched.codegen.walk import Scanner
from polyvolta.sched.codegen.writer import Ranges
from polyvolta.sched.errors import NotScannable
from polyvolta.sched.tree import Domain, Schedule
from polyvolta.sets import Aff, Set, UnknownName, nearest
from polyvolta.sets.budgets import metered
from polyvolta.sets.shape import need_set


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of `scan`.

    Parameters
    ----------
    body : the loops.
    extents : name that members are mapped to -> number of its values as an expression of the parameters.
    ranges : inclusive ranges of names and loop variables, None where there is no constant bound.
    notes : what the tree asks for and was not done, a sentence each.
    """

    body: tuple[Ast, ...]
    extents: Mapping[str, Aff]
    ranges: Ranges
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        from polyvolta.sched.codegen.c_text import to_c

        return to_c(self)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


@metered
def scan(schedule: Schedule, context: Set | None = None, extents: Mapping[str, int] | None = None) -> Scan:
    """Loops that visit exactly the instances of a schedule tree in its order.

    Parameters
    ----------
    context : what may be assumed of the parameters, a set without dimensions.
    extents : numbers of values of names that members are mapped to, where they are given and not inferred.

    Raises
    ------
    NotScannable : an unbounded loop, or one that is to be unrolled and has no constant number of iterations.
    BadSchedule : a statement that a band has no expression for, or that no child of a sequence takes; a context, a
        guard or what is isolated has other dimensions than there are members.
    UnknownName : an extent is given of a name that no member is mapped to.

    BudgetExceeded : the tree is too large for the steps of one operation; `with budget(...)` allows more.

    Cost: some linear programs for each loop and each condition. What may multiply them: `unroll` by the iterations,
    `separate` by the cells of a union, of which there are at most 24; beyond those, or beyond 6 different ranges, the
    statements share a loop with conditions inside, as by default, and the notes say so.

    >>> from polyvolta.sched import Band, Domain, Member, Schedule
    >>> from polyvolta.sets import Set, var
    >>> band = Band((Member((("S", var("i") // 32),)), Member((("S", var("i")),))))
    >>> tree = Schedule(Domain(Set("[N] -> { S[i] : 0 <= i < N }"), band))
    >>> outer, = scan(tree).body
    >>> inner, = outer.body
    >>> print(*inner.lower, *inner.upper, *inner.body[0].args)
    32*c0 N - 1 32*c0 + 31 c1
    """
    if not isinstance(schedule.root, Domain):
        raise NotScannable("a tree starts with its Domain", where=str(schedule))
    if context is not None:
        need_set(context, "a context")
    given = extents or {}
    names = mapped_names(schedule.root)
    for name in given:
        if name not in names:
            raise UnknownName(f"no member is mapped to {name}", where=str(schedule), hint=nearest(name, names))
    scanner = Scanner(schedule, context, given)
    state = State(tuple(instances(scanner.columns, schedule.root.domain, ())), scanner.known)
    body = scanner.visit(schedule.root.child, (0,), state)
    return Scan(tidied(body), scanner.extents, {**scanner.ranges, **scanner.seen}, tuple(scanner.notes))
