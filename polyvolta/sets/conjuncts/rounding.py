"""Rounding by intervals: with 0 <= x <= 127, `128q + x >= 0` says no more and no less than q >= 0."""

from __future__ import annotations

from collections.abc import Sequence

from ..engine.rows import Row, normal_ineq
from .recognise import Intervals


def rounded(row: Sequence[int], g: int, bounds: Intervals) -> list[int] | None:
    """U + floor(R/g) for row = g*U + R, when R's range makes the floor one number; None when it doesn't."""
    for low, high, extra in bounds({c: v for c, v in enumerate(row) if c and v % g}):
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
    while low or high:
        changed = False
        for key in list(best):
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
            row = (const, *key)
            for g in sorted({abs(v) for v in key if v not in (0, 1, -1)}):
                value = rounded(row, g, bounds)
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
                break
        if not changed:
            break
    return True
