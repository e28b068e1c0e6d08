"""What rows say of a name that has but a few values: which of these it has.

    3 <= N <= 5 and (N + 1) mod 4 >= 2                              N = 5
    0 <= c0 <= 3, c0 mod 3 = 1 and c0 >= 1                          c0 = 1
    1 <= N <= 3, and N = 2 or N = 3                                 N >= 2

A row of one name and its floors is true or false at each of its values between numbers, so that these are looked at.
Where they are in a row one or two bounds say which they are, or an equality, and more is known by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf

from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import FLOOR, Key, System

FEW = 8  # values of a name beyond which rows stay as they are


def of_few_values(known: Known, system: System) -> System:
    """A system with bounds, or an equality, for its rows of a size that has a few values, if these are no more.

    Changes one that has none but for its rows: it is empty.
    """
    for col in _names(known.columns, system):
        if not known.columns.of_sizes(((col, 1),)):
            continue
        own, rest, mine = {col}, System(), System()
        own |= {c for c in system.columns() if c >= FLOOR and _names_of(known.columns, c) == own}
        for row in system.eqs:
            (mine if _within(row[0], own) else rest).eqs.append(row)
        for key, const in system.ineqs.items():
            (mine if _within(key, own) else rest).ineqs[key] = const
        for stride in system.mods:
            (mine if _within(stride[0], own) else rest).mods.append(stride)
        rows = len(mine.eqs) + len(mine.ineqs) + len(mine.mods)
        plain = len(own) == 1 and not mine.mods
        new = _values(known, [mine], col) if rows > plain else None
        if new is not None and new.empty:
            system.empty = True
        elif new is not None and len(new.ineqs) <= rows:
            new.empty = system.empty
            system = rest.add(new)
    return system


def united(known: Known, systems: Sequence[System]) -> list[System]:
    """One system for several of one name that has a few values, if theirs are in a row; elsewhere themselves."""
    names = set().union(*[_names(known.columns, s) for s in systems])
    new = _values(known, systems, *names) if len(systems) > 1 and len(names) == 1 else None
    return list(systems) if new is None or new.empty else [new]


def _values(known: Known, systems: Sequence[System], col: int) -> System | None:
    """What a name is where one of some systems of it holds, beyond what is known of it.

    None where its values are not in a row, or may be many.
    """
    least, most = known.low.get(col), known.high.get(col)
    ends = [_ends(s, col) for s in systems]
    low = max(least if least is not None else -inf, min([low for low, _ in ends]))
    high = min(most if most is not None else inf, max([high for _, high in ends]))
    if not high - low < FEW:
        return None
    found = [v for v in range(int(low), int(high) + 1) if any(_holds(known.columns, s, col, v) for s in systems)]
    out = System()
    out.empty = not found
    if found and found[-1] - found[0] >= len(found):
        return None
    if len(found) == 1 and not least == most == found[0]:
        out.eq(((col, 1),), -found[0])
    elif found:
        if least is None or least < found[0]:
            out.ge(((col, 1),), -found[0])
        if most is None or most > found[-1]:
            out.ge(((col, -1),), found[-1])
    return out


def _ends(system: System, col: int) -> tuple[float, float]:
    """The numbers between which a system has a name."""
    rows = [(key[0][1], const) for key, const in system.every_ge() if len(key) == 1 and key[0][0] == col]
    low = max([-(const // v) for v, const in rows if v > 0], default=-inf)
    return low, min([const // -v for v, const in rows if v < 0], default=inf)


def _names(columns: Columns, system: System) -> set[int]:
    """The names that a system speaks of."""
    return set().union(*[_names_of(columns, c) for c in system.columns()])


def _names_of(columns: Columns, col: int) -> set[int]:
    if col not in columns.floors:
        return {col}
    return set().union(*[_names_of(columns, c) for c, _ in columns.floors[col][1]])


def _within(key: Key, columns: set[int]) -> bool:
    return all(c in columns for c, _ in key)


def _holds(columns: Columns, system: System, col: int, number: int) -> bool:
    """Whether rows of one name hold at a number."""
    at = partial(_at, columns, col, number)
    return (
        not system.empty
        and not any(at(*row) for row in system.eqs)
        and all(at(*row) >= 0 for row in system.ineqs.items())
        and not any(at(key, const) % d for key, const, d in system.mods)
    )


def _at(columns: Columns, col: int, number: int, key: Key, const: int) -> int:
    """`key . x + const` of one name at a number, and of floors of it."""
    for c, v in key:
        if c == col:
            const += v * number
        else:
            den, inner, shift = columns.floors[c]
            const += v * (_at(columns, col, number, inner, shift) // den)
    return const
