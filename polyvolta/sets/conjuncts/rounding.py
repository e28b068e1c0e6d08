"""Rounding by intervals: with 0 <= x <= 127, `128q + x >= 0` says no more and no less than q >= 0."""

from __future__ import annotations

from collections.abc import Sequence

from ..engine.rows import Row, normal_ineq
from .recognise import Intervals


_UNITS = frozenset((0, 1))


def rounded(row: Sequence[int], g: int, bounds: Intervals) -> list[int] | None:
    """U + floor(R/g) for row = g*U + R, when R's range makes the floor one number; None when it doesn't."""
    rest = {c: v for c, v in enumerate(row) if c and v % g}
    if not bounds.divs:  # then every column of R needs a range of its own
        for c in rest:
            if c not in bounds.low or c not in bounds.high:
                return None
    for low, high, extra in bounds(rest):
        if (row[0] + low) // g != (row[0] + high) // g:
            continue
        out = [0 if v % g else v for v in row]
        out[0] = (row[0] + low) // g * g
        for c, v in extra.items():
            out[c] += v
        if not any(v % g for v in out) and out[1:].count(0) > row[1:].count(0):
            return [v // g for v in out]
    return None


def round_rows(best: dict[Row, int], bounds: Intervals) -> bool:
    """Round rows of several variables by intervals of some, in place; False for a contradiction."""
    low, high = bounds.low, bounds.high
    todo: list[Row] = list(best) if low or high else []
    while todo:
        changed = False
        for key in todo:
            const = best.get(key)
            if const is None or len(key) - key.count(0) < 2:
                continue
            least: int | None = const
            for col, v in enumerate(key, 1):
                if v:
                    bound = low.get(col) if v > 0 else high.get(col)
                    if bound is None:
                        least = None
                        break
                    least += v * bound
            if least is not None and least >= 0:  # implied
                del best[key]
                continue
            value = _rounded_by_a_factor(const, key, bounds)
            if value is None:
                continue
            r = normal_ineq(value)
            if r is False:
                return False
            del best[key]
            if r is not True:
                best[r[1:]] = min(r[0], best.get(r[1:], r[0]))
                if r.count(0) - (not r[0]) == len(key) - 1:
                    bounds.learn(r[1:], best[r[1:]])
                changed = True
        todo = list(best) if changed else []
    return True


def _rounded_by_a_factor(const: int, key: Row, bounds: Intervals) -> list[int] | None:
    """`rounded` by the least coefficient that gives something."""
    factors = {abs(v) for v in key}
    factors -= _UNITS
    if not factors:
        return None
    row = (const, *key)
    for g in sorted(factors) if len(factors) > 1 else factors:
        value = rounded(row, g, bounds)
        if value is not None:
            return value
    return None
