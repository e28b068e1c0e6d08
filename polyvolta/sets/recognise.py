"""Recognising quotients: `x = c*q + r with 0 <= r < c` says q = floor(x/c), whichever way it is written.

Two shapes are read, both exactly. A pair of inequalities `0 <= e - c*q <= c - 1` is q = floor(e/c). An equality
`f = g*U + R` with 0 <= R < g, where U stands later than f, says U = floor(f/g): so the inverse of a fragment's
layout, j = 2*(t mod 4) + (r mod 2), gives t mod 4 = floor(j/2) without any search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .rows import Row

Range = tuple[int, int, dict[int, int]]
Bounds = Callable[[dict[int, int]], Range | None]


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

    Only forms with a unit coefficient count: such a quotient can be solved for a column.

    Parameters
    ----------
    place : the dimension that a column depends on last; the form must lie strictly behind the early columns.
    bounds : see `range_of`.
    """
    used = sorted((c for c, v in enumerate(row) if c and v), key=place)
    for g in sorted({abs(row[c]) for c in used} - {1}, reverse=True):
        rest = [c for c in used if row[c] % g]
        for k in range(len(rest) + 1):
            early, late = rest[:k], rest[k:]
            span = bounds({c: row[c] for c in late})
            if span is None or span[1] - span[0] >= g:
                continue
            low, _, extra = span
            form = {c: row[c] for c in used if row[c] % g == 0 and (not early or place(c) > place(early[-1]))}
            numerator = [-v if c not in late and c not in form else 0 for c, v in enumerate(row)]
            numerator[0] -= low
            for c, v in extra.items():
                form[c] = form.get(c, 0) + v
            if not any(v % g for v in form.values()) and any(abs(v) == g for v in form.values()):
                return Quotient([form.get(c, 0) // g for c in range(len(row))], g, numerator)
    return None


def range_of(form: dict[int, int], rows: dict[Row, int], divs: Iterable[tuple[int, int, list[int]]]) -> Range | None:
    """(low, high, extra): the form less `extra` keeps within low..high, inclusive; None where nothing is known.

    Remainders `e - den*q` of known divs are bounded, so multiples of q are set aside in `extra`; so are forms and
    single columns that inequalities bound on both sides.

    Parameters
    ----------
    rows : inequalities `key . x + const >= 0`.
    divs : (column, den, row) of the known divs, those that depend on others first.
    """
    low = high = 0
    left, extra = dict(form), {}
    for col, den, row in divs:
        first, *others = [k for k, v in enumerate(row) if k and v]
        m, odd = divmod(left.get(first, 0), row[first])
        if odd or not m or any(left.get(k) != m * row[k] for k in others):
            continue
        for k in (first, *others):
            del left[k]
        extra[col] = left.pop(col, 0) + m * den
        ends = (-m * row[0], m * (den - 1 - row[0]))
        low, high = low + min(ends), high + max(ends)
    for col, c in left.items():
        span = _column_range(col, rows)
        if span is None:
            return None
        low += c * span[c < 0]
        high += c * span[c > 0]
    return low, high, extra


def _column_range(col: int, rows: dict[Row, int]) -> tuple[int, int] | None:
    """The inclusive range of one column."""
    width = len(next(iter(rows), ()))
    above = rows.get(tuple([int(k == col) for k in range(1, 1 + width)]))
    below = rows.get(tuple([-int(k == col) for k in range(1, 1 + width)]))
    return None if above is None or below is None else (-above, below)
