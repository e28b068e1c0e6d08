"""Counting the integer points of a polygon, in time that grows with the digits of its numbers alone.

Between two corners, the same two edges bound y for every z: c'*y >= e' and c*y <= e, so y has floor(e/c) -
ceil(e'/c') + 1 values, which is never negative where e/c >= e'/c'. What is left are sums of floor((a*z + b)/m) over an
interval of z. Those are points under a line; taking the whole parts off and exchanging the axes turns a/m into m/(a
mod m), and so on, as Euclid's algorithm does (Graham, Knuth and Patashnik, "Concrete Mathematics", section 3.5).
"""

from __future__ import annotations

from collections.abc import Iterable

from ..engine.rows import Row, normal_ineq


def polygon(rows: tuple[Row, ...]) -> int:
    """The number of solutions (z, y) of bounded inequalities; O(m^2) sums for m edges, exact.

    >>> polygon(((0, 1, 0), (0, 0, 1), (7, -2, -3)))  # 2*z + 3*y <= 7
    8
    """
    base = [(r[0], r[1]) for r in rows if not r[2]]
    lows = [r for r in rows if r[2] > 0]
    highs = [r for r in rows if r[2] < 0]
    total = 0
    for i, low in enumerate(lows):
        inner = [_nearer(other, low, k < i) for k, other in enumerate(lows) if k != i]
        for j, high in enumerate(highs):
            outer = [_nearer(other, high, k < j) for k, other in enumerate(highs) if k != j]
            above = (low[0] * -high[2] + high[0] * low[2], low[1] * -high[2] + high[1] * low[2])
            own = [normal_ineq(r) for r in (*base, *inner, *outer, above)]
            if False in own:
                continue
            first, last = ends(r for r in own if not isinstance(r, bool))
            if first <= last:
                total += _floors(high[1], high[0], -high[2], first, last)
                total += _floors(low[1], low[0], low[2], first, last) + last - first + 1
    return total


def _nearer(other: Row, row: Row, strict: bool) -> tuple[int, int]:
    """Where `row` bounds y at least as tightly as `other`, on the same side; or more tightly."""
    a, b = abs(row[2]), abs(other[2])
    return (a * other[0] - b * row[0] - strict, a * other[1] - b * row[1])


def _floors(a: int, b: int, m: int, first: int, last: int) -> int:
    """The sum of floor((a*z + b) / m) over first <= z <= last; O(log m) by Euclid's algorithm.

    >>> _floors(7, -5, 3, -4, 9) == sum((7 * z - 5) // 3 for z in range(-4, 10))
    True
    """
    n, b, total = last - first + 1, b + a * first, 0
    while n:
        total += n * (n - 1) // 2 * (a // m) + n * (b // m)
        top = a % m * n + b % m  # what is left are lattice points under a line: counted along the other axis
        n, b, m, a = top // m, top % m, a % m, m
    return total


def ends(rows: Iterable[Row]) -> tuple[int, int]:
    """The least and the greatest solution of inequalities in one variable, each of which has it."""
    rows = list(rows)
    low = max(-(r[0] // r[1]) for r in rows if r[1] > 0)
    high = min(r[0] // -r[1] for r in rows if r[1] < 0)
    return low, high
