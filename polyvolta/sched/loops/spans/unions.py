"""Where statements share a loop, and where not: a loop has no holes.

    S1[i] -> [i], S2[i] -> [i + 1]      one loop from 0 to n, with tests inside
    S1[i] -> [i], S2[] -> [1000]        two: no loop runs from n to 1000 to find S2 there
    S1[j] -> [5, j], S2[i] -> [i, i]    of the second member, two: the row at 5, and a point in each other row
    S1[i] -> [8i], S2[] -> [P]          before P, at P and after P: a loop of step 1 would ask whose each value is
    S1[i] -> [8i], S2[i] -> [P + i]     the same around the values of S2 where i has two, or a few
    S1[i] -> [i] for n <= i <= 3, S2[] -> [1]      where n is 3 at most one loop, and S2 alone elsewhere
    S1[i] -> [i], S2[] -> [0]           one from 0 to n, and S2 alone where n is negative: no test of i <= n inside
    S1[i] -> [i], S2[] -> [n], S3[i] -> [i] for i < n      an innermost one to n - 1, and what is at n
    S1[i] -> [i] for n <= i <= 3n, S2[i] -> [i] for i < 2  to 1, with tests of n <= c0, and S1 from 2 on: few stay whole
    S1[i] -> [i] for n < 3, S2[] -> [-1], S3[] -> [1]      S2, then S3, where n is 3 or more: no loop finds them
    S1[i] -> [i, i/2], S2[] -> [2, 7], the second separate      to 1, at 2, and from 3 on, where S1 is not told apart
    S1[i] -> [i] for i <= n, S2[] -> [0], S3[] -> [n]      what S1 has between them alone, in a loop of its own
    S1[i, j, k] -> [i, j, k], S2[i, j, k] -> [i, j, k] for i < n       to n - 1, and what S1 has alone from n on
    S1[i] -> [i] for 0 <= i <= 1, S2[] -> [0]              0, then 1: no loop of two iterations, outermost (`numbers`)
    S1[i] -> [i] for i < n, S2[i] -> [i] for i < m      a loop of S1 that asks for S2, and S2 from n on (`unordered`)
    S1[i] -> [i] for 0 <= i < n, S2[] -> [4]            S1 to 3, S2, S1 from 4 on, outermost (`numbers`)
    S1[i] -> [i] for odd n and n <= 3i, S2[i] -> [i] for i < 3      an innermost one to 2, and S1 where n is odd
    S1[i] -> [i, 2], S2[i, j] -> [20, i, j]            to 19, at 20, and from 21 on: loops of S2 are cut at 2 alone

Statements that take turns share a loop (`groups`), which runs from the least to the greatest of their values. Where
more than a few iterations in between would find nothing, at some values outside, their shadows are looked at as sets
over what is outside and the member: those are joined whose union is one system, the others are made disjoint, and each
piece is a loop of its own if the order allows. isl's generator does the same with the domain of a loop (Grosser,
Verdoolaege and Cohen, TOPLAS 37, 2015, section 4). A loop that runs once may find nothing more often, but at small
sizes alone, and only if it has many iterations at others: of S[i] -> [i] for 2i <= 2 - n and T[] -> [0] all but the
last would find nothing from some n on.

A loop is cut by the first of `RULES` that has an answer. What that leaves in one loop is cut again at small sizes, if
it tests much at sizes that differ (`unordered`), around few values in a row (`Shared.finer`), and at two numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from polyvolta.sched.loops.rows.groups import groups, in_order
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.lanes import Group, Lane, classes
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sched.loops.rows.order import First
from polyvolta.sched.loops.spans.alone import SOME, alone, asked, at_end, mixed, of_one
from polyvolta.sched.loops.spans.cases import by_many, by_sizes
from polyvolta.sched.loops.spans.few import around_few, around_places, between_numbers, outside
from polyvolta.sched.loops.spans.holes import ONCE, few_holes, joined, long
from polyvolta.sched.loops.spans.numbers import around_numbers, at_numbers, beside_numbers, both_values, few_copies
from polyvolta.sched.loops.spans.shadows import MANY, one_each, shadows_and_remainders, shadows_of, span, valued, within
from polyvolta.sched.loops.spans.steady import steady
from polyvolta.sched.loops.spans.telling import PIECES, disjoint, one_behind_another, width
from polyvolta.sched.loops.spans.turns import beside_turns
from polyvolta.sched.loops.spans.unordered import around_one, by_another
from polyvolta.sched.loops.weighing.cuts import weighed
from polyvolta.sched.loops.weighing.gaps import TOLD, Gaps
from polyvolta.sched.loops.weighing.samples import Samples
from polyvolta.sets import BudgetExceeded
from polyvolta.sets.budgets import bounded

PROGRAMS = 20_000  # steps of linear programs that may tell where a loop of many shadows has holes
STEPS = 15_000  # of a search for disjoint pieces of that many, or one that few loops need, beyond which it is given up
OTHERS = 2, 3  # shadows for whose tests it is worth to write a loop of another one twice: in a nest of loops, alone
NEST = 2  # loops inside an outermost one, in each of which one other is tested, for which it is
MUCH = 3  # tests at each value for which it is where the others have but a few values

Items = list[list[Lane]]  # what is to be a loop, each


@dataclass(frozen=True, slots=True)
class Place:
    """Where a loop stands.

    Parameters
    ----------
    outermost, innermost : whether it runs once, and whether there is no loop in it.
    inside : whether loops in it are cut where any of the others has values.
    below : the same of loops in it that are of bands below, too.
    free : whether its values may come in any order.
    atomic : the number of the next loop inside, if that is atomic; 0 where there is none.
    """

    outermost: bool = False
    innermost: bool = False
    inside: bool = False
    below: bool = False
    free: bool = False
    atomic: int = 0


@dataclass(frozen=True, slots=True)
class Shared:
    """A loop that several statements share, as `RULES` look at it.

    Parameters
    ----------
    known, lanes, k, columns, first : as of `parted`.
    place : where it stands.
    shadows : what its lanes say of its column and of what is outside.
    several : of an outermost one, those beside which all others are numbers; none where there is none.
    numbered : whether the others are cut out: there is one beside them, or they are too many.
    once : whether it is a long one that runs once, in which a few more iterations may find nothing.
    """

    known: Known
    lanes: Sequence[Lane]
    k: int
    columns: Sequence[int]
    first: First | None
    place: Place
    shadows: Sequence[System]
    several: Sequence[System]
    numbered: bool
    once: bool

    @staticmethod
    def of(
        known: Known, lanes: Sequence[Lane], k: int, columns: Sequence[int], first: First | None, place: Place
    ) -> Shared | None:
        """A loop over lanes; None where all say the same, or they say too much."""
        col = columns[k]
        if len(classes(lanes, k, col)) < 2:
            return None
        shadows, several = shadows_of(known, lanes, k, col), []
        if place.outermost and len(shadows) <= PIECES:
            several = beside_numbers(known, lanes, shadows, k, col)
        numbered = len(several) == 1 or (bool(several) and len(shadows) > MANY)
        if len(shadows) < 2 or len(several if numbered else shadows) > MANY:
            return None
        once = place.outermost and not numbered and long(known, shadows, col)
        return Shared(known, lanes, k, columns, first, place, shadows, several, numbered, once)

    @property
    def col(self) -> int:
        """The column of the loop."""
        return self.columns[self.k]

    @property
    def cut_at_numbers(self) -> bool:
        """Whether the one shadow that is no number is cut at all of these."""
        return len(self.several) == 1 and few_copies(self.lanes, self.k, self.col, self.place.innermost)

    def within(self, cells: Sequence[System] | None) -> Items | None:
        """What of the lanes is in each of some cells; None for None."""
        return None if cells is None else within(self.known, self.lanes, cells, self.k, self.col)

    def in_order(self, items: Items) -> Items:
        """Items in order, those together that must share a loop: none where any order is one."""
        if self.place.free:
            return items
        return in_order(self.known, items, self.k, self.columns, self.first)

    def union(self, pieces: list[System]) -> list[System] | None:
        """Disjoint pieces of a union: what many share with few is in the loop of few, which has tests and no stride."""
        col, pieces = self.col, one_behind_another(self.known, pieces, self.col)
        return disjoint(self.known, sorted(pieces, key=lambda s: valued(s, col) or not width(self.known, s, col, ONCE)))

    def sized(self, lanes: list[Lane]) -> Items:
        """Lanes of one loop as those of two, at small sizes and at all others, where these are better off without."""
        sizes = by_sizes(self.known, lanes, self.k, self.columns)
        return [lanes] if sizes is None else within(self.known, lanes, sizes, self.k, self.col)

    def at_both(self, lanes: list[Lane]) -> Items:
        """Lanes of one outermost loop as those at each of two numbers, if it has no more values.

        So it is of a loop that is found to have two, and of what others leave of it: what has both is written twice.
        """
        if not self.place.outermost or len(lanes) < 2:
            return [lanes]
        cells = both_values(shadows_of(self.known, lanes, self.k, self.col), self.col)
        return [lanes] if cells is None else within(self.known, lanes, cells, self.k, self.col)

    def finer(self, lanes: list[Lane]) -> Items:
        """Lanes of one loop, around few values in a row: here these may be few that are many elsewhere.

        Where they are all between numbers, and loops `inside` are cut, wherever any of them begins or ends.
        """
        if len(lanes) < 2:
            return [lanes]
        cells = around_places(self.known, lanes, self.k, self.col, self.once)
        if cells is None and self.place.inside:
            cells = between_numbers([lane.shadows[self.k] for lane in lanes], self.col)
        found = self.in_order(within(self.known, lanes, cells or (), self.k, self.col))
        return found if len(found) > 1 else [lanes]

    def tails(self, lanes: list[Lane], others: int = 1) -> Items:
        """Lanes of an outermost loop that is cut anyway, cut where one has many values alone, beside so many others.

        What has all values of these may have more: each would ask for them (`_alone`). It costs one loop more.
        """
        if not self.place.outermost or len(lanes) < 2:
            return [lanes]
        one = Shared.of(self.known, lanes, self.k, self.columns, self.first, self.place)
        return (_alone(one) if one and len(one.shadows) > others else None) or [lanes]

    def again(self, items: Items) -> Items:
        """Items, of which short ones are cut as loops of their own: they have other holes than one that is long."""
        where, out = (self.k, self.columns, self.first, self.place), list[list[Lane]]()
        for lanes in items:
            short = not long(self.known, [lane.shadows[self.k] for lane in lanes], self.col)
            out += [one.lanes for one in parted(self.known, Group(lanes), *where)] if short else [lanes]
        return out

    def weighed(self, found: Items) -> Items:
        """What shares a loop, or in an outermost or innermost one what tests less at sizes that are not alike."""
        if not (self.place.outermost or self.place.innermost):
            return found
        return weighed(self.known, self.lanes, found, self.k, self.columns, self.first, self.place.innermost)

    def turns(self, lanes: list[Lane]) -> list[Group]:
        """The groups of lanes of one loop: in an outermost one that numbers bound all take turns once more."""
        if self.place.outermost and len(lanes) > 1 and all(span(lane.shadows[self.k], self.col) == 0 for lane in lanes):
            return groups(self.known, lanes, self.k, self.columns, "default", self.first) or [Group(lanes)]
        return [Group(lanes)]


def parted(
    known: Known, group: Group, k: int, columns: Sequence[int], first: First | None, place: Place
) -> list[Group]:
    """A group as several that have no holes, in order; as it is where it has none or there is no order."""
    loop = Shared.of(known, group.lanes, k, columns, first, place)
    if loop is None:
        return [group]
    items = next((found for rule in RULES if (found := rule(loop)) is not None), None)
    if items is None:
        items = _around_one(loop)  # not cut again at sizes below zero
    elif place.outermost and len(items) > 1:
        items = [some for lanes in items for some in loop.sized(lanes)]
    found = loop.weighed(loop.in_order(items) if len(items) > 1 else [list(group.lanes)])
    if len(found) < 2:
        return [group]
    found = [some for lanes in found for some in loop.at_both(lanes)]
    return [one for lanes in found for some in loop.finer(lanes) for one in loop.turns(some)]


# ---- the rules: what of a loop's lanes is a loop of its own, each; None where a rule has nothing to say


def _around_places(loop: Shared) -> Items | None:
    """Few values in a row, at which loops around them would lose their stride."""
    if len(loop.shadows) > MANY:
        return None
    return loop.within(around_places(loop.known, loop.lanes, loop.k, loop.col, loop.once))


def _numbers_of_one(loop: Shared) -> Items | None:
    """Where numbers stand beside one: at sizes at which it has them all, or at small ones that leave no loop."""
    if not loop.numbered or loop.place.innermost or len(loop.shadows) > SOME:
        return None
    found = of_one(loop.known, loop.shadows, loop.col, loop.once, False)
    return loop.within(found or by_sizes(loop.known, loop.lanes, loop.k, loop.columns))


def _at_numbers(loop: Shared) -> Items | None:
    """Each number, and one beside them to the next of them: no iteration asks whose it is."""
    if not (loop.numbered and loop.cut_at_numbers):
        return None
    return at_numbers(loop.known, loop.lanes, loop.k, loop.columns, loop.first) or None


def _numbers_apart(loop: Shared) -> Items | None:
    """What others than numbers have, and these where they don't have them; where they are cut at few, these first."""
    if not loop.numbered:
        return None
    if not loop.cut_at_numbers:
        return _several(loop)
    numbers = [s for s in loop.shadows if s not in loop.several]
    return loop.within(disjoint(loop.known, [*numbers, *loop.several]))


