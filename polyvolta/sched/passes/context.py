"""Contexts and guards: what is known, and what is tested.

A context says what holds of the parameters and of the members of the bands above; code below it tests none of that. A
guard says what the generated code tests at its place, so that nothing below needs to. Neither takes instances away.

    BAND: S[i] → [i]      =>      CONTEXT: [] : N mod 32 = 0
                                    BAND: S[i] → [i]
"""

from __future__ import annotations

from polyvolta.sched.errors import BadSchedule
from polyvolta.sched.passes.mark import below_root
from polyvolta.sched.passes.places import bands_above, depth, instances_at, names_of
from polyvolta.sched.tree import Context, Guard, Path, Schedule
from polyvolta.sets import Map, Set


def insert_context(schedule: Schedule, at: Path, context: Set) -> Schedule:
    """Say at a node what is known of the parameters and of the members of the bands above.

        BAND: S[i] → [i]      =>      CONTEXT: [] : N mod 32 = 0
                                        BAND: S[i] → [i]

    Parameters
    ----------
    context : over the members of the bands above, outermost first, or without dimensions.

    Raises
    ------
    BadPath : no such node, or the root.
    BadSchedule : a context over another number of members.

    Cost: none. That the context holds is the caller's word.

    >>> from polyvolta.sched import Domain, Schedule
    >>> tree = insert_context(Schedule(Domain(Set("[N] -> { S[i] : 0 <= i < N }"))), (0,), Set("[N] -> { : N >= 8 }"))
    >>> type(tree.node((0,))).__name__
    'Context'
    """
    below_root(schedule, at)
    _over(schedule, at, context, "context")
    return schedule.replace(at, Context(context, schedule.node(at)))


def insert_guard(schedule: Schedule, at: Path, guard: Set) -> Schedule:
    """Say at a node what the generated code tests there.

        BAND: S[i] → [i]      =>      GUARD: [] : N ≥ 1
                                        BAND: S[i] → [i]

    Parameters
    ----------
    guard : over the members of the bands above, outermost first, or without dimensions.

    Raises
    ------
    BadPath : no such node, or the root.
    BadSchedule : a guard over another number of members, or one that is false for an instance that arrives.

    Cost: for each statement a difference and an emptiness test.

    >>> from polyvolta.sched import Domain, Schedule
    >>> tree = insert_guard(Schedule(Domain(Set("[N] -> { S[i] : 0 <= i < N }"))), (0,), Set("[N] -> { : N >= 1 }"))
    >>> type(tree.node((0,))).__name__
    'Guard'
    """
    below_root(schedule, at)
    _over(schedule, at, guard, "guard")
    reach = instances_at(schedule, at)
    above = bands_above(schedule, at)
    for s in names_of(reach):
        mine = reach.only(s)
        if guard.space.n_out:
            times = [e for b in above if s in b.statements for e in b.schedule(s)][: guard.space.n_out]
            passing = Map.from_affs(mine.space, times).intersect_range(guard).domain()
            lost = mine - passing
        else:
            lost = mine - mine.intersect_params(guard)
        if not lost.is_empty():
            raise BadSchedule(
                f"the guard is false for an instance: {lost.sample()}",
                where=schedule.marked(at),
                hint="insert_sequence tells instances apart",
            )
    return schedule.replace(at, Guard(guard, schedule.node(at)))


def _over(schedule: Schedule, at: Path, known: Set, what: str) -> None:
    n = depth(schedule, at)
    if known.space.n_out not in (0, n):
        raise BadSchedule(
            f"a {what} here is over {n} members of bands, not {known.space.n_out}",
            where=schedule.marked(at),
            hint="the members of all bands above, outermost first; or none",
        )
