"""Bounds of a loop that hold at all of its values or at none, by residues: conditions before the loop.

for 0 <= c1 <= 31 and c0 a multiple of 32     32*b <= c0 mod 512 + c1 <= 32*b + 31     c0 mod 512 = 32*b
"""

from __future__ import annotations

from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.lanes import Lane
from polyvolta.sched.loops.rows.linear import Key, System, coefficient, negated, without


def wholly(known: Known, lane: Lane, k: int, col: int) -> Lane:
    """A lane with an equality for a window that loop k has all of or nothing, by what is outside.

    A row v*c + e >= 0, where e is r modulo g by what is known outside, is one of e alone if no number that is r modulo
    g is between -v*c for the least c and for the greatest: both are numbers by the shadow, and e is at least the next
    r modulo g from the least of -v*c on, which no c is beyond. Two that leave e one value are a condition; one is left
    to the bounds, which hold for some values outside then. The instances are the same, since it follows. Cost: a sum
    for each bound, and no linear program.
    """
    shadow = lane.shadows[k]
    ends = [-shadow.ineqs[key] if (key := ((col, sign),)) in shadow.ineqs else None for sign in (1, -1)]
    low, high = ends[0], None if ends[1] is None else -ends[1]
    if low is None or high is None or low >= high:
        return lane
    found: dict[Key, int] = {}
    for key, const in shadow.ineqs.items():
        v, rest = coefficient(key, col), without(key, col)
        if not v or all(c not in known.columns.floors for c, _ in rest):  # others are plain as bounds
            continue
        g, r = known.grid(rest)
        least, most = sorted((-v * low, -v * high))
        if g > 1 and (first := least + (r + const - least) % g) >= most:
            found[rest] = min(const - first, found.get(rest, const - first))
    ties = [row for row in found.items() if found.get(negated(row[0])) == -row[1] and not known.implies_zero(*row)]
    rows = System(ties)
    return lane.restrict(rows, k) if rows.ineqs else lane
