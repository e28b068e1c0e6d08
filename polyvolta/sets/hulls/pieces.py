"""Pieces that are compared with one another: what is learnt of each, and whether two are plainly apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from ..budgets import bounded, spend
from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct, lifted
from ..conjuncts.frame import Member
from ..conjuncts.project import prune
from ..engine.rows import Row, values_at
from ..errors import BudgetExceeded
from . import between, endless
from .gist import irredundant
from .parting import Opened, parting, seam, settled, unsaid
from .slices import Slices

OF_A_KIND = 2  # points of a piece that are even and odd in the same coordinates, between which others are looked for
KEPT = 48  # points of a fused piece, about, and beside it
OFTEN = 4  # times that a piece is compared until it is walked for that
FOR_POINTS = 5_000  # steps for points of a piece that are far from one another


class Parts(NamedTuple):
    """As bits the pieces at first that one is made of, and those with which no conjunct within the union has it.

    Nor has one that contains a piece made of it.
    """

    own: int
    far: int

    def joined(self, other: Parts) -> Parts:
        """Those of a piece that contains two."""
        return Parts(self.own | other.own, self.far | other.far)


NO_PARTS = Parts(0, 0)


class Piece:
    """A member of the frame; `known` is its conjunct when it is not a fusion."""

    parts = NO_PARTS

    def __init__(self, member: Member, slices: Slices, known: Conjunct | None = None) -> None:
        self.member, self.slices, self._known = member, slices, known
        # between rows so far apart that no stride bridges the gap, there are other points
        self.stride = max([abs(v) for row in member.eqs for v in row[1:]], default=1)
        self._opposite: list[tuple[Row, int]] | None = None
        self._walked, self._asked = False, 0
        self._gaps: dict[Piece, bool] = {}
        self.between: dict[Piece, Row] = {}  # points of neither on segments to others
        self.seams: dict[Piece, tuple[Row, Row]] = {}  # its row and that of another, which are all they differ in
        self.beside: list[Row] = []  # points just outside of it, where its points were asked for

    @property
    def opposite(self) -> list[tuple[Row, int]]:
        """The linear parts of its rows negated, with the constants of the rows."""
        if self._opposite is None:
            opposite = self.member.frame.opposite
            self._opposite = [(opposite(key), const) for key, const in self.member.least.items()]
        return self._opposite

    @cached_property
    def conjunct(self) -> Conjunct | None:
        """The piece on its own, None when it has no point."""
        if self._known is not None:
            return None if self._known.is_empty else self._known
        whole = self.member.frame.conjunct(self.member.eqs, self.member.ineqs)
        whole = whole and prune(whole)
        return irredundant(whole) if whole and whole.divs else whole

    @property
    def given(self) -> bool:
        """Whether it is a conjunct from before, whose rows the member has."""
        return self._known is not None

    @property
    def told(self) -> Conjunct:
        """The piece on its own, whether it has a point or not."""
        return self._known or self.conjunct or cj.nothing(self.member.frame.n)

    def apart(self, other: Piece, floors: bool = False) -> bool:
        """Whether two parallel rows have room between them; with `floors`, room for a multiple of a divisor, too.

        Or it is known before.
        """
        if self.parts is not NO_PARTS and self.parts.far & other.parts.own:
            return True
        least, gap, base = other.member.least, max(self.stride, other.stride), self.member.frame.n
        for key, const in self.opposite:
            found = least.get(key)
            if found is not None and found + const < -gap:
                if floors and any(key[base:]) and found + const >= -max(map(abs, key[base:])):
                    continue
                return True
        return False

    def walk(self) -> None:
        """Let the member know points of it that are far from one another; of a fusion, those of what was fused."""
        if not self._walked:
            self._walked, divs = True, self.member.frame.divs
            try:
                inside, outside = bounded(FOR_POINTS, between.walked, self.told)
            except BudgetExceeded:
                spend(0)  # ends the caller where the budget was its own
                return
            self.member.points += [lifted(divs, p) for p in inside[: between.ENDS]]
            self.beside = [lifted(divs, p) for p in outside]

    @cached_property
    def _ways(self) -> list[endless.Way]:
        return endless.ways(self.member)

    @cached_property
    def start(self) -> Row | None:
        """A point of it; None where it has none, or none is at hand."""
        member = self.member
        if member.points:
            return member.points[0]
        if self._known is None:
            return None
        point = cj.sample(self._known)
        return None if point is None else lifted(member.frame.divs, point)

    def plainly_apart(self, other: Piece, look: bool) -> bool:
        """Whether rows have room between them, or a point of neither is seen between both, at once or by a `look`.

        Then no conjunct over the same floors is their union.
        """
        if self.apart(other):
            return True
        found = self._gaps.get(other)
        if found is None:
            opened = unsaid(self.member, other.member)
            rows = seam(self.member, other.member, opened)
            if rows is not None:
                self.seams[other] = rows
                return False
            if settled(self.member, other.member, opened):
                return False
            if self.start and other.start:
                point = self._midway(other)
                if point is None and not self.slices.apart(self.member, other.member):
                    point = self._seen(other, opened)
                    if point is None:
                        return look and self.gap(other)
                if point is not None:
                    self.between[other] = other.between[self] = point
                self._gaps[other] = other._gaps[self] = True
                return True
            return look and self.gap(other)
        return found

    @cached_property
    def _kinds(self) -> dict[Row, list[Row]]:
        """Known points of it by which of their coordinates are odd, a few of each kind."""
        found: dict[Row, list[Row]] = {}
        for p in self.member.points:
            some = found.setdefault(tuple([x & 1 for x in p]), [])
            if len(some) < OF_A_KIND:
                some.append(p)
        return found

    def _midway(self, other: Piece) -> Row | None:
        """A point of neither in the middle of known points of both, where there are no floors.

        It is asked for where both are asked often enough for walks to be worth their while.
        """
        a, b = self.member, other.member
        for p in (self, other):
            p._asked += 1
        if a.frame.divs or self._asked < OFTEN or other._asked < OFTEN:
            return None
        self.walk()
        other.walk()
        others = other._kinds
        for kind, own in self._kinds.items():
            for q in others.get(kind, ()):
                for p in own:
                    z = tuple([(x + y) >> 1 for x, y in zip(p, q, strict=True)])
                    if not a.holds(z) and not b.holds(z):
                        return z
        return None

    def _seen(self, other: Piece, opened: Opened) -> Row | None:
        """A point of neither that shows that both are not one, on a segment, or with floors behind either at first.

        `opened` are the rows of either that the other one doesn't state.
        """
        assert self.start and other.start
        on_segments = parting(self.member, other.member, self.start, other.start, opened)
        if self.member.frame.divs:
            return next(chain(self.behind(other), on_segments), None)
        return next(on_segments, None)

    def parted(self, other: Piece) -> Iterator[Row]:
        """Points of neither that show of two pieces without floors that both are not one; a known one first."""
        if other in self.between:
            yield self.between[other]
        if self.start and other.start:
            yield from parting(self.member, other.member, self.start, other.start)
            yield from self.behind(other)

    def behind(self, other: Piece) -> Iterator[Row]:
        """Points of neither behind a known one of either, along directions in which the other has no end."""
        for p, q in ((self, other), (other, self)):
            if not q.member.points and q.start:
                q.member.points.append(q.start)
            if q.member.points:
                yield from endless.behind(p._ways, q.member)

    def gap(self, other: Piece) -> bool:
        """Whether a point is found between both that is in neither: no conjunct over the same floors is their union."""
        if other not in self._gaps:
            point = None if self.member.frame.divs else next(self.behind(other), None)
            found = point is not None
            if point is None:
                self.walk()
                other.walk()
                pair = self.member, other.member
                steps = between.strides(pair)
                point = between.gap(*pair, steps)
                found = point is not None or (max(steps, default=1) == 1 and between.further(*pair))
            if point is not None:
                self.between[other] = other.between[self] = point
            self._gaps[other] = other._gaps[self] = found
        return self._gaps[other]

    def joined(self, other: Piece, whole: Member) -> Piece:
        """The piece of the points of both, which remembers those that are known of either."""
        both = Piece(whole, self.slices)
        if self.parts is not NO_PARTS:
            both.parts = self.parts.joined(other.parts)
        both._walked = self._walked and other._walked
        beside = [p for p in (*self.beside, *other.beside) if not whole.holds(p)]
        both.beside = beside[:: 1 + len(beside) // KEPT]
        points = (*self.member.points, *other.member.points)
        whole.points += points if len(points) <= KEPT else _outermost(points, whole)
        return both


def _outermost(points: Sequence[Row], of: Member) -> list[Row]:
    """Of the points of a member those at which its rows and its coordinates are least or greatest, and some more.

    Pieces that are fused one after the other would know more and more of them, and be asked of all.
    """
    columns = list(zip(*points, strict=True))
    ways = [*map(list, columns[1 : 1 + of.frame.n]), *[values_at(row, columns) for row in of.ineqs]]
    found = dict.fromkeys([points[values.index(end(values))] for values in ways for end in (min, max)])
    return list(found | dict.fromkeys(points[:: 1 + len(points) // max(1, KEPT - len(found))]))
