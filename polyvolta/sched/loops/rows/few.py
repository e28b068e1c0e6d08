"""What rows say of a column that has but a few values: which of these it has.

    3 <= N <= 5 and (N + 1) mod 4 >= 2                              N = 5
    0 <= c0 <= 3, c0 mod 3 = 1 and c0 >= 1                          c0 = 1

A row of one name and its floors is true or false at each of its values between numbers, so that these are looked at.
Where they are in a row one or two bounds say which they are, or an equality, and more is known by it.
"""

from __future__ import annotations

from collections.abc import Mapping

from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import FLOOR, Congruence, Key, System

FEW = 8  # values of a column beyond which rows stay as they are


def of_few_values(known: Known, system: System) -> System:
    """A system with bounds, or an equality, for its rows of one name that has a few values, if these are no more."""
    names = {c for c in system.columns() if c < FLOOR and (c in known.low or c in known.high)}
    for col in names | {b for c in system.columns() & known.columns.floors.keys() for b in _names(known.columns, c)}:
        system = _of_values(known, system, col)
    return system


def _of_values(known: Known, system: System, col: int) -> System:
    """The same for one name."""
    own, columns = {col}, known.columns
    own |= {c for c in system.columns() & columns.floors.keys() if _names(columns, c) == own}
    rest, mine = System(), System()
    for key, const in system.eqs:
        (mine if own.issuperset([c for c, _ in key]) else rest).eqs.append((key, const))
    for key, const in system.ineqs.items():
        (mine if own.issuperset([c for c, _ in key]) else rest).ineqs[key] = const
    for row in system.mods:
        (mine if own.issuperset([c for c, _ in row[0]]) else rest).mods.append(row)
    rows = len(mine.eqs) + len(mine.ineqs) + len(mine.mods)
    if rows < 2 and not (own - {col}) and not mine.mods:
        return system
    least, most = (some.get(col) for some in mine.ends())
    before, behind = known.low.get(col), known.high.get(col)
    low = max([v for v in (least, before) if v is not None], default=None)
    high = min([v for v in (most, behind) if v is not None], default=None)
    if low is None or high is None or high - low >= FEW:
        return system
    found = [v for v in range(low, high + 1) if _holds(columns, mine, {col: v})]
    new = System()
    if len(found) == 1:
        new.eq(((col, 1),), -found[0])
    elif found and found[-1] - found[0] < len(found):
        if before is None or before < found[0]:
            new.ge(((col, 1),), -found[0])
        if behind is None or behind > found[-1]:
            new.ge(((col, -1),), found[-1])
    elif found:
        return system
    if len(new.ineqs) > rows:
        return system
    new.empty = not found or system.empty
    return rest.add(new)


def _names(columns: Columns, col: int) -> set[int]:
    """The names that a column speaks of."""
    if col not in columns.floors:
        return {col}
    return set().union(*[_names(columns, c) for c, _ in columns.floors[col][1]])


def _holds(columns: Columns, system: System, values: Mapping[int, int]) -> bool:
    """Whether rows of what has a value hold."""

    def at(key: Key, const: int) -> int:
        return const + sum([v * value(c) for c, v in key])

    def value(c: int) -> int:
        if c in values:
            return values[c]
        den, key, const = columns.floors[c]
        return at(key, const) // den

    def stride(row: Congruence) -> bool:
        return at(*row[:2]) % row[2] == 0

    return (
        not any(at(*row) for row in system.eqs)
        and all(at(*row) >= 0 for row in system.ineqs.items())
        and all(map(stride, system.mods))
    )
