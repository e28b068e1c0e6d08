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


def round_rows(best: dict[Row, int], bounds: Intervals, only: list[Row] | None = None) -> bool:
    """Round rows of several variables by intervals of some, in place; False for a contradiction.

    Parameters
    ----------
    only : the rows among them that may round, if that is known.
    """
    todo: list[Row] = (list(best) if only is None else only) if bounds.low or bounds.high else []
    while todo:
        fresh: set[Row] = set()
        learnt: set[int] = set()
        for key in todo:
            const = best.get(key)
            if const is None or len(key) - key.count(0) < 2:
                continue
            terms = [(c, v) for c, v in enumerate(key, 1) if v]
            if _implied(const, terms, bounds):
                del best[key]
                continue
            value = _rounded(const, key, terms, bounds)
            if value is None:
                continue
            r = normal_ineq(value)
            if r is False:
                return False
            del best[key]
            if r is not True:
                const, key = r[0], r[1:]
                best[key] = const = min(const, best.get(key, const))
                fresh.add(key)
                if key.count(0) == len(key) - 1:
                    bounds.learn(key, const)
                    learnt.add(next(k for k, v in enumerate(key) if v))
        todo = [k for k in best if k in fresh or any([k[c] for c in learnt])] if fresh else []
    return True


def _implied(least: int, terms: Sequence[tuple[int, int]], bounds: Intervals) -> bool:
    """Whether the ranges of its columns alone keep a form, of which `least` is the constant, from being negative."""
    low, high = bounds.low, bounds.high
    for c, v in terms:
        bound = low.get(c) if v > 0 else high.get(c)
        if bound is None:
            return False
        least += v * bound
    return least >= 0


def _rounded(const: int, key: Row, terms: Sequence[tuple[int, int]], bounds: Intervals) -> list[int] | None:
    """`rounded` by the least coefficient that gives something; `terms` are the entries of the key that are not 0."""
    factors = {abs(v) for _, v in terms}
    factors.discard(1)
    for g in sorted(factors):
        if bounds.divs:
            value = rounded((const, *key), g, bounds)
            if value is not None:
                return value
            continue
        least = most = const  # without divs, every column of R needs a range of its own
        rest = [(c, v) for c, v in terms if v % g]
        for c, v in rest:
            low, high = bounds.low.get(c), bounds.high.get(c)
            if low is None or high is None:
                break
            least += v * (low if v > 0 else high)
            most += v * (high if v > 0 else low)
        else:
            if rest and least // g == most // g:
                return [least // g, *[0 if v % g else v // g for v in key]]
    return None
