"""Recognising quotients: `x = c*q + r with 0 <= r < c` says q = floor(x/c), whichever way it is written.

Two shapes are read, both exactly. A pair of inequalities `0 <= e - c*q <= c - 1` is q = floor(e/c). An equality
`f = g*U + R` with 0 <= R < g, where U stands later than f, says U = floor(f/g): so the inverse of a fragment's
layout, j = 2*(t mod 4) + (r mod 2), gives t mod 4 = floor(j/2) without any search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .rows import Row

Bounds = Callable[[dict[int, int]], tuple[int, int] | None]


@dataclass(frozen=True, slots=True)
class Quotient:
    """`form = floor(numerator / den)`; both are rows, the form has no constant."""

    form: list[int]
    den: int
    numerator: list[int]


def from_pair(best: dict[Row, int], place: Callable[[int], int]) -> tuple[Row, Row, Quotient] | None:
    """A pair of opposite inequalities `key . x + const >= 0` that defines its latest column, with the quotient.

    Parameters
    ----------
    place : the dimension that a column depends on last; the defined column must be strictly the latest.
    """
    for key, const in best.items():
        opposite = tuple([-v for v in key])
        other = best.get(opposite)
        if other is None or const + other < 1 or -(const + other + 1) not in key:
            continue
        col, *others = sorted((c for c, v in enumerate(key, 1) if v), key=place, reverse=True)
        if key[col - 1] != -(const + other + 1) or (others and place(others[0]) >= place(col)):
            continue
        form, numerator = [0] * (1 + len(key)), [const, *key]
        form[col], numerator[col] = 1, 0
        return key, opposite, Quotient(form, const + other + 1, numerator)
    return None


def from_equality(row: list[int], place: Callable[[int], int], bounds: Bounds) -> Quotient | None:
    """The quotient that an equality says: `row = early + g*form + R`, where R keeps within g - 1.

    Parameters
    ----------
    place : the dimension that a column depends on last; the form must lie strictly behind the early columns.
    bounds : the inclusive range of a form {column: coefficient}, where one is known.
    """
    used = sorted((c for c, v in enumerate(row) if c and v), key=place)
    for g in sorted({abs(row[c]) for c in used} - {1}, reverse=True):
        rest = [c for c in used if row[c] % g]
        for k in range(len(rest) + 1):
            early, late = rest[:k], rest[k:]
            whole = [c for c in used if row[c] % g == 0 and (not early or place(c) > place(early[-1]))]
            span = bounds({c: row[c] for c in late})
            if not whole or span is None or span[1] - span[0] >= g:
                continue
            form, numerator = [0] * len(row), [-v for v in row]
            numerator[0] -= span[0]
            for c in late:
                numerator[c] = 0
            for c in whole:
                form[c], numerator[c] = row[c] // g, 0
            return Quotient(form, g, numerator)
    return None


def range_of(form: dict[int, int], rows: dict[Row, int], remainders: Iterable[tuple[int, int, Row]], width: int) -> tuple[int, int] | None:
    """The inclusive range of a form, from inequalities on it, on single columns, and `0 <= row - den*q < den`.

    Parameters
    ----------
    rows : inequalities `key . x + const >= 0`.
    remainders : (column, den, row) of known divs, the innermost last.
    """
    low = high = 0
    left = dict(form)
    for col, den, row in remainders:
        c = left.get(col, 0)
        m = -c // den
        if not c or c % den or any(left.get(k) != m * v for k, v in enumerate(row) if k and v):
            continue
        del left[col]
        for k, v in enumerate(row):
            if k and v:
                del left[k]
        ends = (-m * row[0], m * (den - 1 - row[0]))
        low, high = low + min(ends), high + max(ends)
    if len(left) > 1:
        key = tuple([left.get(k, 0) for k in range(1, width)])
        above, below = rows.get(key), rows.get(tuple([-v for v in key]))
        if above is not None and below is not None:
            return low - above, high + below
    for col, c in left.items():
        unit = [0] * (width - 1)
        unit[col - 1] = 1
        above = rows.get(tuple(unit))
        unit[col - 1] = -1
        below = rows.get(tuple(unit))
        if above is None or below is None:
            return None
        low += c * (-above if c > 0 else below)
        high += c * (below if c > 0 else -above)
    return low, high