def _around_numbers(loop: Shared) -> Items | None:
    """In an outermost loop numbers that have loops inside, beside several that are in the midst of these.

    What is between is cut as a loop of its own. Loops inside that are separate are cut anyway. Innermost ones alike.
    """
    if not loop.place.innermost and (not loop.several or loop.numbered or loop.place.inside):
        return None
    where = loop.k, loop.columns, loop.first
    items = loop.within(around_numbers(loop.known, loop.lanes, *where, loop.place.innermost)) or ()
    return [g.lanes for lanes in items for g in parted(loop.known, Group(lanes), *where, loop.place)] or None


def _at_end(loop: Shared) -> Items | None:
    """In an innermost loop the one value at which all others end, or begin: none asks whether it is there yet."""
    if not loop.place.innermost:
        return None
    return loop.within(at_end(loop.known, loop.shadows, loop.col, loop.once))


def _of_one(loop: Shared) -> Items | None:
    """Sizes at which one shadow has all values of the others, and what these have at other sizes."""
    items = loop.within(of_one(loop.known, loop.shadows, loop.col, loop.once, loop.place.innermost))
    return items and [some for lanes in items for some in loop.tails(lanes)]


def _without_holes(loop: Shared) -> Items | None:
    """Where a loop would run through many values that none has, loops that don't: pieces of the union.

    That is so where it has no such pieces as well, or too many: then it stays one, or values of a loop outside tell two
    apart. Of a piece of an innermost one that several share, what all have is apart (`steady`), and of an outermost one
    what one has beside two (`tails`). Of more than `TOLD` shadows pieces that are not found in so many `PROGRAMS` are
    those around holes at some sizes (`Gaps`).
    """
    known, col = loop.known, loop.col
    try:
        cells = bounded(PROGRAMS, _pieces, loop) if len(loop.shadows) > TOLD else _pieces(loop)
    except BudgetExceeded:
        cells = _of_many(loop)
    if cells is None:
        return None
    if not cells and not loop.place.outermost:
        return _beside_few_outside(loop)
    items = [some for lanes in loop.within(cells) or [] for some in loop.tails(lanes, OTHERS[0])]
    if not loop.place.innermost or len(items) < 2:
        return items
    out: Items = []
    for lanes in items:
        cells = steady(known, shadows_of(known, lanes, loop.k, col), col, ONCE)
        out += [lanes] if cells is None else within(known, lanes, cells, loop.k, col)
    return out


