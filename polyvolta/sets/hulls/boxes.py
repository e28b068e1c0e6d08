"""Unions of boxes: what intervals alone say of pieces whose bounds are numbers, before any row is looked at.

Here a box is a piece each of whose rows bounds one dimension by a number. Whether two boxes are one, and mostly that no
conjunct is the union of two, are comparisons of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import inf

from ..budgets import spend
from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct
from ..engine.rows import Row

Box = tuple[tuple[float, float], ...]  # for each dimension its least and greatest integer, infinite without a bound


def box(n: int, eqs: Sequence[Row], ineqs: Sequence[Row]) -> Box | None:
    """The box that rows over (const, dims) are, or None.

    >>> from polyvolta.sets import Set
    >>> ((_, cs),) = Set("{ [i, j] : 0 <= i <= 9 and j >= 3; [i, j] : 0 <= i <= j }").parts
    >>> [box(c.n, c.eqs, c.ineqs) for c in cs]
    [((0, 9), (3, inf)), None]
    """
    lows: list[float] = [-inf] * n
    highs: list[float] = [inf] * n
    for rows, both in ((eqs, True), (ineqs, False)):
        for row in rows:
            unit = row[1:]
            if unit.count(0) != len(unit) - 1:
                return None
            sign = 1 if 1 in unit else -1
            if sign not in unit or (at := unit.index(sign)) >= n:
                return None
            if both or sign > 0:
                lows[at] = max(lows[at], -sign * row[0])
            if both or sign < 0:
                highs[at] = min(highs[at], -sign * row[0])
    for low, high in zip(lows, highs, strict=True):
        if low > high:
            return None
    return tuple(zip(lows, highs, strict=True))


def of_conjunct(c: Conjunct) -> Box | None:
    """The box that a conjunct is, or None."""
    return None if c.divs else box(c.n, c.eqs, c.ineqs)


def joined(pieces: Sequence[Conjunct]) -> tuple[Conjunct, ...]:
    """The pieces, and of those that are boxes fewer: one for two that are a box. A few comparisons for each pair.

    Neighbours along the last dimension are one first, where the boxes are taken in the order of their least corners;
    then rows of them are, and layers of rows. This is done where the order at hand makes more of them.
    """
    if len(pieces) < 2:
        return tuple(pieces)
    known = [(of_conjunct(c), c) for c in pieces]
    if sum([own is not None for own, _ in known]) < 2:
        return tuple(pieces)
    found = _joined(known)
    if len(found) > 2 and len(found) < len(pieces):
        least = _joined(sorted(known, key=lambda one: one[0] or ()))
        found = min(found, least, key=len)
    return tuple([c or _conjunct(own or ()) for own, c in found])


def _joined(pieces: Sequence[tuple[Box | None, Conjunct]]) -> list[tuple[Box | None, Conjunct | None]]:
    """Boxes, with the conjuncts that are known of them, and the other pieces."""
    done: list[tuple[Box | None, Conjunct | None]] = []
    todo: list[tuple[Box | None, Conjunct | None]] = [*reversed(pieces)]
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


def apart(a: Box, b: Box) -> bool:
    """Whether it is plain that no conjunct without floors is the union: an integer point z of neither is between both.

    Where B goes beyond A by two in dimension k, and A beyond B in another one l, take p in A and q in B that in these
    are at the end of the shorter box and two beyond it, and in others an even number apart, as there are unless each is
    one number. In the middle z is beyond A in k and beyond B in l. Where there are numbers between both in a dimension,
    take points next to them there, an even number apart. A False says nothing.
    """
    beyond_a = beyond_b = 0
    between = False
    for k, ((low, high), (least, most)) in enumerate(zip(a, b, strict=True)):
        if low == high != least == most:
            return False
        between = between or low > most + 1 or least > high + 1
        if most > high + 1 or least < low - 1:
            beyond_a |= 1 << k
        if high > most + 1 or low < least - 1:
            beyond_b |= 1 << k
    both = beyond_a | beyond_b
    return between or bool(beyond_a and beyond_b and both & (both - 1))


def fixed(found: Sequence[Box | None]) -> bool:
    """Whether all are boxes, of which none can be widened until another one goes.

    Rows of boxes bound a box. So around any two of them a corner must be in none; an infinite coordinate of it stands
    for all that are large enough. Corners that the same boxes may hold, by the dimensions so far, are looked at
    together: dimensions in which the boxes are alike don't count.
    """
    known = [own for own in found if own]
    if len(known) < len(found):
        return False
    holding = [_holding(ends) for ends in zip(*known, strict=True)]
    for a, b in combinations(known, 2):
        corners = {(1 << len(known)) - 1}  # as bits the boxes that may hold them
        for held, (low, high), (least, most) in zip(holding, a, b, strict=True):
            corners = {some & held[x] for some in corners for x in (min(low, least), max(high, most))}
            if 0 in corners:
                break
            spend(len(corners) // 8)
        else:
            return False
    return True


def _holding(ends: Sequence[tuple[float, float]]) -> dict[float, int]:
    """For each end of some intervals the intervals that hold it, as bits."""
    values = {x for interval in ends for x in interval}
    spend(1 + len(values) * len(ends) // 64)
    return {x: sum([1 << k for k, (low, high) in enumerate(ends) if low <= x <= high]) for x in values}


def settled(pieces: Sequence[Conjunct]) -> bool:
    """Whether all are boxes, plainly no conjunct without floors is the union of two, and none can be widened."""
    found: list[Box] = []
    for c in pieces:
        own = of_conjunct(c)
        if own is None:
            return False
        found.append(own)
    spend(1 + len(found) ** 2 // 16)
    return all(apart(a, b) for a, b in combinations(found, 2)) and fixed(found)


def _conjunct(own: Box) -> Conjunct:
    """The conjunct that a box is."""
    eqs, ineqs, n = [], [], len(own)
    for k, (low, high) in enumerate(own):
        for sign, bound in ((1, low), (-1, high)):
            if abs(bound) != inf:
                rows = eqs if low == high else ineqs
                rows.append((-sign * int(bound), *(0,) * k, sign, *(0,) * (n - k - 1)))
    return cj.sure(cj.normalise(n, (), eqs, ineqs))
