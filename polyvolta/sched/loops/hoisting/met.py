"""Cases before a loop without those that integers leave nothing.

    if (M <= 1 || M >= 3 || N >= 1)         if (M <= 1 || M >= 3 || N >= 3)
      for (c0 ...) ...                ->      for (c0 ...) ...

where N >= 1 is said by i = M mod 3 with 0 <= i < N: at M = 2 there is one from N = 3 on.

    for 1 <= i < N where N mod 4 = 3, and for 0 <= i < N where N mod 3 = 0        N >= 3, not N >= 1
"""

from __future__ import annotations

from collections.abc import Sequence

from polyvolta.sched.loops.conditions import elsewhere, length
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import System

ALONE = 4  # places where one of several systems holds alone, beyond which it is not asked whether anything runs there


def met(known: Known, where: list[System], values: Sequence[System]) -> list[System]:
    """Systems of which one holds where one of some has a value, less those that integers don't need beside the others.

    Of N <= 2 and M <= 1, of M >= 3, of N >= 3 and of N >= 1 for 0 <= i < N, i = M mod 3, the last one would be met
    alone at M = 2 and 1 <= N <= 2, where there is no i. What has a value anywhere still meets one: a system goes only
    where none of these has a value at any place at which it holds alone, the ones gone before left out. It takes some
    steps for each of these values at each such place.
    """
    out = list(where)
    for s in sorted(where, key=length):
        rest = [other for other in out if other is not s]
        there = known.given(s)
        places = [there.given(place) for place in elsewhere(there, rest)] if rest else []
        if 0 < len(places) <= ALONE and all(p.surely_excludes(one) for p in places for one in values):
            out = rest
    return out


def closer(known: Known, systems: Sequence[System], rows: System) -> System:
    """Rows that all of some systems imply, with numbers as tight as the strides of these leave them; changes them.

    A row is as one of the systems has it by its strides where all imply that: the one condition says more. Cost: a
    linear program a system where a stride says more.
    """
    there = [known.given(s) for s in systems] if rows.ineqs and len(systems) > 1 else ()
    for key, const in rows.ineqs.items():
        for least in {place.tight(key, const)[1] for place in there}:
            if least < rows.ineqs[key] and all(place.implies(key, least) for place in there):
                rows.ineqs[key] = least
    return rows