def _beside_few_outside(loop: Shared) -> Items:
    """What is at few values of a loop outside, and at all others, where some have nothing; each cut as a loop is.

    The others may have pieces, or an order, that all do not have. None where all have something at others, too.
    """
    where = loop.k, loop.columns, loop.first, loop.place
    for cells in outside(loop.shadows, loop.col):
        items = loop.within(cells) or []
        if len(items) == 2 and len(items[1]) < len(loop.lanes):
            return [g.lanes for lanes in items for g in parted(loop.known, Group(lanes), *where)]
    return []


def _pieces(loop: Shared) -> list[System] | None:
    """Pieces of the union of a loop's shadows; None where the loop has few holes."""
    if few_holes(loop.known, loop.shadows, loop.col, loop.once):
        return None
    return loop.union(joined(loop.known, loop.shadows, loop.col, loop.once)) or []


def _of_many(loop: Shared) -> list[System] | None:
    """The same of many shadows, whose holes are those at some sizes; none where they are not found in a few `STEPS`."""
    gaps = Gaps(loop.known, loop.shadows, loop.col)
    if gaps.places and gaps.few():
        return None
    with suppress(BudgetExceeded):
        return (bounded(STEPS, loop.union, gaps.joined()) or []) if gaps.places else []
    return []


def _by_sizes(loop: Shared) -> Items | None:
    """In an outermost loop small sizes, at which others have no loop, or have it in wider steps; and their tails."""
    if not loop.place.outermost:
        return None
    items = loop.within(by_sizes(loop.known, loop.lanes, loop.k, loop.columns))
    return items and [some for lanes in items for some in loop.tails(lanes)]


