"""What is in boxes, given as an interval for each dimension: their corners, other points, and whole other boxes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from ..budgets import spend

Box = tuple[tuple[float, float], ...]  # for each dimension its least and greatest integer, infinite without a bound


def around(a: Box, b: Box) -> Box:
    """The least box with the points of two."""
    pairs = zip(a, b, strict=True)
    return tuple(
        [(low if low < least else least, high if high > most else most) for (low, high), (least, most) in pairs]
    )


def touching(boxes: Sequence[Box]) -> list[int]:
    """As bits, for each box those from which no number parts it in any dimension, itself among them.

    O(n) operations on n bits for each dimension, after sorting.

    >>> list(map(bin, touching([((0, 1),), ((2, 4),), ((6, 9),)])))
    ['0b11', '0b11', '0b100']
    """
    found = [(1 << len(boxes)) - 1] * len(boxes)
    for k in range(len(boxes[0]) if boxes else 0):
        for sign, start, end in ((1, 0, 1), (-1, 1, 0)):  # those that end below, and those that begin above
            order = sorted([(sign * c[k][end], j) for j, c in enumerate(boxes)])
            before, ends = [0], [at for at, _ in order]
            for _, j in order:
                before.append(before[-1] | 1 << j)
            for j, c in enumerate(boxes):
                found[j] &= ~before[bisect_left(ends, sign * c[k][start] - 1)]
    return found


def clusters(near: Sequence[int]) -> list[int]:
    """For each box the number of its cluster: of boxes that touch one another, and boxes that touch these, and so on.

    `near` says as bits which it touches.

    >>> clusters(touching([((0, 1),), ((4, 4),), ((2, 3),), ((6, 9),)]))
    [0, 0, 0, 1]
    """
    found = [-1] * len(near)
    for j, some in enumerate(near):
        if found[j] < 0:
            number, todo, seen = max(found) + 1, some, 0
            while todo:
                k = todo.bit_length() - 1
                found[k], seen = number, seen | 1 << k
                todo = (todo | near[k]) & ~seen
    return found


class Corners:
    """Boxes that are asked for corners of others; which of them hold a number in a dimension is kept."""

    def __init__(self, by: Sequence[Box]) -> None:
        self._by = by
        self._holding: dict[tuple[int, float], int] = {}  # as bits the boxes

    def _at(self, k: int, x: float) -> int:
        """As bits the boxes that hold a number in a dimension."""
        found = self._holding.get((k, x))
        if found is None:
            found = 0
            for j, c in enumerate(self._by):
                if c[k][0] <= x <= c[k][1]:
                    found |= 1 << j
            self._holding[k, x] = found
        return found

    def held(self, point: Sequence[float]) -> bool:
        """Whether a point is in one of them; see `boxes.held`."""
        left = -1
        for k, x in enumerate(point):
            left &= self._at(k, x)
            if not left:
                return False
        return True

    def lacks(self, whole: Box) -> bool:
        """Whether a corner of a box is in none of these; an infinite coordinate stands for all that are large enough.

        Corners that the same boxes may hold, by the dimensions so far, are looked at together.

        >>> Corners([((0, 5), (0, 2)), ((0, 2), (3, 5))]).lacks(((0, 5), (0, 5)))
        True
        """
        corners = {(1 << len(self._by)) - 1}  # as bits the boxes that may hold them
        for k, ends in enumerate(whole):
            if len(corners) > 7:
                spend(len(corners) // 8)
            some, others = self._at(k, ends[0]), self._at(k, ends[1])
            corners = {c & there for c in corners for there in (some, others)}
            if 0 in corners:
                return True
        return False


def within(a: Box, b: Box) -> bool:
    for (low, high), (least, most) in zip(a, b, strict=True):
        if low < least or high > most:
            return False
    return True


def covered(whole: Box, by: Sequence[Box]) -> bool:
    """Whether all points of a box are in some of others; a part that none of these meet ends the search."""
    spend(len(by) // 16)
    left = [(whole, tuple([c for c in by if touch(c, whole)]))]
    while left:
        part, some = left.pop()
        if not some:
            return False
        spend()
        rests = without(part, some[0])
        left += [(rest, tuple([c for c in some[1:] if touch(c, rest)])) for rest in rests]
    return True


def touch(a: Box, b: Box) -> bool:
    """Whether two boxes have a point in common."""
    for (low, high), (least, most) in zip(a, b, strict=True):
        if low > most or least > high:
            return False
    return True


def without(a: Box, b: Box) -> list[Box]:
    """Disjoint boxes of the points of A that are not in B."""
    parts: list[Box] = []
    rest = a
    for k, (least, most) in enumerate(b):
        low, high = rest[k]
        if high < least or low > most:
            return [a]
        if low < least:
            parts.append((*rest[:k], (low, least - 1), *rest[k + 1 :]))
        if high > most:
            parts.append((*rest[:k], (most + 1, high), *rest[k + 1 :]))
        rest = (*rest[:k], (max(low, least), min(high, most)), *rest[k + 1 :])
    return parts
