"""The parts of a band's lanes by what it isolates: elsewhere, before, inside and after each region, member by member.

    S[i] -> [i] for 0 <= i <= 9, isolated 2 <= a <= 4               loops to 1, to 4 and to 9
    S[0] -> [0], S[2] -> [1], atomic, isolated 1 <= a               two calls, and no loop that looks for either
    S[] -> [3], T[] -> [n], atomic in isolated 1 <= a <= 3          a loop of both for n from 1 to 3, and two calls

All lanes are cut at each member that has a loop: they keep their order.
"""

from __future__ import annotations

from collections.abc import Sequence as List
from dataclasses import dataclass, replace
from typing import Self

from polyvolta.sched.loops.around import Around
from polyvolta.sched.loops.conditions import implied
from polyvolta.sched.loops.rows.bounds import bounds
from polyvolta.sched.loops.rows.groups import isolated, share
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.lanes import Group, Lane, classes
from polyvolta.sched.loops.rows.lengths import constant_span, longest
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sched.loops.rows.order import First
from polyvolta.sched.loops.rows.pieces import Value
from polyvolta.sched.loops.spans.cases import by_values
from polyvolta.sched.loops.spans.holes import ONCE, long
from polyvolta.sched.loops.spans.turns import runs_before, runs_first
from polyvolta.sched.tree import Node


@dataclass(slots=True)
class Isolation(Around):
    """The members of a band whose lanes are cut by what it isolates."""

    def cut(self, k: int, lanes: list[Lane], known: Known) -> List[list[Lane]]:
        """The lanes in parts that share no loop k, in their order.

        Lanes that have no loop stay whole, and it is noted in which regions they have nothing: the types of loops there
        are not theirs, in an atomic one all would be tested at every value. They are cut where some would have to run
        between the values of an atomic loop, and where no part has all values that such a loop would ask for: each loop
        has fewer, and what is one value has none. And where that loop, or one that is written out, may be long, and is
        not in what is isolated: of 3 and n where 1 to 3 are, n is between these there. Cost: each region once more.
        """
        if not self.settled(k, lanes):
            return self.by_regions(k, lanes, known)
        before = [lane.left for lane in lanes]
        for number in range(len(self.regions) if any(m.isolated_type for m in self.members[k:]) else 0):
            for lane in lanes:
                if number not in lane.left and self.within(lane, number, k, known) is None:
                    lane.left |= {number}
        loop_type = self.loop_type(k, lanes)
        if loop_type not in ("atomic", "unroll"):
            return [lanes]
        after, between = [lane.left for lane in lanes], False
        if loop_type == "atomic":
            free = [lane for lane in lanes if self.loop_type(k, [lane]) != loop_type]
            between = share(known, lanes, free, k, self.columns, self.first(known, k))
        for lane, left in zip(lanes, before, strict=True):
            lane.left = left
        values = len(classes(lanes, k, self.columns[k]))
        parts = self.by_regions(k, lanes, known) if between or values > 1 else [lanes]
        fewer = loop_type == "atomic" and all(len(classes(part, k, self.columns[k])) < values for part in parts)
        if between or fewer or self.shorter(k, lanes, parts, known):
            return parts
        for lane, left in zip(lanes, after, strict=True):
            lane.left = left
        return [lanes]

    def shorter(self, k: int, lanes: list[Lane], parts: List[list[Lane]], known: Known) -> bool:
        """Whether a loop over lanes may be long, and over one of their parts is not, or has another type.

        Not if what is isolated lies between ends far apart, be they numbers or not, and no cases are made of it
        (`by_values`): a loop of this type would run from one to the other, however near the values are.
        """
        loop_type, col = self.loop_type(k, lanes), self.columns[k]
        shadows = [lane.shadows[k] for lane in lanes]
        if len(parts) < 2 or not long(known, shadows, col) or constant_span(known, shadows, col, 1) is not None:
            return False
        less = False
        for part in parts:
            shadows = [lane.shadows[k] for lane in part]
            if self.loop_type(k, part) == loop_type and long(known, shadows, col):
                b = bounds(known, shadows, col)
                found = constant_span(known, shadows, col, 1) or (b and longest(known, b, col))
                wide = found is not None and found[1] > ONCE
                if wide and not self.writer.searched([], by_values, known, Group(part), k, self.columns):
                    return False
                less |= found is not None
            else:
                less = True
        return less

    def by_regions(self, k: int, lanes: list[Lane], known: Known) -> List[list[Lane]]:
        """The lanes cut by one region after another."""
        parts = [lanes]
        for number in range(len(self.regions)):
            parts = [p for part in parts for p in self.isolated(part, number, k, known)]
        return parts

    def isolated(self, lanes: list[Lane], number: int, k: int, known: Known) -> List[list[Lane]]:
        """The lanes elsewhere, before, inside and after what is isolated, by its values of loop k.

        These are the values at which some lane is in the region: of [floor((i + 3)/4), i] for 0 <= i <= 2, where the
        second member is 2, the first one is 1. All lanes are cut there, for they keep their order.
        """
        inside = [lane for lane in lanes if number not in lane.left]
        if not inside:
            return [lanes]
        col, region = self.columns[k], self.regions[number][k]
        if self.writer.parted:
            each = [s for lane in inside if (s := self.within(lane, number, k, known)) is not None]
            if not each:
                for lane in lanes:
                    lane.left |= {number}
                return [lanes]
            region = region.copy().add(each[0] if len(each) == 1 else implied(known, each))
        return isolated(known, lanes, number, k, col, region)

    def within(self, lane: Lane, number: int, k: int, known: Known) -> System | None:
        """What a lane says of loop k where it is in a region; None where it has nothing there."""
        piece = lane.piece.copy()
        piece.restrict(self.regions[number][-1])
        if piece.system.empty:
            return None
        found = Lane.of(piece, self.columns, known, k).shadows[k]
        return None if found.empty or known.excludes(found) else found

    def first(self, known: Known, k: int, child: Node | None = None) -> First:
        """What says whether one piece may run before another at equal values of all members, in loop k.

        Parameters
        ----------
        child : the node below, if it is not the one below the band.
        """
        child = child or self.child

        def may(a: Lane, b: Lane) -> bool:
            if child is None:  # of one statement, with no instance in both; in a last loop alternatives are one test
                return k + 1 < len(self.columns)
            if runs_first(child, a.piece.statement, b.piece.statement):
                return True
            return self.writer.parted and runs_before(child, a.piece, b.piece, known)

        return may

    def moved(self, k: int, value: Value) -> Self:
        """The nest with a value put in for a member in what it isolates."""
        regions = [[s.copy() for s in shadows] for shadows in self.regions]
        for s in [s for shadows in regions for s in shadows]:
            s.replace(self.columns[k], *value)
            s.mod(*value)
        return replace(self, regions=regions) if regions else self
