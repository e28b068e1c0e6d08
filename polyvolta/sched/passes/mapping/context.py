"""Contexts and guards: what is known, and what is tested.

A context says what holds of the parameters and of the members of the bands above; code below it tests none of that. A
guard says what the generated code tests at its place, so that nothing below needs to. Neither takes instances away.

    BAND: S[i] → [i]      =>      CONTEXT: [] : N mod 32 = 0
                                    BAND: S[i] → [i]
"""

from __future__ import annotations

from polyvolta.sched.errors import BadSchedule
from polyvolta.sched.example import example
from polyvolta.sched.passes.common.arguments import relation
from polyvolta.sched.passes.common.places import depth, inserted_at
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.tree import Context, Guard, Path, Schedule
from polyvolta.sets import Map, Set


@of_a_tree
def insert_context(schedule: Schedule, at: Path, context: Set | str) -> Schedule:
    """Say at a node what is known of the parameters and of the members of the bands above.

        BAND: S[i] → [i]      =>      CONTEXT: [] : N mod 32 = 0
                                        BAND: S[i] → [i]

    Parameters
    ----------
    context : over the members of the bands above, outermost first, or without dimensions; or a text that says one.

    Raises
    ------
    BadPath : no such node, or the root.
    BadSchedule : a context over another number of members.
    SetSyntaxError : a text that is no set.

    Cost: none. That the context holds is the caller's word.

    Source: isl's `isl_schedule_node_insert_context`.

    >>> from polyvolta.sched import Domain, Schedule
    >>> tree = insert_context(Schedule(Domain(Set("[N] -> { S[i] : 0 <= i < N }"))), (0,), Set("[N] -> { : N >= 8 }"))
    >>> type(tree.node((0,))).__name__
    'Context'
    """
    inserted_at(schedule, at)
    context = _over(schedule, at, context, "context")
    return schedule.replace(at, Context(context, schedule.node(at)))


@of_a_tree
def insert_guard(schedule: Schedule, at: Path, guard: Set | str) -> Schedule:
    """Say at a node what the generated code tests there.

        BAND: S[i] → [i]      =>      GUARD: [] : N ≥ 1
                                        BAND: S[i] → [i]

    Parameters
    ----------
    guard : over the members of the bands above, outermost first, or without dimensions; or a text that says one.

    Raises
    ------
    BadPath : no such node, or the root.
    BadSchedule : a guard over another number of members, or one that is false for an instance that arrives.
    SetSyntaxError : a text that is no set.

    Cost: for each statement a difference and an emptiness test.

    Source: isl's `isl_schedule_node_insert_guard`.

    >>> from polyvolta.sched import Domain, Schedule
    >>> tree = insert_guard(Schedule(Domain(Set("[N] -> { S[i] : 0 <= i < N }"))), (0,), Set("[N] -> { : N >= 1 }"))
    >>> type(tree.node((0,))).__name__
    'Guard'
    """
    guarded = put_guard(schedule, at, guard)
    guard = guarded.node(at).guard  # type: ignore[attr-defined]
    times = schedule.prefix_schedule(at)
    for part in times.parts:
        time = Map._of(times.param_names, [part])
        lost = time.domain() - time.intersect_range(guard).domain()
        if not lost.is_empty():
            raise BadSchedule(
                f"the guard is false for an instance: {example(lost)}",
                where=schedule.marked(at),
                hint="insert_sequence tells instances apart",
            )
    return guarded


def put_guard(schedule: Schedule, at: Path, guard: Set | str) -> Schedule:
    """`insert_guard` of any condition, as isl's is: instances for which it is false do not run."""
    inserted_at(schedule, at)
    return schedule.replace(at, Guard(_over(schedule, at, guard, "guard"), schedule.node(at)))


def _over(schedule: Schedule, at: Path, known: Set | str, what: str) -> Set:
    """What is known, over the members above a node."""
    known = relation(known, Set, f"a {what}", '"[N] -> { : N > 0 }"')
    n, given = depth(schedule, at), known.space.n_out
    if known.space.out.name is not None:
        raise BadSchedule(
            f"a {what} is a set over the members of bands, not over {known.space}",
            where=schedule.marked(at),
            hint="insert_filter speaks of instances",
        )
    if given not in (0, n):
        raise BadSchedule(
            f"a {what} here is over {n} members of bands, not {given}",
            where=schedule.marked(at),
            hint="the members of all bands above, outermost first; or none",
        )
    if given == n:
        return known
    return Set.universe(f"[{', '.join(f'c{k}' for k in range(n))}]").intersect_params(known)
