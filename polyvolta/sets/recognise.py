"""Recognising quotients: `x = c*q + r with 0 <= r < c` says q = floor(x/c), whichever way it is written.

Two shapes are read, both exactly. A pair of inequalities `0 <= e - c*q <= c - 1` is q = floor(e/c). An
equality `f = g*U + R` with 0 <= R < g, where U stands later than f, says U = floor(f/g): so the inverse of
a fragment's layout, j = 2*(t mod 4) + (r mod 2), gives t mod 4 = floor(j/2) without any search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from .rows import Row

Range = tuple[int, int, dict[int, int]]
Bounds = Callable[[dict[int, int]], Iterable[Range]]


@dataclass(frozen=True, slots=True)
class Quotient:
    """`form = floor(numerator / den)`; both are rows, the form has no constant."""

    form: list[int]
    den: int
    numerator: list[int]


def from_pair(best: dict[Row, int], place: Sequence[int]) -> tuple[Row, Row, Quotient] | None:
    """A pair of opposite inequalities that defines its latest column: their keys, and the quotient.

    Parameters
    ----------
    place : for each column the dimension that it depends on last; the defined column must be strictly the latest.
    """
    for key, const in best.items():
        opposite = tuple([-v for v in key])
        other = best.get(opposite)
        if other is None or const + other < 1 or -(const + other + 1) not in key:
            continue
        col, *others = sorted((c for c, v in enumerate(key, 1) if v), key=place.__getitem__, reverse=True)
        if key[col - 1] != -(const + other + 1) or (others and place[others[0]] >= place[col]):
            continue
        form, numerator = [0] * (1 + len(key)), [const, *key]
        form[col], numerator[col] = 1, 0
        return key, opposite, Quotient(form, const + other + 1, numerator)
    return None


def from_equality(row: list[int], place: Sequence[int], bounds: Bounds) -> Quotient | None:
    """The quotient that an equality says: `row = early + g*form + R`, where R keeps within g - 1.

    Only forms with a unit coefficient count: such a quotient can be solved for a column.

    Parameters
    ----------
    place : for each column the dimension that it depends on last; the form must lie strictly behind the early columns.
    bounds : see `ranges_of`.
    """
    used = sorted((c for c, v in enumerate(row) if c and v), key=place.__getitem__)
    for g in sorted({abs(row[c]) for c in used} - {1}, reverse=True):
        rest = [c for c in used if row[c] % g]
        for k in range(len(rest) + 1):
            early, late = rest[:k], rest[k:]
            if not any(abs(row[c]) == g and (not early or place[c] > place[early[-1]]) for c in used):
                break
            for low, high, extra in bounds({c: row[c] for c in late}):
                if high - low >= g:
                    continue
                form = {c: row[c] for c in used if row[c] % g == 0 and (not early or place[c] > place[early[-1]])}
                numerator = [-v if c not in late and c not in form else 0 for c, v in enumerate(row)]
                numerator[0] -= low
                for c, v in extra.items():
                    form[c] = form.get(c, 0) + v
                if not any(v % g for v in form.values()) and any(abs(v) == g for v in form.values()):
                    return Quotient([form.get(c, 0) // g for c in range(len(row))], g, numerator)
    return None


def ranges_of(
    form: dict[int, int], rows: dict[Row, int], divs: Iterable[tuple[int, int, list[int]]]
) -> Iterator[Range]:
    """(low, high, extra): the form less `extra` keeps within low..high, inclusive.

    First by the ranges of single columns, without extra. Then by remainders: `e - den*q` of a known div is
    bounded, so its part of the form is, with a multiple of q set aside.

    Parameters
    ----------
    rows : inequalities `key . x + const >= 0`.
    divs : (column, den, row) of the known divs, those that depend on others first.
    """
    span = _sum_range(form, rows)
    if span is not None:
        yield *span, {}
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
    span = _sum_range(left, rows) if extra else None
    if span is not None:
        yield low + span[0], high + span[1], extra


def _sum_range(form: dict[int, int], rows: dict[Row, int]) -> tuple[int, int] | None:
    """The range of a form by the ranges of its columns, which inequalities in one variable give."""
    low = high = 0
    width = len(next(iter(rows), ()))
    for col, c in form.items():
        unit = [0] * width
        if width:
            unit[col - 1] = 1
        above = rows.get(tuple(unit))
        below = rows.get(tuple([-v for v in unit]))
        if above is None or below is None:
            return None
        low += c * (-above if c > 0 else below)
        high += c * (below if c > 0 else -above)
    return low, high
