"""Slices of pieces: at fixed values of some dimensions they are boxes, and what intervals say there holds of the whole.

A conjunct without floors is one at fixed values, too. So where no conjunct is the union of two slices, none is that of
two pieces; with N fixed, `N <= i < N + 4 and 0 <= j <= N` is a box. This takes a tenth of what it takes to look for a
point between two pieces in other ways, and says nothing where slices say nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations
from math import inf
from operator import gt
from typing import NamedTuple

from ..budgets import spend
from ..conjuncts.frame import Frame, Member
from ..engine.rows import Row, combine
from . import boxes
from .boxes import Box

FAR = 40  # between values of a dimension that has no end


class Slices:
    """Members of a frame without floors at values of as many dimensions as it takes: no row speaks of two others.

    >>> from polyvolta.sets import Set
    >>> from polyvolta.sets.conjuncts.frame import Frame
    >>> s = Set("[N] -> { [i, j] : 0 <= i <= N and 0 <= j <= 3; [i, j] : 0 <= i <= 3 and 0 <= j <= N + 3 }")
    >>> frame = Frame(s.parts[0][1])
    >>> Slices(frame).apart(*frame.members)
    True
    """

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self._rows: dict[Member, list[_Part] | None] = {}
        self._spans: dict[Member, list[list[float]]] = {}
        self._found: dict[tuple[Member, Row], Box | None] = {}

    @cached_property
    def _given(self) -> list[int]:
        """The dimensions with values."""
        return _cover({key for m in self.frame.members for key in m.least})

    @cached_property
    def _free(self) -> list[int]:
        """The others; none where there are less than two, of which slices say little."""
        free = [k for k in range(1, self.frame.width) if k not in self._given]
        return free if len(free) > 1 and not self.frame.divs else []

    def apart(self, a: Member, b: Member) -> bool:
        """Whether slices show that no conjunct without floors is the union of two members; a False says nothing."""
        spend()
        return any(boxes.apart(*pair) for _, pair in self._pairs(a, b))

    def fixed(self, members: Sequence[Member]) -> bool:
        """Whether slices show that no member can be widened by rows at hand until another one goes.

        Rows at hand bound a box in each slice. So around any two slices a corner must be in none; an infinite
        coordinate of it stands for all that are large enough. A False says nothing.
        """
        if not self._free or None in map(self._split, members):
            return False
        corners: dict[Row, boxes.Corners] = {}
        return all(self._cornered(a, b, members, corners) for a, b in combinations(members, 2))

    def several(self, pairs: Iterable[tuple[Member, Member]]) -> bool:
        """Whether in a slice a point of no member is seen between two: no conjunct without floors is the union of all.

        A False says nothing.
        """
        if not self._free or None in map(self._split, self.frame.members):
            return False
        spend()
        for a, b in pairs:
            for values, pair in self._pairs(a, b):
                every = self._slices(self.frame.members, values)
                if any(not boxes.held(z, every) for z in boxes.points(*pair)):
                    return True
        return False

    def _slices(self, members: Sequence[Member], values: Row) -> list[Box]:
        return [s for m in members if (s := self._slice(m, values))]

    def _cornered(self, a: Member, b: Member, members: Sequence[Member], corners: dict[Row, boxes.Corners]) -> bool:
        spend()
        for values, pair in self._pairs(a, b):
            if values not in corners:
                corners[values] = boxes.Corners(self._slices(members, values))
            if corners[values].lacks(boxes.around(*pair)):
                return True
        return False

    def _pairs(self, a: Member, b: Member) -> Iterator[tuple[Row, tuple[Box, Box]]]:
        """Values at which two members have points, and their slices there."""
        if not self._free or self._split(a) is None or self._split(b) is None:
            return
        ranges = []
        for (low, high), (least, most) in zip(self._span(a), self._span(b), strict=True):
            low, high = max(low, least), min(high, most)
            if low > high:
                return
            if low == -inf:
                low = -FAR if high == inf else high - FAR
            ranges.append((int(low), int(min(high, low + FAR))))
        for values in dict.fromkeys((tuple([(low + high) // 2 for low, high in ranges]), *zip(*ranges, strict=True))):
            one, other = self._slice(a, values), self._slice(b, values)
            if one and other:
                yield values, (one, other)

    def _split(self, m: Member) -> list[_Part] | None:
        """The rows of a member; None where one speaks of two dimensions without values, as a new one may."""
        if m not in self._rows:
            given, free = self._given, self._free
            found: list[_Part] | None = []
            for r in m.statements:
                own = [k for k, col in enumerate(free) if r[col]]
                if len(own) > 1:
                    found = None
                    break
                k = own[0] if own else -1
                found.append(_Part(r[0], tuple([r[col] for col in given]), k, r[free[k]] if own else 0))
            self._rows[m] = found
        return self._rows[m]

    def _span(self, m: Member) -> list[list[float]]:
        if m not in self._spans:
            self._spans[m] = _spans(len(self._given), self._split(m) or ())
        return self._spans[m]

    def _slice(self, m: Member, values: Row) -> Box | None:
        """A member at some values, where it has points."""
        if (m, values) not in self._found:
            self._found[m, values] = _box(len(self._free), self._split(m) or (), values)
        return self._found[m, values]


class _Part(NamedTuple):
    """A row: its constant, the coefficients of dimensions with values, and the one that is left, -1 for none."""

    const: int
    given: Row
    at: int
    own: int


def _box(n: int, rows: Sequence[_Part], values: Row) -> Box | None:
    lows, highs = [-inf] * n, [inf] * n
    for const, given, k, own in rows:
        value = const
        for x, v in zip(given, values, strict=True):
            value += x * v
        if own > 0:
            if (low := -(value // own)) > lows[k]:
                lows[k] = low
        elif own:
            if (high := value // -own) < highs[k]:
                highs[k] = high
        elif value < 0:
            return None
    return None if any(map(gt, lows, highs)) else tuple(zip(lows, highs, strict=True))


def _cover(keys: Iterable[Row]) -> list[int]:
    """Columns such that no row, given its coefficients, has two others: those first that most rows have."""
    left = [{k for k, v in enumerate(key, 1) if v} for key in keys if key.count(0) < len(key) - 1]
    found = []
    while left := [row for row in left if len(row) > 1]:
        counts: dict[int, int] = {}
        for row in left:
            for k in row:
                counts[k] = counts.get(k, 0) + 1
        most = max(counts, key=lambda k: (counts[k], -k))
        found.append(most)
        for row in left:
            row.discard(most)
    return found


def _spans(n: int, rows: Sequence[_Part]) -> list[list[float]]:
    """Bounds of the dimensions with values, where one row gives them, or two that bound the same other dimension."""
    found = [[-inf, inf] for _ in range(n)]
    both = [(r.const, r.given) for r in rows if not r.own]
    for low in rows if n else ():
        for high in rows if low.own > 0 else ():
            if high.at == low.at and high.own < 0:
                both.append(
                    (
                        low.own * high.const - high.own * low.const,
                        combine(low.own, high.given, -high.own, low.given),
                    )
                )
    for const, row in both:
        if row.count(0) == n - 1:
            k = next(k for k, v in enumerate(row) if v)
            if row[k] > 0:
                found[k][0] = max(found[k][0], -(const // row[k]))
            else:
                found[k][1] = min(found[k][1], const // -row[k])
    return found