def _alone(loop: Shared) -> Items | None:
    """The many values that one has alone, if at least two others are not tested there, or three: it is written twice.

    One other is enough if it is tested before each instance and behind it, or if it has few values and a loop that is
    not outermost asks much at each. Short loops that are left are cut as such in an outermost one.
    """
    least, strict = OTHERS[loop.place.innermost and loop.place.outermost], loop.place.innermost
    between = not (loop.place.outermost or loop.place.innermost)
    if between:
        least, strict = len(loop.shadows), True
    elif len(loop.shadows) <= least and mixed(loop.known, loop.lanes, loop.k, loop.columns, loop.first):
        least = 1
    much = strict and asked(loop.known, loop.lanes, loop.k, loop.col, between) >= MUCH
    what, cells = (loop.known, loop.shadows, loop.col, least, strict, much, loop.place.innermost), None
    with suppress(BudgetExceeded):
        cells = alone(*what) if len(loop.shadows) <= SOME else bounded(STEPS, alone, *what)
    items = loop.within(cells)
    return loop.again(items) if items and loop.once and not loop.place.innermost else items


def _beside_turns(loop: Shared) -> Items | None:
    """In an outermost loop values between numbers, if an atomic loop inside then is none."""
    if not (loop.place.outermost and loop.place.atomic) or loop.place.inside:
        return None
    where = loop.lanes, loop.place.atomic, loop.columns, loop.first
    return loop.within(beside_turns(loop.known, loop.k, *where) or None)


