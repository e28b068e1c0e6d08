"""Unions made disjoint: every point in one piece.

Each piece loses the points of the pieces before it. Most pieces of a large union don't meet at all, and most of
those show it in the constants that bound a single dimension. So the pieces are swept in the order of their lower
bounds along the dimension with the most different ones, and only pairs whose boxes meet are subtracted.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import inf

from . import conjunct as cj
from .budgets import spend
from .conjunct import Conjunct

Box = tuple[tuple[float, float], ...]


def disjoint(pieces: Sequence[Conjunct]) -> list[Conjunct]:
    """The same points, every point in one conjunct; the divs must be known, empty conjuncts go.

    Exact. O(m log m) and a subtraction for each pair of pieces whose boxes meet.
    """
    if len(pieces) < 2:
        return [c for c in pieces if not c.is_empty]
    done: list[Conjunct] = []
    for c, before in zip(pieces, _meeting(pieces), strict=True):
        left = [c]
        for k in before:
            spend(len(left))
            left = [p for q in left for p in cj.subtract(q, pieces[k])]
        done += left
    return [c for c in done if not c.is_empty]


def _meeting(pieces: Sequence[Conjunct]) -> list[list[int]]:
    """For each piece the earlier ones whose boxes meet its own."""
    boxes = [box(c) for c in pieces]
    out: list[list[int]] = [[] for _ in pieces]
    n = len(boxes[0])
    if not n:
        return [list(range(k)) for k in range(len(pieces))]
    d = max(range(n), key=lambda d: len({b[d] for b in boxes}))
    active: list[int] = []
    for k in sorted(range(len(boxes)), key=lambda k: boxes[k][d][0]):
        spend(1 + len(active) // 64)
        active = [j for j in active if boxes[j][d][1] >= boxes[k][d][0]]
        for j in active:
            if all(a <= h and l <= b for (a, b), (l, h) in zip(boxes[j], boxes[k], strict=True)):
                out[max(j, k)].append(min(j, k))
        active.append(k)
    return [sorted(found) for found in out]


@lru_cache(maxsize=1 << 14)
def box(c: Conjunct) -> Box:
    """(low, high) for each dimension, as far as rows that speak of it alone say; linear."""
    low, high = [-inf] * c.n, [inf] * c.n
    for rows, equal in ((c.eqs, True), (c.ineqs, False)):
        for row in rows:
            used = [k for k, v in enumerate(row) if k and v]
            if len(used) != 1 or used[0] > c.n:
                continue
            d, v = used[0] - 1, row[used[0]]
            if equal or v > 0:
                low[d] = max(low[d], -(row[0] // abs(v)) if v > 0 else -(-row[0] // abs(v)))
            if equal or v < 0:
                high[d] = min(high[d], row[0] // -v if v < 0 else -row[0] // v)
    return tuple(zip(low, high, strict=True))
