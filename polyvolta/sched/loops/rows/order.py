"""Which lanes may run wholly before others.

A lane *precedes* another when no instance of it comes after one of the other: at the present member, at values that
both have, or at a later member where all before are equal. Those that end at equal values of all members may run
either way if the node below says so. Whatever one lane says of what is outside that the other excludes, both precede
each other: they never run at one place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd

from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.lanes import Lane
from polyvolta.sched.loops.rows.linear import System, coefficient, plus, without

First = Callable[[Lane, Lane], bool]  # whether, at equal values of all members, one lane may run before another


def precedes(known: Known, p: Lane, q: Lane, k: int, columns: Sequence[int], first: First | None) -> bool:
    """Whether no instance of p comes after one of q from member k of a band on.

    Parameters
    ----------
    columns : of the members, 0 for those at which all have one value.
    """
    for at in range(k, len(columns)):
        col = columns[at]
        if not col:
            continue
        a, b = p.shadows[at], q.shadows[at]
        high, low = ends(a, col)[1], ends(b, col)[0]
        if (high is not None and low is not None and high < low) or _apart(a, b, col):
            return True
        twin = known.columns.twin(col)
        rows = [row for row in a.every_ge() if not known.says(*row)]
        for key, const in [row for row in b.every_ge() if not known.says(*row)]:
            v = coefficient(key, col)
            rows.append((plus(1, without(key, col), v, ((twin, 1),)), const) if v else (key, const))
        tab = known.tableau(rows)
        if tab.empty:  # at no place outside do both run
            return True
        most = tab.maximum(known._dense(tab, ((col, 1), (twin, -1)), 0))
        if most is None or most[0] >= most[1]:
            return False
        if most[0] < 0:
            return True
    return first is not None and first(p, q)


def _apart(a: System, b: System, col: int) -> bool:
    """Whether two shadows say different residues of what is outside: they never run at one place."""
    return any(
        key == other and (const - rest) % gcd(d, e)
        for key, const, d in a.mods
        for other, rest, e in b.mods
        if not coefficient(key, col)
    )


def ends(s: System, col: int) -> tuple[int | None, int | None]:
    """Constant bounds that a shadow states of a column."""
    low, high = s.ineqs.get(((col, 1),)), s.ineqs.get(((col, -1),))
    for key, const in s.eqs:
        if len(key) == 1 and key[0][0] == col:
            return -const * key[0][1], -const * key[0][1]
    return None if low is None else -low, high
