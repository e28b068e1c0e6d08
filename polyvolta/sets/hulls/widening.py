"""Pieces that overlap: a bound of one goes where the others have all that lies behind it.

The negation of a conjunction, `not (a and b)`, is written as `not a; not b`, which overlap. Beside `a and b` no two of
these three make one, and all of them are everything. So pieces are widened as cubes of a Boolean function are when it
is minimised (Brayton et al., "Logic minimization algorithms for VLSI synthesis", 1984): a row of a piece is left out
where what it kept out is in the union anyway, within the rows that hold on all pieces, and pieces that lie within the
wider one go. Only a widening that makes the union shorter is taken: disjoint pieces stay disjoint where nothing is
gained.

A piece that lies within the wider one says which rows have to go for it: those that fail at its points. Where a point
outside of the union fails no others, there is no use in trying. Few such ways are left, whose rows are proved to keep
out nothing but points of the union, or else give one more point outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_

from ..budgets import spend
from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct, lifted
from ..conjuncts.frame import Frame, Member
from ..conjuncts.implies import implied, subtract
from ..conjuncts.project import prune
from ..engine.integer import Point
from ..engine.rows import Row, complement, negate, values_at
from . import between

POINTS = 24  # of a piece, and beside it, that are looked at


def widened(pieces: Sequence[Conjunct]) -> tuple[Conjunct, ...] | None:
    """Fewer pieces with the same points, one of them wider; None if none is found. They have points and known divs.

    Cost: the values of rows at some points, and a difference for each row where these say nothing.

    >>> from polyvolta.sets import Set
    >>> pieces = Set("{ [i, j] : i >= 0 and j >= 0; [i, j] : i < 0; [i, j] : j < 0 }").parts[0][1]
    >>> [(c.eqs, c.ineqs) for c in widened(pieces)]
    [((), ())]
    """
    union = _Union(pieces)
    return next(filter(None, (_over_others(union, at) for at in range(len(pieces)))), None)


class _Union:
    """Pieces, and which of their rows fail at which points; sets of rows are numbers, a bit for each row."""

    def __init__(self, pieces: Sequence[Conjunct]) -> None:
        self.pieces, self.frame = pieces, Frame(pieces)
        members = self.frame.members
        self.rows = list(dict.fromkeys([r for m in members for r in m.statements]))
        spend(len(self.rows) * len(members) // 16)  # each row at points of each member
        bits = {row: 1 << k for k, row in enumerate(self.rows)}
        self.of = [reduce(or_, map(bits.__getitem__, m.statements), 0) for m in members]
        self.cut: list[int] = []  # for each piece the rows that fail at some point of it
        near: list[Point] = []
        for c, m, own in zip(pieces, members, self.of, strict=True):
            inside, beside = between.walked(c)
            m.points += [lifted(self.frame.divs, x) for x in inside[:POINTS]]
            near += beside[:POINTS]
            cut = [bit for row, bit in bits.items() if not own & bit and min(m.values(row), default=0) < 0]
            self.cut.append(sum(cut))
        # for some points of no piece the rows that fail there
        self.outside = [fails for fails in self.failing(near) if all(map(fails.__and__, self.of))]
        every = (1 << len(self.rows)) - 1
        unsure = self.told(every & ~reduce(or_, self.cut))
        self.valid = sum([bits[r] for r in unsure if all(m.implies(r, exact=False) for m in members)])

    def failing(self, points: Sequence[Point]) -> list[int]:
        """The rows that fail at each of some points."""
        found = [0] * len(points)
        columns = list(zip(*[lifted(self.frame.divs, x) for x in points], strict=True))
        for k, row in enumerate(self.rows if points else ()):
            for at, v in enumerate(values_at(row, columns)):
                if v < 0:
                    found[at] |= 1 << k
        return found

    def reaches(self, rows: int) -> bool:
        """Whether a point of no piece is known at which all of these rows hold."""
        return not all(map(rows.__and__, self.outside))

    def told(self, rows: int) -> list[Row]:
        """A set of rows, as rows."""
        return [row for k, row in enumerate(self.rows) if rows >> k & 1]

    def holds_all(self, c: Conjunct, pieces: Sequence[Conjunct]) -> bool:
        """Whether every point of a conjunct is in one of some pieces; else one more point is known of none."""
        stray = next(_strays(c, pieces), None)
        if stray is not None:
            self.outside += self.failing([stray])
        return stray is None


def _over_others(union: _Union, at: int) -> tuple[Conjunct, ...] | None:
    """The pieces, one of them wider and without those that lie within it; None where there are none of these."""
    frame, member, others = union.frame, union.frame.members[at], (*union.pieces[:at], *union.pieces[at + 1 :])
    whole = kept = union.of[at] | union.valid
    loose = 0
    for k, row in enumerate(union.rows):
        if (union.of[at] & ~union.valid) >> k & 1:
            loose |= (row in member.ineqs or any(_begins_behind(m, row) for m in frame.members)) << k
    # for each piece that may come to lie within, the rows that have to go
    ways = [cut & whole for cut in (*union.cut[:at], *union.cut[at + 1 :]) if not cut & whole & ~loose]
    ways = [gone for gone in ways if not union.reaches(whole & ~gone)]
    for k, row in enumerate(union.rows):
        bit = 1 << k
        if any(map(bit.__and__, ways)):
            rest = kept & ~bit
            if not union.reaches(rest):
                behind = frame.conjunct((), [complement(row), *union.told(rest)])
                if behind is None or union.holds_all(behind, others):
                    kept = rest
                    continue
            ways = [gone for gone in ways if not gone & bit and not union.reaches(whole & ~gone)]
    if kept == whole or not ways:
        return None
    wider = frame.conjunct((), union.told(kept))
    wider = wider and prune(wider)
    left = [] if wider is None else [p for p in others if not implied(p, wider)]
    return None if wider is None or len(left) == len(others) else (*left, wider)


def _begins_behind(m: Member, row: Row) -> bool:
    """Whether a member has a row opposite to `row >= 0` that lets some points in behind it."""
    start, same = m.least.get(negate(row[1:])), m.least.get(row[1:])
    return start is not None and start >= -row[0] - 1 and (same is None or same > row[0])


def _strays(c: Conjunct, pieces: Sequence[Conjunct]) -> Iterator[Point]:
    """Points of a conjunct that are in none of the pieces; none only if there is none."""
    point = cj.sample(c)
    if point is not None:
        yield from [x for x in (point, *between.walked(c)[0]) if not any(cj.holds(p, x) for p in pieces)]
        left = [c]
        for p in pieces:
            left = [rest for part in left for rest in subtract(part, p)]
        yield from [x for part in left if (x := cj.sample(part)) is not None]
