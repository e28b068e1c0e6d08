"""Rounding by intervals: with 0 <= x <= 127, `128q + x >= 0` says no more and no less than q >= 0."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from math import gcd
from operator import methodcaller

from ..engine.rows import Row, normal_ineq
from .recognise import Intervals

_UNITS = frozenset((0, 1))
_zeros = methodcaller("count", 0)  # how many columns a row does not mention


def rounded(row: Sequence[int], g: int, bounds: Intervals) -> list[int] | None:
    """U + floor(R/g) for row = g*U + R, when R's range makes the floor one number; None when it doesn't."""
    for low, high, extra in bounds({c: v for c, v in enumerate(row) if c and v % g}, g):
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
    only : the rows of several variables that may round, if that is known.
    """
    lows, highs, plain = bounds.low, bounds.high, not bounds.divs
    if not lows and not highs and plain:
        return True
    several: list[Row] = []
    if only is None:  # rows of few variables first: what they come to bounds those of others
        several = only = sorted(bounds.others, key=_zeros, reverse=True)
    todo = only
    columns = range(1, 1 + len(todo[0])) if todo else ()
    while todo:
        fresh: list[Row] = []
        learnt: list[tuple[int, int]] = []  # columns, and 1 for a lower, -1 for an upper bound
        for key in todo:
            const = best.get(key)
            if const is None:
                continue
            least: int | None = const
            factor = 0  # divides the coefficients of the columns without a range, so a factor to round by divides it
            for c in compress(columns, key):
                v = key[c - 1]
                bound = (lows if v > 0 else highs).get(c)
                if bound is None:
                    least, factor = None, gcd(factor, v)
                    if plain and factor == 1:
                        break  # neither implied nor to be rounded
                    continue
                if least is not None:
                    least += v * bound
                if factor != 1 and c not in (highs if v > 0 else lows):
                    factor = gcd(factor, v)
            else:
                if least is not None and least >= 0:  # implied
                    del best[key]
                    continue
                if plain and factor == 1:
                    continue
                value = _rounded_plainly(const, key, factor, bounds) if plain else _rounded((const, *key), bounds)
                if value is None:
                    continue
                r = normal_ineq(value)
                if r is False:
                    return False
                del best[key]
                if r is not True:
                    const, key = r[0], r[1:]
                    best[key] = const = min(const, best.get(key, const))
                    if key.count(0) == len(key) - 1:
                        bounds.learn(key, const)
                        at = key.index(1) if 1 in key else key.index(-1)
                        learnt.append((at, key[at]))
                    else:
                        fresh.append(key)
        if not (fresh or learnt):
            break
        several = several or [k for k in best if len(k) - k.count(0) > 1]
        several = [*several, *fresh]
        again = set(fresh)
        for c, side in learnt:  # rows with the other side need both for rounding
            known = 1 + c in lows and 1 + c in highs
            again.update([k for k in several if k[c] * side > 0 or (known and k[c])])
        todo = [k for k in several if k in again]
    return True


def _rounded(row: Row, bounds: Intervals) -> list[int] | None:
    """`rounded` by the least coefficient that gives something."""
    factors = {abs(v) for v in row[1:]}
    factors -= _UNITS
    for g in sorted(factors):
        value = rounded(row, g, bounds)
        if value is not None:
            return value
    return None


def _rounded_plainly(const: int, key: Row, factor: int, bounds: Intervals) -> list[int] | None:
    """`_rounded` without divs: every column of R needs a range of its own, so that g has to divide `factor`.

    Of coefficients that divide one another the greatest that gives something: the others would lead there.
    """
    factors = sorted({g for v in filter(None, key) if (g := abs(v)) > 1 and not factor % g})
    if len(factors) > 1 and not any(factors[k + 1] % g for k, g in enumerate(factors[:-1])):
        factors.reverse()
    lows, highs = bounds.low, bounds.high
    for g in factors:
        least = most = const
        left = [0, *key]
        for c in compress(range(1, len(left)), key):
            v = left[c]
            if not v % g:
                left[c] = v // g
                continue
            left[c] = 0
            if v > 0:
                least, most = least + v * lows[c], most + v * highs[c]
            else:
                least, most = least + v * highs[c], most + v * lows[c]
        if least // g == most // g and left.count(0) > 1 + key.count(0):
            left[0] = least // g
            return left
    return None
