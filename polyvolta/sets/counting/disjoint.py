"""Unions in which every point counts once.

A piece that joins a union must not count again what it shares with the pieces before it. There are two ways: it
loses their points (a difference, of many pieces where they have many rows), or what it shares is taken off again
(inclusion and exclusion, of many terms where many pieces meet):

    1_(U or C) = 1_U + 1_C - 1_(U and C),    1_(U and C) = sum of s * 1_(T and C)    for 1_U = sum of s * 1_T

The second keeps the rows few and simple, which is what summation wants, so it is taken as long as few terms meet.

Most pieces of a large union don't meet at all, and most of those show it in the constants that bound a single
dimension, or one form of several. So the pieces are swept in the order of their lower bounds along the dimension with
the most different ones, and only pairs whose boxes meet, and whose bounds of no form contradict, are looked at.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from ..budgets import spend
from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct
from ..conjuncts.implies import box, lower_bounds, subtract
from ..engine.rows import Row, negate

FEW = 8  # terms that meet a new piece, up to which inclusion and exclusion is worth it


def counted_once(pieces: Sequence[Conjunct]) -> list[tuple[Conjunct, int]]:
    """Conjuncts with numbers that add up, at each point, to 1 if it is in the union and to 0 if not.

    Some may be empty. Exact. O(m log m), and a conjunction or a difference for each pair of
    pieces whose boxes meet.
    """
    terms: list[tuple[Conjunct, int]] = []
    of_piece: list[list[tuple[Conjunct, int]]] = []
    for c, before in zip(pieces, _meeting(pieces), strict=True):
        sums: dict[Conjunct, int] = {}
        met = [term for k in before for term in of_piece[k]]
        spend(1 + len(met))
        if len(met) <= FEW or not all(pieces[k].known for k in before):
            sums[c] = 1
            for other, sign in met:
                both = cj.conjoin(other, c)
                if both is not None and not both.is_empty:
                    sums[both] = sums.get(both, 0) - sign
        else:
            left = [c]
            for k in before:
                spend(len(left))
                left = [p for q in left for p in subtract(q, pieces[k])]
            sums = dict.fromkeys(left, 1)
        of_piece.append([(d, sign) for d, sign in sums.items() if sign])
        terms += of_piece[-1]
    return terms


def _meeting(pieces: Sequence[Conjunct]) -> list[list[int]]:
    """For each piece the earlier ones whose boxes meet its own."""
    boxes = [box(c) for c in pieces]
    out: list[list[int]] = [[] for _ in pieces]
    n = pieces[0].n if pieces else 0
    if not n:
        return [list(range(k)) for k in range(len(pieces))]
    d = max(range(n), key=lambda d: len({b[d] for b in boxes}))
    active: list[int] = []
    above, below = _sides(pieces)
    for k in sorted(range(len(boxes)), key=lambda k: boxes[k][d][0]):
        spend(1 + len(active) // 64)
        active = [j for j in active if boxes[j][d][1] >= boxes[k][d][0]]
        for j in active:
            if above[j] & below[k] or above[k] & below[j]:
                continue
            if all(a <= h and l <= b for (a, b), (l, h) in zip(boxes[j], boxes[k], strict=True)):
                out[max(j, k)].append(min(j, k))
        active.append(k)
    return [sorted(found) for found in out]


def _sides(pieces: Sequence[Conjunct]) -> tuple[list[int], list[int]]:
    """For each piece the thresholds of forms, as bits, that it is not below, and those that it is below.

    The forms are of several dimensions, with bounds on both sides in the union; the thresholds are the lower bounds. A
    piece that is not below one shares no point with one that is. Linear, times the thresholds of a form.
    """
    lows = list(map(lower_bounds, pieces))
    values: dict[Row, set[int]] = {}
    for found in lows:
        for form, low in found.items():
            values.setdefault(form, set()).add(low)
    first, bits = {}, 0
    for form, those in values.items():
        if negate(form) in values:
            first[form] = bits, sorted(those)
            bits += len(those)
    above, below = [0] * len(pieces), [0] * len(pieces)
    for k, found in enumerate(lows):
        for form, low in found.items():
            if form in first:
                at, those = first[form]
                above[k] |= (1 << at + bisect_right(those, low)) - (1 << at)
                at, those = first[negate(form)]
                below[k] |= (1 << at + len(those)) - (1 << at + bisect_right(those, -low))
    return above, below


def is_box(c: Conjunct) -> bool:
    """Whether every row speaks of one dimension alone, so that `box` says it all; linear."""
    return not c.divs and all(len(r) - 1 - r[1:].count(0) == 1 for r in (*c.eqs, *c.ineqs))