def _around_few(loop: Shared) -> Items | None:
    """Inside other loops few values in a row, if loops inside are cut for them."""
    if loop.place.outermost or not loop.place.below:
        return None
    return loop.within(around_few(loop.known, loop.shadows, loop.col))


def _both_values(loop: Shared) -> Items | None:
    """In an outermost loop two numbers, each without a loop; in any one two shadows of one value each."""
    numbers = loop.place.outermost and both_values(loop.shadows, loop.col)
    return loop.within(numbers or one_each(loop.known, loop.lanes, loop.shadows, loop.k, loop.col))


def _several(loop: Shared) -> Items | None:
    """What several have, and the numbers of the others where these don't have them."""
    if not loop.several:
        return None
    numbers = [s for s in loop.shadows if s not in loop.several]
    return loop.within(disjoint(loop.known, [*joined(loop.known, loop.several, loop.col, False), *numbers]))


def _steady(loop: Shared) -> Items | None:
    """In an innermost loop what all have, untested, and what is before and behind."""
    return loop.within(steady(loop.known, loop.shadows, loop.col, ONCE)) if loop.place.innermost else None


def _alone_in_nest(loop: Shared) -> Items | None:
    """In an outermost loop with a nest inside the values that one of two has alone, where their ends are at one size.

    The loops of the nest ask for the other one at each of theirs. Where there are more sizes loops are `weighed`.
    """
    if not loop.place.outermost or sum(map(bool, loop.columns[loop.k + 1 :])) < NEST:
        return None
    if Samples(loop.known, loop.shadows, loop.col).places:
        return None
    return loop.within(alone(loop.known, loop.shadows, loop.col, 1, False, False))


def _by_many(loop: Shared) -> Items | None:
    """In an outermost loop small sizes, at which others are tested in loops inside."""
    return loop.within(by_many(loop.known, loop.lanes, loop.k, loop.columns)) if loop.place.outermost else None


def _around_one(loop: Shared) -> Items:
    """What begins or ends in an order that no size decides: one with tests, and what others have beside it.

    Where these have no order either, one of them in two parts by sizes at which they do.
    """
    shadows, where = shadows_and_remainders(loop.known, loop.lanes, loop.k, loop.col)
    cells = around_one(loop.known, shadows, where, loop.col, loop.place.innermost) or []
    items = loop.within(cells) or []
    if len(items) > 2 and len(loop.in_order(items)) == 1:
        cut = (loop.within(some) or [] for some in by_another(loop.known, cells, loop.col))
        return next((found for found in map(loop.in_order, cut) if len(found) > len(items)), items)
    return items


RULES: tuple[Callable[[Shared], Items | None], ...] = (
    # whatever holes a loop has
    _around_places,
    _numbers_of_one,
    _at_numbers,
    _numbers_apart,
    _around_numbers,
    _at_end,
    _of_one,
    # it has many
    _without_holes,
    # it has none, and fewer tests without some of its values
    _by_sizes,
    _alone,
    _beside_turns,
    _around_few,
    _both_values,
    _several,
    _steady,
    _alone_in_nest,
    _by_many,
)
