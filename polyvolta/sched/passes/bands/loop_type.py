"""How code is generated for a loop: unrolled, atomic, separate.

These say nothing about the order, and are always legal. "Unroll" is said of two things: `unroll(...)` keeps the loop
and asks the compiler that reads it to unroll it, with a pragma; `set_loop_type(..., "unroll")`, isl's meaning, makes
the generated code write the iterations out, and there is no loop left.

    BAND: S[i] → [i]      =>      #pragma unroll
                                  for (i = 0; i < 4; i++)
                                    S(i);
"""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from polyvolta.sched.errors import BadPath
from polyvolta.sched.passes.common.places import MemberRef, members_at
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.tree import LoopType, Member, Path, Schedule
from polyvolta.sets import nearest


@of_a_tree
def set_loop_type(schedule: Schedule, at: Path, members: MemberRef | tuple[MemberRef, ...], kind: LoopType) -> Schedule:
    """Say how code is generated for members of the band at a path.

        BAND: S[i] → [i]      =>      BAND: S[i] → [i]        set_loop_type(tree, at, "i", "unroll")
                                            (unroll[0])

    Parameters
    ----------
    kind : "atomic" is one loop whatever runs in it, "separate" one loop for every set of statements that run together,
        "unroll" no loop but its iterations written out (for a loop with a pragma see `unroll`), "default" what the
        generator finds best.

    Raises
    ------
    BadPath, BadArgument : no such member, or no such kind; members that are no list.

    Cost: none.

    Source: T. Grosser, S. Verdoolaege, A. Cohen, "Polyhedral AST generation is more than scanning polyhedra" (TOPLAS
    2015), section 6.

    >>> from polyvolta.sched import Band, Domain, Member, Schedule
    >>> from polyvolta.sets import Set, var
    >>> tree = Schedule(Domain(Set("{ S[i] : 0 <= i < 4 }"), Band((Member((("S", var("i")),)),))))
    >>> set_loop_type(tree, (0,), "i", "unroll").band((0,)).members[0].loop_type
    'unroll'
    """
    schedule.band(at)
    if kind not in get_args(LoopType):
        raise BadPath(
            f"no loop type is called {kind!r}",
            where=schedule.marked(at),
            hint=nearest(str(kind), get_args(LoopType)) or f"there are {', '.join(get_args(LoopType))}",
        )
    return _changed(schedule, at, members, lambda m: replace(m, loop_type=kind, isolated_type=None))


@of_a_tree
def unroll(schedule: Schedule, at: Path, members: MemberRef | tuple[MemberRef, ...], on: bool = True) -> Schedule:
    """Request that the compiler unrolls the loops of members of the band at a path (`#pragma unroll` above each).

    `on` is False to take the request back.

    The loops stay in the code. To have their iterations written out: `set_loop_type(schedule, at, members, "unroll")`.

        for (i = 0; i < 4; i++)      =>      #pragma unroll
          S(i);                              for (i = 0; i < 4; i++)
                                               S(i);

    Raises
    ------
    BadPath, BadArgument : no such member; members that are no list.

    Cost: none.

    Source: the paper, whose kernels' loops over fragments are unrolled.

    >>> from polyvolta.sched import Band, Domain, Member, Schedule
    >>> from polyvolta.sets import Set, var
    >>> tree = Schedule(Domain(Set("{ S[i] : 0 <= i < 4 }"), Band((Member((("S", var("i")),)),))))
    >>> unroll(tree, (0,), 0).band((0,)).members[0].unroll
    True
    """
    return _changed(schedule, at, members, lambda m: replace(m, unroll=on))


def _changed(schedule: Schedule, at: Path, members, f) -> Schedule:  # noqa: ANN001
    band = schedule.band(at)
    chosen = members_at(schedule, at, members)
    new: tuple[Member, ...] = tuple(f(m) if k in chosen else m for k, m in enumerate(band.members))
    return schedule if new == band.members else schedule.replace(at, replace(band, members=new))
