"""Unions of boxes: what intervals alone say of pieces whose bounds are numbers, before any row is looked at.

Here a box is a piece each of whose rows bounds one dimension by a number. Whether two boxes are one, and mostly that no
conjunct is the union of two, are comparisons of numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from math import gcd, inf
from typing import NamedTuple

from ..budgets import bounded, spend
from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct
from ..engine.rows import Row, combine
from ..errors import BudgetExceeded
from .intervals import Box, Corners, around, clusters, covered, touching, within

EFFORT = 50_000  # steps for unions of boxes
TRIES = 60  # places on the way between two boxes that are looked at
FEW = 4  # of these, where points are asked for


def box(c: Conjunct) -> Box | None:
    """The box that a conjunct is, or None.

    >>> from polyvolta.sets import Set
    >>> ((_, cs),) = Set("{ [i, j] : 0 <= i <= 9 and j >= 3; [i, j] : 0 <= i <= j }").parts
    >>> list(map(box, cs))
    [((0, 9), (3, inf)), None]
    """
    if c.divs:
        return None
    lows: list[float] = [-inf] * c.n
    highs: list[float] = [inf] * c.n
    for rows, both in ((c.ineqs, False), (c.eqs, True)):
        for row in rows:
            unit = row[1:]
            if unit.count(0) != c.n - 1:
                return None
            sign = 1 if 1 in unit else -1
            if sign not in unit:
                return None
            at = unit.index(sign)
            bound = -sign * row[0]
            if (both or sign > 0) and bound > lows[at]:
                lows[at] = bound
            if (both or sign < 0) and bound < highs[at]:
                highs[at] = bound
    for low, high in zip(lows, highs, strict=True):
        if low > high:
            return None
    return tuple(zip(lows, highs, strict=True))


Known = list[tuple[Box | None, Conjunct | None]]  # boxes, with the conjuncts that are known of them; other pieces


class Fewer(NamedTuple):
    """Pieces, and hulls, not freed of redundant rows.

    `near` says of each of them, in this order, as bits, with which others a conjunct without floors within the union
    may have it; None where that is not known.
    """

    pieces: tuple[Conjunct, ...]
    hulls: tuple[Conjunct, ...]
    near: list[int] | None


def joined(pieces: Sequence[Conjunct]) -> tuple[Conjunct, ...]:
    """The pieces, and of those that are boxes fewer: one for two that are a box. A few comparisons for each pair.

    Neighbours along the last dimension are one first, where the boxes are taken in the order of their least corners;
    then rows of them are, and layers of rows. This is done where the order at hand makes more of them.
    """
    found = _joined(pieces)
    return tuple(pieces) if found is None else _told(found)


def fewer(pieces: Sequence[Conjunct]) -> Fewer:
    """Fewer pieces with the same points, hulls apart, and what is known of pairs of these.

    Only where all pieces are boxes more is done than by `joined`: a box around two takes their place where others have
    what else is in it, and a hull of two does that has no other point, not freed of redundant rows. Nothing more can
    be done with a piece that has none near.
    """
    found = _joined(pieces)
    if found is None:
        return Fewer(tuple(pieces), (), None)
    if all(own for own, _ in found):
        try:
            return bounded(EFFORT, _fewer, found)
        except BudgetExceeded:
            spend(0)  # ends the caller where the budget was its own
    return Fewer(_told(found), (), None)


def _fewer(found: Known) -> Fewer:
    found = _widened(found)
    known = [own for own, _ in found if own]
    partners: list[set[int]] = [set() for _ in known]
    unsure = [0] * len(known)
    touched = touching(known)
    flat = sum([1 << j for j, own in enumerate(known) if any(low == high for low, high in own)])
    for j, own in enumerate(known):
        spend(j // 8)
        some = touched[j] | flat if flat >> j & 1 else touched[j]  # others have points of neither between them
        for i in range(j):
            told = not some >> i & 1 or apart(known[i], own)
            if told is None:
                unsure[i] |= 1 << j
                unsure[j] |= 1 << i
            elif not told and not _needs_floors(known[i], own):
                partners[i].add(j)
                partners[j].add(i)
    pairs = _pairs(partners)
    if not pairs:
        return Fewer(_told(found), (), unsure)
    of_pairs = {k for pair in pairs for k in pair}
    groups = [[k] for k in range(len(known)) if k not in of_pairs]
    alone = _told([found[k] for (k,) in groups])
    groups += [[*pair] for pair in pairs]
    found_in = [[known[k] for k in group] for group in groups]
    corners = Corners(known)
    near = [0] * len(groups)
    for j, other in enumerate(found_in):
        spend(j // 4)
        for i in range(j):
            if not _parted(found_in[i], other, corners):
                near[i] |= 1 << j
                near[j] |= 1 << i
    return Fewer(alone, tuple([hull(known[i], known[j]) for i, j in pairs]), near)


def _needs_floors(a: Box, b: Box) -> bool:
    """Whether the hull of two boxes has a floor: where each has one number in some dimensions, and the first of these
    in which they differ goes in strides, of which later ones are multiples.

    >>> point = (0, 0), (0, 0)
    >>> _needs_floors(point, ((3, 3), (5, 5))), _needs_floors(point, ((1, 1), (5, 5)))
    (True, False)
    """
    steps = (v[0] - u[0] for u, v in zip(a, b, strict=True) if u[0] == u[1] and v[0] == v[1] != u[0])
    return abs(next(steps, 1)) > 1


def _pairs(partners: list[set[int]]) -> list[tuple[int, int]]:
    """Pairs of numbers with partners among these, each in one pair: those with the fewest left come first."""
    found = []
    while any(partners):
        i = min([k for k, some in enumerate(partners) if some], key=lambda k: len(partners[k]))
        j = min(partners[i], key=lambda k: (len(partners[k]), k))
        found.append((i, j))
        for k in (i, j):
            for other in partners[k]:
                partners[other].discard(k)
            partners[k] = set()
    return found


def _parted(some: Sequence[Box], others: Sequence[Box], corners: Corners) -> bool:
    """Whether a point of no box is seen between two of different groups: no conjunct within the union has them all."""
    return any(not corners.held(z) for a in some for b in others for z in points(a, b))


def bounds(pieces: Sequence[Conjunct]) -> Conjunct | None:
    """The least box around pieces that are boxes, of which there is one; None where not all are boxes."""
    found = [box(c) for c in pieces]
    known = [own for own in found if own]
    return _conjunct(reduce(around, known)) if len(known) == len(found) else None


def _told(found: Known) -> tuple[Conjunct, ...]:
    return tuple([c or _conjunct(own or ()) for own, c in found])


def _joined(pieces: Sequence[Conjunct]) -> Known | None:
    """See `joined`; None where fewer than two are boxes."""
    known: Known = [(box(c), c) for c in pieces]
    if [own for own, _ in known].count(None) > len(known) - 2:
        return None
    found = _in_order(known)
    if len(found) > 2 and len(found) < len(pieces):
        least = _in_order(sorted(known, key=lambda one: one[0] or ()))
        found = min(found, least, key=len)
    return found


def _in_order(pieces: Known) -> Known:
    done: Known = []
    todo: Known = [*reversed(pieces)]
    while todo:
        spend()
        own, c = todo.pop()
        for at in reversed(range(len(done) if own else 0)):
            other, known = done[at]
            both = union(own, other) if own and other else None
            if both is not None:
                del done[at]
                todo.append((both, known if both == other else c if both == own else None))
                break
        else:
            done.append((own, c))
    return done


def union(a: Box, b: Box) -> Box | None:
    """The box that two are, one within the other or both alike but for a dimension in which they touch; else None."""
    a_within = b_within = True
    differ = -1
    for k, ((low, high), (least, most)) in enumerate(zip(a, b, strict=True)):
        if low == least and high == most:
            continue
        a_within = a_within and low >= least and high <= most
        b_within = b_within and low <= least and high >= most
        if differ >= 0 and not a_within and not b_within:
            return None
        differ = k
    if a_within or b_within:
        return b if a_within else a
    (low, high), (least, most) = a[differ], b[differ]
    if low > most + 1 or least > high + 1:
        return None
    return (*a[:differ], (min(low, least), max(high, most)), *a[differ + 1 :])


def _widened(found: Known) -> Known:
    """Boxes, of which the union has no box around two.

    What such a box has beside the union it keeps when others are widened, so every two are compared once; and only
    where one leads from the one to the other by boxes that touch.
    """
    if len(found) < 3 or len(found[0][0] or ()) < 2:  # intervals that don't touch have numbers of none between them
        return found
    done: Known = []
    todo = found[::-1]
    known = [own for own, _ in found if own]
    corners = Corners(known)
    cluster = dict(zip(known, clusters(touching(known)), strict=True))
    while todo:
        own, c = todo.pop()
        spend(len(done) // 4)
        for other, _ in done if own else ():
            if cluster[other or ()] != cluster[own or ()]:
                continue
            whole = around(own or (), other or ())
            if corners.lacks(whole) or not all(map(corners.held, points(own or (), other or ()))):
                continue
            if covered(whole, known):
                cluster[whole] = cluster[own or ()]
                done, todo = ([one for one in kept if not within(one[0] or (), whole)] for kept in (done, todo))
                todo.append((whole, None))
                break
        else:
            done.append((own, c))
    return done


def apart(a: Box, b: Box) -> bool | None:
    """Whether there is an integer point of neither between two boxes, of which none is in the other; None: not known.

    Then no conjunct without floors is their union, else their convex hull is it.

    Between A at t = 0 and B at t = 1 there are boxes whose bounds are affine in t, and the hull is their union. Where B
    goes beyond A by d in dimension k, and A beyond B by e in another one l, integers beyond both are reached from
    t = 1/d to 1 - 1/e: at 1/2, or d = 1 and no end is at e, or the other way round. Or there is a number between both
    in one dimension. At t = 1/2 there are integers in all dimensions where not both are one number. In others t is a
    multiple of 1/g, where g divides all differences.
    """
    g = 0
    # bits of the dimensions in which the one goes beyond the other at all, by two, without an end
    a_some = a_two = a_far = b_some = b_two = b_far = 0
    between, bit = False, 1
    for (low, high), (least, most) in zip(a, b, strict=True):
        if low != least or high != most:
            if low == high and least == most:
                g = gcd(g, int(least - low))
            if low > most + 1 or least > high + 1:
                between = True
            by_a = max(high - most if high > most else 0, least - low if low < least else 0)
            by_b = max(most - high if most > high else 0, low - least if least < low else 0)
            if by_a:
                a_some |= bit
                if by_a > 1:
                    a_two |= bit
                    if by_a == inf:
                        a_far |= bit
            if by_b:
                b_some |= bit
                if by_b > 1:
                    b_two |= bit
                    if by_b == inf:
                        b_far |= bit
        bit += bit
    if _two(a_far, b_some) or _two(a_some, b_far):
        return True
    if g:
        ts = range(1, min(g, TRIES))
        if any(all(_meets(u, v, t, g) for u, v in zip(a, b, strict=True)) for t in ts):
            return True
        return None if g > TRIES else False
    return between or _two(a_two, b_two)


def points(a: Box, b: Box) -> Iterator[Sequence[float]]:
    """Integer points of neither of two boxes without infinite bounds, on the way between; none says nothing.

    They are those that `apart` speaks of, at t = 1/2, or at the first multiples of 1/g.
    """
    g = gcd(*[int(v[0] - u[0]) for u, v in zip(a, b, strict=True) if u[0] == u[1] and v[0] == v[1]])
    for t in range(1, min(g, FEW)) if g else (1,):
        ranges = [_on_the_way(u, v, t, g or 2) for u, v in zip(a, b, strict=True)]
        if None in ranges:
            continue
        known = [r for r in ranges if r]
        yield from zip(*known, strict=True) if g else _beside(known, a, b)


def _beside(ranges: Sequence[tuple[float, float]], a: Box, b: Box) -> Iterator[Sequence[float]]:
    """Points midway between two boxes, whose coordinates have these ranges, that are beyond both, or between them."""
    ahead_a: list[tuple[int, float]] = []  # places of one coordinate, where A has some points beyond all of B
    ahead_b: list[tuple[int, float]] = []
    gaps = []
    for k, ((low, high), u, v) in enumerate(zip(ranges, a, b, strict=True)):
        for ahead, (_, end), (start, most) in ((ahead_b, u, v), (ahead_a, v, u)):
            if start > end + 1:
                gaps.append((k, max(low, (end + start) // 2)))
            elif most > end + 1:
                ahead += [(k, end + 1), (k, high)]
        for ahead, (end, _), (least, _) in ((ahead_b, u, v), (ahead_a, v, u)):
            if least < end - 1:
                ahead += [(k, min(end - 1, high)), (k, low)]
    for middle in zip(*ranges, strict=True):
        for k, x in gaps:
            yield (*middle[:k], x, *middle[k + 1 :])
        for k, x in ahead_b:
            for m, y in ahead_a:
                if k != m:
                    yield tuple([x if j == k else y if j == m else z for j, z in enumerate(middle)])


def _on_the_way(u: tuple[float, float], v: tuple[float, float], t: int, g: int) -> tuple[float, float] | None:
    """The integers between two intervals at t/g on the way; None where there are none, or bounds are infinite."""
    (low, high), (least, most) = u, v
    if inf in (high, most, -low, -least):
        return None
    low, high = -(-(low * (g - t) + least * t) // g), (high * (g - t) + most * t) // g
    return (low, high) if low <= high else None


def _two(dims: int, others: int) -> bool:
    """Whether there are a first and another dimension, given as bits."""
    both = dims | others
    return bool(dims and others and both & (both - 1))


def _meets(u: tuple[float, float], v: tuple[float, float], t: int, g: int) -> bool:
    """Whether an integer is between two intervals at t/g on the way."""
    (low, high), (least, most) = u, v
    if inf in (high, most, -low, -least):
        return True
    return (high * (g - t) + most * t) // g * g >= low * (g - t) + least * t


def hull(a: Box, b: Box) -> Conjunct:
    """The convex hull of two boxes, with redundant rows: at some t from 0 to 1 each bound is on the way from A to B.

    >>> print(*hull(((0, 1), (0, 2)), ((0, 2), (0, 1))).ineqs)
    (0, 0, 1) (0, 1, 0) (2, -1, 0) (2, 0, -1) (3, -1, -1)
    """
    n = len(a)
    rows: list[Row] = [(0, *(0,) * n, 1), (1, *(0,) * n, -1)]
    for k, (u, v) in enumerate(zip(a, b, strict=True)):
        for sign, p, q in ((1, u[0], v[0]), (-1, u[1], v[1])):
            if abs(p) != inf and abs(q) != inf:
                rows.append((-sign * int(p), *(0,) * k, sign, *(0,) * (n - k - 1), sign * int(p - q)))
    up, down = [r for r in rows if r[-1] > 0], [r for r in rows if r[-1] < 0]
    ineqs = [r[:-1] for r in rows if not r[-1]]
    ineqs += [combine(-s[-1], r, r[-1], s)[:-1] for r in up for s in down]
    return cj.sure(cj.normalise(n, (), (), ineqs))


def held(point: Sequence[float], by: Sequence[Box]) -> bool:
    """Whether a point is in one of some boxes; an infinite coordinate stands for all that are large enough."""
    for c in by:
        for x, (low, high) in zip(point, c, strict=True):
            if not low <= x <= high:
                break
        else:
            return True
    return False


def _conjunct(own: Box) -> Conjunct:
    """The conjunct that a box is."""
    eqs, ineqs, n = [], [], len(own)
    for k, (low, high) in enumerate(own):
        for sign, bound in ((1, low), (-1, high)):
            if abs(bound) != inf:
                rows = eqs if low == high else ineqs
                rows.append((-sign * int(bound), *(0,) * k, sign, *(0,) * (n - k - 1)))
    return cj.sure(cj.normalise(n, (), eqs, ineqs))
